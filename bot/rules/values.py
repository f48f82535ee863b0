"""Rules on single values: there, finite, possible; readable times; known accelerators."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Iterator
from typing import Any

from bot.compute import accelerators, metrics
from bot.compute.case_statistics import of_case, points_of
from bot.model.case import Case
from bot.model.results import ResultsRun, device_names
from bot.model.values import has_zone, is_not_finite, parse_timestamp, positive
from bot.model.verdict import Finding, finding
from bot.parse.results_json import NEW_KEYS
from bot.parse.schema_advice import advise_file, misspelt, version_problem
from bot.registry import Level
from bot.render.untrusted import plain, shown
from bot.rules import rule
from bot.rules.about import about, per_message, runs_of
from bot.rules.plausible import odd_runs

EARLIEST = dt.datetime(2015, 1, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)

# Quantity -> (lowest possible, highest possible, what it is). C4 text holds about 0.6 bits a byte
# for the best models known; 8 bits a byte is no prediction at all, and so is a loss of 20 nats.
_RANGES = {
    "bpb": (0.3, 8.0, "bits per byte"),
    "loss": (0.0, 20.0, "loss in nats"),
    "training_time_s": (0.0, 3.2e8, "training time"),
    "hardware_flops": (0.0, 1e30, "hardware FLOPs"),
    "model_flops": (0.0, 1e30, "model FLOPs"),
    "tokens": (0.0, 1e15, "number of tokens"),
    "parameters": (0.0, 1e15, "number of parameters"),
    "chips": (0.0, 1e6, "number of chips"),
    "devices": (0.0, 1e7, "number of devices"),
    "peak_flops": (0.0, 1e18, "peak FLOP/s of one chip"),
}

_COUNTS = (
    ("resources", "slice_count"),
    ("resources", "gpu_count"),
    ("resources", "chip_count"),
    ("resources/device", "count"),
    ("train_config", "train_batch_size"),
    ("train_config", "num_train_steps"),
    ("model_config", "num_layers"),
    ("model_config", "hidden_dim"),
    ("model_config", "intermediate_dim"),
    ("model_config", "num_heads"),
    ("model_config", "num_kv_heads"),
    ("model_config", "head_dim"),
    ("model_config", "max_seq_len"),
    ("model_config", "seq_len"),
)

_INPUTS = {
    "hardware_flops": ("training_time_s", "chips", "peak_flops"),
    "mfu": ("training_time_s", "chips", "peak_flops", "model_flops"),
}
_KEYS_OF_OLD = {
    "training_time_s": "training_time_in_minutes",
    "chips": "num_devices",
    "peak_flops": "device_flops",
    "hardware_flops": "total_training_flops",
    "parameters": "num_parameters",
}


def place(run: ResultsRun, name: str) -> dict[str, Any]:
    """Where a finding about a quantity of a results file points."""
    pointer = run.where(name)
    return {"file": run.file, "line": run.document.line(pointer), "pointer": pointer}


def key_of(run: ResultsRun, name: str) -> str:
    """The key of a quantity as the file spells it, in backquotes."""
    return f"`{_key(run.where(name))}`"


def is_no_number(run: ResultsRun) -> bool:
    """Whether the oldest shape's estimate of FLOPs, which is text, holds no number."""
    item = run.stated.get("hardware_flops")
    return (
        item is not None
        and item.value is None
        and isinstance(item.raw, str)
        and item.pointer.endswith("_flops_estimate")
        and not is_not_finite(item.raw)
    )


def unread_flops(run: ResultsRun, expected: float) -> Finding:
    """The finding on such an estimate."""
    raw = run.stated["hardware_flops"].raw
    return finding(
        "hardware-flops-mismatch",
        f"{key_of(run, 'hardware_flops')} is {shown(raw)}, which is no number, expected "
        f"{expected:.6g} from seconds x chips x peak",
        claimed=plain(str(raw)),
        expected=expected,
        fix=f"write {expected!r}",
        **place(run, "hardware_flops"),
    )


