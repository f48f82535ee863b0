"""The templates: autoescaped Jinja with the site's words and formats."""

from __future__ import annotations

import functools as ft
import math
import re
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from bot.model.board import Entry
from bot.model.values import finite
from bot.registry import Grade
from leaderboard_site import text
from leaderboard_site.states import rule_words, shown_rules, state_of

SITE_NAME = "Speedrun"
FEEDS = ("new", "records", "baselines", "states")
"""Feeds over all tracks."""
GRADE_WORDS = {
    Grade.REPRODUCED: "reproduced by others than its author",
    Grade.WANDB: "read from the history that Weights & Biases holds",
    Grade.LOG: "read from training logs or W&B files in the submission",
    Grade.SELF_REPORTED: "read from the submission’s own results file alone",
}


@ft.cache
def environment() -> jinja2.Environment:
    """The one environment of the site."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent.parent / "templates"),
        autoescape=True,
        auto_reload=False,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(
        clean=text.clean,
        prose=prose,
        breakable=breakable,
        safe_url=text.safe_url,
        day=text.day,
        plural=text.plural,
        chance_percent=chance_percent,
        rule_words=rule_words,
    )
    env.globals.update(
        state_of=state_of,
        shown_rules=shown_rules,
        grade_words=GRADE_WORDS,
        site_name=SITE_NAME,
        base="../../",
    )
    return env


def prose(words: str) -> markupsafe.Markup:
    """Text in which `backticks` become code; everything is escaped."""
    safe = str(markupsafe.escape(words))
    return markupsafe.Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", safe))


def breakable(words: str) -> markupsafe.Markup:
    """A name that a line may break after a slash or underscore and before a capital, escaped."""
    safe = str(markupsafe.escape(words))
    return markupsafe.Markup(re.sub(r"(?<=[/_])(?=.)|(?<=[a-z])(?=[A-Z])", "<wbr>", safe))


def render(template: str, /, **values: Any) -> str:
    """The template filled in. Raises jinja2.UndefinedError for a name that is not given."""
    return _template(template).render(**values)


@ft.cache
def _template(name: str) -> jinja2.Template:
    return environment().get_template(name)


def page(
    title: str, description: str, body: str, *, hide: bool = True, image: str | None = None
) -> str:
    """A Markdown file for mkdocs whose content is one block of HTML.

    Blank lines go: they would end the block. Titles come from this package or a track file.
    """
    lines = [
        "---",
        f"title: {quoted(title)}",
        f"description: {quoted(description)}",
    ]
    if image:
        lines.append(f"image: {quoted(image)}")
    if hide:
        lines += ["hide:", "  - navigation", "  - toc"]
    lines += ["---", ""]
    compact = "\n".join(line for line in body.splitlines() if line.strip())
    return "\n".join(lines) + "\n" + compact + "\n"


def quoted(value: str) -> str:
    """A double-quoted YAML scalar."""
    safe = text.clean(value, 300).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{safe}"'


def number(value: Any) -> float | None:
    """The value when it is a finite number, else None."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if value is None:
        return None
    return float(value) if finite(value) else None


def chance_percent(entry: Entry) -> int | None:
    """How likely an entry truly is on the frontier, in whole percents; below 50 it is grey."""
    chance = entry.frontier_chance
    return None if chance is None else round(100 * chance)


def is_doubtful(entry: Entry) -> bool:
    """Whether an entry on the frontier is more likely not to belong there."""
    percent = chance_percent(entry)
    return percent is not None and percent < 50
