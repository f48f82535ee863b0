"""Wheel and sdist in `dist/`, the same bytes wherever they are built, and their SHA256SUMS.

    python -m tests.dist [--tag v0.1.0]

`make dist` and the release workflow run it. With --tag it refuses a version that is not the tag's.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from bot import __version__

ROOT = Path(__file__).resolve().parents[1]


def build(out: Path) -> list[Path]:
    """Both files below `out`, dated as the last commit; and SHA256SUMS."""
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    os.environ["SOURCE_DATE_EPOCH"] = subprocess.check_output(command, text=True).strip()
    shutil.rmtree(out, ignore_errors=True)
    made = []
    for builder in (WheelBuilder, SdistBuilder):
        made += [
            Path(p) for p in builder(str(ROOT)).build(directory=str(out), versions=["standard"])
        ]
    sums = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in sorted(made)]
    (out / "SHA256SUMS").write_text("".join(sums), encoding="ascii")
    return sorted(made)


def main(command: list[str] | None = None) -> int:
    """Build and print the sums."""
    parser = argparse.ArgumentParser(description="Build wheel and sdist.")
    parser.add_argument("--tag", default="", help="The tag that is released.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    arguments = parser.parse_args(command)
    if arguments.tag not in ("", f"v{__version__}"):
        print(
            f"the tag is {arguments.tag}, expected v{__version__}: bot/__init__.py", file=sys.stderr
        )
        return 2
    build(arguments.out)
    print((arguments.out / "SHA256SUMS").read_text(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
