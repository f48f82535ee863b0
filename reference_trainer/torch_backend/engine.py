"""One training step in torch: on CPU, one GPU, or several through torchrun (DDP or FSDP2)."""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (torch leaves parts of itself untyped)

import dataclasses as dc
import functools
import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from reference_trainer.backend import Pending
from reference_trainer.checkpoint import State
from reference_trainer.config import Config, scored_targets
from reference_trainer.devices import NO_DOCUMENTS, NO_FP8, choose_precision, describe
from reference_trainer.errors import TrainerError
from reference_trainer.initial import initial_values
from reference_trainer.recorded import Recorded, facts_of_torch
from reference_trainer.torch_backend import optimizers
from reference_trainer.torch_backend.arrays import array_of, assign, saved, tensor_like
from reference_trainer.torch_backend.model import Transformer, parameter_name

# What activations are kept in; "fp8" is the precision of some products.
DTYPES = {
    "fp8": torch.bfloat16,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp32": torch.float32,
}

BuildModel = Callable[[Config, torch.dtype], nn.Module]
BuildOptimizers = Callable[[dict[str, Tensor], Config, torch.dtype, bool], list[Any]]
InitialValues = Callable[[Config, int], Mapping[str, np.ndarray]]


def reference_model(config: Config, dtype: torch.dtype) -> nn.Module:
    fp8 = config.train.precision == "fp8"
    return Transformer(config.model, dtype, config.train.remat, fp8)


def reference_optimizers(
    named: dict[str, Tensor], config: Config, dtype: torch.dtype, fused: bool
) -> list[torch.optim.Optimizer]:
    return optimizers.build(named, config.optimizer, dtype, fused)


def reference_values(config: Config, seed: int) -> Mapping[str, np.ndarray]:
    return initial_values(config.model, seed)


