"""Atom feeds of new entries and of records, and the sitemap."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence

from bot.model.board import RecordStep
from leaderboard_site import text
from leaderboard_site.community import event_of
from leaderboard_site.community import state_of as state_of_entry
from leaderboard_site.model import Item, Site, TrackBoard
from leaderboard_site.pages.environment import SITE_NAME
from leaderboard_site.pages.track import result_of
from leaderboard_site.states import state_of
from leaderboard_site.text import esc

LENGTH = 50


Row = tuple[str, TrackBoard, Item, str]
"""Date, board, entry, and what happened in a sentence."""


def feed_files(site: Site) -> Iterator[tuple[str, str]]:
    """`feeds/new.xml`, `feeds/records.xml`, and one feed a track of both."""
    new, records = [], []
    for board in site.tracks.values():
        mine = [(i.verdict.date or "", board, i, event_of(board, i)) for i in board.newest]
        beaten = [
            (s.date, board, board.items[s.submission], record_words(board, s))
            for s in board.board.records
            if s.date
        ]
        new += mine
        records += beaten
        taken = {item.path for _, _, item, _ in beaten}
        both = beaten + [row for row in mine if row[2].path not in taken]
        name = board.track.id
        yield f"feeds/{name}.xml", atom(site, name, f"{SITE_NAME}: {board.track.title}", both)
    for name, title, rows in (
        ("new", "new entries", new),
        ("records", "records and frontier entries", records),
    ):
        yield f"feeds/{name}.xml", atom(site, name, f"{SITE_NAME}: {title}", rows)


def record_words(board: TrackBoard, step: RecordStep) -> str:
    """What a record beat and by how much: `Beats #88 PrefixTokenPrediction: 74.58 s to 73.8 s`."""
    if board.track.objective == "pareto":
        return "Joined the frontier."
    if step.previous is None or step.gain is None or board.track.objective == "baseline":
        return "A new record."
    metric = board.track.cost.metric
    beaten = board.items.get(step.beat or "")
    number = f"#{beaten.number} " if beaten and beaten.number is not None else ""
    name = f"{number}{beaten.title}" if beaten else f"{step.beat}, not on file"
    gain = text.signed(100 * step.gain, 2)
    return (
        f"Beats {name}: {text.spoken(metric, step.previous, board.track)} to "
        f"{text.spoken(metric, step.cost, board.track)}, {gain} %."
    )


def atom(site: Site, name: str, title: str, rows: Sequence[Row]) -> str:
    """One feed (RFC 4287) of the newest rows."""
    own = f"{site.url}feeds/{name}.xml"
    rows = sorted(rows, key=lambda r: (r[0], r[2].path), reverse=True)[:LENGTH]
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


def _entry(site: Site, name: str, date: str, board: TrackBoard, item: Item, event: str) -> str:
    link = esc(site.url + item.url)
    result = f": {result_of(board, item.places[0])}" if item.places else ""
    summary = (
        f"{board.track.title}{result}. {state_of(item.verdict).name}, "
        f"evidence {item.verdict.evidence}."
    )
    state = state_of_entry(board, item)
    summary += f" {state.name.capitalize()}." if state else ""
    number = f"#{item.number} " if item.number is not None else ""
    shown = text.clean(f"{event} {summary}".strip(), 600)
    return (
        f"<entry><title>{esc(number + text.clean(item.title))}</title><id>{link}#{name}</id>"
        f'<link href="{link}"/><updated>{stamp(date)}</updated>'
        f"<author><name>{esc(text.clean(item.people))}</name></author>"
        f"<summary>{esc(shown)}</summary></entry>"
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
