"""Settings in which the two arms of a comparison differ though only the code under test should.

    unequal(ours, theirs)       "train.micro_batch is 64 in the candidate and 2 in the baseline arm"

Part of the rule `arms-differ`. What a candidate is about differs freely: optimizer, schedule, shape
of the model, batch, length. What decides how fast any code runs, or what its loss is measured on,
is named with both values. It is a warning: it may be the improvement itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bot.evidence.arm_names import costs_nothing, option, should_be_equal
from bot.evidence.wandb.history import flatten
from bot.model.run import Run
from bot.render.untrusted import plain

_OFF = frozenset(("", "none", "null", "false", "0", "0.0", "1", "1.0", "auto", "-1"))
"""What an option that only the candidate has may be: it is not in use."""
_SHOWN = 4


def unequal(ours: Sequence[Run], theirs: Sequence[Run]) -> str | None:
    """The settings in which two arms differ and should not, in words; None without one."""
    found = list(_unequal(ours, theirs))
    if not found:
        return None
    more = len(found) - _SHOWN
    rest = f"; and {more} more" if more > 0 else ""
    return "; ".join(found[:_SHOWN]) + rest


def _unequal(ours: Sequence[Run], theirs: Sequence[Run]) -> Iterator[str]:
    mine, other = _settings(ours), _settings(theirs)
    alike = {run.source for run in ours} == {run.source for run in theirs}
    for name in sorted(mine.keys() | other.keys()):
        a, b = mine.get(name, []), other.get(name, [])
        if a and b:
            if _apart(a, b) or _apart(b, a):
                told = f"is {_show(a)} in the candidate and {_show(b)} in the baseline arm"
                yield f"{_shown(name)} {told}"
        elif alike and mine and other and len(a or b) == len(ours if a else theirs):
            idle = all(costs_nothing(name, value) for value in a or b)
            if not idle and not (a and frozenset(a) <= _OFF):
                arm, lacks = ("candidate", "baseline arm") if a else ("baseline arm", "candidate")
                told = f"is {_show(a or b)} in the {arm}, but the {lacks} does not state it"
                yield f"{_shown(name)} {told}"


def _apart(values: Sequence[str], others: Sequence[str]) -> bool:
    """Whether half of the runs of an arm or more have a value that none of the other has."""
    return sum(value not in others for value in values) >= len(values) / 2


def _settings(arm: Sequence[Run]) -> Mapping[str, list[str]]:
    """What the runs of an arm state of the settings that should be equal, by name."""
    found: dict[str, list[str]] = {}
    for run in arm:
        for name, value in flatten(run.config).items():
            if should_be_equal(name, value):
                text = option(name, value) or str(value)
                found.setdefault(name, []).append(text.strip().lower())
    return found


def _shown(name: str) -> str:
    return plain(name.removeprefix("_"), 60)


def _show(values: Sequence[str]) -> str:
    return plain(", ".join(sorted(set(values))), 60)
