"""How a repository wants its bot: `.github/speedrun.toml`, every key optional.

    [bot]
    login = "github-actions[bot]"     # the account that writes; an App's is "name[bot]"
    check = "speedrun"                # name of the check run; pin it in the ruleset
    reviewers = ["example-user"]      # one of them is asked when a verdict needs a review
    review_days = 3                   # the promised review time, shown in the comment
    site = "https://org.github.io/speedrun"
    quiet = true                      # no comment on a pull request that touches nothing of ours

    [workflows]                       # what `speedrun init` writes; run it again after a change
    runs_on = "ubuntu-24.04"
    pages = true                      # build the site with GitHub Pages
    schedule = "41 3 * * *"           # when the nightly audit runs, in cron's words
    api_url = "https://github.example.org/api/v3"   # on GitHub Enterprise Server

Templates in `.github/speedrun/` (same names as in `bot/render/templates/`) replace ours.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from bot.model.report import Settings
from bot.parse.schemas import first_problem

FILE = Path(".github/speedrun.toml")
TEMPLATES = Path(".github/speedrun")


class SettingsError(ValueError):
    """`.github/speedrun.toml` cannot be used; the message names the key and what is expected."""


def load_settings(root: Path) -> Settings:
    """Settings of the checkout at `root`. Raises SettingsError.

    `SPEEDRUN_BOT_LOGIN` overrides the login, for an App whose name only its operator knows.
    """
    path = root / FILE
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        data: dict[str, Any] = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{FILE}: not readable as TOML: {error}") from error
    bot = data.get("bot", {})
    if isinstance(bot, dict) and os.environ.get("SPEEDRUN_BOT_LOGIN"):
        bot["login"] = os.environ["SPEEDRUN_BOT_LOGIN"]
    problem = first_problem(data, "settings")
    if problem:
        raise SettingsError(f"{FILE}: {problem}")
    templates = root / TEMPLATES if (root / TEMPLATES).is_dir() else None
    values = {**bot, **data.get("workflows", {}), "templates": templates}
    values["reviewers"] = tuple(bot.get("reviewers", ()))
    values["site"] = bot.get("site", "").rstrip("/")
    return Settings(**values)
