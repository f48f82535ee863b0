"""Several processes of one run: what they share and compare, and that none waits for ever."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from reference_trainer import distributed
from reference_trainer.distributed import Cluster, Group, detect, first_host
from reference_trainer.errors import StorageError, TrainerError
from reference_trainer.shards import Corpus
from tests.conftest import in_a_full_run, in_a_nightly_run
from tests.reference_trainer.conftest import ONE_DEVICE, ROOT, need

# ---- who started this process --------------------------------------------------------------------

TORCHRUN = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
ADDRESS = {"MASTER_ADDR": "node7", "MASTER_PORT": "29500"}
SLURM = {
    "SLURM_JOB_ID": "77",
    "SLURM_STEP_ID": "2",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_STEP_NUM_NODES": "4",
    "SLURM_STEP_NODELIST": "gpu[003-006],x",
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
}
TPU = {"TPU_WORKER_HOSTNAMES": "a,b,c", "TPU_WORKER_ID": "2"}


@pytest.mark.parametrize(
    ("environment", "cluster"),
    [
        ({}, None),
        ({**TORCHRUN, **ADDRESS}, Cluster("torchrun", 3, 8, 1, 2, "node7:29500")),
        ({**TORCHRUN, **ADDRESS, "RANK": "0", "WORLD_SIZE": "1"}, None),
        (SLURM, Cluster("slurm", 5, 8, 1, 2, "gpu003:24930")),
        ({**SLURM, "SLURM_STEP_NUM_NODES": "1"}, Cluster("slurm", 5, 8, 1, 8, "127.0.0.1:24930")),
        ({**SLURM, "SLURM_STEP_NUM_TASKS": "1"}, None),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, None),  # a batch script outside of srun
        (TPU, Cluster("tpu", 2, 3, 0, 1, "")),
        ({**TPU, "TPU_WORKER_HOSTNAMES": "localhost"}, None),
    ],
)
def test_the_cluster_is_found_in_the_environment(
    environment: Mapping[str, str], cluster: Cluster | None
) -> None:
    assert detect("auto", environment) == cluster
    assert detect("off", environment) is None


def test_half_a_cluster_is_one_sentence() -> None:
    with pytest.raises(TrainerError, match="MASTER_ADDR and MASTER_PORT is not set; start with"):
        detect("auto", TORCHRUN)
    with pytest.raises(TrainerError, match='WORLD_SIZE is "many", expected a number'):
        detect("auto", {**TORCHRUN, **ADDRESS, "WORLD_SIZE": "many"})


@pytest.mark.parametrize(
    ("nodes", "host"),
    [("a", "a"), ("a,b", "a"), ("n[7-9]", "n7"), ("n[07,12]-x,y", "n07-x"), ("a-1.b[2]", "a-1.b2")],
)
def test_the_first_host_of_slurm(nodes: str, host: str) -> None:
    assert first_host(nodes) == host


# ---- what they say to each other -----------------------------------------------------------------


class Memory:
    """A store that the threads of a test see."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def put(self, key: str, value: str) -> None:
        self.values[key] = value

    def look(self, key: str) -> str | None:
        return self.values.get(key)


def side_by_side(*bodies: Callable[[Group], Any], close: bool = True) -> list[Any]:
    """What each body gave, one a process of a group, or the error that it raised."""
    store, found = Memory(), [None] * len(bodies)

    def one(rank: int) -> None:
        group = Group(rank, len(bodies), store)
        try:
            with distributed.together(group):
                found[rank] = bodies[rank](group)
        except Exception as error:
            found[rank] = error

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    return found


def test_process_0_decides_for_all() -> None:
    decided = [lambda g, n=n: g.share("the folder", lambda: {"out": n}) for n in range(3)]
    assert side_by_side(*decided) == [{"out": 0}] * 3


def test_an_error_of_process_0_is_everybodys() -> None:
    def locked() -> str:
        raise StorageError("another process is writing into run; choose another --out")

    found = side_by_side(*[lambda g: g.share("the folder", locked)] * 3)
    assert "another process is writing" in str(found[0])
    assert [str(error) for error in found[1:]] == [f"process 0 of 3 ended: {found[0]}"] * 2


def test_processes_that_differ_end_with_the_same_sentence() -> None:
    def steps(n: int) -> Callable[[Group], None]:
        return lambda g: g.agree("the command", {"train.steps": n, "--seed": 0})

    assert side_by_side(steps(5), steps(5), steps(5)) == [None] * 3
    texts = {str(error) for error in side_by_side(steps(5), steps(5), steps(6))}
    assert any("train.steps: process 0 has 5, process 2 has 6; start every" in t for t in texts)
    assert all("train.steps" in text for text in texts)


def test_one_that_never_comes_is_not_waited_for() -> None:
    absent = lambda g: time.sleep(1.2)  # noqa: E731
    asking = lambda g: g.agree("the command", {}, 0.5)  # noqa: E731
    found = side_by_side(asking, absent)
    assert "process 1 of 2 said nothing about the command within 0 s" in str(found[0])


