"""A track's page: who leads, the chart, the board, the record, the scaling, the rules in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from bot.model.track import Track
from bot.rank.ranking import in_band
from bot.registry import STATUS_NAMES, Status
from bot.render.numbers import DASH
from leaderboard_site import curves, fits, text
from leaderboard_site.charts import Axis
from leaderboard_site.community import baselines, classes
from leaderboard_site.curves import Fit
from leaderboard_site.milestones import milestones
from leaderboard_site.model import Item, Place, Site, TrackBoard
from leaderboard_site.pages.columns import (
    PLACES,
    cells,
    columns_of,
    is_long,
    label_of,
    main_data,
    more_data,
    present_metrics,
)
from leaderboard_site.pages.environment import SITE_NAME, number, page, render
from leaderboard_site.pages.plots import (
    XAxis,
    against,
    quality_chart,
    standalone,
    tail_of,
    x_axes,
)
from leaderboard_site.pages.story import file_words, gain_words, story
from leaderboard_site.pages.story_files import chart_csv, story_csv
from leaderboard_site.pages.words import rules_in_words
from leaderboard_site.techniques import techniques, techniques_of

BASE = "../../"
ROWS = 50
KINDS = ("entry", "weak")


def track_files(site: Site, board: TrackBoard) -> Iterator[tuple[str, Any]]:
    """Every file below `tracks/<id>/`: the page, the board's data, the charts of each axis."""
    track = board.track
    present = present_metrics(board)
    axes = x_axes(board, present)
    own = against(board, axes[0].key) if axes else None
    first = quality_chart(board, own, BASE) if own else ""
    told = story(board, BASE)
    yield f"tracks/{track.id}/index.md", track_page(site, board, present, first, told)
    if told:
        for suffix, svg in standalone(told["svg"]).items():
            yield f"tracks/{track.id}/charts/{told['file']}.{suffix}", svg
        yield f"tracks/{track.id}/charts/{told['file']}.csv", story_csv(board)
    if not board.board.entries:
        return
    yield f"tracks/{track.id}/board.json", main_data(board, columns_of(board, present))
    yield f"tracks/{track.id}/more.json", more_data(board, present)
    for axis in axes:
        data = own if own and axis.key == own.x else against(board, axis.key)
        figure = first if data is own else quality_chart(board, data, BASE)
        name = f"tracks/{track.id}/charts/{axis.key}"
        for suffix, svg in standalone(figure).items():
            yield f"{name}.{suffix}", svg
        yield f"{name}.csv", chart_csv(board, data)
        if track.objective == "pareto":
            figure = quality_chart(board, data, BASE, relative=True)
            for suffix, svg in standalone(figure).items():
                yield f"{name}.rel.{suffix}", svg
            yield f"{name}.rel.csv", chart_csv(board, data)


def track_page(
    site: Site, board: TrackBoard, present: list[str], chart: str, told: dict[str, Any] | None
) -> str:
    """The Markdown file of the page."""
    track = board.track
    columns, axes = columns_of(board, present), x_axes(board, present)
    quality, total = track.label(track.quality.metric), len(board.board.entries)
    body = render(
        "track.html",
        track=track,
        base=BASE,
        lead=lead(board),
        boards=[b.track for b in site.boards],
        source=track.official.source if track.official.records else "",
        closed=not_open(board),
        chart=chart,
        axes=axes,
        relative=track.objective == "pareto",
        columns=columns,
        techniques=[] if is_long(board) else facets(board),
        kinds=kinds_of(board, chart),
        rows=cells(board, columns, BASE, ROWS),
        total=total,
        **_titles(board, quality, axes, total),
        cost_hint=cost_hint(board),
        story=told,
        bands=bands(board),
        **together(board),
        scaling=scaling(board),
        rules=rules_in_words(track),
        history=history(track, site),
        unranked=[i for i in board.items.values() if i.unranked],
    )
    entries = text.plural(total, "verified entry", "verified entries")
    description = f"{track.title}: {entries}, {SITE_NAME} leaderboard"
    description = f"{told['title']}. {description}" if told else description
    card = track_card_name(board) if told else None
    return page(text.clean(track.title, 80), description, body, image=card)


def _titles(board: TrackBoard, quality: str, axes: list[XAxis], total: int) -> dict[str, str]:
    """What stands over the chart and the table."""
    track = board.track
    entries = text.plural(total, "entry", "entries")
    other = (
        "against cost" if track.objective == "pareto" else f"and {axes[0].title if axes else ''}"
    )
    return {
        "quality_label": quality,
        "cost_label": track.label(track.cost.metric),
        "cost_unit": board.form(track.cost.metric).unit,
        "chart_title": f"{quality} {other}",
        "place_words": f"{PLACES[track.objective]}.",
        "count_words": f"The best {ROWS} of {entries}." if total > ROWS else f"{entries}.",
    }


