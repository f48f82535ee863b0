"""What a verdict means on its track: the result in the track's unit, its place, what is needed.

Plain text made of our own numbers, so that it travels in a report to whoever prints it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bot.compute.baselines import relation
from bot.compute.ratios import Link, Measured, measured
from bot.model.board import Clock, Entry, Placement, Progress
from bot.model.report import Place
from bot.model.summary import Summary
from bot.model.track import Track
from bot.model.verdict import Point, Verdict
from bot.registry import Status
from bot.render import numbers
from bot.render.states import confirming
from bot.render.untrusted import plain

Row = tuple[str, str, str, str]
"""What, yours, needed, record."""
RECORD = "record now"
CLOCKS: Mapping[Clock, str] = {
    "own": "",
    "official": " by official timing",
    "paired": " scaled to the record's clock",
}
"""What follows a cost that is not what the entry's own runs took."""


def place(
    verdict: Verdict,
    track: Track,
    placement: Placement | None,
    *,
    record_cost: float | None = None,
    why_not: str | None = None,
    reply: str = "",
) -> Place:
    """The words of a verdict on its track; `why_not` says why it would have no place, `reply` what
    a reproduction or a challenge, which has none, makes of its entry."""
    point = placement.entry.point if placement else next(iter(verdict.points), None)
    progress = placement.entry.progress if placement else _unplaced(verdict, point, track)
    if placement is None:
        text = reply or why_not or ""
    else:
        text = _text(placement, track, verdict.status) + _state(placement.entry, track)
    return Place(
        text=text,
        result="" if point is None else _result(point, track, placement, progress),
        rows=() if point is None else tuple(_rows(point, track, record_cost, placement, progress)),
        ranks=bool(reply) or why_not is None,
        record=placement is not None and placement.record,
        claimed=placement is not None and _claimed(placement.entry, track),
        on_frontier=placement is not None and placement.on_frontier,
        confirm=confirming(placement.entry, track) if placement else "",
    )


def _unplaced(verdict: Verdict, point: Point | None, track: Track) -> Progress | None:
    """What a verdict without a place shows beside the baseline that it ran, and what that makes
    beside the one that stands."""
    arm = point.summary.baseline if point else None
    if track.objective != "baseline" or not track.is_open or point is None or arm is None:
        return None
    own = measured(point.statistics) or (Measured(arm.ratio, 1) if arm.ratio else None)
    if own is None:
        return None
    now = own.scaled(_links(verdict.against, track) or ())
    return Progress(now.ratio, now.interval, False, own.ratio, verdict.against, own.pairs)


def _links(against: str | None, track: Track) -> tuple[Link, ...] | None:
    """The ratios from a baseline to the one that stands; None where nothing relates the two."""
    current = track.baseline_id or ""
    return relation(track.baselines, against or current, current)


def _result(
    point: Point, track: Track, placement: Placement | None, progress: Progress | None
) -> str:
    """The result in the track's own unit; empty where there is none."""
    clock = placement.entry.clock if placement else "own"
    shown = point.cost if placement is None else placement.entry.shown_cost
    cost = amount(track, track.cost.metric, shown) + CLOCKS[clock]
    quality = amount(track, track.quality.metric, point.quality)
    if track.objective == "pareto":
        return f"{quality} at {cost}" if None not in (point.quality, point.cost) else ""
    if progress is not None:
        interval = progress.interval
        noise = interval is not None and interval[0] < 1 < interval[1]
        cost = track.in_sentence(track.cost.metric)
        words = _beside_old(progress, track, cost, placement is not None) or _beside_baseline(
            progress.ratio, cost
        )
        return f"{words}, within the noise" if noise else words
    return "" if point.cost is None else cost


def _beside_old(progress: Progress, track: Track, cost: str, placed: bool) -> str:
    """The result of an entry that ran an older baseline: what it measured, and what that makes
    beside the one that stands. Empty for any other, and for a former baseline itself."""
    if progress.against in (None, track.baseline_id) or progress.measured == 1:
        return ""
    old, now = plain(progress.against or "", 100), plain(track.baseline_id or "", 100)
    ran = _beside_baseline(progress.measured, cost, f"the old baseline {old}")
    if not placed and _links(progress.against, track) is None:
        return ran
    return f"{ran}, {_change(progress.ratio)} than {now}, which stands now"


def _change(ratio: float) -> str:
    return f"{numbers.percent(abs(1 - ratio))} {'less' if ratio < 1 else 'more'}"


def _beside_baseline(ratio: float, cost: str, than: str = "the baseline") -> str:
    if ratio == 1:
        return f"the same {cost} as {than}"
    return f"{_change(ratio)} {cost} than {than}"


def _text(placement: Placement, track: Track, status: Status) -> str:
    entry, of = placement.entry, placement.of
    if track.objective == "pareto":
        return _frontier(placement)
    where = f"{'shared ' if placement.tied else ''}{numbers.ordinal(placement.place)} of {of}"
    gap = placement.gap
    if entry.progress is not None:
        return where
    if gap is None:
        return "the first entry" if of == 1 else where
    size = numbers.difference(track.cost.metric, gap, track.cost.unit)
    ahead = gap < 0 if track.cost.goal == "min" else gap > 0
    if placement.record and ahead:
        kind = "a new" if status is Status.VERIFIED else "a possible"
        return f"{kind} record by {size}"
    if not gap:
        return f"{where}, level with the record"
    if placement.place == 1 and not ahead:  # the record is not on the board
        return f"{where} on the board, {size} behind the official record"
    return f"{where}, {size} {'ahead of' if ahead else 'behind'} the record"


