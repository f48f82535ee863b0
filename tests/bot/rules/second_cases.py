"""Logs and histories whose statements agree, for tests that change one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bot.evidence.log.training_log import read_log
from bot.evidence.wandb.offline import read_offline
from bot.model.run import Run
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL, TRACKS, a_case, found
from tests.doubles.wandb.offline_file import offline_file

RULE = "witnesses-disagree"
TOTAL, SECONDS = 1400, 70.0
SOURCE = "import torch\nfor x in y:\n    {}\n" + "=" * 100 + "\n"
TUTORIAL, PARETO = TRACKS["tutorial"], TRACKS["fineweb-edu"]


def loss_at(step: int) -> float:
    return 3.275 + 5 * (1 - step / TOTAL) ** 2


def log(
    more: Callable[[int], str] = lambda step: "",
    *,
    head: str = "",
    tail: str = "",
    stamp: Callable[[int], str] = lambda step: "",
    total: bool = True,
    pace: float = SECONDS / TOTAL,
) -> bytes:
    """A run of 1400 steps in 70 s with a validation every 100, on 8 H100."""
    lines = ["device: NVIDIA H100 80GB HBM3", "world_size: 8", head]
    for step in range(0, TOTAL + 1, 100):
        length = f"/{TOTAL}" if total else f"/{TOTAL}"
        clock = f"val_loss:{loss_at(step):.4f} train_time:{1000 * pace * step:.0f}ms"
        lines.append(f"{stamp(step)}step:{step}{length} {clock}{more(step)}")
    return "\n".join([*lines, tail, ""]).encode()


def said(data: bytes) -> list[tuple[str, Level]]:
    (run,) = read_log(data, "run.log")
    return told(run)


def told(run: Run, track: Any = SMALL) -> list[tuple[str, Level]]:
    return [(item.message, item.level) for item in found(RULE, a_case([run], track=track))]


# ---- W&B ----------------------------------------------------------------------------------------


def rows(more: Callable[[int], Mapping[str, Any]] = lambda step: {}) -> list[dict[str, Any]]:
    """A history that logs its clock every 20 steps and a validation every 100."""
    made = []
    for step in range(0, TOTAL + 1, 20):
        row = {
            "_step": step,
            "step": step,
            "train_time_s": step * 0.05,
            "_runtime": 9 + step * 0.06,
        }
        row |= {"val_loss": loss_at(step)} if step % 100 == 0 else {}
        made.append(row | dict(more(step)))
    return made


def offline(made: list[dict[str, Any]], track: Any = SMALL, **fields: Any) -> Run:
    fields["config"] = {"total_steps": TOTAL} | fields.get("config", {})
    return read_offline(offline_file(made, **fields), "run.wandb", track.keys)


def config(**values: Any) -> dict[str, Any]:
    return {"config": values}


def bits(factor: Callable[[int], float], loss: float | None = None) -> Run:
    def more(step: int) -> dict[str, float]:
        bpb = 0.95 + (1 - step / TOTAL)
        found = {"throughput/duration": 0.05 * 20, "throughput/total_tokens": step * 1e5}
        if step % 100 == 0:
            found["eval/paloma/c4_en/bpb"] = bpb
            found["eval/paloma/c4_en/loss"] = bpb / factor(step)
        return found

    return offline(rows(more), PARETO)


def general(more: Callable[[int], str] = lambda step: "", head: str = "") -> bytes:
    """A log in words, which may count something beside its steps."""
    lines = [f"step {s} | val loss {loss_at(s):.4f} | train_time {s * 0.05:.3f}s{more(s)}"
             for s in range(125, TOTAL + 1, 125)]  # fmt: skip
    return "\n".join([head, *lines, ""]).encode()
