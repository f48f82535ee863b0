"""Places with an interval: which ranks an entry may truly have, given the spread of its runs.

"Not significant" is not "equal": ties would not be transitive, and one new entry would regroup
others. Here every pair of entries is compared both ways by Welch's one-sided test, and Holm's
procedure over both directions keeps the chance of one false "better" at alpha. An entry's best
possible rank is one more than the number of entries shown to be better, its worst leaves room for
all that are not shown to be worse (Mogstad, Romano, Shaikh, Wilhelm 2024, "Inference for ranks with
applications to mobility across neighbourhoods and academic achievement across countries", Review of
Economic Studies 91). The intervals hold for all entries at once.

Entries of one or two runs are not told apart from any other: at the small levels of many pairs,
Welch's test with two runs beside many errs too often (7 % of boards in place of 5 %).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.model.summary import Moments

MOST = 1000
"""Entries compared with each other; beyond, a board has no intervals."""
LEAST = 3
"""Runs that an entry needs to be told apart from another by its own spread."""


def rank_intervals(
    costs: Sequence[Moments], alpha: float = 0.05, goal: str = "min"
) -> list[tuple[int, int]]:
    """(best, worst) possible rank of each entry, in the order given, ranks counting from 1.

    Entries of fewer than `LEAST` runs are not tested against anything, so that they may have any
    rank that the others leave. Raises ValueError for more than `MOST` entries.
    """
    if len(costs) < 2:
        return [(1, 1)] * len(costs)
    import numpy as np
    import scipy.special as special

    a, b = _pairs(len(costs))
    mean = np.array([m.mean if goal == "min" else -m.mean for m in costs])
    count = np.array([float(m.n) for m in costs])
    few = np.array([m.n < LEAST for m in costs])
    share = np.array([(m.sd or 0.0) ** 2 / m.n for m in costs])
    variance = share[a] + share[b]
    with np.errstate(divide="ignore", invalid="ignore"):
        df = variance**2 / (share[a] ** 2 / (count[a] - 1) + share[b] ** 2 / (count[b] - 1))
        t = (mean[a] - mean[b]) / np.sqrt(variance)
        p = 2 * special.stdtr(df, -np.abs(t))
    # Neither few runs nor two entries without spread can be told apart.
    p[few[a] | few[b] | ~np.isfinite(p)] = 1.0
    return _intervals(mean, p, alpha)


def rank_intervals_known(
    scores: Sequence[float], runs: Sequence[int], sigma: float, alpha: float = 0.05
) -> list[tuple[int, int]]:
    """The same where one sd `sigma` of a run's score is known; smaller scores are better."""
    if len(scores) < 2:
        return [(1, 1)] * len(scores)
    import numpy as np
    import scipy.special as special

    a, b = _pairs(len(scores))
    mean, share = np.array(scores), 1 / np.array(runs, dtype=float)
    z = np.abs(mean[a] - mean[b]) / (sigma * np.sqrt(share[a] + share[b]))
    return _intervals(mean, 2 * special.ndtr(-z), alpha)


def _pairs(n: int) -> Any:
    import numpy as np

    if n > MOST:
        raise ValueError(f"{n} entries, at most {MOST} are compared with each other")
    return np.triu_indices(n, 1)


def _intervals(mean: Any, p: Any, alpha: float) -> list[tuple[int, int]]:
    """Ranks from the two-sided p of all pairs, in the order of `_pairs`; smaller means are better.

    Each pair is two one-sided claims, of which the losing one stays in the family: after k finds
    2 m - k claims are left, each at alpha / (2 m - k).
    """
    import numpy as np

    n = len(mean)
    a, b = _pairs(n)
    order = np.argsort(p, kind="stable")
    failed = np.flatnonzero(p[order] / 2 > alpha / (2 * len(p) - np.arange(len(p))))
    kept = order[: failed[0] if len(failed) else len(order)]
    better, worse = np.zeros(n, int), np.zeros(n, int)
    first_wins = mean[a[kept]] < mean[b[kept]]
    np.add.at(better, np.where(first_wins, b[kept], a[kept]), 1)
    np.add.at(worse, np.where(first_wins, a[kept], b[kept]), 1)
    return [(1 + int(x), n - int(y)) for x, y in zip(better, worse, strict=True)]
