"""How numbers are written on every page, chart, feed and card: the one formatter of the site.

A column has one unit and one number of decimals (`format_of`); a value inside a sentence has the
same decimals, and a time or a count the unit that suits it (`quantity`). Both are written a second
time in `theme/assets/format.js`, which redraws the boards; halves go away from zero in both.
`tests/site/test_formats.py` compares the two, `tests/site/cells.mjs` every cell that is served
with every cell that is redrawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal, NamedTuple

from bot.render.numbers import DASH, probability
from leaderboard_site.text import MINUS, fixed, signed

POWER_FROM = 1e9
TIMES = ((86_400.0, "d", 259_200.0), (3600.0, "h", 7200.0), (60.0, "min", 600.0))
MAGNITUDES = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
PAD, PAD_POINT = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"
"""As wide as a digit and as a point: with them the points of p-values stand in one line."""

Kind = Literal["fixed", "power", "p"]
KINDS: Sequence[Kind] = ("fixed", "power", "p")


class Format(NamedTuple):
    """Values are divided by `divisor` and printed with `digits` decimals; a `power` as a mantissa
    of so many decimals and a power of ten; a `p` as everywhere, filled up to so many decimals.
    `unit` stands in the column's head."""

    divisor: float = 1.0
    digits: int = 0
    unit: str = ""
    kind: Kind = "fixed"

    def show(self, value: float | int | None) -> str:
        """The cell's text."""
        if value is None or not math.isfinite(value):
            return DASH
        if self.kind == "power":
            return _power(float(value), self.digits)
        if self.kind == "p":
            return _filled(probability(value), self.digits)
        return fixed(value / self.divisor, self.digits)

    def words(self, value: float | int | None) -> str:
        """The value inside a sentence, with its unit; a whole time has no decimals."""
        shown = self.show(value).rstrip(PAD + PAD_POINT)
        if shown == DASH:
            return shown
        if self.unit == "$":
            return f"{MINUS * shown.startswith(MINUS)}${shown.lstrip(MINUS)}"
        whole, _, rest = shown.partition(".")
        if rest and not rest.strip("0") and self.unit in _TIME_UNITS:
            shown = whole
        return f"{shown} {self.unit}".rstrip()

    def packed(self) -> list[float | int]:
        """What the script needs of it."""
        return [self.divisor, self.digits, KINDS.index(self.kind)]


_TIME_UNITS = frozenset(("s", *(unit for _, unit, _ in TIMES)))


def _power(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    number = Decimal(value)
    exponent = number.adjusted()
    mantissa = number.scaleb(-exponent).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    if abs(mantissa) >= 10:
        mantissa, exponent = mantissa / 10, exponent + 1
    return f"{mantissa:.{digits}f}e{exponent}".replace("-", MINUS, 1 if value < 0 else 0)


def _filled(shown: str, digits: int) -> str:
    """A p-value with spaces behind it, so that its point stands under those of other rows."""
    if not digits or not shown[:1].isdigit():
        return shown
    _, point, decimals = shown.partition(".")
    return shown + PAD_POINT * (not point) + PAD * (digits - len(decimals))


def p_format(values: Iterable[float | None]) -> Format:
    """The format of a column of p-values: room for the longest of them."""
    decimals = (len(probability(v).partition(".")[2]) for v in values if v is not None)
    return Format(1.0, max(decimals, default=0), kind="p")


def chosen_for_each(metric: str) -> bool:
    """Whether each value of a metric has a unit that suits it, in a sentence: times and counts."""
    return metric.endswith("_s") or metric in ("tokens", "parameters")


def quantity(
    metric: str, value: float | int | None, unit: str = "", digits: int | None = None
) -> str:
    """A value inside a sentence, where no board says how its column is written."""
    return format_of(metric, (value,), unit, digits).words(value)


def format_of(
    metric: str, values: Iterable[float | int | None], unit: str = "", digits: int | None = None
) -> Format:
    """The format that suits the values of a metric; `digits` are those that the track asks for."""
    if digits is not None:
        return Format(1.0, digits, unit)
    seen = sorted(abs(v) for v in values if v is not None and math.isfinite(v))
    middle = seen[len(seen) // 2] if seen else 0.0
    if metric == "p":
        return p_format(seen)
    if metric.endswith("_s"):
        return _time(middle)
    if metric == "mfu":
        return Format(0.01, 1, "%")
    if metric == "cost_usd":
        return Format(1.0, 2, "$")
    if metric in ("tokens", "parameters"):
        return _magnitude(seen)
    if "loss" in metric or metric in ("bpb", "ratio", "cost_ratio"):
        return Format(1.0, 4, unit)
    if middle >= POWER_FROM:
        return Format(1.0, 2, unit, "power")
    if all(float(v).is_integer() for v in seen):
        return Format(1.0, 0, unit)
    return Format(1.0, _decimals(middle), unit)


def change(share: float) -> str:
    """A gain or a difference as a share, `−1.05 %`, with its sign."""
    return f"{signed(100 * share, 2)} %"


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
    return Format(1.0, 2 if middle >= 0.1 or not middle else 5, "s")


def _magnitude(seen: Sequence[float]) -> Format:
    least = seen[0] if seen else 0.0
    divisor, unit = next(((d, u) for d, u in MAGNITUDES if least >= d), (1.0, ""))
    return Format(divisor, _decimals(least / divisor), unit)


def _decimals(value: float) -> int:
    return 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 4
