"""What the statistics promise, simulated: each figure beside its target.

    python -m tests.simulations [--repetitions N]

Seeded, a few minutes with the default of 20,000 repetitions. Exits 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator

from tests.simulations import (
    arms,
    bands,
    chances,
    frontiers,
    looks,
    places,
    promotion,
    seasons,
    small_groups,
    without,
)
from tests.simulations.common import Result

SIMULATIONS: tuple[tuple[Callable[[int], Iterator[Result]], int], ...] = (
    (looks.simulate, 1),
    (chances.simulate, 1),
    (arms.simulate, 4),
    (arms.unlike, 1),
    (arms.chains, 4),
    (small_groups.simulate, 1),
    (small_groups.estimates, 4),
    (places.ranks, 10),
    (places.stops, 4),
    (promotion.simulate, 1),
    (seasons.simulate, 20),
    (bands.simulate, 40),
    (frontiers.simulate, 20),
    (without.simulate, 2),
)
"""Each with the share of the repetitions that it takes: one in so many."""


def run(repetitions: int) -> Iterator[Result]:
    """All figures, one after another."""
    for simulate, share in SIMULATIONS:
        yield from simulate(max(repetitions // share, 200))


def main() -> int:
    """Print every figure; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--repetitions", type=int, default=20_000)
    began, missed = time.monotonic(), 0
    for result in run(parser.parse_args().repetitions):
        print(result.line(), flush=True)
        missed += not result.holds
    print(f"{missed} targets missed, {time.monotonic() - began:.0f} s")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
