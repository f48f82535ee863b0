"""What `init` makes of repositories that are not empty, and what `doctor` sees of set-ups."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from bot import __version__
from bot.cli import main
from bot.github.host.doctor import examine
from bot.github.host.files import Target, github_files, titles_of
from bot.github.host.settings import load_settings
from bot.github.host.source import HOME, OWN, Source, SourceError, from_wheel, kept, pinned
from bot.model.track import OBJECTIVES
from bot.parse.track_toml import load_tracks
from tests.bot.github.competition import REPO, Competition
from tests.bot.github.test_hosting import init
from tests.bot.github.wheels import a_wheel
from tests.conftest import ROOT
from tests.doubles.github import git

FOREIGN = "name: verify\non: push\npermissions: {}\njobs: {}\n"
PAGES = "jobs:\n  a:\n    steps:\n      - uses: actions/deploy-pages@v4\n"


def repository(folder: Path, branch: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", "-b", branch, str(folder)], check=True)


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def triggers(folder: Path, name: str) -> Any:
    data = yaml.safe_load((folder / f".github/workflows/speedrun-{name}.yml").read_text())
    return data[True]  # YAML 1.1 reads the key `on` as a truth value


# ---- init ---------------------------------------------------------------------------------------


def test_our_own_repository_holds_what_init_renders() -> None:
    """`speedrun upgrade --write --repo speedrun-bot/speedrun` brings it up to date."""
    titles = titles_of(load_tracks(ROOT).values())
    target = Target(HOME, "main", Source(OWN), load_settings(ROOT), titles)
    for name, content in github_files(target).items():
        assert (ROOT / name).read_bytes() == content, name


def test_another_branch_and_a_foreign_verify(tmp_path: Path) -> None:
    folder = tmp_path / "race"
    repository(folder, "master")
    write(folder, ".github/workflows/verify.yml", FOREIGN)
    output = init(folder)
    assert (folder / ".github/workflows/verify.yml").read_text() == FOREIGN
    assert "left    .github/workflows/verify.yml is yours" in output
    assert triggers(folder, "verify")["pull_request_target"]["branches"] == ["master"]
    assert triggers(folder, "pages")["push"]["branches"] == ["master"]
    assert "merge_group" in triggers(folder, "verify")


@pytest.mark.parametrize(
    ("remote", "api", "page"),
    [
        ("https://ghe.example.org/example-org/race.git", "https://ghe.example.org/api/v3", None),
        (
            "git@race.ghe.com:example-org/race.git",
            "https://api.race.ghe.com",
            "https://race.ghe.com",
        ),
        ("git@github.com:example-org/race.git", "", "https://github.com"),
        ("git@my-work-key:example-org/race.git", "", "https://github.com"),
        ("https://gitlab.example.org/another/race.git", "", "https://github.com"),
    ],
)
def test_the_server_is_that_of_the_clone(
    tmp_path: Path, remote: str, api: str, page: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_API_URL", "GITHUB_SERVER_URL"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "race"
    repository(folder, "main")
    git.git(folder, "remote", "add", "origin", remote)
    said = init(folder, "--reviewer", "example-user")
    assert load_settings(folder).api_url == api
    page = page or "https://ghe.example.org"
    assert f"{page}/example-org/race/settings/pages" in said
    assert ("github.io" in (folder / ".github/speedrun.toml").read_text()) == (api == "")


def test_a_folder_inside_a_repository_is_refused(tmp_path: Path) -> None:
    """GitHub runs no workflow that lies deeper than the root."""
    repository(tmp_path, "main")
    inner = tmp_path / "competitions/speed"
    inner.mkdir(parents=True)
    wheel = str(a_wheel(tmp_path))
    arguments = ["init", str(inner), "--repo", "example-org/race", "--wheel", wheel]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2 and f"run `speedrun init {tmp_path}`" in result.output
    assert not any(inner.iterdir())
    init(tmp_path, "--reviewer", "example-user")


def test_a_foreign_site_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "race"
    write(folder, ".github/workflows/docs.yml", PAGES)
    output = init(folder)
    assert "left    docs.yml publishes a site with Pages" in output
    assert not (folder / ".github/workflows/speedrun-pages.yml").exists()
    assert not load_settings(folder).pages
    assert "/pages: source GitHub Actions" not in output


def test_settings_that_the_workflows_take(tmp_path: Path) -> None:
    folder = tmp_path / "race"
    write(
        folder,
        ".github/speedrun.toml",
        '[workflows]\nruns_on = "big-runner"\nschedule = "5 1 * * 1"\n',
    )
    init(folder, "--branch", "release/1.x")
    for path in (folder / ".github/workflows").iterdir():
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            assert job["runs-on"] == "big-runner"
    assert triggers(folder, "audit")["schedule"] == [{"cron": "5 1 * * 1"}]
    assert triggers(folder, "record")["pull_request_target"]["branches"] == ["release/1.x"]


def test_the_form_offers_tracks_by_title(tmp_path: Path) -> None:
    folder = tmp_path / "race"
    init(folder)
    form = yaml.safe_load((folder / ".github/ISSUE_TEMPLATE/submission.yml").read_text())
    (track,) = [field for field in form["body"] if field["id"] == "track"]
    assert (track["type"], track["attributes"]["options"]) == ("dropdown", ["Time to the target"])


def test_a_track_that_the_form_does_not_offer_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "race"
    init(folder)
    assert not any("does not offer" in line.text for line in doctor_lines(folder))
    init(folder, "--track", "second", "--objective", "pareto")
    (line,) = [line for line in doctor_lines(folder) if "does not offer" in line.text]
    assert line.bad and "Quality against compute" in line.text


def test_reviewers_are_who_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "race"
    init(folder, "--reviewer", "example-user", "--reviewer", "example-org/judges")
    owners = (folder / ".github/CODEOWNERS").read_text()
    assert "/.github/ @example-user @example-org/judges" in owners
    assert load_settings(folder).reviewers == ("example-user",)


def test_an_organisation_reviews_nothing(competition: Competition, tmp_path: Path) -> None:
    competition.github.add_user("example-org", "Organization")
    folder = tmp_path / "race"
    arguments = ["init", str(folder), "--repo", "example-org/race"]
    arguments += ["--wheel", str(a_wheel(tmp_path))]
    refused = CliRunner().invoke(main, arguments)
    assert refused.exit_code == 2
    assert "example-org is an organisation" in refused.output
    assert not (folder / ".github").exists()
    init(folder, "--reviewer", "example-org/judges", "--reviewer", "example-user")
    assert load_settings(folder).reviewers == ("example-user",)
    assert "organisation" not in init(folder)  # who reviews is settled


def test_an_owner_who_is_a_person_reviews(competition: Competition, tmp_path: Path) -> None:
    competition.github.add_user("example-org", "User")
    assert "unseen" not in init(tmp_path / "race")
    assert "/.github/ @example-org" in (tmp_path / "race/.github/CODEOWNERS").read_text()


def test_an_owner_that_github_does_not_tell_of(tmp_path: Path) -> None:
    assert "unseen  whether example-org is a person" in init(tmp_path / "race")


# ---- the bot that the workflows install ---------------------------------------------------------


def test_the_wheel_comes_along_with_its_hash(tmp_path: Path) -> None:
    folder = tmp_path / "race"
    init(folder)
    wheel = a_wheel(tmp_path)
    place = folder / ".github/speedrun"
    assert (place / wheel.name).read_bytes() == wheel.read_bytes()
    for lock in ("bot.txt", "site.txt", "publish.txt"):
        assert "--hash=sha256:" in (place / lock).read_text()
    assert [line.text for line in doctor_lines(folder) if "wheel" in line.text] == []
    (place / wheel.name).write_bytes(b"another")
    assert any("is not the file that" in line.text for line in doctor_lines(folder) if line.bad)


def doctor_lines(folder: Path) -> list[Any]:
    return examine(folder, None, load_settings(folder))


@pytest.mark.full("starts pip twice")
def test_pip_takes_the_wheel_by_its_hash_and_no_other(tmp_path: Path) -> None:
    """The very line that the action runs, with a wheel that pip can read."""
    from zipfile import ZipFile

    path = tmp_path / "speedrun_bot-9.9.9-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        info = "speedrun_bot-9.9.9.dist-info"
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: speedrun-bot\nVersion: 9.9.9\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    for name, content in from_wheel(path).files.items():
        write_bytes(tmp_path / name, content)
    place = tmp_path / ".github/speedrun"
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    command += ["--quiet", "--require-hashes", "--no-deps", "--no-index", "-r", "wheel.txt"]
    assert subprocess.run(command, cwd=place, capture_output=True).returncode == 0
    with ZipFile(place / path.name, "a") as archive:
        archive.writestr("bot/more.py", "")
    done = subprocess.run(command, cwd=place, capture_output=True, text=True)
    assert done.returncode == 1 and "DO NOT MATCH" in done.stderr


def write_bytes(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_the_wheel_that_a_competition_keeps_is_found(tmp_path: Path) -> None:
    other = tmp_path / ".github/speedrun/speedrun_bot-0.0.1-py3-none-any.whl"
    write_bytes(other, b"another version")
    assert kept(tmp_path) is None and kept(None) is None
    own = other.with_name(f"speedrun_bot-{__version__}-py3-none-any.whl")
    write_bytes(own, b"this version")
    assert kept(tmp_path) == own


def test_a_pin_has_to_resolve(competition: Competition) -> None:
    action = {".github/actions/setup/action.yml": "name: setup\n"}
    sha = competition.github.commit(REPO, "main", dict(action))
    repo = competition.as_job("evaluate")
    assert pinned(f"{REPO}@{sha}", repo).uses == f"{REPO}/.github/actions/setup@{sha}"
    bare = competition.github.commit(REPO, "main", {".github/actions/setup/action.yml": None})
    with pytest.raises(SourceError, match="not the bot"):
        pinned(f"{REPO}@{bare}", repo)
    with pytest.raises(Exception, match="not found"):
        pinned(f"{REPO}@{'0' * 40}", repo)


def test_upgrade_opens_one_pull_request(competition: Competition, tmp_path: Path) -> None:
    """From a maintainer's machine: old names go, what people keep stays."""
    root = competition.checkout()
    use = f"speedrun-bot/speedrun/.github/actions/setup@{'1' * 40}"
    old = f"jobs:\n  a:\n    steps:\n      - uses: {use}"
    made = {".github/workflows/verify.yml": old + "\n", ".github/CODEOWNERS": "# mine\n"}
    competition.github.commit(REPO, "main", dict(made))
    for name, text in made.items():
        write(root, name, text)
    arguments = ["upgrade", "--root", str(root), "--repo", REPO, "--wheel", str(a_wheel(tmp_path))]
    environment = {"GITHUB_TOKEN": "token-of-example-org"}
    for _ in range(2):
        result = CliRunner().invoke(main, arguments, env=environment)
        assert result.exit_code == 0, result.output
    (pull,) = competition.repo.pulls.values()
    listing = git.text(
        competition.repo.directory, "diff", "--name-status", pull.base_sha, pull.head_sha
    )
    changed = listing.splitlines()
    assert "D\t.github/workflows/verify.yml" in changed
    assert "A\t.github/workflows/speedrun-verify.yml" in changed
    assert "A\t.github/speedrun/speedrun_bot-0.1.0-py3-none-any.whl" in changed
    assert not any("CODEOWNERS" in line or "tracks/" in line for line in changed)


