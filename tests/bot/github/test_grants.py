"""Compute grants: who is eligible, who may grant, and what the site shows of it."""

from __future__ import annotations

import json

import pytest

from bot.github.conversation.commands import Command, Mistake, parse
from bot.github.pull_request import lists
from bot.github.pull_request.waivers import GRANTED
from leaderboard_site.model import Site
from leaderboard_site.pages.wanted import grants, wanted
from leaderboard_site.source import read_site
from tests.bot.github.competition import (
    AUTHOR,
    MAINTAINER,
    NOW,
    OWNER,
    REPO,
    STRANGER,
    TRACK,
    Competition,
    submission,
)

pytestmark = pytest.mark.one_in(3)

GRANT = '[compute_grant]\ntop = 1\ngpu_hours = 40\nhow = "Write to the maintainers."\n'
ASK = "/grant 30 because it may hold at 1b"


@pytest.fixture
def funded(competition: Competition) -> Competition:
    """The competition with a grant for the best verified entry."""
    competition.github.commit(REPO, "main", {"tracks/mini.toml": TRACK + GRANT})
    return competition


def answered(competition: Competition, name: str = "fast", seconds: float = 90.0) -> int:
    pull = competition.open(submission(name, seconds=seconds, salt=len(name)), branch=name)
    competition.answer(pull.number)
    return pull.number


def ask(competition: Competition, number: int, who: str = MAINTAINER, words: str = ASK) -> str:
    return competition.command(number, competition.say(number, who, words))


@pytest.mark.parametrize(
    "text, hours",
    [
        ("/grant 30 because it may hold", 30.0),
        ("/grant 2.5 because small", 2.5),
        ("/grant", None),
        ("/grant 30", None),
        ("/grant many because x", None),
        ("/grant 0 because x", None),
        ("/grant -3 because x", None),
        ("/grant 1e9 because x", None),
    ],
)
def test_how_it_is_written(text: str, hours: float | None) -> None:
    found = parse(text)
    if hours is None:
        assert isinstance(found, Mistake) and "GPU-hours" in found.problem
    else:
        assert isinstance(found, Command) and found.hours == hours


def test_the_best_verified_entry_is_told_and_granted(funded: Competition) -> None:
    number = answered(funded)
    assert "a maintainer may grant up to 40 GPU-hours" in funded.sticky(number)
    assert ask(funded, number) == "granted"
    said = funded.comments(number)[-1]
    assert "**Granted**: 30 GPU-hours" in said and "Write to the maintainers." in said
    assert '`"based_on": "submissions/mini/fast"`' in said
    assert GRANTED in funded.labels(number)


def test_a_slower_entry_is_not_eligible(funded: Competition) -> None:
    number = answered(funded, "slow", 130.0)
    assert "may grant" not in funded.sticky(number)
    assert ask(funded, number) == "not eligible"
    assert "the 1 best verified" in funded.comments(number)[-1]
    assert GRANTED not in funded.labels(number)


def test_a_track_without_grants(competition: Competition) -> None:
    number = answered(competition)
    assert "may grant" not in competition.sticky(number)
    assert ask(competition, number) == "not eligible"
    assert "compute" in competition.comments(number)[-1]


@pytest.mark.parametrize("who", [AUTHOR, STRANGER])
def test_only_a_maintainer_grants(funded: Competition, who: str) -> None:
    number = answered(funded)
    before = funded.comments(number)
    assert ask(funded, number, who) == "not permitted"
    assert GRANTED not in funded.labels(number)
    assert not any("Granted" in text for text in funded.comments(number)[len(before) :])


def test_nobody_grants_to_themselves(funded: Competition) -> None:
    files = submission("own", MAINTAINER, seconds=80.0, salt=7)
    pull = funded.open(files, MAINTAINER, branch="own")
    funded.answer(pull.number)
    assert ask(funded, pull.number) == "not permitted"


def test_hours_add_up_and_a_delivery_may_come_twice(funded: Competition) -> None:
    number = answered(funded)
    comment = funded.say(number, MAINTAINER, ASK)
    assert funded.command(number, comment) == "granted"
    before = funded.comments(number)
    assert funded.command(number, comment) == "granted"
    assert funded.comments(number) == before
    assert ask(funded, number, OWNER, "/grant 11 because more") == "not eligible"
    assert "41 GPU\\-hours in all are more than the 40" in funded.comments(number)[-1]
    assert ask(funded, number, OWNER, "/grant 10 because more") == "granted"


def test_a_commit_that_nobody_judged_gets_nothing(funded: Competition) -> None:
    number = answered(funded)
    funded.push({"submissions/mini/fast/notes.txt": "more\n"}, branch="fast")
    assert ask(funded, number) == "not eligible"
    assert "no verdict yet" in funded.comments(number)[-1]


def listed(competition: Competition) -> Site:
    root = competition.checkout()
    lists.write_lists(competition.as_job("lists"), root, root / "evidence", NOW)
    return read_site(root, str(root / "evidence"), repository=REPO)


def test_the_site_lists_grants_and_what_came_of_them(funded: Competition) -> None:
    number = answered(funded)
    ask(funded, number)
    funded.github.comment(REPO, number, STRANGER, funded.comments(number)[-1])
    funded.github.merge(REPO, number)
    funded.record(number)
    found = grants(listed(funded))[0]
    assert [item.name for item in found["able"]] == ["fast"]
    [row] = found["given"]
    assert (row["item"].name, row["grant"].hours, row["grant"].by) == ("fast", 30.0, MAINTAINER)
    assert row["later"] == []
    larger = submission("fast-1b", seconds=95.0, salt=11, based_on="mini/fast")
    funded.github.commit(REPO, "main", dict(larger))
    [row] = grants(listed(funded))[0]["given"]
    assert [later["label"] for later in row["later"]] == ["fast-1b"]


def test_runs_wanted_are_listed_with_their_cost(competition: Competition) -> None:
    files = submission("few", runs=2)
    for n in range(2):
        name = f"submissions/mini/few/logs/{n}.log"
        head = "device: NVIDIA H100 80GB HBM3\nworld_size: 8\n"
        files[name] = head + files[name].replace("train_time:", "train_time:")
    few = competition.open(files, branch="few")
    competition.answer(few.number)
    answered(competition, "good")
    [row] = wanted(listed(competition))
    state = json.loads(competition.sticky(few.number).split("speedrun:state ")[1].split(" -->")[0])
    assert row["pull"].number == few.number and row["pull"].entry == "submissions/mini/few"
    assert row["pull"].runs == state["runs"] >= 1
    # 100.1 s on 8 GPUs a run
    assert row["pull"].gpu_hours == pytest.approx(state["runs"] * 100.1 * 8 / 3600, rel=1e-3)
    assert row["fetch"] == "git fetch origin pull/1/head && git checkout FETCH_HEAD"
