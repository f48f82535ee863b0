"""Credit, the files of frozen baselines, and how baselines relate."""

import dataclasses as dc
import json
import tomllib

import pytest

from bot.model.submission import Contributor, Reply, Submission
from bot.model.summary import BaselineArm, Comparison, Sample, Summary
from bot.model.track import Baseline, BoardRow, Credit, TrackError
from bot.model.verdict import Point, Verdict
from bot.parse.schemas import first_problem
from bot.parse.track_toml import load_track, parse_track
from bot.rank.baseline import (
    BaselineError,
    credit,
    distance,
    freeze,
    write,
)
from bot.rank.ranking import rank
from bot.registry import Grade, Status
from tests.bot.competition import BASELINE, put


def entry(name, people, based_on=None, imported=None):
    contributors = tuple(Contributor(login, roles=roles) for login, roles in people.items())
    path = f"submissions/one/{name}"
    return path, Submission(
        path, "one", name, contributors=contributors, based_on=based_on, imported=imported
    )


def logins(found):
    return {person.github: person.roles for person in found}


def test_idea_runs_code_and_writing_may_be_four_people():
    entries = dict(
        [
            entry("base", {"old-hand": ("code",)}),
            entry("idea", {"thinker": ("idea",)}, based_on="base"),
            entry("win", {"coder": ("code",), "writer": ("writing",)}, based_on="one/idea"),
            entry("again", {"runner": ("runs",)}, based_on="submissions/one/win"),
            entry("else", {"bystander": ("idea",)}, based_on="base"),
        ]
    )
    found = credit("submissions/one/win", entries, until="submissions/one/base")
    assert logins(found) == {
        "coder": ("code",),
        "writer": ("writing",),
        "thinker": ("idea",),
        "runner": ("runs",),
    }


def test_roles_of_one_person_are_joined():
    entries = dict(
        [
            entry("a", {"Example-User": ("runs",)}),
            entry("b", {"example-user": ("idea", "runs")}, based_on="a"),
        ]
    )
    (person,) = credit("submissions/one/b", entries)
    assert person == Credit(
        "example-user", None, ("idea", "runs"), ("submissions/one/b", "submissions/one/a")
    )


def test_a_circle_of_based_on_ends():
    entries = dict([entry("a", {"x": ()}, based_on="b"), entry("b", {"y": ()}, based_on="a")])
    assert set(logins(credit("submissions/one/a", entries))) == {"x", "y"}


def test_authors_of_an_imported_entry_are_credited():
    authors = [{"github": "example-user", "name": "Example"}, {"name": "No Login"}, 3]
    entries = dict([entry("a", {}, imported={"url": "https://example.org", "authors": authors})])
    (person,) = credit("submissions/one/a", entries)
    assert (person.github, person.name) == ("example-user", "Example")


def frozen(name, **fields):
    return Baseline(
        name,
        f"submissions/one/{name}",
        "2026-01-02",
        "training_time_s",
        (600.5, 601.0),
        (3.27, 3.275),
        **fields,
    )


def test_history_grows_and_comes_back(tmp_path):
    put(tmp_path, "tracks/one.toml", BASELINE)
    path = tmp_path / "tracks/one.toml"
    people = (
        Credit("example-user", 'A "quoted" n\u00e4me', ("idea",), ("submissions/one/b2",)),
        Credit("other", None, (), ()),
    )
    first = frozen("b1", device="NVIDIA A100", count=1)
    board = (BoardRow("submissions/one/b2", 0.89, "confirmed"),)
    second = frozen("b2", after="b1", ratio=0.89, interval=(0.88, 0.9), credits=people, board=board)
    for item in (second, first):
        write(tmp_path, load_track(path), item)
    track = load_track(path)
    assert track.baselines == (first, second)
    assert (track.baseline_id, track.promote_at) == ("b2", 0.9)
    assert path.read_text() == BASELINE
    for file in (tmp_path / "tracks/baselines/one").iterdir():
        assert first_problem(json.loads(file.read_text()), "baseline") is None


def test_names_of_several_components_have_one_file(tmp_path):
    put(tmp_path, "tracks/one.toml", BASELINE)
    path = write(tmp_path, load_track(tmp_path / "tracks/one.toml"), frozen("suite/b1"))
    assert path == tmp_path / "tracks/baselines/one/suite.b1.json"
    assert load_track(tmp_path / "tracks/one.toml").baseline_id == "suite/b1"


def test_the_same_baseline_is_not_frozen_twice(tmp_path):
    put(tmp_path, "tracks/one.toml", BASELINE)
    write(tmp_path, load_track(tmp_path / "tracks/one.toml"), frozen("b1"))
    with pytest.raises(BaselineError, match="b1 was frozen for one on 2026-01-02; delete"):
        write(tmp_path, load_track(tmp_path / "tracks/one.toml"), frozen("b1"))


