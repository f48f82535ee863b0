"""Devices that settings make together: parallel sizes, meshes, machines, visible devices."""

from __future__ import annotations

from typing import Any

import pytest

from bot.evidence.parallel import device_counts
from bot.registry import Level
from tests.bot.rules.second_cases import config, log, offline, rows, told
from tests.bot.rules.test_counted import in_log
from tests.bot.rules.test_settings import told as in_file

SIXTEEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"dp_size": 8, "tp_size": 2}, {"dp_size": 4, "tp_size": 2}),
    ({"data_parallel_size": 4, "tensor_model_parallel_size": 2, "pp_size": 2},
     {"data_parallel_size": 2, "tensor_model_parallel_size": 2, "pp_size": 2}),
    ({"dp_replicate_degree": 2, "dp_shard_degree": 8}, {"dp_replicate": 2, "dp_shard": 4}),
    ({"ici_fsdp_parallelism": 8, "dcn_data_parallelism": 2},
     {"ici_fsdp_parallelism": 8, "dcn_data_parallelism": -1}),
    ({"mesh": {"axes": {"data": 8, "model": 2}}}, {"mesh": {"axes": {"data": 8, "model": 1}}}),
    ({"num_nodes": 2, "gpus_per_node": 8}, {"num_nodes": 1, "gpus_per_node": 8}),
    ({"tensor_parallel_size": 16}, {"tensor_parallel_size": 8, "dp_size": 1}),
    ({"trainer": {"devices": 16}}, {"trainer": {"devices": 1}}),
    ({"nproc_per_node": 16}, {"nproc_per_node": 8, "gpu_ids": 31}),
]  # fmt: skip
"""Settings that make sixteen devices of eight, and those that do not."""
LISTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"mesh_shape": [8, 2]}, {"mesh_shape": [4, 2]}),
    ({"device_mesh": "(8, 2)"}, {"device_mesh": "(-1, 2)"}),
    ({"cuda_visible_devices": ",".join(map(str, range(16)))}, {"cuda_visible_devices": "0"}),
    ({"tpu_type": "v5p-32"}, {"tpu_type": "v5p-16", "cluster": "v5p-256-pool"}),
    (
        {"resources": {"variant": "H100:16"}},
        {"resources": {"variant": "H100"}, "model": "llama-75"},
    ),
]


def on_wandb(settings: dict[str, Any]) -> list[tuple[str, Level]]:
    return told(offline(rows(), **config(device="NVIDIA H100 80GB HBM3", world_size=8, **settings)))


@pytest.mark.parametrize(("more", "fits"), [*SIXTEEN, *LISTS])
def test_devices_of_a_configuration(more: dict[str, Any], fits: dict[str, Any]) -> None:
    ((text, level),) = on_wandb(more)
    assert text.startswith("the run is counted with 8 devices") and "says 16" in text
    assert level is Level.WARNING
    assert on_wandb(fits) == []


@pytest.mark.parametrize(("more", "fits"), SIXTEEN[:4])
def test_devices_of_a_header(more: dict[str, Any], fits: dict[str, Any]) -> None:
    def head(settings: dict[str, Any]) -> str:
        return "\n".join(f"{name}: {value}" for name, value in settings.items())

    ((text, _),) = in_log(log(head=head(more)))
    assert "counted with 8 devices" in text and "says 16" in text
    assert in_log(log(head=head(fits))) == []


@pytest.mark.parametrize(("more", "fits"), SIXTEEN)
def test_devices_of_a_results_file(more: dict[str, Any], fits: dict[str, Any]) -> None:
    (text,) = in_file({"trainer": more})
    assert "makes 16 devices, but the file counts 8" in text
    assert in_file({"trainer": fits}) == []


def test_shards_do_not_count_twice_beside_their_total() -> None:
    settings = {"dp_size": 8.0, "dp_replicate": 2.0, "dp_shard": 4.0, "fsdp_size": 1.0}
    assert list(device_counts(settings, 8, "the file")) == []


@pytest.mark.parametrize(
    ("command", "count"),
    [
        ("torchrun --nnodes 4 --nproc_per_node 8 train.py", 1),
        ("torchrun --nnodes=4 --nproc_per_node=8 train.py", 1),
        ("torchrun --nnodes 1 --nproc_per_node 8 train.py", 0),
        ("torchrun --standalone --nproc_per_node 8 train.py", 0),
        ("torchrun --nnodes 1:4 --nproc_per_node 8 train.py", 0),  # as many as there are
    ],
)
def test_devices_of_a_command(command: str, count: int) -> None:
    found = in_log(log(head=command))
    assert len(found) == count
    assert all("says 32" in text for text, _ in found)
