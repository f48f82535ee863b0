"""Charts as inline SVG, made at build time and coloured by the theme's variables.

Every chart is drawn twice, for a wide and for a narrow screen, so that its text has a readable
size on both; the style sheet shows one. A chart works without a script and prints; points that a
reader may want to follow are links with a title. All text is escaped here.
"""

from __future__ import annotations

import dataclasses as dc
import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from leaderboard_site.scales import Scale, fit, tick_labels, ticks_for
from leaderboard_site.text import clean, esc


class Axis(NamedTuple):
    """What an axis shows: the metric decides ticks and format, `title` is printed."""

    metric: str
    title: str
    log: bool = True


class Dot(NamedTuple):
    """A point of a scatter chart. `interval` is (low, high) in y where it is known.

    `kind` is `frontier`, `record`, `entry` or `weak` (ranked, with warnings to weigh).
    """

    x: float
    y: float
    label: str
    href: str
    kind: str = "entry"
    interval: tuple[float, float] | None = None
    short: str = ""


class Mark(NamedTuple):
    """A horizontal reference line with its words: a target or a quality band."""

    y: float
    label: str


@dc.dataclass(frozen=True, slots=True)
class Frame:
    """The drawing area of one rendering."""

    name: str
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    ticks: int

    def x_scale(self, values: Iterable[float], log: bool, pad: float = 0.04) -> Scale:
        """The horizontal scale over the values."""
        return fit(values, self.left, self.width - self.right, log=log, pad=pad)

    def y_scale(self, values: Iterable[float], log: bool, pad: float = 0.06) -> Scale:
        """The vertical scale over the values, larger values higher."""
        return fit(values, self.height - self.bottom, self.top, log=log, pad=pad)


WIDE = Frame("wide", 1040, 460, 64, 24, 28, 48, 7)
NARROW = Frame("narrow", 360, 330, 50, 12, 26, 44, 3)

MOST_NARROW_LINKS = 80

Draw = Callable[[Frame], str]


def figure(draw: Draw, label: str, frames: Sequence[Frame] = (WIDE, NARROW)) -> str:
    """The chart for each frame, one shown at a time."""
    return "".join(
        f'<svg class="chart {f.name}" viewBox="0 0 {f.width} {f.height}" '
        f'aria-label="{esc(clean(label))}">{draw(f)}</svg>'
        for f in frames
    )


def axes(frame: Frame, x: Scale, y: Scale, x_axis: Axis, y_axis: Axis) -> str:
    """Grid lines, ticks and titles."""
    parts = ['<g class="axis" aria-hidden="true">']
    bottom = frame.height - frame.bottom
    y_values = ticks_for(y, y_axis.metric, 5)
    for value, text in zip(y_values, tick_labels(y_values, y_axis.metric), strict=True):
        at = y(value)
        parts.append(f'<path class="grid" d="M{frame.left} {at}H{frame.width - frame.right}"/>')
        parts.append(f'<text class="end" x="{frame.left - 7}" y="{at + 4:.1f}">{text}</text>')
    x_values = ticks_for(x, x_axis.metric, frame.ticks)
    for value, text in zip(x_values, tick_labels(x_values, x_axis.metric), strict=True):
        parts.append(f'<path class="tick" d="M{x(value)} {bottom}v5"/>')
        parts.append(f'<text class="mid" x="{x(value)}" y="{bottom + 19}">{text}</text>')
    parts.append(f'<path class="base" d="M{frame.left} {bottom}H{frame.width - frame.right}"/>')
    parts.append(
        f'<text class="title" x="4" y="13">{esc(y_axis.title)}</text>'
        f'<text class="title end" x="{frame.width - frame.right}" y="{frame.height - 6}">'
        f"{esc(x_axis.title)}</text></g>"
    )
    return "".join(parts)


def data_attributes(x: Scale, y: Scale) -> str:
    """The scales for the script that shows tooltips and marks the rows that a filter keeps."""
    pack = {k: [s.low, s.high, s.start, s.end, int(s.log)] for k, s in (("x", x), ("y", y))}
    return f"data-scale='{json.dumps(pack, separators=(',', ':'))}'"


# ---------------------------------------------------------------------------------- scatter


