"""The larger parts of an entry's page: gains, statistics, curves, runs, README, code diff."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

from bot.model.board import RecordStep
from bot.model.run import RunRecord
from bot.model.summary import Moments, Summary
from bot.model.track import LOSS_METRICS
from bot.render.numbers import DASH, apart, p_is, probability
from bot.rules.statistics import for_points
from leaderboard_site import curves as drawn
from leaderboard_site import text
from leaderboard_site.charts import Axis, Mark
from leaderboard_site.curves import Line
from leaderboard_site.formats import change, format_of, quantity
from leaderboard_site.model import Item, Place, TrackBoard, runs_of
from leaderboard_site.pages.environment import number
from leaderboard_site.text import esc

BASE = "../../../"
README_LIMIT = 60_000
DIFF_LINES = 1500


def changed(board: TrackBoard, item: Item, parent: Item | None) -> list[str]:
    """The record that it beat and by how much, and what its runs say on one machine; as HTML."""
    lines = []
    step = board.steps.get(item.path)
    if step is not None and board.track.objective == "target":
        lines.append(_record(board, step))
    beaten = step.beat if step else None
    if parent is not None and parent.path != beaten and parent.best and item.best:
        lines.append(_against(board, item.best, parent))
    baseline = _baseline(item)
    if baseline:
        lines.append(baseline)
    return lines


def _record(board: TrackBoard, step: RecordStep) -> str:
    """`Took the record from 74.58 s (#88) to 73.8 s, −1.05 %; decided by the official timing.`"""
    metric = board.track.cost.metric
    shown = board.words(metric, step.cost)
    if step.previous is None or step.gain is None:
        return f"Set the first record: <strong>{shown}</strong>."
    before = board.words(metric, step.previous)
    words = (
        f"Took the record from {before} ({_beaten(board, step.beat)}) "
        f"to <strong>{shown}</strong>: <strong>{change(step.gain)}</strong>, decided by "
        f"{CLOCK_WORDS[step.clock]}."
    )
    if step.interval is not None:
        low, high = (board.words(metric, bound) for bound in step.interval)
        words += f" Along the chain of ratios the 95 % interval is {low} to {high}."
    if step.clock != "own" and step.own is not None:
        words += f" Its own runs took {board.words(metric, step.own)} on their machine."
    return words


CLOCK_WORDS = {
    "official": "the official timing",
    "paired": "the ratio of its two arms on one machine",
    "own": "the clocks of both entries’ own machines",
}


def _beaten(board: TrackBoard, beat: str | None) -> str:
    """A link to the entry that it beat, or to the table where that is not on file."""
    item = board.items.get(beat or "")
    if item is None:
        source = esc(board.track.official.source)
        return f'<a href="{source}" rel="noopener">{esc(beat or "")}</a>, not on file'
    number_ = f"#{item.number} " if item.number is not None else ""
    words = esc(text.clean(number_ + item.title, 60))
    return f'<a href="{BASE}{esc(item.url)}">{words}</a>'


def _against(board: TrackBoard, place: Place, parent: Item) -> str:
    assert parent.best is not None
    link = f'<a href="{BASE}{esc(parent.url)}">{esc(text.clean(parent.title, 60))}</a>'
    parts = []
    for axis, mine, theirs in (
        (board.track.quality, place.entry.quality, parent.best.entry.quality),
        (board.track.cost, place.entry.shown_cost, parent.best.entry.shown_cost),
    ):
        if theirs:
            far = change((mine - theirs) / abs(theirs))
            parts.append(f"{board.track.in_sentence(axis.metric)} {far}")
    return f"Beside {link}, which it builds on: {', '.join(parts)}."


def _baseline(item: Item) -> str | None:
    place = item.best
    summary = place.entry.point.summary if place else None
    arm = summary.baseline if summary else None
    ratio = number(arm.ratio) if arm else None
    if summary is None or arm is None or ratio is None:
        return None
    low, high = arm.ratio_interval or (None, None)
    spread = f" (95 % interval {low:.4f} to {high:.4f})" if low and high else ""
    runs = f", {summary.n} and {arm.n} runs" if arm.n and summary.n else ""
    return (
        f"On one machine it took {ratio:.4f}{spread} of the cost of the code that it was run "
        f"against, its baseline arm{runs}."
    )


# ---- Statistics ----------------------------------------------------------------------------------


def statistics_sections(board: TrackBoard, item: Item) -> list[dict[str, Any]]:
    """One section a point that has statistics, at most eight."""
    out = []
    several = len(item.verdict.points) > 1
    for point in item.verdict.points[:8]:
        stats = point.statistics
        if stats is None or stats.moments is None:
            continue
        metric, target = board.track.quality.metric, board.track.quality.target
        values = stats.quality.values
        strip = (
            drawn.strip(
                values,
                metric,
                label=f"{board.track.label(metric)} of each run",
                title=board.track.label(metric),
                target=target,
                mean=stats.moments.mean,
                interval=stats.interval,
            )
            if len(values) <= 400
            else ""
        )
        out.append(
            {
                "point": text.clean(point.name, 60) if several else None,
                "strip": strip,
                "words": _words(stats, target),
                "figures": _numbers(stats, stats.moments),
            }
        )
    return out


def _words(stats: Summary, target: float | None) -> str:
    n = stats.n
    if n == 1:
        return "One run: no spread, hence no test. What it shows is recorded and not tested."
    start = f"{text.plural(n, 'run')}"
    p = number(stats.p)
    if target is None or p is None:
        return f"{start}; the standard deviation divides by n − 1."
    made = stats.decision
    verb = "shows" if stats.passes else "does not show"
    claim = f"{verb} a mean better than {target:g}"
    if made.bound is not None and made.statistic is not None:
        # The bound decides, and p at the bound is not a round number.
        reached = apart(made.statistic, made.bound)
        words = f"{start}: (target − mean)·√n = {reached} {claim}; {made.bound:g} is asked for."
    else:
        words = f"{start}: {p_is(p, stats.level)}{for_points(made.p_holm)} {claim} "
        words += f"at {stats.level:.3g} (one-sided, test {made.test})."
    if stats.chances and not stats.passes:
        first = stats.chances[0]
        words += f" With {text.plural(first.runs, 'more run')} the chance to pass is about "
        words += f"{5 * round(20 * min(first.chance, 0.95))} %."
    return words


def _numbers(stats: Summary, m: Moments) -> list[dict[str, str]]:
    rows = [
        ("n", str(m.n)),
        ("mean", f"{m.mean:.5f}"),
        ("sd", DASH if m.sd is None else f"{m.sd:.5f}"),
    ]
    if stats.interval is not None:
        rows.append(("95 % interval", "{:.5f} to {:.5f}".format(*stats.interval)))
    for label, p in (
        ("p", stats.p),
        ("p, known sigma", stats.p_sigma),
        ("p, pooled sd", stats.p_pooled),
        ("p without the best run", stats.without_best.p if stats.without_best else None),
    ):
        if p is not None:
            rows.append((label, probability(p)))
    cost = stats.cost.moments
    if cost is not None and cost.sd is not None:
        rows.append(("sd of cost", f"{cost.sd:.3g}"))
    if stats.excluded:
        why = text.clean(stats.excluded[0].why, 80)
        rows.append(("left out", f"{len(stats.excluded)}: {why}"))
    return [{"label": a, "value": b} for a, b in rows]


# ---- Curves and runs -----------------------------------------------------------------------------


def validation_of(run: RunRecord) -> list[tuple[float, float]]:
    """(step, loss) of a run's finite validation points."""
    found = [(number(v[0]), number(v[1])) for v in run.val]
    return [(step, loss) for step, loss in found if step is not None and loss is not None]


