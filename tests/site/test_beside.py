"""Work on a second processor: its number, its error, and no process left behind."""

from __future__ import annotations

import multiprocessing
import threading
from pathlib import Path

import pytest

from leaderboard_site.beside import beside


def test_it_runs_while_the_body_runs_and_gives_its_number(tmp_path: Path) -> None:
    def work() -> int:
        (tmp_path / "made").write_text("x", encoding="utf-8")
        return 7

    with beside(work) as wait:
        assert wait() == 7
    assert (tmp_path / "made").read_text(encoding="utf-8") == "x"
    assert multiprocessing.active_children() == []


def test_its_error_is_raised_here() -> None:
    def work() -> int:
        raise ValueError("a page that cannot be made")

    with beside(work) as wait, pytest.raises(ValueError, match="cannot be made"):
        wait()
    assert multiprocessing.active_children() == []


def test_an_error_of_the_body_ends_it() -> None:
    started = threading.Event()

    def work() -> int:
        threading.Event().wait(60)
        return 0

    with pytest.raises(KeyError), beside(work):
        started.set()
        raise KeyError
    assert started.is_set() and multiprocessing.active_children() == []


def test_beside_another_thread_it_does_not_fork(tmp_path: Path) -> None:
    stop, done = threading.Event(), []
    other = threading.Thread(target=stop.wait)
    other.start()

    def work() -> int:
        done.append(1)  # seen here only where nothing was forked
        return 3

    with beside(work) as wait:
        assert wait() == 3
    stop.set()
    other.join()
    assert done == [1]
