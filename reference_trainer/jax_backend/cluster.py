"""Join the other processes with jax.distributed: GPUs, CPUs (gloo), TPU pods."""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (JAX leaves parts of itself untyped)

import importlib.util
import os
import pathlib
from typing import Any

import jax

from reference_trainer.distributed import Cluster, Group, join_limit_s
from reference_trainer.errors import TrainerError


class JaxStore:
    """The key-value store of JAX's coordinator."""

    def __init__(self) -> None:
        from jax._src import distributed  # its client has no public name

        self._client: Any = distributed.global_state.client

    def put(self, key: str, value: str) -> None:
        self._client.key_value_set(key, value, allow_overwrite=True)

    def look(self, key: str) -> str | None:
        try:
            return str(self._client.key_value_try_get(key))
        except Exception as error:
            if "NOT_FOUND" in str(error):
                return None
            raise


def join(cluster: Cluster | None, mode: str) -> Group:
    """Form JAX's cluster if there is one. Raises TrainerError if a process does not come."""
    if mode != "off" and not jax.distributed.is_initialized():
        known = _arguments(cluster)
        if known is None:
            return Group()
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        limit = join_limit_s()
        try:
            jax.distributed.initialize(
                **known, initialization_timeout=limit, heartbeat_timeout_seconds=limit
            )
        except (RuntimeError, ValueError) as error:
            reason = (str(error).splitlines() or [""])[0]
            raise TrainerError(
                f"JAX's processes did not find each other within {limit} s ({reason[:160]}); start "
                "every process with the same command, or set SPEEDRUN_JOIN_S higher"
            ) from error
    if not jax.distributed.is_initialized() or jax.process_count() == 1:
        return Group()
    return Group(jax.process_index(), jax.process_count(), JaxStore())


def _arguments(cluster: Cluster | None) -> dict[str, Any] | None:
    """What `jax.distributed.initialize` needs, {} where JAX finds out, None for one process."""
    if cluster is not None and cluster.kind != "tpu":
        host, _, port = cluster.address.rpartition(":")
        # torchrun's own store already listens at that port.
        port = str(int(port) + (cluster.kind == "torchrun"))
        several = cluster.local_processes > 1
        return {
            "coordinator_address": f"{host}:{port}",
            "num_processes": cluster.processes,
            "process_id": cluster.rank,
            "local_device_ids": [cluster.local_rank] if several else None,
        }
    on_tpu = any(map(pathlib.Path.exists, map(pathlib.Path, ("/dev/accel0", "/dev/vfio/0"))))
    if cluster is not None or "JAX_COORDINATOR_ADDRESS" in os.environ:
        return {}
    return {} if on_tpu and importlib.util.find_spec("libtpu") is not None else None
