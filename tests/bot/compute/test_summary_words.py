"""Statistics of sets of runs in words."""

from __future__ import annotations

import dataclasses as dc

from bot.compute.summary import summarise
from bot.model.track import Track
from bot.render.words import sentences
from tests.bot.compute.test_summary import SINGLE, SMALL, STEPS, runs


def said(track: Track, losses: list[float], times: list[float] | None = None) -> str:
    return " ".join(sentences(summarise(runs(losses, times), track)))


def test_words_of_runs_that_pass() -> None:
    words = said(SMALL, [3.2771, 3.2768, 3.2775, 3.277, 3.2769, 3.2774, 3.2772, 3.2766])
    assert words.startswith("8 runs, mean 3.2771 ± 0.0003: below 3.28 with p < 0.000001")
    assert "Passes." in words


def test_words_of_runs_that_need_more() -> None:
    words = said(SMALL, [3.2771, 3.2795, 3.279], [225.0, 225.0, 225.0])
    assert "Does not pass." in words
    assert "Add about 4 runs (about 2 GPU-hours): about 60 % chance to pass, 80 % with 12." in words


def test_words_of_a_bound_print_the_bound() -> None:
    words = said(STEPS, [3.278, 3.276, 3.278, 3.280])
    assert "(target - mean) × √n = 0.004, needed at least 0.004. Passes." in words
    assert "with p = " not in words.partition("Passes.")[0]


def test_words_of_a_ratio_name_the_direction_that_was_measured() -> None:
    theirs = runs([3.27] * 3, [100.0, 100.5, 99.5], file="b.log")
    slower = summarise(runs([3.27] * 3, [104.0, 104.5, 103.5]), SINGLE, baseline=theirs)
    faster = summarise(runs([3.27] * 3, [96.0, 96.5, 95.5]), SINGLE, baseline=theirs)
    assert "so not less." in " ".join(sentences(slower))
    assert ", less with p = " in " ".join(sentences(faster))


def test_words_of_two_runs_an_arm_state_no_p() -> None:
    """Welch's test of the arms asks for three."""
    theirs = runs([3.27] * 2, [100.0, 100.5], file="b.log")
    pair = summarise(runs([3.27] * 2, [96.0, 96.5]), SINGLE, baseline=theirs)
    words = next(w for w in sentences(pair) if "of the baseline's" in w)
    assert words.endswith("of the baseline's, against 2 of the baseline.")


def test_words_of_runs_before_the_first_look() -> None:
    rule = dc.replace(SMALL.significance, looks=(3, 6))
    track = dc.replace(SMALL, significance=rule)
    assert "; too few runs to be judged. Does not pass." in said(track, [3.2771, 3.2768])
    assert "; judged at its first 3 runs." in said(track, [3.2771, 3.2798, 3.2775, 3.277])


def test_words_of_equal_runs_state_no_interval() -> None:
    words = said(SMALL, [3.27, 3.27, 3.27])
    assert words.startswith("3 runs, mean 3.2700: below 3.28, but runs that are all equal show")


def test_words_of_runs_that_miss() -> None:
    words = said(SMALL, [3.2821, 3.2815])
    assert "not below 3.28. Does not pass. More runs would not help: the mean misses" in words


def test_words_of_one_run_and_of_none() -> None:
    assert "one run proves nothing" in said(SMALL, [3.27])
    assert said(SMALL, []) == "No run counts."


def test_words_say_that_it_hangs_on_one_run() -> None:
    assert "It would not pass without the best run" in said(STEPS, [3.2754, 3.2785, 3.2783])
