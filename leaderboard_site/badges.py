"""Badges: the record of a board as JSON for badge services, and as a picture of our own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leaderboard_site import text
from leaderboard_site.model import Site, TrackBoard
from leaderboard_site.tables import dumps

LETTER = 6.6


def badge_files(site: Site) -> Iterator[tuple[str, str]]:
    """`badges/TRACK.json` and `badges/TRACK.svg` of every board."""
    for board in site.tracks.values():
        shown = badge(board)
        yield f"badges/{board.track.id}.json", dumps(shown)
        yield f"badges/{board.track.id}.svg", badge_svg(shown["label"], shown["message"])


def badge(board: TrackBoard) -> dict[str, Any]:
    """A badge in the shape that badge services read."""
    record = board.record
    if record and record[1].entry.progress:
        state = record[0].standing
        message = board.words("ratio", record[1].entry.progress.ratio)
        message += f" of the baseline’s time{f', {state}' if state else ''}"
    elif record:
        message = board.words(board.track.cost.metric, record[1].entry.shown_cost)
    else:
        message = f"{len(board.board.frontier)} on the frontier"
    return {
        "schemaVersion": 1,
        "label": text.clean(board.track.title, 60),
        "message": message,
        "color": "0b5cad",
    }


def badge_svg(label: str, message: str) -> str:
    """A badge as a small picture: what the board is, and its record."""
    left, right = (round(LETTER * len(words)) + 14 for words in (label, message))
    both = text.esc(f"{label}: {message}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{both}"><title>{both}</title>'
        f'<rect width="{left}" height="20" fill="#39424e"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="#0b5cad"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" '
        f'font-size="11"><text x="{left / 2:g}" y="14">{text.esc(label)}</text>'
        f'<text x="{left + right / 2:g}" y="14">{text.esc(message)}</text></g></svg>\n'
    )
