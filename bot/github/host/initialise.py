"""`speedrun init DIR`: everything that a competition needs in a repository, new or existing.

Files that are there are never touched. The workflows are those of this project, with the target's
name in their guards and the bot pinned to one commit; no code is copied.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bot import files as disk
from bot.github.host.first_track import objective_of, track_text
from bot.github.host.pinning import own_commit
from bot.model.submission import LOG_ENDINGS
from bot.paths import find_root
from bot.patterns import COMMIT, REPOSITORY, SLUG

HOME = "speedrun-bot/speedrun"
FIRST = "my-track"
_HERE = Path(__file__).resolve().parents[1]
_GLOB = re.compile(r"[A-Za-z0-9._*?/@-]{1,200}")
WORKFLOWS = ("verify", "record", "command", "pages", "audit")
COPIED = (
    "ISSUE_TEMPLATE/submission.yml",
    "ISSUE_TEMPLATE/preregistration.yml",
    "ISSUE_TEMPLATE/config.yml",
    "pull_request_template.md",
)


class InitError(ValueError):
    """Why nothing was set up; one sentence with the remedy."""


def scaffold() -> Path:
    """The folder `.github` of this project: in a checkout, or inside the wheel."""
    shipped = _HERE / "scaffold"
    found = shipped if shipped.is_dir() else _HERE.parents[1] / ".github"
    if not (found / "workflows").is_dir():
        raise InitError("the workflows are not part of this installation; use a checkout")
    return found


def initialise(
    target: Path,
    repo: str | None,
    adopt: tuple[str, ...],
    track: str,
    bot_ref: str,
    objective: str = "",
) -> Iterator[str]:
    """Write what is missing; yields one line for each file, then what is left to do by hand.

    Without an objective the one is taken that fits the files adopted; without a track one is
    written only where there is none.
    """
    repo = repo or _origin(target)
    wants_track = bool(track) or not any((target / "tracks").glob("*.toml"))
    track = track or FIRST
    _check(repo, adopt, track)
    reference = _reference(bot_ref)
    files = dict(_files(repo, reference))
    if wants_track:
        text = track_text(track, objective or objective_of(adopt), adopt)
        files[f"tracks/{track}.toml"] = text
        if not adopt:
            files[f"submissions/{track}/README.md"] = _README
    written = set()
    for name, text in files.items():
        path = target / name
        if path.is_symlink() or path.exists():
            yield f"kept    {name}"
            continue
        disk.write(path, text)
        written.add(name)
        yield f"written {name}"
    if any(name.startswith(".github/workflows/") for name in written):
        yield f"pinned  the workflows written run {HOME} at {reference}"
    yield from _adopted(target, adopt, track if f"tracks/{track}.toml" in written else "")
    yield from steps(repo, find_root(target) is not None)


def _adopted(target: Path, adopt: tuple[str, ...], track: str) -> Iterator[str]:
    """What the patterns find, and how it will be read."""
    if not adopt:
        return
    found = [path for glob in adopt for path in target.glob(glob)]
    folders = sum(path.is_dir() for path in found)
    one = "folder" if found and folders == len(found) else "file"
    what = one if len(found) == 1 else f"{one}s"
    yield f"adopted {len(found)} {what} in place, each an entry: {', '.join(adopt)}"
    if not track:
        listed = ", ".join(f'"{glob}"' for glob in adopt)
        yield f"        write into the file of a track: [submissions] globs = [{listed}]"
    elif not found:
        yield f"        no file matches yet; the globs stand in tracks/{track}.toml"
    if any(path.suffix in LOG_ENDINGS for path in found if path.is_file()):
        yield '        to make one entry of all logs of a folder, adopt folders: "records/*/*/"'


def _check(repo: str, adopt: tuple[str, ...], track: str) -> None:
    if not REPOSITORY.fullmatch(repo):
        raise InitError(f"{repo!r} is not a repository, give --repo OWNER/REPO")
    if not SLUG.fullmatch(track):
        raise InitError(f"{track!r} is no track id: lower-case letters, digits, - and _")
    for glob in adopt:
        if not _GLOB.fullmatch(glob) or glob.startswith("/") or ".." in glob.split("/"):
            raise InitError(f"{glob!r} is not a pattern of files inside the repository")


def _origin(target: Path) -> str:
    done = (
        subprocess.run(
            ["git", "-C", str(target), "remote", "get-url", "origin"],
            capture_output=True,
            text=True,
        )
        if target.is_dir()
        else None
    )
    match = (
        re.search(r"github\.com[:/]([^/]+/[^/]+?)(?:\.git)?/?$", done.stdout.strip())
        if (done and not done.returncode)
        else None
    )
    if match is None:
        raise InitError(
            f"which repository will it be? {target} has no remote `origin` on GitHub; "
            "give --repo OWNER/REPO"
        )
    return match[1]


def _reference(given: str) -> str:
    """The commit of the bot that the workflows use: a full hash, never a name that can move."""
    if given:
        if not COMMIT.fullmatch(given):
            raise InitError(f"{given!r} is not a full commit hash of {HOME}")
        return given
    commit = own_commit()
    if commit is None:
        raise InitError(
            "which version of the bot? Give --bot-ref COMMIT; the newest is what "
            f"`git ls-remote https://github.com/{HOME} HEAD` prints first"
        )
    return commit


def _files(repo: str, reference: str) -> Iterator[tuple[str, str]]:
    source = scaffold()
    for name in WORKFLOWS:
        text = (source / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
        yield f".github/workflows/{name}.yml", adapted(text, repo, reference)
    for name in COPIED:
        yield f".github/{name}", (source / name).read_text(encoding="utf-8")
    owner = repo.split("/")[0]
    yield (
        ".github/CODEOWNERS",
        (
            "# Workflows and rules decide what counts: name who reviews changes to them.\n"
            f"/.github/ @{owner}\n/tracks/ @{owner}\n"
        ),
    )
    yield (
        ".github/speedrun.toml",
        _SETTINGS.format(
            owner=owner, page=f"https://{owner.lower()}.github.io/{repo.split('/')[1]}"
        ),
    )


def adapted(text: str, repo: str, reference: str) -> str:
    """A workflow of ours for another repository."""
    text = text.replace(f"'{HOME}'", f"'{repo}'")
    return text.replace(
        "uses: $/.github/actions/setup", f"uses: {HOME}/.github/actions/setup@{reference}"
    )


def steps(repo: str, ready: bool) -> Iterator[str]:
    """What only a person can do, in order; `speedrun doctor` checks each."""
    page = f"https://github.com/{repo}/settings"
    yield ""
    yield "Left to do, about ten minutes; `speedrun doctor --repo " + f"{repo}` checks each:"
    yield "1. Commit and push. Edit the track: metric, target, significance (tracks/)."
    yield f"2. {page}/environments: make `wandb-read` and `publish`, both for the default branch"
    yield "   only. Put WANDB_API_KEY into `wandb-read`: a key of an account that is in no team."
    yield f"3. {page}/actions: read-only token by default; allow Actions to open pull requests;"
    yield "   approval for all external contributors."
    yield f"4. {page}/rules: require the check `speedrun` on the default branch; with a GitHub App"
    yield "   as publisher, name the App as its source. Require review by code owners."
    yield f"5. {page}/pages: source GitHub Actions."
    if ready:
        yield "When the key expires, verdicts become `unverifiable`, never green; the nightly audit"
        yield "opens an issue that says so."


_README = (
    "One folder an entry. `speedrun new` writes one, `speedrun check` checks it as the bot does, "
    "`speedrun submit` opens the pull request.\n"
)
_SETTINGS = """[bot]
reviewers = ["{owner}"]
review_days = 3
site = "{page}"
"""
