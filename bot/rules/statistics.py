"""Statistics: does the mean reach the target, is it proved, are the reported numbers the runs'?

Every rule here works on `bot.compute.case_statistics.of_case`, one point of a submission at a
time. Runs that did not finish are left out of all of them, loudly. On an imported entry nothing
here blocks: its own board has decided, and the findings are shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.compute import significance as sig
from bot.compute.case_statistics import has_unread, of_case, points_of
from bot.compute.ratios import measured, needed_pairs
from bot.compute.summary import guarded
from bot.model.case import Case
from bot.model.look import Look
from bot.model.summary import Decision, Summary
from bot.model.verdict import Finding, finding
from bot.registry import MANY_RUNS, Level, default_level
from bot.render.numbers import apart, count, figure, p_is, probability
from bot.rules.about import ratio, short_name
from bot.rules.reported import right, wrong_claims
from bot.rules.rounding import rounding_decides

_NAMED = 5
"""So many runs that do not count are named."""


def target_missed(case: Case) -> Iterator[Finding]:
    """The mean over the finished runs reaches the track's target.

    The mean counts, not the best run: a single low loss is mostly luck. Train slightly longer, or
    claim a later step, until the mean reaches the target.
    """
    for point, s in summaries(case):
        m, target = s.moments, s.target
        if m is None or target is None:
            continue
        if not _reached(s):
            side = "above" if s.goal == "min" else "below"
            yield found_in(
                case,
                "target-missed",
                point,
                f"the mean {s.metric} of {count(s.n, 'run')} is {apart(m.mean, target)}, {side} "
                f"the target {figure(target)}{_wide(case, s)}",
                expected=target,
                claimed=m.mean,
                ratio=ratio(m.mean, target),
                fix="train longer, or claim a later step, until the mean reaches the target",
            )


def target_not_significant(case: Case) -> Iterator[Finding]:
    """The runs prove that the true mean reaches the target, by the track's own test.

    One-sided: `t` is the one-sample t-test (sd with ddof = 1) with p < alpha; `z` takes sigma as
    known and asks for (target - mean) sqrt(n) at or above the track's threshold; `moderated` is the
    t-test with the spread shrunk to the track's usual one; `anytime` stays honest when one looks
    after each run. With `looks` a growing submission is judged at these numbers of runs only, each
    at an equal share of alpha. More runs at the same mean help; anyone may add them. Where losses
    are printed with less than four decimals, and half of a digit decides, a maintainer looks.
    """
    for point, s in summaries(case):
        m, target = s.moments, s.target
        rounded = rounding_decides(case, s, point)
        if rounded is not None:
            yield found_in(
                case,
                "target-not-significant",
                point,
                rounded,
                level=Level.WARNING,
                claimed=s.decision.p,
                fix="print losses with 4 decimals or more",
            )
        if m is None or target is None or s.passes or s.n < _least_runs(case) or not _reached(s):
            continue
        wide = _wide(case, s)
        doubt = "" if wide else _doubt(case, s)
        fix = (
            "move the runs of another experiment to a point of their own" if wide else more_runs(s)
        )
        yield found_in(
            case,
            "target-not-significant",
            point,
            f"the mean is good ({apart(m.mean, target)}, target {figure(target)}), but "
            f"{doubt or _short(s) + _evidence(case, s)}{wide}",
            claimed=s.decision.p,
            expected=_bar(case, s.decision),
            fix=f"check that each run has a seed of its own. {fix[0].upper()}{fix[1:]}"
            if doubt and _alike(case, s)
            else fix,
        )


def _doubt(case: Case, s: Summary) -> str:
    """Why runs whose own p is small enough do not pass, in words: their spread is not believed,
    and with the track's usual one p is too large. Empty for all others."""
    rule, p, m = case.track.significance, s.decision.p, s.moments
    if p is None or p >= rule.alpha_each or s.p_pooled is None or m is None or s.target is None:
        return ""
    if not guarded(m.gain(s.target, s.goal), rule):
        return ""
    runs, alpha = count(s.n, "run"), rule.alpha_each
    why = f"{runs} are too few to show how far runs spread"
    if _alike(case, s):
        why = f"the {runs} are more alike than 99 of 100 groups of runs on this track"
    return (
        f"{why}: with the usual spread {p_is(s.p_pooled, alpha)}, needed below {figure(alpha)} "
        f"(by their own it is {probability(p, alpha)})"
    )


def _alike(case: Case, s: Summary) -> bool:
    """Whether the runs spread less than all but one in a hundred groups of the track's runs."""
    usual, sd = case.track.significance.pooled_sd, None if s.moments is None else s.moments.sd
    return usual is not None and sig.too_alike(sd, s.n, usual)


