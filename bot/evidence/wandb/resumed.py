"""One run in several offline files: W&B's client begins a new file each time a run is resumed."""

from __future__ import annotations

import dataclasses as dc
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence

from bot.evidence import warm
from bot.evidence.log.problems import trained_between, trained_twice
from bot.evidence.wandb import contradictions
from bot.evidence.wandb.build import final_metrics
from bot.model.run import SUMMED, Run

History = Mapping[str, tuple[tuple[int, float], ...]]
_CLOCKS = frozenset({"training_time_s", "wall_time_s", "elapsed_s"})


def in_one_piece(parts: Sequence[Run]) -> Run | None:
    """The run whose parts these are, in any order; None where they are not parts of one: two copies
    of a file, or a clock that begins anew."""
    ordered = sorted(parts, key=lambda run: _first(run) or 0)
    whole = ordered[0]
    for part in ordered[1:]:
        if not _goes_on(whole, part):
            return None
        whole = _join(whole, part)
    return whole


def _first(run: Run) -> int | None:
    """The first step that a run logged."""
    steps = [points[0][0] for points in run.history.values() if points]
    steps += [v.step for v in run.validation[:1]]
    return min(steps, default=None)


def _goes_on(before: Run, after: Run) -> bool:
    begin, end = _first(after), before.last_step
    if begin is None or end is None or begin == _first(before) or begin > end + _every(before):
        return False
    if _summed(before, after):
        return True
    clock = [seconds for step, seconds in _clock(before) if step < begin]
    later = [seconds for _, seconds in _clock(after)]
    return not clock or not later or clock[-1] <= later[0]


def _clock(run: Run) -> Sequence[tuple[int, float]]:
    """The clock at the validations, or at all rows where the loss is not what is validated."""
    stops = [(v.step, v.time_s) for v in run.validation if v.time_s is not None]
    return stops or run.history.get("time_s", ())


def _summed(before: Run, after: Run) -> bool:
    return SUMMED in before.client_marks and SUMMED in after.client_marks


def _every(run: Run) -> int:
    """The usual number of steps from one row to the next."""
    logged = {s for points in run.history.values() for s, _ in points}
    steps = sorted(logged | {v.step for v in run.validation})
    gaps = [b - a for a, b in itertools.pairwise(steps)]
    return statistics.median_low(gaps) if gaps else 1


def _on_one_clock(before: Run, after: Run) -> Run:
    """The later part with a clock that goes on from where the earlier one stood."""
    begin = _first(after) or 0
    passed = [s for step, s in before.history.get("time_s", ()) if step < begin]
    if not passed or not _summed(before, after):
        return after
    clock = tuple((step, s + passed[-1]) for step, s in after.history.get("time_s", ()))
    return dc.replace(
        after,
        history={**after.history, "time_s": clock},
        validation=tuple(
            v if v.time_s is None else v._replace(time_s=v.time_s + passed[-1])
            for v in after.validation
        ),
        witnesses=tuple(
            w._replace(value=w.value + passed[-1])
            if w.quantity in _CLOCKS and isinstance(w.value, float)
            else w
            for w in after.witnesses
        ),
    )


def _problems(before: Run, after: Run, history: History) -> Iterator[tuple[str, str]]:
    """What was said of each part and holds of the whole, and what only the whole shows."""
    later = (p for p in after.problems if warm.SAYS not in p[1])
    for problem in (*before.problems, *later):
        if "begins at step" not in problem[1] and contradictions.SUMMED not in problem[1]:
            yield problem
    if _summed(before, after):
        known = {step for step, _ in history.get("time_s", ())}
        yield from contradictions.untimed("the duration", known, _first(before) or 0)


def _join(before: Run, after: Run) -> Run:
    """The later part with what the earlier one logged before it. What `_runtime` counts is each
    part's own, so that nothing is compared with it."""
    begin = _first(after) or 0
    after = _on_one_clock(before, after)
    history = {
        name: (
            *((s, v) for s, v in before.history.get(name, ()) if s < begin),
            *after.history.get(name, ()),
        )
        for name in {*before.history, *after.history}
    }
    first, second = (((v.step, v.loss) for v in part.validation) for part in (before, after))
    training = before.history.get("train_loss", ()), after.history.get("train_loss", ())
    again = trained_twice(first, second, training)
    whole = dc.replace(
        after,
        file=before.file,
        validation=(*(v for v in before.validation if v.step < begin), *after.validation),
        history=history,
        total_steps=after.total_steps or before.total_steps,
        created_at=before.created_at or after.created_at,
        config={**before.config, **after.config},
        hardware=after.hardware if after.hardware.device else before.hardware,
        problems=(*_problems(before, after, history), *([] if again is None else [again])),
        runtime_s=None,
        runtimes=(),
        client_marks=tuple(dict.fromkeys((*before.client_marks, *after.client_marks, "resumed"))),
    )
    points = [(v.step, v.loss) for v in whole.validation]
    between = tuple(trained_between(points, history.get("train_loss", ()), [begin]))
    return dc.replace(whole, metrics=final_metrics(whole), problems=(*whole.problems, *between))
