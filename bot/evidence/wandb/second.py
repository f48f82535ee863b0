"""What a W&B run says a second time: rows and settings beside those that the track reads.

second_names(present, keys)                 # history keys to be read besides the track's
read_second(rows, columns, keys, raw)       # fills `columns.others`, says what is missing
run_witnesses(raw, columns, keys, chips)    # statements of clock, steps, devices and loss
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bot.compute import accelerators
from bot.compute.paces import Series
from bot.evidence import amounts, beside, counters, epochs, jobs, parallel, parts, second
from bot.evidence.log import admitted
from bot.evidence.wandb.command_line import stated_by
from bot.evidence.wandb.history import RUNTIME, Columns, Raw, Row, number, step_of
from bot.model.run import Witness, WitnessKind
from bot.model.track import Keys

MOST_NAMES = 40
TIMESTAMP = "_timestamp"
_HISTORY, _SETTINGS = "the history", "the configuration"
_SERVICE_KEYS = frozenset({"_step", RUNTIME})
_WARM_STEPS = 11
_LONGEST, _MOST_TEXTS = 2000, 100
_TIME_WORDS = frozenset(
    "since age clk clock sec secs seconds time elapsed launch minutes t begin start".split()
)
_MEANS = ("micro", "mean", "avg", "average")


def second_names(present: Iterable[str], keys: Keys) -> frozenset[str]:
    """The keys of a history that state again what the track reads, at most `MOST_NAMES`."""
    present = frozenset(present)
    used = _used(present, keys)
    found = [n for n in sorted(present - used - _SERVICE_KEYS) if _matters(n, present, keys)]
    found.sort(key=lambda n: beside.data_of(n) is not None)  # of these there may be many
    return frozenset(found[:MOST_NAMES])


def _matters(name: str, present: frozenset[str], keys: Keys) -> bool:
    losses = [n for n in keys.loss if n in present][:1]
    return (
        second.kind_of(name) is not None
        or second.counts_steps(name)
        or counters.is_counter(name)
        or counters.is_validation_size(name)
        or any(beside.matters(name, loss) for loss in losses)
        or name in _siblings(present, keys)
        or name in _same_bits(present, keys)
        or second.last_part(name) == "mfu"
        or parts.may_be_part(name)
        or (bool(_TIME_WORDS & set(second.words(name).split("_"))) and second.may_be_clock(name))
    )


def _siblings(present: frozenset[str], keys: Keys) -> Mapping[str, str]:
    """The loss that stands beside bits per byte, under the same path: {loss: bpb}."""
    found = {}
    for name in [n for n in keys.bpb if n in present][:1]:
        stem, bpb, end = name.rpartition("bpb")
        if bpb and f"{stem}loss{end}" in present:
            found[f"{stem}loss{end}"] = name
    return found


def _same_bits(present: frozenset[str], keys: Keys) -> frozenset[str]:
    """The bits per byte of the same path under another word for the mean, `micro_bpb` beside `bpb`.
    A `macro_bpb` gives every data set the same weight, so that it may differ."""
    found = set()
    for name in [n for n in keys.bpb if n in present][:1]:
        stem, bpb, end = name.rpartition("bpb")
        if bpb:
            found = {f"{stem}{part}{end}" for w in _MEANS for part in (f"{w}_bpb", f"bpb_{w}")}
    return present & found


def _used(present: frozenset[str], keys: Keys) -> frozenset[str]:
    """The names that are read already: the first of each quantity that is there."""
    clock = next((n for n in (*keys.time_s, *keys.time_ms) if n in present), None)
    firsts = (keys.loss, keys.bpb, keys.train_loss, keys.tokens, keys.step, keys.total_steps)
    found = {next((n for n in names if n in present), "") for names in firsts}
    found |= {clock} if clock else set(keys.step_time_s[:1])
    return frozenset(name for name in found if name)


def read_second(rows: Sequence[Row], columns: Columns, keys: Keys, raw: Raw) -> None:
    """Read the second statements of the rows; a history without the client's clock says so."""
    present = frozenset(key for row in rows for key in row)
    own = frozenset({"_step"}) if present & {n for n in keys.step if n != "_step"} else frozenset()
    columns.others |= _readings(rows, keys, second_names(present, keys) | own)
    told = (_untimed(columns, rows), _warm(columns))
    raw.problems += [("history-gap", text) for text in told if text]


def _readings(rows: Sequence[Row], keys: Keys, names: Iterable[str]) -> dict[str, Series]:
    """The series of each name by the step of its rows, finite values only."""
    present = frozenset(key for row in rows for key in row)
    steps = tuple(name for name in keys.step if name in present and name != "_step")
    found: dict[str, list[tuple[int, float]]] = {name: [] for name in names}
    for row in rows:
        step = step_of(row, steps)
        for name, series in found.items() if step is not None else ():
            value = number(row.get(name))
            if step is not None and value is not None and math.isfinite(value):
                series.append((step, value))
    return {name: series for name, series in found.items() if series}


