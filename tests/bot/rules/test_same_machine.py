"""Runs on the same GPUs at once, and devices that a header lists."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from typing import Any

import pytest

from bot.compute import accelerators
from bot.evidence.boards import boards_of
from bot.evidence.log.training_log import read_log
from bot.evidence.wandb.marks import other_cards
from bot.evidence.wandb.offline import read_offline
from bot.model.run import Run
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL, TRACKS, a_case, found
from tests.bot.rules.second_cases import general, log, rows, told
from tests.doubles.wandb.offline_file import offline_file

BEGIN = dt.datetime(2026, 8, 1, 10, 0, 0, tzinfo=dt.UTC)
H100 = "NVIDIA H100 80GB HBM3"


def listing(count: int = 8, board: str = "a", name: str = H100) -> str:
    return "\n".join(f"GPU {n}: {name} (UUID: GPU-{board}{n})" for n in range(count))


def begun(n: int, at: int, board: str = "a", shown: int = 8) -> Run:
    """A log of 70 s that begins `at` seconds after the others."""
    moment = (BEGIN + dt.timedelta(seconds=at)).strftime("%Y-%m-%dT%H:%M:%SZ")
    head = f"Run UTC timestamp={moment}\n{listing(shown, board)}"
    (run,) = read_log(log(head=head), f"submissions/nanogpt-small/example/{n}.log")
    points = tuple(v._replace(loss=v.loss + n / 97) for v in run.validation)
    return dc.replace(run, validation=points)


def others(n: int) -> list[dict[str, Any]]:
    """The rows of a run of its own."""
    return [r | {"val_loss": r["val_loss"] + n / 97} if "val_loss" in r else r for r in rows()]


def overlaps(*runs: Run) -> list[Level]:
    return [
        f.level
        for f in found("duplicate-run", a_case(runs))
        if f.message.endswith("on the same GPUs")
    ]


@pytest.mark.parametrize(
    ("second", "is_told"),
    [
        (begun(1, 20), True),
        (begun(1, 68), False),
        (begun(1, 20, board="b"), False),
        (begun(1, 20, shown=16), False),
    ],
)
def test_two_logs_cannot_have_had_the_same_gpus_at_once(second: Run, is_told: bool) -> None:
    assert overlaps(begun(0, 0), second) == [Level.WARNING] * is_told


def test_one_of_eight_listed_gpus_may_be_another_one() -> None:
    both = []
    for n in range(2):
        (run,) = read_log(log(head=f"{listing()}\nworld_size: 1"), f"{n}.log")
        both.append(dc.replace(run, created_at="2026-08-01T10:00:00Z"))
    assert overlaps(*both) == []


@pytest.mark.parametrize(("apart", "is_told"), [(30.0, True), (100.0, False)])
def test_two_offline_runs_cannot_have_had_the_same_gpus_at_once(
    apart: float, is_told: bool
) -> None:
    runs = []
    for n in range(2):
        data = offline_file(others(n), run_id=f"r{n}", began=1.79e9 + n * apart, boards="x")
        runs.append(read_offline(data, f"{n}.wandb", SMALL.keys))
    assert overlaps(*runs) == [Level.WARNING] * is_told


def test_the_clients_record_names_each_gpu_or_none() -> None:
    cards = [{"name": H100, "uuid": f"GPU-{n}"} for n in range(2)]
    (mine,) = boards_of({"gpu_nvidia": cards})
    assert (mine.quantity, [mine]) == ("boards", boards_of({"gpu_nvidia": cards[::-1]}))
    assert boards_of({"gpu_nvidia": [*cards, {"name": H100}]}) == boards_of({}) == []


def test_two_offline_runs_that_began_in_one_microsecond() -> None:
    def judged(apart: float) -> bool:
        starts = [1.79e9 + 0.25 + apart * n for n in (0, 1)]
        data = [offline_file(others(n), run_id=f"r{n}", began=at) for n, at in enumerate(starts)]
        runs = [read_offline(d, f"{n}.wandb", SMALL.keys) for n, d in enumerate(data)]
        return any("began at" in f.message for f in found("duplicate-run", a_case(runs)))

    assert judged(0.0)
    assert not judged(0.001)


def in_header(head: str, track: Any = SMALL) -> list[str]:
    (run,) = read_log(log(head=head), "run.log")
    return [text for text, _ in told(run, track)]


def test_a_header_lists_more_devices_than_a_track_has() -> None:
    (text,) = in_header(f"{listing(16)}\nworld_size: 8")
    assert "counted with 8 devices, but the list of devices in the log says 16" in text
    assert in_header(f"{listing(8)}\nworld_size: 8") == []
    assert in_header(f"{listing(8)}\nworld_size: 1", TRACKS["single-gpu"]) == []


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("Using device NVIDIA B200", True),
        ("GPU: NVIDIA H200", True),
        ("torch.cuda.get_device_name(0) = 'NVIDIA B200'", True),
        ("8 gpus: 8 x NVIDIA B200", True),
        (f"Using device {H100}", False),
        ('print(f"GPU: NVIDIA B200 {rank}")', False),
        ("GPU: NVIDIA XZ9000", False),
        ("kernels tuned for NVIDIA B200", False),
    ],
)
def test_a_line_of_its_own_words_that_names_another_device(line: str, is_told: bool) -> None:
    (run,) = read_log(log(head=f"device: {H100}\n{line}"), "run.log")
    said = [text for rule, text in run.problems if rule == "hardware-differs-from-run"]
    assert ["two kinds of machine" in text for text in said] == [True] * is_told
    (alone,) = read_log(general(head=line), "run.log")
    named = line.startswith(("Using", "GPU: NVIDIA H", "torch", "8"))
    assert (alone.hardware.device is not None) is named


@pytest.mark.parametrize(
    ("name", "is_told"),
    [
        ("NVIDIA B200", True),
        ("NVIDIA XZ9000", True),
        (H100, False),
        (f"{H100} MIG 7g.80gb", False),
        ("some gpu 9", False),
    ],
)
def test_a_header_that_names_two_kinds_of_device(name: str, is_told: bool) -> None:
    (run,) = read_log(log(head=f"{listing(8)}\ndevice: {name}"), "run.log")
    said = [text for rule, text in run.problems if rule == "hardware-differs-from-run"]
    assert ["two kinds of machine" in text for text in said] == [True] * is_told


@pytest.mark.parametrize(
    ("track", "size", "level"),
    [
        ("nanogpt-optimization", b"", Level.NOTE),
        ("single-gpu", b"", Level.WARNING),
        ("single-gpu", b"world_size: 2\n", Level.ERROR),
    ],
)
def test_devices_that_a_log_lists_matter_where_they_rank(
    track: str, size: bytes, level: Level
) -> None:
    (run,) = read_log(log(head=listing(2)).replace(b"world_size: 8\n", size), "run.log")
    hardware = {"accelerator": H100, "accelerator_count": 1}
    case = a_case([run], track=TRACKS[track], submission=hardware)
    said = [f for f in found("hardware-differs-from-run", case) if "2 devices" in f.message]
    assert {f.level for f in said} == {level}


@pytest.mark.parametrize(
    ("name", "mib", "is_told"),
    [
        ("NVIDIA H100 80GB HBM3", 143771, True),
        ("NVIDIA H100 80GB HBM3", 81559, False),
        ("NVIDIA H200", 81559, True),
        ("NVIDIA H200", 143771, False),
        ("Tesla V100-SXM2-32GB", 32768, False),
        ("Tesla V100-SXM2-16GB", 16160, False),
        ("Tesla T4", 15109, False),
        ("NVIDIA H800", 81559, False),
        ("NVIDIA H20", 97871, False),
        ("NVIDIA H200 NVL", 143771, False),
        ("NVIDIA A100-SXM4-40GB", 40960, False),
        ("NVIDIA A100-SXM4-80GB", 81920, False),
        ("NVIDIA A800-SXM4-80GB", 81920, False),
        ("NVIDIA L40S", 46068, False),
        ("NVIDIA RTX 6000 Ada Generation", 46068, False),
        ("NVIDIA GeForce RTX 4060 Laptop GPU", 8188, False),
        ("NVIDIA GeForce RTX 4060 Ti", 16380, False),
        ("NVIDIA GeForce RTX 3060", 8192, False),
        ("NVIDIA GeForce RTX 4090", 49140, False),
        ("NVIDIA GB10", 122502, False),
        ("NVIDIA GH200 144G HBM3e", 147456, False),
        ("NVIDIA B200", 183359, False),
        ("AMD Instinct MI300X", 196592, False),
        ("AMD Instinct MI325X", 262128, False),
    ],
)
def test_the_memory_of_a_device_is_that_of_its_name(name: str, mib: int, is_told: bool) -> None:
    assert (accelerators.other_card(name, mib * 2**20) is not None) is is_told
    table = (
        f"| NVIDIA-SMI 570.86.15   Driver Version: 570.86.15   CUDA Version: 12.8 |\n"
        f"|   0  {name}   On  |   00000000:09:00.0 Off |      0 |\n"
        f"| N/A   33C    P0     120W /  700W |    5858MiB / {mib}MiB |      0%   Default |\n"
        "step:0/10 val_loss:9.0 train_time:0ms\nstep:10/10 val_loss:3.0 train_time:900ms\n"
    )
    (run,) = read_log(table.encode(), "run.log")
    told = [text for rule, text in run.problems if rule == "hardware-differs-from-run"]
    assert ["its memory is" in text for text in told] == [True] * is_told
    for size in (mib * 2**20, str(mib * 2**20)):
        machine = {"gpu_nvidia": [{"name": name, "memoryTotal": size}]}
        assert bool(other_cards(machine)) is is_told


@pytest.mark.parametrize(
    ("name", "architecture", "is_told"),
    [
        (H100, "Blackwell", True),
        ("NVIDIA L40S", "Hopper", True),
        (H100, "Hopper", False),
        (H100, "hopper", False),
        (H100, "", False),
        (H100, "Rubin", False),
        ("NVIDIA XZ9000", "Blackwell", False),
    ],
)
def test_the_architecture_of_a_device_is_that_of_its_name(
    name: str, architecture: str, is_told: bool
) -> None:
    machine = {"gpu_nvidia": [{"name": name, "architecture": architecture}]}
    told = [text for _, text in other_cards(machine)]
    assert ["it is of Blackwell" in t or "it is of Hopper" in t for t in told] == [True] * is_told
