"""An entry's page: the verdict, what it rests on, and what came of it."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator
from typing import Any

from bot.model.board import Entry
from bot.model.submission import Submission
from bot.model.verdict import Finding
from bot.registry import Level
from bot.render.numbers import DASH, figure
from leaderboard_site import text
from leaderboard_site.community import entry_section
from leaderboard_site.formats import apart, chosen_for_each, format_of, quantity
from leaderboard_site.milestones import CLOCKS
from leaderboard_site.model import Item, Place, Site, TrackBoard
from leaderboard_site.pages.entry_parts import (
    changed,
    code_diff,
    curves,
    readme_html,
    run_rows,
    statistics_sections,
)
from leaderboard_site.pages.entry_sources import bibtex, code, command, imported, links, sources
from leaderboard_site.pages.environment import (
    GRADE_WORDS,
    number,
    render,
)
from leaderboard_site.pages.people import person_links
from leaderboard_site.pages.provenance import experiment, provenance, pull_url
from leaderboard_site.pages.story import unproved
from leaderboard_site.rates import device_of
from leaderboard_site.techniques import techniques_of

BASE = "../../../"
FINDINGS = 50
TIMED = "/imported/time_s"


def entry_page(
    site: Site,
    board: TrackBoard,
    item: Item,
    lineage: Lineage,
    digest: str,
    card: str | None = None,
) -> str:
    """The HTML of the page's content, without the theme around it."""
    verdict, about = item.verdict, item.about
    parent = site.item(about.based_on, verdict.track) if about else None
    rival = rival_of(board, item)
    return render(
        "entry.html",
        base=BASE,
        item=item,
        verdict=verdict,
        track=board.track,
        **_head(board, item, parent),
        community=entry_section(board, item, lineage, BASE),
        **_judged(board, item),
        curves=curves(board, item, rival),
        runs=run_rows(item),
        imported=imported(item),
        parent=parent or _unknown_parent(about),
        children=lineage.children(item),
        lineage=lineage.words(board, item),
        summary=about.summary if about else None,
        readme=readme_html(item.readme) if item.readme else None,
        **_sources(site, board, item),
        techniques=techniques_of(item),
        code=code(item),
        digest=digest,
        command=command(site, item),
        diff=code_diff(item, parent),
        experiment=experiment(site, item),
        provenance=provenance(site, item, digest),
        bibtex=bibtex(site, item),
        rival=f"{rival.verdict.track}/{rival.slug}" if rival else None,
        card=card,
    )


def _head(board: TrackBoard, item: Item, parent: Item | None) -> dict[str, Any]:
    return {
        "heading": heading(item),
        "standing": standing(board, item),
        "note": item.verdict.note,
        "figures": figures(board, item),
        "changed": changed(board, item, parent),
    }


def _judged(board: TrackBoard, item: Item) -> dict[str, Any]:
    verdict = item.verdict
    # An official timing is a fact, and the figures at the head of the page state both times.
    findings = [f for f in verdict.findings if f.pointer != TIMED]
    told = {f.rule for f in findings[:FINDINGS]}
    return {
        "claims": claim_rows(item),
        "findings": [_finding(f, verdict.accepted) for f in findings[:FINDINGS]],
        "accepted": [(rule, why) for rule, why in verdict.accepted.items() if rule not in told],
        "more_findings": max(0, len(findings) - FINDINGS),
        "statistics": statistics_sections(board, item),
    }


def _sources(site: Site, board: TrackBoard, item: Item) -> dict[str, Any]:
    return {
        "pull": pull_url(site, item),
        "links": links(item),
        "sources": sources(board, item),
        "persons": person_links(item),
    }


def _unknown_parent(about: Submission | None) -> dict[str, str | None] | None:
    """What an entry is based on where that is not on the board."""
    return {"name": about.based_on, "url": None} if about and about.based_on else None


def entry_context(board: TrackBoard) -> tuple[Any, ...]:
    """What every entry's page of a track shows of the board beside the entry itself."""
    track = board.track
    metrics = (track.cost.metric, "ratio", *track.metrics, *_MORE_FIGURES)
    # A time or a count is written by itself in a sentence, whatever its column does.
    shared = (m for m in metrics if m in track.metrics or not chosen_for_each(m))
    forms = tuple(board.form(metric) for metric in (track.quality.metric, *shared))
    if track.objective == "pareto":
        return (forms,)
    return forms, len(board.board.entries), board.record[0].path if board.record else None


def surroundings(site: Site, board: TrackBoard, item: Item, lineage: Lineage) -> tuple[Any, ...]:
    """What an entry's page shows of other entries: any change of these makes it again."""
    parent = site.item(item.about.based_on, item.verdict.track) if item.about else None
    rival = rival_of(board, item)
    children = [(c.path, c.label, lineage.words_key(c)) for c in lineage.children(item)]
    step = board.steps.get(item.path)
    beaten = board.items.get(step.beat or "") if step else None
    return (
        step,
        entry_section(board, item, lineage, BASE),
        (beaten.path, beaten.title, beaten.number) if beaten else None,
        parent,
        children,
        (rival.path, rival.label, rival.verdict.runs[:1]) if rival else None,
    )


