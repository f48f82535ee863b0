"""What the client writes of a run by itself, under `_wandb` in its configuration: what the run
continues, which machines wrote to it, and in which mode.

    marks = read_marks(config["_wandb"])
    marks.words, marks.branch_point, marks.nodes, marks.devices
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeGuard

from bot.compute import accelerators
from bot.model.run import BranchPoint, Hardware
from bot.model.values import whole
from bot.render.untrusted import plain

FEATURES = {4: "offline", 5: "resumed", 67: "shared", 71: "forked", 72: "rewound"}
"""Number of a feature in the client's telemetry -> our word for it."""


class Marks(NamedTuple):
    """The client's own marks. `nodes` are the machines that wrote, `devices` those of all of them;
    None where the client says neither."""

    words: tuple[str, ...] = ()
    branch_point: BranchPoint | None = None
    nodes: int | None = None
    devices: int | None = None


def read_marks(own: object) -> Marks:
    """The marks in the value of `_wandb`; none in anything that is not an object."""
    if not isinstance(own, Mapping):
        return Marks()
    telemetry = own.get("t")
    features = telemetry.get("3") if isinstance(telemetry, Mapping) else None
    numbers = features if isinstance(features, list) else []
    words = tuple(word for number, word in FEATURES.items() if number in numbers)
    nodes, devices = _writers(own.get("e"))
    return Marks(words, _branch(own.get("branch_point")), nodes, devices)


def _branch(value: object) -> BranchPoint | None:
    if not isinstance(value, Mapping):
        return None
    run_id, step = value.get("run_id", value.get("run")), value.get("step", value.get("value"))
    return BranchPoint(run_id[:128] if isinstance(run_id, str) else None, whole(step))


def _writers(value: object) -> tuple[int | None, int | None]:
    """How many machines wrote to a run, and their devices. One that resumed writes again."""
    entries = value.values() if isinstance(value, Mapping) else ()
    hosts: dict[Any, int] = {}
    for number, entry in enumerate(entries):
        if isinstance(entry, Mapping):
            host = entry.get("host")
            count = devices_of(entry) or 0
            key = host if isinstance(host, str) else number
            hosts[key] = max(count, hosts.get(key, 0))
    return len(hosts) or None, sum(hosts.values()) or None


def hardware_of(metadata: Mapping[str, Any]) -> Hardware:
    """The accelerators of one machine, as the client names and counts them.

    It knows an AMD card by its series, which several cards share, and by its own name: the first
    name that stands for one device is the right one.
    """
    cards = metadata.get("gpu_nvidia") or metadata.get("gpu_amd")
    cards = cards if isinstance(cards, list) else []
    kinds = ("name", "series", "model")
    names = [card.get(k) for card in cards if isinstance(card, Mapping) for k in kinds]
    tpu = metadata.get("tpu")
    names += [tpu.get("name") if isinstance(tpu, Mapping) else None, metadata.get("gpu")]
    texts = [name for name in names if isinstance(name, str) and name]
    known = (name for name in texts if accelerators.find(name) is not None)
    return Hardware(next(known, texts[0] if texts else None), devices_of(metadata))


def other_cards(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The problem of a machine whose cards are others than it names, by what else it says of
    them."""
    cards = metadata.get("gpu_nvidia")
    for card in cards if isinstance(cards, list) else ():
        name = card.get("name") if isinstance(card, Mapping) else None
        if not isinstance(name, str):
            continue
        total = card.get("memoryTotal", card.get("memory_total"))
        size = (int(total) if _is_digits(total) else whole(total)) or 0
        kind = card.get("architecture")
        told = accelerators.other_card(name, size, kind if isinstance(kind, str) else "")
        if told is not None:
            text = f"W&B's record of the machine contradicts itself: {plain(told, 120)}"
            return [("hardware-differs-from-run", text)]
    return []


def _is_digits(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16


def devices_of(metadata: Mapping[str, Any]) -> int | None:
    """The accelerators of one machine, as the client counts them."""
    for name in ("gpu_nvidia", "gpu_amd"):
        cards = metadata.get(name)
        if isinstance(cards, list) and cards:
            return whole(metadata.get("gpu_count")) or len(cards)
    tpu = metadata.get("tpu")
    chips = whole(tpu.get("count")) if isinstance(tpu, Mapping) else None
    return whole(metadata.get("gpu_count")) or chips


def nodes_of(metadata: Mapping[str, Any]) -> int | None:
    """The machines of the job, as its scheduler says to the client."""
    slurm = metadata.get("slurm")
    if not isinstance(slurm, Mapping):
        return None
    for name in ("job_num_nodes", "nnodes", "step_num_nodes"):
        text = slurm.get(name)
        if isinstance(text, str) and text.isascii() and text.isdigit() and 0 < int(text[:6]):
            return int(text[:6])
    return None
