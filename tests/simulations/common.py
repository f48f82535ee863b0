"""What a simulation returns, and the sums that several share."""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Any

import numpy as np
import scipy.special as special

SEED = 20261128


@dc.dataclass(frozen=True)
class Result:
    """One figure beside its target. `at_most`: the figure must not exceed it, else not fall short.

    `slack` is what chance may add: three standard errors of a share if it were at its target.
    """

    name: str
    value: float
    target: float
    at_most: bool
    slack: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the target is met."""
        if self.at_most:
            return self.value <= self.target + self.slack
        return self.value >= self.target - self.slack

    def line(self) -> str:
        """The figure, the target, and whether it is met."""
        sign = "<=" if self.at_most else ">="
        slack = f" +- {self.slack:.4f}" if self.slack else ""
        met = "met" if self.holds else "MISSED"
        return f"{self.name:<64} {self.value:7.4f}  {sign} {self.target:g}{slack}  {met}"


def slack_of(share: float, repetitions: int) -> float:
    """Three standard errors of a share over `repetitions`."""
    return 3 * math.sqrt(share * (1 - share) / repetitions)


def generator(name: str) -> np.random.Generator:
    """A generator of its own for each simulation, so that none depends on the others."""
    return np.random.default_rng([SEED, *name.encode()])


def t_p(values: Any) -> Any:
    """One-sided p of Student's test along the last axis, for a mean above 0.

    Written out here with numpy: the program's own function is checked against it in the tests.
    """
    n = values.shape[-1]
    t = values.mean(-1) / (values.std(-1, ddof=1) / math.sqrt(n))
    return special.stdtr(n - 1, -t)
