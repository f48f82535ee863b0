"""The engine as the bot uses it: one folder judged against the checkout of the default branch.

Everything of the repository (tracks, other submissions, snapshots) comes from the checkout at
`root`; only the folder under judgement comes from a pull request.
"""

from __future__ import annotations

import contextlib
import dataclasses as dc
import datetime as dt
import functools as ft
from collections.abc import Mapping
from pathlib import Path

from bot.compute import accelerators
from bot.evidence.fetcher import Fetcher
from bot.evidence.gather import ENVIRONMENT, Evidence, gather
from bot.evidence.neighbours import NAMES, as_neighbour
from bot.evidence.recorded import NoCode, code_of
from bot.evidence.snapshot import Snapshots
from bot.github.pull_request.first_seen import Memory, read_memory, shown
from bot.github.pull_request.recorded import recorded
from bot.model.board import Board
from bot.model.case import Context, Neighbour, Standing
from bot.model.report import Change, Place, Shown
from bot.model.run import Run
from bot.model.submission import Contributor, Folder, Submission
from bot.model.track import BaselineCode, Track
from bot.model.verdict import Verdict, finding, status_of
from bot.parse.folder import Parsed, ReadError, parse_submission, read_path
from bot.parse.track_toml import load_tracks
from bot.rank.ranking import place_of, standing, why_not
from bot.registry import Grade, Status
from bot.render.place import place
from bot.render.states import reply_words
from bot.repository import Repository, submission_folders
from bot.verify import LinkedCode, verify

_NO_SAY = frozenset({"review", "pr"})
"""Roles that alone give nobody a say in an entry."""


