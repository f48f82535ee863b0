"""Seeds and arms of one command, some at a time, each tried again if it fails.

    python -m reference_trainer sweep --workers 2 -- --config tiny --seeds 4 --out runs/sweep

Behind `--` stands the command line of the trainer, or of a starter with `--file main.py`. Each seed
of each arm is a run of its own, in OUT/ARM/seedN. `--launch` is what starts a run elsewhere, such
as `srun --ntasks=1 --exact`; `{slot}` in it is the number of the place that is free, from 0.
"""

import pathlib
import queue
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import click

from reference_trainer.errors import TrainerError

AGAIN = ["--resume", "--force-run-failed"]
Launch = Callable[[list[str], int], int]  # a command and its slot to an exit status


class Member(NamedTuple):
    """One run of a sweep: what it is called, and its command line."""

    name: str
    command: list[str]


def members_of(command: list[str], arms: Sequence[str]) -> list[Member]:
    """The runs that `--seeds` of a command and the arms ask for. Raises TrainerError."""
    command, seeds = taken(command, "--seeds", "1")
    command, first = taken(command, "--seed", "0")
    command, out = taken(command, "--out", "")
    if not out:
        raise TrainerError("a sweep needs --out FOLDER that every machine of the cluster sees")
    if not (seeds.isdigit() and first.isdigit() and int(seeds)):
        raise TrainerError(f"--seeds is {seeds} and --seed is {first}; write whole numbers")
    found = []
    for name, settings in map(arm_of, arms or ["="]):
        for seed in range(int(first), int(first) + int(seeds)):
            folder = pathlib.Path(out).resolve() / name / f"seed{seed}"
            own = [part for setting in settings for part in ("--set", setting)]
            line = [*command, *own, "--seed", str(seed), "--out", str(folder)]
            found.append(Member(f"{name}/seed{seed}".lstrip("/"), line))
    if len({member.name for member in found}) < len(found):
        raise TrainerError("two arms have the same name; name them apart")
    return found


def arm_of(text: str) -> tuple[str, list[str]]:
    """Name and settings of `NAME=SECTION.KEY=VALUE,...`. Raises TrainerError."""
    name, equals, settings = text.partition("=")
    listed = [setting for setting in settings.split(",") if setting]
    if not equals or "/" in name or name.startswith(".") or not all("=" in s for s in listed):
        raise TrainerError(
            f'"{text}" is not an arm; write NAME=SECTION.KEY=VALUE,..., say high=optimizer.lr=0.01'
        )
    return name, listed


def taken(command: list[str], option: str, default: str) -> tuple[list[str], str]:
    """A command without an option, and the option's value. Raises TrainerError."""
    for at, part in enumerate(command):
        if part.startswith(f"{option}="):
            return command[:at] + command[at + 1 :], part.partition("=")[2]
        if part == option:
            if at + 1 == len(command):
                raise TrainerError(f"{option} needs a value")
            return command[:at] + command[at + 2 :], command[at + 1]
    return command, default


def run(members: list[Member], launch: Launch, workers: int, retries: int) -> None:
    """Do them all, `workers` at a time. Raises TrainerError if one failed to the last."""
    slots: queue.Queue[int] = queue.Queue()
    for slot in range(workers):
        slots.put(slot)

    def one(member: Member) -> bool:
        slot = slots.get()
        try:
            for attempt in range(retries + 1):
                status = launch([*member.command, *(AGAIN if attempt else [])], slot)
                if status == 0:
                    return True
                left = retries - attempt
                click.echo(f"{member.name} failed (exit {status}), {left} tries left", err=True)
            return False
        finally:
            slots.put(slot)

    with ThreadPoolExecutor(workers) as pool:
        done = list(pool.map(one, members))
    failed = [member.name for member, good in zip(members, done, strict=True) if not good]
    if failed:
        raise TrainerError(
            f"{len(members) - len(failed)} of {len(members)} runs are finished, not "
            f"{', '.join(failed)}; the same command runs those again"
        )
    click.echo(f"{len(members)} runs are finished")


def program(file: str | None) -> list[str]:
    """What stands before the command line of a run."""
    return [sys.executable, *([file] if file else ["-m", "reference_trainer"])]


def launched_by(text: str) -> Launch:
    """Runs that begin with the words of `--launch`."""
    words = shlex.split(text)

    def launch(command: list[str], slot: int) -> int:
        before = [word.replace("{slot}", str(slot)) for word in words]
        try:
            return subprocess.run([*before, *command]).returncode
        except OSError as error:
            raise TrainerError(f"{before[0]} could not be started: {error.strerror}") from error

    return launch
