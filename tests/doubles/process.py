"""A Python program in a process of its own that starts at once.

Processes come from a server that has loaded what they need: a new Python would take half a second
for its imports alone, and the tests of kill points start a hundred.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Sequence
from multiprocessing.process import BaseProcess

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["tests.doubles.process", "bot.github.server.running", "bot.github.api.client"]
)


def start(program: str, arguments: Sequence[str]) -> BaseProcess:
    """Run the text of a program with these arguments and the environment of now, in silence."""
    process = _CONTEXT.Process(target=_run, args=(program, [*arguments], dict(os.environ)))
    process.start()
    return process


def kill(process: BaseProcess) -> None:
    """Kill it as the kernel does, and come back when it is gone. Its status is for one thread
    alone to wait for, so this one asks whether there still is such a process."""
    pid = process.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.kill(pid, 0)
            time.sleep(0.001)


def _run(program: str, arguments: list[str], environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *arguments]
    with open(os.devnull, "w") as sys.stdout:
        exec(compile(program, "<step>", "exec"), {"__name__": "__main__"})
