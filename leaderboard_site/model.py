"""What the site shows: the boards of `bot.rank.ranking`, and beside each verdict what people wrote.

Nothing here ranks, tests or judges. `Site` is the whole input of `generate`; `leaderboard_site.
source` makes one from a repository, tests make one from synthetic verdicts.
"""

from __future__ import annotations

import dataclasses as dc
import functools as ft
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bot.github.pull_request.recorded import Merge
from bot.model.official import OfficialRecord
from bot.model.run import RunRecord
from bot.model.submission import Contributor, Submission, entry_paths
from bot.model.track import Track
from bot.model.values import finite
from bot.model.verdict import Verdict
from bot.parse.steps import Step
from bot.rank import ranking
from leaderboard_site import text
from leaderboard_site.formats import Format, apart, chosen_for_each, format_of
from leaderboard_site.rates import values_of

PROJECT = "example-user"
"""The login in whose name the project's own entries stand: it is nobody's."""


class Person(NamedTuple):
    """Somebody who is named on an entry; `github` where the name is known to be a login."""

    name: str
    github: str | None = None
    roles: tuple[str, ...] = ()


@dc.dataclass(frozen=True, slots=True)
class Place:
    """A ranked point with the numbers that the site's axes show (see `rates.values_of`)."""

    entry: ranking.Entry
    values: Mapping[str, float | None]

    @property
    def point(self) -> str:
        """The point's name."""
        return self.entry.point.name


@dc.dataclass(frozen=True, slots=True)
class Item:
    """One submission: its verdict, what its author wrote, and where it stands.

    `places` are its ranked points, best first; `unranked` says why the rest does not rank.
    `code` maps a file name to its text, for the difference to the entry that it builds on.
    """

    verdict: Verdict
    about: Submission | None = None
    places: tuple[Place, ...] = ()
    unranked: tuple[str, ...] = ()
    readme: str | None = None
    code: Mapping[str, str] = dc.field(default_factory=dict)
    folder_url: str | None = None
    official: OfficialRecord | None = None
    steps: tuple[Step, ...] = ()
    """What the trainer did for its runs, where it left a list of it."""
    merge: Merge | None = None
    """The pull request that brought it, as recorded with its evidence."""
    baseline: bool = False
    """Whether it is the baseline that opened its track, which the project made."""
    standing: str = ""
    """What the community made of it (`claimed`); empty for an undisputed baseline or no states."""

    @property
    def path(self) -> str:
        """The submission's path, its identity."""
        return self.verdict.submission

    @property
    def name(self) -> str:
        """The path below the track's folder: `adamc_llama_scaling/130m`."""
        return name_of(self.verdict.submission, self.verdict.track)

    @property
    def slug(self) -> str:
        """The name as one safe component of a URL, different for different names."""
        return slug_of(self.name)

    @property
    def url(self) -> str:
        """The entry's page, relative to the site's root."""
        return f"entries/{self.verdict.track}/{self.slug}/"

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        """Who is credited."""
        return self.about.contributors if self.about else ()

    @property
    def imported(self) -> Mapping[str, Any]:
        """What is on file of where it was brought from; empty where it was submitted here."""
        return (self.about.imported if self.about else None) or {}

    @property
    def label(self) -> str:
        """The folder's name to show: of an imported entry the one that it had at its source."""
        return str(self.imported.get("name") or self.name)

    @property
    def title(self) -> str:
        """What to call it: its title, or its name where the title is that or missing."""
        return text.clean(self.verdict.title or "", 100) or self.label

    @property
    def number(self) -> int | None:
        """Its number in the official table."""
        number = self.official.number if self.official else self.imported.get("number")
        return number if isinstance(number, int) else None

    @property
    def by_project(self) -> bool:
        """Whether the project made it: nobody is to be credited by name."""
        return self.baseline or {c.github for c in self.contributors} == {PROJECT}

    @property
    def persons(self) -> tuple[Person, ...]:
        """Everybody named: contributors, or whom the source of an imported entry names."""
        if self.by_project:
            return ()
        if self.contributors:
            return tuple(Person(c.name or c.github, c.github, c.roles) for c in self.contributors)
        authors = self.imported.get("authors")
        rows = [a for a in authors if isinstance(a, dict)] if isinstance(authors, list) else []
        logins = {str(a.get("name") or a.get("github")): a.get("github") for a in rows}
        named = self.official.contributors if self.official else ()
        return tuple(Person(name, logins.get(name)) for name in named or logins)

    @property
    def people(self) -> str:
        """Who made it, in one line; for an imported entry whom its source names."""
        if self.by_project:
            return "the project"
        names = text.some([p.name for p in self.persons])
        return names or ("imported" if self.imported else "not stated")

    @property
    def best(self) -> Place | None:
        """Its best ranked point."""
        return self.places[0] if self.places else None

    @property
    def on_frontier(self) -> bool:
        """Whether one of its points is on the frontier or holds the record."""
        return any(p.entry.on_frontier for p in self.places)


