"""A speedrun in one file: change anything, run it, submit what it writes.

    python main.py --dry-run        what would be trained, at what cost
    python main.py                  train; log, W&B file and results go into runs/
    python main.py --seeds 5        five runs, for tracks that ask for statistics

The file holds the model, the optimizer and the recipe. Data, clock, validation, checkpoints, log
and results come from `reference_trainer`, so that every entry is measured alike. Shapes in names:
B sequences, T positions, D width, H heads, d width of a head.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reference_trainer import starter

# ---- who and what --------------------------------------------------------------------------------

AUTHOR = {"name": "Speedrun reference trainer", "affiliation": "", "url": ""}
DESCRIPTION = "Baseline of tutorial-h100: transformer of 77 M parameters with Muon"
TRACK = "tutorial-h100"

# ---- the recipe: a configuration to begin with, and what is different ----------------------------

CONFIG = "tutorial-h100"  # sizes, data, steps, schedule: python -m reference_trainer --help lists the names
SETTINGS: dict[str, object] = {
    # "train.steps": 150,
    # "optimizer.muon_lr": 0.02,
}

# ---- the model -----------------------------------------------------------------------------------


def linear(x: Tensor, *weights: Tensor) -> Tensor:
    """x (..., in) times weights (out, in), side by side. Weights are float32 and cast here."""
    weight = torch.cat(weights) if len(weights) > 1 else weights[0]
    return F.linear(x, weight.to(x.dtype))


def norm(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    """Root-mean-square norm over the last axis."""
    y = x.float()
    y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + eps)
    return (y if weight is None else y * weight).to(x.dtype)


def rotate(x_BTHd: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions."""
    first, second = x_BTHd.float().chunk(2, dim=-1)
    turned = torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)
    return turned.to(x_BTHd.dtype)


def weight(out: int, width: int, std: float) -> nn.Parameter:
    return nn.Parameter(torch.randn(out, width) * std)


class Attention(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m, d = m, m.width_of_head
        self.wq = weight(m.heads * d, m.hidden, m.init_std)
        self.wk = weight(m.heads * d, m.hidden, m.init_std)
        self.wv = weight(m.heads * d, m.hidden, m.init_std)
        self.wo = weight(m.hidden, m.heads * d, m.init_std / (2 * m.layers) ** 0.5)

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


class MLP(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.w_up = weight(m.intermediate, m.hidden, m.init_std)
        self.w_down = weight(m.hidden, m.intermediate, m.init_std / (2 * m.layers) ** 0.5)

    def forward(self, x_BTD: Tensor) -> Tensor:
        return linear(F.relu(linear(x_BTD, self.w_up)).square(), self.w_down)


class Layer(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.attention, self.mlp, self.eps = Attention(m), MLP(m), m.norm_eps

    def forward(self, x_BTD: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x_BTD = x_BTD + self.attention(norm(x_BTD, None, self.eps), cos, sin)
        return x_BTD + self.mlp(norm(x_BTD, None, self.eps))


class Model(nn.Module):
    """Tokens and targets (B, T) to the loss of every target (B, T), in nats."""

    def __init__(self, config, dtype):
        super().__init__()
        m = self.m = config.model
        self.dtype = dtype
        self.embed = weight(m.vocab, m.hidden, m.init_std)
        self.layers = nn.ModuleList(Layer(m) for _ in range(m.layers))
        self.head = weight(m.vocab, m.hidden, m.init_std)
        frequency = m.rope_theta ** -(torch.arange(0, 1, 2 / m.width_of_head))
        angle = torch.arange(m.seq_len)[:, None, None] * frequency
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, tokens_BT: Tensor, targets_BT: Tensor) -> Tensor:
        x_BTD = F.embedding(tokens_BT, self.embed).to(self.dtype)
        for layer in self.layers:
            x_BTD = layer(x_BTD, self.cos, self.sin)
        logits = linear(norm(x_BTD, None, self.m.norm_eps), self.head).flatten(0, 1)
        loss = F.cross_entropy(logits.float(), targets_BT.flatten(), reduction="none")
        return loss.view_as(targets_BT)


# ---- the optimizer -------------------------------------------------------------------------------


def orthogonalise(x: Tensor, steps: int, dtype: torch.dtype) -> Tensor:
    """Newton-Schulz iteration of Muon (kellerjordan.github.io/posts/muon)."""
    x, wide = x.to(dtype), x.shape[-2] <= x.shape[-1]
    x = x if wide else x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        square = x @ x.mT
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x if wide else x.mT


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


if __name__ == "__main__":
    starter.run_torch(__file__, CONFIG, SETTINGS, Model, optimizers, TRACK, DESCRIPTION, AUTHOR)
