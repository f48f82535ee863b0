"""Shared by all tests: where the repository is, and skips that count as failures in a full run."""

from __future__ import annotations

import collections
import fcntl
import gc
import os
import pickle
import shutil
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import hypothesis
import pytest
from _pytest.mark import ParameterSet

from bot.model.verdict import Verdict
from bot.repository import verify_repository
from tests.golden import unpack

ROOT = Path(__file__).resolve().parent.parent
os.environ["SPEEDRUN_CACHE"] = ""  # no test reads or leaves anything in the user's cache


def full_run() -> bool:
    """Whether everything is tried, which `make test-full` and `make test-rest` ask for."""
    return bool(os.environ.get("SPEEDRUN_FULL"))


def tried(examples: int) -> int:
    """How many examples Hypothesis tries: all of them in a full run, else a quarter."""
    return examples if full_run() else examples // 4


# A busy machine is slow, not wrong: no example has a deadline. What fails can be tried again.
hypothesis.settings.register_profile(
    "speedrun",
    deadline=None,
    print_blob=True,
    max_examples=tried(100),
)
hypothesis.settings.load_profile("speedrun")
OPTIONAL = "wide: "
"""A skip whose reason begins so is allowed in a full run: it needs a GPU, or the night."""
SKIPPED = "speedrun/skipped"
_skipped: set[str] = set()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rest",
        action="store_true",
        help="Only what the run before skipped, and what does more in a full run.",
    )


COMPILED_BYTES = 1 << 30


def _keep_what_is_compiled(config: pytest.Config) -> None:
    """JAX keeps its programs in pytest's cache, for all processes of a run and for the next run:
    compiling takes half of the time of the trainer's tests. Too many of them are left behind."""
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
    if cache := getattr(config, "cache", None):  # none with -p no:cacheprovider
        folder = cache.mkdir("jax")
        if sum(path.stat().st_size for path in folder.iterdir()) > COMPILED_BYTES:
            shutil.rmtree(folder)
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        _keep_what_is_compiled(config)
    config.addinivalue_line("markers", "more: does more in a full run (SPEEDRUN_FULL=1).")
    config.addinivalue_line("markers", "full(why): slow, so it is left to a full run.")
    config.addinivalue_line(
        "markers", "one_in(n): of a module of long scenarios, one in n is tried in every run."
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays until the end: the garbage collector need not walk over
    it again and again, which took a fifth of the time of some tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --rest, keep what was skipped before (whole modules too), what is marked `more`, and
    what Hypothesis tries: a full run tries more examples."""
    _leave_scenarios(items)
    if not config.getoption("--rest"):
        return
    before = tuple(config.cache.get(SKIPPED, [])) if config.cache else ()
    kept, left = [], []
    for item in items:
        skipped = item.nodeid in before or item.nodeid.partition("::")[0] in before
        more = item.get_closest_marker("more") or hypothesis.is_hypothesis_test(
            getattr(item, "obj", None)
        )
        (kept if skipped or more else left).append(item)
    # What one worker shares, such as a built site, begins first and not at the end.
    items[:] = sorted(kept, key=lambda item: not item.nodeid.startswith("tests/site/"))
    config.hook.pytest_deselected(items=left)


def _leave_scenarios(items: list[pytest.Item]) -> None:
    """Mark as `full` what `one_in` leaves out: the first test of a module is tried in every run,
    and of a long module one in so many after it."""
    seen: collections.Counter[str] = collections.Counter()
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is None or item.get_closest_marker("full"):
            continue
        module = item.nodeid.partition("::")[0]
        if seen[module] % mark.args[0]:
            item.add_marker(pytest.mark.full("one of many scenarios"))
        seen[module] += 1


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped:
        _skipped.add(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remember what was skipped, for --rest."""
    config = session.config
    partial = config.getoption("--rest") or config.getoption("lf", False)
    cache = getattr(config, "cache", None)  # none with -p no:cacheprovider
    if cache and not hasattr(config, "workerinput") and not partial:
        cache.set(SKIPPED, sorted(_skipped))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With SPEEDRUN_FULL=1 a skipped test fails, unless only a GPU is missing."""
    report = yield
    if full_run() and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if OPTIONAL not in reason:
            report.outcome = "failed"
            report.longrepr = f"skipped in a full run: {reason}"
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what is marked `full` before anything is set up for it."""
    if mark := item.get_closest_marker("full"):
        in_a_full_run(*mark.args)


def in_a_full_run(why: str) -> None:
    """Leave the rest of a test to `make test-full`, which tries all of it."""
    if not full_run():
        pytest.skip(f"slow: {why}; make test-full runs it")


def in_a_nightly_run(why: str) -> None:
    """Skip what takes minutes and rarely breaks, unless all tests run at once."""
    if os.environ.get("SPEEDRUN_REST"):
        pytest.skip(f"{OPTIONAL}{why}; make test-full runs it")


T = TypeVar("T")


def some(values: Sequence[T], every: int) -> Sequence[T]:
    """All of them in a full run, else one in so many. Mark the test `more`."""
    return values if full_run() else values[::every]


def in_turn(
    values: Sequence[Any], ids: Sequence[str], why: str, first: int = 0, every: int = 2
) -> list[ParameterSet]:
    """Parameters of which one in so many, from number `first` on, is tried in every run; the
    others are left to a full run."""
    marks = [() if n % every == first else pytest.mark.full(why) for n in range(len(values))]
    rows = zip(values, ids, marks, strict=True)
    return [pytest.param(value, id=name, marks=mark) for value, name, mark in rows]


@pytest.fixture(scope="session", autouse=True)
def _temporary_folder_is_a_root(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The search for `tracks/` ends at a repository: so it never leaves the temporary folder."""
    (tmp_path_factory.getbasetemp() / ".git").mkdir(exist_ok=True)


@pytest.fixture(scope="module", autouse=True)
def _own_wandb_process() -> None:
    """The W&B client's helper process keeps the settings of its first user (bounds on time that a
    test of faults makes very short) and asks servers that are gone: each module gets its own."""
    if wandb := sys.modules.get("wandb"):
        wandb.teardown()


@pytest.fixture(scope="session")
def own_verdicts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Verdict, ...]:
    """The verdicts on this repository's submissions, judged once for all workers."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    kept = folder / "own-verdicts.pickle"
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_bytes(pickle.dumps(verify_repository(ROOT, jobs=1)))
    found: tuple[Verdict, ...] = pickle.loads(kept.read_bytes())
    return found


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published results and their right answers, unpacked: see `tests.golden`."""
    return unpack(tmp_path_factory.mktemp("golden"))