class Lineage:
    """Who builds on whom, over all tracks, and who ran an entry again as a baseline."""

    def __init__(self, site: Site) -> None:
        self._children: dict[str, list[Item]] = {}
        for item in site.items:
            parent = site.item(item.about.based_on, item.verdict.track) if item.about else None
            if parent is not None:
                self._children.setdefault(parent.path, []).append(item)

    def children(self, item: Item) -> list[Item]:
        """The entries that name this one as what they build on."""
        return self._children.get(item.path, [])

    def words_key(self, child: Item) -> tuple[Any, ...]:
        """What `words` says of a child."""
        return _baseline_runs(child), [p.values.get("parameters") for p in child.places]

    def words(self, board: TrackBoard, item: Item) -> list[str]:
        """Whether it was run again by others, and at which sizes it was measured."""
        lines = []
        # On a track with baselines the other arm is the baseline, not what an entry builds on.
        arm = board.track.objective != "baseline" or board.track.is_baseline(item.path)
        again = [c for c in self.children(item) if arm and _baseline_runs(c)]
        for child in again[:10]:
            link = (
                f'<a href="{BASE}{text.esc(child.url)}">{text.esc(text.clean(child.label, 60))}</a>'
            )
            lines.append(f"run again {_times(_baseline_runs(child))} as the baseline of {link}")
        state = board.board.states.get(item.path)
        runs = sum(reply.pairs for reply in state.replies) if state else 0
        if runs:
            lines.append(f"run again by others in {text.plural(runs, 'pair')} of runs, see above")
        if not again and not runs:
            lines.append("not yet run again by anybody else, as far as this board knows")
        sizes = sorted(
            {int(p) for place in item.places if (p := number(place.values.get("parameters")))}
        )
        later = {
            int(p)
            for c in self.children(item)
            for place in c.places
            if (p := number(place.values.get("parameters")))
        }
        if sizes:
            held = [s for s in later if s > sizes[-1]]
            words = "measured at " + ", ".join(quantity("parameters", s) for s in sizes[:8])
            words += " parameters; "
            largest = quantity("parameters", max(held, default=None))
            words += f"built on at {largest}" if held else "no entry builds on it at a larger size"
            lines.append(words)
        return lines


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _baseline_runs(item: Item) -> int:
    return sum(1 for r in item.verdict.runs if r.arm == "baseline")


def heading(item: Item) -> str:
    """Who made it and when, in a sentence."""
    who = f"{text.clean(item.people, 120)}, {text.long_day(item.verdict.date)}"
    who = who.removesuffix(f", {DASH}")
    return f"{who[:1].upper()}{who[1:]}."


def standing(board: TrackBoard, item: Item) -> str:
    """Where it stands, in a sentence."""
    grade = GRADE_WORDS[item.verdict.evidence]
    grade = f"{grade[0].upper()}{grade[1:]}"
    if not item.places:
        why = f" It does not rank: {text.clean(item.unranked[0], 200)}." if item.unranked else ""
        return f"{grade}.{why}"
    entry, total = item.places[0].entry, len(board.board.entries)
    if board.track.objective == "pareto":
        where = (
            "On the frontier"
            if entry.on_frontier
            else (
                f"Place {entry.place}: {entry.place - 1} "
                f"{'entry is' if entry.place == 2 else 'entries are'} at least as good on both axes"
            )
        )
    else:
        shared = ", shared: the same score" if entry.tied else ""
        if entry.ranks and entry.ranks[0] != entry.ranks[1]:
            shared += f" (it may truly rank {entry.ranks[0]} to {entry.ranks[1]})"
        where = f"Place {entry.place} of {total} on file{shared}"
        if board.record and board.record[0].path == item.path:
            best = "best" if board.track.objective == "baseline" else "record"
            where = f"The {best} of {total} on file{shared}"
    mark = unproved(board, item, item.places[0]) if board.track.objective == "target" else ""
    return f"{where}. {grade}.{f' {mark.capitalize()}.' if mark else ''}"


def figures(board: TrackBoard, item: Item) -> list[dict[str, str]]:
    """The numbers at the head of the page."""
    track, place = board.track, item.best
    if place is None:
        metrics = item.verdict.metrics
        axes = [m for m in (track.quality.metric, track.cost.metric) if m in metrics]
        rows = [(track.label(m), board.words(m, metrics[m]), "") for m in axes]
    else:
        rows = [*_ranked_by(board, place.entry), *_more_figures(board, item, place)]
    return [{"label": a, "value": b, "extra": c} for a, b, c in rows]


