"""What the loop asks of a backend. Two exist: `torch_backend.engine` and `jax_backend.engine`."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from reference_trainer.checkpoint import State
from reference_trainer.devices import Device

# Reads a value that the device may still be computing; reading waits for that value alone.
Pending = Callable[[], float]


class Backend(Protocol):
    """One model with its optimizer on the devices of this process (and its peers')."""

    kind: str  # "torch" or "jax"
    device: Device
    notes: list[str]  # what was detected and why, for the header
    rank: int  # this process
    processes: int
    optimizer_facts: dict[str, Any]  # name, and class and settings of what really runs

    def parameter_count(self) -> int:
        """Trainable numbers of the model as it is."""

    def warm_up(self, rows: np.ndarray, weights: np.ndarray) -> None:
        """Compile everything for batches of these shapes, leaving the parameters as they are."""

    def train_step(self, rows: np.ndarray, multiplier: float) -> Pending:
        """One update from this process's rows (count, seq_len + 1); the mean loss of the batch."""

    def evaluate(self, rows: np.ndarray, weights: np.ndarray) -> Pending:
        """Weighted sum of the losses in nats, of this process's rows."""

    def total(self, values: list[float]) -> list[float]:
        """Sums over processes. Every process must call it at the same point."""

    def parameters_sha256(self) -> str:
        """Hash of the parameters as this process has them; the same on all."""

    def synchronize(self) -> None:
        """Wait until the devices are idle."""

    @property
    def writers(self) -> int:
        """How many processes hold a part of the state that no other holds."""

    def state(self) -> State:
        """Copies of what this process saves of parameters (`param/...`) and optimizer state: its
        shards; of what all hold, the first process everything."""

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        """Take a state back. Raises KeyError or ValueError for one that does not fit."""

    def peak_memory_bytes(self) -> int | None:
        """Most device memory used so far, None where the device does not tell."""
