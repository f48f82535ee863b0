"""The shape of the code: who may import whom, no circles, one place for each constant.

Imports are read from the source, those inside functions and under TYPE_CHECKING too.
"""

from __future__ import annotations

import ast
import functools
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.registry import catalogue
from bot.rules import CHECKS, RULES

ROOT = Path(__file__).parents[1]
PACKAGES = ("bot", "leaderboard_site", "reference_trainer")
ORDER = (
    ("bot.registry",),
    ("bot.model",),
    ("bot.parse",),
    ("bot.compute",),
    ("bot.evidence",),
    ("bot.rules",),
    ("bot.judge", "bot.rank"),
    ("bot.verify",),
    ("bot.repository", "bot.render", "bot.importers"),
    ("bot.local",),
    ("bot.github",),
    ("bot.commands",),
    ("bot.cli",),
    ("leaderboard_site",),
)
"""From the bottom to the top: a module imports its own layer and those below it. A leaf, which
imports nothing of the project, or leaves alone, may be imported by all."""
NETWORK = {"requests", "urllib3", "wandb", "github", "http", "socket"}
LONGEST = 400
LONGEST_FUNCTION = 40


def modules() -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if "scaffold" not in parts and "starters" not in parts:
                found[".".join(parts).removesuffix(".__init__")] = path
    return found


MODULES = modules()


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """The syntax of a file, parsed once."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports anywhere in it, by their full names."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


@functools.cache
def imports() -> dict[str, set[str]]:
    """What each module imports; not read while tests are collected, which each worker does."""
    return {name: {m for m in imported(path) if m != name} for name, path in MODULES.items()}


@functools.cache
def own_imports() -> dict[str, set[str]]:
    """What each module imports of the project."""
    return {name: {m for m in found if m in MODULES} for name, found in imports().items()}


def leaves() -> set[str]:
    """Modules that import nothing of the project, or only such."""
    found: set[str] = set()
    while True:
        more = {n for n, own in own_imports().items() if own <= found} - found
        if not more:
            return found
        found |= more


def layer(name: str) -> int | None:
    parts = [
        (len(prefix), index)
        for index, prefixes in enumerate(ORDER)
        for prefix in prefixes
        if name == prefix or name.startswith(f"{prefix}.")
    ]
    return max(parts)[1] if parts else None


def test_no_module_imports_upwards() -> None:
    below = {name for name in leaves() if layer(name) != layer("bot.model.values")}
    wrong = [
        f"{name} imports {other}"
        for name, found in own_imports().items()
        for other in found
        if (mine := layer(name)) is not None
        and (theirs := layer(other)) is not None
        and theirs > mine
        and other not in below
    ]
    assert wrong == []


def test_every_module_of_the_bot_has_its_layer() -> None:
    free = {"bot", *leaves()}
    assert [n for n in MODULES if n.startswith("bot.") and layer(n) is None and n not in free] == []


def test_there_is_no_circle_of_imports() -> None:
    remaining = dict(own_imports())
    while True:
        done = {name for name, found in remaining.items() if not found}
        if not done:
            break
        remaining = {n: found - done for n, found in remaining.items() if n not in done}
    assert sorted(remaining) == []


def test_the_trainer_takes_the_formulas_and_nothing_else_of_the_bot() -> None:
    allowed = {"bot.compute.accounting", "bot.compute.accelerators"}
    taken = {
        other
        for name, found in own_imports().items()
        for other in found
        if name.startswith("reference_trainer") and other.startswith("bot")
    }
    assert taken <= allowed
    for name in allowed:
        assert not any(other.startswith("bot") for other in imports()[name])


def test_the_bot_knows_no_framework_and_neither_trainer_nor_site() -> None:
    wrong = {"torch", "jax", "reference_trainer", "leaderboard_site"}
    assert [
        f"{name} imports {other}"
        for name, found in imports().items()
        for other in found
        if name.startswith("bot") and other.split(".")[0] in wrong
    ] == []


@pytest.mark.parametrize("below", ["bot.model", "bot.parse", "bot.compute", "bot.rules"])
def test_only_evidence_and_github_use_the_network(below: str) -> None:
    assert [
        f"{name} imports {other}"
        for name, found in imports().items()
        for other in found
        if name.startswith(below) and other.split(".")[0] in NETWORK
    ] == []


def test_no_module_is_longer_than_can_be_read_at_once() -> None:
    files = {*MODULES.values(), *(ROOT / "tests").rglob("*.py")}
    lengths = {str(p): len(p.read_text(encoding="utf-8").splitlines()) for p in files}
    assert {n: length for n, length in lengths.items() if length > LONGEST} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    """Without its docstring, which may be a rule's page."""
    long = {}
    for name, path in MODULES.items():
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first, last = node.body[0], node.end_lineno or node.lineno
                lines = last - node.lineno + 1
                if ast.get_docstring(node, clean=False) is not None:
                    lines -= (first.end_lineno or first.lineno) - first.lineno + 1
                if lines > LONGEST_FUNCTION:
                    long[f"{name}.{node.name}"] = lines
    assert long == {}


