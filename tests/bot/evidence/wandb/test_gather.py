"""gather: every source by one door; snapshots offline; what changed since; drift."""

from __future__ import annotations

import dataclasses as dc
from pathlib import Path
from typing import Any

import pytest

from bot.evidence.drift import Drift, drift
from bot.evidence.fetcher import Fetcher
from bot.evidence.snapshot import Snapshots
from bot.evidence.wandb.online import WandbFetcher
from bot.model.verdict import Verdict
from bot.parse.folder import parse_submission
from bot.parse.track_toml import load_tracks
from bot.registry import Status
from tests.bot.evidence.wandb.submissions import REFS, document, fill, folder, judged, rules
from tests.bot.evidence.wandb.training import CONFIG, KEYS, history
from tests.conftest import ROOT
from tests.doubles.wandb import Fault, WandbDouble

pytestmark = pytest.mark.one_in(3)


def keep(fetcher: WandbFetcher, path: Path) -> Path:
    """Take snapshots of all runs, as the bot does after a merge."""
    store = Snapshots(path)
    for item in fetcher.fetch(REFS, KEYS).values():
        assert item.run is not None
        store.add(item.run)
    return path


def numbers(verdict: Verdict) -> object:
    points = [dc.replace(point, rests_on={}) for point in verdict.points]
    return (verdict.status, points, rules(verdict))


def test_offline_a_snapshot_gives_the_same_verdict(
    server: WandbDouble, fetcher: WandbFetcher, tmp_path: Path
) -> None:
    fill(server)
    online = judged(fetcher)
    offline = judged(None, snapshots=keep(fetcher, tmp_path))
    assert online.status is Status.VERIFIED
    assert numbers(offline) == numbers(online)
    assert offline.evidence is online.evidence


def test_without_a_snapshot_the_evidence_is_not_at_hand(tmp_path: Path) -> None:
    verdict = judged(None, snapshots=tmp_path)
    assert (verdict.status, set(rules(verdict))) == (
        Status.UNVERIFIABLE,
        {"evidence-unavailable"},
    )
    assert verdict.findings[0].line is not None


def test_a_damaged_snapshot_is_ours(tmp_path: Path) -> None:
    path = tmp_path / "example-team/nanogpt/r0/0000-abc.json.xz"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"broken")
    verdict = judged(None, document(REFS[:1]), snapshots=tmp_path)
    assert verdict.status is Status.UNVERIFIABLE


def edited(server: WandbDouble) -> None:
    server.world.runs[tuple(REFS[0])].replace_history(history(99, final=3.2))


def deleted(server: WandbDouble) -> None:
    del server.world.runs[tuple(REFS[0])]


@pytest.mark.parametrize(
    "change", [edited, pytest.param(deleted, marks=pytest.mark.full("another change"))]
)
def test_the_snapshot_counts_where_the_evidence_changed(
    change: object, server: WandbDouble, fetcher: WandbFetcher, tmp_path: Path
) -> None:
    fill(server)
    before = judged(fetcher)
    keep(fetcher, tmp_path)
    change(server)  # type: ignore[operator]
    again = WandbFetcher(server.key, server=server.url)
    after = judged(again, snapshots=tmp_path)
    assert rules(after) == {"evidence-changed": "warning"}
    assert after.points == before.points
    assert after.status is Status.NEEDS_REVIEW


def test_where_wandb_is_down_the_snapshot_counts(
    server: WandbDouble, fetcher: WandbFetcher, tmp_path: Path
) -> None:
    fill(server)
    keep(fetcher, tmp_path)
    server.fail(Fault("HistoryPage", errors=("down",)))
    assert judged(WandbFetcher(server.key, server=server.url), snapshots=tmp_path).status is (
        Status.VERIFIED
    )


def drifts(fetcher: Fetcher, path: Path) -> list[Drift]:
    tracks = load_tracks(ROOT)
    parsed = parse_submission(folder(document()), tracks)
    assert parsed.track is not None
    return list(drift([(parsed.submission, parsed.track)], Snapshots(path), fetcher))


def test_drift_tells_what_became_of_each_run(
    server: WandbDouble, fetcher: WandbFetcher, tmp_path: Path
) -> None:
    fill(server)
    keep(fetcher, tmp_path)
    assert {item.kind for item in drifts(fetcher, tmp_path)} == {"same"}
    deleted(server)
    server.world.runs[tuple(REFS[1])].replace_history(history(99, final=3.2))
    found = drifts(WandbFetcher(server.key, server=server.url), tmp_path)
    assert [item.kind for item in found] == ["gone", "changed"] + ["same"] * 6
    assert [item.drifted for item in found] == [True, True] + [False] * 6
    assert "step" in found[1].message


