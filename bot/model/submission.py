"""A submission: one folder (or one bare results file) that a participant adds.

Reading is done once, at the edge, by `bot.parse.folder` (folder on disk) and `bot.github` (git
blobs): both hand a `Folder` of bytes to `parse_submission`.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Container, Mapping

ROLES = ("idea", "code", "runs", "writing", "review", "pr")
PLACEHOLDER = "your-github-login"
LOG_ENDINGS = (".log", ".txt", ".wandb")
TABLE_ENDINGS = (".csv", ".tsv", ".jsonl", ".out", ".err")
"""Further endings of a file that is a log where somebody names it as one."""
MAX_JSON_BYTES = 1_000_000
MAX_LOG_BYTES = 20_000_000
MAX_FILES = 100
MAX_FOLDER_BYTES = 100_000_000


@dc.dataclass(frozen=True, slots=True)
class Folder:
    """The files of one submission as bytes, read from disk or from git, never executed.

    `path` is the folder's path relative to the root, such as `submissions/fineweb-edu/name`; for a
    bare file it is the path as given. `files` maps paths relative to `path` to their bytes (a bare
    file has the one key that is its own name). `skipped` maps a path to why it was not read (too
    large, a symlink, not a regular file, too many files). `bare` says that it is one file alone.
    """

    path: str
    files: Mapping[str, bytes]
    skipped: Mapping[str, str] = dc.field(default_factory=dict)
    bare: bool = False

    def full(self, name: str) -> str:
        """The path to show for the file `name` of this folder."""
        return self.path if self.bare else f"{self.path}/{name}"


@dc.dataclass(frozen=True, slots=True)
class Contributor:
    """Somebody to credit, by GitHub login."""

    github: str
    name: str | None = None
    affiliation: str | None = None
    url: str | None = None
    roles: tuple[str, ...] = ()


ARMS = ("candidate", "baseline", "search")
"""What a run is for: `search` runs chose among variants; they are listed and count in no mean."""


@dc.dataclass(frozen=True, slots=True)
class RunSpec:
    """One entry of `runs` in submission.json. `target` is the link or the path as written."""

    source: str
    target: str
    arm: str = "candidate"
    pair: str | None = None
    point: str | None = None
    seed: int | None = None
    pointer: str = ""
    aside: bool = False
    """True for the link inside a results file: it is read where W&B is asked or a snapshot is
    kept, and otherwise its absence says nothing."""

    @property
    def is_link(self) -> bool:
        """Whether this names a run on W&B, and not a file of the folder."""
        return self.source == "wandb" and not self.target.lower().endswith(".wandb")


@dc.dataclass(frozen=True, slots=True)
class Claim:
    """What a submission claims of one metric. Comparison happens in the rules."""

    metric: str
    value: float
    sd: float | None = None
    n: int | None = None
    p: float | None = None
    point: str | None = None
    pointer: str = ""
    scalar: bool = True
    """True for a bare number, False for an object {mean, sd, n, p}."""
    of_any: bool = False
    """True where its file does not say whether it is the mean or one run's value: whatever lies
    among the values of the runs agrees."""


@dc.dataclass(frozen=True, slots=True)
class Reply:
    """What makes a submission a reply to an entry: it `reproduces` it or `challenges` it.

    A reply never ranks; its runs join the evidence of the entry (see `bot.rank.states`).
    """

    kind: str
    entry: str


REPLIES = ("reproduces", "challenges")
"""The keys of submission.json that make a reply; at most one of them is given."""


@dc.dataclass(frozen=True, slots=True)
class Submission:
    """A parsed submission. `raw` is the submission.json as read ({} where there is none)."""

    path: str
    track: str
    name: str
    title: str | None = None
    summary: str | None = None
    contributors: tuple[Contributor, ...] = ()
    based_on: str | None = None
    reply: Reply | None = None
    preregistration: str | None = None
    code_path: str | None = None
    code_repository: str | None = None
    code_commit: str | None = None
    code_command: str | None = None
    """How its author runs both arms, with {seeds}, {seed} and {out}; `speedrun reproduce` asks
    before it runs it."""
    accelerator: str | None = None
    accelerator_count: int | None = None
    points: tuple[str, ...] = ()
    runs: tuple[RunSpec, ...] = ()
    claims: tuple[Claim, ...] = ()
    links: tuple[Mapping[str, str], ...] = ()
    keys: Mapping[str, str] = dc.field(default_factory=dict)
    """Quantity (`loss`, `time_s`, ...) -> its name in the author's logs or W&B history."""
    imported: Mapping[str, object] | None = None
    withdrawn: Mapping[str, object] | None = None
    raw: Mapping[str, object] = dc.field(default_factory=dict)


def entry_paths(named: str, track: str) -> tuple[str, ...]:
    """The paths that a reference to an entry may mean, written in an entry of `track`: the path
    itself, TRACK/NAME, or a NAME on the same track."""
    name = named.strip("/")
    return (name, f"submissions/{name}", f"submissions/{track}/{name}") if name else ()


def entry_path(named: str | None, track: str, known: Container[str]) -> str | None:
    """The one of the `known` paths that `named` refers to, or None."""
    return next((path for path in entry_paths(named or "", track) if path in known), None)


def same_entry(a: str, b: str, track: str) -> bool:
    """Whether two references, written in entries of `track`, mean one entry."""
    return not set(entry_paths(a, track)).isdisjoint(entry_paths(b, track))
