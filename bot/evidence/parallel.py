"""How many devices settings say that a run has: totals, machines, batches, parallel sizes, meshes.

    device_counts({"dp_size": 4.0, "tp_size": 2.0}, 4, "the configuration")
    lists_of({"mesh_shape": [4, 2]})                                         {"mesh_shape": 8.0}

Shared by logs, W&B and results files, like `bot.evidence.second`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from bot.compute import accelerators
from bot.evidence.second import ACCUMULATION, BATCHES, SEQUENCES, first_of, last_part, words
from bot.model.run import Witness, WitnessKind
from bot.model.values import positive
from bot.render.untrusted import plain

COUNTS = frozenset(
    "chips world_size num_gpus n_gpus ngpus gpus gpu_count num_devices n_devices device_count "
    "num_processes num_chips total_gpus n_gpu num_gpu data_parallel_size dp_size dp_world_size "
    "data_parallel_degree dp_degree data_parallel_replicas num_ranks devices n_chips "
    "num_accelerators accelerator_count".split()
)
TOTALS = (
    ("num_chips",), ("num_devices", "device_count", "n_devices", "global_device_count"),
    ("total_gpus", "num_gpus", "n_gpus", "ngpus", "n_gpu", "num_gpu", "gpu_count"),
)  # fmt: skip
"""Names for the devices of all machines, the plainest first."""
MACHINES = ("nnodes", "num_nodes", "n_nodes")
PRODUCTS = (
    (MACHINES,
     ("nproc_per_node", "gpus_per_node", "devices_per_node", "num_gpus_per_node", "devices")),
    (("num_hosts", "process_count", "num_processes"),
     ("local_device_count", "num_local_devices", "devices_per_host")),
)  # fmt: skip
"""Names for the machines or processes of a run, with those for the devices of each."""
RANKS = "nranks"
"""The ranks of NCCL's largest communicator; there may be more devices than it has."""
_OF_ONE_DEVICE = re.compile(
    r"(?:^|_)(?:(?:micro_|train_)*batch(?:_size)?_per_(?:device|gpu|rank|chip)"
    r"|per_(?:device|gpu|rank|chip)_(?:\w{1,12}_)?batch_size"
    r"|(?:device|local|micro)_batch(?:_size)?(?:_per_gpu)?)$"
)
_NO_TRAINING = frozenset("val valid validation eval evaluation test".split())
_MOST_DEVICES = 1e4
_AXES = re.compile(
    r"^(?:([tpcd])p(?:_world)?_(?:size|degree)"
    r"|(tensor|pipeline|context|data)(?:_model)?_parallel(?:_(?:world_)?size|_degree|_replicas)?"
    r"|(model|tensor|data|fsdp)_axis_size"
    r"|(\w{1,20}_(?:dcn|ici)_axis_size|(?:ici|dcn)_\w{1,20}_parallelism))$"
)
_SHARDS = re.compile(
    r"^(?:fsdp|dp_shard|dp_replicate|data_parallel_shard|data_parallel_replicate|hsdp_replicate)"
    r"(?:_size|_degree)?$"
)
_MESH_AXES = frozenset(
    "replica replica_dcn data model fsdp tensor dp tp pp cp sp ep expert stage pipe pipeline seq "
    "sequence context batch".split()
)
_IDS = frozenset("cuda_visible_devices visible_devices gpu_ids device_ids gpus devices".split())
_SHAPE = re.compile(r"[(\[]?\s{0,2}(\d{1,5}(?:\s{0,2}[,x]\s{0,2}\d{1,5}){1,63})\s{0,2},?[)\]]?")
_MOST_AXES = 8
_OF_EACH = frozenset(
    "nproc_per_node local_world_size ntasks_per_node ntasks slurm_ntasks slurm_nprocs".split()
)


def device_counts(
    settings: Mapping[str, float],
    chips: int | None,
    where: str,
    lists: Mapping[str, float] | None = None,
) -> Iterator[Witness]:
    """Settings that count devices: a total, the machines times the devices of each, the batch of
    all devices by that of one, or the sizes that a model is split over; `lists` as `lists_of`."""
    found = {n: v for n, v in settings.items() if last_part(n) in COUNTS}
    product, batches = devices_by_machines(settings), _devices_by_batch(settings)
    found |= {} if product is None else {"nodes x devices of each": float(product)}
    found |= {} if batches is None else {"batch / (per-device batch x passes)": batches}
    least = {RANKS: settings.get(RANKS, 0.0), **_at_least(settings), **(lists or {})}
    found |= {n: v for n, v in least.items() if chips is not None and v > chips}
    for name, value in found.items():
        if value != chips and value == int(value) and value < 1e6:
            source = f"`{plain(name, 40)}` in {where}"
            yield Witness("chips", int(value), WitnessKind.PROGRAM, source)


