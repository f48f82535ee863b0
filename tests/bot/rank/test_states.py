"""States of entries: what confirms one, what disputes it, and what becomes of its baseline."""

import dataclasses as dc
import math

import pytest

from bot.compute.significance import welch
from bot.model.board import Answered, State
from bot.model.run import RunRecord
from bot.model.submission import Reply
from bot.model.summary import BaselineArm, Sample, Summary
from bot.model.track import Baseline, Reproduction, Significance
from bot.model.verdict import Point, Verdict, finding
from bot.rank.ranking import rank
from bot.rank.states import replied_to, settle
from bot.registry import Grade, Level, Status
from bot.render.states import confirming, reply_lines, reply_words, state_words
from tests.bot.rules.run_cases import TRACKS

TRACK = dc.replace(
    TRACKS["single-gpu-fineweb"],
    id="t",
    baseline_id="base",
    significance=Significance(),
    reproduction=Reproduction(runs=3, alpha=0.05),
    baselines=(
        Baseline("base", "submissions/t/base", "2026-01-01", "training_time_s", (100.0,), ()),
    ),
)  # fmt: skip


def verdict(name, ours=(), theirs=(), people=("author",), **fields):
    """An entry, or with `reproduces` or `challenges` a reply, of runs of so many seconds."""
    arm = None
    if theirs:
        arm = BaselineArm(cost=Sample(tuple(theirs)), comparison=welch(ours, theirs))
    quality = Sample((3.27,) * len(ours))
    statistics = Summary(quality=quality, cost=Sample(tuple(ours)), baseline=arm)
    kind = next((k for k in ("reproduces", "challenges") if k in fields), None)
    made = {
        "reply": Reply(kind, fields.pop(kind)) if kind else None,
        "people": tuple(people),
        "based_on": "base",
        "date": "2026-02-01",
    }
    mean = sum(ours) / len(ours) if ours else None
    return Verdict(
        f"submissions/t/{name}", "t", fields.pop("status", Status.VERIFIED), Grade.WANDB, (),
        (Point("main", 3.27, mean, {}, statistics),), **made | fields,
    )  # fmt: skip


BASE = verdict("base", [100.0, 101.0, 99.0], people=("host",), based_on=None)
LUCKY = verdict("lucky", [86.0], [100.0], date="2026-02-01")
REAL = verdict("real", [88.0, 88.5, 87.5], [100.0, 100.5, 99.5])
ACCEPTED = {"maintainer-decides": "three machines agree (host)"}


def gain(name, entry, **fields):
    return verdict(name, [70.4, 70.6, 70.8], [80.0, 80.2, 79.8], **fields | {"reproduces": entry})


def none(name, entry, **fields):
    return verdict(name, [80.1, 79.9, 80.0], [80.0, 80.2, 79.8], **fields | {"challenges": entry})


def state(*others, of="real", track=TRACK):
    return settle([BASE, LUCKY, REAL, *others], track).states[f"submissions/t/{of}"]


def test_an_entry_that_nobody_ran_again_is_claimed():
    assert state().name == "claimed"
    assert state_words(state()) == "claimed; nobody else has run it yet"


def ways(*verdicts):
    """How each entry of a board with these is confirmed."""
    return {e.submission[14:]: confirming(e, TRACK) for e in rank([BASE, *verdicts], TRACK).entries}


def test_a_claimed_entry_says_how_it_is_confirmed():
    found = ways(REAL, verdict("near", [95.0, 95.5, 94.5], [100.0, 100.5, 99.5]))
    says = "needs 3 pairs of runs by another person, and has 0: `/submit t LINK... baseline LINK..."
    assert says in found["real"] and "reproduces t/real`" in found["real"]
    assert "it can become the next baseline" in found["real"]
    assert says in found["near"] and "next baseline" not in found["near"]


def test_what_is_confirmed_or_the_baseline_asks_nobody():
    found = ways(REAL, gain("again", "t/real", people=("other",)))
    assert found == {"real": "", "base": ""}


def test_runs_of_another_person_confirm_it():
    found = state(gain("again", "t/real", people=("other",)))
    assert found.name == "confirmed"
    assert state_words(found).startswith("confirmed by @other (0.883 times the baseline [")


def test_a_reply_that_shows_no_gain_is_not_named_as_a_confirmation():
    flat = dc.replace(none("flat", "t/real", people=("gil",)), reply=Reply("reproduces", "real"))
    found = state(gain("again", "t/real", people=("dan",)), flat)
    words = state_words(found)
    assert words.startswith("confirmed by @dan (0.88") and "; not shown by @gil (1 times" in words
    assert [a.people for a in found.confirming] == [("dan",)]
    assert "its runs count, and show no gain beyond chance" in list(reply_lines(found))[1]


