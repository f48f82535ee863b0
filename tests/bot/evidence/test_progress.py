"""The progress line: after its patience, on a terminal only, gone at the end."""

from __future__ import annotations

import io
import time

import pytest

from bot.evidence.progress import Progress, counted


def lines(shown: bool | None, after_s: float, total: int = 3, wait_s: float = 0.4) -> str:
    out = io.StringIO()
    with Progress("Reading", total, shown, after_s=after_s, out=out) as progress:
        progress.advance()
        time.sleep(wait_s)
        progress.advance()
    return out.getvalue()


def test_what_takes_long_shows_its_counts() -> None:
    said = lines(True, 0.01)
    assert "Reading" in said and "1/3" in said


@pytest.mark.parametrize(
    ("shown", "after_s", "total"),
    [(None, 0.01, 3), (False, 0.01, 3), (True, 60.0, 3), (True, 0.01, 1)],
)
def test_nothing_is_written_where_nobody_looks_or_for_what_is_quick(
    shown: bool | None, after_s: float, total: int
) -> None:
    assert lines(shown, after_s, total) == ""


def test_a_timer_that_comes_late_draws_nothing() -> None:
    out = io.StringIO()
    with Progress("Reading", 3, True, after_s=0.2, out=out):
        pass
    time.sleep(0.4)
    assert out.getvalue() == ""


def test_items_pass_through_as_they_are() -> None:
    assert list(counted("Reading", ["a", "b"])) == ["a", "b"]
