"""Which tests a mutant meets."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.mutation.__main__ import mapped, not_collected, order
from tests.mutation.copies import Copy
from tests.mutation.coverage_map import Choice, merged
from tests.mutation.mutants import mutants_of

SOURCE = """LIMIT = 5


def over(x, by=1):
    return x > LIMIT + by


def under(x):
    return x < 0
"""
LINES = {"1": [], "4": [], "5": ["t.py::slow", "t.py::quick"], "8": [], "9": ["t.py::under"]}


def chosen(tmp_path: Path, line: int, *dropped: str) -> list[str]:
    (tmp_path / "m.py").write_text(SOURCE)
    seconds = {"t.py::slow": 2.0, "t.py::quick": 0.1, "t.py::under": 1.0}
    choice = Choice(tmp_path, {"lines": {"m.py": LINES}, "seconds": seconds, "unmapped": []})
    choice.dropped.update(dropped)
    return choice.tests(next(m for m in mutants_of("m.py", SOURCE) if m.line == line))


@pytest.mark.parametrize(
    ("line", "tests"),
    [
        pytest.param(9, ["t.py::under"], id="a line that a test runs"),
        pytest.param(5, ["t.py::quick", "t.py::slow"], id="quick ones first"),
        pytest.param(1, ["t.py::quick", "t.py::slow"], id="a constant, where it is used"),
        pytest.param(4, ["t.py::quick", "t.py::slow"], id="a default, where the function runs"),
    ],
)
def test_the_tests_of_a_line(tmp_path: Path, line: int, tests: list[str]) -> None:
    assert chosen(tmp_path, line) == tests


def test_the_tests_of_the_folder_come_first(tmp_path: Path) -> None:
    path = tmp_path / "bot/area/m.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE)
    near, far, beside = "tests/bot/area/test_m.py::t", "tests/site/t.py::t", "tests/bot/areas.py::t"
    seconds = {near: 2.0, far: 0.1, beside: 0.2}
    lines = {"bot/area/m.py": {"9": [far, near, beside]}}
    choice = Choice(tmp_path, {"lines": lines, "seconds": seconds, "unmapped": []})
    mutant = next(m for m in mutants_of("bot/area/m.py", SOURCE) if m.line == 9)
    assert choice.tests(mutant) == [near, far, beside]


def test_what_failed_without_a_mutant_is_asked_no_more(tmp_path: Path) -> None:
    assert chosen(tmp_path, 5, "t.py::quick") == ["t.py::slow"]


def test_maps_of_several_files_are_one() -> None:
    parts = [
        {"lines": {"m.py": {"1": ["a"]}}, "seconds": {"a": 1.0}, "failing": []},
        {"lines": {"m.py": {"1": ["b"], "2": ["b"]}}, "seconds": {"b": 2.0}, "failing": ["c"]},
    ]
    assert merged(parts) == {
        "lines": {"m.py": {"1": ["a", "b"], "2": ["b"]}},
        "seconds": {"a": 1.0, "b": 2.0},
        "failing": ["c"],
        "unmapped": [],
    }


def test_a_file_is_left_unmapped_once_the_time_is_up(tmp_path: Path) -> None:
    found = mapped(tmp_path, "tests/test_a.py", tmp_path / "a.json", time.monotonic() - 1)
    assert found["unmapped"] == ["tests/test_a.py"] and found["failing"] == []
    (tmp_path / "a.json").write_text('{"lines": {}, "seconds": {"a": 1.0}, "failing": []}')
    kept = mapped(tmp_path, "tests/test_a.py", tmp_path / "a.json", time.monotonic() - 1)
    assert merged([kept])["unmapped"] == [] and kept["seconds"] == {"a": 1.0}


def test_unit_tests_of_what_is_mutated_are_mapped_first_and_slow_files_last(
    tmp_path: Path,
) -> None:
    names = ["site/test_pages", "bot/parse/test_b", "bot/rank/test_c", "bot/rules/test_d"]
    paths = [tmp_path / f"tests/{name}.py" for name in names]
    for size, path in enumerate(paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#" * size)
    in_order = sorted(paths, key=lambda path: order(tmp_path, path))
    assert in_order == [paths[n] for n in (3, 2, 1, 0)]


@pytest.mark.parametrize(
    ("line", "code", "failed"),
    [
        pytest.param(9, 1, "t.py::test_under", id="noticed"),
        pytest.param(1, 0, None, id="not noticed", marks=pytest.mark.full("as much again")),
    ],
)
def test_a_copy_tries_a_mutant_and_is_as_before(
    tmp_path: Path, line: int, code: int, failed: str | None
) -> None:
    folder = tmp_path / "copy"
    for name in ("tests", "tests/mutation"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").touch()
    here = Path(__file__).parent
    for name in ("worker.py", "coverage_map.py", "mutants.py"):
        (folder / "tests/mutation" / name).write_text((here / name).read_text())
    (folder / "m.py").write_text(SOURCE)
    (folder / "t.py").write_text("import m\n\n\ndef test_under():\n    assert not m.under(0)\n")
    copy = Copy(folder)
    try:
        mutant = next(m for m in mutants_of("m.py", SOURCE) if m.line == line)
        assert copy.with_mutant(mutant, ["t.py"], 60) == (code, failed)
        assert copy.run(["t.py"], 60) == (0, None)
    finally:
        copy.close()


def test_a_file_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    (tmp_path / "test_good.py").write_text("def test_it():\n    pass\n")
    (tmp_path / "test_bad.py").write_text("import no_such_module_anywhere\n")
    (tmp_path / "tests/mutation").mkdir(parents=True)
    assert not_collected(tmp_path, ["test_good.py", "test_bad.py"]) == {"test_bad.py"}
