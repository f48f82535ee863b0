"""The imported competitions of this repository, verified and ranked as the board does it."""

import json
from collections import Counter

import pytest

from bot.parse.track_toml import load_tracks
from bot.rank.ranking import rank
from bot.registry import Grade, Status
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def verdicts(own_verdicts):
    return own_verdicts


@pytest.fixture(scope="module")
def boards(verdicts):
    return {name: rank(verdicts, track) for name, track in load_tracks(ROOT).items()}


def names(items):
    return [item.submission.rpartition("/")[2].rpartition("-")[0] for item in items]


def test_nothing_imported_is_rejected(verdicts):
    found = Counter((v.track, v.status) for v in verdicts)
    assert not [key for key in found if key[1] in (Status.REJECTED, Status.NEEDS_RUNS)]
    assert {track for track, _ in found} >= {
        "fineweb-edu",
        "nanogpt-small",
        "nanogpt-medium",
        "nanogpt-optimization",
    }


def test_every_import_says_where_it_is_from(verdicts):
    for verdict in verdicts:
        data = json.loads((ROOT / verdict.submission / "submission.json").read_text())
        if "imported" in data:
            assert data["imported"]["url"].startswith("https://github.com/")
            assert "contributors" not in data


def test_what_has_no_evidence_at_hand_does_not_rank(verdicts, boards):
    waiting = {v.submission for v in verdicts if v.status is Status.UNVERIFIABLE}
    assert waiting
    for board in boards.values():
        assert not waiting & {entry.submission for entry in board.entries}
    assert {
        u.why for b in boards.values() for u in b.unranked if u.verdict.submission in waiting
    } == {"its evidence was not checked yet"}


def test_grades_are_those_of_the_evidence(boards):
    assert {e.verdict.evidence for e in boards["fineweb-edu"].entries} == {Grade.SELF_REPORTED}
    assert {e.verdict.evidence for e in boards["nanogpt-small"].entries} == {Grade.LOG}


def test_cores_counted_as_chips_do_not_move_an_entry(boards):
    """This file once claimed twice its FLOPs; it ranks by seconds x chips x peak all the same."""
    entry = next(
        e
        for e in boards["fineweb-edu"].entries
        if e.submission.endswith("hackable_transformer_starter/attnsink/jax/130m")
    )
    assert entry.cost == pytest.approx(1510.5195036789955 * 16 * 459e12, rel=1e-12)
    assert "hardware-flops-mismatch" in {f.rule for f in entry.verdict.findings}


def test_the_record_history_of_the_small_track(boards):
    records = boards["nanogpt-small"].records
    costs = [step.cost for step in records]
    assert costs == sorted(costs, reverse=True)
    assert names(records)[:4] == [
        "2024-10-10_muon",
        "2024-10-17_distributedmuon",
        "2024-10-18_pytorch25",
        "2024-11-10_unetdoublelr",
    ]
    assert len(records) > 40


def test_the_steps_track_ranks_by_the_step_claimed(boards):
    top = boards["nanogpt-optimization"].entries[0]
    assert (top.cost, top.place) == (2690.0, 1)
    assert top.quality == pytest.approx(3.27832875)


def test_bands_hold_the_reference_runs(boards):
    board = boards["fineweb-edu"]
    small = next(e for e in board.entries if e.submission.endswith("/llama_30m"))
    assert small.band == small.quality == 1.5263875722885132


def test_statistics_of_every_record_are_the_published_ones(verdicts, golden):
    """Mean, n and sd of each record's claimed runs, worked out apart from this program."""
    truth = json.loads((golden / "nanogpt/truth.json").read_text())["records"]
    compared = 0
    for verdict in verdicts:
        if verdict.track not in ("nanogpt-small", "nanogpt-medium"):
            continue
        data = json.loads((ROOT / verdict.submission / "submission.json").read_text())
        record = truth[data["imported"]["path"].removeprefix("records/")]
        claimed = record["groups"]["claimed"]
        expected = (claimed.get("finished_only") or claimed)["loss"]
        found = verdict.statistics
        assert found.n == expected["n"]
        assert found.moments.mean == pytest.approx(expected["mean"], rel=1e-6)
        if expected["sd"] is not None:
            assert found.moments.sd == pytest.approx(expected["sd"], rel=1e-6)
        compared += 1
    assert compared > 60
