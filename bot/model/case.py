"""What a rule sees: one submission with everything about it that was read, and nothing else.

A `Case` is made at the edge (by `bot.verify`) and never touches the network, the disk or a clock.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from collections.abc import Mapping

from bot.model.document import Document
from bot.model.look import Look
from bot.model.results import ResultsRun
from bot.model.run import Run, Validation
from bot.model.submission import Folder, RunSpec, Submission
from bot.model.summary import Summary
from bot.model.trace import Trace
from bot.model.track import Track
from bot.model.verdict import Finding, Verdict


@dc.dataclass(frozen=True, slots=True)
class RunEvidence:
    """What came of one `RunSpec` of the submission.

    `runs` is empty where nothing could be read; `problems` says why (rules `link-not-a-run`,
    `run-not-found-or-private`, `evidence-unavailable`, `run-unfinished`, ...).
    """

    spec: RunSpec
    runs: tuple[Run, ...] = ()
    problems: tuple[Finding, ...] = ()
    blank: bool = False
    """Whether its file is a text that speaks of no training."""
    joined: bool = False
    """Whether its run is a part of one that another entry begins: it was resumed into two files."""


@dc.dataclass(frozen=True, slots=True)
class PullRequest:
    """Facts of the pull request, where there is one. `author` is a login, `body` a stranger's."""

    number: int
    author: str
    body: str = ""
    changed_paths: tuple[str, ...] = ()
    opened_at: dt.datetime | None = None
    head_sha: str = ""


@dc.dataclass(frozen=True, slots=True)
class Neighbour:
    """Another submission (or another PATH of the same check), reduced to what rules compare.

    `run_keys` are canonical identities of its runs: `wandb:ENTITY/PROJECT/ID` and
    `metrics:SHA256` of the validation series; `claims_key` is a digest of the results' numbers.
    """

    path: str
    track: str
    author: str | None
    run_keys: frozenset[str]
    claims_key: str | None = None
    value_keys: frozenset[str] = frozenset()
    """Its losses and bits per byte that are stated to enough digits."""
    traces: tuple[Trace, ...] = ()
    """Losses and clocks of its candidate runs that lie in files."""
    people: frozenset[str] = frozenset()
    """Its contributors, in lower case; of an imported one the names of its authors."""
    code: frozenset[str] = frozenset()
    """Keys of its code: see `bot.evidence.same_code`."""
    based_on: str | None = None
    is_copy: bool = False
    """Whether its merge recorded it to be a copy of another one."""


@dc.dataclass(frozen=True, slots=True)
class Target:
    """The entry that a reply names: the statistics of its first point, and the source hashes of
    its own runs, where they are known."""

    path: str
    statistics: Summary | None = None
    code: frozenset[str] = frozenset()
    against: str | None = None
    """The id of the frozen baseline that its baseline arm ran."""
    configs: frozenset[str] = frozenset()
    """Hashes of the configurations of its own runs, where they are known."""
    source_read: bool = False
    """Whether the logs of its own runs hold the code that ran."""


@dc.dataclass(frozen=True, slots=True)
class Standing:
    """Where the track stands without this submission: the record's and the baseline's runs."""

    record: str | None = None
    record_cost: float | None = None
    record_ratio: float | None = None
    """The best ratio to the baseline, on a track of ratios."""
    frontier: tuple[tuple[float, float], ...] = ()
    """(cost, quality) of the entries on the frontier, on a track of two axes."""
    record_costs: tuple[float, ...] = ()
    baseline: str | None = None
    baseline_costs: tuple[float, ...] = ()
    record_values: tuple[float, ...] = ()
    """Quality of the record's runs, for rules that weigh quality against cost."""
    record_code: frozenset[str] = frozenset()
    """Source hashes of the record's runs, where they are known."""
    baseline_code: frozenset[str] = frozenset()
    """Source hashes of the baseline's runs, where they are known."""
    known: bool = False
    """Whether a board was at hand: without one nothing is said of records."""
    target: Target | None = None
    """The entry that this submission reproduces or challenges, if the board has it."""


@dc.dataclass(frozen=True, slots=True)
class Unlisted:
    """Runs of the same W&B project with the same configuration or code that are not listed.

    `looked` of `total` runs were looked at; both 0 where that is not known, or all of them were.
    `told_again` are listed runs, each with the same run as another file of the folder states it.
    """

    project: str
    runs: tuple[Run, ...]
    looked: int = 0
    total: int = 0
    told_again: tuple[tuple[Run, Run], ...] = ()


