"""`speedrun init DIR`: everything that a competition needs in a repository, new or existing.

Files that are there are never touched. The workflows are those of this project for the target's
name, branch and settings; the bot itself comes along as a wheel (`bot.github.host.source`).
"""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Iterator
from pathlib import Path

from bot import files as disk
from bot.github.api.client import checked_name, server_url
from bot.github.api.workflows import WORKFLOWS, file_of
from bot.github.host.checkout import api_of, default_branch, git, is_organisation, origin
from bot.github.host.files import Target, github_files, titles_of
from bot.github.host.first_track import objective_of, track_text
from bot.github.host.settings import FILE, load_settings
from bot.github.host.source import HOME, OWN, Source
from bot.model.report import Settings
from bot.model.submission import LOG_ENDINGS
from bot.model.track import Track
from bot.parse.track_toml import load_tracks, read_track
from bot.paths import find_root
from bot.patterns import LOGIN_TEXT, SLUG

FIRST = "my-track"
_GLOB = re.compile(r"[A-Za-z0-9._*?/@-]{1,200}")
_REVIEWER = re.compile(rf"@?{LOGIN_TEXT}(?:/[A-Za-z0-9._-]{{1,100}})?")
_OURS = re.compile(r"speedrun[^\n]*/\.github/actions/setup|\$/\.github/(?:actions/setup|speedrun)")


class InitError(ValueError):
    """Why nothing was set up; one sentence with the remedy."""


@dc.dataclass(frozen=True, slots=True)
class Wishes:
    """What the organiser asks for; what is empty is found out or left at its default."""

    source: Source
    repo: str = ""
    branch: str = ""
    adopt: tuple[str, ...] = ()
    track: str = ""
    objective: str = ""
    reviewers: tuple[str, ...] = ()


def initialise(folder: Path, wishes: Wishes) -> Iterator[str]:
    """Write what is missing; yields one line for each file, then what is left to do by hand.

    Without an objective the one is taken that fits the files adopted; without a track one is
    written only if there is none.
    """
    repo = wishes.repo or _repository(folder)
    _check(repo, wishes)
    _check_root(folder)
    settings, foreign = load_settings(folder), foreign_pages(folder)
    host, own = origin(folder) or ("", "")
    if own == repo and not settings.api_url:
        settings = dc.replace(settings, api_url=api_of(host))
    if settings.api_url:
        yield f"server  the bot asks {settings.api_url}"
    if foreign and settings.pages:
        settings = dc.replace(settings, pages=False)
        yield f"left    {foreign} publishes a site with Pages: no workflow for ours is written"
    tracks = dict(_first_track(folder, wishes))
    new = [read_track(text, path) for path, text in tracks.items() if path.endswith(".toml")]
    titles = titles_of([*_tracks(folder), *new])
    branch = wishes.branch or default_branch(folder)
    source = Source(OWN) if repo == HOME else wishes.source
    files = github_files(Target(repo, branch, source, settings, titles))
    people = _people(repo, wishes.reviewers, settings)
    if not wishes.reviewers and not all((folder / name).exists() for name in people):
        yield from _owner(repo.split("/")[0], settings)
    written = set()
    for name, content in {**files, **people, **tracks}.items():
        path = folder / name
        if path.is_symlink() or path.exists():
            yield f"kept    {name}"
            continue
        disk.write(path, content)
        written.add(name)
        yield f"written {name}"
    if any(name.startswith(".github/workflows/") for name in written):
        yield f"pinned  {source.says}; they run on the branch {branch}"
    yield from _others(folder)
    yield from _adopted(folder, wishes.adopt, {name for name in tracks if name in written})
    yield from steps(repo, settings, find_root(folder) is not None)


def _repository(folder: Path) -> str:
    found = origin(folder)
    if found is None:
        raise InitError(
            f"which repository will it be? {folder} has no remote `origin` on GitHub; "
            "give --repo OWNER/REPO"
        )
    return found[1]


def _tracks(folder: Path) -> list[Track]:
    """The tracks that are there; `speedrun doctor` says what is wrong with one."""
    try:
        return list(load_tracks(folder).values()) if (folder / "tracks").is_dir() else []
    except ValueError:
        return []


def _first_track(folder: Path, wishes: Wishes) -> Iterator[tuple[str, bytes]]:
    if not wishes.track and any((folder / "tracks").glob("*.toml")):
        return
    track = wishes.track or FIRST
    objective = wishes.objective or objective_of(wishes.adopt)
    yield f"tracks/{track}.toml", track_text(track, objective, wishes.adopt).encode()
    if not wishes.adopt:
        yield f"submissions/{track}/README.md", _README.encode()


def _adopted(folder: Path, adopt: tuple[str, ...], written: set[str]) -> Iterator[str]:
    """What the patterns find, and how it will be read."""
    if not adopt:
        return
    found = [path for glob in adopt for path in folder.glob(glob)]
    folders = sum(path.is_dir() for path in found)
    one = "folder" if found and folders == len(found) else "file"
    what = one if len(found) == 1 else f"{one}s"
    yield f"adopted {len(found)} {what} in place, each an entry: {', '.join(adopt)}"
    file = next((name for name in written if name.endswith(".toml")), "")
    if not file:
        listed = ", ".join(f'"{glob}"' for glob in adopt)
        yield f"        write into the file of a track: [submissions] globs = [{listed}]"
    elif not found:
        yield f"        no file matches yet; the globs are in {file}"
    if any(path.suffix in LOG_ENDINGS for path in found if path.is_file()):
        yield '        to make one entry of all logs of a folder, adopt folders: "records/*/*/"'


