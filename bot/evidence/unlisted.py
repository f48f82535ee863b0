"""Logs that lie in the submission's folder and that `runs` does not list: the open drawer.

    left = left_out(submission, folder, track, evidence)     # Unlisted("submissions/...", runs)

Only runs of the same experiment as a listed one count: the code is the same if both state it, and
so is the number of steps. A file that holds a listed run again, such as the log before it was
trimmed, adds no run; it is another witness of that run.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from bot.compute.duplicates import MOST_RUNS, repeats
from bot.evidence.files import read_file
from bot.model.case import RunEvidence, Unlisted
from bot.model.run import Run
from bot.model.submission import LOG_ENDINGS, TABLE_ENDINGS, Folder, RunSpec, Submission
from bot.model.track import Track
from bot.parse.data_manifest import DATA_MANIFEST
from bot.parse.submission_json import SUBMISSION
from bot.registry import LOSS_TOLERANCE

MAX_RUNS = 100
_ENOUGH = 4


def left_out(
    submission: Submission, folder: Folder, track: Track, evidence: Sequence[RunEvidence]
) -> tuple[Unlisted, ...]:
    """The runs of files that no entry of `runs` names; () where the folder has no such list."""
    if folder.bare or not submission.raw:
        return ()
    listed = [run for item in evidence for run in item.runs]
    if not listed:
        return ()
    track = dc.replace(track, keys=track.keys.named(submission.keys))
    mapped = frozenset(submission.keys)
    names = [
        n
        for n in sorted(folder.files)
        if n.lower().endswith((*LOG_ENDINGS, ".json", *TABLE_ENDINGS))
        and PurePosixPath(n).name not in (SUBMISSION, DATA_MANIFEST)
        and not _is_listed(n, submission.runs)
    ]
    others = [
        run
        for name in names
        for run in _read(name, folder, track, mapped)
        if run.validation and any(_one_experiment(run, own) for own in listed)
    ]
    if not others:
        return ()
    listed, others = listed[:MOST_RUNS], others[:MOST_RUNS]
    copies = {index for index, _ in repeats((*listed, *others))}
    fresh = [
        run
        for index, run in enumerate(others, len(listed))
        if index not in copies and not any(_same_run(run, own) for own in listed)
    ]
    again = [(own, run) for run in others for own in listed if _tells_of(run, own)]
    if not fresh and not again:
        return ()
    return (Unlisted(folder.path, tuple(fresh[:MAX_RUNS]), told_again=tuple(again[:MAX_RUNS])),)


def _read(name: str, folder: Folder, track: Track, mapped: frozenset[str]) -> tuple[Run, ...]:
    data, file = folder.files[name], folder.full(name)
    return read_file(data, file, track, mapped=mapped).runs


def _is_listed(name: str, specs: Iterable[RunSpec]) -> bool:
    targets = {str(PurePosixPath(spec.target)) for spec in specs}
    return "." in targets or any(name == t or name.startswith(f"{t}/") for t in targets)


def _same_run(a: Run, b: Run) -> bool:
    """Whether two files tell of one run: its nonce, or all losses of the steps that both have,
    also where these are too few for `repeats`."""
    if a.nonce is not None and a.nonce == b.nonce:
        return True
    losses = {v.step: v.loss for v in b.validation}
    common = [(v.loss, losses[v.step]) for v in a.validation if v.step in losses and v.step > 0]
    return bool(common) and all(abs(x - y) <= LOSS_TOLERANCE for x, y in common)


def _tells_of(a: Run, b: Run) -> bool:
    """Whether two files tell of one run: a few losses that are equal may be so by chance."""
    if a.nonce is not None and b.nonce is not None:
        return a.nonce == b.nonce
    steps = {v.step for v in a.validation} & {v.step for v in b.validation}
    return len(steps) >= _ENOUGH and _same_run(a, b)


def _one_experiment(a: Run, b: Run) -> bool:
    mine, theirs = frozenset(a.code_sha256.values()), frozenset(b.code_sha256.values())
    if mine and theirs and not mine & theirs:
        return False
    return None in (a.total_steps, b.total_steps) or a.total_steps == b.total_steps
