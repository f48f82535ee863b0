"""The words on a pull request, made from a report by templates that a community can replace.

Templates see data, and everything they print is escaped as prose unless it went through the filter
`code` (a code span) or was written by the template itself. So a template cannot forget to escape.
"""

from __future__ import annotations

import dataclasses as dc
import functools as ft
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, FileSystemLoader, StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bot.model.report import Place, Report, Settings
from bot.registry import Level, Status
from bot.render import markdown
from bot.render import terminal as report_words

LIMIT = 65_536
MOST_PROSE = 2_000
ROOM = 60_000
"""We stay under GitHub's limit with room to spare: it counts characters after its own changes."""
STICKY = "<!-- speedrun:verdict -->"
STATE = "<!-- speedrun:state "
PASSING = tuple(status for status in Status if status.counts)
FAILING = (Status.REJECTED, Status.NEEDS_RUNS)
WORDS = {status: words.capitalize() for status, words in report_words.WORDS.items()}
GRADES = {str(grade): words for grade, words in report_words.GRADES.items()}
_SHRINK = ((200, 50, True), (60, 20, True), (20, 5, False), (5, 0, False))


class Safe(str):
    """Text that is already Markdown of ours."""


class TemplateProblem(ValueError):
    """A template of the community cannot be used; the message names it and the fault."""


@dc.dataclass(frozen=True, slots=True)
class State:
    """What the sticky comment remembers for the next time: decided is `passing` or `failing`.

    The rest is for the site's list of open pull requests.
    """

    status: str
    decided: str | None
    sha: str
    author: str = ""
    track: str = ""
    place: str = ""
    blocks: tuple[str, ...] = ()

    def marker(self) -> str:
        """The hidden line that holds it; no text in it can end the HTML comment."""
        text = json.dumps(dc.asdict(self), sort_keys=True)
        return f"{STATE}{text.replace('<', chr(92) + 'u003c').replace('>', chr(92) + 'u003e')} -->"


def read_state(body: str) -> State | None:
    """The state of a sticky comment of ours; None where there is none."""
    for line in body.split("\n")[:3]:
        if line.startswith(STATE) and line.endswith(" -->"):
            try:
                state = State(**json.loads(line.removeprefix(STATE).removesuffix(" -->")))
                state = dc.replace(state, blocks=tuple(state.blocks))
            except (ValueError, TypeError, RecursionError):
                return None
            return state if _sound(state) else None
    return None


def _sound(state: State) -> bool:
    """A maintainer can edit our comments by hand; what was broken so is as if it were not there."""
    texts = (state.status, state.sha, state.author, state.track, state.place, *state.blocks)
    return state.decided in ("passing", "failing", None) and all(
        isinstance(text, str) for text in texts
    )


def decided(status: Status | None) -> str | None:
    """`passing`, `failing`, or None where nothing was decided (our side, or no submission)."""
    if status in PASSING:
        return "passing"
    return "failing" if status in FAILING else None


# ---- templates ----------------------------------------------------------------------------------


def _finalize(value: Any) -> str:
    if isinstance(value, Safe):
        return value
    if value is None:
        return ""
    if isinstance(value, bool | int):
        return str(value)
    return markdown.prose(value, MOST_PROSE)


