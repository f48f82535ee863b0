"""AdamW and Muon in JAX, as pairs of pure functions over flat dicts.

To add one: write `init(params) -> state` and `update(grads, state, params, multiplier) -> (params,
state)`, name it in `build`, and allow the name in `config._choices`. The state is a dict of
arrays or of flat dicts; it travels in checkpoints.
"""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (JAX leaves parts of itself untyped)

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from reference_trainer.config import OptimizerConfig
from reference_trainer.initial import adamw_rate, is_matrix_of_layer
from reference_trainer.jax_backend.model import Params
from reference_trainer.recorded import Optimizer

# See torch_backend.optimizers.NEWTON_SCHULZ for the source.
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)

State = dict[str, Any]


def adamw(config: OptimizerConfig) -> Optimizer:
    """AdamW with decoupled weight decay on matrices, as torch computes it."""

    def init(params: Params) -> State:
        zeros = {name: jnp.zeros_like(p) for name, p in params.items()}
        return {"count": jnp.zeros((), jnp.int32), "mean": zeros, "square": dict(zeros)}

    def update(
        grads: Params, state: State, params: Params, multiplier: Array
    ) -> tuple[dict[str, Array], State]:
        count = state["count"] + 1
        correct1 = 1 - config.beta1 ** count.astype(jnp.float32)
        correct2 = 1 - config.beta2 ** count.astype(jnp.float32)
        out, mean, square = {}, {}, {}
        for name, p in params.items():
            g = grads[name]
            mean[name] = config.beta1 * state["mean"][name] + (1 - config.beta1) * g
            square[name] = config.beta2 * state["square"][name] + (1 - config.beta2) * g * g
            step = mean[name] / correct1 / (jnp.sqrt(square[name] / correct2) + config.eps)
            lr = adamw_rate(config, name) * multiplier
            decay = config.weight_decay if p.ndim >= 2 else 0.0
            out[name] = p * (1 - lr * decay) - lr * step
        return out, {"count": count, "mean": mean, "square": square}

    return Optimizer(init, update)


def orthogonalise(matrices: Array, steps: int, dtype: jnp.dtype) -> Array:
    """Nearest semi-orthogonal matrix of each (..., rows, columns), roughly, in `dtype`."""
    a, b, c = NEWTON_SCHULZ
    x = matrices.astype(dtype)
    wide = x.shape[-2] <= x.shape[-1]
    x = x if wide else x.mT
    x = x / (jnp.linalg.norm(x, axis=(-2, -1), keepdims=True) + 1e-7)
    for _ in range(steps):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x if wide else x.mT


def muon(config: OptimizerConfig, dtype: jnp.dtype) -> Optimizer:
    """Nesterov momentum, orthogonalised, scaled by sqrt(max(1, rows / columns)); matrices of one
    shape go through the iteration together. AdamW has the rest."""
    others = adamw(config)
    beta = config.muon_momentum

    def init(params: Params) -> State:
        matrices, rest = _split(params)
        momentum = {name: jnp.zeros_like(p) for name, p in matrices.items()}
        return {"momentum": momentum, **others.init(rest)}

    def update(
        grads: Params, state: State, params: Params, multiplier: Array
    ) -> tuple[dict[str, Array], State]:
        matrices, rest = _split(params)
        own = {key: value for key, value in state.items() if key != "momentum"}
        out, own = others.update(grads, own, rest, multiplier)
        lr = config.muon_lr * multiplier
        momentum = {n: beta * state["momentum"][n] + (1 - beta) * grads[n] for n in matrices}
        ahead = {n: (1 - beta) * grads[n] + beta * momentum[n] for n in matrices}
        for names in _by_shape(matrices):
            stacked = jnp.stack([ahead[n] for n in names])
            steps = orthogonalise(stacked, config.newton_schulz_steps, dtype)
            scale = max(1.0, stacked.shape[-2] / stacked.shape[-1]) ** 0.5
            for i, n in enumerate(names):
                kept = matrices[n] * (1 - lr * config.muon_weight_decay)
                out[n] = kept - lr * scale * steps[i].astype(jnp.float32)
        return {n: out[n] for n in params}, {"momentum": momentum, **own}

    return Optimizer(init, update)


def _split(params: Params) -> tuple[dict[str, Array], dict[str, Array]]:
    matrices = {n: p for n, p in params.items() if is_matrix_of_layer(n, p.ndim)}
    return matrices, {n: p for n, p in params.items() if n not in matrices}


def _by_shape(matrices: Params) -> list[list[str]]:
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, p in matrices.items():
        groups.setdefault(p.shape, []).append(name)
    return list(groups.values())


def clip(grads: Params, bound: float) -> dict[str, Array]:
    """Scale so that the global norm is at most `bound`, as torch's clip_grad_norm_ does."""
    total = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in grads.values()))
    factor = jnp.minimum(1.0, bound / (total + 1e-6))
    return jax.tree.map(lambda g: g * factor, dict(grads))


def build(config: OptimizerConfig, dtype: jnp.dtype) -> Optimizer:
    """The optimizer that the configuration names."""
    if config.name == "muon":
        return muon(config, dtype)
    if config.name == "adamw":
        return adamw(config)
    raise ValueError(f"optimizer.name is {config.name}, which `build` of the JAX backend lacks")
