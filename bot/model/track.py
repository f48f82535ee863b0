"""A track: one competition, described by one TOML file that a maintainer edits.

`bot.parse.track_toml` reads the file and makes a `Track` of it.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from collections.abc import Mapping

from bot.model.known import KnownPrograms
from bot.model.official import ClaimedTable, OfficialTable
from bot.model.run import Run, Validation
from bot.model.submission import entry_paths
from bot.parse.globs import matches
from bot.registry import metric_label

OBJECTIVES = ("pareto", "target", "baseline", "best")
LOSS_METRICS = ("loss", "val_loss")
TIME_METRICS = ("training_time_s", "time_s")
STEP_METRICS = ("steps", "step")
NAMES = (
    "bpb", "loss", "training_time_s", "steps", "hardware_flops", "chips", "peak_flops", "tokens",
    "model_flops", "mfu", "parameters",
)  # fmt: skip
"""Metrics that the program computes by itself."""
FINISHES = ("steps", "time-limit", "target")
TESTS = ("t", "z", "moderated", "anytime", "none")


class TrackError(ValueError):
    """A track file that cannot be used. The message is one sentence for the maintainer."""


@dc.dataclass(frozen=True, slots=True)
class Axis:
    """A metric that ranks: `goal` is `min` or `max`; `target` and `bands` are for quality only."""

    metric: str
    unit: str = ""
    goal: str = "min"
    target: float | None = None
    bands: tuple[float, ...] = ()
    step: float | None = None
    """For a step-count cost: loss units that 100 steps are worth (the pairwise rule), if any."""
    label: str = ""
    """What people call it on this track, if not by its usual name."""

    @property
    def sign(self) -> int:
        """What turns a value into a score, of which less is better."""
        return 1 if self.goal == "min" else -1

    def reaches(self, value: float, target: float) -> bool:
        """Whether a value is as good as a target, or better."""
        return value <= target if self.goal == "min" else value >= target


@dc.dataclass(frozen=True, slots=True)
class Significance:
    """How a target or an improvement is proved. `sigma` is a known sd; `threshold` is the z rule's
    bound on (target - mean) sqrt(n); `looks` are the only numbers of runs at which a growing
    submission is judged; `prior_sd` and `prior_df` are the usual spread of the moderated test."""

    test: str = "none"
    alpha: float = 0.01
    sigma: float | None = None
    threshold: float | None = None
    min_runs: int = 1
    pooled_sd: float | None = None
    pooled_df: int | None = None
    prior_sd: float | None = None
    prior_df: float | None = None
    margin: float | None = None
    """A record is beaten by at least this much of the quality."""
    looks: tuple[int, ...] = ()
    guard: bool = False
    """Whether the t-test is held against the pooled spread where the runs are few or too alike."""

    @property
    def alpha_each(self) -> float:
        """The level of one look: looks share alpha equally (Bonferroni)."""
        return self.alpha / max(len(self.looks), 1)

    @property
    def least_runs(self) -> int:
        """The fewest runs that can pass."""
        fewest = 1 if self.test == "none" else 2
        return max(self.min_runs, fewest, *self.looks[:1])


@dc.dataclass(frozen=True, slots=True)
class Keys:
    """Which history key of a W&B run means what; each a tuple of names tried in order."""

    loss: tuple[str, ...] = ()
    bpb: tuple[str, ...] = ()
    train_loss: tuple[str, ...] = ()
    time_s: tuple[str, ...] = ()
    time_ms: tuple[str, ...] = ()
    step_time_s: tuple[str, ...] = ()
    """Duration of each step, for runs that log no clock: their sum is the training time."""
    step: tuple[str, ...] = ("_step",)
    total_steps: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    own: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(metric, history keys) of the track's own metrics."""

    def named(self, names: Mapping[str, str]) -> Keys:
        """These keys with the names of a submission before them, by quantity.

        A clock of another unit or kind makes way for one that is named: the first that is there is
        read, and they differ by 1000 or by a step.
        """
        clocks = ("time_s", "time_ms", "step_time_s")
        changed: dict[str, tuple[str, ...]] = {}
        if any(name in names for name in clocks):
            changed |= {name: () for name in clocks if name not in names}
        for quantity, name in names.items():
            others = (n for n in getattr(self, quantity) if n != name)
            changed[quantity] = (name, *(() if quantity in clocks else others))
        fields = (field.name for field in dc.fields(self))
        return Keys(**{name: changed.get(name, getattr(self, name)) for name in fields})


@dc.dataclass(frozen=True, slots=True)
class Metric:
    """A metric of a track's own. Its value comes from the first of `keys` (W&B history), `patterns`
    (RE2, matched on each line of a log; the last match counts) and `pointers` (into a JSON file of
    the track's) that gives one. `digits` is the number of decimals shown."""

    name: str
    label: str
    unit: str = ""
    goal: str = "min"
    digits: int | None = None
    keys: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()


