"""Cross entropy and fp8: against float64, against each other, and what a run says of them.

Everything here runs on a CPU, through the functions that a GPU runs; the CPU multiplies 8-bit
numbers by converting them. The kernels of a GPU are compared in test_gpu.
"""

from __future__ import annotations

import dataclasses as dc
import pathlib
from typing import Any

import numpy as np
import pytest

from bot.compute import accounting
from reference_trainer import checkpoint, devices
from reference_trainer.backends import make_backend
from reference_trainer.config import Config, load_config
from reference_trainer.errors import TrainerError
from reference_trainer.loop import train
from reference_trainer.shards import Corpus, TrainingBatches
from reference_trainer.storage import LocalFolder
from tests.reference_trainer.conftest import job, need, with_

N, D, V = 96, 32, 320


def random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def exact(logits: np.ndarray, targets: np.ndarray, g: np.ndarray) -> tuple[Any, Any]:
    """Losses and the gradient of their weighted sum, in float64."""
    top = logits.max(-1, keepdims=True)
    log_sum = np.log(np.exp(logits - top).sum(-1, keepdims=True)) + top
    rows = np.arange(len(targets))
    gradient = np.exp(logits - log_sum)
    gradient[rows, targets] -= 1
    return log_sum[:, 0] - logits[rows, targets], gradient * g[:, None]


def off(found: Any, expected: np.ndarray) -> float:
    """The norm of the difference over the norm of what is expected."""
    difference = np.asarray(found, np.float64) - expected
    return float(np.linalg.norm(difference) / np.linalg.norm(expected))


# ---- cross entropy -------------------------------------------------------------------------------


def cross_entropy(name: str, kind: str, logits: np.ndarray, targets: np.ndarray, g: Any) -> Any:
    """Losses, their gradient and the logits as they were in `kind`, by a backend's function."""
    need(name)
    if name == "torch":
        import torch

        from reference_trainer.torch_backend.head import cross_entropy as function

        x = torch.tensor(logits, dtype=getattr(torch, kind), requires_grad=True)
        losses = function(x, torch.from_numpy(targets))
        losses.backward(torch.from_numpy(g).float())
        assert x.grad is not None and x.grad.dtype == x.dtype
        return losses.detach().numpy(), x.grad.double().numpy(), x.detach().double().numpy()
    import jax
    import jax.numpy as jnp

    from reference_trainer.jax_backend.head import cross_entropy as jax_function

    y = jnp.asarray(logits, kind)[None]
    losses, back = jax.vjp(lambda z: jax_function(z, targets[None]), y)
    (gradient,) = back(jnp.asarray(g, jnp.float32)[None])
    assert gradient.dtype == y.dtype
    return tuple(np.asarray(a[0], np.float64) for a in (losses, gradient, y))


@pytest.mark.parametrize(("kind", "tolerance"), [("float32", 1e-6), ("bfloat16", 4e-3)])
def test_cross_entropy_and_its_gradient_are_exact(
    backend_name: str, kind: str, tolerance: float
) -> None:
    """float32: both to 1e-6. bfloat16: losses still to 1e-6, the gradient is rounded once."""
    logits, targets = 4 * random(0, N, V), np.random.default_rng(1).integers(0, V, N)
    g = np.abs(random(2, N)).astype(np.float32)
    g[3] = 0
    losses, gradient, given = cross_entropy(backend_name, kind, logits, targets, g)
    expected_losses, expected_gradient = exact(given, targets, g)
    assert off(losses, expected_losses) < 1e-6
    assert off(gradient, expected_gradient) < tolerance
    assert not gradient[3].any()


def test_cross_entropy_of_large_logits_is_finite(backend_name: str) -> None:
    logits = 1e4 * np.eye(4, 64)
    targets, g = np.array([0, 1, 2, 9]), np.ones(4, np.float32)
    losses, gradient, _ = cross_entropy(backend_name, "float32", logits, targets, g)
    assert losses[:3] == pytest.approx([0, 0, 0]) and losses[3] == pytest.approx(1e4)
    assert np.isfinite(gradient).all()


# ---- the MLP with a squared ReLU -----------------------------------------------------------------

F = 64


