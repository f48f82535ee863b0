"""Numbers recomputed from evidence: what a run cost and how well it did, by our own formulas.

`of_results` works on a results file, `of_run` on a run of any other source, `of_point` takes the
mean over the runs of a point. What cannot be computed is None. A claim is used only where there is
nothing to compute it from, and the rules say so (`device-unknown`, `model-flops-unchecked`).
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Iterable, Mapping
from typing import Any

from bot.compute import accelerators, accounting
from bot.compute.accelerators import Accelerator
from bot.compute.accounting import Transformer
from bot.compute.shapes import peak_of, precision_of
from bot.model.results import ResultsRun, device_name
from bot.model.run import BINDING, Hardware, Run, Validation
from bot.model.track import NAMES, Track
from bot.model.values import parse_timestamp, positive, whole
from bot.registry import RELATIVE_TOLERANCE
from bot.render.untrusted import plain

_MOST_TOKENS = 10**50
"""Beyond it products would leave the range of a double; real runs have at most 1e14."""

Metrics = Mapping[str, float | int | None]

# Settings that do not change FLOPs or that the formula takes in; any other that is switched on
# may be an architecture that the formula does not cover.
_COVERED = frozenset(
    """
    activation_function attention_bias attention_dropout attn_backend base_dim
    cross_entropy_block_size dropout embed_dropout flash_attention_block_size
    gradient_checkpointing head_dim hidden_dim hybrid_norm initializer_range
    input_embedding_norm intermediate_dim layer_norm_epsilon max_seq_len num_heads num_kv_heads
    num_layers qk_norm reference_checkpoint resid_dropout rope rope_theta scan_layers seq_len
    sliding_window tie_word_embeddings tokenizer train_seq_len type upcast_attn
    use_attention_sink use_bias use_flash_attention use_gated_attention use_layer_norm_weight
    use_mup use_parallel_blocks use_qk_norm vocab_size zero_init
    """.split()
)


@dc.dataclass(frozen=True, slots=True)
class Devices:
    """The accelerators of a run: what they are, how many chips, and the peak of one in FLOP/s.

    `named` is the number of chips that the hardware's name gives, `chips` the number to compute
    with, `table` the peak by our table at `precision`, `peak` the one to compute with (a
    self-declared one where the table has none).
    """

    name: str | None
    accelerator: Accelerator | None
    named: int | None
    chips: int | None
    precision: str
    table: float | None
    peak: float | None


def devices_of(run: ResultsRun) -> Devices:
    """The hardware of a results file."""
    name = device_name(run)
    device = accelerators.find(name)
    accelerator = None if device is None else device.accelerator
    named = _named_chips(run, device)
    stated = positive(run.number("chips"))
    if named is None:
        oldest = run.shape in ("V0", "V1")
        named_or_stated = positive(run.number("devices")) if oldest else stated
    else:
        hosts = positive(run.section("resources").get("replicas")) or 1
        gpu = accelerator is None or accelerator.kind != "tpu"
        named_or_stated = stated if gpu and stated == named * hosts else named
    precision, table = _table_peak(run, accelerator)
    declared = run.number("peak_flops")
    override = run.section("resources").get("device_flops_override")
    if declared is None and isinstance(override, (int, float)) and not isinstance(override, bool):
        declared = override
    peak = table if table is not None else above_zero(declared)
    return Devices(name, accelerator, named, named_or_stated, precision, table, peak)


def _named_chips(run: ResultsRun, device: accelerators.Device | None) -> int | None:
    resources = run.section("resources")
    if device is not None and device.accelerator.kind == "tpu":
        slices = positive(resources.get("slice_count")) or 1
        return None if device.chips is None else device.chips * slices
    inner = resources.get("device")
    counts = (
        resources.get("gpu_count"),
        inner.get("count") if isinstance(inner, dict) else None,
        resources.get("chip_count"),
        run.number("devices") if run.shape in ("V0", "V1") else None,
        None if device is None else device.chips,
    )
    return next((n for n in map(positive, counts) if n is not None), None)


def _table_peak(run: ResultsRun, accelerator: Accelerator | None) -> tuple[str, float | None]:
    precision = precision_of({"precision": run.ours.get("precision")})
    if accelerator is None:
        return precision, None
    shape = transformer_of(run, None)
    peak = accelerators.peak_flops(accelerator, precision)
    if shape is not None:
        peak = accounting.peak_flops(shape, precision, accelerator.peaks)
    if peak is not None:
        return precision, peak
    # A precision that the chip does not have must not put a declared peak in the table's place.
    usual = accelerators.usual_precision(accelerator)
    return usual, accelerators.peak_flops(accelerator, usual)


def lengths_of(run: ResultsRun) -> tuple[tuple[str, int], ...]:
    """Every sequence length that a file states, (pointer, tokens), the one that counts first."""
    found = []
    for key in ("train_seq_len", "max_seq_len", "seq_len"):
        for part in ("train_config", "model_config"):
            length = positive(run.section(part).get(key))
            if length is not None:
                found.append((f"{run.info_pointer}/{part}/{key}", length))
    return tuple(found)


def tokens_of(run: ResultsRun) -> int | None:
    """Batch size x steps x sequence length, None where one of them is not a plain number."""
    train, lengths = run.section("train_config"), lengths_of(run)
    batch = positive(train.get("train_batch_size"))
    steps = positive(train.get("num_train_steps"))
    if batch is None or steps is None or not lengths:
        return None
    return accounting.tokens(batch, lengths[0][1], steps)


def novelties_of(run: ResultsRun) -> tuple[str, ...]:
    """Settings of the model that are on and that no formula here takes in."""
    model = run.section("model_config")
    return tuple(sorted(k for k, value in model.items() if k not in _COVERED and _is_on(value)))


def _is_on(value: Any) -> bool:
    return value not in (None, False, 0, "", "none", "None", [], {})


def transformer_of(run: ResultsRun, vocab: int | None) -> Transformer | None:
    """The dimensions of a llama-like model, None where one is missing or they do not divide."""
    model, lengths = run.section("model_config"), lengths_of(run)
    layers, hidden, width = (
        positive(model.get(key)) for key in ("num_layers", "hidden_dim", "intermediate_dim")
    )
    heads = positive(model.get("num_heads"))
    words = positive(model.get("vocab_size")) or positive(run.ours.get("vocab_size")) or vocab
    if layers is None or hidden is None or width is None or heads is None:
        return None
    if words is None or not lengths:
        return None
    head_dim = positive(model.get("head_dim"))
    if head_dim is None:
        if hidden % heads:
            return None
        head_dim = hidden // heads
    kv_heads = positive(model.get("num_kv_heads")) or heads
    return Transformer(
        layers,
        hidden,
        width,
        heads,
        kv_heads,
        head_dim,
        words,
        lengths[0][1],
        gated="activation_function" in model,
        tied=model.get("tie_word_embeddings") is True,
        norms_per_layer=4 if model.get("hybrid_norm") is True else 2,
        norm_weights=model.get("use_layer_norm_weight") is not False,
        embedding_norm=model.get("input_embedding_norm") is True,
        qk_norm=model.get("use_qk_norm") is True,
        attention_gate=_is_on(model.get("use_gated_attention")),
    )


def model_flops_of(run: ResultsRun, vocab: int | None, tokens: float | None) -> float | None:
    """Model FLOPs by the formula, None where it does not apply.

    The two oldest shapes state an estimate by another convention, 6 x parameters x tokens.
    """
    if tokens is None or not 0 < tokens <= _MOST_TOKENS:
        return None
    if run.shape in ("V0", "V1"):
        parameters = positive(run.number("parameters"))
        return None if parameters is None else float(6 * parameters * tokens)
    shape = transformer_of(run, vocab)
    return None if shape is None else accounting.model_flops(shape, int(tokens))


def of_results(run: ResultsRun, vocab: int | None = None) -> dict[str, float | int | None]:
    """All metrics of one run of a results file. `vocab` is the track's vocabulary size, for files
    that do not state one."""
    devices = devices_of(run)
    seconds = above_zero(run.number("training_time_s"))
    hardware = None
    if seconds is not None and devices.chips is not None and devices.peak is not None:
        hardware = finite(accounting.hardware_flops(seconds, devices.chips, devices.peak))
    tokens = tokens_of(run)
    tokens = positive(run.number("tokens")) if tokens is None else tokens
    model = _model_flops(run, vocab, tokens)
    return {
        "bpb": run.number("bpb"),
        "loss": run.number("loss"),
        "training_time_s": seconds,
        "steps": positive(run.section("train_config").get("num_train_steps")),
        "hardware_flops": hardware,
        "chips": devices.chips,
        "peak_flops": devices.peak,
        "tokens": tokens,
        "model_flops": model,
        "mfu": _mfu(model, hardware),
        "parameters": _parameters(run, vocab),
    }


def as_run(run: ResultsRun, vocab: int | None = None) -> Run:
    """A run of a results file as every other source gives it, with its metrics recomputed."""
    metrics = of_results(run, vocab)
    loss, seconds = metrics["loss"], metrics["training_time_s"]
    steps = whole(run.section("train_config").get("num_train_steps"))
    curve = (Validation(steps or 0, float(loss), seconds),) if loss is not None else ()
    when, name = parse_timestamp(run.text("timestamp")), device_name(run)
    device = None if name is None else plain(name, 100)
    login = run.ours.get("github_login")
    return Run(
        source="results",
        file=run.file,
        index=run.index,
        validation=curve,
        run_id=run.word("run_id"),
        total_steps=steps,
        last_step=steps,
        finished=True,
        hardware=Hardware(device, whole(metrics["chips"])),
        tags=(f"{BINDING}{login}",) if isinstance(login, str) else (),
        seed=whole(run.ours.get("seed")),
        nonce=run.word("nonce"),
        data_fingerprint=run.word("data_fingerprint"),
        code_sha256=_hashes(run.ours.get("code_sha256")),
        finished_at=None if when is None else when.isoformat(),
        metrics=metrics,
    )


def _hashes(value: object) -> dict[str, str]:
    if isinstance(value, str):
        return {"main.py": value}
    if not isinstance(value, dict):
        return {}
    return {str(name): digest for name, digest in value.items() if isinstance(digest, str)}


def _mfu(model: float | None, hardware: float | None) -> float | None:
    value = None if model is None or hardware is None else accounting.mfu(model, hardware)
    return None if value is None else finite(value)


def _model_flops(run: ResultsRun, vocab: int | None, tokens: int | None) -> float | None:
    claimed, ours = run.number("model_flops"), model_flops_of(run, vocab, tokens)
    if ours is None or (novelties_of(run) and claimed is not None):
        agrees = ours is not None and claimed is not None and same(claimed, ours)
        ours = ours if agrees else above_zero(claimed)
    return None if ours is None else finite(ours)


def _parameters(run: ResultsRun, vocab: int | None) -> int | None:
    shape = transformer_of(run, vocab)
    if shape is None or novelties_of(run):
        return positive(run.number("parameters"))
    return accounting.parameter_count(shape)


_LARGEST, _SMALLEST = 1e40, 1e-40
"""Beyond these nothing is a measurement, and squares overflow."""
_CONSTANT = ("chips", "peak_flops", "parameters")
_ALIASES = {"val_loss": "loss", "time_s": "training_time_s", "step": "steps"}


def of_run(run: Run, track: Track, step: int | None = None) -> dict[str, float | int | None]:
    """All metrics of a run of any source at its end, as the track has it, or at `step`: what it
    reached, wherever that is asked. What its history shows counts before what its source states."""
    own = track.quality.metric in track.metrics
    step = track.own_end(run) if step is None else step
    point = track.end_of(run) if step is None else run.at_step(step)
    if point is not None and point is not run.validation[-1]:
        step = point.step
    found = {name: _stated(run, name, step) for name in NAMES}
    found |= {name: _stated(run, name, step, own=True) for name in track.metrics}
    if step is not None:
        found |= {"loss": None, "steps": step}
        if not own:
            found["training_time_s"] = None
    if point is not None:
        found |= {"loss": point.loss, "steps": point.step}
        if point.time_s is not None or not (own or run.source == "results"):
            found["training_time_s"] = point.time_s  # None if the end has no clock
    seconds = found["training_time_s"]
    if seconds is not None and (seconds < 0 or (seconds == 0 and step != 0)):
        found["training_time_s"] = None
    if run.source != "results":
        _add_costs(found, run)
    for axis in (track.quality, track.cost):
        found.setdefault(axis.metric, found.get(_ALIASES.get(axis.metric, axis.metric)))
    return {name: value if is_measurement(value) else None for name, value in found.items()}


def _stated(run: Run, name: str, step: int | None, own: bool = False) -> float | int | None:
    """What the source states: the final value, for a metric of the track's `own` also by its
    history, or the value of the history at `step`."""
    series = run.history.get(name, ())
    if step is not None and name not in _CONSTANT:
        return dict(series or run.history.get(f"val_{name}", ())).get(step)
    return _first(run.metrics.get(name), series[-1][1] if own and series else None)


def _add_costs(found: dict[str, float | int | None], run: Run) -> None:
    """Chips, peak, hardware FLOPs and MFU by the device of a run, where its source has none."""
    device = accelerators.find(run.hardware.device)
    if device is not None:
        count = run.hardware.count
        found["chips"] = _first(found["chips"], count if count is not None else device.chips)
        peak = peak_of(device.accelerator, run.config)
        found["peak_flops"] = _first(found["peak_flops"], peak)
    seconds, chips, peak = (found[k] for k in ("training_time_s", "chips", "peak_flops"))
    if seconds and chips and peak and found["hardware_flops"] is None:
        found["hardware_flops"] = finite(accounting.hardware_flops(seconds, int(chips), peak))
    model, hardware = found["model_flops"], found["hardware_flops"]
    if model is not None and hardware is not None and found["mfu"] is None:
        found["mfu"] = _mfu(model, hardware)


def is_measurement(value: float | int | None) -> bool:
    """Whether a number lies where measurements do."""
    return value is not None and (value == 0 or _SMALLEST < abs(value) < _LARGEST)


def mean_of(rows: Iterable[Metrics]) -> dict[str, float | int | None]:
    """The mean of each metric over runs; a metric that a run lacks is None, and so are chips and
    peaks that differ, of which no mean was used. One run stays exact."""
    rows = list(rows)
    if not rows:
        return {name: None for name in NAMES}
    if len(rows) == 1:
        return dict(rows[0])
    names = dict.fromkeys(name for row in rows for name in row)
    found = {name: _mean([row.get(name) for row in rows]) for name in names}
    return found | {
        name: None for name in ("chips", "peak_flops") if len({row.get(name) for row in rows}) > 1
    }


def _mean(values: list[float | int | None]) -> float | int | None:
    numbers = [value for value in values if value is not None and math.isfinite(value)]
    if len(numbers) < len(values):
        return None
    if all(value == numbers[0] for value in numbers):
        return numbers[0]
    return math.fsum(numbers) / len(numbers)


def same(a: float, b: float, tolerance: float = RELATIVE_TOLERANCE) -> bool:
    """Whether two numbers differ by at most `tolerance` of the second."""
    return abs(a - b) <= tolerance * abs(b)


def above_zero(value: float | int | None) -> float | None:
    """A number above 0, else None."""
    return float(value) if value is not None and value > 0 else None


def finite(value: float) -> float | None:
    """A finite number, else None."""
    return value if math.isfinite(value) else None


def _first(kept: float | int | None, other: float | int | None) -> float | int | None:
    return other if kept is None else kept
