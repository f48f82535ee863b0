"""Options that take all words after them."""

from __future__ import annotations

import pytest

from bot.commands.several import spread


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("T/N --wandb a b --log c d", "T/N --wandb a --wandb b --log c --log d"),
        ("T/N --wandb a --wandb b", "T/N --wandb a --wandb b"),
        ("T/N --wandb a b --title c --author d", "T/N --wandb a --wandb b --title c --author d"),
        ("T/N --wandb a -v b", "T/N --wandb a -v b"),
        ("--wandb a T/N", "--wandb a T/N"),
        ("--wandb a T/N --log b c", "--wandb a T/N --log b --log c"),
        ("T/N --title c d", "T/N --title c d"),
    ],
)
def test_words_up_to_the_next_option(given: str, read: str) -> None:
    several, valued = {"--wandb", "--log"}, {"--wandb", "--log", "--title", "--author"}
    assert spread(given.split(), several, valued) == read.split()