def mlp(x: np.ndarray, up: np.ndarray, down: np.ndarray, dy: np.ndarray) -> tuple[Any, ...]:
    """The output, and the gradients of x and of both weights, in float64."""
    product = x @ up.T
    hidden = np.maximum(product, 0) ** 2
    d = (dy @ down) * 2 * np.maximum(product, 0)
    return hidden @ down.T, d @ up, d.T @ x, dy.T @ hidden


def squared_mlp(name: str, *values: np.ndarray) -> tuple[Any, ...]:
    """The same by a backend's function, in float32."""
    if name == "torch":
        import torch

        from reference_trainer.torch_backend.mlp import squared_mlp as torch_function

        x, up, down, dy = (torch.tensor(value).float() for value in values)
        given = [value.requires_grad_() for value in (x, up, down)]
        y = torch_function(*given)
        y.backward(dy)
        return tuple(t.detach().numpy() for t in (y, *(value.grad for value in given)))
    import jax
    import jax.numpy as jnp

    from reference_trainer.jax_backend.mlp import squared_mlp as jax_function

    y, back = jax.vjp(jax_function, *(jnp.asarray(value, jnp.float32) for value in values[:3]))
    return (y, *back(jnp.asarray(values[3], jnp.float32)))


def test_the_squared_mlp_and_its_gradients_are_exact(backend_name: str) -> None:
    need(backend_name)
    values = random(0, N, D), random(1, F, D), random(2, D, F), random(3, N, D)
    for mine, exactly in zip(squared_mlp(backend_name, *values), mlp(*values), strict=True):
        assert off(mine, exactly) < 1e-6


def test_the_kernel_for_hopper_squares_a_product_and_multiplies_by_the_slope() -> None:
    """Interpreted here, with more tiles than programs; `test_gpu` runs it."""
    need("jax")
    pytest.importorskip("absl", reason="absl is not installed; make test-full installs it")
    import jax.numpy as jnp
    from jax._src.pallas.mosaic_gpu.interpret import params

    from reference_trainer.jax_backend import kernels

    a, b = (jnp.asarray(random(i, *s), jnp.bfloat16) for i, s in enumerate(((256, 64), (64, 256))))
    hidden = jnp.asarray(np.abs(random(2, 256, 256)), jnp.bfloat16)
    with params.force_gpu_interpret_mode(params.InterpretGPUParams()):
        squares = kernels.squared_product(a, b, None, programs=1)
        gradient = kernels.squared_product(a, b, hidden, programs=1)
    product = np.asarray(a, np.float64) @ np.asarray(b, np.float64)
    assert off(squares, np.maximum(product, 0) ** 2) < 3e-3
    assert off(gradient, product * 2 * np.sqrt(np.asarray(hidden, np.float64))) < 3e-3
    assert kernels.takes(256, 64, 256) and not kernels.takes(256, 64, 320)


# ---- products in 8 bits --------------------------------------------------------------------------


def test_quantised_values_are_near_and_cut_at_the_bound() -> None:
    need("torch")
    import torch

    from reference_trainer.torch_backend import fp8

    x = torch.tensor(random(0, 1000)).float()
    for dtype, step in ((fp8.E4M3, 2**-4), (fp8.E5M2, 2**-3)):
        found = fp8.quantise(x, x.abs().max(), dtype)
        back = found.values.double() * found.factor
        assert ((back - x).abs() <= step * x.abs() + 1e-4).all()
    cut = fp8.quantise(x, torch.tensor(0.5), fp8.E4M3)
    assert (cut.values.float() * cut.factor).abs().max() == pytest.approx(0.5)
    nothing = fp8.quantise(torch.zeros(4), torch.tensor(0.0), fp8.E4M3)
    assert (nothing.values.float() == 0).all() and torch.isfinite(nothing.factor)


def products(name: str, x: np.ndarray, w: np.ndarray, dy: np.ndarray) -> tuple[Any, ...]:
    """x with w in 8 bits and both gradients, by a backend's function."""
    bound = np.float32(np.abs(x).max())
    if name == "torch":
        import torch

        from reference_trainer.torch_backend import fp8

        xs = torch.tensor(x).bfloat16().requires_grad_()
        ws = torch.tensor(w).float().requires_grad_()
        y = fp8.linear(xs, ws, torch.tensor(bound))
        y.backward(torch.tensor(dy).bfloat16())
        assert xs.grad is not None and ws.grad is not None
        return tuple(t.detach().double().numpy() for t in (y, xs.grad, ws.grad))
    import jax
    import jax.numpy as jnp

    from reference_trainer.jax_backend import fp8 as jax_fp8

    arguments = jnp.asarray(x, jnp.bfloat16)[None], jnp.asarray(w, jnp.float32), jnp.asarray(bound)
    y, back = jax.vjp(jax_fp8.linear, *arguments)
    dx, dw, _ = back(jnp.asarray(dy, jnp.bfloat16)[None])
    return tuple(np.asarray(a, np.float64).reshape(-1, a.shape[-1]) for a in (y, dx, dw))


