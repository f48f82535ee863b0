"""The model and the precision of a run by its configuration, whatever its names: what its hardware
FLOPs are charged at, and the FLOPs that its training takes at the least.

    peak_of(accelerator, config)        FLOP/s of one chip that the run is charged
    least_flops(run)                    (FLOPs, of what), or None where nothing states them
"""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Mapping
from typing import Any

from bot.compute import accounting
from bot.compute.accelerators import Accelerator, usual_precision
from bot.compute.accounting import Transformer
from bot.model.run import Run
from bot.model.values import positive

_NAMES: Mapping[str, tuple[str, ...]] = {
    "layers": ("num_layers", "n_layer", "n_layers", "layers", "num_hidden_layers", "depth"),
    "hidden": ("hidden_dim", "n_embd", "d_model", "hidden_size", "hidden", "model_dim", "dim"),
    "intermediate": ("intermediate_dim", "intermediate_size", "intermediate", "d_ff", "ffn_dim"),
    "heads": ("num_heads", "n_head", "n_heads", "heads", "num_attention_heads"),
    "kv_heads": ("num_kv_heads", "n_kv_head", "kv_heads", "num_key_value_heads"),
    "head_dim": ("head_dim",),
    "vocab": ("vocab_size", "vocab", "padded_vocab_size"),
    "seq_len": ("seq_len", "train_seq_len", "max_seq_len", "sequence_length", "block_size"),
}
PARAMETERS = frozenset(
    "parameter_count num_params n_params num_parameters parameters total_params n_parameters "
    "total_parameters param_count model_parameters".split()
)
_FLOPS = (
    "flops_per_token",
    "model_flops_per_token",
    "num_flops_per_token",
    "train_flops_per_token",
)
_LARGER = 1.5
_BATCHES = ("tokens_per_step", "batch_tokens", "tokens_per_batch", "tokens_per_iter")
_BF16 = "bf16"
_SPELLINGS: Mapping[str, str] = {
    spelling: name
    for name, spellings in {
        _BF16: "bf16 bfloat16 bf16_mixed bf16_true mixed_bf16 amp mixed auto",
        "fp16": "fp16 float16 f16 half 16 16_mixed 16_true fp16_mixed mixed_fp16",
        "fp32": "fp32 float32 f32 float full single 32 32_true fp32_true no none false",
        "tf32": "tf32 tensorfloat32",
        "fp64": "fp64 float64 f64 double 64 64_true",
        "fp8": "fp8 float8 f8 fp8_mixed mixed_fp8 float8_e4m3fn float8_e5m2 float8_e4m3 fp8_hybrid "
        "fp8_e4m3 fp8_e5m2 mxfp8 transformer_engine hybrid_fp8",
    }.items()
    for spelling in spellings.split()
}
_PRECISIONS = frozenset("precision mixed_precision compute_dtype amp_dtype dtype mp".split())
_COMPUTE = re.compile(r"(?:^|,)\s*c(?:ompute)?=(\w+)")  # jmp's `p=f32,c=bf16`
_LOW = re.compile(r"(?:^|_)(?:(fp8|float8|mxfp8)|((?:mx|nv)?fp4|float4|int8|int4))(?:_|$)")
_NOT_USED = re.compile(r"support|available|capable|optim|adam|kv_cache|allow")
_OFF = frozenset(("", "none", "false", "off", "no", "0", "disabled"))
_LEAST_MODEL = 1e6
"""Parameters of a model that is too small for any track: a floor for what tokens cost."""


def precision_of(config: Mapping[str, Any]) -> str:
    """The lowest precision that a run states, by one name for its spellings; bf16 where it states
    none. Settings such as `use_fp8` state one too. A name that is not known is given as it is."""
    stated = [name for key, value in config.items() if (name := _precision(key, value))]
    low = [name for name in stated if name not in KNOWN_PRECISIONS]
    return next(iter((*low, *(n for n in stated if n == "fp8"), *stated)), _BF16)


KNOWN_PRECISIONS = frozenset(_SPELLINGS.values())
"""Precisions whose peak a run is charged, or that of bf16 where that is more."""


def states_precision(key: str) -> bool:
    """Whether a setting of this name states a precision by its value."""
    return re.sub(r"[^a-z0-9]+", "_", _last(key).lower()) in _PRECISIONS


def _precision(key: str, value: object) -> str | None:
    """The precision that one setting states."""
    name = re.sub(r"[^a-z0-9]+", "_", _last(key).lower())
    if name in _PRECISIONS and isinstance(value, str | int) and not isinstance(value, bool):
        text = str(value).strip().lower()
        inner = _COMPUTE.search(text)
        words = re.sub(r"[^a-z0-9]+", "_", inner[1] if inner else text).strip("_")
        words = words.removeprefix("torch_").removeprefix("jnp_").removeprefix("jax_numpy_")
        return _SPELLINGS.get(words, words[:40]) if words else None
    found = _LOW.search(name)
    off = value is None or value is False or str(value).strip().lower() in _OFF
    if found is None or off or _NOT_USED.search(name):
        return None
    return "fp8" if found[1] else found[2]


