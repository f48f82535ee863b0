"""Each rule on text and accounting: a golden case that triggers it, a near miss that does not."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import json
import re
from typing import Any

import pytest

from bot.model.case import Context
from bot.model.submission import Folder
from bot.model.track import Track
from bot.model.verdict import Finding
from bot.parse.track_toml import load_tracks
from bot.registry import Level, Status, catalogue
from bot.rules import RULES
from bot.verify import verify
from tests.bot.rules.run_cases import a_case, a_run
from tests.conftest import ROOT
from tests.corpus.variants import Change, both, changed, drop, put, rename, scaled

TRACKS = load_tracks(ROOT)
TODAY = dt.date(2026, 11, 1)


def findings(
    name: str, change: Change, track: Track = TRACKS["fineweb-edu"]
) -> tuple[Finding, ...]:
    folder = Folder("r.json", {"r.json": changed(name, change)}, bare=True)
    return verify(
        folder, {track.id: track}, track_id=track.id, context=Context(today=TODAY)
    ).findings


def nothing(info: dict[str, Any]) -> None:
    """Leaves the file as it is."""


JWT_LIKE = "hf" + "_" + "a" * 12
CASES: dict[str, tuple[tuple[str, Change], tuple[str, Change]]] = {
    "json-invalid": (("v4", put(bpb=float("nan"))), ("v4", put(remark="NaN"))),
    "schema": (("v4", put(model_size="154147328")), ("v4", put(model_size=154147328.0))),
    "schema-version-unknown": (
        ("v4", put(speedrun={"schema_version": 2})),
        ("v4", put(speedrun={"schema_version": 1})),
    ),
    "unsafe-text": (("v4", put(description="a\u202eb")), ("v4", put(description="a \u2013 b"))),
    "secret-in-text": (
        ("v4", put(description="hf" + "_" + "Ab1" * 11)),
        ("v4", put(description=JWT_LIKE)),
    ),
    "local-path-in-text": (
        ("v4", put(tokenized_dataset="/home/example/tokens")),
        ("v4", put(tokenized_dataset="gs://home/example/tokens")),
    ),
    "hardware-flops-mismatch": (
        ("v4", scaled("training_hardware_flops", 1.0021)),
        ("v4", scaled("training_hardware_flops", 1.0019)),
    ),
    "model-flops-mismatch": (
        ("v4", scaled("model_flops", 0.9979)),
        ("v4", scaled("model_flops", 0.9981)),
    ),
    "device-peak-mismatch": (
        ("v4", scaled("device_flops", 1.0021)),
        ("v4", scaled("device_flops", 1.0019)),
    ),
    "chip-count-mismatch": (("v3", put(num_chips=32)), ("v3", put(num_devices=64))),
    "token-count-mismatch": (
        ("v4", put(model_config__seq_len=2048)),
        ("v4", put(model_config__seq_len=4096)),
    ),
    "mfu-impossible": (
        ("v4_gdn", scaled("model_flops", 67.0)),
        ("v4_gdn", scaled("model_flops", 66.0)),
    ),
    "mfu-unusual": (
        ("v4_gdn", scaled("model_flops", 50.0)),
        ("v4_gdn", scaled("model_flops", 49.0)),
    ),
    "parameter-count-mismatch": (
        ("v4", scaled("model_size", 1.01)),
        ("v4", scaled("model_size", 1.001)),
    ),
    "model-flops-unchecked": (
        ("v4", both(put(model_config__experts=8), scaled("model_flops", 2.0))),
        ("v4", put(model_config__experts=8)),
    ),
    "metric-missing": (("v4", drop("bpb")), ("v4", drop("num_devices"))),
    "metric-not-finite": (("v4", put(bpb="NaN")), ("v4", put(remark="NaN"))),
    "metric-implausible": (("v4", put(bpb=0.29)), ("v4", put(bpb=0.61))),
    "timestamp-invalid": (
        ("v4", put(run_completion_timestamp="2026-02-30 00:00:00 UTC")),
        ("v4", put(run_completion_timestamp="2026-02-28T00:00:00+05:30")),
    ),
    "device-unknown": (
        ("v4", put(resources__device__variant="v5q-8")),
        ("v4", put(resources__device__variant="TPU v5p-8")),
    ),
}
ELSEWHERE = {"unsafe-name"}
"""Tested on folders, in tests/corpus."""


def test_every_rule_of_these_families_has_a_case() -> None:
    names = {n for n, entry in catalogue().items() if entry["family"] in ("text", "accounting")}
    assert set(CASES) | ELSEWHERE == names


@pytest.mark.parametrize("rule", CASES)
def test_trigger(rule: str) -> None:
    found = [f for f in findings(*CASES[rule][0]) if f.rule == rule]
    assert found, "the golden case must trigger the rule"
    for finding in found:
        assert finding.level == catalogue()[rule]["level"]
        assert finding.file == "r.json" and finding.message
        assert finding.line is not None and finding.line > 0
        assert finding.fix or finding.level is Level.NOTE


@pytest.mark.parametrize("rule", CASES)
def test_near_miss(rule: str) -> None:
    assert [f.message for f in findings(*CASES[rule][1]) if f.rule == rule] == []


def levels(rule: str, name: str, change: Change) -> set[Level]:
    return {f.level for f in findings(name, change) if f.rule == rule}


@pytest.mark.parametrize(("change", "expected"), [
    (put(num_devices=2), {Level.ERROR}),
    (put(num_devices=1), set()),
    (both(put(num_chips=16, num_devices=8), put(resources__device__count=16)), {Level.WARNING}),
    (put(resources__device={"kind": "gpu", "variant": "MI250X", "count": 1}, num_chips=1,
         num_devices=2), set()),
    (put(resources__device={"kind": "gpu", "variant": "XPU 9", "count": 1}, num_chips=1,
         num_devices=2), {Level.WARNING}),
])  # fmt: skip
def test_more_gpus_than_chips(change: Change, expected: set[Level]) -> None:
    assert levels("chip-count-mismatch", "v4_h100", change) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (put(resources__tpu_type="v5e-8"), {Level.WARNING}),
        (put(resources__tpu_type="v5p-16"), {Level.WARNING}),
        (put(resources__tpu_type="v5p-8"), set()),
        (put(resources__device__type="v5p"), set()),
        (put(resources__device__type="tpu"), set()),
    ],
)
def test_two_accelerators_in_one_file(change: Change, expected: set[Level]) -> None:
    assert levels("device-unknown", "v4", change) == expected


def test_lines_lead_to_the_value() -> None:
    (finding,) = findings("v2_cores", nothing)
    lines = changed("v2_cores", nothing).decode().splitlines()
    assert '"training_hardware_flops"' in lines[(finding.line or 0) - 1]
    assert finding.pointer == "/runs/0/run_info/training_hardware_flops"
    assert finding.ratio == pytest.approx(2.0)
    assert finding.expected == 3.996630718533731e20
    assert "TPU cores were counted as chips (v5p-32 has 16 chips)" in finding.message


def test_a_typo_is_named_once_and_its_consequences_are_not() -> None:
    found = findings("v4", rename("training_time", "trainning_time"))
    errors = [f for f in found if f.level is Level.ERROR]
    assert [f.rule for f in errors] == ["schema"]
    assert "`trainning_time`" in errors[0].message and "`training_time`" in (errors[0].fix or "")


def test_a_total_that_follows_from_neither_length_blocks() -> None:
    found = findings("v4_gate", scaled("total_tokens", 3))
    levels = {f.level for f in found if f.rule == "token-count-mismatch"}
    assert levels == {Level.ERROR, Level.WARNING}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(scaled("total_tokens", 3), id="the tokens of batch, steps and length count"),
        pytest.param(drop("train_config"), id="the stated tokens count if nothing else is there"),
    ],
)
def test_model_flops_of_the_right_tokens(change: Change) -> None:
    right = json.loads(changed("v4", nothing))["runs"][0]["run_info"]["model_flops"]
    found = findings("v4", both(change, scaled("model_flops", 2.0)))
    (finding,) = (f for f in found if f.rule == "model-flops-mismatch")
    assert finding.ratio == pytest.approx(2.0) and finding.expected == pytest.approx(right)


def test_an_unknown_device_never_blocks_and_its_peak_is_marked() -> None:
    found = findings("v4_auto", nothing)
    device = next(f for f in found if f.rule == "device-unknown")
    assert device.level is Level.WARNING and "self-declared" in device.message
    assert not [f for f in found if f.level is Level.ERROR]


def test_a_misspelt_device_is_guessed_at() -> None:
    device = {"count": 1, "type": "NVIDIA H10O 80GB HBM3"}
    found = findings("v4_h100", put(resources__device=device))
    assert "perhaps" in next(f.fix or "" for f in found if f.rule == "device-unknown")


def test_a_track_may_change_or_switch_off_a_rule() -> None:
    base = TRACKS["fineweb-edu"]
    soft = dc.replace(base, levels={"hardware-flops-mismatch": "warning"})
    off = dc.replace(base, levels={"hardware-flops-mismatch": "off"})
    change = scaled("training_hardware_flops", 2.0)
    assert {f.level for f in findings("v4", change, soft)} == {Level.WARNING}
    assert findings("v4", change, off) == ()


def test_what_an_imported_entry_claimed_warns_and_never_rejects() -> None:
    listed = {
        "schema_version": 1,
        "track": "fineweb-edu",
        "title": "Old entry",
        "imported": {"url": "https://example.org/board"},
        "runs": [{"source": "results", "path": "speedrun_results.json"}],
    }
    for change, status in (
        (scaled("training_hardware_flops", 2.0), Status.NEEDS_REVIEW),
        (put(description="a\u202eb"), Status.REJECTED),
    ):
        folder = Folder(
            "submissions/fineweb-edu/llama_30m",
            {
                "submission.json": json.dumps(listed).encode(),
                "speedrun_results.json": changed("v4", change),
            },
        )
        assert verify(folder, TRACKS, context=Context(merged=True)).status is status
        assert verify(folder, TRACKS).status is Status.REJECTED


def test_every_rule_has_a_page() -> None:
    for name, check in RULES.items():
        page = (check.__doc__ or "").strip()
        assert len(page.split()) >= 15, name
        assert "issue #" not in page


def ran_in(precision: str, peak: float) -> Change:
    return put(speedrun={"schema_version": 1, "precision": precision}, device_flops=peak)


@pytest.mark.parametrize(
    ("name", "precision", "peak", "rule"),
    [
        ("v4", "fp3", 1e12, "device-peak-mismatch"),
        ("v4", "fp32", 1e12, "device-peak-mismatch"),
        ("v4_h100", "fp32", 67e12, "device-unknown"),
    ],
)
def test_a_precision_does_not_make_a_run_cheaper_unseen(
    name: str, precision: str, peak: float, rule: str
) -> None:
    """One that the chip does not have leaves the table's peak in force; a lower peak is shown."""
    assert rule in {f.rule for f in findings(name, ran_in(precision, peak))}


