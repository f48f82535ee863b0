"""A speedrun in one file: change anything, run it, submit what it writes.

    python main.py --dry-run        what would be trained, at what cost
    python main.py                  train; log, W&B file and results go where the last line says
    python main.py --seeds 5        five runs, for tracks that ask for statistics
    python main.py --interleave baseline      the baseline in turn, for tracks that compare with it

The file holds the model, the optimizer and the recipe. Data, clock, validation, checkpoints, log
and results come from `reference_trainer`, so that every entry is measured alike. Parameters are a
flat dict of float32 arrays. Shapes in names: B sequences, T positions, D width, H heads, d width of
a head, V vocabulary.
"""

import jax
import jax.numpy as jnp
import numpy as np

from reference_trainer import starter

# ---- who and what --------------------------------------------------------------------------------

# These go into the log, the W&B file and the results. One plain sentence says best what is new.

AUTHOR = {"name": "", "affiliation": "", "url": ""}
DESCRIPTION = "Baseline: transformer with rotary positions, trained with Muon"
TRACK = "tutorial"

# ---- the recipe: a configuration to begin with, and what is different ----------------------------

# A configuration names sizes, data, number of steps, learning rates and schedule, with reasons
# beside the values (python -m reference_trainer --help lists the names). What differs goes into
# SETTINGS, keyed as on the command line: `--set train.steps=100` tries the same without editing.

CONFIG = "tiny"
SETTINGS: dict[str, object] = {
    # "train.steps": 100,
    # "optimizer.muon_lr": 0.02,
}

# ---- the model -----------------------------------------------------------------------------------

# A decoder-only transformer. Each layer adds two things to a running sum of width D: what attention
# fetched from earlier positions, and what an MLP made of the position itself. Norms stand before
# the branches, so that the sum itself passes through untouched and gradients reach every layer.


# The parameters are a plain dict. A new weight is one more line here, under any name; names that
# begin with `layers.` go to Muon below. Branches that write into the sum start smaller, by the
# square root of their number, so that the sum keeps its size at any depth.
def initial_values(config, seed):
    """Names and first values of the parameters. Matrices are (out, in)."""
    m, rng = config.model, np.random.default_rng(seed)
    width, narrow = m.heads * m.width_of_head, m.init_std / (2 * m.layers) ** 0.5

    def weight(out, into, std=m.init_std):
        return rng.standard_normal((out, into), np.float32) * np.float32(std)

    values = {"embed": weight(m.vocab, m.hidden), "head": weight(m.vocab, m.hidden)}
    for i in range(m.layers):
        values |= {
            f"layers.{i}.wq": weight(width, m.hidden),
            f"layers.{i}.wk": weight(width, m.hidden),
            f"layers.{i}.wv": weight(width, m.hidden),
            f"layers.{i}.wo": weight(m.hidden, width, narrow),
            f"layers.{i}.w_up": weight(m.intermediate, m.hidden),
            f"layers.{i}.w_down": weight(m.hidden, m.intermediate, narrow),
        }
    return values


# Every product of the model goes through here, so this is the place to try low precision. Masters
# stay float32 for the optimizer, the cast costs little beside the product. Several weights are
# joined before multiplying: one large product keeps an accelerator busier than three small ones.
def linear(x, *weights):
    """x (..., in) times weights (out, in), side by side. Weights are float32 and cast here."""
    weight = jnp.concatenate(weights) if len(weights) > 1 else weights[0]
    return jnp.einsum("...i,oi->...o", x, weight.astype(x.dtype))


# Sums of squares need float32 whatever the model computes in: bfloat16 has 8 bits of mantissa.
def norm(x, eps):
    """Root-mean-square norm over the last axis."""
    y = x.astype(jnp.float32)
    y = y * jax.lax.rsqrt(jnp.mean(jnp.square(y), axis=-1, keepdims=True) + eps)
    return y.astype(x.dtype)


# A position is told by turning pairs of coordinates by an angle that grows with it, each pair at
# its own speed (arxiv.org/abs/2104.09864). A product of query and key then depends on their
# distance alone.
def rotate(x_BTHd, theta):
    """Rotary positions."""
    T, d = x_BTHd.shape[1], x_BTHd.shape[3]
    angle = np.arange(T)[:, None] * theta ** -(np.arange(0, d, 2) / d)
    cos, sin = (f(angle)[:, None, :].astype(np.float32) for f in (np.cos, np.sin))
    first, second = jnp.split(x_BTHd.astype(jnp.float32), 2, axis=-1)
    turned = jnp.concatenate((first * cos - second * sin, first * sin + second * cos), axis=-1)
    return turned.astype(x_BTHd.dtype)


# Each position asks with a query, every earlier one answers with its value, weighted by how well
# its key fits. `attend` is given by the trainer: cuDNN's kernel on GPUs, splash attention on TPUs.
def attention(m, attend, x_BTD, p, i):
    B, T, _ = x_BTD.shape
    weights = (p[f"layers.{i}.wq"], p[f"layers.{i}.wk"], p[f"layers.{i}.wv"])
    qkv = linear(x_BTD, *weights).reshape(B, T, 3 * m.heads, m.width_of_head)
    q, k, v = jnp.split(qkv, 3, axis=2)
    q = rotate(norm(q, m.norm_eps), m.rope_theta)  # normalised queries and keys stay tame
    k = rotate(norm(k, m.norm_eps), m.rope_theta)  # at high learning rates
    return linear(attend(q, k, v).reshape(B, T, -1), p[f"layers.{i}.wo"])


