"""Training logs: text of step lines, read into runs.

    reading = read("...".encode(), "a.log")
    reading.runs, reading.why()

`read` takes every form of `bot.evidence.log.lines`: milliseconds or seconds, any number of
decimals, further values in any place, validation lines only, several runs in one file (a run ends
where the step falls back), a source file before the steps, lines that each process prefixes with
its rank; or else a table (CSV). A line counts only if its numbers are numbers; lines that look
like steps and are not read are counted by cause. Time and memory are linear in the size.
"""

from __future__ import annotations

import dataclasses as dc
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from bot.evidence.log.draft import Draft
from bot.evidence.log.header import Header, embedded_source, stated_by_source
from bot.evidence.log.histories import history_of, metrics, step_times
from bot.evidence.log.lines import NOTHING, General, Line, classical
from bot.evidence.log.moments import rates_of, seen_of, stamp_of
from bot.evidence.log.names import Names
from bot.evidence.log.near import Near
from bot.evidence.log.problems import LogStep, problems_of, trained_between
from bot.evidence.log.statements import Statements, log_witnesses, validation_of_a_step
from bot.evidence.log.table import table_of
from bot.evidence.log.text import MAX_LINE, decode, unpack
from bot.evidence.log.unprinted import unprinted
from bot.evidence.log.whole import moments_of
from bot.model.run import SOURCE_READ, Run, Stated, Validation
from bot.model.track import Keys
from bot.render.untrusted import plain

MAX_RUNS = 1000
_MOST_HEAD = 200
"""Lines above the first row of a table that are looked at for its machine."""


@dc.dataclass(frozen=True, slots=True)
class Reading:
    """The runs of a log, and what of it looks like steps and was not read. `starts`: the lines,
    from 0, at which the runs begin, empty where runs lie between one another's lines."""

    runs: tuple[Run, ...]
    near: Near
    starts: tuple[int, ...] = ()
    steps: tuple[tuple[LogStep, ...], ...] = ()
    """The step lines of each run."""

    def why(self) -> tuple[str, str]:
        """Why there is no run with a validation loss, and what to do."""
        return self.near.words()


def read_log(
    data: bytes, file: str, keys: Keys | None = None, mapped: frozenset[str] = frozenset()
) -> tuple[Run, ...]:
    """All runs of a log, in order; see `read`."""
    return read(data, file, keys, mapped).runs


def read(
    data: bytes, file: str, keys: Keys | None = None, mapped: frozenset[str] = frozenset()
) -> Reading:
    """All runs of a log, in order, and what was not read. Never raises on input.

    `file` is the path to show; `keys` are names that a track or a submission maps, `mapped` the
    quantities that the submission does. The header (hardware, source, seed) of a run is what
    stands before its first step; what a later run does not say again it takes from the earlier.
    """
    near = Near(file, data)
    if near.other is not None:
        return Reading((), near)
    text, terminated = decode(data)
    unpacked = unpack(text)
    # A list in JSON is whole or is not read, so its last line is never cut.
    lines, terminated = unpacked or text.split("\n"), terminated or unpacked is not None
    names = Names(keys, mapped)
    begin, code = embedded_source(lines)
    program = stated_by_source(lines, begin)
    header = Header(code=dict(code), computed=dict(code), program=program)
    drafts: list[Draft] = []
    if any(_is_classical(raw, names) for raw in lines[begin:]):
        drafts = _drafts(lines, begin, terminated, header, lambda raw: classical(raw, names), near)
    if not drafts and not near.unread:
        general = General(names, names.mapped_words())
        drafts = _drafts(lines, begin, terminated, header.fresh(), general.read, near)
        if near.epochs_anew(_epochs(drafts)):
            drafts = _validations_of_all(drafts)
            if drafts:
                near.unread = {}
    said = sorted({step.line for draft in drafts for step in draft.steps})
    against = tuple(unprinted(lines, begin, said))
    if not drafts and not near.strong:
        drafts = _of_table(lines, names, near)
    kept = _resumed(_without_echoes(drafts))
    runs = tuple(_run(draft, file, i, kept, near, against) for i, draft in enumerate(kept))
    starts = tuple(draft.lines[0] for draft in kept)
    apart = all(a.lines[1] < b.lines[0] for a, b in itertools.pairwise(kept))
    steps = tuple(tuple(draft.steps) for draft in kept)
    return Reading(runs, near, starts if apart else (), steps)


def _is_classical(raw: str, names: Names) -> bool:
    """Whether a line is of the classical form, or nearly; a long one may be."""
    if len(raw) > MAX_LINE:
        return True
    return ("s:" in raw or "step:" in raw) and classical(raw.strip(), names) is not NOTHING


