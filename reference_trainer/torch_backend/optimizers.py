"""AdamW and Muon in torch.

To add one: write a `torch.optim.Optimizer`, name it in `build`, and allow the name in
`config._choices`. Whatever tensors it keeps in `self.state` travel in checkpoints.
"""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (torch leaves parts of itself untyped)

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from reference_trainer.config import OptimizerConfig
from reference_trainer.initial import adamw_rate, is_matrix_of_layer

# Coefficients of the quintic iteration of Muon (Jordan et al. 2024, kellerjordan.github.io/posts/
# muon): they drive singular values into [0.7, 1.2] in 5 steps rather than exactly to 1.
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)


def orthogonalise(matrices: Tensor, steps: int, dtype: torch.dtype) -> Tensor:
    """Nearest semi-orthogonal matrix of each (..., rows, columns), roughly, in `dtype`."""
    a, b, c = NEWTON_SCHULZ
    x = matrices.to(dtype)
    wide = x.shape[-2] <= x.shape[-1]
    x = x if wide else x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x if wide else x.mT


class Muon(torch.optim.Optimizer):
    """Nesterov momentum, orthogonalised, scaled by sqrt(max(1, rows / columns)).

    Matrices of one shape are stacked and go through the iteration together.
    """

    def __init__(self, params: list[Tensor], config: OptimizerConfig, dtype: torch.dtype) -> None:
        super().__init__(params, {"lr": config.muon_lr})
        self.dtype = dtype
        self.momentum, self.weight_decay = config.muon_momentum, config.muon_weight_decay
        self.newton_schulz_steps = config.newton_schulz_steps
        self.orthogonalise: Callable[..., Tensor] = orthogonalise

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[Tensor]] = {}
            for p in group["params"]:
                by_shape.setdefault(p.shape, []).append(p)
            for params in by_shape.values():
                self._update(params, group["lr"])

    def _update(self, params: list[Tensor], lr: float) -> None:
        beta = self.momentum
        grads: list[Any] = [p.grad for p in params]
        for p in params:
            if "momentum" not in self.state[p]:
                self.state[p]["momentum"] = torch.zeros_like(p)
        momenta = [self.state[p]["momentum"] for p in params]
        torch._foreach_lerp_(momenta, grads, 1 - beta)
        ahead = torch._foreach_lerp(grads, momenta, beta)
        updates = whole_matrices(ahead)
        out = self.orthogonalise(updates, self.newton_schulz_steps, self.dtype)
        scale = max(1.0, updates.shape[-2] / updates.shape[-1]) ** 0.5
        if self.weight_decay:
            torch._foreach_mul_(params, 1 - lr * self.weight_decay)
        parts = shards_like(params, out.to(params[0].dtype))
        torch._foreach_add_(params, parts, alpha=-lr * scale)


def whole_matrices(tensors: Any) -> Tensor:
    """Stack matrices; sharded ones (FSDP) are gathered first, on every process."""
    if hasattr(tensors[0], "full_tensor"):
        return torch.stack([t.full_tensor() for t in tensors])
    return torch.stack(list(tensors))


def shards_like(params: Any, stacked: Tensor) -> list[Tensor]:
    """The matrices again, each cut as its parameter is."""
    if not hasattr(params[0], "full_tensor"):
        return list(stacked.unbind(0))
    from torch.distributed.tensor import distribute_tensor

    return [
        distribute_tensor(whole.contiguous(), p.device_mesh, p.placements, src_data_rank=None)
        for p, whole in zip(params, stacked.unbind(0), strict=True)
    ]


def build(
    named: dict[str, Tensor], config: OptimizerConfig, dtype: torch.dtype, fused: bool
) -> list[torch.optim.Optimizer]:
    """The optimizers of a run; every parameter belongs to exactly one of their groups."""
    if config.name not in ("adamw", "muon"):
        raise ValueError(f"optimizer.name is {config.name}, which `build` of torch lacks")
    use_muon = config.name == "muon"
    matrices = [p for n, p in named.items() if use_muon and is_matrix_of_layer(n, p.ndim)]
    rest = {n: p for n, p in named.items() if not (use_muon and is_matrix_of_layer(n, p.ndim))}
    rates = {n: adamw_rate(config, n) for n, p in rest.items() if p.ndim >= 2}
    groups: list[dict[str, Any]] = [
        {
            "params": [rest[n] for n in rates if rates[n] == lr],
            "lr": lr,
            "weight_decay": config.weight_decay,
        }
        for lr in dict.fromkeys(rates.values())
    ]
    groups.append({"params": [p for p in rest.values() if p.ndim < 2], "weight_decay": 0.0})
    adamw = torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=config.lr,
        betas=(config.beta1, config.beta2),
        eps=config.eps,
        fused=fused,
    )
    if not matrices:
        return [adamw]
    return [adamw, Muon(matrices, config, dtype)]
