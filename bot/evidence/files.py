"""One file of evidence, read into runs: a training log, a `.wandb` file, a results file.

    read = read_file(data, "logs/a.log", track)
    read.runs, read.why

Every entry point reads files through this function; each reader is imported when a file needs it.
"""

from __future__ import annotations

import dataclasses as dc
from typing import TYPE_CHECKING, NamedTuple

from bot.model.run import Run
from bot.model.submission import MAX_JSON_BYTES, MAX_LOG_BYTES
from bot.model.track import Track

if TYPE_CHECKING:
    from bot.evidence.log.problems import LogStep
    from bot.evidence.log.training_log import Reading
    from bot.evidence.own import Own

MAX_OFFLINE_BYTES = 512_000_000


class FileRuns(NamedTuple):
    """The runs of a file. `why` and `fix` say what it lacks where it holds no run, or no run with
    a validation loss; `rule` is the rule that this breaks. `blank`: it is a text and no log."""

    runs: tuple[Run, ...]
    why: str = ""
    fix: str | None = None
    rule: str = "metric-missing"
    blank: bool = False


def most_bytes(name: str) -> int:
    """The largest file of this name that is read."""
    limits = {".json": MAX_JSON_BYTES, ".wandb": MAX_OFFLINE_BYTES}
    return limits.get(name.lower()[name.rfind(".") :], MAX_LOG_BYTES)


def read_file(
    data: bytes,
    file: str,
    track: Track,
    *,
    results: bool | None = None,
    mapped: frozenset[str] = frozenset(),
) -> FileRuns:
    """The runs of a file; `file` is the path to show, and its ending says what it is.

    `results` says whether it is a results file, whatever its name; `mapped` names
    the quantities whose names the submission itself gives.
    """
    if file.lower().endswith(".wandb"):
        return _offline(data, file, track)
    if results or results is None and file.lower().endswith(".json"):
        return _results(data, file, track, mapped)
    return _log(data, file, track, mapped)


def _offline(data: bytes, file: str, track: Track) -> FileRuns:
    from bot.evidence.wandb.offline import OfflineFileError, read_offline

    try:
        return FileRuns((read_offline(data, file, track.keys),))
    except OfflineFileError as error:
        return FileRuns((), str(error), "add the run's .wandb file as it is")


def _results(data: bytes, file: str, track: Track, mapped: frozenset[str]) -> FileRuns:
    from bot.compute.metrics import as_run
    from bot.parse.json_file import read_json
    from bot.parse.results_json import is_results, read_results

    document = read_json(data, file)
    if document.problems:
        problem = document.problems[0]
        return FileRuns((), problem.message, problem.fix, problem.rule)
    if not is_results(document.value):
        from bot.evidence.log.text import decode, unpack
        from bot.evidence.own import foreign_run

        if unpack(decode(data)[0]):
            return _log(data, file, track, mapped)

        run = foreign_run(document.value, file, track)
        if run is not None:
            return FileRuns((run,))
        return FileRuns((), f"{file} is not a results file", rule="schema")
    runs = tuple(as_run(run) for run in read_results(document))
    return FileRuns(runs, "" if runs else f"{file} contains no run", rule="schema")


def _log(data: bytes, file: str, track: Track, mapped: frozenset[str]) -> FileRuns:
    """The runs of a log, with the track's own metrics where it tells them apart."""
    from bot.evidence.log.training_log import read

    if not (track.log_patterns or any(m.patterns for m in track.metrics.values())):
        return _usual_log(read(data, file, track.keys, mapped), file)
    from bot.evidence.own import own_metrics, step_lines

    reading = read(step_lines(data, track), file, track.keys, mapped)
    found = _usual_log(reading, file)
    if len(reading.runs) > 1 and not reading.starts:
        return found
    own, contradictions = own_metrics(data, track, reading)
    if not any(item.values for item in own):
        return found
    runs = reading.runs or (Run(source="log", file=file, finished=True),)
    told = tuple(("history-gap", text) for text in contradictions)
    steps = reading.steps or ((),)
    runs = tuple(
        dc.replace(_with_own(run, item, lines, track), problems=(*run.problems, *told))
        for run, item, lines in zip(runs, own, steps, strict=True)
    )
    if any(track.quality.metric in item.values for item in own):
        return FileRuns(runs)
    return found._replace(runs=runs) if reading.runs else found


def _with_own(run: Run, own: Own, steps: tuple[LogStep, ...], track: Track) -> Run:
    """A run with the track's own metrics. Where one of them is the quality and no loss says when it
    was reached, the clock and the step are those of the step that it stands at."""
    metrics, history = {**run.metrics, **own.values}, {**run.history, **own.history}
    scored = own.history.get(track.quality.metric)
    clocks = [(s.step, s.clock_s) for s in sorted(steps, key=lambda s: s.step)]
    timed = [(step, clock) for step, clock in clocks if clock is not None]
    if scored and timed:
        reached = [(p, [c for step, c in timed if step <= p]) for p, _ in scored]
        times = tuple((step, before[-1]) for step, before in reached if before)
        history.setdefault("training_time_s", times)
    if track.quality.metric in own.values and not run.validation:
        metrics["steps"] = scored[-1][0] if scored else run.last_step
        times = history.get("training_time_s", ())
        metrics["training_time_s"] = times[-1][1] if times else timed[-1][1] if timed else None
    return dc.replace(run, metrics=metrics, history=history)


def _usual_log(reading: Reading, file: str) -> FileRuns:
    from bot.evidence.log.near import map_line

    if not reading.runs:
        return FileRuns((), *reading.why(), blank=reading.near.blank)
    if reading.near.strong and not any(r.validation for r in reading.runs):
        why, fix = reading.why()
        return FileRuns(_without_loss(reading, f"{why.removeprefix(f'{file}: ')}; {fix}"), why, fix)
    if any(map(_has_losses, reading.runs)):
        return FileRuns(reading.runs)
    names = sorted(dict.fromkeys(name for run in reading.runs for name in run.history))
    fix = map_line(names[:8])
    runs = _without_loss(reading, f"the log names no validation loss; {fix}")
    return FileRuns(runs, f"{file} names no validation loss", fix)


def _without_loss(reading: Reading, why: str) -> tuple[Run, ...]:
    said = ("metric-missing", why)
    return tuple(dc.replace(run, problems=(*run.problems, said)) for run in reading.runs)


def _has_losses(run: Run) -> bool:
    """Whether a run has a validation loss, even one that is not finite."""
    return bool(run.validation) or any(rule.startswith("metric-not") for rule, _ in run.problems)
