"""Several processes of one run: who they are, what process 0 decides, and that none waits for ever.

`detect` finds the cluster that started this process: torchrun (or anything that sets its variables,
as Ray Train and Kubernetes' PyTorchJob do), Slurm, or a TPU pod. A backend joins it and gives a
`Group`, which speaks through the key-value store that the backend's own rendezvous has.

Process 0 alone decides what depends on the world: the output folder, whether the run was finished,
where it resumes (`share`). All compare what must be equal (`agree`). A thread of each process tells
the others that it lives; a process that finds another one gone, stuck, or ended by an error ends
with one sentence, also while it waits inside a collective operation.
"""

import contextlib
import dataclasses as dc
import json
import os
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

from reference_trainer.errors import Stopped, TrainerError

MODES = ("auto", "off")
# Seconds between signs of life, without one until a process is given up, until all have agreed.
BEAT_S, SILENCE_S, LIMIT_S = 1.0, 40.0, 50.0

GONE = "{} is gone or does not answer; start all of them again with --resume"
LOST = re.compile(r"(?i)gloo|nccl|connection|socket|peer|coordination service")

T = TypeVar("T")
JOINED: list[int] = []  # the processes of this run, once there are several


@dc.dataclass(frozen=True)
class Cluster:
    """What started this process together with others."""

    kind: str  # "torchrun", "slurm" or "tpu"
    rank: int
    processes: int
    local_rank: int  # among those of its machine
    local_processes: int
    address: str  # host:port of process 0; "" where the backend knows


def detect(mode: str, environment: Mapping[str, str] = os.environ) -> Cluster | None:
    """The cluster of this process, None for one alone. Raises TrainerError for half a cluster."""
    if mode == "off":
        return None
    if "RANK" in environment and "WORLD_SIZE" in environment:
        return _torchrun(environment)
    if "SLURM_STEP_NUM_TASKS" in environment and "SLURM_PROCID" in environment:
        return _slurm(environment)
    hosts = [name for name in environment.get("TPU_WORKER_HOSTNAMES", "").split(",") if name]
    if len(hosts) > 1 and "TPU_WORKER_ID" in environment:
        return Cluster("tpu", int(environment["TPU_WORKER_ID"]), len(hosts), 0, 1, "")
    return None


def _torchrun(environment: Mapping[str, str]) -> Cluster | None:
    rank, processes = (_number(environment, name) for name in ("RANK", "WORLD_SIZE"))
    if processes == 1:
        return None
    missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if not environment.get(name)]
    if missing:
        raise TrainerError(
            f"WORLD_SIZE is {processes}, but {' and '.join(missing)} is not set; start with "
            "torchrun, or pass --distributed off for one process alone"
        )
    return Cluster(
        "torchrun",
        rank,
        processes,
        int(environment.get("LOCAL_RANK", "0")),
        int(environment.get("LOCAL_WORLD_SIZE", "1")),
        f"{environment['MASTER_ADDR']}:{environment['MASTER_PORT']}",
    )


