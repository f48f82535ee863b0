"""A results file whose run is linked: its numbers are compared with the history, through the real
client."""

from __future__ import annotations

import functools as ft
import json
from pathlib import Path
from typing import Any

import pytest

from bot.evidence.drift import drift
from bot.evidence.gather import Fetcher, gather
from bot.evidence.linked import with_linked
from bot.evidence.links import RunRef
from bot.evidence.snapshot import Snapshots
from bot.evidence.wandb.online import WandbFetcher
from bot.model.submission import Folder
from bot.model.verdict import Verdict
from bot.parse.folder import parse_submission
from bot.parse.track_toml import load_tracks
from bot.registry import Grade, Status
from bot.verify import verify
from tests.bot.evidence.wandb.conftest import QUICK
from tests.conftest import ROOT
from tests.corpus.variants import changed, load, put
from tests.doubles.wandb import WandbDouble

pytestmark = pytest.mark.one_in(3)

TRACKS = load_tracks(ROOT)
REF = RunRef("example-team", "marin", "r1")
INFO = load("v4")["runs"][0]["run_info"]
BPB, SECONDS = INFO["eval/paloma/c4_en/bpb"], INFO["training_time"]
STEPS = INFO["train_config"]["num_train_steps"]
DEVICES = {"device": "TPU v5p", "num_chips": INFO["num_chips"]}


def rows(bpb: float = BPB, seconds: float = SECONDS, steps: int = STEPS) -> list[dict[str, Any]]:
    """A history as Levanter logs it: the duration of each step, bits per byte at the end."""
    made: list[dict[str, Any]] = [
        {
            "_step": step,
            "_runtime": 9 + 1.1 * seconds * step / steps,
            "throughput/duration": seconds / steps,
        }
        for step in range(steps)
    ]
    made[-1]["eval/paloma/c4_en/bpb"] = bpb
    return made


def judged(
    online: Fetcher | None, *, snapshots: Path | None = None, link: str = REF.url, **info: Any
) -> Verdict:
    """The verdict on a submission that is a results file and nothing else."""
    files = {"speedrun_results.json": changed("v4", put(wandb_run_link=link, **info))}
    kept = None if snapshots is None else Snapshots(snapshots)
    return verify(
        Folder("submissions/fineweb-edu/example", files), TRACKS,
        gather=ft.partial(gather, online=online, snapshots=kept),
    )  # fmt: skip


def test_a_claim_that_its_run_shows_is_graded_by_the_run(
    server: WandbDouble, fetcher: WandbFetcher, tmp_path: Path
) -> None:
    server.add_run(*REF, history=rows(), config=DEVICES)
    verdict = judged(fetcher)
    assert (verdict.status, verdict.evidence) == (Status.VERIFIED, Grade.WANDB), verdict.findings
    assert verdict.runs[0].file == REF.url
    assert verdict.runs[0].claimed["bpb"] == BPB
    assert verdict.points[0].metrics["bpb"] == BPB
    assert verdict.points[0].metrics["training_time_s"] == pytest.approx(SECONDS)
    assert verdict.points[0].metrics["parameters"] == INFO["model_size"]


@pytest.mark.parametrize(
    ("shown", "rule"),
    [
        ({"bpb": BPB + 1e-4}, "claim-differs-from-run"),
        ({"seconds": SECONDS + 0.1}, "claim-differs-from-run"),
        ({"bpb": BPB + 5e-5, "seconds": SECONDS + 0.05}, None),
        ({"steps": STEPS - 2}, "run-unfinished"),
    ],
)
def test_a_claim_is_compared_with_the_history(
    server: WandbDouble, fetcher: WandbFetcher, shown: dict[str, Any], rule: str | None
) -> None:
    server.add_run(*REF, history=rows(**shown), config=DEVICES)
    verdict = judged(fetcher)
    told = {f.rule for f in verdict.findings} - {"too-few-runs"}  # where the run is unfinished
    assert told == ({rule} if rule else set())
    assert (verdict.status is Status.VERIFIED) == (rule is None)
    differing = [f for f in verdict.findings if f.rule == "claim-differs-from-run"]
    assert all(f.file and f.file.endswith("/speedrun_results.json") and f.line for f in differing)


