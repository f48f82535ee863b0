"""The transformer in torch.

Shapes in names: B sequences, T positions, D width, H query heads, K key and value heads, d width of
a head, F width of the MLP, V vocabulary. Parameters are float32; every product casts its weight to
the type of the activations, which is all that autocast would do here, without its bookkeeping.
"""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (torch leaves parts of itself untyped)

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reference_trainer.config import ModelConfig


def matmul(x: Tensor, *weights: Tensor) -> Tensor:
    """x (..., in) with weights (out, in) side by side: one product in place of several."""
    weight = torch.cat(weights) if len(weights) > 1 else weights[0]
    return F.linear(x, weight.to(x.dtype))


def rope_tables(length: int, head_dim: int, theta: float) -> tuple[Tensor, Tensor]:
    """cos and sin of position x frequency, each (T, 1, d/2), float32."""
    frequency = theta ** -(torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    return angle.cos().float()[:, None, :], angle.sin().float()[:, None, :]


def rotate(x_BTHd: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions: the two halves of a head are the coordinates of d/2 planes."""
    first, second = x_BTHd.float().chunk(2, dim=-1)
    turned = torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)
    return turned.to(x_BTHd.dtype)


class Norm(nn.Module):
    """Root-mean-square norm over the last axis, computed in float32."""

    def __init__(self, width: int, learned: bool, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width)) if learned else None
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        y = x.float()
        y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + self.eps)
        return (y if self.weight is None else y * self.weight).to(x.dtype)


class Layer(nn.Module):
    """Attention and MLP, each behind a norm and added to the residual stream."""

    def __init__(self, model: ModelConfig) -> None:
        super().__init__()
        self.model = model
        D, F_, d = model.hidden, model.intermediate, model.width_of_head
        width, kv_width = model.heads * d, model.key_value_heads * d
        self.wq = nn.Parameter(torch.empty(width, D))
        self.wk = nn.Parameter(torch.empty(kv_width, D))
        self.wv = nn.Parameter(torch.empty(kv_width, D))
        self.wo = nn.Parameter(torch.empty(D, width))
        self.w_up = nn.Parameter(torch.empty(F_, D))
        self.w_down = nn.Parameter(torch.empty(D, F_))
        self.w_gate = nn.Parameter(torch.empty(F_, D)) if model.gated else None
        self.attention_norm = Norm(D, model.norm_weights, model.norm_eps)
        self.mlp_norm = Norm(D, model.norm_weights, model.norm_eps)
        self.q_norm = Norm(d, model.norm_weights, model.norm_eps) if model.qk_norm else None
        self.k_norm = Norm(d, model.norm_weights, model.norm_eps) if model.qk_norm else None

    def forward(self, x_BTD: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x_BTD = x_BTD + self.attention(self.attention_norm(x_BTD), cos, sin)
        return x_BTD + self.mlp(self.mlp_norm(x_BTD))

    def attention(self, x_BTD: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        model = self.model
        H, K, d = model.heads, model.key_value_heads, model.width_of_head
        B, T, _ = x_BTD.shape
        qkv = matmul(x_BTD, self.wq, self.wk, self.wv).view(B, T, H + 2 * K, d)
        q_BTHd, k_BTKd, v_BTKd = qkv.split((H, K, K), dim=2)
        if self.q_norm is not None and self.k_norm is not None:
            q_BTHd, k_BTKd = self.q_norm(q_BTHd), self.k_norm(k_BTKd)
        q_BTHd, k_BTKd = rotate(q_BTHd, cos, sin), rotate(k_BTKd, cos, sin)
        y_BHTd = F.scaled_dot_product_attention(
            q_BTHd.transpose(1, 2),
            k_BTKd.transpose(1, 2),
            v_BTKd.transpose(1, 2),
            is_causal=True,
            enable_gqa=K != H,
        )
        return matmul(y_BHTd.transpose(1, 2).reshape(B, T, H * d), self.wo)

    def mlp(self, x_BTD: Tensor) -> Tensor:
        if self.w_gate is None:
            return matmul(F.relu(matmul(x_BTD, self.w_up)).square(), self.w_down)
        gate, up = matmul(x_BTD, self.w_gate, self.w_up).chunk(2, dim=-1)
        return matmul(F.silu(gate) * up, self.w_down)


class Transformer(nn.Module):
    """Tokens (B, T) and targets (B, T) to the loss of every target, (B, T), float32, in nats."""

    def __init__(self, model: ModelConfig, dtype: torch.dtype, remat: bool = False) -> None:
        super().__init__()
        self.model, self.dtype, self.remat = model, dtype, remat
        self.embed = nn.Parameter(torch.empty(model.vocab, model.hidden))
        self.layers = nn.ModuleList(Layer(model) for _ in range(model.layers))
        self.norm = Norm(model.hidden, model.norm_weights, model.norm_eps)
        self.head = None if model.tied else nn.Parameter(torch.empty(model.vocab, model.hidden))
        self.cos: Tensor
        self.sin: Tensor
        cos, sin = rope_tables(model.seq_len, model.width_of_head, model.rope_theta)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, tokens_BT: Tensor, targets_BT: Tensor) -> Tensor:
        x_BTD = F.embedding(tokens_BT, self.embed).to(self.dtype)
        T = tokens_BT.shape[1]
        for layer in self.layers:
            if self.remat and self.training:
                x_BTD = torch.utils.checkpoint.checkpoint(
                    layer, x_BTD, self.cos[:T], self.sin[:T], use_reentrant=False
                )
            else:
                x_BTD = layer(x_BTD, self.cos[:T], self.sin[:T])
        x_BTD = self.norm(x_BTD)
        logits = matmul(x_BTD, self.embed if self.head is None else self.head).flatten(0, 1)
        loss = F.cross_entropy(logits.float(), targets_BT.flatten(), reduction="none")
        return loss.view_as(targets_BT)


def parameter_name(name: str) -> str:
    """`layers.0.q_norm.weight` -> `layers.0.q_norm`: the name both backends share."""
    return name.removesuffix(".weight")
