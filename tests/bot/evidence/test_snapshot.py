"""Snapshots: what they keep, what they leave out, how small they are, that they only grow."""

from __future__ import annotations

import dataclasses as dc
import lzma
import random
import struct
from pathlib import Path

import pytest

from bot.evidence.snapshot import (
    SnapshotError,
    Snapshots,
    decode,
    encode,
    metrics_sha256,
    name_of,
    restrict,
)
from bot.model.run import Hardware, Run, Validation


def a_run(points: int = 20, **changes: object) -> Run:
    """A run with `points` points in every series."""
    draw = random.Random(7)
    clock = [0.0613 * n + draw.random() / 1000 for n in range(points)]
    loss = [single(3.3 + draw.gauss(0, 0.1)) for _ in range(points)]
    fields = {
        "source": "wandb",
        "file": "https://wandb.ai/example-team/nanogpt/runs/abc",
        "run_id": "abc",
        "entity": "example-team",
        "project": "nanogpt",
        "validation": tuple(Validation(n, v, clock[n]) for n, v in enumerate(loss)),
        "history": {"train_loss": tuple(enumerate(loss)), "time_s": tuple(enumerate(clock))},
        "total_steps": points,
        "state": "finished",
        "hardware": Hardware("NVIDIA H100 80GB HBM3", 8),
        "config": {"lr": 0.02, "nesterov": True},
    }
    return Run(**fields | changes)  # type: ignore[arg-type]


def single(value: float) -> float:
    """`value` as a model in single precision logs it."""
    (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    return float(rounded)


def test_it_gives_the_run_back() -> None:
    run = a_run(seed=5, nonce="ab" * 16, tags=("example-user",), code_sha256={"a.py": "c" * 64})
    again = decode(encode(run))
    assert again.source == "snapshot"
    assert dc.replace(again, source="wandb") == restrict(run)
    assert encode(again) == encode(run)


def test_a_time_that_is_not_known_stays_unknown() -> None:
    run = a_run(validation=(Validation(0, 3.5, None), Validation(1, 3.4, 2.0)))
    assert decode(encode(run)).validation == run.validation


def test_whole_numbers_and_floats_of_equal_value_have_one_hash() -> None:
    a = a_run(validation=(Validation(0, 3.0, 1.0),))
    b = a_run(validation=(Validation(0, 3, 1),))
    assert metrics_sha256(a) == metrics_sha256(b)
    assert metrics_sha256(a) != metrics_sha256(a_run(validation=(Validation(0, 3.0, 1.1),)))


def test_the_hash_is_of_what_was_measured_alone() -> None:
    run = a_run()
    same = dc.replace(run, name="other", tags=("x",), state="crashed", source="wandb-offline")
    assert metrics_sha256(same) == metrics_sha256(run)


@pytest.mark.parametrize("digits", ["single", "double"])
def test_ten_thousand_points_take_less_than_200_kb(digits: str) -> None:
    run = a_run(10_000)
    if digits == "double":
        draw = random.Random(1)
        noisy = [draw.gauss(3.3, 0.1) for _ in range(10_000)]
        run = dc.replace(run, history={**run.history, "train_loss": tuple(enumerate(noisy))})
    size = len(encode(run))
    assert size < 200_000, size


def test_what_is_not_allowed_is_left_out() -> None:
    run = a_run(
        name="[x](http://example.org)",
        tags=("example-user", "someone@example.org", "<b>"),
        config={"lr": 0.1, "hostname": "node-17", "data": "/home/someone", "argv": [1], "_x": 1},
        software={"torch": "2.9", "user": "someone", "python": "/home/someone/bin/python"},
        hardware=Hardware("<script>", 8),
        history={"train_loss": ((0, 1.0),), "secret/metric": ((0, 1.0),)},
        state="</td>",
    )
    kept = restrict(run)
    assert set(kept.config) == {"lr", "data", "config_sha256"}
    assert "someone" not in str(kept.config)  # a path is known by a digest
    assert kept.software == {"torch": "2.9"}
    assert (kept.tags, kept.name, kept.state) == (("example-user",), None, None)
    assert kept.hardware == Hardware(None, 8)
    assert set(kept.history) == {"train_loss"}
    text = lzma.decompress(encode(run))
    for word in (b"node-17", b"someone", b"script", b"secret", b"argv", b"</td>"):
        assert word not in text


def test_the_fingerprint_of_the_validation_data_is_kept() -> None:
    """As the trainer writes it; without it nobody could tell that a run validated on its own."""
    mine = "sha256:" + "5" * 64
    for given, kept in ((mine, mine), ("/home/someone/data", None), ("a b", None)):
        run = a_run(config={"validation_fingerprint": given})
        assert decode(encode(run)).config.get("validation_fingerprint") == kept


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", *map(lzma.compress, (b"{}", b"[]", b'{"schema_version": 9}'))],
)
def test_other_bytes_are_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(SnapshotError, match="snapshot"):
        decode(data)


def test_a_changed_number_is_noticed() -> None:
    data = lzma.decompress(encode(a_run())).replace(b'"total_steps":20', b'"total_steps":21')
    with pytest.raises(SnapshotError, match="metrics hash"):
        decode(lzma.compress(data))


def test_a_bomb_is_not_unpacked() -> None:
    with pytest.raises(SnapshotError):
        decode(lzma.compress(b" " * 100_000_000))


def test_versions_are_added_and_never_changed(tmp_path: Path) -> None:
    store = Snapshots(tmp_path)
    first = store.add(a_run())
    assert first == tmp_path / name_of(a_run())
    kept = first.read_bytes()
    assert store.add(dc.replace(a_run(), tags=("x",))) is None
    second = store.add(a_run(21))
    assert second is not None
    assert [path.name[:5] for path in (first, second)] == ["0000-", "0001-"]
    assert first.read_bytes() == kept
    (ref,) = store
    assert store.versions(ref) == (first, second)
    latest = store.latest(ref)
    assert latest is not None
    assert metrics_sha256(latest) == metrics_sha256(a_run(21))


def test_a_run_without_a_link_has_no_snapshot(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="is not a W&B run"):
        Snapshots(tmp_path).add(a_run(file="submissions/x/y/a.log"))


def test_a_name_cannot_leave_the_folder(tmp_path: Path) -> None:
    run = a_run(file="https://wandb.ai/a/..%2F..%2Fb/runs/c")
    with pytest.raises(SnapshotError):
        Snapshots(tmp_path).add(run)
    assert list(tmp_path.iterdir()) == []