def test_single_pairs_that_show_the_gain_together_are_all_named():
    one = [
        verdict(n, [88.0 + n / 9], [100.0], people=(f"p{n}",), reproduces="t/real") for n in (1, 2)
    ]
    pair = verdict("two", [87.0, 88.5], [100.0, 100.5], people=("q",), reproduces="t/real")
    words = state_words(state(*one, pair, gain("again", "t/real", people=("dan",))))
    assert "@p1" in words and "@p2" in words and "not shown" not in words


def test_runs_that_nothing_binds_to_their_sender_confirm_nothing_until_accepted():
    loose = finding("run-not-bound", "nothing in the run names you as its owner", Level.NOTE)
    again = dc.replace(gain("again", "t/real", people=("dan",)), findings=(loose,))
    assert state(again).name == "claimed"
    (line,) = reply_lines(state(again))
    assert line.endswith("its runs are not bound to who sent them, by the tag speedrun:LOGIN")
    known = dc.replace(again, accepted={"run-not-bound": "dan is known here (host)"})
    assert state(known).name == "confirmed"


@pytest.mark.parametrize(("high", "shown"), [(0.99998, "0.99998"), (1.0, "1"), (0.98, "0.98")])
def test_an_interval_shows_on_which_side_of_the_baseline_it_ends(high: float, shown: str):
    reply = Answered("submissions/t/again", "reproduction", ("x",), None, 2, 0.9, (0.8, high), True)
    assert f"[0.8, {shown}]" in state_words(State("confirmed", (reply,)))


def test_runs_of_the_same_person_do_not_confirm_it():
    found = state(gain("again", "t/real", people=("Author",)))
    assert found.name == "claimed"
    (line,) = reply_lines(found)
    assert line.endswith("3 pairs of runs; the same people ran it")
    assert state(gain("again", "t/real", people=())).name == "claimed"


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (gain("a", "t/real", people=("Author",)),
         "stays claimed: these runs do not confirm it, because the same people ran it"),
        (verdict("a", [70.4, 70.6], [80.0, 80.2], people=("b",), reproduces="t/real"),
         "stays claimed: to be confirmed it needs 3 pairs of runs by another person, and has 2"),
        (dc.replace(none("a", "t/real", people=("b",)), reply=Reply("reproduces", "real")),
         "stays claimed: the 3 pairs of runs that count do not show a gain beyond chance yet"),
        (verdict("a", [80.0, 79.9], [80.1, 80.0], people=("b",), challenges="t/real"),
         "stays claimed: it has 2 pairs of runs, and a challenge needs 3"),
        (dc.replace(gain("a", "t/real", people=("author",)), reply=Reply("challenges", "real")),
         "stays claimed: all runs of others together show a gain"),
        (none("a", "t/real", people=("b",), against="apart"),
         "nothing relates its baseline apart to the entry's; run base as the baseline arm"),
        (gain("a", "t/real", people=("b",)), "real` becomes confirmed"),
        (none("a", "t/real", people=("b",)), "real` becomes challenged"),
    ],
)  # fmt: skip
def test_what_a_reply_leaves_as_it_was_is_told_why(made, says):
    apart = Baseline("apart", "submissions/t/apart", "2026-01-01", "training_time_s", (100.0,), ())
    track = dc.replace(TRACK, baselines=(*TRACK.baselines, apart))
    words = reply_words(rank([BASE, LUCKY, REAL], track), made)
    assert says in words


def test_fewer_pairs_than_the_track_asks_for_do_not_confirm_it():
    two = verdict("again", [70.4, 70.6], [80.0, 80.2], people=("b",), reproduces="t/real")
    assert state(two).name == "claimed"
    more = dc.replace(two, submission="submissions/t/more", people=("c",))
    assert state(two, more).name == "confirmed"


def test_runs_without_a_gain_do_not_confirm_it():
    found = state(
        dc.replace(none("again", "t/real", people=("b",)), reply=Reply("reproduces", "real"))
    )
    assert found.name == "claimed"
    assert state_words(found) == "claimed; 3 pairs of runs by others do not settle it yet"


def test_a_maintainers_track_waits_for_the_maintainer():
    track = dc.replace(TRACK, reproduction=Reproduction(3, "maintainer", 0.05))
    again = gain("again", "t/real", people=("other",))
    assert state(again, track=track).name == "claimed"
    assert state(dc.replace(again, accepted=ACCEPTED), track=track).name == "confirmed"


def test_what_did_not_pass_the_check_is_no_evidence():
    again = gain("again", "t/real", people=("other",), status=Status.REJECTED)
    assert state(again).replies == ()


