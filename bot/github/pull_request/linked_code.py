"""The source files at the commit that a submission links, reduced to their hashes.

Read from public repositories on GitHub alone, as blobs, never checked out: at most 100 files and
20 MB, those first whose names the runs logged. What cannot be read is a note and blocks nothing.
"""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

from github import GithubException
from github.Repository import Repository

from bot.evidence.code_hash import hashes_of
from bot.github.api.client import Repo, checked_name, told, transient
from bot.github.pull_request.pull import TreeEntry, checked_sha, read_blob
from bot.model.case import RunEvidence
from bot.model.submission import Submission
from bot.model.verdict import Finding, finding
from bot.registry import Level

MAX_FILES = 100
MAX_BYTES = 20_000_000
MAX_FILE_BYTES = 2_000_000
SUFFIXES = (".py", ".cu", ".cuh", ".c", ".cc", ".cpp", ".h", ".jl", ".rs", ".go", ".sh", ".ipynb")
_ADDRESS = re.compile(r"https://(?:www\.)?github\.com/([^/?#]+/[^/?#]+?)(?:\.git)?/?(?:[?#].*)?")


@dc.dataclass(frozen=True, slots=True)
class Linked:
    """File name without folders -> the hashes of all files of that name; or why there are none."""

    hashes: Mapping[str, tuple[str, ...]] = dc.field(default_factory=dict)
    why_not: str = ""


@dc.dataclass
class Elsewhere:
    """What the linked commit adds to a case; `notes` say what was not read."""

    repo: Repo
    notes: list[Finding] = dc.field(default_factory=list)

    def __call__(
        self, submission: Submission, evidence: tuple[RunEvidence, ...]
    ) -> Mapping[str, tuple[str, ...]]:
        """`Case.linked_code`: hashes of the code at the linked commit."""
        repository, commit = submission.code_repository, submission.code_commit
        runs = [run for item in evidence if item.spec.arm == "candidate" for run in item.runs]
        logged = {name for run in runs for name in run.code_sha256}
        if not repository or not commit or not logged:
            return {}
        found = read_linked(self.repo, repository, commit, logged)
        if found.why_not:
            self.notes.append(
                finding(
                    "code-differs-from-submission",
                    f"the linked code was not compared with the runs: {found.why_not}",
                    Level.NOTE,
                    file=f"{submission.path}/submission.json",
                    pointer="/code",
                )
            )
        return found.hashes


def read_linked(repo: Repo, repository: str, commit: str, logged: Collection[str]) -> Linked:
    """The hashes at a commit, for runs that logged source files of these names.

    Requests: repository 1, tree 1, and 1 for each file. Raises GitHubTrouble for an outage.
    """
    match = _ADDRESS.fullmatch(repository)
    try:
        name = checked_name(match[1] if match else "")
        sha = checked_sha(commit)
    except ValueError:
        return Linked(why_not="it is not a repository on GitHub with a full commit hash")
    other = Repository(repo.api.requester, url=repo.api.url.replace(f"/{repo.name}", f"/{name}"))
    with told("reading the linked code"):
        try:
            if other.complete().private:
                return Linked(why_not="the repository is not public")
            tree = other.get_git_tree(sha, recursive=True)
        except GithubException as error:
            # 409: an empty repository, 422: no commit, 403 and 451: taken down
            if transient(error) or error.status not in (403, 404, 409, 410, 422, 451):
                raise
            return Linked(why_not="the repository or the commit is not there, or not public")
    entries = [
        TreeEntry(e.path, e.mode, e.type, checked_sha(e.sha), e.size or 0)
        for e in tree.tree
        if e.type == "blob" and e.mode in ("100644", "100755")
    ]
    whole = not tree.raw_data.get("truncated")
    return _hashes(dc.replace(repo, api=other, name=name), entries, logged, whole)


def _hashes(repo: Repo, entries: list[TreeEntry], logged: Collection[str], whole: bool) -> Linked:
    names = {_base(name) for name in logged}
    wanted = [e for e in entries if _base(e.path) in names]
    if not wanted and not whole:
        return Linked(why_not="the repository has more files than GitHub lists")
    if not wanted:
        # the runs name their source otherwise than the repository does: any file may be it
        wanted = [e for e in entries if e.path.endswith(SUFFIXES)]
    if not wanted:
        return Linked(why_not="the commit holds no source file")
    chosen = _within_limits(wanted)
    if len(chosen) < len(wanted):
        limit = f"{MAX_FILES} files or {MAX_BYTES // 1_000_000} MB"
        return Linked(why_not=f"it is more than {limit}")
    found: dict[str, tuple[str, ...]] = {}
    for entry in chosen:
        data = read_blob(repo, entry)
        digests = hashes_of(data)
        base = _base(entry.path)
        found[base] = tuple(sorted({*found.get(base, ()), *digests}))
    return Linked(found)


def _within_limits(entries: Iterable[TreeEntry]) -> list[TreeEntry]:
    chosen: list[TreeEntry] = []
    size = 0
    for entry in sorted(entries, key=lambda e: (e.path.count("/"), e.path)):
        size += entry.size
        if entry.size > MAX_FILE_BYTES or size > MAX_BYTES or len(chosen) >= MAX_FILES:
            break
        chosen.append(entry)
    return chosen


def _base(name: str) -> str:
    return PurePosixPath(name).name
