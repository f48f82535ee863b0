"""Atom feeds of entries, records, baselines and states, and the sitemap."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bot.model.board import RecordStep, State
from bot.registry import STATUS_NAMES, Status
from bot.render.states import state_words
from leaderboard_site import text
from leaderboard_site.community import credited, event_of
from leaderboard_site.formats import change
from leaderboard_site.model import Item, Site, TrackBoard
from leaderboard_site.pages.environment import SITE_NAME
from leaderboard_site.pages.track import result_of
from leaderboard_site.states import state_of
from leaderboard_site.text import esc

LENGTH = 50


class Event(NamedTuple):
    """One thing that happened: when, an id of its own, where to read it, and words for it."""

    date: str
    id: str
    link: str
    title: str
    author: str
    summary: str


def feed_files(site: Site) -> Iterator[tuple[str, str]]:
    """`feeds/new.xml`, `records.xml`, `baselines.xml`, `states.xml`, and one feed a track of its
    new entries and records."""
    new: list[Event] = []
    records: list[Event] = []
    for board in site.tracks.values():
        name = board.track.id
        mine = [
            _entry(site, name, board, i, i.verdict.date or "", event_of(board, i))
            for i in board.newest
        ]
        beaten = [
            _entry(site, name, board, board.items[s.submission], s.date, record_words(board, s))
            for s in board.board.records
            if s.date
        ]
        taken = {event.link for event in beaten}
        both = beaten + [event for event in mine if event.link not in taken]
        yield f"feeds/{name}.xml", atom(site, name, f"{SITE_NAME}: {board.track.title}", both)
        new += [event._replace(id=f"{event.link}#new") for event in mine]
        records += [event._replace(id=f"{event.link}#records") for event in beaten]
    for name, title, rows in (
        ("new", "new entries", new),
        ("records", "records and frontier entries", records),
        ("baselines", "baselines", list(_baselines(site))),
        ("states", "states of submissions and entries", list(_states(site))),
    ):
        yield f"feeds/{name}.xml", atom(site, name, f"{SITE_NAME}: {title}", rows)


def _baselines(site: Site) -> Iterator[Event]:
    """Each baseline when it was frozen, and what it gained on the one before."""
    for board in site.tracks.values():
        page = f"{site.url}tracks/{board.track.id}/"
        for base in board.track.baselines:
            item = site.item(base.submission, board.track.id)
            link = site.url + item.url if item else page
            gain = f" It takes {base.ratio:.4f} of what {base.after} took." if base.ratio else ""
            yield Event(
                base.frozen_at or base.frozen_on,
                f"{page}#baseline-{base.id}",
                link,
                f"{board.track.title}: baseline {base.id}",
                text.some([c.name or c.github for c in credited(base)]) or "the project",
                f"The baseline that entries are compared with from {base.frozen_on} on.{gain}",
            )


def _states(site: Site) -> Iterator[Event]:
    """Open pull requests in the state in which the bot left them, and entries that others ran
    again: another state is another event."""
    for pull in site.pending:
        known = pull.status in set(Status)
        state = STATUS_NAMES[Status(pull.status)] if known else pull.status
        more = f" About {pull.gpu_hours:.2g} GPU-hours are missing." if pull.gpu_hours else ""
        yield Event(
            pull.since,
            f"{site.url}pending/#{pull.number}-{pull.status if known else 'other'}",
            text.safe_url(pull.url) or f"{site.url}pending/",
            f"#{pull.number} {pull.title}: {state}",
            pull.author,
            f"{pull.place or 'No place yet'}.{more}",
        )
    for board in site.tracks.values():
        for path, settled in board.board.states.items():
            if path in board.items and settled.replies:
                yield _answered(site, board, board.items[path], settled)


def _answered(site: Site, board: TrackBoard, item: Item, state: State) -> Event:
    replies = [board.items[r.submission] for r in state.replies if r.submission in board.items]
    date = max((reply.verdict.date or "" for reply in replies), default="")
    words = f"{item.title} is {state_words(state)}."
    event = _entry(site, f"state-{state.name}", board, item, date, words)
    return event._replace(title=f"{event.title}: {state.name}")


def record_words(board: TrackBoard, step: RecordStep) -> str:
    """What a record beat and by how much: `Beats #88 PrefixTokenPrediction: 74.58 s to 73.8 s`."""
    if board.track.objective == "pareto":
        return "Joined the frontier."
    if board.track.objective == "baseline":
        state = board.items[step.submission].standing
        return f"The best ratio so far{f', {state}' if state else ''}."
    if step.previous is None or step.gain is None:
        return "A new record."
    metric = board.track.cost.metric
    beaten = board.items.get(step.beat or "")
    number = f"#{beaten.number} " if beaten and beaten.number is not None else ""
    name = f"{number}{beaten.title}" if beaten else f"{step.beat}, not on file"
    gain = change(step.gain)
    return (
        f"Beats {name}: {board.words(metric, step.previous)} to "
        f"{board.words(metric, step.cost)}, {gain}."
    )


def atom(site: Site, name: str, title: str, rows: Sequence[Event]) -> str:
    """One feed (RFC 4287) of the newest events."""
    own = f"{site.url}feeds/{name}.xml"
    rows = sorted(rows, key=lambda r: (r.date, r.link), reverse=True)[:LENGTH]
    updated = stamp(rows[0].date) if rows else "1970-01-01T00:00:00Z"
    parts = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{esc(title)}</title><id>{esc(own)}</id><updated>{updated}</updated>",
        f'<link rel="self" href="{esc(own)}"/><link href="{esc(site.url)}"/>',
        f"<author><name>{esc(SITE_NAME)}</name></author>",
    ]
    return "\n".join([*parts, *map(_written, rows), "</feed>", ""])


def _written(event: Event) -> str:
    return (
        f"<entry><title>{esc(text.clean(event.title))}</title>"
        f"<id>{esc(text.clean(event.id, 300))}</id>"
        f'<link href="{esc(event.link)}"/><updated>{stamp(event.date)}</updated>'
        f"<author><name>{esc(text.clean(event.author))}</name></author>"
        f"<summary>{esc(text.clean(event.summary, 600))}</summary></entry>"
    )


def _entry(
    site: Site, name: str, board: TrackBoard, item: Item, date: str, happened: str = ""
) -> Event:
    """An entry in a feed, and what happened to it in a sentence."""
    link = site.url + item.url
    result = f": {result_of(board, item.places[0])}" if item.places else ""
    summary = (
        f"{board.track.title}{result}. {state_of(item.verdict).name}, "
        f"evidence {item.verdict.evidence}."
    )
    summary += f" {item.standing.capitalize()}." if item.standing else ""
    number = f"#{item.number} " if item.number is not None else ""
    title = f"{number}{text.clean(item.title)}"
    return Event(date, f"{link}#{name}", link, title, item.people, f"{happened} {summary}".strip())


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
