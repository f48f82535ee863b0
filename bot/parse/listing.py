"""What a submission lists that its folder does not hold, and what of it was not read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from bot.model.document import Document
from bot.model.submission import (
    LOG_ENDINGS,
    MAX_FILES,
    Folder,
    RunSpec,
    Submission,
)
from bot.model.track import Track
from bot.model.values import near_key
from bot.model.verdict import Finding, finding
from bot.parse.json_scan import escape
from bot.parse.submission_json import SUBMISSION
from bot.render.numbers import listed as in_words
from bot.render.untrusted import plain, shown

TOO_MANY = f"more than {MAX_FILES} files"
_EVIDENCE = {
    "wandb": "a link to the run on W&B",
    "log": "the log of the run",
    "results": "a results file",
}


def too_long(size: int, limit: int) -> str:
    """Why a file of so many bytes was not read."""
    return f"it has {size:,} bytes, at most {limit:,} are read"


def skipped(folder: Folder) -> Iterator[Finding]:
    """Files that were not read, and why."""
    for name, why in folder.skipped.items():
        rule = "unsafe-name" if "link" in why or "regular" in why else "schema"
        if rule == "schema" and name.lower().endswith(".json"):
            rule = "json-invalid"
        fix = "remove it or make it smaller"
        if "permission" in why:
            fix = "make it readable"
        elif why == TOO_MANY:
            fix = f"keep at most {MAX_FILES} files in the folder"
        yield finding(
            rule, f"the file was not read: {why}", file=plain(folder.full(name), 200), fix=fix
        )


def holds(folder: Folder, target: str) -> bool:
    """Whether `target` is a file of the folder, or a folder in it that has files."""
    below = f"{target.rstrip('/')}/"
    return target in folder.files or any(name.startswith(below) for name in folder.files)


def loose(folder: Folder, submission: Submission) -> str | None:
    """What to say of logs in `logs/` that no entry of the list names; None without any."""
    named = tuple(spec.target.rstrip("/") for spec in submission.runs)
    logs = [n for n in folder.files if n.startswith("logs/") and n.lower().endswith(LOG_ENDINGS)]
    left = sorted(n for n in logs if not any(n == t or n.startswith(f"{t}/") for t in named))
    if not left or not submission.raw:
        return None
    several = [f"{len(left) - 3} more"] if left[3:] else []
    return (
        f"{plain(folder.path, 200)}: submission.json does not list "
        f"{in_words([*(plain(n, 120) for n in left[:3]), *several])}; list or remove them, or "
        "they become part of the pull request"
    )


def specs(folder: Folder, submission: Submission, listed: Document | None) -> Iterator[Finding]:
    """Runs that name a file which the folder does not hold, or points that are not declared."""
    named = {spec.point for spec in submission.runs}
    for spec in submission.runs:
        missing = not spec.is_link and not holds(folder, spec.target)
        if missing and spec.target not in folder.skipped:
            near = near_key(
                spec.target, set(folder.files) - {run.target for run in submission.runs}
            )
            yield finding(
                "schema",
                f"the folder has no file {shown(spec.target)}",
                claimed=plain(spec.target),
                run=plain(spec.target, 200),
                fix=f'write "{near}"' if near else _meant(spec.target, folder, submission),
                **_listed_at(spec, listed),
            )
        # One point alone may go unnamed; several would be pooled.
        several = bool(submission.points) or len(named) > 1
        if spec.point is None and spec.arm == "candidate" and len(submission.points) > 1:
            yield finding(
                "schema",
                f"the run {shown(spec.target)} has no `point`; expected one of "
                f"{plain(', '.join(submission.points), 200)}",
                claimed=plain(spec.target),
                fix=f'add "point": "{plain(submission.points[0], 64)}", or the one it belongs to',
                **_listed_at(spec, listed),
            )
        if spec.point is not None and several and spec.point not in submission.points:
            yield finding(
                "schema",
                f"the point {shown(spec.point)} is not in `points`",
                claimed=plain(spec.point),
                fix="add it to `points`, or correct it",
                **_listed_at(spec, listed),
            )


def _meant(target: str, folder: Folder, submission: Submission) -> str:
    """The file that a path which leads nowhere stands for: of its name, or the one not listed."""
    name = PurePosixPath(target).name
    listed = {spec.target for spec in submission.runs}
    ends = LOG_ENDINGS if name.lower().endswith(LOG_ENDINGS) else PurePosixPath(name).suffix
    logs = [
        n
        for n in folder.files
        if ends and n.lower().endswith(ends) and n not in listed and n != SUBMISSION
    ]
    likely = [n for n in folder.files if PurePosixPath(n).name == name and n not in listed] or logs
    first = f'write "{plain(likely[0], 120)}", or ' if len(likely) == 1 else ""
    return f"{first}add the file; if there is none, remove the run and say why in the README"


def not_accepted(
    submission: Submission, track: Track | None, listed: Document | None
) -> Iterator[Finding]:
    """Runs of a kind of evidence that the track does not take."""
    parts = PurePosixPath(submission.path).parts
    if track is None or (len(parts) > 2 and parts[0] == "submissions" and parts[1] != track.id):
        return  # of which track it is comes first
    for spec in submission.runs:
        offline = spec.target.lower().endswith(".wandb")
        kinds = {spec.source, "wandb"} if offline else {spec.source}
        if not kinds & set(track.accepts):
            yield finding(
                "schema",
                f"the track accepts runs from {' or '.join(track.accepts)}, but "
                f"{shown(spec.target)} is of kind {spec.source}",
                claimed=spec.source,
                expected=", ".join(track.accepts),
                fix='write "source": "results"'
                if spec.source == "log"
                and "results" in track.accepts
                and spec.target.lower().endswith(".json")
                else f"submit {in_words([_EVIDENCE[kind] for kind in track.accepts], 'or')}",
                **_listed_at(spec, listed),
            )


def _listed_at(spec: RunSpec, listed: Document | None) -> dict[str, Any]:
    if listed is None or not spec.pointer:
        return {}
    return {"file": listed.file, "line": listed.line(spec.pointer), "pointer": spec.pointer}


def claimed_points(submission: Submission, listed: Document | None) -> Iterator[Finding]:
    """Claims in an object that is neither a mean with its sd nor a point that is declared."""
    claims = submission.raw.get("claims")
    for key, value in claims.items() if isinstance(claims, dict) and listed else ():
        if isinstance(value, dict) and "mean" not in value and key not in submission.points:
            pointer = f"/claims/{escape(key)}"
            yield finding(
                "schema",
                f"the claim {shown(key)} has no `mean`, and no point has that name",
                file=listed.file if listed else None,
                pointer=pointer,
                line=listed.line(pointer) if listed else None,
                claimed=shown(value),
                fix="write the value or an object with `mean`, or add the point to `points`",
            )
