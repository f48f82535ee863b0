"""The answer to a submission: one structure of plain words, for every printer.

`answer` words a verdict: result line, next step, groups of findings by cause, a small table, and
what is folded away. Terminal, comment, check run, annotations and board only print it.
"""

from __future__ import annotations

import dataclasses as dc
import enum
import re
from collections.abc import Iterable, Iterator, Mapping

from bot.model.report import Place
from bot.model.summary import Chance
from bot.model.verdict import Finding, Verdict
from bot.registry import MANY_RUNS, OURS, SHORTFALL, STATUS_NAMES, Grade, Level, Status, catalogue
from bot.render import numbers
from bot.render.details import listed_runs
from bot.render.groups import MOST_GROUPS, Group, grouped, sentence
from bot.render.needed import add_arms, by_arm, needed, short_arms
from bot.render.place import Row
from bot.render.schedule import how_often
from bot.rules.statistics import in_percent

ICONS: Mapping[str, str] = {
    "verified": "\N{WHITE HEAVY CHECK MARK}",
    "consistent": "\N{BALLOT BOX WITH CHECK}\ufe0f",
    "needs-review": "\N{LEFT-POINTING MAGNIFYING GLASS}",
    "needs-runs": "\N{LARGE YELLOW CIRCLE}",
    "rejected": "\N{CROSS MARK}",
    "unverifiable": "\N{HOURGLASS WITH FLOWING SAND}",
}
SOURCES: Mapping[str, str] = {
    str(Grade.WANDB): "W&B runs",
    str(Grade.LOG): "training logs",
    str(Grade.SELF_REPORTED): "self-reported numbers",
    "reproduced": "a reproduction",
}
_NOT_COUNTED = frozenset({"run-unfinished", "run-crashed"})
"""Warnings that explain an error of the statistics."""
_ASKS = (Status.REJECTED, Status.NEEDS_RUNS, Status.NEEDS_REVIEW)
DECIDES = "maintainer-decides"
_BINDS = "run-not-bound"
"""A warning about all runs, and the author's first step: it comes before those about one."""
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_AGAIN = re.compile(r"comment `?/verify`?")
_ADD = re.compile(r"add about \d+ runs?\b")
_MOST_WORDS = 15
"""Of the first line."""


class Where(enum.StrEnum):
    """Who reads the answer, which decides the next step: `file` is a file judged alone, `intake` a
    pull request of ours."""

    PULL = "pull"
    INTAKE = "intake"
    FOLDER = "folder"
    FILE = "file"
    BOARD = "board"

    @property
    def on_pull(self) -> bool:
        """Whether a comment on a pull request says it."""
        return self in (Where.PULL, Where.INTAKE)


@dc.dataclass(frozen=True, slots=True)
class Answer:
    """A verdict in words. Texts are plain, with `names` in back quotes."""

    verdict: Verdict
    place: Place
    name: str
    icon: str
    result: str
    next: str
    outlook: str
    """What more runs would bring, and how likely; empty for nothing."""
    groups: tuple[Group, ...]
    folded: tuple[Group, ...]
    rows: tuple[Row, ...]
    more: tuple[Group, ...] = ()
    """What is to be fixed or weighed as well and is folded, for want of room."""

    @property
    def line(self) -> str:
        """The first line, without its icon."""
        return f"{self.name}: {self.result}" if self.result else self.name

    @property
    def source(self) -> str:
        """What the numbers come from."""
        return SOURCES[str(self.verdict.evidence)] if self.verdict.runs else "its files alone"

    @property
    def fold(self) -> str:
        """The title of what is folded away."""
        rest = [group for group in self.folded if group not in self.more]
        parts = [f"{spelt(len(self.more))} more to fix"] * bool(self.more)
        parts += [numbers.count(listed_runs(self.verdict), "run")] * bool(self.verdict.runs)
        parts += ["all numbers"] * bool(self.verdict.runs and self.verdict.points)
        count = sum(len(g.entries) for g in rest)
        parts += [numbers.count(count, "note")] * bool(count)
        others = {f.run for g in self.groups for f in g.folded} - {None}
        if not parts and others:
            return f"The other {numbers.count(len(others), 'run')}"
        return sentence(numbers.listed(parts) or "details").removesuffix(".")


