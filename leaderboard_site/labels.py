"""Names beside the points of a chart: only where they fit, none over another, a point or a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from leaderboard_site.scales import Scale
from leaderboard_site.text import clean, esc

Box = tuple[float, float, float, float]
Named = tuple[float, float, str]
LETTER = 6.1
"""The mean width of a letter in pixels, generously."""
MOST = {"wide": 6, "narrow": 3}


class Area(Protocol):
    """What a frame tells of its drawing area."""

    @property
    def name(self) -> str: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def left(self) -> int: ...
    @property
    def bottom(self) -> int: ...


def names(
    points: Sequence[Named],
    frame: Area,
    x: Scale,
    y: Scale,
    *,
    lower: bool,
    step: bool,
    others: Sequence[tuple[float, float]] = (),
) -> str:
    """Text elements for the points in order of x that have a name: first the best, then evenly
    along the line. `others` are points that no name may cover; `step` says that a line of steps
    joins the points."""
    taken = [_around(x(a), y(b), 5) for a, b, _ in points]
    taken += [_around(x(a), y(b), 4) for a, b in others]
    if step:
        taken += _segments([(x(a), y(b)) for a, b, _ in points], frame.width)
    most = MOST[frame.name]
    parts: list[str] = []
    for a, b, name in _spread([p for p in points if p[2]], most * 3, lower):
        words = clean(name, 30)
        width = LETTER * len(words)
        for left, base, anchor in _places(x(a), y(b), width):
            box = (left, base - 10, left + width, base + 3)
            if _inside(box, frame) and not any(_overlap(box, other) for other in taken):
                taken.append((box[0] - 4, box[1] - 2, box[2] + 4, box[3] + 2))
                at = left + width if anchor else left
                parts.append(
                    f'<text class="name {anchor}" x="{at:.1f}" y="{base:.1f}">{esc(words)}</text>'
                )
                break
        if len(parts) >= most:
            break
    return "".join(parts)


RIGHT_GAP = 13.0


class End(NamedTuple):
    """The right end of a line, and what it is called there; `kind` is a class of the text."""

    x: float
    y: float
    name: str
    kind: str = ""


def at_right(ends: Sequence[End], frame: Area, edge: float) -> str:
    """The names of lines in a column right of `edge`, in the order of the lines, none over
    another; a thin line leads from each end to its name."""
    ordered = sorted(ends, key=lambda e: e.y)
    low = frame.height - frame.bottom
    spots = [e.y for e in ordered]
    for i in range(1, len(spots)):
        spots[i] = max(spots[i], spots[i - 1] + RIGHT_GAP)
    for i in reversed(range(len(spots))):
        most = low if i + 1 == len(spots) else spots[i + 1] - RIGHT_GAP
        spots[i] = min(spots[i], most)
    parts = []
    for end, at in zip(ordered, spots, strict=True):
        parts.append(
            f'<path class="lead" d="M{end.x:.1f} {end.y:.1f}L{edge + 4:.1f} {at:.1f}"/>'
            f'<text class="name {end.kind}" x="{edge + 7:.1f}" y="{at + 4:.1f}">'
            f"{esc(clean(end.name, 30))}</text>"
        )
    return "".join(parts)


def _places(px: float, py: float, width: float) -> Iterator[tuple[float, float, str]]:
    """(left, base line, anchor) of a name about a point, the best place first."""
    yield px + 8, py - 7, ""
    yield px - 8 - width, py + 15, "end"
    yield px + 8, py + 16, ""
    yield px - 8 - width, py - 7, "end"


def _around(px: float, py: float, room: float) -> Box:
    return px - room, py - room, px + room, py + room


def _segments(at: Sequence[tuple[float, float]], width: int) -> list[Box]:
    """The line of steps: along each point's height to the next point, then up or down to it."""
    boxes = []
    for (ax, ay), (bx, by) in zip(
        at, [*at[1:], (float(width), at[-1][1] if at else 0)], strict=True
    ):
        boxes.append((ax, ay - 1, bx, ay + 1))
        boxes.append((bx - 1, min(ay, by), bx + 1, max(ay, by)))
    return boxes


def _inside(box: Box, frame: Area) -> bool:
    edge = frame.height - frame.bottom
    return frame.left < box[0] and box[2] < frame.width and 16 < box[1] and box[3] < edge


def _spread(points: Sequence[Named], most: int, lower: bool) -> list[Named]:
    """The points to try to name, first the best, then evenly along the line."""
    ordered = sorted(points, key=lambda p: p[1] if lower else -p[1])
    if len(ordered) <= most:
        return ordered
    stride = len(ordered) / most
    return [ordered[int(i * stride)] for i in range(most)]


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
