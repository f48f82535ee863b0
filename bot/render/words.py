"""A summary of runs in plain words, for the terminal, the comment and the board."""

from __future__ import annotations

from collections.abc import Iterator

from bot.model.summary import BaselineArm, Moments, Summary
from bot.render import numbers
from bot.render.groups import sentence
from bot.rules.statistics import for_points, look_taken, more_runs, without_best


def sentences(summary: Summary) -> tuple[str, ...]:
    """What the runs show, whether it suffices, and what would; most important first."""
    return tuple(_sentences(summary))


def _sentences(s: Summary) -> Iterator[str]:
    if not s.n:
        yield "No run counts." + (f" {s.hint}." if s.hint else "")
    else:
        yield f"{_what(s)}{_verdict(s)}"
        yield from _advice(s)
        yield from _beside(s)
    if s.cost.values and s.cost_metric != "steps":
        yield f"{s.cost_metric}: {_spread(s.cost.values)}."
    elif s.time.values:
        yield f"time_s: {_spread(s.time.values)}."
    if s.baseline is not None:
        yield from _baseline(s, s.baseline)
    for item in s.excluded:
        run = f" run {item.run}" if item.run else ""
        yield f"Not counted: {item.file}{run}: {item.why}."


def _what(s: Summary) -> str:
    m = s.moments
    assert m is not None
    runs = numbers.count(m.n, "run")
    at = f" at step {s.step}" if s.step is not None else ""
    bounds = s.interval
    decimals = _decimals((bounds[1] - bounds[0]) / 2) if bounds else 4
    half = f" ± {(bounds[1] - bounds[0]) / 2:.{decimals}f}" if bounds else ""
    return f"{runs}{at}, mean {m.mean:.{decimals}f}{half}"


def _verdict(s: Summary) -> str:
    d, m = s.decision, s.moments
    assert m is not None
    if s.target is None:
        return ". The track has no target."
    goal = f"{'below' if s.goal == 'min' else 'above'} {numbers.figure(s.target)}"
    met = m.mean < s.target if s.goal == "min" else m.mean > s.target
    word = "Passes." if d.passes else "Does not pass."
    if d.test == "none":
        return f": {'' if met else 'not '}{goal}; the track has no test. {word}"
    if not met:
        return f": not {goal}. {word}"
    if d.taken is not None:
        return f": {goal}, but {look_taken(d.taken)}. {word}"
    if d.p is None:
        why = "one run proves nothing" if s.n == 1 else "runs that are all equal show no spread"
        return f": {goal}, but {why}. {word}"
    kinds = {"z": " (known sigma)", "anytime": " (anytime-valid)", "moderated": " (moderated)"}
    judged = "" if d.judged in (None, s.n) else f"; judged at its first {d.judged} runs"
    if d.judged == 0:
        judged = "; too few runs to be judged"
    shown = f" with {numbers.p_is(d.p, s.level)}{for_points(d.p_holm)}{kinds.get(d.test, '')}"
    if d.bound is not None and d.statistic is not None:
        reached = numbers.apart(d.statistic, d.bound)
        shown = f", (target - mean) × √n = {reached}, needed at least {numbers.figure(d.bound)}"
    return f": {goal}{shown}{judged}. {word}"


def _advice(s: Summary) -> Iterator[str]:
    """How many more runs, and how likely they are to pass."""
    if not s.passes and s.decision.test != "none":
        yield sentence(more_runs(s))


def _beside(s: Summary) -> Iterator[str]:
    """The other tests, beside the one that decides."""
    own = s.decision.test
    others = [
        ("t-test", s.p_t if own != "t" else None),
        ("known sigma", s.p_sigma if own != "z" else None),
        ("pooled sd", s.p_pooled),
        ("moderated t", s.p_moderated if own != "moderated" else None),
        ("any number of looks", s.p_anytime if own != "anytime" else None),
    ]
    known = [f"{name} {numbers.p_is(p)}" for name, p in others if p is not None]
    if known and own != "none":
        yield f"Other tests: {', '.join(known)}."
    if s.without_best is not None and s.passes and not s.without_best.passes:
        yield f"It would not pass without the best run{without_best(s)}."


def _direction(p: float, ratio: float, goal: str) -> str:
    """The p of the improvement, called by the direction that was measured."""
    better = "less" if goal == "min" else "more"
    if ratio < 1 if goal == "min" else ratio > 1:
        return f", {better} with {numbers.p_is(p)}"
    return f", so not {better}"


def _baseline(s: Summary, b: BaselineArm) -> Iterator[str]:
    n = b.n
    if not n:
        yield "No run of the baseline counts."
    c = b.comparison
    if c is not None and c.ratio is not None and s.cost_metric != "steps":
        bounds = c.ratio_interval
        span = f" ({bounds[0]:.4f} to {bounds[1]:.4f})" if bounds else ""
        p = "" if b.p is None else _direction(b.p, c.ratio, s.cost_goal)
        way = "paired" if c.method == "paired" else f"against {n} of the baseline"
        yield f"{s.cost_metric} is {c.ratio:.4f}{span} of the baseline's, {way}{p}."
    if b.promotes is not None:
        word = "is due" if b.promotes else "is not due yet"
        yield f"A new baseline is made at {b.promote_at:g} of the old one; it {word}."
    if b.pairwise is not None:
        w = b.pairwise
        word = "significant" if w.passes else "not significant"
        yield (
            f"Against the baseline, with {w.steps_saved:g} steps saved: {w.statistic:.5f} "
            f"by the pairwise rule, {word}."
        )
    for item in b.excluded:
        yield f"Not counted in the baseline: {item.file}: {item.why}."


def _spread(values: tuple[float, ...]) -> str:
    m = Moments.of(values)
    if m.sd is None:
        return numbers.figure(m.mean, 7)
    return f"mean {numbers.figure(m.mean, 7)}, sd {numbers.figure(m.sd, 3)}, {m.n} runs"


def _decimals(half: float) -> int:
    """Decimals that show the uncertainty's first digit; losses have four at least."""
    for decimals in range(4, 9):
        if half >= 10.0**-decimals:
            return decimals
    return 8