def test_a_challenge_waits_for_a_maintainer_and_then_refutes():
    challenge = none("no", "t/lucky", people=("critic",))
    assert state(challenge, of="lucky").name == "challenged"
    assert state_words(state(challenge, of="lucky")).endswith("; a maintainer decides")
    accepted = dc.replace(challenge, accepted=ACCEPTED)
    assert state(accepted, of="lucky").name == "refuted"


def test_a_challenge_with_fewer_pairs_than_the_entry_disputes_nothing():
    few = verdict("no", [80.1, 79.9], [80.0, 80.2], people=("critic",), challenges="t/real")
    assert state(dc.replace(few, accepted=ACCEPTED)).name == "claimed"
    assert state(dc.replace(none("no", "t/real"), accepted=ACCEPTED)).name == "refuted"


def test_a_challenge_that_shows_the_gain_confirms_it():
    challenge = gain("no", "t/real", people=("critic",), accepted=ACCEPTED)
    found = state(dc.replace(challenge, reply=Reply("challenges", "t/real")))
    assert found.name == "confirmed"


def test_others_who_show_the_gain_outweigh_a_challenge():
    crowd = [gain(f"again{n}", "t/real", people=(f"p{n}",)) for n in range(3)]
    noisy = verdict("no", [80.0, 90.0, 70.0, 84.0], [80.0, 80.2, 79.8, 80.0], people=("critic",),
                    challenges="t/real", accepted=ACCEPTED)  # fmt: skip
    assert state(noisy, *crowd).name == "confirmed"


def test_a_reply_has_no_place_and_joins_the_evidence():
    board = rank([BASE, REAL, gain("again", "t/real", people=("other",))], TRACK)
    assert [e.submission for e in board.entries] == ["submissions/t/real", "submissions/t/base"]
    (reply,) = board.unranked
    assert reply.why == "it reproduces submissions/t/real and joins its evidence"
    progress = board.entries[0].progress
    both = math.exp((math.log(88 / 100) + math.log(70.6 / 80)) / 2)
    assert (progress.pairs, progress.ratio) == (6, pytest.approx(both))
    assert board.entries[0].grade is Grade.REPRODUCED


def test_an_unknown_entry_is_named():
    (reply,) = rank([BASE, gain("again", "t/nothing")], TRACK).unranked
    assert reply.why == "it reproduces t/nothing, which is not an entry of the board"


def test_only_a_confirmed_entry_makes_a_baseline():
    assert [e.progress.promotes for e in rank([REAL], TRACK).entries] == [False]
    board = rank([REAL, gain("again", "t/real", people=("other",))], TRACK)
    assert [e.progress.promotes for e in board.entries] == [True]
    loose = dc.replace(TRACK, reproduction=None)
    assert [e.progress.promotes for e in rank([REAL], loose).entries] == [True]


def test_a_single_lucky_pair_takes_the_spread_of_the_others():
    again = gain("again", "t/lucky", people=("other",))
    (entry,) = rank([LUCKY, again], TRACK).entries
    assert entry.progress.pairs == 4
    assert entry.progress.interval is not None
    assert entry.progress.interval[0] < entry.progress.ratio < entry.progress.interval[1]


def test_a_refuted_ancestor_is_named_and_the_entry_keeps_its_place():
    child = verdict("child", [85.0, 85.5, 84.5], [100.0, 100.5, 99.5], based_on="t/lucky")
    grandchild = verdict("grandchild", [84.0, 84.5], [100.0, 100.5], based_on="t/child")
    challenge = none("no", "t/lucky", people=("critic",), accepted=ACCEPTED)
    board = rank([BASE, LUCKY, child, grandchild, challenge], TRACK)
    names = {e.submission: e.state.refuted for e in board.entries}
    lucky = "submissions/t/lucky"
    assert names["submissions/t/child"] == names["submissions/t/grandchild"] == (lucky,)
    assert names["submissions/t/base"] == ()
    assert lucky not in names and lucky not in [r.submission for r in board.records]
    assert "it is refuted by submissions/t/no" in [u.why for u in board.unranked]


