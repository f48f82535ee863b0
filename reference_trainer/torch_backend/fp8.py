"""Matrix products in 8 bits, for GPUs that multiply them twice as fast (Hopper and later).

Operands are e4m3 (3 bits of mantissa, up to 448), gradients e5m2 (2 bits, up to 57,344); every
tensor has one scale, chosen so that the largest value it can hold just fits. Scales need no
history, so a resumed run is the run: weights are searched for their largest entry, inputs behind
an RMS norm are bounded by its width, and gradients by a sample of their tokens.

Shapes in names: N tokens, I inputs, O outputs of a product.
"""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (torch leaves parts of itself untyped)

import importlib
import importlib.util
from typing import Any, NamedTuple

import torch
from torch import Tensor

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
LARGEST = {E4M3: 448.0, E5M2: 57344.0}
SAMPLE = 16  # gradients: the largest entry of every 16th token, and room for larger ones
ROOM = 64.0


# Loaded here and not at first use, which may be while a graph is traced.
KERNELS: Any = None
if importlib.util.find_spec("triton") is not None:
    KERNELS = importlib.import_module("reference_trainer.torch_backend.kernels")


def kernels_for(x: Tensor) -> Any:
    """Our own kernels where `x` is on a GPU and Triton is there, else None."""
    return KERNELS if x.is_cuda else None


class Scaled(NamedTuple):
    """`values` x `factor` is the tensor that the 8 bits stand for."""

    values: Tensor
    factor: Tensor

    def transposed(self) -> "Scaled":
        """The matrix stored the other way round, as tensor cores want 8-bit operands."""
        if (kernels := kernels_for(self.values)) is not None:
            return Scaled(kernels.turn(self.values), self.factor)
        return Scaled(self.values.t().contiguous(), self.factor)


def factor_of(bound: Tensor, dtype: torch.dtype) -> Tensor:
    """The factor under which entries up to `bound`, a number on the device, fit `dtype`."""
    return (bound.float() / LARGEST[dtype]).clamp(min=1e-30)


def quantise(x: Tensor, bound: Tensor, dtype: torch.dtype) -> Scaled:
    """`x` in 8 bits. Entries beyond `bound` are cut to it."""
    factor = factor_of(bound, dtype)
    scaled = (x.float() / factor).clamp(-LARGEST[dtype], LARGEST[dtype])
    return Scaled(scaled.to(dtype), factor)


def multiply(a: Scaled, b: Scaled, dtype: torch.dtype, fast: bool) -> Tensor:
    """a (M, K) times b (L, K) transposed. `fast` adds up in fewer bits: for short sums only."""
    return torch._scaled_mm(
        a.values,
        b.values.t(),
        scale_a=a.factor,
        scale_b=b.factor,
        out_dtype=dtype,
        use_fast_accum=fast,
    )


def largest(x: Tensor) -> Tensor:
    return x.abs().amax()


def gradient_bound(gradient_NO: Tensor) -> Tensor:
    return largest(gradient_NO[::SAMPLE]) * ROOM


class Linear(torch.autograd.Function):
    """x (N, I) with weight (O, I): the product and both of its gradients in 8 bits."""

    @staticmethod
    def forward(ctx: Any, x_NI: Tensor, weight_OI: Tensor, bound: Tensor) -> Tensor:
        x8, w8 = quantise(x_NI, bound, E4M3), quantise(weight_OI, largest(weight_OI), E4M3)
        # Turned here: the compiler would otherwise compute it again from wider inputs.
        ctx.save_for_backward(*x8.transposed(), *w8)
        ctx.dtype = x_NI.dtype
        return multiply(x8, w8, x_NI.dtype, fast=True)

    @staticmethod
    def backward(ctx: Any, dy_NO: Tensor) -> Any:
        x, x_factor, w, w_factor = ctx.saved_tensors
        x8_IN, w8 = Scaled(x, x_factor), Scaled(w, w_factor)
        dy8 = quantise(dy_NO, gradient_bound(dy_NO), E5M2)
        dx_NI = multiply(dy8, w8.transposed(), ctx.dtype, fast=True)
        dw_OI = multiply(dy8.transposed(), x8_IN, torch.float32, fast=False)
        return dx_NI, dw_OI, None


# One operation for dynamo, which can then still cut the graph between layers for DDP.
@torch._dynamo.allow_in_graph
def linear(x_NI: Tensor, weight_OI: Tensor, bound: Tensor) -> Tensor:
    """x (N, I) with weight (O, I). `bound` is at least the largest entry of x."""
    return Linear.apply(x_NI, weight_OI, bound)
