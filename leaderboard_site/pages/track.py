"""A track's page: who leads, the chart, the board, the record, the scaling, the rules in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.model.track import Track
from bot.rank.ranking import in_band
from leaderboard_site import curves, fits, text
from leaderboard_site.charts import Axis
from leaderboard_site.curves import Fit
from leaderboard_site.model import Item, Place, Site, TrackBoard
from leaderboard_site.pages.columns import (
    cells,
    columns_of,
    label_of,
    main_data,
    more_data,
    present_metrics,
    probability_of,
)
from leaderboard_site.pages.environment import SITE_NAME, number, page, render
from leaderboard_site.pages.plots import against, progress_chart, quality_chart, standalone, x_axes
from leaderboard_site.pages.words import rules_in_words

BASE = "../../"
ROWS = 50


def track_files(site: Site, board: TrackBoard) -> Iterator[tuple[str, Any]]:
    """Every file below `tracks/<id>/`: the page, the board's data, the charts of each axis."""
    track = board.track
    present = present_metrics(board)
    axes = x_axes(board, present)
    own = against(board, track.cost.metric)
    first = quality_chart(board, own, BASE)
    yield f"tracks/{track.id}/index.md", track_page(site, board, present, first)
    if not board.board.entries:
        return
    yield f"tracks/{track.id}/board.json", main_data(board)
    yield f"tracks/{track.id}/more.json", more_data(board, present)
    for axis in axes:
        data = own if axis.key == own.x else against(board, axis.key)
        figure = first if data is own else quality_chart(board, data, BASE)
        for suffix, svg in standalone(figure).items():
            yield f"tracks/{track.id}/charts/{axis.key}.{suffix}", svg
        if track.objective == "pareto":
            figure = quality_chart(board, data, BASE, relative=True)
            for suffix, svg in standalone(figure).items():
                yield f"tracks/{track.id}/charts/{axis.key}.rel.{suffix}", svg


def track_page(site: Site, board: TrackBoard, present: list[str], chart: str) -> str:
    """The Markdown file of the page."""
    track = board.track
    columns = columns_of(track, present)
    cost, quality = text.label(track.cost.metric), text.label(track.quality.metric)
    total = len(board.board.entries)
    body = render(
        "track.html",
        track=track,
        base=BASE,
        lead=lead(board),
        chart=chart,
        chart_title=f"{quality} against cost"
        if track.objective == "pareto"
        else f"{quality} and {text.in_sentence(track.cost.metric)}",
        axes=x_axes(board, present),
        relative=track.objective == "pareto",
        best_words="holds or held the record",
        columns=columns,
        rows=cells(board, columns, BASE, ROWS),
        total=total,
        count_words=f"The best {min(ROWS, total)} of {text.plural(total, 'entry', 'entries')}."
        if total > ROWS
        else text.plural(total, "entry", "entries") + ".",
        cost_hint=cost_hint(board),
        cost_label=cost,
        quality_label=quality,
        progress=progress(board),
        bands=bands(board),
        scaling=scaling(board),
        rules=rules_in_words(track),
        history=history(track, site),
        unranked=[i for i in board.items.values() if i.unranked],
    )
    description = f"{track.title}: {text.plural(total, 'verified entry', 'verified entries')}, "
    return page(text.clean(track.title, 80), description + f"{SITE_NAME} leaderboard", body)


def cost_hint(board: TrackBoard) -> str:
    """A number that the field for the greatest cost takes, near the best there is."""
    if not board.board.entries:
        return ""
    return f"{board.board.entries[0].shown_cost:.2g}".replace("e+", "e")


def lead(board: TrackBoard) -> str:
    """Who leads, as HTML."""
    track, record = board.track, board.record
    if track.objective == "pareto":
        front = board.board.frontier
        if not front:
            return ""
        best = front[-1] if track.quality.goal == "min" else front[0]
        best = min(front, key=lambda e: e.quality) if track.quality.goal == "min" else best
        item = board.items[best.submission]
        return (
            f"{text.plural(len(front), 'entry', 'entries')} of {len(board.board.entries)} "
            f"form the frontier; the best quality is "
            f"<strong>{text.quantity(track.quality.metric, best.quality)}</strong> by "
            f"{_link(item)}."
        )
    if record is None:
        return ""
    item, place = record
    shown = result_of(board, place)
    return f"The record is <strong>{shown}</strong> by {_link(item)}, {_since(item)}."


