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

from leaderboard_site import labels
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
    doubtful: bool = False
    """On the frontier with a chance below one half: drawn grey."""


class Mark(NamedTuple):
    """A horizontal reference line with its words; `kind` is `target` or `level`."""

    y: float
    label: str
    kind: str = "target"


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
    plain = [d for d in dots if d.kind in ("entry", "weak")]
    best = sorted((d for d in dots if d.kind in ("frontier", "record")), key=lambda d: (d.x, d.y))
    others = [(d.x, d.y) for d in dots] if len(dots) <= 400 else []

    def draw(frame: Frame) -> str:
        x = frame.x_scale(xs, x_axis.log)
        y = frame.y_scale([*ys, *(m.y for m in shown)], y_axis.log)
        return "".join(
            (
                axes(frame, x, y, x_axis, y_axis),
                reference_lines(frame, y, shown),
                _background(plain, x, y),
                _frontier(best, others, frame, x, y, step_line, lower_is_better),
                f'<g class="overlay" {data_attributes(x, y)}></g>',
            )
        )

    return figure(draw, label)


def reference_lines(frame: Frame, y: Scale, marks: Sequence[Mark], *, left: bool = False) -> str:
    """Horizontal lines with their words at the right end, or at the left where curves end right."""
    parts = []
    end = frame.width - frame.right
    side = f'" x="{frame.left + 6}' if left else f' end" x="{end}'
    for mark in marks:
        at = y(mark.y)
        parts.append(
            f'<path class="mark {mark.kind}" d="M{frame.left} {at}H{end}"/>'
            f'<text class="marktext {mark.kind}{side}" y="{at - 4:.1f}">{esc(mark.label)}</text>'
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


def _background(plain: Sequence[Dot], x: Scale, y: Scale) -> str:
    parts = []
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
    best: Sequence[Dot],
    others: Sequence[tuple[float, float]],
    frame: Frame,
    x: Scale,
    y: Scale,
    step_line: bool,
    lower: bool,
) -> str:
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
        parts += [_link(dot, x, y, radius, frame) for dot in best]
    named = [(d.x, d.y, d.short) for d in best]
    parts.append(labels.names(named, frame, x, y, lower=lower, step=step_line, others=others))
    return "".join(parts)


def _link(dot: Dot, x: Scale, y: Scale, radius: float, frame: Frame) -> str:
    """A point that leads somewhere. Its words stand in the wide drawing alone: the script takes
    them from there for the narrow one, and a page is half as heavy."""
    words = f"<title>{esc(clean(dot.label, 240))}</title>" if frame.name == "wide" else ""
    kind = f"{dot.kind} doubtful" if dot.doubtful else dot.kind
    return (
        f'<a href="{esc(dot.href)}">{words}'
        f'<circle class="{kind}" cx="{x(dot.x)}" cy="{y(dot.y)}" r="{radius}"/></a>'
    )


# -------------------------------------------------------------------------- record over time


class Step(NamedTuple):
    """One record: day ordinal, cost, words and link; `read` is False where its evidence is not
    on file, and then the point is hollow."""

    day: int
    cost: float
    label: str
    href: str
    short: str = ""
    read: bool = True


def record_steps(
    steps: Sequence[Step],
    y_axis: Axis,
    *,
    label: str,
    others: Sequence[tuple[int, float]] = (),
    lower_is_better: bool = True,
) -> str:
    """The record over time as a step line, the other results as dots behind it.

    Where a record is not on file the line is dashed and its point hollow.
    """
    x_axis = Axis("date", "", False)

    def draw(frame: Frame) -> str:
        x = frame.x_scale([s.day for s in steps] + [d for d, _ in others], False, 0.03)
        y = frame.y_scale([s.cost for s in steps] + [c for _, c in others], y_axis.log)
        named = [(s.day, s.cost, s.short) for s in steps]
        radius = 4 if len(steps) < 60 else 3
        dots = [
            Dot(s.day, s.cost, s.label, s.href, "record" if s.read else "claimed") for s in steps
        ]
        return "".join(
            (
                axes(frame, x, y, x_axis, y_axis),
                dotted_path(others, x, y, "entry"),
                _stairs(steps, frame, x, y),
                "".join(_link(d, x, y, radius, frame) for d in dots),
                labels.names(named, frame, x, y, lower=lower_is_better, step=True),
                f"<g {data_attributes(x, y)}></g>",
            )
        )

    return figure(draw, label)


