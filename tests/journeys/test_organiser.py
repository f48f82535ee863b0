"""A fresh organiser with the wheel and the documents alone, to the first verified pull request.

Each line is typed as the documents have it, with the names in capitals filled in; the program is
the wheel in an environment of its own, and GitHub is the double. Of the files that are written only
the track is edited.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from bot import __version__
from tests.bot.github.competition import JOBS, log
from tests.conftest import ROOT, in_turn
from tests.doubles.github import GitHubDouble

DOCS = ROOT / "leaderboard_site/docs"
ORGANISER, PARTICIPANT, BOT = "example-maintainer", "example-user", "github-actions[bot]"
LOSSES = (3.2771, 3.2783, 3.2766, 3.2779, 3.2775, 3.2768, 3.2781, 3.2770)
MINUTES = 10


def documented(page: str, beginning: str) -> str:
    """The line of an indented block of a page that begins so, without its comment."""
    lines = (DOCS / page).read_text().splitlines()
    found = [line.strip() for line in lines if line.startswith(f"    {beginning}")]
    assert found, f"{page} has no line {beginning}"
    return re.sub(r"\s+#.*", "", found[0])


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment in which the documented `pip install` was typed. What the wheel
    depends on is there already, so that no test asks an index."""
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("organiser")
    list(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"]))
    subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)
    packages = next((folder / "env/lib").glob("python3*/site-packages"))
    borrowed = folder / "borrowed"
    borrowed.mkdir()
    for place in map(Path, sys.path):
        for item in place.iterdir() if place.name == "site-packages" else ():
            ours = item.name.startswith(("speedrun_bot", "__editable__", "pip", "setuptools"))
            if not ours and item.suffix != ".pth" and not (borrowed / item.name).exists():
                (borrowed / item.name).symlink_to(item)
    (packages / "borrowed.pth").write_text(f"{borrowed}\n")
    line = documented("host.md", "pip install").replace("VERSION", __version__)
    shell(line, folder, folder / "env/bin", {"PIP_NO_INDEX": "1"})
    return folder / "env/bin"


def shell(line: str, folder: Path, programs: Path, environment: dict[str, str]) -> str:
    """What a line prints when it is typed in a folder."""
    known = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder)}
    quiet = {"SPEEDRUN_RELEASES": "http://127.0.0.1:9", "GIT_TERMINAL_PROMPT": "0"}
    for role in ("AUTHOR", "COMMITTER"):
        quiet |= {f"GIT_{role}_NAME": "example-user", f"GIT_{role}_EMAIL": "a@b.example"}
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=120,
        env={**known, **quiet, **environment},
    )  # fmt: skip
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


class Race:
    """One repository on the double and its clone on the organiser's machine."""

    def __init__(self, github: GitHubDouble, name: str, branch: str, folder: Path, bin_: Path):
        self.github, self.name, self.branch, self.programs = github, name, branch, bin_
        self.repo = github.add_repo(name)
        self.repo.default_branch = branch
        self.clone = folder / "my-competition"
        self.folder = folder
        remote = f"https://github.com/{name}.git"
        for line in (
            f"git init -q -b {branch} my-competition",
            f"git -C my-competition remote add origin {remote}",
            f"git -C my-competition config url.{self.repo.directory}.pushInsteadOf {remote}",
        ):
            self.type(line, folder)
        for login in (ORGANISER, PARTICIPANT):
            github.add_user(login)
            github.add_token(f"token-of-{login}", login)
        self.repo.collaborators[ORGANISER] = "admin"

    def type(self, line: str, folder: Path | None = None, who: str = ORGANISER) -> str:
        environment = {"GITHUB_API_URL": self.github.url, "GITHUB_TOKEN": f"token-of-{who}"}
        environment["GITHUB_USER"] = who
        return shell(line, folder or self.clone, self.programs, environment)

    def push(self) -> None:
        self.type("git add -A && git commit -qm 'Set up the competition'")
        self.type(f"git push -q origin {self.branch}")

    def job(self, name: str, number: int) -> None:
        """The last step of a job of the workflow that `init` wrote, with that job's token."""
        workflow = yaml.safe_load(
            (self.clone / ".github/workflows/speedrun-verify.yml").read_text()
        )
        step = next(s for s in workflow["jobs"][name]["steps"] if '"$SPEEDRUN"' in s.get("run", ""))
        token = self.github.add_token(f"token-of-{name}", BOT, self.name, **JOBS[name])
        temporary = self.folder / "runner"
        (temporary / "report").mkdir(parents=True, exist_ok=True)
        if name == "publish":
            (temporary / "report.json").rename(temporary / "report/report.json")
        environment = {
            "SPEEDRUN": str(self.programs / "speedrun"), "GITHUB_REPOSITORY": self.name,
            "PR": str(number), "RUNNER_TEMP": str(temporary), "EVALUATED": "success",
            "GITHUB_API_URL": self.github.url, "GITHUB_TOKEN": token,
        }  # fmt: skip
        shell(step["run"], self.clone, self.programs, environment)


