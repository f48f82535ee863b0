"""Compare, pending, and the list of all entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.registry import STATUS_NAMES, Status, catalogue
from leaderboard_site import text
from leaderboard_site.model import Site
from leaderboard_site.pages.environment import page, render


def other_files(site: Site) -> Iterator[tuple[str, str]]:
    """The files of this module's pages."""
    yield (
        "compare.md",
        page(
            "Compare",
            "Any entries side by side: curves, numbers, and the test between them.",
            render("compare.html", base="../", tracks=site.boards),
        ),
    )
    yield (
        "pending.md",
        page(
            "Pending",
            "Open pull requests: their state, their age, what blocks them.",
            render(
                "pending.html",
                base="../",
                rows=pending(site),
                as_of=site.pending_as_of,
                repository=site.repository,
            ),
        ),
    )
    yield (
        "entries/index.md",
        page(
            "All entries",
            "Every submission on file, by track, whatever its state.",
            render("entries.html", base="../", groups=_groups(site)),
        ),
    )


def pending(site: Site) -> list[dict[str, Any]]:
    """The open pull requests as the page shows them, the longest open first."""
    rules = catalogue()
    rows = []
    for pull in sorted(site.pending, key=lambda p: (p.opened, p.number)):
        known = pull.status in set(Status)
        board = site.tracks.get(pull.track or "")
        rows.append(
            {
                "row": pull,
                "state": STATUS_NAMES[Status(pull.status)] if known else pull.status,
                "kind": pull.status if known else "",
                "age": text.age(pull.opened, site.pending_as_of),
                "blocks": [(b, b in rules) for b in pull.blocks],
                "track": None if board is None else board.track,
            }
        )
    return rows


def _groups(site: Site) -> list[dict[str, Any]]:
    return [
        {"track": b.track, "shown": list(b.items.values())[:500], "total": len(b.items)}
        for b in site.boards
    ]
