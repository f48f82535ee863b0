"""One training, three kinds of evidence: W&B online, its offline file, its text log."""

from __future__ import annotations

import dataclasses as dc
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.evidence.log.training_log import read_log
from bot.evidence.snapshot import decode, encode, metrics_sha256
from bot.evidence.wandb.offline import OfflineFileError, read_offline
from bot.evidence.wandb.online import WandbFetcher
from bot.model.run import Run
from bot.model.verdict import Verdict
from bot.registry import Grade, Status
from tests.bot.evidence.wandb.conftest import QUICK
from tests.bot.evidence.wandb.submissions import REFS, document, judged, rules
from tests.bot.evidence.wandb.training import KEYS
from tests.conftest import ROOT
from tests.doubles.wandb import WandbDouble

SEEDS = (1, 2, 3)
REF = [REFS[0]._replace(project="loops", id=f"seed{seed}") for seed in SEEDS]


def train(
    mode: str, folder: Path, seeds: Sequence[int], server: WandbDouble | None = None, *part: int
) -> None:
    """Run the loop in a process of its own, as a participant would, once for each seed."""
    environment = dict(os.environ)
    if server is not None:
        environment |= {"WANDB_BASE_URL": server.url, "WANDB_API_KEY": server.key}
    # A service of its own: the parent's would be shared through this variable.
    environment.pop("WANDB_SERVICE", None)
    environment.pop("WANDB_DIR", None)
    folder.mkdir(parents=True, exist_ok=True)
    given = [mode, str(folder), ",".join(map(str, seeds)), *map(str, part)]
    command = [sys.executable, "-m", "tests.bot.evidence.wandb.loop", *given]
    subprocess.run(command, check=True, cwd=ROOT, env=environment, timeout=120)


@dc.dataclass
class Trained:
    """The same trainings in three forms."""

    online: WandbFetcher
    offline: dict[str, bytes]
    logs: dict[str, bytes]