def test_upgrade_in_the_checkout_is_quiet_the_second_time(tmp_path: Path) -> None:
    folder = tmp_path / "race"
    init(folder)
    (folder / ".github/workflows/speedrun-verify.yml").write_text("name: old\n")
    newer = a_wheel(tmp_path, "0.2.0")
    arguments = ["upgrade", "--write", "--root", str(folder), "--repo", "example-org/race"]
    result = CliRunner().invoke(main, [*arguments, "--wheel", str(newer)])
    assert "removed .github/speedrun/speedrun_bot-0.1.0-py3-none-any.whl" in result.output
    assert "written .github/workflows/speedrun-verify.yml" in result.output
    again = CliRunner().invoke(main, [*arguments, "--wheel", str(newer)])
    assert again.output.endswith("nothing to change: this version is installed\n")
    assert "whether speedrun_bot-0.2.0-py3-none-any.whl is a release" in again.output


VARIANTS = tuple(
    itertools.product(
        ("wheel", "pinned"), ("pages", "no pages"), ("main", "release/1.x"), ("hosted", "big")
    )
)
"""Where the bot comes from, whether it builds the site, the branch, the runner."""


@pytest.mark.parametrize("variant", VARIANTS, ids=", ".join)
def test_every_variant_passes_the_linters(tmp_path: Path, variant: tuple[str, ...]) -> None:
    source, pages, branch, runner = variant
    folder = tmp_path / "race"
    repository(folder, branch)
    settings = f"[workflows]\npages = {str(pages == 'pages').lower()}\n"
    settings += 'schedule = "5 1 * * 1"\n' if pages == "pages" else ""
    if runner == "big":
        settings += 'runs_on = "big"\n'
        write(folder, ".github/actionlint.yaml", "self-hosted-runner:\n  labels: [big]\n")
    write(folder, ".github/speedrun.toml", settings)
    init(folder, "--objective", dict(zip(VARIANTS, OBJECTIVES * 4, strict=True))[variant])
    if source == "pinned":
        pin = Source(f"{HOME}/.github/actions/setup@{'0' * 40}")
        titles = titles_of(load_tracks(folder).values())
        target = Target("example-org/race", branch, pin, load_settings(folder), titles)
        for name, content in github_files(target).items():
            write_bytes(folder / name, content)
        shutil.rmtree(folder / ".github/speedrun")
    assert (folder / ".github/workflows/speedrun-pages.yml").exists() == (pages == "pages")
    for command in (
        [tool("zizmor"), "--offline", "--persona", "pedantic", ".github"],
        [tool("actionlint"), "-shellcheck", tool("shellcheck"), "-no-color"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr


def tool(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"needs {name} (make test-full installs it)")
    return found


def test_a_track_that_cannot_be_read_asks_for_no_key(tmp_path: Path) -> None:
    init(tmp_path)
    track = tmp_path / "tracks/my-track.toml"
    track.write_text(track.read_text().replace("title =", "titel ="))
    result = CliRunner().invoke(main, ["doctor", "--root", str(tmp_path)])
    assert 'unknown key "titel"' in result.output and "W&B key" not in result.output