def test_a_low_precision_makes_nothing_cheaper_where_time_ranks() -> None:
    for metric, is_told in (("hardware_flops", True), ("training_time_s", False)):
        cost = dc.replace(TRACKS["fineweb-edu"].cost, metric=metric)
        track = dc.replace(TRACKS["fineweb-edu"], cost=cost)
        told = findings("v4_h100", ran_in("fp32", 67e12), track)
        assert ("device-unknown" in {f.rule for f in told}) is is_told


@pytest.mark.parametrize(("stated", "expected"), [
    ("2026-11-03T00:00:00Z", {Level.ERROR}), ("2009-01-01T00:00:00Z", {Level.ERROR}),
    ("2023-01-01T00:00:00Z", {Level.WARNING}), ("2026-10-01T00:00:00Z", set()), (None, set()),
])  # fmt: skip
def test_the_time_of_a_run_of_any_source(stated: str | None, expected: set[Level]) -> None:
    case = a_case([a_run(0, created_at=stated), a_run(1)], today=TODAY)
    assert {f.level for f in RULES["timestamp-invalid"](case)} == expected


@pytest.mark.parametrize(
    ("cost", "factor", "level"),
    [
        ("hardware_flops", 0.1, Level.WARNING),
        ("training_time_s", 0.1, Level.NOTE),
        ("training_time_s", 50.0, Level.WARNING),
    ],
)
def test_an_idle_gpu_is_a_question_where_its_flops_rank(
    cost: str, factor: float, level: Level
) -> None:
    track = TRACKS["fineweb-edu"]
    track = dc.replace(track, cost=dc.replace(track.cost, metric=cost))
    found = findings("v4_gdn", scaled("model_flops", factor), track)
    assert [f.level for f in found if f.rule == "mfu-unusual"] == [level]


