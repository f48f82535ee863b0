"""The board's table: which columns a track has, and what stands in each cell.

The same cells exist twice: as HTML for the best rows, and as compact JSON for the script that
sorts and filters all of them. Neither computes a place.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bot.model.track import Track
from leaderboard_site import text
from leaderboard_site.model import Item, Place, TrackBoard, device_of
from leaderboard_site.pages.environment import breakable, environment, number

EXTRA = (
    "hardware_flops",
    "model_flops",
    "training_time_s",
    "steps",
    "chip_hours",
    "cost_usd",
    "parameters",
    "tokens",
    "mfu",
    "loss",
    "bpb",
)
SHORT = {
    "hardware_flops": "Hardware FLOPs",
    "model_flops": "Model FLOPs",
    "training_time_s": "Time",
    "steps": "Steps",
    "chip_hours": "Chip hours",
    "cost_usd": "Cost",
    "parameters": "Params",
    "tokens": "Tokens",
    "mfu": "MFU",
    "bpb": "C4-EN BPB",
    "loss": "Val. loss",
}


@dc.dataclass(frozen=True, slots=True)
class Column:
    """One column. `kind` is a CSS class: `num` aligns right; `optional` may be switched off."""

    key: str
    title: str
    unit: str = ""
    kind: str = ""
    optional: bool = True
    shown: bool = True


def columns_of(track: Track, present: Sequence[str]) -> list[Column]:
    """The columns of a track's board; `present` are the metrics that some entry has."""
    shown = {"training_time_s", "model_flops", "steps"} if track.objective != "baseline" else set()
    columns = [
        Column("place", "#", kind="num", optional=False),
        Column("name", "Entry", optional=False),
    ]
    quality = Column(
        track.quality.metric,
        SHORT.get(track.quality.metric, track.quality.metric),
        kind="num q",
        optional=False,
    )
    cost = Column(
        track.cost.metric,
        SHORT.get(track.cost.metric, track.cost.metric),
        kind="num c",
        optional=False,
    )
    if track.objective == "baseline":
        columns.append(Column("ratio", "Ratio", kind="num", optional=False))
    columns += [cost, quality] if track.objective != "pareto" else [quality, cost]
    if track.significance.test != "none":
        columns.append(Column("p", "p", kind="num"))
    for metric in EXTRA:
        if metric in present and metric not in (track.quality.metric, track.cost.metric):
            columns.append(Column(metric, SHORT[metric], kind="num", shown=metric in shown))
    columns += [
        Column("who", "By"),
        Column("date", "Date"),
        Column("evidence", "Evidence"),
        Column("status", "State"),
        Column("device", "Hardware", shown=False),
    ]
    return columns


def present_metrics(board: TrackBoard) -> list[str]:
    """The metrics of EXTRA that at least one ranked point has."""
    places = [p for i in board.items.values() for p in i.places]
    return [m for m in EXTRA if any(number(p.values.get(m)) is not None for p in places)]


def label_of(item: Item, place: Place) -> str:
    """The entry's name, with the point where there are several."""
    several = len(item.verdict.points) > 1
    return f"{item.label} · {place.point}" if several else item.label


def probability_of(place: Place) -> float | None:
    """The p-value of the point's statistics."""
    return number((place.entry.point.statistics or {}).get("p"))


def cells(
    board: TrackBoard, columns: Sequence[Column], base: str, limit: int
) -> list[dict[str, str]]:
    """HTML of the first `limit` rows, by column."""
    macros = environment().get_template("macros.html").make_module({"base": base})
    rows = []
    for item, place in board.places[:limit]:
        rows.append({c.key: _cell(c, board.track, item, place, base, macros) for c in columns})
    return rows


def _cell(column: Column, track: Track, item: Item, place: Place, base: str, macros: Any) -> str:
    esc, key = text.esc, column.key
    if key == "name":
        words = text.clean(label_of(item, place), 80)
        name = esc(words)
        pick = f"{track.id}/{item.slug}"
        return (
            f'<input type="checkbox" class="pick" value="{esc(pick)}" aria-label="Compare {name}"'
            f' hidden><a href="{base}{esc(item.url)}">{breakable(words)}</a>'
        )
    simple: Mapping[str, Callable[[], str]] = {
        "place": lambda: str(macros.place(place.entry, track)),
        "ratio": lambda: _ratio(place),
        "p": lambda: text.probability(probability_of(place)),
        "who": lambda: esc(text.clean(item.people, 60)),
        "date": lambda: esc(text.day(item.verdict.date)),
        "evidence": lambda: str(macros.grade(item.verdict)),
        "status": lambda: str(macros.status(item.verdict)),
        "device": lambda: esc(text.clean(device_of(item.verdict, item.about) or text.DASH, 40)),
    }
    if key in simple:
        return simple[key]()
    if key == track.quality.metric:
        value = text.quantity(key, place.entry.quality)
        return f"{value}{macros.interval(place.entry.point.statistics, key)}"
    if key == track.cost.metric:
        return text.quantity(key, place.entry.shown_cost)
    return text.quantity(key, place.values.get(key))


