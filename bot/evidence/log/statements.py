"""What a log says about a whole run outside its step lines: times, devices, plans, sizes.

    statements = Statements()
    statements.feed(line)                     # lines before the steps of a run
    statements.feed_after(line)               # lines between them and after them
    statements.source(found)                  # what the embedded source states
    log_witnesses(steps, statements, chips)   # with the second clocks of the step lines

Each is a second statement of something that ranks; `bot.evidence.second` knows the names.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from bot.compute.paces import Series
from bot.compute.shapes import PARAMETERS
from bot.evidence import amounts, beside, counters, epochs, parallel, parts, second, warm
from bot.evidence.log import admitted, closing
from bot.evidence.log.moments import has_date, moment_in
from bot.evidence.log.names import number
from bot.evidence.log.problems import LogStep
from bot.evidence.log.readings import series_of, usual_distance
from bot.evidence.log.whole import Span
from bot.model.run import Stated, Witness, WitnessKind
from bot.registry import LOSS_TOLERANCE
from bot.render.untrusted import plain

_LINES, _LINE = "the log's lines", "the log"
_MOST = 200
_LONGEST = 400
_SETTING = re.compile(
    r"(?<![\w.])([A-Za-z][\w.-]{1,50})(?:\s{0,3}:\s{0,3}int)?['\"]?\s{0,3}[:=]\s{0,3}"
    r"(\d[\d_,]{0,15}(?:\.\d{1,9})?)(?![\w.])"
)
_OPTION = re.compile(r"(?<!\S)--([A-Za-z][\w-]{1,50})\s{1,3}(\d[\d_,]{0,15})(?![\w.:])")
_RANKS = re.compile(r"\bnranks\s{1,3}(\d{1,5})\b")
_BEGAN = re.compile(r"\b(?:start|began|begin|run utc timestamp|launch)", re.IGNORECASE)
_LOSS_WORD = r"(?<![a-z])(?:loss|nll|cross[ _-]?entropy)(?![a-z])"
_HELD_OUT = (
    r"(?<![a-z])(?:val|valid|validation|eval|evaluat(?:ion|ing|ed)|dev|test|held[ _-]?out|holdout)"
    r"(?![a-z])"
)
_LOSS_NUMBER = (
    r"(?:[ _](?:is|of|was|after [a-z]{1,12}|reached|at end))?[^\w<>]{0,20}"
    r"(?<![\d.])(\d{1,2}\.\d{1,12})(?![\d.%])(?!\s?(?:s|ms|sec|min|h|x)\b)"
)
_STATED_LOSS = re.compile(
    rf"(?:{_HELD_OUT}.{{0,60}}?{_LOSS_WORD}|{_LOSS_WORD}.{{0,12}}?{_HELD_OUT}"
    rf"|(?:final|best|result)[^\d]{{0,20}}?{_HELD_OUT}){_LOSS_NUMBER}",
    re.IGNORECASE,
)
"""A validation loss in a line that is no step."""
_STATED_PERPLEXITY = re.compile(
    rf"{_HELD_OUT}[ _/]?(?:ppl|perplexity)[^\w<>]{{0,6}}(\d{{1,6}}\.\d{{1,12}})(?![\d.%])",
    re.IGNORECASE,
)
_AT_A_STEP = re.compile(r"(?<![a-z])(?:step|iter|iteration)s?\W{0,4}\d", re.IGNORECASE)
_BEST = re.compile(r"(?<![a-z])(?:best|lowest|min|minimum|smallest)(?![a-z])", re.IGNORECASE)
_FINAL = re.compile(r"(?<![a-z])final(?![a-z])", re.IGNORECASE)
_OF_SOMETHING_ELSE = re.compile(
    r"(?<![a-z])(?:target|goal|threshold|record|previous|prior|baseline|reference|initial|expect\w*"
    r"|claim\w*|improve\w*|before|patience|delta|train(?:ing)?[ _/-]?(?:loss|set|data|acc\w*)"
    r"|round[ _-]?trip|quanti[sz]\w*|int\d+|fp8|compress\w*|prun\w*|sliding|ema|swa|averaged)"
    r"(?![a-z])"
    r"|\bon (?!(?:the )?(?:full|entire|whole|val|valid|validation|held|dev|eval|test)\b)[a-z]",
    re.IGNORECASE,
)
_MEMORY = re.compile(
    r"\bmemory[ _](?:allocated|consumption|usage|used)\s{0,3}[:=]\s{0,3}"
    r"([\d,.]{1,16})\s?(MiB|MB|GiB|GB)",
    re.IGNORECASE,
)
_OF_NO_DEVICE = re.compile(
    r"(?<![a-z])(?:cpu|host|system|ram|rss|process|virtual|total|all|sum|combined|across"
    r"|aggregate)(?![a-z])",
    re.IGNORECASE,
)
"""Memory of the machine, or that of several devices together."""
_BYTES = {"mib": 2**20, "mb": 10**6, "gib": 2**30, "gb": 10**9}
_PARAMETERS = re.compile(
    r"\b(?:number of param(?:eter)?s|num[ _]param(?:eter)?s|n_params|total param(?:eter)?s"
    r"|param(?:eter)?[ _]count)\s{0,3}[:=]?\s{0,3}([\d,_.]{1,20})\s?([KMB])?\b",
    re.IGNORECASE,
)
_THOUSANDS = {"k": 1e3, "m": 1e6, "b": 1e9, "": 1.0}
_WARM = re.compile(
    r"\b(?:resum(?:ed|ing)\b[^=:]{0,40}\b(?:from|at)\b"
    r"|load(?:ed|ing)\b[^=:]{0,30}\b(?:checkpoint|pre-?trained|weights)\b"
    r"|initiali[sz](?:ed|ing)\b[^=:]{0,40}\bfrom\b[^=:]{0,30}\b(?:ckpt|checkpoint|pre-?trained)"
    r"|fine-?tun(?:ed|ing)\s[a-z0-9]|warm[- ]start(?:ed|ing)?\sfrom\b"
    r"|continu(?:ed|ing)\b[^=:]{0,30}\bfrom\b[^=:]{0,30}\b(?:ckpt|checkpoint|weights)\b)",
    re.IGNORECASE,
)  # fmt: skip
_NAMED = re.compile(
    r"(?<![\w.])([A-Za-z][\w.-]{1,50})(?:\s{0,3}:\s{0,3}str)?['\"]?\s{0,3}[:=]\s{0,3}['\"\[]{0,2}"
    r"([\w./*-]{3,200})"
)
_TRAINED_ON = re.compile(
    r"\btrain(?:ed|ing|s)?\s(?:[a-z]{1,12}\s){0,4}?[:=]?\s{0,2}['\"]?"
    r"([\w./*-]{1,150}\.(?:bin|npy|parquet|jsonl?|txt|arrow|tar|zst|gz))\b", re.IGNORECASE,
)  # fmt: skip
_HINTS = ("time", "elapsed", "wall", "gpu", "device", "chip", "world", "nodes", "nproc", "steps",
          "iter", "batch", "loss", "memory", "param", "seq", "block", "start", "finish", "ended",
          "complete", "began", "done", "load", "resum", "seed", "token", "train", "sample",
          "best of", "trial", "inner", "updates", "_from", "ckpt", "checkpoint", "tun", "warm",
          "continu", "initiali", "nranks", "parallel", "p_size", "_degree", "shard",
          "replicate", "val_", "valid", "eval", "ntasks", "nprocs",
          "teacher", "distil", "kd_", "soft_", "_model", "_weights",
          "took", "real ", "real\t", "/s", "per s", "attempt", "retry", "final", "best",
          "result", "ppl", "perplex", "accelerator", "run ", "rank", "clock", "sweep",
          "h100", "epoch", "dataset", "byte", "shard", "mb", "mib",
          "kib", "kb", "hours", "duration", "lasted", "exit", "spent", "wait", "idle", "pause",
          "queue", "compil", "elapsed")  # fmt: skip


@dc.dataclass(slots=True)
class Statements:
    """What the lines of one run state, the last of each name."""

    settings: dict[str, float] = dc.field(default_factory=dict)
    plans: dict[str, set[float]] = dc.field(default_factory=dict)
    """Planned lengths that the embedded source assigns, every value of each name."""
    times: list[tuple[str, str, float]] = dc.field(default_factory=list)
    """How long something took: what it measures, what it is called, and its seconds."""
    beside_s: float = 0.0
    """Seconds that were spent on something besides the steps."""
    usual: dict[str, float] = dc.field(default_factory=dict)
    """The usual duration of a step, and what is counted a second."""
    sizes: dict[str, float] = dc.field(default_factory=dict)
    """Sizes in bytes by their names."""
    gpus: int | None = None
    began: dt.datetime | None = None
    span: Span = dc.field(default_factory=Span)
    """When the run began and ended, as lines around its steps state it."""
    losses: list[tuple[str, str]] = dc.field(default_factory=list)
    """Losses that lines state after the last validation, as printed, each with what it says it is:
    `best`, `final` or nothing."""
    memory: float | None = None
    parameters: float | None = None
    overlap: str | None = None
    """What names validation text as training data."""
    warm: str | None = None
    """What says that the weights are those of other training."""
    admits: str | None = None
    """What says that steps were not timed, or that the validation is one of a part."""
    goes_on: bool = False
    """Whether a line after the last step says that the run is resumed."""

    def feed(self, line: str) -> None:
        """Take one line that stands before the steps of a run."""
        if not _says_something(line):
            return
        told = _SETTING.findall(line) if "{" not in line or '"' in line else []
        for name, text in (*told, *(_OPTION.findall(line) if " --" in line else ())):
            value = _count(text)
            if value is not None and len(self.settings) < _MOST:
                self.settings[name] = value
        self.settings |= dict(epochs.in_words(line)) if len(self.settings) < _MOST else {}
        self.gpus = admitted.devices_in(line) or self.gpus
        if match := _RANKS.search(line):
            most = max(float(match[1]), self.settings.get(parallel.RANKS, 0.0))
            self.settings[parallel.RANKS] = most
        self._admitted(line)
        if "train" in line.lower():
            self._data(line)
        if "{" not in line and _WARM.search(line):
            self.warm = plain(line, 80)
        elif (other := warm.stated_in(line)) is not None:
            self.warm = other
        if match := _PARAMETERS.search(line):
            size = number(match[1].replace(",", "").replace("_", "").rstrip("."))
            self.parameters = None if size is None else size * _THOUSANDS[(match[2] or "").lower()]
        moment = moment_in(line) if _BEGAN.search(line) else None
        self.began = self.began or moment

    def feed_total(self, line: str) -> None:
        """Take what a line above all steps says of the whole job, as a report does."""
        if _says_something(line) and len(self.times) < _MOST:
            self.times += closing.took_in_all(line)

    def _admitted(self, line: str) -> None:
        """Take what a line says of sizes, the clock, the validation or other runs."""
        if len(self.sizes) < _MOST:
            self.sizes |= dict(parts.in_line(line))
        self.beside_s += closing.spent(line)
        if (tried := admitted.tried(line)) is not None:
            self.settings["best_of"] = tried
        if admitted.admitted(line):
            self.admits = plain(line, 120)

    def _data(self, line: str) -> None:
        """Take the names of files that a line says are trained on."""
        named = _NAMED.findall(line)
        match = _TRAINED_ON.search(line)
        named += [("train file", match[1])] if match else []
        for name, text in named:
            if does := counters.misplaced(name, text):
                self.overlap = plain(f"{does}: {name}: {text}", 140)

    def feed_after(self, line: str) -> None:
        """Take one line that stands after steps of the run; it may be the head of the next one."""
        if not _says_something(line):
            return
        self.goes_on = self.goes_on or _WARM.search(line) is not None
        if len(self.times) < _MOST:
            self.times += closing.took(line)
        self.usual |= dict(closing.usual(line)) if len(self.usual) < _MOST else {}
        self._admitted(line)
        if (text := stated_loss(line)) is not None:
            kind = "best" if _BEST.search(line) else "final" if _FINAL.search(line) else ""
            self.losses = [*self.losses, (text, kind)][-_MOST:]
        if (match := _MEMORY.search(line)) and not _OF_NO_DEVICE.search(line):
            size = number(match[1].replace(",", "").rstrip("."))
            self.memory = None if size is None else size * _BYTES[match[2].lower()]

    def source(self, found: Iterable[Stated]) -> None:
        """Take the planned lengths that a source assigns."""
        for item in found:
            if item.kind == "plan":
                self.plans.setdefault(item.name, set()).add(item.value)

    def seeds(self) -> dict[str, int]:
        """The seeds of the training among the settings, by name."""
        found = ((n, counters.seed_of(n, v)) for n, v in self.settings.items())
        return {name: seed for name, seed in found if seed is not None}

    def begin(self) -> Statements:
        """What is known where a run begins; plans of the source count for every run."""
        known = dc.replace(
            self, settings=dict(self.settings), usual={}, losses=[], sizes=dict(self.sizes)
        )
        self.began = self.warm = None
        self.times, self.span, self.beside_s = [], Span(), 0.0
        return known


def stated_loss(line: str) -> str | None:
    """The validation loss that a line which is no step states, as printed."""
    if len(line) > _LONGEST or _OF_SOMETHING_ELSE.search(line):
        return None
    if (found := _STATED_PERPLEXITY.search(line)) is not None and float(found[1]) > 1:
        value, decimals = float(found[1]), len(found[1].partition(".")[2])
        digits = max(decimals + math.floor(math.log10(value)) - 1, 1)
        return f"{math.log(value):.{digits}f}"
    match = _STATED_LOSS.search(line)
    return None if match is None else match[1]


def validation_of_a_step(line: str) -> float | None:
    """The loss that a line states of a step, though it is not read as one of the run."""
    if "loss" not in line or not _AT_A_STEP.search(line) or "test" in line.lower():
        return None
    text = stated_loss(line)
    return None if text is None else float(text)


def _says_something(line: str) -> bool:
    if len(line) > _LONGEST:
        return False
    lower = line.lower()
    return any(hint in lower for hint in _HINTS)


def _count(text: str) -> float | None:
    return number(re.sub(r"[,_](?=\d{3})", "", text).rstrip(",_"))


def log_witnesses(
    steps: Sequence[LogStep], said: Statements, chips: int | None, earlier: Sequence[float] = ()
) -> Iterator[Witness]:
    """Every second statement of a run of a log; `earlier` are the clocks of those before it."""
    clock = [(s.step, s.clock_s) for s in steps if s.clock_s is not None]
    points = [s for s in steps if s.is_validation and s.loss is not None]
    stops = {s.step for s in points}
    others = series_of(steps)
    yield from _beside(said, steps, others, earlier)
    last, end = max(stops, default=0), max(s.step for s in steps)
    tokens = others.get("tokens", ())
    work = second.work_of(tokens, said.settings, chips)
    yield from _clocks(said, others, clock, work, stops)
    found = {n: max(v for _, v in x) for n, x in others.items() if second.counts_steps(n) and x}
    yield from second.larger(found, end, "steps", _LINES)
    yield from second.steps_by_batch(said.settings, tokens, last, _LINE)
    yield from counters.counted(others, tokens, said.settings, last, chips, _LINES)
    yield from counters.stated(said.settings, end, chips, _LINE)
    yield from amounts.step_tokens(said.settings, tokens, chips, _LINE)
    yield from counters.validated(others, last, _LINES)
    losses = others.get("train_loss", ())
    yield from counters.by_rows(losses, (), said.settings, stops, chips, _LINES)
    total = max(end, *(s.total or 0 for s in steps))
    yield from second.larger(_plans(said, total), total, "total_steps", _LINE)
    yield from epochs.planned(said.settings, end, tokens, chips, _LINE)
    if end > last + usual_distance(points):
        yield Witness("later_steps", end, WitnessKind.PROGRAM, _LINES)
    gpus = {} if said.gpus is None else {"GPUs": float(said.gpus)}
    yield from parallel.device_counts({**said.settings, **gpus}, chips, _LINE)
    yield from _losses(points, said, others)
    yield from beside.shares(others, _LINES)
    begin = said.began or next((s.stamp for s in steps if s.stamp is not None), None)
    if begin is not None and has_date(begin):
        moment = begin if begin.tzinfo else begin.replace(tzinfo=dt.UTC)
        yield Witness("began_at", moment.timestamp(), WitnessKind.PROGRAM, _LINE)
    yield from _sizes(said)


def _sizes(said: Statements) -> Iterator[Witness]:
    """Parts of an artifact, the peak memory and the number of parameters."""
    yield from parts.witnesses(said.sizes, _LINE)
    if said.memory is not None:
        yield Witness(
            "memory_bytes", said.memory, WitnessKind.PROGRAM, "the peak memory in the log"
        )
    parameters = said.parameters or second.first_of(said.settings, PARAMETERS)
    if parameters:
        yield Witness("parameters", parameters, WitnessKind.PROGRAM, _LINE)


def _clocks(
    said: Statements, others: Mapping[str, Series], clock: Series,
    work: Mapping[str, Sequence[float]], stops: Collection[int],
) -> Iterator[Witness]:  # fmt: skip
    """Every second clock, of the step lines and of the whole."""
    yield from second.clock_witnesses(others, clock, stops, _LINES)
    yield from second.rate_witnesses(others, clock, work, stops, _LINES)
    if clock:
        end = max(clock)[0]
        yield from _whole(said, end)
        rates = {name: [(end, value)] for name, value in said.usual.items()}
        yield from second.rate_witnesses(rates, clock, work, stops, _LINE)


def _losses(
    points: Sequence[LogStep], said: Statements, others: Mapping[str, Series]
) -> Iterator[Witness]:
    """What is said of the validation loss beside it."""
    losses = [(s.step, s.loss) for s in points if s.loss is not None and math.isfinite(s.loss)]
    yield from beside.losses_beside("val_loss", others, losses, _LINES)
    yield from _stated(said, losses)


def _whole(said: Statements, end: int) -> Iterator[Witness]:
    """Times of the whole: a training time is like the clock, the rest holds the job."""
    for quantity, name, seconds in said.times:
        yield Witness(quantity, seconds, WitnessKind.PROGRAM, f"`{plain(name, 40)}` in {_LINE}")
    for name, value in said.usual.items():
        known = second.kind_of(name)
        if known is not None and known.kind == "duration" and known.unit:
            source = f"`{plain(name, 40)}` in {_LINE}"
            yield Witness("wall_time_s", value * known.unit * end, WitnessKind.PROGRAM, source)
    passed = said.span.seconds()
    if passed is not None:
        source = "the log from its stated begin to its end"
        yield Witness("job_time_s", max(passed, 0.0), WitnessKind.PROGRAM, source)


def _beside(
    said: Statements, steps: Sequence[LogStep], others: Mapping[str, Series],
    earlier: Sequence[float],
) -> Iterator[Witness]:  # fmt: skip
    """Seconds of a job that the log accounts for besides its training clock: what lines say was
    spent on something else, what passed between the lines of steps by their stamps, and the runs
    that stand before this one in the file."""
    stamps = [s.stamp for s in steps if s.stamp is not None]
    clock = max((s.clock_s for s in steps if s.clock_s is not None), default=0.0)
    between = (stamps[-1] - stamps[0]).total_seconds() - clock if len(stamps) > 1 else 0.0
    accounted = max(said.beside_s + closing.in_validations(others), between)
    accounted += sum(second.longest_job(seconds) for seconds in earlier)
    if accounted > 0:
        yield Witness("beside_s", accounted, WitnessKind.PROGRAM, _LINE)


def _plans(said: Statements, total: float) -> dict[str, float]:
    """Stated lengths; those of a source only where none of the name's values fits the run."""
    lengths = {n: v for n, v in said.settings.items() if second.states_length(n)}
    for name, values in said.plans.items():
        if all(value > 1.01 * total + 2 for value in values):
            lengths.setdefault(name, min(values))
    return lengths


def _stated(said: Statements, losses: Series) -> Iterator[Witness]:
    """A loss that the log states at its end and that none of its validations has; as the best of
    them, or the final one, it is that one's."""
    if not losses:
        return
    values, last = [v for _, v in losses], max(losses)[1]
    for text, kind in said.losses:
        value = float(text)
        digits = 0.51 * 10.0 ** -len(text.partition(".")[2]) + LOSS_TOLERANCE
        like = {"best": [min(values)], "final": [last]}.get(kind, values)
        apart = min(abs(value - other) for other in like)
        if apart > digits and (kind == "final" or value > min(like) + digits):
            name = f"the {kind} loss" if kind else "a validation loss"
            yield Witness("loss", value, WitnessKind.PROGRAM, f"{name} in {_LINE}")
