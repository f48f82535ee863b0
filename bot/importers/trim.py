"""Trim a training log to what counts: validation points, clock, hardware, seed, code hash.

The lines of validation points stay as they are, to the last printed digit; all else that a log
holds (source code, training lines, the environment) stays out. A short head in the form of our own
trainer says the hardware.
"""

from __future__ import annotations

import re

from bot.evidence.log.training_log import read_log
from bot.importers.arms import LogFile
from bot.model.run import Run

VALIDATION = re.compile(rb"step:\d+/\d+ +(?:\S+:\S+ +)*?\w*val\w*_loss:[\d.]+\b|s:\d+ tel:[\d.]+")
STEP = re.compile(rb"step:\d+/\d+ +\S+:\S*\d|s:\d+ t[er]l:[\d.]+")
KEPT = re.compile(rb"(?:step:\d+/\d+|\w+:[-+\w.]+|s:\d+|tel:[\d.]+|trl:[\d.]+)(?: +\w+:[-+\w.]+)*")


def trim(log: LogFile) -> bytes | None:
    """The trimmed log, or None if it would be read otherwise than the log itself."""
    for pattern in (VALIDATION, STEP):
        data = _head(log.runs[0]) + _lines(log.data, pattern)
        if _same(read_log(data, log.path), log.runs):
            return data
    return None


def _head(run: Run) -> bytes:
    """Hardware and software in the words that `bot.evidence.log.header` reads."""
    lines = []
    if "torch" in run.software and "cuda" in run.software:
        lines.append(
            f"Running PyTorch {run.software['torch']} compiled for CUDA {run.software['cuda']}"
        )
    facts = {
        "device": run.hardware.device,
        "world_size": run.hardware.count,
        "seed": run.seed,
        "nonce": run.nonce,
        "data_fingerprint": run.data_fingerprint,
    }
    lines += [f"{key}: {value}" for key, value in facts.items() if value is not None]
    lines += [f"code_sha256: {name} {digest}" for name, digest in run.code_sha256.items()]
    if run.created_at:
        lines.append(f"Run UTC timestamp={run.created_at}")
    return "".join(line + "\n" for line in lines).encode()


def _lines(data: bytes, pattern: re.Pattern[bytes]) -> bytes:
    """The step lines that match, each cut to its `key:value` tokens."""
    kept = []
    for line in data.splitlines():
        match = pattern.search(line)
        if match is None:
            continue
        tokens = KEPT.match(line, match.start())
        if tokens is not None:
            kept.append(tokens.group() + b"\n")
    return b"".join(kept)


def _same(trimmed: tuple[Run, ...], full: tuple[Run, ...]) -> bool:
    """Whether two readings give the same runs."""
    return len(trimmed) == len(full) and all(
        a.validation == b.validation
        and a.total_steps == b.total_steps
        and a.finished == b.finished
        and (a.hardware.device, a.hardware.count) == (b.hardware.device, b.hardware.count)
        for a, b in zip(trimmed, full, strict=True)
    )
