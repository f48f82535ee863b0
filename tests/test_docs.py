"""What the documents tell the reader to type exists: commands, options, configurations, targets."""

import re
import shlex
from pathlib import Path

import click
import pytest

from bot.cli import main
from reference_trainer.config import load_config

ROOT = Path(__file__).parents[1]
PLACES = (
    "README.md",
    "CONTRIBUTING.md",
    "leaderboard_site/docs/*.md",
    "leaderboard_site/templates/*.html",
    "reference_trainer/*.md",
    "bot/github/**/*.md",
    "bot/render/templates/*",
    ".github/**/*.md",
    ".github/**/*.yml",
    "bot/**/*.py",
    "reference_trainer/**/*.py",
)
PROSE = {"by", "runs", "run"}  # "a speedrun by pull request"


def documents() -> list[Path]:
    found = {path for place in PLACES for path in ROOT.glob(place) if path.is_file()}
    return sorted(found)


def typed(text: str) -> list[list[str]]:
    """The words of each `speedrun COMMAND ...` that is code: quoted, indented, or a line of it."""
    text = re.sub(r"\\\n\s*", " ", text)
    found = re.findall(
        r"(?:^[ \t>$]*|[`'\"]|<code>|run: )speedrun ([a-z][^\n`<'\"#|;]*)", text, re.M
    )
    lines = []
    for line in found:
        try:
            words = shlex.split(line)
        except ValueError:
            words = line.split()
        if words and words[0] not in PROSE:
            lines.append(words)
    return lines


def fault(words: list[str]) -> str | None:
    """What is wrong with one command line."""
    command: click.Command = main
    context = click.Context(main, info_name="speedrun")
    rest = list(words)
    while rest and isinstance(command, click.Group) and not rest[0].startswith("-"):
        name = rest.pop(0).rstrip(".,:)")
        inner = command.get_command(context, name)
        if inner is None:
            return None if command.invoke_without_command else f"no command {name}"
        command = inner
    known = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}
    for word in rest:
        option = word.rstrip(".,:)").partition("=")[0]
        if re.fullmatch(r"--[a-z][a-z-]+", option) and option not in known:
            return f"no option {option}"
    if "--config" in rest:
        load_config(rest[rest.index("--config") + 1])
    return None


def test_every_command_in_the_documents_exists() -> None:
    checked, faults = 0, []
    for path in documents():
        for words in typed(path.read_text(encoding="utf-8")):
            checked += 1
            wrong = fault(words)
            if wrong:
                faults.append(f"{path.relative_to(ROOT)}: speedrun {' '.join(words)}: {wrong}")
    assert faults == []
    assert checked > 60


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("`speedrun chek PATH`", "no command chek"),
        ("    speedrun check --formt json", "no option --formt"),
        ("`speedrun baseline freze a b`", "no command freze"),
    ],
)
def test_a_wrong_command_is_noticed(line: str, wrong: str) -> None:
    assert [fault(words) for words in typed(line)] == [wrong]


def test_every_make_target_in_the_documents_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for path in documents():
        text = path.read_text(encoding="utf-8")
        named = set(re.findall(r"(?:^[ \t]*|`)make ([a-z]+(?:-[a-z]+)*)(?=[`\s])", text, re.M))
        if path.suffix in (".md", ".html"):
            assert named <= targets, path
