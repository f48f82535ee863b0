"""A newcomer's mistakes: the right cause comes first, and doing what the fix says is enough."""

from __future__ import annotations

import pytest

from bot.model.report import Settings
from bot.model.submission import Folder
from bot.render.answer import Answer, Where, answer
from bot.render.comment import to_markdown
from bot.verify import verify
from tests.bot.render.words import before_next, visible, words
from tests.journeys import evidence_mistakes, mistakes
from tests.journeys.follow import State, follow
from tests.journeys.mistakes import TRACK, Files, Mistake, good

ROUNDS = 4
"""So often somebody reads the answer and acts before they give up."""
MISTAKES = (*mistakes.MISTAKES, *evidence_mistakes.MISTAKES)
HARMLESS = (*mistakes.HARMLESS, *evidence_mistakes.HARMLESS)
NAMES = [mistake.name for mistake in MISTAKES]
TRACKS = {track.id: track for track in (TRACK, evidence_mistakes.LAB)}


def said(state: State) -> Answer:
    folder = Folder(state.folder, state.files)
    return answer(verify(folder, TRACKS), where=Where.FOLDER)


def state_of(mistake: Mistake) -> State:
    return State(mistake.folder, mistake.make(good()))


def test_the_submission_without_a_mistake_is_verified() -> None:
    assert said(State("submissions/fast/idea", good())).line.startswith("Verified")


@pytest.mark.parametrize(("name", "make"), HARMLESS, ids=[name for name, _ in HARMLESS])
def test_what_is_no_mistake_is_none(name: str, make: object) -> None:
    assert callable(make)
    files: Files = make(good())
    assert said(State("submissions/fast/idea", files)).line.startswith("Verified")


@pytest.mark.parametrize("mistake", MISTAKES, ids=NAMES)
def test_the_right_cause_comes_first(mistake: Mistake) -> None:
    item = said(state_of(mistake))
    assert item.groups[0].rule == mistake.rule, item.verdict.findings
    assert item.groups[0].fix or item.groups[0].told, "nothing says what to do"


@pytest.mark.parametrize("mistake", MISTAKES, ids=NAMES)
def test_the_answer_is_short(mistake: Mistake) -> None:
    item = said(state_of(mistake))
    body = to_markdown(item, Settings())
    assert before_next(body) <= 15
    assert len(words(visible(body))) <= 120 + 60 * len(item.groups), visible(body)


@pytest.mark.parametrize("mistake", MISTAKES, ids=NAMES)
def test_doing_what_the_fix_says_makes_it_pass(mistake: Mistake) -> None:
    state, told = state_of(mistake), set[str]()
    for _ in range(ROUNDS):
        item = said(state)
        left = [group for group in item.groups if group.says not in told]
        if item.verdict.status.counts and not left:
            return
        told.add(left[0].says)
        state = follow(left[0], state)
    assert said(state).verdict.status.counts, said(state).verdict.findings
