"""Strict JSON: what is refused, with which words and lines, and the way from pointer to line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model.document import at
from bot.model.submission import MAX_JSON_BYTES
from bot.parse.json_file import MAX_DEPTH, read_json, strings
from bot.parse.json_scan import escape

REFUSED = [
    (b"", 1, "empty"),
    (b"\xef\xbb\xbf{}", 1, "byte order mark"),
    (b'{"a": "\xff"}', 1, "UTF-8"),
    (b'{"a":\n1,}', 2, "comma before a closing"),
    (b"{'a': 1}", 1, "other quotes"),
    (b'{"a":\n True}', 2, "as in Python"),
    (b'{"a": 1\n "b": 2}', 2, "is missing"),
    (b'{"a": 1', 1, "ends too early"),
    (b'{"a":\n "b', 2, "ends inside the text"),
    (b"// x\n{}", 1, "comment"),
    (b"{}\n{}", 2, "after the end"),
    (b'{"a": "x\ny"}', 1, "line break"),
    (b'{"a": "\\x"}', 1, "backslash"),
    (b'{\n"a": NaN}', 2, "NaN is not a number"),
    (b'{\n"a": [1,\n-Infinity]}', 3, "-Infinity"),
    (b'{"a":\n1e999}', 1, "out of range"),
    (b'{"a": 1,\n"a": 2}', 2, "appears twice"),
    (b'{"a":\n48.65 min}', 2, '"min" follows a number'),
    (b'{"a": 5e19s}', 1, "follows a number"),
    (b'{"a": 1,234}', 1, '"1,234" is not one number'),
    (b'{"a": 1_000}', 1, "is not one number"),
    (b'{"a": .5}', 1, "a point"),
    (b"[1 true]", 1, '"," is missing'),
    (b"[2 3]", 1, "is missing"),
    (b'{\n<<<<<<< HEAD\n"a": 1}', 2, "merge conflict"),
    (b'{"a": 1, 5: 2}', 1, "double quotes"),
    (b'{"a": "\\ud800"}', 1, "surrogate"),
    (b'{"a": "\x00"}', 1, "zero byte"),
]


@pytest.mark.parametrize(("data", "line", "words"), REFUSED)
def test_refused_with_line_and_words(data: bytes, line: int, words: str) -> None:
    document = read_json(data, "x.json")
    assert document.value is None
    (problem,) = document.problems
    assert problem.rule == "json-invalid" and problem.file == "x.json" and problem.fix
    assert problem.line == line and words in problem.message


def test_every_doubtful_number_and_key_is_named() -> None:
    data = b'{"a": NaN,\n "b": [Infinity,\n {"c": 1, "c": 1e400}]}'
    problems = read_json(data, "x").problems
    assert [(p.pointer, p.line) for p in problems] == [
        ("/a", 1),
        ("/b/0", 2),
        ("/b/1/c", 3),
        ("/b/1/c", 3),
    ]


def test_limits_and_their_near_misses() -> None:
    assert read_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, "x").value is not None
    assert read_json(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "x").value is None
    padded = b'"' + b"x" * (MAX_JSON_BYTES - 2) + b'"'
    assert read_json(padded, "x").problems == ()
    assert "at most" in read_json(padded + b" ", "x").problems[0].message
    assert read_json(b"9" * 60, "x").value == int("9" * 60)
    assert read_json(b"9" * 61, "x").problems
    assert read_json(b"1e308", "x").value == 1e308


def test_positions() -> None:
    text = b'{\n "runs": [\n  {"a/b": 1, "~": {}},\n  [2,\n   3]\n ]\n}'
    document = read_json(text, "x")
    assert document.position("/runs") == (2, 2)
    assert document.position("/runs/0/a~1b") == (3, 4)
    assert document.position("/runs/0/~0") == (3, 14)
    assert document.position("/runs/1/1") == (5, 4)
    assert document.line("/runs/1/7/absent") == 4, "the nearest parent"
    assert document.line(None) is None


def test_strings_walks_keys_and_values() -> None:
    value = {"a": ["x", {"b": "y"}], "c": 1}
    found = {place.pointer: text for place, text in strings(value)}
    assert found == {"/a": "a", "/c": "c", "/a/0": "x", "/a/1/b": "y"}
    with pytest.raises(KeyError):
        at({"a": [1]}, "/a/1")


TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(TREES, st.sampled_from([None, 1, 3]))
def test_what_python_writes_is_read_back_and_every_pointer_leads_to_its_line(
    tree: object, indent: int | None
) -> None:
    try:
        text = json.dumps(tree, indent=indent, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    document = read_json(text, "x")
    assert document.problems == () and document.value == tree
    lines = text.decode().split("\n")

    def walk(value: object, pointer: str) -> None:
        position = document.position(pointer)
        assert position is not None
        line, column = position
        rest = lines[line - 1][column - 1 :]
        if pointer.rpartition("/")[0] + "/" != pointer and isinstance(value, dict):
            assert rest[0] in '{"'
        if isinstance(value, dict):
            for key, inner in value.items():
                where = f"{pointer}/{escape(key)}"
                key_line, key_column = document.position(where) or (0, 0)
                shown = json.dumps(key, ensure_ascii=False)
                assert lines[key_line - 1][key_column - 1 :].startswith(shown)
                walk(inner, where)
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                walk(inner, f"{pointer}/{index}")

    walk(tree, "")