@rule("metric-missing")
def metric_missing(case: Case) -> Iterator[Finding]:
    """What the track ranks by can be computed from the evidence.

    A results file states bits per byte and the training time, and names its hardware, so that
    hardware FLOPs follow; a log or a W&B run has the track's metrics in its history. A submission
    from which no run could be read shows nothing.
    """
    yield from case.problems_of("metric-missing")
    for run in case.results:
        yield from _missing_inputs(run, case)
    if not case.results:
        yield from _without_runs(case)


def _missing_inputs(run: ResultsRun, case: Case) -> Iterator[Finding]:
    """Inputs of the ranked metrics that are absent, each once; not those that are there and wrong,
    and not those that stand under a misspelt key, since other rules speak of these."""
    old = run.shape in ("V0", "V1")
    if old and not isinstance(run.outer.get("run_stats"), dict):
        return
    values = metrics.of_results(run, case.track.vocab_size)
    inputs: dict[str, str] = {}
    for metric in (case.track.quality.metric, case.track.cost.metric):
        if values.get(metric) is None:
            inputs |= dict.fromkeys(_INPUTS.get(metric, (metric,)), metric)
    for name, metric in inputs.items():
        key = _KEYS_OF_OLD.get(name) if old else None
        key = key or NEW_KEYS.get(name, (name,))[0]
        if (
            values.get(name) is not None
            or name in run.stated
            or misspelt(run.info, frozenset({key}))
        ):
            continue
        hint = " or name the accelerator and how many" if name in ("chips", "peak_flops") else ""
        yield finding(
            "metric-missing",
            f"`{key}` is missing, so {metric} cannot be computed",
            fix=f"add `{key}`{hint}",
            **place(run, name),
        )


def _without_runs(case: Case) -> Iterator[Finding]:
    """Nothing to check fails, unless something else already says why there is nothing."""
    told = [*case.problems, *(f for item in case.evidence for f in item.problems)]
    for document in case.documents.values():
        version = version_problem(document)
        told += advise_file(document) if version is None else [version]
    if any(f.level is Level.ERROR for f in told):
        return
    for point in points_of(case):
        summary = of_case(case, point)
        if summary is not None and summary.n:
            without = summary.n - len(summary.cost.values)
            if case.track.cost.metric != case.track.quality.metric and without:
                which = "the runs have" if without == summary.n else f"{without} of the runs have"
                yield _no_metric(case, point, f"{which} no {case.track.cost.metric}")
        elif summary is None:
            only = "all runs are of the baseline arm" if case.runs("baseline", point) else None
            yield _no_metric(case, point, only or "no run could be read")
        elif case.track.objective == "baseline":
            why = "; ".join(f"{plain(e.file, 120)}: {e.why}" for e in summary.excluded[:3])
            yield _no_metric(case, point, f"no run counts: {why}")


def _no_metric(case: Case, point: str | None, message: str) -> Finding:
    name = f", point {plain(point, 64)}" if point else ""
    return finding(
        "metric-missing",
        f"{message}{name}",
        file=plain(case.folder.path, 200),
        point=point,
        fix=f"add runs with {case.track.quality.metric} and {case.track.cost.metric}",
    )


@rule("metric-not-finite")
def metric_not_finite(case: Case) -> Iterator[Finding]:
    """Metrics are finite numbers; NaN and infinities never rank.

    A loss that became NaN or infinite is a run that failed. W&B writes such values as the texts
    "NaN" and "Infinity".
    """
    yield from case.problems_of("metric-not-finite")
    for run in case.results:
        for name, item in run.stated.items():
            if is_not_finite(item.raw):
                yield finding(
                    "metric-not-finite",
                    f"`{_key(item.pointer)}` is {shown(item.raw)}, expected a finite number",
                    claimed=plain(str(item.raw)),
                    fix="use a run that did not diverge",
                    **place(run, name),
                )


