"""Change one submission.json: a commit where we may write, otherwise the exact patch to apply."""

from __future__ import annotations

import dataclasses as dc
import difflib
from collections.abc import Callable, Mapping
from typing import Any

from github import GithubException
from github.Repository import Repository

from bot.evidence.links import RunRef, parse_link
from bot.github.api import branches
from bot.github.api.client import GitHubTrouble, Repo, told
from bot.github.pull_request import suggestions
from bot.github.pull_request.classify import Plan, classify
from bot.github.pull_request.pull import Pull, TreeEntry, Trees, blob_sha, changed_files, read_blob
from bot.github.pull_request.suggestions import Suggestion
from bot.model.report import Settings
from bot.model.track import Track
from bot.parse.json_edit import edited
from bot.parse.json_file import read_json
from bot.render.comment import Safe, block

FILE = "submission.json"
Change = Callable[[Mapping[str, Any]], dict[str, Any]]


@dc.dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it: `committed`, `proposed` (a pull request), `patch`, `nothing`, `refused`.

    `verify` is the number of the pull request to verify afterwards, 0 for none.
    """

    kind: str
    problem: str = ""
    path: str = ""
    patch: Safe = Safe("")
    link: str = ""
    sha: str = ""
    verify: int = 0
    suggestion: Suggestion | None = None


def apply(
    repo: Repo,
    pull: Pull,
    tracks: Mapping[str, Track],
    change: Change,
    message: str,
    may: bool,
    settings: Settings,
) -> Outcome:
    """Change the submission of a pull request. `may`: the person may write, not only propose."""
    path, entry = _listed(repo, pull, tracks)
    if entry is None:
        return Outcome("refused", path)
    old = read_blob(repo, entry)
    document = read_json(old, path)
    if not isinstance(document.value, dict):
        return Outcome("refused", f"{path} is not readable JSON yet; fix that first")
    wanted = change(document.value)
    text = edited(document.text, wanted)
    new = text.encode()
    if wanted == document.value:
        # an earlier try may have been cut off before it started the verification
        return Outcome("nothing", path=path, verify=pull.number if pull.state == "open" else 0)
    if may and pull.merged:
        return _propose(repo, pull, path, new, message)
    if may and (committed := _commit(repo, pull, path, new, message)):
        return Outcome("committed", path=path, sha=committed, verify=pull.number)
    suggestion = None
    if pull.state == "open":
        suggestion = suggestions.of_change(path, document.text, text, message, settings)
    return Outcome("patch", path=path, patch=patch_of(path, old, new), suggestion=suggestion)


def roles_of(
    repo: Repo, pull: Pull, tracks: Mapping[str, Track], login: str
) -> tuple[str, ...] | None:
    """What the submission of a pull request says that somebody did; None if it names them not."""
    path, entry = _listed(repo, pull, tracks)
    data = read_json(read_blob(repo, entry), path).value if entry is not None else None
    people = data.get("contributors") if isinstance(data, dict) else None
    for person in people if isinstance(people, list) else ():
        if isinstance(person, dict) and str(person.get("github", "")).lower() == login.lower():
            roles = person.get("roles")
            return tuple(r for r in roles if isinstance(r, str)) if isinstance(roles, list) else ()
    return None


def _listed(repo: Repo, pull: Pull, tracks: Mapping[str, Track]) -> tuple[str, TreeEntry | None]:
    commit = pull.merge_sha if pull.merged and pull.merge_sha else pull.head_sha
    files = changed_files(repo.api.get_pull(pull.number), pull.changed_files)
    return _file(classify(files, Trees(repo, commit), tracks))


def _file(plan: Plan) -> tuple[str, TreeEntry | None]:
    """The one submission.json of a pull request and its path, or why there is none to change."""
    found = [
        (f"{folder}/{FILE}", entry)
        for folder, entries in plan.folders.items()
        for entry in entries
        if entry.path == FILE and entry.mode in ("100644", "100755")
    ]
    if len(found) != 1:
        return f"this pull request has {len(found)} files {FILE}, this needs exactly one", None
    return found[0]


def _commit(repo: Repo, pull: Pull, path: str, new: bytes, message: str) -> str | None:
    """Commit to the pull request's branch, or None where we may not write there."""
    if pull.head_repo is None:
        return None
    foreign = pull.head_repo != repo.name
    if foreign and not pull.maintainer_can_modify:
        return None
    head = _head_repo(repo, pull) if foreign else repo.api

    def edit(tip: str | None) -> Mapping[str, bytes]:
        if tip != pull.head_sha:
            raise GitHubTrouble("the branch moved meanwhile; give the command again")
        return {path: new}

    try:
        return branches.commit(head, pull.head_ref, edit, message)
    except GithubException as error:
        # 401, 403, 404: the token does not reach this fork; the author applies the patch instead
        if error.status in (401, 403, 404):
            return None
        raise


