"""What `init` makes of repositories that are not empty, and what `doctor` sees of set-ups."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from bot.cli import main
from bot.github.api.client import connect, open_repo
from bot.github.host.doctor import examine
from bot.github.host.files import Target, github_files, titles_of
from bot.github.host.settings import load_settings
from bot.github.host.source import HOME, OWN, Source, SourceError, from_wheel, pinned
from bot.parse.track_toml import load_tracks
from tests.bot.github.competition import BOT, REPO, Competition
from tests.bot.github.test_hosting import environments, init, well_set_up
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


# ---- the bot that the workflows install ---------------------------------------------------------


def test_the_wheel_comes_along_with_its_hash(tmp_path: Path) -> None:
    folder = tmp_path / "race"
    init(folder)
    wheel = a_wheel(tmp_path)
    place = folder / ".github/speedrun"
    assert (place / wheel.name).read_bytes() == wheel.read_bytes()
    for lock in ("bot.txt", "site.txt"):
        assert "--hash=sha256:" in (place / lock).read_text()
    assert [line.text for line in doctor_lines(folder) if "wheel" in line.text] == []
    (place / wheel.name).write_bytes(b"another")
    assert any("is not the file that" in line.text for line in doctor_lines(folder) if line.bad)


def doctor_lines(folder: Path) -> list[Any]:
    return examine(folder, None, load_settings(folder))


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
    assert again.output == "nothing to change: this version is installed\n"


@pytest.mark.parametrize("variant", ["wheel", "pinned", "no pages", "branch"])
def test_every_variant_passes_the_linters(tmp_path: Path, variant: str) -> None:
    folder = tmp_path / "race"
    repository(folder, "release/1.x" if variant == "branch" else "main")
    if variant == "no pages":
        write(folder, ".github/speedrun.toml", '[workflows]\npages = false\nruns_on = "big"\n')
        write(folder, ".github/actionlint.yaml", "self-hosted-runner:\n  labels: [big]\n")
    init(folder)
    if variant == "pinned":
        source = Source(f"{HOME}/.github/actions/setup@{'0' * 40}")
        for name, content in github_files(Target(REPO, "main", source)).items():
            write_bytes(folder / name, content)
        shutil.rmtree(folder / ".github/speedrun")
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


# ---- doctor: recorded configurations ------------------------------------------------------------

Change = Callable[[dict[str, Any], Path], None]


def other_branch(settings: dict[str, Any], _: Path) -> None:
    include = ["refs/heads/release"]
    settings["rulesets"][0]["conditions"]["ref_name"]["include"] = include


def only_evaluated(settings: dict[str, Any], _: Path) -> None:
    settings["rulesets"][0]["enforcement"] = "evaluate"


def classic(settings: dict[str, Any], _: Path) -> None:
    settings["rulesets"] = []
    checks = [{"context": "speedrun", "app_id": 4242}]
    required = {"checks": checks, "contexts": ["speedrun"], "strict": False}
    settings["protection"] = {"main": {"required_status_checks": required}}


def no_environment(settings: dict[str, Any], _: Path) -> None:
    settings["environments"] = environments("wandb-read")


def every_branch(settings: dict[str, Any], _: Path) -> None:
    settings["environments"] = environments("wandb-read", "publish", branches=False)


def no_pages(settings: dict[str, Any], root: Path) -> None:
    del settings["pages"]
    write(root, ".github/speedrun.toml", "[workflows]\npages = false\n")


def logs_only(settings: dict[str, Any], root: Path) -> None:
    del settings["environment_secrets"]
    for path in (root / "tracks").glob("*.toml"):
        text = path.read_text().replace('accepts = ["log", "wandb"]', 'accepts = ["log"]')
        path.write_text(text.replace('accepts = ["wandb"]', 'accepts = ["log"]'))


def an_organisation(settings: dict[str, Any], root: Path) -> None:
    write(root, ".github/speedrun.toml", '[bot]\nreviewers = ["big-org"]\n')


def forks_allowed(settings: dict[str, Any], _: Path) -> None:
    parameters = settings["rulesets"][0]["rules"][0]["parameters"]
    parameters["required_status_checks"] = [{"context": "speedrun"}]


def no_owners(settings: dict[str, Any], root: Path) -> None:
    (root / ".github/CODEOWNERS").write_text("/.github/ @example-org\n")


CONFIGURATIONS: dict[str, tuple[Change, tuple[str, ...]]] = {
    "as it should be": (lambda s, r: None, ()),
    "a ruleset of another branch": (other_branch, ("nothing requires the check",)),
    "a ruleset that is only evaluated": (only_evaluated, ("nothing requires the check",)),
    "classic protection": (classic, ()),
    "no environment": (no_environment, ("there is no environment publish",)),
    "an environment for every branch": (every_branch, ("every branch may use",)),
    "another site": (no_pages, ()),
    "logs only": (logs_only, ()),
    "an organisation as reviewer": (an_organisation, ("is an organisation",)),
    "workflows of forks run freely": (forks_allowed, ("can forge the check",)),
    "tracks without an owner": (no_owners, ("nobody owns",)),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_doctor_on_recorded_configurations(competition: Competition, wandb: Any, name: str) -> None:
    root = well_set_up(competition)
    competition.github.add_user("big-org", "Organization")
    change, wrong = CONFIGURATIONS[name]
    change(competition.repo.settings, root)
    found = look(competition, root, "token-of-admin")
    said = [line.text.splitlines()[0] for line in found if line.bad]
    for words in wrong:
        assert any(words in line for line in said), (words, said)
    if "nothing requires" in str(wrong):
        wrong = (*wrong, "can forge the check")
    assert [line for line in said if not any(words in line for words in wrong)] == []
    # no release has the hash of the stand-in, and nothing answers where releases are asked for
    unseen = [line.text for line in found if line.unknown and "was released" not in line.text]
    assert unseen == []


def look(competition: Competition, root: Path, token: str) -> list[Any]:
    repo = open_repo(connect(token, url=competition.github.url), REPO, BOT)
    return examine(root, repo, load_settings(root))


def test_what_a_token_cannot_see_is_unknown_and_neither_ok_nor_wrong(
    competition: Competition, wandb: Any
) -> None:
    root = well_set_up(competition)
    competition.repo.settings["rulesets"] = []
    competition.github.add_token("token-of-little", BOT, REPO, contents="read")
    found = look(competition, root, "token-of-little")
    hidden = "\n".join(line.text for line in found if line.unknown)
    for words in ("environments", "permissions", "classic protection"):
        assert words in hidden
    for line in found:
        if "environment" in line.text or "requires the check" in line.text:
            assert line.unknown and not line.bad, line.text


def test_an_odd_answer_is_unknown(competition: Competition, wandb: Any) -> None:
    root = well_set_up(competition)
    competition.repo.settings["environments"] = {"total_count": 1, "environments": [{"name": None}]}
    competition.github.violations.clear()
    found = look(competition, root, "token-of-admin")
    assert any("there is no environment" in line.text for line in found if line.bad)
    competition.github.violations.clear()


def test_exit_status_tells_wrong_from_unseen(competition: Competition, wandb: Any) -> None:
    root = well_set_up(competition)
    arguments = ["doctor", "--root", str(root), "--repo", REPO]
    environment = {**os.environ, "GITHUB_TOKEN": "token-of-admin"}
    assert CliRunner().invoke(main, arguments, env=environment).exit_code == 3
    competition.repo.settings["environments"] = environments()
    result = CliRunner().invoke(main, arguments, env=environment)
    assert result.exit_code == 1, result.output
