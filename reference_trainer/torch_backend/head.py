"""Cross entropy of the output projection, whose logits are the largest array of a step.

Logits stay in the type of the product and are read twice: once for the losses, once to become
their own gradient, which is written in the type of the products that follow. Shapes in names:
N tokens, D width, V vocabulary.
"""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (torch leaves parts of itself untyped)

from typing import Any

import torch
from torch import Tensor

from reference_trainer.torch_backend import fp8
from reference_trainer.torch_backend.fp8 import Scaled, kernels_for


def losses_of(logits_NV: Tensor, targets_N: Tensor) -> tuple[Tensor, Tensor]:
    """Loss of every target in nats, and the logarithm of every row's sum, float32."""
    if (kernels := kernels_for(logits_NV)) is not None:
        return kernels.losses(logits_NV, targets_N)
    log_sum_N = logits_NV.float().logsumexp(-1)
    chosen_N = logits_NV.gather(-1, targets_N[:, None]).squeeze(-1).float()
    return log_sum_N - chosen_N, log_sum_N


def gradient_of(
    logits_NV: Tensor, log_sum_N: Tensor, targets_N: Tensor, g_N: Tensor, dtype: torch.dtype
) -> Tensor:
    """Gradient of the losses weighted by `g_N`: probability less one at the target."""
    if (kernels := kernels_for(logits_NV)) is not None:
        return kernels.gradient(logits_NV, log_sum_N, targets_N, g_N, dtype)
    probability = (logits_NV.float() - log_sum_N[:, None]).exp()
    ids = torch.arange(logits_NV.shape[-1], device=logits_NV.device)
    return ((probability - (ids == targets_N[:, None]).float()) * g_N[:, None]).to(dtype)


class CrossEntropy(torch.autograd.Function):
    """logits (N, V) and targets (N) to losses (N)."""

    @staticmethod
    def forward(ctx: Any, logits_NV: Tensor, targets_N: Tensor) -> Tensor:
        losses, log_sum_N = losses_of(logits_NV, targets_N)
        ctx.save_for_backward(logits_NV, log_sum_N, targets_N)
        return losses

    @staticmethod
    def backward(ctx: Any, g_N: Tensor) -> Any:
        logits_NV, log_sum_N, targets_N = ctx.saved_tensors
        return gradient_of(logits_NV, log_sum_N, targets_N, g_N, logits_NV.dtype), None


class HeadLoss8(torch.autograd.Function):
    """x (N, D), weight (V, D) and targets (N) to losses (N), every product in 8 bits. The gradient
    of the logits is in e5m2: in e4m3 the smallest probabilities, together a few per cent, would
    vanish."""

    @staticmethod
    def forward(ctx: Any, x_ND: Tensor, weight_VD: Tensor, targets_N: Tensor, bound: Tensor) -> Any:
        x8 = fp8.quantise(x_ND, bound, fp8.E4M3)
        w8 = fp8.quantise(weight_VD, fp8.largest(weight_VD), fp8.E4M3)
        logits_NV = fp8.multiply(x8, w8, x_ND.dtype, fast=True)
        losses, log_sum_N = losses_of(logits_NV, targets_N)
        ctx.save_for_backward(logits_NV, log_sum_N, targets_N, *x8.transposed(), *w8)
        return losses

    @staticmethod
    def backward(ctx: Any, g_N: Tensor) -> Any:
        logits_NV, log_sum_N, targets_N, x, x_factor, w, w_factor = ctx.saved_tensors
        factor = fp8.factor_of(fp8.largest(g_N), fp8.E5M2)
        d_NV = gradient_of(logits_NV, log_sum_N, targets_N, g_N / factor, fp8.E5M2)
        d8 = Scaled(d_NV, factor)
        w8_DV, x8_DN = Scaled(w, w_factor).transposed(), Scaled(x, x_factor)
        dx_ND = fp8.multiply(d8, w8_DV, logits_NV.dtype, fast=False)
        dw_VD = fp8.multiply(d8.transposed(), x8_DN, torch.float32, fast=False)
        return dx_ND, dw_VD, None, None


# Dynamo takes both as single operations, so that it can still cut the graph between layers for DDP.
@torch._dynamo.allow_in_graph
def cross_entropy(logits_NV: Tensor, targets_N: Tensor) -> Tensor:
    return CrossEntropy.apply(logits_NV, targets_N)


@torch._dynamo.allow_in_graph
def head_loss8(x_ND: Tensor, weight_VD: Tensor, targets_N: Tensor, bound: Tensor) -> Tensor:
    return HeadLoss8.apply(x_ND, weight_VD, targets_N, bound)
