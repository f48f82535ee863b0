"""An answer on a terminal, verdicts as JSON, and findings as workflow commands of GitHub.

Every text of a stranger in a verdict is shown through `bot.render.untrusted`.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from bot.model.serial import dumps
from bot.model.verdict import SCHEMA_VERSION, Finding, Verdict
from bot.registry import OURS, STATUS_NAMES, Level, Status
from bot.render.answer import Answer
from bot.render.details import arms_of, claimed_rows, run_rows, statistics, witness_rows
from bot.render.groups import Group, sentence, weight
from bot.render.place import table
from bot.render.untrusted import plain

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS: Mapping[str, str] = {
    "verified": "green",
    "consistent": "green",
    "needs-review": "yellow",
    "needs-runs": "yellow",
    "rejected": "red",
    "unverifiable": "cyan",
}
_SPACE = "\ue000"
"""Stands for a space at which no line may break."""
_LEVELS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "cyan"}


def to_json(verdicts: Iterable[Verdict]) -> str:
    """The answer of `check --format json`, in the shape of `schemas/report.schema.json`.

    Strict JSON: a number that is not finite becomes null.
    """
    report = {"schema_version": SCHEMA_VERSION, "verdicts": [v.to_json() for v in verdicts]}
    return dumps(report)


# ---- text ---------------------------------------------------------------------------------------


def to_text(
    answer: Answer, *, verbose: bool = False, colour: bool = False, width: int = 100
) -> str:
    """The answer as the comment has it; what the comment folds away is shown where `verbose`."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(
        file=out,
        width=max(width, 40),
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    style = _COLOURS[str(answer.verdict.status)]
    console.print(f"{answer.icon} {plain(answer.line, 300)}", style=f"bold {style}")
    following = f"Next: {_whole_commands(plain(answer.next, 900))}"
    folded = textwrap.wrap(following, console.width, break_long_words=False, break_on_hyphens=False)
    console.print("\n".join(folded), soft_wrap=True)
    for number, group in enumerate(answer.groups, 1):
        _print_group(console, group, answer.verdict, f"{number}. ")
    if answer.outlook:
        console.print(f"\n{plain(answer.outlook, 900)}")
    if answer.rows:
        _print_table(console, *table(answer.rows))
    if verbose:
        _print_folded(console, answer)
    console.print()
    for line in _foot(answer, verbose):
        console.print(line, style="dim")
    text = out.getvalue().replace(_SPACE, " ")
    return "\n".join(line.rstrip() for line in text.splitlines())


def _whole_commands(text: str) -> str:
    """A text in which no line breaks inside `a command`, so that it can be copied;
    one that is wider than the terminal runs over its edge."""
    return re.sub(r"`[^`]*`", lambda found: found[0].replace(" ", _SPACE), text)


def _foot(answer: Answer, verbose: bool) -> Iterator[str]:
    note = f", {answer.verdict.note}" if answer.verdict.note else ""
    done = "Read" if answer.verdict.status is Status.UNVERIFIABLE else "Checked"
    source = "" if done == "Read" else f" from {answer.source}"
    yield f"{done} {plain(answer.verdict.submission, 200)}{source}{note}."
    rule = next((g.rule for g in answer.groups), None)
    if rule:
        yield f"More on a rule: speedrun explain {rule}"
    if not verbose:
        yield f"With -v: {answer.fold}."


def _print_group(console: Console, group: Group, verdict: Verdict, head: str) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print()
    title = Text.assemble(
        head, (weight(group.first), _LEVELS[group.level]), " ", (group.rule, "bold")
    )
    title.append(f"  {place(group.first, verdict)}".rstrip())
    console.print(title)
    lines = [group.says, f"Fix: {group.fix}" if group.fix else "", group.also, group.others]
    for line in filter(None, lines):
        console.print(Padding(Text(plain(line, 900)), (0, 0, 0, 3)))
    if group.first.suggestion:
        console.print(Padding(Text(f"| {group.first.suggestion.strip()}"), (0, 0, 0, 3)))


