"""A starter file cut into annotated sections, for a page that reads it from top to bottom.

The words are the file's own: the docstring at its head, and the comment blocks that stand right
after a banner (`# ---- the model ----`) or right above a function or class. The code of a section
is verbatim and without gaps, so that `first_line` numbers all of its lines.
"""

import ast
import dataclasses as dc
import inspect
import re

BANNER = re.compile(r"# -{3,} (?P<title>.+?) -{3,}")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dc.dataclass(frozen=True)
class Section:
    """`title` of a banner or the name that is defined; `prose` in Markdown, "" where the file says
    nothing; `code` as it stands in the file, "" for a banner with words alone; `first_line` of the
    code, or of the banner where there is none, counted from 1; `level` 1 banner, 2 definition."""

    title: str
    prose: str
    code: str
    first_line: int
    level: int = 1


def sections(source: str) -> list[Section]:
    """Sections in reading order; the first is the docstring with what stands before any banner.

    Raises ValueError with the line where the text is not Python.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise ValueError(f"the file is not Python, see line {line or 1}: {error}") from error
    lines = source.splitlines()
    begin = 0
    title, prose = "The file", ""
    if ast.get_docstring(tree, clean=False) is not None:
        first, _, rest = inspect.cleandoc(ast.get_docstring(tree) or "").partition("\n")
        title, prose, begin = first.strip(), rest.strip("\n"), tree.body[0].end_lineno or 1
    starts = sorted({**_banners(lines), **_definitions(tree, lines)}.items())
    ends = [number for number, _ in starts] + [len(lines)]
    found = [_section(title, prose, lines, begin, ends[0], 1)]
    for (number, (title, level)), end in zip(starts, ends[1:], strict=True):
        code_from = number + 1 if level == 1 else number
        while level == 1 and code_from < end and not lines[code_from].strip():
            code_from += 1
        words = []
        while code_from < end and lines[code_from].startswith("#"):
            words.append(lines[code_from][1:].removeprefix(" ").rstrip())
            code_from += 1
        found.append(_section(title, "\n".join(words), lines, code_from, end, level, number))
    return found


def _section(
    title: str,
    prose: str,
    lines: list[str],
    begin: int,
    end: int,
    level: int,
    banner: int | None = None,
) -> Section:
    """Lines `begin` to `end`, counted from 0, without the blank ones around them."""
    while begin < end and not lines[begin].strip():
        begin += 1
    while begin < end and not lines[end - 1].strip():
        end -= 1
    code = "\n".join(lines[begin:end])
    first = begin if code or banner is None else banner
    return Section(title, prose, code, first + 1, level)


def _banners(lines: list[str]) -> dict[int, tuple[str, int]]:
    matches = ((number, BANNER.fullmatch(line.rstrip())) for number, line in enumerate(lines))
    return {number: (match["title"], 1) for number, match in matches if match}


def _definitions(tree: ast.Module, lines: list[str]) -> dict[int, tuple[str, int]]:
    """Line (from 0) of the comment block above every definition, or of the definition itself."""
    found = {}
    for node in tree.body:
        if isinstance(node, _DEFINITIONS):
            line = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
            while line and lines[line - 1].startswith("#") and not BANNER.match(lines[line - 1]):
                line -= 1
            found[line] = (node.name, 2)
    return found