def number(value: Any) -> Safe:
    """A number or a small value for a table cell, always as a code span."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Safe(markdown.code(report_words.number(value)))
    if isinstance(value, list | tuple) and len(value) == 2:
        return Safe(f"{number(value[0])} to {number(value[1])}")
    if isinstance(value, dict | list):
        return Safe(markdown.code(json.dumps(value)))
    return Safe("–") if value is None else Safe(markdown.code(value))


def placed(place: Place, track: str, done: bool = False) -> Safe:
    """`would be place 3 of 41 on nanogpt-small, 0.8 s behind the record`, or that it is so."""
    words = place.text
    if done:
        words = words.replace("would be", "is", 1).replace("would not rank", "does not rank", 1)
    found = re.search(r"\d+ of \d+|not rank", words)
    if found is None:
        return Safe(f"{markdown.sentence(words)} on {markdown.code(track)}")
    before, after = words[: found.end()], words[found.end() :]
    return Safe(f"{markdown.prose(before)} on {markdown.code(track)}{markdown.sentence(after)}")


@ft.lru_cache(maxsize=4)
def environment(custom: Path | None) -> ImmutableSandboxedEnvironment:
    """Our templates, those of the repository first."""
    ours = FileSystemLoader(Path(__file__).with_name("templates"))
    loaders = [FileSystemLoader(custom), ours] if custom else [ours]
    env = ImmutableSandboxedEnvironment(
        loader=ChoiceLoader(loaders),
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    env.filters["code"] = lambda value, longest=120: Safe(markdown.code(value, longest))
    env.filters["sentence"] = lambda value: Safe(markdown.sentence(value))
    env.filters["number"] = number
    env.filters["rule_page"] = lambda rule: Safe(re.sub(r"[^a-z0-9-]", "", str(rule)))
    env.filters["placed"] = placed
    env.filters["ratio"] = lambda value: Safe(f"{float(value):.3g}")
    env.filters["short"] = lambda sha: Safe(markdown.code(str(sha)[:7]))
    return env


def render(name: str, settings: Settings, **values: Any) -> str:
    """One template with values. Raises TemplateProblem for a template that does not work."""
    try:
        template = environment(settings.templates).get_template(name)
        # templates get values, never objects that can do something
        common = {"site": Safe(settings.site), "review_days": settings.review_days}
        return template.render(**common, **values).strip() + "\n"
    except TemplateError as error:
        raise TemplateProblem(f"the template {name} does not work: {error}") from error


def state_of(report: Report, before: State | None = None) -> State:
    """What the sticky comment of a report remembers."""
    status = report.status
    blocks = dict.fromkeys(f.rule for v in report.verdicts for f in v.errors)
    first = report.verdicts[0] if report.verdicts else None
    place = report.places.get(first.submission) if first else None
    return State(
        str(status or report.kind),
        decided(status) or (before.decided if before else None),
        report.head_sha,
        author=report.author,
        track=first.track if first else "",
        place=place.text if place else "",
        blocks=tuple(blocks)[:10],
    )


def render_comment(report: Report, settings: Settings, before: State | None = None) -> str:
    """The sticky comment, its hidden lines included, under GitHub's limit whatever happens."""
    state = state_of(report, before)
    head = f"{STICKY}\n{state.marker()}\n"
    body = ""
    for findings, rows, details in _SHRINK:
        body = body_of(report, settings, findings, rows, details)
        if len(head) + len(body) <= ROOM:
            return head + body
    notice = "\n\n_Cut here: the whole report is in the check run and in the job's artifact._\n"
    return head + _cut(body, ROOM - len(head) - len(notice)) + notice


def _cut(body: str, room: int) -> str:
    """Whole lines only, so that no code span or table row is left open; folds are closed."""
    kept = body[:room].rpartition("\n")[0]
    open_folds = kept.count("<details>") - kept.count("</details>")
    return kept + "\n\n</details>" * max(open_folds, 0)


def body_of(
    report: Report, settings: Settings, findings: int = 200, rows: int = 50, details: bool = True
) -> str:
    """The visible part, with at most so many findings a level and rows a table."""
    return render(
        f"{report.kind}.md.j2",
        settings,
        report=report,
        status=report.status,
        words=WORDS,
        grades=GRADES,
        verdicts=[_view(v, report, findings, rows) for v in report.verdicts],
        details=details,
    )


def _view(verdict: Any, report: Report, most: int, rows: int) -> Mapping[str, Any]:
    """One verdict as the templates see it."""
    by_level = {level: [f for f in verdict.findings if f.level is level] for level in Level}
    metrics = [
        (Safe(f"{title}, {unit}" if unit else title), verdict.metrics[name])
        for name, (title, unit) in report_words.METRICS.items()
        if verdict.metrics.get(name) is not None
    ]
    return {
        "submission": verdict.submission,
        "name": verdict.submission.rpartition("/")[2],
        "track": verdict.track,
        "status": verdict.status,
        "words": Safe(WORDS[verdict.status]),
        "grade": Safe(GRADES[str(verdict.evidence)]),
        "note": verdict.note,
        "place": report.places.get(verdict.submission),
        "errors": by_level[Level.ERROR][:most],
        "warnings": by_level[Level.WARNING][:most],
        "notes": by_level[Level.NOTE][:most],
        "hidden": sum(max(len(found) - most, 0) for found in by_level.values()),
        "metrics": metrics[:rows],
        "points": verdict.points[:rows] if len(verdict.points) > 1 else (),
        "statistics": statistics_rows(verdict.statistics or {}),
        "excluded": list((verdict.statistics or {}).get("excluded") or ())[:rows],
        "needed": (verdict.statistics or {}).get("needed_runs"),
        "runs": verdict.runs[:rows],
        "more_runs": max(len(verdict.runs) - rows, 0),
        "accepted": verdict.accepted,
    }


_STATISTICS = (
    ("n", "runs that count"),
    ("mean", "mean"),
    ("sd", "standard deviation (n - 1)"),
    ("interval", "95 % interval"),
    ("p", "p"),
    ("p_sigma", "p with the known sigma"),
    ("p_pooled", "p with the track's pooled sd"),
    ("p_without_best", "p without the best run"),
    ("alpha", "p must be below"),
)


def statistics_rows(statistics: Mapping[str, Any]) -> list[tuple[Safe, Any]]:
    """The rows of the table of statistics that have a value."""
    return [
        (Safe(words), statistics[key])
        for key, words in _STATISTICS
        if statistics.get(key) is not None
    ]