def test_drift_tells_a_project_that_became_private(
    server: WandbDouble, fetcher: WandbFetcher, tmp_path: Path
) -> None:
    fill(server)
    keep(fetcher, tmp_path)
    server.set_access("example-team", "nanogpt", "restricted")
    found = drifts(WandbFetcher(server.key, server=server.url), tmp_path)
    assert {item.kind for item in found} == {"private"}


def test_drift_says_where_wandb_could_not_be_asked_or_nothing_was_kept(
    server: WandbDouble, fetcher: WandbFetcher, tmp_path: Path
) -> None:
    fill(server)
    assert {i.kind for i in drifts(fetcher, tmp_path / "none")} == {"no-snapshot"}
    keep(fetcher, tmp_path)
    offline = WandbFetcher(None, server=server.url)
    assert {i.kind for i in drifts(offline, tmp_path)} == {"unavailable"}


def test_one_run_listed_twice_is_fetched_once(server: WandbDouble, fetcher: WandbFetcher) -> None:
    fill(server)
    verdict = judged(fetcher, document([*REFS, REFS[0]]))
    assert "duplicate-run" in rules(verdict)
    assert server.count("RunParquetHistory") == len(REFS)


def test_runs_in_the_drawer_are_counted(server: WandbDouble, fetcher: WandbFetcher) -> None:
    fill(server)
    worse = CONFIG | {"seed": 77, "nonce": "7" * 32}
    server.add_run(
        "example-team", "nanogpt", "hidden", history=history(5, 1000, 3.31), config=worse
    )
    verdict = judged(fetcher)
    assert rules(verdict) == {"unlisted-runs": "warning"}
    assert "n = 9" in verdict.findings[0].message


def test_a_folder_of_logs_is_read_whole(server: WandbDouble) -> None:
    log = b"step:0/10 val_loss:4.0 train_time:0ms\nstep:10/10 val_loss:3.2 train_time:600ms\n"
    value = document(runs=[{"source": "log", "path": "logs"}])
    files = {"logs/a.log": log, "logs/b.log": log.replace(b"3.2", b"3.21"), "logs/x.png": b"x"}
    verdict = judged(None, value, **files)
    assert [run.loss for run in verdict.runs] == [3.2, 3.21]


def test_a_file_that_is_not_there_is_named(server: WandbDouble) -> None:
    verdict = judged(None, document(runs=[{"source": "log", "path": "logs/none.log"}]))
    assert verdict.status is Status.REJECTED
    assert any("logs/none.log" in f.message for f in verdict.findings)


def noise(server: WandbDouble, count: int, config: dict[str, Any], rows: int) -> None:
    for n in range(count):
        values = config | {"seed": 500 + n, "nonce": f"{500 + n:032x}"}
        made = history(500 + n)[:rows]
        server.add_run("example-team", "nanogpt", f"noise{n}", history=made, config=values)


@pytest.mark.parametrize(
    "same", [pytest.param(False, marks=pytest.mark.full("as many again")), True]
)
def test_sixty_noise_runs_change_no_verdict(
    same: bool, server: WandbDouble, fetcher: WandbFetcher
) -> None:
    """Newer ones of another configuration, and crumbs of the same one, hide no bad run."""
    fill(server)
    worse = CONFIG | {"seed": 77, "nonce": "7" * 32}
    bad = history(5, 1000, 3.31)
    server.add_run("example-team", "nanogpt", "hidden", history=bad, config=worse)
    noise(server, 60, CONFIG | ({} if same else {"lr": 0.5}), 3 if same else 50)
    verdict = judged(fetcher)
    (item,) = [f for f in verdict.findings if f.rule == "unlisted-runs"]
    assert item.level == "warning" and "loss" in item.message and "n = 9" in item.message
    assert ("of the 69 runs of example-team/nanogpt were looked at" in item.message) is same


def test_a_project_of_more_runs_than_are_listed_says_how_many_were_looked_at(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    fill(server)
    noise(server, 120, CONFIG | {"lr": 0.5}, 1)
    verdict = judged(fetcher)
    (item,) = [f for f in verdict.findings if f.rule == "unlisted-runs"]
    assert (item.level, verdict.status) == ("note", Status.VERIFIED)
    assert "108 of the 128 runs of example-team/nanogpt were looked at" in item.message