def test_other_errors_keep_their_traceback_where_they_arise() -> None:
    def broken(group: Group) -> None:
        raise KeyError("x")

    waiting = lambda g: g.agree("the state", {}, None)  # noqa: E731
    found = side_by_side(waiting, broken)
    assert isinstance(found[1], KeyError)
    assert str(found[0]) == "process 1 of 2 ended: KeyError: 'x'"


# ---- real processes ------------------------------------------------------------------------------

QUICK = {
    "train.steps": 6,
    "train.eval_every": 3,
    "train.log_every": 1,
    "train.checkpoint_every": 2,
    "train.batch": 8,
    "train.micro_batch": 4,
    "model.hidden": 32,
    "model.intermediate": 64,
    "model.seq_len": 32,
    "schedule.warmup_steps": 1,
    "data.val_tokens": 1024,
}
Processes = list[subprocess.Popen[str]]


def free_port() -> int:
    """A port below those that the system gives to outgoing connections, which come in between."""
    while True:
        port = random.randrange(20_000, 30_000)
        with contextlib.suppress(OSError), socket.socket() as found:
            found.bind(("127.0.0.1", port))
            return port


def command(
    backend: str, corpus: Corpus, out: pathlib.Path, *more: str, **changes: Any
) -> list[str]:
    settings = {**QUICK, "data.corpus": f'"{corpus.folder}"', **changes}
    parts = [part for k, v in settings.items() for part in ("--set", f"{k}={v}")]
    begin = [sys.executable, "-m", "reference_trainer", "--config", "tiny", "--backend", backend]
    return [*begin, *parts, "--wandb", "off", "--quiet", "--out", str(out), *more]


def start(*commands: list[str], **environment: str) -> Processes:
    """One process a command, told of each other as torchrun and PyTorchJob do, killed by none."""
    kept = {**os.environ, "XLA_FLAGS": ONE_DEVICE}
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    return [
        subprocess.Popen(
            one,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={
                **kept,
                **address,
                "RANK": str(rank),
                "WORLD_SIZE": str(len(commands)),
                "LOCAL_RANK": str(rank),
                "LOCAL_WORLD_SIZE": str(len(commands)),
                "OMP_NUM_THREADS": "1",
                **environment,
            },
        )
        for rank, one in enumerate(commands)
    ]


def ends(processes: Processes, within_s: float = 150) -> list[tuple[int, str, str]]:
    """Exit status, output and errors of each; none may be left."""
    deadline, found = time.monotonic() + within_s, []
    try:
        for process in processes:
            out, err = process.communicate(timeout=max(1, deadline - time.monotonic()))
            found.append((process.returncode, out, err))
    finally:
        for process in processes:
            process.kill()
    return found


def losses(out: pathlib.Path) -> list[str]:
    text = (out / "log.txt").read_text(encoding="utf-8")
    return [line.split(" train_time")[0] for line in text.splitlines() if "_loss:" in line]


