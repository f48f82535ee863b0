"""Compile the JAX step for TPUs that are not here: shapes, shardings, kernels and memory.

Needs the package `libtpu` (an optional group of its own, 484 MB). What it proves is that the step
compiles and fits; numbers and speed need the chip.
"""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (JAX leaves parts of itself untyped)

import dataclasses as dc
import os
from typing import Any

# Several compilers may run beside each other, and none should look for a cloud's metadata.
os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")
os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")

import jax
import numpy as np
from jax.sharding import Mesh

from reference_trainer.config import Config
from reference_trainer.errors import ConfigError, TrainerError
from reference_trainer.formulas import accelerators
from reference_trainer.initial import shapes
from reference_trainer.jax_backend import step
from reference_trainer.jax_backend.optimizers import build
from reference_trainer.memory import does_not_split

# Cloud name of a generation -> the smallest topology with several chips, and extra arguments.
TOPOLOGIES: dict[str, tuple[str, dict[str, Any]]] = {
    "v4": ("v4:2x2x1", {"chip_config_name": "megacore"}),
    "v5e": ("v5e:2x2", {}),
    "v5p": ("v5p:2x2x1", {}),
    "v6e": ("v6e:2x2", {}),
    "v7x": ("tpu7x:2x2x1", {}),
}


@dc.dataclass(frozen=True)
class Compiled:
    """What compiling says; bytes are of one device."""

    topology: str
    devices: int
    attention: str
    needed_bytes: int
    available_bytes: int


def compile_for(config: Config, generation: str) -> Compiled:
    """Compile one training step for `generation` ("v5e", ...). Raises TrainerError where it does
    not fit, and for an unknown generation or a missing libtpu."""
    if generation not in TOPOLOGIES:
        raise TrainerError(f'there is no TPU "{generation}"; known are {", ".join(TOPOLOGIES)}')
    name, more = TOPOLOGIES[generation]
    mesh = Mesh(np.array(_devices(name, more)), ("data",))
    devices = mesh.devices.size
    train = config.train
    if train.batch % (train.micro_batch * devices):
        raise ConfigError(f"{name}: {does_not_split(config, devices)}")
    dtype = step.DTYPES["bf16"]
    attend, why = step.choose_attention(config, "tpu", dtype)
    optimizer = build(config.optimizer, dtype)
    params = {n: jax.ShapeDtypeStruct(s, np.float32) for n, s in shapes(config.model).items()}
    state = jax.eval_shape(lambda p: {"param": p, "optimizer": optimizer.init(p)}, params)
    available = _memory(generation)
    losses = step.reference_losses(config, dtype, attend)
    micro_batches = train.batch // (train.micro_batch * devices)
    try:
        compiled = step.compile_step(
            config, mesh, "tpu", dtype, losses, optimizer, state, micro_batches
        )
    except jax.errors.JaxRuntimeError as error:
        raise _in_words(error, generation, available) from error
    memory = compiled.memory_analysis()
    needed = memory.argument_size_in_bytes + memory.temp_size_in_bytes
    if needed > available:
        raise TrainerError(_too_much(generation, f"{needed / 2**30:.1f} GiB", available))
    return Compiled(name, devices, why, needed, available)


def _devices(name: str, more: dict[str, Any]) -> Any:
    from jax.experimental import topologies

    try:
        return topologies.get_topology_desc(platform="tpu", topology_name=name, **more).devices
    except Exception as error:  # the plug-in raises many kinds; all mean that it is not usable
        reason = str(error).splitlines()[0]
        raise TrainerError(
            f"compiling for {name} needs libtpu (pip install -e '.[tpu]'): {reason}"
        ) from error


def _memory(generation: str) -> int:
    device = accelerators.find(generation)
    if device is None or device.accelerator.memory_bytes is None:
        raise TrainerError(f"the memory of {generation} is not known")
    return device.accelerator.memory_bytes // device.accelerator.devices_per_chip


def _in_words(error: Exception, generation: str, available: int) -> TrainerError:
    text = str(error)
    if "RESOURCE_EXHAUSTED" in text or "exceeds" in text:
        return TrainerError(_too_much(generation, "more memory than there is", available))
    return TrainerError(f"the step does not compile for {generation}: {text.splitlines()[0]}")


def _too_much(generation: str, needed: str, available: int) -> str:
    return (
        f"the step needs {needed}, a device of {generation} has {available / 2**30:.0f} GiB; "
        "lower train.micro_batch, or set train.remat = true or train.sharding = fsdp"
    )
