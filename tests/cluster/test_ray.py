"""Ray's own package, a cluster of this machine: two workers train one run; a sweep that fails."""

from __future__ import annotations

import json
import pathlib
import socket
import subprocess
import sys

import pytest

from reference_trainer.on_ray import Member, environment, free_port, with_local_ranks
from reference_trainer.shards import Corpus
from tests.cluster.conftest import environment as one_device
from tests.cluster.conftest import losses, trainer
from tests.conftest import ROOT

ray = pytest.importorskip("ray", reason="pip install ray")


def launch(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "reference_trainer.on_ray", *arguments]
    return subprocess.run(
        command, env=one_device(), cwd=ROOT, capture_output=True, text=True, timeout=400
    )


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_two_workers_train_one_run(backend: str, corpus: Corpus, tmp_path: pathlib.Path) -> None:
    ours = trainer(corpus.folder, tmp_path / "run", backend)
    done = launch("--workers", "2", "--", *ours)
    assert done.returncode == 0, done.stderr[-3000:]
    text = (tmp_path / "run" / "log.txt").read_text(encoding="utf-8")
    assert "world_size: 2" in text and len(losses(tmp_path / "run")) == 15


def test_a_sweep_runs_a_failed_member_again(corpus: Corpus, tmp_path: pathlib.Path) -> None:
    """Seed 1 finds its folder in use at its first try, and nothing in the way at its second."""
    out = tmp_path / "sweep"
    busy = out / "seed1"
    busy.mkdir(parents=True)
    (busy / "speedrun_results.json").mkdir()  # cannot be replaced by a file
    starter = tmp_path / "clear.py"
    starter.write_text(
        "import pathlib, runpy, sys\n"
        f"place = pathlib.Path({str(busy)!r}) / 'speedrun_results.json'\n"
        "if '--resume' in sys.argv and place.is_dir():\n"
        "    place.rmdir()\n"
        "runpy.run_module('reference_trainer', run_name='__main__')\n",
        encoding="utf-8",
    )
    ours = trainer(corpus.folder, out, "torch", "--seeds", "2")
    done = launch("--workers", "2", "--sweep", "--file", str(starter), "--", *ours)
    assert done.returncode == 0, done.stderr[-3000:]
    for seed in (0, 1):
        text = (out / f"seed{seed}" / "speedrun_results.json").read_text(encoding="utf-8")
        assert json.loads(text)["runs"][0]["run_info"]["speedrun"]["seed"] == seed


def test_the_next_port_is_free_too(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([25_000, 25_010, 25_020])
    monkeypatch.setattr("random.randrange", lambda low, high: next(drawn))
    with socket.socket() as one, socket.socket() as two:
        one.bind(("", 25_000))
        two.bind(("", 25_011))
        assert free_port() == 25_020


def test_places_on_machines() -> None:
    members = with_local_ranks([Member("a", 7), Member("b", 8), Member("a", 9)])
    assert [(m.local_rank, m.local_processes) for m in members] == [(0, 2), (0, 1), (1, 2)]
    assert environment(members, 2)["MASTER_ADDR"] == "a"
    assert environment(members, 2)["LOCAL_RANK"] == "1"
