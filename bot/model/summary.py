"""The statistics of a set of runs as data: `bot.compute.summary.summarise` makes them.

Their JSON is the answer of `speedrun stats --format json`, and `statistics` of a verdict.
"""

from __future__ import annotations

import dataclasses as dc
import math
import statistics as stdlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from bot.model.look import Look
from bot.model.serial import JsonObject, Shaped, fields_to_json, read_fields, to_json

RunKey = tuple[str, int]
"""The file and the index of a run."""


@dc.dataclass(frozen=True, slots=True)
class Moments:
    """n, mean and sd (None for n < 2) of a sample; raises ValueError on none or on non-finite."""

    n: int
    mean: float
    sd: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Moments:
        """The moments of `values`, each sum correctly rounded."""
        if not values:
            raise ValueError("no values to take the mean of")
        if not all(math.isfinite(v) for v in values):
            raise ValueError("a value is not a finite number")
        n = len(values)
        mean = math.fsum(values) / n
        if n == 1:
            return cls(1, mean, None)
        if min(values) == max(values):
            return cls(n, values[0], 0.0)
        return cls(n, mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1)))

    def gain(self, target: float, goal: str) -> Moments:
        """The moments of the gains over `target`."""
        mean = target - self.mean if goal == "min" else self.mean - target
        return Moments(self.n, mean, self.sd)


