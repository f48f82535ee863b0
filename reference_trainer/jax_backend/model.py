"""The transformer in JAX: plain functions over a flat dict of float32 parameters.

Shapes in names: B sequences, T positions, D width, H query heads, K key and value heads, d width of
a head, V vocabulary. Matrices are (out, in) as in torch; every product casts its weight to the type
of the activations.
"""

import functools
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from reference_trainer.config import ModelConfig
from reference_trainer.jax_backend.fp8 import linear as fp8_linear
from reference_trainer.jax_backend.head import cross_entropy, head_loss8
from reference_trainer.jax_backend.mlp import squared_mlp

Params = Mapping[str, Array]
# q (B,T,H,d), k and v (B,T,K,d), and numbers of documents (B,T) where they are apart -> (B,T,H,d)
Attention = Callable[..., Array]


def matmul(x: Array, *weights: Array) -> Array:
    """x (..., in) with weights (out, in) side by side: one product in place of several."""
    weight = jnp.concatenate(weights) if len(weights) > 1 else weights[0]
    return jnp.einsum("...i,oi->...o", x, weight.astype(x.dtype))


def rope_tables(length: int, head_dim: int, theta: float) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of position x frequency, each (T, 1, d), float32; sin with the sign that it has
    in either half of a head."""
    frequency = theta ** -(np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    angle = np.arange(length, dtype=np.float64)[:, None] * frequency
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    return np.concatenate((cos, cos), 1)[:, None, :], np.concatenate((-sin, sin), 1)[:, None, :]


def rotate(x_BTHd: Array, cos: np.ndarray, sin: np.ndarray) -> Array:
    """Rotary positions: the two halves of a head are the coordinates of d/2 planes. Swapping them
    by an index fuses better than joining two results."""
    x = x_BTHd.astype(jnp.float32)
    swapped = jnp.flip(x.reshape(*x.shape[:-1], 2, -1), -2).reshape(x.shape)
    return (x * cos + swapped * sin).astype(x_BTHd.dtype)


def norm(x: Array, weight: Array | None, eps: float) -> Array:
    """Root-mean-square norm over the last axis, computed in float32."""
    y = x.astype(jnp.float32)
    y = y * jax.lax.rsqrt(jnp.mean(jnp.square(y), axis=-1, keepdims=True) + eps)
    if weight is not None:
        y = y * jnp.reshape(weight, (1,) * (y.ndim - 1) + (-1,))
    return y.astype(x.dtype)


def norm_bound(width: int, weight: Array | None) -> Array:
    """What no norm of a vector, and so no entry, of the output of `norm` exceeds."""
    root = jnp.asarray(width**0.5, jnp.float32)
    return root if weight is None else root * jnp.max(jnp.abs(weight))


def layer(model: ModelConfig, attention: Attention, fp8: bool, x_BTD: Array, w: Params) -> Array:
    """Attention and MLP, each behind a norm and added to the residual stream. `w` holds the
    layer's parameters by their short names (`wq`, `w_up`, ...)."""
    H, K, d = model.heads, model.key_value_heads, model.width_of_head
    B, T, _ = x_BTD.shape
    cos, sin = rope_tables(T, d, model.rope_theta)
    h_BTD = norm(x_BTD, w.get("attention_norm"), model.norm_eps)
    # The values apart: the kernel of attention takes them as this product leaves them.
    qk = matmul(h_BTD, w["wq"], w["wk"]).reshape(B, T, H + K, d)
    q_BTHd, k_BTKd = jnp.split(qk, (H,), axis=2)
    v_BTKd = matmul(h_BTD, w["wv"]).reshape(B, T, K, d)
    if model.qk_norm:
        q_BTHd = norm(q_BTHd, w.get("q_norm"), model.norm_eps)
        k_BTKd = norm(k_BTKd, w.get("k_norm"), model.norm_eps)
    y_BTHd = attention(rotate(q_BTHd, cos, sin), rotate(k_BTKd, cos, sin), v_BTKd)
    x_BTD = x_BTD + matmul(y_BTHd.reshape(B, T, H * d), w["wo"])
    h_BTD = norm(x_BTD, w.get("mlp_norm"), model.norm_eps)
    return x_BTD + (mlp8(model, h_BTD, w) if fp8 else mlp(model, h_BTD, w))


def mlp(model: ModelConfig, x_BTD: Array, w: Params) -> Array:
    """silu(gate) x up, or squared ReLU."""
    if not model.gated:
        flat_ND = x_BTD.reshape(-1, model.hidden)
        return squared_mlp(flat_ND, w["w_up"], w["w_down"]).reshape(x_BTD.shape)
    gate, up = jnp.split(matmul(x_BTD, w["w_gate"], w["w_up"]), 2, axis=-1)
    return matmul(jax.nn.silu(gate) * up, w["w_down"])


def mlp8(model: ModelConfig, x_BTD: Array, w: Params) -> Array:
    """The MLP with products in 8 bits; see `torch_backend.model.Layer.mlp8`."""
    weight = jnp.concatenate((w["w_gate"], w["w_up"])) if model.gated else w["w_up"]
    bound = norm_bound(model.hidden, w.get("mlp_norm"))
    into = fp8_linear(x_BTD, weight, bound)
    if model.gated:
        gate, up = jnp.split(into, 2, axis=-1)
        hidden = jax.nn.silu(gate) * up
    else:
        hidden = jnp.square(jax.nn.relu(into))
    row = jnp.max(jnp.linalg.norm(weight, axis=1))
    return fp8_linear(hidden, w["w_down"], jax.lax.stop_gradient(jnp.square(bound * row)))


def losses(
    params: Params,
    tokens_BT: Array,
    targets_BT: Array,
    *,
    model: ModelConfig,
    attention: Attention,
    dtype: jnp.dtype,
    scan_layers: bool = False,
    remat: bool = False,
    fp8: bool = False,
) -> Array:
    """The loss of every target, (B, T), float32, in nats; with `fp8` the products of MLP and head
    are computed in 8 bits."""
    x_BTD = params["embed"][tokens_BT].astype(dtype)
    if model.document_end >= 0:
        ends_BT = (tokens_BT == model.document_end).astype(jnp.int32)
        documents_BT = jnp.cumsum(ends_BT, axis=1) - ends_BT  # an end belongs to what it ends
        attention = functools.partial(attention, documents_BT=documents_BT)
    one_layer: Callable[..., Array] = functools.partial(layer, model, attention, fp8)
    if remat:
        one_layer = jax.checkpoint(one_layer)
    layers = [layer_params(params, i) for i in range(model.layers)]
    if scan_layers:
        # Cast first, so that the stacked copy costs 2 bytes a weight in bf16.
        stacked = jax.tree.map(lambda *w: jnp.stack([a.astype(dtype) for a in w]), *layers)
        x_BTD, _ = jax.lax.scan(lambda x, w: (one_layer(x, w), None), x_BTD, stacked)
    else:
        for w in layers:
            x_BTD = one_layer(x_BTD, w)
    x_BTD = norm(x_BTD, params.get("norm"), model.norm_eps)
    head = params["embed"] if model.tied else params["head"]
    if fp8:
        return head_loss8(x_BTD, head, targets_BT, norm_bound(model.hidden, params.get("norm")))
    return cross_entropy(matmul(x_BTD, head), targets_BT)


def layer_params(params: Params, index: int) -> dict[str, Array]:
    """The parameters of one layer by their short names."""
    prefix = f"layers.{index}."
    return {n.removeprefix(prefix): p for n, p in params.items() if n.startswith(prefix)}