def heading(status: Status) -> str:
    """Icon and name of a status."""
    return f"{ICONS[str(status)]} {STATUS_NAMES[status]}"


def answer(
    verdict: Verdict,
    place: Place | None = None,
    where: Where = Where.PULL,
    review_days: int = 7,
    schedule: str = "",
) -> Answer:
    """The words of a verdict for one reader."""
    place = place or Place()
    made = grouped(_for(where, f, verdict) for f in verdict.findings)
    every = tuple(dc.replace(g, told=_is_told(g, verdict)) for g in made)
    weighing = _weighing(every, verdict)
    shown = tuple(weighing[:MOST_GROUPS])
    return Answer(
        verdict=verdict,
        place=place,
        name=STATUS_NAMES[verdict.status],
        icon=ICONS[str(verdict.status)],
        result=_result(verdict, place, weighing, where),
        next=_next(verdict, place, weighing, where, (review_days, schedule)),
        outlook=_outlook(verdict, place),
        groups=shown,
        folded=tuple(g for g in every if g not in shown),
        rows=place.rows if _is_told_by_numbers(verdict, weighing) else (),
        more=tuple(weighing[MOST_GROUPS:]) if verdict.status in _ASKS else (),
    )


# ---- what weighs -------------------------------------------------------------------------------


def _for(where: Where, item: Finding, verdict: Verdict) -> Finding:
    """A finding for one reader: on a pull request nobody can fix what is at fault on our side, and
    elsewhere nobody can comment."""
    if where.on_pull:
        if verdict.status is Status.NEEDS_REVIEW and item.fix:
            item = dc.replace(item, fix=item.fix.replace("in the README", "here"))
        return dc.replace(item, fix=None) if item.rule in OURS else item
    fix = _AGAIN.sub("run the check again", item.fix) if item.fix else None
    return dc.replace(item, fix=fix)


def _is_told(group: Group, verdict: Verdict) -> bool:
    """Whether the next step says how many runs to add, and what they would bring."""
    adds = group.rule in SHORTFALL and _ADD.match(group.first.fix or "")
    return verdict.status is Status.NEEDS_RUNS and bool(adds and _chances(verdict))


def _weighing(groups: tuple[Group, ...], verdict: Verdict) -> list[Group]:
    """The groups that somebody has to settle: what decided the status, then what would be next.
    Where runs are missing, why some do not count comes first. What is at fault on our side is
    nothing that a rejected author can fix."""
    if verdict.status is Status.UNVERIFIABLE:
        return [g for g in groups if g.level is Level.ERROR]
    errors = [g for g in groups if g.level is Level.ERROR and g.rule not in OURS]
    warnings = [g for g in groups if g.level is Level.WARNING and (g.fix or not errors)]
    warnings.sort(key=lambda g: g.rule != _BINDS)
    missing = any(catalogue()[g.rule]["family"] == "statistics" for g in errors)
    why = [g for g in warnings if missing and g.rule in _NOT_COUNTED]
    return [*why, *errors, *(g for g in warnings if g not in why)]


def _is_told_by_numbers(verdict: Verdict, groups: Iterable[Group]) -> bool:
    """Whether the table belongs beside the verdict: good numbers say nothing of one that is about
    something else."""
    about = {catalogue()[g.rule]["family"] for g in groups if g.level is Level.ERROR}
    return verdict.status is not Status.REJECTED or "statistics" in about


# ---- the first line -----------------------------------------------------------------------------


def _result(verdict: Verdict, place: Place, groups: list[Group], where: Where) -> str:
    if verdict.status is Status.REJECTED:
        return _to_fix(groups)
    if verdict.status is Status.UNVERIFIABLE:
        return "for a reason on our side" if where.on_pull else "the runs could not be read"
    if verdict.status is Status.NEEDS_RUNS:
        need = needed(verdict)
        arms = short_arms(verdict)
        about = by_arm(arms) if arms else f"about {need} more"
        return about if need <= MANY_RUNS else "slightly longer ones"
    if not place.ranks:
        return f"{place.result}, not ranked" if place.result else "not ranked"
    told = ", ".join(part for part in (place.result, place.text) if part)
    if where is Where.BOARD or not _author_acts(verdict, groups):
        return told
    name = STATUS_NAMES[verdict.status]
    for first in (f"{_to_fix(groups)} first", "your turn first"):
        said = "; ".join(part for part in (first, told) if part)
        # The next step counts them too, so that the count gives way and the place does not.
        if len(f"{name} {said}".split()) <= _MOST_WORDS:
            return said
    return told


