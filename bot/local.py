"""A submission judged on this machine as the bot judges it: the engine of `check`, `new`, `submit`.

    Local(root, tracks).answers([(folder, parsed)])

A file is judged alone; a folder is compared with the submissions of the repository, and with the
standing of its track.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import functools as ft
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from bot.model.case import Context, Neighbour
from bot.model.submission import PLACEHOLDER, Folder
from bot.model.track import Track
from bot.parse.folder import Parsed
from bot.parse.submission_json import SUBMISSION
from bot.paths import cache_folder
from bot.registry import Status

if TYPE_CHECKING:
    from bot.render.answer import Answer
    from bot.repository import Repository

Read = tuple[Folder, Parsed]


class Local:
    """The repository at `root`; linked runs are asked for unless `offline`."""

    def __init__(self, root: Path, tracks: Mapping[str, Track], offline: bool = False) -> None:
        self.root, self.tracks, self.offline = root, tracks, offline

    @ft.cached_property
    def repository(self) -> Repository:
        """Read on use: a file alone needs none of it."""
        from bot.repository import Repository

        return Repository(self.root, self.tracks, cache=cache_folder())

    def answers(self, read: Sequence[Read]) -> list[Answer]:
        """The answer to each of these, which are compared with one another too."""
        near = [()] if len(read) == 1 and read[0][0].bare else self._neighbours(read)
        return [
            self._answer(folder, parsed, neighbours)
            for (folder, parsed), neighbours in zip(read, near, strict=True)
        ]

    def _answer(self, folder: Folder, parsed: Parsed, neighbours: tuple[Neighbour, ...]) -> Answer:
        from bot.render.answer import Where, answer
        from bot.render.place import place
        from bot.verify import verify_parsed

        today = dt.datetime.now(dt.UTC).date()
        where = Where.FILE if folder.bare else Where.FOLDER
        if folder.bare or parsed.track is None:
            alone = verify_parsed(parsed, folder, context=Context(neighbours, today=today))
            words = None if parsed.track is None else place(alone, parsed.track, None)
            return answer(alone, words, where)
        from bot.evidence.gather import ENVIRONMENT, gather
        from bot.rank.ranking import place_of, standing, why_not
        from bot.render.states import reply_words

        board = self.repository.board(parsed.track.id)
        merged = self._holds(folder, parsed)
        known = standing(board, folder.path, parsed.submission.reply)
        verdict = verify_parsed(
            parsed,
            folder,
            context=Context(neighbours=neighbours, today=today, merged=merged, standing=known),
            gather=ft.partial(gather, online=None if self.offline else ENVIRONMENT),
        )
        stands = place_of(board, verdict)
        words = place(
            verdict,
            board.track,
            stands,
            record_cost=known.record_cost,
            why_not=why_not(board, verdict) if stands is None else None,
            reply=reply_words(board, verdict),
        )
        said = answer(verdict, words, Where.BOARD if merged else where)
        home = None if merged else home_of(folder, board.track, self.root)
        said = _named_first(_moved_first(said, home), parsed)
        if self.offline and verdict.status is Status.UNVERIFIABLE:
            return dc.replace(said, next="run the check again without `--offline`.")
        return said

    def _holds(self, folder: Folder, parsed: Parsed) -> bool:
        """Whether a folder is an entry of the board already, imported or adopted in place: only
        there `imported` counts, as in the bot's answer to a pull request."""
        from bot.parse.git_tree import on_main

        adopted = parsed.track is not None and bool(parsed.track.globs)
        entered = adopted or parsed.submission.imported is not None
        return entered and on_main(self.root, folder.path)

    def _neighbours(self, read: Sequence[Read]) -> list[tuple[Neighbour, ...]]:
        """What each is compared with: the others, and for folders the repository."""
        from bot.evidence.neighbours import NAMES, as_neighbour
        from bot.repository import same_file

        given = [
            as_neighbour(
                item.submission,
                item.submission.track,
                item.results,
                folder,
                item.track.keys if item.track else NAMES,
            )
            for folder, item in read
        ]
        # A glob of a track may name a file of a folder: then both are one entry.
        paths = {folder.path for folder, _ in read}
        paths |= {folder.full(name) for folder, _ in read for name in folder.files}
        stored = self.repository.neighbours if any(not f.bare for f, _ in read) else ()
        beside = tuple(n for n in stored if n.path not in paths)
        return [
            tuple(n for j, n in enumerate(given) if j != i and not same_file(n.path, folder.path))
            + (() if folder.bare else beside)
            for i, (folder, _) in enumerate(read)
        ]


def home_of(folder: Folder, track: Track, root: Path) -> str | None:
    """Where a folder has to go, or None if it is in its place. No board finds one that lies
    beside the tracks or inside another submission. A folder under another track's name is a
    finding of its own."""
    parts = PurePosixPath(folder.path).parts
    inside = any((root.joinpath(*parts[:n]) / SUBMISSION).is_file() for n in range(3, len(parts)))
    under = len(parts) > 2 and parts[0] == "submissions" and not inside
    name = folder.path.rpartition("/")[2]
    return None if under or track.globs else f"submissions/{track.id}/{name}"


def _moved_first(said: Answer, home: str | None) -> Answer:
    """The answer, with the place to move the folder to, if any."""
    if home is None:
        return said
    return _first(said, f"move the folder to `{home}`", f"`speedrun submit {home}`")


def _named_first(said: Answer, parsed: Parsed) -> Answer:
    """The answer, with the login to fill in before anything else if none is."""
    if all(person.github != PLACEHOLDER for person in parsed.submission.contributors):
        return said
    return _first(said, f'replace "{PLACEHOLDER}" in submission.json with your GitHub login')


def _first(said: Answer, step: str, submit: str | None = None) -> Answer:
    """The answer with a step before what is next, `submit` in place of opening the pull request."""
    if said.next.startswith("open the pull request"):
        then = f", then {said.next if submit is None else f'open the pull request: {submit}.'}"
    else:
        moved = said.next.startswith("move the folder")
        then = f", then {said.next}" if moved else f". {said.next[:1].upper()}{said.next[1:]}"
    return dc.replace(said, next=step + then)