def _check(repo: str, wishes: Wishes) -> None:
    try:
        checked_name(repo)
    except ValueError as error:
        raise InitError(f"{error}; give --repo OWNER/REPO") from error
    if wishes.track and not SLUG.fullmatch(wishes.track):
        raise InitError(
            f"{wishes.track!r} is not a track id; use lower-case letters, digits, - and _"
        )
    for glob in wishes.adopt:
        if not _GLOB.fullmatch(glob) or glob.startswith("/") or ".." in glob.split("/"):
            raise InitError(f"{glob!r} is not a pattern of files inside the repository")
    for login in wishes.reviewers:
        if not _REVIEWER.fullmatch(login):
            raise InitError(f"{login!r} is not a reviewer, expected a login or ORGANISATION/TEAM")


def _check_root(folder: Path) -> None:
    """GitHub looks for workflows at the root of a repository alone."""
    top = git(folder, "rev-parse", "--show-toplevel")
    if top and Path(top).resolve() != folder.resolve():
        raise InitError(
            f"{folder} lies inside the repository {top}, and GitHub runs workflows of its root "
            f"alone: run `speedrun init {top}`; entries may lie in any folder (--adopt)"
        )


# ---- what is there already ----------------------------------------------------------------------


def _workflows(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((folder / ".github/workflows").glob("*.y*ml")):
        yield path.name, path.read_text(encoding="utf-8", errors="replace")


def is_ours(name: str, text: str) -> bool:
    """Whether a workflow file is one of this bot, under its name of today or an earlier one."""
    return name in map(file_of, WORKFLOWS) or bool(_OURS.search(text))


def foreign_pages(folder: Path) -> str:
    """A workflow of the repository's own that publishes with Pages; empty if there is none."""
    return next(
        (n for n, text in _workflows(folder) if "deploy-pages" in text and not is_ours(n, text)), ""
    )


def earlier(folder: Path) -> list[str]:
    """Workflow files that an earlier version of this bot wrote under other names."""
    named = set(map(file_of, WORKFLOWS))
    return [f"{n}" for n, text in _workflows(folder) if n not in named and _OURS.search(text)]


def _others(folder: Path) -> Iterator[str]:
    """What is there beside our files, and that it stays as it is."""
    old = earlier(folder)
    for name in old:
        yield f"old     {name} is from an earlier version of the bot; `speedrun upgrade` updates it"
    names = {n for n, _ in _workflows(folder)} - set(old)
    for name in sorted(names & {f"{n}.yml" for n in WORKFLOWS}):
        yield f"left    .github/workflows/{name} is yours and stays as it is"


# ---- people and what is left to do --------------------------------------------------------------


def _owner(owner: str, settings: Settings) -> Iterator[str]:
    """Whether the owner, who reviews if nobody is named, is a person. Raises InitError."""
    kind = is_organisation(owner, settings)
    if kind:
        raise InitError(
            f"{owner} is an organisation, which can neither review nor own files; name who does: "
            f"--reviewer LOGIN, or a team as --reviewer {owner}/TEAM"
        )
    if kind is None:
        yield f"unseen  whether {owner} is a person: GitHub did not answer. If it is an"
        yield "        organisation, which cannot review, name people in .github/CODEOWNERS and"
        yield "        .github/speedrun.toml."


def _people(repo: str, reviewers: tuple[str, ...], settings: Settings) -> dict[str, bytes]:
    owner, name = repo.split("/")
    logins = [login.lstrip("@") for login in reviewers] or [owner]
    owners = " ".join(f"@{login}" for login in logins)
    people = ", ".join(f'"{login}"' for login in logins if "/" not in login)
    public = settings.pages and not settings.api_url
    site = f'site = "https://{owner.lower()}.github.io/{name}"\n' if public else ""
    text = f"[bot]\nreviewers = [{people}]\nreview_days = 3\n{site}"
    if not public:
        text += "\n[workflows]\n"
        text += "" if settings.pages else "pages = false\n"
        text += f'api_url = "{settings.api_url}"\n' if settings.api_url else ""
    return {
        ".github/CODEOWNERS": (
            "# Workflows and rules decide what counts: name who reviews changes to them.\n"
            f"/.github/ {owners}\n/tracks/ {owners}\n"
        ).encode(),
        FILE.as_posix(): text.encode(),
    }


def steps(repo: str, settings: Settings, ready: bool) -> Iterator[str]:
    """What only a person can do, in order; `speedrun doctor` checks each."""
    page = f"{server_url(settings)}/{repo}/settings"
    yield ""
    yield "Left to do, about ten minutes; `speedrun doctor --repo " + f"{repo}` checks each:"
    yield "1. Commit and push. Edit the track: metric, target, significance (tracks/)."
    yield f"2. {page}/environments: make `wandb-read` and `publish`, both for the default branch"
    yield "   only. If a track accepts W&B runs, put WANDB_API_KEY into `wandb-read`: a key of an"
    yield "   account that is in no team."
    yield f"3. {page}/actions: read-only token by default; allow Actions to open pull requests;"
    yield "   approval for all external contributors."
    yield f"4. {page}/rules: require the check `speedrun` on the default branch; with a GitHub App"
    yield "   as publisher, name the App as its source. Require review by code owners."
    yield f"5. {page.removesuffix('/settings')}/labels: make `submission` and `preregistration`;"
    yield "   GitHub drops a label from an issue form if the repository lacks it."
    if settings.pages:
        yield f"6. {page}/pages: source GitHub Actions."
    if ready:
        yield "When the key expires, verdicts become `unverifiable`, never green; the nightly audit"
        yield "opens an issue that says so."


_README = (
    "One folder an entry. `speedrun new` writes one, `speedrun check` checks it as the bot does, "
    "`speedrun submit` opens the pull request.\n"
)
