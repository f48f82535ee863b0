"""Schema errors in words: one for each mistake, and places as people call them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.model.verdict import Finding
from bot.parse.json_file import read_json
from bot.parse.schema_advice import advise

GOOD: dict[str, Any] = {
    "schema_version": 1,
    "track": "fast",
    "title": "A larger learning rate",
    "summary": "The learning rate of the embedding is larger.",
    "contributors": [{"github": "example-user", "roles": ["idea", "runs"]}],
    "hardware": {"accelerator": "a100-sxm", "count": 1},
    "runs": [{"source": "log", "path": "logs/0.log"}],
    "claims": {"loss": {"mean": 3.277, "n": 4}},
}
KEYS = [
    *GOOD,
    *(key for held in (*GOOD["contributors"], GOOD["hardware"], *GOOD["runs"]) for key in held),
]


def advised(data: dict[str, Any]) -> list[Finding]:
    document = read_json(json.dumps(data, indent=1).encode(), "submission.json")
    return list(advise(document, "submission"))


def changed(value: Any, *path: str | int) -> list[Finding]:
    """The good list with one value changed."""
    data = json.loads(json.dumps(GOOD))
    holder = data
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return advised(data)


def test_the_good_list_has_no_error() -> None:
    assert advised(GOOD) == []


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("slip", ["lost", "added", "swapped"])
def test_a_misspelt_key_is_one_mistake(key: str, slip: str) -> None:
    slips = {"lost": key[:-1], "added": f"{key}x", "swapped": key[1] + key[0] + key[2:]}
    written = slips[slip]
    data = json.loads(json.dumps(GOOD).replace(f'"{key}":', f'"{written}":'))
    [found] = advised(data)
    assert found.message.endswith(f"unknown key `{written}`; did you mean `{key}`?")
    assert found.fix == f"rename it to `{key}`"
    assert found.pointer is not None and found.pointer.endswith(f"/{written}")


def test_a_key_that_is_missing_and_another_that_nobody_knows_are_two() -> None:
    data = {**GOOD, "favourite_colour": "blue"}
    del data["title"]
    assert sorted(f.message for f in advised(data)) == [
        "the file has no `title`",
        "the file has the unknown key `favourite_colour`",
    ]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (("runs", 0, "arm"), "`arm` of run 1 is a number (7), expected text"),
        (("runs", 0), "run 1 is a number (7), expected an object"),
        (("contributors", 0, "github"), "`github` of contributor 1 is a number (7), expected text"),
        (
            ("contributors", 0, "roles", 1),
            "role 2 of contributor 1 is 7, expected one of idea, code, runs, writing, review, pr",
        ),
        (("hardware",), "`hardware` is a number (7), expected an object"),
        (("claims", "loss"), ""),
    ],
)
def test_a_place_is_called_as_people_call_it(path: tuple[str | int, ...], words: str) -> None:
    assert [f.message for f in changed(7, *path)][:1] == ([words] if words else [])


def test_a_version_that_is_missing_says_which_one_to_write() -> None:
    data = {key: value for key, value in GOOD.items() if key != "schema_version"}
    assert [f.fix for f in advised(data)] == ["add `schema_version`: 1"]