def _link(item: Item) -> str:
    return f'<a href="{BASE}{text.esc(item.url)}">{text.esc(text.clean(item.label, 60))}</a>'


def _since(item: Item) -> str:
    return f"set on {text.long_day(item.verdict.date)}" if item.verdict.date else "undated"


def result_of(board: TrackBoard, place: Place) -> str:
    """What a track counts, as text: a cost, a ratio, or quality at a cost."""
    track, entry = board.track, place.entry
    if track.objective == "baseline" and entry.progress:
        return f"{entry.progress.ratio:.4f} of the baseline’s {text.in_sentence(track.cost.metric)}"
    cost = text.quantity(track.cost.metric, entry.shown_cost)
    if track.objective == "target":
        return cost if cost[-1:].isalpha() else f"{cost} {track.cost.unit}".rstrip()
    quality = text.quantity(track.quality.metric, entry.quality)
    return f"{quality} {track.quality.unit} at {cost} FLOPs".replace("  ", " ")


# ---- The record over time ------------------------------------------------------------------------


def progress(board: TrackBoard) -> dict[str, Any] | None:
    """The step chart and its table; on a pareto track the growth of the frontier as a table."""
    track = board.track
    svg = progress_chart(board, BASE)
    if svg is None:
        return None
    records = board.board.records
    rows = []
    for record in records:
        item = board.items[record.submission]
        place = next(p for p in item.places if p.point == record.point)
        stats = place.entry.point.statistics or {}
        rows.append(
            {
                "date": text.day(record.date),
                "href": BASE + item.url,
                "name": item.label,
                "cost": text.quantity(track.cost.metric, record.cost)
                + "".join(
                    f" (re-timed {text.quantity(track.cost.metric, c)})"
                    for _, c in record.retimings[-1:]
                ),
                "quality": text.quantity(track.quality.metric, record.quality),
                "gain": _gain(record.cost, record.previous),
                "p": text.probability(probability_of(place)),
                "n": stats.get("n") or text.DASH,
                "verdict": item.verdict,
                "until": text.day(record.superseded_on) if record.superseded_by else "stands",
            }
        )
    first, last = records[0].cost, records[-1].cost
    words = f"From {text.quantity(track.cost.metric, first)} to "
    words += f"{text.quantity(track.cost.metric, last)} in {text.plural(len(records), 'record')}"
    if first and last and track.objective == "target":
        words += f": {first / last:.3g} times less"
    words += f".{last_year(board)}"
    return {"title": "The record over time", "words": words, "svg": svg, "rows": rows}


def last_year(board: TrackBoard) -> str:
    """What the twelve months before the board's newest entry brought, as a sentence or nothing.

    Counted from the newest entry, not from today, so that the same board makes the same page.
    """
    newest = text.ordinal_day(board.newest[0].verdict.date) if board.newest else None
    records = [(d, r) for r in board.board.records if (d := text.ordinal_day(r.date)) is not None]
    if newest is None or board.track.objective != "target":
        return ""
    before = [r for d, r in records if d <= newest - 365]
    since = len(records) - len(before)
    if not before or not since:
        return ""
    then, now = before[-1].cost, records[-1][1].cost
    metric = board.track.cost.metric
    return (
        f" In its last twelve months: from {text.quantity(metric, then)}, "
        f"{text.plural(since, 'record')}, {text.signed(100 * (now - then) / then, 1)} %."
    )


def _gain(cost: float, previous: float | None) -> str:
    if previous is None or not previous:
        return text.DASH
    return text.signed(100 * (cost - previous) / previous, 1) + " %"


# ---- Bands and scaling ---------------------------------------------------------------------------