SOUND = {
    "schema_version": 1,
    "id": "b",
    "submission": "s",
    "frozen_on": "2026-01-01",
    "cost_metric": "x",
    "costs": [],
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"frozen_on": "today"}, "not a frozen baseline"),
        ({"costs": ["1"]}, "costs: expected float or int, found str"),
        ({"costs": [float("nan")]}, "expected finite numbers"),
        ({"costs": 3}, "not a frozen baseline"),
        ({"ratio": 0}, "ratio is 0, expected a number above 0"),
        ({"schema_version": 9}, "schema_version is 9, we know 1"),
        ({"id": None}, None),
    ],
)
def test_a_broken_file_is_one_sentence(tmp_path, change, says):
    put(tmp_path, "tracks/one.toml", BASELINE)
    data = {k: v for k, v in (SOUND | change).items() if v is not None}
    put(tmp_path, "tracks/baselines/one/b.json", json.dumps(data))
    with pytest.raises(TrackError, match=f"one/b.json: .*{says or 'the key .id. is missing'}"):
        load_track(tmp_path / "tracks/one.toml")


def test_a_sound_file_is_the_baseline(tmp_path):
    put(tmp_path, "tracks/one.toml", BASELINE)
    put(tmp_path, "tracks/baselines/one/b.json", json.dumps(SOUND))
    assert load_track(tmp_path / "tracks/one.toml").baseline_id == "b"


CHAIN = (
    dc.replace(frozen("b1"), frozen_on="2026-01-01"),
    dc.replace(frozen("b2", after="b1", ratio=0.9), frozen_on="2026-02-01"),
    dc.replace(frozen("b3", after="b2", ratio=0.8), frozen_on="2026-03-01"),
    dc.replace(frozen("b4"), frozen_on="2026-04-01"),
)


TRACK = dc.replace(parse_track(tomllib.loads(BASELINE), "one.toml"), baselines=CHAIN)


# ---- Several points ----------------------------------------------------------------------------


def measured(name, cost, ratio):
    bounds = (ratio - 0.01, ratio + 0.01)
    arm = BaselineArm(comparison=Comparison("welch", 0.0, None, None, None, ratio, bounds))
    values = Sample((cost - 1, cost + 1))
    statistics = Summary(cost=values, quality=Sample((3.2, 3.21)), baseline=arm)
    return Point(name, 3.205, cost, {"training_time_s": cost}, statistics)


def several(*points):
    path = "submissions/one/win"
    return Verdict(path, "one", Status.VERIFIED, Grade.LOG, (), points, based_on="b3", against="b3")


def test_costs_and_ratio_that_are_frozen_are_those_of_one_point():
    """The best point is the second, and the first costs half of it."""
    track = dc.replace(TRACK, baseline_id="b3")
    found = several(measured("130m", 50.0, 0.97), measured("300m", 100.0, 0.8))
    best = rank([found], track).entries[0]
    made = freeze(found, track, on="2026-05-01", entry=best)
    assert (made.costs, made.ratio, made.interval) == ((99.0, 101.0), 0.8, (0.79, 0.81))


def test_none_of_several_points_that_do_not_rank_is_frozen():
    found = several(measured("130m", 50.0, 0.97), measured("300m", 100.0, 0.8))
    with pytest.raises(BaselineError, match=r"has several points \(130m, 300m\) and none ranks"):
        freeze(found, TRACK, on="2026-05-01")
    one = several(measured("130m", 50.0, 0.97))
    assert freeze(one, TRACK, on="2026-05-01").costs == (49.0, 51.0)


def test_who_ran_an_entry_again_is_credited_with_it():
    path, again = entry("again", {"runner": ("runs",)})
    other, unrelated = entry("other", {"bystander": ("runs",)})
    entries = dict(
        [
            entry("win", {"coder": ("code",)}),
            (path, dc.replace(again, reply=Reply("reproduces", "one/win"))),
            (other, dc.replace(unrelated, reply=Reply("reproduces", "one/again"))),
        ]
    )
    found = credit("submissions/one/win", entries)
    assert logins(found) == {"coder": ("code",), "runner": ("runs",)}


@pytest.mark.parametrize(
    ("at", "ratio", "left"),
    [
        pytest.param(0.9, 0.95, 0.9 / 0.95, id="a cost that must fall"),
        pytest.param(1.1, 1.05, 1.1 / 1.05, id="a value that must rise"),
    ],
)
def test_how_far_the_next_baseline_is(at, ratio, left):
    track = dc.replace(TRACK, baseline_id="b3", promote_at=at)
    board = rank([several(measured("300m", 100.0, ratio))], track)
    found = distance(board)
    assert found is not None and (found.left, found.why) == (pytest.approx(left), "")
    assert found.interval == pytest.approx((at / (ratio + 0.01), at / (ratio - 0.01)))
    assert distance(dc.replace(board, track=dc.replace(track, promote_at=None))) is None
    assert distance(dc.replace(board, track=dc.replace(track, baseline_id="b4"))) is None
