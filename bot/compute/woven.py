"""Runs that are put together from the validations of others, so that few look like many.

    shared(mine, theirs)     pairs of runs that share many losses to the last digit

Such a run is as far from each of its sources as another training is, over the whole curve, its
first half and any fifth left out, and yet a part of its losses are theirs. Two trainings that print
four decimals share few: of 6,735 pairs of runs within the entries of the record history none shares
four losses that are three tenths of its validations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.compute.independence import decimals, equal_to
from bot.model.trace import Trace

_LEAST, _SHARE = 6, 0.4
_DECIMALS = 4
"""Losses of fewer decimals are equal by chance."""
_MOST_RUNS = 120


class Shared(NamedTuple):
    """Two runs, by number, and how many of so many losses at equal steps are equal."""

    a: int
    b: int
    equal: int
    of: int


def shared(mine: Sequence[Trace], theirs: Sequence[Trace]) -> Iterator[Shared]:
    """The pairs of two different runs that share so many losses as no two trainings do."""
    digits = {id(t): decimals([x for _, x in t.losses]) for t in (*mine[:_MOST_RUNS], *theirs)}
    for (i, a), (j, b) in itertools.product(enumerate(mine[:_MOST_RUNS]), enumerate(theirs)):
        least = min(digits[id(a)], digits[id(b)])
        if a is b or least < _DECIMALS:
            continue
        losses = dict(a.losses)
        common = [(losses[step], loss) for step, loss in b.losses if step in losses]
        equal = sum(equal_to(x, y, least) for x, y in common)
        if equal >= max(_LEAST, _SHARE * len(common)):
            yield Shared(i, j, equal, len(common))
