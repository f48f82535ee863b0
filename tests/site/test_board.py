"""The site shows what `bot.rank.ranking` says, on any axis, and nothing else."""

from __future__ import annotations

import csv
import dataclasses as dc
import io
import json
import re
from collections import Counter
from pathlib import Path

import jsonschema
import pandas as pd
import pytest

from bot.parse.track_toml import load_tracks
from bot.rank import ranking
from leaderboard_site import tables
from leaderboard_site.model import slug_of
from leaderboard_site.pages import track as track_pages
from leaderboard_site.pages.columns import columns_of, main_data, value_of
from leaderboard_site.pages.experiments import experiment_files
from leaderboard_site.pages.others import other_files, pending
from leaderboard_site.pages.plots import against, quality_chart
from leaderboard_site.pages.words import rules_in_words
from tests.conftest import ROOT
from tests.site import synthetic

SITE = synthetic.site(400)


def dominated(points: list[tuple[float, float]], i: int) -> int:
    """How many points are no worse on both and better on one: by brute force."""
    x, y = points[i]
    return sum(1 for a, b in points if a <= x and b <= y and (a < x or b < y))


def test_places_and_frontier_are_the_brute_force_ones() -> None:
    board = SITE.tracks["pareto"]
    points = [(p.entry.cost, p.entry.quality) for _, p in board.places]
    data = main_data(board)
    for i in range(len(points)):
        assert data["place"][i] == dominated(points, i) + 1
        assert (data["flag"][i] == "f") == (dominated(points, i) == 0)


def test_the_rows_are_the_ranking_in_its_order() -> None:
    for board in SITE.tracks.values():
        mine = [i.verdict for i in board.items.values()]
        again = ranking.rank(mine, board.track)
        assert [slug_of(e.submission.split("/", 2)[2]) for e in again.entries] == main_data(board)[
            "slug"
        ]


@pytest.mark.parametrize("axis", ["hardware_flops", "model_flops", "training_time_s", "chip_hours"])
def test_the_frontier_of_every_axis_is_the_brute_force_one(axis: str) -> None:
    board = SITE.tracks["pareto"]
    rows = [(p.values[axis], p.entry.quality, i.slug) for i, p in board.places]
    points = [(x, y) for x, y, _ in rows]
    best = {slug for i, (_, _, slug) in enumerate(rows) if not dominated(points, i)}
    wide = quality_chart(board, against(board, axis), "").split("</svg>")[0]
    linked = set(re.findall(r'<a href="entries/pareto/([^"/]+)/"', wide))
    assert linked == best


def test_bands_come_from_the_ranking() -> None:
    board = SITE.tracks["pareto"]
    shown = track_pages.bands(board)
    for part, band in zip(shown, board.track.quality.bands, strict=True):
        inside = ranking.in_band(board.board, band)
        assert part["count"] == len(inside)
        assert [r["name"] for r in part["rows"]] == [
            board.items[e.submission].name for e in inside[:5]
        ]


def test_names_have_different_addresses() -> None:
    names = ["a/b", "a.b", "a_b", "A/b", "a/b/c", "experiments/X y", "experiments/x-y"]
    assert len({slug_of(n) for n in names}) == len(names)


def test_files_agree_with_each_other_and_with_their_schema() -> None:
    files = dict(tables.api_files(SITE))
    schema = json.loads(files["api/v1/schema/board.schema.json"])
    for board in SITE.tracks.values():
        data = json.loads(files[f"api/v1/{board.track.id}.json"])
        jsonschema.validate(data, schema)
        rows = list(csv.DictReader(io.StringIO(files[f"api/v1/{board.track.id}.csv"])))
        assert len(rows) == len(data["entries"]) == len(board.board.entries)
        packed = pd.read_parquet(io.BytesIO(files[f"api/v1/{board.track.id}.parquet"]))
        assert packed["submission"].tolist() == [r["submission"] for r in data["entries"]]
        assert [float(r["quality"]) for r in rows] == pytest.approx(
            [e["quality"] for e in data["entries"]]
        )
    runs = list(csv.DictReader(io.StringIO(files["api/v1/runs.csv"])))
    listed = Counter(r["submission"] for r in runs)
    assert listed == Counter({i.path: len(i.verdict.runs) for i in SITE.items})


def test_a_spreadsheet_runs_no_formula() -> None:
    out = tables.csv_text([{"a": "=HYPERLINK(1)", "b": 1}, {"a": "@x", "b": 2}])
    assert "\n=" not in out and "'=HYPERLINK(1)" in out and "'@x" in out


