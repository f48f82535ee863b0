"""Evidence: the runs of a submission, the same `Run` from every source.

    evidence = gather(submission, folder, track, online=ENVIRONMENT)      # reads W&B
    evidence = gather(submission, folder, track, snapshots=Snapshots(path))   # no network

One package a source (`wandb`, `log`), `results_file` and `snapshot`; each is imported when a
submission needs it. Only `wandb.client` uses the network.
"""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from bot.evidence.fetcher import Fetcher
from bot.evidence.progress import counted
from bot.model.case import RunEvidence, Unlisted
from bot.model.run import Run
from bot.model.submission import LOG_ENDINGS, Folder, RunSpec, Submission
from bot.model.track import LOSS_METRICS, STEP_METRICS, Track
from bot.model.verdict import Finding, finding
from bot.registry import OURS, Level, catalogue
from bot.render.untrusted import plain

if TYPE_CHECKING:
    from bot.evidence.links import RunRef
    from bot.evidence.snapshot import Snapshots
    from bot.evidence.wandb.online import Fetched


@dc.dataclass(frozen=True, slots=True)
class Evidence:
    """What was gathered: one entry a `RunSpec`, in their order, and the open drawer."""

    runs: tuple[RunEvidence, ...]
    unlisted: tuple[Unlisted, ...] = ()


class _FromEnvironment:
    """Stands for a fetcher with the key of the environment, made when a link needs it."""


ENVIRONMENT = _FromEnvironment()
"""Give it to `gather` as `online`: W&B with WANDB_API_KEY, imported only where a link needs it."""


def gather(
    submission: Submission,
    folder: Folder,
    track: Track,
    *,
    online: Fetcher | _FromEnvironment | None = None,
    snapshots: Snapshots | None = None,
) -> Evidence:
    """Read the evidence of every run of `submission`. Never raises on what it holds.

    With `online` None nothing goes over the network: linked runs come from `snapshots`, and where
    there is none the rule `evidence-unavailable` says that the evidence is not at hand. With both,
    a run that is not what it was is reported (`evidence-changed`) and its snapshot counts. A spec
    `aside` that is not at hand offline is left empty without a word.
    """
    track = dc.replace(track, keys=track.keys.named(submission.keys))
    own = frozenset(submission.keys)
    linked = [spec for spec in submission.runs if spec.is_link]
    remote, unlisted = _linked(linked, submission, track, online, snapshots) if linked else ({}, ())
    gathered = tuple(
        remote[spec] if spec in remote else _from_folder(spec, folder, track, own)
        for spec in counted("Reading runs", submission.runs)
    )
    if not submission.raw and any(item.runs for item in gathered):
        gathered = tuple(map(_beside_runs, gathered))
    return Evidence(tuple(_placed(item, folder) for item in _joined(gathered)), unlisted)


def _beside_runs(item: RunEvidence) -> RunEvidence:
    """A file that holds no run, in a folder whose runs nobody listed and which has others: a
    person looks at it, unless it is plainly no log."""
    if item.runs or item.spec.source != "log":
        return item
    level = Level.NOTE if item.blank else Level.WARNING
    return dc.replace(item, problems=tuple(dc.replace(f, level=level) for f in item.problems))


def _joined(items: tuple[RunEvidence, ...]) -> tuple[RunEvidence, ...]:
    """The entries, with a run that was resumed into several offline files of W&B in one piece, in
    the place of the first of them."""
    places: dict[tuple[str | None, str, str], list[int]] = {}
    for place, item in enumerate(items):
        run = item.runs[0] if len(item.runs) == 1 else None
        if run is not None and run.source == "wandb-offline" and run.run_id:
            places.setdefault((run.project, run.run_id, item.spec.arm), []).append(place)
    found = list(items)
    for same in places.values():
        if len(same) > 1:
            from bot.evidence.wandb.resumed import in_one_piece

            whole = in_one_piece([found[place].runs[0] for place in same])
            if whole is not None:
                found[same[0]] = dc.replace(found[same[0]], runs=(whole,))
                for place in same[1:]:
                    found[place] = RunEvidence(found[place].spec, joined=True)
    return tuple(found)


