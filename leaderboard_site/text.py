"""Text and numbers as the site shows them. Everything from a submission is a stranger's text.

`clean` makes a stranger's text safe to look at (no control, invisible or direction-changing
characters, bounded length); escaping for HTML and XML is the template's or `esc`'s work.
Numbers with a unit are the work of `formats`.
"""

from __future__ import annotations

import datetime as dt
import html
import unicodedata
import urllib.parse
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from bot.model.track import Track
from bot.registry import metric_label
from bot.render.numbers import DASH

GROUP = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NEUTRAL = frozenset("\u200d\ufe0f")
"""Joiner and variation selector: parts of emoji, harmless outside identifiers."""


def clean(text: object, limit: int = 160) -> str:
    """A stranger's text on one line, at most `limit` characters, nothing in it that hides.

    Control, format (which holds the bidirectional ones), private, surrogate and unassigned
    characters become U+FFFD; runs of white space become one space.
    """
    shown = str(text)
    if len(shown) <= limit and shown.isascii() and shown.isprintable() and "  " not in shown:
        return shown.strip()
    shown = " ".join(shown[: 8 * limit].split())
    if len(shown) > limit:
        shown = shown[: limit - 1].rstrip() + "…"
    return "".join("\N{REPLACEMENT CHARACTER}" if _hides(c) else c for c in shown)


def clean_lines(text: object, limit: int = 20_000) -> str:
    """Like `clean`, with line breaks and tabs kept."""
    lines = str(text)[:limit].expandtabs(4).splitlines()
    return "\n".join(
        "".join("\N{REPLACEMENT CHARACTER}" if _hides(c) else c for c in line) for line in lines
    )


def _hides(char: str) -> bool:
    if char < "\x7f":
        return char < " "
    return unicodedata.category(char)[0] == "C" and char not in NEUTRAL


def esc(text: object) -> str:
    """Escaped for HTML or XML, element content or a quoted attribute."""
    return html.escape(str(text), quote=True)


def safe_url(url: object) -> str | None:
    """The address when it is absolute http(s) and holds nothing that hides, else None."""
    text = str(url)
    if len(text) > 2000 or any(_hides(c) or c.isspace() for c in text):
        return None
    try:
        parts = urllib.parse.urlsplit(text)
    except ValueError:
        return None
    return text if parts.scheme in ("http", "https") and parts.hostname else None


# ------------------------------------------------------------------------------------ numbers


def power(value: float, digits: int = 3) -> str:
    """A large or small number as `1.78e18`, the form that pastes into a program."""
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def fixed(value: float, digits: int) -> str:
    """A number with so many decimals, thousands in groups, a true minus."""
    rounded = Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    whole, point, rest = f"{abs(rounded):f}".partition(".")
    grouped = f"{int(whole):,}".replace(",", GROUP)
    sign = MINUS if rounded < 0 else ""
    return f"{sign}{grouped}{point}{rest}"


def superscript(exponent: int) -> str:
    """`10¹⁸`, for ticks."""
    return "10" + str(exponent).translate(SUPERSCRIPT)


def signed(value: float, digits: int) -> str:
    """A number with its sign, the true minus; zero has none."""
    text = fixed(value, digits)
    return f"+{text}" if value > 0 and text.strip("0.") else text


def magnitude(value: float) -> str:
    """`154 M`, `3.08 B`: three significant digits with a letter."""
    for bound, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= bound:
            return f"{value / bound:.3g} {letter}"
    return f"{value:.3g}"


def label(metric: str, track: Track | None = None) -> str:
    """The metric's name as a reader of the track knows it."""
    return metric_label(metric) if track is None else track.label(metric)


def day(stamp: str | None) -> str:
    """The date of an ISO 8601 stamp, `2025-06-28`; a dash where there is none."""
    return stamp[:10] if ordinal_day(stamp) is not None and stamp else DASH


def long_day(stamp: str | None) -> str:
    """The date in words, `28 June 2025`; a dash where there is none or it is not a date."""
    try:
        date = dt.date.fromisoformat((stamp or "")[:10])
    except ValueError:
        return DASH
    return f"{date.day} {date:%B %Y}"


def date_of(stamp: str | None) -> dt.date | None:
    """The date of an ISO 8601 stamp, None where there is none."""
    number = ordinal_day(stamp)
    return None if number is None else dt.date.fromordinal(number)


def age(since: str | None, until: str | None) -> str:
    """The time between two days in words, `today`, `3 days`, `5 weeks`; a dash where unknown."""
    start, end = ordinal_day(since), ordinal_day(until)
    if start is None or end is None or end < start:
        return DASH
    days = end - start
    if days < 1:
        return "today"
    return plural(days, "day") if days < 21 else plural(days // 7, "week")


def ordinal_day(stamp: str | None) -> int | None:
    """Days since year 1, for a time axis; None where there is no date."""
    try:
        return dt.date.fromisoformat((stamp or "")[:10]).toordinal()
    except ValueError:
        return None


def some(names: Sequence[str], most: int = 3) -> str:
    """The first names, and how many more there are; empty without any."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def months(since: str | None, until: str | None) -> str:
    """The time between two days as people say it: `12 days`, `25 months`; empty where unknown."""
    start, end = ordinal_day(since), ordinal_day(until)
    if start is None or end is None or end <= start:
        return ""
    whole = int((end - start) / 30.4375)
    return plural(whole, "month") if whole > 1 else plural(end - start, "day")


def plural(count: int, noun: str, many: str | None = None) -> str:
    """`1 run`, `3 runs`, `10 000 entries`."""
    number = f"{count:,}".replace(",", GROUP)
    return f"{number} {noun if count == 1 else many or noun + 's'}"
