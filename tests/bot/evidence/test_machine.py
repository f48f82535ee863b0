"""What runs say of their machines: from W&B's record, a configuration, and the lines of a log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.compute.witnesses import witnesses_of
from bot.evidence.log.training_log import read_log
from bot.evidence.machine import Facts, read, recorded, stated
from bot.evidence.snapshot import decode, encode, restrict
from bot.evidence.wandb.offline import read_offline
from bot.model.run import MACHINE, Run
from bot.model.track import Keys
from tests.doubles.wandb.offline_file import offline_file

GIB = 2**30
RECORD: dict[str, Any] = {
    "os": "Linux-6.8.0-1021-aws-x86_64-with-glibc2.35",
    "python": "CPython 3.11.7",
    "host": "node-of-mine",
    "cpu_count": 32,
    "cpu_count_logical": 64,
    "cpu": {"count": 32, "countLogical": 64, "model": "AMD EPYC 7763 64-Core Processor"},
    "memory": {"total": str(256 * GIB)},
    "disk": {"/": {"total": str(500 * GIB), "used": "1"}},
    "gpu_count": 8,
}


def facts(found: Any) -> dict[str, Any]:
    return {w.quantity.removeprefix(MACHINE): w.value for w in found}


def lines(*text: str) -> Facts:
    found: Facts = {}
    for line in text:
        read(line.strip(), found)
    return found


def test_what_the_client_recorded() -> None:
    found = facts(recorded(RECORD))
    host, cpu = found.pop("host"), found.pop("cpu")
    assert found == {
        "system": "Linux", "kernel": "6.8", "arch": "x86_64", "python": "3.11", "cpus": 32.0,
        "threads": 64.0, "memory": 256.0, "disk": 500.0, "gpus": 8.0,
    }  # fmt: skip
    assert 0 <= host < 4096 and host == int(host) and cpu > 0


def test_older_clients_wrote_gigabytes() -> None:
    older = facts(recorded({"memory": {"total": 251.6}, "cpu_count": 4, "os": "macOS-14.5-arm64"}))
    assert older == {"memory": 252.0, "cpus": 4.0, "system": "Darwin", "arch": "arm64"}


@pytest.mark.parametrize(
    "record",
    [{}, {"cpu": [], "memory": "much", "disk": {"/": 4}}, {"os": 5, "cpu_count": True, "host": {}}],
)
def test_a_record_of_other_values_is_no_machine(record: dict[str, Any]) -> None:
    assert facts(recorded(record)) == {}


def test_two_processors_and_two_hosts_are_told_apart() -> None:
    one, other = (
        facts(recorded({"host": f"box-{n}", "cpu": {"model": f"Xeon {n}"}})) for n in (1, 2)
    )
    assert one["host"] != other["host"] and one["cpu"] != other["cpu"]


def test_a_configuration_states_versions() -> None:
    config = {
        "versions.python": "3.12.3", "versions.system": "Linux", "versions.torch": "2.11.0+cu130",
        "arch": "llama", "processor": "tokens-4b", "system": "muon", "cores": 3, "load": 7,
        "platform": "gpu", "env.num_cpus": 16,
    }  # fmt: skip
    assert facts(stated(config)) == {
        "python": "3.12", "system": "Linux", "torch": "2.11", "cpus": 16.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("versions: python 3.11.7, system Linux, torch 2.13.0+cpu, jax 0.10.2, numpy 2.4.6",
         {"python": "3.11", "system": "Linux", "torch": "2.13", "jax": "0.10"}),
        ("platform: macOS-15.1-arm64-arm-64bit", {"system": "Darwin", "arch": "arm64"}),
        ("uname: Linux box 5.15.0-91-generic #101 SMP x86_64 GNU/Linux",
         {"system": "Linux", "kernel": "5.15", "arch": "x86_64"}),
        ("[INFO] CPU count: 96, total RAM: 755 GB", {"cpus": 96.0, "memory": 755.0}),
        ("load average: 17.42, 9.10, 4.00", {"load": 17.42}),
        ("12:00:01 up 3 days,  2 users,  load average: 0.31, 0.20, 0.10", {"load": 0.31}),
        ("processes: 18 running, python train.py 790% cpu", {"processes": 18.0}),
        ("Tasks: 350 total,   2 running, 348 sleeping", {"processes": 2.0}),
        ('{"python": "3.10.2", "cpu_count": 8}', {"python": "3.10", "cpus": 8.0}),
        ("|  N/A  30C  P0  120W / 700W |  12000MiB / 81559MiB |     97%      Default |",
         {"gpu_use": 97.0, "power": 700.0}),
        # near misses
        ("peak memory: 12345 MiB", {}),
        ("the load average: of all losses", {}),
        ("arch: llama, kernel: fused, system: ours", {}),
        ("now 4 workers are running", {}),
        ('print(f"python: {platform.python_version()}")', {}),
        ("host: " + "x" * 500, {}),
    ],
)  # fmt: skip
def test_what_a_line_of_a_log_states(line: str, found: Facts) -> None:
    assert lines(line) == found


def test_a_new_table_of_gpus_replaces_the_one_before() -> None:
    row = "| N/A 30C P0 120W / 700W | 1MiB / 81559MiB | {}% Default |"
    title = "| NVIDIA-SMI 550.54  Driver Version: 550.54  CUDA Version: 12.4 |"
    assert lines(title, row.format(90), row.format(40))["gpu_use"] == 90.0
    assert lines(title, row.format(90), title, row.format(3))["gpu_use"] == 3.0


STEPS = "".join(f"step:{n}/20 val_loss:{4 - n / 10:.4f} train_time:{n}00ms\n" for n in (0, 10, 20))


def of_log(*head: str) -> Run:
    (run,) = read_log(("\n".join(head) + "\n" + STEPS).encode(), "a.log")
    return run


def of_run(run: Run) -> dict[str, Any]:
    return facts(w for w in run.witnesses if w.quantity.startswith(MACHINE))


def test_the_lines_before_the_steps_of_a_log() -> None:
    run = of_log("versions: python 3.11.7, system Linux", "load average: 3.5, 1, 1")
    assert of_run(run) == {"python": "3.11", "system": "Linux", "load": 3.5}
    assert of_run(of_log("seed: 1")) == {}


def test_a_second_run_of_a_log_states_its_own_load() -> None:
    text = f"load average: 3.5\n{STEPS}load average: 9.5\n{STEPS}"
    first, second = read_log(text.encode(), "a.log")
    assert (of_run(first), of_run(second)) == ({"load": 3.5}, {"load": 9.5})


def test_a_snapshot_and_a_report_hold_nothing_private() -> None:
    rows = [{"_step": n, "eval/loss": 4.0 - n / 100, "_runtime": n} for n in (0, 10)]
    config = {"versions": {"system": "Linux", "python": "3.12.1"}, "hostname": "secret-box-7"}
    data = offline_file(rows, config=config)
    run = restrict(read_offline(data, "run.wandb", Keys(loss=("eval/loss",))))
    kept = decode(encode(run))
    assert of_run(kept) == of_run(run)
    assert {"system": "Linux", "python": "3.12", "gpus": 8.0}.items() <= of_run(kept).items()
    assert "secret-box" not in json.dumps([list(w) for w in kept.witnesses])
    assert not [w for w in witnesses_of(run) if w.quantity.startswith(MACHINE)]