def _author_acts(verdict: Verdict, groups: list[Group]) -> bool:
    """Whether a review waits for the author, and not for a maintainer alone."""
    decides = any(f.rule == DECIDES and f.level is Level.WARNING for f in verdict.findings)
    review = verdict.status is Status.NEEDS_REVIEW and not decides
    return review and any(group.fix for group in groups)


def _to_fix(groups: list[Group]) -> str:
    """`one thing to fix`, `12 things to fix`."""
    return f"{spelt(len(groups))} thing{'s' * (len(groups) != 1)} to fix"


def spelt(count: int) -> str:
    """`one`, `nine`, `12`."""
    return _WORDS[count] if count < len(_WORDS) else str(count)


# ---- the next step ------------------------------------------------------------------------------


def _next(
    verdict: Verdict, place: Place, groups: list[Group], where: Where, promised: tuple[int, str]
) -> str:
    """`promised` are the days within which a maintainer acts, and when the bot does by itself."""
    days = numbers.count(promised[0], "day")
    if verdict.status is Status.REJECTED:
        return _fix(groups, where)
    if verdict.status is Status.UNVERIFIABLE:
        if where.on_pull:
            return (
                f"nothing for you to do. The bot tries again {how_often(promised[1])}, and a "
                f"maintainer steps in if it still fails after {days}. `/verify` tries at once."
            )
        return "make the fix below and run the check again. The bot reads the runs by itself."
    if verdict.status is Status.NEEDS_RUNS:
        return _more_runs(verdict, groups, where)
    if where is Where.BOARD:
        return "nothing to do; the entry is on the board."
    if not place.ranks:
        return f"nothing is wrong, but it does not rank: {place.text}."
    if any(f.rule == DECIDES and f.level is Level.WARNING for f in verdict.findings):
        who = (
            f"a maintainer weighs it within {days}: `/accept {DECIDES} because ...` lets it count."
        )
        return who if where.on_pull else f"open the pull request; {who}"
    if verdict.status is Status.NEEDS_REVIEW:
        return _review(groups, where, days)
    if where.on_pull:
        more = ""
        if verdict.status is Status.CONSISTENT:
            more = " To have it verified, link the W&B run or add its log."
        return f"nothing for you to do. A maintainer merges it, usually within {days}.{more}"
    if where is Where.FOLDER:
        return f"open the pull request: `speedrun submit {verdict.submission}`."
    return f"make a submission of it: `speedrun new TRACK/NAME --results {verdict.submission}`."


def _below(groups: list[Group], where: Where, verb: str = "fix") -> str:
    """What there is to fix: `make the fix below`, `fix the three below and the six in the fold`."""
    if len(groups) == 1:
        return "make the fix below" if verb == "fix" else f"{verb} the point below"
    shown, more = f"{verb} the {spelt(min(len(groups), MOST_GROUPS))} below", len(groups)
    if more <= MOST_GROUPS:
        return shown
    rest = "in the fold" if where.on_pull else "that `-v` shows"
    return f"{shown} and the {spelt(more - MOST_GROUPS)} {rest}"


_CORRECTED = (
    "Nobody can push to this branch: comment `/withdraw` here, then `/submit` again with the "
    "corrected line, or edit your form if you filled one in"
)


def _fix(groups: list[Group], where: Where) -> str:
    """What to fix, and how the check runs again."""
    what, many = _below(groups, where), len(groups) > MOST_GROUPS
    if where is Where.INTAKE:
        return f"{what}. {_CORRECTED}."
    what += ", then " if many else " and "
    if not where.on_pull:
        return f"{what}run the check again."
    what += "push once" if many else "push"
    if any(_AGAIN.search(group.first.fix or "") for group in groups[:MOST_GROUPS]):
        return f"{what}, or comment `/verify` if no file changed."
    return f"{what}; the check runs again by itself."


