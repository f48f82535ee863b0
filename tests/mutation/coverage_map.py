"""Which tests run which lines, and which tests a mutant should therefore meet.

python -m tests.mutation.coverage_map OUT TEST_FILE...     (in the copy that is to be mutated)
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.mutation.mutants import Mutant

TARGETS = ("bot/compute", "bot/rules", "bot/rank", "leaderboard_site/charts.py")
TESTS = (
    "tests/bot/compute",
    "tests/bot/rules",
    "tests/bot/rank",
    "tests/bot/commands",
    "tests/bot/evidence",
    "tests/bot/importers",
    "tests/bot/model",
    "tests/bot/parse",
    "tests/bot/render",
    "tests/bot/test_doctored_logs.py",
    "tests/bot/test_imported_history.py",
    "tests/bot/test_imported_word.py",
    "tests/bot/test_log_submissions.py",
    "tests/bot/test_repository.py",
    "tests/bot/test_verify.py",
    "tests/corpus",
    "tests/golden",
    "tests/site",
)
"""Where what decides is tested; the slow journeys over servers run the same code once more."""
FIRST = ("tests/bot/compute", "tests/bot/rules", "tests/bot/rank", "tests/site/test_charts")
LAST = ("tests/site", "tests/corpus", "tests/golden", "tests/bot/importers")
LAST += ("tests/bot/evidence", "tests/bot/commands", "tests/bot/test_")
PLUGINS = ("-p", "_hypothesis_pytestplugin", "--hypothesis-seed=0", "-p", "no:cacheprovider")
"""Options of pytest. Only these plugins: `copies.environment` keeps out what else is installed."""
MOST_SECONDS = 20.0
MOST_TESTS = 400


def measure(out: Path, files: list[str]) -> int:
    """Write {file: {line: [test, ...]}}, the seconds of each test and what fails to `out`."""
    import coverage
    import pytest

    took: dict[str, float] = defaultdict(float)
    failing: set[str] = set()

    class Clock:
        """Names the test for coverage and notes how long it takes."""

        def pytest_runtest_logstart(self, nodeid: str) -> None:
            measured.switch_context(nodeid.partition("[")[0])

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            took[report.nodeid.partition("[")[0]] += report.duration
            if report.failed:
                failing.add(report.nodeid.partition("[")[0])

    measured = coverage.Coverage(data_file=None, source=["bot", "leaderboard_site"])
    measured.start()
    made = f"{Path.cwd()}-{os.getpid()}"
    pytest.main([*PLUGINS, "-q", f"--basetemp={made}", *files], plugins=[Clock()])
    shutil.rmtree(made, ignore_errors=True)
    measured.stop()
    data, lines = measured.get_data(), {}
    for file in data.measured_files():
        name = Path(file).resolve().relative_to(Path.cwd()).as_posix()
        if name.startswith(TARGETS):
            found = data.contexts_by_lineno(file)
            lines[name] = {
                line: sorted(set(tests) - failing - {""}) for line, tests in found.items()
            }
    found_all = {"lines": lines, "seconds": took, "failing": sorted(failing)}
    out.with_suffix(".new").write_text(json.dumps(found_all), encoding="utf-8")
    out.with_suffix(".new").rename(out)
    return 0


def merged(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One map of those of several groups of test files."""
    lines: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    seconds: dict[str, float] = {}
    failing: set[str] = set()
    unmapped: list[str] = []
    for part in parts:
        unmapped += part.get("unmapped", ())
        seconds |= part["seconds"]
        failing |= set(part["failing"])
        for file, found in part["lines"].items():
            for line, tests in found.items():
                lines[file][line] += tests
    told = {"failing": sorted(failing), "unmapped": unmapped}
    return {"lines": lines, "seconds": seconds, **told}


class Choice:
    """The tests that a mutant meets: near ones first, then quick ones."""

    def __init__(self, root: Path, covered: dict[str, Any]) -> None:
        self._lines: dict[str, dict[str, list[str]]] = covered["lines"]
        self._seconds: dict[str, float] = covered["seconds"]
        self.whole = not covered["unmapped"]
        self._trees = {file: ast.parse((root / file).read_text("utf-8")) for file in self._lines}
        self.dropped: set[str] = set()
        """Tests that failed once without a mutant: what they say counts no longer."""

    def tests(self, mutant: Mutant) -> list[str]:
        """At most MOST_TESTS that run the line, or what it sets while the module is imported; those
        of the module's own folder first, where a table of its decisions may be slower than all that
        only pass by."""
        if mutant.file not in self._trees:
            return []
        own = f"tests/{Path(mutant.file).parent.as_posix()}/"
        chosen, total = [], 0.0
        running = self._running(mutant) - self.dropped
        for test in sorted(running, key=lambda t: (not t.startswith(own), self._took(t))):
            total += self._took(test)
            if chosen and (total > MOST_SECONDS or len(chosen) == MOST_TESTS):
                break
            chosen.append(test)
        return chosen

    def limit(self, tests: list[str]) -> float:
        """After so many seconds the tests hang."""
        return 20 + 3 * sum(self._took(test) for test in tests)

    def _took(self, test: str) -> float:
        return self._seconds.get(test, 0.0)

    def _running(self, mutant: Mutant) -> set[str]:
        """The tests of the narrowest piece of code around the mutant that any test runs."""
        for first, last, names in _around(self._trees[mutant.file], mutant.line):
            if found := self._of_lines(mutant.file, first, last) | self._of_names(names):
                return found
        return self._of_lines(mutant.file, 1, sys.maxsize)

    def _of_lines(self, file: str, first: int, last: int) -> set[str]:
        lines = self._lines[file].items()
        return {test for line, tests in lines if first <= int(line) <= last for test in tests}

    def _of_names(self, names: set[str]) -> set[str]:
        """The tests of the lines that use a constant."""
        found = set()
        for file, tree in self._trees.items() if names else ():
            for node in ast.walk(tree):
                if getattr(node, "id", getattr(node, "attr", None)) in names:
                    found |= self._of_lines(file, node.lineno, node.lineno)
        return found


def _around(tree: ast.Module, line: int) -> Iterator[tuple[int, int, set[str]]]:
    """(first line, last line, names set) of the line and the statements about it, narrow first."""
    yield line, line, set()
    about = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    for node in sorted(about, key=lambda n: (n.end_lineno or 0) - n.lineno):
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        inner = [part for target in targets if target is not None for part in ast.walk(target)]
        names = {part.id for part in inner if isinstance(part, ast.Name)}
        yield node.lineno, node.end_lineno or node.lineno, names


if __name__ == "__main__":
    sys.exit(measure(Path(sys.argv[1]), sys.argv[2:]))
