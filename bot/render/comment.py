"""The words on a pull request, made from a report by templates that a community can replace.

Templates see data, and everything they print is escaped as prose unless it went through the filter
`code` (a code span) or was written by the template itself. So a template cannot forget to escape.
"""

from __future__ import annotations

import dataclasses as dc
import functools as ft
import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, FileSystemLoader, StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bot.model.report import Report, Settings
from bot.model.values import finite
from bot.model.verdict import Finding, Verdict
from bot.registry import OURS, Level, Status, catalogue
from bot.render import details, markdown
from bot.render.answer import Answer, Where, answer, gpu_hours, heading
from bot.render.experiment import of_report
from bot.render.groups import Group, sentence, weight
from bot.render.needed import needed
from bot.render.place import table

MOST_PROSE = 2_000
ROOM = 60_000
"""Below GitHub's limit of 65,536 with room to spare: it counts characters after its own changes."""
STICKY = "<!-- speedrun:verdict -->"
STATE = "<!-- speedrun:state "
PASSING = tuple(status for status in Status if status.counts)
FAILING = (Status.REJECTED, Status.NEEDS_RUNS)
WORDS = {status: heading(status) for status in Status}
_OTHER_WAY = re.compile(r", or (?:remove|leave)\b[^\"`]*$")
"""What a fix offers besides writing a value, of no use beside a suggestion that writes it."""
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
    entry: str = ""
    runs: int = 0
    """How many more runs it needs."""
    gpu_hours: float = 0.0
    """What they take, about; 0 if that is unknown."""
    grant_hours: float = 0.0
    """What a maintainer may grant it."""

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
    texts = (state.status, state.sha, state.author, state.track, state.place, state.entry)
    return (
        state.decided in ("passing", "failing", None)
        and all(isinstance(text, str) for text in (*texts, *state.blocks))
        and all(finite(x) for x in (state.runs, state.gpu_hours, state.grant_hours))
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
    return markdown.sentence(value, MOST_PROSE)


def cell(value: object) -> Safe:
    """A text for a table cell, where a bar would end it; no line breaks before a unit."""
    text = re.sub(r"\\?\|", "\u00a6", markdown.sentence(value))
    return Safe(re.sub(r"(?<=\d) (?=(?:s|min|h|d|%)$)", "\u00a0", text))


def block(text: str, language: str) -> Safe:
    """A text in a fence that it cannot close."""
    fence = "`" * (max([2, *map(len, re.findall("`+", text))]) + 1)
    return Safe(f"{fence}{language}\n{text}\n{fence}")


def fenced(line: str, language: str) -> Safe:
    """One line in a fence, as a part of a numbered item."""
    return Safe(textwrap.indent(block(line, language), "   "))


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
    env.filters["linked"] = lambda value: Safe(markdown.sentence(value, links=True))
    env.filters["summary"] = lambda value: Safe(markdown.summary(value))
    env.filters["cell"] = cell
    env.filters["run"] = lambda run: Safe(markdown.run_link(str(run or "")))
    env.filters["block"] = block
    env.filters["fenced"] = fenced
    env.filters["rule_page"] = lambda rule: Safe(re.sub(r"[^a-z0-9-]", "", str(rule)))
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
    more = needed(first) if first and status is Status.NEEDS_RUNS else 0
    return State(
        str(status or report.kind),
        decided(status) or (before.decided if before else None),
        report.head_sha,
        author=report.author,
        track=first.track if first else "",
        place=place.text.replace("`", "") if place else "",
        blocks=tuple(blocks)[:10],
        entry=first.submission if first else "",
        runs=more,
        gpu_hours=gpu_hours(first, more) if first else 0.0,
        grant_hours=place.grant_hours if place else 0.0,
    )


Links = Mapping[tuple[str, int], str]
"""File and line -> the page of the suggestion that stands there."""


def render_comment(
    report: Report, settings: Settings, before: State | None = None, links: Links | None = None
) -> str:
    """The sticky comment, its hidden lines included, under GitHub's limit whatever happens."""
    state = state_of(report, before)
    head = f"{STICKY}\n{state.marker()}\n"
    body = ""
    for findings, rows, folds in _SHRINK:
        body = body_of(report, settings, findings, rows, folds, links)
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
    report: Report,
    settings: Settings,
    findings: int = 200,
    rows: int = 50,
    details: bool = True,
    links: Links | None = None,
) -> str:
    """The visible part, with at most so many findings folded and rows a table."""
    return render(
        f"{report.kind}.md.j2",
        settings,
        report=report,
        answers=[
            view(answer_of(report, verdict, settings), findings, rows, links)
            for verdict in report.verdicts
        ],
        details=details,
        experiments=of_report(report),
    )


def answer_of(report: Report, verdict: Verdict, settings: Settings) -> Answer:
    """The answer to one submission of a pull request."""
    place = report.places.get(verdict.submission)
    where = Where.INTAKE if report.intake else Where.PULL
    return answer(verdict, place, where, settings.review_days, settings.schedule)


def entry_page(verdict: Verdict, settings: Settings) -> Safe:
    """The address of an entry on the site; empty where there is no site."""
    _, _, name = verdict.submission.partition(f"submissions/{verdict.track}/")
    # names hold no dot, so this is one to one
    slug = (name or verdict.submission).replace("/", ".")
    return Safe(f"{settings.site}/entries/{verdict.track}/{slug}/" if settings.site else "")


