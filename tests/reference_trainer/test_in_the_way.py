"""What the end of a training says about a place on the board."""

import pathlib

import pytest

from reference_trainer.runs import in_the_way

MAIN = pathlib.Path(__file__).parents[2] / "submissions/tutorial/my-idea/main.py"
MISSED, ALONE = "target missed: loss 2.0000, tutorial asks for less than 1.9", "no baseline arm"


@pytest.mark.parametrize(
    ("losses", "arms", "track", "says"),
    [
        ([1.99, 2.01], ["candidate"], "tutorial", [MISSED, ALONE]),
        ([1.99, 2.01], ["candidate", "baseline"], "tutorial", [MISSED]),
        ([1.7, 1.9], ["candidate"], "tutorial", [ALONE]),
        ([1.7, 1.9], ["candidate", "baseline"], "tutorial", []),
        ([9.9], ["candidate"], "fineweb-edu", []),
        ([9.9], ["candidate"], "of-another-repository", []),
        ([9.9], ["candidate"], None, []),
    ],
)
def test_what_keeps_runs_from_a_place(
    losses: list[float], arms: list[str], track: str | None, says: list[str]
) -> None:
    found = {arm: [{"eval/loss": loss, "eval/bpb": None} for loss in losses] for arm in arms}
    told = list(in_the_way(found, track, MAIN))
    assert len(told) == len(says)
    assert all(line.startswith(start) for line, start in zip(told, says, strict=True))