def _drafts(
    lines: Sequence[str], begin: int, terminated: bool, header: Header,
    form: Callable[[str], Line], near: Near,
) -> list[Draft]:  # fmt: skip
    """The runs that the lines make by one form."""
    drafts: list[Draft] = []
    current: dict[str, Draft] = {}
    said = Statements()
    for number in range(begin, len(lines)):
        raw = lines[number]
        if len(raw) > MAX_LINE:
            near.count("long", number, raw)
            continue
        line = raw.strip()
        found = form(line) if line else Line()
        step, key = found.step, found.key
        if step is None:
            if found.cause:
                near.count(found.cause, number, line, found.names)
            near.validates(number, validation_of_a_step(line))
            header.feed(line)
            _say(line, said, drafts[-1].said if drafts else None)
            continue
        _take_moment(step, number, line)
        draft = current.get(key)
        if number == len(lines) - 1 and not terminated and draft and _is_cut(step, draft):
            draft.cut = True
            continue
        if draft is None or draft.begins_anew(step):
            if len(drafts) == MAX_RUNS:
                break
            draft = Draft(header.copy(), key, said=said.begin(), lines=(number, number))
            current[key] = draft
            drafts.append(draft)
        elif header.devices or header.counts or header.said or not header.rows_taken:
            draft.header.go_on(header)
        draft.lines = draft.lines[0], number
        draft.add(step)
    return drafts


def _say(line: str, said: Statements, of_run: Statements | None) -> None:
    """Take what a line without a step says, before the first run or after the last one began."""
    said.feed(line)
    moments = moments_of(line)
    said.span.take(moments, after=False)
    if of_run is None:
        said.feed_total(line)
    else:
        of_run.feed_after(line)
        of_run.span.take(moments, after=True)


def _take_moment(step: LogStep, number: int, line: str) -> None:
    step.line, step.stamp = number + 1, stamp_of(line)
    step.clocks = {**dict(rates_of(line)), **dict(seen_of(line)), **step.clocks}


def _epochs(drafts: Iterable[Draft]) -> list[tuple[float, float]]:
    """The first and the last epoch of each run that names epochs."""
    told = ([s.values["epoch"] for s in d.steps if "epoch" in s.values] for d in drafts)
    return [(epochs[0], epochs[-1]) for epochs in told if epochs]


def _validations_of_all(drafts: list[Draft]) -> list[Draft]:
    """One run of the validations, whose steps are counted from the beginning though those of the
    training lines are not; nothing where they are counted anew as well."""
    points = [s for draft in drafts for s in draft.steps if s.is_validation]
    if len(points) < 2 or any(b.step <= a.step for a, b in itertools.pairwise(points)):
        return []
    first = drafts[0]
    first.steps, first.last_validation, first.total = points, points[-1], None
    first.lines = first.lines[0], drafts[-1].lines[1]
    return [first]


def _of_table(lines: Sequence[str], names: Names, near: Near) -> list[Draft]:
    """The runs of a CSV table, with what is said before its first row."""
    drafts: list[Draft] = []
    header = Header()
    for found in table_of(lines, names):
        if found.step is None:
            near.count(found.cause, found.number - 1, lines[found.number - 1], found.names)
            continue
        found.step.line = found.number
        if not drafts:
            for line in lines[: min(found.number - 1, _MOST_HEAD)]:
                header.feed(line.strip()[:MAX_LINE])
        if not drafts or drafts[-1].begins_anew(found.step):
            if len(drafts) == MAX_RUNS:
                break
            drafts.append(Draft(header.copy(), "", lines=(found.number, found.number)))
        drafts[-1].add(found.step)
    return drafts


def _resumed(drafts: list[Draft]) -> list[Draft]:
    """The runs in one piece each: resumed by a later part of the file with one clock, or cut by a
    first validation that was printed late."""
    kept: list[Draft] = []
    for draft in drafts:
        if kept and (draft.is_late(kept[-1]) or draft.continues(kept[-1])):
            draft.resume(kept.pop())
        kept.append(draft)
    return kept


def _is_cut(step: LogStep, draft: Draft) -> bool:
    """Whether the last line of a file without a line end was cut: less in it than in its like."""
    like = draft.last_validation if step.is_validation else draft.steps[-1]
    if like is None:
        return False
    fewer_digits = len(step.loss_text.partition(".")[2]) < len(like.loss_text.partition(".")[2])
    return fewer_digits or (step.clock_s is None and like.clock_s is not None)


def _without_echoes(drafts: list[Draft]) -> list[Draft]:
    """Drop the runs that another process of the same training printed again."""
    if all(not d.key for d in drafts):
        return drafts
    seen: dict[tuple[tuple[int, float | None], ...], str] = {}
    kept = []
    for draft in drafts:
        series = tuple((s.step, s.loss) for s in draft.steps if s.is_validation)
        if not series and _only_trains_beside(draft, drafts):
            continue
        if series and seen.setdefault(series, draft.key) != draft.key:
            continue
        kept.append(draft)
    return kept


