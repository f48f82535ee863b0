"""Scaling laws of a group of points: y = c + a x^-b, by least squares, with its uncertainty.

For a fixed b the best a and c are linear least squares (Golub and Pereyra 1973, "variable
projection"), so the sum of squares is a function of b alone: a grid finds the basin, golden-
section search the bottom. The reached optimum is global over the searched range of b.

Three points carry a law without a floor (c = 0), which is the most that can be fitted to them.

A law of three numbers passes close to any four points, so R2 says nothing here. Intervals and bands
are profiles (Bates and Watts 1988, "Nonlinear Regression Analysis", chapter 6): all laws whose sum
of squares an F-test cannot tell from the best one. With fewer than `MIN_DF` degrees of freedom
nothing is claimed beyond the points.
"""

from __future__ import annotations

import dataclasses as dc
import functools as ft
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MIN_POINTS = 3
FLOOR_POINTS = 4
"""From as many sizes a law has a floor c; with fewer its two numbers are a and b."""
MIN_DF = 3
"""Degrees of freedom (points less parameters) from which a law is drawn beyond its points."""
MAX_HALF_WIDTH = 0.1
"""A curve is drawn only where half its 95 % band is below this share of the value."""
REACH = 30.0
"""How far beyond the measured range, as a factor in x, a law may be drawn at all."""
B_RANGE = (0.005, 1.5)
_PROFILE = np.geomspace(*B_RANGE, 400)

Array = NDArray[np.float64]


@dc.dataclass(frozen=True, eq=False)
class Law:
    """A fitted law. x is scaled by `scale` (the geometric mean of x) in a, b, c:
    y = c + a (x / scale)^-b. `z` are the logs of x / scale, `ys` the values. `floor` says whether c
    was fitted."""

    a: float
    b: float
    c: float
    scale: float
    residual: float
    z: Array
    ys: Array
    floor: bool = True

    def __call__(self, x: float) -> float:
        """The law at x."""
        return float(self.c + self.a * (x / self.scale) ** -self.b)

    @property
    def n(self) -> int:
        """How many points were fitted."""
        return len(self.ys)

    @property
    def df(self) -> int:
        """Points less the parameters."""
        return self.n - (3 if self.floor else 2)

    @property
    def low(self) -> float:
        """The smallest x fitted."""
        return float(self.scale * math.exp(self.z.min()))

    @property
    def high(self) -> float:
        """The largest x fitted."""
        return float(self.scale * math.exp(self.z.max()))

    @property
    def spread(self) -> float:
        """The residual standard deviation, with the degrees of freedom that are left."""
        return math.sqrt(self.residual / max(self.df, 1))

    @ft.cached_property
    def admissible(self) -> tuple[tuple[float, float, float, float], ...]:
        """(b, a, c, sum of squares) of every b that an F-test at 5 % cannot tell from the best."""
        from scipy.special import stdtrit

        if self.df < 1:
            return ()
        limit = self.residual * (1 + float(stdtrit(self.df, 0.975)) ** 2 / self.df)
        found = []
        for b in (*_PROFILE.tolist(), self.b):
            squares, a, c = _project(b, self.z, self.ys, self.floor)
            if squares <= limit:
                found.append((b, a, c, limit - squares))
        return tuple(found)

    @property
    def exponents(self) -> tuple[float, float] | None:
        """The 95 % profile interval of b; None if an end of the searched range belongs to it."""
        bs = [b for b, *_ in self.admissible]
        if not bs or min(bs) <= B_RANGE[0] or max(bs) >= B_RANGE[1]:
            return None
        return min(bs), max(bs)

    def band(self, x: float) -> tuple[float, float]:
        """The 95 % profile interval of the law at x; the whole line with no degree of freedom.

        For a fixed b the law is linear in a and c: moving its value at x by d adds d^2 / h to the
        sum of squares, h being the leverage of x.
        """
        z = math.log(x / self.scale)
        low, high = math.inf, -math.inf
        for b, a, c, room in self.admissible:
            at, basis = _basis(b, np.array([z]), self.floor)[0], _basis(b, self.z, self.floor)
            leverage = float(at @ np.linalg.pinv(basis.T @ basis) @ at)
            half = math.sqrt(max(leverage * room, 0.0))
            value = a * float(at[0]) + c
            low, high = min(low, value - half), max(high, value + half)
        return (low, high) if low <= high else (-math.inf, math.inf)

    def half_width(self, x: float) -> float:
        """Half the width of the band at x."""
        low, high = self.band(x)
        return (high - low) / 2

    @property
    def held_out(self) -> float | None:
        """Value less prediction at the largest x, by the law of the other points; None if they are
        too few for a law."""
        rest = self.z < self.z.max()
        points = zip(np.exp(self.z[rest]).tolist(), self.ys[rest].tolist(), strict=True)
        law = fit(list(points))
        if law is None:
            return None
        last = self.ys[~rest].mean()
        return float(last - law(math.exp(float(self.z.max()))))

    @property
    def usable(self) -> bool:
        """Whether the data carry the law: degrees of freedom, a real fall, a bounded exponent."""
        return self.df >= MIN_DF and self.a > 0 and self.c >= 0 and self.exponents is not None

    def supported(self, x: float) -> bool:
        """Whether the law says anything at x."""
        inside = self.low / REACH <= x <= self.high * REACH
        return self.usable and inside and self.half_width(x) <= MAX_HALF_WIDTH * self(x)


