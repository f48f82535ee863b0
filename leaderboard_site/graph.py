"""A graph of boxes in layers as inline SVG: from left to right, on a narrow screen downwards.

Every chart is drawn for both screens (see `leaderboard_site.charts`). A box that leads somewhere is
a link; the page lists the same boxes as text below. All text is escaped here.
"""

from __future__ import annotations

import dataclasses as dc
import itertools
from collections.abc import Mapping, Sequence

from leaderboard_site.text import clean, esc, safe_url

HASH = 10
"""Digits of a hash that are shown; the whole of it is in the title of the box."""
_WIDE, _NARROW = 1040, 360
_TALL, _GAP, _BETWEEN = 66, 24, 14


@dc.dataclass(frozen=True, slots=True)
class Node:
    """One box: what it is, what it says, the hash that it stands for, and what leads to it."""

    id: str
    kind: str
    says: str
    hash: str = ""
    href: str = ""
    parents: tuple[str, ...] = ()


def draw(nodes: Sequence[Node], label: str) -> str:
    """The graph for a wide and for a narrow screen; one is shown."""
    layers = layered(nodes)
    return _svg("wide", layers, label) + _svg("narrow", layers, label)


def layered(nodes: Sequence[Node]) -> list[list[Node]]:
    """The boxes by their distance from the first ones. An unknown parent, or one that would close
    a circle, counts for nothing."""
    depth: dict[str, int] = {}
    for node in nodes:  # parents stand before their children
        known = [depth[parent] for parent in node.parents if parent in depth]
        depth[node.id] = 1 + max(known, default=-1)
    order = sorted(nodes, key=lambda node: depth[node.id])
    return [list(group) for _, group in itertools.groupby(order, key=lambda n: depth[n.id])]


def _svg(name: str, layers: Sequence[Sequence[Node]], label: str) -> str:
    wide = name == "wide"
    most = max(len(layer) for layer in layers)
    size = (_WIDE if wide else _NARROW) - 2
    count = len(layers) if wide else most
    gap = _GAP if wide else _BETWEEN
    box = (size - gap * (count - 1)) / count
    boxes: dict[str, tuple[float, float]] = {}
    step = _TALL + (_BETWEEN if wide else _GAP)
    for at, layer in enumerate(layers):
        for index, node in enumerate(layer):
            along, across = (at, index) if wide else (index, at)
            boxes[node.id] = (1 + along * (box + gap), 1 + across * step)
    rows = most if wide else len(layers)
    height = 2 + rows * step - (step - _TALL)
    every = [node for layer in layers for node in layer]
    edges = "".join(_edge(boxes, parent, n.id, box, wide) for n in every for parent in n.parents)
    shown = "".join(_box(node, *boxes[node.id], box) for node in every)
    return (
        f'<svg class="chart {name} chain" viewBox="0 0 {size + 2} {height:.0f}" '
        f'aria-label="{esc(clean(label))}"><g aria-hidden="true">{edges}</g>{shown}</svg>'
    )


def _edge(
    boxes: Mapping[str, tuple[float, float]], parent: str, child: str, box: float, wide: bool
) -> str:
    if parent not in boxes:
        return ""
    (x, y), (u, v) = boxes[parent], boxes[child]
    if wide:
        x, y, v = x + box, y + _TALL / 2, v + _TALL / 2
        middle = (x + u) / 2
        path = f"M{x:.1f} {y:.1f}C{middle:.1f} {y:.1f} {middle:.1f} {v:.1f} {u:.1f} {v:.1f}"
    else:
        x, y, u = x + box / 2, y + _TALL, u + box / 2
        middle = (y + v) / 2
        path = f"M{x:.1f} {y:.1f}C{x:.1f} {middle:.1f} {u:.1f} {middle:.1f} {u:.1f} {v:.1f}"
    return f'<path class="edge" d="{path}"/>'


def _box(node: Node, x: float, y: float, width: float) -> str:
    room = max(int((width - 12) / 6.8), 6)
    title = f"{node.kind}: {node.says}" + (f", {node.hash}" if node.hash else "")
    lines = [("name strong", node.kind), ("line", node.says), ("hash", node.hash[:HASH])]
    texts = "".join(
        f'<text class="{kind}" x="{x + 6:.1f}" y="{y + 19 + 18 * n:.1f}">'
        f"{esc(clean(text, room))}</text>"
        for n, (kind, text) in enumerate(lines)
        if text
    )
    drawn = (
        f'<rect class="box" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_TALL}" rx="3">'
        f"<title>{esc(clean(title, 300))}</title></rect>{texts}"
    )
    address = safe_url(node.href) or (node.href if node.href.startswith("#") else "")
    return f'<a href="{esc(address)}">{drawn}</a>' if address else f"<g>{drawn}</g>"
