"""A stranger's optimizer: one file of at most 30 lines beside the starter, swept by `--set`; the
results state what ran. Averages to validate with, and a second evaluation of the loss."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

from bot.compute.accounting import parameter_count
from reference_trainer import starters
from reference_trainer.cli import make_backend
from reference_trainer.config import Config, load_config, parse_config
from reference_trainer.errors import ConfigError, TrainerError
from reference_trainer.recorded import Recorded
from reference_trainer.shards import Corpus
from tests.reference_trainer.conftest import need
from tests.reference_trainer.test_starters import run_starter

LION = {
    "torch": """\
import torch


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr, beta1, beta2):
        super().__init__(params, {"lr": lr, "betas": (beta1, beta2)})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            (b1, b2), lr = group["betas"], group["lr"]
            for p in group["params"]:
                m = self.state[p].setdefault("momentum", torch.zeros_like(p))
                p.sub_(lr * torch.sign(b1 * m + (1 - b1) * p.grad))
                m.mul_(b2).add_(p.grad, alpha=1 - b2)


def optimizers(named, config, dtype, fused):
    extra = config.optimizer.extra
    return [Lion(list(named.values()), extra["lr"], extra.get("beta1", 0.9), 0.99)]
""",
    "jax": """\
import jax
import jax.numpy as jnp

from reference_trainer import starter


def lion(config, dtype):
    extra = config.optimizer.extra

    def init(params):
        return {"momentum": {n: jnp.zeros_like(p) for n, p in params.items()}}

    def update(grads, state, params, multiplier):
        lr, b1, b2 = extra["lr"] * multiplier, extra.get("beta1", 0.9), 0.99
        step = lambda p, m, g: p - lr * jnp.sign(b1 * m + (1 - b1) * g)
        moved = jax.tree.map(lambda m, g: b2 * m + (1 - b2) * g, state["momentum"], grads)
        return jax.tree.map(step, params, state["momentum"], grads), {"momentum": moved}

    return starter.Optimizer(init, update)
""",
}

# Sophia-G: every tenth step a second evaluation on labels that the model draws (arxiv 2305.14342).
SOPHIA = {
    "torch": """\
import torch


class Sophia(torch.optim.Optimizer):
    second = True

    def __init__(self, params, lr, rho, every):
        super().__init__(params, {"lr": lr, "rho": rho, "every": every})
        self.count = 0

    @torch.no_grad()
    def step(self, closure):
        group, lr = self.param_groups[0], self.param_groups[0]["lr"]
        grads = [p.grad for p in group["params"]]
        if self.count % group["every"] == 0:
            closure(sampled=True)
            for p in group["params"]:
                h = self.state[p].setdefault("h", torch.zeros_like(p))
                h.mul_(0.99).add_(p.grad.square(), alpha=0.01)
        self.count += 1
        for p, g in zip(group["params"], grads, strict=True):
            m = self.state[p].setdefault("m", torch.zeros_like(p)).mul_(0.96).add_(g, alpha=0.04)
            p.sub_(lr * (m / (group["rho"] * self.state[p]["h"] + 1e-12)).clamp(-1, 1))


def optimizers(named, config, dtype, fused):
    extra = config.optimizer.extra
    return [Sophia(list(named.values()), extra["lr"], extra["rho"], extra.get("every", 10))]
""",
    "jax": """\
import jax
import jax.numpy as jnp

from reference_trainer import starter


def sophia(config, dtype):
    extra, tree = config.optimizer.extra, jax.tree.map

    def init(params):
        zeros = tree(jnp.zeros_like, params)
        return {"count": jnp.zeros((), jnp.int32), "m": zeros, "h": zeros}

    def update(grads, state, params, multiplier, gradients):
        def estimate(h):
            key = jax.random.fold_in(jax.random.key(0), state["count"])
            return tree(lambda h, g: 0.99 * h + 0.01 * g * g, h, gradients(params, key)[1])

        due = state["count"] % extra.get("every", 10) == 0
        h = jax.lax.cond(due, estimate, lambda h: h, state["h"])
        m = tree(lambda m, g: 0.96 * m + 0.04 * g, state["m"], grads)
        lr, rho = extra["lr"] * multiplier, extra["rho"]
        step = lambda p, m, h: p - lr * jnp.clip(m / (rho * h + 1e-12), -1, 1)
        return tree(step, params, m, h), {"count": state["count"] + 1, "m": m, "h": h}

    return starter.Optimizer(init, update, second=True)
