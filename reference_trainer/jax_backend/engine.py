"""One training step in JAX on the devices at hand: CPU, GPU or TPU, one host or many."""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (JAX leaves parts of itself untyped)

import dataclasses as dc
import functools
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from reference_trainer.backend import Pending
from reference_trainer.checkpoint import Block, State, whole
from reference_trainer.config import Config
from reference_trainer.devices import NO_DOCUMENTS, NO_FP8, choose_precision, describe, formats_of
from reference_trainer.errors import TrainerError
from reference_trainer.initial import initial_values
from reference_trainer.jax_backend import mlp, step
from reference_trainer.jax_backend.model import Attention
from reference_trainer.jax_backend.optimizers import build
from reference_trainer.recorded import Optimizer, Recorded, facts_of_jax

MakeLosses = Callable[[Config, Any, Attention], step.Losses]
MakeOptimizer = Callable[[Config, Any], Optimizer]
InitialValues = Callable[[Config, int], Mapping[str, np.ndarray]]


def reference_optimizer(config: Config, dtype: Any) -> Optimizer:
    return build(config.optimizer, dtype)


def reference_values(config: Config, seed: int) -> Mapping[str, np.ndarray]:
    return initial_values(config.model, seed)


@dc.dataclass
class Program:
    """What a configuration compiles to; `step` is there after the first warm-up."""

    losses: step.Losses
    optimizer: Optimizer
    evaluate: Callable[..., jax.Array]
    attention: str
    settings: Recorded  # what the optimizer reads of its configuration
    step: Any = None


@functools.lru_cache(maxsize=4)
def program(
    config: Config,
    mesh: Mesh,
    platform: str,
    dtype: Any,
    make_losses: MakeLosses,
    make_optimizer: MakeOptimizer,
) -> Program:
    """One for all seeds of a process: the later ones need not compile again."""
    attend, why = step.choose_attention(config, platform, dtype)
    losses = make_losses(config, dtype, attend)
    # Validation is in bf16 where training is in fp8.
    wide = dc.replace(config, train=dc.replace(config.train, precision="auto"))
    evaluate = jax.jit(
        step.evaluation(make_losses(wide, dtype, attend), mesh, config.train.sharding)
    )
    settings: Any = Recorded(config.optimizer)
    optimizer = make_optimizer(dc.replace(config, optimizer=settings), dtype)
    return Program(losses, optimizer, evaluate, why, settings)