def test_a_product_in_8_bits_is_near_the_exact_one(backend_name: str) -> None:
    """Operands carry errors of up to 2^-4 (e4m3), gradients of up to 2^-3 (e5m2)."""
    need(backend_name)
    x, w, dy = random(0, N, D), random(1, 48, D), 1e-6 * random(2, N, 48)
    y, dx, dw = products(backend_name, x, w, dy)
    assert 0.01 < off(y, x @ w.T) < 0.06
    assert off(dx, dy @ w) < 0.08 and off(dw, dy.T @ x) < 0.08


def test_both_backends_multiply_alike() -> None:
    """The same roundings: what differs is the order of sums and rounding to bf16."""
    need("torch")
    need("jax")
    x, w, dy = random(0, N, D), random(1, 48, D), random(2, N, 48)
    pairs = zip(products("torch", x, w, dy), products("jax", x, w, dy), strict=True)
    assert all(off(ours, theirs) < 3e-3 for ours, theirs in pairs)


@pytest.mark.parametrize("change", [{"gated": False, "norm_weights": False}, {"tied": True}])
@pytest.mark.full("compiles four times")
def test_fp8_losses_and_gradients_are_near_float32(
    change: dict[str, Any], backend_name: str, small: Config, corpus: Corpus
) -> None:
    need(backend_name)
    config = dc.replace(small, model=dc.replace(small.model, **change))
    rows = TrainingBatches(corpus.train, config.model.seq_len, 8, "shuffled", 0)(0)
    found = {}
    for precision in ("fp8", "fp32"):
        found[precision] = first_step(backend_name, with_(config, precision=precision), rows)
    (loss, gradients), (expected, exact_gradients) = found["fp8"], found["fp32"]
    assert loss == pytest.approx(expected, rel=1e-3) and loss != expected
    for name, gradient in exact_gradients.items():
        # Single rows of a small batch carry the roundings of a few tokens.
        assert off(gradients[name], gradient) < 0.25, name


def first_step(name: str, config: Config, rows: np.ndarray) -> tuple[float, dict[str, Any]]:
    """Loss and gradients of the matrices, read from the mean that AdamW keeps after one step."""
    adamw = dc.replace(config.optimizer, name="adamw", clip_norm=0.0)
    backend = make_backend(name)(dc.replace(config, optimizer=adamw), 0)
    loss = backend.train_step(rows, 0.0)()
    state = {key: block.values for key, block in backend.state()}
    if name == "jax":
        keys = {k.removeprefix("optimizer/mean/"): v for k, v in state.items() if "/mean/" in k}
        return loss, {k: v for k, v in keys.items() if v.ndim == 2}
    names = [n for n, p in backend.named.items() if p.ndim == 2]
    return loss, {n: state[f"optimizer.0/{i}/exp_avg"] for i, n in enumerate(names)}


def test_bound_of_the_mlp_holds(small: Config) -> None:
    """No hidden value exceeds what `mlp8` scales by, whatever the weights."""
    need("torch")
    import torch

    from reference_trainer.torch_backend.model import Layer

    model = dc.replace(small.model, gated=False)
    layer = Layer(model, fp8=True)
    for seed in range(5):
        torch.manual_seed(seed)
        for p in layer.parameters():
            torch.nn.init.normal_(p, std=10.0 ** (seed - 2))
        rows = torch.cat((torch.randn(256, model.hidden) * 100, layer.w_up))  # the worst there is
        x = layer.mlp_norm(rows)
        bound, row = layer.mlp_norm.bound(x), layer.w_up.norm(dim=1).amax()
        assert x.norm(dim=1).amax() <= bound
        assert (x @ layer.w_up.T).relu().square().amax() <= (bound * row).square()


