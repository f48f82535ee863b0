"""Best of many: a variant that a search chose is shown by runs that were fixed before it ended."""

from __future__ import annotations

from collections.abc import Iterator

from bot.model.case import Case
from bot.model.run import Run
from bot.model.values import parse_timestamp
from bot.model.verdict import Finding, finding
from bot.render.untrusted import plain


def confirmation_not_fixed(case: Case) -> Iterator[Finding]:
    """Where a search chose the variant, the runs that count were fixed before it ended.

    The best of many looks better than it is: of ten equal variants with four runs each the best
    mean lies three quarters of a standard deviation above the truth. So runs of a search carry the
    arm `search` and count in no mean. The candidate runs are new ones, begun after the last run of
    the search, and their number was fixed beforehand: by a preregistration, or by the looks of the
    track.
    """
    search = [r for item in case.evidence if item.spec.arm == "search" for r in item.runs]
    if not search:
        return
    if case.submission.preregistration is None and not case.track.significance.looks:
        yield _found(
            case,
            "nothing fixed the number of runs that confirm the choice",
            'name the issue that announced them under "preregistration".',
        )
    ends = [parse_timestamp(run.finished_at or run.heartbeat_at) for run in search]
    last = max((end for end in ends if end is not None), default=None)
    for run in case.runs("candidate"):
        begun = parse_timestamp(run.created_at)
        if last is None or None in ends or begun is None:
            yield _found(
                case,
                "the runs do not say that those which count began after the search",
                "bring runs whose times W&B states, in both arms.",
            )
            return
        if begun < last:
            yield _found(
                case,
                f"the run began on {begun:%Y-%m-%d %H:%M} UTC, before the search ended on "
                f"{last:%Y-%m-%d %H:%M} UTC",
                "run the chosen variant again, as often as was announced, and list those runs.",
                run,
            )


def _found(case: Case, message: str, fix: str, run: Run | None = None) -> Finding:
    where = "" if run is None else f"{plain(run.file, 120)}: "
    file = None if run is None else run.file
    return finding(
        "confirmation-not-fixed", where + message, file=case.list_file, run=file, fix=fix
    )
