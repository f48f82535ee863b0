"""A file is there whole, as before, or not at all, whatever cuts the writing short."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bot.files import write
from tests.conftest import ROOT

LIMITED = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
from bot.files import write
write(Path(sys.argv[1]), b"x" * 10_000)
"""


def test_a_new_file_with_its_folders_and_no_other(tmp_path: Path) -> None:
    write(tmp_path / "a/b/c.json", "{}\n")
    assert (tmp_path / "a/b/c.json").read_bytes() == b"{}\n"
    assert [p.name for p in (tmp_path / "a/b").iterdir()] == ["c.json"]


def test_the_mode_is_that_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write(tmp_path / "ours", b"")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "ours")}
    assert len(modes) == 1


@pytest.mark.parametrize("before", [b"as it was", None])
def test_a_disk_that_fills_up_leaves_what_was_there(tmp_path: Path, before: bytes | None) -> None:
    """A limit on the size of files stands in for a full disk: the write ends half way."""
    path = tmp_path / "submission.json"
    if before is not None:
        path.write_bytes(before)
    command = [sys.executable, "-c", LIMITED, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode and f"File too large: '{path}'" in done.stderr
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([] if before is None else [before])


def test_an_interrupt_leaves_no_part_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "report.json", b"1")
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_replaced_and_its_target_left_alone(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("theirs")
    (tmp_path / "link").symlink_to("target")
    write(tmp_path / "link", "ours")
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "theirs"


def test_the_error_names_the_file_and_not_its_part(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError) as caught:
        write(tmp_path / "file" / "below.json", b"")
    assert caught.value.filename == str(tmp_path / "file" / "below.json")