# ---- runs ----------------------------------------------------------------------------------------


@pytest.mark.full("trains twice")
def test_a_run_names_fp8_and_validates_in_bf16(
    backend_name: str, small: Config, corpus: Corpus, out: pathlib.Path
) -> None:
    curves = {}
    for precision in ("fp8", "bf16"):
        document = train(
            job(with_(small, precision=precision), corpus, out / precision),
            make_backend(backend_name),
        )
        ours = document["runs"][0]["run_info"]["speedrun"]
        assert ours["precision"] == precision
        curves[precision] = [point[1] for point in ours["validation"]]
    assert curves["fp8"][0] == curves["bf16"][0]  # the same weights, the same arithmetic
    assert curves["fp8"][-1] != curves["bf16"][-1]
    assert curves["fp8"][-1] == pytest.approx(curves["bf16"][-1], abs=0.05)
    log = (out / "fp8" / "log.txt").read_text(encoding="utf-8")
    assert "precision: fp8 for MLP and head in training, bf16 elsewhere, emulated on a CPU" in log


@pytest.mark.full("trains twice")
def test_an_fp8_run_resumes_to_the_bit(
    backend_name: str, small: Config, corpus: Corpus, out: pathlib.Path
) -> None:
    """Scales keep no history, so a checkpoint needs none."""
    config = with_(small, precision="fp8", checkpoint_every=4)
    make = make_backend(backend_name)
    whole = train(job(config, corpus, out), make)
    before, _ = checkpoint.load(LocalFolder(out), 12)
    for path in ("checkpoints/step-00000012", "speedrun_results.json"):
        LocalFolder(out).remove(path)
    again = train(job(config, corpus, out, resume=True), make)
    curves = [d["runs"][0]["run_info"]["speedrun"]["validation"] for d in (whole, again)]
    assert [point[:2] for point in curves[0]] == [point[:2] for point in curves[1]]
    after, _ = checkpoint.load(LocalFolder(out), 12)
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_the_peak_of_fp8_is_that_of_its_products(small: Config) -> None:
    """GPT-2 124M: 113,246,208 FLOPs a token in the MLPs and 77,266,944 in the head take fp8's peak,
    the other 94,371,840 + 221,184 bf16's."""
    shape = load_config("gpt2-124m").model.transformer()
    narrow, everything = 113_246_208 + 77_266_944, 285_106_176
    assert accounting.fp8_flops_per_token(shape) == narrow
    assert accounting.forward_flops_per_token(shape) == everything
    card = devices.describe("NVIDIA H200", 1, "fp8", None, {}, shape)
    least_s = narrow / 1979e12 + (everything - narrow) / 989.5e12
    assert card.peak_flops == pytest.approx(everything / least_s)
    plain = devices.describe("NVIDIA H200", 1, "bf16", None, {}, shape)
    assert plain.peak_flops == 989.5e12
    assert devices.describe("NVIDIA A100-SXM4-80GB", 1, "fp8", None, {}, shape).peak_flops is None


@pytest.mark.parametrize("has_fp8", [False, True])
def test_fp8_is_refused_where_it_is_not_computed(has_fp8: bool) -> None:
    if has_fp8:
        assert devices.choose_precision("fp8", True, True, True, "NVIDIA H100")[0] == "fp8"
        return
    with pytest.raises(TrainerError, match="fp8, which NVIDIA A100 does not support; write auto"):
        devices.choose_precision("fp8", True, True, False, "NVIDIA A100")
    assert devices.choose_precision("auto", True, True, True, "NVIDIA H100")[0] == "bf16"


def test_a_model_of_ones_own_is_not_called_fp8(backend_name: str, small: Config) -> None:
    need(backend_name)
    config = with_(small, precision="fp8")
    if backend_name == "torch":
        import torch

        from reference_trainer.torch_backend.engine import TorchBackend

        def make() -> Any:
            return TorchBackend(config, 0, lambda c, dtype: torch.nn.Linear(2, 2), values=None)
    else:
        from reference_trainer.jax_backend import step
        from reference_trainer.jax_backend.engine import JaxBackend

        def make() -> Any:
            return JaxBackend(config, 0, lambda *a: step.reference_losses(*a))

    with pytest.raises(TrainerError, match=r"this model does not support; write auto, or give .*"):
        make()
