"""Rules on single values: there, finite, possible; readable times; known accelerators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.compute import accelerators, metrics
from bot.compute.case_statistics import of_case, points_of
from bot.model.case import Case
from bot.model.results import ResultsRun, device_name
from bot.model.values import is_not_finite, positive
from bot.model.verdict import Finding, finding
from bot.parse.results_json import NEW_KEYS
from bot.parse.schema_advice import advise_file, misspelt
from bot.parse.schema_version import version_problem
from bot.registry import Level
from bot.render.numbers import exact, figure
from bot.render.untrusted import plain, shown
from bot.rules.about import quoted
from bot.rules.plausible import odd_runs

# Quantity -> (lowest possible, highest possible, what it is). C4 text holds about 0.6 bits a byte
# for the best models known; 8 bits a byte is not a prediction at all, and so is a loss of 20 nats.
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
    return at(run, run.where(name))


def at(run: ResultsRun, pointer: str) -> dict[str, Any]:
    """What a finding about a place of a results file says of it."""
    return {"file": run.file, "line": run.document.line(pointer), "pointer": pointer}


def key_of(run: ResultsRun, name: str) -> str:
    """The key of a quantity as the file spells it, in backquotes."""
    return f"`{last_key(run.where(name))}`"


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
        f"{key_of(run, 'hardware_flops')} is {shown(raw)}, which is not a number, expected "
        f"{figure(expected)} from seconds x chips x peak",
        claimed=plain(str(raw)),
        expected=expected,
        fix=f"write {exact(expected)}",
        **place(run, "hardware_flops"),
    )


def metric_missing(case: Case) -> Iterator[Finding]:
    """What the track ranks by can be computed from the evidence.

    A results file states bits per byte and the training time, and names its hardware, so that
    hardware FLOPs follow; a log or a W&B run has the track's metrics in its history. A submission
    from which no run can be read proves nothing.
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
        hint = _of_device(device_name(run)) if name in ("chips", "peak_flops") else ""
        yield finding(
            "metric-missing",
            f"`{key}` is missing, so {metric} cannot be computed",
            fix=f"add `{key}`{hint}",
            **place(run, name),
        )


def _of_device(named: str | None) -> str:
    """What else would tell the chips and their peak; a name that is there is not a known one."""
    if named is None:
        return ", or name the accelerator and the number of chips"
    return f", or write a known accelerator, such as v5p-32, in place of {shown(named)}"


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
            if without:
                which = "the runs" if without == summary.n else f"{without} of {summary.n} runs"
                which += " has" if which.startswith("1 ") else " have"
                lack = f"{which} no {case.track.cost.metric}"
                yield _no_metric(case, point, *_why_none(case, point, lack))
        elif summary is None:
            only = "all runs are in the baseline arm" if case.runs("baseline", point) else None
            yield _no_metric(case, point, only or "no run could be read")
        elif case.track.objective == "baseline":
            why = "; ".join(f"{quoted(e.file)}: {e.why}" for e in summary.excluded[:3])
            yield _no_metric(case, point, f"no run counts: {why}")


def _why_none(case: Case, point: str | None, lack: str) -> tuple[str, str | None]:
    """What is missing, and what to write, of runs on a device that no peak is known of."""
    if case.track.cost.metric != "hardware_flops":
        return lack, None
    for run in case.runs("candidate", point):
        device, count = run.hardware.device, run.hardware.count
        if device is None:
            return f"{lack}: they name no device", (
                'log the device and the number of chips in the configuration, as in `device: "v4"` '
                "and `chips: 4`"
            )
        if accelerators.find(device) is None:
            return f"{lack}: the device {shown(device)} is not known", (
                "log the vendor's name of the device in the configuration, as in "
                '`device: "NVIDIA A100-SXM4-80GB"`, or ask for it in an issue'
            )
        if not count:
            return f"{lack}: they do not say how many devices they used", (
                "log the number of chips in the configuration, as in `chips: 4`"
            )
    return lack, None


def _no_metric(case: Case, point: str | None, message: str, fix: str | None = None) -> Finding:
    name = f", point {plain(point)}" if point else ""
    return finding(
        "metric-missing",
        f"{message}{name}",
        file=case.folder.path,
        point=point,
        fix=fix or f"add runs with {case.track.quality.metric} and {case.track.cost.metric}",
    )


def metric_not_finite(case: Case) -> Iterator[Finding]:
    """Metrics are finite numbers; NaN and infinities never rank.

    If the loss became NaN or infinite, the run failed. W&B writes such values as the texts "NaN"
    and "Infinity".
    """
    yield from case.problems_of("metric-not-finite")
    for run in case.results:
        for name, item in run.stated.items():
            if is_not_finite(item.raw):
                yield finding(
                    "metric-not-finite",
                    f"`{last_key(item.pointer)}` is {shown(item.raw)}, expected a finite number",
                    claimed=plain(str(item.raw)),
                    fix="use a run that did not diverge",
                    **place(run, name),
                )


def metric_implausible(case: Case) -> Iterator[Finding]:
    """Metrics are physically plausible.

    Times, counts and FLOPs are above 0. Bits per byte lie between 0.3 and 8: no model is known to
    predict English text below about 0.6 (a warning), and 8 is not a prediction at all. It is also a
    warning if a run ends far beyond the target (why did it go on?), if runs are so alike that their
    spread alone proves the target (were others left out?), or if a baseline arm does not end where
    the baseline does.
    """
    yield from case.problems_of("metric-implausible")
    yield from odd_runs(case)
    for run in case.results:
        for name, (low, high, what) in _RANGES.items():
            value = run.number(name)
            if value is None:
                continue
            said = f"{key_of(run, name)}, the {what}, is {figure(value)}"
            if not low < value <= high:
                bound = f"above {figure(low)}" if value <= low else f"at most {figure(high)}"
                yield finding(
                    "metric-implausible",
                    f"{said}, expected {bound}",
                    claimed=value,
                    fix="write the value that was measured",
                    **place(run, name),
                )
            elif name == "bpb" and value < 0.6:
                yield finding(
                    "metric-implausible",
                    f"{said}; no model is known to reach 0.6 on English text",
                    Level.WARNING,
                    claimed=value,
                    fix="check that no validation text was trained on",
                    **place(run, name),
                )
        yield from _odd_counts(run)


def _odd_counts(run: ResultsRun) -> Iterator[Finding]:
    """Counts of the hardware and the training that are not whole numbers above 0."""
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
                **at(run, pointer),
                claimed=value,
                fix="write the number that was used",
            )


def last_key(pointer: str) -> str:
    """The last part of a JSON pointer as it is spelled in the file."""
    return pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
