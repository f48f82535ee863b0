"""A page for each person: their entries, the records they held, roles and credit by lineage."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator
from typing import Any

from bot.model.track import Baseline
from bot.render.numbers import DASH
from leaderboard_site import text
from leaderboard_site.community import Replied, awaited, credited, replies_of
from leaderboard_site.milestones import Milestone, milestones
from leaderboard_site.model import Item, Person, Site, TrackBoard, slug_of
from leaderboard_site.pages.columns import metric_column
from leaderboard_site.pages.environment import page, render
from leaderboard_site.pages.results import by_board, heads, results
from leaderboard_site.pages.story import gain_words, score_metric

BASE = "../../../"
MOST_ROWS = 300
MOST_LISTED = 2000


@dc.dataclass(slots=True)
class Someone:
    """One person over all tracks. A login and a name are one person where an entry joins them."""

    name: str
    github: str | None = None
    entries: list[tuple[TrackBoard, Item, tuple[str, ...]]] = dc.field(default_factory=list)
    records: list[tuple[TrackBoard, Milestone]] = dc.field(default_factory=list)
    unread: list[tuple[TrackBoard, Milestone]] = dc.field(default_factory=list)
    claimed: int = 0
    """Best results that others still have to confirm."""
    replies: list[tuple[TrackBoard, Replied]] = dc.field(default_factory=list)
    baselines: list[tuple[TrackBoard, Baseline, tuple[str, ...]]] = dc.field(default_factory=list)
    built_on: int = 0

    @property
    def again(self) -> int:
        """How many entries of others their runs speak of."""
        return sum(r.answer.counts and r.answer.kind == "reproduction" for _, r in self.replies)

    @property
    def challenged(self) -> int:
        """How many entries of others they disputed."""
        return sum(r.answer.kind == "challenge" for _, r in self.replies)

    @property
    def mistakes(self) -> int:
        """How many entries of others they showed to be mistaken."""
        return sum(replied.mistake for _, replied in self.replies)

    @property
    def url(self) -> str:
        """The person's page, relative to the site's root."""
        return person_url(self.name)


def person_url(name: str) -> str:
    """The page of a person; names that differ by case alone are one person."""
    return f"people/by/{slug_of(key_of(name).replace('/', '-'))}/"


def key_of(name: str) -> str:
    """What makes two spellings one person."""
    return text.clean(name, 80).lower().lstrip("@")


def person_links(item: Item) -> list[dict[str, Any]]:
    """The people of an entry with the address of their pages."""
    affiliations = {c.name or c.github: c.affiliation for c in item.contributors}
    return [
        {
            "name": p.name,
            "url": person_url(p.name),
            "roles": p.roles,
            "affiliation": affiliations.get(p.name),
        }
        for p in item.persons
        if key_of(p.name)
    ]


def people(site: Site) -> dict[str, Someone]:
    """Everybody who is named anywhere, by key, in order of the key."""
    found: dict[str, Someone] = {}
    children: dict[str, int] = {}
    for item in site.items:
        parent = site.item(item.about.based_on, item.verdict.track) if item.about else None
        if parent is not None:
            children[parent.path] = children.get(parent.path, 0) + 1
    for board in site.tracks.values():
        for item in board.items.values():
            for person in item.persons:
                someone = _someone(found, person)
                if someone is not None and item.verdict.reply is None:
                    someone.entries.append((board, item, person.roles))
                    someone.built_on += children.get(item.path, 0)
        for milestone in milestones(board):
            _credit(found, board, milestone)
        _shared_work(found, board)
    return dict(sorted(found.items()))


def _shared_work(found: dict[str, Someone], board: TrackBoard) -> None:
    """What people did for the entries of others: they ran them again, and made the baselines."""
    for replied in replies_of(board):
        for person in replied.reply.persons:
            someone = _someone(found, person)
            if someone is not None:
                someone.replies.append((board, replied))
    for made in board.track.baselines:
        for credit in credited(made):
            person = Person(credit.name or credit.github, credit.github)
            someone = _someone(found, person)
            if someone is not None:
                someone.baselines.append((board, made, credit.roles))


def _someone(found: dict[str, Someone], person: Person) -> Someone | None:
    key = key_of(person.name)
    if not key:
        return None
    someone = found.setdefault(key, Someone(person.name))
    someone.github = someone.github or person.github
    return someone


def _credit(found: dict[str, Someone], board: TrackBoard, milestone: Milestone) -> None:
    if milestone.item is not None:
        named = milestone.item.persons
    else:
        named = tuple(
            Person(n) for n in (milestone.official.contributors if milestone.official else ())
        )
    for person in named:
        someone = _someone(found, person)
        if someone is not None and milestone.item and awaited(board, milestone.item):
            someone.claimed += milestone.stands
        elif someone is not None:
            kind = someone.unread if milestone.place is None else someone.records
            kind.append((board, milestone))


def person_page(someone: Someone) -> tuple[dict[str, str], str]:
    """The head {title, description} and the HTML of one person's page."""
    name = text.clean(someone.name, 80)
    lead = _lead(someone)
    roles = sorted({r for _, _, roles in someone.entries for r in roles})
    body = render(
        "person.html",
        base=BASE,
        name=name,
        github=someone.github,
        lead=lead,
        roles=roles,
        built_on=someone.built_on,
        records=[
            {
                "track": b.track,
                "head": metric_column(b, score_metric(b)),
                "rows": [_record_row(b, m) for m in held],
            }
            for b, held in by_board(_by_date(someone.records + someone.unread))
        ],
        entries=[
            {"track": b.track, "heads": heads(b), "rows": [_entry_row(b, i) for i in items]}
            for b, items in by_board((b, i) for b, i, _ in _newest(someone)[:MOST_ROWS])
        ],
        more=max(0, len(someone.entries) - MOST_ROWS),
        replies=[
            {"track": b.track, "rows": rows} for b, rows in by_board(someone.replies[:MOST_ROWS])
        ],
        baselines=[
            {"track": b.track, "made": made, "item": b.items.get(made.submission), "roles": roles}
            for b, made, roles in someone.baselines
        ],
    )
    return {"title": name, "description": f"{name}: {lead}."}, body


