"""Which runs count: finished ones, each once, all at one step where the track asks for it.

Nothing is left out silently: every run that does not count is an `Excluded` with the reason.
"""

from __future__ import annotations

import dataclasses as dc
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from bot.compute.duplicates import MOST_RUNS, repeats
from bot.compute.metrics import Metrics, is_measurement, of_run
from bot.model.run import Run, Validation
from bot.model.summary import Excluded
from bot.model.track import LOSS_METRICS, Track
from bot.render.untrusted import plain

_ENDED_BADLY = ("crashed", "failed", "killed", "running")


@dc.dataclass(frozen=True, slots=True)
class Kept:
    """A run that counts with the values that count. `cost` is None where it is unknown."""

    run: Run
    quality: float
    cost: float | None
    metrics: Metrics


@dc.dataclass(frozen=True, slots=True)
class Selection:
    """The runs that count, in the order given, and those that do not.

    `step` is the step at which all were taken (None: each at its end); `hint` is a sentence that
    helps where nothing is left, or None.
    """

    kept: tuple[Kept, ...]
    excluded: tuple[Excluded, ...]
    step: int | None = None
    hint: str | None = None


def select(
    runs: Iterable[Run], track: Track, *, step: int | None = None, loss_key: str | None = None
) -> Selection:
    """Sort `runs` into those that count and those that do not. See `summary.summarise`."""
    excluded: list[Excluded] = []
    usable: list[Run] = []
    unique = _once(tuple(runs), excluded)
    for original in unique:
        run = original if loss_key is None else with_loss_key(original, loss_key)
        why = _unusable(run, original, track, step, loss_key)
        if why is None:
            usable.append(run)
        else:
            excluded.append(Excluded(run.file, run.index, why))
    at = step
    if at is None and track.common_stop_step and usable:
        at = _common_step(usable)
    by_loss = _by_loss(track, loss_key)
    kept = []
    for run in usable:
        item = _values(run, track, at, by_loss)
        if item is None:
            why = f"no validation at step {at}, the last step that all runs share"
            excluded.append(Excluded(run.file, run.index, why))
        else:
            kept.append(item)
    hint = _hint(kept, unique, step) if loss_key is None else None
    return Selection(tuple(kept), tuple(excluded), at, hint)


def _by_loss(track: Track, loss_key: str | None) -> bool:
    """Whether the quality is the loss of the validations."""
    return loss_key is not None or track.quality.metric in LOSS_METRICS


def with_loss_key(run: Run, key: str) -> Run:
    """The run with the metric `key` of its history in the place of the validation loss.

    A run without that metric keeps no validation at all.
    """
    clock = {v.step: v.time_s for v in run.validation}
    points = tuple(Validation(s, v, clock.get(s)) for s, v in run.history.get(key, ()))
    total = run.total_steps
    done = None if total is None else bool(points) and points[-1].step >= total
    return dc.replace(run, validation=points, finished=done)


def _once(runs: Sequence[Run], excluded: list[Excluded]) -> list[Run]:
    """Each training once: a copy, or a part printed again, is excluded and names its original."""
    first: dict[Hashable, Run] = {}
    unique = []
    for run in runs:
        original = next((first[k] for k in _identities(run) if k in first), None)
        if original is not None:
            again = (run.file, run.index) == (original.file, original.index)
            why = "listed twice" if again else f"the same run as {_name(original)}"
            excluded.append(Excluded(run.file, run.index, why, "same"))
            continue
        for key in _identities(run):
            first[key] = run
        unique.append(run)
    by_end: dict[Validation, list[Run]] = {}
    for run in unique:
        for point in run.validation[-1:]:
            by_end.setdefault(point, []).append(run)
    parts: set[int] = set()
    for run in unique:
        whole = _whole(run, by_end)
        if whole is not None:
            parts.add(id(run))
            why = f"repeats the end of {_name(whole)}"
            excluded.append(Excluded(run.file, run.index, why, "same"))
    rest = [run for run in unique if id(run) not in parts]
    for run in rest[MOST_RUNS:]:
        why = f"more than {MOST_RUNS} runs are not told apart"
        excluded.append(Excluded(run.file, run.index, why))
    rest = rest[:MOST_RUNS]
    copies = dict(repeats(rest))
    for i, earlier in copies.items():
        why = f"its losses or its clocks are those of {_name(rest[earlier])}"
        excluded.append(Excluded(rest[i].file, rest[i].index, why, "alike"))
    return [run for i, run in enumerate(rest) if i not in copies]