def _review(groups: list[Group], where: Where, days: str) -> str:
    if not any(group.fix for group in groups):
        return f"a maintainer reviews it within {days}; you may explain it in a comment."
    if where.on_pull:
        what, them = _below(groups, where), "it" if len(groups) == 1 else "them"
        how = "A push or the comment `/verify` starts the check again"
        how = _CORRECTED if where is Where.INTAKE else how
        return (
            f"{what}, or explain {them} in a comment. {how}; then a maintainer reviews it within "
            f"{days}."
        )
    what = _below(groups, where, "fix or explain")
    return f"{what}; a maintainer decides in the pull request."


def _more_runs(verdict: Verdict, groups: list[Group], where: Where) -> str:
    need = needed(verdict)
    if need > MANY_RUNS:
        return (
            "train slightly longer and run it again. At this mean it would take "
            f"{need:,} more runs; a better mean needs fewer."
        )
    again, logs = f"about {need} more times with new seeds", "each log"
    if need == 1:
        again, logs = "about once more with a new seed", "the log"
    how = f"Add {logs} to the folder and to `runs` in `submission.json`"
    link = "or comment `/runs add LINK` with the address of each W&B run"
    how += f" and push, {link}." if where.on_pull else ", and run the check again."
    if where is Where.INTAKE:
        how = "Comment `/runs add LINK` with the address of each W&B run."
    if arms := short_arms(verdict):
        again, how = f"{by_arm(arms)}, in turn on one machine", add_arms(arms, where.on_pull)
    others = [g for g in groups if g.rule not in SHORTFALL]
    also = f" Fix {'it' if len(others) == 1 else 'them'} too: see below." if others else ""
    again = again if arms else f"it {again}"
    return f"run {again}{_cost(verdict, need)}. {how}{also}"


def _outlook(verdict: Verdict, place: Place) -> str:
    """What more runs would bring, how likely, and who may add them."""
    if verdict.status is not Status.NEEDS_RUNS:
        return ""
    said = [f"If it passes: {place.text}."] if place.text and place.ranks else []
    if (need := needed(verdict)) <= MANY_RUNS:
        them = "the run" if need == 1 else "the runs"
        said.append(f"Anyone may add {them}, and every new run counts, bad ones too.")
        odds = [(c.runs, in_percent(c.chance)) for c in _chances(verdict)]
        rest = [f"{runs} more in {chance}" for runs, chance in odds[1:]]
        for runs, chance in odds[:1]:
            first = f"{runs} more {'is' if runs == 1 else 'are'} enough in {chance} of cases"
            said.append(f"Judging by the runs so far, {', '.join([first, *rest])}.")
    return " ".join(said)


def _chances(verdict: Verdict) -> tuple[Chance, ...]:
    """How likely so many more runs pass, where they are as many as the next step asks for."""
    need = needed(verdict)
    found = (point.summary.chances for point in verdict.points)
    return next((c for c in found if c and c[0].runs == need <= MANY_RUNS), ())


def _cost(verdict: Verdict, need: int) -> str:
    """What the runs take, ` (about 3 minutes on 8 GPUs)`; empty if that is unknown."""
    times = _times(verdict)
    if not times:
        return ""
    machine = next(
        (f" on {run.gpu_count} GPUs" for run in verdict.runs if (run.gpu_count or 0) > 1), ""
    )
    return f" ({numbers.roughly(need * sum(times) / len(times))}{machine})"


def gpu_hours(verdict: Verdict, runs: int) -> float:
    """What so many more runs take, about, by the clocks of those at hand; 0 if that is unknown."""
    times = _times(verdict)
    chips = verdict.metrics.get("chips")
    counts = [run.gpu_count for run in verdict.runs if run.gpu_count]
    many = chips if chips else max(counts, default=0)
    return runs * sum(times) / len(times) * many / 3600 if times else 0.0


def _times(verdict: Verdict) -> list[float]:
    """The clocks of the candidate's runs."""
    clocks = [run.time_s for run in verdict.runs if run.arm == "candidate"]
    return [c for c in clocks if isinstance(c, int | float) and c > 0]


def parts(item: Answer) -> Iterator[str]:
    """Everything that is visible, in order, as plain text."""
    yield f"{item.icon} {item.line}"
    yield f"Next: {item.next}"
    for group in item.groups:
        yield " ".join(filter(None, (group.says, group.fix, group.also, group.others)))
    yield from filter(None, [item.outlook])
    for row in item.rows:
        yield " ".join(filter(None, row))
