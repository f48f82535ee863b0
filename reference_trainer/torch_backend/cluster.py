"""Join the other processes with torch.distributed: NCCL between GPUs, gloo between CPUs."""

# mypy: disable-error-code="no-untyped-call,no-any-return"
# (torch leaves parts of itself untyped)

import datetime as dt
import os
from typing import Any

import torch
import torch.distributed as dist

from reference_trainer.distributed import Cluster, Group, join_limit_s
from reference_trainer.errors import TrainerError

c10d: Any = dist  # some of its public names are missing in its types


class TorchStore:
    """A connection of its own to the store of the rendezvous: torch's may block for long."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def put(self, key: str, value: str) -> None:
        self._store.set(key, value)

    def look(self, key: str) -> str | None:
        return self._store.get(key).decode() if self._store.check([key]) else None


def join(cluster: Cluster | None) -> Group:
    """Form the process group of a cluster. Raises TrainerError if a process does not come."""
    if cluster is None and not dist.is_initialized():
        return Group()
    limit = dt.timedelta(seconds=join_limit_s())
    if dist.is_initialized():  # by Ray Train, which started this process
        address = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        return Group(dist.get_rank(), dist.get_world_size(), _store(address, limit))
    assert cluster is not None
    host, _, port = cluster.address.rpartition(":")
    known = {"RANK": cluster.rank, "WORLD_SIZE": cluster.processes, "MASTER_ADDR": host}
    os.environ.update({k: str(v) for k, v in {**known, "MASTER_PORT": port}.items()})
    os.environ["LOCAL_RANK"] = str(cluster.local_rank)
    try:
        shared, rank, processes = next(c10d.rendezvous("env://", timeout=limit))
        group = Group(rank, processes, _store(cluster.address, limit))
        group.agree("the start", {"processes": processes}, limit.total_seconds())
        shared.set_timeout(dt.timedelta(minutes=30))  # a slow compilation is not a failure
        kind = "nccl" if torch.cuda.is_available() else "gloo"
        store = c10d.PrefixStore("training", shared)
        dist.init_process_group(kind, store=store, rank=rank, world_size=processes)
    except (RuntimeError, ValueError) as error:  # torch's own errors are RuntimeErrors
        raise TrainerError(
            f"process {cluster.rank} of {cluster.processes} ({cluster.kind}) found not all others "
            f"at {cluster.address} within {limit.total_seconds():.0f} s; start every process with "
            "the same command, or set SPEEDRUN_JOIN_S higher for hosts that start slowly"
        ) from error
    return group


def _store(address: str, limit: dt.timedelta) -> TorchStore:
    host, _, port = address.rpartition(":")
    store = c10d.TCPStore(host, int(port), None, False, limit, wait_for_workers=False)
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return TorchStore(c10d.PrefixStore(f"attempt{attempt}", store))
