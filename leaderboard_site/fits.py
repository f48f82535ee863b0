"""Scaling laws of a group of points: y = c + a x^-b, by least squares, with its uncertainty.

For a fixed b the best a and c are linear least squares (Golub and Pereyra 1973, "variable
projection"), so the sum of squares is a function of b alone: a grid finds the basin, golden-
section search the bottom. The reached optimum is global over the searched range of b.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

R2_FLOOR = 0.98
MIN_POINTS = 4
MAX_HALF_WIDTH = 0.1
"""A curve is drawn only where half its 95 % band is below this share of the value."""
REACH = 30.0
"""How far beyond the measured range, as a factor in x, a law may be drawn at all."""
B_RANGE = (0.005, 1.5)

Array = NDArray[np.float64]


@dc.dataclass(frozen=True, slots=True)
class Law:
    """A fitted law. x is scaled by `scale` (the geometric mean of x) in a, b, c:
    y = c + a (x / scale)^-b. `covariance` is of (a, b, c), None with no degree of freedom."""

    a: float
    b: float
    c: float
    scale: float
    r2: float
    residual: float
    n: int
    low: float
    high: float
    covariance: Array | None

    def __call__(self, x: float) -> float:
        """The law at x."""
        return float(self.c + self.a * (x / self.scale) ** -self.b)

    def half_width(self, x: float) -> float:
        """Half the 95 % confidence band of the law at x (delta method, Student's t)."""
        if self.covariance is None:
            return math.inf
        from scipy.special import stdtrit

        z = x / self.scale
        power = z**-self.b
        gradient = np.array([power, -self.a * power * math.log(z), 1.0])
        variance = float(gradient @ self.covariance @ gradient)
        return float(stdtrit(self.n - 3, 0.975)) * math.sqrt(max(variance, 0.0))

    @property
    def usable(self) -> bool:
        """Whether the data carry the law: enough points, a fit above the floor, a real fall."""
        return self.n > 3 and self.r2 >= R2_FLOOR and self.a > 0 and self.c >= 0

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
    grid = np.geomspace(*B_RANGE, 240)
    losses = [_project(b, z, ys)[0] for b in grid]
    at = int(np.argmin(losses))
    b = _golden(float(grid[max(at - 1, 0)]), float(grid[min(at + 1, len(grid) - 1)]), z, ys)
    residual, a, c = _project(b, z, ys)
    if c < 0 and a > 0:
        # A negative floor is no quality that exists: the best admissible law has none.
        b, residual, a, c = _without_floor(z, ys)
    total = float(np.sum((ys - ys.mean()) ** 2))
    r2 = 1 - residual / total if total > 0 else 0.0
    return Law(
        a,
        b,
        c,
        scale,
        r2,
        residual,
        len(points),
        float(xs.min()),
        float(xs.max()),
        _covariance(a, b, z, residual, len(points)),
    )


def _project(b: float, z: Array, ys: Array) -> tuple[float, float, float]:
    """The best (sum of squares, a, c) for this b."""
    basis = np.stack([np.exp(-b * z), np.ones_like(z)], axis=1)
    solution, *_ = np.linalg.lstsq(basis, ys, rcond=None)
    rest = ys - basis @ solution
    return float(rest @ rest), float(solution[0]), float(solution[1])


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


def _covariance(a: float, b: float, z: Array, residual: float, n: int) -> Array | None:
    if n <= 3:
        return None
    power = np.exp(-b * z)
    jacobian = np.stack([power, -a * power * z, np.ones_like(z)], axis=1)
    normal = jacobian.T @ jacobian
    if np.linalg.cond(normal) > 1e14:
        return None
    covariance: Array = np.linalg.inv(normal) * residual / (n - 3)
    return covariance


def curve(law: Law, points: int = 60) -> list[tuple[float, float, float, float]]:
    """(x, low, y, high) where the law may be drawn: the measured range at least, beyond it as far
    as the band allows. Outside the measured range an unusable law is not drawn."""
    xs = np.geomspace(law.low / REACH, law.high * REACH, points * 3)
    out = []
    for x in xs.tolist():
        inside = law.low * 0.999 <= x <= law.high * 1.001
        if inside or law.supported(x):
            half = min(law.half_width(x), law(x))
            out.append((x, law(x) - half, law(x), law(x) + half))
    return out
