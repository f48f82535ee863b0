"""The board's table: which columns a track has, and what stands in each cell.

The same cells exist twice: as HTML for the best rows, and as compact JSON for the script that
sorts and filters all of them. Neither computes a place.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bot.model.track import Track
from bot.registry import metric_label
from bot.render.numbers import DASH
from leaderboard_site import text
from leaderboard_site.formats import Format, p_format
from leaderboard_site.model import Item, Place, TrackBoard, value_of
from leaderboard_site.pages.environment import breakable, chance_percent, environment, number
from leaderboard_site.rates import device_of
from leaderboard_site.states import shown_rules, state_of
from leaderboard_site.techniques import techniques_of

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
    "bpb": "BPB",
    "loss": "Val. loss",
}
EXACT_UP_TO = 2000
"""Up to so many rows the script of a board gets exact numbers, titles and tags; beyond, names and
as many digits as its cells need (at least six). The files beside it are always exact."""


@dc.dataclass(frozen=True, slots=True)
class Column:
    """One column. `kind` is a CSS class: `num` aligns right; `optional` may be switched off."""

    key: str
    title: str
    kind: str = ""
    optional: bool = True
    shown: bool = True
    format: Format | None = None
    hint: str = ""

    @property
    def unit(self) -> str:
        """What stands behind the title, unless the title says it."""
        unit = self.format.unit if self.format else ""
        return "" if unit.lower() == self.title.lower() else unit


def columns_of(board: TrackBoard, present: Sequence[str]) -> list[Column]:
    """The columns of a track's board; `present` are the metrics that some entry has."""
    track = board.track
    shown = {"training_time_s", "model_flops", "steps"} if track.objective != "baseline" else set()
    shown = {*shown, *track.metrics}
    quality = metric_column(board, track.quality.metric, "num q", optional=False)
    cost = metric_column(board, track.cost.metric, "num c", optional=False)
    columns = [
        Column("place", "#", kind="num", optional=False, hint=PLACES[track.objective]),
        Column("name", "Entry", optional=False),
    ]
    if track.objective == "baseline":
        columns.append(Column("ratio", "Ratio", "num", optional=False, format=board.form("ratio")))
    if track.objective == "best":
        columns.append(quality)
    else:
        columns += [quality, cost] if track.objective == "pareto" else [cost, quality]
    if track.significance.test != "none":
        aligned = p_format(probability_of(place) for _, place in board.places)
        hint = "One-sided p that the target is reached"
        columns.append(Column("p", "p", kind="num", format=aligned, hint=hint))
    for metric in present:
        if metric not in (track.quality.metric, track.cost.metric):
            columns.append(metric_column(board, metric, "num", shown=metric in shown))
    return [
        *columns,
        Column("who", "By"),
        Column("date", "Date"),
        Column("evidence", "Evidence"),
        Column("status", "State"),
        Column("device", "Hardware", shown=False),
    ]


PLACES = {
    "pareto": "#: one more than the entries that are at least as good on both axes; ◆ is on the "
    "frontier; below it: how likely, given how far runs differ",
    "target": "#: the place by cost on comparable clocks, = if shared; below it: the ranks it may "
    "have",
    "best": "#: the place by quality, = if shared; below it: the ranks it may have",
    "baseline": "#: the place by the ratio to the baseline, = if shared",
}


def metric_column(
    board: TrackBoard, metric: str, kind: str = "num", *, optional: bool = True, shown: bool = True
) -> Column:
    """A column of numbers with the format that suits the values on this board."""
    track = board.track
    usual = track.label(metric) == metric_label(metric)
    title = SHORT.get(metric, track.label(metric)) if usual else track.label(metric)
    return Column(metric, title, kind, optional, shown, board.form(metric))


def present_metrics(board: TrackBoard) -> list[str]:
    """The metrics of EXTRA and of the track's own that at least one ranked point has."""
    places = [p for i in board.items.values() for p in i.places]
    known = dict.fromkeys((*board.track.metrics, *EXTRA))
    return [m for m in known if any(number(p.values.get(m)) is not None for p in places)]


def label_of(item: Item, place: Place) -> str:
    """The entry's name, with the point where there are several."""
    several = len(item.verdict.points) > 1
    return f"{item.label} · {place.point}" if several else item.label


def probability_of(place: Place) -> float | None:
    """The p-value of the point's statistics."""
    return number(place.entry.point.summary.p)


