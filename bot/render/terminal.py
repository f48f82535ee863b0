"""A verdict in words: for the terminal, as JSON, as Markdown, as annotations of a check run.

Every text of a stranger in a verdict is shown through `bot.render.untrusted` or
`bot.render.markdown`.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bot.model.verdict import SCHEMA_VERSION, Finding, Verdict
from bot.registry import RELATIVE_TOLERANCE, Grade, Level, Status
from bot.render import markdown
from bot.render.untrusted import plain

WORDS: Mapping[Status, str] = {
    Status.VERIFIED: "all checks passed",
    Status.CONSISTENT: "all checks pass on the author's word alone",
    Status.NEEDS_REVIEW: "passes; a maintainer looks at the warnings",
    Status.NEEDS_RUNS: "needs more runs",
    Status.REJECTED: "needs changes",
    Status.UNVERIFIABLE: "could not be verified yet, for a reason on our side",
}
GRADES: Mapping[Grade, str] = {
    Grade.WANDB: "W&B runs",
    Grade.LOG: "training logs",
    Grade.SELF_REPORTED: "self-reported numbers",
}
NEXT: Mapping[Status, str] = {
    Status.VERIFIED: "Nothing needs doing.",
    Status.CONSISTENT: "Nothing blocks. Link the run or add its log to have it verified.",
    Status.NEEDS_REVIEW: "Nothing blocks. Mend the warnings or say in the description why they "
    "are fine.",
    Status.NEEDS_RUNS: "Add runs as told above; everything else is in order.",
    Status.REJECTED: "Mend the errors and check again; warnings and notes do not block.",
    Status.UNVERIFIABLE: "Undecided: what could not be read, and why, is told above. On a pull "
    "request the bot tries again by itself.",
}
_MARKS = {
    Status.VERIFIED: "\u2713",
    Status.CONSISTENT: "\u2713",
    Status.NEEDS_REVIEW: "\u2713",
    Status.NEEDS_RUNS: "\u2026",
    Status.REJECTED: "\u2717",
    Status.UNVERIFIABLE: "?",
}
_COLOURS = {
    Status.VERIFIED: "green",
    Status.CONSISTENT: "green",
    Status.NEEDS_REVIEW: "yellow",
    Status.NEEDS_RUNS: "yellow",
    Status.REJECTED: "red",
    Status.UNVERIFIABLE: "cyan",
}
_LEVEL_COLOURS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "cyan"}
_CODES = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1", "dim": "2"}

METRICS: Mapping[str, tuple[str, str]] = {
    "bpb": ("bits per byte", ""),
    "loss": ("loss", "nats"),
    "training_time_s": ("training time", "s"),
    "steps": ("steps", ""),
    "hardware_flops": ("hardware FLOPs", ""),
    "chips": ("chips", ""),
    "peak_flops": ("peak of a chip", "FLOP/s"),
    "tokens": ("tokens", ""),
    "model_flops": ("model FLOPs", ""),
    "mfu": ("MFU", ""),
    "parameters": ("parameters", ""),
}
"""Metric -> (name, unit), in the order shown."""


def to_json(verdicts: Iterable[Verdict]) -> str:
    """The answer of `check --format json`, in the shape of `schemas/report.schema.json`.

    Strict JSON: a number that is not finite becomes null.
    """
    report = {"schema_version": SCHEMA_VERSION, "verdicts": [v.to_json() for v in verdicts]}
    return json.dumps(_finite(report), indent=1, allow_nan=False, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, (list, tuple)) else value


# ---- Terminal ---------------------------------------------------------------------------------


def to_text(
    verdict: Verdict, *, place: str | None = None, colour: bool = False, width: int = 100
) -> str:
    """A verdict for the terminal: the answer, what blocks, what else, the numbers, what next.

    `place` is a sentence on where the entry would stand.
    """
    paint = _paint if colour else _unpainted
    lines = (
        [*_head(verdict, paint), *_wrap(_sentence(place), width, "  "), ""]
        if place
        else [*_head(verdict, paint), ""]
    )
    for finding in verdict.findings:
        lines += [*_finding_lines(finding, verdict, paint, width), ""]
    table = list(_number_rows(verdict))
    if table:
        lines += [paint("Numbers", "bold"), *_columns(table, paint), ""]
    for sentence in _statistics(verdict):
        lines += [*_wrap(sentence, width, ""), ""]
    lines += _wrap(_next(verdict, place), width, "")
    rules = list(dict.fromkeys(f.rule for f in verdict.findings))
    if rules:
        lines += _wrap(f"More on a rule: speedrun explain {rules[0]}", width, "")
    return "\n".join(line.rstrip() for line in lines)


def _head(verdict: Verdict, paint: Any) -> Iterator[str]:
    mark = paint(f"{_MARKS[verdict.status]} {verdict.status}", _COLOURS[verdict.status])
    yield f"{mark}: {WORDS[verdict.status]}{f' ({verdict.note})' if verdict.note else ''}"
    yield f"  {plain(verdict.submission, 200)}"
    counts = [
        f"{n} {level}{'s' if n > 1 else ''}"
        for level in Level
        if (n := sum(f.level is level for f in verdict.findings))
    ]
    found = ", ".join(counts) or "no findings"
    yield f"  track {plain(verdict.track or 'unknown', 64)}, evidence: {GRADES[verdict.evidence]}"
    yield f"  {found}"


def _finding_lines(finding: Finding, verdict: Verdict, paint: Any, width: int) -> Iterator[str]:
    place = _place(finding, verdict)
    name = paint(finding.rule, "bold")
    yield f"{paint(f'{finding.level:8}', _LEVEL_COLOURS[finding.level])} {name}" + (
        f"  {place}" if place else ""
    )
    yield from _wrap(_sentence(finding.message), width, "         ")
    if finding.fix:
        yield from _wrap(f"Fix: {_sentence(finding.fix, False)}", width, "         ")


def _next(verdict: Verdict, place: str | None) -> str:
    """The last line: what to do now. Notes of a verified entry ask for nothing."""
    if verdict.status in (Status.VERIFIED, Status.CONSISTENT) and (place or "").startswith(
        "would not rank"
    ):
        return "It passes; what a place on the board needs is said above."
    if verdict.status is Status.VERIFIED and verdict.findings:
        return "Nothing needs doing; the notes are suggestions."
    return NEXT[verdict.status]


def _place(finding: Finding, verdict: Verdict) -> str:
    """Where a finding stands; the file is left out where it is the one that was checked."""
    line = f"line {finding.line}" if finding.line else ""
    if finding.file is None or finding.file == verdict.submission:
        return line
    name = plain(finding.file.removeprefix(f"{verdict.submission}/"), 120)
    return f"{name}:{finding.line}" if finding.line else name


def _sentence(text: str, capital: bool = True) -> str:
    text = plain(text, 900)
    # A path, a key or an address stays as it is written, or nobody finds it.
    named = re.match(r"[\w-]*[\w-][/._:#][\w/-]", text)
    return text[:1].upper() + text[1:] if capital and not named else text


def _statistics(verdict: Verdict) -> Iterator[str]:
    """A sentence on the statistics of each point that has some."""
    for point in verdict.points:
        s = point.statistics
        if not s or not s.get("n"):
            continue
        name = f"{plain(point.name, 40)}: " if len(verdict.points) > 1 else ""
        sd = f", sd {number(s['sd'])}" if s.get("sd") is not None else ""
        test = s.get("test")
        tested = ""
        if test not in (None, "none") and s.get("p") is not None:
            outcome = "reached" if s.get("passes") else "not proved"
            tested = f"; target {number(s.get('target'))} {outcome}"
            tested += f", p = {s['p']:.2g} ({test}, alpha {number(s.get('alpha'))})"
        runs = "1 run" if s["n"] == 1 else f"{s['n']} runs"
        yield f"{name}{runs}: {plain(str(s['metric']), 40)} mean {number(s['mean'])}{sd}{tested}."


def _number_rows(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    """(metric, claimed, recomputed, claimed / recomputed), a head row first; none for no metric.

    Without claims a row is (metric, recomputed).
    """
    claimed = _claimed(verdict)
    several = len(verdict.points) > 1
    rows = []
    for point in verdict.points:
        for name, (title, unit) in METRICS.items():
            value, stated = point.metrics.get(name), claimed.get(name)
            if value is None and stated is None:
                continue
            prefix = f"{plain(point.name, 40)}: " if several else ""
            label = f"  {prefix}{title}{f' ({unit})' if unit else ''}"
            ratio = f"{stated / value:.4g}" if stated is not None and value else ""
            recomputed = number(value) or "cannot be computed"
            rows.append(
                (label, number(stated) or "-", recomputed, ratio)
                if claimed
                else (label, recomputed)
            )
    if rows:
        yield ("  ", "claimed", "recomputed", "ratio") if claimed else ("  ", "recomputed")
        yield from rows


def _claimed(verdict: Verdict) -> Mapping[str, float]:
    """What the file of the run states, where the submission is one results file."""
    if len(verdict.runs) != 1 or len(verdict.points) != 1:
        return {}
    claimed = verdict.runs[0].get("claimed")
    if not isinstance(claimed, Mapping):
        return {}
    return {k: v for k, v in claimed.items() if isinstance(v, (int, float))}


def number(value: float | int | None) -> str:
    """A number for people: few digits, powers of ten where they help, "" for None."""
    if value is None:
        return ""
    if abs(value) >= 1e12 or 0 < abs(value) < 1e-4:
        return f"{value:.4e}"
    return f"{int(value):,}" if value == int(value) else f"{value:.6g}"


def _columns(rows: Sequence[tuple[str, ...]], paint: Any) -> list[str]:
    """Aligned rows; those whose ratio is off are painted and marked."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        line = "  ".join(
            cell.ljust(widths[i]) if i == 0 else cell.rjust(widths[i]) for i, cell in enumerate(row)
        )
        ratio = row[3] if len(row) > 3 and row is not rows[0] else ""
        off = ratio and abs(float(ratio) - 1) > RELATIVE_TOLERANCE
        lines.append(paint(f"{line}  <", "red") if off else line)
    return lines


