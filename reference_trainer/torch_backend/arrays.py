"""Tensors, whole or one shard of many, and the arrays that checkpoints keep of them."""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (torch leaves parts of itself untyped)

from typing import Any

import numpy as np
import torch
from torch import Tensor

from reference_trainer.checkpoint import Block, whole


def saved(value: Any, rank: int) -> Block | None:
    """What process `rank` saves of a value: its shard, or all where it is the first."""
    if hasattr(value, "full_tensor") and value.placements[0].is_shard():
        dim, count = value.placements[0].dim, value.device_mesh.size()
        rows = -(-value.shape[dim] // count)  # as torch.chunk cuts
        start = min(rank * rows, value.shape[dim])
        held = array_of(value.to_local())
        begins = tuple(start if d == dim else 0 for d in range(value.ndim))
        return Block(tuple(value.shape), begins, held) if held.size else None
    return whole(array_of(value)) if rank == 0 else None


def array_of(value: Any) -> np.ndarray:
    """A copy of a tensor or a number in the memory of the host."""
    if not isinstance(value, Tensor):
        return np.asarray(value)
    tensor = value.full_tensor() if hasattr(value, "full_tensor") else value
    return tensor.detach().cpu().numpy().copy()


def tensor_like(param: Any, array: np.ndarray) -> Tensor:
    """A tensor of `array`, sharded as `param` is where it has the parameter's shape."""
    tensor = torch.from_numpy(np.array(array))
    if hasattr(param, "full_tensor") and tensor.shape == param.shape:
        from torch.distributed.tensor import distribute_tensor

        on_device = tensor.to(param.device)
        return distribute_tensor(on_device, param.device_mesh, param.placements, src_data_rank=None)
    return tensor


def assign(param: Tensor, array: np.ndarray) -> None:
    """Give a parameter its values. Raises ValueError for another shape."""
    if tuple(param.shape) != array.shape:
        raise ValueError(f"has shape {array.shape}, expected {tuple(param.shape)}")
    param.copy_(tensor_like(param, array))
