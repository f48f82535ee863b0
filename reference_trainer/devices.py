"""What the run is on: the device's own name, how many, the precision and the peak it is judged by.

An unknown device has no peak; then no MFU is shown, and the header says so.
"""

import dataclasses as dc
import os
import subprocess

from reference_trainer.errors import TrainerError
from reference_trainer.formulas import accelerators, accounting

# What a model says that computes the products of its MLP and head in fp8; see `peak_flops`.
NO_FP8 = (
    "train.precision is fp8, which this model does not support; write auto, or give {} fp8 = True "
    "once the products of its MLP and head are in 8 bits"
)
# What a model says whose attention ends where a document does.
NO_DOCUMENTS = (
    'data.order "marin" ends attention at every document (model.document_end), which this model '
    "does not; write shuffled, or give {} documents = True once it does"
)


@dc.dataclass(frozen=True)
class Device:
    """`chips` are whole chips (a TPU v3 chip is two JAX devices); `world` counts devices. `shape`
    says how many of the FLOPs are in fp8 where that is the precision."""

    name: str
    chips: int
    world: int
    precision: str
    accelerator: accelerators.Accelerator | None
    memory_bytes: int | None
    software: dict[str, str]
    shape: accounting.Transformer

    @property
    def peak_flops(self) -> float | None:
        """Dense peak of one chip at this precision in FLOP/s, None for an unknown device."""
        if self.accelerator is None:
            return None
        # float32 matrices run as tf32 where the chip has it and the backend allows it; it does not.
        return accounting.peak_flops(self.shape, self.precision, self.accelerator.peaks)

    @property
    def peak_source(self) -> str | None:
        return self.accelerator.source if self.accelerator and self.peak_flops else None

    def utilisation(self, model_flops: float, seconds: float) -> float | None:
        """Model FLOPs utilisation over `seconds`, None where there is no peak."""
        peak = self.peak_flops
        return (
            accounting.mfu(model_flops, seconds * self.chips * peak)
            if peak and seconds > 0
            else None
        )


def describe(
    name: str,
    devices: int,
    precision: str,
    memory_bytes: int | None,
    software: dict[str, str],
    shape: accounting.Transformer,
) -> Device:
    """A Device from the name that a driver or JAX gives; `devices` as the framework counts."""
    found = accelerators.find(name)
    accelerator = found.accelerator if found else None
    per_chip = accelerator.devices_per_chip if accelerator else 1
    return Device(
        name=name,
        chips=max(1, devices // per_chip),
        world=devices,
        precision=precision,
        accelerator=accelerator,
        memory_bytes=memory_bytes or (accelerator.memory_bytes if accelerator else None),
        software=software,
        shape=shape,
    )


def formats_of(platform: str, capability: str) -> tuple[bool, bool]:
    """Whether JAX's device computes in bf16 and in fp8, by its platform and compute capability:
    "8.0" of NVIDIA, "gfx942" of AMD, whose fp8 is not supported here. V100 and T4 have neither."""
    if platform != "gpu":
        return platform == "tpu", False
    try:
        number = float(capability)
    except ValueError:
        return True, False
    return number >= 8.0, number >= 8.9


EMULATED = ("cpu", "Apple GPU")
"""Devices that compute bf16 without units of their own for it."""


def choose_precision(
    wanted: str, has_bf16: bool, has_fp16: bool, has_fp8: bool, name: str
) -> tuple[str, str]:
    """The precision to compute in, and one sentence that says why. A CPU stands in for fp8: it
    converts to 8 bits and back, so that the path can be tried without a GPU.

    Raises TrainerError when the device cannot do what was asked for.
    """
    if wanted == "auto":
        if has_bf16:
            return "bf16", f"bf16, which {name} computes in hardware"
        if has_fp16:
            return "fp16", f"fp16 with loss scaling, {name} has no bf16"
        return "fp32", f"fp32, {name} has no 16-bit format that this backend trains in"
    if wanted == "fp8" and not has_fp8 and name != "cpu":
        raise TrainerError(
            f"train.precision is fp8, which {name} does not support; write auto or bf16"
        )
    if wanted == "fp8":
        where = "emulated on a CPU, which gains no speed" if name == "cpu" else "as configured"
        return wanted, f"fp8 for MLP and head in training, bf16 elsewhere, {where}"
    lacks_bf16 = wanted == "bf16" and not has_bf16 and name not in EMULATED
    if (wanted == "fp16" and not has_fp16) or lacks_bf16:
        raise TrainerError(
            f"train.precision is {wanted}, which {name} does not support; write auto or fp32"
        )
    return wanted, f"{wanted}, as the configuration asks"


def guess_device() -> str | None:
    """The name of the first GPU, asked of its driver without torch or JAX; None without one."""
    try:
        out = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return os.environ.get("TPU_ACCELERATOR_TYPE")
    return out.splitlines()[0].strip() if out.strip() else None
