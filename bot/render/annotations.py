"""Findings as annotations of a check run: 50 a request, any number in all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from bot.model.report import Report
from bot.model.verdict import Finding
from bot.registry import OURS, Level
from bot.render.terminal import one_line
from bot.render.untrusted import plain as visible

SLICE = 50
MOST = 1000
"""More than anyone reads; the rest is counted in the summary and listed in the artifact."""
_LEVELS = {Level.ERROR: "failure", Level.WARNING: "warning", Level.NOTE: "notice"}
_CONCLUSIONS: Mapping[str, str] = {
    "verified": "success",
    "consistent": "success",
    "needs-review": "neutral",
    "unverifiable": "neutral",
    "needs-runs": "failure",
    "rejected": "failure",
}


def conclusion(report: Report) -> str:
    """`success`, `failure` or `neutral`; an outage or an open review is never a failure."""
    return "neutral" if report.status is None else _CONCLUSIONS[str(report.status)]


def annotate(report: Report) -> list[dict[str, Any]]:
    """All findings that name a file, errors first."""
    found = [f for v in report.verdicts for f in v.findings]
    found.sort(key=lambda f: list(Level).index(f.level))
    return [_annotation(f) for f in found if f.file][:MOST]


def _annotation(finding: Finding) -> dict[str, Any]:
    line = max(finding.line or 1, 1)
    return {
        "path": visible(str(finding.file), 400),
        "start_line": line,
        "end_line": line,
        "annotation_level": "notice" if finding.rule in OURS else _LEVELS[finding.level],
        "title": finding.rule,
        "message": one_line(finding),
    }


def slices(items: list[dict[str, Any]]) -> Iterable[list[dict[str, Any]]]:
    """At least one slice, of at most 50."""
    for start in range(0, max(len(items), 1), SLICE):
        yield items[start : start + SLICE]


def digest(*parts: Any) -> str:
    """A short fingerprint of what a check run says, to recognise our own after a crash."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
