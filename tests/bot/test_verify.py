"""From folder to verdict: statuses, points, grades, levels of imported and baseline entries."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from bot.model.case import Context, PullRequest
from bot.model.submission import Folder
from bot.model.track import Track
from bot.model.verdict import Verdict
from bot.parse.folder import ReadError
from bot.parse.track_toml import load_tracks, parse_track
from bot.registry import Grade, Status
from bot.verify import verify
from tests.conftest import ROOT
from tests.corpus.variants import changed, put, scaled

TRACKS = load_tracks(ROOT)
LOG = (ROOT / "tests" / "bot" / "data" / "logs" / "plain.log").read_bytes()


def listed(track: str, runs: list[dict[str, Any]], **more: Any) -> bytes:
    return json.dumps(
        {
            "schema_version": 1,
            "track": track,
            "title": "An entry",
            "runs": runs,
            "summary": "A summary of more than five words, as it should be.",
            "contributors": [{"github": "example-user", "roles": ["runs", "pr"]}],
            **more,
        }
    ).encode()


def folder(track: str, runs: list[dict[str, Any]], files: dict[str, bytes], **more: Any) -> Folder:
    return Folder(
        f"submissions/{track}/entry", {"submission.json": listed(track, runs, **more), **files}
    )


def result(path: str, **more: Any) -> dict[str, Any]:
    return {"source": "results", "path": path, **more}


def test_points_are_judged_apart_and_runs_pooled_within() -> None:
    link = "https://wandb.ai/example-user/marin/runs/"
    small = changed("v4", put(wandb_run_link=f"{link}a"))
    again = changed(
        "v4",
        lambda i: (
            put(wandb_run_link=f"{link}b", bpb=1.2)(i),
            scaled("training_time", 1.5)(i),
            scaled("training_hardware_flops", 1.5)(i),
        ),
    )
    large = changed("v3", put(wandb_run_link=f"{link}c"))
    verdict = verify(
        folder(
            "fineweb-edu",
            [
                result("a.json", point="130m"),
                result("b.json", point="130m"),
                result("c.json", point="1_2b"),
            ],
            {"a.json": small, "b.json": again, "c.json": large},
            points=["130m", "1_2b"],
        ),
        TRACKS,
    )
    assert [p.name for p in verdict.points] == ["130m", "1_2b"]
    first, second = verdict.points
    assert first.quality == pytest.approx((1.1761422157287598 + 1.2) / 2)
    assert first.cost == pytest.approx(8.365624e18 * 1.25, rel=1e-6)
    assert second.cost == 3.996630718533731e20
    assert verdict.metrics == first.metrics
    assert len(verdict.runs) == 3 and verdict.runs[2].point == "1_2b"


def test_the_verdict_survives_json() -> None:
    file = Folder("r.json", {"r.json": changed("v1_fp32", lambda i: None)}, bare=True)
    verdict = verify(file, TRACKS, track_id="fineweb-edu")
    again = Verdict.from_json(json.loads(json.dumps(verdict.to_json())))
    assert again == verdict
    assert verify(file, TRACKS, track_id="fineweb-edu") == verdict


def test_claimed_numbers_stand_beside_the_recomputed() -> None:
    file = Folder("r.json", {"r.json": changed("v2_cores", lambda i: None)}, bare=True)
    verdict = verify(file, TRACKS, track_id="fineweb-edu")
    assert verdict.runs[0].claimed["hardware_flops"] == 7.993261437067462e20
    assert verdict.metrics["hardware_flops"] == 3.996630718533731e20
    assert verdict.date == "2025-06-28T21:52:29+00:00"
    assert verdict.title == "One run of the series."


def test_the_grade_is_that_of_the_weakest_run() -> None:
    both = folder(
        "single-gpu-fineweb",
        [{"source": "log", "path": "a.log"}, result("r.json")],
        {"a.log": LOG, "r.json": changed("v4_h100", lambda i: None)},
    )
    assert verify(both, TRACKS).evidence is Grade.SELF_REPORTED
    log = folder("single-gpu-fineweb", [{"source": "log", "path": "a.log"}], {"a.log": LOG})
    assert verify(log, TRACKS).evidence is Grade.LOG


def test_evidence_that_is_not_at_hand_is_no_rejection() -> None:
    link = {"source": "wandb", "link": "https://wandb.ai/example-user/p/runs/abc"}
    verdict = verify(folder("fineweb-edu", [link], {}), TRACKS)
    assert verdict.status is Status.UNVERIFIABLE
    assert {f.rule for f in verdict.errors} == {"evidence-unavailable"}


def test_a_lucky_run_on_a_baseline_track_is_recorded() -> None:
    runs = [
        {"source": "log", "path": "a.log"},
        {"source": "log", "path": "b.log", "arm": "baseline"},
    ]
    slower = LOG.replace(b"train_time:", b"train_time:1")
    verdict = verify(folder("single-gpu-fineweb", runs, {"a.log": LOG, "b.log": slower}), TRACKS)
    families = {f.rule: f.level for f in verdict.findings}
    assert verdict.note is None
    for rule in ("too-few-runs", "target-not-significant", "run-not-bound", "seed-reused"):
        assert families.get(rule) in (None, "note")


def test_withdrawn_entries_stay_and_do_not_rank() -> None:
    verdict = verify(
        folder(
            "fineweb-edu",
            [result("r.json")],
            {"r.json": changed("v4", lambda i: None)},
            withdrawn={"reason": "superseded"},
        ),
        TRACKS,
    )
    assert verdict.points == () and "withdrawn" in (verdict.note or "")


def dated_track() -> dict[str, Track]:
    data = {
        **TRACKS["fineweb-edu"].raw,
        "rules": [
            {
                "date": dt.date(2026, 1, 1),
                "text": "Peaks are checked.",
                "before": {"levels": {"device-peak-mismatch": "off"}},
            }
        ],
    }
    return {"fineweb-edu": parse_track(data, "tracks/fineweb-edu.toml")}


@pytest.mark.parametrize(
    ("opened", "status"),
    [
        (dt.datetime(2025, 12, 31, tzinfo=dt.UTC), Status.VERIFIED),
        (dt.datetime(2026, 1, 1, tzinfo=dt.UTC), Status.REJECTED),
        (None, Status.REJECTED),
    ],
)
def test_the_rules_of_the_day_of_the_pull_request_count(
    opened: dt.datetime | None, status: Status
) -> None:
    file = Folder("r.json", {"r.json": changed("v4", scaled("device_flops", 2.0))}, bare=True)
    pull = (
        None
        if opened is None
        else PullRequest(1, "example-user", "A summary of what was done and why.", opened_at=opened)
    )
    verdict = verify(
        file, dated_track(), track_id="fineweb-edu", context=Context(pull_request=pull)
    )
    blocking = {f.rule for f in verdict.errors} - {"author-not-contributor", "out-of-scope-change"}
    assert (blocking == set()) is (status is Status.VERIFIED)


@pytest.mark.parametrize(
    ("received", "rejected"),
    [("2025-12-31T10:00:00+00:00", False), ("2026-01-02T10:00:00+00:00", True), (None, True)],
)
def test_an_entry_of_the_board_is_judged_by_the_rules_of_its_merge(
    received: str | None, rejected: bool
) -> None:
    file = Folder("r.json", {"r.json": changed("v4", scaled("device_flops", 2.0))}, bare=True)
    context = Context(merged=True, received=received)
    verdict = verify(file, dated_track(), context, track_id="fineweb-edu")
    assert ("device-peak-mismatch" in {f.rule for f in verdict.errors}) is rejected


def test_nothing_that_a_rule_says_can_carry_a_secret_or_a_control_character() -> None:
    key = "hf" + "_" + "Ab1" * 12
    verdict = verify(folder("fineweb-edu", [result(f"{key}\x1b.json")], {}, based_on=key), TRACKS)
    assert verdict.status is Status.REJECTED
    shown = json.dumps(verdict.to_json(), ensure_ascii=False)
    assert "\x1b" not in shown and key not in shown


def test_the_track_is_told_from_the_path_the_list_or_the_option() -> None:
    file = {"speedrun_results.json": changed("v4", lambda i: None)}

    def track_of(path: str, bare: bool = False, **more: Any) -> str:
        held = {"r.json": file["speedrun_results.json"]} if bare else file
        verdict: Verdict = verify(Folder(path, held, bare=bare), TRACKS, **more)
        return verdict.track

    assert track_of("submissions/fineweb-edu/x") == "fineweb-edu"
    assert track_of("experiments/speedrun/x/130m") == "fineweb-edu", "by the track's glob"
    assert track_of("anywhere", track_id="single-gpu-fineweb") == "single-gpu-fineweb"
    for path in ("anywhere", "r.json"):
        with pytest.raises(ReadError, match="which track"):
            track_of(path, bare=path.endswith("json"))
