"""Draw submissions and judge them by the call that `speedrun check` makes, with the W&B double."""

from __future__ import annotations

import functools as ft
import os
import random
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bot.local import Local
from bot.model.verdict import Verdict
from bot.parse.folder import parse_submission, read_path
from bot.parse.track_toml import load_tracks
from tests.doubles.wandb import WandbDouble
from tests.fixtures.program import PROGRAM
from tests.plain_tracks import accepting
from tests.simulations.honest import marin, programs, trainer
from tests.simulations.honest.entry import Entry
from tests.simulations.honest.wandb_runs import put_online

DOORS = {
    "nanogpt-small": ("log", "log", "online", "offline"),
    "nanogpt-medium": ("log", "online", "offline"),
    "nanogpt-optimization": ("log", "log", "online", "offline"),
    "single-gpu-fineweb": ("log", "online", "offline"),
    "single-gpu": ("log", "online", "offline", "results"),
    "tutorial": ("log", "online", "offline", "results"),
    "tutorial-h100": ("log", "online", "offline", "results"),
    "fineweb-edu": ("online", "offline", "results", "results"),
    "data-tiny": ("online", "offline"),
}
"""What each track takes; some more often than others."""
WAYS = [(track, door) for track, doors in DOORS.items() for door in doors]


class Judged(NamedTuple):
    """A submission and what was said of it."""

    entry: Entry
    verdict: Verdict

    @property
    def about(self) -> str:
        """The machine and what is unusual."""
        hardware = self.entry.document["hardware"]
        place = f"{hardware['count']} x {hardware['accelerator']}"
        return "; ".join([place, *self.entry.traits])


def drawn(number: int, seed: int) -> Entry:
    """The submission of this number."""
    track, door = WAYS[number % len(WAYS)]
    entry = Entry(number, track, door, random.Random(f"{seed} {number}"))
    if track in programs.PLANS:
        programs.fill(entry)
    elif track == "fineweb-edu":
        marin.fill(entry)
    elif track == "data-tiny":
        trainer.fill_data(entry)
    else:
        trainer.fill(entry)
    return entry


def judged(root: Path, numbers: Iterable[int], seed: int) -> Iterator[Judged]:
    """Draw and judge them, each beside the submissions at `root`."""
    with tempfile.TemporaryDirectory() as home, WandbDouble(check=False) as server:
        before = dict(os.environ)
        os.environ.update(_environment(home, server))
        try:
            for number in numbers:
                # What an earlier one left on W&B is not this one's.
                server.world.runs.clear()
                yield _judge(root, Path(home), drawn(number, seed), server)
        finally:
            os.environ.clear()
            os.environ.update(before)


def _environment(home: str, server: WandbDouble) -> dict[str, str]:
    folders = ("WANDB_CACHE_DIR", "WANDB_DATA_DIR", "WANDB_CONFIG_DIR", "WANDB_DIR", "HOME")
    return {
        "WANDB_BASE_URL": server.url,
        "WANDB_API_KEY": server.key,
        "WANDB_SILENT": "true",
        "WANDB_ERROR_REPORTING": "false",
        "SPEEDRUN_CACHE": "",
        **dict.fromkeys(folders, home),
    }


def _judge(root: Path, home: Path, entry: Entry, server: WandbDouble) -> Judged:
    for stored in entry.online:
        put_online(server, entry.project, stored)
    folder = home / "root" / "submissions" / entry.track / entry.name
    for name, data in entry.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    read, local = read_path(folder, home / "root"), _local(root)
    (answer,) = local.answers([(read, parse_submission(read, local.tracks, None))])
    return Judged(entry, answer.verdict)


@ft.cache
def _local(root: Path) -> Local:
    """The repository, read once; its tracks accept the program that all submissions change."""
    return Local(root, accepting(load_tracks(root), PROGRAM))
