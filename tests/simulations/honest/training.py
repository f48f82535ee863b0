"""What a run measures: losses that fall and scatter, and a clock that ticks as its machine can.

The shape of the curve and the spreads are those of published runs of the tracks.
"""

from __future__ import annotations

import dataclasses as dc
import functools as ft
import itertools
import random
from collections.abc import Sequence

from tests.simulations.honest.machines import Machine

CURVE = (
    (0.0, 7.55), (0.039, 1.36), (0.078, 0.82), (0.116, 0.657), (0.155, 0.57), (0.233, 0.478),
    (0.31, 0.42), (0.388, 0.357), (0.465, 0.297), (0.543, 0.246), (0.62, 0.195), (0.7, 0.148),
    (0.775, 0.104), (0.85, 0.0612), (0.89, 0.041), (0.93, 0.023), (0.97, 0.0068), (1.0, 0.0),
)  # fmt: skip
"""Share of the steps -> validation loss above its last value, of 124 M parameters on FineWeb."""
SPREAD = (
    (0.0, 0.0013), (0.1, 0.0052), (0.2, 0.0028), (0.3, 0.0022), (0.5, 0.0017), (0.6, 0.0013),
    (0.8, 0.001), (1.0, 0.0),
)  # fmt: skip
"""Share of the steps -> standard deviation between seeds there, beside that of the last value."""
SHORT_SPREAD = (
    (0.0, 0.0013), (0.1, 0.008), (0.2, 0.0042), (0.3, 0.0036), (0.5, 0.0026), (0.6, 0.002),
    (0.8, 0.0011), (1.0, 0.0),
)  # fmt: skip
"""The same of NanoGPT trainings of fewer than 2,500 steps, whose losses fall faster."""


def _between(table: Sequence[tuple[float, float]], share: float) -> float:
    right = next(i for i, (at, _) in enumerate(table) if at >= share)
    (x0, y0), (x1, y1) = table[max(right - 1, 0)], table[right]
    part = 0.0 if x1 == x0 else (share - x0) / (x1 - x0)
    return y0 + part * (y1 - y0)


@dc.dataclass(frozen=True)
class Recipe:
    """What is trained. `flops` are the model's for one token, forward and backward; `used` is the
    share of the peak that the code reaches, `overhead_s` what launching an update takes."""

    steps: int
    tokens: int
    flops: float
    start: float
    final: float
    sd: float
    val_every: int
    used: float
    overhead_s: float = 0.0
    val_tokens: int = 10485760
    spread: Sequence[tuple[float, float]] = SPREAD

    def above(self, share: float) -> float:
        """How far the loss lies above its last value."""
        return _between(CURVE, share) * (self.start - self.final) / CURVE[0][1]

    def step_s(self, machine: Machine) -> float:
        """Seconds of an update."""
        busy = self.tokens * self.flops / (machine.peak * machine.count * self.used)
        return busy + (0.0 if machine.kind == "cpu" else self.overhead_s)


@dc.dataclass(frozen=True)
class Trained:
    """One run: seconds on the clock after each update and the loss at each validation. What the
    clock leaves out is `start_s` before the first update, `val_s` for a validation and `save_s` for
    a checkpoint at every second one."""

    recipe: Recipe
    machine: Machine
    seed: int
    clock: tuple[float, ...]
    losses: dict[int, float]
    start_s: float
    val_s: float
    save_s: float
    noise: int

    @property
    def validations(self) -> list[tuple[int, float, float]]:
        """Step, loss, clock."""
        return [(step, loss, self.clock[step]) for step, loss in self.losses.items()]

    @property
    def loss(self) -> float:
        """At the end."""
        return self.losses[self.recipe.steps]

    @property
    def seconds(self) -> float:
        """On the clock at the end."""
        return self.clock[self.recipe.steps]

    @ft.cached_property
    def train_losses(self) -> list[float]:
        """Of one batch each, so that they scatter."""
        draw, recipe = random.Random(self.noise), self.recipe
        shift = self.loss - recipe.final
        return [
            recipe.final + shift + recipe.above(step / recipe.steps) + draw.gauss(0, 0.03)
            for step in range(recipe.steps + 1)
        ]

    def wall(self, step: int) -> float:
        """Seconds since the process began, at the end of a step and its validation."""
        done = sum(1 for at in self.losses if at <= step)
        return self.start_s + self.clock[step] + done * self.val_s + done // 2 * self.save_s


def train(
    recipe: Recipe,
    machine: Machine,
    seed: int,
    draw: random.Random,
    *,
    stall_s: float = 0.0,
    slow: float = 1.0,
    save_s: float = 0.0,
) -> Trained:
    """Draw a run; `stall_s` of it one update hung, with the clock running. A validation takes
    `slow` times as long as need be, a checkpoint `save_s`."""
    pace = recipe.step_s(machine) * draw.gauss(1, 0.003)
    jitter = 0.08 if machine.kind in ("cpu", "apple") else 0.02
    times = [pace * max(0.5, draw.gauss(1, jitter)) for _ in range(recipe.steps)]
    times[0] += pace * draw.uniform(0.1, 1.5)
    if stall_s:
        times[draw.randrange(recipe.steps // 4, recipe.steps)] += stall_s
    own = draw.gauss(0, recipe.sd)
    at = sorted({*range(0, recipe.steps + 1, recipe.val_every), recipe.steps})
    losses = {}
    for step in at:
        share = step / recipe.steps
        wobble = draw.gauss(0, _between(recipe.spread, share) * recipe.sd / 0.0013)
        losses[step] = recipe.final + recipe.above(share) + own * share**2 + wobble
    return Trained(
        recipe, machine, seed,
        clock=(0.0, *itertools.accumulate(times)),
        losses=losses,
        start_s=draw.uniform(5, 300) if machine.kind != "cpu" else draw.uniform(2, 8),
        val_s=0.05 + pace * recipe.val_tokens / recipe.tokens / 3 * draw.uniform(1, 2) * slow,
        save_s=save_s,
        noise=draw.randrange(1 << 30),
    )  # fmt: skip
