"""The page of commands: what `--help` of each says, so that page and program cannot differ."""

from __future__ import annotations

from collections.abc import Iterator

import click

from bot.cli import main
from leaderboard_site.pages.environment import quoted

WIDTH = 88
INTRODUCTION = """\
The program is `speedrun`. What follows is the `--help` of each command, in the order of a run's
life. Exit status: 0 when all is well, 1 when a verdict says no, 2 for a request that makes no
sense, 3 for a fault on our side.
"""


def command_files() -> Iterator[tuple[str, str]]:
    """`commands.md`."""
    words = "Every command of speedrun with its options and examples."
    head = f'---\ntitle: "Commands"\ndescription: {quoted(words)}\nhide:\n  - navigation\n---\n'
    parts = [f"## {name}\n\n```text\n{text}\n```\n" for name, text in helps()]
    yield "commands.md", "\n".join([head, "# Commands\n", INTRODUCTION, *parts])


def helps() -> Iterator[tuple[str, str]]:
    """(`speedrun check`, its help), the commands of a group after the group itself."""
    top = click.Context(main, info_name="speedrun", terminal_width=WIDTH, max_content_width=WIDTH)
    yield from _below(main, top)


def _below(group: click.Group, context: click.Context) -> Iterator[tuple[str, str]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        own = click.Context(
            command,
            info_name=name,
            parent=context,
            terminal_width=WIDTH,
            max_content_width=WIDTH,
            help_option_names=["-h", "--help"],
        )
        yield own.command_path, command.get_help(own).strip()
        if isinstance(command, click.Group):
            yield from _below(command, own)