def _short(s: Summary) -> str:
    if s.decision.taken is not None:
        return f"{count(s.n, 'run')} are not judged: "
    return f"{count(s.n, 'run')} leave too much to chance: "


def _bar(case: Case, d: Decision) -> str:
    """What the track's test asks for, as it is decided."""
    if d.bound is not None:
        return f"(target - mean) sqrt(n) >= {d.bound:g}"
    return f"p < {figure(case.track.significance.alpha_each)}"


def for_points(p: float | None) -> str:
    """p corrected for the number of points, in words; empty for one point."""
    return "" if p is None else f" ({figure(p, 2)} corrected for the number of points)"


def more_runs(s: Summary) -> str:
    """How many more runs, and how likely they are to pass; or that a longer run is the way."""
    if not _reached(s):
        return "More runs would not help: the mean misses the target. Train longer."
    if not s.chances and s.decision.taken is not None:
        return "submit it under another name, with runs that no pull request has shown."
    if not s.chances and s.needed_runs is None and not _spread_known(s):
        return (
            "add runs with other seeds: these show no spread, so that nobody can say how many "
            "would pass."
        )
    if not s.chances or s.chances[0].runs > MANY_RUNS:
        return "More runs would hardly help at this mean. Train slightly longer, to a better mean."
    first, *rest = s.chances
    odds = f"about {in_percent(first.chance)} chance to pass"
    odds += "".join(f", {in_percent(c.chance)} with {c.runs}" for c in rest)
    runs = f"{count(first.runs, 'run')}{_gpu_hours(s, first.runs)}"
    return f"add about {runs}: {odds}. {_anyone(first.runs)}"


def _anyone(runs: int) -> str:
    return f"Anyone may add the {'run' if runs == 1 else 'runs'}"


def _spread_known(s: Summary) -> bool:
    """Whether the runs themselves show a spread."""
    return s.moments is not None and bool(s.moments.sd)


def in_percent(chance: float) -> str:
    """A chance as `75 %`, no finer than it is known."""
    return f"{5 * round(20 * min(chance, 0.95)):d} %"


def too_few_runs(case: Case) -> Iterator[Finding]:
    """There are as many finished runs as the track asks for, and at least two where it asks for a
    test: one run has no spread, so nothing can be proved with it.

    Runs that did not finish and copies of a run do not count; the message names them. A
    reproduction or a challenge needs two runs in each arm, a challenge as many as the entry has.
    """
    reply = case.submission.reply
    if reply is not None:
        yield from _too_few_pairs(case, challenge=reply.kind == "challenges")
        return
    least = _least_runs(case)
    for point, s in summaries(case):
        if s.n >= least:
            continue
        out = f"; not counted: {_excluded(s)}" if s.excluded else ""
        yield found_in(
            case,
            "too-few-runs",
            point,
            f"{_finished(s.n)}; the track needs at least {least}{out}",
            claimed=s.n,
            expected=least,
            fix=_add(s, least - s.n),
        )


def _too_few_pairs(case: Case, challenge: bool) -> Iterator[Finding]:
    target = case.context.standing.target
    own = measured(target.statistics) if challenge and target else None
    least = needed_pairs(own)
    for point, s in summaries(case):
        theirs = len(s.baseline.cost.values) if s.baseline else 0
        if min(s.n, theirs) >= least:
            continue
        yield found_in(
            case,
            "too-few-runs",
            point,
            f"{count(s.n, 'run')} of the entry and {count(theirs, 'run')} of the baseline; a "
            f"{'challenge' if challenge else 'reproduction'} needs at least {least} of each",
            claimed=min(s.n, theirs),
            expected=least,
            fix="run both in turn on one machine. Anyone may add runs",
        )


def _finished(n: int) -> str:
    return count(n, "finished run") if n else "no finished run"


def _add(s: Summary, fewest: int) -> str:
    """How many runs to add: those that the track asks for, and those that should pass its test."""
    need = s.needed_runs or 0
    least = f"add {count(fewest, 'more run')}"
    if need <= fewest:
        return f"{least}{_gpu_hours(s, fewest)}. {_anyone(fewest)}"
    if need > MANY_RUNS:
        return (
            f"train slightly longer, then {least}: at this mean and the track's usual spread it "
            f"would take about {need}"
        )
    return (
        f"add about {need} runs{_gpu_hours(s, need)}: about an even chance to pass, if the true "
        "mean is this one and the spread the track's usual one. Anyone may add the runs"
    )