def _ratio(place: Place) -> str:
    progress = place.entry.progress
    if progress is None:
        return text.DASH
    if progress.interval is None:
        return f"{progress.ratio:.4f}"
    low, high = progress.interval
    return (
        f'{progress.ratio:.4f}<small class="ci" title="95 % interval">'
        f"{low:.3f}{text.DASH}{high:.3f}</small>"
    )


# ---- The same rows as data ----------------------------------------------------------------------

MAIN = ("ratio", "p")


def main_data(board: TrackBoard) -> dict[str, Any]:
    """What the board's script needs at once: names, places, quality, cost, date, who, state."""
    track = board.track
    places = board.places
    words = {k: Words() for k in ("who", "status", "evidence")}
    first = min((d for d in (text.ordinal_day(i.verdict.date) for i, _ in places) if d), default=0)
    data: dict[str, Any] = {
        "version": 1,
        "track": track.id,
        "quality": track.quality.metric,
        "cost": track.cost.metric,
        "goals": [track.quality.goal, track.cost.goal],
        "day0": first,
        "slug": [i.slug for i, _ in places],
        "point": {str(n): p.point for n, (i, p) in enumerate(places) if len(i.verdict.points) > 1},
        "label": {
            str(n): text.clean(i.label, 80) for n, (i, _) in enumerate(places) if i.label != i.name
        },
        "place": [p.entry.place for _, p in places],
        "flag": "".join(flag(p) for _, p in places),
        "q": [rounded(p.entry.quality, 5) for _, p in places],
        "c": [rounded(p.entry.shown_cost, 5) for _, p in places],
        "day": [_since(i, first) for i, _ in places],
        "who": [words["who"].index(text.clean(i.people, 60)) for i, _ in places],
        "status": [words["status"].index(str(i.verdict.status)) for i, _ in places],
        "evidence": [words["evidence"].index(str(i.verdict.evidence)) for i, _ in places],
    }
    if track.significance.test != "none":
        data["p"] = [rounded(probability_of(p), 3) for _, p in places]
    if any((p.entry.point.statistics or {}).get("n") for _, p in places):
        data["n"] = [(p.entry.point.statistics or {}).get("n") or 0 for _, p in places]
        data["h"] = [_half(p) for _, p in places]
    if track.objective == "baseline":
        data["ratio"] = [
            rounded(p.entry.progress.ratio, 5) if p.entry.progress else None for _, p in places
        ]
    return data | {"words": {k: w.words for k, w in words.items()}}


def more_data(board: TrackBoard, present: Sequence[str]) -> dict[str, Any]:
    """The columns that are hidden at first, and what the other axes of the chart need."""
    places = board.places
    devices = Words()
    index = [
        devices.index(text.clean(device_of(i.verdict, i.about) or text.DASH, 40)) for i, _ in places
    ]
    values = {m: [rounded(p.values.get(m), 4) for _, p in places] for m in present}
    return {"version": 1, "values": values, "device": index, "devices": devices.words}


class Words:
    """A dictionary coder: repeated words become small numbers."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._at: dict[str, int] = {}

    def index(self, word: str) -> int:
        """The number of a word, a new one at its first sight."""
        if word not in self._at:
            self._at[word] = len(self.words)
            self.words.append(word)
        return self._at[word]


def flag(place: Place) -> str:
    """One letter a row: f on the frontier, t tied, a space for neither."""
    return "f" if place.entry.on_frontier else "t" if place.entry.tied else " "


def rounded(value: float | None, digits: int) -> float | int | None:
    """A number to `digits` significant digits, an integer where it is one; None stays."""
    number_ = number(value)
    if number_ is None:
        return None
    short = float(f"{number_:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e6 else short


def _since(item: Item, first: int) -> int | None:
    day = text.ordinal_day(item.verdict.date)
    return None if day is None else day - first


def _half(place: Place) -> float | None:
    interval = (place.entry.point.statistics or {}).get("interval") or (None, None)
    low, high = number(interval[0]), number(interval[1])
    return rounded((high - low) / 2, 2) if low is not None and high is not None else None
