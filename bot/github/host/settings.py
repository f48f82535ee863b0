"""How this repository wants its bot: `.github/speedrun.toml`, every key optional.

    [bot]
    login = "github-actions[bot]"     # the account that writes; an App's is "name[bot]"
    check = "speedrun"                # name of the check run; pin it in the ruleset
    reviewers = ["example-user"]      # one of them is asked when a verdict needs a review
    review_days = 3                   # the promised review time, shown in the comment
    site = "https://org.github.io/speedrun"

Templates in `.github/speedrun/` (same names as in `bot/render/templates/`) replace ours.
"""

from __future__ import annotations

import dataclasses as dc
import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

FILE = Path(".github/speedrun.toml")
TEMPLATES = Path(".github/speedrun")
EVIDENCE_BRANCH = "evidence"
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})(?:\[bot\])?")


class SettingsError(ValueError):
    """`.github/speedrun.toml` cannot be used; the message names the key and what is expected."""


@dc.dataclass(frozen=True, slots=True)
class Settings:
    """The bot's settings with their defaults."""

    login: str = "github-actions[bot]"
    check: str = "speedrun"
    reviewers: tuple[str, ...] = ()
    review_days: int = 3
    site: str = ""
    templates: Path | None = None


_DEFAULT = Settings()


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _are_days(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "login": (_is_text, "a login in quotes"),
    "check": (_is_text, "the name of a check in quotes"),
    "reviewers": (_are_texts, 'a list of logins such as ["example-user"]'),
    "review_days": (_are_days, "a whole number of days such as 3"),
    "site": (_is_text, "an https:// address in quotes"),
}


def load_settings(root: Path) -> Settings:
    """Settings of the checkout at `root`. Raises SettingsError.

    `SPEEDRUN_BOT_LOGIN` overrides the login, for an App whose name only its operator knows.
    """
    path = root / FILE
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        data = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{FILE}: not readable as TOML: {error}") from error
    bot = _table(data)
    settings = Settings(
        login=os.environ.get("SPEEDRUN_BOT_LOGIN") or bot.get("login", _DEFAULT.login),
        check=bot.get("check", _DEFAULT.check),
        reviewers=tuple(bot.get("reviewers", ())),
        review_days=bot.get("review_days", _DEFAULT.review_days),
        site=bot.get("site", "").rstrip("/"),
        templates=root / TEMPLATES if (root / TEMPLATES).is_dir() else None,
    )
    for login in (settings.login, *settings.reviewers):
        if not _LOGIN.fullmatch(login):
            raise SettingsError(f"{FILE}: {login!r} is not a GitHub login")
    if settings.site and not settings.site.startswith("https://"):
        raise SettingsError(f"{FILE}: bot.site is {settings.site!r}, expected an https:// address")
    return settings


def _table(data: dict[str, Any]) -> dict[str, Any]:
    """The table [bot], every key known and of the right kind. Raises SettingsError."""
    for table in data:
        if table != "bot":
            raise SettingsError(f"{FILE}: unknown key {table}, expected the table [bot] alone")
    bot = data.get("bot", {})
    if not isinstance(bot, dict):
        raise SettingsError(f"{FILE}: bot is {bot!r}, expected a table [bot]")
    for key, value in bot.items():
        if key not in _KINDS:
            raise SettingsError(f"{FILE}: unknown key bot.{key}, expected one of {sorted(_KINDS)}")
        fits, wanted = _KINDS[key]
        if not fits(value):
            raise SettingsError(f"{FILE}: bot.{key} is {value!r}, expected {wanted}")
    return bot
