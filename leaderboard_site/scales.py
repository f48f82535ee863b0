"""Axes: from data values to pixels, with ticks that a reader can count on.

A logarithmic axis over decades gets its decades; over a narrow range (losses from 2.9 to 3.3) it
gets round values with enough digits to tell them apart.
"""

from __future__ import annotations

import datetime as dt
import functools as ft
import math
from collections.abc import Callable, Iterable, Sequence

from bot.render.numbers import duration
from leaderboard_site.text import MINUS, magnitude, superscript


class Scale:
    """Maps [low, high] onto [start, end] pixels. Values must be positive where `log`."""

    __slots__ = ("low", "high", "start", "end", "log", "_origin", "_factor")

    def __init__(
        self, low: float, high: float, start: float, end: float, log: bool = False
    ) -> None:
        self.low, self.high, self.start, self.end, self.log = low, high, start, end, log
        self._origin = math.log(low) if log else low
        top = math.log(high) if log else high
        self._factor = (end - start) / (top - self._origin)

    def __call__(self, value: float) -> float:
        """The pixel of a value, to one decimal; values outside are not clipped."""
        at = math.log(value) if self.log else value
        return round(self.start + (at - self._origin) * self._factor, 1)

    def pixels(self, values: Iterable[float]) -> list[int]:
        """The whole pixels of many values."""
        start, origin, factor, log = self.start, self._origin, self._factor, math.log
        if self.log:
            return [round(start + (log(v) - origin) * factor) for v in values]
        return [round(start + (v - origin) * factor) for v in values]

    def line(self, other: Scale, points: Iterable[tuple[float, float]]) -> str:
        """Points as the path data of a line, this scale across and `other` up."""
        x0, x1, x2 = self.start, self._origin, self._factor
        y0, y1, y2 = other.start, other._origin, other._factor
        if self.log or other.log:
            return "L".join([f"{self(a)} {other(b)}" for a, b in points])
        # Thousands of curves are drawn in one build: no call for each of their points.
        return "L".join([f"{x0 + (a - x1) * x2:.1f} {y0 + (b - y1) * y2:.1f}" for a, b in points])


def fit(
    values: Iterable[float], start: float, end: float, *, log: bool = False, pad: float = 0.05
) -> Scale:
    """A scale over the values with `pad` of the range free at each side.

    One value, or none, still gives a usable scale. Raises nothing for positive finite input.
    """
    seen = [v for v in values if math.isfinite(v) and (v > 0 or not log)]
    low, high = (min(seen), max(seen)) if seen else (1.0, 10.0)
    if log:
        a, b = math.log(low), math.log(high)
        room = (b - a) * pad or 0.1
        return Scale(math.exp(a - room), math.exp(b + room), start, end, True)
    room = (high - low) * pad or (abs(high) * 0.05 or 1.0)
    return Scale(low - room, high + room, start, end)


