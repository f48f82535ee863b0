"""The explanation of a submission, wherever it stands."""

import pytest

from bot.model.case import Case, Context
from bot.model.submission import Folder, Submission
from bot.rules.explanation import explanation_missing, head_of
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


@pytest.mark.parametrize("source", [b"", b"'''", b"#" * 50_000, b"\xff\xfe'''x", b"\n" * 50_000])
def test_any_bytes_have_a_head(source: bytes) -> None:
    assert isinstance(head_of(source), str)
