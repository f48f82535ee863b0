"""Every published file and group of runs against the answers worked out apart from this program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.compute.summary import summarise
from bot.evidence.log.training_log import read_log
from bot.model.submission import Folder
from bot.parse.track_toml import load_tracks
from bot.verify import verify
from tests.conftest import ROOT, some
from tests.golden import CASES

TRACKS = load_tracks(ROOT)
OF_RECORDS = {1: "nanogpt-small", 2: "nanogpt-medium", 3: "nanogpt-optimization"}
METRICS = {
    "hardware_flops": "hw_flops_expected",
    "chips": "chips_used",
    "tokens": "total_tokens",
    "mfu": "mfu_corrected",
}


def test_findings_and_numbers_of_every_results_file(golden: Path) -> None:
    rows = json.loads((golden / "marin/truth.json").read_text())["files"]
    wrong = {row["file"]: found for row in rows if (found := list(differences(golden, row)))}
    assert wrong == {} and len(rows) == 107


def differences(golden: Path, row: dict[str, Any]) -> Any:
    data = (golden / "marin/results" / row["file"]).read_bytes()
    folder = Folder(row["file"], {row["file"]: data}, bare=True)
    verdict = verify(folder, TRACKS, track_id="fineweb-edu")
    errors = {f.rule for f in verdict.errors}
    if errors != set(row["errors"]):
        yield "errors", sorted(errors), sorted(row["errors"])
    warned = {name for name, f in row["expected_findings"].items() if f["level"] == "warn"}
    if missing := warned - {f.rule for f in verdict.findings}:
        yield "warnings missing", sorted(missing)
    for ours, theirs in METRICS.items():
        rough = ours == "mfu" and row["variant"] == "V0"
        wanted, got = row[theirs], verdict.metrics.get(ours)
        if wanted is not None and got != pytest.approx(wanted, rel=1e-2 if rough else 1e-9):
            yield ours, got, wanted
    if row["model_flops_check"] == "exact":
        if verdict.metrics.get("model_flops") != pytest.approx(row["model_flops"], rel=1e-9):
            yield "model_flops", verdict.metrics.get("model_flops"), row["model_flops"]


@pytest.mark.more
def test_statistics_of_every_group_of_runs(golden: Path) -> None:
    records = json.loads((golden / "nanogpt/truth.json").read_text())["records"]
    compared, wrong = 0, []
    for folder, record in some(list(records.items()), 6):
        track = TRACKS[OF_RECORDS[record["track"]]]
        for name, group in record["groups"].items():
            wanted = (group.get("finished_only") or {}).get("loss") or group.get("loss") or {}
            if wanted.get("p_t") is None:
                continue
            logs = [golden / "nanogpt/logs" / folder / log for log in group["logs"]]
            paths = [log.with_suffix(".log") for log in logs]
            if not paths or not all(path.is_file() for path in paths):
                continue
            runs = [run for path in paths for run in read_log(path.read_bytes(), str(path))]
            got, compared = summarise(runs, track).to_json(), compared + 1
            for ours, value in of_group(wanted).items():
                if value is not None and got[ours] != pytest.approx(value, rel=1e-6):
                    wrong.append((folder, name, ours, got[ours], value))
    assert wrong == [] and compared > len(some(range(60), 6))


def of_group(wanted: dict[str, Any]) -> dict[str, Any]:
    return {
        "n": wanted["n"],
        "mean": wanted["mean"],
        "sd": wanted["sd"],
        "p": wanted["p_t"],
        "p_sigma": wanted.get("p_z_sigma"),
        "p_pooled": wanted.get("p_t_pooled"),
        "p_without_best": (wanted.get("drop_best") or {}).get("p_t"),
    }


NEVER_RANKED = ("clock-missing-at-end", "clock-unit-typo", "h800", "log-gz", "log-lfs-pointer")


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.iterdir()))
def test_the_small_cases_never_give_a_wrong_number(name: str) -> None:
    """Read rightly or refused with a reason: 71 s where the clock says 1m11.0s, never less."""
    files = {f"logs/{p.name}": p.read_bytes() for p in sorted((CASES / name).iterdir())}
    listed = [{"source": "log", "path": path} for path in files]
    text = {"schema_version": 1, "track": "nanogpt-small", "title": name, "runs": listed}
    text["contributors"] = [{"github": "example-user", "roles": ["runs"]}]
    files["submission.json"] = json.dumps(text).encode()
    verdict = verify(Folder(f"submissions/nanogpt-small/{name}", files), TRACKS)
    time = verdict.metrics.get("training_time_s")
    if name in NEVER_RANKED or time is None:
        assert verdict.errors, verdict.findings
    if name.startswith("clock-minutes"):
        assert time == pytest.approx(71.0, abs=0.2)
    elif not verdict.errors:
        assert time is not None and time > 50
