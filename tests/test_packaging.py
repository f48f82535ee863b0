"""What the wheel holds, and that the lock files hold what the extras ask for."""

import hashlib
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests import dist
from tests.dist import build

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def names(requirements: list[str]) -> set[str]:
    found = (re.match(r"[A-Za-z0-9._-]+", line) for line in requirements)
    return {re.sub(r"[-_.]+", "-", match[0]).lower() for match in found if match}


@pytest.mark.parametrize("extra", ["bot", "site"])
def test_the_lock_file_covers_the_extra(extra: str) -> None:
    lock = (ROOT / f".github/requirements/{extra}.txt").read_text()
    locked = names(re.findall(r"^[A-Za-z0-9._-]+==", lock, re.MULTILINE))
    wanted = names(PYPROJECT["dependencies"] + PYPROJECT["optional-dependencies"][extra])
    assert wanted <= {name.removesuffix("==").rstrip("-") for name in locked}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    from hatchling.builders.wheel import WheelBuilder

    out = tmp_path_factory.mktemp("wheel")
    path = next(iter(WheelBuilder(str(ROOT)).build(directory=str(out), versions=["standard"])))
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


@pytest.mark.parametrize(
    ("folder", "inside"),
    [
        ("schemas", "bot/schemas"),
        (".github/requirements", "bot/github/host/requirements"),
        ("bot", "bot"),
        ("reference_trainer", "reference_trainer"),
        ("leaderboard_site", "leaderboard_site"),
    ],
)
def test_the_wheel_holds_every_file_that_git_holds(
    wheel: set[str], folder: str, inside: str
) -> None:
    files = {
        path.relative_to(ROOT / folder).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
        and not {"__pycache__", "node_modules"} & set(path.parts)
        and path.suffix in {".py", ".json", ".toml", ".md", ".j2", ".yml", ".js", ".css", ".txt"}
        and "docs/generated" not in path.as_posix()
    }
    assert len(files) >= 2
    assert {name for name in files if f"{inside}/{name}" not in wheel} == set()


@pytest.mark.full("builds each package twice")
def test_a_release_is_the_same_bytes_twice_and_says_their_sums(tmp_path: Path) -> None:
    made = [build(tmp_path / name) for name in ("one", "two")]
    assert [p.suffix for p in made[0]] == [".whl", ".gz"]
    sums = (tmp_path / "one" / "SHA256SUMS").read_text()
    assert sums == (tmp_path / "two" / "SHA256SUMS").read_text()
    for path in made[0]:
        assert f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" in sums


def test_a_tag_that_is_not_the_version_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert dist.main(["--tag", "v999.0.0"]) == 2
    assert "expected v" in capsys.readouterr().err


@pytest.mark.full("a process for each module; test_architecture finds circles in every run")
def test_every_module_of_the_bot_can_be_the_first_that_is_imported() -> None:
    """One that only works after another breaks the command that imports it first."""
    names = sorted(
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in (ROOT / "bot").rglob("*.py")
    )
    assert len(names) > 50
    done = subprocess.run(
        [sys.executable, "-c", EACH_ALONE, *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


# A child for each module; what is not ours is imported before, so that a child is quick.
EACH_ALONE = """
import importlib, os, sys
for outside in ("click", "jinja2", "github", "flask", "requests"):
    importlib.import_module(outside)
for name in sys.argv[1:]:
    if (child := os.fork()) == 0:
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(f"{name}: {error}", flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(name)
"""