def _ranked_by(board: TrackBoard, entry: Entry) -> Iterator[tuple[str, str, str]]:
    track = board.track
    if entry.progress:
        is_baseline = track.is_baseline(entry.submission)
        extra = "is the baseline" if is_baseline else _interval(board, entry.progress.interval)
        yield "Ratio to the baseline", board.words("ratio", entry.progress.ratio), extra
    interval = entry.point.summary.interval
    form = board.form(track.quality.metric)
    spread = f"± {form.show((interval[1] - interval[0]) / 2)}" if interval else ""
    quality = board.words(track.quality.metric, entry.quality)
    yield track.label(track.quality.metric), quality, spread or track.quality.unit
    if track.objective != "best":
        clock = "" if entry.clock == "own" else CLOCKS[entry.clock]
        cost = board.words(track.cost.metric, entry.shown_cost)
        yield track.label(track.cost.metric), cost, clock
    if entry.clock != "own":
        yield "Its own runs", board.words(track.cost.metric, entry.cost), ""


_MORE_FIGURES = (
    *("model_flops", "training_time_s", "steps", "mfu", "parameters", "tokens"),
    *("chip_hours", "cost_usd"),
)


def _more_figures(board: TrackBoard, item: Item, place: Place) -> Iterator[tuple[str, str, str]]:
    track = board.track
    for metric in (*track.metrics, *_MORE_FIGURES):
        value = place.values.get(metric)
        if metric not in (track.quality.metric, track.cost.metric) and number(value) is not None:
            yield track.label(metric), board.words(metric, value), ""
    chips, device = number(place.values.get("chips")), device_of(item.verdict, item.about)
    if device:
        count = f"{chips:g} × " if chips else ""
        yield "Hardware", f"{count}{text.clean(device, 40)}", ""


def _interval(board: TrackBoard, interval: tuple[float, float] | None) -> str:
    return DASH.join(board.words("ratio", v) for v in interval) if interval else "no interval"


def claim_rows(item: Item) -> list[dict[str, Any]]:
    """Each claim beside the value that its evidence gives; marked where a rule objects."""
    if item.about is None:
        return []
    objected = {f.pointer for f in item.verdict.findings if f.rule == "claim-differs-from-run"}
    rows = []
    for claim in item.about.claims[:40]:
        value = _recomputed(item, claim.metric, claim.point)
        if value is None:
            difference = DASH
        elif value:
            difference = text.signed(100 * (claim.value - value) / abs(value), 3) + " %"
        else:
            difference = text.signed(claim.value, 4)
        pair = (claim.value, value)
        form = format_of(claim.metric, pair)
        if value is not None and not math.isclose(claim.value, value, rel_tol=1e-6):
            form = apart(form, pair)
        label = text.label(text.clean(claim.metric, 60))
        if claim.point:
            label += f" · {text.clean(claim.point, 40)}"
        rows.append(
            {
                "label": label,
                "claimed": form.words(claim.value),
                "value": form.words(value),
                "difference": difference,
                "off": claim.pointer in objected,
            }
        )
    return rows


def _recomputed(item: Item, metric: str, point: str | None) -> float | None:
    for candidate in item.verdict.points:
        if point is None or candidate.name == point:
            value = number(candidate.metrics.get(metric))
            if value is not None:
                return value
            m = candidate.summary.moments
            if m is None:
                return None
            return {"p": candidate.summary.p, "n": m.n, "sd": m.sd, "mean": m.mean}.get(metric)
    return None


def _finding(finding: Finding, accepted: Any) -> dict[str, Any]:
    where = finding.file or ""
    if where and finding.line:
        where += f", line {finding.line}"
    if finding.pointer:
        where += f" at {finding.pointer}"
    numbers = []
    for name, value in (("claimed", finding.claimed), ("expected", finding.expected)):
        if value is not None:
            shown = figure(value) if isinstance(value, float) else value
            numbers.append(f"{name} {text.clean(shown, 100)}")
    if finding.ratio is not None:
        numbers.append(f"ratio {finding.ratio:.4g}")
    level = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "note"}[finding.level]
    return {
        "level": level,
        "rule": finding.rule,
        "message": finding.message,
        "where": where,
        "numbers": ", ".join(numbers),
        "fix": finding.fix,
        "accepted": accepted.get(finding.rule),
    }


def rival_of(board: TrackBoard, item: Item) -> Item | None:
    """What to compare with: the record, or the frontier's entry of no more cost."""
    if board.record is not None:
        return board.record[0] if board.record[0].path != item.path else None
    if item.best is None or not board.board.frontier:
        return None
    front = board.board.frontier
    at = bisect.bisect_right(front, item.best.entry.shown_cost, key=lambda e: e.shown_cost)
    at = max(0, at - 1)
    rival = board.items[board.board.frontier[at].submission]
    return rival if rival.path != item.path else None
