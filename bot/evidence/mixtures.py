"""Settings of the data that name the other part: files, and components of a mixture.

    [*misplaced_in({"data.components.c4.source": "gs://bucket/c4/val-*.jsonl"})]
    # [("data.components.c4.source", "trains on", "gs://...")]

A component whose weight is 0, or that is listed for validation alone, trains nothing.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence

from bot.evidence.counters import misplaced, names_validation
from bot.evidence.second import last_part, words
from bot.evidence.wandb.history import flatten

_DATA = (
    r"(?:.{0,100}\.)?(?:(?:train(?:ing)?_)?(?:data(?:sets?)?|mix(?:ture)?|data_mix(?:ture)?)"
    r"|corpus|corpora)\."
)
_PLACE = re.compile(
    rf"{_DATA}(?:(?:components|configs|sources|datasets|mixture)\.)?"
    r"(?:(?P<component>.{1,100}?)\.)?(?:source\.)?"
    r"(?P<what>(?:train(?:ing)?_)?(?:sources?|urls?|files?|paths?|patterns?|split))"
)
_WEIGHTS = re.compile(rf"{_DATA}(?:.{{1,40}}\.)?(?:\w{{1,20}}_)?weights(?:\.(?P<component>.+))?")
_OWN_WEIGHT = re.compile(rf"{_DATA}(?:\w{{1,20}}\.)?(?P<component>.+)\.(?:\w{{1,20}}_)?weight")
_HELD_OUT = frozenset("val valid validation eval evaluation test heldout dev".split())
_NO_DATA = frozenset("config configs tokenizer vocab script code model log output".split())
_FILE = re.compile(
    r"[^/\\]*(?:\*[^/\\]*|\.(?:bin|npy|npz|parquet|jsonl?|txt|arrow|tar|zst|gz|h5|pt))$"
)
_MOST, _LONGEST = 200, 2000


def misplaced_in(settings: Mapping[str, object]) -> Iterator[tuple[str, str, object]]:
    """Settings that name the other part of the data, with what they do, "trains on" or "validates
    on" it, and their values; files that are in both parts."""
    settings = {**settings, **_listed(settings)}
    weights = _weights(settings)
    validated = {
        text
        for name, value in settings.items()
        if _HELD_OUT & set(words(name).split("_"))
        for text in _files(name, value)
    }
    for name, value in settings.items():
        does = next((does for text in _texts(value) if (does := misplaced(name, text))), "")
        place = _PLACE.fullmatch(name)
        if place is not None and does != "validates on":
            does = "trains on" if _is_trained_on(name, place, value, weights) else ""
        if not does and _trains(name, place, weights):
            both = (fnmatch.fnmatchcase(v, t) for t in _files(name, value) for v in validated)
            does = "trains on and validates on" if any(both) else ""
        if does:
            yield name, does, value


def _trains(name: str, place: re.Match[str] | None, weights: Mapping[str, float]) -> bool:
    """Whether a setting names what is trained on: by a word of it, or as a part of a mixture."""
    parts = set(words(name).split("_"))
    if _HELD_OUT & parts:
        return False
    if place is not None and place["component"]:
        return weights.get(place["component"], 0.0 if weights else 1.0) > 0
    return bool(parts & {"train", "training"})


def _files(name: str, value: object) -> Iterator[str]:
    """The files of data that a setting names; a folder or a data set may have both parts."""
    if not _NO_DATA & set(last_part(name).split("_")):
        for text in _texts(value):
            for part in text[:_LONGEST].split(","):
                if _FILE.search(part.strip()):
                    yield part.strip()


def _listed(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings of objects in lists, by the name of each or its number."""
    found: dict[str, object] = {}
    for name, value in settings.items():
        for number, item in enumerate(value[:_MOST] if isinstance(value, list) else ()):
            if isinstance(item, Mapping):
                label = item.get("name")
                prefix = f"{name}.{label if isinstance(label, str) else number}."
                found |= flatten(item, prefix)
    return dict(list(found.items())[:_MOST])


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