def track_card_name(board: TrackBoard) -> str:
    """Where the share card of a board lies."""
    return f"cards/{board.track.id}/board.card.png"


def kinds_of(board: TrackBoard, chart: str) -> dict[str, str]:
    """Which marks the chart has, and what they are called, so that its key names these alone."""
    others = {i.verdict.status for i, _ in board.places if i.path not in board.holders}
    weak = [f"“{STATUS_NAMES[s]}”" for s in Status if s in others and s is not Status.VERIFIED]
    drawn = {k: f'class="dots {k}"' in chart or f'circle class="{k}"' in chart for k in KINDS}
    return {
        "entry": f"“{STATUS_NAMES[Status.VERIFIED]}”" if drawn["entry"] else "",
        "weak": " or ".join(weak) if drawn["weak"] else "",
        "interval": "95 % interval of the mean" if 'class="whisker"' in chart else "",
        "level": "quality band" if "mark level" in chart else "",
    }


def facets(board: TrackBoard) -> list[dict[str, Any]]:
    """The techniques of the ranked entries, with how many have each."""
    counted: Counter[str] = Counter(t.id for item, _ in board.places for t in techniques_of(item))
    return [
        {"id": t.id, "title": t.title, "count": counted[t.id]}
        for t in techniques()
        if counted[t.id]
    ]


def cost_hint(board: TrackBoard) -> str:
    """A number that the field for the greatest cost takes, near the best there is."""
    if not board.board.entries:
        return ""
    best = float(f"{board.board.entries[0].shown_cost:.2g}")
    return f"{best:g}" if best < 1e6 else text.power(best, 2)


def lead(board: TrackBoard) -> str:
    """Who leads, as HTML, and how much of the official history is on file."""
    track, record = board.track, board.record
    if track.objective == "pareto":
        return _frontier_lead(board)
    history = milestones(board)
    if record is None or not history:
        return ""
    item, place = record
    files = file_words(board)
    counted = f" {files}" if files else ""
    best = "record" if track.objective != "baseline" else "best"
    shown = f"The {best} is <strong>{result_of(board, place)}</strong> by {_link(item)}"
    if item.people not in ("imported", "not stated"):
        shown += f" ({text.esc(item.people)})"
    if history[-1].place is not None:
        gain = history[-1].gain
        over = f", {gain_words(history[-1])} against the one before" if gain is not None else ""
        state = f", {item.standing}" if item.standing else ""
        return f"{shown}, {_since(item)}{over}{state}.{counted}"
    last = history[-1]
    newest = board.words(track.cost.metric, last.cost)
    return (
        f"The official record is <strong>{newest}</strong> (#{last.number}, "
        f"{text.long_day(last.date)}), whose evidence is not on file. On file, "
        f"{shown[0].lower()}{shown[1:]}, {_since(item)}.{counted}"
    )


def _frontier_lead(board: TrackBoard) -> str:
    front, track = board.board.frontier, board.track
    if not front:
        return ""
    pick = min if track.quality.goal == "min" else max
    best = pick(front, key=lambda e: e.quality)
    return (
        f"{text.plural(len(front), 'entry', 'entries')} of {len(board.board.entries)} "
        f"form the frontier; the best quality is "
        f"<strong>{board.words(track.quality.metric, best.quality)}</strong> by "
        f"{_link(board.items[best.submission])}."
    )


def not_open(board: TrackBoard) -> list[str]:
    """The commands that open a baseline track that has no baseline yet; empty where it is open."""
    track = board.track
    if board.is_open:
        return []
    return [
        f"speedrun baseline make {track.id}",
        f"git add submissions/{track.id} tracks/baselines/{track.id}",
        f'git commit -m "Open {track.id}" && git push',
    ]


def together(board: TrackBoard) -> dict[str, Any]:
    """What a track with baselines shows beside its board."""
    return {
        "baselines": baselines(board, BASE),
        "classes": classes(board, BASE),
        "steps": three_commands(board),
        "without_code": without_code(board.track),
    }


def without_code(track: Track) -> bool:
    """Whether the baseline that stands was frozen from runs whose code is not here."""
    standing = [b for b in track.baselines if b.id == track.baseline_id]
    return any(b.code is None for b in standing)


