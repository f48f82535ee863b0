"""Competitions of which only a table is public: their rows are claims, and a new entry ranks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.commands.board import boards
from bot.model.track import TrackError
from bot.parse.track_toml import load_track

# Numbers of two public tables; the descriptions are placeholders, with a bar in one of them.
NANOCHAT = """
# A chat model

| # | time | val_bpb | CORE | Description | Date | Commit | Contributors |
|---|-------------|---------|------|-------------|------|--------|--------------|
| 0 | 168 hours | - | 0.2565 | the model to reach | 2019 | - | Somebody |
| 1 | 3.04 | 0.74833 | 0.2585 | 24 layers | Jan 29 2026 | 348fbb3 | @example-user |
| 2 | 2.91 | 0.74504 | 0.2578 | 26 layers **+fp8** | Feb 2 2026 | a67eba3 | @example-user |
| 5 | 1.80 | 0.71808 | 0.2690 | [round 1](https://example.org) | Mar 9 2026 | 6ed7d1d | @a @b |
| 6 | 1.65 | 0.71800 | 0.2626 | round 2 | Mar 14 2026 | a825e63 | @example-user |

After the table.
"""
SLOWRUN = r"""
### Limited Compute Track (1 hour)

| # | Val Loss | Description | Date | Time | Contributors |
| - | - | - | - | - | - |
1 | 3.402 | the beginning, a \| b | 02/26/26 | \~47 mins | [@example-user](https://example.org)
4 | 3.335 | another | 03/01/26 | 52.1 mins | [@example-user](https://example.org)
20 | 3.195 | 5 things | 04/26/26 | 59.0 mins | [@example-user](https://example.org)

### Unlimited Compute Track

| # | Val Loss | Description | Date | Time | Contributors |
| - | - | - | - | - | - |
1 | 2.987 | many models | 05/28/26 | 80 hours (5 nodes) | [@example-user](https://example.org)
"""
TRACKS = {
    "nanochat": r"""
schema_version = 1
id = "nanochat"
title = "Time to a CORE score"
objective = "target"
[quality]
metric = "core"
goal = "max"
target = 0.256525
[cost]
metric = "minutes"
unit = "min"
[metrics.core]
label = "CORE"
goal = "max"
digits = 4
from = ["core_metric", '^Step \d+ \| CORE metric: ([0-9.]+)']
[metrics.minutes]
label = "Training time"
unit = "min"
digits = 2
from = ['^Total training time: ([0-9.]+)m']
[significance]
test = "none"
[log]
patterns = [
  '^step (?P<step>\d+)/(?P<total>\d+) .*\| loss: (?P<train_loss>[0-9.]+) ',
  '^Step (?P<step>\d+) \| Validation bpb: (?P<loss>[0-9.]+)',
]
[evidence]
accepts = ["log", "wandb"]
""",
    "slowrun": r"""
schema_version = 1
id = "slowrun"
title = "Lowest loss in an hour"
objective = "best"
[quality]
metric = "loss"
[metrics.minutes]
label = "Training time"
unit = "min"
from = ['^Total training time: ([0-9.]+)m']
[limits]
minutes = 60
[finish]
by = "time-limit"
[log]
patterns = ['^Step (?P<step>\d+) \|(?: Epoch \d+ \|)? Val BPB: \S+ \| Val Loss: (?P<loss>\S+)']
[evidence]
accepts = ["log"]
""",
}


def nanochat_log(core: str, minutes: str = "97.20") -> str:
    lines = []
    for step in range(0, 6000, 1000):
        lines.append(
            f"step {step:05d}/06000 ({step / 60:.2f}%) | loss: {3 - step / 9000:.6f} | lrm: 1.00 | "
            f"dt: 650.12ms | tok/sec: 800,000 | bf16_mfu: 50.00 | total time: {step / 62:.2f}m"
        )
        lines.append(f"Step {step:05d} | Validation bpb: {1 - step / 24000:.6f}")
    lines += ["Step 06000 | Validation bpb: 0.717000", f"Step 06000 | CORE metric: {core}"]
    return "\n".join([*lines, f"Total training time: {minutes}m"]) + "\n"


def slowrun_log(loss: str, minutes: str = "58.90") -> str:
    lines = [f"Step {s:05d} | Epoch {s} | Val BPB: 1.1 | Val Loss: {4 - s / 10}" for s in (1, 2, 3)]
    lines.append(f"Step 00004 | Epoch 4 | Val BPB: 1.0 | Val Loss: {loss}")
    return "\n".join([*lines, f"Total training time: {minutes}m"]) + "\n"


def host(root: Path, track: str, table: str, *options: str) -> Path:
    (root / "tracks").mkdir()
    (root / ".git").mkdir()
    (root / f"tracks/{track}.toml").write_text(TRACKS[track])
    (root / "README.md").write_text(table)
    address = ("--url", "https://github.com/example-user/source")
    args = ["import", "table", str(root / "README.md"), "--track", track, "--out", str(root)]
    done = CliRunner().invoke(main, [*args, *address, *options])
    assert done.exit_code == 0, done.output
    assert "they are shown on the board and never rank" in done.output
    return root


def enter(root: Path, track: str, name: str, log: str) -> None:
    folder = root / "submissions" / track / name
    folder.mkdir(parents=True)
    (folder / "run.log").write_text(log)
    data: dict[str, Any] = {"schema_version": 1, "track": track, "title": name}
    data |= {"summary": "By hand, in the format of the source.", "contributors": []}
    data["contributors"] = [{"github": "example-user", "roles": ["code"]}]
    data["runs"] = [{"source": "log", "path": "run.log"}]
    (folder / "submission.json").write_text(json.dumps(data))


def test_rows_are_kept_as_written_in_the_order_of_the_table(tmp_path: Path) -> None:
    table = load_track(host(tmp_path, "nanochat", NANOCHAT) / "tracks/nanochat.toml").claimed
    assert table.columns == ("time", "val_bpb", "CORE")
    assert [row.number for row in table.rows] == [0, 1, 2, 5, 6]
    assert table.rows[0].values == {"time": "168 hours", "CORE": "0.2565"}
    assert table.rows[3].values["CORE"] == "0.2690" and table.rows[3].contributors == ("a", "b")
    assert table.rows[1].date == "2026-01-29" and table.rows[0].date is None
    text = (tmp_path / "tracks/nanochat.claimed.json").read_text()
    assert "layers" not in text and "round" not in text and "348fbb3" not in text


def test_a_heading_chooses_among_several_tables(tmp_path: Path) -> None:
    root = host(tmp_path, "slowrun", SLOWRUN, "--heading", "limited compute")
    table = load_track(root / "tracks/slowrun.toml").claimed
    assert table.columns == ("Val Loss", "Time")
    assert [row.values["Val Loss"] for row in table.rows] == ["3.402", "3.335", "3.195"]
    assert table.rows[0].values["Time"] == "~47 mins"


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        (SLOWRUN, [], 'has 2 tables like that, expected one'),
        (SLOWRUN, ["--heading", "Tiny"], 'headings: "Limited Compute Track (1 hour)"'),
        ("# Nothing\n", [], "has 0 tables like that"),
        ("| # | Notes |\n|-|-|\n| 1 | good |\n", [], "no column of the table"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_told_is_refused(
    tmp_path: Path, table: str, options: list[str], words: str
) -> None:
    (tmp_path / "README.md").write_text(table)
    address = ["--url", "https://github.com/example-user/source"]
    args = ["import", "table", str(tmp_path / "README.md"), "--track", "t", "--out", str(tmp_path)]
    done = CliRunner().invoke(main, [*args, *address, *options])
    assert done.exit_code == 2 and words in done.output
    assert not (tmp_path / "tracks").exists()


def test_larger_is_better_and_claims_neither_rank_nor_hold_a_record(tmp_path: Path) -> None:
    """A claimed row of 1.65 hours does not keep an entry of 97.2 minutes from the record."""
    root = host(tmp_path, "nanochat", NANOCHAT)
    enter(root, "nanochat", "reached", nanochat_log("0.2612"))
    enter(root, "nanochat", "slower", nanochat_log("0.2570", "120.00"))
    enter(root, "nanochat", "missed", nanochat_log("0.2560", "60.00"))
    found = boards(root, None, only="nanochat", jobs=1)
    board = found.boards["nanochat"]
    assert [e.submission.rpartition("/")[2] for e in board.entries] == ["reached", "slower"]
    assert [e.cost for e in board.entries] == [97.2, 120.0]
    assert board.record is not None and board.record.submission.endswith("reached")
    assert all(step.previous is None or step.previous > 0 for step in board.records)
    missed = next(v for v in found.verdicts if v.submission.endswith("missed"))
    assert "target-missed" in {f.rule for f in missed.findings if f.level == "error"}


def test_the_lowest_loss_within_the_limit_ranks(tmp_path: Path) -> None:
    root = host(tmp_path, "slowrun", SLOWRUN, "--heading", "Limited Compute")
    enter(root, "slowrun", "higher", slowrun_log("3.30"))
    enter(root, "slowrun", "lower", slowrun_log("3.19"))
    enter(root, "slowrun", "too-long", slowrun_log("3.00", "60.10"))
    found = boards(root, None, only="slowrun", jobs=1)
    entries = found.boards["slowrun"].entries
    assert [e.submission.rpartition("/")[2] for e in entries] == ["lower", "higher"]
    late = next(v for v in found.verdicts if v.submission.endswith("too-long"))
    assert {f.rule for f in late.findings if f.level == "error"} == {"limit-exceeded"}


@pytest.mark.full("builds the site")
def test_the_page_shows_them_apart(tmp_path: Path) -> None:
    root = host(tmp_path, "slowrun", SLOWRUN, "--heading", "Limited Compute")
    enter(root, "slowrun", "lower", slowrun_log("3.19"))
    out = tmp_path / "site"
    done = CliRunner().invoke(main, ["site", "build", "--root", str(root), "--out", str(out)])
    assert done.exit_code == 0, done.output
    page = (out / "tracks/slowrun/index.html").read_text()
    board, claimed = page.index('class="board"'), page.index('id="claimed"')
    assert board < claimed
    assert "3.402" not in page[board:claimed] and "3.19" in page[board:claimed]
    shown = re.findall(r"<td class=\"num\">(3\.\d+)</td>", page[claimed:])
    assert shown == ["3.402", "3.335", "3.195"]
    assert "none ranks, and none is a record" in page[claimed:]


def test_a_file_that_is_none_of_ours_is_refused(tmp_path: Path) -> None:
    root = host(tmp_path, "nanochat", NANOCHAT)
    (root / "tracks/nanochat.claimed.json").write_text('{"schema_version": 2}')
    with pytest.raises(TrackError, match=r"claimed\.json: schema_version is 2, we know 1"):
        load_track(root / "tracks/nanochat.toml")
