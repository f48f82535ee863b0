"""Atom feeds of new entries and of records, and the sitemap."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence

from leaderboard_site import text
from leaderboard_site.model import Item, Site, TrackBoard
from leaderboard_site.pages.environment import SITE_NAME, STATUS_WORDS
from leaderboard_site.pages.track import result_of
from leaderboard_site.text import esc

LENGTH = 50


def feed_files(site: Site) -> Iterator[tuple[str, str]]:
    """`feeds/new.xml` and `feeds/records.xml`."""
    new = [(i.verdict.date or "", b, i) for b in site.tracks.values() for i in b.newest]
    records = [
        (r.date or "", b, b.items[r.submission])
        for b in site.tracks.values()
        for r in b.board.records
        if r.date
    ]
    for name, title, rows in (
        ("new", "new entries", new),
        ("records", "records and frontier entries", records),
    ):
        rows.sort(key=lambda r: (r[0], r[2].path), reverse=True)
        yield f"feeds/{name}.xml", atom(site, name, f"{SITE_NAME}: {title}", rows[:LENGTH])


def atom(site: Site, name: str, title: str, rows: Sequence[tuple[str, TrackBoard, Item]]) -> str:
    """One feed (RFC 4287). `rows` are (date, board, item), newest first."""
    own = f"{site.url}feeds/{name}.xml"
    updated = stamp(rows[0][0]) if rows else "1970-01-01T00:00:00Z"
    parts = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{esc(title)}</title><id>{esc(own)}</id><updated>{updated}</updated>",
        f'<link rel="self" href="{esc(own)}"/><link href="{esc(site.url)}"/>',
        f"<author><name>{esc(SITE_NAME)}</name></author>",
    ]
    parts += [_entry(site, name, *row) for row in rows]
    return "\n".join([*parts, "</feed>", ""])


def _entry(site: Site, name: str, date: str, board: TrackBoard, item: Item) -> str:
    link = esc(site.url + item.url)
    words = STATUS_WORDS[item.verdict.status]
    result = f": {result_of(board, item.places[0])}" if item.places else ""
    summary = (
        f"{board.track.title}{result}. {words.capitalize()}, evidence {item.verdict.evidence}."
    )
    if item.verdict.title:
        summary = f"{text.clean(item.verdict.title)}. {summary}"
    return (
        f"<entry><title>{esc(text.clean(item.label))}</title><id>{link}#{name}</id>"
        f'<link href="{link}"/><updated>{stamp(date)}</updated>'
        f"<author><name>{esc(text.clean(item.people))}</name></author>"
        f"<summary>{esc(summary)}</summary></entry>"
    )


def stamp(date: str) -> str:
    """An ISO 8601 date or time as RFC 3339 in UTC; the epoch where it is neither."""
    try:
        moment = dt.datetime.fromisoformat(date)
    except ValueError:
        return "1970-01-01T00:00:00Z"
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def sitemap(url: str, paths: Iterable[str]) -> str:
    """The sitemap of the pages, without dates: they would change on every build."""
    rows = "\n".join(f"<url><loc>{esc(url + path)}</loc></url>" for path in paths)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}\n</urlset>\n'
    )
