"""Whether a track can be satisfied at all: what no single key of its file says.

`problems(data)` looks at the parsed TOML as a whole: that each metric which ranks or limits is
supplied by something, that its sources are among the evidence that the track accepts, that patterns
compile, and that tests have what they need. Each problem is (path of the key, sentence).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bot.model.track import LOSS_METRICS, NAMES, RECIPE_TEXTS, STEP_METRICS, TIME_METRICS
from bot.model.values import near_key
from bot.registry import FIRM

Path = tuple[str | int, ...]
Problem = tuple[Path, str]

KNOWN = frozenset((*NAMES, *LOSS_METRICS, *TIME_METRICS, *STEP_METRICS))
"""Metrics that the program reads or computes by itself."""
GROUPS = frozenset(
    {"step", "total", "loss", "train_loss", "time_s", "time_ms", "time_min", "time_h"}
)
"""What a pattern of step lines may name."""
SOURCES = ("wandb", "log", "results")
_UNGROUPED = re.compile(r"^\^|\\|\$$")
"""What a pattern has and the name of a history key has not, also if its group was forgotten."""


def problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Every problem of a file whose single keys are sound."""
    own = _table(data.get("metrics"))
    objective = data.get("objective")
    if objective not in (None, "best") and "cost" not in data:
        yield (), f'the file lacks a table [cost], which objective "{objective}" ranks by'
    for table in ("quality", "cost"):
        name = _table(data.get(table)).get("metric")
        if isinstance(name, str) and name not in KNOWN and name not in own:
            yield (table, "metric"), _unknown(f"{table}.metric is", name, own)
        yield from _two_goals(table, str(name), _table(data.get(table)), _table(own.get(str(name))))
    yield from _limits(_table(data.get("limits")), own)
    for name, metric in own.items():
        if name in KNOWN:
            yield ("metrics", name), f"[metrics.{name}] has the name of a metric that is built in"
        else:
            yield from _sources(data, name, _table(metric).get("from"))
    yield from _patterns(_table(data.get("log")).get("patterns"))
    for name, pointer in _table(_table(data.get("results")).get("fields")).items():
        if isinstance(pointer, str) and not pointer.startswith("/"):
            yield (
                ("results", "fields", name),
                f'results.fields.{name} is "{pointer}", expected a JSON pointer such as "/{name}"',
            )
    yield from _weakened(_table(data.get("levels")))
    yield from _reproduction(data, objective)
    accepts = names(_table(data.get("evidence")).get("accepts")) or SOURCES
    if "compute_grant" in data and not set(accepts) - {"results"}:
        yield (
            ("compute_grant",),
            "[compute_grant] goes to verified entries, and evidence.accepts has only results, "
            'which are self-reported: nobody can be eligible; add "wandb" or "log"',
        )
    yield from _submitted(_table(data.get("data")))
    yield from _recipe(_table(data.get("recipe")))
    yield from _test(data, objective)


