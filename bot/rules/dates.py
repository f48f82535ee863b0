"""Accounting: when a run was completed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from bot.model.case import Case
from bot.model.results import ResultsRun
from bot.model.values import has_zone, parse_timestamp
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.untrusted import plain, shown
from bot.rules.about import about, per_message, runs_of
from bot.rules.values import last_key, place

EARLIEST = dt.datetime(2015, 1, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


def timestamp_invalid(case: Case) -> Iterator[Finding]:
    """The completion time is present and can be read: `YYYY-MM-DD HH:MM:SS UTC`, or ISO 8601.

    It is shown with the record, which never counts as older than its pull request. A time without
    a zone is read as UTC, with a warning; one before 2015 or after today is refused, also in a log
    or a W&B file, and one before the first rule of the track is a warning.
    """
    yield from per_message(_odd_times(case))
    for run in case.results:
        problem = _timestamp_problem(run, case.context.today)
        if problem is None:
            continue
        message, level = problem
        item = run.stated.get("timestamp")
        yield finding(
            "timestamp-invalid",
            message,
            level,
            **place(run, "timestamp"),
            claimed=None if item is None else plain(str(item.raw)),
            fix=("write it as" if item else f"add it to `{last_key(run.info_pointer)}` as")
            + ' "YYYY-MM-DD HH:MM:SS UTC", with the time at which the run ended',
        )


def _odd_times(case: Case) -> Iterator[Finding]:
    """Runs whose time, as any source states it, lies in the future, or before all of this."""
    today = case.context.today
    first = min((r.date for r in case.track.rules), default=None)
    for item, run in runs_of(case):
        moment = parse_timestamp(run.finished_at or run.created_at)
        if moment is None:
            continue
        day, level = moment.date(), None
        if today is not None and day > today + DAY:
            why = f"after today, {today}"
        elif moment < EARLIEST:
            why = "before 2015"
        elif first is not None and day < first and not case.brought_over:
            why, level = f"before the first rule of the track, of {first}", Level.WARNING
        else:
            continue
        if run.source != "results" or level is not None:
            yield about(
                case,
                item,
                run,
                "timestamp-invalid",
                f"the run is dated {day}, {why}",
                level=level,
                claimed=str(day),
                fix="check the machine's clock, or say why it is so old",
            )


def _timestamp_problem(run: ResultsRun, today: dt.date | None) -> tuple[str, Level | None] | None:
    item = run.stated.get("timestamp")
    if item is None:
        return "`run_completion_timestamp` is missing", None
    text = run.text("timestamp") or ""
    moment = parse_timestamp(text)
    if moment is None:
        return f"`run_completion_timestamp` is {shown(item.raw)}, which cannot be read", None
    if moment < EARLIEST:
        return f"`run_completion_timestamp` is {shown(text)}, before 2015", None
    if today is not None and moment.date() > today + DAY:
        return f"`run_completion_timestamp` is {shown(text)}, after today, {today}", None
    if not has_zone(text):
        return f"`run_completion_timestamp`, {shown(text)}, has no time zone", Level.WARNING
    return None
