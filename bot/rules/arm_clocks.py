"""What the clocks of the two arms of a comparison leave out of the machine's own time.

    clocks_differ(ours, theirs)     "of every 6 s of W&B's `_runtime` between validations, ..."

Part of the rule `arms-differ`.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise

from bot.model.run import Run
from bot.render.numbers import figure

# What the clock of a candidate leaves out beyond the arm's: validation takes as long in both.
_OUT_SHARE, _OUT_TIMES, _LEAST_PAIRS = 0.03, 2.5, 4


def clocks_differ(ours: Sequence[Run], theirs: Sequence[Run]) -> str | None:
    """That the candidate's clock leaves out much more of W&B's `_runtime` than the baseline arm's
    between two validations, in words."""
    mine, other = _left_out(ours), _left_out(theirs)
    if mine is None or other is None:
        return None
    # W&B may stamp a row late, so that the clock seems to leave out less than nothing.
    counted, out, their_out = mine[0], max(mine[1], 0.0), max(other[1], 0.0)
    if out - their_out <= _OUT_SHARE * counted or out <= _OUT_TIMES * their_out:
        return None
    return (
        f"of every {figure(counted + out, 3)} s of W&B's `_runtime` between validations, the "
        f"candidate's clock leaves out {figure(out, 3)} s, but the baseline arm's "
        f"{figure(their_out, 2)} s"
    )


def _left_out(arm: Sequence[Run]) -> tuple[float, float] | None:
    """The usual seconds between two validations that the clocks of an arm count, and leave out."""
    found = []
    for run in arm:
        machine = dict(run.runtimes)
        timed = [
            (v.time_s, machine[v.step])
            for v in run.validation
            if v.time_s is not None and v.step in machine
        ]
        found += [(b[0] - a[0], (b[1] - a[1]) - (b[0] - a[0])) for a, b in pairwise(timed)]
    if len(found) < _LEAST_PAIRS:
        return None
    return statistics.median(c for c, _ in found), statistics.median(o for _, o in found)