def cells(
    board: TrackBoard, columns: Sequence[Column], base: str, limit: int
) -> list[dict[str, str]]:
    """HTML of the first `limit` rows, by column."""
    macros = environment().get_template("macros.html").make_module({"base": base})
    rows = []
    for item, place in board.places[:limit]:
        cells_ = {c.key: _cell(c, board.track, item, place, base, macros) for c in columns}
        if is_long(board):
            cells_["name"] = _name(board.track, item, label_of(item, place), base, "")
        rows.append(cells_)
    return rows


def _cell(column: Column, track: Track, item: Item, place: Place, base: str, macros: Any) -> str:
    esc, key = text.esc, column.key
    simple: Mapping[str, Callable[[], str]] = {
        "place": lambda: str(macros.place(place.entry, track)),
        "name": lambda: _name(track, item, title_of(item, place), base, item.label),
        "ratio": lambda: _ratio(column, place),
        "who": lambda: esc(text.clean(item.people, 60)),
        "date": lambda: esc(text.day(item.verdict.date)),
        "evidence": lambda: str(macros.grade(item.verdict)),
        "status": lambda: str(macros.state(item)),
        "device": lambda: esc(text.clean(device_of(item.verdict, item.about) or DASH, 40)),
    }
    if key in simple:
        return simple[key]()
    assert column.format is not None
    if key == "p":
        return column.format.show(probability_of(place))
    shown = column.format.show(value_of(track, place, key))
    if key == track.quality.metric:
        return shown + _small(spread_words(column.format, place))
    if key == track.cost.metric:
        return shown + _small(clock_words(column.format, place))
    return shown


def _small(words: str, before: str = "", kind: str = "ci") -> str:
    return f'{before}<small class="{kind}">{words}</small>' if words else ""


def spread_words(shown: Format, place: Place) -> str:
    """Under a quality: half the interval of the mean, and of how many runs."""
    n = place.entry.point.summary.n
    if not n:
        return ""
    half = _half(place)
    return (f"± {shown.show(half)} · " if half is not None else "") + f"n = {n}"


def clock_words(shown: Format, place: Place) -> str:
    """Under a cost that another clock decided: what the entry's own runs took."""
    entry = place.entry
    return "" if entry.clock == "own" else f"own runs {shown.show(entry.cost)}"


def _name(track: Track, item: Item, name: str, base: str, label: str) -> str:
    """The tick, the link, and below it the folder where that says more."""
    title = text.clean(name, 80)
    pick = text.esc(f"{track.id}/{item.slug}")
    folder = f'<small class="folder">{breakable(text.clean(label, 80))}</small>'
    return (
        f'<input type="checkbox" class="pick" value="{pick}" aria-label="Compare '
        f'{text.esc(title)}" hidden><a href="{base}{text.esc(item.url)}">{breakable(title)}</a>'
        + (folder if label and item.title != label else "")
    )


def title_of(item: Item, place: Place) -> str:
    """The entry's number and title, with the point where there are several."""
    number_ = f"#{item.number} " if item.number is not None else ""
    point = f" · {place.point}" if len(item.verdict.points) > 1 else ""
    return f"{number_}{item.title}{point}"


def _ratio(column: Column, place: Place) -> str:
    progress = place.entry.progress
    if progress is None or column.format is None:
        return DASH
    interval = progress.interval or (None, None)
    words = [column.format.show(v) for v in interval if v is not None]
    return column.format.show(progress.ratio) + _small(DASH.join(words))


# ---- The same rows as data ----------------------------------------------------------------------


def main_data(board: TrackBoard, columns: Sequence[Column] | None = None) -> dict[str, Any]:
    """What the board's script needs at once: names, places, quality, cost, date, who, state."""
    track, places = board.track, board.places
    columns = columns or columns_of(board, present_metrics(board))
    short = {c.key: c.format for c in columns} if is_long(board) else {}
    words = {k: Words() for k in ("who", "status", "evidence", "why")}
    first = min((d for d in (text.ordinal_day(i.verdict.date) for i, _ in places) if d), default=0)
    states = [state_of(i.verdict) for i, _ in places]
    data: dict[str, Any] = {
        "version": 2,
        "track": track.id,
        "quality": track.quality.metric,
        "cost": track.cost.metric,
        "goals": [track.quality.goal, track.cost.goal],
        "formats": {c.key: c.format.packed() for c in columns if c.format},
        "names": {str(s.kind): s.name for s in states},
        "day0": first,
        "slug": [i.slug for i, _ in places],
        "point": {str(n): p.point for n, (i, p) in enumerate(places) if len(i.verdict.points) > 1},
        "label": {
            str(n): text.clean(i.label, 80) for n, (i, _) in enumerate(places) if i.label != i.name
        },
        "place": [p.entry.place for _, p in places],
        "flag": "".join(flag(track, p) for _, p in places),
        "q": [kept(p.entry.quality, short.get(track.quality.metric)) for _, p in places],
        "c": [kept(p.entry.shown_cost, short.get(track.cost.metric)) for _, p in places],
        "day": [_since(i, first) for i, _ in places],
        "who": [words["who"].index(text.clean(i.people, 60)) for i, _ in places],
        "status": [words["status"].index(s.kind) for s in states],
        "evidence": [words["evidence"].index(str(i.verdict.evidence)) for i, _ in places],
    }
    why = [
        ", ".join(w for w in (shown_rules(s), i.standing) if w)
        for s, (i, _) in zip(states, places, strict=True)
    ]
    if any(why):
        data["why"] = [words["why"].index(w) for w in why]
    return data | _some(board) | {"words": {k: w.words for k, w in words.items()}}