class JaxBackend:
    """See `reference_trainer.backend.Backend`. The three functions make another model or
    optimizer out of this one without touching the loop; the starter file uses them."""

    kind = "jax"

    def __init__(
        self,
        config: Config,
        seed: int,
        make_losses: MakeLosses = step.reference_losses,
        make_optimizer: MakeOptimizer = reference_optimizer,
        values: InitialValues = reference_values,
    ) -> None:
        self.config, self.notes = config, []
        self._find_devices()
        self.dtype = step.DTYPES[self.device.precision]
        ours = make_losses is step.reference_losses
        for asked, name, refusal in (
            (self.device.precision == "fp8", "fp8", NO_FP8),
            (config.model.document_end >= 0, "documents", NO_DOCUMENTS),
        ):
            if asked and not (ours or getattr(make_losses, name, False)):
                raise TrainerError(refusal.format("the function of its losses an attribute"))
        self.program = program(
            config, self.mesh, self.platform, self.dtype, make_losses, make_optimizer
        )
        self.notes.append(f"attention: {self.program.attention}")
        if mlp.programs() and not config.model.gated:
            self.notes.append("MLP: our own kernel for Hopper where it takes the sizes")
        self.micro_batches = config.train.batch // (config.train.micro_batch * self.device.world)
        params = {n: np.asarray(v) for n, v in values(config, seed).items()}
        shapes = jax.eval_shape(self._start, params)
        self.where = step.shardings(self.mesh, shapes, config.train.sharding)
        self._state = jax.jit(self._start, out_shardings=self.where)(params)
        self.optimizer_facts = self._read_settings()

    def _start(self, params: Any) -> dict[str, Any]:
        return {"param": params, "optimizer": self.program.optimizer.init(params)}

    def _read_settings(self) -> dict[str, Any]:
        """What the optimizer is, once it has read its settings to compute the shapes of a step."""
        optimizer, params = self.program.optimizer, self._state["param"]

        def again(params: Any, key: Any = None) -> Any:
            return jnp.zeros(()), params

        more = (again,) if optimizer.second else ()
        jax.eval_shape(
            lambda p, s: optimizer.update(p, s, p, jnp.ones(()), *more),
            params,
            self._state["optimizer"],
        )
        self.program.settings.check_all_read()
        used = self.program.settings.used
        return facts_of_jax(optimizer, used, self.parameter_count())

    def _find_devices(self) -> None:
        try:
            devices = jax.devices()
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            raise TrainerError(f"JAX finds no device: {reason}; check JAX_PLATFORMS") from error
        first, self.platform = devices[0], devices[0].platform
        if self.platform not in ("cpu", "gpu", "tpu"):
            raise TrainerError(f"JAX runs on {self.platform} here; use a CPU, GPU or TPU build")
        name = "cpu" if self.platform == "cpu" else first.device_kind
        wanted = self.config.train.precision
        has_bf16, has_fp8 = formats_of(self.platform, getattr(first, "compute_capability", ""))
        precision, why = choose_precision(wanted, has_bf16, False, has_fp8, name)
        self.notes.append(f"precision: {why}")
        self.rank, self.processes = jax.process_index(), jax.process_count()
        self.mesh = Mesh(np.array(devices), ("data",))
        software = {"jax": jax.__version__, "jaxlib": jaxlib.version.__version__}
        shape = self.config.model.transformer()
        self.device = describe(name, len(devices), precision, None, software, shape)

    # ---- what the loop calls ---------------------------------------------------------------

    def parameter_count(self) -> int:
        return sum(leaf.size for leaf in self._state["param"].values())

    def warm_up(self, rows: np.ndarray, weights: np.ndarray) -> None:
        if self.program.step is None:
            self.program.step = step.compile_step(
                self.config,
                self.mesh,
                self.platform,
                self.dtype,
                self.program.losses,
                self.program.optimizer,
                self._state,
                self.micro_batches,
            )
        self._check_memory()
        self.evaluate(rows[: len(weights)], weights)()

    def _check_memory(self) -> None:
        analysis, available = self.program.step.memory_analysis(), self.device.memory_bytes
        if analysis is None or available is None or self.platform == "cpu":
            return
        needed = analysis.argument_size_in_bytes + analysis.temp_size_in_bytes
        if needed > available:
            raise TrainerError(
                f"the step needs {needed / 2**30:.1f} GiB on each device, {self.device.name} has "
                f"{available / 2**30:.1f}; lower train.micro_batch or set train.remat = true"
            )

    def train_step(self, rows: np.ndarray, multiplier: float) -> Pending:
        if self.program.step is None:
            self.warm_up(rows, np.ones((len(rows), rows.shape[1] - 1), np.float32))
        # Micro-batch m takes the rows m, m + M, ...: each device then finds its own rows at home.
        shaped = rows.reshape(-1, self.micro_batches, rows.shape[1]).swapaxes(0, 1)
        batch = self._spread(np.ascontiguousarray(shaped), step.ROWS)
        self._state, loss = self.program.step(self._state, batch, jnp.float32(multiplier))
        return lambda: float(loss)

    def evaluate(self, rows: np.ndarray, weights: np.ndarray) -> Pending:
        by_row = PartitionSpec("data")
        nats = self.program.evaluate(
            self._parameters_to_evaluate(),
            self._spread(rows, by_row),
            self._spread(weights, by_row),
        )
        # Already a sum over all processes; the loop adds processes up.
        return lambda: float(nats) / self.processes

    def _parameters_to_evaluate(self) -> Any:
        """The parameters, or what the optimizer gives in their place, such as an average."""
        evaluated = self.program.optimizer.evaluated
        if evaluated is None:
            return self._state["param"]
        return evaluated(self._state["param"], self._state["optimizer"])

    def _spread(self, array: np.ndarray, spec: PartitionSpec) -> jax.Array:
        return jax.make_array_from_process_local_data(NamedSharding(self.mesh, spec), array)

    def total(self, values: list[float]) -> list[float]:
        if self.processes == 1:
            return values
        from jax.experimental import multihost_utils

        gathered = multihost_utils.process_allgather(np.array(values, np.float32))
        return np.asarray(gathered, np.float64).sum(axis=0).tolist()

    def parameters_sha256(self) -> str:
        """Of what every process should have alike: the parameters that are not sharded."""
        found = hashlib.sha256()
        for name, leaf in sorted(self._state["param"].items()):
            if leaf.is_fully_replicated:
                found.update(name.encode() + np.asarray(leaf.addressable_data(0)).tobytes())
        return found.hexdigest()

    def synchronize(self) -> None:
        jax.block_until_ready(self._state)

    def peak_memory_bytes(self) -> int | None:
        stats = jax.local_devices()[0].memory_stats()
        return stats.get("peak_bytes_in_use") if stats else None

    # ---- checkpoints -----------------------------------------------------------------------

    @property
    def writers(self) -> int:
        return self.processes if self.config.train.sharding == "fsdp" else 1

    def state(self) -> State:
        # Copies: the next step gives the memory of these arrays to others.
        if self.processes == 1:
            return [(name, whole(np.array(leaf))) for name, leaf in _flat(self._state)]
        out = []
        for name, leaf in _flat(self._state):
            for shard in leaf.addressable_shards:
                if shard.replica_id == 0:
                    start = tuple(s.start or 0 for s in shard.index)
                    out.append((name, Block(leaf.shape, start, np.array(shard.data))))
        return out

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        leaves = []
        wheres = jax.tree.leaves(self.where)
        for (name, leaf), where in zip(_flat(self._state), wheres, strict=True):
            if state[name].shape != leaf.shape:
                raise ValueError(f"has shape {state[name].shape}, expected {leaf.shape}")
            array = np.asarray(state[name], leaf.dtype)
            leaves.append(jax.make_array_from_callback(array.shape, where, array.__getitem__))
        self._state = jax.tree.unflatten(jax.tree.structure(self._state), leaves)


def _flat(tree: Any) -> list[tuple[str, jax.Array]]:
    """Leaves with names such as `param/embed` and `optimizer/mean/embed`."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return [("/".join(str(key.key) for key in path), leaf) for path, leaf in leaves]
