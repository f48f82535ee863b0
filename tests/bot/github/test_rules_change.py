"""Pull requests that change what counts: the rank difference from data, never from code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.compute import accelerators
from bot.model.report import Kind
from bot.paths import schema_path
from tests.bot.github.competition import LAB, STRANGER, TRACK, Competition, submission

pytestmark = pytest.mark.one_in(3)

TABLE = "schemas/accelerators.json"
SHIPPED = json.loads(schema_path("accelerators.json").read_text())
FRONTIER = (
    TRACK.replace('id = "mini"', 'id = "flops"')
    .replace('objective = "target"', 'objective = "pareto"')
    .replace('metric = "training_time_s"\nunit = "s"', 'metric = "hardware_flops"\nunit = "FLOP"')
    .replace('test = "t"\nalpha = 0.01', 'test = "none"')
    .replace("target = 3.28\n", "")
)


def entry(name: str, device: str, seconds: float, salt: int) -> dict[str, Any]:
    """A run on a named chip, so that its FLOPs follow from the table."""
    files = submission(name, STRANGER, runs=1, seconds=seconds, salt=salt, track="flops")
    log = f"submissions/flops/{name}/logs/0.log"
    files[log] = f"device: {device}\nworld_size: 8\nprecision: bf16\n" + files[log]
    return dict(files)


@pytest.fixture
def two_chips(competition: Competition) -> Competition:
    """One entry on H100, one on A100: which of them cost less is a matter of their peaks."""
    files = entry("on-h100", "NVIDIA H100 80GB HBM3", 100.0, 41)
    files |= entry("on-a100", "NVIDIA A100-SXM4-80GB", 200.0, 42)
    competition.github.commit(
        competition.repo.name, "main", {**files, "tracks/flops.toml": FRONTIER}
    )
    return competition


def table(**peaks: float) -> str:
    """The table with other peaks in bf16 of some chips."""
    rows = [
        {**row, "peaks": {**row["peaks"], "bf16": peaks[row["id"].replace("-", "_")]}}
        if row["id"].replace("-", "_") in peaks
        else row
        for row in SHIPPED["accelerators"]
    ]
    return json.dumps({**SHIPPED, "accelerators": rows})


def test_another_peak_moves_places_on_every_board(two_chips: Competition) -> None:
    pull = two_chips.open({TABLE: table(a100_sxm_80gb=9e14, a100_sxm=9e14)}, login=STRANGER)
    report = two_chips.answer(pull.number)
    assert report.kind is Kind.RULES
    assert sorted((c.track, c.submission, c.before, c.after) for c in report.changes) == [
        ("flops", "submissions/flops/on-a100", "place 1 of 2", "place 2 of 2"),
        ("flops", "submissions/flops/on-h100", "place 2 of 2", "place 1 of 2"),
    ]
    assert report.unchanged == 1, "the record of the other track stays"
    assert "2 places would change" in two_chips.sticky(pull.number)
    assert accelerators.all_accelerators()[0].id == SHIPPED["accelerators"][0]["id"]
    again = two_chips.open({TABLE: json.dumps(SHIPPED)}, login=STRANGER, branch="same")
    assert two_chips.answer(again.number).changes == ()
    assert "no place would change" in two_chips.sticky(again.number)


def test_tracks_and_table_together(two_chips: Competition) -> None:
    stricter = TRACK.replace("target = 3.28", "target = 3.27")
    files = {TABLE: table(a100_sxm_80gb=9e14, a100_sxm=9e14), "tracks/mini.toml": stricter}
    pull = two_chips.open(files, login=STRANGER)
    report = two_chips.answer(pull.number)
    assert {c.track for c in report.changes} == {"flops", "mini"}
    assert two_chips.costs[-1][1] <= 15


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "accelerators.json"),
        ("[]", "not a table of accelerators"),
        ('{"accelerators": [{}]}', "not a table of accelerators"),
        (table(a100_sxm_80gb=-1.0, a100_sxm=-1.0), "a peak must be a positive number"),
        (json.dumps({"accelerators": SHIPPED["accelerators"][:1] * 2}).replace("v100", "q", 1), ""),
        ('{"accelerators": [NaN]}', "NaN is not a number"),
    ],
)
def test_a_table_that_cannot_be_read_is_told(
    competition: Competition, text: str, words: str
) -> None:
    pull = competition.open({TABLE: text}, login=STRANGER)
    report = competition.answer(pull.number)
    assert len(report.problems) == 1 and words in report.problems[0]
    assert "its effect on the places is not known" in competition.sticky(pull.number)
    assert competition.checks(pull.head_sha) == [("speedrun", "neutral")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TRACK.replace("[cost]", "[costs]"), 'unknown key "costs"; did you mean "cost"?'),
        ("a = " + "[" * 20_000, "not readable as TOML"),
        ("\ufeff" + TRACK, "begins with a byte order mark"),
    ],
)
def test_a_track_that_cannot_be_read_is_told(
    competition: Competition, text: str, words: str
) -> None:
    pull = competition.open({"tracks/mini.toml": text}, login=STRANGER)
    report = competition.answer(pull.number)
    assert len(report.problems) == 1 and words in report.problems[0]
    assert report.problems[0].startswith("tracks/mini.toml: ")


def test_code_is_never_run_and_said_to_be_unknown(competition: Competition) -> None:
    files = {f"bot/rules/rule{n}.py": "raise SystemExit('executed')\n" for n in range(7)}
    files["schemas/rules.json"] = "{}"
    pull = competition.open({**files, "tracks/lab.toml": LAB}, login=STRANGER)
    report = competition.answer(pull.number)
    assert report.kind is Kind.RULES
    body = competition.sticky(pull.number)
    for words in ("never run by the bot", "and 3 more", "re\\-scored after the merge", "audit"):
        assert words in body or words.replace("\\", "") in body, body
    assert "its effect on the places is not known" in body


@pytest.mark.parametrize("mode", ["120000", "160000"])
def test_a_table_that_is_no_file(competition: Competition, mode: str) -> None:
    text = competition.github.branch(competition.repo, "main") if mode == "160000" else "../x"
    pull = competition.open({TABLE: text}, login=STRANGER, modes={TABLE: mode})
    report = competition.answer(pull.number)
    assert "is not a plain file" in report.problems[0]


def test_a_removed_table_and_a_removed_track(two_chips: Competition) -> None:
    two_chips.github.commit(two_chips.repo.name, "main", {TABLE: json.dumps(SHIPPED)})
    pull = two_chips.open({TABLE: None, "tracks/flops.toml": None}, login=STRANGER)
    report = two_chips.answer(pull.number)
    assert "put it back" in report.problems[0]
    assert {c.after for c in report.changes} == {"not ranked"}
