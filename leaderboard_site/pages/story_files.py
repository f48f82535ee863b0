"""The numbers behind each chart, as the CSV that stands under it; exact, one line a point."""

from __future__ import annotations

from typing import Any

from leaderboard_site.milestones import milestones
from leaderboard_site.model import TrackBoard
from leaderboard_site.pages.columns import title_of
from leaderboard_site.pages.plots import Against
from leaderboard_site.tables import csv_text


def chart_csv(board: TrackBoard, data: Against) -> str:
    """Quality against a cost: the entries in the board's order."""
    front = [row for i, row in enumerate(data.rows) if i in data.front]
    best = {(item.path, place.point) for item, place, _ in front}
    return csv_text(
        [
            {
                "submission": item.path,
                "title": title_of(item, place),
                data.x: value,
                board.track.quality.metric: place.entry.quality,
                "best_on_these_axes": (item.path, place.point) in best,
                "date": item.verdict.date,
            }
            for item, place, value in data.rows
        ]
    )


def story_csv(board: TrackBoard) -> str:
    """The record over time, on file or not; on a pareto board who joined the frontier when."""
    if board.track.objective == "pareto":
        return csv_text([_step(board, s) for s in board.board.records])
    return csv_text(
        [
            {
                "number": m.number,
                "date": m.date,
                "submission": m.item.path if m.item else None,
                "title": m.title,
                "by": m.people,
                "cost": m.cost,
                "clock": m.clock,
                "cost_of_its_own_runs": m.own,
                "cost_before": m.previous,
                "gain": m.gain,
                "why_not_ranked": m.why or None,
            }
            for m in milestones(board)
        ]
    )


def _step(board: TrackBoard, step: Any) -> dict[str, Any]:
    return {
        "date": step.date,
        "submission": step.submission,
        "point": step.point,
        board.track.cost.metric: step.cost,
        board.track.quality.metric: step.quality,
        "superseded_by": step.superseded_by,
        "superseded_on": step.superseded_on,
    }
