"""The walk-through: every line of a starter once, every part with words of its own."""

from __future__ import annotations

import pytest

from reference_trainer import starters
from reference_trainer.walkthrough import Section, sections

FILE = '''"""One line.

Two more
    indented.
"""

import os

# ---- first -----

# About
# the part.

X = 1

# Above f.
#
# Second paragraph.
@decorator
def f():
    # inside
    return 1


class C:
    pass

# ---- last ----

# Words alone.
'''


def test_sections_of_a_file() -> None:
    assert sections(FILE) == [
        Section("One line.", "Two more\n    indented.", "import os", 7),
        Section("first", "About\nthe part.", "X = 1", 14),
        Section(
            "f",
            "Above f.\n\nSecond paragraph.",
            "@decorator\ndef f():\n    # inside\n    return 1",
            19,
            2,
        ),
        Section("C", "", "class C:\n    pass", 25, 2),
        Section("last", "Words alone.", "", 28),
    ]


@pytest.mark.parametrize("source", ["", "\n\n", "x = 1", '"""only words"""', "# a comment"])
def test_small_files_are_one_section(source: str) -> None:
    (only,) = sections(source)
    assert only.level == 1 and only.title


def test_what_is_not_python_is_refused_with_its_line() -> None:
    with pytest.raises(ValueError, match="not Python, see line 2"):
        sections("x = 1\ny = (\n")


@pytest.mark.parametrize("kind", starters.KINDS)
def test_starters_lose_no_line_and_explain_every_part(kind: str) -> None:
    source = starters.source(kind)
    lines, found = source.splitlines(), sections(source)
    shown = set()
    for part in found:
        code = part.code.splitlines()
        assert lines[part.first_line - 1 :][: len(code)] == code
        shown.update(range(part.first_line - 1, part.first_line - 1 + len(code)))
        assert part.prose, part.title
    docstring_ends = lines.index('"""', 1)
    left = [x for n, x in enumerate(lines) if n not in shown and n > docstring_ends and x.strip()]
    assert all(line.startswith("#") for line in left)
    titles = [part.title for part in found if part.level == 1]
    assert [t.split(":")[0] for t in titles[1:]] == [
        "who and what",
        "the recipe",
        "the model",
        "the optimizer",
        "run",
    ]
    defined = {part.title for part in found if part.level == 2}
    assert {"rotate", "orthogonalise"} <= defined
