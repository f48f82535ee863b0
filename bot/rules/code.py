"""Evidence: code and run belong together.

A run names its code by the SHA-256 of the source (see `bot.evidence.code_hash.source_sha256`): in
its W&B configuration, in its log, or by the source that the log embeds or W&B keeps.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

from bot.compute.baselines import config_of
from bot.evidence.code_hash import hashes_of
from bot.model.case import Case, RunEvidence
from bot.model.run import Run
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.untrusted import shown
from bot.rules.about import about, listed_in, per_message, runs_of, short_name

# The trainer's hash of itself is not code of the submission: it differs with its version.
_TRAINER = "reference_trainer"


def code_differs_between_runs(case: Case) -> Iterator[Finding]:
    """All runs of one arm ran the same code.

    Runs are pooled, so they must be repetitions of one experiment: the same code, and as many
    steps. Change nothing but the seed between them, or put what differs in its own point or arm.
    """
    yield from per_message(_code_differs_between_runs(case))
    yield from per_message(_length_differs(case))


def _code_differs_between_runs(case: Case) -> Iterator[Finding]:
    for item, run, digest, known, other in _odd_ones(case, _main_of(case)):
        yield about(
            case,
            item,
            run,
            "code-differs-between-runs",
            f"the code of the run is not that of {short_name(other.file)}",
            claimed=str(digest)[:12],
            expected=str(known)[:12],
            fix="use runs of one version of the code, or give them a point of their own",
        )


def _length_differs(case: Case) -> Iterator[Finding]:
    """Runs of one arm that set out for different numbers of steps, or end at different ones."""
    for item, run, steps, known, other in _odd_ones(case, lambda run: run.total_steps):
        yield about(
            case,
            item,
            run,
            "code-differs-between-runs",
            f"the run was planned for {steps} steps, {short_name(other.file)} for {known}",
            claimed=steps,
            expected=known,
            fix="pool runs of one length, or give the others a point of their own"
            + (
                ', or "arm": "baseline" where they are the baseline'
                if item.spec.arm == "candidate"
                else ""
            ),
        )
    # Where they do not say for how many, each may have been stopped when it looked good.
    ends = (
        ()
        if case.track.common_stop_step
        else _odd_ones(case, lambda run: run.step if run.total_steps is None else None)
    )
    for item, run, end, known, other in ends:
        yield about(
            case,
            item,
            run,
            "code-differs-between-runs",
            f"the runs do not say for how many steps they set out, and do not all end at step "
            f"{known} as {short_name(other.file)} does",
            claimed=end,
            expected=known,
            fix="log the number of steps that was planned, and pool runs of one length",
        )


def _odd_ones(
    case: Case, trait: Callable[[Run], Any]
) -> Iterator[tuple[RunEvidence, Run, Any, Any, Run]]:
    """Runs whose trait is not that of most runs of their arm and point: the entry, the run, its
    trait, the usual one, and a run that has it. Of equally many the first counts as usual."""
    arms: dict[tuple[str, str | None], list[tuple[RunEvidence, Run, Any]]] = {}
    for item, run in runs_of(case):
        found = trait(run)
        if found is not None:
            arms.setdefault((item.spec.arm, item.spec.point), []).append((item, run, found))
    for members in arms.values():
        usual = statistics.mode(found for _, _, found in members)
        example = next(run for _, run, found in members if found == usual)
        yield from (
            (item, run, found, usual, example) for item, run, found in members if found != usual
        )


def code_differs_from_submission(case: Case) -> Iterator[Finding]:
    """The runs ran the code that is submitted.

    The hash of the source that a run logged, or of the source embedded in its log, must be that of
    the file under `code`, or of the file at the linked commit. Line ends and white space at the
    end of the file do not matter. Submit the file that ran, unchanged. A reproduction or a
    challenge runs the code of the entry that it names. If no source says that it did, another
    configuration than the entry's is noted: the machine alone may make it another.
    """
    if case.submission.reply is not None:
        yield from per_message(_code_of_another(case))
        yield from per_message(_settings_of_another(case))
    yield from per_message(_code_differs_from_submission(case))


def _code_of_another(case: Case) -> Iterator[Finding]:
    target = case.context.standing.target
    if target is None or not target.code:
        return
    for item, run in runs_of(case):
        logged = sorted(_own(run).values())
        if item.spec.arm == "candidate" and logged and target.code.isdisjoint(logged):
            yield about(
                case,
                item,
                run,
                "code-differs-from-submission",
                f"the code that ran has the hash {logged[0][:12]}, that of {target.path} "
                f"{min(target.code)[:12]}",
                claimed=logged[0],
                expected=min(target.code),
                fix="run the code of the entry unchanged, or submit an entry of your own",
            )


def _settings_of_another(case: Case) -> Iterator[Finding]:
    """Runs of a reply whose configuration is known and matches none of the entry's known ones."""
    target = case.context.standing.target
    if target is None or not target.configs:
        return
    for item, run in runs_of(case):
        digest = config_of(run)
        if item.spec.arm != "candidate" or not digest or digest in target.configs:
            continue
        if not target.code.isdisjoint(_own(run).values()):
            continue
        yield about(
            case,
            item,
            run,
            "code-differs-from-submission",
            f"the configuration of the run has the hash {digest[:12]}, that of {target.path} "
            f"{min(target.configs)[:12]}",
            level=Level.NOTE,
            claimed=digest,
            expected=min(target.configs),
            fix="say in the README if more differs than the machine and its versions",
        )


