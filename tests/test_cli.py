"""The command line with only the package's own dependencies, without its extras."""

import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli import COMMANDS, EXTRAS

ROOT = Path(__file__).parents[1]
BARE = f"""
import sys
for name in {sorted(EXTRAS.keys() - {"numpy"})!r}:
    sys.modules[name] = None
from bot.cli import main
main(prog_name="speedrun")
"""


def bare(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command where no package of an extra can be imported; numpy comes with scipy."""
    command = [sys.executable, "-c", BARE, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)


def test_help_lists_every_command_without_the_extras() -> None:
    done = bare("--help")
    assert done.returncode == 0, done.stderr
    assert [name for name in COMMANDS if f"\n  {name} " not in done.stdout] == []


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [
        (("webhook",), "waitress", "bot"),
        (("doctor",), "requests", "bot"),
        (("check", "submissions/tutorial/baseline"), "wandb", "bot"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    arguments: tuple[str, ...], package: str, extra: str
) -> None:
    done = bare(*arguments)
    assert done.returncode == 2
    assert f"needs the package {package}; " in done.stderr
    assert f"pip install 'speedrun-bot[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_results_file_is_checked_without_the_extras() -> None:
    found = sorted((ROOT / "submissions/fineweb-edu").glob("*/speedrun_results.json"))
    done = bare("check", str(found[0]), "--track", "fineweb-edu")
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr
    assert "speedrun_results.json" in done.stdout
