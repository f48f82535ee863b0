"""What the bot asks for beside links."""

from __future__ import annotations

import dataclasses as dc

import pytest

from bot.evidence.links import RunRef
from bot.github.pull_request.intake import Intake, ask
from bot.model.track import Axis, Track

OPEN = Track("one", "One", "baseline", Axis("loss"), Axis("training_time_s"), baseline_id="first")
HOW = {"baseline": "add them", "idea": "add whose"}


@pytest.mark.parametrize(
    ("baseline_id", "asked"), [("first", ["which runs", "whose idea"]), (None, ["whose idea"])]
)
def test_the_first_baseline_has_no_other_arm(baseline_id: str | None, asked: list[str]) -> None:
    tracks = {"one": dc.replace(OPEN, baseline_id=baseline_id)}
    form = ask(Intake("ann", "one", (RunRef("e", "p", "r"),)), tracks, HOW)
    assert [" ".join(item.split()[:2]) for item in form.missing] == asked