def ticks(scale: Scale, want: int = 5) -> list[float]:
    """Values to label, at most about `want` + 2 of them, inside the scale."""
    if not scale.log:
        return linear_ticks(scale.low, scale.high, want)
    decades = math.log10(scale.high / scale.low)
    if decades < 1:
        return linear_ticks(scale.low, scale.high, want)
    first, last = math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high))
    for steps in ((1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        values = [m * 10.0**e for e in range(first, last + 1) for m in steps]
        inside = [v for v in values if scale.low <= v <= scale.high]
        if len(inside) <= want + 2:
            return inside
    stride = math.ceil(decades / want)
    return [10.0**e for e in range(first, last + 1, stride) if scale.low <= 10.0**e <= scale.high]


def linear_ticks(low: float, high: float, want: int = 5) -> list[float]:
    """Round values between low and high: multiples of 1, 2, 2.5 or 5 times a power of ten."""
    rough = (high - low) / max(want, 1)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * m for m in (1, 2, 2.5, 5, 10) if unit * m >= rough * 0.999)
    count = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [round(i * step, 12) for i in count]


def tick_labels(values: Sequence[float], metric: str) -> list[str]:
    """One label a tick, all with the same number of decimals and one unit."""
    return list(_labels(tuple(values), metric))


@ft.lru_cache(maxsize=4096)
def _labels(values: tuple[float, ...], metric: str) -> list[str]:
    if metric == "date":
        return date_labels(values)
    if metric.endswith("time_s") and values:
        return _times(values)
    if metric == "cost_usd":
        return [f"${v:,.0f}" if v >= 1 else f"${v:.2g}" for v in values]
    big = max((abs(v) for v in values), default=0.0)
    if metric.endswith("flops") and big >= 1e6:
        return [_flops(v) for v in values]
    if big >= 10_000:
        return [magnitude(v) for v in values]
    digits = decimals(values)
    return [f"{v:.{digits}f}".replace("-", MINUS) for v in values]


def decimals(values: Sequence[float]) -> int:
    """The fewest decimals that show every value exactly (at most six)."""
    for digits in range(6):
        if all(abs(round(v, digits) - v) < 1e-9 * max(1.0, abs(v)) for v in values):
            return digits
    return 6


def _flops(value: float) -> str:
    exponent = math.floor(math.log10(value) + 1e-9)
    mantissa = round(value / 10.0**exponent, 3)
    return superscript(exponent) if mantissa == 1 else f"{mantissa:g}×{superscript(exponent)}"


def _times(values: Sequence[float]) -> list[str]:
    if max(values) / max(min(values), 1e-9) >= WIDE_TIMES:
        return [_time(v) for v in values]
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        if min(values) >= unit or (unit == 1):
            if all(v / unit < 10_000 for v in values):
                return [f"{v / unit:.4g} {name}" for v in values]
    return [duration(v) for v in values]


def _time(value: float) -> str:
    """One tick in its own unit: `90 s`, `2 min`, `5 h`."""
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if value >= unit and (value >= 2 * unit or value % unit == 0):
            return f"{value / unit:.4g} {name}"
    return f"{value:.4g} s"


WIDE_TIMES = 4.0
"""From this ratio on an axis of time has ticks in several units."""
ROUND_TIMES = tuple(
    unit * count
    for unit, counts in (
        (1, (1, 2, 3, 5, 10, 20, 30)),
        (60, (1, 1.5, 2, 3, 5, 10, 15, 20, 30, 45)),
        (3600, (1, 2, 3, 5, 8, 12)),
        (86400, (1, 2, 3, 5, 10, 20, 50, 100)),
    )
    for count in counts
)


def time_ticks(scale: Scale, want: int = 5) -> list[float]:
    """Ticks of a time axis in seconds, round in the unit that suits the range."""
    if scale.log and scale.low > 0 and scale.high / scale.low >= WIDE_TIMES:
        inside = [float(v) for v in ROUND_TIMES if scale.low <= v <= scale.high]
        return _apart(scale, inside, want + 3) or ticks(scale, want)
    for unit in (86400, 3600, 60, 1):
        if scale.low >= unit or unit == 1:
            inner = Scale(scale.low / unit, scale.high / unit, scale.start, scale.end, scale.log)
            return [v * unit for v in ticks(inner, want)]
    return ticks(scale, want)


def _apart(scale: Scale, values: list[float], most: int) -> list[float]:
    """The values without those too near to the one before; at most about `most`."""
    room = abs(scale.end - scale.start) / (most + 1)
    kept: list[float] = []
    for value in values:
        if not kept or abs(scale(value) - scale(kept[-1])) >= room:
            kept.append(value)
    return kept


def date_ticks(scale: Scale, want: int = 6) -> list[float]:
    """Firsts of months (or of years, or days) inside the scale of day ordinals."""
    low, high = (dt.date.fromordinal(max(1, round(v))) for v in (scale.low, scale.high))
    months = (high.year - low.year) * 12 + high.month - low.month
    if months < 2:
        return [float(round(v)) for v in linear_ticks(scale.low, scale.high, want)]
    stride = next((s for s in (1, 2, 3, 6, 12, 24, 60) if months / s <= want), 120)
    at = range(low.year * 12 + low.month - 1, high.year * 12 + high.month)
    days = [dt.date(m // 12, m % 12 + 1, 1).toordinal() for m in at if m % stride == 0]
    return [float(d) for d in days if scale.low <= d <= scale.high]


def date_labels(values: Sequence[float]) -> list[str]:
    """`Jan 2025`, or `3 Jan` where the ticks are days of one month or two."""
    days = [dt.date.fromordinal(round(v)) for v in values]
    if all(d.day == 1 for d in days):
        return [f"{d:%b %Y}" if d.month == 1 or i == 0 else f"{d:%b}" for i, d in enumerate(days)]
    return [f"{d.day} {d:%b}" for d in days]


def ticks_for(scale: Scale, metric: str, want: int = 5) -> list[float]:
    """The ticks that suit the metric."""
    chooser: Callable[[Scale, int], list[float]] = ticks
    if metric == "date":
        chooser = date_ticks
    elif metric.endswith("time_s"):
        chooser = time_ticks
    return chooser(scale, want)
