"""What an answer folds away: all numbers, the statistics in a sentence, the runs. Plain text."""

from __future__ import annotations

import functools as ft
from collections.abc import Callable, Iterator, Mapping

from bot.model.summary import Moments, Summary
from bot.model.verdict import Verdict
from bot.registry import METRIC_LABELS, RELATIVE_TOLERANCE, metric_label
from bot.render import numbers
from bot.render.untrusted import plain


def claimed_rows(verdict: Verdict) -> Iterator[tuple[str, str, str, str]]:
    """(metric, claimed, recomputed, claimed / recomputed), the last with a mark where it is off."""
    claimed = _claimed(verdict)
    several = len(verdict.points) > 1
    for point in verdict.points:
        for name in dict.fromkeys((*METRIC_LABELS, *point.metrics)):
            title = METRIC_LABELS.get(name) or plain(metric_label(name), 40)
            value, stated = point.metrics.get(name), claimed.get(name)
            if value is None and stated is None:
                continue
            label = f"{plain(point.name, 40)}: {title}" if several else title
            form = ft.partial(numbers.quantity, name)
            recomputed = "cannot be computed" if value is None else _shown(value, form)
            ratio = numbers.figure(stated / value, 4) if stated is not None and value else ""
            mark = (
                " !"
                if stated is not None and value and abs(stated / value - 1) > RELATIVE_TOLERANCE
                else ""
            )
            said = "" if stated is None else _shown(stated, form)
            yield label, said, recomputed, ratio + mark


_MORE_LABELS = {"device": "Device", "runtime_s": "Time that the run lasted"}


def witness_rows(verdict: Verdict) -> Iterator[tuple[str, str, str]]:
    """(quantity, value, who states it) of the first point: what each number rests on."""
    for point in verdict.points[:1]:
        for name, title in {**METRIC_LABELS, **_MORE_LABELS}.items():
            found = point.rests_on.get(name, ())
            if found:
                form = ft.partial(numbers.quantity, name)
                mean = point.metrics.get(name)
                said = [f"{plain(w.source, 80)} ({w.kind})" for w in found]
                if mean is None and len({w.value for w in found}) > 1:
                    said = [
                        f"{who}: {_shown(w.value, form)}"
                        for w, who in zip(found, said, strict=True)
                    ]
                yield title, _shown(found[0].value if mean is None else mean, form), "; ".join(said)


def _shown(value: object, form: Callable[[float], str]) -> str:
    """A number in its form; what a report holds in place of one is text of a stranger."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return form(value)
    return numbers.DASH if value is None else plain(str(value), 60)


def _claimed(verdict: Verdict) -> Mapping[str, float]:
    """What the file of the run states, where the submission is one results file."""
    if len(verdict.runs) != 1 or len(verdict.points) != 1:
        return {}
    return verdict.runs[0].claimed or {}


def statistics(verdict: Verdict) -> Iterator[str]:
    """A sentence on the statistics of each point that has some, and what is not counted."""
    for point in verdict.points:
        s = point.statistics
        if s is None:
            continue
        name = f"{plain(point.name, 40)}: " if len(verdict.points) > 1 else ""
        if s.moments is not None:
            yield f"{name}{_moments(s, s.moments)}{_tests(s)}."
        for item in s.excluded:
            inside = f"{verdict.submission}/"
            file, why = item.file.removeprefix(inside), item.why.replace(inside, "")
            yield f"{name}Not counted: {plain(file, 160)}, {plain(why, 200)}."


def _moments(s: Summary, m: Moments) -> str:
    said = f"{numbers.count(m.n, 'run')}: mean {plain(s.metric, 40)} {numbers.figure(m.mean, 7)}"
    if m.sd is not None:
        said += f", standard deviation {numbers.figure(m.sd, 3)} (n - 1)"
    if s.interval:
        low, high = (numbers.figure(v, 6) for v in s.interval)
        said += f", 95 % interval {low} to {high}"
    return said


def _tests(s: Summary) -> str:
    """The p-values: that of the track's own test first."""
    named = (
        ("p", s.p),
        ("p with the known sigma", None if s.decision.test == "z" else s.p_sigma),
        ("p with the track's pooled sd", s.p_pooled),
        ("p without the best run", s.without_best.p if s.without_best else None),
    )
    shown = [f"{words}: {numbers.probability(p)}" for words, p in named if p is not None]
    if s.decision.test == "none" or not shown:
        return ""
    return f"; {', '.join(shown)}"


def listed_runs(verdict: Verdict) -> int:
    """How many runs are listed, those that could not be read included."""
    return len(verdict.runs) + len(_unread(verdict))


def _unread(verdict: Verdict) -> list[str]:
    """The files and links of the listed runs that could not be read."""
    read = {run.file for run in verdict.runs}
    stated = [point.statistics for point in verdict.points]
    return [e.file for s in stated if s for e in s.excluded if e.file not in read]


def arms_of(verdict: Verdict) -> list[str]:
    """The arm of each run, in the order of `run_rows`; empty where all are of one."""
    arms = [plain(run.arm, 40) for run in verdict.runs]
    return [*arms, *("" for _ in _unread(verdict))] if len(set(arms)) > 1 else []


def run_rows(verdict: Verdict) -> Iterator[tuple[str, str, str, str, str]]:
    """(run, step, loss, time, finished) of each run; a column of losses has one count of
    decimals."""
    losses = [_shown(run.loss, lambda value: numbers.figure(value, 7)) for run in verdict.runs]
    seen: set[tuple[str, int]] = set()
    for run, loss in zip(verdict.runs, numbers.aligned(losses), strict=True):
        ended = run.finished
        finished = "yes" if ended is True else "no" if ended is False else "unknown"
        if (run.file, run.index) in seen:
            finished = "listed twice"
        seen.add((run.file, run.index))
        yield (
            plain(run.file, 120),
            _shown(run.step, numbers.figure),
            loss,
            _shown(run.time_s, numbers.duration),
            finished,
        )
    for file in _unread(verdict):
        yield plain(file, 120), *(numbers.DASH,) * 3, "not read"