def test_scaling_groups_need_four_sizes() -> None:
    assert track_pages.scaling(SITE.tracks["pareto"]) is None


def test_the_marin_frontier_is_the_known_one(golden: Path) -> None:
    source = golden / "marin" / "board"
    from bot.rank.pareto import frontier

    runs = json.loads((source / "runs.json").read_text(encoding="utf-8"))
    truth = json.loads((source / "frontier.json").read_text(encoding="utf-8"))["axes"]
    for axis, known in truth.items():
        pairs = [(r[known["x"]], r["eval_paloma_c4_en_bpb"]) for r in runs]
        found = {runs[i]["run_name"] for i in frontier(pairs)}
        assert found == {name for p in known["points"] for name in p["runs"]}, axis


def test_pending_pull_requests_have_state_age_and_what_blocks_them() -> None:
    pulls, _ = synthetic.lists()
    site = dc.replace(synthetic.site(40), pending=pulls, pending_as_of="2026-11-28T04:00:00Z")
    rows = pending(site)
    assert [r["row"].number for r in rows] == [91, 90, 92, 93]
    assert [r["age"] for r in rows] == ["3 weeks", "8 days", "2 days", "today"]
    assert [r["state"] for r in rows] == [
        "Needs changes",
        "Needs review",
        "Needs more runs",
        "no answer yet",
    ]
    assert rows[0]["blocks"] == [("hardware-flops-mismatch", True), ("schema", True)]
    page = dict(other_files(site))["pending.md"]
    assert 'href="../rules/schema/"' in page and "4 pull requests, state of 2026-11-28" in page


def test_without_the_bots_list_the_page_says_so() -> None:
    site = synthetic.site(5)
    assert "built without" in dict(other_files(site))["pending.md"]
    looked = dc.replace(site, pending_as_of="2026-11-28T04:00:00Z")
    assert "was open on 2026-11-28" in dict(other_files(looked))["pending.md"]


def test_a_preregistration_without_a_submission_is_listed_with_its_state() -> None:
    _, tests = synthetic.lists()
    page = dict(experiment_files(dc.replace(synthetic.site(5), experiments=tests)))[
        "experiments.md"
    ]
    assert "closed without a submission" in page and "Does QK-norm hold at 1.2B?" in page


@pytest.mark.parametrize("name", ["record-3", "target/record-3", "submissions/target/record-3"])
def test_an_entry_of_any_track_is_found_by_each_of_its_names(name: str) -> None:
    board = SITE.tracks["target"]
    first = next(iter(board.items.values()))
    item = SITE.item(name.replace("record-3", first.name), "target")
    assert item is first
    assert SITE.item(name.replace("record-3", "nothing-of-the-kind"), "target") is None


def test_a_bare_name_means_the_entry_of_the_same_track() -> None:
    item = next(iter(SITE.tracks["target"].items.values()))
    twin = dc.replace(
        item, verdict=dc.replace(item.verdict, submission=f"submissions/pareto/{item.name}")
    )
    pareto = dc.replace(SITE.tracks["pareto"], items={twin.path: twin})
    site = dc.replace(SITE, tracks={**SITE.tracks, "pareto": pareto})
    assert site.item(item.name, "target") is item
    assert site.item(item.name) is twin


def test_a_long_board_is_lighter_and_its_cells_are_the_same() -> None:
    board = synthetic.site(2300).tracks["pareto"]
    columns = columns_of(board, ["model_flops"])
    data, by_key = main_data(board, columns), {c.key: c.format for c in columns}
    assert "title" not in data and "tech" not in data
    for key, name in (("q", "bpb"), ("c", "hardware_flops")):
        exact = [value_of(board.track, p, name) for _, p in board.places]
        shown = by_key[name]
        assert shown is not None and data[key] != exact
        assert [shown.show(v) for v in data[key]] == [shown.show(v) for v in exact]
    few = synthetic.site(100).tracks["pareto"]
    assert main_data(few)["q"] == [p.entry.quality for _, p in few.places]


def test_a_track_whose_data_are_the_entry_says_so() -> None:
    tracks = load_tracks(ROOT)
    (line,) = (x for x in rules_in_words(tracks["data-tiny"]) if x.startswith("You bring"))
    assert "configuration data-tiny" in line and "settings that the track fixes" in line
    assert not any("training data" in x for x in rules_in_words(tracks["tutorial"]))
