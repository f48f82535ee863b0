"""Training logs: text of step lines, read into runs.

    step:125/3200 val_loss:3.96211 train_time:43.151s step_avg:345.21ms
    step:126/3200 train_loss:3.9550 train_time:43500ms step_avg:345.24ms
    s:250 tel:6.1710

`read_log` reads every variant: milliseconds or seconds, any number of decimals, further
`key:value` tokens in any place, validation lines only, several runs in one file (a run ends where
the step falls back), a source file before the steps, lines that each process prefixes with its
rank. A line counts only if its numbers are numbers. Time and memory are linear in the size.
"""

from __future__ import annotations

import codecs
import dataclasses as dc
import math
import re
from collections.abc import Iterator, Mapping

from bot.evidence.log.header import Header, embedded_source
from bot.evidence.log.problems import LogStep, problems_of
from bot.model.run import Run, Validation
from bot.render.untrusted import plain

MAX_RUNS = 1000
_MAX_LINE = 4000
_PREFIX = re.compile(
    r"(?P<rank>\[?(?:rank|default)? ?\d{1,5}\]?:)?\s*"
    r"(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\s\]]*\]?:?\s+)?"
    r"(?:\[?(?:DEBUG|INFO|WARNING)\]?:?\s+)?(?:-\s+)?(?=step:|s:)",
    re.ASCII,
)
_STEP = re.compile(r"step:(\d{1,15})/(\d{1,15})\s+(\S.*)", re.ASCII)
_LLMC = re.compile(r"s:(\d{1,15})\s+(tel|trl):(\S+)(.*)", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?(?:nan|inf|infinity)", re.IGNORECASE)
_CLOCK = re.compile(r"([-+]?\d+(?:\.\d+)?)(ms|s)", re.ASCII)
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dc.dataclass(slots=True)
class _Draft:
    """One run while it is read. `key` is the prefix of its process ("" without one)."""

    header: Header
    key: str
    total: int | None = None
    steps: list[LogStep] = dc.field(default_factory=list)
    last_validation: LogStep | None = None
    cut: bool = False
    lines: tuple[int, int] = (0, 0)
    """The first and the last line of the file that belong to it."""

    def begins_anew(self, line: LogStep) -> bool:
        """Whether `line` cannot belong to this run, so that it opens the next."""
        if not self.steps:
            return False
        if line.total != self.total:
            return True
        last, seen = self.steps[-1], self.last_validation
        if not line.is_validation or seen is None:
            return line.step < last.step - (1 if line.is_validation else 0)
        if line.step == seen.step and line.step >= last.step - 1:
            return line.loss != seen.loss and (line.step == 0 or line.clock_before(seen))
        # A validation may be printed just after the training line of the step that follows it.
        return line.step <= seen.step or line.step < last.step - 1

    def add(self, line: LogStep) -> None:
        """Take a line of this run; a repetition of the last validation is dropped."""
        seen = self.last_validation
        if line.is_validation:
            if seen is not None and (line.step, line.loss) == (seen.step, seen.loss):
                return
            self.last_validation = line
        self.total = line.total
        self.steps.append(line)


def read_log(data: bytes, file: str) -> tuple[Run, ...]:
    """All runs of a log, in order; none where the text has no step lines. Never raises on input.

    `file` is the path to show. The header (hardware, source, seed) of a run is what stands before
    its first step; what a later run of the file does not say again it takes from the earlier.
    """
    text, terminated = _decode(data)
    lines = text.split("\n")
    begin, code = embedded_source(lines)
    drafts: list[_Draft] = []
    current: dict[str, _Draft] = {}
    header = Header(code=dict(code))
    for number in range(begin, len(lines)):
        raw = lines[number]
        if len(raw) > _MAX_LINE:
            continue
        line = raw.strip()
        key, step = _step_line(line)
        if step is None:
            header.feed(line)
            continue
        draft = current.get(key)
        if number == len(lines) - 1 and not terminated and draft and _is_cut(step, draft):
            draft.cut = True
            continue
        if draft is None or draft.begins_anew(step):
            if len(drafts) == MAX_RUNS:
                break
            draft = current[key] = _Draft(header.copy(), key, lines=(number, number))
            drafts.append(draft)
        elif header.devices or header.counts or not header.rows_taken:
            draft.header.go_on(header)
        draft.lines = draft.lines[0], number
        draft.add(step)
    kept = _without_echoes(drafts)
    return tuple(_run(draft, file, i, kept) for i, draft in enumerate(kept))


def _decode(data: bytes) -> tuple[str, bool]:
    """The text with LF line ends, and whether its last line is complete."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", "replace")
    else:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, text.endswith("\n")


def _step_line(line: str) -> tuple[str, LogStep | None]:
    """The process prefix and the step of a line; None where it is not a step line."""
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    if not line or "step:" not in line and "s:" not in line:
        return "", None
    prefix = _PREFIX.match(line)
    if prefix is None:
        return "", None
    body = line[prefix.end() :]
    key = prefix.group("rank") or ""
    if match := _STEP.match(body):
        return key, _modern(int(match.group(1)), int(match.group(2)), match.group(3))
    if match := _LLMC.match(body):
        return key, _llmc(int(match.group(1)), match.group(2), match.group(3), match.group(4))
    return key, None


def _modern(step: int, total: int, rest: str) -> LogStep | None:
    """A line `step:S/T key:value ...`; None where it carries neither a loss nor a clock."""
    pairs = [t.split(":", 1) for t in rest.split() if ":" in t]
    tokens = dict(reversed(pairs))
    clock = _clock(tokens.pop("train_time", None))
    step_avg = tokens.pop("step_avg", "")
    values = {k: v for k, t in tokens.items() if (v := _number(t)) is not None}
    if "val_loss" in tokens and "val_loss" not in values:
        return None
    if "val_loss" not in values and "train_loss" not in values and clock is None:
        return None
    text = tokens.get("val_loss", "")
    return LogStep(
        step,
        total,
        clock,
        values,
        text,
        step_avg.startswith("nan"),
        _clock(step_avg),
        _other_value(pairs),
    )


def _other_value(pairs: list[list[str]]) -> str:
    """A loss or clock that a line gives twice with two values, in words; "" without one."""
    told: dict[str, str] = {}
    for name, value in pairs:
        if (
            name.lower() in ("val_loss", "train_time")
            and told.setdefault(name.lower(), value) != value
        ):
            return f"{name.lower()} {plain(told[name.lower()], 40)} and {plain(value, 40)}"
    return ""


def _llmc(step: int, kind: str, text: str, rest: str) -> LogStep | None:
    """A line `s:S tel:X` (validation) or `s:S trl:X lr:Y norm:Z` (training)."""
    value = _number(text)
    if value is None:
        return None
    values = {"val_loss" if kind == "tel" else "train_loss": value}
    for token in rest.split():
        name, _, number = token.partition(":")
        if (extra := _number(number)) is not None:
            values.setdefault(name, extra)
    return LogStep(step, None, None, values, text if kind == "tel" else "", False)


def _number(text: str) -> float | None:
    """A finite number, or NaN for any spelling of a number that is not finite; None otherwise."""
    if len(text) <= 40 and _NUMBER.fullmatch(text):
        value = float(text)
        return value if math.isfinite(value) else math.nan
    return math.nan if len(text) <= 40 and _NOT_FINITE.fullmatch(text) else None


def _clock(text: str | None) -> float | None:
    """Seconds of `N(ms|s)`, or None."""
    match = _CLOCK.fullmatch(text) if text is not None and len(text) <= 40 else None
    if match is None:
        return None
    value = float(match.group(1))
    return value / 1000 if match.group(2) == "ms" else value


def _is_cut(step: LogStep, draft: _Draft) -> bool:
    """Whether the last line of a file without a line end was cut: less in it than in its like."""
    like = draft.last_validation if step.is_validation else draft.steps[-1]
    if like is None:
        return False
    fewer_digits = len(step.loss_text.partition(".")[2]) < len(like.loss_text.partition(".")[2])
    return fewer_digits or (step.clock_s is None and like.clock_s is not None)


def _without_echoes(drafts: list[_Draft]) -> list[_Draft]:
    """Drop the runs that another process of the same training printed again."""
    if all(not d.key for d in drafts):
        return drafts
    seen: dict[tuple[tuple[int, float | None], ...], str] = {}
    kept = []
    for draft in drafts:
        series = tuple((s.step, s.loss) for s in draft.steps if s.is_validation)
        if series and seen.setdefault(series, draft.key) != draft.key:
            continue
        kept.append(draft)
    return kept


def _beside(draft: _Draft, siblings: list[_Draft]) -> str | None:
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


def _run(draft: _Draft, file: str, index: int, siblings: list[_Draft]) -> Run:
    """The finished run. Its final loss is the last validation; one that is not finite is none."""
    lines = [s for s in draft.steps if s.is_validation]
    points: dict[int, Validation] = {}
    for s in lines:
        if s.loss is not None and math.isfinite(s.loss):
            points[s.step] = Validation(s.step, s.loss, s.clock_s)
    validation = tuple(points[k] for k in sorted(points))
    reached = bool(lines) and lines[-1].step in points and lines[-1].step == validation[-1].step
    done = reached and draft.total is not None and validation[-1].step >= draft.total
    header = draft.header
    history = {k: tuple(v) for k, v in _history(draft.steps)}
    resumed = index > 0 and draft.steps[0].step > siblings[index - 1].steps[0].step
    machine = header.contradiction()
    problems = problems_of(draft.steps, resumed=resumed, cut=draft.cut, whole=True)
    beside = _beside(draft, siblings[:index]) if draft.key or index else None
    if beside is not None:
        problems = (*problems, ("history-gap", beside))
    if machine is not None:
        problems = (*problems, ("hardware-differs-from-run", machine))
    return Run(
        source="log",
        file=file,
        index=index,
        validation=validation,
        history=history,
        step_times_s=_step_times(draft.steps),
        total_steps=draft.total,
        last_step=draft.steps[-1].step,
        finished=None if draft.total is None and (reached or not lines) else done,
        hardware=header.hardware(),
        config=header.config(),
        software=header.software,
        code_sha256=header.code,
        seed=header.seed,
        nonce=header.nonce,
        data_fingerprint=header.data_fingerprint,
        created_at=header.created_at,
        metrics=_metrics(validation, history),
        problems=problems,
    )


def _metrics(
    validation: tuple[Validation, ...], history: Mapping[str, tuple[tuple[int, float], ...]]
) -> dict[str, float | int | None]:
    """The final values of a run; bits per byte where the log prints them."""
    bpb = history.get("bpb") or history.get("val_bpb")
    return {
        "loss": validation[-1].loss if validation else None,
        "bpb": bpb[-1][1] if bpb else None,
        "training_time_s": next((t for *_, t in reversed(validation) if t is not None), None),
        "steps": validation[-1].step if validation else None,
    }


def _history(steps: list[LogStep]) -> Iterator[tuple[str, list[tuple[int, float]]]]:
    """Every further number of the step lines by name, one value a step, finite values only."""
    series: dict[str, dict[int, float]] = {}
    for s in steps:
        for name, value in s.values.items():
            if name != "val_loss" and math.isfinite(value):
                series.setdefault(name[:64], {})[s.step] = value
    for name, values in series.items():
        yield name, sorted(values.items())


def _step_times(steps: list[LogStep]) -> tuple[float, ...]:
    """Durations of single steps, from training lines of consecutive steps with one clock."""
    times = []
    training = [s for s in steps if not s.is_validation and s.clock_s is not None]
    for a, b in zip(training, training[1:], strict=False):
        if b.step == a.step + 1 and a.clock_s is not None and b.clock_s is not None:
            if b.clock_s >= a.clock_s:
                times.append(b.clock_s - a.clock_s)
    return tuple(times)