@dc.dataclass(frozen=True, slots=True)
class Sample(Shaped):
    """Values of one quantity over the runs kept."""

    values: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Self:
        """The sample of the values that are known."""
        return cls(tuple(float(value) for value in values if value is not None))

    @property
    def moments(self) -> Moments | None:
        """n, mean and sd; None for no values."""
        return Moments.of(self.values) if self.values else None

    def to_json(self) -> JsonObject:
        """n, mean, sd, min, max, median and the values; null where there are none."""
        m = self.moments
        return {
            "n": len(self.values),
            "mean": m.mean if m else None,
            "sd": m.sd if m else None,
            "min": min(self.values, default=None),
            "max": max(self.values, default=None),
            "median": stdlib.median(self.values) if self.values else None,
            "values": list(self.values),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Self:
        """The inverse of `to_json`."""
        return read_fields(cls, data)


@dc.dataclass(frozen=True, slots=True)
class Excluded:
    """A run that does not count, and why in a few words. `copy`: "same" for another file of a run
    that counts, or a part of it, "alike" where only its numbers are too much alike."""

    file: str
    run: int
    why: str
    copy: str | None = dc.field(default=None, compare=False)


@dc.dataclass(frozen=True, slots=True)
class Decision:
    """What the track's test says of a sample. `p` is None where it cannot be computed."""

    test: str
    statistic: float | None
    p: float | None
    passes: bool
    bound: float | None = None
    """The threshold that the statistic must reach, where that decides."""
    judged: int | None = None
    """How many runs were judged, on a track that judges at fixed looks only."""
    look: str | None = None
    """Which runs were judged at a look: a digest of their losses."""
    taken: Look | None = dc.field(default=None, compare=False)
    """The earlier look, with other runs, for which these are not judged again."""
    p_holm: float | None = None
    """p corrected for the number of points of the submission (Holm); None for one point."""


@dc.dataclass(frozen=True, slots=True)
class WithoutBest:
    """The decision without the best run."""

    p: float | None
    passes: bool


@dc.dataclass(frozen=True, slots=True)
class Chance:
    """With `runs` more runs the test passes with probability `chance`."""

    runs: int
    chance: float


@dc.dataclass(frozen=True, slots=True)
class AtTarget:
    """Mean cost at the target over `n` runs, with its standard error (None for one run).

    The error is widened for few runs by the ratio of Student's and the normal 97.5 % points, so
    that two standard errors are a 95 % interval also for small n.
    """

    n: int
    mean: float
    standard_error: float | None


@dc.dataclass(frozen=True, slots=True)
class Comparison:
    """Candidate against baseline in a cost: difference of means, test, ratio with its interval.

    `p` is one-sided, for the candidate's mean being the smaller (or the greater where more is
    better). `statistic`, `df`, `p` and `ratio_interval` are None where an arm has one run.
    """

    method: str
    difference: float
    statistic: float | None
    df: float | None
    p: float | None
    ratio: float | None
    ratio_interval: tuple[float, float] | None


@dc.dataclass(frozen=True, slots=True)
class Pairwise:
    """The rule for two results that stop at different steps.

    `statistic` = (baseline mean - mean + worth x steps saved) / sqrt(1/n + 1/m), `worth` in loss
    a step; `passes` where it reaches the track's threshold, `p` with the known sigma.
    """

    statistic: float
    p: float | None
    passes: bool
    steps_saved: float


@dc.dataclass(frozen=True, slots=True)
class BaselineArm(Shaped):
    """The comparison with the baseline arm, in the track's cost and in quality."""

    quality: Moments | None = None
    cost: Sample = Sample()
    comparison: Comparison | None = None
    pairwise: Pairwise | None = None
    passes: bool | None = None
    """Whether the improvement is proved at the track's alpha; None where it cannot be tested."""
    excluded: tuple[Excluded, ...] = ()
    promote_at: float | None = None
    """The ratio at which the track makes a new baseline."""
    promotes: bool | None = None
    """Whether the whole interval of the ratio lies beyond the track's threshold, so that a new
    baseline is due; None if the track has no threshold or the arms have no ratio."""
    p_holm: float | None = None
    """p corrected for the number of points of the submission (Holm); None for one point."""

    @property
    def p(self) -> float | None:
        """The p that decides; None where the arms cannot be tested."""
        if self.pairwise is not None:
            return self.pairwise.p
        return self.comparison.p if self.comparison and self.passes is not None else None

    @property
    def n(self) -> int:
        """How many runs of the arm count."""
        return self.quality.n if self.quality else 0

    @property
    def ratio(self) -> float | None:
        """The candidate's cost over the baseline's."""
        return self.comparison.ratio if self.comparison else None

    @property
    def ratio_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the ratio; None where an arm has one run."""
        return self.comparison.ratio_interval if self.comparison else None

    def to_json(self) -> JsonObject:
        """The comparison flat, with the arm's own numbers."""
        names = [field.name for field in dc.fields(Comparison)]
        test = fields_to_json(self.comparison) if self.comparison else dict.fromkeys(names)
        return {
            "n": self.n,
            "mean": self.quality.mean if self.quality else None,
            "sd": self.quality.sd if self.quality else None,
            "cost": self.cost.to_json(),
            **test,
            "p_holm": self.p_holm,
            "pairwise": to_json(self.pairwise),
            "passes": self.passes,
            "promote_at": self.promote_at,
            "promotes": self.promotes,
            "excluded": to_json(self.excluded),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Self:
        """The inverse of `to_json`."""
        quality = data if data.get("mean") is not None else None
        comparison = data if data.get("method") is not None else None
        return read_fields(cls, {**data, "quality": quality, "comparison": comparison})


@dc.dataclass(frozen=True, slots=True)
class Summary(Shaped):
    """Everything about one set of runs. `quality` and `cost` are in the order of the runs kept.

    `decision` is the track's own test; `p_t`, `p_sigma`, `p_pooled` and `p_anytime` are the others,
    None where the track gives no sd for them or there are too few runs. `interval` is the 95 %
    interval of the mean; `without_best` is the decision without the best run. `step` is the common
    stop step, where one was used. What is not compared is known while judging and not written.
    """

    track: str = ""
    metric: str = ""
    target: float | None = None
    alpha: float = 0.01
    level: float = 0.01
    """What p must fall below: alpha, or one look's share of it, or the p of the z rule's bound."""
    quality: Sample = Sample()
    interval: tuple[float, float] | None = None
    cost: Sample = Sample()
    cost_metric: str = ""
    at_target: AtTarget | None = None
    """The mean cost moved along the runs' own curves to the target loss; None without curves."""
    time: Sample = Sample()
    step: int | None = None
    decision: Decision = Decision("none", None, None, False)
    p_t: float | None = None
    p_sigma: float | None = None
    p_pooled: float | None = None
    p_anytime: float | None = None
    p_moderated: float | None = None
    chances: tuple[Chance, ...] = ()
    """The fewest further runs that pass with a chance of a half, and of four fifths."""
    without_best: WithoutBest | None = None
    needed_runs: int | None = None
    excluded: tuple[Excluded, ...] = ()
    hint: str | None = None
    baseline: BaselineArm | None = None
    goal: str = dc.field(default="min", compare=False)
    cost_goal: str = dc.field(default="min", compare=False)
    kept: tuple[RunKey, ...] = dc.field(default=(), compare=False)
    gpu_count: int | None = dc.field(default=None, compare=False)
    metrics: Mapping[str, float | int | None] = dc.field(default_factory=dict, compare=False)
    """The mean of each metric over the runs that count."""

    @property
    def n(self) -> int:
        """How many runs count."""
        return len(self.quality.values)

    @property
    def moments(self) -> Moments | None:
        """n, mean and sd of the quality."""
        return self.quality.moments

    @property
    def p(self) -> float | None:
        """That of the track's test."""
        return self.decision.p

    @property
    def passes(self) -> bool:
        """Whether the track's test is passed."""
        return self.decision.passes

    def to_json(self) -> JsonObject:
        """The shape of `speedrun stats --format json`."""
        m = self.moments
        return {
            "track": self.track,
            "metric": self.metric,
            "target": self.target,
            "step": self.step,
            "n": self.n,
            "values": list(self.quality.values),
            "mean": m.mean if m else None,
            "sd": m.sd if m else None,
            "interval": to_json(self.interval),
            "test": self.decision.test,
            "statistic": self.decision.statistic,
            "threshold": self.decision.bound,
            "p": self.decision.p,
            "p_t": self.p_t,
            "p_sigma": self.p_sigma,
            "p_pooled": self.p_pooled,
            "p_anytime": self.p_anytime,
            "p_moderated": self.p_moderated,
            "p_holm": self.decision.p_holm,
            "judged": self.decision.judged,
            "look": self.decision.look,
            "p_without_best": self.without_best.p if self.without_best else None,
            "passes_without_best": self.without_best.passes if self.without_best else None,
            "alpha": self.alpha,
            "level": self.level,
            "passes": self.passes,
            "needed_runs": self.needed_runs,
            "chances": to_json(self.chances),
            "excluded": to_json(self.excluded),
            "hint": self.hint,
            "cost": self.cost.to_json() | {"metric": self.cost_metric},
            "cost_at_target": to_json(self.at_target),
            "time": self.time.to_json(),
            "baseline": to_json(self.baseline),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Self:
        """The inverse of `to_json`."""
        cost, best = data.get("cost"), data.get("passes_without_best")
        nested = {
            "quality": data,
            "decision": {**data, "bound": data.get("threshold")},
            "cost_metric": cost.get("metric") if isinstance(cost, dict) else None,
            "at_target": data.get("cost_at_target"),
            "without_best": best if best is None else {"p": data["p_without_best"], "passes": best},
        }
        return read_fields(cls, {**data, **nested})