def test_the_model_is_typed_and_touches_nothing() -> None:
    for name, path in MODULES.items():
        if name.startswith("bot.model"):
            text = path.read_text(encoding="utf-8")
            assert not imports()[name] & {"os", "io", "subprocess", "shutil", "tempfile"}, name
            assert re.search(r"\bopen\(", text) is None, name
            assert re.search(r"\bAny\b|type: ignore", text) is None, name


# ---- rules --------------------------------------------------------------------------------------


def test_every_rule_is_catalogued_and_every_catalogued_rule_is_loaded_in_its_order() -> None:
    assert list(RULES) == list(catalogue())
    assert len(RULES) == len(CHECKS)


def test_every_rule_function_is_listed() -> None:
    """A public function of a rule module that takes a case and yields findings is a rule, unless
    a rule calls it."""
    listed = {check.__name__ for check in CHECKS}
    names = [
        node.name
        for name, path in MODULES.items()
        if name.startswith("bot.rules.")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.replace("_", "-") in catalogue()
    ]
    assert sorted(names) == sorted(listed)


# ---- each constant once -------------------------------------------------------------------------

TOLERANCES = {6e-5, 0.06, 0.002}
NAMES = re.compile(
    r"\[a-z0-9\]\[a-z0-9_-\]|\[A-Za-z0-9\](?:\(\?:)?\[A-Za-z0-9_?-\]|\(r?\"\[0-9a-f\]\{40\}\""
)


def test_tolerances_stand_in_the_registry_alone() -> None:
    found = defaultdict(set)
    for name, path in MODULES.items():
        if not name.startswith("bot."):
            continue
        for node in nodes(path):
            if isinstance(node, ast.Constant) and type(node.value) is float:
                if node.value in TOLERANCES:
                    found[name].add(node.value)
    assert dict(found) == {"bot.registry": TOLERANCES}


def test_names_are_matched_by_the_patterns_of_one_module() -> None:
    wrong = [
        name
        for name, path in MODULES.items()
        if name != "bot.patterns" and NAMES.search(path.read_text(encoding="utf-8"))
    ]
    assert wrong == []


def test_the_schemas_match_names_by_the_same_patterns() -> None:
    from bot.patterns import LOGIN_TEXT, SLUG_TEXT

    schema = json.loads((ROOT / "schemas/submission.schema.json").read_text(encoding="utf-8"))
    person = schema["properties"]["contributors"]["items"]["properties"]
    assert person["github"]["pattern"] == f"^{LOGIN_TEXT}$"
    assert schema["properties"]["track"]["pattern"] == f"^{SLUG_TEXT}$"


# ---- the page of it -----------------------------------------------------------------------------

PAGE = (ROOT / "leaderboard_site/docs/architecture.md").read_text(encoding="utf-8")


def test_the_page_names_every_part_of_the_bot_and_no_other() -> None:
    named = set(re.findall(r"^\| `(bot/[\w/]+(?:\.py)?/?)` \|", PAGE, re.MULTILINE))
    parts = {
        f"bot/{path.name}/" if path.is_dir() else f"bot/{path.name}"
        for path in (ROOT / "bot").iterdir()
        if path.name not in ("__init__.py", "__pycache__")
        and (path.is_dir() or path.suffix == ".py")
    }
    assert named == parts


def test_every_path_on_the_page_is_there() -> None:
    paths = re.findall(
        r"`((?:bot|tests|schemas|leaderboard_site|reference_trainer)/[\w./-]*)`", PAGE
    )
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_name_on_the_page_is_in_a_file_that_its_row_names() -> None:
    rows = [row for row in PAGE.split("To add something")[1].splitlines() if row.startswith("| a")]
    lost = []
    for row in rows:
        words = re.findall(r"`([\w./-]+)`", row)
        paths = [ROOT / word for word in words if "/" in word]
        folders = [path if path.is_dir() else path.parent for path in paths]
        paths += [f / w for w in words if "/" not in w and "." in w for f in folders]
        files = [path for path in paths if path.is_file()]
        files += [file for path in paths if path.is_dir() for file in path.glob("*.py")]
        text = " ".join(file.read_text(encoding="utf-8") for file in files)
        names = [w for w in words if w.isidentifier() and not re.search(rf"\b{w}\b", text)]
        lost += [f"{row.split('|')[1].strip()}: {name}" for name in names]
    assert len(rows) > 20
    assert lost == []
