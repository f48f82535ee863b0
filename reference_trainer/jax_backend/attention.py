"""Causal attention by platform: cuDNN on NVIDIA GPUs, splash (Pallas) on TPU, XLA elsewhere.

All take q (B,T,H,d), k and v (B,T,K,d) and give (B,T,H,d). With the numbers of documents (B,T) a
position sees those of its own document alone.
"""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (JAX leaves parts of itself untyped)

import functools
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array

from reference_trainer.jax_backend.model import Attention

SPLASH_BLOCK, SPLASH_HEAD = 128, 64  # the kernel's tiles: of the sequence, of the head width


def choose(platform: str, dtype: jnp.dtype, head_dim: int, seq_len: int) -> tuple[Attention, str]:
    """The attention for `platform` ("gpu", "tpu", "cpu") and one sentence that says why."""
    half = dtype in (jnp.bfloat16, jnp.float16)
    if platform == "gpu" and half and head_dim <= 128:
        return functools.partial(_xla, implementation="cudnn"), "cuDNN kernel"
    if platform == "tpu" and seq_len % SPLASH_BLOCK == 0 and head_dim % SPLASH_HEAD == 0:
        return _splash, "splash kernel (Pallas)"
    if platform == "tpu":
        why = (
            f"the splash kernel wants seq_len in multiples of {SPLASH_BLOCK} and the head width in "
            f"multiples of {SPLASH_HEAD}"
        )
        return functools.partial(_xla, implementation="xla"), f"XLA, {why}"
    return functools.partial(_xla, implementation="xla"), f"XLA, no flash kernel here ({platform})"


def _xla(
    q: Array,
    k: Array,
    v: Array,
    documents_BT: Array | None = None,
    *,
    implementation: Literal["xla", "cudnn"],
) -> Array:
    mask = None
    if documents_BT is not None:
        mask = (documents_BT[:, :, None] == documents_BT[:, None, :])[:, None]
    return jax.nn.dot_product_attention(
        q, k, v, mask=mask, is_causal=True, implementation=implementation
    )


def _splash(
    q_BTHd: Array, k_BTKd: Array, v_BTKd: Array, documents_BT: Array | None = None
) -> Array:
    """Called for the sequences of one device."""
    from jax.experimental.pallas.ops.tpu.splash_attention import (
        splash_attention_kernel,
        splash_attention_mask,
    )

    _, T, H, d = q_BTHd.shape
    causal = splash_attention_mask.CausalMask((T, T))
    mask = splash_attention_mask.MultiHeadMask([causal] * H)
    kernel = splash_attention_kernel.make_splash_mha_single_device(mask)
    q, k, v = (jnp.swapaxes(x, 1, 2) for x in (q_BTHd, k_BTKd, v_BTKd))
    k, v = (jnp.repeat(x, H // k.shape[1], axis=1) for x in (k, v))
    apart = None
    if documents_BT is not None:
        apart = splash_attention_kernel.SegmentIds(documents_BT, documents_BT)
    out = jax.vmap(kernel)(q * d**-0.5, k, v, apart)
    return jnp.swapaxes(out, 1, 2).astype(q.dtype)
