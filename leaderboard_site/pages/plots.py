"""A track's charts: quality against any cost, the record over time, the scaling of groups."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence

from bot.rank.pareto import frontier
from leaderboard_site import charts
from leaderboard_site.charts import Axis, Dot, Mark
from leaderboard_site.model import Item, Place, TrackBoard
from leaderboard_site.pages.columns import label_of, title_of
from leaderboard_site.pages.environment import is_doubtful, number
from leaderboard_site.states import state_of

X_AXES = ("hardware_flops", "model_flops", "training_time_s", "steps", "chip_hours", "cost_usd")
AXIS_TITLES = {
    "hardware_flops": "hardware FLOPs",
    "model_flops": "model FLOPs",
    "training_time_s": "time",
    "steps": "steps",
    "chip_hours": "chip hours",
    "cost_usd": "dollars",
}


@dc.dataclass(frozen=True, slots=True)
class XAxis:
    """One choice of the horizontal axis, with the files of its charts."""

    key: str
    title: str
    file: str
    relative: str


def x_axes(board: TrackBoard, present: Sequence[str]) -> list[XAxis]:
    """The track's own cost first, then every other cost that entries have."""
    own = [] if board.track.objective == "best" else [board.track.cost.metric]
    keys = [*own, *(k for k in X_AXES if k not in own and k in present)]
    return [
        XAxis(
            k,
            AXIS_TITLES.get(k) or board.track.in_sentence(k),
            f"{k}.wide.svg",
            f"{k}.rel.wide.svg",
        )
        for k in keys
    ]


def cost_of(board: TrackBoard, place: Place, x: str) -> float | None:
    """The value of a point on the axis `x`."""
    if x == board.track.cost.metric:
        return number(place.entry.shown_cost)
    return number(place.values.get(x))


@dc.dataclass(frozen=True, slots=True)
class Against:
    """The ranked points that have the cost `x`, and which of them are the best on these axes."""

    x: str
    rows: list[tuple[Item, Place, float]]
    pairs: list[tuple[float, float]]
    front: frozenset[int]


def against(board: TrackBoard, x: str) -> Against:
    """The board against a cost, with the frontier that `bot.rank.pareto` finds on these axes."""
    rows = [
        (item, place, value)
        for item, place in board.places
        if (value := cost_of(board, place, x)) is not None and value > 0
    ]
    track = board.track
    pairs = [(value, place.entry.quality) for _, place, value in rows]
    less = "min" if track.objective == "best" else track.cost.goal
    front = frozenset(frontier(pairs, less, track.quality.goal))
    return Against(x, rows, pairs, front)


def quality_chart(
    board: TrackBoard, data: Against, base: str, *, relative: bool = False, label: str = ""
) -> str:
    """Quality, or its distance to the frontier, against a cost."""
    track, x = board.track, data.x
    best = _best_kind(board, x, data.front, data.rows)
    gaps = _gaps(data.pairs, data.front, track.quality.goal) if relative else None
    dots = [
        _dot(board, x, item, place, value, base, best.get(i), gaps[i] if gaps else None)
        for i, (item, place, value) in enumerate(data.rows)
    ]
    quality = track.label(track.quality.metric)
    y_title = f"{quality} above the frontier" if relative else quality
    marks = [] if relative else _marks(board)
    return charts.scatter(
        dots,
        Axis(x, track.label(x)),
        Axis(track.quality.metric, y_title, log=not relative and track.objective == "pareto"),
        label=label or f"{quality} against {track.in_sentence(x)}, {len(dots)} entries",
        marks=marks,
        step_line=track.objective == "pareto",
        lower_is_better=track.quality.goal == "min",
    )


def _best_kind(
    board: TrackBoard, x: str, front: frozenset[int], rows: Sequence[tuple[Item, Place, float]]
) -> dict[int, str]:
    if board.track.objective == "pareto":
        return dict.fromkeys(front, "frontier")
    held = board.holders
    return {i: "record" for i, (item, _, _) in enumerate(rows) if item.path in held}


