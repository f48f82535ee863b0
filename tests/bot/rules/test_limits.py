"""Limits of a track: measured, claimed by the submission alone, or not stated."""

from __future__ import annotations

import dataclasses as dc

import pytest

from bot.model.submission import Claim
from bot.model.track import Metric
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL, a_case, a_run, found

TIMED = dc.replace(SMALL, limits={"training_time_s": 60.0})
SCORED = dc.replace(
    SMALL,
    limits={"score": 0.5},
    metrics={"score": Metric("score", "Score", goal="max", keys=("score",))},
)


@pytest.mark.parametrize(("seconds", "kept"), [(59.0, True), (60.0, True), (60.1, False)])
def test_a_run_has_the_limit_at_most(seconds: float, kept: bool) -> None:
    run = a_run()
    points = tuple(v._replace(time_s=(v.time_s or 0.0) * seconds / 60) for v in run.validation)
    told = found("limit-exceeded", a_case([dc.replace(run, validation=points)], track=TIMED))
    assert (told == ()) is kept


@pytest.mark.parametrize(("score", "kept"), [(0.4, False), (0.5, True), (0.6, True)])
def test_of_which_more_is_better_it_has_the_limit_at_least(score: float, kept: bool) -> None:
    run = a_run(history={"score": ((1000, score),)})
    assert (found("limit-exceeded", a_case([run], track=SCORED)) == ()) is kept


@pytest.mark.parametrize(
    ("name", "value", "level"),
    [
        ("parameters", 9.0, Level.WARNING),
        ("parameters", 10.0, Level.WARNING),
        ("parameters", 11.0, Level.ERROR),
        ("score", 0.4, Level.ERROR),
        ("score", 0.5, Level.WARNING),
        ("score", 0.6, Level.WARNING),
    ],
)
def test_what_the_submission_alone_states_is_weighed(name: str, value: float, level: Level) -> None:
    track = SCORED if name == "score" else dc.replace(SMALL, limits={"parameters": 10.0})
    claims = (Claim(name, value, pointer="/claims/x"),)
    (told,) = found("limit-exceeded", a_case([a_run()], track=track, submission={"claims": claims}))
    assert told.level is level


def test_what_nobody_states_breaks_the_limit() -> None:
    (told,) = found("limit-exceeded", a_case([a_run()], track=SCORED))
    assert told.level is Level.ERROR and (told.claimed, told.expected) == (None, 0.5)
    assert told.message == "Score is not stated, and the track limits it"
    assert told.fix == "log score where the track reads it"


@pytest.mark.parametrize(
    ("limits", "claim", "message", "fix"),
    [
        ({"training_time_s": 59.0}, 1.0,
         "training_time_s is 60 s, and the track allows at most 59 s",
         "bring a run whose training_time_s is within the limit"),
        ({"bpb": 1.0}, 1.0, "bpb is 1.01, and the track allows at most 1",
         "bring a run whose bpb is within the limit"),
        ({"parameters": 10.0}, 11.0,
         "parameters is claimed as 11, and the track allows 10",
         "bring a run whose parameters is within the limit"),
        ({"parameters": 10.0}, 10.0,
         "parameters, which the track limits, is stated by the submission alone",
         "log parameters where the track reads it"),
    ],
)  # fmt: skip
def test_what_a_run_shows_counts_before_any_claim(
    limits: dict[str, float], claim: float, message: str, fix: str
) -> None:
    (name,) = limits
    claims = (Claim("other", 5.0), Claim(name, claim))
    case = a_case([a_run()], track=dc.replace(SMALL, limits=limits), submission={"claims": claims})
    (told,) = found("limit-exceeded", case)
    assert (told.message, told.fix) == (message, fix)
    assert (told.run, told.expected) == (a_run().file, limits[name])
    assert told.claimed == {"training_time_s": 60.0, "bpb": 1.01, "parameters": claim}[name]


def test_the_label_and_unit_of_a_metric_are_the_tracks() -> None:
    metric = Metric("score", "Score", unit="points", goal="max", keys=("score",))
    track = dc.replace(SCORED, metrics={"score": metric})
    (told,) = found(
        "limit-exceeded", a_case([a_run(history={"score": ((1000, 0.4),)})], track=track)
    )
    said = "Score is 0.4 points, and the track allows at least 0.5 points"
    assert (told.message, told.claimed) == (said, 0.4)
    lower = dc.replace(SCORED, metrics={"score": dc.replace(metric, goal="min")})
    (most,) = found(
        "limit-exceeded", a_case([a_run(history={"score": ((1000, 0.6),)})], track=lower)
    )
    assert most.message == "Score is 0.6 points, and the track allows at most 0.5 points"
    arms = a_case([a_run()], arms=("baseline",), track=SCORED)
    assert found("limit-exceeded", arms) == ()  # of the candidate alone
