"""One contract: a run of this trainer counts on every track that it is meant for, whichever
evidence shows it. Trained once for each mode of W&B, judged by `speedrun check` for every track."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from reference_trainer import names
from reference_trainer.starters import CONFIG_OF_TRACK
from tests.doubles.wandb import WandbDouble
from tests.reference_trainer.conftest import ONE_DEVICE, ROOT, need, with_paloma

wandb = pytest.importorskip("wandb", reason="the W&B client is not installed; pip install '.[bot]'")

TRACKS = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "tracks").glob("*.toml"))
}
KINDS = {"log": "log.txt", "offline": "run.wandb", "online": None, "results": "results.json"}
ACCEPTED_AS = {"log": "log", "offline": "wandb", "online": "wandb", "results": "results"}
SMALL = {
    "model.hidden": 32,
    "model.intermediate": 64,
    "model.seq_len": 32,
    "train.steps": 12,
    "train.eval_every": 6,
    "train.batch": 8,
    "train.micro_batch": 4,
    "schedule.warmup_steps": 2,
    "data.val_tokens": 0,
    "data.paloma": "true",
}


class Trained(NamedTuple):
    """Output folders of the same training, and the server that has the online one."""

    online: pathlib.Path
    offline: pathlib.Path
    server: WandbDouble
    link: str


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    need("jax")
    base = tmp_path_factory.mktemp("contract")
    data = with_paloma(base / "data")
    with WandbDouble() as server:
        for mode in ("online", "offline"):
            changes = {**SMALL, "data.corpus": f'"{data}"'}.items()
            settings = [part for k, v in changes for part in ("--set", f"{k}={v}")]
            command = [sys.executable, "-m", "reference_trainer", "--backend", "jax", *settings]
            command += ["--wandb", mode, "--quiet", "--github-login", "@example-user"]
            subprocess.run(
                [*command, "--out", str(base / mode), "--author", "Example"],
                check=True,
                cwd=ROOT,
                env=environment(base, server),
                timeout=300,
            )
        ((entity, project, run_id),) = server.world.runs
        link = f"https://wandb.ai/{entity}/{project}/runs/{run_id}"
        yield Trained(base / "online", base / "offline", server, link)
    assert server.unknown == [] and server.missing == []


def environment(base: pathlib.Path, server: WandbDouble) -> dict[str, str]:
    """One device, a W&B and a home of its own."""
    kept = {k: v for k, v in os.environ.items() if k != "WANDB_SERVICE"}
    kept["XLA_FLAGS"] = ONE_DEVICE
    account = {"WANDB_BASE_URL": server.url, "WANDB_API_KEY": server.key}
    return {**kept, **account, "HOME": str(base), "HF_TOKEN": "x", "WANDB_SILENT": "true"}


def within_reach(text: str) -> str:
    """A track with its evidence and keys as they are, its bar where a tiny model on a CPU is."""
    text = text.partition("[[retimings]]")[0].partition("[[rules]]")[0]
    text = re.sub(r"(?m)^target = .*$", "target = 5.0", text)
    flops = r'metric = "hardware_flops"\nunit = "\w+"'
    text = re.sub(flops, 'metric = "training_time_s"\nunit = "s"', text)  # a CPU has no peak
    text = re.sub(r"(?m)^(common_stop_step|code_required) = .*\n", "", text)
    text = re.sub(r"(?ms)^\[recipe\.\w+\]\n.*?(?=^\[|^#|\Z)", "", text)
    for section, instead in (
        ("significance", '[significance]\ntest = "none"\n'),
        ("hardware", '[hardware]\naccelerator = "any"\n'),
        ("data", ""),
        ("baseline", "[baseline]\npromote_at = 0.9\n"),
    ):
        text = re.sub(rf"(?ms)^\[{section}\]\n.*?(?=^\[|^#|\Z)", instead, text)
    return text


def submit(root: pathlib.Path, track: str, kind: str, trained: Trained) -> pathlib.Path:
    """A submission of the run in a competition that has the track alone."""
    text = (ROOT / "tracks" / f"{track}.toml").read_text(encoding="utf-8")
    folder = root / "submissions" / track / "mine"
    folder.mkdir(parents=True)
    (root / "tracks").mkdir()
    (root / "tracks" / f"{track}.toml").write_text(within_reach(text), encoding="utf-8")
    run: dict[str, Any] = {"source": "wandb", "link": trained.link}
    if kind != "online":
        source = {"log": "log.txt", "offline": "run.wandb", "results": "speedrun_results.json"}
        name = KINDS[kind] or ""
        (folder / name).write_bytes((trained.offline / source[kind]).read_bytes())
        run = {"source": "results" if kind == "results" else "log", "path": name}
    people = [{"github": "example-user", "roles": ["idea", "runs"]}]
    about = {"schema_version": 1, "track": track, "title": "Mine", "contributors": people}
    about["summary"] = "A small transformer as it comes, trained for twelve steps."
    (folder / "submission.json").write_text(json.dumps({**about, "runs": [run]}))
    return folder


def check(folder: pathlib.Path, server: WandbDouble, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    from bot.cli import main

    patch.setenv("WANDB_BASE_URL", server.url)
    patch.setenv("WANDB_API_KEY", server.key)
    patch.setenv("SPEEDRUN_CACHE", "")
    root = str(folder.parents[2])
    done = CliRunner().invoke(main, ["check", str(folder), "--root", root, "--format", "json"])
    (verdict,) = json.loads(done.stdout)["verdicts"]
    assert isinstance(verdict, dict)
    return verdict


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("track", TRACKS)
def test_a_run_counts_on_every_track_by_every_evidence(
    track: str, kind: str, trained: Trained, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = check(submit(tmp_path, track, kind, trained), trained.server, monkeypatch)
    found = {finding["rule"]: finding["message"] for finding in verdict["findings"]}
    if ACCEPTED_AS[kind] not in TRACKS[track]["evidence"]["accepts"]:
        assert verdict["status"] == "rejected", found
        return
    assert verdict["status"] in ("verified", "consistent", "needs-review"), found
    slow = found.pop("witnesses-disagree", "between validations")  # it hardly trains, so a warning
    assert "between validations" in slow
    assert not {"history-gap", "metric-missing", "metric-implausible"} & set(found), found
    folder = trained.online if kind == "online" else trained.offline
    text = (folder / "speedrun_results.json").read_text(encoding="utf-8")
    info = json.loads(text)["runs"][0]["run_info"]
    measured = verdict["metrics"]
    assert measured["training_time_s"] == pytest.approx(info["training_time"], abs=6e-4)
    if TRACKS[track]["quality"]["metric"] == "bpb":
        assert measured["bpb"] == pytest.approx(info[names.PALOMA_BPB], abs=1e-6)
    else:
        assert measured["loss"] == pytest.approx(info[names.LOSS], abs=1e-6)


def test_every_track_reads_the_names_that_the_trainer_writes() -> None:
    for track, data in TRACKS.items():
        for quantity, read in data["evidence"]["keys"].items():
            if quantity in names.KEYS:
                assert set(read) & set(names.KEYS[quantity]), (track, quantity)
    assert set(CONFIG_OF_TRACK) <= set(TRACKS)


def test_the_run_is_bound_to_the_login(trained: Trained) -> None:
    (run,) = trained.server.world.runs.values()
    assert "speedrun:example-user" in run.tags and run.config["speedrun"] == "example-user"
    text = (trained.offline / "speedrun_results.json").read_text(encoding="utf-8")
    assert json.loads(text)["runs"][0]["run_info"]["speedrun"]["github_login"] == "example-user"


def test_every_step_has_its_duration_the_clock_and_the_tokens(trained: Trained) -> None:
    (run,) = trained.server.world.runs.values()
    rows = [row for row in run.rows if names.STEP_TIME_S in row]
    assert [row["_step"] for row in rows] == list(range(1, 13))
    assert [row[names.TOKENS] for row in rows] == [8 * 32 * step for step in range(1, 13)]
    seconds = 0.0
    for row in rows:
        seconds += row[names.STEP_TIME_S]
        assert row[names.TIME_S] == pytest.approx(seconds, abs=1e-9)
