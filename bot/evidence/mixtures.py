"""Settings of the data that name the other part: files, and components of a mixture.

    [*misplaced_in({"data.components.c4.source": "gs://bucket/c4/val-*.jsonl"})]
    # [("data.components.c4.source", "trains on")]

A component whose weight is 0, or that is listed for validation alone, trains nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bot.evidence.counters import misplaced, names_validation
from bot.evidence.second import words

_PLACE = re.compile(
    r"(?:.{0,100}\.)?data\.(?:(?:components|configs|sources|datasets|mixture)\.)?"
    r"(?:(?P<component>.{1,100}?)\.)?(?:source\.)?"
    r"(?P<what>(?:train(?:ing)?_)?(?:sources?|urls?|files?|paths?|patterns?|split))"
)
_WEIGHTS = re.compile(
    r"(?:.{0,100}\.)?data\.(?:.{1,40}\.)?(?:\w{1,20}_)?weights(?:\.(?P<component>.+))?"
)
_OWN_WEIGHT = re.compile(
    r"(?:.{0,100}\.)?data\.(?:\w{1,20}\.)?(?P<component>.+)\.(?:\w{1,20}_)?weight"
)
_HELD_OUT = frozenset("val valid validation eval evaluation test heldout dev".split())
_MOST = 200


def misplaced_in(settings: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Settings that name the other part of the data, with what they do: "trains on" or "validates
    on" it."""
    weights = _weights(settings)
    for name, value in settings.items():
        does = misplaced(name, value)
        place = _PLACE.fullmatch(name)
        if place is not None and does != "validates on":
            does = "trains on" if _is_trained_on(name, place, value, weights) else ""
        if does:
            yield name, does


def _is_trained_on(
    name: str, place: re.Match[str], value: object, weights: Mapping[str, float]
) -> bool:
    """Whether a component is validation text and has a weight, or nothing states one and it is not
    listed for validation."""
    component = place["component"]
    weight = weights.get(component or "")
    if not names_validation(_texts(value)):
        return False
    if weight is not None:
        return weight > 0
    alone = weights if component else place["what"] == "split"
    return not alone and not _HELD_OUT & set(words(name).split("_"))


def _weights(settings: Mapping[str, object]) -> dict[str, float]:
    """The largest weight of each component, by its name, over all stages of the training."""
    found: dict[str, float] = {}
    for name, value in settings.items():
        stated = _WEIGHTS.fullmatch(name) or _OWN_WEIGHT.fullmatch(name)
        for component, weight in _pairs(stated["component"], value) if stated else ():
            if isinstance(weight, int | float):
                found[component] = max(float(weight), found.get(component, 0.0))
    return found


def _pairs(component: str | None, value: object) -> Iterator[tuple[str, object]]:
    """Components with their weights: one, or those of a list of stages, `[[0, {"c4": 0.1}]]`."""
    if component is not None:
        yield component, value
    for stage in value[:_MOST] if isinstance(value, list) else ():
        for part in stage if isinstance(stage, list) else (stage,):
            yield from part.items() if isinstance(part, Mapping) else ()


def _texts(value: object) -> Sequence[str]:
    """The texts of a setting: itself, or those of a list."""
    values = value[:_MOST] if isinstance(value, list | tuple) else [value]
    return [text for text in values if isinstance(text, str)]