def devices_by_machines(settings: Mapping[str, float]) -> int | None:
    """The machines or processes of a run times the devices of each."""
    for parts in PRODUCTS:
        many, each = (first_of(settings, names) for names in parts)
        if many and each and many * each == int(many * each) and many * each < 1e6:
            return int(many * each)
    return None


def _devices_by_batch(settings: Mapping[str, float]) -> float | None:
    """The batch of all devices by that of one device and the passes of an update, where all three
    are stated; a batch may count tokens."""
    total = first_of(settings, BATCHES)
    train = {n: v for n, v in settings.items() if not _NO_TRAINING & set(words(n).split("_"))}
    one = next((v for n, v in train.items() if _OF_ONE_DEVICE.search(last_part(n))), None)
    passes = next((v for n, v in settings.items() if ACCUMULATION.search(last_part(n))), None)
    if total is None or one is None or passes is None:
        return None
    found = total / (one * passes)
    lengths = [v for n, v in settings.items() if last_part(n) in SEQUENCES]
    fits = [x for x in (found, *(found / length for length in lengths)) if x == int(x) >= 1]
    return min(fits) if fits and min(fits) <= _MOST_DEVICES else None


def lists_of(settings: Mapping[str, object]) -> dict[str, float]:
    """The devices of the settings that list them."""
    found = {name: _count_in(name, value) for name, value in settings.items()}
    return {name: value for name, value in found.items() if value is not None}


def _count_in(name: str, value: object) -> float | None:
    """The devices of a list or a slice: the product of a mesh's shape, the number of the devices
    that a program may see, or what a name such as `v5p-32` counts. None for every other setting."""
    parts = re.split(r"[^a-z0-9]+", name.lower())
    last = re.split(r"[./]", name.lower())[-1]
    if isinstance(value, str) and ("mesh" in parts or last in _IDS):
        match = _SHAPE.fullmatch(value.strip()[:400])
        value = [int(n) for n in re.findall(r"\d+", match[1])] if match else None
    if isinstance(value, str) and (device := accelerators.find(value)) is not None:
        return None if device.chips is None else float(device.chips)
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= 4096:
        return None
    if last in _IDS:
        return float(len(value))
    sizes = [size for item in value if (size := positive(item)) is not None]
    if "mesh" not in parts or len(sizes) < len(value) or len(sizes) > _MOST_AXES:
        return None
    return float(math.prod(sizes))


def _at_least(settings: Mapping[str, float]) -> dict[str, float]:
    """Devices that a run has at the least, by what says so."""
    found = {"parallel sizes": _product(settings), "mesh axes": _mesh(settings)}
    return found | {n: v for n, v in settings.items() if last_part(n) in _OF_EACH}


def _product(settings: Mapping[str, float]) -> float:
    """The sizes of all ways to split a model, the largest of each way."""
    sizes = dict[str, float]()
    shards = dict[str, float]()
    for name, value in settings.items():
        last = last_part(name)
        if match := _AXES.match(last):
            kind = last if match[4] else (match[1] or match[2] or match[3])[0]
            kind = {"m": "t", "f": "d"}.get(kind, kind)  # `model` is split as tensors are
            sizes[kind] = max(value, sizes.get(kind, 1.0))
        elif _SHARDS.match(last):
            shards[last.replace("data_parallel", "dp")] = value
    # Copies and shards make the data-parallel size together, where it is not stated as well.
    sizes["d"] = max(sizes.get("d", 1.0), math.prod(shards.values()))
    return math.prod(sizes.values())


def _mesh(settings: Mapping[str, float]) -> float:
    """The product of the axes of a mesh, under the parent that makes most of them."""
    groups: dict[str, list[float]] = {}
    for name, value in settings.items():
        parent, _, last = name.lower().rpartition(".")
        if "mesh" in re.split(r"[^a-z0-9]+", parent) and last in _MESH_AXES:
            groups.setdefault(parent, []).append(value)
    return max((math.prod(sizes) for sizes in groups.values()), default=1.0)
