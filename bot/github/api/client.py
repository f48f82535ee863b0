"""A connection to one repository on GitHub, and how its failures are told.

Reads are retried by PyGithub's own policy. Writes never are: GitHub may have stored a POST whose
answer was lost, and the default policy would then write a second comment. Every write of this
package is an upsert that looks first, so `settle` can run it again.
"""

from __future__ import annotations

import contextlib
import dataclasses as dc
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import requests
from github import Auth, Github, GithubException, GithubIntegration, GithubRetry
from github.Repository import Repository

from bot.model.report import Settings
from bot.patterns import REPOSITORY

T = TypeVar("T")
GHOST = "ghost"
API_VERSION = "2022-11-28"
ATTEMPTS = 4
_LONGEST_WAIT_S = 60.0


class GitHubTrouble(Exception):
    """GitHub could not be reached or refused; the message says what was tried and the remedy.

    `ours` tells a fault of service or set-up (retry, exit 3) from a mistake in the request.
    """

    def __init__(self, message: str, status: int | None = None):
        super().__init__(message)
        self.status = status


@dc.dataclass(frozen=True)
class Repo:
    """One repository, who we are on it, and how to wait (a test waits for nothing)."""

    api: Repository
    name: str
    login: str
    sleep: Callable[[float], None] = time.sleep

    @property
    def page(self) -> str:
        """The address of the repository's page."""
        return f"{server_url()}/{self.name}"


def checked_name(name: str) -> str:
    """`owner/repo`, or ValueError: dots and slashes would steer the token to other endpoints."""
    if not REPOSITORY.fullmatch(name) or name.split("/")[1] in (".", ".."):
        raise ValueError(f"{name!r} is not a repository, expected OWNER/REPO")
    return name


def api_url(settings: Settings | None = None) -> str:
    """The API's address: GITHUB_API_URL as Actions sets it, that of the settings, or the public
    one."""
    given = os.environ.get("GITHUB_API_URL") or (settings.api_url if settings else "")
    return given or "https://api.github.com"


def server_url(settings: Settings | None = None) -> str:
    """The address of the pages that belong to the API: Actions sets GITHUB_SERVER_URL; a GitHub
    Enterprise Server has both on one host."""
    given = os.environ.get("GITHUB_SERVER_URL")
    api = api_url(settings)
    return given or api.removesuffix("/api/v3").replace("https://api.", "https://", 1)


def connect(token: str, *, url: str | None = None, backoff: float = 1.0) -> Github:
    """A client for a personal, workflow or installation token.

    Objects are lazy: `get_repo` costs no request.
    """
    return _client(Auth.Token(token), url, backoff)


def connect_app(app_id: str, key: str, name: str, *, url: str | None = None) -> Github:
    """A client for a GitHub App's installation on the repository `name`; one request.

    Its token is fetched with the first request, and again when it is about to expire.
    """
    auth = Auth.AppAuth(app_id, key)
    integration = GithubIntegration(auth=auth, base_url=url or api_url(), retry=_retry(1.0))
    owner, repo = checked_name(name).split("/")
    installation = integration.get_repo_installation(owner, repo)
    return _client(auth.get_installation_auth(installation.id), url, 1.0)


def _client(auth: Auth.Auth, url: str | None, backoff: float) -> Github:
    return Github(
        auth=auth,
        base_url=url or api_url(),
        retry=_retry(backoff),
        per_page=100,
        lazy=True,
        seconds_between_requests=None,
        seconds_between_writes=None,
        api_version=API_VERSION,
        user_agent="speedrun-bot",
    )


def _retry(backoff: float) -> GithubRetry:
    return GithubRetry(
        total=3,
        backoff_factor=backoff,
        max_rate_limit_wait=_LONGEST_WAIT_S,
        allowed_methods={"GET"},
    )


def open_repo(github: Github, name: str, login: str) -> Repo:
    """The repository; raises ValueError if the name is not OWNER/REPO."""
    return Repo(github.get_repo(checked_name(name)), name, login)


def login_of(said: Any) -> str:
    """Who wrote something; GitHub names nobody where the account was deleted."""
    return str(said.user.login) if said.user else GHOST


# ---- failures -----------------------------------------------------------------------------------


def transient(error: Exception) -> bool:
    """Whether the same call may succeed later: an outage, a rate limit, a cut connection."""
    if isinstance(error, requests.exceptions.RequestException):
        return True
    if not isinstance(error, GithubException):
        return False
    if error.status >= 500 or error.status == 429:
        return True
    return error.status == 403 and "rate limit" in str(error.data).lower()


def _wait_s(error: Exception, attempt: int) -> float:
    headers = getattr(error, "headers", None) or {}
    after = headers.get("retry-after")
    if after and str(after).isdigit():
        return min(float(after), _LONGEST_WAIT_S)
    reset = headers.get("x-ratelimit-reset")
    limited = isinstance(error, GithubException) and error.status in (403, 429)
    if limited and reset and str(reset).isdigit():
        return min(max(float(reset) - time.time(), 0.0) + 1.0, _LONGEST_WAIT_S)
    return float(2**attempt)


def settle(repo: Repo, upsert: Callable[[], T]) -> T:
    """Run an upsert until it holds. It looks before it writes: it may run again."""
    for attempt in range(ATTEMPTS):
        try:
            return upsert()
        except (GithubException, requests.exceptions.RequestException) as error:
            if not transient(error) or attempt == ATTEMPTS - 1:
                raise
            repo.sleep(_wait_s(error, attempt))
    raise AssertionError("unreachable: the last attempt returns or raises")


@contextlib.contextmanager
def told(doing: str) -> Iterator[None]:
    """Turn a failure inside into GitHubTrouble with one sentence; no token, no traceback."""
    try:
        yield
    except GithubException as error:
        raise GitHubTrouble(f"{doing}: {_reason(error)}", error.status) from error
    except requests.exceptions.RequestException as error:
        kind = type(error).__name__
        raise GitHubTrouble(f"{doing}: GitHub did not answer ({kind}); try again later") from error


def _reason(error: GithubException) -> str:
    data = error.data if isinstance(error.data, dict) else {}
    words = str(data.get("message") or "no message")[:200]
    if error.status == 401:
        remedy = "put a new one into GITHUB_TOKEN, or renew the App's key"
        return f"the token is not valid any more; {remedy}"
    if error.status == 403 and "rate limit" in words.lower():
        return "the rate limit is used up; it is restored within the hour, try again then"
    if error.status == 403:
        return f"the token may not do this ({words}); see the permissions table in the docs"
    if error.status == 404:
        return "not found, or not visible to this token"
    if error.status >= 500:
        return f"GitHub answered {error.status}; try again later"
    return f"GitHub answered {error.status}: {words}"
