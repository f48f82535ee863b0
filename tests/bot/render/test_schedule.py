"""When the bot acts by itself."""

from __future__ import annotations

import pytest

from bot.render.schedule import how_often


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("", "every night"),
        ("41 3 * * *", "every night"),
        ("0 21 * * *", "every night"),
        ("0 12 * * *", "every day"),
        ("0 */6 * * *", "every 6 hours"),
        ("5 * * * *", "every hour"),
        ("0 */1 * * *", "every hour"),
        ("0 3 * * 1", "every Monday"),
        ("0 3 * * 7", "every Sunday"),
        ("0 3 * * 1-5", "on its schedule"),
        ("*/5 * * * *", "on its schedule"),
        ("0 3 1 * *", "on its schedule"),
        ("0 3,15 * * *", "on its schedule"),
        ("nightly", "on its schedule"),
    ],
)
def test_a_line_of_cron_in_words(cron: str, words: str) -> None:
    assert how_often(cron) == words
