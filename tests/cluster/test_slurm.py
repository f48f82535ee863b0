"""Slurm's own slurmctld and slurmd on this machine: two tasks train one run."""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from reference_trainer.shards import Corpus
from tests.cluster.conftest import environment, losses, trainer
from tests.conftest import ROOT

CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
JobAcctGatherType=jobacct_gather/none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    for program in ("slurmctld", "slurmd", "munged"):
        if shutil.which(program) is None or os.geteuid() != 0:
            pytest.fail(f"needs {program} and root: apt-get install slurmctld slurmd munge")
    folder = tmp_path_factory.mktemp("slurm")
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o400)
    facts = {"host": socket.gethostname().split(".")[0], "cpus": os.cpu_count()}
    ports = {"controller": 17817, "daemon": 17818}
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(folder=folder, **facts, **ports), encoding="utf-8")
    variables = {**environment(), "SLURM_CONF": str(conf)}
    munged = ["munged", "-F", "-f", "--key-file", str(folder / "munge.key")]
    names = ("socket", "pid-file", "log-file", "seed-file")
    munged += [f"--{name}={folder}/munge.{name.split('-')[0]}" for name in names]
    started = []
    try:
        for command in (munged, ["slurmctld", "-D"], ["slurmd", "-D"]):
            started.append(subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL))
            time.sleep(1)
        wait_until_idle(variables)
        yield variables
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(20)


def wait_until_idle(variables: dict[str, str]) -> None:
    deadline, said = time.monotonic() + 60, ""
    while time.monotonic() < deadline:
        done = subprocess.run(
            ["sinfo", "-h", "-o", "%T"], env=variables, capture_output=True, text=True
        )
        said = done.stdout.strip() or done.stderr
        if said == "idle":
            return
        time.sleep(0.5)
    pytest.fail(f"Slurm's node is {said}")


def srun(variables: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["srun", "--kill-on-bad-exit=0", *arguments]
    return subprocess.run(
        command, env=variables, cwd=ROOT, capture_output=True, text=True, timeout=240
    )


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_two_tasks_train_one_run(
    backend: str, slurm: dict[str, str], corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    python = [sys.executable, "-m", "reference_trainer"]
    ours = trainer(corpus.folder, tmp_path / "run", backend)
    done = srun(slurm, "--ntasks=2", *python, *ours)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("candidate seed 0:") == 1
    text = (tmp_path / "run" / "log.txt").read_text(encoding="utf-8")
    assert "world_size: 2" in text and len(losses(tmp_path / "run")) == 15
    again = srun(slurm, "--ntasks=2", *python, *ours)
    assert again.returncode == 0 and again.stdout.count("candidate seed 0:") == 1, again.stderr
    assert (tmp_path / "run" / "log.txt").read_text(encoding="utf-8") == text
    one = trainer(corpus.folder, tmp_path / "one", backend)
    alone = srun(slurm, "--ntasks=1", *python, *one)
    assert alone.returncode == 0, alone.stderr
    pairs = zip(losses(tmp_path / "run"), losses(tmp_path / "one"), strict=True)
    assert all(a[:22] == b[:22] for a, b in pairs)


def test_tasks_that_disagree_end_with_one_sentence(
    slurm: dict[str, str], corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    arguments = " ".join(f"'{part}'" for part in trainer(corpus.folder, tmp_path / "run", "torch"))
    script = f"exec {sys.executable} -m reference_trainer {arguments} --seed $SLURM_PROCID"
    began = time.monotonic()
    done = srun(slurm, "--ntasks=2", "bash", "-c", script)
    assert done.returncode != 0 and time.monotonic() - began < 60
    assert "--seed: process 0 has 0, process 1 has 1" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_array_trains_a_run_a_seed(
    slurm: dict[str, str], corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    out = tmp_path / "sweep"
    ours = " ".join(f"'{part}'" for part in trainer(corpus.folder, out / "seedN", "torch"))
    ours = ours.replace("seedN", "seed'$SLURM_ARRAY_TASK_ID'")
    wrapped = f"{sys.executable} -m reference_trainer {ours} --seed $SLURM_ARRAY_TASK_ID --resume"
    command = ["sbatch", "--wait", "--requeue", "--array=0-1", "--wrap", wrapped]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "%a.txt")],
        env=slurm,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )
    shown = "".join(path.read_text() for path in tmp_path.glob("*.txt"))
    assert done.returncode == 0, done.stderr + shown
    assert all((out / f"seed{i}" / "speedrun_results.json").is_file() for i in (0, 1))