def _wrap(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        max(40, width),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [indent]


def _paint(text: str, style: str) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def _unpainted(text: str, style: str) -> str:
    return text


def summary_line(verdicts: Sequence[Verdict]) -> str:
    """ "3 checked: 2 verified, 1 rejected", for more than one submission."""
    counts = ", ".join(
        f"{n} {status}"
        for status in reversed(Status)
        if (n := sum(v.status is status for v in verdicts))
    )
    return f"{len(verdicts)} checked: {counts}"


# ---- Markdown ---------------------------------------------------------------------------------


def to_markdown(
    verdict: Verdict,
    *,
    place: str | None = None,
    rules_url: str | None = None,
    limit: int = 60_000,
) -> str:
    """A verdict as the comment that it would get on a pull request; at most `limit` characters.

    `place` is a sentence on where the entry would stand, `rules_url` the address under which each
    rule has its page, ending in "/".
    """
    note = f" ({markdown.prose(verdict.note)})" if verdict.note else ""
    lines = [
        f"**{WORDS[verdict.status].capitalize()}**{note} \u00b7 evidence: "
        f"{GRADES[verdict.evidence]} \u00b7 track {markdown.code(verdict.track or 'unknown')}",
        "",
        markdown.code(verdict.submission, 200),
        "",
    ]
    if place:
        lines += [markdown.sentence(_sentence(place)), ""]
    for level, title in (
        (Level.ERROR, "What blocks"),
        (Level.WARNING, "Warnings"),
        (Level.NOTE, "Notes"),
    ):
        found = [f for f in verdict.findings if f.level is level]
        if found:
            lines += [f"### {title}", ""]
            lines += [_finding_markdown(f, verdict, rules_url) for f in found] + [""]
    rows = list(_number_rows(verdict))
    if rows:
        cells = [
            [c.strip() if i else markdown.prose(c.strip()) for i, c in enumerate(row)]
            for row in rows[1:]
        ]
        lines += [
            "### Numbers",
            "",
            *markdown.table(("metric", *(cell.strip() for cell in rows[0][1:])), cells),
            "",
        ]
    lines += [line for s in _statistics(verdict) for line in (markdown.prose(s), "")]
    lines.append(_next(verdict, place))
    return _shorten(lines, limit)


def _finding_markdown(finding: Finding, verdict: Verdict, rules_url: str | None) -> str:
    rule = f"[{finding.rule}]({rules_url}{finding.rule}/)" if rules_url else f"`{finding.rule}`"
    place = _place(finding, verdict)
    fix = f" **Fix:** {markdown.sentence(finding.fix.rstrip('.'))}." if finding.fix else ""
    where = f" {markdown.code(place)}" if place else ""
    return f"- {rule}{where}: {markdown.sentence(finding.message)}.{fix}"


def _shorten(lines: list[str], limit: int) -> str:
    text = "\n".join(lines) + "\n"
    if len(text) <= limit:
        return text
    kept, size = [], 0
    for line in lines:
        size += len(line) + 1
        if size > limit - 200:
            break
        kept.append(line)
    return "\n".join([*kept, "", "The rest is left out; `speedrun check` shows all of it.", ""])


# ---- Annotations ------------------------------------------------------------------------------


def to_annotations(verdict: Verdict) -> Iterator[str]:
    """Workflow commands of GitHub Actions, one a finding: `::error file=...,line=...::...`."""
    names = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
    for finding in verdict.findings:
        fields = {"file": finding.file, "line": finding.line, "title": finding.rule}
        shown = ",".join(f"{k}={_property(v)}" for k, v in fields.items() if v is not None)
        fix = f" Fix: {finding.fix}" if finding.fix else ""
        yield f"::{names[finding.level]} {shown}::{_data(finding.message + fix)}"
    if not verdict.findings:
        yield f"::notice title=speedrun::{_data(f'{verdict.submission}: {verdict.status}')}"


def _data(text: object) -> str:
    escaped = plain(str(text), 900).replace("%", "%25")
    return escaped.replace("\r", "%0D").replace("\n", "%0A")


def _property(text: object) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
