"""Who showed which runs first: `seen/PR.json` on the branch `evidence`, append-only.

The job `remember` writes it after each answer; an evaluation compares with the checkout of that
branch and asks GitHub nothing. It survives a force-push, closing and withdrawal. Everything in it
comes from a report, so it holds logins, commits, keys of runs and rounded numbers, and no text.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.compute.case_statistics import looks_of
from bot.github.api import branches
from bot.github.api.client import Repo, settle, told
from bot.github.pull_request.pull import Trees, read_blob
from bot.model.case import Seen
from bot.model.report import Report, Shown
from bot.model.run import Run, Validation
from bot.model.serial import fields_to_json, read
from bot.model.verdict import Verdict

FOLDER = "seen"
POINTS = 64
MAX_BYTES = 5_000_000


def shown(verdict: Verdict, keys: Iterable[str], runs: Iterable[Run]) -> Shown:
    """What a submission shows: the keys of its runs, points of each, and the looks taken."""
    points = tuple(sampled(run) for run in runs if run.validation)
    looks = looks_of(verdict.points)
    points = tuple(dict.fromkeys(points))
    return Shown(verdict.submission, tuple(sorted(keys)), points, looks, verdict.against)


def sampled(run: Run) -> tuple[tuple[int, float, float | None], ...]:
    """Step, loss and clock of every validation of a run, of many those that are spread evenly. A
    copy that leaves out any third of its original shares most of them."""
    points = run.validation
    chosen = sorted({math.ceil(len(points) * n / POINTS) - 1 for n in range(1, POINTS + 1)})
    return tuple(
        (v.step, round(v.loss, 4), None if v.time_s is None else round(v.time_s, 4))
        for v in (points[i] for i in chosen)
    )


# ---- reading, from the checkout -----------------------------------------------------------------


@dc.dataclass(frozen=True, slots=True)
class Memory:
    """What every pull request showed, oldest first; `known` is False without the branch."""

    entries: tuple[Seen, ...] = ()
    known: bool = False

    def since(self, number: int, path: str, keys: Iterable[str]) -> dt.datetime | None:
        """When all runs of a submission had been shown by its own pull request, without `keys` the
        first of them; None if some have not, or if it has none."""
        own = [s for s in self.entries if s.pull_request == number and s.submission == path]
        firsts = [min((s.at for s in own if key in s.run_keys), default=None) for key in keys]
        if not firsts:
            return min((s.at for s in own), default=None)
        dates = [first for first in firsts if first is not None]
        return max(dates) if len(dates) == len(firsts) else None

    def against(self, number: int, path: str, at: dt.datetime | None) -> str | None:
        """The baseline that was recorded of a submission when its runs had been shown, at `at`."""
        own = [s for s in self.entries if s.pull_request == number and s.submission == path]
        return next((s.against for s in own if s.at == at and s.against), None)


def read_memory(evidence: Path | None) -> Memory:
    """The records of a checkout of the branch. A file that cannot be read is passed over."""
    if evidence is None or not evidence.is_dir():
        return Memory()
    found: list[Seen] = []
    for path in sorted((evidence / FOLDER).glob("*.json")):
        if path.is_symlink() or path.stat().st_size > MAX_BYTES:
            continue
        try:
            found += list(_entries(json.loads(path.read_bytes())))
        except (ValueError, TypeError, KeyError, AttributeError):
            continue  # only our job writes here; what a person broke by hand blocks nobody
    return Memory(tuple(sorted(found, key=lambda item: item.at)), True)


def _entries(data: Mapping[str, Any]) -> Iterator[Seen]:
    for item in data["seen"]:
        entry, at = read(Shown, item), dt.datetime.fromisoformat(item["at"])
        points = tuple(tuple(itertools.starmap(Validation, run)) for run in entry.points)
        keys = frozenset(entry.runs)
        yield Seen(
            data["pull_request"],
            data["author"],
            at,
            keys,
            points,
            entry.submission,
            entry.looks,
            entry.against,
        )


# ---- writing ------------------------------------------------------------------------------------


def created_at(repo: Repo, run: int) -> dt.datetime:
    """When a workflow run was created, by GitHub's own clock. Raises GitHubTrouble."""
    with told("asking when this run was created"):
        return repo.api.get_workflow_run(run).created_at


def remember(repo: Repo, report: Report, at: dt.datetime) -> str | None:
    """Append what a report shows for the first time; the new commit, None if all is known.

    Raises GitHubTrouble, Conflict.
    """
    path = f"{FOLDER}/{report.pr}.json"

    def edit(tip: str | None) -> Mapping[str, bytes | None]:
        known = _read(repo, tip, path) if tip else None
        new = _appended(known, report, at)
        return {} if new is None else {path: (json.dumps(new, indent=1) + "\n").encode()}

    message = f"First seen: pull request {report.pr} at {report.head_sha[:12]}"
    with told("writing the evidence branch"):
        return settle(
            repo, lambda: branches.commit(repo.api, branches.EVIDENCE_BRANCH, edit, message)
        )


def _read(repo: Repo, tip: str, path: str) -> dict[str, Any] | None:
    entry = Trees(repo, tip).find(path)
    if entry is None:
        return None
    data = json.loads(read_blob(repo, entry))
    return data if isinstance(data, dict) else None


def _appended(
    known: dict[str, Any] | None, report: Report, at: dt.datetime
) -> dict[str, Any] | None:
    """The record with what is new in a report; None if nothing is."""
    data = known or {
        "schema_version": 1,
        "pull_request": report.pr,
        "author": report.author,
        "author_id": report.author_id,
        "seen": [],
    }
    before = _keys(data["seen"])
    new = [item for item in report.shown if _keys([fields_to_json(item)]) - before]
    if not new:
        return None
    moment = at.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    added = [{"at": moment, "head_sha": report.head_sha, **fields_to_json(item)} for item in new]
    return {**data, "seen": [*data["seen"], *added]}


def _keys(entries: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """What an entry says that another may not: each run, by its keys and by its points, and each
    look."""
    return {
        (entry["submission"], text)
        for entry in entries
        for text in (
            *entry["runs"],
            *(json.dumps(part) for part in (*entry["points"], *entry.get("looks", ()))),
        )
    }
