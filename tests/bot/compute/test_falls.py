"""Losses that fall by more than training makes them: worked out by hand."""

from __future__ import annotations

import pytest

from bot.compute.falls import fall_across, sudden_fall


def curve(fall: float, at: int = 5, length: int = 12) -> list[tuple[int, float]]:
    """Losses that fall by 0.1 every 100 steps from 5.0, and by `fall` after one of them."""
    return [(100 * n, 5.0 - 0.1 * n - (fall - 0.1) * (n > at)) for n in range(length)]


def batches(fall: float, noise: float = 0.01, at: int = 50) -> list[tuple[int, float]]:
    """A training loss every 10 steps that falls by 0.1 in ten of them, by `fall` once."""
    return [(10 * n, 5.0 - 0.01 * n - fall * (n >= at) + noise * (-1) ** n) for n in range(100)]


@pytest.mark.parametrize(
    ("fall", "anywhere", "resumed"),
    [
        pytest.param(0.34, True, True, id="more than three times the usual"),
        pytest.param(0.31, False, True, id="three times, asked where it was resumed"),
        pytest.param(0.21, False, False, id="twice the usual"),
    ],
)
def test_a_validation_loss(fall: float, anywhere: bool, resumed: bool) -> None:
    found = sudden_fall(curve(fall), ())
    assert (found is not None) is anywhere
    if found is not None:
        assert found.words() == (
            "the validation loss falls by 0.34 from step 500 to step 600, and around there by at "
            "most 0.1 in as many steps"
        )
    assert (fall_across(curve(fall), (), 600) is not None) is resumed
    assert fall_across(curve(fall), (), 500) is None


def test_a_small_fall_is_noise() -> None:
    flat = [(100 * n, 5.0 - 0.0001 * n - 0.04 * (n > 5)) for n in range(12)]
    assert sudden_fall(flat, ()) is None
    deeper = [(step, loss - 0.02 * (step > 500)) for step, loss in flat]
    assert sudden_fall(deeper, ()) is not None


def test_two_stretches_are_needed_before_a_fall() -> None:
    assert sudden_fall(curve(1.0, at=1), ()) is None
    assert sudden_fall(curve(1.0, at=2), ()) is not None
    assert sudden_fall(curve(1.0, at=10), ()) is not None


def test_the_begin_may_fall_as_it_likes() -> None:
    early = [(n, 10 - 0.01 * n - 3 * (n > 2)) for n in range(5)]
    assert sudden_fall([*early, (1000, 5.0)], ()) is None


@pytest.mark.parametrize(
    ("fall", "noise", "anywhere", "resumed"),
    [
        pytest.param(0.2, 0.01, True, True, id="the mean of ten falls by 0.3"),
        pytest.param(0.05, 0.01, False, True, id="by 0.15, asked where it was resumed"),
        pytest.param(0.0, 0.01, False, False, id="as everywhere"),
        pytest.param(0.2, 0.2, False, False, id="within the noise"),
    ],
)
def test_training_losses(fall: float, noise: float, anywhere: bool, resumed: bool) -> None:
    found = sudden_fall((), batches(fall, noise))
    assert (found is not None) is anywhere
    assert (fall_across((), batches(fall, noise), 500) is not None) is resumed
    if found is not None:
        assert found.what == "mean of 10 training losses"


def test_nothing_to_compare() -> None:
    assert sudden_fall((), ()) is None
    assert fall_across((), (), 0) is None
    assert fall_across(curve(0.5), batches(0.5), 5000) is None