def test_torchrun_trains_one_run_resumes_and_knows_that_it_finished(
    backend_name: str, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    need("torch")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    ours = command(backend_name, corpus, tmp_path / "run")[1:]
    environment = {**os.environ, "XLA_FLAGS": ONE_DEVICE}

    def run() -> str:
        done = subprocess.run(
            [*launch, *ours],
            capture_output=True,
            text=True,
            timeout=240,
            cwd=ROOT,
            env={**environment, "OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    said = run()
    assert said.count("candidate seed 0:") == 1
    log = (tmp_path / "run" / "log.txt").read_text(encoding="utf-8")
    assert "world_size: 2" in log and len(losses(tmp_path / "run")) == 9
    again = run()
    assert "candidate seed 0:" in again
    assert (tmp_path / "run" / "log.txt").read_text(encoding="utf-8") == log


def test_one_killed_member_ends_the_others_and_the_run_goes_on(
    backend_name: str, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    in_a_full_run("two processes, three times")
    long = {"train.steps": 120, "train.checkpoint_every": 10, "train.eval_every": 40}
    go = lambda out, *more: [command(backend_name, corpus, out, *more, **long)] * 2  # noqa: E731
    whole = start(*go(tmp_path / "whole"))
    assert [status for status, *_ in ends(whole)] == [0, 0]
    out = tmp_path / "cut"
    members = start(*go(out))
    while not (out / "log.txt").exists() or len(losses(out)) < 30:
        assert members[0].poll() is None, members[0].communicate()
        time.sleep(0.01)
    members[1].send_signal(signal.SIGKILL)
    began = time.monotonic()
    status, _, said = ends(members)[0]
    assert status not in (0, None) and time.monotonic() - began < 60
    if backend_name == "torch":
        assert said.strip().splitlines()[-1].startswith("Error: "), said
    resumed = ends(start(*go(out, "--resume", "--force-run-failed")))
    assert [status for status, *_ in resumed] == [0, 0], resumed
    assert losses(out) == losses(tmp_path / "whole")


@pytest.mark.full("three trainings of two processes")
def test_another_number_of_processes_reads_the_shards(
    backend_name: str, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    long = {"train.steps": 120, "train.checkpoint_every": 10, "train.eval_every": 40}
    fsdp = long | {"train.sharding": '"fsdp"', "train.micro_batch": 4}
    whole, out = tmp_path / "whole", tmp_path / "cut"
    members = start(*[command(backend_name, corpus, out, **fsdp)] * 2)
    while not (out / "log.txt").exists() or len(losses(out)) < 30:
        assert members[0].poll() is None, members[0].communicate()
        time.sleep(0.01)
    members[0].send_signal(signal.SIGKILL)
    ends(members)
    newest = sorted((out / "checkpoints").iterdir())
    files = {f.name for step in newest for f in step.iterdir()}
    assert {"state.0-of-2.npz", "state.1-of-2.npz", "DONE.0-of-2", "DONE.1-of-2"} <= files
    alone = command(backend_name, corpus, out, "--resume", "--force-run-failed", **fsdp)
    assert [status for status, *_ in ends(start(alone))] == [0]
    assert [s for s, *_ in ends(start(command(backend_name, corpus, whole, **fsdp)))] == [0]
    one, two = (numbers(losses(folder)) for folder in (whole, out))
    # Other processes sum in another order, which 120 steps carry on.
    assert len(one) == len(two) and max(abs(a - b) for a, b in zip(one, two, strict=True)) < 5e-4


def numbers(lines: list[str]) -> list[float]:
    return [float(line.split("_loss:")[1].split()[0]) for line in lines]


Change = tuple[list[str], dict[str, Any], str]
DIFFERENT: dict[str, Change] = {
    "steps": ([], {"train.steps": 4}, "train.steps: process 0 has 6, process 1 has 4"),
    "layers": ([], {"model.layers": 1}, "model.layers: process 0 has 2, process 1 has 1"),
    "rate": ([], {"optimizer.lr": 0.1}, "optimizer.lr"),
    "batch": ([], {"train.batch": 16}, "train.batch"),
    "micro-batch": ([], {"train.micro_batch": 2}, "train.micro_batch"),
    "sharding": ([], {"train.sharding": "fsdp"}, "train.sharding"),
    "order": ([], {"data.order": "sequential"}, "data.order"),
    "warm-up": ([], {"schedule.warmup_steps": 2}, "schedule.warmup_steps"),
    "evaluation": ([], {"train.eval_every": 2}, "train.eval_every"),
    "seed": (["--seed", "1"], {}, "--seed: process 0 has 0, process 1 has 1"),
    "seeds": (["--seeds", "2"], {}, "--seeds"),
    "resume": (["--resume"], {}, "--resume: process 0 has False, process 1 has True"),
    "interleave": (["--interleave", "baseline"], {}, "--interleave"),
    "track": (["--track", "tutorial"], {}, "--track"),
    "wandb": (["--wandb", "offline"], {}, "--wandb"),
    "force": (["--force-run-failed"], {}, "--force-run-failed"),
    "corpus": ([], {"data.corpus": '"nowhere"'}, "data.corpus"),
    "configuration": (["--config", "gpt2-124m"], {}, "model.hidden is 32 and model.heads is 6"),
    "no option": (["--nonsense"], {}, "--nonsense"),
    "alone": (["--distributed", "off"], {}, "--distributed|found not all others"),
}
SOME = ("steps", "seeds", "resume")


@pytest.mark.more
@pytest.mark.parametrize("name", DIFFERENT)
def test_processes_that_disagree_end_with_one_sentence(
    name: str, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    need("torch")
    if name not in SOME and os.environ.get("SPEEDRUN_FULL") != "1":
        pytest.skip("every way to disagree is tried by make test-full")
    if list(DIFFERENT).index(name) % 2:
        in_a_nightly_run("the other ways to disagree")
    more, changes, expected = DIFFERENT[name]
    out = tmp_path / "run"
    usual = command("torch", corpus, out)
    other = command("torch", corpus, tmp_path / "other", *more, **changes)
    processes = start(usual, other, SPEEDRUN_JOIN_S="15")
    began = time.monotonic()
    found = ends(processes)
    assert time.monotonic() - began < 60 + 30  # a busy machine imports slowly
    assert found[0][0] == 2, found
    everything = "".join(err for _, _, err in found)
    assert any(part in everything for part in expected.split("|")), everything
    assert found[0][2].count("Error: ") == 1 and "Traceback" not in everything, everything
    assert not (out / "speedrun_results.json").exists()


def test_a_folder_in_use_ends_every_process(corpus: Corpus, tmp_path: pathlib.Path) -> None:
    need("torch")
    from reference_trainer.storage import Lock

    with Lock(tmp_path / "run"):
        found = ends(start(*[command("torch", corpus, tmp_path / "run")] * 2))
    assert [status for status, *_ in found] == [2, 2]
    assert all("another process is writing into run" in err for *_, err in found), found


def test_off_leaves_a_process_alone(corpus: Corpus, tmp_path: pathlib.Path) -> None:
    need("torch")
    one = [command("torch", corpus, tmp_path / f"run{i}", "--distributed", "off") for i in (0, 1)]
    found = ends(start(*one))
    assert [status for status, *_ in found] == [0, 0], found
    assert losses(tmp_path / "run0") == losses(tmp_path / "run1")
