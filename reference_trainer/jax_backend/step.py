"""One training step in JAX as a pure function, and how its arrays lie on a mesh of devices.

The mesh has one axis, "data": sequences are split along it. Parameters and optimizer state are
whole on every device (`data`) or each cut along its longest divisible axis (`fsdp`).
"""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (JAX leaves parts of itself untyped)

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from reference_trainer.config import Config
from reference_trainer.jax_backend import attention, model, optimizers
from reference_trainer.jax_backend.model import Params
from reference_trainer.recorded import Optimizer

DTYPES = {"fp8": jnp.bfloat16, "bf16": jnp.bfloat16, "fp32": jnp.float32}

# Products by cuBLAS alone, +0.6 % tokens/s at 124M (H200, JAX 0.11.2). Not for fp8, where Triton's
# kernels are 4 % faster, after two minutes of tuning.
GPU_OPTIONS: dict[str, str | bool] = {"xla_gpu_enable_triton_gemm": False}

Losses = Callable[..., Array]  # params, tokens (B,T), targets (B,T) -> (B,T)
Tree = Any


def reference_losses(config: Config, dtype: Any, attend: model.Attention) -> Losses:
    """The reference model's loss of every target."""
    return functools.partial(
        model.losses,
        model=config.model,
        attention=attend,
        dtype=dtype,
        scan_layers=config.train.scan_layers,
        remat=config.train.remat,
        fp8=config.train.precision == "fp8",
    )


def train_step(config: Config, losses: Losses, optimizer: Optimizer) -> Callable[..., Any]:
    """step(state, rows, multiplier) -> (state, mean loss). `rows` is (micro-batches, B, T + 1);
    gradients of the micro-batches are averaged in float32."""

    def mean_loss(params: Params, rows_BT: Array, key: Array | None) -> Array:
        if key is not None:  # targets that the model draws from its own predictions
            return jnp.mean(losses(params, rows_BT[:, :-1], None, key))
        return jnp.mean(losses(params, rows_BT[:, :-1], rows_BT[:, 1:]))

    def gradients(
        rows_MBT: Array, params: Params, key: Array | None = None
    ) -> tuple[Array, Params]:
        if rows_MBT.shape[0] == 1:
            return jax.value_and_grad(mean_loss)(params, rows_MBT[0], key)
        keys = None if key is None else jax.random.split(key, rows_MBT.shape[0])

        def add(total: Tree, rows_and_key: Tree) -> tuple[Tree, None]:
            new = jax.value_and_grad(mean_loss)(params, *rows_and_key)
            return jax.tree.map(jnp.add, total, new), None

        zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, params))
        total, _ = jax.lax.scan(add, zero, (rows_MBT, keys))
        return jax.tree.map(lambda x: x / rows_MBT.shape[0], total)

    def step(state: Tree, rows_MBT: Array, multiplier: Array) -> tuple[Tree, Array]:
        loss, grads = gradients(rows_MBT, state["param"])
        if config.optimizer.clip_norm:
            grads = optimizers.clip(grads, config.optimizer.clip_norm)
        again = (functools.partial(gradients, rows_MBT),) if optimizer.second else ()
        params, own = optimizer.update(
            grads, state["optimizer"], state["param"], multiplier, *again
        )
        return {"param": params, "optimizer": own}, loss

    return step


def evaluation(losses: Losses) -> Callable[..., Array]:
    """evaluate(params, rows (B, T + 1), weights (B, T)) -> weighted sum in nats."""

    def evaluate(params: Params, rows_BT: Array, weights_BT: Array) -> Array:
        return jnp.sum(losses(params, rows_BT[:, :-1], rows_BT[:, 1:]) * weights_BT)

    return evaluate


def shardings(mesh: Mesh, state: Tree, how: str) -> Tree:
    """Where each array of `state` lies: replicated, or cut along "data"."""
    count = mesh.devices.size

    def place(leaf: Any) -> NamedSharding:
        axes: list[str | None] = [None] * len(leaf.shape)
        divisible = [i for i, size in enumerate(leaf.shape) if size % count == 0]
        if how == "fsdp" and divisible and int(np.prod(leaf.shape)) > 1:
            axes[max(divisible, key=lambda i: leaf.shape[i])] = "data"
        return NamedSharding(mesh, PartitionSpec(*axes))

    return jax.tree.map(place, state)


def compile_step(
    config: Config,
    mesh: Mesh,
    platform: str,
    dtype: Any,
    losses: Losses,
    optimizer: Optimizer,
    state: Tree,
    micro_batches: int,
) -> Any:
    """Lower and compile the step for the devices of `mesh`, which need not be here."""
    where = shardings(mesh, state, config.train.sharding)
    rows = jax.ShapeDtypeStruct(
        (micro_batches, config.train.batch // micro_batches, config.model.seq_len + 1),
        jnp.int32,
        sharding=NamedSharding(mesh, PartitionSpec(None, "data")),
    )
    whole = NamedSharding(mesh, PartitionSpec())
    multiplier = jax.ShapeDtypeStruct((), jnp.float32, sharding=whole)
    shapes = jax.tree.map(
        lambda x, s: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=s), state, where
    )
    step = jax.jit(
        train_step(config, losses, optimizer), donate_argnums=0, out_shardings=(where, whole)
    )
    cublas_alone = platform == "gpu" and config.train.precision != "fp8"
    return step.lower(shapes, rows, multiplier).compile(GPU_OPTIONS if cublas_alone else None)


def choose_attention(
    config: Config, platform: str, dtype: Any, mesh: Mesh
) -> tuple[model.Attention, str]:
    return attention.choose(platform, dtype, config.model.width_of_head, config.model.seq_len, mesh)