def _placed(item: RunEvidence, folder: Folder) -> RunEvidence:
    """The evidence with its problems placed in the submission.json that lists the run."""
    if "submission.json" not in folder.files:
        return item
    file = folder.full("submission.json")
    problems = (dc.replace(f, file=file) if f.file is None else f for f in item.problems)
    return dc.replace(item, problems=tuple(problems))


def _linked(
    specs: Sequence[RunSpec],
    submission: Submission,
    track: Track,
    online: Fetcher | _FromEnvironment | None,
    snapshots: Snapshots | None,
) -> tuple[dict[RunSpec, RunEvidence], tuple[Unlisted, ...]]:
    """The runs behind the links. One listed twice is fetched once and counted once."""
    from bot.evidence.links import LinkProblem, parse_link

    refs: dict[RunSpec, RunRef] = {}
    found: dict[RunSpec, RunEvidence] = {}
    for spec in specs:
        parsed = parse_link(spec.target)
        if isinstance(parsed, LinkProblem):
            found[spec] = _problem(spec, *parsed)
        else:
            refs[spec] = parsed
    unlisted: tuple[Unlisted, ...] = ()
    if online is None:
        for spec, ref in refs.items():
            found[spec] = _from_snapshot(spec, ref, snapshots, track)
    elif refs:
        fetcher = _from_environment() if isinstance(online, _FromEnvironment) else online
        fetched = fetcher.fetch(list(refs.values()), track.keys, code=_code(submission, track))
        found |= {s: _online(s, ref, fetched[ref], snapshots, track) for s, ref in refs.items()}
        runs = {ref: fetched[ref].run for ref in refs.values()}
        read = {ref: run for ref, run in runs.items() if run is not None}
        unlisted = fetcher.unlisted(read, track.keys) if submission.path else ()
    return found, unlisted


def _from_environment() -> Fetcher:
    from bot.evidence.wandb.online import WandbFetcher

    return WandbFetcher.from_environment()


def _code(submission: Submission, track: Track) -> str | None:
    """The name of the source file that the runs should hold, where one is asked for."""
    if submission.reply is not None:
        from bot.evidence.wandb.attached import EVERY

        return EVERY
    if submission.code_path is not None:
        return PurePosixPath(submission.code_path).name
    return "" if track.code_required or submission.code_commit else None


def _online(
    spec: RunSpec, ref: RunRef, fetched: Fetched, snapshots: Snapshots | None, track: Track
) -> RunEvidence:
    """A fetched run, or why there is none; what was verified before counts where it changed."""
    from bot.evidence.drift import difference
    from bot.evidence.snapshot import SnapshotError

    try:
        kept = None if snapshots is None else snapshots.latest(ref)
    except (SnapshotError, OSError):
        kept = None  # a damaged snapshot verifies nothing; the run is judged as it is now
    if kept is not None:
        kept = dc.replace(kept, source="wandb")
        changed = difference(kept, fetched)
        item = _read(spec, (kept if changed or fetched.run is None else fetched.run,), track)
        message = f"run {ref.path}: {changed}"
        told = _problem(spec, "evidence-changed", message).problems if changed else ()
        return dc.replace(item, problems=item.problems + told)
    if fetched.run is not None:
        return _read(spec, (fetched.run,), track)
    failure = fetched.failure
    assert failure is not None
    message = f"run {ref.path}: {failure.message}"
    if failure.rule in OURS:
        message = f"{failure.message} ({ref.path.rpartition('/')[2]})"
    return _problem(spec, failure.rule, message, failure.fix)