def three_commands(board: TrackBoard) -> list[str]:
    """The commands that lead to a place on one's own machine, on a track with baselines. The
    starter is written for the baseline's framework: both arms run in one program. None if the
    baseline was frozen without code, so that the trainer cannot run it."""
    track = board.track
    if track.objective != "baseline" or without_code(track):
        return []
    name = f"{track.id}/my-idea"
    frozen = next((i for i in board.items.values() if track.is_baseline(i.path)), None)
    kind = "torch" if frozen and any("import torch" in c for c in frozen.code.values()) else "jax"
    return [
        f"speedrun new {name} --starter {kind}",
        f"python submissions/{name}/main.py --interleave baseline --seeds 3",
        f"speedrun new {name} --log build/runs/{name} --code submissions/{name}/main.py",
    ]


def _link(item: Item) -> str:
    number = f"#{item.number} " if item.number is not None else ""
    words = text.esc(text.clean(number + item.title, 60))
    return f'<a href="{BASE}{text.esc(item.url)}">{words}</a>'


def _since(item: Item) -> str:
    return f"set on {text.long_day(item.verdict.date)}" if item.verdict.date else "undated"


def result_of(board: TrackBoard, place: Place) -> str:
    """What a track counts, as text: a cost, a ratio, or quality at a cost."""
    track, entry = board.track, place.entry
    if track.objective == "baseline" and entry.progress:
        ratio = board.words("ratio", entry.progress.ratio)
        return f"{ratio} of the baseline’s {track.in_sentence(track.cost.metric)}"
    cost = board.words(track.cost.metric, entry.shown_cost)
    if track.objective in ("target", "best"):
        return cost if cost[-1:].isalpha() else f"{cost} {track.cost.unit}".rstrip()
    quality = board.words(track.quality.metric, entry.quality)
    return f"{quality} {track.quality.unit} at {cost} FLOPs".replace("  ", " ")


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
                "cost": board.form(board.track.cost.metric).show(e.shown_cost),
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
        shown.append(Fit(tail_of(name), [(x, y) for x, y, _ in points], drawn, usable))
    svg = curves.scaling(
        shown,
        Axis("model_flops", "Model FLOPs"),
        Axis(board.track.quality.metric, board.track.label(board.track.quality.metric)),
        label="Scaling of each group with its fitted law",
    )
    words = (
        f"Least-squares laws y = c + a·x^−b over model FLOPs, with 95 % bands. Three numbers pass "
        f"close to any four points, so a law is drawn beyond its points only with "
        f"{fits.MIN_DF + 3} points or more, and only where half its band stays under "
        f"{100 * fits.MAX_HALF_WIDTH:.0f} % of the value."
    )
    trusted = [law.usable for law in shown]
    key = {
        "band": "95 % band of a law" if any(trusted) else "",
        "dashed": "law drawn within its points alone" if not all(trusted) else "",
    }
    return {"svg": svg, "rows": rows, "words": words, "key": key}


def _law_row(name: str, n: int, law: fits.Law | None, colour: str) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "n": n, "usable": False, "colour": colour}
    if law is None:
        blank = dict.fromkeys(("law", "spread", "exponent", "held_out", "at"), DASH)
        return row | blank | {"why": f"points alone: {fits.MIN_POINTS} sizes make a law"}
    at = f"{law(1e22):.4f} ± {law.half_width(1e22):.4f}" if law.supported(1e22) else DASH
    bounds, missed = law.exponents, law.held_out
    # a at x in FLOPs is a·scale^b; printed in scaled units to keep the figures readable.
    words = f"{law.a:.3f}·(x/{text.power(law.scale, 2)})^{text.MINUS}{law.b:.3f}"
    words = f"{law.c:.3f} + {words}" if law.floor else words
    return row | {
        "law": words,
        "spread": f"{law.spread:.4f}" if law.df else DASH,
        "exponent": f"{bounds[0]:.3f} to {bounds[1]:.3f}" if bounds else "not bounded",
        "held_out": DASH if missed is None else f"{missed:+.4f}".replace("-", text.MINUS),
        "at": at,
        "usable": law.usable,
        "why": _drawn(law),
    }


def _drawn(law: fits.Law) -> str:
    """How far a law is drawn, and why no farther."""
    if law.usable:
        return "with its band"
    if law.df < fits.MIN_DF:
        floor = "" if law.floor else "too few sizes for a floor c; "
        return f"within its points: {floor}{fits.MIN_DF + 3} points are needed beyond them"
    if law.a <= 0:
        return "within its points: quality does not improve with size"
    return "within its points: the exponent is not bounded by the data"


def history(track: Track, site: Site) -> list[dict[str, str]]:
    """Dated changes of the track's rules, oldest first."""
    return [
        {"date": r.date.isoformat(), "text": r.text}
        for r in sorted(track.rules, key=lambda r: r.date)
    ]
