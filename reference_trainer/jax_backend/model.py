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

Params = Mapping[str, Array]
Attention = Callable[[Array, Array, Array], Array]  # q (B,T,H,d), k and v (B,T,K,d) -> (B,T,H,d)


def matmul(x: Array, *weights: Array) -> Array:
    """x (..., in) with weights (out, in) side by side: one product in place of several."""
    weight = jnp.concatenate(weights) if len(weights) > 1 else weights[0]
    return jnp.einsum("...i,oi->...o", x, weight.astype(x.dtype))


def rope_tables(length: int, head_dim: int, theta: float) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of position x frequency, each (T, 1, d/2), float32."""
    frequency = theta ** -(np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    angle = np.arange(length, dtype=np.float64)[:, None] * frequency
    cos, sin = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
    return cos.astype(np.float32), sin.astype(np.float32)


def rotate(x_BTHd: Array, cos: np.ndarray, sin: np.ndarray) -> Array:
    """Rotary positions: the two halves of a head are the coordinates of d/2 planes."""
    first, second = jnp.split(x_BTHd.astype(jnp.float32), 2, axis=-1)
    turned = jnp.concatenate((first * cos - second * sin, first * sin + second * cos), axis=-1)
    return turned.astype(x_BTHd.dtype)


def norm(x: Array, weight: Array | None, eps: float) -> Array:
    """Root-mean-square norm over the last axis, computed in float32."""
    y = x.astype(jnp.float32)
    y = y * jax.lax.rsqrt(jnp.mean(jnp.square(y), axis=-1, keepdims=True) + eps)
    if weight is not None:
        y = y * jnp.reshape(weight, (1,) * (y.ndim - 1) + (-1,))
    return y.astype(x.dtype)


def layer(model: ModelConfig, attention: Attention, x_BTD: Array, w: Params) -> Array:
    """Attention and MLP, each behind a norm and added to the residual stream. `w` holds the
    layer's parameters by their short names (`wq`, `w_up`, ...)."""
    H, K, d = model.heads, model.key_value_heads, model.width_of_head
    B, T, _ = x_BTD.shape
    cos, sin = rope_tables(T, d, model.rope_theta)
    h_BTD = norm(x_BTD, w.get("attention_norm"), model.norm_eps)
    qkv = matmul(h_BTD, w["wq"], w["wk"], w["wv"]).reshape(B, T, H + 2 * K, d)
    q_BTHd, k_BTKd, v_BTKd = jnp.split(qkv, (H, H + K), axis=2)
    if model.qk_norm:
        q_BTHd = norm(q_BTHd, w.get("q_norm"), model.norm_eps)
        k_BTKd = norm(k_BTKd, w.get("k_norm"), model.norm_eps)
    y_BTHd = attention(rotate(q_BTHd, cos, sin), rotate(k_BTKd, cos, sin), v_BTKd)
    x_BTD = x_BTD + matmul(y_BTHd.reshape(B, T, H * d), w["wo"])
    return x_BTD + mlp(model, norm(x_BTD, w.get("mlp_norm"), model.norm_eps), w)


def mlp(model: ModelConfig, x_BTD: Array, w: Params) -> Array:
    """silu(gate) x up, or squared ReLU."""
    if not model.gated:
        return matmul(jnp.square(jax.nn.relu(matmul(x_BTD, w["w_up"]))), w["w_down"])
    gate, up = jnp.split(matmul(x_BTD, w["w_gate"], w["w_up"]), 2, axis=-1)
    return matmul(jax.nn.silu(gate) * up, w["w_down"])


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
) -> Array:
    """The loss of every target, (B, T), float32, in nats."""
    x_BTD = params["embed"][tokens_BT].astype(dtype)
    one_layer: Callable[..., Array] = functools.partial(layer, model, attention)
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
    logits_BTV = matmul(x_BTD, head).astype(jnp.float32)
    chosen_BT = jnp.take_along_axis(logits_BTV, targets_BT[..., None], axis=-1)[..., 0]
    return jax.nn.logsumexp(logits_BTV, axis=-1) - chosen_BT


def layer_params(params: Params, index: int) -> dict[str, Array]:
    """The parameters of one layer by their short names."""
    prefix = f"layers.{index}."
    return {n.removeprefix(prefix): p for n, p in params.items() if n.startswith(prefix)}