def _from_snapshot(
    spec: RunSpec, ref: RunRef, snapshots: Snapshots | None, track: Track
) -> RunEvidence:
    from bot.evidence.snapshot import SnapshotError

    try:
        run = None if snapshots is None else snapshots.latest(ref)
    except (SnapshotError, OSError) as error:
        reason = str(error) if isinstance(error, SnapshotError) else "it cannot be read"
        return _problem(spec, "evidence-unavailable", f"run {ref.path}: {reason}")
    if run is None and spec.aside:
        return RunEvidence(spec)
    if run is None:
        message = f"run {ref.path}: W&B was not asked, and there is no snapshot"
        return _problem(spec, "evidence-unavailable", message)
    return _read(spec, (run,), track)


def _from_folder(spec: RunSpec, folder: Folder, track: Track, own: frozenset[str]) -> RunEvidence:
    """The runs of a file, or of the files below a folder, that lies beside submission.json."""
    name = str(PurePosixPath(spec.target))
    if name in folder.files:
        return _from_file(spec, name, folder, track, own)
    below = [n for n in sorted(folder.files) if n.startswith(f"{name}/") or name == "."]
    logs = [n for n in below if n.lower().endswith(LOG_ENDINGS)]
    found = [_from_file(spec, n, folder, track, own) for n in logs]
    if found:
        runs = tuple(run for item in found for run in item.runs)
        return RunEvidence(spec, runs, tuple(f for item in found for f in item.problems))
    why = folder.skipped.get(name, "it is not in the submission folder")
    message = f'the file "{spec.target[:200]}" was not read: {why}'
    return _problem(spec, "schema", message, "name a file beside submission.json")


def _from_file(
    spec: RunSpec, name: str, folder: Folder, track: Track, own: frozenset[str]
) -> RunEvidence:
    from bot.evidence.files import read_file

    data, shown = folder.files[name], folder.full(name)
    read = read_file(data, shown, track, results=spec.source == "results", mapped=own)
    if not read.runs or read.why and track.quality.metric in LOSS_METRICS:
        return dc.replace(_problem(spec, read.rule, read.why, read.fix), blank=read.blank)
    runs = read.runs
    if runs[0].source == "wandb-offline":
        from bot.evidence.snapshot import restrict

        runs = tuple(map(restrict, runs))
    return _read(spec, runs, track)


def _read(spec: RunSpec, runs: tuple[Run, ...], track: Track) -> RunEvidence:
    """The evidence of runs that were read; the seed of the entry counts where the run has none."""
    if spec.seed is not None:
        runs = tuple(dc.replace(r, seed=spec.seed) if r.seed is None else r for r in runs)
    # The rules of the family evidence look at the runs themselves.
    problems = [
        finding(rule, _with_name(message, run), pointer=spec.pointer or None, run=run.file)
        for run in runs
        for rule, message in run.problems
        if catalogue()[rule]["family"] != "evidence"
        # What does not rank may be missing, and what a results file states beside its run.
        and (rule != "metric-missing" or not spec.aside and _ranks(run, track))
    ]
    return RunEvidence(spec, runs, tuple(problems))


def _with_name(message: str, run: Run) -> str:
    """A message that names a line of a log, with the log's name."""
    name = plain(run.file.rpartition("/")[2])
    named = run.source != "log" or name in message or not re.search(r"\blines? \d", message)
    return message if named else f"{message} ({name})"


def _ranks(run: Run, track: Track) -> bool:
    """Whether what a run lacks is something that the track ranks by: its clock may be missing
    where steps count."""
    return track.cost.metric not in STEP_METRICS or not run.validation


def _problem(spec: RunSpec, rule: str, message: str, fix: str | None = None) -> RunEvidence:
    target = spec.target[:500]
    fields: dict[str, Any] = {"pointer": spec.pointer or None, "run": target, "fix": fix}
    found: Finding = finding(rule, message, claimed=target, **fields)
    return RunEvidence(spec, problems=(found,))