@pytest.fixture(scope="module")
def trained(wandb_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("loops")
    offline, logs = {}, {}
    with WandbDouble() as server:
        train("online", folder / "online", SEEDS, server)
        train("offline", folder / "offline", SEEDS)
        for seed in SEEDS:
            name = f"seed{seed}"
            (path,) = (folder / "offline").glob(f"wandb/offline-run-*/run-{name}.wandb")
            offline[f"{name}.wandb"] = path.read_bytes()
            logs[f"{name}.log"] = (folder / "online" / f"{name}.log").read_bytes()
        yield Trained(WandbFetcher(server.key, server=server.url, patience=QUICK), offline, logs)
    assert server.unknown == []
    assert server.missing == []


def verdict(trained: Trained, source: str) -> Verdict:
    """The verdict on the three runs, by one kind of evidence."""
    entries: dict[str, list[dict[str, Any]]] = {
        "online": [{"source": "wandb", "link": ref.url} for ref in REF],
        "offline": [{"source": "log", "path": name} for name in trained.offline],
        "log": [{"source": "log", "path": name} for name in trained.logs],
    }
    value = document(runs=entries[source])
    files = {**trained.offline, **trained.logs}
    return judged(trained.online, value, **files)


def online(trained: Trained, index: int) -> Run:
    run = trained.online.fetch(REF, KEYS)[REF[index]].run
    assert run is not None
    return run


def test_the_three_give_the_same_verdict(trained: Trained) -> None:
    by_source = {name: verdict(trained, name) for name in ("online", "offline", "log")}
    first = by_source["online"]
    # The loop runs where the tests run, on no accelerator: a maintainer would have to look.
    assert first.status is Status.NEEDS_REVIEW, first
    assert set(rules(first)) == {"hardware-differs-from-run"}
    for name, other in by_source.items():
        assert other.status is first.status, (name, [f.message for f in other.findings])
        assert rules(other) == rules(first), name
        # The log prints six decimals of the loss and whole milliseconds.
        assert other.points[0].quality == pytest.approx(first.points[0].quality, abs=5e-7)
        assert other.points[0].cost == pytest.approx(first.points[0].cost, abs=5e-4)
    assert [v.evidence for v in by_source.values()] == [Grade.WANDB, Grade.LOG, Grade.LOG]


def test_online_and_offline_have_one_metrics_hash(trained: Trained) -> None:
    hashes = set()
    for index, data in enumerate(trained.offline.values()):
        here = read_offline(data, "run.wandb", KEYS)
        there = online(trained, index)
        assert metrics_sha256(here) == metrics_sha256(there)
        assert len(here.history["train_loss"]) == 201
        assert (here.seed, here.nonce, here.state) == (there.seed, there.nonce, "finished")
        hashes.add(metrics_sha256(here))
    assert len(hashes) == len(SEEDS)


def test_the_log_agrees_to_its_printed_digits(trained: Trained) -> None:
    for index, data in enumerate(trained.logs.values()):
        (printed,) = read_log(data, "run.log")
        exact = online(trained, index)
        assert [v.step for v in printed.validation] == [v.step for v in exact.validation]
        for a, b in zip(printed.validation, exact.validation, strict=True):
            assert a.loss == round(b.loss, 6)
            assert a.time_s == pytest.approx(b.time_s, abs=5e-4)


def test_a_snapshot_keeps_what_was_measured(trained: Trained) -> None:
    run = online(trained, 0)
    again = decode(encode(run))
    assert metrics_sha256(again) == metrics_sha256(run)
    assert (again.validation, again.history) == (run.validation, run.history)
    assert encode(again) == encode(run)


@pytest.mark.parametrize("share", [0.95, 0.7, 0.5, 0.3])
def test_a_file_that_breaks_off_gives_what_stands_before(trained: Trained, share: float) -> None:
    data = next(iter(trained.offline.values()))
    whole = read_offline(data, "run.wandb", KEYS)
    cut, ends = int(len(data) * share), set(record_ends(data))
    cut -= 3 * bool(ends & {cut, cut - 1})
    part = read_offline(data[:cut], "run.wandb", KEYS)
    assert part.validation == whole.validation[: len(part.validation)]
    assert 0 < len(part.validation) <= len(whole.validation)
    assert part.state == "crashed"
    if len(part.validation) < len(whole.validation):
        assert part.finished is False
    assert "middle of a record" in dict(part.problems)["history-gap"]


def record_ends(data: bytes) -> Iterator[int]:
    """Where the records of an offline file end: a header of 7 bytes, then chunks of (CRC, length,
    type) in blocks of 32 KiB."""
    at = 7
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, size, kind = struct.unpack_from("<IHB", data, at)
        at += 7 + size
        if kind in (1, 4):
            yield at


def test_a_whole_run_without_its_last_record_is_judged_by_what_is_there(trained: Trained) -> None:
    data = trained.offline["seed1.wandb"]
    ends = list(record_ends(data))[3:]

    def first(places: Iterable[int], wanted: Callable[[Run], Any]) -> tuple[int, Run]:
        runs = ((end, read_offline(data[:end], "x", KEYS)) for end in places)
        return next((end, run) for end, run in runs if wanted(run))

    cut, late = first(reversed(ends), lambda run: run.state != "finished")
    assert (late.state, late.finished, late.problems) == (None, True, ())
    _, early = first(ends, lambda run: run.validation)
    assert (early.state, early.finished) == ("crashed", False)
    entries = [{"source": "log", "path": "a.wandb"}]
    verdict = judged(None, document(runs=entries), **{"a.wandb": data[:cut]})
    assert not rules(verdict).keys() & {"run-crashed", "run-unfinished"}


def test_a_damaged_record_ends_the_reading(trained: Trained) -> None:
    data = bytearray(next(iter(trained.offline.values())))
    data[len(data) // 2] ^= 0xFF
    run = read_offline(bytes(data), "run.wandb", KEYS)
    assert "is damaged" in dict(run.problems)["history-gap"]


@pytest.mark.parametrize("data", [b"", b":W&B", b"step:1/2 val_loss:3", b":W&B" + b"\0" * 200])
def test_other_bytes_are_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(OfflineFileError, match=r"run\.wandb"):
        read_offline(data, "run.wandb", KEYS)


def test_bytes_cut_anywhere_never_raise_anything_else(trained: Trained) -> None:
    data = next(iter(trained.offline.values()))
    for length in range(0, len(data), 997):
        try:
            read_offline(data[:length], "run.wandb", KEYS)
        except OfflineFileError:
            assert length < 4000


@pytest.mark.full("trains twice")
def test_a_run_that_was_resumed_is_one_run_with_its_mark(
    server: WandbDouble, tmp_path: Path
) -> None:
    train("online", tmp_path, [1], server, 0, 100)
    train("online", tmp_path, [1], server, 101, 200)
    fetcher = WandbFetcher(server.key, server=server.url, patience=QUICK)
    run = fetcher.fetch([REF[0]], KEYS)[REF[0]].run
    assert run is not None and run.client_marks == ("resumed",)
    assert [v.step for v in run.validation] == list(range(0, 201, 20))
    assert run.problems == () and run.finished and run.nodes == 1


@pytest.mark.full("trains twice")
def test_two_offline_files_of_a_resumed_run_are_one_run(wandb_home: Path, tmp_path: Path) -> None:
    files = {}
    for part in ((0, 100), (101, 200)):
        train("offline", tmp_path / str(part[0]), [1], None, *part)
        (path,) = (tmp_path / str(part[0])).glob("wandb/offline-run-*/run-seed1.wandb")
        files[f"{part[0]}.wandb"] = path.read_bytes()
    entries = [{"source": "log", "path": name} for name in files]
    verdict = judged(None, document(runs=entries), **files)
    (run,) = verdict.runs
    assert (run.finished, run.state, run.step) == (True, "finished", 200)
    assert [point[0] for point in run.val] == list(range(0, 201, 20))
    assert not rules(verdict).keys() & {"duplicate-run", "run-crashed", "history-gap"}
    twice = {"a.wandb": files["0.wandb"], "b.wandb": files["0.wandb"]}
    again = judged(None, document(runs=[{"source": "log", "path": n} for n in twice]), **twice)
    assert "duplicate-run" in rules(again)