class TorchBackend:
    """See `reference_trainer.backend.Backend`. The three functions make another model or
    optimizer out of this one without touching the loop; the starter file uses them. Without
    `values` the model keeps the first values that it gave itself."""

    kind = "torch"

    def __init__(
        self,
        config: Config,
        seed: int,
        build_model: BuildModel = reference_model,
        build_optimizers: BuildOptimizers = reference_optimizers,
        values: InitialValues | None = reference_values,
    ) -> None:
        self.config, self.targets = config, scored_targets(config)
        self.notes: list[str] = []
        self._find_device()
        self.dtype = DTYPES[self.device.precision]
        torch.manual_seed(seed)
        module = build_model(config, self.dtype).to(self.target)
        if self.device.precision == "fp8" and not getattr(module, "fp8", False):
            raise TrainerError(NO_FP8.format("the model an attribute"))
        if config.model.document_end >= 0 and not getattr(module, "documents", False):
            raise TrainerError(NO_DOCUMENTS.format("the model an attribute"))
        if values is not None:
            self._give_values(module, values(config, seed))
        self.module = self._distribute(module)
        self.named: dict[str, Tensor] = {
            parameter_name(n.removeprefix("module.")): p for n, p in self.module.named_parameters()
        }
        on_gpu = self.target.type == "cuda"
        settings: Any = Recorded(config.optimizer)
        recorded = dc.replace(config, optimizer=settings)
        self.optimizers = build_optimizers(self.named, recorded, self.dtype, on_gpu)
        self.optimizer_facts = facts_of_torch(self.optimizers, settings.used)
        settings.check_all_read()
        self._base_lrs = [[g["lr"] for g in o.param_groups] for o in self.optimizers]
        self._check_owners()
        self._check_second()
        self.scaler = torch.amp.GradScaler(enabled=self.device.precision == "fp16")
        self.forward = self._compiled(self.module)

    # ---- setting up ------------------------------------------------------------------------

    def _find_device(self) -> None:
        joined = dist.is_initialized()
        self.processes = dist.get_world_size() if joined else 1
        self.rank = dist.get_rank() if joined else 0
        local = int(os.environ.get("LOCAL_RANK", "0")) if joined else 0
        software = {"torch": str(torch.__version__)}
        if torch.cuda.is_available():
            self.target = torch.device("cuda", local)
            torch.cuda.set_device(self.target)
            properties = torch.cuda.get_device_properties(self.target)
            name, memory = properties.name, properties.total_memory
            software["cuda" if torch.version.cuda else "hip"] = str(
                torch.version.cuda or torch.version.hip
            )
            has_bf16, has_fp16 = (properties.major >= 8 or bool(torch.version.hip)), True
            has_fp8 = (properties.major, properties.minor) >= (8, 9) and not torch.version.hip
            self._choose_attention(properties.major)
        elif torch.backends.mps.is_available():
            self.target, name, memory = torch.device("mps"), "Apple GPU", None
            has_bf16, has_fp16, has_fp8 = False, False, False
            self.notes.append("attention: torch's own on Apple GPUs, no flash kernel there")
        else:
            self.target, name, memory = torch.device("cpu"), "cpu", None
            has_bf16, has_fp16, has_fp8 = False, False, False
        precision, why = choose_precision(
            self.config.train.precision, has_bf16, has_fp16, has_fp8, name
        )
        self.notes.append(f"precision: {why}")
        shape = self.config.model.transformer()
        self.device = describe(name, self.processes, precision, memory, software, shape)

    def _choose_attention(self, major: int) -> None:
        if torch.version.hip or major < 8:
            self.notes.append("attention: whatever torch offers here, flash needs Ampere or later")
            return
        if major >= 9:
            # cuDNN's kernel: +0.6 % tokens/s at 124M over flash (H100, torch 2.11).
            torch.backends.cuda.enable_flash_sdp(False)
        self.notes.append(f"attention: {'cuDNN' if major >= 9 else 'flash'} kernel")

    def _give_values(self, module: nn.Module, values: Mapping[str, np.ndarray]) -> None:
        named = {parameter_name(n): p for n, p in module.named_parameters()}
        missing = sorted(set(named) ^ set(values))
        if missing:
            raise TrainerError(
                f"the model and its first values disagree on {missing[0]}; "
                "give every parameter a value"
            )
        with torch.no_grad():
            for name, p in named.items():
                p.copy_(torch.from_numpy(np.ascontiguousarray(values[name])))

    def _distribute(self, module: Any) -> Any:
        if self.processes == 1:
            return module
        if self.config.train.sharding == "fsdp":
            from torch.distributed.fsdp import fully_shard

            for layer in module.layers:
                fully_shard(layer)
            fully_shard(module)
            return module
        ids = None
        if self.target.type == "cuda":
            ids = [self.target.index]
            # Compiles one graph, not one for each bucket of gradients: on one host a step of
            # gpt2-124m is 0.8 % faster. Between hosts a bucket travels while the next is computed.
            one_host = os.environ.get("LOCAL_WORLD_SIZE") == str(self.processes)
            torch._dynamo.config.optimize_ddp = not one_host
        return nn.parallel.DistributedDataParallel(module, ids, gradient_as_bucket_view=True)

    def _compiled(self, module: nn.Module) -> Callable[..., Tensor]:
        if not self.config.train.compile:
            self.notes.append("torch.compile: off, as the configuration asks")
            return module
        if self.target.type != "cuda":
            self.notes.append(f"torch.compile: off on {self.target.type}")
            return module
        torch._dynamo.reset()  # its cache counts models of earlier runs of this process as variants
        for optimizer in self.optimizers:
            if isinstance(optimizer, optimizers.Muon):
                optimizer.orthogonalise = torch.compile(optimizers.orthogonalise)
        return torch.compile(module, dynamic=False)

    def _check_owners(self) -> None:
        owned = [id(p) for o in self.optimizers for g in o.param_groups for p in g["params"]]
        if sorted(owned) != sorted(id(p) for p in self.named.values()):
            raise TrainerError(
                "every parameter must belong to exactly one optimizer; "
                f"{len(self.named)} parameters, {len(set(owned))} owned, {len(owned)} entries"
            )

    def _check_second(self) -> None:
        asking = [type(o).__name__ for o in self.optimizers if second(o)]
        if len(asking) > 1:
            raise TrainerError(f"{' and '.join(asking)} both evaluate the loss again; one may")
        if asking and self.device.precision == "fp16":
            raise TrainerError(
                f"{asking[0]} evaluates the loss again, which the loss scaling of fp16 does not "
                "allow; set train.precision = fp32"
            )

    # ---- what the loop calls ---------------------------------------------------------------

    def parameter_count(self) -> int:
        return sum(p.numel() for p in self.named.values())

    def warm_up(self, rows: np.ndarray, weights: np.ndarray) -> None:
        self._backward(rows, scale=0.0)
        for optimizer in self.optimizers:
            if isinstance(optimizer, optimizers.Muon) and self.target.type == "cuda":
                for group in optimizer.param_groups:
                    self._warm_orthogonalise(optimizer, group["params"])
            optimizer.zero_grad(set_to_none=True)
        self.evaluate(rows[: len(weights)], weights)()
        self.synchronize()

    @torch.no_grad()  # as in a step: compiled code is for one mode of recording gradients
    def _warm_orthogonalise(self, optimizer: optimizers.Muon, params: list[Tensor]) -> None:
        counts: dict[torch.Size, int] = {}
        for p in params:
            counts[p.shape] = counts.get(p.shape, 0) + 1
        for shape, count in counts.items():
            zeros = torch.zeros(count, *shape, device=self.target)
            optimizer.orthogonalise(zeros, optimizer.newton_schulz_steps, optimizer.dtype)

    def train_step(self, rows: np.ndarray, multiplier: float) -> Pending:
        self._mode(training=True)
        loss = self._backward(rows, scale=1.0)
        for optimizer, lrs in zip(self.optimizers, self._base_lrs, strict=True):
            self.scaler.unscale_(optimizer) if self.scaler.is_enabled() else None
            for group, lr in zip(optimizer.param_groups, lrs, strict=True):
                group["lr"] = lr * multiplier
        if self.config.optimizer.clip_norm:
            nn.utils.clip_grad_norm_(list(self.named.values()), self.config.optimizer.clip_norm)
        for optimizer in sorted(self.optimizers, key=second):  # which changes all gradients, last
            if second(optimizer):
                optimizer.step(functools.partial(self._again, rows))
            else:
                self.scaler.step(optimizer)
            optimizer.zero_grad(set_to_none=True)
        self.scaler.update()
        return self._pending(loss)

    def _again(self, rows: np.ndarray, sampled: bool = False) -> Tensor:
        """The closure of an optimizer with `second = True`: gradients of the batch at the
        parameters as they now are; `sampled`: on targets that the model draws itself."""
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        with torch.enable_grad():
            return self._backward(rows, scale=1.0, sampled=sampled)

    def _mode(self, training: bool) -> None:
        """Tell the model and, on a change, optimizers that evaluate with other parameters than
        they train (averages, schedule-free) and therefore have `train()` and `eval()`."""
        if training == self.module.training:
            return
        self.module.train(training)
        for optimizer in self.optimizers:
            change = getattr(optimizer, "train" if training else "eval", None)
            if change is not None:
                change()

    def _backward(self, rows: np.ndarray, scale: float, sampled: bool = False) -> Tensor:
        """Gradients of the mean loss over all processes' rows, times `scale`; the mean loss."""
        self._mode(training=True)
        micro = self.config.train.micro_batch
        batches = [rows[i : i + micro] for i in range(0, len(rows), micro)]
        total = torch.zeros((), device=self.target)
        for i, batch in enumerate(batches):
            tokens, targets = self._to_device(batch)
            last = i == len(batches) - 1
            with self._gradient_sync(last):
                losses = self.forward(tokens, None if sampled else targets)
                loss = losses[:, : self.targets].mean() / len(batches)
                self.scaler.scale(loss * scale).backward()
            total += loss.detach()
        if self.processes > 1:
            dist.all_reduce(total)
            total /= self.processes
        return total

    def _gradient_sync(self, last: bool) -> Any:
        if isinstance(self.module, nn.parallel.DistributedDataParallel) and not last:
            return self.module.no_sync()
        if hasattr(self.module, "set_requires_gradient_sync"):
            self.module.set_requires_gradient_sync(last)
        return nullcontext()

    def _to_device(self, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        flat = torch.from_numpy(rows)
        if self.target.type == "cuda":
            flat = flat.pin_memory().to(self.target, non_blocking=True)
        flat = flat.to(self.target).long()
        return flat[:, :-1].contiguous(), flat[:, 1:].contiguous()

    def _pending(self, value: Tensor) -> Pending:
        if self.target.type != "cuda":
            return lambda: float(value)
        # Copied when it is ready, so that reading waits for this step and not for the next one.
        host = torch.empty((), dtype=torch.float32, pin_memory=True)
        host.copy_(value, non_blocking=True)
        event = torch.cuda.Event()
        event.record()

        def read() -> float:
            event.synchronize()
            return float(host)

        return read

    @torch.no_grad()
    def evaluate(self, rows: np.ndarray, weights: np.ndarray) -> Pending:
        self._mode(training=False)
        tokens, targets = self._to_device(rows)
        losses = self.forward(tokens, targets)
        nats = (losses.double() * torch.from_numpy(weights).to(self.target)).sum()
        return self._pending(nats)

    def total(self, values: list[float]) -> list[float]:
        if self.processes == 1:
            return values
        tensor = torch.tensor(values, dtype=torch.float64, device=self.target)
        dist.all_reduce(tensor)
        return tensor.tolist()

    def parameters_sha256(self) -> str:
        found = hashlib.sha256()
        for name, p in sorted(self.named.items()):
            found.update(name.encode() + array_of(p).tobytes())
        return found.hexdigest()

    def synchronize(self) -> None:
        if self.target.type == "cuda":
            torch.cuda.synchronize()

    def peak_memory_bytes(self) -> int | None:
        return torch.cuda.max_memory_allocated() if self.target.type == "cuda" else None

    # ---- checkpoints -----------------------------------------------------------------------

    @property
    def writers(self) -> int:
        return self.processes if self.config.train.sharding == "fsdp" else 1

    def state(self) -> State:
        self._mode(training=True)
        values: dict[str, Any] = {f"param/{name}": p for name, p in self.named.items()}
        for i, optimizer in enumerate(self.optimizers):
            for index, held in optimizer.state_dict()["state"].items():
                values |= {f"optimizer.{i}/{index}/{key}": value for key, value in held.items()}
        if self.scaler.is_enabled():
            values["scale"] = np.array(list(self.scaler.state_dict().values()), np.float64)
        blocks = ((name, saved(value, self.rank)) for name, value in values.items())
        return [(name, block) for name, block in blocks if block is not None]

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        with torch.no_grad():
            for name, p in self.named.items():
                assign(p, state[f"param/{name}"])
        for i, optimizer in enumerate(self.optimizers):
            self._load_optimizer(optimizer, f"optimizer.{i}/", state)
        if "scale" in state:
            like = self.scaler.state_dict()
            pairs = zip(like.items(), state["scale"].tolist(), strict=True)
            self.scaler.load_state_dict({key: type(old)(new) for (key, old), new in pairs})

    def _load_optimizer(self, optimizer: Any, prefix: str, state: Mapping[str, np.ndarray]) -> None:
        params = [p for group in optimizer.param_groups for p in group["params"]]
        loaded: dict[int, dict[str, Tensor]] = {}
        for key, array in state.items():
            if key.startswith(prefix):
                index, name = key.removeprefix(prefix).split("/")
                like = params[int(index)]
                loaded.setdefault(int(index), {})[name] = tensor_like(like, array)
        optimizer.load_state_dict(
            {"state": loaded, "param_groups": optimizer.state_dict()["param_groups"]}
        )


def second(optimizer: Any) -> bool:
    """Whether an optimizer wants a closure that evaluates the loss again, as SAM and Sophia do."""
    return bool(getattr(optimizer, "second", False))
