"""When the bot acts by itself, in words: what a line of cron says of the nightly audit."""

from __future__ import annotations

import re

_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def how_often(cron: str = "") -> str:
    """`every night`, `every 6 hours`, `every Monday`; `on its schedule` for anything less plain.
    Nothing given is a night."""
    fields = cron.split() or ["0", "3", "*", "*", "*"]
    if len(fields) != 5:
        return "on its schedule"
    minute, hour, day, month, weekday = fields
    plain = minute.isdigit() and (day, month) == ("*", "*")
    if plain and hour.isdigit() and weekday == "*":
        return "every day" if 7 <= int(hour) <= 20 else "every night"
    if plain and hour.isdigit() and re.fullmatch("[0-7]", weekday):
        return f"every {_DAYS[int(weekday) % 7]}"
    step = re.fullmatch(r"\*(?:/(\d+))?", hour) if plain and weekday == "*" else None
    if step is None:
        return "on its schedule"
    return "every hour" if step[1] in (None, "1") else f"every {step[1]} hours"