@dc.dataclass(frozen=True)
class TrackBoard:
    """One track with its board and its items by path."""

    track: Track
    board: ranking.Board
    items: Mapping[str, Item]

    @ft.cached_property
    def places(self) -> list[tuple[Item, Place]]:
        """Every ranked point in the board's order."""
        by_key = {
            (p.entry.submission, p.point): (i, p) for i in self.items.values() for p in i.places
        }
        return [by_key[e.submission, e.point.name] for e in self.board.entries]

    @ft.cached_property
    def _forms(self) -> dict[str, Format]:
        return {}

    def form(self, metric: str) -> Format:
        """How the column of a metric is written: by all values of the board."""
        if metric not in self._forms:
            track = self.track
            unit, digits = track.unit(metric), track.digits(metric)
            values = [value_of(track, place, metric) for _, place in self.places]
            found = format_of(metric, values, unit, digits)
            if metric in track.metrics and digits is None:
                found = apart(found, values)
            self._forms[metric] = found
        return self._forms[metric]

    def words(self, metric: str, value: float | None) -> str:
        """A value inside a sentence: the column's decimals, for a time or a count the unit that
        suits it; a unit is named where it belongs to the number."""
        own = metric in self.track.metrics
        if own or not chosen_for_each(metric):
            form = self.form(metric)
            return (form if own or form.unit in ("%", "$") else form._replace(unit="")).words(value)
        return format_of(metric, (value,)).words(value)

    @property
    def is_open(self) -> bool:
        """Whether entries can rank: a track with baselines needs one to begin with."""
        return self.track.objective != "baseline" or self.track.baseline_id is not None

    @ft.cached_property
    def newest(self) -> list[Item]:
        """Items by date, newest first; those without a date are left out."""
        dated = [i for i in self.items.values() if i.verdict.date]
        return sorted(dated, key=lambda i: (i.verdict.date or "", i.path), reverse=True)

    @ft.cached_property
    def record(self) -> tuple[Item, Place] | None:
        """Who holds the record of a target or baseline track."""
        entry = self.board.record
        if entry is None:
            return None
        item = self.items[entry.submission]
        return item, next(p for p in item.places if p.point == entry.point.name)

    @ft.cached_property
    def steps(self) -> Mapping[str, ranking.RecordStep]:
        """The step of the record that each submission made, the last of several."""
        return {r.submission: r for r in self.board.records}

    @ft.cached_property
    def holders(self) -> frozenset[str]:
        """The submissions that are on the frontier, or hold or once held the record."""
        front = {e.submission for e in self.board.frontier}
        if self.track.objective == "pareto":
            return frozenset(front)
        return frozenset(front | {r.submission for r in self.board.records})


@dc.dataclass(frozen=True, slots=True)
class Pending:
    """An open pull request as the bot last saw it."""

    number: int
    title: str
    author: str
    opened: str
    status: str
    blocks: tuple[str, ...] = ()
    place: str | None = None
    track: str | None = None
    url: str | None = None
    since: str = ""
    """When the bot last answered."""
    entry: str | None = None
    runs: int = 0
    """How many more runs it needs, and the GPU-hours that they take (0 if unknown)."""
    gpu_hours: float = 0.0


@dc.dataclass(frozen=True, slots=True)
class Grant:
    """Compute that a maintainer granted to run an entry at a larger scale."""

    entry: str
    hours: float
    by: str
    reason: str
    on: str
    url: str