def _only_trains_beside(draft: Draft, drafts: list[Draft]) -> bool:
    """Whether a process printed training lines alone, in turn with one that also validates."""
    first, last = draft.lines
    return any(
        other.last_validation is not None
        and other.key != draft.key
        and other.lines[0] < last
        and first < other.lines[1]
        and other.steps[-1].step >= draft.steps[-1].step
        for other in drafts
    )


def _beside(draft: Draft, siblings: list[Draft]) -> str | None:
    """Another process that printed its steps in turn with this one, in words: ranks of one training
    whose losses were not averaged look like this."""
    begin, end = draft.lines
    for other in siblings:
        first, last = other.lines
        if other.key != draft.key and first < end and begin < last and other.total == draft.total:
            named = sorted(plain(d.key, 20) or "one without a name" for d in (draft, other))
            return (
                f"the processes {named[0]} and {named[1]} print their steps in turn: as ranks "
                "of one training they are one run"
            )
    return None


def _run(
    draft: Draft, file: str, index: int, siblings: list[Draft], near: Near,
    against: tuple[Stated, ...],
) -> Run:  # fmt: skip
    """The finished run. Its final loss is that of the last validation, if it is finite."""
    lines = [s for s in draft.steps if s.is_validation]
    finite = [(s, s.loss) for s in lines if s.loss is not None and math.isfinite(s.loss)]
    points = {s.step: Validation(s.step, loss, s.clock_s) for s, loss in finite}
    validation = tuple(points[k] for k in sorted(points))
    header = draft.header
    draft.said.source(header.program)
    history = {k: tuple(v) for k, v in history_of(draft.steps)}
    return Run(
        source="log",
        file=file,
        index=index,
        validation=validation,
        history=history,
        step_times_s=step_times(draft.steps),
        total_steps=draft.total,
        last_step=draft.steps[-1].step,
        finished=_finished(draft, lines, points),
        hardware=header.hardware(),
        config=header.config(),
        software=header.software,
        tags=header.tags,
        code_sha256=header.code,
        client_marks=(SOURCE_READ,) if header.computed else (),
        seed=next(iter(draft.said.seeds().values()), None) if header.seed is None else header.seed,
        nonce=header.nonce,
        data_fingerprint=header.data_fingerprint,
        created_at=header.created_at,
        metrics=metrics(validation, history),
        problems=tuple(_problems(draft, index, siblings, near)),
        program=(*header.program, *against),
        witnesses=(
            *header.witnesses(),
            *log_witnesses(draft.steps, draft.said, header.chips, _clocks(siblings[:index])),
        ),
    )


def _clocks(drafts: Sequence[Draft]) -> list[float]:
    """The last reading of the clock of each run."""
    return [max((s.clock_s or 0.0 for s in draft.steps), default=0.0) for draft in drafts]


def _finished(
    draft: Draft, lines: Sequence[LogStep], points: Mapping[int, Validation]
) -> bool | None:
    """Whether the run reached its stated end; its last step may be counted from 0."""
    reached = bool(lines) and lines[-1].step in points and lines[-1].step == max(points)
    if draft.total is None or not (reached or lines):
        return None if draft.total is None or not lines else False
    end = draft.total if draft.steps[-1].step >= draft.total else draft.total - 1
    return reached and lines[-1].step >= end


def _problems(
    draft: Draft, index: int, siblings: list[Draft], near: Near
) -> Iterator[tuple[str, str]]:
    """What is wrong with a run, its lines, its machine and its place among the others."""
    resumed = index > 0 and draft.steps[0].step > siblings[index - 1].steps[0].step
    yield from problems_of(draft.steps, resumed=resumed, cut=draft.cut, whole=True)
    yield from draft.again
    losses = [(s.step, s.loss) for s in draft.steps if s.loss is not None]
    batches = [(s.step, s.values["train_loss"]) for s in draft.steps if "train_loss" in s.values]
    yield from trained_between(losses, batches, draft.resumed)
    beside = _beside(draft, siblings[:index]) if draft.key or index else None
    if beside is not None:
        yield "history-gap", beside
    machine = draft.header.contradiction()
    if machine is not None:
        yield "hardware-differs-from-run", machine
    if draft.said.warm is not None and not resumed:
        yield "history-gap", f"before its first step the log says: {draft.said.warm}"
    if draft.said.overlap is not None:
        yield "train-validation-overlap", f"the log names what it {draft.said.overlap}"
    if draft.said.admits is not None:
        yield "history-gap", f"the log says: {draft.said.admits}"
    if index == 0:
        own = [s.loss for d in siblings for s in d.steps if s.loss is not None]
        if (strangers := near.strangers(own)) is not None:
            yield "history-gap", strangers
    settings = draft.header.two_values()
    seeds = dict.fromkeys(draft.said.seeds().values())
    if settings is None and len(seeds) > 1 and len(siblings) == 1:
        settings = f"the log states several seeds: {', '.join(map(str, seeds))}"
    if settings is not None:
        yield "history-gap", settings
    for item in near.inside(*draft.lines):
        yield "history-gap", item
