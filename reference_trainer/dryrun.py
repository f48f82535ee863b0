"""What a run would cost, without torch, JAX or a device: `--dry-run`."""

from reference_trainer import corpus as corpora
from reference_trainer import memory, names
from reference_trainer.config import Config
from reference_trainer.devices import guess_device
from reference_trainer.errors import TrainerError
from reference_trainer.formulas import accelerators, accounting
from reference_trainer.storage import prefix

MFUS = (0.2, 0.5)
LOGGED = ", ".join(names.LOGGED)


def report(config: Config, device_name: str | None, wandb: str) -> str:
    """The report as text. Raises TrainerError for a device that is not known."""
    shape, tokens = config.model.transformer(), config.total_tokens
    flops = accounting.model_flops(shape, tokens)
    lines = [
        ("run", f"{config.name}: {config.description}"),
        ("parameters", f"{accounting.parameter_count(shape):,}"),
        ("tokens", f"{tokens:,} ({config.train.steps:,} steps of {config.tokens_per_step:,})"),
        ("corpus", _corpus(config)),
        (
            "FLOPs a token",
            f"{3 * accounting.forward_flops_per_token(shape):,} forward and backward",
        ),
        ("model FLOPs", f"{flops:.4e}"),
    ]
    for mfu in MFUS:
        lines.append((f"hardware FLOPs at MFU {mfu}", f"{flops / mfu:.4e}"))
    device = _device(device_name)
    lines += _times(config, device, flops) if isinstance(device, accelerators.Device) else device
    lines += _memory(config, device)
    lines += [
        ("W&B", "off" if wandb == "off" else f"{wandb}: {LOGGED}"),
        (
            "log",
            "log.txt in the output folder, a line every "
            f"{config.train.log_every} steps, validation {_every(config.train.eval_every)}",
        ),
        ("results", "speedrun_results.json in the output folder"),
        (
            "checkpoints",
            f"{_checkpoints(config.train.checkpoint_every)} when stopped, "
            f"{'under ' + str(prefix()) if prefix() else 'in the output folder'}",
        ),
    ]
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:{width}}  {text}" for name, text in lines)


def _every(steps: int) -> str:
    return f"every {steps:,} steps and at both ends" if steps else "at both ends"


def _checkpoints(steps: int) -> str:
    return f"every {steps:,} steps and" if steps else "only"


def _corpus(config: Config) -> str:
    from reference_trainer.shards import open_corpus

    folder = corpora.found(config.data.corpus)
    if folder is None:
        return f"{config.data.corpus}, not here yet; fetched or built at the first run"
    corpus = open_corpus(folder)
    passes = config.total_tokens / max(1, corpus.train.tokens)
    return f"{corpus.name}, {corpus.train.tokens:,} tokens, {passes:.2f} passes"


def _device(name: str | None) -> accelerators.Device | list[tuple[str, str]]:
    """The device that is named or here; lines that say why there is none that is known."""
    named = name or guess_device()
    if named is None:
        return [("device", "none here; name one with --device H100 for expected times")]
    device = accelerators.find(named)
    if device is None:
        if name is None:
            return [("device", f"{named}, whose peak is not known; no expected time")]
        raise TrainerError(f'there is no accelerator "{name}"; try H100, A100, 4090 or v5e-8')
    return device


def _times(config: Config, device: accelerators.Device, flops: float) -> list[tuple[str, str]]:
    chip, chips = device.accelerator, device.chips or 1
    wanted = config.train.precision
    precision = (
        wanted if wanted != "auto" else next(p for p in ("bf16", "fp16", "fp32") if p in chip.peaks)
    )
    peak = accelerators.peak_flops(chip, precision)
    if peak is None:
        raise TrainerError(f"{chip.name} has no {precision}; set train.precision = auto")
    a_second = accounting.hardware_flops(1.0, chips, peak)
    times = " to ".join(f"{flops / mfu / a_second / 60:,.1f}" for mfu in reversed(MFUS))
    return [
        ("device", f"{chips} x {chip.name}, {peak / 1e12:,.1f} TFLOP/s {precision}"),
        ("peak from", chip.source),
        ("expected time", f"{times} minutes, compilation and validation not counted"),
    ]


def _memory(config: Config, device: object) -> list[tuple[str, str]]:
    """What one of the devices needs; a warning if it has less, or if the batch cannot be split."""
    if not isinstance(device, accelerators.Device):
        need = memory.estimate(config)
        return [("memory", f"about {need.total / 2**30:.1f} GiB a device: {need.words()}")]
    chip = device.accelerator
    devices = (device.chips or 1) * chip.devices_per_chip
    micro = memory.micro_batch_on(config, devices)
    need = memory.estimate(config, micro, devices, chip.kind)
    share = f"{micro} sequences at a time on each of {devices}"
    lines = [
        ("memory", f"about {need.total / 2**30:.1f} GiB a device, {share}: {need.words()}"),
    ]
    if config.train.batch % (config.train.micro_batch * devices):
        lines.append(("warning", memory.does_not_split(config, devices)))
    have = chip.memory_bytes and chip.memory_bytes // chip.devices_per_chip
    if have and need.total > have:
        fits = memory.largest_micro_batch(config, have, devices, chip.kind)
        hint = f"set train.micro_batch = {fits}" if fits else "set train.sharding = fsdp"
        text = f"{need.total / 2**30:.1f} GiB is more than {chip.name} has ({have / 2**30:.0f} GiB)"
        lines.append(("warning", f"{text}; {hint}"))
    return lines