@dc.dataclass(frozen=True, slots=True)
class Site:
    """Everything that the pages are made of."""

    tracks: Mapping[str, TrackBoard]
    url: str = "https://example.github.io/speedrun/"
    repository: str | None = None
    pending: tuple[Pending, ...] = ()
    pending_as_of: str | None = None
    experiments: tuple[Mapping[str, Any], ...] = ()
    grants: tuple[Grant, ...] = ()
    program: str = "."
    """What pip installs the program from: a checkout of it, or the wheel that `init` left."""

    @property
    def install(self) -> list[str]:
        """The commands that install the program in a clone of the competition."""
        clone = [f"git clone {self.repository} speedrun && cd speedrun"] if self.repository else []
        return [*clone, f"pip install '{self.program}[bot]'"]

    @property
    def boards(self) -> list[TrackBoard]:
        """The boards as people meet them: those with entries first, the liveliest of them before
        the others, and those that are not open last."""
        return sorted(self.tracks.values(), key=_life)

    @property
    def items(self) -> list[Item]:
        """All items, track by track."""
        return [i for t in self.tracks.values() for i in t.items.values()]

    def item(self, path: str | None, track: str | None = None) -> Item | None:
        """The item that `based_on` names: a path, TRACK/NAME, or a name of `track` or else of the
        first track that has it; None if unknown."""
        for own in dict.fromkeys((track or "", *self.tracks)):
            for named in entry_paths(path or "", own):
                for board in self.tracks.values():
                    if named in board.items:
                        return board.items[named]
        return None


def _life(board: TrackBoard) -> tuple[bool, bool, bool, int, int]:
    ranked = [i for i in board.newest if i.places and not i.baseline]
    newest = text.ordinal_day(ranked[0].verdict.date) if ranked else None
    entries = len(board.board.entries)
    return not board.is_open, not entries, len(ranked) < 2, -(newest or 0), -entries


@ft.lru_cache(maxsize=20_000)
def name_of(path: str, track: str) -> str:
    """The submission's path without the folder that all of the track share."""
    prefix = f"submissions/{track}/"
    return path[len(prefix) :] if path.startswith(prefix) else path


@ft.lru_cache(maxsize=20_000)
def slug_of(name: str) -> str:
    """`/` becomes `.`, which no component may hold; other foreign characters cost a digest."""
    slug = re.sub(r"[^a-z0-9_.-]", "-", name.replace("/", ".").lower())[:180]
    if slug.replace(".", "/") == name:
        return slug
    return f"{slug}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def make_board(
    track: Track,
    verdicts: Iterable[Verdict],
    about: Mapping[str, Submission] | None = None,
    extras: Mapping[str, Mapping[str, Any]] | None = None,
) -> TrackBoard:
    """Rank the verdicts with `bot.rank.ranking` and put what people wrote beside them.

    `extras` holds further fields of `Item` by submission path (readme, code, folder_url).
    """
    mine = sorted((v for v in verdicts if v.track == track.id), key=lambda v: v.submission)
    board = ranking.rank(mine, track)
    about, extras = about or {}, extras or {}
    places: dict[str, list[Place]] = {}
    for entry in board.entries:
        values = values_of(entry.point, entry.verdict, about.get(entry.submission))
        places.setdefault(entry.submission, []).append(Place(entry, values))
    why: dict[str, list[str]] = {}
    for gone in board.unranked:
        point = f"{gone.point.name}: " if gone.point and len(gone.verdict.points) > 1 else ""
        why.setdefault(gone.verdict.submission, []).append(point + gone.why)
    grades = {e.submission: e.grade for e in board.entries}
    items = {
        v.submission: Item(
            dc.replace(v, evidence=grades.get(v.submission, v.evidence)),
            about.get(v.submission),
            tuple(places.get(v.submission, ())),
            tuple(why.get(v.submission, ())),
            official=track.official.by_submission.get(v.submission),
            baseline=board.track.opened_with(v.submission),
            standing=_standing(board, v.submission),
            **extras.get(v.submission, {}),
        )
        for v in mine
    }
    return TrackBoard(track, board, items)


def _standing(board: ranking.Board, path: str) -> str:
    """The state of an entry in a word; a baseline has one as soon as somebody disputes it."""
    state = board.states.get(path)
    if state is None or (board.track.opened_with(path) and state.name == "claimed"):
        return ""
    return state.name


def value_of(track: Track, place: Place, metric: str) -> float | None:
    """The number of a cell of the board."""
    if metric == track.quality.metric:
        value: Any = place.entry.quality
    elif metric == track.cost.metric:
        value = place.entry.shown_cost
    elif metric == "ratio":
        value = place.entry.progress.ratio if place.entry.progress else None
    else:
        value = place.values.get(metric)
    return float(value) if finite(value) else None


def runs_of(item: Item, arm: str = "candidate", point: str | None = None) -> Sequence[RunRecord]:
    """The run records of one arm, of one point where it is given and known."""
    return [
        r for r in item.verdict.runs if r.arm == arm and (point is None or r.point in (None, point))
    ]
