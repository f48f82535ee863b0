"""A column's numbers are written alike by Python and by the script that redraws them."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from leaderboard_site import text
from leaderboard_site.formats import Format, fixed, format_of

ASSETS = Path(__file__).resolve().parents[2] / "leaderboard_site" / "theme" / "assets"
SCRIPT = """
global.window = { speedrun: {} };
global.document = {};
require(process.argv[1]);
const { cell, probability, day } = window.speedrun;
const rows = JSON.parse(require("fs").readFileSync(0, "utf8"));
const call = { cell: ([f, v]) => cell(f, v), p: ([v]) => probability(v), day: ([v]) => day(v) };
console.log(JSON.stringify(rows.map(([kind, ...rest]) => call[kind](rest))));
"""


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (1338.0, 2, "1\u202f338.00"),
        (131.25, 1, "131.3"),
        (0.125, 2, "0.13"),
        (-0.004, 2, "0.00"),
        (-1234.5, 0, "\u22121\u202f235"),
        (999_999.5, 0, "1\u202f000\u202f000"),
    ],
)
def test_halves_go_away_from_zero(value: float, digits: int, shown: str) -> None:
    assert fixed(value, digits) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(9.995e18, "1.00e19"), (1.785e18, "1.79e18"), (1e22, "1.00e22")]
)
def test_a_power_has_one_digit_before_the_point(value: float, shown: str) -> None:
    assert Format(1.0, 2, power=True).show(value) == shown


@pytest.mark.parametrize(
    ("metric", "values", "unit", "digits"),
    [
        ("training_time_s", [73.8, 91.0, 1338.0], "s", 2),
        ("training_time_s", [1041.0, 1378.8, 1686.0], "min", 2),
        ("training_time_s", [9000.0, 50_000.0], "h", 2),
        ("loss", [3.28, 3.27], "", 4),
        ("steps", [2690, 3600], "", 0),
        ("parameters", [3.1e7, 1.4e9], "M", 1),
        ("mfu", [0.35], "%", 1),
    ],
)
def test_a_column_has_one_unit(metric: str, values: list[float], unit: str, digits: int) -> None:
    found = format_of(metric, values)
    assert (found.unit, found.digits) == (unit, digits)


def test_what_is_missing_is_a_dash() -> None:
    assert Format().show(None) == Format().show(math.nan) == Format().show(math.inf) == "–"


def cases() -> list[tuple[list[object], str]]:
    """Calls of the script, each with what Python writes: random numbers, and exact halves."""
    rng = random.Random(17)
    out: list[tuple[list[object], str]] = []
    for _ in range(3000):
        size = 10 ** rng.uniform(-5, 12)
        value = rng.choice([size, -size, round(size), round(size * 8) / 8, 0.0])
        form = Format(
            rng.choice([1.0, 60.0, 3600.0, 0.01, 1e6]), rng.randint(0, 4), "", rng.random() < 0.3
        )
        call = ["cell", [form.divisor, form.digits, int(form.power)], value]
        out.append((call, form.show(value)))
    for _ in range(500):
        p = 10 ** rng.uniform(-9, 0)
        out.append((["p", p], text.probability(p)))
    for p in (0.125, 0.375, 0.5, 1.0, 1e-4):
        out.append((["p", p], text.probability(p)))
    out.append((["day", 739_000], "2024-04-24"))
    return out


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_script_writes_what_python_writes() -> None:
    rows = cases()
    done = subprocess.run(
        ["node", "-e", SCRIPT, str(ASSETS / "format.js")],
        input=json.dumps([call for call, _ in rows]),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found = json.loads(done.stdout)
    wrong = [(c, f, w) for (c, w), f in zip(rows, found, strict=True) if f != w]
    assert wrong == []
