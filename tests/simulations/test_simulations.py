"""The short form of `python -m tests.simulations`: every promise, with fewer repetitions."""

from collections.abc import Callable, Iterator

import pytest

from tests.simulations import bands, frontiers, seasons
from tests.simulations.__main__ import SIMULATIONS
from tests.simulations.common import Result

LONG = pytest.mark.full("seconds even with few repetitions")


@pytest.mark.parametrize(
    "simulate",
    [
        pytest.param(
            s,
            id=s.__module__,
            marks=LONG if s in (bands.simulate, seasons.simulate, frontiers.simulate) else (),
        )
        for s, _ in SIMULATIONS
    ],
)
def test_every_target_is_met(simulate: Callable[[int], Iterator[Result]]) -> None:
    results = list(simulate(400))
    assert results and [r.line() for r in results if not r.holds] == []
