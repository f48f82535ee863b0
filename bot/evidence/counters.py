"""Counters and settings under any name that say how much a run trained: tokens, samples, updates,
plans, seeds drawn, tokens of validation.

    is_counter("train/tokens_seen")                 True
    counted(readings, tokens, settings, last, ...)  tokens and steps by what else is counted
    stated(settings, steps, ...)                    what settings say beside them

Shared by logs and W&B, like `bot.evidence.second`.
"""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from bot.compute.paces import Series
from bot.evidence.amounts import factors, validation
from bot.evidence.second import (
    BATCHES,
    PASSES,
    SEQUENCES,
    first_of,
    kind_of,
    last_part,
    states_length,
    words,
)
from bot.model.run import Witness, WitnessKind
from bot.model.values import whole
from bot.registry import RELATIVE_TOLERANCE
from bot.render.untrusted import plain

_TOKENS = frozenset("token tokens tok toks".split())
_SAMPLES = frozenset("sample samples sequence sequences seqs example examples".split())
_UPDATES = frozenset(
    "step steps iter iters iteration iterations update updates count counter consumed done".split()
)
_AROUND_UPDATES = _UPDATES | frozenset(
    "n num number total global train training trainer opt optim optimizer optimiser gradient grad "
    "weight weights model run so far seen taken effective real actual true cumulative".split()
)
_NO_TOTAL = frozenset(
    "per rate sec second s val valid validation eval evaluation test batch batches loss lost len "
    "length micro inner outer epoch accum vocab padding padded dropped max min avg mean device "
    "local lr time ms speed throughput_rate unique remaining left".split()
)
_TOKEN_BATCHES = frozenset(name for name in BATCHES if "tokens" in name)
_INNER = re.compile(
    r"(?:^|_)(?:inner|sub)_?(?:steps|iters|iterations|updates|loops)$"
    r"|(?:^|_)(?:updates|(?:opt|optim|optimizer|optimiser)_(?:steps|updates))"
    r"_per_(?:step|iter|iteration|batch)$"
)
_OTHER_INNER = frozenset("ns newton schulz muon polar power cg".split())
_PARENTS = frozenset("train trainer training run args config hparams cfg speedrun exp".split())
_SCHEDULES = frozenset(
    "t_max lr_decay_iters lr_decay_steps decay_steps lr_total_steps lr_steps schedule_steps "
    "scheduler_steps cosine_steps lr_horizon max_steps num_steps total_steps num_training_steps "
    "num_iterations".split()
)
_VALIDATION_TOKENS = re.compile(
    r"(?:^|_)(?:val|valid|validation|eval)(?:_num|_n|_total)?_tokens$"
    r"|^(?:n|num)_(?:val|valid|validation|eval)_tokens$"
)
_DRAWN = frozenset(
    "best_of best_of_n num_seeds n_seeds num_trials n_trials max_trials total_trials num_restarts "
    "n_restarts num_tries n_tries seeds_tried trials_tried sweep_count sweep_runs run_cap".split()
)
_EARLY = re.compile(
    r"^early_?stop(?:ping)?(?:_\w{1,20})?$|^stop(?:ping)?_(?:patience|when|below|at_(?:val_)?loss)"
)
_NO_EARLY = frozenset("min delta mode".split())
_BEST_OF = re.compile(r"^(?:best|top|lucky|min)_(?:\w{1,12}_)?(?:of|among|from)(?:_\w{1,12})?$")
_MORE, _FASTER, _MOST_TIMES = 1.02, 1.1, 64
_BEYOND = 1.1
_MOST_ROWS = 16
"""A larger number that a row is counted with is one of samples or of micro-batches."""
_LEAST_POINTS, _LEAST_HALF = 3, 8
DATA_WORDS = frozenset(
    "data file files bin bins shard shards pattern patterns dataset datasets set glob corpus split "
    "source sources input inputs url urls text".split()
)
_VALIDATION_FILE = re.compile(
    r"(?<![a-z])(?:val|valid|validation|held[_-]?out|test|eval)(?![a-z])", re.IGNORECASE
)
_FOLDERS = frozenset("val valid validation heldout held_out".split())
_TRAINING_FILE = re.compile(r"(?<![a-z])(?:train|training)(?![a-z])", re.IGNORECASE)
_ABOUT_VALIDATION = frozenset("val valid validation eval evaluation test heldout dev".split())


