"""One training step in JAX as a pure function, and how its arrays lie on a mesh of devices.

The mesh has one axis, "data": sequences are split along it. Parameters and optimizer state are
whole on every device (`data`) or each cut along its longest divisible axis (`fsdp`). A device
computes the gradients of its own sequences, micro-batch after micro-batch; the devices reduce them
once a step: to the whole sum, or each to its own part of it.
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

from reference_trainer.config import Config, scored_targets
from reference_trainer.jax_backend import attention, model, optimizers
from reference_trainer.jax_backend.model import Params
from reference_trainer.recorded import Optimizer

DTYPES = {"fp8": jnp.bfloat16, "bf16": jnp.bfloat16, "fp32": jnp.float32}

# Products by cuBLAS alone, +0.6 % tokens/s at 124M (H200, JAX 0.11.2). Not for fp8, where Triton's
# kernels are 4 % faster, after two minutes of tuning.
GPU_OPTIONS: dict[str, str | bool] = {"xla_gpu_enable_triton_gemm": False}

ROWS = PartitionSpec(None, "data")  # of micro-batches, each split over the devices

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


def train_step(
    config: Config, losses: Losses, optimizer: Optimizer, mesh: Mesh
) -> Callable[..., Any]:
    """step(state, rows, multiplier) -> (state, mean loss). `rows` is (micro-batches, B, T + 1);
    gradients of the micro-batches are averaged in float32."""
    gradients = _gradients(config, losses, mesh)

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


def _gradients(config: Config, losses: Losses, mesh: Mesh) -> Callable[..., tuple[Array, Params]]:
    """gradients(rows, params, key=None) -> (mean loss, its gradients), cut as `params` are."""
    of_device = _of_device(config, losses)

    def gradients(
        rows_MBT: Array, params: Params, key: Array | None = None
    ) -> tuple[Array, Params]:
        cut = _cuts(mesh, params, config.train.sharding)

        def on_device(rows_MBT: Array, params: Params, key: Array | None) -> tuple[Array, Params]:
            own = None if key is None else jax.random.fold_in(key, jax.lax.axis_index("data"))
            loss, grads = of_device(rows_MBT, _gathered(params, cut), own)
            return jax.lax.pmean(loss, "data"), _reduced(grads, cut, mesh.size)

        return jax.shard_map(
            on_device,
            mesh=mesh,
            in_specs=(ROWS, cut, PartitionSpec()),
            out_specs=(PartitionSpec(), cut),
            check_vma=False,
        )(rows_MBT, params, key)

    return gradients


def _of_device(config: Config, losses: Losses) -> Callable[..., tuple[Array, Params]]:
    """Loss and gradients of one device's rows, before the devices reduce them."""

    def mean_loss(params: Params, rows_BT: Array, key: Array | None) -> Array:
        if key is not None:  # targets that the model draws from its own predictions
            found = losses(params, rows_BT[:, :-1], None, key)
        else:
            found = losses(params, rows_BT[:, :-1], rows_BT[:, 1:])
        return jnp.mean(found[:, : scored_targets(config)])

    def of_device(rows_MBT: Array, params: Params, key: Array | None) -> tuple[Array, Params]:
        if rows_MBT.shape[0] == 1:
            return jax.value_and_grad(mean_loss)(params, rows_MBT[0], key)
        keys = None if key is None else jax.random.split(key, rows_MBT.shape[0])

        def add(total: Tree, rows_and_key: Tree) -> tuple[Tree, None]:
            new = jax.value_and_grad(mean_loss)(params, *rows_and_key)
            return jax.tree.map(jnp.add, total, new), None

        zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, params))
        total, _ = jax.lax.scan(add, zero, (rows_MBT, keys))
        return jax.tree.map(lambda x: x / rows_MBT.shape[0], total)

    return of_device


def evaluation(losses: Losses, mesh: Mesh, how: str) -> Callable[..., Array]:
    """evaluate(params, rows (B, T + 1), weights (B, T)) -> weighted sum in nats."""
    by_row = PartitionSpec("data")

    def evaluate(params: Params, rows_BT: Array, weights_BT: Array) -> Array:
        cut = _cuts(mesh, params, how)

        def on_device(params: Params, rows_BT: Array, weights_BT: Array) -> Array:
            found = losses(_gathered(params, cut), rows_BT[:, :-1], rows_BT[:, 1:])
            return jax.lax.psum(jnp.sum(found * weights_BT), "data")

        return jax.shard_map(
            on_device,
            mesh=mesh,
            in_specs=(cut, by_row, by_row),
            out_specs=PartitionSpec(),
            check_vma=False,
        )(params, rows_BT, weights_BT)

    return evaluate


def _cuts(mesh: Mesh, params: Params, how: str) -> Tree:
    """How each parameter is cut."""
    return jax.tree.map(lambda where: where.spec, shardings(mesh, dict(params), how))


def _gathered(params: Params, cut: Tree) -> dict[str, Array]:
    """The whole parameters, on each device."""

    def whole(p: Array, spec: PartitionSpec) -> Array:
        if "data" not in spec:
            return p
        return jax.lax.all_gather(p, "data", axis=tuple(spec).index("data"), tiled=True)

    return {name: whole(p, cut[name]) for name, p in params.items()}


def _reduced(grads: Params, cut: Tree, devices: int) -> dict[str, Array]:
    """Means over the devices; of a parameter that is cut, each device's own part."""

    def mean(g: Array, spec: PartitionSpec) -> Array:
        if "data" not in spec:
            return jax.lax.pmean(g, "data")
        axis = tuple(spec).index("data")
        return jax.lax.psum_scatter(g, "data", scatter_dimension=axis, tiled=True) / devices

    return {name: mean(g, cut[name]) for name, g in grads.items()}


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
        sharding=NamedSharding(mesh, ROWS),
    )
    whole = NamedSharding(mesh, PartitionSpec())
    multiplier = jax.ShapeDtypeStruct((), jnp.float32, sharding=whole)
    shapes = jax.tree.map(
        lambda x, s: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=s), state, where
    )
    step = jax.jit(
        train_step(config, losses, optimizer, mesh), donate_argnums=0, out_shardings=(where, whole)
    )
    cublas_alone = platform == "gpu" and config.train.precision != "fp8"
    return step.lower(shapes, rows, multiplier).compile(GPU_OPTIONS if cublas_alone else None)


def choose_attention(config: Config, platform: str, dtype: Any) -> tuple[model.Attention, str]:
    return attention.choose(platform, dtype, config.model.width_of_head, config.model.seq_len)