def _dot(
    board: TrackBoard,
    x: str,
    item: Item,
    place: Place,
    value: float,
    base: str,
    kind: str | None,
    gap: float | None,
) -> Dot:
    quality = board.track.quality.metric
    interval = place.entry.point.summary.interval
    weak = state_of(item.verdict).kind != "verified"
    if kind is None and interval is None:
        # One of the many in the background, which has no words.
        y = place.entry.quality if gap is None else gap
        return Dot(value, y, "", "", "weak" if weak else "entry")
    words = f"{title_of(item, place)}: {board.words(quality, place.entry.quality)}"
    words += f" at {board.words(x, value)}"
    return Dot(
        value,
        place.entry.quality if gap is None else gap,
        words,
        base + item.url,
        kind or ("weak" if weak else "entry"),
        interval if gap is None else None,
        _name_in_chart(board, item, label_of(item, place)),
        kind == "frontier" and is_doubtful(place.entry),
    )


def _name_in_chart(board: TrackBoard, item: Item, name: str) -> str:
    """What to print beside the point: on a crowded line of records only the present one."""
    if board.record is not None and board.record[0].path != item.path:
        return ""
    return _short(name) if board.record else tail_of(name)


def _gaps(pairs: Sequence[tuple[float, float]], front: frozenset[int], goal: str) -> list[float]:
    """How far each quality is from the best that costs no more."""
    sign = 1 if goal == "min" else -1
    order = sorted(range(len(pairs)), key=lambda i: (pairs[i][0], sign * pairs[i][1]))
    gaps = [0.0] * len(pairs)
    best = None
    for i in order:
        if i in front:
            best = pairs[i][1]
        gaps[i] = sign * (pairs[i][1] - best) if best is not None else 0.0
    return gaps


def _marks(board: TrackBoard) -> list[Mark]:
    axis = board.track.quality
    if axis.target is not None and board.track.objective != "pareto":
        return [Mark(axis.target, f"target {axis.target:g}")]
    sign = "≤" if axis.goal == "min" else "≥"
    return [Mark(b, f"{sign} {b:.4g}", "level") for b in axis.bands]


def tail_of(name: str, limit: int = 26) -> str:
    """The end of a long path, whole components where they fit."""
    if len(name) <= limit:
        return name
    parts = name.split("/")
    for start in range(1, len(parts)):
        tail = "/".join(parts[start:])
        if len(tail) < limit:
            return "…/" + tail
    return "…" + name[1 - limit :]


def _short(name: str) -> str:
    """The telling part of a name: without a leading date."""
    tail = name.rsplit("/", 1)[-1]
    return tail[11:] if tail[:2] == "20" and tail[10:11] in ("_", "-") else tail


STANDALONE_STYLE = (
    "<style>.narrow,.wide{font:12px system-ui,sans-serif}text{fill:#444;font-size:12px}"
    ".end{text-anchor:end}.mid{text-anchor:middle}.title{font-weight:600}"
    ".grid{stroke:#ddd}.base,.tick{stroke:#888}.frontier,.curve{fill:none;stroke:#0b5cad;"
    "stroke-width:2}circle{fill:#0b5cad}.dots{fill:none;stroke-width:5;stroke-linecap:round}"
    ".lead{stroke:#aab;stroke-width:.8;fill:none}.dots.entry{stroke:#7a8794}.dots.weak{stroke:#c9a24b}.mark{stroke:#b3261e;"
    "stroke-dasharray:4 4}.whisker{stroke:#aab}</style>"
)


def standalone(figure: str) -> dict[str, str]:
    """The two renderings of a figure as files that open alone: suffix -> text."""
    out = {}
    for part in figure.split("</svg>"):
        if not part:
            continue
        name = "narrow" if 'class="chart narrow"' in part[:60] else "wide"
        head, _, body = part.partition(">")
        out[f"{name}.svg"] = (
            head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
            + f">{STANDALONE_STYLE}{body}</svg>\n"
        )
    return out
