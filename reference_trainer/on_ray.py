"""Runs on a Ray cluster: `python -m reference_trainer.on_ray --workers 2 -- --config gpt2-124m`.

Behind `--` stands the command line of the trainer, or of a starter with `--file main.py`. By
default the workers train one run together. With `--sweep` the `--seeds` of that command line are
runs of their own, `--workers` of them at a time, and one that fails is resumed (`--retries`).
"""

import contextlib
import importlib
import os
import pathlib
import random
import socket
import subprocess
import sys
from collections import Counter
from typing import Any, NamedTuple

import click

from reference_trainer.cli import words
from reference_trainer.errors import TrainerError


class Member(NamedTuple):
    """Where one process of a run is: its address, and its place among those of its machine."""

    host: str
    port: int
    local_rank: int = 0
    local_processes: int = 1


@click.command(context_settings={"show_default": True})
@click.option("--workers", default=1, help="Processes of a run; with --sweep, runs at a time.")
@click.option("--gpus", default=0.0, help="GPUs of each worker.")
@click.option("--cpus", default=1.0, help="CPUs of each worker.")
@click.option("--address", help="Of the Ray cluster; default: RAY_ADDRESS, or one made here.")
@click.option("--file", help="A starter to run instead of the trainer's own models.")
@click.option("--sweep", is_flag=True, help="The seeds are runs of their own.")
@click.option("--retries", default=2, help="With --sweep: how often a run is tried again.")
@click.argument("arguments", nargs=-1)
@words
def main(
    workers: int,
    gpus: float,
    cpus: float,
    address: str | None,
    file: str | None,
    sweep: bool,
    retries: int,
    arguments: tuple[str, ...],
) -> None:
    """Train on a Ray cluster; see the docstring of this module."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError as error:
        raise TrainerError("this needs a package: pip install ray") from error
    ray.init(address=address, log_to_driver=True, include_dashboard=False)
    program = [file] if file else ["-m", "reference_trainer"]
    command = [sys.executable, *program, *arguments]
    resources = {"num_cpus": cpus, "num_gpus": gpus}
    if sweep:
        statuses = run_sweep(ray, workers, resources, retries, command)
    else:
        statuses = run_together(ray, workers, resources, command)
    ray.shutdown()
    if any(statuses):
        raise TrainerError(f"{sum(map(bool, statuses))} of {len(statuses)} processes failed")


def run_together(
    ray: Any, workers: int, resources: dict[str, float], command: list[str]
) -> list[int]:
    """One run over all workers, which are placed at once or not at all; exit statuses."""
    bundle = {"CPU": resources["num_cpus"], "GPU": resources["num_gpus"]}
    group = ray.util.placement_group([bundle] * workers, strategy="SPREAD")
    ready, _ = ray.wait([group.ready()], timeout=300)
    if not ready:
        raise TrainerError(f"the cluster has no room for {workers} workers of {bundle}")
    actor = ray.remote(Worker)
    placed = [
        actor.options(placement_group=group, placement_group_bundle_index=i, **resources).remote()
        for i in range(workers)
    ]
    members = with_local_ranks(ray.get([worker.where.remote() for worker in placed]))
    runs = [
        worker.run.remote(command, environment(members, rank), os.getcwd())
        for rank, worker in enumerate(placed)
    ]
    return list(ray.get(runs))


def with_local_ranks(members: list[Member]) -> list[Member]:
    """The members with their places among those of the same host."""
    total, seen, found = Counter(m.host for m in members), Counter[str](), []
    for member in members:
        place, of = seen[member.host], total[member.host]
        found.append(member._replace(local_rank=place, local_processes=of))
        seen[member.host] += 1
    return found


def environment(members: list[Member], rank: int) -> dict[str, str]:
    """What the trainer knows its cluster by."""
    return {
        "RANK": str(rank),
        "WORLD_SIZE": str(len(members)),
        "LOCAL_RANK": str(members[rank].local_rank),
        "LOCAL_WORLD_SIZE": str(members[rank].local_processes),
        "MASTER_ADDR": members[0].host,
        "MASTER_PORT": str(members[0].port),
    }


class Worker:
    """One process of a run, beside a worker of Ray and started by it."""

    def where(self) -> Member:
        ray: Any = importlib.import_module("ray")
        return Member(ray.util.get_node_ip_address(), free_port())

    def run(self, command: list[str], environment: dict[str, str], folder: str) -> int:
        return subprocess.run(command, env={**os.environ, **environment}, cwd=folder).returncode


def free_port() -> int:
    """A port that is free, and the next one too, where JAX listens. Both are below those that the
    system gives to outgoing connections, of which Ray makes many until the run listens."""
    while True:
        port = random.randrange(20_000, 30_000)
        with contextlib.suppress(OSError), socket.socket() as one, socket.socket() as two:
            one.bind(("", port))
            two.bind(("", port + 1))
            return port


def run_sweep(
    ray: Any, workers: int, resources: dict[str, float], retries: int, command: list[str]
) -> list[int]:
    """Each seed a run in a folder of its own; exit statuses of the last tries."""
    command, seeds = taken(command, "--seeds", "1")
    command, first = taken(command, "--seed", "0")
    command, out = taken(command, "--out", "")
    if not out:
        raise TrainerError("a sweep needs --out FOLDER that every machine of the cluster sees")
    task = ray.remote(run_seed).options(**resources)
    waiting = list(range(int(first), int(first) + int(seeds)))
    going: dict[Any, tuple[int, int]] = {}
    statuses: dict[int, int] = {}
    left = {seed: retries for seed in waiting}
    while waiting or going:
        while waiting and len(going) < workers:
            seed = waiting.pop(0)
            again = ["--resume", "--force-run-failed"] if seed in statuses else []
            folder = str(pathlib.Path(out).resolve() / f"seed{seed}")
            member = [*command, "--seed", str(seed), "--out", folder, "--distributed", "off"]
            going[task.remote([*member, *again], os.getcwd())] = seed, 0
        (done, *_), _ = ray.wait(list(going))
        seed, _ = going.pop(done)
        statuses[seed] = status_of(ray, done)
        if statuses[seed] and left[seed]:
            left[seed] -= 1
            waiting.append(seed)
    return [statuses[seed] for seed in sorted(statuses)]


def taken(command: list[str], option: str, default: str) -> tuple[list[str], str]:
    """A command without an option, and the option's value."""
    if option not in command:
        return command, default
    at = command.index(option)
    return command[:at] + command[at + 2 :], command[at + 1]


def run_seed(command: list[str], folder: str) -> int:
    """One member of a sweep, in a process of its own."""
    return subprocess.run(command, cwd=folder).returncode


def status_of(ray: Any, task: Any) -> int:
    """The exit status of a member; 1 if Ray lost the worker."""
    try:
        return int(ray.get(task))
    except ray.exceptions.RayError as error:
        click.echo(f"a worker was lost: {str(error).splitlines()[0]}", err=True)
        return 1


if __name__ == "__main__":
    main()
