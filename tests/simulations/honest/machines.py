"""What honest people train on, and how nvidia-smi, W&B and a program name it."""

from __future__ import annotations

import dataclasses as dc
import functools as ft
import json
import random
from typing import Any

from tests.conftest import ROOT

PEAKS: dict[str, dict[str, float]] = {
    item["id"]: item["peaks"]
    for item in json.loads((ROOT / "schemas/accelerators.json").read_bytes())["accelerators"]
}
_UNLISTED = {"cpu": 1.2e11, "rtx-4060-laptop": 2.2e13}
"""About what devices reach of which the table has no peak."""


@dc.dataclass(frozen=True)
class Machine:
    """`count` chips train; `box` are in each host, `nodes` hosts take part. `device` is the name
    that the driver gives, `id` that of the table of accelerators."""

    device: str
    id: str
    count: int = 1
    box: int = 1
    nodes: int = 1
    kind: str = "cuda"
    precision: str = "bf16"
    memory_gb: int = 80
    cores_a_chip: int = 1
    place: str = "linux"

    @property
    def peak(self) -> float:
        """Dense FLOP/s of one chip at the precision."""
        return PEAKS[self.id][self.precision] if self.id in PEAKS else _UNLISTED[self.id]

    @property
    def world(self) -> int:
        """Devices as the framework counts them."""
        return self.count

    @property
    def slice(self) -> str:
        """The name of a TPU slice, which counts cores for some generations."""
        name = {"tpu-v5e": "v5litepod"}.get(self.id, self.id.removeprefix("tpu-"))
        return f"{name}-{self.count * self.cores_a_chip}"

    def lines(self, draw: random.Random, *, smi: bool = False) -> list[str]:
        """What a log of PyTorch says at its top about the machine."""
        if self.kind == "rocm":
            return _rocm(self)
        if self.kind in ("tpu", "cpu", "apple"):
            return [f"device: {self.device}", f"world_size: {self.world}"]
        torch, cuda = draw.choice(
            [("2.7.0+cu126", "12.6"), ("2.10.0+cu128", "12.8"), ("2.11.0+cu130", "13.0")]
        )
        head = f"Running PyTorch {torch} compiled for CUDA {cuda}"
        if smi:
            python = "Running Python 3.12.7 (main, Oct  8 2025, 00:20:25) [Clang 20.1.4 ]"
            # Most who use a part of a box say so; some leave the table to speak for itself.
            says = self.count != self.box and draw.random() < 0.7
            more = [f"world_size: {self.world}"] if says else []
            return [python, head, "Running Triton version 3.6.0", *_nvidia_smi(self, draw), *more]
        form = draw.choice(("on", "device_name", "plain"))
        if form == "on":
            return [f"{head} on {self.device} with world_size {self.world}"]
        if form == "device_name":
            return [head, f"Running on device_name={self.device} with world_size={self.world}"]
        return [head, f"device: {self.device}", f"world_size: {self.world}"]

    def metadata(self, draw: random.Random, *, old: bool = False) -> dict[str, Any]:
        """`wandb-metadata.json`, which counts the devices of one host, used or not. An `old` client
        has other names."""
        common: dict[str, Any] = {
            "os": _OS[self.place],
            "python": "3.12.7" if old else "CPython 3.12.7",
            "startedAt": "2026-11-01T08:00:00.000000Z",
            "program": _PROGRAM[self.place],
            "codePath": "train.py",
            "cpu_count": 52,
            "cpu_count_logical": 104,
            "memory": {"total": "2164161028096"},
        }
        if self.kind == "cuda":
            common |= _nvidia_metadata(self, old)
        elif self.kind == "rocm":
            series = {"rx-7900-xtx": "Navi 31 [Radeon RX 7900 XT/7900 XTX/7900M]"}.get(self.id)
            model = {"id": "0", "series": series or self.device, "sku": "M3000100"}
            common |= {"gpu": self.device, "gpu_count": self.box, "gpu_amd": [model] * self.box}
        elif self.kind == "tpu":
            hosts = max(1, self.count // 4)
            name = self.id.removeprefix("tpu-")
            common["tpu"] = {
                "name": name, "hbmGib": 32, "devicesPerChip": 1, "count": self.count // hosts,
            }  # fmt: skip
        elif self.kind == "apple":
            common["apple"] = {"name": self.device, "memory": "36 GB", "gpuCores": 18}
        if self.nodes > 1 and draw.random() < 0.5:
            common["slurm"] = {"job_num_nodes": str(self.nodes), "ntasks": str(self.count)}
        return common


_OS = {
    "linux": "Linux-5.15.0-122-generic-x86_64-with-glibc2.35",
    "wsl": "Linux-5.15.167.4-microsoft-standard-WSL2-x86_64-with-glibc2.39",
    "windows": "Windows-11-10.0.26100-SP0",
    "colab": "Linux-6.1.123+-x86_64-with-glibc2.35",
    "kaggle": "Linux-6.6.56+-x86_64-with-glibc2.35",
    "mac": "macOS-15.1-arm64-arm-64bit",
}
_PROGRAM = {
    "linux": "/home/ubuntu/speedrun/train.py",
    "wsl": "/mnt/c/Users/me/speedrun/train.py",
    "windows": "C:\\Users\\me\\speedrun\\train.py",
    "colab": "/content/train.py",
    "kaggle": "/kaggle/working/train.py",
    "mac": "/Users/me/speedrun/train.py",
}


def _nvidia_metadata(machine: Machine, old: bool) -> dict[str, Any]:
    """Newer clients say `gpu_nvidia`, older ones `gpu_devices`."""
    found: dict[str, Any] = {"gpu": machine.device, "gpu_count": machine.box}
    size = machine.memory_gb * 1024**3
    if not old:
        one: dict[str, Any] = {"name": machine.device, "memoryTotal": str(size)}
        found |= {"gpu_nvidia": [one] * machine.box, "cudaVersion": "12.8"}
    else:
        found |= {"gpu_devices": [{"name": machine.device, "memory_total": size}] * machine.box}
        found |= {"cuda": "12.4", "state": "running", "heartbeatAt": "2026-11-01T08:00:10.000000"}
    return found


def _nvidia_smi(machine: Machine, draw: random.Random) -> list[str]:
    """The table of nvidia-smi; others may use GPUs of the box too. Long names are cut short."""
    rule = "+-----------------------------------------+------------------------+-----------+"
    name = machine.device if len(machine.device) <= 27 else machine.device[:24] + "..."
    lines = [
        "Sun Nov  1 08:00:00 2026",
        "+-----------------------------------------------------------------------------+",
        "| NVIDIA-SMI 570.148.08    Driver Version: 570.148.08     CUDA Version: 12.8    |",
        rule,
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile  |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  |",
        "|=========================================+========================+===========|",
    ]
    for index in range(machine.box):
        busy = index >= machine.count and draw.random() < 0.5
        used, load = (61234, 97) if busy else (draw.randint(1, 6000), 0)
        total = machine.memory_gb * 1020
        lines += [
            f"|   {index}  {name:<27}     On  |   00000000:{index + 16:02X}:00.0 Off |         0 |",
            f"| N/A   {draw.randint(28, 44)}C    P0            {draw.randint(60, 130)}W /  700W |"
            f"  {used:>6}MiB / {total:>6}MiB |   {load:>3}%    |",
            rule,
        ]
    return [
        *lines,
        "| Processes:                                                                  |",
    ]


def _rocm(machine: Machine) -> list[str]:
    """What PyTorch for ROCm and rocm-smi print."""
    title = " ROCm System Management Interface "
    cards = [
        line
        for index in range(machine.box)
        for line in (
            f"GPU[{index}]\t\t: Card Series: \t\t{machine.device}",
            f"GPU[{index}]\t\t: Card Vendor: \t\tAdvanced Micro Devices, Inc. [AMD/ATI]",
        )
    ]
    return [
        "Running PyTorch 2.8.0+rocm6.4 compiled for HIP 6.4.43482",
        f"{title:=^80}",
        f"{' Product Info ':=^80}",
        *cards,
        "=" * 80,
        f"Running on device_name={machine.device} with world_size={machine.world}",
    ]


H100 = Machine("NVIDIA H100 80GB HBM3", "h100-sxm", count=8, box=8)
CPU = Machine("cpu", "cpu", kind="cpu", precision="fp32")
_one = ft.partial(Machine, count=1)

SINGLE: tuple[Machine, ...] = (
    _one("NVIDIA H100 80GB HBM3", "h100-sxm"),
    _one("NVIDIA H100 80GB HBM3", "h100-sxm", box=8),
    _one("NVIDIA H100 PCIe", "h100-pcie"),
    _one("NVIDIA H800", "h800-sxm", box=8),
    _one("NVIDIA H200", "h200", memory_gb=141),
    _one("NVIDIA A100-SXM4-80GB", "a100-sxm"),
    _one("NVIDIA A100-SXM4-80GB", "a100-sxm", box=8),
    _one("NVIDIA A100-SXM4-40GB", "a100-sxm-40gb", memory_gb=40, place="colab"),
    _one("NVIDIA GeForce RTX 3090", "rtx-3090", memory_gb=24),
    _one("NVIDIA GeForce RTX 3090", "rtx-3090", memory_gb=24, box=2),
    _one("NVIDIA GeForce RTX 4090", "rtx-4090", memory_gb=24, place="wsl"),
    _one("NVIDIA GeForce RTX 5090", "rtx-5090", memory_gb=32, place="windows"),
    _one("NVIDIA GeForce RTX 4060 Laptop GPU", "rtx-4060-laptop", memory_gb=8, place="windows"),
    _one("NVIDIA GB10", "gb10", memory_gb=120),
    _one("NVIDIA L4", "l4", memory_gb=24, place="colab"),
    _one("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000", memory_gb=96),
    _one("Tesla T4", "t4", memory_gb=15, place="colab", precision="fp16"),
    _one("Tesla T4", "t4", memory_gb=15, place="kaggle", precision="fp16", box=2),
    _one("Tesla V100-SXM2-16GB", "v100-sxm", memory_gb=16, precision="fp16", box=4),
    _one("AMD Instinct MI300X", "mi300x", kind="rocm", memory_gb=192, box=8),
    _one("AMD Radeon RX 7900 XTX", "rx-7900-xtx", kind="rocm", memory_gb=24),
)
"""Boards of one track or another for a single GPU."""

SEVERAL: tuple[Machine, ...] = (
    H100,
    H100,
    Machine("NVIDIA H100 80GB HBM3", "h100-sxm", count=4, box=8),
    Machine("NVIDIA H100 80GB HBM3", "h100-sxm", count=16, box=8, nodes=2),
    Machine("NVIDIA H800", "h800-sxm", count=8, box=8),
    Machine("NVIDIA H200", "h200", count=8, box=8, memory_gb=141),
    Machine("NVIDIA A100-SXM4-80GB", "a100-sxm", count=8, box=8),
    Machine("NVIDIA A100-SXM4-80GB", "a100-sxm", count=16, box=8, nodes=2),
    Machine("NVIDIA GH200 120GB", "gh200", count=4, box=4, memory_gb=96),
    Machine("NVIDIA A40", "a40", count=2, box=2, memory_gb=48),
    Machine("NVIDIA L40S", "l40s", count=4, box=8, memory_gb=46),
    Machine("NVIDIA GeForce RTX 4090", "rtx-4090", count=2, box=4, memory_gb=24),
    Machine("AMD Instinct MI300X", "mi300x", count=8, box=8, kind="rocm", memory_gb=192),
)
TPUS: tuple[Machine, ...] = (
    Machine("TPU v4", "tpu-v4", count=4, box=4, kind="tpu", cores_a_chip=2, memory_gb=32),
    Machine(
        "TPU v4", "tpu-v4", count=64, box=4, nodes=16, kind="tpu", cores_a_chip=2, memory_gb=32
    ),
    Machine(
        "TPU v5p", "tpu-v5p", count=16, box=4, nodes=4, kind="tpu", cores_a_chip=2, memory_gb=95
    ),
    Machine("TPU v5 lite", "tpu-v5e", count=16, box=4, nodes=4, kind="tpu", memory_gb=16),
)
SMALL: tuple[Machine, ...] = (
    CPU,
    CPU,
    Machine("Apple M3 Pro", "apple-m3-pro", kind="apple", place="mac", memory_gb=36),
    *SINGLE,
)
"""What a model of half a million parameters trains on."""
