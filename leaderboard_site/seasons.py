"""Seasons of attempts: how many records may be false, and which stand when all are judged at once.

With many attempts some pass by luck, each with a chance of at most alpha. A season is a calendar
year of a track; its attempts are the entries on file with a p-value, ranked or not. Their p-values
go in order of time through SAFFRON (Ramdas, Zrnic, Wainwright and Jordan 2018, "SAFFRON: an
adaptive algorithm for online control of the false discovery rate", ICML), which never looks ahead:
of the entries that it keeps, at most a share of `RATE` is false on average.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence

from online_fdr.p_values import Saffron

from bot.model.verdict import Point
from leaderboard_site import text
from leaderboard_site.model import TrackBoard

RATE = 0.05
_WEALTH, _CANDIDATE = RATE / 2, 0.5
"""What SAFFRON begins with, and below what a p is a candidate: its authors' own choices."""


@dc.dataclass(frozen=True, slots=True)
class Season:
    """One year: attempts with a p, records among them, and how many of each SAFFRON keeps.

    `expected_false` is the most false passes that chance makes on average: alpha an attempt.
    """

    year: str
    attempts: int
    expected_false: float
    kept: int
    records: int
    records_kept: int


def seasons(board: TrackBoard) -> tuple[Season, ...]:
    """The seasons of a track in order of time; none where no entry has a date and a p."""
    tried = sorted(
        (item.verdict.date, item.path, point.name, p)
        for item in board.items.values()
        for point in item.verdict.points
        if item.verdict.date and (p := p_of(board, point)) is not None
    )
    kept = discoveries([p for *_, p in tried])
    held = {(step.submission, step.point) for step in board.board.records}
    rows: dict[str, list[tuple[bool, bool]]] = {}
    for (date, path, point, _), found in zip(tried, kept, strict=True):
        rows.setdefault(date[:4], []).append((found, (path, point) in held))
    alpha = board.track.significance.alpha
    return tuple(
        Season(
            year,
            len(row),
            alpha * len(row),
            sum(found for found, _ in row),
            sum(record for _, record in row),
            sum(found and record for found, record in row),
        )
        for year, row in sorted(rows.items())
    )


def p_of(board: TrackBoard, point: Point) -> float | None:
    """The p of what a point claims: on a baseline track that it is better than the baseline, else
    that it reaches the target; None for an entry that claims neither.

    At looks an entry had as many chances to pass as there are looks, and its p counts so often.
    """
    stats = point.summary
    p = stats.p
    if board.track.objective == "baseline":
        p = stats.baseline.p if stats.baseline else None
    return None if p is None else min(1.0, p * max(len(board.track.significance.looks), 1))


def discoveries(p_values: Sequence[float]) -> list[bool]:
    """Which of p-values in order of time SAFFRON keeps at a false discovery rate of `RATE`."""
    method = Saffron(alpha=RATE, wealth=_WEALTH, lambda_=_CANDIDATE)
    return [bool(method.test_one(p)) for p in p_values]


def season_words(found: Sequence[Season]) -> str:
    """The last season in a sentence or two; empty without one."""
    if not found:
        return ""
    last = found[-1]
    has, stand = ("has", "stands") if last.attempts == 1 else ("have", "stand")
    return (
        f"In {last.year} {text.plural(last.attempts, 'attempt')} on file {has} a p-value; chance "
        f"passes at most {last.expected_false:.2g} of them on average. At a false discovery rate "
        f"of {100 * RATE:g} % over all seasons, {last.kept} of {last.attempts} {stand}, and "
        f"{last.records_kept} of {text.plural(last.records, 'record')} among them."
    )