def _lead(someone: Someone) -> str:
    """All that somebody did, counted in a line."""
    records = len(someone.records) + len(someone.unread)
    unread = f" ({len(someone.unread)} of them not on file)" if someone.unread else ""
    counted = (
        (len(someone.entries), text.plural(len(someone.entries), "entry", "entries") + " on file"),
        (records, f"{text.plural(records, 'record')} set{unread}"),
        (someone.claimed, f"{text.plural(someone.claimed, 'best result')} claimed"),
        (someone.again, text.plural(someone.again, "reproduction")),
        (someone.challenged, text.plural(someone.challenged, "challenge")),
        (someone.mistakes, f"{text.plural(someone.mistakes, 'mistake')} found"),
        (len(someone.baselines), text.plural(len(someone.baselines), "baseline")),
    )
    return ", ".join(words for count, words in counted if count) or "no entry on file"


def _newest(someone: Someone) -> list[tuple[TrackBoard, Item, tuple[str, ...]]]:
    return sorted(someone.entries, key=lambda r: (r[1].verdict.date or "", r[1].path), reverse=True)


def _by_date(rows: list[tuple[TrackBoard, Milestone]]) -> list[tuple[TrackBoard, Milestone]]:
    return sorted(rows, key=lambda r: (r[1].date or "", r[1].number or 0), reverse=True)


def _record_row(board: TrackBoard, milestone: Milestone) -> dict[str, Any]:
    days, metric = milestone.days, score_metric(board)
    return {
        "number": milestone.number,
        "url": BASE + milestone.item.url if milestone.item else board.track.official.source,
        "title": milestone.title,
        "date": text.day(milestone.date),
        "cost": board.form(metric).show(milestone.cost),
        "gain": gain_words(milestone).removesuffix(" %"),
        "stood": "stands"
        if milestone.stands
        else (text.plural(days, "day") if days is not None else DASH),
        "why": milestone.why,
    }


def _entry_row(board: TrackBoard, item: Item) -> dict[str, Any]:
    return {"item": item, "results": results(board, item)}


def people_parts(site: Site) -> Iterator[tuple[str, dict[str, str], str]]:
    """(address below the site's root, head, body) of every person's page."""
    for someone in people(site).values():
        yield (someone.url, *person_page(someone))


def people_index(site: Site) -> str:
    """The Markdown file of the list of people, those with most records first."""
    everybody = sorted(
        people(site).values(),
        key=lambda p: (-len(p.records) - len(p.unread), -len(p.entries), key_of(p.name)),
    )
    rows = [
        {
            "name": text.clean(p.name, 60),
            "url": p.url,
            "entries": len(p.entries),
            "records": len(p.records) + len(p.unread),
            "again": p.again + p.mistakes,
            "baselines": len(p.baselines),
            "stands": [b.track for b, m in (*p.records, *p.unread) if m.stands],
        }
        for p in everybody[:MOST_LISTED]
    ]
    body = render(
        "people.html",
        base="../",
        rows=rows,
        total=len(everybody),
        shared=any(r["again"] or r["baselines"] for r in rows),
    )
    return page("People", "Everybody who is named on an entry or in an official table.", body)