@pytest.fixture
def github() -> Iterator[GitHubDouble]:
    with GitHubDouble() as double:
        yield double
        assert double.violations == []


def race(github: GitHubDouble, installed: Path, folder: Path, variant: str) -> Race:
    """The repository as it is before the organiser begins."""
    owner = "example-org" if variant == "organisation" else ORGANISER
    if variant == "organisation":
        github.add_user(owner, "Organization")
    branch = "master" if variant == "foreign" else "main"
    made = Race(github, f"{owner}/race", branch, folder, installed)
    (made.clone / "README.md").write_text("A race.\n")
    if variant == "foreign":
        own = made.clone / ".github/workflows/verify.yml"
        own.parent.mkdir(parents=True)
        own.write_text("name: verify\non: push\npermissions: {}\njobs: {}\n")
    if variant == "records":
        first = made.clone / "records/track_1_short/2026-01-01_first"
        first.mkdir(parents=True)
        for n, loss in enumerate(LOSSES):
            (first / f"{n}.txt").write_text(log(loss, 120.0, n))
    made.push()
    return made


INIT = {
    "foreign": documented("host.md", "speedrun init . --objective"),
    "organisation": documented("bot.md", "speedrun init . --repo"),
    "records": documented("host.md", "speedrun init . --track short"),
}


@pytest.mark.parametrize(
    "variant", in_turn([*INIT], [*INIT], "types each line of the documents", every=3)
)
def test_from_the_wheel_to_the_first_verified_pull_request(
    github: GitHubDouble, installed: Path, tmp_path: Path, variant: str
) -> None:
    began = time.monotonic()
    made = race(github, installed, tmp_path, variant)
    said = made.type(INIT[variant].replace("OWNER/REPO", made.name).replace("LOGIN", ORGANISER))
    if variant == "foreign":
        assert "left    .github/workflows/verify.yml is yours" in said
        assert "they run on the branch master" in said
    written = {p: p.read_bytes() for p in made.clone.rglob("*") if p.is_file()}
    made.push()
    written = {p: data for p, data in written.items() if ".git" not in p.parts}
    track = "short" if variant == "records" else "my-track"
    doctor = made.type(f"{documented('host.md', 'speedrun doctor')} || true")
    assert f"ok    track {track}: target" in doctor and "wrong tracks/" not in doctor
    edit(made.clone / f"tracks/{track}.toml")
    made.push()

    number = participate(made, track, variant)
    made.job("evaluate", number)
    made.job("publish", number)
    [comment] = [c["body"] for c in made.repo.comments.values() if c["number"] == number]
    assert "Verified: 90.00 s" in comment, comment
    changed = {p.relative_to(made.clone) for p, data in written.items() if p.read_bytes() != data}
    assert changed == {Path(f"tracks/{track}.toml")}
    assert time.monotonic() - began < 60 * MINUTES


def edit(track: Path) -> None:
    """What an organiser changes in the track: its title, and a record needs no baseline arm."""
    text = track.read_text().replace('title = "', 'title = "Race: ', 1)
    track.write_text(text + '\n[levels]\nimprovement-not-significant = "note"\n')


def participate(made: Race, track: str, variant: str) -> int:
    """The participant's side, in a copy of the repository; the number of the pull request."""
    copy = made.folder / "copy"
    shell(
        f"git clone -q -b {made.branch} {made.repo.directory} copy", made.folder, made.programs, {}
    )
    if variant == "records":
        path = "records/track_1_short/2026-02-02_second"
        runs = copy / path
    else:
        path, runs = f"submissions/{track}/first", made.folder / "runs"
    runs.mkdir(parents=True)
    for n, loss in enumerate(LOSSES):
        (runs / f"{n}.log").write_text(log(loss, 90.0, 50 + n))
    if variant != "records":
        line = documented("submit.md", "speedrun new TRACK/NAME --log").replace("FOLDER", str(runs))
        line = line.replace("TRACK/NAME", f"{track}/first")
        made.type(f"{line} --title 'A larger learning rate'", copy, PARTICIPANT)
        file = copy / path / "README.md"
        file.write_text("A larger learning rate for the embedding, because it lagged behind.\n")
    for beginning, more in (("speedrun check", ""), ("speedrun submit", f" --repo {made.name}")):
        line = documented("submit.md", f"{beginning} submissions/TRACK/NAME")
        made.type(line.replace("submissions/TRACK/NAME", path) + more, copy, PARTICIPANT)
    [number] = made.repo.pulls
    return number
