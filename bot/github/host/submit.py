"""`speedrun submit PATH`: check, fork, push through the API, open the pull request.

Every step looks before it writes, so running it again goes on where it stopped. The token is the
user's own (`GITHUB_TOKEN`, or what `gh auth token` prints); `--dry-run` needs none.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from github import Github, GithubException
from github.PullRequest import PullRequest
from github.Repository import Repository

from bot.github.api import branches
from bot.github.api.client import checked_name, connect, told
from bot.github.host.settings import load_settings
from bot.local import Local, home_of
from bot.model.report import Settings
from bot.model.submission import PLACEHOLDER, Folder
from bot.parse.folder import ReadError, parse_submission, read_path
from bot.parse.globs import matches
from bot.parse.listing import loose
from bot.parse.track_toml import load_tracks
from bot.registry import Status
from bot.render.answer import Answer
from bot.render.comment import Safe, render
from bot.render.terminal import to_text
from bot.render.untrusted import plain

Say = Callable[[str], None]
_ORIGIN = re.compile(
    r"(?:https://github\.com/|git@github\.com:|ssh://git@github\.com/)(.+?)(?:\.git)?/?"
)


class SubmitError(ValueError):
    """Why there is no pull request, with the remedy; `code` is the exit status."""

    def __init__(self, message: str, code: int = 1):
        super().__init__(message)
        self.code = code


def branch_of(path: str) -> str:
    """The branch of a fork that a folder is pushed to."""
    return "speedrun/" + re.sub(r"[^a-z0-9_-]+", "-", path.removeprefix("submissions/").lower())


def submit_folder(
    path: Path, root: Path, repo: str | None, fork_owner: str | None, dry_run: bool, say: Say
) -> str:
    """Open the pull request for a folder; its address, empty for a dry run. Raises SubmitError."""
    settings = load_settings(root)
    target = _target(repo, root)
    folder, checked = _checked(path, root, say)
    say(f"1/5 checked: {checked.line}")
    _refuse(folder, checked)
    verdict = checked.verdict
    title = f"{verdict.track}: {verdict.title or folder.path.rpartition('/')[2]}"
    body = description(folder, checked, settings)
    branch = branch_of(folder.path)
    if dry_run:
        say(f"would push {len(folder.files)} files to the branch {branch} of your fork of {target}")
        say(f"would open the pull request: {title}\n\n{body}")
        return ""
    github = connect(_token())
    base = github.get_repo(target)
    with told(f"forking {target}"):
        fork = _fork(github, base, fork_owner)
    say(f"2/5 fork: {fork.full_name}")
    with told("pushing the files"):
        start = branches.tip(base, base.default_branch)
        gone: list[str] = []
        pushed = branches.commit(
            fork, branch, lambda tip: _to_push(fork, tip or start, folder, gone), title, start
        )
    say(f"3/5 pushed: {branch}" if pushed else f"3/5 pushed before: {branch}")
    for name in gone:
        say(
            f"    removed from the branch: {plain(name, 200)}; earlier commits still show it, so "
            "revoke any key that stood in it"
        )
    with told("opening the pull request"):
        pull, new = _open(base, fork, branch, title, body)
    say(f"4/5 {'opened' if new else 'open since before'}: {pull.html_url}")
    for advice in advice_for(pull, fork):
        say(f"    {advice}")
    say("5/5 done: the verdict comes on the pull request within minutes")
    return str(pull.html_url)


def _refuse(folder: Folder, checked: Answer) -> None:
    """Raises SubmitError for a folder that is not ready."""
    if checked.verdict.status is Status.REJECTED:
        raise SubmitError(f"{to_text(checked)}\nFix this first, then submit again.")
    if f'"{PLACEHOLDER}"'.encode() in folder.files.get("submission.json", b""):
        raise SubmitError(
            f'{folder.path}/submission.json: replace "{PLACEHOLDER}" with your GitHub login, then '
            "submit again"
        )


def _checked(path: Path, root: Path, say: Say) -> tuple[Folder, Answer]:
    """The folder and the answer that `speedrun check` gives to it."""
    try:
        folder, tracks = read_path(path, root), load_tracks(root)
        adopted = any(matches(folder.path, glob) for t in tracks.values() for glob in t.globs)
        if folder.bare or not (adopted or folder.path.startswith("submissions/")):
            raise SubmitError(
                f"{path}: submit takes a folder submissions/TRACK/NAME, or one where a track keeps "
                "its entries; `speedrun new` makes the former",
                2,
            )
        parsed = parse_submission(folder, tracks)
        home = parsed.track and home_of(folder, parsed.track, root)
        if home:
            raise SubmitError(f"{path}: move the folder to {home}, where the board finds it", 2)
        if line := loose(folder, parsed.submission):
            say(f"note: {line}")
        return folder, Local(root, tracks).answers([(folder, parsed)])[0]
    except ReadError as error:
        raise SubmitError(str(error), 2) from error


def description(folder: Folder, checked: Answer, settings: Settings) -> str:
    """The text of the pull request: approach and results filled in."""
    approach = ""
    readme = next((n for n in folder.files if n.lower() == "readme.md"), None)
    if readme is not None:
        approach = folder.files[readme].decode("utf-8", "replace")[:20_000].strip()
    from bot.parse.json_file import read_json

    data = read_json(folder.files.get("submission.json", b""), "submission.json").value
    if not approach and isinstance(data, Mapping) and isinstance(data.get("summary"), str):
        approach = data["summary"].strip()
    dry = next((n for n in folder.files if n.rpartition("/")[2] == "dry_run.txt"), None)
    plan = folder.files[dry].decode("utf-8", "replace")[:10_000] if dry else ""
    results = to_text(checked, verbose=True)
    return render(
        "pull.md.j2",
        settings,
        # the author's own words, in the author's own pull request
        approach=Safe(approach),
        plan=Safe(plan.replace("```", "'''")),
        results=Safe(results.replace("```", "'''")),
    )


def _target(repo: str | None, root: Path) -> str:
    try:
        return checked_name(repo or _origin(root))
    except ValueError as error:
        raise error if isinstance(error, SubmitError) else SubmitError(str(error), 2) from error


def _origin(root: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), "remote", "get-url", "upstream"], capture_output=True, text=True
    )
    if done.returncode:
        done = subprocess.run(
            ["git", "-C", str(root), "remote", "get-url", "origin"], capture_output=True, text=True
        )
    match = _ORIGIN.fullmatch(done.stdout.strip())
    if match is None:
        raise SubmitError("which repository? This clone has no GitHub origin; give --repo", 2)
    return match[1]


def _token() -> str:
    token = os.environ.get("GITHUB_TOKEN", "").strip()
    if token:
        return token
    try:
        done = subprocess.run(["gh", "auth", "token"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        done = None
    if done is None or done.returncode or not done.stdout.strip():
        raise SubmitError(
            "no token; set GITHUB_TOKEN to one that can write to your fork, or run `gh auth login`",
            2,
        )
    return done.stdout.strip()


def _fork(github: Github, base: Repository, owner: str | None) -> Repository:
    """The user's fork, made when there is none; whoever may write here needs none."""
    login = github.get_user().login
    name = base.full_name.split("/")[1]
    if owner is None and base.full_name.split("/")[0].lower() == login.lower():
        return base
    try:
        return github.get_repo(f"{owner or login}/{name}").complete()
    except GithubException as error:
        if error.status != 404:
            raise
    made = base.create_fork(organization=owner) if owner else base.create_fork()
    return github.get_repo(made.full_name)


