"""Which tests run which lines: every test function once, under coverage.

python -m tests.mutation.coverage_map OUT      (in the copy that is to be mutated)
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

TARGETS = ("bot/compute", "bot/rules", "bot/rank", "leaderboard_site/charts.py")
TESTS = (
    "tests/bot/compute",
    "tests/bot/rules",
    "tests/bot/rank",
    "tests/bot/commands",
    "tests/bot/importers",
    "tests/bot/evidence/test_training_log.py",
    "tests/bot/evidence/test_results_file.py",
    "tests/bot/test_doctored_logs.py",
    "tests/bot/test_imported_history.py",
    "tests/bot/test_imported_word.py",
    "tests/bot/test_log_submissions.py",
    "tests/bot/test_repository.py",
    "tests/bot/test_verify.py",
    "tests/corpus",
    "tests/golden",
    "tests/site/test_board.py",
    "tests/site/test_numbers.py",
    "tests/site/test_site.py",
)
"""Where what decides is tested; the slow journeys over servers run the same code once more."""


def main(out: Path) -> int:
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
    options = ["-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", "-n", "0"]
    pytest.main([*options, *(t for t in TESTS if Path(t).exists())], plugins=[Clock()])
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
    out.write_text(json.dumps(found_all), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