@rule("metric-implausible")
def metric_implausible(case: Case) -> Iterator[Finding]:
    """Metrics lie in the range of the possible.

    Times, counts and FLOPs are above 0. Bits per byte lie between 0.3 and 8: English text is not
    known to be predictable below about 0.6 (a warning), and 8 is no prediction at all. A run that
    ends far beyond the target of a race to it is a warning too: why would it have gone on? And so
    are runs so alike that this alone proves the target (were others left out?), and a baseline arm
    that ends where the baseline does not.
    """
    yield from case.problems_of("metric-implausible")
    yield from odd_runs(case)
    for run in case.results:
        for name, (low, high, what) in _RANGES.items():
            value = run.number(name)
            if value is None or (low < value <= high and not (name == "bpb" and value < 0.6)):
                continue
            if low < value <= high:
                yield finding(
                    "metric-implausible",
                    f"{key_of(run, name)}, the {what}, is {value:g}; no "
                    "model is known to reach 0.6 on English text",
                    Level.WARNING,
                    claimed=value,
                    fix="check that no validation text was trained on",
                    **place(run, name),
                )
                continue
            bound = f"above {low:g}" if value <= low else f"at most {high:g}"
            yield finding(
                "metric-implausible",
                f"{key_of(run, name)}, the {what}, is {value:g}, expected {bound}",
                claimed=value,
                fix="write the value that was measured",
                **place(run, name),
            )
        yield from _odd_counts(run)


def _odd_counts(run: ResultsRun) -> Iterator[Finding]:
    """Counts of the hardware and the training that are no whole numbers above 0."""
    for part, key in _COUNTS:
        section = run.section(part.partition("/")[0])
        inner = section.get("device") if part == "resources/device" else section
        value = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if positive(value) is None:
            pointer = f"{run.info_pointer}/{part}/{key}"
            yield finding(
                "metric-implausible",
                f"`{key}` is {shown(value)}, expected a whole number above 0",
                file=run.file,
                line=run.document.line(pointer),
                pointer=pointer,
                claimed=value,
                fix="write the number that was used",
            )


@rule("timestamp-invalid")
def timestamp_invalid(case: Case) -> Iterator[Finding]:
    """The time of completion is there and can be read: `YYYY-MM-DD HH:MM:SS UTC`, or ISO 8601.

    It is shown with the record, which never counts as older than its pull request. A time without
    a zone is read as UTC, with a warning; one before 2015 or after today is refused, also in a log
    or a W&B file, and one before the first rule of the track is a warning.
    """
    yield from per_message(_odd_times(case))
    for run in case.results:
        problem = _timestamp_problem(run, case.facts.get("today"))
        if problem is None:
            continue
        message, level = problem
        item = run.stated.get("timestamp")
        yield finding(
            "timestamp-invalid",
            message,
            level,
            **place(run, "timestamp"),
            claimed=None if item is None else plain(str(item.raw)),
            fix=("write it as" if item else f"add it to `{_key(run.info_pointer)}` as")
            + ' "YYYY-MM-DD HH:MM:SS UTC", with the time at which the run ended',
        )


def _odd_times(case: Case) -> Iterator[Finding]:
    """Runs whose time, as any source states it, lies in the future, or before all of this."""
    today = case.facts.get("today")
    first = min((r.date for r in case.track.rules), default=None)
    for item, run in runs_of(case):
        moment = parse_timestamp(run.finished_at or run.created_at)
        if moment is None:
            continue
        day, level = moment.date(), None
        if isinstance(today, dt.date) and day > today + DAY:
            why = f"after today, {today}"
        elif moment < EARLIEST:
            why = "before 2015"
        elif first is not None and day < first and not case.brought_over:
            why, level = f"before the first rule of the track, of {first}", Level.WARNING
        else:
            continue
        if run.source != "results" or level is not None:
            yield about(
                case,
                item,
                run,
                "timestamp-invalid",
                f"the run is dated {day}, {why}",
                level=level,
                claimed=str(day),
                fix="check the clock of the machine, or say why it is so old",
            )


