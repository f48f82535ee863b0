"""A submission reduced to what the rules across submissions compare, from its files alone."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from bot.compute.duplicates import (
    MIN_POINTS,
    claims_key,
    link_key,
    nonce_key,
    run_key,
    trace_of,
    value_keys,
)
from bot.evidence.links import RunRef, parse_link
from bot.evidence.same_code import codes_of
from bot.model.case import Neighbour
from bot.model.results import ResultsRun
from bot.model.run import Run
from bot.model.submission import LOG_ENDINGS, Folder, Submission
from bot.model.trace import Trace
from bot.model.track import Keys

NAMES = Keys()
# A value written inside the line of a step; a further digit or another clock makes no other run.
_LOSS = re.compile(rb"(?:val_loss:| tel:)\s{0,4}([0-9]{1,9}\.[0-9]{1,4})")
_STEP = re.compile(rb"s(?:tep)?:(?:([0-9]{1,15})(?:/[0-9]{1,15})?\s)?")
_DIGITS = re.compile(rb"[0-9]{0,8}")
_CLOCK = re.compile(rb"train_time:([0-9]{1,15}(?:\.[0-9]{1,9})?)(ms|s)\b")
_HEAD, _TAIL = 300, 300
_BEFORE_STEP = 84
_MIN_HALF = 5
_NONCE = re.compile(rb"^nonce: ([0-9A-Za-z_-]{16,64})\s*$", re.MULTILINE)


def _loss_lines(data: bytes) -> Iterator[tuple[int | None, bytes, bytes]]:
    """Step, loss to four decimals, and what follows it, of each line of a step. Time is linear in
    the size, whatever the lines are."""
    last = -1
    for found in _LOSS.finditer(data):
        at = found.start()
        begin = data.rfind(b"\n", max(0, at - _HEAD), at) + 1
        if begin == last or not begin and at > _HEAD:
            continue
        step = _STEP.search(data, begin, min(at + 1, begin + _BEFORE_STEP))
        if step is not None:
            last = begin
            end = data.find(b"\n", found.end(), found.end() + _TAIL)
            tail = data[found.end() : end if end >= 0 else found.end() + _TAIL]
            yield None if step.group(1) is None else int(step.group(1)), found.group(1), tail


def log_keys(data: bytes) -> tuple[str, ...]:
    """Keys of a log, from its validation losses to four decimals: all of them, and each half, so
    that a copy with another clock, more digits or one loss changed has one of them too."""
    losses = [loss for _, loss, _ in _loss_lines(data)]
    if len(losses) < MIN_POINTS:
        return ()
    middle = len(losses) // 2
    halves = [losses[:middle], losses[-middle:]] if middle >= _MIN_HALF else []
    return tuple(f"log:{hashlib.sha256(b' '.join(part)).hexdigest()}" for part in (losses, *halves))


def run_keys(
    submission: Submission, results: Iterable[ResultsRun], folder: Folder
) -> frozenset[str]:
    """The keys of the candidate runs of a submission, from links, results files and logs."""
    keys = []
    for spec in submission.runs:
        if spec.arm != "candidate":
            continue
        if spec.is_link:
            keys.append(link_key(spec.target))
        elif spec.source == "log":
            below = f"{spec.target.rstrip('/')}/"
            keys += [
                key
                for name, data in folder.files.items()
                if name == spec.target or name.startswith(below)
                for key in (*log_keys(data), *_nonces(data))
            ]
    keys += [link_key(run.text("link")) for run in results]
    keys += [nonce_key(run.ours.get("nonce")) for run in results]
    return frozenset(key for key in keys if key is not None)


def _nonces(data: bytes) -> list[str]:
    return [f"nonce:{found.decode()}" for found in _NONCE.findall(data)]


def log_traces(data: bytes) -> tuple[Trace, ...]:
    """The traces of the runs of a log, read in a hurry; in full where that finds nothing."""
    runs: list[list[tuple[int, float, float | None]]] = []
    for step, loss, tail in _loss_lines(data):
        if step is None:
            continue
        clock = _CLOCK.search(tail)
        unit = 1000 if clock is not None and clock.group(2) == b"ms" else 1
        more = _DIGITS.match(tail)
        digits = loss + (b"" if more is None else more.group())
        point = step, float(digits), None if clock is None else float(clock.group(1)) / unit
        if not runs or point[0] <= runs[-1][-1][0]:
            runs.append([])
        runs[-1].append(point)
    if not runs:
        from bot.evidence.log.training_log import read_log  # a results file is checked without it

        return tuple(trace_of(run) for run in read_log(data, ""))
    return tuple(Trace.of(points) for points in runs)


def _offline_run(data: bytes, keys: Keys) -> Run | None:
    """The run of an offline file of W&B, None where it cannot be read."""
    from bot.evidence.wandb.offline import OfflineFileError, read_offline

    try:
        return read_offline(data, "", keys)
    except (OfflineFileError, ImportError):
        return None  # nothing is known of it then; the audit reads it and says so


def _of_files(
    submission: Submission, folder: Folder, names: Keys
) -> tuple[list[str | None], list[Trace]]:
    """Keys of the offline files among the candidate runs, and traces of all their files."""
    keys: list[str | None] = []
    traces: list[Trace] = []
    for spec in submission.runs:
        below = f"{spec.target.rstrip('/')}/"
        for name, data in folder.files.items() if spec.arm == "candidate" else ():
            if name != spec.target and not name.startswith(below):
                continue
            if name.lower().endswith(".wandb"):
                run = _offline_run(data, names)
                if run is not None:
                    keys += [run_key(run), nonce_key(run.nonce)]
                    traces.append(trace_of(run))
            elif name.lower().endswith(LOG_ENDINGS) or name == spec.target:
                traces += log_traces(data) if spec.source == "log" else ()
    return keys, traces


def _links(submission: Submission, results: Iterable[ResultsRun]) -> list[RunRef]:
    """The runs on W&B that candidates are, each once."""
    links = [s.target for s in submission.runs if s.arm == "candidate" and s.is_link]
    parsed = map(parse_link, [*links, *(run.text("link") for run in results)])
    return list(dict.fromkeys(ref for ref in parsed if isinstance(ref, RunRef)))


def author_of(submission: Submission, results: Iterable[ResultsRun]) -> str | None:
    """Who is to be credited first: a GitHub login, else the name that a results file states."""
    if submission.contributors:
        return submission.contributors[0].github.lower()
    for run in results:
        author = run.info.get("author")
        name = author.get("name") if isinstance(author, dict) else None
        if isinstance(name, str) and name.strip():
            return name.strip().lower()
    imported = submission.imported or {}
    authors = imported.get("authors")
    first = authors[0] if isinstance(authors, list) and authors else None
    if isinstance(first, dict):
        name = first.get("github") or first.get("name")
        return name.lower() if isinstance(name, str) else None
    return None


def people_of(submission: Submission) -> frozenset[str]:
    """Everybody credited, in lower case: by login, or by name if an import gives no login."""
    authors = (submission.imported or {}).get("authors")
    listed = authors if isinstance(authors, list) else []
    named = (a.get("github") or a.get("name") for a in listed if isinstance(a, dict))
    found = [*(c.github for c in submission.contributors), *named]
    return frozenset(login.lower() for login in found if isinstance(login, str))


def as_neighbour(
    submission: Submission,
    track: str,
    results: Sequence[ResultsRun],
    folder: Folder,
    names: Keys = NAMES,
    kept: Callable[[RunRef], Run | None] | None = None,
) -> Neighbour:
    """A submission reduced to what the rules across submissions compare; `names` are the track's
    keys of a W&B history, `kept` gives the run that is kept of a link, or None."""
    keys, traces = _of_files(submission, folder, names)
    linked: list[Run] = []
    for ref in _links(submission, results) if kept is not None else ():
        run = None if kept is None else kept(ref)
        if run is not None:
            keys.append(nonce_key(run.nonce))
            traces.append(trace_of(run))
            linked.append(run)
    return Neighbour(
        path=submission.path,
        track=track,
        author=author_of(submission, results),
        run_keys=run_keys(submission, results, folder) | {key for key in keys if key is not None},
        claims_key=claims_key(results),
        value_keys=frozenset(value_keys(results)),
        traces=tuple(traces),
        people=people_of(submission),
        code=codes_of(submission, folder, linked[:1]),
        based_on=submission.based_on,
    )
