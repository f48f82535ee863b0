"""The statistics of an entry and of a track in words: the bound that decides is what is printed."""

from __future__ import annotations

import dataclasses as dc

from bot.compute.several import corrected
from bot.compute.summary import summarise
from bot.model.track import Significance
from leaderboard_site.pages.entry_parts import _words
from leaderboard_site.pages.words import rules_in_words
from tests.bot.compute.test_summary import SMALL, STEPS, runs

ONE_TEST = Significance("t", 0.02)
EXACT = [3.278, 3.276, 3.278, 3.280]
"""(3.28 - 3.278) x 2 = 0.004, the bound of the steps track; its p with sigma 0.0013 is 0.00105."""


def test_a_threshold_is_printed_and_not_its_p() -> None:
    summary = summarise(runs(EXACT), STEPS)
    assert summary.passes and 0.00104 < (summary.p or 0) < 0.00106
    words = _words(summary, 3.28)
    assert "(target − mean)·√n = 0.004 shows a mean better than 3.28; 0.004 is asked for" in words
    assert "p = " not in words
    short = summarise(runs([3.2784, 3.2785, 3.2786]), STEPS)
    assert "= 0.0025981 does not show" in _words(short, 3.28)


def test_without_a_threshold_it_is_p_and_its_level() -> None:
    looking = dc.replace(SMALL, significance=Significance("t", 0.01, looks=(4, 6)))
    words = _words(summarise(runs(EXACT), looking), 3.28)
    assert "does not show a mean better than 3.28 at 0.005 (one-sided, test t)" in words


def test_a_p_that_passed_but_for_the_other_points_says_so() -> None:
    summary = summarise(runs([3.2780, 3.2776, 3.2788]), dc.replace(SMALL, significance=ONE_TEST))
    assert summary.passes
    pair = corrected({"a": summary, "b": summarise(runs([3.281, 3.279]), SMALL)})["a"]
    assert pair is not None and not pair.passes
    assert "corrected for the number of points) does not show" in _words(pair, 3.28)
    assert "corrected" not in _words(summary, 3.28)


def test_chances_stand_in_place_of_a_promise() -> None:
    words = _words(summarise(runs([3.2780, 3.2795, 3.2788]), SMALL), 3.28)
    assert "more runs the chance to pass is about" in words and "would" not in words


def test_the_rules_of_a_track_say_its_bound_and_its_looks() -> None:
    steps = " ".join(rules_in_words(STEPS))
    assert "(target − mean)·√n ≥ 0.004" in steps and "p <" not in steps
    looking = dc.replace(SMALL, significance=Significance("t", 0.01, looks=(4, 6, 8, 12)))
    assert "Judged at 4, 6, 8, 12 runs only, each at p < 0.0025" in " ".join(
        rules_in_words(looking)
    )
