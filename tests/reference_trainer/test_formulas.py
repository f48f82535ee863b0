"""The trainer finds the bot's formulas by path: a `bot.py` of the user's own does no harm."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable

import pytest

from reference_trainer import starters
from reference_trainer.formulas import accelerators, accounting
from tests.reference_trainer.conftest import ROOT, need

Install = Callable[[pathlib.Path], tuple[str, dict[str, str]]]


def checkout(folder: pathlib.Path) -> tuple[str, dict[str, str]]:
    return sys.executable, {"PYTHONPATH": str(ROOT)}


def editable(folder: pathlib.Path) -> tuple[str, dict[str, str]]:
    """A fresh environment with the line that an editable install leaves in it."""
    venv.create(folder / "venv", symlinks=True)
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    here = [p for p in sys.path if p.endswith("site-packages")]
    lines = [str(ROOT), *here, sysconfig.get_path("purelib")]
    (packages / "_speedrun.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / "venv" / "bin" / "python"), {}


def wheel(folder: pathlib.Path) -> tuple[str, dict[str, str]]:
    builders = pytest.importorskip("hatchling.builders.wheel", reason="needs hatchling")
    built = builders.WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(next(iter(built))) as archive:
        archive.extractall(folder / "installed")
    return sys.executable, {"PYTHONPATH": str(folder / "installed")}


@pytest.mark.parametrize(
    "install",
    [
        pytest.param(checkout, marks=pytest.mark.full("starts two processes")),
        pytest.param(editable, marks=pytest.mark.full("makes an environment")),
        wheel,
    ],
)
def test_a_bot_module_beside_the_starter_is_not_imported(
    install: Install, tmp_path: pathlib.Path
) -> None:
    need("jax")
    python, settings = install(tmp_path)
    mine = tmp_path / "mine"
    starters.copy_starter("jax", mine, track="tutorial")
    (mine / "bot.py").write_text("print(1)\n", encoding="utf-8")
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    for command in (["main.py"], ["-m", "reference_trainer"]):
        done = subprocess.run(
            [python, *command, "--dry-run"],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=mine,
            env={**clean, **settings},
        )
        assert done.returncode == 0, done.stderr
        assert "model FLOPs" in done.stdout and "1\n" not in done.stdout.splitlines(True)


def test_the_formulas_are_the_bots() -> None:
    from bot.compute import accelerators as theirs
    from bot.compute import accounting as formulas

    assert accounting.__file__ == formulas.__file__
    assert accelerators.__file__ == theirs.__file__
