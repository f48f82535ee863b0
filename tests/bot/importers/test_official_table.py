"""The tables of a source's READMEs as `tracks/ID.records.json`."""

import json
from pathlib import Path

from click.testing import CliRunner

from bot.commands.importing import import_
from bot.importers import Origin
from bot.importers.modded_nanogpt import read_records
from bot.parse.records_json import read_official
from tests.bot.importers.nanogpt_cases import FOLDER, ORIGIN, log, put

ROOT = Path(__file__).resolve().parents[3]
HEAD = "| # | Record time | Description | Date | Log | Contributors |\n| - | - | - | - | - | - |\n"
LOG = "[log](records/track_1_short/2025-12-21_SmoothedScalars/a.txt)"
AGAIN = "[log](records/track_1_short/2025-12-24_Again/b.txt)"
STEPS = "| # | Steps to 3.28 | Evidence | Date | Log |\n| - | - | - | - | - |\n"


def tables(root, **files):
    put(root, **{FOLDER + "a.txt": log(1), **files})
    return {t: json.loads(d) for t, d in read_records(root, None, ORIGIN).tables}


def test_every_row_of_the_table_is_kept(tmp_path):
    readme = (
        HEAD
        + "1 | 45 minutes | Words | 05/28/24 | [log](https://example.org/gist) | @one\n"
        + f"52 | 2.037 minutes | Words | 12/21/25 | {LOG} "
        + "[PR](https://github.com/example/board/pull/177) | @one, @two\n"
        + f"52 | 2.1 minutes | re-timing of it | 12/24/25 | {AGAIN} | @three\n"
    )
    found = tables(tmp_path, **{"README.md": readme})["nanogpt-small"]
    assert found["source"] == {
        "repository": ORIGIN.url,
        "file": "README.md",
        "commit": ORIGIN.commit,
    }
    first, last = found["records"]
    assert first == {
        "number": 1,
        "date": "2024-05-28",
        "cost": 2700.0,
        "resolution": 30.0,
        "contributors": ["one"],
    }
    assert last["submission"].startswith("2025-12-21_smoothedscalars-")
    assert last["retimings"] == [{"date": "2025-12-24", "cost": 126.0}]
    assert (last["cost"], last["pull_requests"]) == (122.22, [177])
    assert "Words" not in json.dumps(found)


def test_a_result_in_steps_that_beats_nothing_is_no_record(tmp_path):
    place = "records/track_3_optimization/"
    rows = [(1, 1500), (2, 1600), (3, 1400)]
    text = STEPS + "".join(
        f"| {n} | {steps} | 3.2780 (n=2) | 2026/05/0{n} | [log](results/x{n}/a.txt) |\n"
        for n, steps in rows
    )
    found = tables(tmp_path, **{place + "README.md": text})["nanogpt-optimization"]
    assert [r.get("record", True) for r in found["records"]] == [True, False, True]
    assert found["source"]["file"] == place + "README.md"


def test_without_a_commit_there_is_no_table(tmp_path):
    put(tmp_path, **{FOLDER + "a.txt": log(1), "README.md": f"{HEAD}1 | 1 minute | | | {LOG} | @a"})
    assert read_records(tmp_path, None, Origin(ORIGIN.url)).tables == ()


def test_the_file_on_hand_follows_from_its_table(tmp_path):
    """A table that prints what tracks/nanogpt-small.records.json says gives the same facts."""
    known = read_official(ROOT / "tracks" / "nanogpt-small.records.json", "nanogpt-small").records
    lines = [row(r, r.cost, r.date) for r in known]
    lines += [
        f"{r.number} | {cost / 60:.4f} minutes | re-timing | {day} | {link(r)} | @a\n"
        for r in known
        for day, cost in r.retimings
    ]
    put(tmp_path, **{FOLDER + "a.txt": log(1), "README.md": HEAD + "".join(lines)})
    ((_, data),) = read_records(tmp_path, None, ORIGIN).tables
    found = tmp_path / "found.records.json"
    found.write_bytes(data)
    again = read_official(found, "nanogpt-small").records
    facts = ("number", "date", "cost", "contributors", "pull_requests", "log", "retimings")
    assert [tuple(getattr(r, k) for k in facts) for r in again] == [
        tuple(getattr(r, k) for k in facts) for r in known
    ]


def link(record):
    return f"[log]({record.log})" if record.log else "[log](https://example.org/none)"


def row(record, cost, date):
    pulls = " ".join(f"[PR](https://github.com/a/b/pull/{n})" for n in record.pull_requests)
    people = ", ".join(f"@{name}" for name in record.contributors)
    cells = (record.number, f"{cost / 60:.4f} minutes", "", date, link(record) + pulls, people)
    return " | ".join(map(str, cells)) + "\n"


def test_the_command_writes_a_table_once_and_keeps_an_edited_one(tmp_path):
    readme = f"{HEAD}52 | 2.037 minutes | Words | 12/21/25 | {LOG} | @one\n"
    src = put(tmp_path / "src", **{FOLDER + "a.txt": log(1), "README.md": readme})
    out = tmp_path / "out"
    asked = ["modded-nanogpt", str(src), "--out", str(out), "--commit", "c" * 40]
    answer = CliRunner().invoke(import_, asked)
    target = out / "tracks" / "nanogpt-small.records.json"
    assert f"{target}: 1 rows of the official table" in answer.output
    assert read_official(target, "nanogpt-small").records[0].cost == 122.22
    target.write_text(target.read_text().replace("122.22", "122.3"))
    answer = CliRunner().invoke(import_, asked)
    assert f"kept      {target}" in answer.output
    assert read_official(target, "nanogpt-small").records[0].cost == 122.3