def to_markdown(item: Answer, settings: Settings) -> str:
    """An answer as Markdown for any place, without what only a pull request has."""
    shown = view(item, 200, 50)
    text = render("_answer.md.j2", settings, a=shown, details=True, sha="")
    if len(text) <= ROOM:
        return text
    return _cut(text, ROOM - 100) + "\n\n_The rest is left out; `speedrun check -v` shows it._\n"


def view(item: Answer, most: int, rows: int, links: Links | None = None) -> Mapping[str, Any]:
    """One answer as the templates see it: values, and nothing that can do something."""
    verdict = item.verdict
    rest = [entry for group in item.groups for entry in group.rest]
    entries = [*rest, *(entry for group in item.folded for entry in group.entries)]
    kept, hidden = _first(entries, most)
    columns, rows_of_table = table(item.place.rows)
    return {
        "icon": Safe(item.icon),
        "line": item.line,
        "next": item.next,
        "outlook": item.outlook,
        "status": str(verdict.status),
        "groups": [_group(group, links or {}, verdict.submission) for group in item.groups],
        "columns": columns,
        "rows": rows_of_table,
        "rows_shown": bool(item.rows),
        "fold": item.fold,
        "findings": [
            _entry(entry, verdict.submission) | {"above": number < len(rest)}
            for number, entry in enumerate(kept)
        ],
        "hidden": hidden,
        "numbers": list(details.claimed_rows(verdict))[:rows],
        "claims": any(claimed for _, claimed, _, _ in details.claimed_rows(verdict)),
        "statistics": list(details.statistics(verdict))[:rows],
        "runs": list(details.run_rows(verdict))[:rows],
        "arms": details.arms_of(verdict),
        "more_runs": max(len(verdict.runs) - rows, 0),
        "accepted": verdict.accepted,
        "submission": verdict.submission,
        "source": Safe(item.source),
        "note": verdict.note,
        "grant": item.place.grant_hours,
        "welcome": verdict.status is Status.VERIFIED and item.place.first_entry,
    }


def _linked(text: str, run: str | None) -> Safe:
    """A sentence with the run that it names as a link to its page."""
    said = markdown.sentence(text, links=True)
    if not run or not markdown.RUN_PAGE.fullmatch(run):
        return Safe(said)
    if f"]({run})" in said:
        return Safe(said)
    entity, project, _, name = run.removeprefix("https://wandb.ai/").split("/")
    for shown in (f"{entity}/{project}/{name}", name):
        found = re.search(rf"(?<![`\w/.-]){re.escape(markdown.prose(shown))}(?![`\w/-])", said)
        if found:
            link = f"[{markdown.code(shown)}]({run})"
            return Safe(f"{said[: found.start()]}{link}{said[found.end() :]}")
    return Safe(f"{said} ({markdown.run_link(run)})")


Entry = tuple[Finding, ...]
"""Findings of one cause, which the fold lists as one."""


def _first(entries: Sequence[Entry], most: int) -> tuple[list[Entry], int]:
    """Entries of so many findings at most, and how many findings are left out."""
    kept, room = [], most
    for entry in entries:
        if room > 0:
            kept.append(entry[:room])
        room -= len(entry)
    return kept, max(-room, 0)


def _entry(entry: Entry, folder: str) -> dict[str, Any]:
    """Findings of one cause: the first told whole, the others by what differs."""
    first, *others = entry
    told, runs, places = _folded(first, folder), [], []
    for other in others:
        said = _folded(other, folder)
        if other.run and first.run and _of_any(other) == _of_any(first):
            runs.append(Safe(markdown.run_link(other.run)))
        else:
            said["fix"] = "" if said["fix"] == told["fix"] else said["fix"]
            places.append(said)
    return {**told, "runs": runs, "others": places}


def _of_any(item: Finding) -> tuple[str, str | None]:
    """What a finding says whatever its run is called."""
    name = (item.run or "").rpartition("/")[2]
    return item.message.replace(item.run or name, "").replace(name, ""), item.fix


def _folded(item: Finding, folder: str) -> dict[str, Any]:
    """A finding of the fold, told whole."""
    return {
        "rule": item.rule,
        "weight": weight(item),
        "file": (item.file or "").removeprefix(f"{folder}/"),
        "line": item.line,
        "says": _linked(sentence(item.message), item.run),
        "fix": sentence(item.fix or "", capital=False),
        "optional": item.level is Level.NOTE,
        "because": item.because,
    }


def _group(group: Group, links: Links, folder: str) -> Mapping[str, Any]:
    first = group.first
    page = links.get((first.file or "", first.line or 0))
    named = None if first.file == folder else first.file
    if not first.line and catalogue()[first.rule]["family"] == "statistics":
        named = None  # it is about the runs
    at_ours = group.rule in OURS and first.run is not None
    return {
        "rule": group.rule,
        "level": str(group.level),
        "says": _linked(group.says, first.run),
        "fix": group.fix,
        "also": group.also,
        "others": group.others,
        "file": None if at_ours or not named else named.rpartition("/")[2],
        "line": first.line,
        "suggestion": first.suggestion,
        "first_fix": _OTHER_WAY.sub(".", group.fix),
        "suggested": Safe(page) if page else None,
    }
