"""Cost at equal loss: what a result would have cost, had it stopped exactly at the target.

A record may buy its margin with runs or with steps: of two equal recipes the one that trains a
little longer has the lower loss and the higher cost. Moved along its own curve to the target both
cost the same. With l the final loss, c its cost and s < 0 the slope dl/dc at the end of the run's
own curve, the cost at the target is c + (target - l) / s. The standard error is that of the mean
over runs, plus what the slope's own uncertainty adds (delta method).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from bot.compute.significance import t_quantile
from bot.model.summary import AtTarget, Moments

_NORMAL = 1.959964
"""The 97.5 % point of the normal distribution."""

Curve = Sequence[tuple[float, float]]
"""(cost, loss) at the validations of one run, in order of cost."""


def end_of(curve: Curve) -> tuple[float, float] | None:
    """(slope, bend) at the last point: dl/dc and half of d2l/dc2, by a parabola through the last
    three points.

    The secant of the last two points and no bend if there are only two, or if the parabola turns
    upward before the end. None if the loss does not fall at the end, or for fewer than two points.
    """
    points = [p for p in curve if all(map(math.isfinite, p))][-3:]
    if len(points) < 2:
        return None
    (c1, l1), (c2, l2) = points[-2:]
    if c2 <= c1:
        return None
    last = (l2 - l1) / (c2 - c1)
    c0, l0 = points[0]
    if c1 > c0:
        bend = (last - (l1 - l0) / (c1 - c0)) / (c2 - c0)
        slope = last + bend * (c2 - c1)
        if slope < 0:
            return slope, bend
    return (last, 0.0) if last < 0 else None


def _move(excess: float, slope: float, bend: float) -> float:
    """How far along slope d + bend d^2 the loss falls by `excess`; past its turn, where it falls no
    more, straight on as steeply as at the end."""
    inside = slope * slope - 4 * bend * excess
    if inside < 0:
        return -excess / slope - slope / (4 * bend)
    # The root near 0, in the form that does not cancel.
    return -2 * excess / (slope - math.sqrt(inside))


def at_target(curves: Sequence[Curve], target: float) -> AtTarget | None:
    """The mean cost of runs at the target loss. None if any run's loss does not fall at its end.

    All runs share one slope and bend, the means of theirs: those of single runs are noisier than
    the recipe's, and a nearly flat end would move its run far.
    """
    found = [end_of(curve) for curve in curves]
    ends = [end for end in found if end is not None]
    if len(ends) < len(found):
        return None
    try:
        slopes = Moments.of([slope for slope, _ in ends])
        bend = math.fsum(b for _, b in ends) / len(ends)
        moved = Moments.of([c[-1][0] + _move(c[-1][1] - target, slopes.mean, bend) for c in curves])
        if moved.sd is None:
            return AtTarget(1, moved.mean, None)
        margin = math.fsum(target - c[-1][1] for c in curves) / len(curves)
        of_slope = margin / slopes.mean**2 * (slopes.sd or 0.0)
        few = t_quantile(0.975, moved.n - 1) / _NORMAL
        error = few * math.sqrt((moved.sd**2 + of_slope**2) / moved.n)
    except (ArithmeticError, ValueError):
        return None  # no measurement has such numbers
    return AtTarget(moved.n, moved.mean, error) if math.isfinite(error) else None
