"""Credits of a competition: roles, reproductions, mistakes found, in each of the forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from bot.cli import main
from bot.model.board import Answered, State, StateName
from bot.model.submission import Contributor, Reply, Submission
from bot.rank.credits import tally
from tests.bot.competition import BASELINE, put, submission


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path, "tracks/one.toml", BASELINE)
    arms = [(3.27, 610.0), (3.271, 611.0)], [(3.27, 700.0), (3.271, 701.0)]
    people = [
        {"github": "thinker", "name": 'A "quoted" N\u00e4me', "roles": ["idea"]},
        {"github": "coder", "roles": ["code", "runs"]},
    ]
    submission(tmp_path, "one", "faster", *arms, contributors=people)
    runner = [{"github": "Coder", "roles": ["runs"]}]
    submission(tmp_path, "one", "again", *arms, contributors=runner, reproduces="one/faster")
    return tmp_path


def run(root: Path, *words: str) -> str:
    answer = CliRunner().invoke(main, ["credits", *words, "--root", str(root)])
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_people_are_counted_once_whatever_the_case(root: Path) -> None:
    data = json.loads(run(root, "--format", "json"))
    done = {p["github"].lower(): p["done"] for p in data["people"]}
    assert done == {
        "coder": {"code": 1, "runs": 2, "reproduced": 1},
        "thinker": {"idea": 1},
    }
    assert "runs 2, reproductions 1; on one" in run(root)


def test_a_citation_file_is_yaml_with_everybody(root: Path) -> None:
    run(root, "--format", "cff", "--out", str(root / "CITATION.cff"))
    data = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    assert (data["cff-version"], data["title"]) == ("1.2.0", root.name)
    assert sorted(a["name"].lower() for a in data["authors"]) == ['a "quoted" n\u00e4me', "coder"]


def test_all_contributors_has_its_own_words(root: Path) -> None:
    data = json.loads(run(root, "--format", "all-contributors"))
    kinds = {p["login"].lower(): p["contributions"] for p in data["contributors"]}
    assert kinds == {"coder": ["code", "data", "test"], "thinker": ["ideas"]}


def test_an_unknown_track_is_named(root: Path) -> None:
    answer = CliRunner().invoke(main, ["credits", "--track", "two", "--root", str(root)])
    assert answer.exit_code == 2 and 'there is no track "two"; known tracks: one' in answer.output


CASES = [("refuted", "found-a-mistake"), ("claimed", "reproduced")]


@pytest.mark.parametrize(("state", "word"), CASES)
def test_who_refuted_an_entry_found_a_mistake(state: StateName, word: str) -> None:
    path = "submissions/one/doubt"
    doubt = Submission(
        path, "one", "doubt", contributors=(Contributor("critic", roles=("runs",)),),
        reply=Reply("challenges", "one/lucky"),
    )  # fmt: skip
    held = Answered(path, "challenge", ("critic",), None, 3, 1.0, None, True, holds=True,
                    accepted=True)  # fmt: skip
    (person,) = tally([doubt], {"submissions/one/lucky": State(state, (held,))})
    assert person.done == {"runs": 1, word: 1}
