"""A track's first baseline, trained here: its starter file run with several seeds, as a submission.

Everything is written once training has ended, so that an interrupted one leaves nothing behind.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from bot.commands.clean_run import clean_folder, run_code
from bot.commands.draft import draft, given
from bot.commands.new import filled, judged, own_login, write_folder
from bot.commands.root import Unusable, tracks_of
from bot.local import Local
from bot.model.track import Track

CODE = "main.py"


def train_baseline(
    root: Path,
    track: Track,
    name: str,
    seeds: int,
    backend: str | None,
    author: str | None,
    options: Sequence[str] = (),
) -> Path:
    """Train the starter of a track and write its submission; returns the folder. Raises Unusable
    if there is one already, or training fails."""
    target = root / "submissions" / track.id / name
    if target.exists():
        raise Unusable(f"{target} exists; freeze it, or name another with --name")
    login = author or own_login()
    code = _starter(track, backend or _installed(), login)
    command = [sys.executable, CODE, "--seeds", str(seeds), "--out", "{out}", "--track", track.id]
    command += ["--wandb", "offline", *options]
    click.echo(f"Training {seeds} seeds of the starter of {track.id} on this machine.")
    with clean_folder() as (folder, out):
        run_code({CODE: code}, command, folder, out)
        files, runs = given((), (), [str(out)], (), track)
    files[CODE] = code
    made = draft(track, name, login, runs, "Baseline", CODE)
    made["summary"] = f"The starter file of {track.id} as it is, {seeds} seeds on one machine."
    shown, local = target.relative_to(root).as_posix(), Local(root, tracks_of(root))
    made = filled(made, judged(made, shown, files, local).verdict, None)
    write_folder(target, made, files)
    return target


def _starter(track: Track, kind: str, login: str) -> bytes:
    # By name: nothing of the bot depends on the trainer.
    starters: Any = importlib.import_module("reference_trainer.starters")
    with tempfile.TemporaryDirectory() as folder:
        path = starters.copy_starter(kind, Path(folder), track=track.id, author=login)
        return bytes(path.read_bytes())


def _installed() -> str:
    found = next((b for b in ("torch", "jax") if importlib.util.find_spec(b)), None)
    if found is None:
        raise Unusable("this trains a model: pip install -e '.[torch]' (or '.[jax]')")
    return found
