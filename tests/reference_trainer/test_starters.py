"""The starters: one file that runs as it is, and takes ideas by editing it alone."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from reference_trainer import starters
from reference_trainer.config import load_config
from reference_trainer.errors import ConfigError
from reference_trainer.other_arm import other_arm
from reference_trainer.provenance import source_sha256
from reference_trainer.shards import Corpus
from reference_trainer.starter import configured
from reference_trainer.stated import stated

LION = '''
class Lion(torch.optim.Optimizer):
    """The sign of an interpolated momentum."""

    def __init__(self, params, lr, betas=(0.9, 0.99)):
        super().__init__(params, {"lr": lr})
        self.betas = betas

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.sub_(group["lr"] * torch.sign(torch.lerp(p.grad, m, self.betas[0])))
                m.lerp_(p.grad, 1 - self.betas[1])


def optimizers(named, config, dtype, fused):
    return [Lion(list(named.values()), 3e-3)]


if __name__'''

GATED = """
class MLP(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.w_up = weight(m.intermediate, m.hidden, m.init_std)
        self.w_gate = weight(m.intermediate, m.hidden, m.init_std)
        self.w_down = weight(m.hidden, m.intermediate, m.init_std / (2 * m.layers) ** 0.5)

    def forward(self, x_BTD):
        gate, up = linear(x_BTD, self.w_gate, self.w_up).chunk(2, dim=-1)
        return linear(F.silu(gate) * up, self.w_down)


class Layer("""

JAX_GATED = """
def mlp(x_BTD, p, i):
    gate = jax.nn.silu(linear(x_BTD, p[f"layers.{i}.w_gate"]))
    return linear(gate * linear(x_BTD, p[f"layers.{i}.w_up"]), p[f"layers.{i}.w_down"])


def make_losses("""

JAX_LION = """
def muon(config, dtype):
    def init(params):
        return {"m": {n: jnp.zeros_like(p) for n, p in params.items()}}

    def update(grads, state, params, multiplier):
        out, m = {}, {}
        for n, p in params.items():
            step = jnp.sign(0.9 * state["m"][n] + 0.1 * grads[n])
            out[n] = p - 3e-3 * multiplier * step
            m[n] = 0.99 * state["m"][n] + 0.01 * grads[n]
        return out, {"m": m}

    return starter.Optimizer(init, update)


if __name__"""


def run_starter(
    kind: str,
    text: str,
    corpus: Corpus,
    folder: pathlib.Path,
    beside: Mapping[str, str] | None = None,
    **extra: object,
) -> dict[str, Any]:
    """Train with a starter and the files `beside` it; `extra` is set as optimizer.extra."""
    folder.mkdir()
    for name, source in (beside or {}).items():
        (folder / name).write_text(source, encoding="utf-8")
    (folder / "main.py").write_text(text, encoding="utf-8")
    settings = {
        "data.corpus": f'"{corpus.folder}"',
        "train.steps": 12,
        "train.batch": 8,
        "train.micro_batch": 4,
        "train.eval_every": 6,
        "schedule.warmup_steps": 2,
        "model.layers": 2,
        "model.hidden": 32,
        "model.intermediate": 64,
        "model.seq_len": 32,
        **{f"optimizer.extra.{name}": value for name, value in extra.items()},
    }
    arguments = [part for k, v in settings.items() for part in ("--set", f"{k}={v}")]
    root = str(pathlib.Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "main.py", *arguments, "--out", "out", "--wandb", "off", "--quiet"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    document = json.loads((folder / "out" / "speedrun_results.json").read_text(encoding="utf-8"))
    info: dict[str, Any] = document["runs"][0]["run_info"]
    assert info["speedrun"]["validation"][-1][1] < info["speedrun"]["validation"][0][1] - 0.5
    return info


@pytest.mark.full("trains")
def test_starter_runs_as_it_is(backend_name: str, corpus: Corpus, tmp_path: pathlib.Path) -> None:
    info = run_starter(backend_name, starters.source(backend_name), corpus, tmp_path / "run")
    assert "main.py" in info["speedrun"]["code_sha256"]
    assert info["speedrun"]["track"] == "tutorial"
    log = (tmp_path / "run" / "out" / "log.txt").read_text(encoding="utf-8")
    assert log.startswith('"""A speedrun in one file') and "counted" not in log


@pytest.mark.full("trains")
def test_lion_and_a_gated_mlp_by_editing_one_file(
    backend_name: str, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    text = starters.source(backend_name)
    if backend_name == "torch":
        start, end = text.index("\nclass MLP("), text.index("\nclass Layer(")
        text = text[:start] + GATED + text[end + len("\nclass Layer(") :]
        text = text.replace("\nif __name__", LION)
    else:
        start, end = text.index("\ndef mlp("), text.index("\ndef make_losses(")
        text = text[:start] + JAX_GATED + text[end + len("\ndef make_losses(") :]
        up = 'f"layers.{i}.w_up": weight(m.intermediate, m.hidden),'
        assert up in text
        text = text.replace(up, up + up.replace("w_up", "w_gate"))
        text = text.replace("\nif __name__", JAX_LION)
    text = text.replace("SETTINGS: dict[str, object] = {", "SETTINGS = {'model.gated': True,")
    info = run_starter(backend_name, text, corpus, tmp_path / "run")
    from bot.compute.accounting import Transformer, parameter_count

    shape = Transformer(2, 32, 64, 4, 4, 8, 320, 32, gated=True, norm_weights=False)
    assert info["model_size"] == parameter_count(shape)
    assert "activation_function" in info["model_config"]


def test_starter_fills_in_track_author_and_description(tmp_path: pathlib.Path) -> None:
    path = starters.copy_starter(
        "torch", tmp_path / "new", track="tutorial-h100", author='A "B"', description="One idea"
    )
    text = path.read_text(encoding="utf-8")
    compile(text, "main.py", "exec")
    assert 'TRACK = "tutorial-h100"' in text and 'CONFIG = "tutorial-h100"' in text
    assert 'DESCRIPTION = "One idea"' in text and r'"name": "A \"B\""' in text
    with pytest.raises(FileExistsError):
        starters.copy_starter("torch", tmp_path / "new", track="tutorial")
    with pytest.raises(ValueError, match="torch, jax"):
        starters.copy_starter("tf", tmp_path / "other", track="tutorial")


def test_the_baseline_arm_is_the_unchanged_starter(tmp_path: pathlib.Path) -> None:
    """The trainer's own model has other kernels, and its usual one is gated and slower."""
    unchanged = configured("tiny", {}, "")({})
    kind = "torch" if importlib.util.find_spec("torch") else "jax"
    main = starters.copy_starter(kind, tmp_path / "mine", track="tutorial")
    arm = other_arm("baseline", main, kind, "tutorial", tmp_path / "copy")
    assert (
        arm.note
        == f"baseline arm: the {kind} starter as it is; no frozen baseline of tutorial is here"
    )
    assert (arm.config.model, arm.config.train) == (unchanged.model, unchanged.train)
    assert not arm.config.model.gated and load_config("tiny").model.gated
    assert arm.main is not None and arm.main.read_text() == main.read_text()


def test_a_starter_s_configuration_says_what_its_file_does() -> None:
    """The trainer's own model begins its branches at zero; a changed file may do so too."""
    mine = configured("gpt2-124m-muon", {}, "")({})
    assert (mine.model.zero_init, mine.optimizer.embed_lr) == (False, 0.0)
    assert mine.optimizer.lr == load_config("gpt2-124m-muon").optimizer.lr
    changed = {"model.zero_init": True, "optimizer.embed_lr": 0.01}
    mine = configured("gpt2-124m-muon", changed, "")({})
    assert (mine.model.zero_init, mine.optimizer.embed_lr) == (True, 0.01)


def freeze(root: pathlib.Path, name: str, **fields: object) -> pathlib.Path:
    """A frozen baseline of the tutorial whose code is the main.py of an entry."""
    place = f"submissions/tutorial/{name}"
    text = (root / place / "main.py").read_text()
    code = {"path": "main.py", "sha256": source_sha256(text), "settings": {"train.steps": 60}}
    made = {"id": name, "submission": place, "frozen_on": "2026-01-01", "after": None}
    path = root / f"tracks/baselines/tutorial/{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(made | {"code": code} | fields))
    return path


def test_the_baseline_arm_is_the_frozen_baseline_s_code_and_settings(
    tmp_path: pathlib.Path,
) -> None:
    kind = "torch" if importlib.util.find_spec("torch") else "jax"
    other = {"torch": "jax", "jax": "torch"}[kind]
    entries = tmp_path / "submissions/tutorial"
    mine = starters.copy_starter(kind, entries / "mine", track="tutorial")
    first = starters.copy_starter(other, entries / "baseline", track="tutorial")
    base = starters.copy_starter(kind, entries / "faster", track="tutorial")
    freeze(tmp_path, "baseline")
    with pytest.raises(ConfigError, match=f"is written in {other} and main.py in {kind}"):
        other_arm("baseline", mine, kind, "tutorial", tmp_path / "copy")
    kept = freeze(tmp_path, "faster", after="baseline")
    for name in ("baseline", str(kept)):
        arm = other_arm(name, mine, kind, "tutorial", tmp_path / "copy")
        assert (arm.main, arm.config.train.steps) == (base.resolve(), 60)
        assert "with train.steps=60 as its runs recorded" in arm.note
    assert arm.config.train.batch == load_config("tiny").train.batch
    with pytest.raises(ConfigError, match=f"is written in {kind} and main.py in {other}"):
        other_arm("baseline", first, other, "tutorial", tmp_path / "copy")


def test_a_frozen_baseline_that_cannot_be_run_is_refused(tmp_path: pathlib.Path) -> None:
    kind = "torch" if importlib.util.find_spec("torch") else "jax"
    main = starters.copy_starter(kind, tmp_path / "submissions/tutorial/base", track="tutorial")

    def arm(**fields: object) -> None:
        freeze(tmp_path, "base", **fields)
        other_arm("baseline", main, kind, "tutorial", tmp_path / "copy")

    arm()
    with pytest.raises(
        ConfigError, match="frozen without code that can be run.* --interleave FILE.py"
    ):
        arm(code=None)
    code = {"path": "main.py", "sha256": "0" * 64, "settings": {}}
    with pytest.raises(ConfigError, match="is not what it was when the baseline base"):
        arm(code=code)
    code["sha256"] = source_sha256(main.read_text())
    with pytest.raises(ConfigError, match='cannot be run as it was frozen.*"train.stride"'):
        arm(code=code | {"settings": {"train.stride": 3}})


def test_any_starter_file_may_be_the_other_arm(tmp_path: pathlib.Path) -> None:
    main = tmp_path / "main.py"
    with pytest.raises(ConfigError, match="none.py is missing.*name a starter file"):
        other_arm(str(tmp_path / "none.py"), main, "jax", "tutorial", tmp_path)
    (tmp_path / "plain.py").write_text("print(1)")
    with pytest.raises(ConfigError, match="is not a starter file"):
        other_arm(str(tmp_path / "plain.py"), main, "jax", "tutorial", tmp_path)
    assert other_arm("tiny", main, "jax", "tutorial", tmp_path).config == load_config("tiny")


def test_a_starter_s_settings_are_read_from_its_text() -> None:
    text = starters.source("jax")
    plain = stated(text)
    assert plain is not None and (plain["train.steps"], plain["model.gated"]) == (80, False)
    shorter = stated(text.replace('# "train.steps": 100', '"train.steps": 60'))
    assert shorter == plain | {"train.steps": 60}
    assert stated(text.replace('# "train.steps": 100', '"train.steps": 6 * 10')) is None
    assert stated(text + '\nSETTINGS["train.steps"] = 60\n') is None
    assert stated("import torch\n") is None