def _head_repo(repo: Repo, pull: Pull) -> Repository:
    return Repository(
        repo.api.requester, url=repo.api.url.replace(f"/{repo.name}", f"/{pull.head_repo}")
    )


def _propose(repo: Repo, pull: Pull, path: str, new: bytes, message: str) -> Outcome:
    """A pull request of ours: what people keep in the main branch is theirs to change.

    It starts at the merge that was read, so that a later change of the file is never overwritten:
    GitHub then shows a conflict.
    """
    branch = f"speedrun/edit-{pull.number}"
    with told("proposing the change"):

        def edit(tip: str | None) -> Mapping[str, bytes]:
            entry = Trees(repo, tip).find(path) if tip else None
            return {} if entry and entry.sha == blob_sha(new) else {path: new}

        branches.commit(repo.api, branch, edit, message, pull.merge_sha)
        body = f"Asked for on #{pull.number}."
        opened = branches.open_pull(repo, branch, pull.base_ref, message, body)
        return Outcome("proposed", path=path, link=opened.html_url, verify=opened.number)


def patch_of(path: str, old: bytes, new: bytes) -> Safe:
    """A unified diff in a code block that its text cannot leave; `git apply` takes it."""
    before = old.decode("utf-8", "replace").splitlines(keepends=True)
    after = new.decode("utf-8").splitlines(keepends=True)
    lines = difflib.unified_diff(before, after, f"a/{path}", f"b/{path}")
    text = ""
    for line in lines:
        text += line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
    return block(text.removesuffix("\n"), "diff")


# ---- changes that commands make -----------------------------------------------------------------


def add_runs(
    data: Mapping[str, Any], links: tuple[RunRef, ...], baseline: tuple[RunRef, ...] = ()
) -> dict[str, Any]:
    """The submission with further runs; those that it lists already are left as they are, but for
    the arm of runs that are named as the baseline's."""
    runs = [
        {**run, "arm": "baseline"}
        if isinstance(run, dict) and parse_link(run.get("link")) in baseline
        else run
        for run in data.get("runs") or []
    ]
    listed = {parse_link(run.get("link")) for run in runs if isinstance(run, dict)}
    for arm, given in (({}, links), ({"arm": "baseline"}, baseline)):
        runs += [{"source": "wandb", "link": r.url, **arm} for r in given if r not in listed]
    return {**data, "runs": runs}


def correct_author(data: Mapping[str, Any], wrong: str, right: str) -> dict[str, Any]:
    """The submission with `right` among its contributors, in the place of `wrong` if listed."""
    people = [dict(p) for p in data.get("contributors") or [] if isinstance(p, dict)]
    logins = [str(p.get("github", "")).lower() for p in people]
    if right.lower() in logins:
        return dict(data)
    if wrong.lower() in logins:
        people[logins.index(wrong.lower())] = {"github": right}
    else:
        people.append({"github": right})
    return {**data, "contributors": people}


def withdraw(data: Mapping[str, Any], by: str, date: str, reason: str) -> dict[str, Any]:
    """The submission with its tombstone: the entry is kept and no longer ranks."""
    stone = {"by": by, "date": date, "reason": reason or None}
    return {**data, "withdrawn": stone}


def take_out(data: Mapping[str, Any], login: str) -> dict[str, Any]:
    """The submission without one contributor."""
    people = [
        person
        for person in data.get("contributors") or []
        if not isinstance(person, dict) or str(person.get("github", "")).lower() != login.lower()
    ]
    return {**data, "contributors": people}