def curves(board: TrackBoard, item: Item, rival: Item | None) -> dict[str, Any] | None:
    """Loss against step for this entry, and the record or frontier entry to compare with."""
    mine = [v for r in runs_of(item)[:6] if len(v := validation_of(r)) > 1]
    if not mine:
        return None
    lines = [
        Line("baseline", v, "baseline")
        for r in runs_of(item, "baseline")[:1]
        if len(v := validation_of(r)) > 1
    ]
    word = {"pareto": "frontier", "baseline": "best"}.get(board.track.objective, "record")
    if rival is not None:
        lines += [
            Line(word, v, "record") for r in runs_of(rival)[:1] if len(v := validation_of(r)) > 1
        ]
    lines += [
        Line("this entry" if i == 0 else "", v, "this" if i == 0 else "thisother")
        for i, v in enumerate(mine)
    ]
    track = board.track
    target = None
    of_loss = track.quality.metric in LOSS_METRICS
    if track.quality.target is not None and track.objective != "pareto" and of_loss:
        target = Mark(track.quality.target, f"target {track.quality.target:g}")
    kept, low = _tail(lines)
    svg = drawn.lines(
        kept,
        Axis("steps", "Step", False),
        Axis("loss", track.label("loss"), False),
        label=f"{track.label('loss')} against step",
        target=target,
    )
    names = f"This entry ({text.plural(len(mine), 'run')})"
    names += f" over the {word}’s, {text.clean(rival.label, 60)}" if rival else ""
    words = f"{names}. {low}"
    data = [f"{item.verdict.track}/{item.slug}"]
    if rival:
        data.append(f"{rival.verdict.track}/{rival.slug}")
    return {"svg": svg, "words": words.strip(), "data": " ".join(data)}


