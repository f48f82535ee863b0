"""The numbers in the description of a pull request, against those that were recomputed.

Marin asks for the run information to be pasted there, and so do we: the output of a dry run, the
results. Part of the rule `claim-differs-from-run`, in `bot.rules.agreement`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.compute import metrics
from bot.model.case import Case
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import figure
from bot.render.untrusted import plain

_MOST_CHARACTERS = 60_000
_LABELS = {
    "chips": "num(?:ber of)? (?:devices|chips|gpus)|devices|chips|gpus",
    "training_time_s": "(?:total )?training time(?: s)?|train time|wall ?clock(?: time)?",
    "model_flops": "(?:total )?model flops",
    "hardware_flops": "(?:total |training )*hardware flops(?: used)?",
    "bpb": "(?:final |c4[- ]en |eval paloma c4 en )*bpb|bits per byte",
    "loss": "(?:final )?(?:val(?:idation)? )?loss",
    "parameters": "parameters|(?:model|parameter) (?:size|count)",
    "tokens": "(?:total |training )*tokens",
    "mfu": "mfu|model flops utili[sz]ation",
}
_LABEL = re.compile("|".join(f"(?P<{name}>{words})" for name, words in _LABELS.items()))
_LINE = re.compile(
    r"[\s|>*`\"-]*(?P<label>[A-Za-z][A-Za-z0-9 _/-]{1,40}?)[\s*`\"|]*(?:[:=|]|  )[\s*`|~]*"
    r"(?P<number>\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(?P<unit>%|[A-Za-z]{0,12})"
)
_UNITS = {
    "training_time_s": {"": 1, "s": 1, "sec": 1, "seconds": 1, "ms": 1e-3, "min": 60, "m": 60}
    | {"mins": 60, "minutes": 60, "h": 3600, "hr": 3600, "hours": 3600},
    "mfu": {"": 1, "%": 0.01},
    "count": {"": 1, "k": 1e3, "m": 1e6, "million": 1e6, "b": 1e9, "billion": 1e9},
}
_SLACK = 0.01
"""A description rounds: it may be off by a hundredth, or by half of its last digit."""


def described(case: Case) -> Iterator[Finding]:
    """A number of the description that no run shows: of several for one quantity none agrees."""
    request = case.context.pull_request
    if request is None or not request.body or case.brought_over:
        return
    stated: dict[str, list[tuple[float, float]]] = {}
    for metric, value, half in _stated(request.body[:_MOST_CHARACTERS]):
        stated.setdefault(metric, []).append((value, half))
    rows = [metrics.of_run(run, case.track) for run in case.runs("candidate")]
    for metric, values in stated.items():
        shown = [float(x) for row in rows if (x := row.get(metric)) is not None]
        if not shown:
            continue
        right = [*shown, sum(shown) / len(shown)]
        if any(_agrees(value, half, x) for value, half in values for x in right):
            continue
        yield _differs(case, metric, values[-1][0], right[-1], len(shown))


def _stated(body: str) -> Iterator[tuple[str, float, float]]:
    """(metric, value, half of the last digit written) of each line that is a label and a number."""
    for line in body.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        words = re.sub(r"[_/-]", " ", match["label"]).strip().lower()
        label = _LABEL.fullmatch(words)
        metric = None if label is None else label.lastgroup
        if metric is None:
            continue
        unit = match["unit"].lower()
        units = _UNITS.get(metric, _UNITS["count"])
        factor = units.get(unit, 1 if metric not in ("training_time_s", "mfu") else None)
        number = match["number"].replace(",", "")
        if factor is not None and len(number) <= 40:
            mantissa, _, power = number.lower().partition("e")
            digit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
            yield metric, float(number) * factor, 0.5 * digit * factor


def _agrees(value: float, half: float, right: float) -> bool:
    return abs(value - right) <= max(half, _SLACK * abs(right))


def _differs(case: Case, metric: str, value: float, right: float, count: int) -> Finding:
    ranks = metric in (case.track.quality.metric, case.track.cost.metric)
    whose = "the run shows" if count == 1 else f"the mean of the {count} runs is"
    return finding(
        "claim-differs-from-run",
        f"the description says that {plain(metric)} is {figure(value)}, but {whose} "
        f"{figure(right)}",
        Level.WARNING if ranks else Level.NOTE,
        claimed=value,
        expected=right,
        fix=f"write {figure(right)} into the description of the pull request, or take it out",
    )
