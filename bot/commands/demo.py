"""`speedrun demo`: the whole journey on this machine, with the commands that one would type."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from bot.commands.root import ROOT, Unusable, root_of
from bot.paths import build_folder

TRACK = "tutorial"
BACKEND = "jax"
"""That of the track's frozen baseline: both arms need the same."""
NAME = "my-first-run"
CHANGE = "train.steps=74"  # of 80: less time, and the target is still reached
EXAMPLES = (
    ("fineweb-edu/llama_75m", "a good result"),
    ("fineweb-edu/llama_75m_fineweb_edu", "a result with wrong numbers"),
)


class _Demo:
    """Runs steps in a scratch copy of the competition and says each command before it runs."""

    def __init__(self, root: Path, out: Path) -> None:
        self.root, self.out = root, out
        self.step = 0

    def say(self, text: str) -> None:
        self.step += 1
        click.secho(f"\n[{self.step}] {text}", bold=True)

    def run(self, *args: str, ok: Sequence[int] = (0,), quiet: bool = False) -> str:
        """One `speedrun` command in the scratch folder; its output, which is also shown."""
        code = "from bot.cli import main; main(prog_name='speedrun')"
        return self._do("speedrun", ["-c", code], args, ok, quiet)

    def python(self, *args: str) -> None:
        """One Python file in the scratch folder."""
        self._do("python", [], args, (0,), False)

    def _do(
        self, name: str, first: list[str], args: Sequence[str], ok: Sequence[int], quiet: bool
    ) -> str:
        click.secho(f"$ {name} " + " ".join(args), fg="cyan")
        env = os.environ | {"PYTHONUTF8": "1", "WANDB_MODE": "offline", "WANDB_SILENT": "true"}
        env.setdefault("JAX_PLATFORMS", "cpu")
        done = subprocess.run(
            [sys.executable, *first, *args],
            cwd=self.out,
            env=env,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if not quiet:
            click.echo(done.stdout.rstrip())
        if done.returncode not in ok:
            raise Unusable(
                f"{name} {args[0]} ended with {done.returncode}; the files are in {self.out}"
            )
        return done.stdout


@click.command()
@ROOT
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Where to work [default: build/demo under the root].",
)
@click.option(
    "--seeds",
    default=3,
    show_default=True,
    help="Training runs of the change, and as many of the baseline.",
)
def demo(root: Path | None, out: Path | None, seeds: int) -> None:
    """Train, submit, check, read the bot's comment, build the board: on CPU, without an account.

    Everything happens in a scratch copy of the competition; nothing is sent anywhere.
    """
    found = root_of(root, shipped=True)
    if not importlib.util.find_spec(BACKEND):
        raise click.UsageError(
            f"the demo trains beside the baseline of {TRACK}, which is written in JAX: "
            f"pip install -e '.[{BACKEND}]'"
        )
    began = time.monotonic()
    out = (out or build_folder(found) / "demo").resolve()
    _copy(found, out)
    journey = _Demo(found, out)
    _examples(journey)
    _train(journey, seeds)
    _submit(journey)
    _board(journey)
    took = time.monotonic() - began
    click.secho(f"\nDone in {took:.0f} s.", bold=True, nl=False)
    click.echo(f" The board: {out / 'site' / 'tracks' / TRACK / 'index.html'}")
    click.echo(f"The submission: {out / 'submissions' / TRACK / NAME}")
    activate = Path(sys.prefix, "bin", "activate")
    first = f". {activate} && " if activate.exists() and not shutil.which("speedrun") else ""
    click.echo(
        f"To try a change of your own: {first}speedrun new {TRACK}/my-idea --starter {BACKEND}"
    )


def _copy(root: Path, out: Path) -> None:
    """A fresh scratch copy of tracks and submissions; refuses a folder that is not one of ours."""
    marker = out / ".speedrun-demo"
    if out.exists():
        if any(out.iterdir()) and not marker.exists():
            raise click.UsageError(f"{out} is not empty; name an empty folder with --out")
        shutil.rmtree(out)
    try:
        out.mkdir(parents=True)
        marker.touch()
    except OSError as error:
        raise click.UsageError(
            f"{out} cannot be written ({error.strerror}); name another folder with --out"
        ) from error
    for folder in ("tracks", "submissions"):
        shutil.copytree(root / folder, out / folder)


def _examples(journey: _Demo) -> None:
    journey.say("Two published results, judged as files alone: a right one and a wrong one")
    for name, what in EXAMPLES:
        click.echo(f"-- {what}")
        path = f"submissions/{name}/speedrun_results.json"
        journey.run("check", path, "--track", name.partition("/")[0], ok=(0, 1))


def _train(journey: _Demo, seeds: int) -> None:
    journey.say(
        f"Train a tiny language model with {BACKEND} and one change, {CHANGE}, beside the "
        f"baseline; {seeds} seeds each, W&B offline"
    )
    journey.run("new", f"{TRACK}/{NAME}", "--starter", BACKEND, quiet=True)
    arms = ("--interleave", "baseline", "--seeds", str(seeds))
    settings = ("--set", CHANGE, *arms, "--wandb", "offline", "--out", "runs")
    journey.python(f"submissions/{TRACK}/{NAME}/main.py", *settings)


def _submit(journey: _Demo) -> None:
    journey.say("Make a submission of the runs, check it, and read the comment it would get")
    journey.run("new", f"{TRACK}/{NAME}", "--log", "runs")
    folder = f"submissions/{TRACK}/{NAME}"
    journey.run("check", folder, "--offline")
    journey.run("check", folder, "--offline", "--format", "markdown")


def _board(journey: _Demo) -> None:
    journey.say("Build the board with the new entry")
    journey.run("site", "build", "--out", "site")
    entries = list((journey.out / "site").rglob(f"*{NAME}*"))
    if not (journey.out / "site" / "index.html").exists() or not entries:
        raise Unusable(f"the board in {journey.out / 'site'} lacks the new entry")
    answer = journey.run(
        "check", f"submissions/{TRACK}/{NAME}", "--offline", "--format", "json", quiet=True
    )
    verdict = json.loads(answer)["verdicts"][0]
    click.secho(f"{TRACK}/{NAME}: {verdict['status']}", bold=True)