@pytest.mark.parametrize(
    ("metadata", "rules"),
    [
        ({"gpu": "NVIDIA A100-SXM4-80GB", "gpu_count": 8}, ["hardware-differs-from-run"]),
        ({"tpu": {"name": "v5p", "devicesPerChip": 1, "count": 4}}, []),
    ],
)
def test_the_hardware_is_compared_too(
    server: WandbDouble, fetcher: WandbFetcher, metadata: dict[str, Any], rules: list[str]
) -> None:
    files = {"wandb-metadata.json": json.dumps(metadata).encode()}
    server.add_run(*REF, history=rows(), config={}, files=files)
    assert [f.rule for f in judged(fetcher).findings] == rules


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({}, "shows no device and no number of devices: the file's word"),
        ({"device": "TPU v5p"}, "shows no number of devices: the file's word"),
        (DEVICES, None),
    ],
)
def test_where_devices_rank_the_run_shows_them(
    server: WandbDouble, fetcher: WandbFetcher, config: dict[str, Any], says: str | None
) -> None:
    server.add_run(*REF, history=rows(), config=config)
    verdict = judged(fetcher)
    told = [f.message for f in verdict.findings if f.rule == "metric-missing"]
    assert len(told) == bool(says) and all(says and says in text for text in told)
    assert verdict.evidence is (Grade.SELF_REPORTED if says else Grade.WANDB)
    assert verdict.status is (Status.NEEDS_REVIEW if says else Status.VERIFIED)


def test_a_history_without_a_clock_leaves_the_grade_where_it_was(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    made = [{k: v for k, v in row.items() if not k.startswith("throughput")} for row in rows()]
    for row in made:
        row["throughput/total_tokens"] = 1024.0 * (row["_step"] + 1)
    server.add_run(*REF, history=made, config={"trainer": {"num_train_steps": STEPS}, **DEVICES})
    verdict = judged(fetcher)
    assert verdict.evidence is Grade.SELF_REPORTED
    assert ("metric-missing", "warning") in [(f.rule, f.level.value) for f in verdict.findings]


def test_a_history_without_the_quality_leaves_the_grade_where_it_was(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    made = [{k: v for k, v in row.items() if not k.startswith("eval/")} for row in rows()]
    server.add_run(*REF, history=made, config=DEVICES)
    verdict = judged(fetcher)
    assert (verdict.status, verdict.evidence) == (Status.NEEDS_REVIEW, Grade.SELF_REPORTED)
    assert [f.rule for f in verdict.findings] == ["metric-missing"]


def test_a_run_that_changed_behind_a_results_file_is_drift(
    server: WandbDouble, fetcher: WandbFetcher, tmp_path: Path
) -> None:
    server.add_run(*REF, history=rows(), config=DEVICES)
    track = TRACKS["fineweb-edu"]
    read = fetcher.fetch([REF], track.keys)[REF].run
    assert read is not None
    kept = Snapshots(tmp_path)
    kept.add(read)
    files = {"speedrun_results.json": changed("v4", put(wandb_run_link=REF.url))}
    folder = Folder("submissions/fineweb-edu/example", files)
    submission = with_linked(parse_submission(folder, TRACKS), folder)
    assert [d.kind for d in drift([(submission, track)], kept, fetcher)] == ["same"]
    server.add_run(*REF, history=rows(bpb=BPB - 0.01), config=DEVICES)
    again = WandbFetcher(server.key, server=server.url, patience=QUICK)
    assert [d.kind for d in drift([(submission, track)], kept, again)] == ["changed"]


@pytest.mark.full("waits for each of its tries")
def test_a_run_that_is_not_there_and_a_service_that_is_down(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    missing = judged(fetcher)
    assert (missing.status, [f.rule for f in missing.findings]) == (
        Status.REJECTED, ["run-not-found-or-private"])  # fmt: skip
    down = WandbFetcher(server.key, server="http://127.0.0.1:9", patience=QUICK)
    assert judged(down).status is Status.UNVERIFIABLE


def test_offline_the_file_speaks_for_itself_unless_a_snapshot_is_kept(
    server: WandbDouble, fetcher: WandbFetcher, tmp_path: Path
) -> None:
    alone = judged(None)
    # It would stand on an empty frontier, and a maintainer looks at that first.
    assert (alone.status, alone.evidence) == (Status.CONSISTENT, Grade.SELF_REPORTED)
    server.add_run(*REF, history=rows(bpb=BPB + 0.01), config=DEVICES)
    read = fetcher.fetch([REF], TRACKS["fineweb-edu"].keys)[REF].run
    assert read is not None
    Snapshots(tmp_path).add(read)
    kept = judged(None, snapshots=tmp_path)
    assert [f.rule for f in kept.findings] == ["claim-differs-from-run"]
