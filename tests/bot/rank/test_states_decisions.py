"""What makes a state what it is: each condition of a reply, and what is left of refuted ones."""

import dataclasses as dc
import math

import pytest

from bot.model.run import RunRecord
from bot.model.track import Axis, Baseline
from bot.model.verdict import Finding
from bot.rank.states import settle
from bot.registry import Level
from tests.bot.rank.test_states import ACCEPTED, BASE, LUCKY, REAL, TRACK, gain, none, verdict

AGAIN = gain("again", "t/real", people=("other",))
AGAINST = none("no", "t/real", people=("critic",))
REAL_PATH = "submissions/t/real"


def settled(*others, track=TRACK):
    return settle([BASE, LUCKY, REAL, *others], track)


def answers(*others, track=TRACK):
    return settled(*others, track=track).states[REAL_PATH].replies


def name(*others, track=TRACK):
    return settled(*others, track=track).states[REAL_PATH].name


def with_findings(made, rule, level, **fields):
    return dc.replace(made, findings=(Finding(rule, level, "", **fields),))


def test_a_track_without_a_rule_asks_for_two_pairs_of_others():
    track = dc.replace(TRACK, reproduction=None)
    two = verdict("again", [70.4, 70.6], [80.0, 80.1], people=("b",), reproduces="t/real")
    one = verdict("again", [70.4], [80.0], people=("b",), reproduces="t/real")
    assert (name(two, track=track), name(one, track=track)) == ("confirmed", "claimed")
    assert name(two) == "claimed", "this track asks for three"
    assert name(dc.replace(AGAIN, people=("author",)), track=track) == "claimed"


def test_a_reply_to_what_is_no_entry_changes_nothing():
    found = settled(gain("again", "t/unknown", people=("b",)), dc.replace(AGAIN, track="other"))
    assert found.states[REAL_PATH].replies == () and len(found.states) == 3
    bare = dc.replace(REAL, points=())
    assert settle([BASE, bare, AGAIN], TRACK).states[REAL_PATH].name == "confirmed"
    assert REAL_PATH not in settle([BASE, bare, AGAIN], TRACK).ratios


def test_the_ratio_of_an_entry_is_joined_by_its_replies():
    """0.88 of three pairs, and 0.8825 of three others."""
    alone = settled().ratios[REAL_PATH]
    joined = settled(AGAIN).ratios[REAL_PATH]
    assert (alone.pairs, joined.pairs) == (3, 6)
    assert joined.ratio == pytest.approx(math.sqrt(0.88 * 0.8825), rel=1e-6)
    unfit = with_findings(AGAIN, "arms-differ", Level.WARNING)
    assert settled(unfit).ratios[REAL_PATH] == alone
    refuted = settled(dc.replace(AGAINST, accepted=ACCEPTED)).ratios[REAL_PATH]
    assert (refuted.ratio, refuted.pairs) == (pytest.approx(1.0), 3), "what it claimed is disputed"


@pytest.mark.parametrize(
    ("entry", "reply", "confirmed"),
    [
        ((), (False,), True),
        ((True,), (False,), False),
        ((True,), (True, False), False),
        ((True,), (True, True), True),
        ((True, False), (False,), True),
    ],
)
def test_a_reply_holds_its_code_where_the_entry_does(entry, reply, confirmed):
    def runs(made, read):
        own = tuple(RunRecord("a.log", source="log", source_read=each) for each in read)
        return dc.replace(made, runs=(*own, RunRecord("b.log", arm="baseline")))

    found = settle([BASE, runs(REAL, entry), runs(AGAIN, reply)], TRACK).states[REAL_PATH]
    assert (found.name == "confirmed") is confirmed


@pytest.mark.parametrize(
    ("level", "rule", "fields", "fit"),
    [
        (Level.WARNING, "arms-differ", {}, False),
        (Level.NOTE, "arms-differ", {}, True),
        (Level.WARNING, "log-format", {}, True),
        (Level.WARNING, "baseline-slower-than-frozen", {"expected": 99.0}, False),
    ],
)
def test_arms_that_do_not_compare_show_nothing(level, rule, fields, fit):
    again = with_findings(AGAIN, rule, level, **fields)
    against = with_findings(AGAINST, rule, level, **fields)
    assert (name(again), name(against)) == (
        ("confirmed", "challenged") if fit else ("claimed", "claimed")
    )
    (said,) = answers(against)
    assert said.undisputed == ("" if fit else "its two arms are not comparable: see its findings")