def scatter(
    dots: Sequence[Dot],
    x_axis: Axis,
    y_axis: Axis,
    *,
    label: str,
    marks: Sequence[Mark] = (),
    step_line: bool = True,
    lower_is_better: bool = True,
) -> str:
    """Quality against cost with the frontier, intervals and reference lines."""
    xs = [d.x for d in dots]
    ys = [d.y for d in dots]
    ys += [v for d in dots if d.interval for v in d.interval if v > 0 or not y_axis.log]
    low, high = (min(ys), max(ys)) if ys else (1.0, 10.0)
    shown = [m for m in marks if low * 0.97 <= m.y <= high * 1.03 or len(marks) == 1]

    def draw(frame: Frame) -> str:
        x = frame.x_scale(xs, x_axis.log)
        y = frame.y_scale([*ys, *(m.y for m in shown)], y_axis.log)
        return "".join(
            (
                axes(frame, x, y, x_axis, y_axis),
                _marks(frame, y, shown),
                _background(dots, x, y),
                _frontier(dots, frame, x, y, step_line, lower_is_better),
                f'<g class="overlay" {data_attributes(x, y)}></g>',
            )
        )

    return figure(draw, label)


def _marks(frame: Frame, y: Scale, marks: Sequence[Mark]) -> str:
    parts = []
    for mark in marks:
        at = y(mark.y)
        end = frame.width - frame.right
        parts.append(
            f'<path class="mark" d="M{frame.left} {at}H{end}"/>'
            f'<text class="marktext end" x="{end}" y="{at - 4:.1f}">{esc(mark.label)}</text>'
        )
    return "".join(parts)


def dotted_path(points: Sequence[tuple[float, float]], x: Scale, y: Scale, kind: str) -> str:
    """All points of one kind as one path of zero-length strokes with round caps."""
    across, up = x.pixels([p[0] for p in points]), y.pixels([p[1] for p in points])
    seen = sorted(set(zip(across, up, strict=True)))
    if not seen:
        return ""
    parts = []
    at_x = at_y = 0
    for px, py in seen:
        parts.append(f"m{px - at_x} {py - at_y}h0")
        at_x, at_y = px, py
    return f'<path class="dots {kind}" d="M0 0{"".join(parts)}"/>'


def _background(dots: Sequence[Dot], x: Scale, y: Scale) -> str:
    parts = []
    plain = [d for d in dots if d.kind in ("entry", "weak")]
    if len(plain) <= 400:
        parts += [_whisker(d, x, y) for d in plain if d.interval]
    for kind in ("weak", "entry"):
        parts.append(dotted_path([(d.x, d.y) for d in plain if d.kind == kind], x, y, kind))
    return "".join(parts)


def _whisker(dot: Dot, x: Scale, y: Scale) -> str:
    assert dot.interval is not None
    low, high = (y(max(v, y.low)) for v in dot.interval)
    return f'<path class="whisker" d="M{x(dot.x)} {low}V{high}"/>'


def _frontier(
    dots: Sequence[Dot], frame: Frame, x: Scale, y: Scale, step_line: bool, lower: bool
) -> str:
    best = sorted((d for d in dots if d.kind in ("frontier", "record")), key=lambda d: (d.x, d.y))
    if not best:
        return ""
    parts = []
    if step_line:
        path = f"M{x(best[0].x)} {y(best[0].y)}"
        for dot in best[1:]:
            path += f"H{x(dot.x)}V{y(dot.y)}"
        path += f"H{frame.width - frame.right}"
        parts.append(f'<path class="frontier" d="{path}"/>')
    parts += [_whisker(d, x, y) for d in best if d.interval]
    radius = 4.5 if len(best) < 60 else 3.2
    if frame.name == "narrow" and len(best) > MOST_NARROW_LINKS:
        # So many points are too close for a finger; the table below has them.
        parts.append(dotted_path([(d.x, d.y) for d in best], x, y, "best"))
    else:
        parts += [_link(dot, x, y, radius) for dot in best]
    parts += _labels(best, frame, x, y, lower)
    return "".join(parts)


def _link(dot: Dot, x: Scale, y: Scale, radius: float) -> str:
    return (
        f'<a href="{esc(dot.href)}"><title>{esc(clean(dot.label, 240))}</title>'
        f'<circle class="{dot.kind}" cx="{x(dot.x)}" cy="{y(dot.y)}" r="{radius}"/></a>'
    )


