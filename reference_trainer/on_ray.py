"""Runs on a Ray cluster: `python -m reference_trainer.on_ray --workers 2 -- --config gpt2-124m`.

Behind `--` stands the command line of the trainer, or of a starter with `--file main.py`. By
default the workers train one run together. With `--sweep` the `--seeds` of that command line and
each `--arm` are runs of their own (see `sweep`), `--workers` of them at a time.
"""

import contextlib
import importlib
import os
import random
import socket
import subprocess
from collections import Counter
from typing import Any, NamedTuple

import click

from reference_trainer import sweep
from reference_trainer.cli import words
from reference_trainer.errors import TrainerError


class Member(NamedTuple):
    """Where one process of a run is: its address, and its place among those of its machine."""

    host: str
    port: int
    local_rank: int = 0
    local_processes: int = 1


@click.command(context_settings={"show_default": True})
@click.option(
    "--workers",
    default=1,
    type=click.IntRange(1),
    help="Processes of a run; with --sweep, runs at a time.",
)
@click.option("--gpus", default=0.0, type=click.FloatRange(0), help="GPUs of each worker.")
@click.option("--cpus", default=1.0, type=click.FloatRange(0), help="CPUs of each worker.")
@click.option("--address", help="Of the Ray cluster; default: RAY_ADDRESS, or one made here.")
@click.option("--file", help="A starter to run instead of the trainer's own models.")
@click.option("--sweep", "swept", is_flag=True, help="Seeds and arms are runs of their own.")
@click.option("--arm", "arms", multiple=True, metavar="NAME=SECTION.KEY=VALUE,...")
@click.option(
    "--retries",
    default=2,
    type=click.IntRange(0),
    help="With --sweep: how often a run is tried again.",
)
@click.argument("arguments", nargs=-1)
@words
def main(
    workers: int,
    gpus: float,
    cpus: float,
    address: str | None,
    file: str | None,
    swept: bool,
    arms: tuple[str, ...],
    retries: int,
    arguments: tuple[str, ...],
) -> None:
    """Train on a Ray cluster; see the docstring of this module."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError as error:
        raise TrainerError("this needs a package: pip install ray") from error
    ray.init(address=address, log_to_driver=True, include_dashboard=False)
    command = [*sweep.program(file), *arguments]
    resources = {"num_cpus": cpus, "num_gpus": gpus}
    with contextlib.ExitStack() as held:
        held.callback(ray.shutdown)
        if swept:
            members = sweep.members_of([*command, "--distributed", "off"], arms)
            sweep.run(members, launch_on(ray, resources), workers, retries)
            return
        statuses = run_together(ray, workers, resources, command)
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


def launch_on(ray: Any, resources: dict[str, float]) -> sweep.Launch:
    """Runs as tasks of Ray, each a process of its own on some machine of the cluster."""
    task = ray.remote(run_member).options(**resources)

    def launch(command: list[str], slot: int) -> int:
        try:
            return int(ray.get(task.remote(command, os.getcwd())))
        except ray.exceptions.RayError as error:
            click.echo(f"a worker was lost: {str(error).splitlines()[0]}", err=True)
            return 1

    return launch


def run_member(command: list[str], folder: str) -> int:
    """One member of a sweep, in a process of its own."""
    return subprocess.run(command, cwd=folder).returncode


if __name__ == "__main__":
    main()
