"""Rows of a README's record tables."""

from pathlib import PurePosixPath

import pytest

from bot.importers.records_table import read_tables

HEAD = "| # | Record time | Description | Date | Log | Contributors |\n|---|---|---|---|---|---|\n"
LOG = "[log](records/a/b.txt)"


def facts(tmp_path, row, head=HEAD):
    path = tmp_path / "README.md"
    path.write_text(f"# Title\n\nWords | with | bars\n\n{head}{row}\n\nMore words.\n")
    found = read_tables(path, PurePosixPath())
    return found.get("records/a/b.txt")


@pytest.mark.parametrize(
    "text, seconds, resolution",
    [
        ("45 minutes", 2700.0, 30.0),
        ("4.66 minutes", 279.6, 0.3),
        ("2.992 minutes", 179.52, 0.03),
        ("25.95 minutes*", 1557.0, 0.3),
        ("59.5 seconds", 59.5, 0.05),
    ],
)
def test_times_carry_their_resolution(tmp_path, text, seconds, resolution):
    found = facts(tmp_path, f"7 | {text} | words | 10/18/24 | {LOG} | @a")
    assert found["time_s"] == pytest.approx(seconds)
    assert found["time_resolution_s"] == pytest.approx(resolution)


@pytest.mark.parametrize(
    "text, date",
    [
        ("10/18/24", "2024-10-18"),
        ("2026/05/01", "2026-05-01"),
        ("2026-05-01", "2026-05-01"),
        ("soon", None),
        ("13/45/24", None),
    ],
)
def test_dates(tmp_path, text, date):
    assert facts(tmp_path, f"7 | 1 minute | words | {text} | {LOG} | @a").get("date") == date


def test_a_bar_in_the_description_shifts_nothing(tmp_path):
    found = facts(tmp_path, f"| 7 | 3 minutes | a | b | c | 10/18/24 | {LOG} | @a |")
    assert (found["number"], found["date"]) == (7, "2024-10-18")
    assert found["contributors"] == [{"name": "a"}]


def test_a_re_timing_is_no_record(tmp_path):
    row = f"21 | 3.014 minutes | again | 05/24/25 | {LOG} | not a new record, re-timing #21 by @a"
    found = facts(tmp_path, row)
    assert (found["retimes"], "number" in found, "contributors" in found) == (21, False, False)


def test_people_are_names_unless_the_table_links_to_a_login(tmp_path):
    people = "@a, [@b](https://github.com/b-login), [@c](https://x.com/c), @d.bsky.social, m@n.org"
    assert facts(tmp_path, f"7 | 1 minute | w | 10/18/24 | {LOG} | {people}")["contributors"] == [
        {"name": "a"},
        {"name": "b", "github": "b-login"},
        {"name": "c"},
        {"name": "d.bsky.social"},
    ]


def test_steps_and_evidence(tmp_path):
    head = "| # | Steps to 3.28 | Evidence | Date | Log |\n|-|-|-|-|-|\n"
    found = facts(tmp_path, f"| 6 | 3375(!) | 3.2788 (n=20)✓ | 2026/05/01 | {LOG} |", head)
    assert found["steps"] == 3375
    assert found["claims"] == {"loss": {"mean": 3.2788, "n": 20}}


@pytest.mark.parametrize("link", ["../../../etc/passwd", "/etc/passwd", "https://example.org/b"])
def test_links_out_of_the_repository_are_nothing(tmp_path, link):
    path = tmp_path / "README.md"
    path.write_text(f"{HEAD}7 | 1 minute | w | 10/18/24 | [log]({link}) | @a\n")
    assert read_tables(path, PurePosixPath("records")) == {}


def test_no_readme_no_tables(tmp_path):
    assert read_tables(tmp_path / "README.md", PurePosixPath()) == {}
    (tmp_path / "README.md").write_bytes(b"\xff\xfe| date | log |\n" * 3)
    assert read_tables(tmp_path / "README.md", PurePosixPath()) == {}
