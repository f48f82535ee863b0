"""An edit of a JSON text changes the lines that it concerns and no other."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.parse.json_edit import edited
from tests.conftest import tried

OLD = {"title": "A", "runs": [{"source": "log", "path": "a"}], "people": []}
LINK = {"source": "wandb", "link": "b"}


def test_item_is_written_as_its_neighbours_are() -> None:
    text = json.dumps(OLD, indent=4) + "\n"
    new = {**OLD, "runs": [*OLD["runs"], LINK]}
    assert edited(text, new) == json.dumps(new, indent=4) + "\n"


def test_items_on_one_line_each() -> None:
    text = '{\n\t"runs": [\n\t\t{"path": "a"}\n\t]\n}'
    assert edited(text, {"runs": [{"path": "a"}, {"path": "b"}]}) == (
        '{\n\t"runs": [\n\t\t{"path": "a"},\n\t\t{"path": "b"}\n\t]\n}'
    )


def test_list_on_one_line() -> None:
    text = '{"a": 1,\n "runs": [1, 2],\n "b":2}'
    assert edited(text, {"a": 1, "runs": [1, 2, 3], "b": 2}) == (
        '{"a": 1,\n "runs": [1, 2, 3],\n "b":2}'
    )


def test_windows_line_ends_stay() -> None:
    text = json.dumps(OLD, indent=2).replace("\n", "\r\n")
    new = {**OLD, "runs": [*OLD["runs"], LINK], "withdrawn": {"by": "x"}}
    assert edited(text, new) == json.dumps(new, indent=2).replace("\n", "\r\n")


def test_nothing_to_change() -> None:
    text = ' {"a" :1 , "b":[ ] }\n\n'
    assert edited(text, {"a": 1, "b": []}) == text


def test_key_like_another_inside() -> None:
    text = '{"x": {"runs": [1]}, "runs": [2], "a/b~c": 1}'
    new = {"x": {"runs": [1]}, "runs": [2, 3], "a/b~c": 2}
    assert edited(text, new) == '{"x": {"runs": [1]}, "runs": [2, 3], "a/b~c": 2}'


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)


@settings(max_examples=tried(200))
@given(
    indent=st.sampled_from([None, 1, 2, "\t"]),
    end=st.sampled_from(["\n", "\r\n"]),
    old=OBJECTS,
    change=OBJECTS,
    more=st.lists(VALUES, max_size=2),
)
def test_value_is_what_was_asked_for(
    indent: Any, end: str, old: dict[str, Any], change: dict[str, Any], more: list[Any]
) -> None:
    text = json.dumps(old, indent=indent).replace("\n", end) + end
    grown = {k: [*v, *more] if isinstance(v, list) else v for k, v in old.items()}
    for new in ({**old, **change}, grown):
        assert json.loads(edited(text, new)) == new
