"""The commands of the page "Several devices and hosts" run as they stand there: names of hosts,
folders and numbers of GPUs are this machine's, the configuration is tiny."""

from __future__ import annotations

import pathlib
import re
import shlex
import subprocess
import sys

import pytest
import yaml

from reference_trainer.shards import Corpus
from tests.cluster.conftest import environment, losses, trainer
from tests.cluster.test_slurm import slurm
from tests.conftest import ROOT

__all__ = ["slurm"]

PAGE = (ROOT / "leaderboard_site/docs/clusters.md").read_text(encoding="utf-8")


def block(section: str, number: int = 0) -> str:
    """A code block below a heading."""
    below = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"```(?:bash|yaml)\n(.*?)```", below, re.S)[number]


def here(command: str, corpus: Corpus, out: pathlib.Path) -> str:
    """A command of the page with this machine's names."""
    ours = trainer(corpus.folder, out, "torch")
    ours = ours[: ours.index("--out")]
    assert "--config gpt2-124m" in command
    changed = command.replace("--config gpt2-124m", shlex.join(ours))
    changed = re.sub(r"--out (runs/one|/shared/(?:run1|sweep(?!/)))", f"--out {out}", changed)
    changed = changed.replace("/shared/sweep/", f"{out}/").replace("HOST:", "localhost:")
    changed = re.sub(r"--nproc-per-node=8", "--nproc-per-node=2", changed)
    changed = re.sub(r"#SBATCH --(nodes|ntasks-per-node|gpus-per-node)=\d+\n", "", changed)
    changed = changed.replace("--gpus 1", "--gpus 0").replace("--gpus=1 ", "")
    changed = changed.replace("torchrun", "python -m torch.distributed.run")
    return changed.replace("python -m", f"{sys.executable} -m")


def run(command: str, **more: str) -> subprocess.CompletedProcess[str]:
    variables = {**environment(), **more}
    return subprocess.run(
        ["bash", "-c", command],
        env=variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
    )


def test_one_host(corpus: Corpus, tmp_path: pathlib.Path) -> None:
    done = run(here(block("One host, several GPUs"), corpus, tmp_path / "run"))
    assert done.returncode == 0 and len(losses(tmp_path / "run")) == 15, done.stderr


def test_two_hosts_meet_at_a_rendezvous(corpus: Corpus, tmp_path: pathlib.Path) -> None:
    command = here(block("Several hosts with torchrun"), corpus, tmp_path / "run")
    command = command.replace("--nproc-per-node=2", "--nproc-per-node=1").replace("29400", "29417")
    hosts = [
        subprocess.Popen(["bash", "-c", command], env=environment(), cwd=ROOT) for _ in range(2)
    ]
    assert [host.wait(300) for host in hosts] == [0, 0]
    text = (tmp_path / "run" / "log.txt").read_text(encoding="utf-8")
    assert "world_size: 2" in text and len(losses(tmp_path / "run")) == 15


def test_the_batch_script(corpus: Corpus, slurm: dict[str, str], tmp_path: pathlib.Path) -> None:
    script = tmp_path / "train.sbatch"
    script.write_text(here(block("Slurm"), corpus, tmp_path / "run"), encoding="utf-8")
    done = run(f"sbatch --wait --ntasks=2 -o {tmp_path}/said.txt {script}", **slurm)
    assert done.returncode == 0, done.stderr + (tmp_path / "said.txt").read_text()
    assert "world_size: 2" in (tmp_path / "run" / "log.txt").read_text(encoding="utf-8")


def test_the_array(corpus: Corpus, slurm: dict[str, str], tmp_path: pathlib.Path) -> None:
    command = here(block("Slurm", 1).replace("0-4", "0-1"), corpus, tmp_path / "sweep")
    # Quotes of our settings would end those of --wrap.
    head, _, wrapped = command.partition("--wrap ")
    script = tmp_path / "wrapped.sh"
    script.write_text(f"#!/bin/bash\n{wrapped.strip()[1:-1]}\n", encoding="utf-8")
    done = run(f"{head} --wait -o {tmp_path}/%a.txt {script}", **slurm)
    shown = "".join(path.read_text() for path in tmp_path.glob("*.txt"))
    assert done.returncode == 0, done.stderr + shown
    assert (tmp_path / "sweep" / "seed1" / "speedrun_results.json").is_file()


def test_sweeps(corpus: Corpus, slurm: dict[str, str], tmp_path: pathlib.Path) -> None:
    """On one host, by torchrun, and as tasks of a Slurm job of this machine."""
    for number, name in enumerate(("low/seed1", "seed1", "seed1")):
        out = tmp_path / f"sweep{number}"
        command = (
            block("Sweeps", number).replace("seeds 4", "seeds 2").replace("seeds 8", "seeds 2")
        )
        command = re.sub(r"(--workers|--ntasks)[ =]4", r"\1=2", command).replace("--gpus=4 ", "")
        done = run(here(command, corpus, out), **(slurm if number == 2 else {}))
        assert done.returncode == 0, done.stderr[-3000:]
        assert (out / name / "speedrun_results.json").is_file()
        text = (out / name / "log.txt").read_text(encoding="utf-8")
        assert f"world_size: {2 if number == 1 else 1}" in text


def test_ray_and_its_sweep(corpus: Corpus, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("ray", reason="pip install ray")
    together = here(block("Ray").replace("16", "2"), corpus, tmp_path / "run")
    done = run(together)
    assert done.returncode == 0 and len(losses(tmp_path / "run")) == 15, done.stderr[-3000:]
    command = block("Ray", 1).replace("--workers 4", "--workers 2").replace("seeds 8", "seeds 2")
    done = run(here(command, corpus, tmp_path / "sweep"))
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "sweep" / "seed1" / "speedrun_results.json").is_file()


def test_skypilot_accepts_its_task(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sky = pytest.importorskip("sky", reason="pip install skypilot")
    path = tmp_path / "speedrun.yaml"
    path.write_text(block("SkyPilot"), encoding="utf-8")
    monkeypatch.chdir(ROOT)
    task = sky.Task.from_yaml(str(path))
    assert task.num_nodes == 2 and "H100" in str(task.resources)
    broken = block("SkyPilot").replace("num_nodes: 2", "num_nodez: 2")
    path.write_text(broken, encoding="utf-8")
    with pytest.raises(ValueError, match="num_nodez"):
        sky.Task.from_yaml(str(path))


def test_kubernetes_accepts_the_job() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate")
    documents = list(yaml.safe_load_all(block("TPU hosts on GKE")))
    assert [document["kind"] for document in documents] == ["Service", "Job"]
    for document in documents:
        validate.validate(document, "1.31", strict=True)
    documents[1]["spec"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    with pytest.raises(validate.ValidationError):
        validate.validate(documents[1], "1.31", strict=True)
