"""The boards of the imported competitions against their official tables, entry by entry.

`tests/golden/nanogpt_records.json` is a compact copy of facts of the public table, made apart from
`tracks/*.records.json`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.model.verdict import Verdict
from leaderboard_site.model import Item, Site, TrackBoard
from leaderboard_site.pages import story
from leaderboard_site.pages.entry import Lineage, entry_page
from leaderboard_site.source import read_site

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "nanogpt_records.json").read_text("utf-8"))
TRACKS = {1: "nanogpt-small", 2: "nanogpt-medium"}
ON_FILE = {"nanogpt-small": (52, 89), "nanogpt-medium": (11, 18)}


@pytest.fixture(scope="module")
def site(own_verdicts: tuple[Verdict, ...]) -> Site:
    """The repository's own site."""
    return read_site(ROOT, verdicts=own_verdicts)


def rows(track: str) -> list[dict[str, Any]]:
    """The official rows of a track as dicts, in order of number."""
    named = [dict(zip(GOLDEN["columns"], r, strict=True)) for r in GOLDEN["records"]]
    return sorted((r for r in named if TRACKS[r["track"]] == track), key=lambda r: r["number"])


def item_of(board: TrackBoard, folder: str) -> Item:
    """The entry that was imported from a folder."""
    path = f"records/{folder}"
    return next(
        i for i in board.items.values() if i.about and (i.about.imported or {})["path"] == path
    )


@pytest.mark.parametrize("track", TRACKS.values())
def test_records_and_order_are_the_official_ones(site: Site, track: str) -> None:
    board = site.tracks[track]
    known = {row["number"]: row for row in rows(track)}
    shown = {step.number: step for step in board.board.records}
    ranked = [n for n, row in known.items() if item_of(board, row["folder"]).places]
    assert list(shown) == ranked == sorted(ranked)
    for number, step in shown.items():
        assert step.cost == known[number]["time_s"], number
        assert step.date == known[number]["date"], number
        assert step.submission == item_of(board, known[number]["folder"]).path
    places = [board.steps[e.submission].number for e in board.board.entries]
    assert places == sorted(ranked, reverse=True)


@pytest.mark.parametrize("track", TRACKS.values())
def test_what_is_no_record_here_says_why(site: Site, track: str) -> None:
    board = site.tracks[track]
    missing = [r for r in rows(track) if not item_of(board, r["folder"]).places]
    whys = {r["number"]: item_of(board, r["folder"]).unranked[0] for r in missing}
    expected = {
        1: "its evidence states no training time",
        2: "its evidence states no training time",
        21: "its validation loss 3.2808 misses the target 3.28",
    }
    assert whys == (expected if track == "nanogpt-small" else {})


@pytest.mark.parametrize("track", TRACKS.values())
def test_the_table_on_file_is_the_official_one(site: Site, track: str) -> None:
    table = site.tracks[track].track.official
    assert table.commit == GOLDEN["commit"]
    on_file = {r.number: r for r in table.records if r.submission}
    assert (len(on_file), len(table.records)) == ON_FILE[track]
    known = {row["number"]: row for row in rows(track)}
    assert {n: (r.cost, r.date) for n, r in on_file.items()} == {
        n: (row["time_s"], row["date"]) for n, row in known.items()
    }
    again = [(r.number, cost, date) for r in table.records for date, cost in r.retimings]
    assert again == [(n, t, d) for k, n, t, d in GOLDEN["retimings"] if TRACKS[k] == track]


def test_time_runs_forward_in_every_story(site: Site) -> None:
    """Some official records are dated before the record that they beat."""
    for board in site.tracks.values():
        days = [day for day, _ in story.score_over_time(board)[1]]
        assert days == sorted(days), board.track.id


def page_of(site: Site, track: str, folder: str) -> str:
    """The HTML of an imported entry's page."""
    board = site.tracks[track]
    return entry_page(site, board, item_of(board, folder), Lineage(site), "0" * 64)


def test_an_official_timing_is_a_fact_and_no_finding(site: Site) -> None:
    page = page_of(site, "nanogpt-small", "track_1_short/2026-07-17_FP8DownProjection")
    assert "Everything that was checked holds." in page
    assert "73.80 s" in page and "official timing" in page and "79.68 s" in page


def test_a_wrong_statistic_stays_a_finding(site: Site) -> None:
    page = page_of(site, "nanogpt-small", "track_1_short/2025-10-31_AdamSyncGradientHook")
    assert "reported statistics wrong" in page and "5 runs count" in page
