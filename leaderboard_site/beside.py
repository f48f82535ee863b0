"""Work on a second processor: a forked copy of this process, which has all its data already."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def beside(work: Callable[[], int]) -> Iterator[Callable[[], int]]:
    """Run `work` while the body runs; what is yielded waits for it and returns its number.

    Where there is one processor, no fork, or another thread (which a fork would leave behind),
    it runs when it is waited for. So it does where the copy failed, to raise the error here.
    """
    many = hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) > 1
    if not many or threading.active_count() > 1:
        yield work
        return
    # What both share stays shared: a collector that walks over it would copy its pages.
    gc.collect()
    frozen_before = gc.get_freeze_count() > 0
    gc.freeze()
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def run() -> None:
        theirs.send(work())

    process = context.Process(target=run, daemon=True)
    process.start()
    theirs.close()

    def wait() -> int:
        try:
            number: int = ours.recv()
        except EOFError:
            process.join()
            return work()
        process.join()
        return number

    try:
        yield wait
    finally:
        if process.is_alive():
            process.terminate()
            process.join()
        ours.close()
        if not frozen_before:
            gc.unfreeze()
