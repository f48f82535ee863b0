"""When a line of a log was written, and what it counts a second."""

from __future__ import annotations

import datetime as dt

import pytest

from bot.evidence.log.moments import has_date, rates_of, stamp_of
from bot.evidence.log.prefix import is_prefix

NOON = dt.datetime(2025, 11, 28, 12, 0, 5)


@pytest.mark.parametrize(
    "text",
    [
        "[2025-11-28 12:00:05] ",
        "2025-11-28T12:00:05Z INFO ",
        "2025/11/28 12:00:05 ",
        "20251128-120005 ",
        "28/11/2025 12:00:05 ",
        "11/28/25 12:00:05 ",
        "28-Nov-2025 12:00:05 ",
        '{"step": 3, "time": "2025-11-28T12:00:05"}',
        "1764331205 ",
        '{"step": 3, "ts": 1764331205.0}',
    ],
)
def test_a_moment_with_its_date(text: str) -> None:
    found = stamp_of(f"{text}step:3/9 val_loss:3.2")
    assert found == NOON
    assert has_date(found)


@pytest.mark.parametrize(
    ("text", "day", "seconds"),
    [
        ("I1128 12:00:05.250 99 train.py:12] ", (11, 28), 43205.25),
        ("Nov 28 12:00:05 host train[12]: ", (11, 28), 43205.0),
        ("[11-28 12:00:05] ", (11, 28), 43205.0),
        ("[12:00:05] ", (1, 1), 43205.0),
        ("INFO:root:12:00:05 ", (1, 1), 43205.0),
        ("[   12.345678] ", (1, 1), 12.345678),
    ],
)
def test_a_moment_without_its_year(text: str, day: tuple[int, int], seconds: float) -> None:
    found = stamp_of(f"{text}step:3/9 val_loss:3.2")
    assert found is not None and not has_date(found)
    assert (found.month, found.day) == day
    assert (found - dt.datetime(found.year, *day)).total_seconds() == seconds


@pytest.mark.parametrize("end", [" @ 12:00:05", " [12:00:05]", " | time=12:00:05"])
def test_a_moment_at_the_end_of_its_line(end: str) -> None:
    found = stamp_of(f"step:3/9 val_loss:3.2{end}")
    assert found is not None and (found.hour, found.second) == (12, 5)


@pytest.mark.parametrize(
    "line",
    [
        "step:3/9 train_time:00:01:10",
        "elapsed 00:01:10 step 3",
        "step 3 | eta 00:01:10",
        "step 3, ETA 2025-11-28 12:00:05",
        "step 3 (began 2025-11-28 12:00:05)",
        "Xyz 28 12:00:05 step 3",
        "[2025-13-32 12:00:05] step 3",
    ],
)
def test_what_is_no_moment_of_the_line(line: str) -> None:
    assert stamp_of(line) is None


@pytest.mark.parametrize(
    ("line", "rates"),
    [
        ("3/4 [01:10<00:20, 19.80it/s, loss=3.2]", {"it/s": 19.8, "elapsed": 70.0}),
        ("[1:01:10<00:20]", {"elapsed": 3670.0}),
        ("iter/s=19.8", {"iter/s": 19.8}),
        ("1,234,567 tok/s", {"tok/s": 1234567.0}),
        ("tok/s/gpu 1.2M", {"tok/s/gpu": 1.2e6}),
        ("19.8 steps per second", {"steps/s": 19.8}),
        ("50 ms/step", {"ms/step": 50.0}),
        ("1188 steps/min", {"steps/s": 19.8}),
        ("(70.5 seconds since start)", {"elapsed": 70.5}),
        ("0.5h elapsed", {"elapsed": 1800.0}),
        ("0.5h elapsed: 3", {}),
        ("loss/step 3.2", {}),
        ("step:3/9 19.8 GB/s", {}),
        ("3 steps, 9 s", {}),
    ],
)
def test_what_a_line_counts_a_second(line: str, rates: dict[str, float]) -> None:
    assert dict(rates_of(line)) == rates


def test_the_date_of_c_is_a_prefix() -> None:
    assert is_prefix("Fri Nov 28 12:00:05 2025 ")
    assert not is_prefix("Fri Nov 28 12:00 2025 ")