def fix_of(rule: str, name: str, change: Change) -> str:
    (found,) = (f for f in findings(name, change) if f.rule == rule)
    return found.fix or ""


def test_a_remedy_says_what_comes_after_it() -> None:
    """The figure put right may bring a warning up; nobody should meet it unprepared."""
    after = fix_of("mfu-impossible", "v1_fp32", nothing)
    assert after.startswith("fix the hardware FLOPs") and "0.66 %, which is low" in after
    tokens = fix_of("mfu-unusual", "v2_h200", both(drop("model_flops"), put(total_tokens=3)))
    assert tokens == "fix the tokens, and this goes away"


def test_the_length_that_the_total_follows_from_is_named() -> None:
    fix = fix_of("token-count-mismatch", "v4", put(model_config__seq_len=2048))
    assert fix.endswith("`total_tokens` follows from train_seq_len")


@pytest.mark.parametrize("text", ["", "5.14e19 FLOPs", "5,14e19"])
def test_an_estimate_that_is_no_number_does_not_pass(text: str) -> None:
    fix = fix_of("hardware-flops-mismatch", "v0", put(run_stats__final_flops_estimate=text))
    assert re.fullmatch(r"write \d\.\d+e\d\d", fix), fix


@pytest.mark.parametrize(("factor", "unit"), [(1 / 60, "minutes"), (1000.0, "milliseconds")])
def test_a_training_time_in_another_unit_is_named_and_not_the_flops(
    factor: float, unit: str
) -> None:
    wrong = scaled("training_time", factor)
    (found,) = (f for f in findings("v4", wrong) if f.rule == "hardware-flops-mismatch")
    assert f"because `training_time` is in {unit}" in found.message
    value = float((found.fix or "").removeprefix("write ").removesuffix(" in `training_time`"))
    assert findings("v4", put(training_time=value)) == ()


def test_flops_in_exaflops_are_named() -> None:
    (found,) = (
        f
        for f in findings("v4", scaled("training_hardware_flops", 1e-18))
        if f.rule == "hardware-flops-mismatch"
    )
    assert "because the figure is in exaFLOPs" in found.message
