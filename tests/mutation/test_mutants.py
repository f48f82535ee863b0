"""The faults that a mutation run puts into the source, and those it leaves alone."""

from __future__ import annotations

import pytest

from tests.mutation.mutants import mutants_of


def changes(text: str) -> set[str]:
    return {mutant.apply(text) for mutant in mutants_of("x.py", text)}


@pytest.mark.parametrize(
    ("text", "mutated"),
    [
        ("a < b", {"a <= b", "a > b"}),
        ("a is None", {"a is not None"}),
        ("a and b", {"((a) or (b))", "(a)", "(b)"}),
        ("a * b", {"(a) / (b)"}),
        ("not a", {"(a)"}),
        ("x = 3", {"x = 4", "x = 2"}),
        ("x = 0.002", {"x = 0.004"}),
        ("x = True", {"x = False"}),
        ("min(a)", {"max(a)"}),
        ("b if a else c", {"(b)", "(c)"}),
    ],
)
def test_each_kind_of_fault(text: str, mutated: set[str]) -> None:
    assert changes(text) == mutated


@pytest.mark.parametrize(
    "text",
    [
        '"""A docstring of 3 lines."""',
        "import a1",
        "def f(x: int | None) -> bool | None: ...",
        "if TYPE_CHECKING:\n    x = 1",
        "assert a < 3",
        'f"{x + 1}"',
        '"a" + b',
    ],
)
def test_what_does_not_decide_is_left_alone(text: str) -> None:
    assert changes(text) == set()


def test_columns_are_those_of_the_characters() -> None:
    assert changes('("ä", a < b)') == {'("ä", a <= b)', '("ä", a > b)'}


def test_each_has_a_name_of_its_own_and_its_line() -> None:
    found = mutants_of("x.py", "x = 1\ny = 1 < z < 2\nz = (1, 1)\n")
    assert len({m.name for m in found}) == len(found) == 6
    assert [m.line for m in found] == [1, 2, 2, 2, 3, 3]
