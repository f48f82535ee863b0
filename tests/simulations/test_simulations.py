"""The short form of `python -m tests.simulations`: every promise, with fewer repetitions."""

from collections.abc import Callable, Iterator

import pytest

from tests.simulations.__main__ import SIMULATIONS
from tests.simulations.common import Result


@pytest.mark.parametrize("simulate", [s for s, _ in SIMULATIONS], ids=lambda s: s.__module__)
def test_every_target_is_met(simulate: Callable[[int], Iterator[Result]]) -> None:
    results = list(simulate(400))
    assert results and [r.line() for r in results if not r.holds] == []
