"""Plain values: numbers that are numbers, names that are nearly the same, times that say when.

A leaf: it imports nothing of the project.
"""

from __future__ import annotations

import datetime as dt
import difflib
import math
import re
from typing import TypeGuard

_MOST_CHOICES = 200
_NOT_FINITE = frozenset({"nan", "inf", "infinity", "+inf", "-inf", "+infinity", "-infinity"})
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?) ?(UTC|GMT|[zZ]|[+-]\d\d:?\d\d)?",
    re.ASCII,
)


def finite(value: object) -> TypeGuard[float]:
    """Whether `value` is a finite number; a bool is not a number."""
    if type(value) is float:
        return math.isfinite(value)
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_not_finite(raw: object) -> bool:
    """Whether a value is NaN or an infinity, also as the text that W&B makes of one."""
    if isinstance(raw, float):
        return not math.isfinite(raw)
    return isinstance(raw, str) and raw.strip().lower() in _NOT_FINITE


def whole(value: object) -> int | None:
    """A whole number, also one written as 4.0; None for anything else, true and false included."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if math.isfinite(value) and value == int(value) else None


def positive(value: object) -> int | None:
    """A whole number above 0, else None."""
    number = whole(value)
    # Beyond 1e15 nothing is counted here, and products would leave the range of a double.
    return number if number is not None and 0 < number <= 10**15 else None


def near_key(key: str, choices: set[str], likeness: float = 0.82) -> str | None:
    """The choice that `key` is probably a misspelling of, or None. `likeness` is difflib's."""
    if len(key) > 64 or not choices:
        return None
    likely = [choice for choice in sorted(choices) if abs(len(choice) - len(key)) <= 4]
    lowered = {choice.lower().replace("-", "_"): choice for choice in likely[:_MOST_CHOICES]}
    typed = key.lower().replace("-", "_")
    swapped = [name for name in lowered if len(name) > 2 and sorted(name) == sorted(typed)]
    near = swapped or difflib.get_close_matches(typed, lowered, 1, likeness)
    return lowered[near[0]] if near else None


def parse_timestamp(text: str | None) -> dt.datetime | None:
    """A completion time such as `2025-06-28 21:52:29 UTC` or ISO 8601, in UTC; None for others.

    Without a zone it is read as UTC.
    """
    match = _TIMESTAMP.fullmatch(text.strip()) if text is not None else None
    if match is None:
        return None
    day, time, zone = match.groups()
    offset = "+00:00" if zone is None or zone.upper() in ("UTC", "GMT", "Z") else zone
    try:
        moment = dt.datetime.fromisoformat(f"{day}T{time.replace(',', '.')}{offset}")
        return moment.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None


def by_date(date: str | None) -> str:
    """What a date is sorted by: what has none comes last."""
    return date or "9999"


def has_zone(text: str) -> bool:
    """Whether a timestamp that `parse_timestamp` reads names its time zone."""
    match = _TIMESTAMP.fullmatch(text.strip())
    return match is not None and match.group(3) is not None