def fit(points: Sequence[tuple[float, float]]) -> Law | None:
    """The least-squares law through the points; None with fewer than MIN_POINTS distinct x."""
    xs = np.array([p[0] for p in points], dtype=float)
    ys = np.array([p[1] for p in points], dtype=float)
    if len(set(xs.tolist())) < MIN_POINTS:
        return None
    scale = float(np.exp(np.mean(np.log(xs))))
    z = np.log(xs / scale)
    if len(set(xs.tolist())) < FLOOR_POINTS:
        b, residual, a, c = _without_floor(z, ys)
        return Law(a, b, c, scale, residual, z, ys, floor=False)
    grid = np.geomspace(*B_RANGE, 240)
    losses = [_project(b, z, ys)[0] for b in grid]
    at = int(np.argmin(losses))
    b = _golden(float(grid[max(at - 1, 0)]), float(grid[min(at + 1, len(grid) - 1)]), z, ys)
    residual, a, c = _project(b, z, ys)
    if c < 0 and a > 0:
        # A negative floor is not a quality that exists: the best admissible law has none.
        b, residual, a, c = _without_floor(z, ys)
    return Law(a, b, c, scale, residual, z, ys)


def _basis(b: float, z: Array, floor: bool = True) -> Array:
    return np.stack([np.exp(-b * z), np.ones_like(z)][: 2 if floor else 1], axis=1)


def _project(b: float, z: Array, ys: Array, floor: bool = True) -> tuple[float, float, float]:
    """The best (sum of squares, a, c) for this b."""
    basis = _basis(b, z, floor)
    solution, *_ = np.linalg.lstsq(basis, ys, rcond=None)
    rest = ys - basis @ solution
    return float(rest @ rest), float(solution[0]), float(solution[1]) if floor else 0.0


def _golden(low: float, high: float, z: Array, ys: Array) -> float:
    """The b of least loss between low and high (Kiefer 1953)."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    f_left, f_right = _project(left, z, ys)[0], _project(right, z, ys)[0]
    for _ in range(90):
        if f_left < f_right:
            high, right, f_right = right, left, f_left
            left = high - ratio * (high - low)
            f_left = _project(left, z, ys)[0]
        else:
            low, left, f_left = left, right, f_right
            right = low + ratio * (high - low)
            f_right = _project(right, z, ys)[0]
    return (low + high) / 2


def _without_floor(z: Array, ys: Array) -> tuple[float, float, float, float]:
    """The best (b, sum of squares, a, 0): y = a x^-b by a search over b."""

    def loss(b: float) -> tuple[float, float]:
        basis = np.exp(-b * z)
        a = float(basis @ ys / (basis @ basis))
        rest = ys - a * basis
        return float(rest @ rest), a

    low, high = B_RANGE
    for _ in range(6):
        grid = np.linspace(low, high, 400)
        at = int(np.argmin([loss(float(b))[0] for b in grid]))
        low, high = float(grid[max(at - 1, 0)]), float(grid[min(at + 1, 399)])
    b = (low + high) / 2
    residual, a = loss(b)
    return b, residual, a, 0.0


def curve(law: Law, points: int = 60) -> list[tuple[float, float, float, float]]:
    """(x, low, y, high) where the law may be drawn: the measured range at least, beyond it as far
    as the band allows. Outside the measured range an unusable law is not drawn."""
    xs = np.geomspace(law.low / REACH, law.high * REACH, points * 3)
    out = []
    for x in xs.tolist():
        inside = law.low * 0.999 <= x <= law.high * 1.001
        if inside or (law.usable and law.supported(x)):
            low, high = law.band(x)
            value = law(x)
            # A band of no degree of freedom is all the plane; it is drawn one value wide.
            out.append((x, max(low, 0.0), value, min(high, 2 * value)))
    return out