def test_what_a_reply_is_and_has():
    (reproduction,) = answers(
        dc.replace(AGAIN, runs=(RunRecord("a"), RunRecord("b", hardware="X")))
    )
    assert (reproduction.kind, reproduction.pairs, reproduction.device) == ("reproduction", 3, "X")
    assert reproduction.counts and reproduction.why == reproduction.undisputed == ""
    (challenge,) = answers(AGAINST)
    assert (challenge.kind, challenge.holds, challenge.undisputed) == ("challenge", True, "")
    assert not challenge.accepted and challenge.reason == ""
    (bare,) = answers(verdict("no", [80.0, 80.1, 80.2], challenges="t/real", people=("c",)))
    assert (bare.pairs, bare.ratio, bare.interval, bare.holds) == (0, None, None, False)
    (accepted,) = answers(dc.replace(AGAINST, accepted=ACCEPTED))
    assert accepted.accepted and accepted.reason == ACCEPTED["maintainer-decides"]


@pytest.mark.parametrize(
    ("ours", "theirs", "less", "more"),
    [
        ([95.0], [100.0], True, False),
        ([100.0], [100.0], False, False),
        ([150.0], [100.0], False, True),
        ([88.0, 88.5, 87.5], [100.0, 100.5, 99.5], True, False),
        ([98.0, 110.0, 86.0], [100.0, 112.0, 87.0], False, False),  # by chance
        ([112.0, 112.5, 111.5], [100.0, 100.5, 99.5], False, True),
    ],
)
def test_whether_the_runs_of_one_reply_show_a_gain(ours, theirs, less, more):
    """A single pair has its ratio alone."""
    reply = verdict("again", ours, theirs, people=("b",), reproduces="t/real")
    (found,) = answers(reply)
    assert found.gains is less
    speed = dc.replace(TRACK, cost=Axis("speed", goal="max"))
    (found,) = answers(reply, track=speed)
    assert found.gains is more


def test_replies_are_in_the_order_of_their_dates():
    made = [
        dc.replace(AGAIN, submission=f"submissions/t/{n}", date=d)
        for n, d in (("c", None), ("b", "2026-03-01"), ("a", "2026-03-01"), ("d", "2026-02-01"))
    ]
    assert [a.submission[-1] for a in answers(*made)] == ["d", "a", "b", "c"]  # fmt: skip


# ---- What is left ------------------------------------------------------------------------------


def base_line(name, **fields):
    given = {"frozen_on": "2026-01-01", "cost_metric": "training_time_s"} | fields
    return Baseline(name, f"submissions/t/{name}", costs=(100.0,), losses=(), **given)


FALSE = base_line("lucky", after="base", ratio=0.86, interval=(0.85, 0.87))
THIRD = base_line("real", after="lucky", ratio=0.9)
REFUTES = none("critique", "t/lucky", people=("critic",), accepted=ACCEPTED)
LINE = dc.replace(TRACK, baselines=(*TRACK.baselines, FALSE, THIRD), baseline_id="real")


def test_a_track_without_refuted_baselines_is_the_track_itself():
    assert settled(track=LINE).track is LINE
    assert settled(REFUTES).track is TRACK, "refuted, and no baseline"
    others = dc.replace(TRACK, objective="target")
    assert settle([BASE], others).track is others and settle([BASE], others).states == {}


@pytest.mark.parametrize(
    ("current", "stands"), [("real", "real"), ("base", "base"), ("lucky", "real")]
)
def test_a_baseline_that_is_not_refuted_stands(current, stands):
    found = settled(REFUTES, track=dc.replace(LINE, baseline_id=current)).track
    assert found.baseline_id == stands
    first, false, third = found.baselines
    assert (first.ratio, third.ratio) == (None, 0.9)
    assert false.ratio == pytest.approx(1.0) and false.interval != FALSE.interval


def test_of_refuted_baselines_alone_none_stands():
    only = dc.replace(TRACK, baselines=(base_line("lucky"),), baseline_id="lucky")
    found = settled(dc.replace(REFUTES, based_on="lucky"), track=only).track
    assert found.baseline_id is None and found.baselines[0].ratio is None


def test_entries_that_build_on_each_other_have_no_end():
    a = dc.replace(REAL, submission="submissions/t/a", based_on="t/b")
    b = dc.replace(REAL, submission="submissions/t/b", based_on="a")
    found = settle([BASE, a, b, LUCKY], TRACK).states
    assert found["submissions/t/a"].refuted == found["submissions/t/b"].refuted == ()
    above = dc.replace(b, based_on="lucky")
    found = settle([BASE, a, above, LUCKY, REFUTES], TRACK).states
    assert found["submissions/t/a"].refuted == ("submissions/t/lucky",)
    assert found["submissions/t/lucky"].refuted == ()
