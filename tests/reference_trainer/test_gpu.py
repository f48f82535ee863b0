"""What only a CUDA device can show; everywhere else these are skipped. With one:

JAX_PLATFORMS=cuda,cpu python -m pytest tests/reference_trainer/test_gpu.py
"""

from __future__ import annotations

import dataclasses as dc
import importlib.util
import pathlib
from typing import Any

import numpy as np
import pytest

from reference_trainer import checkpoint
from reference_trainer.cli import make_backend
from reference_trainer.config import Config
from reference_trainer.loop import train
from reference_trainer.outputs import Job
from reference_trainer.shards import Corpus, TrainingBatches
from reference_trainer.storage import LocalFolder


def on_cuda(package: str) -> bool:
    if importlib.util.find_spec(package) is None:
        return False
    if package == "torch":
        import torch

        return bool(torch.cuda.is_available())
    import jax

    return jax.default_backend() == "gpu"


@pytest.fixture(params=["torch", "jax"])
def cuda_backend(request: pytest.FixtureRequest) -> str:
    if not on_cuda(request.param):
        pytest.skip(f"wide: needs a CUDA device that {request.param} can use")
    return str(request.param)


@pytest.fixture
def middle(small: Config) -> Config:
    """Heads of 64 on sequences of 128: the smallest that the fast attention kernels take."""
    return dc.replace(
        small,
        model=dc.replace(
            small.model, hidden=256, heads=4, kv_heads=4, intermediate=512, seq_len=128
        ),
        train=dc.replace(small.train, steps=50, eval_every=25, compile=True),
    )


def run(config: Config, corpus: Corpus, out: pathlib.Path, name: str, **more: Any) -> list[float]:
    """The validation losses of a run."""
    job = Job(config=config, corpus=corpus, out=out, wandb="off", quiet=True, **more)
    document = train(job, make_backend(name))
    return [point[1] for point in document["runs"][0]["run_info"]["speedrun"]["validation"]]