def test_a_refuted_baseline_gives_way_and_what_ran_it_stays_on_the_scale():
    """Measured at 0.9 of a false baseline that is no faster than the first: it is at 0.9 still."""
    false = Baseline("lucky", "submissions/t/lucky", "2026-03-01", "training_time_s", (86.0,), (),
                     after="base", ratio=0.86)  # fmt: skip
    track = dc.replace(TRACK, baselines=(*TRACK.baselines, false), baseline_id="lucky")
    after = verdict("after", [90.0, 90.5, 89.5], [100.0, 100.5, 99.5], based_on="lucky",
                    date="2026-04-01")  # fmt: skip
    before = rank([BASE, LUCKY, after], track)
    assert before.track.baseline_id == "lucky"
    challenge = none("no", "t/lucky", people=("critic",), accepted=ACCEPTED)
    board = rank([BASE, LUCKY, after, challenge], track)
    assert (board.track.baseline_id, board.base.baseline_id) == ("base", "lucky")
    shown = {e.submission: e.progress.ratio for e in board.entries}
    assert shown["submissions/t/after"] == pytest.approx(0.9 * 1.0, rel=1e-3)


# ---- What is not a measure of a gain ------------------------------------------------------------


def with_losses(made, losses):
    point = made.points[0]
    statistics = dc.replace(point.statistics, quality=Sample(tuple(losses)))
    return dc.replace(made, points=(dc.replace(point, statistics=statistics),))


def test_runs_that_stop_short_of_the_target_confirm_nothing():
    again = gain("again", "t/real", people=("other",))
    (line,) = reply_lines(state(with_losses(again, [3.281, 3.282, 3.279])))
    assert line.endswith("its runs miss the target")
    assert state(with_losses(again, [3.281, 3.282, 3.279])).name == "claimed"
    assert state(with_losses(again, [3.279, 3.2795, 3.2785])).name == "confirmed"


def test_a_challenge_may_show_that_the_target_is_missed():
    """As fast as claimed, and the loss of the entry was the lucky part."""
    challenge = dc.replace(gain("no", "t/real", people=("critic",)), accepted=ACCEPTED)
    challenge = dc.replace(challenge, reply=Reply("challenges", "t/real"))
    assert state(with_losses(challenge, [3.290, 3.291, 3.289])).name == "refuted"
    assert state(with_losses(challenge, [3.279, 3.290, 3.272])).name == "claimed"


@pytest.mark.parametrize("level", [Level.WARNING, Level.NOTE])
def test_a_slow_baseline_arm_confirms_nothing_unless_a_maintainer_accepts_it(level):
    slow = "the baseline arm takes 120 s"
    found = finding("baseline-slower-than-frozen", slow, level, claimed=120.0, expected=80.0)
    again = dc.replace(gain("again", "t/real", people=("other",)), findings=(found,))
    assert state(again).name == ("confirmed" if level is Level.NOTE else "claimed")


def test_what_the_peaks_of_another_card_promise_is_no_proof_against_it():
    found = finding("baseline-slower-than-frozen", "by the peaks it should take 40 s")
    again = dc.replace(gain("again", "t/real", people=("other",)), findings=(found,))
    assert state(again).name == "confirmed"
    entry = dc.replace(REAL, findings=(found,))
    (ranked,) = rank([entry, again], TRACK).entries
    assert ranked.progress is not None and not ranked.progress.promotes


def test_a_challenge_without_a_baseline_arm_disputes_nothing():
    bare = verdict("no", [80.1, 79.9, 80.0], challenges="t/real", accepted=ACCEPTED)
    found = state(bare)
    assert found.name == "claimed"
    (line,) = reply_lines(found)
    assert "; it has no baseline arm to measure with, accepted" in line


@pytest.mark.parametrize("named", ["real", "t/real", "submissions/t/real"])
def test_a_reply_names_its_entry_among_known_paths(named):
    paths = ["submissions/t/base", "submissions/t/real"]
    reply = gain("again", named)
    assert replied_to(reply, set(paths)) == replied_to(reply, paths) == paths[1]
    assert replied_to(reply, paths[:1]) is None
    assert replied_to(REAL, paths) is None


def test_runs_that_do_not_hold_the_code_of_the_entry_confirm_nothing():
    held, stated = ((RunRecord("a.log", source="log", source_read=r),) for r in (True, False))
    kept = (RunRecord("b", source="wandb", source_read=True),)
    entry = dc.replace(REAL, runs=held)
    again = gain("again", "real", people=("dan",), runs=stated)

    def name(entry, again):
        return settle([BASE, entry, again], TRACK).states["submissions/t/real"].name

    assert name(entry, again) == "claimed"
    assert name(entry, dc.replace(again, accepted=ACCEPTED)) == "confirmed"
    assert name(entry, dc.replace(again, runs=held)) == "confirmed"
    assert name(entry, dc.replace(again, runs=held + stated)) == "claimed"
    assert name(entry, dc.replace(again, runs=kept)) == "confirmed"
    assert name(dc.replace(REAL, runs=stated), again) == "confirmed"
    assert name(dc.replace(REAL, runs=kept), again) == "confirmed"
