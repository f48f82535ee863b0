"""Entries of one board as rows of a small table, which has the board's units in its head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from leaderboard_site.model import Item, TrackBoard, value_of
from leaderboard_site.pages.columns import Column, metric_column


def metrics_of(board: TrackBoard) -> Sequence[str]:
    """What a board counts: a ratio, a cost, or quality at a cost."""
    track = board.track
    if track.objective == "pareto":
        return track.quality.metric, track.cost.metric
    return ("ratio",) if track.objective == "baseline" else (track.cost.metric,)


def heads(board: TrackBoard) -> list[Column]:
    """The columns of results, as the board itself heads them."""
    return [metric_column(board, m) for m in metrics_of(board)]


def results(board: TrackBoard, item: Item) -> list[str]:
    """The numbers of an entry's best point; dashes where it does not rank."""
    place = item.best
    values = (value_of(board.track, place, m) if place else None for m in metrics_of(board))
    return [board.form(m).show(v) for m, v in zip(metrics_of(board), values, strict=True)]


def by_board(rows: Iterable[tuple[TrackBoard, Any]]) -> list[tuple[TrackBoard, list[Any]]]:
    """The rows of each board, boards in the order of their first row."""
    groups: dict[str, tuple[TrackBoard, list[Any]]] = {}
    for board, row in rows:
        groups.setdefault(board.track.id, (board, []))[1].append(row)
    return list(groups.values())
