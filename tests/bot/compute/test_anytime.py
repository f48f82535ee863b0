"""The simulation of optional stopping, in a size that a test can wait for."""

from __future__ import annotations

from tests.benchmarks.anytime_simulation import simulate


def test_looking_often_fools_the_fixed_test_and_not_the_anytime_one() -> None:
    rates = {(r.test, r.alpha): r for r in simulate(repetitions=1500)}
    for alpha in (0.01, 0.05):
        assert rates["fixed t", alpha].accepted > 3 * alpha
        assert rates["fixed z", alpha].accepted > 3 * alpha
        assert rates["anytime t", alpha].honest
        assert rates["anytime, sigma known", alpha].honest
