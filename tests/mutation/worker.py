"""Runs tests in a child for each line of standard input: what is slow to import is loaded once.

A line is a JSON list of arguments of pytest. Answers with two lines: the child's process, then
its answer: {"code": how pytest ended, "failed": the first test that failed or null}.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import warnings

from tests.mutation.coverage_map import PLUGINS

LOADED = ("jsonschema", "numpy", "pytest", "scipy.stats", "hypothesis", "rich.console", "click")
LOADED += ("re2", "jinja2", "requests", "github", "flask", "markdown", "asyncio", "sqlite3")
OPTIONS = (*PLUGINS, "-x", "-q", "-W", "ignore::pytest.PytestAssertRewriteWarning", "--tb=no")


def main() -> None:
    """Serve until standard input ends."""
    sys.dont_write_bytecode = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in LOADED:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    for line in sys.stdin:
        reading, writing = os.pipe()
        said = ""
        if (child := os.fork()) == 0:
            os.close(reading)
            _child(json.loads(line), writing)
        os.close(writing)
        print(child, flush=True)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.set_blocking(reading, False)  # a process that a test left may hold the other end
        with contextlib.suppress(BlockingIOError):
            said = os.read(reading, 4096).decode()
        os.close(reading)
        print(json.dumps({"code": code, "failed": said or None}), flush=True)


def _child(arguments: list[str], writing: int) -> None:
    os.setpgid(0, 0)
    sys.stdin.close()
    with open(os.devnull, "w") as void:
        os.dup2(void.fileno(), 1)
        os.dup2(void.fileno(), 2)
    import pytest

    os._exit(int(pytest.main([*OPTIONS, *arguments], plugins=[Teller(writing)])))


class Teller:
    """Tells which test failed, and lets Hypothesis stop at the first example that fails."""

    def __init__(self, writing: int) -> None:
        self._writing = writing

    def pytest_sessionstart(self) -> None:
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings.default, phases=phases)
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: object) -> None:
        if getattr(report, "failed", False):
            os.write(self._writing, str(getattr(report, "nodeid", "?")).encode())


if __name__ == "__main__":
    main()