def _code_differs_from_submission(case: Case) -> Iterator[Finding]:
    submitted = _submitted(case)
    if not submitted:
        return
    hashes = frozenset(digest for digests in submitted.values() for digest in digests)
    for item, run in runs_of(case):
        logged = _own(run)
        if item.spec.arm != "candidate" or not logged:
            continue
        same_name = [digest for name, digest in logged.items() if _base(name) in submitted]
        compared = same_name or list(logged.values())
        if not any(digest in hashes for digest in compared):
            yield about(
                case,
                item,
                run,
                "code-differs-from-submission",
                f"the code that ran has the hash {compared[0][:12]}, the code submitted "
                f"{min(hashes)[:12]}",
                claimed=min(hashes),
                expected=compared[0],
                fix="submit the source file exactly as it ran",
            )


def code_missing(case: Case) -> Iterator[Finding]:
    """The code is present if the track requires it.

    A record that nobody can run again teaches little. Put the training script in the folder and
    name it under `code`, link a repository and commit, or use logs that begin with their source. A
    reproduction has the code of its entry.
    """
    submission = case.submission
    if submission.reply is not None:
        return
    path = submission.code_path
    file = listed_in(case)
    if path is not None and not _submitted(case) and _base(path) not in _names(case, path):
        yield finding(
            "code-missing",
            f"the file {shown(path)} that `code` names is not in the submission",
            file=file,
            pointer="/code/path",
            claimed=path,
            fix="add the file, or correct the path",
        )
        return
    linked = submission.code_repository is not None and submission.code_commit is not None
    if not case.track.code_required or path is not None or linked:
        return
    sources = [_own(run) for _, run in runs_of(case)]
    if sources and all(sources):
        return
    yield finding(
        "code-missing",
        "the track requires the code, but the submission has none",
        file=file,
        fix="add the training script to the folder and name it under `code`",
    )


def _submitted(case: Case) -> dict[str, frozenset[str]]:
    """File name -> the hashes that stand for the submitted code; {} where it is not at hand.

    `case.linked_code` holds those of files that lie elsewhere: at the linked commit, or
    at another place of the pull request.
    """
    found: dict[str, frozenset[str]] = {}
    path = case.submission.code_path
    if path is not None:
        name = str(PurePosixPath(path))
        inside = {name, name.removeprefix(f"{case.folder.path}/")}
        data = next((d for n, d in case.folder.files.items() if n in inside), None)
        if data is not None:
            found[_base(name)] = hashes_of(data)
    for file, digests in case.linked_code.items():
        base = _base(file)
        found[base] = found.get(base, frozenset()) | frozenset(digests)
    return found


def _names(case: Case, path: str) -> frozenset[str]:
    """Base names of all files of the submission, and of the path that `code` names if it is a
    folder."""
    folders = [n for n in case.folder.files if n.startswith(f"{path.rstrip('/')}/")]
    names = {_base(name) for name in case.folder.files}
    return frozenset(names | ({_base(path)} if folders else set()))


def _own(run: Run) -> dict[str, str]:
    return {name: digest for name, digest in run.code_sha256.items() if name != _TRAINER}


def _main_of(case: Case) -> Callable[[Run], str | None]:
    """One hash for the code of a run: of the files that all runs of its arm name, else of the
    first; None where the run does not tell."""
    shared: dict[tuple[str, str | None], set[str]] = {}
    place: dict[tuple[str, int], tuple[str, str | None]] = {}
    for item, run in runs_of(case):
        if own := _own(run):
            key = place[run.file, run.index] = item.spec.arm, item.spec.point
            shared[key] = shared.get(key, set(own)) & own.keys()

    def main(run: Run) -> str | None:
        own = _own(run)
        names = sorted(shared[place[run.file, run.index]]) if own else []
        if len(names) < 2:
            return own[names[0] if names else min(own)] if own else None
        return hashlib.sha256("".join(own[name] for name in names).encode()).hexdigest()

    return main


def _base(name: str) -> str:
    return PurePosixPath(name).name