def test_fp16_with_loss_scaling_learns_as_bf16_does(
    middle: Config, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    """As on a card without bf16; the first steps may overflow and are then left out."""
    if not on_cuda("torch"):
        pytest.skip("wide: needs a CUDA device that torch can use")
    curves = {}
    for precision in ("fp16", "bf16"):
        timed = dc.replace(middle.train, precision=precision, checkpoint_every=50)
        config = dc.replace(middle, train=timed)
        curves[precision] = run(config, corpus, tmp_path / precision, "torch")
        assert curves[precision][-1] < curves[precision][0] - 2.0
    assert curves["fp16"][-1] == pytest.approx(curves["bf16"][-1], abs=0.3)
    state, _ = checkpoint.load(LocalFolder(tmp_path / "fp16"), 50)
    assert state["scale"][0] >= 1.0
    log = (tmp_path / "fp16" / "log.txt").read_text(encoding="utf-8")
    assert "fp16" in log


def test_loss_falls_and_the_peak_is_known(
    cuda_backend: str, middle: Config, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    curve = run(middle, corpus, tmp_path, cuda_backend)
    assert curve[-1] < curve[0] - 2.0
    backend = make_backend(cuda_backend)(middle, 0)
    assert backend.device.accelerator is not None and backend.device.precision == "bf16"
    assert backend.device.utilisation(1e12, 1.0) is not None


def test_resuming_stays_on_the_curve(
    cuda_backend: str, middle: Config, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    """Not bit by bit here: kernels of a GPU add in no fixed order."""
    config = dc.replace(middle, train=dc.replace(middle.train, checkpoint_every=25))
    whole = run(config, corpus, tmp_path, cuda_backend)
    LocalFolder(tmp_path).remove("checkpoints/step-00000050")
    LocalFolder(tmp_path).remove("speedrun_results.json")
    resumed = run(config, corpus, tmp_path, cuda_backend, resume=True)
    assert resumed[:2] == whole[:2]
    assert resumed[-1] == pytest.approx(whole[-1], abs=0.05)


def test_bf16_losses_agree_with_float32(cuda_backend: str, middle: Config, corpus: Corpus) -> None:
    rows = TrainingBatches(corpus.train, middle.model.seq_len, 8, "shuffled", 0)(0)
    found = []
    for precision in ("bf16", "fp32"):
        config = dc.replace(middle, train=dc.replace(middle.train, precision=precision))
        found.append(make_backend(cuda_backend)(config, 0).train_step(rows, 1.0)())
    assert np.isfinite(found).all()
    assert found[0] == pytest.approx(found[1], rel=5e-3)


def test_attention_ends_at_documents_in_the_fast_kernels(cuda_backend: str, middle: Config) -> None:
    """Losses with documents apart are those of float32, and not those across documents."""
    end, T = 256, middle.model.seq_len
    middle = dc.replace(middle, model=dc.replace(middle.model, init_std=0.2))
    apart = dc.replace(middle, model=dc.replace(middle.model, document_end=end))
    rows = np.random.default_rng(0).integers(0, 256, (8, T + 1), dtype=np.int32)
    rows[:, [40, 80]] = end
    nats = {}
    for name, config in (("bf16", apart), ("fp32", apart), ("across", middle)):
        precision = "fp32" if name == "fp32" else "bf16"
        config = dc.replace(config, train=dc.replace(config.train, precision=precision))
        backend = make_backend(cuda_backend)(config, 0)
        nats[name] = backend.evaluate(rows, np.ones((8, T), np.float32))()
        assert np.isfinite(backend.train_step(rows, 1.0)())
    assert nats["bf16"] == pytest.approx(nats["fp32"], rel=5e-3)
    assert abs(nats["across"] - nats["bf16"]) > 3 * abs(nats["bf16"] - nats["fp32"])


# ---- 8 bits and our own kernels ------------------------------------------------------------------


def need_cuda_torch() -> Any:
    if not on_cuda("torch"):
        pytest.skip("wide: needs a CUDA device that torch can use")
    import torch

    return torch


@pytest.mark.parametrize(("tokens", "width", "hidden"), [(1000, 328, 520), (4096, 768, 3072)])
def test_kernels_compute_the_squared_mlp(tokens: int, width: int, hidden: int) -> None:
    """Against float64; the first size fills no tile."""
    torch = need_cuda_torch()
    from reference_trainer.torch_backend.mlp import fused, squared_mlp

    torch.manual_seed(0)
    shapes = ((tokens, width), (hidden, width), (width, hidden), (tokens, width))
    values = [torch.randn(shape, device="cuda") for shape in shapes]
    scaled = [value * shape[1] ** -0.5 for value, shape in zip(values, shapes, strict=True)]
    x, up, down, dy = (value.bfloat16() for value in scaled)
    assert (fused(x, up) is not None) == (torch.cuda.get_device_capability() >= (9, 0))
    exact = [value.double().requires_grad_() for value in (x, up, down)]
    expected = (exact[0] @ exact[1].t()).relu().square() @ exact[2].t()
    expected.backward(dy.double())
    ours = [value.requires_grad_() for value in (x, up.float(), down.float())]
    found = squared_mlp(*ours)
    found.backward(dy)
    assert off(found.detach(), expected.detach()) < 1e-2
    for mine, theirs in zip(ours, exact, strict=True):
        assert mine.grad is not None and theirs.grad is not None
        assert off(mine.grad, theirs.grad) < 1e-2


@pytest.mark.parametrize(("tokens", "width", "hidden"), [(1000, 328, 520), (4096, 768, 3072)])
def test_kernels_of_jax_compute_the_squared_mlp(tokens: int, width: int, hidden: int) -> None:
    """Against float64; the kernel takes the second size alone."""
    if not on_cuda("jax"):
        pytest.skip("wide: needs a CUDA device that jax can use")
    import jax
    import jax.numpy as jnp

    from reference_trainer.jax_backend.mlp import programs, squared_mlp

    hopper = jax.devices()[0].compute_capability == "9.0"
    assert (programs() > 0) == hopper
    shapes = ((tokens, width), (hidden, width), (width, hidden), (tokens, width))
    rng = np.random.default_rng(0)
    values = [jnp.asarray(rng.standard_normal(s) * s[1] ** -0.5, jnp.bfloat16) for s in shapes]
    x, up, down, dy = (np.asarray(value, np.float64) for value in values)
    compiled = jax.jit(lambda *given: jax.vjp(squared_mlp, *given[:3])[1](given[3]))
    given = [values[0], *(v.astype(jnp.float32) for v in values[1:3]), values[3]]
    assert ("mosaic_gpu" in compiled.lower(*given).as_text()) == (hopper and tokens == 4096)
    product = np.maximum(x @ up.T, 0)
    d = 2 * (dy @ down) * product
    for mine, exact in zip(compiled(*given), (d @ up, d.T @ x, dy.T @ product**2), strict=True):
        difference = np.asarray(mine, np.float64) - exact
        assert np.linalg.norm(difference) < 1e-2 * np.linalg.norm(exact)
    y = np.asarray(jax.jit(squared_mlp)(*given[:3]), np.float64)
    exact = product**2 @ down.T
    assert np.linalg.norm(y - exact) < 1e-2 * np.linalg.norm(exact)


@pytest.mark.parametrize(("tokens", "vocab"), [(100, 320), (4096, 50304)])
def test_kernels_compute_cross_entropy(tokens: int, vocab: int) -> None:
    """Against float64; the second size has more than one tile each way."""
    torch = need_cuda_torch()
    from reference_trainer.torch_backend import kernels

    torch.manual_seed(0)
    logits = (4 * torch.randn(tokens, vocab, device="cuda")).bfloat16()
    targets = torch.randint(0, vocab, (tokens,), device="cuda")
    weights = torch.rand(tokens, device="cuda")
    exact = logits.double().requires_grad_()
    expected = torch.nn.functional.cross_entropy(exact, targets, reduction="none")
    (expected * weights).sum().backward()
    found, log_sums = kernels.losses(logits, targets)
    assert off(found, expected.detach()) < 1e-6
    assert exact.grad is not None
    arguments = (logits, log_sums, targets)
    assert off(kernels.gradient(*arguments, weights, torch.bfloat16), exact.grad) < 4e-3
    scaled = kernels.gradient(*arguments, weights * 57344, torch.float8_e5m2)
    assert off(scaled.float() / 57344, exact.grad) < 0.08
    assert torch.equal(kernels.turn(scaled).float(), scaled.float().t())


def off(found: Any, expected: Any) -> float:
    """The norm of the difference over the norm of what is expected."""
    return float((found.double() - expected.double()).norm() / expected.double().norm())


def test_fp8_learns_as_bf16_does(
    cuda_backend: str, middle: Config, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    if not has_fp8():
        pytest.skip("wide: needs a GPU that multiplies in fp8 (Ada, Hopper or later)")
    curves = {}
    for precision in ("fp8", "bf16"):
        config = dc.replace(middle, train=dc.replace(middle.train, precision=precision))
        curves[precision] = run(config, corpus, tmp_path / precision, cuda_backend)
    assert curves["fp8"][0] == pytest.approx(curves["bf16"][0], abs=1e-3)  # both in bf16
    assert curves["fp8"][-1] == pytest.approx(curves["bf16"][-1], abs=0.1)
    log = (tmp_path / "fp8" / "log.txt").read_text(encoding="utf-8")
    assert "fp8 for MLP and head in training, bf16 elsewhere" in log


def has_fp8() -> bool:
    torch = need_cuda_torch()
    return bool(torch.cuda.get_device_capability() >= (8, 9))