""",
}


def plug_in(kind: str, module: str, function: str) -> str:
    """The starter with the optimizer of another file: two lines changed."""
    text = starters.source(kind)
    changed = text.replace(
        "from reference_trainer import starter",
        f"from {module} import {function}\nfrom reference_trainer import starter",
    )
    if kind == "torch":
        return changed.replace("def optimizers(", "def unused(")
    return changed.replace("        muon,\n", f"        {function},\n")


@pytest.mark.parametrize("name", ["lion", "sophia"])
@pytest.mark.full("trains three times")
def test_an_optimizer_in_one_file_is_swept_by_set(
    name: str, backend_name: str, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    source = {"lion": LION, "sophia": SOPHIA}[name][backend_name]
    assert len(source.splitlines()) <= 30
    function = "optimizers" if backend_name == "torch" else name
    text, losses = plug_in(backend_name, name, function), []
    fixed = {"lion": {}, "sophia": {"rho": 0.05, "every": 4}}[name]
    for lr in (0.001, 0.003):
        folder = tmp_path / f"lr{lr}"
        info = run_starter(
            backend_name, text, corpus, folder, {f"{name}.py": source}, lr=lr, **fixed
        )
        ran = info["train_config"]["optimizer_config"]
        assert ran["name"].lower() == name
        (settings,) = ran["optimizers"]
        prefix = "" if backend_name == "torch" else "extra."
        assert settings[f"{prefix}lr"] == lr and settings["parameters"] == info["model_size"]
        assert "muon_lr" not in str(ran)
        assert {"main.py", f"{name}.py"} <= set(info["speedrun"]["code_sha256"])
        losses.append(info["eval/loss"])
    assert losses[0] != losses[1]


def test_a_setting_that_nothing_reads_is_refused(small: Config) -> None:
    settings: Any = Recorded(load_config("tiny", {"optimizer.extra.ro": "1"}).optimizer)
    settings.extra.get("rho", 0.1)
    with pytest.raises(ConfigError, match=r"optimizer.extra.ro is .* it reads optimizer.extra.rho"):
        settings.check_all_read()
    with pytest.raises(ConfigError, match=r"needs optimizer.extra.alpha; pass it with --set"):
        settings.extra["alpha"]
    settings.extra["ro"]
    settings.check_all_read()


def test_the_reference_optimizer_is_stated_as_it_ran(small: Config, backend_name: str) -> None:
    facts = make_backend(backend_name)(small, 0).optimizer_facts
    expected = parameter_count(small.model.transformer())
    assert facts["name"] == {"torch": "AdamW + Muon", "jax": "muon"}[backend_name]
    assert sum(item["parameters"] for item in facts["optimizers"]) == expected
    stated = {k: v for item in facts["optimizers"] for k, v in item.items()}
    assert stated["newton_schulz_steps"] == small.optimizer.newton_schulz_steps


# ---- hooks of the engines ------------------------------------------------------------------------


def rows(config: Config, seed: int = 0) -> np.ndarray:
    shape = (config.train.batch, config.model.seq_len + 1)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.int32)


def test_torch_validates_with_an_average_and_trains_on(small: Config) -> None:
    need("torch")
    import torch

    from reference_trainer.torch_backend.engine import TorchBackend

    class Averaged(torch.optim.SGD):
        """Validates with zeros, as an average would be other numbers."""

        def eval(self) -> None:
            self.kept = [p.detach().clone() for p in self.param_groups[0]["params"]]
            for p in self.param_groups[0]["params"]:
                p.data.zero_()

        def train(self) -> None:
            for p, kept in zip(self.param_groups[0]["params"], self.kept, strict=True):
                p.data.copy_(kept)

    def build(named: Any, *rest: Any) -> list[Any]:
        return [Averaged(named.values(), lr=0.0)]

    backend = TorchBackend(small, 0, build_optimizers=build)
    batch = rows(small)
    before = backend.train_step(batch, 1.0)()
    count = small.train.batch * small.model.seq_len
    nats = backend.evaluate(batch, np.ones((8, small.model.seq_len), np.float32))()
    assert nats / count == pytest.approx(np.log(small.model.vocab), rel=1e-6)
    assert np.abs(dict(backend.state())["param/head"].values).max() > 0
    assert backend.train_step(batch, 1.0)() == pytest.approx(before)


def test_torch_second_evaluation_gives_the_gradients_where_the_parameters_are(
    small: Config,
) -> None:
    need("torch")
    import torch

    from reference_trainer.torch_backend.engine import TorchBackend

    seen: list[float] = []

    class Moves(torch.optim.SGD):
        second = True

        @torch.no_grad()
        def step(self, closure: Any = None) -> None:
            head = self.param_groups[0]["params"][0]
            first = head.grad.clone()
            head.zero_()
            seen.append(float(closure()))
            assert not torch.equal(head.grad, first)

    head_first = lambda named: sorted(named, key=lambda name: name != "head")  # noqa: E731
    build = lambda named, *rest: [Moves([named[n] for n in head_first(named)], lr=0.1)]  # noqa: E731
    backend = TorchBackend(small, 0, build_optimizers=build)
    backend.train_step(rows(small), 1.0)
    assert seen[0] == pytest.approx(np.log(small.model.vocab), rel=1e-6)
    two = lambda named, *rest: [Moves([p], lr=0.1) for p in named.values()]  # noqa: E731
    with pytest.raises(TrainerError, match="both evaluate the loss again"):
        TorchBackend(small, 0, build_optimizers=two)


@pytest.mark.full("compiles")
def test_jax_hooks_evaluate_elsewhere(small: Config) -> None:
    need("jax")
    import jax.numpy as jnp

    from reference_trainer.jax_backend.engine import JaxBackend
    from reference_trainer.recorded import Optimizer

    def moves(config: Config, dtype: Any) -> Optimizer:
        def init(params: Any) -> Any:
            return {"loss": jnp.zeros(())}

        def update(grads: Any, state: Any, params: Any, rate: Any, gradients: Any) -> Any:
            loss, _ = gradients({**params, "head": jnp.zeros_like(params["head"])})
            return params, {"loss": loss}

        def evaluated(params: Any, state: Any) -> Any:
            return {**params, "head": jnp.zeros_like(params["head"])}

        return Optimizer(init, update, evaluated, second=True)

    backend = JaxBackend(small, 0, make_optimizer=moves)
    batch = rows(small)
    backend.train_step(batch, 1.0)()
    expected = np.log(small.model.vocab)
    assert float(dict(backend.state())["optimizer/loss"].values) == pytest.approx(
        expected, rel=1e-5
    )
    nats = backend.evaluate(batch, np.ones((8, small.model.seq_len), np.float32))()
    assert nats / (8 * small.model.seq_len) == pytest.approx(expected, rel=1e-5)
    assert np.abs(dict(backend.state())["param/head"].values).max() > 0


# ---- ranges --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "near"),
    [
        ("train.log_every", 0, 1),
        ("optimizer.beta1", 1.0, 0.999),
        ("optimizer.lr", -0.1, 0.0),
        ("optimizer.eps", "nan", 0.0),
        ("optimizer.lr", "inf", 1.0),
        ("schedule.decay_fraction", 0.0, 1.0),
        ("schedule.min_ratio", 1.5, 1.0),
        ("schedule.warmup_steps", -1, 0),
        ("model.rope_theta", 1.0, 1.5),
        ("model.kv_heads", -4, 4),
        ("model.init_std", -0.02, 0.0),
        ("data.val_tokens", -1, 1),
        ("train.steps", 10**12, 10**9),
        ("optimizer.newton_schulz_steps", 0, 1),
    ],
)
def test_every_value_outside_its_range_is_refused(key: str, value: Any, near: Any) -> None:
    with pytest.raises(ConfigError, match=rf"{key} is .*expected (at least|above)"):
        load_config("tiny", {key: str(value)})
    load_config("tiny", {key: str(near)})


def test_every_number_has_a_range() -> None:
    import dataclasses as dc

    from reference_trainer.config import SECTIONS

    for section, kind in SECTIONS.items():
        for field in dc.fields(kind):
            ranged = hasattr(field.type, "__metadata__")
            assert ranged or field.type in (bool,) or field.name in ("corpus", "extra"), (
                section,
                field.name,
            )
    with pytest.raises(ConfigError, match="optimizer.extra is 3, expected a table"):
        parse_config({"optimizer": {"extra": 3}}, "x")
