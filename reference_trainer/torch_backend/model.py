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
from reference_trainer.torch_backend import fp8
from reference_trainer.torch_backend.head import cross_entropy, head_loss8
from reference_trainer.torch_backend.mlp import squared_mlp


def matmul(x: Tensor, *weights: Tensor) -> Tensor:
    """x (..., in) with weights (out, in) side by side: one product in place of several."""
    weight = torch.cat(weights) if len(weights) > 1 else weights[0]
    return F.linear(x, weight.to(x.dtype))


def rope_tables(length: int, head_dim: int, theta: float) -> tuple[Tensor, Tensor]:
    """cos and sin of position x frequency, each (T, 1, d), float32; sin with the sign that it has
    in either half of a head."""
    frequency = theta ** -(torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    cos, sin = angle.cos().float(), angle.sin().float()
    return torch.cat((cos, cos), 1)[:, None, :], torch.cat((-sin, sin), 1)[:, None, :]


def rotate(x_BTHd: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions: the two halves of a head are the coordinates of d/2 planes. Swapping them
    by an index, in place of joining two results, lets inductor do norm and rotation in one pass."""
    x = x_BTHd.float()
    swapped = x.unflatten(-1, (2, -1)).flip(-2).flatten(-2)
    return (x * cos + swapped * sin).to(x_BTHd.dtype)


def same_document(tokens_BT: Tensor, end: int) -> Tensor:
    """Which positions one sees, (B, 1, T, T): the earlier ones behind the last `end`."""
    ends_BT = (tokens_BT == end).long()
    number_BT = ends_BT.cumsum(1) - ends_BT
    return (number_BT[:, :, None] == number_BT[:, None, :]).tril()[:, None]


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

    def bound(self, x: Tensor) -> Tensor:
        """What no norm of a vector, and so no entry, of this module's output exceeds."""
        root = x.new_full((), x.shape[-1] ** 0.5, dtype=torch.float32)
        return root if self.weight is None else root * self.weight.abs().amax()


class Layer(nn.Module):
    """Attention and MLP, each behind a norm and added to the residual stream."""

    def __init__(self, model: ModelConfig, fp8: bool) -> None:
        super().__init__()
        self.model, self.fp8 = model, fp8
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

    def forward(self, x_BTD: Tensor, cos: Tensor, sin: Tensor, seen: Tensor | None) -> Tensor:
        x_BTD = x_BTD + self.attention(self.attention_norm(x_BTD), cos, sin, seen)
        return x_BTD + self.mlp(self.mlp_norm(x_BTD))

    def attention(self, x_BTD: Tensor, cos: Tensor, sin: Tensor, seen: Tensor | None) -> Tensor:
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
            attn_mask=seen,
            is_causal=seen is None,
            enable_gqa=K != H,
        )
        return matmul(y_BHTd.transpose(1, 2).reshape(B, T, H * d), self.wo)

    def mlp(self, x_BTD: Tensor) -> Tensor:
        if self.fp8 and self.training:
            return self.mlp8(x_BTD.flatten(0, 1)).view_as(x_BTD)
        if self.w_gate is None:
            return squared_mlp(x_BTD.flatten(0, 1), self.w_up, self.w_down).view_as(x_BTD)
        gate, up = matmul(x_BTD, self.w_gate, self.w_up).chunk(2, dim=-1)
        return matmul(F.silu(gate) * up, self.w_down)

    def mlp8(self, x_ND: Tensor) -> Tensor:
        """The MLP with products in 8 bits. Its hidden values are products of two entries, each at
        most the norm of x times the norm of a row of weights."""
        weight = self.w_up if self.w_gate is None else torch.cat((self.w_gate, self.w_up))
        bound = self.mlp_norm.bound(x_ND)
        into = fp8.linear(x_ND, weight, bound)
        if self.w_gate is None:
            hidden = F.relu(into).square()
        else:
            gate, up = into.chunk(2, dim=-1)
            hidden = F.silu(gate) * up
        hidden_bound = (bound * weight.norm(dim=1).amax()).square().detach()
        return fp8.linear(hidden, self.w_down, hidden_bound)


class Transformer(nn.Module):
    """Tokens (B, T) and targets (B, T) to the loss of every target, (B, T), float32, in nats.

    With `fp8` the products of MLP and head are computed in 8 bits when training; validation is
    computed in `dtype` throughout."""

    documents = True  # attention ends behind model.document_end

    def __init__(
        self, model: ModelConfig, dtype: torch.dtype, remat: bool = False, fp8: bool = False
    ) -> None:
        super().__init__()
        self.model, self.dtype, self.remat, self.fp8 = model, dtype, remat, fp8
        self.embed = nn.Parameter(torch.empty(model.vocab, model.hidden))
        self.layers = nn.ModuleList(Layer(model, fp8) for _ in range(model.layers))
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
        end = self.model.document_end
        seen = None if end < 0 else same_document(tokens_BT, end)
        for layer in self.layers:
            if self.remat and self.training:
                x_BTD = torch.utils.checkpoint.checkpoint(
                    layer, x_BTD, self.cos[:T], self.sin[:T], seen, use_reentrant=False
                )
            else:
                x_BTD = layer(x_BTD, self.cos[:T], self.sin[:T], seen)
        return self.losses(self.norm(x_BTD).flatten(0, 1), targets_BT.flatten()).view_as(targets_BT)

    def losses(self, x_ND: Tensor, targets_N: Tensor) -> Tensor:
        weight_VD = self.embed if self.head is None else self.head
        if self.fp8 and self.training:
            return head_loss8(x_ND, weight_VD, targets_N, self.norm.bound(x_ND))
        return cross_entropy(matmul(x_ND, weight_VD), targets_N)


def parameter_name(name: str) -> str:
    """`layers.0.q_norm.weight` -> `layers.0.q_norm`: the name both backends share."""
    return name.removesuffix(".weight")
