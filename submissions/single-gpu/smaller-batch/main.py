"""A speedrun in one file: change anything, run it, submit what it writes.

    python main.py --dry-run        what would be trained, at what cost
    python main.py                  train; log, W&B file and results go where the last line says
    python main.py --seeds 5        five runs, for tracks that ask for statistics
    python main.py --interleave baseline      the baseline in turn, for tracks that compare with it

The file holds the model, the optimizer and the recipe. Data, clock, validation, checkpoints, log
and results come from `reference_trainer`, so that every entry is measured alike. Shapes in names:
B sequences, T positions, D width, H heads, d width of a head.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reference_trainer import starter
from reference_trainer.torch_backend.head import cross_entropy
from reference_trainer.torch_backend.model import rope_tables

# ---- who and what --------------------------------------------------------------------------------

# These go into the log, the W&B file and the results. One plain sentence says best what is new.

AUTHOR = {"name": "", "affiliation": "", "url": ""}
DESCRIPTION = "A quarter of the batch and more steps, cross entropy with its gradient in one kernel"
TRACK = "single-gpu"

# ---- the recipe: a configuration to begin with, and what is different ----------------------------

# A configuration names sizes, data, number of steps, learning rates and schedule, with reasons
# beside the values (python -m reference_trainer --help lists the names). What differs goes into
# SETTINGS, keyed as on the command line: `--set train.steps=100` tries the same without editing.

CONFIG = "tutorial-h100"
SETTINGS: dict[str, object] = {
    # The baseline takes 480 steps of 65,536 tokens. A smaller batch gives more steps for the same
    # tokens, and at a loss as high as this one few tokens tell where downhill is.
    "train.batch": 16,
    "train.micro_batch": 16,
    "train.steps": 1200,
    "optimizer.muon_lr": 0.015,
}

# ---- the model -----------------------------------------------------------------------------------

# A decoder-only transformer. Each layer adds two things to a running sum of width D: what attention
# fetched from earlier positions, and what an MLP made of the position itself. Norms stand before
# the branches, so that the sum itself passes through untouched and gradients reach every layer.


# Every product of the model goes through here, so this is the place to try low precision. Masters
# stay float32 for the optimizer, the cast costs little beside the product. Several weights are
# joined before multiplying: one large product keeps a GPU busier than three small ones.
def linear(x: Tensor, *weights: Tensor) -> Tensor:
    """x (..., in) times weights (out, in), side by side. Weights are float32 and cast here."""
    weight = torch.cat(weights) if len(weights) > 1 else weights[0]
    return F.linear(x, weight.to(x.dtype))


# Sums of squares need float32 whatever the model computes in: bfloat16 has 8 bits of mantissa.
# Norms here have no weights; `weight` is there for who wants them.
def norm(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    """Root-mean-square norm over the last axis."""
    y = x.float()
    y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + eps)
    return (y if weight is None else y * weight).to(x.dtype)


# A position is told by turning pairs of coordinates by an angle that grows with it, each pair at
# its own speed (arxiv.org/abs/2104.09864). The halves of a head are swapped by an index, in place
# of joining two results: the compiler does norm and rotation in one pass then.
def rotate(x_BTHd: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions."""
    x = x_BTHd.float()
    swapped = x.unflatten(-1, (2, -1)).flip(-2).flatten(-2)
    return (x * cos + swapped * sin).to(x_BTHd.dtype)


# First values. ZERO: branches that write into the sum start at nothing.
ZERO = True


def weight(out: int, width: int, std: float) -> nn.Parameter:
    return nn.Parameter(torch.randn(out, width) * std)


