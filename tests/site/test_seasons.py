"""Seasons: SAFFRON against its published formula, and what of a board counts as an attempt."""

from __future__ import annotations

import dataclasses as dc

import numpy as np
import pytest

from bot.model.summary import BaselineArm, Comparison, Decision, Summary
from bot.model.verdict import Point, Verdict
from bot.registry import Grade, Status
from leaderboard_site.model import TrackBoard, make_board
from leaderboard_site.seasons import Season, discoveries, season_words, seasons
from tests.site import synthetic

RATE, WEALTH, CANDIDATE = 0.05, 0.025, 0.5


def by_formula(p_values: list[float]) -> list[bool]:
    """Ramdas and others 2018, section 2: gamma_j falls as j^-1.6; C counts candidates."""
    gamma = 0.4374901658 / np.arange(1, len(p_values) + 2) ** 1.6
    kept: list[int] = []

    def share(t: int, since: int) -> float:
        candidates = sum(p <= CANDIDATE for p in p_values[since + 1 : t])
        return float(gamma[t - since - candidates - 1])

    for t, p in enumerate(p_values):
        level = WEALTH * share(t, -1)
        level += sum((RATE if j else RATE - WEALTH) * share(t, k) for j, k in enumerate(kept))
        if p <= min(CANDIDATE, (1 - CANDIDATE) * level):
            kept.append(t)
    return [t in kept for t in range(len(p_values))]


@pytest.mark.parametrize("seed", range(5))
def test_saffron_is_its_published_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    real = rng.random(60) < 0.5
    p_values = np.where(real, rng.random(60) ** 6, rng.random(60)).tolist()
    found = discoveries(p_values)
    assert found == by_formula(p_values) and 0 < sum(found) < 60


def verdict(
    name: str, cost: float, date: str | None, p: float | None, arm: float | None = None
) -> Verdict:
    beside = None
    if arm is not None:
        comparison = Comparison("welch", 0.0, -9.0, 4.0, arm, 0.9, (0.89, 0.91))
        beside = BaselineArm(comparison=comparison, passes=True)
    stats = Summary(decision=Decision("t", None, p, True), baseline=beside)
    point = Point("main", 3.27, cost, {"training_time_s": cost}, stats)
    path = f"submissions/target/{name}"
    return Verdict(path, "target", Status.VERIFIED, Grade.LOG, (), (point,), date=date)


def board(*verdicts: Verdict) -> TrackBoard:
    track = dc.replace(
        synthetic.TARGET,
        significance=dc.replace(synthetic.TARGET.significance, test="t", alpha=0.01),
    )
    return make_board(track, list(verdicts), {})


def test_seasons_count_attempts_records_and_what_is_kept() -> None:
    found = seasons(
        board(
            verdict("a", 100.0, "2025-03-01", 1e-6),
            # 0.02 is above (0.025 + 0.025) x 0.437 / 2, what SAFFRON asks for after one find.
            verdict("b", 95.0, "2025-06-01", 0.02),
            verdict("slow", 120.0, "2025-07-01", 0.3),
            verdict("c", 90.0, "2026-01-01", 1e-7),
            verdict("undated", 80.0, None, 1e-7),
            verdict("single", 85.0, "2026-02-01", None),
        )
    )
    assert found == (
        Season("2025", 3, pytest.approx(0.03), 1, 2, 1),
        Season("2026", 1, pytest.approx(0.01), 1, 1, 1),
    )
    words = season_words(found)
    assert words.startswith("In 2026 1 attempt on file has a p-value; chance passes at most 0.01")
    assert words.endswith("1 of 1 stands, and 1 of 1 record among them.")


def test_on_a_baseline_track_the_claim_is_to_beat_the_baseline() -> None:
    both = verdict("a", 100.0, "2025-03-01", 0.3, 1e-6)
    track = dc.replace(synthetic.BASELINE, id="target")
    (season,) = seasons(make_board(track, [both], {}))
    assert (season.attempts, season.kept) == (1, 1)


def test_a_p_at_looks_counts_as_often_as_there_are_looks() -> None:
    # 0.004 is below 0.025 x 0.437 / 2 = 0.0055, what SAFFRON asks of the first attempt.
    plain = board(verdict("a", 100.0, "2025-03-01", 0.004))
    rule = dc.replace(plain.track.significance, looks=(3, 6))
    looked = dc.replace(plain, track=dc.replace(plain.track, significance=rule))
    assert [s.kept for s in (*seasons(plain), *seasons(looked))] == [1, 0]


def test_without_a_p_there_is_no_season() -> None:
    assert seasons(board(verdict("a", 100.0, "2025-03-01", None))) == ()
    assert season_words(()) == ""