def _tail(lines: Sequence[Line]) -> tuple[list[Line], str]:
    """The curves without their first steep fall, which would flatten all that matters."""
    end = max(p[0] for line in lines for p in line.points)
    late = [Line(x.name, [p for p in x.points if p[0] >= 0.1 * end], x.kind) for x in lines]
    if all(len(x.points) > 2 for x in late):
        return late, "The first tenth of the steps is left out."
    return list(lines), ""


def run_rows(item: Item) -> list[dict[str, Any]]:
    """The table of runs."""
    rows = []
    times = format_of("time_s", [number(run.time_s) for run in item.verdict.runs])
    for run in item.verdict.runs:
        file = run.file
        short = file.rsplit("/", 1)[-1] if file.startswith("http") else file.rsplit("/", 1)[-1]
        finished = run.finished
        rows.append(
            {
                "file": file,
                "short": text.clean(short, 60) or "run",
                "arm": text.clean(run.arm, 20),
                "seed": _or_dash(run.seed),
                "step": _or_dash(run.step),
                "loss": DASH if number(run.loss) is None else f"{run.loss:.5f}",
                "time": times.show(number(run.time_s)),
                "hardware": _hardware(run),
                "finished": "yes" if finished else "no" if finished is False else "not stated",
            }
        )
    return rows


def _hardware(run: RunRecord) -> str:
    count, device = run.gpu_count, run.hardware
    if not device:
        return DASH
    return f"{count} × {device}" if isinstance(count, int) and count > 1 else str(device)


def _or_dash(value: Any) -> str:
    found = number(value)
    return quantity("steps", found)


# ---- Text and code -------------------------------------------------------------------------------

README_TAGS = {
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "p",
    "ul",
    "ol",
    "li",
    "pre",
    "code",
    "em",
    "strong",
    "a",
    "blockquote",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "hr",
    "br",
}


def readme_html(source: str) -> str:
    """A README as HTML of harmless tags alone: no images, styles, scripts or odd links."""
    import markdown
    import nh3

    rendered = markdown.markdown(
        text.clean_lines(source, README_LIMIT), extensions=["tables", "fenced_code"]
    )
    cleaned = nh3.clean(
        rendered,
        tags=README_TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https"},
        link_rel="nofollow noopener ugc",
    )
    # A link whose address was refused keeps its words alone.
    cleaned = cleaned.replace('<a rel="nofollow noopener ugc">', "<a>")
    for level in (1, 2, 3):
        # The page has its own h1 and h2: a README's headings go below them.
        cleaned = cleaned.replace(f"<h{level}>", "<h4>").replace(f"</h{level}>", "</h4>")
    return re.sub(r"<h([4-6])>\s*</h\1>", "", cleaned)


def code_diff(item: Item, parent: Item | None) -> dict[str, Any] | None:
    """The unified difference of the code to the parent's; None where either has none."""
    if parent is None or not item.code or not parent.code:
        return None
    lines: list[dict[str, str]] = []
    for name in sorted(set(item.code) | set(parent.code)):
        old = parent.code.get(name, "").splitlines()
        new = item.code.get(name, "").splitlines()
        for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", n=2, lineterm=""):
            kind = {"+": "add", "-": "del", "@": "at"}.get(line[:1], "same")
            lines.append({"kind": kind, "text": text.clean_lines(line, 400)})
    if not lines:
        return {"against": parent.label, "words": "no difference", "lines": []}
    added = sum(1 for x in lines if x["kind"] == "add" and not x["text"].startswith("+++"))
    gone = sum(1 for x in lines if x["kind"] == "del" and not x["text"].startswith("---"))
    words = f"{added} lines added, {gone} removed"
    if len(lines) > DIFF_LINES:
        words += f", the first {DIFF_LINES} shown"
    return {"against": parent.label, "words": words, "lines": lines[:DIFF_LINES]}
