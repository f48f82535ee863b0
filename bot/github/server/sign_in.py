"""How the self-hosted server signs in: as a GitHub App, or with a token.

`SPEEDRUN_APP_ID` and `SPEEDRUN_APP_KEY` (the PEM file's path, or its text) make it an App. The key
signs short-lived proofs and goes nowhere else; the installation's token, good for an hour, is made
anew before it expires, in the middle of a job as well.
"""

from __future__ import annotations

import dataclasses as dc
import os
from collections.abc import Mapping
from pathlib import Path

import jwt
from github import Github

from bot.github.api.client import GitHubTrouble, Repo, connect, connect_app, open_repo, told
from bot.model.report import Settings

APP_ID, APP_KEY, TOKEN = "SPEEDRUN_APP_ID", "SPEEDRUN_APP_KEY", "GITHUB_TOKEN"
_MAX_KEY_BYTES = 100_000


def read_key(value: str) -> str:
    """The private key as PEM text, from its file or given as such.

    Raises ValueError, whose message repeats nothing of what may be the key.
    """
    if "-----BEGIN" not in value:
        try:
            with Path(value).open("rb") as file:
                value = file.read(_MAX_KEY_BYTES).decode("ascii")
        except (OSError, ValueError):
            # the exception's own words would hold the value, which may be a mangled key
            raise ValueError(
                f"{APP_KEY} does not name a readable file; set it to the path of the key"
            ) from None
    try:
        jwt.encode({"iss": "0"}, value, algorithm="RS256")
    except Exception:
        # the libraries raise a dozen kinds for an invalid key, some of them with its text
        raise ValueError(f"{APP_KEY} is not an RSA private key in PEM format") from None
    return value


@dc.dataclass
class SignIn:
    """The connection of one server to its repository, made once and kept."""

    name: str
    environment: Mapping[str, str] = dc.field(default_factory=lambda: os.environ, repr=False)
    _github: Github | None = dc.field(default=None, init=False, repr=False)

    def check(self) -> None:
        """Whether the environment suffices; no request. Raises ValueError in one sentence."""
        app_id, key = self.environment.get(APP_ID), self.environment.get(APP_KEY)
        if bool(app_id) != bool(key):
            lacking = APP_KEY if app_id else APP_ID
            raise ValueError(f"{lacking} is not set; an App needs {APP_ID} and {APP_KEY}")
        if key:
            read_key(key)
        elif not self.environment.get(TOKEN):
            raise ValueError(f"neither {APP_ID} with {APP_KEY} nor {TOKEN} is set")

    def open(self, settings: Settings) -> Repo:
        """The repository; the first call signs in. Raises GitHubTrouble, ValueError."""
        if self._github is None:
            self._github = self._connect()
        return open_repo(self._github, self.name, settings.login)

    def _connect(self) -> Github:
        self.check()
        app_id, key = self.environment.get(APP_ID), self.environment.get(APP_KEY)
        if not app_id or not key:
            return connect(self.environment[TOKEN])
        try:
            with told("signing in as the App"):
                return connect_app(app_id, read_key(key), self.name)
        except GitHubTrouble as error:
            why = {
                401: f"GitHub does not take its proof; {APP_ID} and {APP_KEY} are not of one App, "
                "or the clock of this machine is wrong",
                404: f"it is not installed on {self.name}",
            }.get(error.status or 0)
            if why is None:
                raise
            raise GitHubTrouble(f"signing in as the App: {why}", error.status) from None