def _state(entry: Entry, track: Track) -> str:
    """What the community made of the entry; a baseline that stands or stood is not a claim."""
    state = entry.state
    bare = state.name == "claimed" and not _claimed(entry, track)
    waits = " until others confirm it" if state.name == "claimed" else ""
    words = "" if bare else f", {state.name}{waits}"
    gone = ", ".join(plain(path, 200) for path in state.refuted[:2])
    return words + (f"; it builds on {gone}, which is refuted" if gone else "")


def _claimed(entry: Entry, track: Track) -> bool:
    """Whether an entry's gain waits for others to show it. A baseline claims none."""
    frozen = any(b.submission == entry.submission for b in track.baselines)
    made = entry.progress is None or frozen or track.is_baseline(entry.submission)
    return not made and entry.state.name in ("claimed", "challenged")


def _frontier(placement: Placement) -> str:
    if placement.on_frontier:
        among = f" of {placement.of} entries" if placement.of > 1 else ", the only entry"
        words = f"on the frontier{among}"
    else:
        better = placement.place - 1
        words = f"{numbers.ordinal(placement.place)} of {placement.of}"
        others = "1 entry is" if better == 1 else f"{better} entries are"
        words += f"; {others} at least as good on both axes"
    return words


def _rows(
    point: Point,
    track: Track,
    record_cost: float | None,
    placement: Placement | None,
    progress: Progress | None,
) -> Iterator[Row]:
    s = point.summary
    quality, cost = track.quality, track.cost
    # On a track of ratios the record's own cost is that of another machine.
    alone = record_cost is None or progress is not None or track.objective == "baseline"
    record = "" if alone else amount(track, cost.metric, record_cost)
    one = cost.metric == quality.metric  # ranked by quality alone
    if point.quality is not None:
        mean = _mean_of(s.n, s.n + len(s.excluded))
        shown, needed = _against_target(point.quality, track)
        yield track.label(quality.metric) + mean, shown, needed, record if one else ""
    yield from _certainty(s, track)
    if point.cost is not None and not one:
        label, own = track.label(cost.metric), amount(track, cost.metric, point.cost)
        entry = placement.entry if placement else None
        if entry is None or entry.clock == "own":
            yield label, own, "", record
        else:
            yield f"{label} of these runs", own, "", ""
            yield (
                label + CLOCKS[entry.clock],
                amount(track, cost.metric, entry.shown_cost),
                "",
                record,
            )
    if progress is not None and progress.ratio != 1:
        span = progress.interval
        spread = " ({} to {})".format(*(numbers.apart(b, 1, 3) for b in span)) if span else ""
        yield "Ratio to the baseline", f"{numbers.figure(progress.ratio, 4)}{spread}", "", ""
    band = placement.entry.band if placement else None
    if placement is not None and band is not None:
        by = numbers.ordinal(placement.entry.band_place or 1)
        goal = f"{numbers.figure(band, 5)} {quality.unit}".rstrip() + " or better"
        yield f"Place by {track.in_sentence(cost.metric)} at {goal}", by, "", ""


def _mean_of(n: int, listed: int) -> str:
    """Of how many runs a figure is, and of how many that are listed."""
    if n < listed:
        return f", mean of {n} of {listed} runs" if n > 1 else f", {n} of {listed} runs"
    return f", mean of {n} runs" if n > 1 else ""


def _against_target(value: float, track: Track) -> tuple[str, str]:
    axis = track.quality
    if axis.target is None:
        return amount(track, axis.metric, value), ""
    side = "below" if axis.goal == "min" else "above"
    return numbers.apart(value, axis.target), f"{side} {numbers.figure(axis.target)}"


def _certainty(s: Summary, track: Track) -> Iterator[Row]:
    rule = track.significance
    if rule.test == "z" and rule.threshold is not None and s.decision.statistic is not None:
        shown = numbers.apart(s.decision.statistic, rule.threshold, 3)
        yield "(target - mean) × √n", shown, f"at least {numbers.figure(rule.threshold)}", ""
    elif rule.test != "none" and s.p is not None:
        p = s.p if s.decision.p_holm is None else s.decision.p_holm
        shown = numbers.probability(p, rule.alpha_each)
        yield "p-value", shown, f"below {numbers.figure(rule.alpha_each)}", ""


def table(rows: Sequence[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows as they are shown: the record stands where nothing is needed, which keeps the
    table as narrow as a phone."""
    mixed = any(row[2] for row in rows)
    heads = ("", "yours", "needed" if mixed else RECORD)
    shown = [
        (row[0], row[1], "; ".join(filter(None, (row[2], _record(row[3], mixed))))) for row in rows
    ]
    used = [i for i in range(3) if i == 0 or any(row[i] for row in shown)]
    return tuple(heads[i] for i in used), [tuple(row[i] for i in used) for row in shown]


def _record(value: str, named: bool) -> str:
    return f"{RECORD} {value}" if value and named else value


def amount(track: Track, metric: str, value: float | None) -> str:
    """A metric's value in the track's own unit and decimals."""
    return numbers.quantity(metric, value, track.unit(metric), track.digits(metric))
