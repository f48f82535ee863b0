"""JAX's devices reduce gradients once a step, in the compiled program itself."""

from __future__ import annotations

import dataclasses as dc
import re
from typing import Any

import numpy as np
import pytest

from reference_trainer.config import Config
from tests.reference_trainer.conftest import need, with_

COLLECTIVES = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all", "collective-permute")


def compiled(config: Config) -> Any:
    need("jax")
    from reference_trainer.jax_backend.engine import JaxBackend

    backend = JaxBackend(config, 0)
    rows = np.zeros((config.train.batch, config.model.seq_len + 1), np.int32)
    backend.train_step(rows, 1.0)()
    assert backend.mesh.size == 2
    return backend


def collectives(program: str) -> tuple[dict[str, int], dict[str, int]]:
    """How often each operation between devices stands in the bodies of loops, and elsewhere."""
    bodies = set(re.findall(r"body=%?([\w.\-]+)", program))
    inside, outside = dict.fromkeys(COLLECTIVES, 0), dict.fromkeys(COLLECTIVES, 0)
    name = ""
    for line in program.splitlines():
        if begin := re.match(r"(?:ENTRY )?%?([\w.\-]+) .*\{$", line):
            name = begin[1]
        for operation in COLLECTIVES:
            if re.search(rf" {operation}(-start)?\(", line):
                (inside if name in bodies else outside)[operation] += 1
    return inside, outside


@pytest.mark.parametrize("sharding", ["data", "fsdp"])
@pytest.mark.full("compiles")
def test_micro_batches_are_reduced_once(sharding: str, small: Config) -> None:
    config = with_(small, batch=16, micro_batch=2, sharding=sharding)
    # Muon orthogonalises whole matrices, which it gathers.
    backend = compiled(dc.replace(config, optimizer=dc.replace(config.optimizer, name="adamw")))
    assert backend.micro_batches == 4
    inside, outside = collectives(backend.program.step.as_text())
    assert not any(inside.values()), inside
    assert not outside["all-to-all"] and not outside["collective-permute"], outside
    if sharding == "data":
        assert outside["all-reduce"] >= 1 and not outside["reduce-scatter"], outside
    else:
        cut = [p for p in backend._state["param"].values() if not p.is_fully_replicated]
        assert outside["reduce-scatter"] == outside["all-gather"] == len(cut) > 10, outside


def test_a_reduction_in_a_loop_is_seen() -> None:
    """What the compiler makes of the same loop if it is left to place the reduction itself."""
    need("jax")
    import jax
    import jax.numpy as jnp
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = jax.make_mesh((2,), ("data",))
    put = lambda x, *spec: jax.device_put(x, NamedSharding(mesh, PartitionSpec(*spec)))  # noqa: E731
    weight, rows = put(jnp.ones((4, 4))), put(jnp.ones((3, 8, 4)), None, "data")

    def total(weight: Any, rows: Any) -> Any:
        loss = lambda w, x: jnp.mean(jnp.tanh(x @ w))  # noqa: E731
        add = lambda s, x: (s + jax.grad(loss)(weight, x), None)  # noqa: E731
        return jax.lax.scan(add, jnp.zeros_like(weight), rows)[0]

    inside, _ = collectives(jax.jit(total).lower(weight, rows).compile().as_text())
    assert inside["all-reduce"] == 1


@pytest.mark.full("compiles twice")
def test_the_number_of_micro_batches_changes_no_loss(small: Config) -> None:
    need("jax")
    from reference_trainer.jax_backend.engine import JaxBackend

    rng = np.random.default_rng(0)
    rows = rng.integers(0, 256, (16, small.model.seq_len + 1), dtype=np.int32)
    found = []
    for micro in (2, 8):
        for sharding in ("data", "fsdp"):
            config = with_(small, batch=16, micro_batch=micro, sharding=sharding)
            config = dc.replace(config, optimizer=dc.replace(config.optimizer, clip_norm=0.5))
            backend = JaxBackend(config, 0)
            found.append([backend.train_step(rows, 1.0)() for _ in range(3)])
    assert found[0][2] < found[0][0] - 0.05
    assert np.ptp(found, axis=0).max() < 2e-5, found
