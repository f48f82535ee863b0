"""One file of evidence, read into runs: a training log, a `.wandb` file, a results file.

    read = read_file(data, "logs/a.log", track)
    read.runs, read.why

Every entry point reads files through this function; each reader is imported when a file needs it.
"""

from __future__ import annotations

from typing import NamedTuple

from bot.model.run import Run
from bot.model.submission import MAX_JSON_BYTES, MAX_LOG_BYTES
from bot.model.track import Track

MAX_OFFLINE_BYTES = 512_000_000


class FileRuns(NamedTuple):
    """The runs of a file; where there are none, the rule that this breaks, why, and the fix."""

    runs: tuple[Run, ...]
    why: str = ""
    fix: str | None = None
    rule: str = "metric-missing"


def most_bytes(name: str) -> int:
    """The largest file of this name that is read."""
    limits = {".json": MAX_JSON_BYTES, ".wandb": MAX_OFFLINE_BYTES}
    return limits.get(name.lower()[name.rfind(".") :], MAX_LOG_BYTES)


def read_file(data: bytes, file: str, track: Track, *, results: bool | None = None) -> FileRuns:
    """The runs of a file; `file` is the path to show, and its ending says what it is.

    `results` says that it is a results file, or that it is none, whatever its name.
    """
    if file.lower().endswith(".wandb"):
        return _offline(data, file, track)
    if results or results is None and file.lower().endswith(".json"):
        return _results(data, file)
    return _log(data, file)


def _offline(data: bytes, file: str, track: Track) -> FileRuns:
    from bot.evidence.wandb.offline import OfflineFileError, read_offline

    try:
        return FileRuns((read_offline(data, file, track.keys),))
    except OfflineFileError as error:
        return FileRuns((), str(error), "add the run's .wandb file as it is")


def _results(data: bytes, file: str) -> FileRuns:
    from bot.compute.metrics import as_run
    from bot.parse.json_file import read_json
    from bot.parse.results_json import is_results, read_results

    document = read_json(data, file)
    if document.problems:
        problem = document.problems[0]
        return FileRuns((), problem.message, problem.fix, problem.rule)
    if not is_results(document.value):
        return FileRuns((), f"{file} is not a results file", rule="schema")
    runs = tuple(as_run(run) for run in read_results(document))
    return FileRuns(runs, "" if runs else f"{file} holds no run", rule="schema")


def _log(data: bytes, file: str) -> FileRuns:
    from bot.evidence.log.training_log import read_log

    runs = read_log(data, file)
    if runs:
        return FileRuns(runs)
    lines = "with lines such as step:10/100 val_loss:3.2800 train_time:6000ms"
    why = f"{file} holds no line with a step and a loss"
    return FileRuns((), why, f"give the log that the training printed, {lines}")
