"""Loss curves, strips of runs, fitted laws as inline SVG; `charts` has what they share."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import NamedTuple

from leaderboard_site import labels
from leaderboard_site.charts import NARROW, WIDE, Axis, Frame, Mark, axes, figure, reference_lines
from leaderboard_site.scales import Scale, tick_labels, ticks_for
from leaderboard_site.text import clean, esc

# ------------------------------------------------------------------------------------- lines


class Line(NamedTuple):
    """A curve: points in order of x; `kind` is `this`, `record`, `baseline` or `other`."""

    name: str
    points: Sequence[tuple[float, float]]
    kind: str = "other"


SMALL_WIDE = Frame("wide", 1040, 360, 60, 110, 26, 46, 7)
SMALL_NARROW = Frame("narrow", 360, 270, 48, 12, 24, 42, 3)


def lines(
    series: Sequence[Line], x_axis: Axis, y_axis: Axis, *, label: str, target: Mark | None = None
) -> str:
    """Curves over one another, each named at its end where there is room."""
    drawn = [s for s in series if len(s.points) > 1]

    def draw(frame: Frame) -> str:
        xs = [p[0] for s in drawn for p in s.points]
        ys = [p[1] for s in drawn for p in s.points] + ([target.y] if target else [])
        x = frame.x_scale(xs, x_axis.log, 0.02)
        y = frame.y_scale(ys, y_axis.log)
        parts = [axes(frame, x, y, x_axis, y_axis)]
        if target:
            parts.append(reference_lines(frame, y, [target], left=True))
        parts += [_curve(item, x, y) for item in drawn]
        if frame.name == "wide":
            ends = [_end(s, x, y) for s in drawn if s.name and s.kind != "other"]
            parts.append(labels.at_right(ends, frame, frame.width - frame.right))
        return "".join(parts)

    return figure(draw, label, (SMALL_WIDE, SMALL_NARROW))


def _curve(item: Line, x: Scale, y: Scale) -> str:
    step = max(1, len(item.points) // 240)
    kept = [*item.points[:-1:step], item.points[-1]]
    return f'<path class="curve {item.kind}" d="M{x.line(y, kept)}"/>'


def _end(item: Line, x: Scale, y: Scale) -> labels.End:
    last = item.points[-1]
    return labels.End(x(last[0]), y(last[1]), item.name, item.kind)


# ------------------------------------------------------------------------------------- strip


STRIP_WIDE = Frame("wide", 1040, 116, 20, 20, 22, 40, 8)
STRIP_NARROW = Frame("narrow", 360, 112, 14, 14, 22, 40, 3)


def strip(
    values: Sequence[float],
    metric: str,
    *,
    label: str,
    title: str,
    target: float | None = None,
    mean: float | None = None,
    interval: tuple[float, float] | None = None,
) -> str:
    """Every run as a dot on one line, with mean, interval and target."""

    def draw(frame: Frame) -> str:
        ends = [*values, *(interval or ()), *((target,) if target is not None else ())]
        x = frame.x_scale(ends, False, 0.06)
        base = frame.height - frame.bottom
        parts = [_strip_axis(frame, x, metric, title)]
        if interval:
            parts.append(
                f'<path class="interval" d="M{x(interval[0])} {base - 26}H{x(interval[1])}"/>'
            )
        if target is not None:
            side = "end" if x(target) > frame.width * 0.6 else ""
            shift = -5 if side else 5
            parts.append(f'<path class="mark" d="M{x(target)} 14V{base}"/>')
            parts.append(
                f'<text class="marktext {side}" x="{x(target) + shift}" y="13">target '
                f"{target:g}</text>"
            )
        parts += [_beeswarm(values, x, base)]
        if mean is not None:
            parts.append(f'<path class="mean" d="M{x(mean)} {base - 34}v16"/>')
        return "".join(parts)

    return figure(draw, label, (STRIP_WIDE, STRIP_NARROW))


def _strip_axis(frame: Frame, x: Scale, metric: str, title: str) -> str:
    """The line under the dots, with its ticks and its title."""
    base, end = frame.height - frame.bottom, frame.width - frame.right
    at = [float(v) for v in ticks_for(x, metric, frame.ticks)]
    parts = []
    for value, text in zip(at, tick_labels(at, metric), strict=True):
        parts.append(f'<path class="tick" d="M{x(value)} {base}v5"/>')
        parts.append(f'<text class="mid" x="{x(value)}" y="{base + 19}">{text}</text>')
    parts.append(f'<path class="base" d="M{frame.left} {base}H{end}"/>')
    parts.append(f'<text class="title end" x="{end}" y="{frame.height - 5}">{esc(title)}</text>')
    return f'<g class="axis" aria-hidden="true">{"".join(parts)}</g>'


def _beeswarm(values: Sequence[float], x: Scale, base: int) -> str:
    """Dots side by side on the axis, stacked where they would touch."""
    placed: dict[int, int] = {}
    parts = []
    for value in sorted(values):
        column = round(x(value) / 7)
        level = placed.get(column, 0)
        placed[column] = level + 1
        parts.append(f'<circle class="run" cx="{x(value)}" cy="{base - 7 - 4 * level}" r="3.6"/>')
    return "".join(parts)


# ---------------------------------------------------------------------------------- scaling


class Fit(NamedTuple):
    """A fitted law of one group: its points, the curve and the band as (x, low, y, high)."""

    name: str
    points: Sequence[tuple[float, float]]
    curve: Sequence[tuple[float, float, float, float]]
    usable: bool


def scaling(fits: Sequence[Fit], x_axis: Axis, y_axis: Axis, *, label: str) -> str:
    """Groups of points with their fitted laws; a fit under the floor is dashed and grey."""

    def draw(frame: Frame) -> str:
        xs = [p[0] for f in fits for p in f.points] + [c[0] for f in fits for c in f.curve]
        ys = [p[1] for f in fits for p in f.points] + [
            v for f in fits if f.usable for c in f.curve for v in (c[2],)
        ]
        x, y = frame.x_scale(xs, True), frame.y_scale(ys, y_axis.log)
        parts = [axes(frame, x, y, x_axis, y_axis)]
        ends = []
        for index, item in enumerate(fits):
            colour = f"c{index % 8}" if item.usable else "weak"
            parts.append(_fit(item, colour, x, y))
            at = (item.curve[-1][0], item.curve[-1][2]) if item.curve else item.points[-1]
            ends.append(labels.End(x(at[0]), y(at[1]), item.name, colour))
        if frame.name == "wide":
            parts.append(labels.at_right(ends, frame, frame.width - frame.right))
        return "".join(parts)

    return figure(draw, label, (FITS_WIDE, NARROW))


FITS_WIDE = dc.replace(WIDE, right=200)


def _fit(item: Fit, colour: str, x: Scale, y: Scale) -> str:
    parts = []
    if item.curve:
        path = "L".join(f"{x(c[0])} {y(c[2])}" for c in item.curve)
        if item.usable:
            top, low = max(y.low, 1e-300), y.low
            upper = "L".join(f"{x(c[0])} {y(min(c[3], y.high))}" for c in item.curve)
            lower = "L".join(f"{x(c[0])} {y(max(c[1], low, top))}" for c in reversed(item.curve))
            parts.append(f'<path class="band {colour}" d="M{upper}L{lower}Z"/>')
        parts.append(f'<path class="fit {colour}" d="M{path}"/>')
    for px, py in item.points:
        parts.append(
            f'<circle class="fitpoint {colour}" cx="{x(px)}" cy="{y(py)}" r="4">'
            f"<title>{esc(clean(item.name))}</title></circle>"
        )
    return "".join(parts)