def bands(board: TrackBoard) -> list[dict[str, Any]]:
    """The five cheapest entries of each quality band that has any."""
    out = []
    axis = board.track.quality
    for band in sorted(axis.bands, reverse=axis.goal == "min"):
        inside = in_band(board.board, band)
        if not inside:
            continue
        word = "at most" if axis.goal == "min" else "at least"
        rows = [
            {
                "url": board.items[e.submission].url,
                "name": board.items[e.submission].label,
                "cost": text.quantity(board.track.cost.metric, e.shown_cost),
            }
            for e in inside[:5]
        ]
        out.append({"title": f"{word} {band:.4g}", "count": len(inside), "rows": rows})
    return out


def groups(board: TrackBoard) -> dict[str, list[tuple[float, float, str]]]:
    """Ranked points by group: the leading folder of the name, or a submission of many points."""
    found: dict[str, list[tuple[float, float, str]]] = {}
    for item, place in board.places:
        name = item.label if len(item.verdict.points) > 1 else item.label.rpartition("/")[0]
        x = number(place.values.get("model_flops")) or number(place.entry.cost)
        if name and x:
            found.setdefault(name, []).append((x, place.entry.quality, label_of(item, place)))
    return {k: sorted(v) for k, v in sorted(found.items()) if len(v) >= 3}


def scaling(board: TrackBoard) -> dict[str, Any] | None:
    """The fitted law of each group, drawn where the data carry it."""
    if board.track.objective != "pareto":
        return None
    found = groups(board)
    if not found:
        return None
    shown: list[Fit] = []
    rows = []
    for name, points in found.items():
        law = fits.fit([(x, y) for x, y, _ in points])
        usable = law is not None and law.usable
        drawn = fits.curve(law) if law is not None else []
        rows.append(_law_row(name, len(points), law, f"c{len(shown) % 8}" if usable else "weak"))
        shown.append(Fit(name, [(x, y) for x, y, _ in points], drawn, usable))
    svg = curves.scaling(
        shown,
        Axis("model_flops", "Model FLOPs"),
        Axis(board.track.quality.metric, text.label(board.track.quality.metric)),
        label="Scaling of each group with its fitted law",
    )
    words = (
        f"Least-squares laws y = c + a·x^−b over model FLOPs, with 95 % bands. Three numbers pass "
        f"close to any four points, so a law is drawn beyond its points only with "
        f"{fits.MIN_DF + 3} points or more, and only where half its band stays under "
        f"{fits.MAX_HALF_WIDTH:.0%} of the value."
    )
    return {"svg": svg, "rows": rows, "words": words}


def _law_row(name: str, n: int, law: fits.Law | None, colour: str) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "n": n, "usable": False, "colour": colour}
    if law is None:
        blank = dict.fromkeys(("law", "spread", "exponent", "held_out", "at"), text.DASH)
        return row | blank | {"why": f"points alone: {fits.MIN_POINTS} sizes make a law"}
    at = f"{law(1e22):.4f} ± {law.half_width(1e22):.4f}" if law.supported(1e22) else text.DASH
    bounds, missed = law.exponents, law.held_out
    # a at x in FLOPs is a·scale^b; printed in scaled units to keep the figures readable.
    words = f"{law.c:.3f} + {law.a:.3f}·(x/{text.power(law.scale, 2)})^{text.MINUS}{law.b:.3f}"
    return row | {
        "law": words,
        "spread": f"{law.spread:.4f}" if law.df else text.DASH,
        "exponent": f"{bounds[0]:.3f} to {bounds[1]:.3f}" if bounds else "not bounded",
        "held_out": text.DASH if missed is None else f"{missed:+.4f}".replace("-", text.MINUS),
        "at": at,
        "usable": law.usable,
        "why": _drawn(law),
    }


def _drawn(law: fits.Law) -> str:
    """How far a law is drawn, and why no farther."""
    if law.usable:
        return "with its band"
    if law.df < fits.MIN_DF:
        return f"within its points: {fits.MIN_DF + 3} points are needed beyond them"
    if law.a <= 0:
        return "within its points: quality does not improve with size"
    return "within its points: the exponent is not bounded by the data"


def history(track: Track, site: Site) -> list[dict[str, str]]:
    """Dated changes of the track's rules, oldest first."""
    return [
        {"date": r.date.isoformat(), "text": r.text}
        for r in sorted(track.rules, key=lambda r: r.date)
    ]
