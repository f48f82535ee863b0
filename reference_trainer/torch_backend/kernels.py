"""Kernels of a GPU: cross entropy by the formulas of `head`, products of `mlp`, matrices turned.

What inductor makes of cross entropy takes twice as long: it computes addresses of more than 2^31
logits in 64 bits and with divisions (9.8 ms of a step of GPT-2 124M on an H200, 4.9 ms here).
"""

# mypy: disable-error-code="no-untyped-call,no-any-return,untyped-decorator,no-untyped-def"
# (torch and Triton leave parts of themselves untyped)

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

ROWS, COLUMNS = 16, 256  # of a tile of `_gradient`
TILE = 32  # of `_turn`, in words of four bytes
# Rows, columns and depth of a tile of `_product`, and loads under way: best of 11 on an H200.
PRODUCT, STAGES = (128, 256, 64), 3


# Arguments of kernels: pointers and numbers, which Triton types at the call.


@triton.jit
def _losses(logits, targets, losses, log_sums, V: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    logits += row * V
    top, total = float("-inf"), 0.0
    for start in range(0, V, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        x = tl.load(logits + ids, mask=ids < V, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(x, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(x - higher), 0)
        top = higher
    log_sum = top + tl.log(total)
    chosen = tl.load(logits + tl.load(targets + row)).to(tl.float32)
    tl.store(log_sums + row, log_sum)
    tl.store(losses + row, log_sum - chosen)


@triton.jit
def _gradient(
    logits,
    log_sums,
    targets,
    weights,
    out,
    N,
    V: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    # Offsets from the corner of a tile fit 32 bits, the corner's place does not.
    row, column = tl.program_id(1).to(tl.int64) * ROWS, tl.program_id(0).to(tl.int64) * COLUMNS
    down, across = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    inside = (down < N - row)[:, None] & (across < V - column)[None, :]
    place = down[:, None] * V + across[None, :]
    log_sum = tl.load(log_sums + row + down, mask=down < N - row, other=0.0)
    target = tl.load(targets + row + down, mask=down < N - row, other=0)
    weight = tl.load(weights + row + down, mask=down < N - row, other=0.0)
    x = tl.load(logits + row * V + column + place, mask=inside, other=0.0).to(tl.float32)
    chosen = across[None, :] == (target - column).to(tl.int32)[:, None]
    d = (tl.exp(x - log_sum[:, None]) - tl.where(chosen, 1.0, 0.0)) * weight[:, None]
    narrow = d.to(out.dtype.element_ty)
    tl.store(out + row * V + column + place, narrow, mask=inside)


@triton.jit
def _store_half(sums, out, hidden, row, column, BACKWARD: tl.constexpr):
    if BACKWARD:
        value = 2.0 * tl.sqrt(hidden.load([row, column]).to(tl.float32)) * sums
    else:
        value = tl.maximum(sums, 0.0)
        value = value * value
    out.store([row, column], value.to(out.dtype))


@triton.jit
def _product(
    a,
    b,
    out,
    hidden,
    M,
    N,
    K,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    BACKWARD: tl.constexpr,
    PROGRAMS: tl.constexpr,
):
    """a (M, K) times b (N, K) transposed, tile after tile; all of b stays in the cache."""
    across = tl.cdiv(N, COLUMNS)
    tiles = tl.cdiv(M, ROWS) * across
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=True):
        row, column = tile // across * ROWS, tile % across * COLUMNS
        sums = tl.zeros((ROWS, COLUMNS), tl.float32)
        for depth in range(0, K, DEPTH):
            sums = tl.dot(a.load([row, depth]), b.load([column, depth]).T, sums)
        # Written in two halves, which leaves shared memory for one more load under way.
        halves = tl.permute(tl.reshape(sums, (ROWS, 2, COLUMNS // 2)), (0, 2, 1))
        left, right = tl.split(halves)
        _store_half(left, out, hidden, row, column, BACKWARD)
        _store_half(right, out, hidden, row, column + COLUMNS // 2, BACKWARD)


@triton.jit
def _turn(x, out, M, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Four rows of words of four bytes become four columns of such words."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (row < M)[:, None] & (column < N)[None, :]
    place = x + 4 * row[:, None] * N + column[None, :]
    first = tl.load(place, mask=inside)
    second = tl.load(place + N, mask=inside)
    third = tl.load(place + 2 * N, mask=inside)
    fourth = tl.load(place + 3 * N, mask=inside)
    for byte in tl.static_range(4):
        at = 8 * byte
        low = ((first >> at) & 255) | (((second >> at) & 255) << 8)
        high = (((third >> at) & 255) << 16) | (((fourth >> at) & 255) << 24)
        back = out + (4 * column[:, None] + byte) * M + row[None, :]
        tl.store(back, tl.trans(low | high), mask=tl.trans(inside))


@torch.library.custom_op("speedrun::losses", mutates_args=())
def losses(logits_NV: Tensor, targets_N: Tensor) -> tuple[Tensor, Tensor]:
    """Loss of every target, and the logarithm of every row's sum."""
    N, V = logits_NV.shape
    found, log_sums = (torch.empty(N, dtype=torch.float32, device=targets_N.device) for _ in "ab")
    _losses[(N,)](logits_NV, targets_N, found, log_sums, V, BLOCK=4096, num_warps=4)
    return found, log_sums


@losses.register_fake
def _(logits_NV: Tensor, targets_N: Tensor) -> tuple[Tensor, Tensor]:
    like = logits_NV.new_empty(targets_N.shape, dtype=torch.float32)
    return like, torch.empty_like(like)


@torch.library.custom_op("speedrun::gradient", mutates_args=())
def gradient(
    logits_NV: Tensor, log_sum_N: Tensor, targets_N: Tensor, weight_N: Tensor, dtype: torch.dtype
) -> Tensor:
    """Gradient of the losses weighted by `weight_N`, in `dtype`."""
    N, V = logits_NV.shape
    out = torch.empty_like(logits_NV, dtype=dtype)
    grid = (triton.cdiv(V, COLUMNS), triton.cdiv(N, ROWS))
    weight_N = weight_N.contiguous()
    _gradient[grid](
        logits_NV, log_sum_N, targets_N, weight_N, out, N, V, ROWS, COLUMNS, num_warps=8
    )
    return out


@gradient.register_fake
def _(
    logits_NV: Tensor, log_sum_N: Tensor, targets_N: Tensor, weight_N: Tensor, dtype: torch.dtype
) -> Tensor:
    return torch.empty_like(logits_NV, dtype=dtype)


@torch.library.custom_op("speedrun::squared_product", mutates_args=())
def squared_product(a_MK: Tensor, b_NK: Tensor, hidden_MN: Tensor | None) -> Tensor:
    """Squared ReLU of a product; with the hidden values of such a one, the gradient through it."""
    (M, K), N = a_MK.shape, b_NK.shape[0]
    out = a_MK.new_empty(M, N)
    rows, columns, depth = PRODUCT
    half = [rows, columns // 2]
    programs = torch.cuda.get_device_properties(a_MK.device).multi_processor_count
    _product[(programs,)](
        TensorDescriptor.from_tensor(a_MK.contiguous(), [rows, depth]),
        TensorDescriptor.from_tensor(b_NK.contiguous(), [columns, depth]),
        TensorDescriptor.from_tensor(out, half),
        TensorDescriptor.from_tensor(out if hidden_MN is None else hidden_MN, half),
        M,
        N,
        K,
        *PRODUCT,
        BACKWARD=hidden_MN is not None,
        PROGRAMS=programs,
        num_warps=8,
        num_stages=STAGES,
    )
    return out


@squared_product.register_fake
def _(a_MK: Tensor, b_NK: Tensor, hidden_MN: Tensor | None) -> Tensor:
    return a_MK.new_empty(a_MK.shape[0], b_NK.shape[0])


@torch.library.custom_op("speedrun::turn", mutates_args=())
def turn(x_MN: Tensor) -> Tensor:
    """A matrix of 8-bit numbers stored the other way round; sizes are multiples of 4."""
    M, N = x_MN.shape
    out = x_MN.new_empty(N, M)
    grid = (triton.cdiv(M // 4, TILE), triton.cdiv(N // 4, TILE))
    words, turned = x_MN.view(torch.int32), out.view(torch.int32)
    _turn[grid](words, turned, M // 4, N // 4, TILE, TILE, num_warps=4)
    return out


@turn.register_fake
def _(x_MN: Tensor) -> Tensor:
    return x_MN.new_empty(x_MN.shape[1], x_MN.shape[0])
