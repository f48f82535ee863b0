"""Which GPUs a run had, as one number, by which two runs on the same ones at once are known."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from bot.model.run import Witness, WitnessKind


def boards(names: Iterable[str], where: str) -> list[Witness]:
    """The statement of the GPUs that a source lists; none where it names none."""
    text = ",".join(sorted(name for name in names if name))
    if not text:
        return []
    number = int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)
    return [Witness("boards", number, WitnessKind.MACHINE, f"the GPUs that {where} lists")]


def boards_of(metadata: Mapping[str, Any]) -> list[Witness]:
    """The statement of the GPUs that W&B's client recorded, where it names each of them."""
    cards = metadata.get("gpu_nvidia")
    cards = cards if isinstance(cards, list) else []
    names = [c["uuid"] for c in cards if isinstance(c, Mapping) and isinstance(c.get("uuid"), str)]
    return boards(names, "W&B's client") if names and len(names) == len(cards) else []
