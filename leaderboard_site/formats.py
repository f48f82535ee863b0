"""How the cells of one column of numbers are written: one unit, one number of decimals.

`Format.show` and `cell` of `theme/assets/format.js` are the same rule in two languages, and halves
go away from zero in both; `tests/site/test_formats.py` compares every cell that is served with
every cell that is redrawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from bot.render.numbers import DASH
from leaderboard_site.text import MINUS, fixed

POWER_FROM = 1e9
TIMES = ((86_400.0, "d", 259_200.0), (3600.0, "h", 7200.0), (60.0, "min", 600.0))
MAGNITUDES = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))


class Format(NamedTuple):
    """Values are divided by `divisor` and printed with `digits` decimals; with `power` as a
    mantissa of so many decimals and a power of ten. `unit` stands in the column's head."""

    divisor: float = 1.0
    digits: int = 0
    unit: str = ""
    power: bool = False

    def show(self, value: float | int | None) -> str:
        """The cell's text."""
        if value is None or not math.isfinite(value):
            return DASH
        if self.power:
            return _power(float(value), self.digits)
        return fixed(value / self.divisor, self.digits)


def _power(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    number = Decimal(value)
    exponent = number.adjusted()
    mantissa = number.scaleb(-exponent).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    if abs(mantissa) >= 10:
        mantissa, exponent = mantissa / 10, exponent + 1
    return f"{mantissa:.{digits}f}e{exponent}".replace("-", MINUS, 1 if value < 0 else 0)


def format_of(
    metric: str, values: Iterable[float | int | None], unit: str = "", digits: int | None = None
) -> Format:
    """The format that suits the values of a metric; `digits` are those that the track asks for."""
    if digits is not None:
        return Format(1.0, digits, unit)
    seen = sorted(abs(v) for v in values if v is not None and math.isfinite(v))
    middle = seen[len(seen) // 2] if seen else 0.0
    if metric.endswith("_s"):
        return _time(middle)
    if metric == "mfu":
        return Format(0.01, 1, "%")
    if metric == "cost_usd":
        return Format(1.0, 2, "$")
    if metric in ("tokens", "parameters"):
        return _magnitude(seen)
    if "loss" in metric or metric in ("bpb", "ratio"):
        return Format(1.0, 4, unit)
    if middle >= POWER_FROM:
        return Format(1.0, 2, unit, power=True)
    if all(float(v).is_integer() for v in seen):
        return Format(1.0, 0, unit)
    return Format(1.0, _decimals(middle), unit)


def apart(form: Format, values: Iterable[float | int | None]) -> Format:
    """The format with as many decimals more, up to six, as tell different values apart."""
    different = {v for v in values if v is not None and math.isfinite(v)}
    while form.digits < 6 and len({form.show(v) for v in different}) < len(different):
        form = form._replace(digits=form.digits + 1)
    return form


def _time(middle: float) -> Format:
    for divisor, unit, least in TIMES:
        if middle >= least:
            return Format(divisor, 2, unit)
    return Format(1.0, 2, "s")


def _magnitude(seen: Sequence[float]) -> Format:
    least = seen[0] if seen else 0.0
    divisor, unit = next(((d, u) for d, u in MAGNITUDES if least >= d), (1.0, ""))
    return Format(divisor, _decimals(least / divisor), unit)


def _decimals(value: float) -> int:
    return 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 4