@dc.dataclass(frozen=True, slots=True)
class DatedRule:
    """A change of the track's rules: before `date`, the keys in `before` stood in the file."""

    date: dt.date
    text: str
    before: Mapping[str, object] = dc.field(default_factory=dict)


@dc.dataclass(frozen=True, slots=True)
class Credit:
    """One person, what they contributed, and the submissions that say so."""

    github: str
    name: str | None
    roles: tuple[str, ...]
    submissions: tuple[str, ...]


@dc.dataclass(frozen=True, slots=True)
class BoardRow:
    """An entry of the board on the day on which a baseline was frozen."""

    submission: str
    ratio: float
    state: str


@dc.dataclass(frozen=True, slots=True)
class BaselineCode:
    """What a baseline's runs ran: a file of its folder, and the settings that they recorded."""

    path: str
    sha256: str
    settings: Mapping[str, str | int | float | bool] = dc.field(default_factory=dict)


@dc.dataclass(frozen=True, slots=True)
class Baseline:
    """One frozen baseline. `costs` and `losses` are those of single runs; `ratio` and `interval`
    are its progress over the baseline `after`, None for the first, or where nothing relates it.
    `code` is None for one whose code is not in the repository."""

    id: str
    submission: str
    frozen_on: str
    cost_metric: str
    costs: tuple[float, ...]
    losses: tuple[float, ...]
    device: str | None = None
    count: int | None = None
    after: str | None = None
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    code: BaselineCode | None = None
    credits: tuple[Credit, ...] = ()
    board: tuple[BoardRow, ...] = ()
    frozen_at: str | None = None
    """The moment in UTC; None where the day alone was recorded."""
    sources: tuple[str, ...] = ()
    """Source hashes of its runs, by which an arm that ran it is recognised."""
    configs: tuple[str, ...] = ()
    """Hashes of the configurations of its runs."""


@dc.dataclass(frozen=True, slots=True)
class Reproduction:
    """What confirms an entry of a `baseline` track: so many pairs of runs at what alpha, `by`
    `another-person` (nobody of the entry's) or `maintainer` (one accepted them)."""

    runs: int = 2
    by: str = "another-person"
    alpha: float = 0.05

    @property
    def asks(self) -> str:
        """What confirms an entry, in words."""
        pairs = "a pair of runs" if self.runs == 1 else f"{self.runs} pairs of runs"
        return f"{pairs} by {'a maintainer' if self.by == 'maintainer' else 'another person'}"


@dc.dataclass(frozen=True, slots=True)
class ComputeGrant:
    """Compute that the `top` best verified entries may be granted, `gpu_hours` at most each, to
    run their idea at a larger scale; `how` says how to get it."""

    top: int
    gpu_hours: float
    how: str = ""


@dc.dataclass(frozen=True, slots=True)
class Retiming:
    """An official re-timing: `submission` measured the record `of` again, on `date`."""

    submission: str
    of: str
    date: str


RECIPE_TEXTS = ("data.order", "schedule.kind")
"""The settings that are texts and may stand in a recipe: of a run's configuration its numbers and
switches are kept, and few texts."""


