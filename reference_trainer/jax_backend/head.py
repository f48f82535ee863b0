"""Cross entropy of the output projection without float32 logits; see `torch_backend.head`.

Shapes in names: B sequences, T positions, D width, V vocabulary.
"""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (JAX leaves parts of itself untyped)

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from reference_trainer.jax_backend import fp8


def _losses(logits_BTV: Array, targets_BT: Array) -> tuple[Array, Array]:
    """Loss of every target in nats, and the logarithm of every row's sum, float32."""
    log_sum_BT = jax.nn.logsumexp(logits_BTV.astype(jnp.float32), axis=-1)
    chosen_BT = jnp.take_along_axis(logits_BTV, targets_BT[..., None], axis=-1)[..., 0]
    return log_sum_BT - chosen_BT.astype(jnp.float32), log_sum_BT


def _gradient(logits_BTV: Array, log_sum_BT: Array, targets_BT: Array, g_BT: Array) -> Array:
    """Gradient of the losses weighted by `g_BT`, float32: probability less one at the target."""
    ids = jnp.arange(logits_BTV.shape[-1])[None, None, :]
    probability = jnp.exp(logits_BTV.astype(jnp.float32) - log_sum_BT[..., None])
    chosen = (ids == targets_BT[..., None]).astype(jnp.float32)
    return (probability - chosen) * g_BT[..., None]


@jax.custom_vjp
def cross_entropy(logits_BTV: Array, targets_BT: Array) -> Array:
    """The loss of every target, (B, T), float32."""
    return _losses(logits_BTV, targets_BT)[0]


def _cross_entropy(logits_BTV: Array, targets_BT: Array) -> tuple[Array, Any]:
    losses, log_sum_BT = _losses(logits_BTV, targets_BT)
    return losses, (logits_BTV, log_sum_BT, targets_BT)


def _cross_entropy_gradient(saved: Any, g_BT: Array) -> Any:
    logits_BTV, log_sum_BT, targets_BT = saved
    gradient = _gradient(logits_BTV, log_sum_BT, targets_BT, g_BT)
    return gradient.astype(logits_BTV.dtype), _no_gradient(targets_BT)


cross_entropy.defvjp(_cross_entropy, _cross_entropy_gradient)


@jax.custom_vjp
def head_loss8(x_BTD: Array, weight_VD: Array, targets_BT: Array, bound: Array) -> Array:
    """The same from x and the head's weight, every product in 8 bits."""
    return _head_loss8(x_BTD, weight_VD, targets_BT, bound)[0]


def _head_loss8(
    x_BTD: Array, weight_VD: Array, targets_BT: Array, bound: Array
) -> tuple[Array, Any]:
    x8 = fp8.quantise(x_BTD, bound, fp8.E4M3)
    w8 = fp8.quantise(weight_VD, fp8.largest(weight_VD), fp8.E4M3)
    logits_BTV = fp8.multiply("btd,vd->btv", x8, w8, x_BTD.dtype, fast=True)
    losses, log_sum_BT = _losses(logits_BTV, targets_BT)
    return losses, (logits_BTV, log_sum_BT, targets_BT, x8, w8, bound)


def _head_loss8_gradient(saved: Any, g_BT: Array) -> Any:
    logits_BTV, log_sum_BT, targets_BT, x8, w8, bound = saved
    gradient = _gradient(logits_BTV, log_sum_BT, targets_BT, g_BT)
    d8 = fp8.quantise(gradient, fp8.largest(g_BT), fp8.E5M2)
    dx_BTD = fp8.multiply("btv,vd->btd", d8, w8, logits_BTV.dtype, fast=False)
    dw_VD = fp8.multiply("btv,btd->vd", d8, x8, jnp.float32, fast=False)
    return dx_BTD, dw_VD, _no_gradient(targets_BT), jnp.zeros_like(bound)


head_loss8.defvjp(_head_loss8, _head_loss8_gradient)


def _no_gradient(ids: Array) -> np.ndarray:
    """What JAX takes for the gradient of whole numbers."""
    return np.zeros(ids.shape, jax.dtypes.float0)
