"""The board of a competition of somebody else: its own metrics, where more may be better."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from leaderboard_site.cli import build_site
from leaderboard_site.source import read_site
from tests.track_texts import highest_core

SIZE = """
[metrics.artifact_bytes]
label = "Artifact size"
unit = "bytes"
from = 'Total size: (\\d+)'
[significance]
margin = 0.002
"""
TRACK = highest_core(more=SIZE)


def write_entry(root: Path, name: str, core: float) -> None:
    folder = root / "submissions/core" / name
    folder.mkdir(parents=True)
    steps = [f"step {i}/1000 x loss: {3 - i / 1000:.4f} t: {i * 9.0}s" for i in range(0, 1001, 100)]
    tail = [f"Total size: {15_000_000 + round(1e4 * core)}", f"CORE metric: {core}"]
    (folder / "a.log").write_text("\n".join(["8 x NVIDIA H100 80GB HBM3", *steps, *tail]) + "\n")
    about = {
        "schema_version": 1,
        "track": "core",
        "title": f"Entry {name}",
        "summary": "A schedule that warms up for longer, and nothing else.",
        "contributors": [{"github": "example-user", "roles": ["code", "runs"]}],
        "hardware": {"accelerator": "h100-sxm", "count": 8},
        "runs": [{"source": "log", "path": "a.log"}],
    }
    (folder / "submission.json").write_text(json.dumps(about))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("open")
    (root / ".git").mkdir()
    (root / "tracks").mkdir()
    (root / "tracks/core.toml").write_text(TRACK)
    for name, core in (("first", 0.2565), ("second", 0.2602), ("third", 0.2571)):
        write_entry(root, name, core)
    build_site(read_site(root), root / "site")
    return root / "site"


def main_part(built: Path, page: str) -> str:
    text = (built / page).read_text(encoding="utf-8")
    return text.partition('<div class="sr')[2].partition("</article>")[0]


def words(part: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<svg.*?</svg>|<[^>]+>", " ", part, flags=re.S))


def test_the_greatest_value_leads_and_has_the_tracks_name(built: Path) -> None:
    page = words(main_part(built, "tracks/core/index.html"))
    assert "The record is 0.2602 by Entry second" in page
    table = main_part(built, "tracks/core/index.html").partition("<tbody>")[2]
    names = re.findall(r">Entry (\w+)</a>", table.partition("</tbody>")[0])
    assert names == ["second", "third", "first"]
    assert "0.2602" in page and "0.2571" in page and "0.2565" in page
    assert "15 002 602" in page.replace("\u202f", " "), "a metric of the track's own is a column"


def test_the_rules_say_what_counts_and_the_limits(built: Path) -> None:
    page = words(main_part(built, "tracks/core/index.html"))
    assert "Highest CORE counts, whatever it costs within the limits." in page
    assert "A record is beaten by at least 0.002." in page
    assert "Limits: training time at most 3 h. A run ends when its time is up." in page


def test_an_entry_shows_its_value_once(built: Path) -> None:
    page = main_part(built, "entries/core/third/index.html")
    head = page.partition("Findings")[0]
    assert head.count(">CORE<") == 1 and "Artifact size" in head


def test_the_script_gets_the_direction(built: Path) -> None:
    data = json.loads((built / "tracks/core/board.json").read_text(encoding="utf-8"))
    assert data["goals"] == ["max", "max"] and data["q"] == [0.2602, 0.2571, 0.2565]