@dc.dataclass(frozen=True, slots=True)
class Track:
    """One competition. See `schemas/track.schema.json` for the file."""

    id: str
    title: str
    objective: str
    quality: Axis
    cost: Axis
    significance: Significance = Significance()
    accelerators: tuple[str, ...] = ()
    """Allowed accelerator ids; empty means any hardware."""
    accelerator_count: int | None = None
    train_fingerprint: str | None = None
    validation_fingerprint: str | None = None
    data_corpus: str | None = None
    """The trainer's corpus whose validation split scores."""
    data_config: str | None = None
    """The trainer's configuration that entries with data of their own train."""
    data_submitted: bool = False
    """Whether entries bring their own training data, with a manifest."""
    data_verified: frozenset[str] = frozenset()
    """Fingerprints of submitted training data whose shards a maintainer has checked."""
    recipe: Mapping[str, float | str | bool] = dc.field(default_factory=dict)
    """Setting (`model.hidden`) -> the value that every run must have."""
    baseline_id: str | None = None
    promote_at: float | None = None
    """Cost ratio to the baseline at or under which a new baseline is due, such as 0.9."""
    accepts: tuple[str, ...] = ("wandb", "log", "results")
    code_required: bool = False
    programs: KnownPrograms | None = None
    """The programs that maintainers have accepted, where the track names a list of them."""
    keys: Keys = Keys()
    globs: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()
    """Patterns of the entries that maintainers brought over: only these are imported."""
    common_stop_step: bool = False
    levels: Mapping[str, str] = dc.field(default_factory=dict)
    """Rule name -> level where this track departs from the default ("error" ... or "off")."""
    rules: tuple[DatedRule, ...] = ()
    description: str = ""
    clock: str = ""
    source: str = ""
    vocab_size: int | None = None
    """The vocabulary size for results files that state none."""
    validation_tokens: int | None = None
    """Tokens that every run validates on at the least."""
    batch_tokens: int | None = None
    """Tokens of every step, where the batch is fixed."""
    bytes_per_token: float | None = None
    """Bytes of the validation text for each token of it, where all runs share a tokenizer."""
    baselines: tuple[Baseline, ...] = ()
    """Every baseline that was ever frozen, oldest first."""
    retimings: tuple[Retiming, ...] = ()
    earlier: tuple[tuple[dt.date, Track], ...] = ()
    """(date, the track as it stood before that date), in order of time."""
    raw: Mapping[str, object] = dc.field(default_factory=dict)
    """The parsed file, for what reads or writes it as such."""
    path: str = ""
    metrics: Mapping[str, Metric] = dc.field(default_factory=dict)
    """Metrics of the track's own, by name."""
    limits: Mapping[str, float] = dc.field(default_factory=dict)
    """Metric -> the most (the least, if more of it is better) that an entry may have."""
    finish: str = "steps"
    """What ends a run: the stated number of steps, a time limit, or the target."""
    log_patterns: tuple[str, ...] = ()
    """RE2 patterns of step lines in another format, with named groups such as `step` and `loss`."""
    result_fields: Mapping[str, str] = dc.field(default_factory=dict)
    """Metric -> JSON pointer into a results file of another format."""
    reproduction: Reproduction | None = None
    """Where it is stated, a new baseline is made of confirmed entries alone."""
    compute_grant: ComputeGrant | None = None
    official: OfficialTable = OfficialTable()
    """The official record table beside the file, empty where there is none."""
    claimed: ClaimedTable = ClaimedTable()
    """Results that a table elsewhere claims: shown, and never ranked."""

    def end_of(self, run: Run) -> Validation | None:
        """The validation that counts where nothing asks for a step: the last, or where the target
        ends a run the first that reaches it."""
        if self.finish == "target" and self.quality.metric not in self.metrics:
            for point in run.validation:
                if self.reaches(point.loss):
                    return point
        return run.validation[-1] if run.validation else None

    def reaches(self, value: float) -> bool:
        """Whether a quality is as good as the target, or better; False without a target."""
        target = self.quality.target
        return target is not None and self.quality.reaches(value, target)

    def own_end(self, run: Run) -> int | None:
        """Where the target ends a run and is in a metric of the track's own: the first step of its
        history that reaches it."""
        if self.finish != "target" or self.quality.metric not in self.metrics:
            return None
        series = run.history.get(self.quality.metric, ())
        return next((step for step, value in series if self.reaches(value)), None)

    def label(self, metric: str) -> str:
        """What people call a metric on this track."""
        labels = [axis.label for axis in (self.quality, self.cost) if axis.metric == metric]
        labels += [own.label for name, own in self.metrics.items() if name == metric]
        return next(filter(None, labels), metric_label(metric))

    def in_sentence(self, metric: str) -> str:
        """A metric's name inside a sentence: a plain first word loses its capital."""
        name = self.label(metric)
        return name[0].lower() + name[1:] if name[1:2].islower() else name

    def unit(self, metric: str) -> str:
        """The unit that the track states for a metric, empty without one."""
        units = [axis.unit for axis in (self.quality, self.cost) if axis.metric == metric]
        units += [own.unit for name, own in self.metrics.items() if name == metric]
        return next(filter(None, units), "")

    def digits(self, metric: str) -> int | None:
        """The decimals that the track asks for, None where it leaves them to the value."""
        return self.metrics[metric].digits if metric in self.metrics else None

    def is_imported(self, path: str) -> bool:
        """Whether a submission lies where the maintainers keep what they brought over."""
        return any(matches(path, g) or matches(path, f"{g}/**") for g in self.imported)

    @property
    def confirmation(self) -> Reproduction:
        """What confirms an entry: as the track states it, else by the defaults."""
        return self.reproduction or Reproduction()

    @property
    def is_open(self) -> bool:
        """Whether there is something to measure against: not on a track of objective `baseline`
        before a baseline is frozen."""
        return self.objective != "baseline" or self.baseline_id is not None

    def is_baseline(self, submission: str) -> bool:
        """Whether a submission is the frozen baseline itself."""
        return submission in entry_paths(self.baseline_id or "", self.id)

    def opened_with(self, submission: str) -> bool:
        """Whether a submission is the baseline that opened the track: no entry made it due."""
        made = next((b for b in self.baselines if b.submission == submission), None)
        return self.is_baseline(submission) if made is None else made.after is None

    def on(self, date: dt.date | None) -> Track:
        """The track as its rules stood on `date` (None: as they stand now)."""
        return next((track for changed, track in self.earlier if date and date < changed), self)