def run_witnesses(raw: Raw, columns: Columns, keys: Keys, chips: int | None) -> Iterator[Witness]:
    """Every second statement of a run."""
    clock = [(s, v) for s, v in columns.clock if math.isfinite(v)]
    losses = [(s, v) for s, v in columns.loss if math.isfinite(v)]
    stops = {s for s, _ in (*columns.loss, *columns.bpb)}
    stated = stated_by(raw)
    switches = {name: 1.0 for name, value in stated.items() if value is True}
    settings = second.numbers_of(stated)
    clocks = {**columns.others, RUNTIME: [p for p in columns.runtime if math.isfinite(p[1])]}
    kinds = {RUNTIME: WitnessKind.MACHINE}
    yield from second.clock_witnesses(clocks, clock, stops, _HISTORY, kinds)
    tokens = [p for p in columns.tokens if math.isfinite(p[1])]
    work = second.work_of(tokens, settings, chips)
    yield from second.rate_witnesses(columns.others, clock, work, stops, _HISTORY)
    last = max((s for s, _ in (*columns.loss, *columns.bpb)), default=columns.last_step or 0)
    yield from _steps(columns, last)
    yield from second.steps_by_batch(settings, tokens, last, _SETTINGS)
    yield from counters.counted(columns.others, tokens, settings, last, chips, _HISTORY)
    end = max(last, columns.last_step or 0)
    yield from counters.stated({**switches, **settings}, end, chips, _SETTINGS)
    yield from epochs.planned(settings, end, tokens, chips, _SETTINGS)
    yield from amounts.step_tokens(settings, tokens, chips, _SETTINGS)
    yield from counters.validated(columns.others, last, _HISTORY)
    yield from _chosen(raw)
    own = columns.others.get("_step", ())
    yield from counters.by_rows(columns.train_loss, own, settings, stops, chips, _HISTORY)
    lengths = {n: v for n, v in settings.items() if second.states_length(n)}
    end = max(columns.total or 0, *(columns.last_step or 0, last))
    yield from second.larger(lengths, end, "total_steps", _SETTINGS)
    lists = parallel.lists_of(stated)
    yield from parallel.device_counts(settings, chips, _SETTINGS, lists)
    chosen = next((n for n in keys.loss if n in columns.names), None)
    if chosen is not None:
        bits = {n: columns.bpb for n in keys.bpb if n in columns.names}
        yield from beside.losses_beside(chosen, {**columns.others, **bits}, losses, _HISTORY)
    yield from _bits(columns, keys)
    yield from beside.shares(columns.others, _HISTORY)
    yield from parts.witnesses(dict(parts.in_json(stated)), _SETTINGS)
    yield from jobs.stated(stated, _SETTINGS)
    ends = {name: series[-1][1] for name, series in columns.others.items() if series}
    yield from parts.witnesses(dict(parts.in_json(ends)), _HISTORY)


def _chosen(raw: Raw) -> Iterator[Witness]:
    """How many runs this one was chosen from, as its name, tags, group or notes say."""
    texts = (raw.name or "", *raw.tags, *raw.labels, *(raw.notes or "").splitlines())
    said = (admitted.chosen(text[:_LONGEST]) for text in texts[:_MOST_TEXTS])
    if drawn := max((number for number in said if number is not None), default=None):
        where = "the name, the tags, the group or the notes of the run"
        yield Witness("drawn", drawn, WitnessKind.AUTHOR, where)


def _steps(columns: Columns, last: int) -> Iterator[Witness]:
    """Other counters of steps, at the last validation or the row before it."""
    found = {}
    for name, series in columns.others.items():
        before = [value for step, value in series if step <= last]
        if second.counts_steps(name) and before:
            found[name] = max(before)
    yield from second.larger(found, last, "steps", _HISTORY)


def used_devices(
    config: Mapping[str, object], device: str | None, seen: int | None = None
) -> int | None:
    """The devices of all machines that a configuration says the run used; None where it does not.

    A TPU whose chips have two cores shows each core as a device, and is counted in chips. A total
    that is what one machine has, `seen`, is that of each where several machines are stated.
    """
    settings = second.numbers_of(config)
    for names in parallel.TOTALS:
        value = second.first_of(settings, names)
        if value is not None and value == int(value) and value < 1e6:
            break
    else:
        return parallel.devices_by_machines(settings)
    shown = accelerators.find(device)
    cores = 1
    if shown is not None and shown.accelerator.kind == "tpu" and "num_chips" not in names:
        cores = shown.accelerator.devices_per_chip
    elif names == parallel.TOTALS[-1] and value == seen:
        value *= second.first_of(settings, parallel.MACHINES) or 1
    return int(value) // cores if value % cores == 0 else int(value)


def _bits(columns: Columns, keys: Keys) -> Iterator[Witness]:
    for loss, name in _siblings(frozenset({*columns.names, *columns.others}), keys).items():
        series = columns.others.get(loss, columns.loss if loss in columns.names else ())
        yield from beside.bits_beside(columns.bpb, series, loss, name, _HISTORY)
    for other in sorted(_same_bits(frozenset({*columns.names, *columns.others}), keys)):
        yield from beside.same_bits(columns.bpb, columns.others.get(other, ()), other, _HISTORY)


def _warm(columns: Columns) -> str | None:
    """That the tokens do not begin with the run, in words: it goes on from other training."""
    counted = [p for p in columns.tokens if math.isfinite(p[1])]
    if len(counted) < 2 or counted[-1][0] <= counted[0][0]:
        return None
    (begin, first), (end, last) = counted[0], counted[-1]
    each = (last - first) / (end - begin)
    before = first / each - begin if each > 0 else 0.0
    if before <= max(_WARM_STEPS, (end - begin) / 10):
        return None
    return (
        f"the history begins at step {begin} with {first:,.0f} tokens, which are those of "
        f"{before:,.0f} steps more"
    )


def _untimed(columns: Columns, rows: Sequence[Row]) -> str | None:
    """That the client's own clock is not in the rows, in words; None if it is."""
    told = [row for row in rows if any(k not in _SERVICE_KEYS and k != TIMESTAMP for k in row)]
    if not told or not columns.last_step:
        return None
    last = max((s for s, _ in (*columns.loss, *columns.bpb)), default=None)
    have = {s for s, _ in columns.runtime}
    if not have:
        return f"no row of the history has `{RUNTIME}`, which W&B's client writes in each"
    if last is not None and last not in have:
        return f"the last validation, at step {last}, has no `{RUNTIME}` in its row"
    return None
