"""How likely an entry truly is on a frontier, given how far its runs differ.

A frontier of noisy points picks the lucky ones: 6 to 14 % of them do not belong there. Each entry
is drawn anew 1,000 times, around its mean with the standard error of its runs (of one run: with the
spread that the track states), and the share of draws in which nothing dominates it is the chance.
The draws of an entry depend on its name alone, so that a new entry changes nobody's draws.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Sequence

from bot.model.summary import Moments
from bot.model.track import Track
from bot.rank.admission import Row

DRAWS = 1000
_SEED = 20261128
_FAR = 6.0
"""Standard errors beyond which no draw falls."""


@dc.dataclass(frozen=True, slots=True)
class Spread:
    """A point whose smaller numbers are better, and the standard errors of both; 0 is exact."""

    name: str
    x: float
    y: float
    x_error: float = 0.0
    y_error: float = 0.0


def chances(points: Sequence[Spread]) -> list[float | None]:
    """The chance of each point; None for a point without any spread. Deterministic."""
    import numpy as np

    drawn = [i for i, p in enumerate(points) if p.x_error or p.y_error]
    found: list[float | None] = [None] * len(points)
    if not drawn:
        return found
    kept = _in_reach(points)
    position = {i: n for n, i in enumerate(kept)}
    xs, ys = np.empty((DRAWS, len(kept))), np.empty((DRAWS, len(kept)))
    for n, i in enumerate(kept):
        p = points[i]
        draw = np.random.default_rng([_SEED, *p.name.encode()]).normal(size=(2, DRAWS))
        xs[:, n], ys[:, n] = p.x + p.x_error * draw[0], p.y + p.y_error * draw[1]
    order = np.lexsort((ys, xs))
    sorted_ys = np.take_along_axis(ys, order, 1)
    before = np.minimum.accumulate(sorted_ys, 1)[:, :-1]
    on = np.ones_like(sorted_ys, bool)
    # Equal points stay together, as they do on the board.
    same = np.diff(np.take_along_axis(xs, order, 1), axis=1) == 0
    on[:, 1:] = (sorted_ys[:, 1:] < before) | (same & (sorted_ys[:, 1:] == before))
    share = np.zeros(len(kept))
    np.add.at(share, order[on], 1.0)
    for i in drawn:
        found[i] = float(share[position[i]] / DRAWS) if i in position else 0.0
    return found


def _in_reach(points: Sequence[Spread]) -> list[int]:
    """The points that some draw may put on the frontier: none dominates them at its worst while
    they are at their best. What is never on it dominates nothing that the rest does not."""
    worst = sorted((p.x + _FAR * p.x_error, p.y + _FAR * p.y_error) for p in points)
    best_y = math.inf
    edge: list[tuple[float, float]] = []
    for x, y in worst:
        if y < best_y:
            best_y = y
            edge.append((x, y))
    kept = []
    at = 0
    order = sorted(range(len(points)), key=lambda i: points[i].x - _FAR * points[i].x_error)
    for i in order:
        x, y = points[i].x - _FAR * points[i].x_error, points[i].y - _FAR * points[i].y_error
        while at < len(edge) and edge[at][0] < x:
            at += 1
        if at == 0 or edge[at - 1][1] >= y:
            kept.append(i)
    return sorted(kept)


# ---- The rows of a board -----------------------------------------------------------------------


def drawn(row: Row, track: Track) -> Spread:
    """A row with the standard errors of its means; of one run, with the spread of the track."""
    rule, stats = track.significance, row.point.summary
    usual = rule.pooled_sd or rule.sigma or 0.0
    signs = [axis.sign for axis in (track.cost, track.quality)]
    x_error = _standard_error(stats.cost.values, 0.0)
    y_error = _standard_error(stats.quality.values, usual)
    name = "\0".join(row.key)
    return Spread(name, signs[0] * row.shown, signs[1] * row.quality, x_error, y_error)


def _standard_error(values: Sequence[float], usual: float) -> float:
    """Of a mean: from the runs' own spread, from the `usual` one for less than three of them."""
    if len(values) > 2 or (len(values) == 2 and not usual):
        return (Moments.of(values).sd or 0.0) / math.sqrt(len(values))
    return usual / math.sqrt(max(len(values), 1))