def _to_push(
    fork: Repository, tip: str | None, folder: Folder, gone: list[str]
) -> Mapping[str, bytes | None]:
    """What makes the branch equal to the folder: files that are new or changed, None for those
    that are no longer there; their names are put into `gone`."""
    from bot.github.api.client import Repo
    from bot.github.pull_request.pull import Trees, blob_sha

    trees = Trees(Repo(fork, fork.full_name, ""), tip) if tip else None
    known = {e.path: e.sha for e in trees.files(folder.path)} if trees else {}
    gone[:] = sorted(known.keys() - folder.files.keys() - folder.skipped.keys())
    changed = {n: data for n, data in folder.files.items() if known.get(n) != blob_sha(data)}
    return {folder.full(name): data for name, data in (changed | dict.fromkeys(gone)).items()}


def _open(
    base: Repository, fork: Repository, branch: str, title: str, body: str
) -> tuple[PullRequest, bool]:
    head = f"{fork.full_name.split('/')[0]}:{branch}"
    for pull in base.get_pulls(state="open", head=head):
        return pull, False
    try:
        made = base.create_pull(
            base=base.default_branch, head=head, title=title, body=body, maintainer_can_modify=True
        )
    except GithubException as error:
        if error.status != 422:
            raise
        # GitHub keeps one open pull request a branch: an answer that was lost made it
        for pull in base.get_pulls(state="open", head=head):
            return pull, False
        raise
    return made, True


def advice_for(pull: PullRequest, fork: Repository) -> tuple[str, ...]:
    """What the author can do so that others can help on the branch."""
    if fork.owner.type == "Organization":
        return (
            "the fork belongs to an organisation, so maintainers cannot push to it; submit with "
            "--fork-owner YOUR-LOGIN if you want their help on the branch",
        )
    if not pull.maintainer_can_modify and pull.head.repo.full_name != pull.base.repo.full_name:
        return ('tick "Allow edits by maintainers" at the right of the pull request',)
    return ()