def is_counter(name: str) -> bool:
    """Whether a name may count tokens, samples or updates of the training."""
    return _kind(name) is not None


def _kind(name: str) -> str | None:
    parts = frozenset(words(name).split("_"))
    if name.startswith("_") or parts & _NO_TOTAL or kind_of(name) is not None:
        return None
    if parts & _TOKENS:
        return "tokens"
    if parts & _SAMPLES:
        return "samples"
    return "updates" if parts & _UPDATES and parts <= _AROUND_UPDATES else None


def _slope(series: Series, last: int) -> float | None:
    """What a counter adds a step, where it is one that rises evenly; None for every other."""
    points = sorted((s, v) for s, v in dict(series).items() if s <= last)
    if len(points) < _LEAST_POINTS or points[-1][0] <= points[0][0]:
        return None
    (begin, first), (end, value) = points[0], points[-1]
    each = (value - first) / (end - begin)
    middle, there = points[len(points) // 2]
    even = abs(there - first - each * (middle - begin)) <= 0.02 * abs(value - first)
    rises = all(b >= a for (_, a), (_, b) in zip(points, points[1:], strict=False))
    return each if each > 0 and even and rises else None


def counted(
    readings: Mapping[str, Series],
    tokens: Series,
    settings: Mapping[str, float],
    last: int,
    chips: int | None,
    where: str,
) -> Iterator[Witness]:
    """Tokens or steps that a counter of any name makes more of than the run is counted with."""
    ours = _slope(tokens, last)
    length = first_of(settings, SEQUENCES)
    times = factors(settings, chips)
    for name, series in readings.items():
        kind, each = _kind(name), _slope(series, last)
        if each is None:
            continue
        source = f"`{plain(name, 40)}` in {where}"
        if name == PASSES and _is_multiple(each) and each not in times:
            source = f"a counter of smaller steps in {where}"
            yield Witness("passes", round(last * each), WitnessKind.PROGRAM, source)
        if kind is None:
            more = _whole_work(name, series, settings, times)
            if more is not None:
                yield Witness("steps", round(last * more), WitnessKind.PROGRAM, source)
            continue
        if kind == "updates" and _is_more(each, times):
            yield Witness("steps", round(last * each), WitnessKind.PROGRAM, source)
        if kind == "samples" and (more := _samples(each, settings, times)) is not None:
            yield Witness("steps", round(last * more), WitnessKind.PROGRAM, source)
        seen = each * length if kind == "samples" and length else each
        comparable = kind == "tokens" or (kind == "samples" and length)
        if comparable and ours is not None and seen > _MORE * ours:
            yield Witness("tokens", seen * last, WitnessKind.PROGRAM, source)
        if kind == "tokens" and ours is None:
            yield from token_batches(settings, series, last, where)
    yield from token_batches(settings, tokens, last, where)


def token_batches(
    settings: Mapping[str, float], tokens: Series, last: int, where: str
) -> Iterator[Witness]:
    """Stated tokens of a batch beside the tokens that a step counts, or beside one another."""
    stated = {n: v for n, v in settings.items() if last_part(n) in _TOKEN_BATCHES}
    each = _slope(tokens, last)
    for name, batch in stated.items():
        least = min(stated, key=lambda n: stated[n])
        other = each if each is not None else stated[least]
        if abs(other / batch - 1) > 0.01:
            source = f"`{plain(name, 40)}` in {where}"
            yield Witness("batch_tokens", batch, WitnessKind.PROGRAM, source)
            if each is None:
                yield Witness("other_batch", other, WitnessKind.PROGRAM, f"`{plain(least, 40)}`")
            return


def _samples(each: float, settings: Mapping[str, float], times: frozenset[float]) -> float | None:
    """Steps that the samples of one step make by the stated batch, where they are more than one."""
    batches = [v for n, v in settings.items() if last_part(n) in BATCHES]
    if not batches or any(abs(each / (b * t) - 1) < 0.01 for b in batches for t in times):
        return None
    more = each / max(batches)
    return more if more > _MORE else None


def _is_more(value: float, times: Collection[float]) -> bool:
    """Whether a counter rises faster than steps do, and not as passes or devices make it."""
    known = any(abs(value / factor - 1) <= RELATIVE_TOLERANCE for factor in times)
    return _FASTER < value <= _MOST_TIMES and not known


def _whole_work(
    name: str, series: Series, settings: Mapping[str, float], times: frozenset[float]
) -> float | None:
    """How many steps a counter of an unknown name makes of one, where it rises by the same whole
    number at each; None where a stated batch explains it, or nothing does."""
    parts = frozenset(words(name).split("_"))
    each = next((value / step for step, value in series if step > 0), 0.0)
    exact = each > 1 and all(value == each * step for step, value in series)
    if not exact or each != int(each) or name.startswith("_"):
        return None
    if parts & _NO_TOTAL or kind_of(name) is not None or len(series) < _LEAST_POINTS:
        return None
    batches = {v for n, v in settings.items() if last_part(n) in BATCHES}
    lengths = {1.0, *(v for n, v in settings.items() if last_part(n) in SEQUENCES)}
    units = {1.0, *(b * length for b in batches for length in lengths)}
    if any(abs(each / (unit * t) - 1) < 0.01 for unit in units for t in times):
        return None
    return next((each / u for u in sorted(units, reverse=True) if _is_multiple(each / u)), None)


def _is_multiple(value: float) -> bool:
    return 1.5 < value <= _MOST_TIMES and abs(value - round(value)) <= RELATIVE_TOLERANCE * value


def stated(
    settings: Mapping[str, float], steps: int, chips: int | None, where: str
) -> Iterator[Witness]:
    """What settings say beside what is counted: updates within a step, plans that are a multiple
    of the run or a fraction of it, tokens of the validation, seeds that were drawn."""
    times = factors(settings, chips)
    yield from validation(settings, chips, where)
    for name, value in settings.items():
        last, parts = last_part(name), frozenset(words(name).split("_"))
        source = f"`{plain(name, 40)}` in {where}"
        if _INNER.search(last) and not parts & _OTHER_INNER and value > 1:
            yield Witness("updates", steps * value, WitnessKind.PROGRAM, source)
        elif _is_schedule(last, parts) and steps and value / steps not in times:
            if _is_multiple(value / steps):
                yield Witness("schedule", value, WitnessKind.PROGRAM, source)
        elif states_length(name) and value > 1 and steps > _BEYOND * value + 2:
            if round(steps / value) not in {round(v) for n, v in settings.items() if "epoch" in n}:
                yield Witness("short_plan", value, WitnessKind.PROGRAM, source)
        elif is_validation_size(name):
            yield Witness("validation_tokens", value, WitnessKind.PROGRAM, source)
        elif _EARLY.search(last) and not parts & _NO_EARLY:
            yield Witness("early_stop", value, WitnessKind.PROGRAM, source)
        elif _draws(name) and value == int(value) and value > 1:
            yield Witness("drawn", value, WitnessKind.PROGRAM, source)


def _draws(name: str) -> bool:
    """Whether a setting is a number of trainings of which some are kept, `count` of a sweep too."""
    ends = {last_part(name), "_".join(words(name).split("_")[-2:])}
    return not _ABOUT_VALIDATION & set(words(name).split("_")) and bool(
        ends & _DRAWN or _BEST_OF.search(last_part(name))
    )


def plans(settings: Mapping[str, object]) -> bool:
    """Whether a configuration states a planned length."""
    return any(states_length(n) and whole(v) not in (None, 0, -1) for n, v in settings.items())


def seed_of(name: str, value: object) -> int | None:
    """The seed of the training that a setting states; None for every other setting."""
    *parents, last = re.split(r"[./]", name.lower())
    return whole(value) if last == "seed" and set(parents) <= _PARENTS else None


def is_validation_size(name: str) -> bool:
    """Whether a name is the number of tokens of the validation."""
    return bool(_VALIDATION_TOKENS.search(words(name)))


def validated(readings: Mapping[str, Series], last: int, where: str) -> Iterator[Witness]:
    """The tokens of the last validation, by what stands beside it."""
    for name, series in readings.items():
        points = [(s, v) for s, v in series if s <= last and v > 0]
        if points and is_validation_size(name):
            end = max(s for s, _ in points)
            value = min(v for s, v in points if s == end)
            source = f"`{plain(name, 40)}` in {where}"
            yield Witness("validation_tokens", value, WitnessKind.PROGRAM, source)


def by_rows(
    losses: Series,
    rows: Series,
    settings: Mapping[str, float],
    stops: Collection[int],
    chips: int | None,
    where: str,
) -> Iterator[Witness]:
    """Updates within a step: training losses of one step that differ, and the number of W&B's own
    rows where the program sets it, so that it does not rise by one from row to row."""
    last = max(stops, default=0)
    within: dict[int, set[float]] = {}
    for step, loss in losses:
        within.setdefault(step, set()).add(loss)
    counts = [len(values) for _, values in sorted(within.items())]
    # Beside a validation a line may state a training loss of its own.
    alone = [len(values) for step, values in sorted(within.items()) if step not in stops]
    many = _usual(counts, alone)
    found = {f"{many:.3g} training losses a step in {where}": many} if many > 1 else {}
    apart = [b - a for (_, a), (_, b) in itertools.pairwise(rows)]
    each = _slope(rows, last) if _usual(apart, apart) > 1 else None
    if each is not None and each <= _MOST_ROWS:
        found[f"`_step` in {where}"] = each
    for source, times in found.items():
        if _is_more(times, factors(settings, chips)):
            yield Witness("updates", round(last * times), WitnessKind.PROGRAM, source)
            return


def _usual(counts: Sequence[float], alone: Sequence[float]) -> float:
    """What each of some counts usually is: their median, or the mean of those that stand alone
    where most are 1 and both halves have more."""
    middle = statistics.median_low(counts) if counts else 1.0
    half = len(alone) // 2
    if middle > 1 or half < _LEAST_HALF:
        return middle
    return min(statistics.fmean(part) for part in (alone[:half], alone[half:]))


def _is_schedule(last: str, parts: frozenset[str]) -> bool:
    return last in _SCHEDULES and bool(
        parts & {"lr", "scheduler", "schedule", "decay", "cosine"} or last == "t_max"
    )


def trains_on_validation(name: str, value: object) -> bool:
    """Whether a setting names validation text as what is trained on."""
    parts = frozenset(words(name).split("_"))
    if not parts & {"train", "training"} or not parts & DATA_WORDS or parts & _ABOUT_VALIDATION:
        return False
    return isinstance(value, str) and _is_validation(re.split(r"[/\\]", value.strip())[-1])


def names_validation(texts: Iterable[str]) -> bool:
    """Whether files or parts of data are validation text: by the name of a file, or all of that of
    a folder below the place that holds them."""
    for text in texts:
        *folders, last = re.split(r"[/\\]", re.sub(r"^\w{1,9}://[^/]*", "", text.strip()[:1000]))
        if _is_validation(last) or any(f.lower() in _FOLDERS for f in folders):
            return True
    return False


def _is_validation(name: str) -> bool:
    return bool(_VALIDATION_FILE.search(name[:200]))


def validates_on_training(name: str, value: object) -> bool:
    """Whether a setting names training text as what is validated on."""
    parts = frozenset(words(name).split("_"))
    if not parts & _ABOUT_VALIDATION or not parts & DATA_WORDS:
        return False
    if {"train", "training"} & set(last_part(name).split("_")):
        return False
    last = re.split(r"[/\\]", value.strip())[-1][:200] if isinstance(value, str) else ""
    return bool(_TRAINING_FILE.search(last)) and not _VALIDATION_FILE.search(last)


def misplaced(name: str, value: object) -> str:
    """What a setting does with the other part of the data: "trains on" or "validates on" it; ""
    for every other setting."""
    if trains_on_validation(name, value):
        return "trains on"
    return "validates on" if validates_on_training(name, value) else ""