# Two products around a squared ReLU: sparse and cheap, and as good as a gated MLP at small sizes
# (arxiv.org/abs/2109.08668). Gated ones also need `"model.gated": True` in SETTINGS, because the
# count of FLOPs follows the configuration.
def mlp(x_BTD, p, i):
    up = jax.nn.relu(linear(x_BTD, p[f"layers.{i}.w_up"]))
    return linear(jnp.square(up), p[f"layers.{i}.w_down"])


# The loop over layers is unrolled by the compiler: on GPUs that is a third faster than `lax.scan`.
# The trainer wants the loss of every single target, for bits per byte weigh targets by their bytes.
def make_losses(config, dtype, attend):
    """A function of parameters, tokens and targets (B, T): the loss of every target, in nats.
    Without targets it draws them from its own predictions, which Sophia asks for. `attend` is the
    fastest causal attention of this device."""
    m = config.model

    def losses(p, tokens_BT, targets_BT, key=None):
        x_BTD = p["embed"][tokens_BT].astype(dtype)
        for i in range(m.layers):
            x_BTD = x_BTD + attention(m, attend, norm(x_BTD, m.norm_eps), p, i)
            x_BTD = x_BTD + mlp(norm(x_BTD, m.norm_eps), p, i)
        logits_BTV = linear(norm(x_BTD, m.norm_eps), p["head"]).astype(jnp.float32)
        if targets_BT is None:
            targets_BT = jax.lax.stop_gradient(jax.random.categorical(key, logits_BTV))
        chosen_BT = jnp.take_along_axis(logits_BTV, targets_BT[..., None], axis=-1)[..., 0]
        return jax.nn.logsumexp(logits_BTV, axis=-1) - chosen_BT

    return losses


# ---- the optimizer -------------------------------------------------------------------------------

# Two optimizers share the work. Matrices inside the layers take Muon's step: momentum whose
# singular values are all made about equal, so that rare directions learn as fast as common ones.
# Embedding and head are tables with a row for each token, which Adam's step for each number suits.


# An exact decomposition is slow on accelerators. This polynomial needs products alone and brings
# singular values near 1 in five rounds; near is enough, and low precision does no harm.
def orthogonalise(x, steps, dtype):
    """Newton-Schulz iteration of Muon (kellerjordan.github.io/posts/muon)."""
    x, wide = x.astype(dtype), x.shape[-2] <= x.shape[-1]
    x = x if wide else x.mT
    x = x / (jnp.linalg.norm(x, axis=(-2, -1), keepdims=True) + 1e-7)
    for _ in range(steps):
        square = x @ x.mT
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x if wide else x.mT


# What an optimizer needs: `init` makes its state, a tree of arrays that checkpoints save as it is,
# and `update` returns new parameters and state from gradients. Another one goes in its place; the
# results name this function and the settings that it reads. Settings of your own are read as
# `o.extra["NAME"]` and set by `--set optimizer.extra.NAME=VALUE`. `starter.Optimizer` says how to
# validate with averaged parameters and how to evaluate the loss a second time (SAM, Sophia).
def muon(config, dtype):
    """Muon for the matrices of the layers, Adam for the two tables. Learning rates are peaks,
    `multiplier` is the schedule's."""
    o = config.optimizer

    def init(params):
        tables = {n: jnp.zeros_like(p) for n, p in params.items() if not n.startswith("layers.")}
        layers = {n: jnp.zeros_like(p) for n, p in params.items() if n.startswith("layers.")}
        return {
            "count": jnp.zeros((), jnp.int32),
            "momentum": layers,
            "mean": tables,
            "square": dict(tables),
        }

    def update(grads, state, params, multiplier):
        count = state["count"] + 1
        new = {"count": count, "momentum": {}, "mean": {}, "square": {}}
        out = {}
        for n in state["mean"]:
            g = grads[n]
            new["mean"][n] = o.beta1 * state["mean"][n] + (1 - o.beta1) * g
            new["square"][n] = o.beta2 * state["square"][n] + (1 - o.beta2) * g * g
            mean = new["mean"][n] / (1 - o.beta1 ** count.astype(jnp.float32))
            square = new["square"][n] / (1 - o.beta2 ** count.astype(jnp.float32))
            decay = 1 - o.lr * multiplier * o.weight_decay
            step = mean / (jnp.sqrt(square) + o.eps)
            out[n] = params[n] * decay - o.lr * multiplier * step
        for n in state["momentum"]:
            g, b = grads[n], o.muon_momentum
            new["momentum"][n] = b * state["momentum"][n] + (1 - b) * g
            ahead = (1 - b) * g + b * new["momentum"][n]
            step = orthogonalise(ahead, o.newton_schulz_steps, dtype).astype(jnp.float32)
            scale = max(1.0, g.shape[0] / g.shape[1]) ** 0.5
            out[n] = params[n] - o.muon_lr * multiplier * scale * step
        return {n: out[n] for n in params}, new

    return starter.Optimizer(init, update)


# ---- run -----------------------------------------------------------------------------------------

# The trainer takes over: options of the command line, data, clock, validation, outputs.

if __name__ == "__main__":
    starter.run_jax(
        __file__,
        CONFIG,
        SETTINGS,
        make_losses,
        muon,
        initial_values,
        TRACK,
        DESCRIPTION,
        AUTHOR,
    )