def reported_statistics_wrong(case: Case) -> Iterator[Finding]:
    """The reported mean, sd, n, p and time are those of the runs.

    Tolerances: 6e-5 for the mean or sd of a loss, 2 % or 6e-5 for p, 0.06 s for a time (in a
    rounded table half of its last digit plus 0.05 s), 0.2 % for anything else; n must be exact. The
    message says what the number is if it can be recognised: a population sd, a standard error, a p
    without the square root of n, a two-sided p, the fastest run's time. Run `speedrun stats` and
    report what it prints.
    """
    for point, s in () if has_unread(case) else summaries(case):
        for wrong in wrong_claims(case, point, s):
            yield found_in(
                case,
                "reported-statistics-wrong",
                point,
                wrong.message,
                pointer=wrong.pointer,
                claimed=wrong.claimed,
                expected=wrong.expected,
                ratio=ratio(wrong.claimed, wrong.expected),
                write=right(wrong),
                fix=wrong.fix,
                level=wrong.level,
            )


def depends_on_best_run(case: Case) -> Iterator[Finding]:
    """The test also passes without the best run. If not, a note says that the result rests on one
    lucky run.

    From six runs on: with fewer, three in four honest results depend on their best run.
    """
    for point, s in summaries(case):
        rest = s.without_best
        if s.passes and s.n >= 6 and rest is not None and not rest.passes:
            yield found_in(
                case,
                "depends-on-best-run",
                point,
                f"the test does not pass without the best run{without_best(s)}",
                claimed=s.decision.p,
                expected=rest.p,
                fix="one or two more runs would settle it.",
            )


def without_best(s: Summary) -> str:
    """The p without the best run beside its bound, ` (p = 0.02, needed below 0.01)`; empty if it
    is not p that falls short."""
    p = None if s.without_best is None else s.without_best.p
    if p is None or p < s.level:
        return ""
    return f" ({p_is(p, s.level)}, needed below {figure(s.level, 3)})"


# ---- Shared ------------------------------------------------------------------------------------


def summaries(case: Case) -> Iterator[tuple[str | None, Summary]]:
    for point in points_of(case):
        summary = of_case(case, point)
        if summary is not None:
            yield point, summary


def found_in(case: Case, name: str, point: str | None, message: str, **fields: Any) -> Finding:
    """A finding of this family; on an imported entry an error weighs as a warning."""
    level = fields.pop("level", None) or default_level(name)
    if case.brought_over and level is Level.ERROR:
        level = Level.WARNING
    where = f"point {point}: " if point is not None else ""
    file = case.folder.full("submission.json")
    return finding(name, where + message, level, point=point, file=file, **fields)


def _least_runs(case: Case) -> int:
    return case.track.significance.least_runs


def _reached(s: Summary) -> bool:
    m = s.moments
    if m is None or s.target is None:
        return False
    return sig.reaches(m.gain(s.target, s.goal).mean, 0.0)


def _evidence(case: Case, s: Summary) -> str:
    """The statistic that falls short, in the terms of the track's test."""
    d = s.decision
    if d.bound is not None and d.statistic is not None:
        reached = apart(d.statistic, d.bound)
        return f"(target - mean) × √n = {reached}, needed at least {figure(d.bound)}"
    if d.taken is not None:
        return look_taken(d.taken)
    if d.p is None:
        return "the runs are all equal, and without a spread there is no p"
    alpha = case.track.significance.alpha_each
    return f"{p_is(d.p, alpha)}{for_points(d.p_holm)}, needed below {figure(alpha)}"


def look_taken(look: Look) -> str:
    """Why runs are not judged at a look that was taken with others."""
    taken = f"the look at {look.runs} runs was already taken, with other runs"
    return f"{taken}; each look happens once"


def _gpu_hours(s: Summary, runs: int) -> str:
    m = s.time.moments
    if m is None or not s.gpu_count:
        return ""
    hours = runs * m.mean * s.gpu_count / 3600
    shown = figure(hours, 2)
    return f" (about {shown} GPU-hour{'' if shown == '1' else 's'})"


def _wide(case: Case, s: Summary) -> str:
    """A spread that runs of one experiment do not have on this track, with the run far off."""
    usual, m = case.track.significance.pooled_sd, s.moments
    if not usual or m is None or m.sd is None or m.sd < 5 * usual:
        return ""
    far = max(s.quality.values, key=lambda value: abs(value - m.mean))
    return (
        f"; their standard deviation, {figure(m.sd, 3)}, is {m.sd / usual:.0f} times the usual "
        f"one, as if they came from several experiments (one run has {figure(far)})"
    )


def _excluded(s: Summary) -> str:
    shown = [f"{short_name(e.file)} ({e.why})" for e in s.excluded]
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return "; ".join(shown[:_NAMED]) + more
