"""Techniques, citations and badges: what other pages link to and other people reuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leaderboard_site import text
from leaderboard_site.milestones import on_file
from leaderboard_site.model import Item, Site, TrackBoard
from leaderboard_site.pages.environment import SITE_NAME, page, render
from leaderboard_site.pages.track import result_of
from leaderboard_site.techniques import Technique, techniques, techniques_of

MOST = 200


def reference_files(site: Site) -> Iterator[tuple[str, str]]:
    """The files of this module's pages."""
    yield (
        "techniques.md",
        page(
            "Techniques",
            "Which entries used what: entries by technique, over all boards.",
            render("techniques.html", base="../", groups=technique_groups(site)),
        ),
    )
    yield (
        "cite.md",
        page(
            "Cite and reuse",
            "How to cite a board or its data, feeds and badges.",
            render("cite.html", base="../", boards=[_board(site, b) for b in site.boards]),
        ),
    )


def technique_groups(site: Site) -> list[dict[str, Any]]:
    """The techniques that some entry has, each with its entries, newest first."""
    found: dict[str, list[tuple[TrackBoard, Item]]] = {}
    for board in site.tracks.values():
        for item in board.items.values():
            for technique in techniques_of(item):
                found.setdefault(technique.id, []).append((board, item))
    return [_group(t, found[t.id]) for t in techniques() if t.id in found]


def _group(technique: Technique, rows: list[tuple[TrackBoard, Item]]) -> dict[str, Any]:
    rows.sort(key=lambda r: (r[1].verdict.date or "", r[1].path), reverse=True)
    return {
        "technique": technique,
        "total": len(rows),
        "rows": [
            {
                "item": item,
                "track": board.track,
                "result": result_of(board, item.places[0]) if item.places else "not ranked",
            }
            for board, item in rows[:MOST]
        ],
    }


def _board(site: Site, board: TrackBoard) -> dict[str, Any]:
    track = board.track
    counted = on_file(board)
    table = track.official
    return {
        "track": track,
        "bibtex": board_bibtex(site, board),
        "source": table.source if counted else track.source,
        "commit": table.commit[:12] if counted else "",
        "badge": f"[![{text.clean(track.title, 60)}]({site.url}badges/{track.id}.svg)]"
        f"({site.url}tracks/{track.id}/)",
    }


def board_bibtex(site: Site, board: TrackBoard) -> str:
    """A BibTeX record of a board, dated by its newest entry."""
    track = board.track
    title = text.clean(track.title, 120).translate(str.maketrans("", "", "{}\\"))
    year = (board.newest[0].verdict.date or "")[:4] if board.newest else ""
    lines = [f"@misc{{speedrun-{track.id},", f"  title = {{{title}}},"]
    if year.isdigit():
        lines.append(f"  year = {{{year}}},")
    lines += [
        f"  howpublished = {{{SITE_NAME} leaderboard}},",
        f"  url = {{{site.url}tracks/{track.id}/}}",
        "}",
    ]
    return "\n".join(lines)