def _print_table(
    console: Console, head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1
) -> None:
    """Columns, numbers to the right; a column that is empty in every row is left out."""
    from rich.table import Table

    used = [i for i in range(len(head)) if i == 0 or any(row[i] for row in rows)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for i in used:
        table.add_column(head[i], justify="left" if i < left else "right", header_style="dim")
    for row in rows:
        table.add_row(*(plain(row[i], 80) for i in used))
    console.print()
    console.print(table)


def _print_folded(console: Console, answer: Answer) -> None:
    verdict = answer.verdict
    for group in (*answer.groups, *answer.folded):
        for entry in group.rest if group in answer.groups else group.entries:
            for finding in entry:
                _print_finding(console, finding, verdict, titled=finding is entry[0])
    if not answer.rows and answer.place.rows:
        _print_table(console, *table(answer.place.rows))
    rows = list(claimed_rows(verdict))
    if rows:
        _print_table(console, ("", "claimed", "recomputed", "claimed ÷ recomputed"), rows)
    witnesses = list(witness_rows(verdict))
    if witnesses:
        _print_table(console, ("", "value", "stated by"), witnesses)
    for text in statistics(verdict):
        console.print(f"\n{text}")
    runs = list(run_rows(verdict))
    arms = arms_of(verdict)
    if len(runs) > 1 and arms:
        told = [(r[0], arm, *r[1:]) for r, arm in zip(runs, arms, strict=True)]
        _print_table(console, ("run", "arm", "step", "loss", "time", "finished"), told)
    elif len(runs) > 1:
        _print_table(console, ("run", "step", "loss", "time", "finished"), runs)


def _print_finding(
    console: Console, finding: Finding, verdict: Verdict, titled: bool = True
) -> None:
    """A finding of the fold; one that is like the one before has no title of its own."""
    from rich.padding import Padding
    from rich.text import Text

    if titled:
        style = _LEVELS[finding.level]
        title = Text.assemble((weight(finding), style), " ", (finding.rule, "bold"))
        console.print()
        console.print(title.append(f"  {place(finding, verdict)}".rstrip()))
    elif where := place(finding, verdict):
        console.print(f"   {where}", style="dim")
    because = f"Settled with {finding.because}." if finding.because else ""
    fix = f"Fix: {sentence(finding.fix, capital=False)}" if finding.fix else ""
    for line in filter(None, (sentence(finding.message), fix, because)):
        console.print(Padding(Text(plain(line, 900)), (0, 0, 0, 3)))


def place(finding: Finding, verdict: Verdict) -> str:
    """Where a finding stands; the file is left out where it is the one that was checked."""
    line = f"line {finding.line}" if finding.line else ""
    if finding.file is None or finding.file == verdict.submission:
        return line
    name = plain(finding.file.removeprefix(f"{verdict.submission}/"), 120)
    return f"{name}:{finding.line}" if finding.line else name


def summary_line(verdicts: Sequence[Verdict]) -> str:
    """ "3 checked: 2 verified; 1 needs changes", for more than one submission."""
    counts = "; ".join(
        f"{n} {STATUS_NAMES[status].lower()}"
        for status in reversed(Status)
        if (n := sum(v.status is status for v in verdicts))
    )
    return f"{len(verdicts)} checked: {counts}"


# ---- workflow commands --------------------------------------------------------------------------


def to_annotations(answer: Answer) -> Iterator[str]:
    """Workflow commands of GitHub Actions, one a finding: `::error file=...,line=...::...`."""
    names = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
    for finding in answer.verdict.findings:
        fields = {"file": finding.file, "line": finding.line, "title": finding.rule}
        shown = ",".join(f"{k}={_property(v)}" for k, v in fields.items() if v is not None)
        name = "notice" if finding.rule in OURS else names[finding.level]
        yield f"::{name} {shown}::{_data(one_line(finding))}"
    if not answer.verdict.findings:
        yield f"::notice title=speedrun::{_data(f'{answer.verdict.submission}: {answer.line}')}"


def one_line(finding: Finding) -> str:
    """What a finding says and how to fix it, as every printer has it."""
    fix = f" Fix: {sentence(finding.fix, capital=False)}" if finding.fix else ""
    return plain(f"{sentence(finding.message)}{fix}", 1800)


def _data(text: object) -> str:
    escaped = plain(str(text), 1800).replace("%", "%25")
    return escaped.replace("\r", "%0D").replace("\n", "%0A")


def _property(text: object) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
