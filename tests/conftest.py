"""Shared by all tests: where the repository is, and skips that count as failures in a full run."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
OPTIONAL = "wide: "
"""A skip whose reason begins so is allowed in a full run: it reads data outside the repository."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With SPEEDRUN_FULL=1 a skipped test fails, unless it only lacks data from outside."""
    report = yield
    if os.environ.get("SPEEDRUN_FULL") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if OPTIONAL not in reason:
            report.outcome = "failed"
            report.longrepr = f"skipped in a full run: {reason}"
    return report


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real results beside the repository; the test is skipped where there is none."""
    if not SHARED.is_dir():
        pytest.skip(f"{OPTIONAL}needs ../shared/data, real results that are not part of the clone")
    return SHARED
