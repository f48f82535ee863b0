"""After a merge: keep verdict and snapshots on the branch `evidence`, then tell the author.

`append` runs in a job that may write contents and holds no W&B key; what it reads from the earlier
job is decoded and encoded anew, so only well-formed snapshots get in. One commit holds the verdict
of one pull request together with its snapshots: it is there once, or it is not there.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bot import files as disk
from bot.evidence.links import RunRef
from bot.evidence.snapshot import (
    SUFFIX,
    SnapshotError,
    decode,
    encode,
    folder_of,
    metrics_sha256,
    name_of,
    ref_of,
)
from bot.github.api import branches
from bot.github.api.branches import EVIDENCE_BRANCH
from bot.github.api.client import Repo, settle, told
from bot.github.pull_request.publish import ours
from bot.github.pull_request.pull import Trees, read_blob
from bot.github.pull_request.recorded import verdict_path
from bot.model.report import Report, Settings
from bot.model.run import Run
from bot.registry import Status
from bot.render.comment import PASSING, entry_page, render

CLOSING = "<!-- speedrun:closing -->"
MAX_SNAPSHOTS = 500
MAX_SNAPSHOT_BYTES = 2_000_000


class NotRecorded(ValueError):
    """The report or a snapshot cannot be kept; the message says why and what to do."""


def read_snapshots(folder: Path | None) -> list[Run]:
    """The snapshots that the evaluating job left, each decoded. Raises NotRecorded."""
    if folder is None or not folder.is_dir():
        return []
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    if len(paths) > MAX_SNAPSHOTS:
        raise NotRecorded(f"{len(paths)} snapshots, at most {MAX_SNAPSHOTS} are kept for one merge")
    runs = []
    for path in paths:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_SNAPSHOT_BYTES:
            raise NotRecorded(f"{path.name}: not a regular file of a snapshot's size")
        try:
            runs.append(decode(path.read_bytes()))
        except SnapshotError as error:
            raise NotRecorded(f"{path.name}: {error}") from error
    return runs


def write_snapshots(runs: Iterable[Run], folder: Path) -> int:
    """Leave the snapshots of W&B runs for the recording job; how many."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for run in runs:
        if run.source == "wandb":
            disk.write(folder / f"{count:04d}{SUFFIX}", encode(run))
            count += 1
    return count


def append(repo: Repo, report: Report, runs: list[Run], now: dt.datetime) -> str | None:
    """Append to the evidence branch, once; the new commit or None when it is there already. Of what
    is there only one thing changes: what a maintainer accepted since.

    Raises NotRecorded for a report that decides nothing, GitHubTrouble for a fault of GitHub.
    """
    if report.status is None or report.status is Status.UNVERIFIABLE:
        raise NotRecorded("the evidence could not be read; the audit tries again")
    moment = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    files = {verdict_path(report.pr): _text({"recorded_at": moment, **report.to_json()})}

    def edit(tip: str | None) -> Mapping[str, bytes]:
        trees = Trees(repo, tip).read_whole() if tip else None
        held = trees.find(verdict_path(report.pr)) if trees else None
        if held is not None:
            return _decided_since(json.loads(read_blob(repo, held)), report)
        return files | _new_snapshots(trees, runs)

    message = f"Evidence of pull request {report.pr} at {report.head_sha[:12]}"
    with told("writing the evidence branch"):
        return settle(repo, lambda: branches.commit(repo.api, EVIDENCE_BRANCH, edit, message))


def _decided_since(held: dict[str, Any], report: Report) -> Mapping[str, bytes]:
    """The record with what maintainers accepted after it was made; nothing if that is known."""
    now = {verdict.submission: verdict for verdict in report.verdicts if verdict.accepted}
    changed = False
    for item in held["verdicts"]:
        found = now.get(item["submission"])
        if found is not None and not found.accepted.items() <= item["accepted"].items():
            again = found.to_json()
            item |= {name: again[name] for name in ("status", "findings")}
            item["accepted"] |= found.accepted
            changed = True
    return {verdict_path(report.pr): _text(held)} if changed else {}


def _text(record: Mapping[str, Any]) -> bytes:
    return (json.dumps(record, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def _new_snapshots(trees: Trees | None, runs: list[Run]) -> dict[str, bytes]:
    """Path -> bytes of the runs that measured something new; versions are never overwritten."""
    files: dict[str, bytes] = {}
    seen: set[RunRef] = set()
    for run in runs:
        ref = ref_of(run)
        if ref in seen:
            continue
        seen.add(ref)
        entries = trees.files(folder_of(ref)) if trees else ()
        kept = sorted(e.path for e in entries if e.path.endswith(SUFFIX))
        if kept and kept[-1].endswith(f"{metrics_sha256(run)[:12]}{SUFFIX}"):
            continue
        files[name_of(run, len(kept))] = encode(run)
    return files


def tell(repo: Repo, report: Report, settings: Settings) -> str:
    """The closing comment: place and permanent link, once. Its address."""
    body = (
        CLOSING
        + "\n"
        + render(
            "closing.md.j2",
            settings,
            report=report,
            entries=[_entry(verdict, report, settings) for verdict in report.verdicts],
        )
    )

    def upsert() -> str:
        issue = repo.api.get_issue(report.pr)
        known = next((c for c in ours(repo, issue) if (c.body or "").startswith(CLOSING)), None)
        if known is None:
            return str(issue.create_comment(body).html_url)
        if known.body != body:
            known.edit(body)
        return str(known.html_url)

    with told("telling the author"):
        return settle(repo, upsert)


def _entry(verdict: Any, report: Report, settings: Settings) -> Mapping[str, Any]:
    return {
        "submission": verdict.submission,
        "track": verdict.track,
        "place": report.places.get(verdict.submission),
        "passes": verdict.status in PASSING,
        "reply": verdict.reply is not None,
        "verified": verdict.status is Status.VERIFIED,
        "link": entry_page(verdict, settings),
    }
