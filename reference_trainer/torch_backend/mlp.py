"""The MLP with a squared ReLU as one operation, which keeps the squared values alone.

The ReLU's own values are their square roots, so the gradient needs nothing else. On a GPU with
tensor maps (Hopper and later) a kernel of our own squares a product, or multiplies it by the slope,
before it writes: +3.7 % tokens/s at 124M, and 4.6 of 34.8 GiB less (H200, micro-batch 64). Shapes
in names: N tokens, D width, F width of the MLP.
"""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (torch leaves parts of itself untyped)

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from reference_trainer.torch_backend.fp8 import kernels_for


def fused(*factors: Tensor) -> Any:
    """Our own kernels if they multiply such matrices, else None."""
    kernels = kernels_for(factors[0])
    if kernels is None or factors[0].dtype == torch.float32:
        return None
    aligned = all(size % 8 == 0 for factor in factors for size in factor.shape)
    return kernels if aligned and torch.cuda.get_device_capability() >= (9, 0) else None


class SquaredMLP(torch.autograd.Function):
    """x (N, D) with weights (F, D) and (D, F)."""

    @staticmethod
    def forward(ctx: Any, x_ND: Tensor, up_FD: Tensor, down_DF: Tensor) -> Tensor:
        up_FD, down_DF = up_FD.to(x_ND.dtype), down_DF.to(x_ND.dtype)
        if (kernels := fused(x_ND, up_FD)) is not None:
            hidden_NF = kernels.squared_product(x_ND, up_FD, None)
        else:
            hidden_NF = F.relu(x_ND @ up_FD.t()).square()
        ctx.save_for_backward(x_ND, hidden_NF, up_FD, down_DF)
        return hidden_NF @ down_DF.t()

    @staticmethod
    def backward(ctx: Any, dy_ND: Tensor) -> Any:
        x_ND, hidden_NF, up_FD, down_DF = ctx.saved_tensors
        if (kernels := fused(dy_ND, down_DF)) is not None:
            d_NF = kernels.squared_product(dy_ND, down_DF.t().contiguous(), hidden_NF)
        else:
            d_NF = (dy_ND @ down_DF) * 2 * hidden_NF.sqrt()
        return d_NF @ up_FD, (d_NF.t() @ x_ND).float(), (dy_ND.t() @ hidden_NF).float()


# One operation for dynamo, which can then still cut the graph between layers for DDP.
@torch._dynamo.allow_in_graph
def squared_mlp(x_ND: Tensor, up_FD: Tensor, down_DF: Tensor) -> Tensor:
    """x (N, D) through weights (F, D), a squared ReLU and weights (D, F)."""
    return SquaredMLP.apply(x_ND, up_FD, down_DF)
