"""Code run in a clean temporary folder: nothing of it is left running, and no token reaches it.

A guard, a process of its own, holds the other end of a pipe. If this program is killed and cannot
clean up, the pipe closes, and the guard ends the code and removes the folder.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bot.commands.root import Unusable
from bot.model.submission import LOG_ENDINGS
from bot.render.untrusted import plain

_GUARD = """
import os, shutil, signal, sys
said = sys.stdin.read().split()
if len(said) == 1:  # the group of the code's processes, and no word that they have ended
    try:
        os.killpg(int(said[0]), signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    shutil.rmtree(sys.argv[1], ignore_errors=True)
"""
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)


@contextlib.contextmanager
def clean_folder() -> Iterator[tuple[Path, Path]]:
    """A folder for the code and one for its runs, which go afterwards, also when asked to end."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with tempfile.TemporaryDirectory(prefix="speedrun-run-") as folder:
            code, out = Path(folder, "code"), Path(folder, "runs")
            code.mkdir()
            out.mkdir()
            yield code, out
    finally:
        signal.signal(signal.SIGTERM, before)


def run_code(files: Mapping[str, bytes], command: Sequence[str], folder: Path, out: Path) -> None:
    """Run `command` among `files` in `folder`; its logs lie below `out` then, which stands for
    {out} in the command. Raises Unusable if it fails."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    words = [word.replace("{out}", str(out)) for word in command]
    env = {k: v for k, v in os.environ.items() if not _SECRET.search(k)} | {"WANDB_MODE": "offline"}
    with _guard(folder.parent) as watch:
        try:
            process = subprocess.Popen(words, cwd=folder, env=env, start_new_session=True)
        except OSError as error:
            raise Unusable(f"{words[0]}: {error.strerror or error}") from error
        try:
            watch(process.pid)
            status = process.wait()
        finally:
            _end(process)
    if status:
        raise Unusable(f"the code ended with status {status}; nothing was written")
    if not any(out.rglob("*")):
        for path in [p for p in folder.rglob("*") if p.suffix in LOG_ENDINGS and p.is_file()]:
            shutil.copy(path, out / path.name)


@contextlib.contextmanager
def _guard(folder: Path) -> Iterator[Callable[[int], None]]:
    """Starts the guard, and gives what tells it the group of processes to end."""
    words = [sys.executable, "-I", "-c", _GUARD, str(folder)]
    guard = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    )
    assert guard.stdin is not None
    with guard, guard.stdin as pipe:

        def tell(word: object) -> None:
            print(word, file=pipe, flush=True)

        try:
            yield tell
        finally:
            tell("ended")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing of it running, also after Ctrl-C."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


def checkout(repository: str, commit: str, folder: Path) -> None:
    """The linked commit, fetched without its history. Raises Unusable."""
    for words in (
        ["init", "-q"],
        ["fetch", "-q", "--depth", "1", "--", repository, commit],
        ["checkout", "-q", "FETCH_HEAD"],
    ):
        env = os.environ | {"GIT_TERMINAL_PROMPT": "0"}
        done = subprocess.run(
            ["git", *words], cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        if done.returncode:
            why = plain(done.stderr.strip().rpartition("\n")[2], 200)
            raise Unusable(f"{plain(repository, 200)} at {commit}: {why}")