def is_long(board: TrackBoard) -> bool:
    """Whether the board has more rows than the script gets all of."""
    return len(board.places) > EXACT_UP_TO


def _some(board: TrackBoard) -> dict[str, Any]:
    """The parts of the data that not every board has."""
    places, track = board.places, board.track
    data: dict[str, Any] = {}
    titles = {
        str(n): [i.number or 0, text.clean(i.title, 80)]
        for n, (i, _) in enumerate(places)
        if (i.title != i.label or i.number is not None) and not is_long(board)
    }
    if titles:
        data["title"] = titles
    tagged: dict[str, list[int]] = {}
    for n, (item, _) in enumerate(() if is_long(board) else places):
        for technique in techniques_of(item):
            tagged.setdefault(technique.id, []).append(n)
    if tagged:
        data["tech"] = tagged
    if any(p.entry.clock != "own" for _, p in places):
        data["own"] = [kept(p.entry.cost) if p.entry.clock != "own" else None for _, p in places]
    ranks = [p.entry.ranks for _, p in places]
    if track.objective != "pareto" and any(r and r[0] != r[1] for r in ranks):
        data["ranks"] = [list(r) if r and r[0] != r[1] else None for r in ranks]
    likely = [chance_percent(p.entry) for _, p in places]
    if any(c is not None for c in likely):
        data["chance"] = likely
    if track.significance.test != "none":
        data["p"] = [kept(probability_of(p)) for _, p in places]
    if any(p.entry.point.summary.n for _, p in places):
        data["n"] = [p.entry.point.summary.n for _, p in places]
        data["h"] = [kept(_half(p)) for _, p in places]
    if track.objective == "baseline":
        progress = [p.entry.progress for _, p in places]
        data["ratio"] = [kept(p.ratio) if p else None for p in progress]
        data["span"] = [list(p.interval) if p and p.interval else None for p in progress]
    return data


def more_data(board: TrackBoard, present: Sequence[str]) -> dict[str, Any]:
    """The columns that are hidden at first, and what the other axes of the chart need."""
    places = board.places
    short = {c.key: c.format for c in columns_of(board, present)} if is_long(board) else {}
    devices = Words()
    index = [
        devices.index(text.clean(device_of(i.verdict, i.about) or DASH, 40)) for i, _ in places
    ]
    values = {m: [kept(p.values.get(m), short.get(m)) for _, p in places] for m in present}
    return {"version": 2, "values": values, "device": index, "devices": devices.words}


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


def flag(track: Track, place: Place) -> str:
    """One letter a row: f on the frontier of a pareto board, t tied on another, else a space."""
    if track.objective == "pareto":
        return "f" if place.entry.on_frontier else " "
    return "t" if place.entry.tied else " "


def kept(value: float | None, shown: Format | None = None) -> float | int | None:
    """A number for the script: as it is, or with `shown` to so many digits that its cell is the
    same."""
    number_ = number(value)
    if number_ is None:
        return None
    short = number_
    if shown is not None:
        tries = (float(f"{number_:.{digits}g}") for digits in (6, 8, 12))
        short = next((t for t in tries if shown.show(t) == shown.show(number_)), number_)
    return int(short) if short.is_integer() and abs(short) < 2**53 else short


def _since(item: Item, first: int) -> int | None:
    day = text.ordinal_day(item.verdict.date)
    return None if day is None else day - first


def _half(place: Place) -> float | None:
    interval = place.entry.point.summary.interval
    return None if interval is None else (interval[1] - interval[0]) / 2
