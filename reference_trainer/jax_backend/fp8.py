"""Matrix products in 8 bits: the scales and types of `torch_backend.fp8`, which gives the reasons.

Shapes in names: B sequences, T positions, I inputs, O outputs of a product.
"""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (JAX leaves parts of itself untyped)

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

E4M3, E5M2 = jnp.float8_e4m3fn, jnp.float8_e5m2
LARGEST = {E4M3: 448.0, E5M2: 57344.0}
SAMPLE = 16
ROOM = 64.0


class Scaled(NamedTuple):
    """`values` x `factor` is the array that the 8 bits stand for."""

    values: Array
    factor: Array


def quantise(x: Array, bound: Array, dtype: Any) -> Scaled:
    """`x` in 8 bits. Entries beyond `bound` are cut to it."""
    factor = jnp.maximum(bound.astype(jnp.float32) / LARGEST[dtype], 1e-30)
    scaled = jnp.clip(x.astype(jnp.float32) / factor, -LARGEST[dtype], LARGEST[dtype])
    return Scaled(scaled.astype(dtype), factor)


def multiply(equation: str, a: Scaled, b: Scaled, dtype: Any, fast: bool) -> Array:
    """einsum of both. `fast` adds up in fewer bits: for short sums only."""
    precision = jax.lax.Precision.DEFAULT if fast else jax.lax.Precision.HIGHEST
    product = jnp.einsum(
        equation, a.values, b.values, precision=precision, preferred_element_type=dtype
    )
    return (product.astype(jnp.float32) * (a.factor * b.factor)).astype(dtype)


def largest(x: Array) -> Array:
    return jnp.max(jnp.abs(x))


@jax.custom_vjp
def linear(x_BTI: Array, weight_OI: Array, bound: Array) -> Array:
    """x with weight: the product and both of its gradients in 8 bits. `bound` is at least the
    largest entry of x."""
    return _linear(x_BTI, weight_OI, bound)[0]


def _linear(x_BTI: Array, weight_OI: Array, bound: Array) -> tuple[Array, Any]:
    x8, w8 = quantise(x_BTI, bound, E4M3), quantise(weight_OI, largest(weight_OI), E4M3)
    return multiply("bti,oi->bto", x8, w8, x_BTI.dtype, fast=True), (x8, w8, bound)


def _linear_gradient(saved: Any, dy_BTO: Array) -> tuple[Array, Array, Array]:
    x8, w8, bound = saved
    dy8 = quantise(dy_BTO, ROOM * largest(dy_BTO[:, ::SAMPLE]), E5M2)
    dx_BTI = multiply("bto,oi->bti", dy8, w8, dy_BTO.dtype, fast=True)
    dw_OI = multiply("bto,bti->oi", dy8, x8, jnp.float32, fast=False)
    return dx_BTI, dw_OI, jnp.zeros_like(bound)


linear.defvjp(_linear, _linear_gradient)