def _identities(run: Run) -> list[Hashable]:
    """What makes two runs the same: series, nonce, or W&B id; results by all their numbers."""
    keys: list[Hashable] = []
    if run.validation:
        keys.append(("series", run.validation))
    elif numbers := tuple(sorted((k, v) for k, v in run.metrics.items() if v is not None)):
        keys.append(("metrics", run.run_id, numbers))
    if run.nonce is not None:
        keys.append(("nonce", run.nonce))
    if run.entity and run.project and run.run_id:
        keys.append(("wandb", run.entity, run.project, run.run_id))
        if run.branch_point is not None and run.branch_point.run_id:
            keys.append(("wandb", run.entity, run.project, run.branch_point.run_id))
    return keys


def _whole(run: Run, by_end: dict[Validation, list[Run]]) -> Run | None:
    """The run of which this one is a proper part, told by step, loss and clock of its points."""
    if run.time_s is None:
        return None
    for other in by_end[run.validation[-1]]:
        if set(run.validation) < set(other.validation):
            return other
    return None


def _nearest(run: Run, step: int) -> int:
    return min((v.step for v in run.validation), key=lambda s: (abs(s - step), s))


def _unusable(
    run: Run, original: Run, track: Track, step: int | None, loss_key: str | None
) -> str | None:
    """Why a run cannot count, or None."""
    if loss_key is not None and not run.validation:
        named = ", ".join(sorted(plain(name, 40) for name in original.history)[:8])
        return f"its history has no metric {loss_key}" + (f", but {named}" if named else "")
    by_loss = _by_loss(track, loss_key)
    if by_loss and not run.validation:
        said = next((m for rule, m in original.problems if rule == "metric-missing"), None)
        if said is not None:
            return said
        names = ", ".join(track.keys.loss) if original.source.startswith("wandb") else ""
        return "it has no finite validation loss" + (
            f" under the names that the track reads: {names}" if names else ""
        )
    if by_loss and not all(is_measurement(v.loss) for v in run.validation):
        return "a validation loss of it is not a finite number"
    if by_loss and any(v.loss <= 0 for v in run.validation):
        return "a validation loss of it is not above 0"
    if step is not None and by_loss:
        if run.at_step(step):
            return None
        return f"no validation at step {step}, the nearest is at {_nearest(run, step)}"
    if original.state in _ENDED_BADLY and run.finished is not True:
        return f"its state is {original.state}"
    if run.finished is False and not ended_otherwise(run, track):
        return _unfinished(run, original)
    if not by_loss and of_run(run, track, step)[track.quality.metric] is None:
        return f"it has no {track.quality.metric}"
    return None


def ended_otherwise(run: Run, track: Track) -> bool:
    """Whether the run ended as the track lets it end: by the clock, or by reaching the target."""
    if track.finish == "time-limit":
        return True
    if track.finish != "target":
        return False
    if track.quality.metric in track.metrics:
        value = of_run(run, track)[track.quality.metric]
        return value is not None and track.reaches(value)
    end = track.end_of(run)
    return end is not None and track.reaches(end.loss)


def _unfinished(run: Run, original: Run) -> str:
    bad = next((m for rule, m in original.problems if rule == "metric-not-finite"), None)
    if bad is not None:
        return bad
    last = original.last_step if original.last_step is not None else run.step
    if last is None:
        return "it did not finish"
    of = f" of {run.total_steps}" if run.total_steps is not None else ""
    return f"it did not finish: it stopped at step {last}{of}"


def _common_step(runs: Sequence[Run]) -> int | None:
    """The last step at which every run has a validation; None where they share none."""
    shared = set.intersection(*({v.step for v in run.validation} for run in runs))
    return max(shared, default=None)


def _values(run: Run, track: Track, step: int | None, by_loss: bool) -> Kept | None:
    """The values that count; None if the run has no quality at `step`."""
    metrics = of_run(run, track, step)
    quality = metrics["loss" if by_loss else track.quality.metric]
    if quality is None:
        return None
    cost = quality if track.objective == "best" else metrics[track.cost.metric]
    return Kept(run, quality, None if cost is None else float(cost), metrics)


def _hint(kept: Sequence[Kept], runs: Sequence[Run], step: int | None) -> str | None:
    """Where every run stopped early at one step, the option that takes them there."""
    if kept or step is not None:
        return None
    ends = Counter(r.step for r in runs if r.step is not None)
    if not ends:
        return None
    end, count = ends.most_common(1)[0]
    return f"{count} of the runs end at step {end}: --step {end} takes them there"


def _name(run: Run) -> str:
    return run.file if run.index == 0 else f"{run.file} run {run.index}"
