"""In which file a statement of a program's source is found, and that it is told of once."""

from __future__ import annotations

import dataclasses as dc

import pytest

from bot.evidence.log.training_log import read_log
from bot.model.run import Stated
from bot.parse.json_file import read_json
from tests.bot.rules.run_cases import PATH, a_case, found
from tests.bot.rules.second_cases import log

LIST = f"{PATH}/submission.json"


@pytest.mark.parametrize(
    ("source", "listed", "file", "line"),
    [
        ("log", True, "a.log", 7),
        ("wandb-offline", True, "a.log", 7),
        ("wandb", True, LIST, None),
        ("wandb", False, "a.log", 7),
    ],
)
def test_a_statement_is_found_in_the_file_that_holds_it(
    source: str, listed: bool, file: str, line: int | None
) -> None:
    (read,) = read_log(log(), "a.log")
    run = dc.replace(read, source=source, program=(Stated("warm", 7, "load()"),))
    case = a_case([run, dc.replace(run, index=1)])
    if listed:
        case = dc.replace(case, documents={"submission.json": read_json(b"{}", LIST)})
    assert [(f.file, f.line, f.run) for f in found("code-unusual", case)] == [(file, line, "a.log")]
    bare = a_case([dc.replace(run, program=())])
    assert not found("code-unusual", bare)
