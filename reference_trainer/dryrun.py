"""What a run would cost, without torch, JAX or a device: `--dry-run`."""

from bot.compute.accelerators import Device, find, peak_flops
from bot.compute.accounting import (
    forward_flops_per_token,
    hardware_flops,
    model_flops,
    parameter_count,
)
from reference_trainer import corpus as corpora
from reference_trainer import memory
from reference_trainer.config import Config
from reference_trainer.devices import guess_device
from reference_trainer.errors import TrainerError
from reference_trainer.storage import prefix

MFUS = (0.2, 0.5)
LOGGED = "train/loss, eval/loss, eval/bpb, time/train_s, throughput/tokens_per_s"


def report(config: Config, device_name: str | None, wandb: str) -> str:
    """The report as text. Raises TrainerError for a device that is not known."""
    shape, tokens = config.model.transformer(), config.total_tokens
    flops = model_flops(shape, tokens)
    lines = [
        ("run", f"{config.name}: {config.description}"),
        ("parameters", f"{parameter_count(shape):,}"),
        ("tokens", f"{tokens:,} ({config.train.steps:,} steps of {config.tokens_per_step:,})"),
        ("corpus", _corpus(config)),
        ("FLOPs a token", f"{3 * forward_flops_per_token(shape):,} forward and backward"),
        ("model FLOPs", f"{flops:.4e}"),
    ]
    for mfu in MFUS:
        lines.append((f"hardware FLOPs at MFU {mfu}", f"{flops / mfu:.4e}"))
    lines += _device(config, device_name, flops)
    need = memory.estimate(config)
    lines.append(("memory", f"about {need.total / 2**30:.1f} GiB a device: {need.words()}"))
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
    from reference_trainer.shards import MANIFEST, open_corpus

    folder = corpora.data_folder() / config.data.corpus
    if not (folder / MANIFEST).is_file():
        return f"{config.data.corpus}, not here yet; fetched or built at the first run"
    found = open_corpus(folder)
    passes = config.total_tokens / max(1, found.train.tokens)
    return f"{found.name}, {found.train.tokens:,} tokens, {passes:.2f} passes"


def _device(config: Config, name: str | None, flops: float) -> list[tuple[str, str]]:
    named = name or guess_device()
    if named is None:
        return [("device", "none here; name one with --device H100 for expected times")]
    device = find(named)
    if device is None:
        if name is None:
            return [("device", f"{named}, whose peak is not known; no expected time")]
        raise TrainerError(f'there is no accelerator "{name}"; try H100, A100, 4090 or v5e-8')
    return _times(config, device, flops)


def _times(config: Config, device: Device, flops: float) -> list[tuple[str, str]]:
    chip, chips = device.accelerator, device.chips or 1
    wanted = config.train.precision
    precision = (
        wanted if wanted != "auto" else next(p for p in ("bf16", "fp16", "fp32") if p in chip.peaks)
    )
    peak = peak_flops(chip, precision)
    if peak is None:
        raise TrainerError(f"{chip.name} has no {precision}; set train.precision = auto")
    a_second = hardware_flops(1.0, chips, peak)
    times = " to ".join(f"{flops / mfu / a_second / 60:,.1f}" for mfu in reversed(MFUS))
    lines = [
        ("device", f"{chips} x {chip.name}, {peak / 1e12:,.1f} TFLOP/s {precision}"),
        ("peak from", chip.source),
        ("expected time", f"{times} minutes, compilation and validation not counted"),
    ]
    need = memory.estimate(config).total
    if chip.memory_bytes is not None and need > chip.memory_bytes:
        fits = memory.largest_micro_batch(config, chip.memory_bytes)
        hint = f"set train.micro_batch = {fits}" if fits else "set train.sharding = fsdp"
        lines.append(
            (
                "warning",
                f"{need / 2**30:.1f} GiB is more than {chip.name} has "
                f"({chip.memory_bytes / 2**30:.0f} GiB); {hint}",
            )
        )
    return lines
