"""An option that may be repeated takes several words after it, as a shell's `logs/*.txt` gives.

    speedrun new TRACK/NAME --wandb LINK LINK --log a.log b.log

Only once the argument is there: before it, nothing would tell the last value from the argument.
"""

from __future__ import annotations

from collections.abc import Iterable

import click


class Several(click.Command):
    """A command of one argument whose repeatable options take all words up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The words, with the option repeated before each of its further values."""
        options = [p for p in self.params if isinstance(p, click.Option) and not p.is_flag]
        several = {name for option in options if option.multiple for name in option.opts}
        return super().parse_args(ctx, spread(args, several, {n for o in options for n in o.opts}))


def spread(args: Iterable[str], several: set[str], valued: set[str]) -> list[str]:
    """The words with each option of `several` repeated; `valued` are all that take a value."""
    found: list[str] = []
    option, waiting, placed = "", False, False
    for word in args:
        if waiting:
            waiting = False
        elif word.startswith("-"):
            option, waiting = word if word in several else "", word in valued
        elif option and placed:
            found.append(option)
        else:
            option, placed = "", True
        found.append(word)
    return found