def _limits(limits: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[Problem]:
    """Limits of metrics that exist, which an entry can keep: what is built in is above zero."""
    for name, value in limits.items():
        if name not in KNOWN and name not in own:
            yield ("limits", name), _unknown("[limits] names", name, own)
        elif name in KNOWN and type(value) in (int, float) and value <= 0:
            yield ("limits", name), f"limits.{name} is {value}, expected a number above 0"


def _two_goals(
    table: str, name: str, axis: Mapping[str, Any], metric: Mapping[str, Any]
) -> Iterator[Problem]:
    """Which way is better, said twice of one metric and not alike."""
    goals = axis.get("goal"), metric.get("goal")
    if None not in goals and goals[0] != goals[1]:
        text = f'{table}.goal is "{goals[0]}" and metrics.{name}.goal is "{goals[1]}"; keep one'
        yield (table, "goal"), text


def _submitted(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Training data are the track's or the entry's, and validation text is always the track's."""
    if data.get("submitted") is not True:
        return
    if "train" in data:
        yield (
            ("data", "train"),
            "data.train fixes the training data, which data.submitted leaves to the entries; keep "
            "one of the two",
        )
    for key in ("corpus", "validation"):
        if key not in data:
            yield (
                ("data",),
                f"data.submitted needs the text that scores; write {key} = "
                + ('"sotu"' if key == "corpus" else '"sha256:..."')
                + " under [data]",
            )


def _recipe(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Settings that cannot be compared, because a run's record does not keep them."""
    for section, settings in data.items():
        for name, value in _table(settings).items():
            if isinstance(value, str) and f"{section}.{name}" not in RECIPE_TEXTS:
                yield (
                    ("recipe", section, name),
                    f"recipe.{section}.{name} is a text, which the record of a run does not keep; "
                    f"a recipe holds numbers, switches, {' and '.join(RECIPE_TEXTS)}",
                )


def kind_of(source: str) -> str:
    """Which evidence a `from` reads: a JSON pointer begins with /, a log pattern has a group, or
    lacks it by mistake."""
    if source.startswith("/"):
        return "results"
    return "log" if "(" in source or _UNGROUPED.search(source) else "wandb"


def names(value: object) -> tuple[str, ...]:
    """One name or a list of names."""
    if isinstance(value, str):
        return (value,)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def compiled(pattern: str) -> Any:
    """The RE2 pattern, whose matching is linear in the text. Raises ValueError."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(str(error).strip("b'")) from error


def _unknown(where: str, name: str, own: Mapping[str, Any]) -> str:
    near = near_key(name, {*KNOWN, *own}, 0.7)
    hint = f'; did you mean "{near}"? If not, ' if near else "; "
    return (
        f'{where} "{name}", which nothing supplies{hint}describe it in a table '
        f"[metrics.{name}] with label and from"
    )


def _sources(data: Mapping[str, Any], name: str, value: object) -> Iterator[Problem]:
    """The sources of an own metric: sound, and at least one of them among what is accepted."""
    path: Path = ("metrics", name, "from")
    given = names(value)
    if not given:
        yield path, f"metrics.{name}.from names no history key, log pattern or JSON pointer"
        return
    for source in given:
        if kind_of(source) == "log":
            yield from _pattern(path, f"metrics.{name}.from", source, None)
    accepts = names(_table(data.get("evidence")).get("accepts")) or SOURCES
    kinds = [kind_of(source) for source in given]
    if not set(kinds) & set(accepts):
        kind = {"wandb": "W&B runs", "log": "logs", "results": "results files"}[kinds[0]]
        yield (
            path,
            f"metrics.{name} is read from {kind} alone, and evidence.accepts has "
            f'only {", ".join(accepts)}: nothing can supply it; add "{kinds[0]}" or another source',
        )


def _patterns(value: object) -> Iterator[Problem]:
    for index, pattern in enumerate(names(value)):
        yield from _pattern(("log", "patterns", index), "log.patterns", pattern, GROUPS)


def _pattern(
    path: Path, where: str, pattern: str, groups: frozenset[str] | None
) -> Iterator[Problem]:
    """`groups`: the named groups that it may have; None asks for exactly one group."""
    try:
        found = compiled(pattern)
    except ValueError as error:
        yield path, f"{where}: the pattern does not compile as RE2: {error}"
        return
    named = set(found.groupindex)
    if groups is None:
        if found.groups != 1:
            shown = f"{found.groups} groups" if found.groups else "no group"
            yield path, f"{where}: the pattern has {shown}, expected one, the value, as in (\\S+)"
    elif "step" not in named or not named & {"loss", "train_loss"} or not named <= groups:
        shown = ", ".join(sorted(named)) or "none"
        yield (
            path,
            f"{where}: the named groups are {shown}; step is needed and loss (of the validation) "
            f"or train_loss, and {', '.join(sorted(groups - {'step', 'loss', 'train_loss'}))} "
            "may be added",
        )


def _weakened(levels: Mapping[str, Any]) -> Iterator[Problem]:
    """Rules on what contradicts itself, or whose it is, that a track would hide."""
    for name, level in levels.items():
        if name in FIRM and level in ("note", "off"):
            yield (
                ("levels", name),
                f'[levels] sets "{name}" to "{level}", and would hide what contradicts itself, '
                'or is another\'s; delete the line, or write "warning", for a maintainer to weigh',
            )


def _reproduction(data: Mapping[str, Any], objective: object) -> Iterator[Problem]:
    if "reproduction" not in data:
        return
    if objective != "baseline":
        yield (
            ("reproduction",),
            f'[reproduction] belongs to objective "baseline", not "{objective}": a reproduction is '
            "compared by the ratio of two arms on one machine; delete the table",
        )
    by, opened = _table(data["reproduction"]).get("by"), "author-not-contributor"
    if by != "maintainer" and _table(data.get("levels")).get(opened, "error") != "error":
        yield (
            ("levels", opened),
            f'[levels] weakens "{opened}", and with [reproduction] the author of an entry could '
            'confirm it in another name; delete the line, or write by = "maintainer"',
        )


def _test(data: Mapping[str, Any], objective: object) -> Iterator[Problem]:
    rule = _table(data.get("significance"))
    test = rule.get("test", "none")
    target = _table(data.get("quality")).get("target")
    if test != "none" and target is None and objective != "target":
        yield (
            ("significance", "test"),
            f'significance.test is "{test}", but there is no quality.target to prove; write '
            'test = "none", or a target',
        )
    if rule.get("margin") is not None and objective not in ("best", "target"):
        yield (
            ("significance", "margin"),
            f'significance.margin belongs to objective "best" or "target", not "{objective}"',
        )


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
