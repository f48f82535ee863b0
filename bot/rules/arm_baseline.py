"""Whether a baseline arm is the frozen baseline: by the code and the settings frozen with it.

    another(case, ours, theirs)     ["the baseline arm has train.batch 32, the frozen baseline 16"]

Part of the rule `arms-differ`. A machine asks for settings of its own, such as a smaller pass: a
setting of that kind is named only if the candidate ran with another value than the arm did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bot.compute.baselines import code_of, ran, recognised
from bot.evidence.arm_names import is_digest, of_the_machine
from bot.evidence.wandb.command_line import PREFIX
from bot.evidence.wandb.history import flatten
from bot.model.case import Case
from bot.model.run import Run
from bot.model.track import Baseline
from bot.render.untrusted import plain

_SHOWN = 4
_KEPT = 12
"""Digits of a hash that are shown."""
_Value = str | int | float | bool


def another(case: Case, ours: Sequence[Run], theirs: Sequence[Run]) -> Iterator[str]:
    """What a baseline arm has that no frozen baseline has, in words."""
    found = ran(case)
    frozen = next((b for b in case.track.baselines if found and b.id == found.id), None)
    if frozen is None:
        return
    if (code := _code(case.track.baselines, frozen, theirs)) is not None:
        yield code
    if {run.source for run in ours} == {run.source for run in theirs}:
        yield from _silent(frozen, ours, theirs)
    if (settings := _settings(case.track.baselines, frozen, ours, theirs)) is not None:
        yield settings


def _code(known: Sequence[Baseline], frozen: Baseline, theirs: Sequence[Run]) -> str | None:
    """That runs of an arm state or hold code of no frozen baseline; None where all that state any
    run a frozen one, or where nothing says what was frozen."""
    hashes = _hashes(frozen)
    every = frozenset[str]().union(*map(_hashes, known))
    other = [code for run in theirs if (code := code_of([run])) and not code & every]
    if not hashes or not other:
        return None
    of = "" if len(other) == len(theirs) else f" in {len(other)} of its {len(theirs)} runs"
    return (
        f"the baseline arm ran the code {_short(other[0])}{of}, which belongs to no frozen "
        f"baseline; that of {plain(frozen.id, 60)} is {_short(hashes)}"
    )


def _silent(frozen: Baseline, ours: Sequence[Run], theirs: Sequence[Run]) -> Iterator[str]:
    """That an arm does not say what was frozen, where the candidate's runs all do."""
    if _hashes(frozen) and all(code_of([run]) for run in ours):
        if not all(code_of([run]) for run in theirs):
            yield "the candidate's runs name their code, and the baseline arm's do not all"
    stated = [
        [flatten(run.config).keys() & (frozen.code.settings.keys() if frozen.code else set())
         for run in arm]
        for arm in (ours, theirs)
    ]  # fmt: skip
    lacking = frozenset.intersection(*map(frozenset, stated[0])) - frozenset().union(*stated[1])
    if lacking:
        names = ", ".join(plain(name, 40) for name in sorted(lacking)[:_SHOWN])
        more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
        yield f"the candidate's runs state {names}{more}, and the baseline arm's do not"


def _hashes(item: Baseline) -> frozenset[str]:
    return frozenset(item.sources) | ({item.code.sha256} if item.code else frozenset())


def _short(hashes: frozenset[str]) -> str:
    return plain(min(hashes)[:_KEPT])


def _settings(
    known: Sequence[Baseline], frozen: Baseline, ours: Sequence[Run], theirs: Sequence[Run]
) -> str | None:
    """The settings of an arm that are not those of the frozen baseline, in words. Where several
    were frozen of one code, those that a run is recognised as are compared with, the nearest."""
    mine = [flatten(run.config) for run in ours]
    found: dict[str, tuple[_Value, _Value]] = {}
    for run in theirs:
        ids = recognised(run, known)
        several = [b for b in known if b.id in ids] or [frozen]
        config = flatten(run.config)
        unlike = [_unlike(config, b) for b in several]
        for name, pair in min(unlike, key=len).items():
            found.setdefault(name, pair)
    told = [
        f"{plain(name, 60)} {plain(str(value), 40)}, the frozen baseline {plain(str(usual), 40)}"
        for name, (value, usual) in found.items()
        if not of_the_machine(name) or any(c.get(name, value) != value for c in mine)
    ]
    if not told:
        return None
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return f"the baseline arm has {'; '.join(told[:_SHOWN])}{more}"


def _unlike(config: Mapping[str, object], frozen: Baseline) -> dict[str, tuple[_Value, _Value]]:
    """What a run states of the frozen settings with another value, in its configuration or in the
    arguments of its command: {name: (value, frozen)}."""
    settings = frozen.code.settings if frozen.code else {}
    return {
        name: (value, usual)
        for name, usual in settings.items()
        for stated in (config.get(PREFIX + name), config.get(name))
        if isinstance(value := stated, str | int | float)
        and not is_digest(value)
        and value != usual
    }
