"""How much device memory a run needs: an estimate from its dimensions, before anything is built.

Measured against torch on an H100: gpt2-124m at micro-batch 64 and 128 peaks at 29.0 and 55.6 GiB.
"""

import dataclasses as dc

from reference_trainer.config import Config
from reference_trainer.devices import Device
from reference_trainer.errors import TrainerError
from reference_trainer.formulas import accounting

ERROR = 1.15  # the estimate may be so much too high
CPU_FLOPS = 1e11  # of a good desktop machine, float32
PATIENCE_S = 86_400  # what would take a CPU longer than a day is a mistake


@dc.dataclass(frozen=True)
class Memory:
    """Bytes on one device."""

    state: int  # parameters, gradients, optimizer
    activations: int
    logits: int

    @property
    def total(self) -> int:
        return self.state + self.activations + self.logits

    def words(self) -> str:
        """The parts in GiB."""
        return ", ".join(
            f"{name} {value / 2**30:.1f}"
            for name, value in (
                ("state", self.state),
                ("activations", self.activations),
                ("logits", self.logits),
            )
        )


def micro_batch_on(config: Config, devices: int) -> int:
    """Sequences that one of so many devices computes at a time: `train.micro_batch`, or the largest
    smaller number that lets the devices share a batch evenly."""
    share = max(1, config.train.batch // devices)
    return next(n for n in range(min(config.train.micro_batch, share), 0, -1) if share % n == 0)


def does_not_split(config: Config, devices: int) -> str:
    """One sentence for a batch that so many devices cannot share in these micro-batches."""
    train = config.train
    if train.batch % devices:
        hint = f"write a train.batch that is a multiple of {devices}"
    else:
        hint = f"set train.micro_batch = {micro_batch_on(config, devices)}"
    return (
        f"train.batch is {train.batch}; with {devices} devices and train.micro_batch "
        f"{train.micro_batch} it must be a multiple of {train.micro_batch * devices}; {hint}"
    )


def estimate(
    config: Config, micro_batch: int | None = None, devices: int = 1, kind: str = "gpu"
) -> Memory:
    """Bytes on one of `devices` for one micro-batch.

    State: float32 parameter, gradient and two moments, and a copy in 16 bits; with shards a device
    adds up several micro-batches with whole gradients and copies. Activations of a layer that
    wait for the backward pass, in 16 bits: 5 of the residual width, queries with keys
    and values, and the MLP's (once for a plain one, twice for a gated one, whose gate is kept);
    recomputing leaves one residual width. Logits: they, their gradient and what the allocator keeps
    of that size (measured: 30.2 GiB of 34.6 in torch, 30.6 in JAX, `LOG.md`), one less in fp8. A
    TPU (`kind`) keeps one of them, and three times the activations of layers that are scanned and
    not recomputed: within 11 % of what the configurations need when compiled for v5e, v5p and v6e.
    """
    model, train = config.model, config.train
    parameters = accounting.parameter_count(model.transformer())
    micro_batch = micro_batch or train.micro_batch
    shards = devices if train.sharding == "fsdp" else 1
    whole = 6 if shards > 1 and train.batch > micro_batch * devices else 0
    width = 4 if train.precision == "fp32" else 2
    tokens = micro_batch * model.seq_len
    attention = (model.heads + 2 * model.key_value_heads) * model.width_of_head
    one = 5 * model.hidden + attention + (2 if model.gated else 1) * model.intermediate
    if train.remat:
        kept = model.layers * model.hidden + one
    else:
        kept = model.layers * one * (3 if kind == "tpu" and train.scan_layers else 1)
    copies = 1 if kind == "tpu" else 2 if train.precision == "fp8" else 3
    return Memory(
        state=18 * parameters // shards + whole * parameters,
        activations=width * tokens * kept,
        logits=copies * width * tokens * model.vocab,
    )


def largest_micro_batch(
    config: Config, memory_bytes: int, devices: int = 1, kind: str = "gpu"
) -> int | None:
    """The largest divisor of the batch that fits, None where not even 1 does."""
    share = max(1, config.train.batch // devices)
    for size in range(min(share, config.train.micro_batch), 0, -1):
        if share % size == 0 and estimate(config, size, devices, kind).total <= memory_bytes:
            return size
    return None


def check(config: Config, device: Device) -> None:
    """Raise TrainerError, before anything is compiled, where the run cannot fit."""
    if device.memory_bytes is None or device.name == "cpu":
        return
    need = estimate(config, devices=device.world, kind=_kind(device))
    if need.total > ERROR * device.memory_bytes:
        raise TrainerError(too_little(config, device))


def check_accelerator(config: Config, device: Device) -> None:
    """Raise TrainerError where a CPU would train for days: most likely no GPU was found."""
    if device.name != "cpu":
        return
    flops = 3 * accounting.forward_flops_per_token(config.model.transformer()) * config.total_tokens
    seconds = flops / CPU_FLOPS
    if seconds > PATIENCE_S:
        raise TrainerError(
            f"no accelerator was found, and {config.name} would take a CPU about "
            f"{seconds / 86_400:,.0f} days; use a machine with a GPU or TPU (and a build of torch "
            "or JAX for it), take --config tiny, or lower train.steps"
        )


def _kind(device: Device) -> str:
    """Whether it is a TPU or, for all that is known, like a GPU."""
    return device.accelerator.kind if device.accelerator else "gpu"


def too_little(config: Config, device: Device) -> str:
    """One sentence with the setting to change."""
    kind = _kind(device)
    need = estimate(config, devices=device.world, kind=kind).total / 2**30
    have = f"{device.memory_bytes / 2**30:.0f} GiB" if device.memory_bytes else "less"
    fits = (
        largest_micro_batch(config, int(0.9 * device.memory_bytes), device.world, kind)
        if device.memory_bytes
        else 1
    )
    hint = f"train.micro_batch = {fits}" if fits else "train.remat = true or train.sharding = fsdp"
    return (
        f"the run needs about {need:.1f} GiB of memory on a device, {device.name} has {have}; "
        f"set {hint}"
    )


def is_exhausted(error: BaseException) -> bool:
    """Whether an error of torch or JAX says that the device's memory is used up."""
    text = str(error)
    return isinstance(error, RuntimeError) and (
        "out of memory" in text.lower() or "RESOURCE_EXHAUSTED" in text
    )
