"""Files appear whole or not at all, locally and on object stores; one process a folder."""

from __future__ import annotations

import errno
import importlib.util
import json
import pathlib
from typing import Any

import numpy as np
import pytest

from reference_trainer import checkpoint
from reference_trainer.errors import StorageError
from reference_trainer.storage import Folder, LocalFolder, Lock, open_folder, prefix


@pytest.fixture(params=["local", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Folder:
    if request.param == "local":
        return open_folder(str(tmp_path / "store"))
    if importlib.util.find_spec("fsspec") is None:
        pytest.skip("fsspec is not installed; make test-full installs it")
    return open_folder(f"memory://{tmp_path.name}")


def test_write_read_list_remove(folder: Folder) -> None:
    folder.write("a/b.txt", b"one")
    folder.write("a/b.txt", b"two")
    assert folder.read("a/b.txt") == b"two" and folder.exists("a/b.txt")
    assert folder.children("a") == ["b.txt"] and folder.children("none") == []
    folder.remove("a")
    folder.remove("a")
    assert not folder.exists("a/b.txt")
    with pytest.raises(StorageError, match=r"a/b.txt could not be"):
        folder.read("a/b.txt")


def test_checkpoints_end_with_a_marker(folder: Folder) -> None:
    state = {"param/x": np.arange(6.0).reshape(2, 3), "optimizer/count": np.array(3)}
    for step in (5, 10, 15):
        checkpoint.save(folder, step, blocks(state), json.dumps({"step": step}).encode())
    assert checkpoint.steps(folder) == [10, 15]
    folder.remove("checkpoints/step-00000015/DONE")
    assert checkpoint.steps(folder) == [10]
    loaded, run = checkpoint.load(folder, 10)
    assert run == {"step": 10} and set(loaded) == set(state)
    assert np.array_equal(loaded["param/x"], state["param/x"])


def blocks(arrays: dict[str, np.ndarray]) -> checkpoint.State:
    return [(name, checkpoint.whole(values)) for name, values in arrays.items()]


def halves(array: np.ndarray, part: int) -> checkpoint.State:
    """The rows of an array that one of two processes holds; the first holds a count besides."""
    cut = (len(array) + 1) // 2
    rows, start = (array[:cut], 0) if part == 0 else (array[cut:], cut)
    begins = (start, *(0,) * (array.ndim - 1))
    held = [("param/x", checkpoint.Block(array.shape, begins, rows))]
    return held + (blocks({"optimizer/count": np.array(3)}) if part == 0 else [])


def test_two_processes_save_their_shards_and_one_reads_the_whole(folder: Folder) -> None:
    array = np.arange(15.0).reshape(5, 3)
    savers = [checkpoint.Saver(folder, part, 2) for part in range(2)]
    savers[0].save(5, halves(array, 0), {"step": 5})
    savers[0].wait()
    assert checkpoint.steps(folder) == [], "half a checkpoint does not count"
    savers[1].save(5, halves(array, 1), {"step": 5})
    savers[1].wait()
    assert checkpoint.steps(folder) == [5]
    state, run = checkpoint.load(folder, 5)
    assert run == {"step": 5} and state["optimizer/count"] == 3
    assert np.array_equal(state["param/x"], array)


def test_parts_of_another_number_of_processes_do_not_mix(folder: Folder) -> None:
    array = np.arange(15.0).reshape(5, 3)
    for part, writers in ((0, 2), (1, 3)):
        saver = checkpoint.Saver(folder, part, writers)
        saver.save(5, halves(array, part), {"step": 5})
        saver.wait()
    assert checkpoint.steps(folder) == []


def test_a_shard_that_lacks_rows_is_said(folder: Folder) -> None:
    array = np.arange(15.0).reshape(5, 3)
    for part in range(2):
        saver = checkpoint.Saver(folder, part, 2)
        saver.save(5, halves(array, part) if part == 0 else [], {"step": 5})
        saver.wait()
    with pytest.raises(StorageError, match=r"9 of the 15 numbers of param/x are there.*remove"):
        checkpoint.load(folder, 5)


def test_a_failed_write_is_raised_at_the_next_checkpoint(tmp_path: pathlib.Path) -> None:
    saver = checkpoint.Saver(FullDisk(tmp_path))
    saver.save(1, blocks({"param/x": np.zeros(3)}), {"step": 1})
    with pytest.raises(StorageError, match="disk is full"):
        saver.save(2, blocks({"param/x": np.zeros(3)}), {"step": 2})
    saver.wait()


class FullDisk(LocalFolder):
    """A disk that fills while the second file of a checkpoint is written."""

    def write(self, name: str, data: bytes) -> None:
        if name.endswith("run.json"):
            raise StorageError("run.json could not be written: the disk is full")
        super().write(name, data)


def test_a_full_disk_leaves_no_half_checkpoint(tmp_path: pathlib.Path) -> None:
    good = LocalFolder(tmp_path)
    checkpoint.save(good, 1, blocks({"param/x": np.zeros(3)}), b"{}")
    with pytest.raises(StorageError, match="disk is full"):
        checkpoint.save(FullDisk(tmp_path), 2, blocks({"param/x": np.zeros(3)}), b"{}")
    assert checkpoint.steps(good) == [1]
    assert good.children("checkpoints") == ["step-00000001"]


def test_no_space_is_said_in_words(tmp_path: pathlib.Path, monkeypatch: Any) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match="the disk is full; free some space"):
        LocalFolder(tmp_path).write("x.bin", b"data")
    assert list(tmp_path.iterdir()) == []


def test_two_processes_in_one_folder(tmp_path: pathlib.Path) -> None:
    first, second = Lock(tmp_path), Lock(tmp_path)
    first.acquire()
    with pytest.raises(StorageError, match="another process is writing"):
        second.acquire()
    first.release()
    second.acquire()
    second.release()


def test_prefix_has_an_alias(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPEEDRUN_PREFIX", raising=False)
    monkeypatch.setenv("MARIN_PREFIX", "gs://bucket/x")
    assert prefix() == "gs://bucket/x"
    monkeypatch.setenv("SPEEDRUN_PREFIX", "/data")
    assert prefix() == "/data"


def test_unknown_scheme_names_what_is_missing() -> None:
    with pytest.raises(StorageError, match="needs a package"):
        open_folder("nosuchscheme://bucket")


def test_a_folder_that_nobody_can_write_is_named(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be written .*; choose another --out"):
        Lock(tmp_path / "file" / "run").acquire()