def peak_of(accelerator: Accelerator, config: Mapping[str, Any]) -> float | None:
    """The dense peak of one chip that a run is charged. Every run is charged that of bf16 at the
    least, which its chips could have used; fp8 is charged product by product, by the dimensions of
    the model or by the peak that the run states, else as if all of it ran in fp8. A precision that
    is not known is charged the highest peak of the chip."""
    peaks = accelerator.peaks
    usual = peaks.get(usual_precision(accelerator))
    precision, fp8 = precision_of(config), peaks.get("fp8")
    if precision not in KNOWN_PRECISIONS:
        return max(peaks.values(), default=None)
    if precision != "fp8" or fp8 is None or usual is None:
        return usual
    shape = transformer_of(config)
    if shape is not None:
        return accounting.peak_flops(shape, precision, peaks) or fp8
    stated = config.get("peak_flops")
    if isinstance(stated, int | float) and usual <= stated <= fp8:
        return float(stated)
    return fp8


def transformer_of(config: Mapping[str, Any], vocab: int | None = None) -> Transformer | None:
    """The dimensions of a model in the names of common trainers; None where one is missing. An MLP
    whose width is not stated is four times as wide as the model. `vocab` is that of the track."""
    found = {name: _first(config, names) for name, names in _NAMES.items()}
    layers, hidden, heads = (found[name] for name in ("layers", "hidden", "heads"))
    vocab, seq_len = found["vocab"] or vocab, found["seq_len"]
    if layers is None or hidden is None or heads is None or vocab is None or seq_len is None:
        return None
    gated = any(_last(name) == "gated" and value is True for name, value in config.items())
    return Transformer(
        layers=layers,
        hidden=hidden,
        intermediate=found["intermediate"] or 4 * hidden,
        heads=heads,
        kv_heads=found["kv_heads"] or heads,
        head_dim=found["head_dim"] or max(hidden // heads, 1),
        vocab=vocab,
        seq_len=seq_len,
        gated=gated,
    )


def least_flops(run: Run, vocab: int | None = None) -> tuple[float, str] | None:
    """The FLOPs that a run's tokens take at the least, and of what model: by its dimensions, by 6 x
    parameters, or by the smallest model that there is."""
    tokens = run.metrics.get("tokens") or _tokens(run)
    if tokens is None or not 0 < tokens <= 1e20:
        return None
    shape, parameters = transformer_of(run.config, vocab), parameters_of(run)
    if is_sparse(run.config):
        shape = parameters = None
    if shape is not None:
        return accounting.model_flops(shape, int(tokens)), "its stated dimensions"
    if parameters is not None:
        return 6.0 * parameters * tokens, f"its {parameters:,.0f} parameters"
    return 6.0 * _LEAST_MODEL * tokens, "a model of a million parameters"


def is_sparse(config: Mapping[str, Any]) -> bool:
    """Whether a token passes through a part of the weights alone."""
    return any("expert" in _last(name) for name in config)


def larger_model(run: Run, vocab: int | None = None) -> tuple[float, float, str] | None:
    """What a run states of a model that is larger than its dimensions make: the stated number, the
    number by the dimensions, and of what."""
    shape = transformer_of(run.config, vocab)
    if shape is None or is_sparse(run.config):
        return None
    shape = dc.replace(shape, gated=True)
    parameters, flops = parameters_of(run), _first(run.config, _FLOPS)
    most = float(accounting.parameter_count(shape))
    each = 3.0 * accounting.forward_flops_per_token(shape)
    if parameters is not None and parameters > _LARGER * most:
        return parameters, most, "parameters"
    if flops is not None and flops > _LARGER * each:
        return flops, each, "FLOPs a token"
    return None


def parameters_of(run: Run) -> float | None:
    """The parameters that a run states, None where it states none."""
    stated = [w.value for w in run.witnesses if w.quantity == "parameters"]
    value = next((v for v in stated if isinstance(v, int | float)), None)
    return value if value is not None else _first(run.config, tuple(PARAMETERS))


def _tokens(run: Run) -> float | None:
    """Tokens by the steps and a stated number of tokens a step."""
    each, steps = _first(run.config, _BATCHES), run.step or run.last_step
    return None if each is None or steps is None else float(each) * steps


def _first(config: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """The first setting whose last part is one of some names, as a positive whole number."""
    by_last = {_last(name): value for name, value in reversed(list(config.items()))}
    return next((v for n in names if (v := positive(by_last.get(n))) is not None), None)


def _last(name: str) -> str:
    return name.rpartition(".")[2].rpartition("/")[2]
