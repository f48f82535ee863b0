"""Numbers and durations as people write them: the one formatter of the program.

Rules: no trailing zeros; thousands in groups; a power only from 1e9 up or below 1e-6, written as
it pastes into a file (`4.38334e18`); a value is never rounded to 0, nor to the bound that it is
compared with; what is missing or not finite is a dash.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

DASH = "\N{EN DASH}"
_LARGE, _SMALL = 1e9, 1e-6
_POWERS = ("flops",)
_COUNTS = ("tokens", "parameters", "steps", "chips", "bytes")


def figure(value: float | int | None, digits: int = 6) -> str:
    """A number with at most so many significant digits; whole numbers below 1e9 are exact."""
    if value is None or not math.isfinite(value):
        return DASH
    if value == 0:
        return "0"
    if not _SMALL <= abs(value) < _LARGE:
        return power(value, digits)
    if float(value).is_integer():
        return f"{int(value):,}"
    places = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def power(value: float, digits: int = 6) -> str:
    """A number as `4.38334e18`."""
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}"


def exact(value: float | int) -> str:
    """A number to write into a file: JSON, no group separators, enough digits for any tolerance."""
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < _LARGE):
        return str(int(value))
    return figure(value, 8).replace(",", "")


def apart(value: float, bound: float, digits: int = 5) -> str:
    """A number beside the bound that it is compared with: digits enough to tell them apart, noise
    of floating point aside."""
    if math.isclose(value, bound, rel_tol=1e-9):
        return figure(value, digits)
    shown = figure(bound, 15)
    for more in range(digits, 16):
        text = figure(value, more)
        if text != shown:
            return text
    return figure(value, digits)


def probability(p: float | None, alpha: float | None = None) -> str:
    """A p-value: two digits, one below 0.001; `< 0.000001` for what is smaller than that."""
    if p is None or not math.isfinite(p):
        return DASH
    if p < _SMALL:
        return "< 0.000001"
    digits = 2 if p >= 1e-3 else 1
    if alpha is not None and p >= alpha:
        return apart(p, alpha, digits) if p > alpha else figure(p)
    return figure(p, digits)


def p_is(p: float, alpha: float | None = None) -> str:
    """`p = 0.081`, `p < 0.000001`."""
    shown = probability(p, alpha)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def duration(seconds: float | None) -> str:
    """A time with its unit: seconds under ten minutes, then minutes, hours, days."""
    if seconds is None or not math.isfinite(seconds):
        return DASH
    size = abs(seconds)
    if size < 0.1:
        return f"{figure(seconds, 2)} s"
    if size < 600:
        return f"{seconds:.2f} s" if size < 100 else f"{seconds:.1f} s"
    for bound, unit, name in ((7200, 60, "min"), (360_000, 3600, "h")):
        if size < bound:
            return f"{seconds / unit:.2f} {name}"
    return f"{seconds / 86_400:.1f} d"


def roughly(seconds: float) -> str:
    """A time for somebody who plans: `about 4 minutes`, `about 2 hours`."""
    for bound, unit, name in ((100, 1, "second"), (5400, 60, "minute"), (172_800, 3600, "hour")):
        if seconds < bound:
            return f"about {count(max(round(seconds / unit), 1), name)}"
    return f"about {count(round(seconds / 86_400), 'day')}"


def difference(metric: str, value: float, unit: str = "") -> str:
    """How far apart two values of a metric are, without a sign: `1.3 s`, `150 steps`."""
    size = abs(value)
    if metric.endswith("_s") and size < 600:
        return f"{size:.1f} s" if size >= 0.05 else f"{figure(size, 1)} s"
    if metric.endswith("_s"):
        return duration(size)
    return f"{figure(size, 3)} {unit}".rstrip()


def quantity(
    metric: str, value: float | int | None, unit: str = "", digits: int | None = None
) -> str:
    """The value of a metric with its unit; metrics that the program knows have their own form.
    `digits` are the decimals that a track asks for."""
    if value is None or not math.isfinite(value):
        return DASH
    if digits is not None:
        return f"{value:,.{digits}f} {unit}".rstrip()
    if metric.endswith("_s"):
        return duration(value)
    if metric == "mfu":
        return percent(value)
    if metric.endswith(_POWERS):
        return f"{figure(value, 4)} {unit or ('FLOP/s' if metric == 'peak_flops' else 'FLOPs')}"
    if metric.endswith(_COUNTS):
        text = figure(value) if value < _LARGE else f"{int(value):,}"
        return f"{text} {unit}".rstrip()
    return f"{figure(value, 5)} {unit}".rstrip()


def percent(share: float) -> str:
    """A share as `4.4 %`."""
    return f"{figure(100 * share, 2 if abs(share) < 0.1 else 3)} %"


def times(ratio: float) -> str:
    """How wrong a figure is: `3 % too high` near the right one, `960 times too low` far off."""
    if not math.isfinite(ratio) or ratio <= 0 or not 1e-9 < ratio < 1e9:
        return "far too high" if ratio > 1 else "far too low"
    side = "high" if ratio > 1 else "low"
    if 0.5 < ratio < 1.5:
        return f"{percent(abs(ratio - 1))} too {side}"
    return f"{figure(max(ratio, 1 / ratio), 3)} times too {side}"


def aligned(column: Sequence[str]) -> list[str]:
    """Numbers of one column with as many decimals as the longest of them has."""
    plain = re.compile(r"-?[\d,]+(?:\.(\d+))?")
    found = [plain.fullmatch(text) for text in column]
    most = max((len(m[1] or "") for m in found if m), default=0)
    dot = "." if most else ""
    return [
        text.partition(".")[0] + dot + (m[1] or "").ljust(most, "0") if m else text
        for text, m in zip(column, found, strict=True)
    ]


def count(n: int, noun: str, many: str | None = None) -> str:
    """`1 run`, `3 runs`, `10,000 entries`."""
    return f"{n:,} {noun if n == 1 else many or noun + 's'}"


def each_run(text: str, n: int) -> str:
    """A sentence about `the run`, said of so many runs: `each of the 8 runs`."""
    if n < 2:
        return text
    text = re.sub(
        r"\b([Nn])othing in (?:the|this) run\b(?!['.-]\w)", rf"\1one of the {n} runs", text
    )
    text = re.sub(r"\b(?:the|this) run's(?= )", "each run's", text)
    return re.sub(r"\b(?:the|this) run\b(?!['.-]\w)", f"each of the {n} runs", text)


def ordinal(n: int) -> str:
    """`1st`, `2nd`, `11th`, `23rd`."""
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n:,}{ending}"


def listed(parts: list[str] | tuple[str, ...], word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}"