@dc.dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and the runs that were read for it, for the snapshots."""

    verdict: Verdict
    runs: tuple[Run, ...] = ()
    shown: Shown | None = None


class Gatherer:
    """Reads evidence and remembers what it read. `online` None asks W&B nothing."""

    def __init__(self, snapshots: Snapshots | None, online: bool):
        self.snapshots, self.online = snapshots, online
        self.runs: list[Run] = []

    def __call__(self, submission: Submission, folder: Folder, track: Track) -> Evidence:
        """The evidence of one submission."""
        fetcher: Fetcher | None = None
        found = (
            gather(submission, folder, track, snapshots=self.snapshots, online=ENVIRONMENT)
            if self.online
            else gather(submission, folder, track, snapshots=self.snapshots, online=fetcher)
        )
        self.runs += [run for item in found.runs for run in item.runs]
        return found


@dc.dataclass
class Engine:
    """Tracks, neighbours and boards of one checkout. Raises TrackError for a broken track."""

    root: Path
    evidence: Path | None = None
    online: bool = True
    jobs: int | None = 1

    @ft.cached_property
    def tracks(self) -> Mapping[str, Track]:
        """The tracks of the checkout."""
        return load_tracks(self.root)

    @ft.cached_property
    def _parsed(self) -> list[tuple[Folder, Parsed]]:
        found = []
        for path, track_id in submission_folders(self.root, self.tracks):
            try:
                folder = read_path(path, self.root)
                found.append((folder, parse_submission(folder, self.tracks, track_id)))
            except ReadError:
                continue  # an unreadable entry of the board is the audit's to report, not this PR's
        return found

    @ft.cached_property
    def neighbours(self) -> tuple[Neighbour, ...]:
        """All submissions of the checkout, reduced to what rules compare."""
        return self._repository.neighbours

    @ft.cached_property
    def _repository(self) -> Repository:
        return Repository(self.root, self.tracks, self._snapshots())

    def beside(self, folder: Folder, track_id: str | None) -> tuple[Neighbour, ...]:
        """A submission as those that come after it in one pull request are compared with it."""
        try:
            parsed = parse_submission(folder, self.tracks, track_id)
        except ReadError:
            return ()  # the verdict on that folder says why
        keys = NAMES if parsed.track is None else parsed.track.keys
        track = track_id or parsed.submission.track
        return (as_neighbour(parsed.submission, track, parsed.results, folder, keys),)

    def about(self, folder: Folder, track_id: str | None) -> Submission | None:
        """What a submission says of itself; None if it cannot be read."""
        try:
            return parse_submission(folder, self.tracks, track_id).submission
        except ReadError:
            return None  # the verdict on that folder says why

    def named(self, folder: Folder, track_id: str | None) -> tuple[Contributor, ...]:
        """The contributors that a submission names; none if it cannot be read."""
        about = self.about(folder, track_id)
        return about.contributors if about else ()

    def people(self, folder: Folder, track_id: str | None) -> tuple[str, ...]:
        """Their logins."""
        return tuple(person.github for person in self.named(folder, track_id))

    def credited(self, folder: str) -> tuple[Contributor, ...] | None:
        """The contributors of a submission of the checkout; None if it is not there."""
        found = (parsed.submission for known, parsed in self._parsed if known.path == folder)
        return next((submission.contributors for submission in found), None)

    def contributors(self, folder: str) -> frozenset[str] | None:
        """Logins, in lower case, of those who may change a submission of the checkout: not who
        only reviewed it or opened its pull request. None if it is not there."""
        people = self.credited(folder)
        if people is None:
            return None
        return frozenset(p.github.lower() for p in people if set(p.roles) - _NO_SAY or not p.roles)

    def judge(
        self,
        folder: Folder,
        track_id: str | None,
        context: Context,
        linked_code: LinkedCode | None = None,
    ) -> Judged:
        """The verdict on a folder of a pull request. `context` holds what the pull request tells,
        its neighbours the submissions beside this one; `linked_code` is asked once the runs are
        read. The rules are those of the day on which the evidence was first shown."""
        gatherer = Gatherer(self._snapshots(), self.online)
        beside = self.beside(folder, track_id)
        keys = beside[0].run_keys if beside else frozenset[str]()
        try:
            verdict = verify(
                folder,
                self.tracks,
                self._completed(context, folder, track_id, keys),
                gather=gatherer,
                linked_code=linked_code,
            )
        except ReadError as error:
            return Judged(refused(folder.path, track_id or "", "schema", str(error)))
        # The keys of its code say whose code it was first; they date nothing.
        every = keys | (beside[0].code if beside else frozenset())
        return Judged(verdict, tuple(gatherer.runs), shown(verdict, every, gatherer.runs))

    def _completed(
        self, context: Context, folder: Folder, track_id: str | None, keys: frozenset[str]
    ) -> Context:
        """The context with what this checkout knows: the board, who showed what first, and what
        was recorded of an entry that is on the board."""
        path, pull = folder.path, context.pull_request
        number = pull.number if pull else 0
        first = self.memory.since(number, path, keys)
        if first is None and self.memory.known and not context.merged:
            first = dt.datetime.now(dt.UTC)
        track = self.tracks.get(track_id or "")
        before = recorded(self.evidence, path, number)
        kept = self._snapshots() if context.merged else None
        return dc.replace(
            context,
            neighbours=(*self.neighbours, *context.neighbours),
            standing=self._standing(track, folder) if track else Standing(),
            pull_request=dc.replace(pull, opened_at=first) if pull and first else pull,
            first_seen=first,
            seen=self.memory.entries,
            recorded=before,
            copy_of=kept.copies().get(path) if kept else None,
            against=self.memory.against(number, path, first)
            or (before.against if before else None),
        )

    def _standing(self, track: Track, folder: Folder) -> Standing:
        try:
            reply = parse_submission(folder, self.tracks, track.id).submission.reply
        except ReadError:
            reply = None  # the verdict on that folder says why
        return standing(self.board(track.id), folder.path, reply)

    @ft.cached_property
    def memory(self) -> Memory:
        """Who showed which runs first, from the branch `evidence`."""
        return read_memory(self.evidence)

    def _snapshots(self) -> Snapshots | None:
        return Snapshots(self.evidence) if self.evidence and self.evidence.is_dir() else None

    # ---- boards ---------------------------------------------------------------------------------

    def board(self, track_id: str) -> Board:
        """The board of a track as the checkout has it."""
        return self._repository.board(track_id, self.jobs)

    def _under(self, track: Track) -> dict[str, str]:
        """Places of a track's entries under the rules of `track`, from files and snapshots."""
        tracks = {**self.tracks, track.id: track}
        return places(Repository(self.root, tracks, self._snapshots()).board(track.id, self.jobs))

    def place(self, verdict: Verdict, author: str) -> Place | None:
        """Where a verdict would stand, and what that means for its author."""
        if verdict.track not in self.tracks:
            return None
        board = self.board(verdict.track)
        placement = place_of(board, verdict)
        record_cost = standing(board, verdict.submission).record_cost
        why = why_not(board, verdict) if placement is None else None
        words = place(
            verdict,
            board.track,
            placement,
            record_cost=record_cost,
            why_not=why,
            reply=reply_words(board, verdict),
        )
        if placement is None:
            return words
        mine = self._entries_of(author) - {verdict.submission}
        own = [e.shown_cost for e in board.entries if e.submission in mine]
        lower = board.track.cost.goal == "min"
        cost = placement.entry.shown_cost
        best = all(cost < other if lower else cost > other for other in own)
        grant = board.track.compute_grant
        able = verdict.status is Status.VERIFIED and not verdict.reply
        hours = grant.gpu_hours if grant and able and placement.verified_ahead < grant.top else 0.0
        return dc.replace(
            words, first_entry=not own, personal_best=bool(own) and best, grant_hours=hours
        )

    def submissions(self, track_id: str) -> dict[str, Submission]:
        """The submissions of a track by path."""
        return {
            folder.path: parsed.submission
            for folder, parsed in self._parsed
            if parsed.submission.track == track_id
        }

    def code(self, path: str) -> BaselineCode | None:
        """What the runs of an entry of the checkout ran, for a frozen baseline."""
        for folder, parsed in self._parsed:
            if folder.path == path:
                with contextlib.suppress(NoCode):
                    return code_of(folder, parsed, self._snapshots())
        return None

    def _entries_of(self, author: str) -> set[str]:
        return {
            folder.path
            for folder, parsed in self._parsed
            if any(p.github.lower() == author.lower() for p in parsed.submission.contributors)
        }

    def difference(
        self,
        changed: Mapping[str, Track | None],
        table: tuple[accelerators.Accelerator, ...] | None = None,
    ) -> tuple[tuple[Change, ...], int]:
        """What changed tracks, and another table of accelerators, do to the boards.

        The lines that differ, and how many stay. With a table every track is compared.
        """
        everywhere = self.tracks if table is not None else {}
        after = {**everywhere, **changed}
        before = {name: self._under(self.tracks[name]) for name in after if name in self.tracks}
        with accelerators.using(table) if table is not None else contextlib.nullcontext():
            then = {name: self._under(track) if track else {} for name, track in after.items()}
        changes, same = [], 0
        for track_id in sorted(after):
            old, new = before.get(track_id, {}), then[track_id]
            for name in sorted(old.keys() | new.keys()):
                was, is_then = old.get(name, "not ranked"), new.get(name, "not ranked")
                if was == is_then:
                    same += 1
                else:
                    changes.append(Change(track_id, name, was, is_then))
        return tuple(changes), same


def places(board: Board) -> dict[str, str]:
    """Entry (with its point if it has several) -> its place in words."""
    found = {}
    for entry in board.entries:
        point = "" if len(entry.verdict.points) < 2 else f" ({entry.point.name})"
        shared = "shared " if entry.tied else ""
        found[f"{entry.submission}{point}"] = f"{shared}place {entry.place} of {len(board.entries)}"
    return found


TRIED_AGAIN = "nothing on your side: the bot tries again by itself; `/verify` tries at once."
"""The fix of what did not work for a reason that is not the participant's."""


def refused(
    path: str, track: str, rule: str, message: str, fix: str | None = None, file: str | None = None
) -> Verdict:
    """A verdict on something that could not even be read."""
    found = (finding(rule, message, fix=fix, file=file),)
    status = status_of(found, Grade.SELF_REPORTED)
    return Verdict(path, track, status, Grade.SELF_REPORTED, found, ())