def _slurm(environment: Mapping[str, str]) -> Cluster | None:
    """Tasks of one `srun`. The port is a function of the job and step, so that all know it."""
    processes, rank = (_number(environment, f"SLURM_{n}") for n in ("STEP_NUM_TASKS", "PROCID"))
    if processes == 1:
        return None
    nodes = int(environment.get("SLURM_STEP_NUM_NODES", "1"))
    host = "127.0.0.1" if nodes == 1 else first_host(environment["SLURM_STEP_NODELIST"])
    job, step = (int(environment.get(f"SLURM_{n}", "0")) for n in ("JOB_ID", "STEP_ID"))
    port = 20_000 + (job * 64 + step) % 10_000
    local = int(environment.get("SLURM_LOCALID", "0"))
    return Cluster("slurm", rank, processes, local, processes // nodes, f"{host}:{port}")


def first_host(nodes: str) -> str:
    """The first of a Slurm list such as `gpu[003-006,9],login1`."""
    match = re.match(r"([^,\[]+)(?:\[(\d+)[^\]]*\]([^,\[]*))?", nodes)
    if match is None:
        raise TrainerError(f'SLURM_STEP_NODELIST is "{nodes}", expected names of hosts')
    return "".join(part or "" for part in match.groups())


def _number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except ValueError:
        raise TrainerError(f'{name} is "{environment[name]}", expected a number') from None


def join_limit_s() -> int:
    """How long the first process waits for the last one to come: SPEEDRUN_JOIN_S, or 50 s."""
    return int(os.environ.get("SPEEDRUN_JOIN_S") or LIMIT_S)


def leave(status: int) -> None:
    """End this process at once if it has joined others: what JAX and torch do at a normal exit
    waits for all of them, or aborts on threads that still run."""
    if JOINED:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class Store(Protocol):
    """The key-value store of a rendezvous, seen by every process."""

    def put(self, key: str, value: str) -> None: ...

    def look(self, key: str) -> str | None:
        """The value if there is one now; does not wait."""


class Group:
    """The processes of a run; alone, every call answers at once."""

    def __init__(self, rank: int = 0, processes: int = 1, store: Store | None = None) -> None:
        self.rank, self.processes = rank, processes
        self._store, self._lock = store, threading.Lock()
        self._calls, self._closed = 0, threading.Event()
        if store is not None:
            threading.Thread(target=self._watch, daemon=True).start()

    @property
    def first(self) -> bool:
        return self.rank == 0

    def share(self, what: str, decide: Callable[[], T]) -> T:
        """What process 0 decides (plain JSON values), told to the others however long it takes.
        An error of process 0 is everybody's."""
        if self._store is None:
            return decide()
        key = self._key(what)
        if self.first:
            value = decide()
            self._put(key, json.dumps(value))
            return value
        told: T = json.loads(self._wait(key, what, 0, None))
        return told

    def agree(self, what: str, value: Mapping[str, Any], limit_s: float | None = LIMIT_S) -> None:
        """Raise TrainerError on every process unless all have equal values; `limit_s` bounds how
        long the last one may be behind (None: as long as it shows signs of life)."""
        if self._store is None:
            return
        key, mine = self._key(what), json.dumps(value, sort_keys=True, default=str)
        self._put(f"{key}/{self.rank}", mine)
        for rank in range(self.processes):
            theirs = self._wait(f"{key}/{rank}", what, rank, limit_s)
            if theirs != mine:
                one, two = sorted(((self.rank, mine), (rank, theirs)))
                raise TrainerError(_differ(what, one, two))

    def fail(self, reason: str) -> None:
        """Tell the others why this process ends."""
        with contextlib.suppress(Exception):
            if self._store is not None and not self._closed.is_set():
                self._put(f"ended/{self.rank}", reason)

    def close(self, limit_s: float = LIMIT_S) -> None:
        """Leave when all are done: the store may live in process 0 and has to outlast them."""
        if self._store is None or self._closed.is_set():
            return
        with contextlib.suppress(Exception):
            self._put(f"done/{self.rank}", "1")
            deadline = time.monotonic() + limit_s
            while time.monotonic() < deadline and not all(map(self._done, range(self.processes))):
                time.sleep(0.05)
        self._closed.set()

    def why(self, error: BaseException) -> str | None:
        """Why an operation over all processes failed, if another one ended: its own reason."""
        deadline = time.monotonic() + 3
        while self._store is not None and time.monotonic() < deadline:
            try:
                ended = self._ended()
            except Exception:
                return GONE.format(f"process 0 of {self.processes}")
            if ended is not None:
                return ended
            time.sleep(0.1)
        lost = self._store is not None and isinstance(error, RuntimeError)
        return GONE.format("another process") if lost and LOST.search(str(error)) else None

    # ---- underneath ------------------------------------------------------------------------

    def _key(self, what: str) -> str:
        self._calls += 1
        return f"{self._calls}/{what}"

    def _put(self, key: str, value: str) -> None:
        with self._lock:
            assert self._store is not None
            self._store.put(f"speedrun/{key}", value)

    def _look(self, key: str) -> str | None:
        with self._lock:
            assert self._store is not None
            return self._store.look(f"speedrun/{key}")

    def _wait(self, key: str, what: str, rank: int, limit_s: float | None) -> str:
        began = time.monotonic()
        while (value := self._look(key)) is None:
            if (ended := self._ended()) is not None:
                raise TrainerError(ended)
            if limit_s is not None and time.monotonic() - began > limit_s:
                raise TrainerError(
                    f"process {rank} of {self.processes} said nothing about {what} within "
                    f"{limit_s:.0f} s; start every process with the same command"
                )
            time.sleep(0.02)
        return value

    def _done(self, rank: int) -> bool:
        return self._look(f"done/{rank}") is not None

    def _ended(self) -> str | None:
        """The sentence of another process that ended with an error."""
        for rank in range(self.processes):
            reason = None if rank == self.rank else self._look(f"ended/{rank}")
            if reason is not None:
                return f"process {rank} of {self.processes} ended: {reason}"
        return None

    def _watch(self) -> None:
        """Show signs of life and look for those of the others, until closed."""
        seen: dict[int, tuple[str | None, float]] = {}
        beat = 0
        while not self._closed.wait(BEAT_S):
            beat += 1
            try:
                self._put(f"alive/{self.rank}", str(beat))
                now, found = time.monotonic(), self._ended()
                for rank in range(self.processes):
                    last = self._look(f"alive/{rank}")
                    if rank not in seen or seen[rank][0] != last or self._done(rank):
                        seen[rank] = last, now
                    elif now - seen[rank][1] > SILENCE_S:
                        found = found or GONE.format(f"process {rank} of {self.processes}")
            except Exception:
                found = GONE.format(f"process 0 of {self.processes}")
            if found is not None and not self._closed.wait(10):
                self._end(found)

    def _end(self, reason: str) -> None:
        """The main thread waits where no exception reaches it. 10 s were its chance to speak."""
        sys.stderr.write(f"Error: {reason}\n")
        sys.stderr.flush()
        with contextlib.suppress(Exception):
            self._put(f"done/{self.rank}", "1")
        os._exit(2)


def _differ(what: str, one: tuple[int, str], two: tuple[int, str]) -> str:
    first, second = json.loads(one[1]), json.loads(two[1])
    keys = [key for key in {**first, **second} if first.get(key) != second.get(key)]
    key = keys[0] if keys else what
    return (
        f"the processes disagree about {key}: process {one[0]} has {first.get(key)}, process "
        f"{two[0]} has {second.get(key)}; start every process with the same command and files"
    )


@contextlib.contextmanager
def together(group: Group) -> Iterator[None]:
    """Run a body on every process; if it fails on one, every process ends with one sentence."""
    try:
        yield
    except (TrainerError, Stopped) as error:
        if isinstance(error, TrainerError):
            group.fail(str(error))
        group.close(15)
        raise
    except Exception as error:
        reason = group.why(error)
        group.fail(reason or f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}")
        group.close(15)
        if reason is not None:
            raise TrainerError(reason) from error
        if JOINED:
            traceback.print_exc()
        leave(1)
        raise
    group.close()
