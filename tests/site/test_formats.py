"""A column's numbers are written alike by Python and by the script that redraws them."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from bot.render.numbers import probability
from leaderboard_site.formats import Format, change, fixed, format_of, p_format, quantity

ASSETS = Path(__file__).resolve().parents[2] / "leaderboard_site" / "theme" / "assets"
SCRIPT = """
global.window = { speedrun: {} };
global.document = {};
require(process.argv[1]);
const { cell, probability, day, formatOf, words, change } = window.speedrun;
const rows = JSON.parse(require("fs").readFileSync(0, "utf8"));
const call = {
  cell: ([f, v]) => cell(f, v),
  p: ([v]) => probability(v),
  day: ([v]) => day(v),
  format: ([metric, values, unit, digits]) => formatOf(metric, values, unit, digits),
  words: ([metric, v]) => words(formatOf(metric, [v]), v),
  change: ([v]) => change(v),
};
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
    assert Format(1.0, 2, kind="power").show(value) == shown


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


@pytest.mark.parametrize(
    ("metric", "value", "shown"),
    [
        ("hardware_flops", 1.777e18, "1.78e18"),
        ("training_time_s", 77.34, "77.34 s"),
        ("training_time_s", 171.78, "171.78 s"),
        ("training_time_s", 1686.0, "28.10 min"),
        ("training_time_s", 2700.0, "45 min"),
        ("training_time_s", 54420.35, "15.12 h"),
        ("training_time_s", 0.0123, "0.01230 s"),
        ("steps", 10000, "10\u202f000"),
        ("tokens", 3_080_000_000, "3.08 B"),
        ("parameters", 154_000_000, "154 M"),
        ("mfu", 0.3512, "35.1 %"),
        ("cost_usd", 1234.5, "$1\u202f234.50"),
        ("cost_usd", -0.5, "\u2212$0.50"),
        ("bpb", 0.940015, "0.9400"),
        ("bpb", None, "–"),
        ("bpb", math.nan, "–"),
    ],
)
def test_a_sentence_and_a_column_write_a_value_alike(
    metric: str, value: float | None, shown: str
) -> None:
    assert quantity(metric, value) == shown
    alone = format_of(metric, (value,)).show(value)
    assert alone.lstrip("\u2212").removesuffix(".00") in shown


def test_p_values_of_a_column_have_their_points_in_one_line() -> None:
    values = (0.00067, 0.032, 1.0, 4e-6, 1e-9)
    form = p_format(values)
    shown = [form.show(v) for v in values]
    assert [s.strip() for s in shown] == ["0.0007", "0.032", "1", "0.000004", "< 0.000001"]
    behind = {len(s) - s.index(".") for s in shown[:2] + shown[3:4]}
    assert behind == {7} and len(shown[2]) == 1 + 7


def test_what_is_missing_is_a_dash() -> None:
    assert Format().show(None) == Format().show(math.nan) == Format().show(math.inf) == "–"


METRICS = (
    *("training_time_s", "loss", "bpb", "ratio", "steps", "mfu", "cost_usd"),
    *("tokens", "parameters", "hardware_flops", "chip_hours", "accuracy"),
)


def cases() -> list[tuple[list[object], object]]:
    """Calls of the script, each with what Python writes: random numbers, and exact halves."""
    rng = random.Random(17)
    out: list[tuple[list[object], object]] = []
    for _ in range(3000):
        size = 10 ** rng.uniform(-5, 12)
        value = rng.choice([size, -size, round(size), round(size * 8) / 8, 0.0])
        form = Format(
            rng.choice([1.0, 60.0, 3600.0, 0.01, 1e6]),
            rng.randint(0, 4),
            "",
            "power" if rng.random() < 0.3 else "fixed",
        )
        out.append((["cell", form.packed(), value], form.show(value)))
        out.append((["change", size / 1e4], change(size / 1e4)))
    for p in (*(10 ** rng.uniform(-9, 0) for _ in range(500)), 0.125, 0.375, 0.5, 1.0, 1e-4):
        out.append((["p", p], probability(p)))
        aligned = Format(1.0, 6, kind="p")
        out.append((["cell", aligned.packed(), p], aligned.show(p)))
    for metric in METRICS:
        for _ in range(60):
            some = [10 ** rng.uniform(-3, 18) for _ in range(rng.randint(1, 5))]
            whole = [float(round(v)) if v < 1e15 else v for v in some]
            for values in (some, whole, [0.0]):
                form = format_of(metric, values, "u")
                out.append((["format", metric, values, "u", None], [form.packed(), form.unit]))
                value = values[0]
                out.append((["words", metric, value], quantity(metric, value)))
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