@dc.dataclass(frozen=True, slots=True)
class Seen:
    """What a pull request showed first, as the bot recorded it when it evaluated it.

    `run_keys` are canonical identities (`wandb:ENTITY/PROJECT/ID`, `nonce:...`), `points` a few
    validations of each run: loss and clock, rounded; `looks` are the judgements of a growing
    submission.
    """

    pull_request: int
    author: str
    at: dt.datetime
    run_keys: frozenset[str] = frozenset()
    points: tuple[tuple[Validation, ...], ...] = ()
    submission: str = ""
    looks: tuple[Look, ...] = ()
    against: str | None = None


@dc.dataclass(frozen=True, slots=True)
class Context:
    """What an entry point knows beside a submission's own files and evidence.

    `merged` says that the submission is on the board, `received` when its result was recorded at
    the merge (ISO 8601), `today` bounds time stamps. `submission_paths` are the folders of the
    other submissions of one pull request, whose files are not out of scope. `first_seen` is when
    this evidence was shown first (None: unknown), `seen` what pull requests showed, and
    `acted` the logins, in lower case, that bound runs here: who added them by `/runs add` or
    confirmed by `/confirm`. `recorded` is the verdict that was recorded at the merge.
    """

    neighbours: tuple[Neighbour, ...] = ()
    standing: Standing = Standing()
    pull_request: PullRequest | None = None
    today: dt.date | None = None
    merged: bool = False
    received: str | None = None
    submission_paths: tuple[str, ...] = ()
    first_seen: dt.datetime | None = None
    seen: tuple[Seen, ...] = ()
    acted: frozenset[str] = frozenset()
    before: Neighbour | None = None
    """The entry as it stands on the board, where a pull request changes it."""
    recorded: Verdict | None = None
    against: str | None = None
    """The id of the baseline that the bot recorded when it first verified these runs."""
    copy_of: str | None = None
    """Of what the last merge recorded the entry to be a copy, in words."""


@dc.dataclass(frozen=True, eq=False)
class Case:
    """Everything a rule may look at. `documents` maps a file name of the folder to its JSON.

    `linked_code` maps a file name to the SHA-256 digests that stand for code outside the folder:
    at the linked commit, or elsewhere in the pull request.
    """

    submission: Submission
    track: Track
    folder: Folder
    documents: Mapping[str, Document]
    results: tuple[ResultsRun, ...] = ()
    evidence: tuple[RunEvidence, ...] = ()
    unlisted: tuple[Unlisted, ...] = ()
    problems: tuple[Finding, ...] = ()
    judged_on: dt.date | None = None
    context: Context = Context()
    linked_code: Mapping[str, tuple[str, ...]] = dc.field(default_factory=dict)

    def runs(self, arm: str = "candidate", point: str | None = None) -> tuple[Run, ...]:
        """The runs of one arm, of one point where `point` is given, in the order listed."""
        return tuple(
            run
            for item in self.evidence
            if item.spec.arm == arm and (point is None or self._of(item.spec, point))
            for run in item.runs
        )

    def _of(self, spec: RunSpec, point: str) -> bool:
        """Whether an entry of `runs` belongs to a point: a run belongs to one, and goes unnamed
        where there is one alone. A baseline arm that names none belongs to all."""
        alone = len(self.submission.points) == 1 or spec.arm == "baseline"
        return spec.point == point or (spec.point is None and alone)

    @property
    def brought_over(self) -> bool:
        """Whether this is an entry of the board that the importer brought over, as a maintainer
        does, and that the track lists as such: `imported` alone is a participant's word."""
        listed = self.track.is_imported(self.folder.path)
        return self.submission.imported is not None and self.context.merged and listed

    @property
    def list_file(self) -> str | None:
        """The submission.json that says what the submission is; None where there is none, or where
        the file of that name is another competition's."""
        return self.folder.full("submission.json") if "submission.json" in self.documents else None

    @property
    def others(self) -> tuple[Neighbour, ...]:
        """The entries that this one is compared with: beside a merged one, no copies of it."""
        original = self.context.merged and self.context.copy_of is None
        return tuple(n for n in self.context.neighbours if not (n.is_copy and original))

    def problems_of(self, rule: str) -> tuple[Finding, ...]:
        """What the readers found under `rule`: a reader names the rule, the rule reports it."""
        read = tuple(f for item in self.evidence for f in item.problems)
        return tuple(f for f in self.problems + read if f.rule == rule)