def _labels(best: Sequence[Dot], frame: Frame, x: Scale, y: Scale, lower: bool) -> list[str]:
    """Names on the frontier where they fit: greedily, from the best, none over another."""
    taken: list[tuple[float, float, float, float]] = [
        (x(d.x) - 4, y(d.y) - 4, x(d.x) + 4, y(d.y) + 4) for d in best
    ]
    parts: list[str] = []
    size = 5.9
    most = 9 if frame.name == "wide" else 4
    for dot in _spread(best, most * 3, lower):
        if not dot.short or len(parts) >= most:
            continue
        text = clean(dot.short, 30)
        width = size * len(text)
        px, py = x(dot.x), y(dot.y)
        for left, base, anchor in (
            (px + 7, py - 6, ""),
            (px - 7 - width, py + 14, "end"),
            (px + 7, py + 14, ""),
        ):
            box = (left, base - 10, left + width, base + 2)
            inside = frame.left < box[0] and box[2] < frame.width and box[3] < frame.height - 50
            if inside and box[1] > 16 and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                at = left + width if anchor else left
                parts.append(
                    f'<text class="name {anchor}" x="{at:.1f}" y="{base:.1f}">{esc(text)}</text>'
                )
                break
    return parts


def _spread(best: Sequence[Dot], most: int, lower: bool) -> list[Dot]:
    """The dots to try to name, first the best, then evenly along the line."""
    ordered = sorted(best, key=lambda d: d.y if lower else -d.y)
    if len(ordered) <= most:
        return ordered
    stride = len(ordered) / most
    return [ordered[int(i * stride)] for i in range(most)]


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


# -------------------------------------------------------------------------- record over time


class Step(NamedTuple):
    """One record: day ordinal, cost, words and link."""

    day: int
    cost: float
    label: str
    href: str
    short: str = ""


def record_steps(
    steps: Sequence[Step],
    y_axis: Axis,
    *,
    label: str,
    others: Sequence[tuple[int, float]] = (),
    until: int | None = None,
) -> str:
    """The record over time as a step line, the other results as dots behind it."""
    x_axis = Axis("date", "", False)

    def draw(frame: Frame) -> str:
        days = [s.day for s in steps] + [d for d, _ in others] + ([until] if until else [])
        costs = [s.cost for s in steps] + [c for _, c in others]
        x = frame.x_scale(days, False, 0.03)
        y = frame.y_scale(costs, y_axis.log)
        path = f"M{x(steps[0].day)} {y(steps[0].cost)}" if steps else ""
        for step in steps[1:]:
            path += f"H{x(step.day)}V{y(step.cost)}"
        path += f"H{frame.width - frame.right}" if steps else ""
        dots = [Dot(s.day, s.cost, s.label, s.href, "record", None, s.short) for s in steps]
        return "".join(
            (
                axes(frame, x, y, x_axis, y_axis),
                dotted_path(others, x, y, "entry"),
                f'<path class="frontier" d="{path}"/>',
                "".join(_link(d, x, y, 4 if len(dots) < 60 else 3) for d in dots),
                "".join(_labels(dots, frame, x, y, True)),
            )
        )

    return figure(draw, label)


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
            parts.append(_marks(frame, y, [target]))
        ends: list[float] = []
        for item in drawn:
            parts.append(_curve(item, x, y))
            if frame.name == "wide":
                parts.append(_end_label(item, frame, y, ends))
        return "".join(parts)

    return figure(draw, label, (SMALL_WIDE, SMALL_NARROW))


def _curve(item: Line, x: Scale, y: Scale) -> str:
    step = max(1, len(item.points) // 240)
    kept = [*item.points[:-1:step], item.points[-1]]
    return f'<path class="curve {item.kind}" d="M{x.line(y, kept)}"/>'


def _end_label(item: Line, frame: Frame, y: Scale, ends: list[float]) -> str:
    if item.kind == "other":
        return ""
    at = y(item.points[-1][1])
    while any(abs(at - other) < 14 for other in ends):
        at -= 14
    ends.append(at)
    return (
        f'<text class="name {item.kind}" x="{frame.width - frame.right + 6}" y="{at + 4:.1f}">'
        f"{esc(clean(item.name, 16))}</text>"
    )


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
        at = [float(v) for v in ticks_for(x, metric, frame.ticks)]
        parts = ['<g class="axis" aria-hidden="true">']
        for value, text in zip(at, tick_labels(at, metric), strict=True):
            parts.append(f'<path class="tick" d="M{x(value)} {base}v5"/>')
            parts.append(f'<text class="mid" x="{x(value)}" y="{base + 19}">{text}</text>')
        parts.append(f'<path class="base" d="M{frame.left} {base}H{frame.width - frame.right}"/>')
        end = frame.width - frame.right
        parts.append(
            f'<text class="title end" x="{end}" y="{frame.height - 5}">{esc(title)}</text>'
        )
        parts.append("</g>")
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
        for index, item in enumerate(fits):
            colour = f"c{index % 8}" if item.usable else "weak"
            parts.append(_fit(item, colour, x, y))
        return "".join(parts)

    return figure(draw, label)


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
