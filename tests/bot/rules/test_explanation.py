"""The explanation of a submission, wherever it stands."""

import dataclasses as dc
from typing import Any

import pytest

from bot.model.case import Case, Context, PullRequest
from bot.model.submission import Folder, Reply, Submission
from bot.rules.explanation import explanation_missing, head_of
from tests.bot.rules.run_cases import a_case, results_file
from tests.bot.rules.statistic_cases import SMALL

WORDS = "A larger learning rate for the embedding, because it lagged."


def found(files: dict[str, bytes], summary: str | None = None) -> list[str]:
    submission = Submission("submissions/x/y", "x", "y", summary=summary, raw={"track": "x"})
    folder = Folder("submissions/x/y", {"submission.json": b"{}", **files})
    case = Case(submission, SMALL, folder, {}, context=Context())
    return [f.rule for f in explanation_missing(case)]


def test_nothing_is_said() -> None:
    assert found({}) == ["explanation-missing"]
    assert found({"main.py": b"import torch\n", "README.md": b"# y\n"}) == ["explanation-missing"]


@pytest.mark.parametrize(
    "files",
    [
        {"README.md": WORDS.encode()},
        {"main.py": f'"""{WORDS}"""\nimport torch\n'.encode()},
        {"main.py": f"#!/usr/bin/env python\n\n# {WORDS}\n\nimport torch\n".encode()},
        {"main.py": f"# Copyright\nr'''\n{WORDS}\n'''\n".encode()},
    ],
)
def test_it_is_said_in_a_file(files: dict[str, bytes]) -> None:
    assert found(files) == []


def test_it_is_said_in_the_summary() -> None:
    assert found({}, WORDS) == []


def test_code_below_the_head_is_no_explanation() -> None:
    source = b"import torch\n# A larger learning rate for the embedding, because it lagged.\n"
    assert head_of(source) == "" and found({"main.py": source}) == ["explanation-missing"]


FIVE = b"it is a better rate"


@pytest.mark.parametrize(
    ("name", "data", "enough"),
    [
        ("README.md", b"it is a better", False),
        ("README.md", FIVE, True),
        ("ReadMe.MD", FIVE, True),
        ("notes.md", FIVE, False),
        ("README.md", FIVE.rjust(20_000), True),
        ("README.md", b"it is a better r".rjust(20_001), False),
        ("README.md", b"it is a better r".rjust(20_000), True),
        ("main.py", b"# it is a better", False),
        ("main.py", b"# " + FIVE, False),  # no line yet
        ("main.py", b"# " + FIVE + b"\n", True),
        ("other.py", b"# " + FIVE + b"\n", False),
        ("code.py", b"# " + FIVE + b"\n", True),
        ("main.py", b"#!" + FIVE + b"\n# -*- coding of the file is utf-8 -*-\n", False),
        ("main.py", b'"""' + FIVE + b'"""', True),
        ("main.py", b"Ru'''" + FIVE + b"'''", True),
        ("main.py", b'"""it is\n\'\'\'better"""a rate', False),
        ("main.py", (b"# " + FIVE + b"\n").rjust(20_000, b"\n"), True),
        ("main.py", (b"# " + FIVE + b"\n").rjust(20_001, b"\n"), False),
    ],
)
def test_five_words_where_a_reader_looks(name: str, data: bytes, enough: bool) -> None:
    submission = Submission("submissions/x/y", "x", "y", code_path="code.py", raw={"track": "x"})
    folder = Folder("submissions/x/y", {"submission.json": b"{}", name: data})
    told = list(explanation_missing(Case(submission, SMALL, folder, {}, context=Context())))
    assert (told == []) is enough


@pytest.mark.parametrize(
    ("words", "missing"), [("", "0 words"), ("one", "1 word"), ("a b c d", "4 words")]
)
def test_how_many_words_there_are_is_said(words: str, missing: str) -> None:
    submission = Submission("submissions/x/y", "x", "y", summary=words, raw={"track": "x"})
    case = Case(submission, SMALL, Folder("submissions/x/y", {}), {}, context=Context())
    (told,) = explanation_missing(case)
    assert told.message == f"the explanation has {missing}, expected at least 5"
    assert (told.claimed, told.expected) == (len(words.split()), 5)


def test_other_places_that_explain() -> None:
    bare = results_file({"description": FIVE.decode()})
    silent: dict[str, Any] = {"summary": None}
    assert found_in(a_case((), submission=silent))
    assert not found_in(a_case((), results=bare, submission=silent))
    assert found_in(a_case((), results=results_file({"description": 5}), submission=silent))
    request = PullRequest(7, "example-user", FIVE.decode())
    assert not found_in(a_case((), submission=silent, pull_request=request))
    assert found_in(a_case((), submission=silent, pull_request=dc.replace(request, body="")))
    report = {"links": ({"kind": "wandb-report", "url": "https://example.org"},)}
    assert not found_in(a_case((), submission={**silent, **report}))
    assert not found_in(a_case((), submission={**silent, "reply": Reply("reproduces", "x/y")}))
    assert not found_in(a_case((), submission={**silent, "raw": {}}))


def found_in(case: Case) -> list[str]:
    return [f.message for f in explanation_missing(case)]


def test_the_head_is_told_without_its_marks() -> None:
    source = b'\xef\xbb\xbf#!/bin/env python\n# -*- coding: utf-8 -*-\n\n  ## One.\nr"""Two."""\n'
    assert head_of(source) == "One. Two."


@pytest.mark.parametrize("source", [b"", b"'''", b"#" * 50_000, b"\xff\xfe'''x", b"\n" * 50_000])
def test_any_bytes_have_a_head(source: bytes) -> None:
    assert isinstance(head_of(source), str)
