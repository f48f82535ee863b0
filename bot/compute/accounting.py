"""What a training run costs and how well it does: FLOPs, MFU, parameters, bits per byte.

Every formula of the project stands here, once. Units are in the names: FLOPs are counts,
`peak` is FLOP/s of one chip, times are seconds. Counts are exact integers until the last
multiplication, which makes a result reproducible to the bit.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Transformer:
    """The dimensions of a decoder-only transformer that its cost depends on.

    `intermediate` is the width of the MLP and `gated` says whether it has the third matrix
    (SwiGLU and kin). `norms_per_layer` counts norms of width `hidden` in a layer (2; 4 with
    a norm after each branch too); `qk_norm` adds two of width `head_dim`. `attention_gate` is
    an elementwise gate of the attention output: its parameters count, its FLOPs do not (the
    convention of the Marin board). `learned_positions` is the length of a position table.
    """

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    seq_len: int
    gated: bool = True
    tied: bool = False
    norms_per_layer: int = 2
    norm_weights: bool = True
    final_norm: bool = True
    embedding_norm: bool = False
    qk_norm: bool = False
    attention_gate: bool = False
    learned_positions: int = 0


def forward_flops_per_token(t: Transformer) -> int:
    """FLOPs of one token's forward pass, full (not causal) attention at length `seq_len`.

    L (6 h f + 2 h (H d + 2 K d) + 2 h^2 + 4 s H d + 3 s H) + 2 h V, with 4 h f for an MLP that
    is not gated: each weight of a matrix product costs 2, scores and their sum 4 s H d, the
    softmax 3 s H, the embedding table nothing. The formula of Levanter's `lm_flops_per_token`;
    its output projection is 2 h^2 also where H d is not h.
    """
    attention_width = t.heads * t.head_dim
    mlp = (6 if t.gated else 4) * t.hidden * t.intermediate
    projections = 2 * t.hidden * (attention_width + 2 * t.kv_heads * t.head_dim)
    output = 2 * t.hidden * t.hidden
    scores = 4 * t.seq_len * attention_width + 3 * t.seq_len * t.heads
    return t.layers * (mlp + projections + output + scores) + 2 * t.hidden * t.vocab


def fp8_flops_per_token(t: Transformer) -> int:
    """The part of `forward_flops_per_token` that the precision "fp8" computes in 8 bits: the
    products of the MLPs and of the head. Everything else is in bf16."""
    mlp = (6 if t.gated else 4) * t.hidden * t.intermediate
    return t.layers * mlp + 2 * t.hidden * t.vocab


def peak_flops(t: Transformer, precision: str, peaks: Mapping[str, float]) -> float | None:
    """Dense peak in FLOP/s of a chip with these `peaks` for a model at a precision; None if the
    chip does not have it. For fp8 it is FLOPs over the least time that they take, each product at
    the peak of the precision that computes it."""
    if precision != "fp8":
        return peaks.get(precision)
    if "fp8" not in peaks or "bf16" not in peaks:
        return None
    everything, narrow = forward_flops_per_token(t), fp8_flops_per_token(t)
    return everything / (narrow / peaks["fp8"] + (everything - narrow) / peaks["bf16"])


def model_flops(t: Transformer, tokens: int) -> float:
    """FLOPs of training on `tokens` tokens: forward once, backward twice that."""
    return float(3 * forward_flops_per_token(t) * tokens)


def hardware_flops(seconds: float, chips: int, peak: float) -> float:
    """What the chips could have computed in that time: seconds x chips x peak FLOP/s, multiplied
    in this order (the order makes it exact in IEEE doubles)."""
    return seconds * chips * peak


def mfu(model: float, hardware: float) -> float | None:
    """Model FLOPs utilisation, a fraction; None where it is undefined."""
    if not (math.isfinite(model) and math.isfinite(hardware)) or hardware <= 0:
        return None
    return model / hardware


def parameter_count(t: Transformer) -> int:
    """Trainable numbers: embeddings (one table where tied), layers without biases, norms."""
    width, kv_width = t.heads * t.head_dim, t.kv_heads * t.head_dim
    mlp = (3 if t.gated else 2) * t.hidden * t.intermediate
    attention = t.hidden * (width + 2 * kv_width) + width * t.hidden
    gate = t.hidden * width if t.attention_gate else 0
    norms = t.norms_per_layer * t.hidden + (2 * t.head_dim if t.qk_norm else 0)
    layer = mlp + attention + gate + (norms if t.norm_weights else 0)
    tables = (1 if t.tied else 2) * t.vocab * t.hidden + t.learned_positions * t.hidden
    outer_norms = (int(t.final_norm) + int(t.embedding_norm)) * t.hidden
    return tables + t.layers * layer + (outer_norms if t.norm_weights else 0)


def tokens(batch: int, seq_len: int, steps: int) -> int:
    """Tokens seen in training: sequences a step x tokens a sequence x steps."""
    return batch * seq_len * steps


def bits_per_byte(total_nats: float, total_bytes: int) -> float:
    """Loss summed over every predicted token, in nats, over ln 2 x UTF-8 bytes of that text.

    Raises ValueError where there are no bytes.
    """
    if total_bytes <= 0:
        raise ValueError(f"bits per byte need at least 1 byte of text, got {total_bytes}")
    return total_nats / (math.log(2) * total_bytes)
