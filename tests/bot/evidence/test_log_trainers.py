"""Forty logs in the words of public trainers, written from memory: each is read to its last
validation, or refused with the right cause and what to do about it."""

from __future__ import annotations

import json

import pytest

from bot.evidence.files import FileRuns, read_file
from bot.evidence.sources import ANY_TRACK
from tests.conftest import ROOT

FORMS = json.loads((ROOT / "tests/bot/data/logs/trainers.json").read_text(encoding="utf-8"))
READ = [name for name, form in FORMS.items() if "why" not in form]
REFUSED = [name for name, form in FORMS.items() if "why" in form]


def read(trainer: str) -> FileRuns:
    return read_file(FORMS[trainer]["text"].encode(), "x.log", ANY_TRACK)


@pytest.mark.parametrize("trainer", READ)
def test_it_is_read_to_its_last_validation(trainer: str) -> None:
    """Each ends at step 1000 with a loss of 3.5."""
    found = read(trainer)
    assert found.why == ""
    assert (found.runs[-1].step, found.runs[-1].loss) == (1000, 3.5)


@pytest.mark.parametrize("trainer", REFUSED)
def test_the_cause_and_the_remedy_are_right(trainer: str) -> None:
    found, form = read(trainer), FORMS[trainer]
    assert not any(run.validation for run in found.runs)
    assert form["why"] in found.why and form["fix"] in (found.fix or ""), found


def test_the_trainers_are_forty() -> None:
    assert len(READ) + len(REFUSED) >= 40