# Each position asks with a query, every earlier one answers with its value, weighted by how well
# its key fits. PyTorch picks the fastest kernel of the device and never stores the T x T scores.
class Attention(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m, d = m, m.width_of_head
        self.wq = weight(m.heads * d, m.hidden, m.init_std)
        self.wk = weight(m.heads * d, m.hidden, m.init_std)
        self.wv = weight(m.heads * d, m.hidden, m.init_std)
        self.wo = weight(m.hidden, m.heads * d, 0 if ZERO else m.init_std / (2 * m.layers) ** 0.5)

    def forward(self, x_BTD: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        m, (B, T, _) = self.m, x_BTD.shape
        qkv = linear(x_BTD, self.wq, self.wk, self.wv).view(B, T, 3 * m.heads, m.width_of_head)
        q, k, v = qkv.chunk(3, dim=2)
        q = rotate(norm(q, None, m.norm_eps), cos, sin)  # normalised queries and keys stay tame
        k = rotate(norm(k, None, m.norm_eps), cos, sin)  # at high learning rates
        y_BHTd = F.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True
        )
        return linear(y_BHTd.transpose(1, 2).reshape(B, T, -1), self.wo)


# Two products around a squared ReLU: sparse and cheap, and as good as a gated MLP at small sizes
# (arxiv.org/abs/2109.08668). Gated ones also need `"model.gated": True` in SETTINGS, because the
# count of FLOPs follows the configuration.
class MLP(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.w_up = weight(m.intermediate, m.hidden, m.init_std)
        down_std = 0 if ZERO else m.init_std / (2 * m.layers) ** 0.5
        self.w_down = weight(m.hidden, m.intermediate, down_std)

    def forward(self, x_BTD: Tensor) -> Tensor:
        return linear(F.relu(linear(x_BTD, self.w_up)).square(), self.w_down)


# The order of a layer, and the place for other residuals or norms.
class Layer(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.attention, self.mlp, self.eps = Attention(m), MLP(m), m.norm_eps

    def forward(self, x_BTD: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x_BTD = x_BTD + self.attention(norm(x_BTD, None, self.eps), cos, sin)
        return x_BTD + self.mlp(norm(x_BTD, None, self.eps))


# The loss is computed inside the model, so that torch.compile sees it together with the head: the
# logits are the largest array of all. The trainer calls the model with tokens and targets and wants
# the loss of every single target, for bits per byte weigh targets by their bytes.
class Model(nn.Module):
    """Tokens and targets (B, T) to the loss of every target (B, T), in nats. Without targets it
    draws them from its own predictions, which Sophia asks for."""

    def __init__(self, config, dtype):
        super().__init__()
        m = self.m = config.model
        self.dtype = dtype
        self.embed = weight(m.vocab, m.hidden, m.init_std)
        self.layers = nn.ModuleList(Layer(m) for _ in range(m.layers))
        self.head = weight(m.vocab, m.hidden, m.init_std)
        cos, sin = rope_tables(m.seq_len, m.width_of_head, m.rope_theta)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, tokens_BT: Tensor, targets_BT: Tensor) -> Tensor:
        x_BTD = F.embedding(tokens_BT, self.embed).to(self.dtype)
        for layer in self.layers:
            x_BTD = layer(x_BTD, self.cos, self.sin)
        logits = linear(norm(x_BTD, None, self.m.norm_eps), self.head).flatten(0, 1)
        if targets_BT is None:
            targets_BT = torch.distributions.Categorical(logits=logits.detach().float()).sample()
        return cross_entropy(logits, targets_BT.flatten()).view_as(tokens_BT)


# ---- the optimizer -------------------------------------------------------------------------------

# Two optimizers share the work. Matrices inside the layers take Muon's step: momentum whose
# singular values are all made about equal, so that rare directions learn as fast as common ones.
# Embedding and head are tables with a row for each token, which Adam's step for each number suits.


# An exact decomposition is slow on accelerators. This polynomial needs products alone and brings
# singular values near 1 in five rounds; near is enough, and low precision does no harm.
def orthogonalise(x: Tensor, steps: int, dtype: torch.dtype) -> Tensor:
    """Newton-Schulz iteration of Muon (kellerjordan.github.io/posts/muon)."""
    x, wide = x.to(dtype), x.shape[-2] <= x.shape[-1]
    x = x if wide else x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        square = x @ x.mT
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x if wide else x.mT


# What a new optimizer needs: `step`, and a group's "lr" read anew each time, since the schedule
# changes it. State kept in `self.state` is saved in checkpoints by itself; class, groups and plain
# attributes go into the results. One that validates with other parameters than it trains (averages,
# schedule-free) has `train()` and `eval()`, which swap them. With `second = True` it gets a closure
# that computes all gradients anew at the parameters as they are (SAM), with `sampled=True` on
# targets that the model draws itself (Sophia).
class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalised. Matrices of one shape are treated together."""

    def __init__(self, params, lr, momentum, steps, dtype):
        super().__init__(params, {"lr": lr})
        self.momentum, self.steps, self.dtype = momentum, steps, dtype

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for shape in {p.shape for p in group["params"]}:
                self.update([p for p in group["params"] if p.shape == shape], group["lr"])

    def update(self, params, lr):
        grads = [p.grad for p in params]
        for p in params:
            if "momentum" not in self.state[p]:
                self.state[p]["momentum"] = torch.zeros_like(p)
        momenta = [self.state[p]["momentum"] for p in params]
        torch._foreach_lerp_(momenta, grads, 1 - self.momentum)
        ahead = torch.stack(torch._foreach_lerp(grads, momenta, self.momentum))
        steps = orthogonalise(ahead, self.steps, self.dtype).to(ahead.dtype)
        scale = max(1.0, ahead.shape[-2] / ahead.shape[-1]) ** 0.5
        torch._foreach_add_(params, list(steps.unbind(0)), alpha=-lr * scale)


# Who trains what. Another optimizer goes here: return any list, as long as it covers everything.
# Settings of your own are read as `o.extra["NAME"]`, set by `--set optimizer.extra.NAME=VALUE`.
def optimizers(named, config, dtype, fused):
    """`named` maps names to parameters; every parameter goes to exactly one optimizer. Learning
    rates given here are peaks, the schedule multiplies them."""
    o = config.optimizer
    matrices = [p for name, p in named.items() if name.startswith("layers.")]
    tables = [p for name, p in named.items() if not name.startswith("layers.")]
    return [
        torch.optim.AdamW(tables, o.lr, (o.beta1, o.beta2), o.eps, o.weight_decay, fused=fused),
        Muon(matrices, o.muon_lr, o.muon_momentum, o.newton_schulz_steps, dtype),
    ]


# ---- run -----------------------------------------------------------------------------------------

# The trainer takes over: options of the command line, data, clock, validation, outputs.

if __name__ == "__main__":
    starter.run_torch(__file__, CONFIG, SETTINGS, Model, optimizers, TRACK, DESCRIPTION, AUTHOR)
