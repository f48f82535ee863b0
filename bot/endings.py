"""How the program ends when it cannot go on: one sentence, and a status that is not a verdict.

0, 1 and 3 are answers about a submission (`bot.registry.EXIT_CODES`) and 2 is usage. What goes
wrong in the program or on its machine ends with 4, an interrupt with 130, and a reader that
closes the pipe (`| head`) ends it silently with 141, as the shell counts SIGPIPE.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import click

USAGE = 2
INTERNAL = 4
INTERRUPTED = 130
CLOSED = 141
TRACEBACK = "SPEEDRUN_TRACEBACK"
"""Set to anything, it shows where an internal error came from."""

_PROGRAMS = ("git", "gh")
_NAMED = (
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Closed(Exception):
    """The reader of our output has gone."""


@contextlib.contextmanager
def ours() -> Iterator[None]:
    """Keeps a closed pipe from click, which would end with 1: "rejected"."""
    try:
        yield
    except BrokenPipeError as error:
        raise Closed from error


def status_of(work: Callable[[], object]) -> int:
    """Run a command; its exit status. Says in one sentence why it could not go on."""
    try:
        try:
            result = work()
        except SystemExit as ending:
            result = ending.code
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except (Closed, BrokenPipeError):
        code = CLOSED
    except click.ClickException as error:
        with contextlib.suppress(OSError):
            error.show()
        code = error.exit_code if error.exit_code != 1 else USAGE
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted")
        code = INTERRUPTED
    except OSError as error:
        code, words = _refused(error)
        _say(f"Error: {words}")
    except Exception as error:
        _say(f"Error: {_internal(error)}")
        code = INTERNAL
    _release_output()
    return code


def _refused(error: OSError) -> tuple[int, str]:
    """The status and what the system refused: a path that was named is usage, the rest is the
    machine's."""
    why = error.strerror or str(error)
    name = str(error.filename) if error.filename is not None else ""
    if isinstance(error, FileNotFoundError) and name in _PROGRAMS:
        return INTERNAL, f"{name} cannot be started: it is not installed, or not on PATH"
    if error.errno in _FULL:
        return INTERNAL, f"{name or 'the output'}: {why}; free some space, then run it again"
    return (USAGE if name and isinstance(error, _NAMED) else INTERNAL), f"{name or 'system'}: {why}"


def _internal(error: Exception) -> str:
    """A fault of this program: what it was and where."""
    if os.environ.get(TRACEBACK):
        traceback.print_exc()
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    words = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return (
        f"an internal error, so nothing was decided ({words}{at}); "
        f"please report it with the output of {TRACEBACK}=1"
    )


def _say(sentence: str) -> None:
    from bot.render.untrusted import plain

    with contextlib.suppress(OSError):
        click.echo(plain(sentence, 1000), err=True)


def _release_output() -> None:
    """Let the interpreter end without writing what can no longer be written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