def _stairs(steps: Sequence[Step], frame: Frame, x: Scale, y: Scale) -> str:
    """The line from record to record: whole from one that is on file, else dashed."""
    parts = {True: "", False: ""}
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        end = f"H{x(after.day)}V{y(after.cost)}" if after else f"H{frame.width - frame.right}"
        parts[step.read] += f"M{x(step.day)} {y(step.cost)}{end}"
    return "".join(
        f'<path class="frontier{"" if read else " gap"}" d="{path}"/>'
        for read, path in parts.items()
        if path
    )


FRONT_WIDE = dc.replace(WIDE, right=86)
FRONT_NARROW = dc.replace(NARROW, right=62)
SPARK = Frame("spark", 240, 44, 3, 5, 5, 5, 2)


def sparkline(points: Sequence[tuple[int, float]], label: str, log: bool = True) -> str:
    """The record over time without axes, for a card."""
    x = SPARK.x_scale([p[0] for p in points], False, 1e-6)
    y = SPARK.y_scale([p[1] for p in points], log, 1e-6)
    path = f"M{x(points[0][0])} {y(points[0][1])}"
    for day, cost in points[1:]:
        path += f"H{x(day)}V{y(cost)}"
    end = points[-1]
    return (
        f'<svg class="spark" viewBox="0 0 {SPARK.width} {SPARK.height}" role="img" '
        f'aria-label="{esc(clean(label, 200))}"><path class="frontier" d="{path}"/>'
        f'<circle class="record" cx="{x(end[0])}" cy="{y(end[1])}" r="3"/></svg>'
    )


# ------------------------------------------------------------------------- frontier over time


class Past(NamedTuple):
    """The frontier as it stood on a day: its points in order of cost, and the day in words."""

    points: Sequence[tuple[float, float]]
    label: str


def frontiers(
    past: Sequence[Past],
    now: Sequence[Dot],
    x_axis: Axis,
    y_axis: Axis,
    *,
    label: str,
) -> str:
    """The frontier of today over those of earlier days, each named at its end."""

    def draw(frame: Frame) -> str:
        ends = [p for item in past for p in item.points] + [(d.x, d.y) for d in now]
        x = frame.x_scale([p[0] for p in ends], x_axis.log, 0.08)
        y = frame.y_scale([p[1] for p in ends], y_axis.log)
        parts = [axes(frame, x, y, x_axis, y_axis)]
        parts += [_past(item, len(past) - 1 - n, frame, x, y) for n, item in enumerate(past)]
        parts.append(labels.at_right(_ends(past, frame, y), frame, frame.width - frame.right))
        parts += [_link(d, x, y, 4, frame) for d in now]
        parts.append(f"<g {data_attributes(x, y)}></g>")
        return "".join(parts)

    return figure(draw, label, (FRONT_WIDE, FRONT_NARROW))


def _past(item: Past, age: int, frame: Frame, x: Scale, y: Scale) -> str:
    """One frontier as a line of steps; older ones are fainter."""
    path = f"M{x(item.points[0][0])} {y(item.points[0][1])}"
    for cost, quality in item.points[1:]:
        path += f"H{x(cost)}V{y(quality)}"
    end = frame.width - frame.right
    return f'<path class="frontier age{min(age, 4)}" d="{path}H{end}"/>'


def _ends(past: Sequence[Past], frame: Frame, y: Scale) -> list[labels.End]:
    """The right end of each frontier's line, named by its day."""
    edge = frame.width - frame.right
    last = len(past) - 1
    return [
        labels.End(edge, y(item.points[-1][1]), item.label, "strong" if n == last else "")
        for n, item in enumerate(past)
    ]