def _timestamp_problem(run: ResultsRun, today: Any) -> tuple[str, Level | None] | None:
    item = run.stated.get("timestamp")
    if item is None:
        return "`run_completion_timestamp` is missing", None
    text = run.text("timestamp")
    moment = parse_timestamp(text)
    if text is None or moment is None:
        return f"`run_completion_timestamp` is {shown(item.raw)}, which cannot be read", None
    if moment < EARLIEST:
        return f"`run_completion_timestamp` is {shown(text)}, before 2015", None
    if isinstance(today, dt.date) and moment.date() > today + DAY:
        return f"`run_completion_timestamp` is {shown(text)}, after today, {today}", None
    if not has_zone(text):
        return f"`run_completion_timestamp`, {shown(text)}, names no time zone", Level.WARNING
    return None


@rule("device-unknown")
def device_unknown(case: Case) -> Iterator[Finding]:
    """The accelerator is in the table of known ones, so that its peak can be checked.

    Where it is not, a peak that the file states is used and marked as such, and a maintainer looks
    at it. Name the chip as the vendor or the cloud does, or send us its datasheet. The same holds
    for a stated precision whose peak is lower than that of bf16, since it makes a run cheaper, and
    for a file that names two accelerators: the first of them is used.
    """
    for run in case.results:
        devices = metrics.devices_of(run)
        yield from _two_devices(run)
        if devices.accelerator is not None:
            usual = devices.accelerator.peaks.get("bf16")
            if usual and devices.table and devices.table < usual and run.ours.get("precision"):
                pointer = f"{run.info_pointer}/speedrun/precision"
                yield finding(
                    "device-unknown",
                    f"the precision {shown(devices.precision)} is self-declared, "
                    f"and its peak is {usual / devices.table:.3g} times lower than that of bf16",
                    file=run.file,
                    line=run.document.line(pointer),
                    pointer=pointer,
                    claimed=devices.precision,
                    fix="say in the description what ran in it",
                )
            continue
        name = (
            "no accelerator is named"
            if devices.name is None
            else (f"the accelerator {shown(devices.name)} is not known here")
        )
        peak = (
            f"its peak of {devices.peak:.4g} FLOP/s is self-declared and cannot be checked"
            if (devices.peak)
            else "no peak is stated"
        )
        pointer = f"{run.info_pointer}/resources"
        yield finding(
            "device-unknown",
            f"{name}, {peak}",
            file=run.file,
            line=run.document.line(pointer),
            pointer=pointer,
            claimed=None if devices.name is None else plain(devices.name),
            fix="name the accelerator, such as H100 SXM, A100, v5p-32 or v6e-8"
            + _closest(devices.name),
        )


def _two_devices(run: ResultsRun) -> Iterator[Finding]:
    """A second name in the file that stands for another chip, or for another number of them."""
    known = [
        (pointer, name, device)
        for pointer, name in device_names(run)
        if (device := accelerators.find(name)) is not None
    ]
    for pointer, name, device in known[1:]:
        first = known[0]
        same_chip = device.accelerator.id == first[2].accelerator.id
        if same_chip and (None in (device.chips, first[2].chips) or device.chips == first[2].chips):
            continue
        yield finding(
            "device-unknown",
            f"two accelerators are named, {shown(first[1])} and {shown(name)}; "
            f"{shown(first[1])} is used",
            file=run.file,
            line=run.document.line(pointer),
            pointer=pointer,
            claimed=plain(name),
            expected=plain(first[1]),
            fix="keep the one that the run used",
        )
        return


def _closest(name: str | None) -> str:
    names = {
        a.lower(): a for item in accelerators.all_accelerators() for a in (item.id, *item.aliases)
    }
    near = difflib.get_close_matches((name or "").lower()[:60], names, 1, 0.75)
    return f'; perhaps "{names[near[0]]}"' if near else ""


def _key(pointer: str) -> str:
    return pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
