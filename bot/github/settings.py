"""How this repository wants its bot: `.github/speedrun.toml`, every key optional.

    [bot]
    login = "github-actions[bot]"     # the account that writes; an App's is "name[bot]"
    check = "speedrun"                # name of the check run; pin it in the ruleset
    reviewers = ["example-user"]      # one of them is asked when a verdict needs a review
    review_days = 3                   # the promised review time, shown in the comment
    site = "https://org.github.io/speedrun"

Templates in `.github/speedrun/` (same names as in `bot/github/templates/`) replace ours.
"""

from __future__ import annotations

import dataclasses as dc
import os
import re
import tomllib
from pathlib import Path

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


def load_settings(root: Path) -> Settings:
    """Settings of the checkout at `root`. Raises SettingsError.

    `SPEEDRUN_BOT_LOGIN` overrides the login, for an App whose name only its operator knows.
    """
    path = root / FILE
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        data = tomllib.loads(text).get("bot", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{FILE}: not readable as TOML: {error}") from error
    known = {"login", "check", "reviewers", "review_days", "site"}
    for key in data:
        if key not in known:
            raise SettingsError(f"{FILE}: unknown key bot.{key}, expected one of {sorted(known)}")
    settings = Settings(
        login=os.environ.get("SPEEDRUN_BOT_LOGIN") or str(data.get("login", _DEFAULT.login)),
        check=str(data.get("check", _DEFAULT.check)),
        reviewers=tuple(str(login) for login in data.get("reviewers", ())),
        review_days=int(data.get("review_days", _DEFAULT.review_days)),
        site=str(data.get("site", "")).rstrip("/"),
        templates=root / TEMPLATES if (root / TEMPLATES).is_dir() else None,
    )
    for login in (settings.login, *settings.reviewers):
        if not _LOGIN.fullmatch(login):
            raise SettingsError(f"{FILE}: {login!r} is not a GitHub login")
    if settings.site and not settings.site.startswith("https://"):
        raise SettingsError(f"{FILE}: bot.site is {settings.site!r}, expected an https:// address")
    return settings
