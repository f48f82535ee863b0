"""What a failure of W&B means: the submitter's, or ours, or worth another try.

Nothing of an exception's text is ever shown: it may quote headers or a URL. A `Failure` carries a
rule, one of a few fixed sentences, and whether to try again.
"""

from __future__ import annotations

import re
from typing import NamedTuple

NOT_FOUND = "run-not-found-or-private"
NOT_PUBLIC = "project-not-public"
OURS = "evidence-unavailable"
_STATUS = re.compile(r"(?:HTTP|error) (\d{3})\b")
_REFUSED = re.compile(r"API key (?:must|may)\b|invalid\b.*\bkey\b|not logged in", re.IGNORECASE)
_WAIT = "nothing to do for the submitter: it is tried again later"


class Failure(NamedTuple):
    """Why a run could not be read. `retry` says whether another try may help at once."""

    rule: str
    message: str
    fix: str
    retry: bool = False
    status: int | None = None
    """The HTTP status, which says nothing about a run: a proxy or an old signature answers so."""


class FetchError(Exception):
    """Raised inside the reader with a Failure; never carries another exception's text."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def not_found() -> Failure:
    """W&B does not tell a missing run from a private one, so neither can we."""
    message = "the run was not found on W&B or is not public"
    fix = "check the link; if it is right, make the project public, then comment `/verify`"
    return Failure(NOT_FOUND, message, fix)


def not_public() -> Failure:
    """The key's account reads it, the public does not: refused, so that nothing leaks."""
    message = "the run's project is not public: only an account with access can read it"
    return Failure(NOT_PUBLIC, message, "make the project public on W&B, then comment `/verify`")


def unavailable(reason: str, retry: bool = False) -> Failure:
    """A fault of W&B, of the network or of our key."""
    return Failure(OURS, reason, _WAIT, retry)


def no_key() -> Failure:
    """There is no key to read W&B with."""
    message = "W&B runs were not fetched: there is no W&B key"
    fix = "run `wandb login`, or open the pull request: the bot has a key of its own"
    return Failure(OURS, message, fix)


def bad_key() -> Failure:
    """W&B does not take our key."""
    message = (
        "W&B did not accept the API key of this check, so no run was read; its operator must put "
        "a valid key into `WANDB_API_KEY`"
    )
    return Failure(OURS, message, "run `wandb login`, or put a valid key into `WANDB_API_KEY`")


def classify(error: BaseException) -> Failure:
    """The failure that an exception of the `wandb` client stands for."""
    if isinstance(error, FetchError):
        return error.failure
    text = f"{type(error).__name__} {error}"
    status = _status(error, text)
    if "AuthenticationError" in text or "UsageError" in text:
        return _login(text, status)
    if "RunNotFoundError" in text or "Could not find" in text:
        return not_found()
    if status == 401:
        return bad_key()
    if status == 429:
        return unavailable("W&B limits how often we may ask (429)")
    if status is not None:
        failure = unavailable(f"W&B answered with HTTP status {status}")
        return failure._replace(status=status)
    if re.search(r"permission|forbidden|access denied", text, re.IGNORECASE):
        return not_found()
    if re.search(r"did not respond in time|timeout|deadline", text, re.IGNORECASE):
        return unavailable("W&B did not answer in time")
    if re.search(r"unexpected EOF|invalid character|EOF|reset", text):
        return unavailable("the connection to W&B broke off", retry=True)
    if "input:" in text:
        return unavailable("W&B could not answer the query")
    kind = type(error).__name__
    return unavailable(f"W&B could not be reached or understood ({kind})", retry=True)


def _login(text: str, status: int | None) -> Failure:
    """Failures while the client signs in: the key is wrong, or the server does not answer."""
    if "did not respond in time" in text:
        return unavailable("W&B did not answer in time")
    if status is not None and status not in (401, 403):
        return unavailable(f"W&B answered with HTTP status {status}", retry=status >= 500)
    if "No API key" in text or "No authentication" in text:
        return no_key()
    if status in (401, 403) or _REFUSED.search(text):
        return bad_key()
    if re.search(r"unexpected EOF|invalid character", text):
        return unavailable("the connection to W&B broke off", retry=True)
    return unavailable("W&B could not be reached", retry=True)


def _status(error: BaseException, text: str) -> int | None:
    inner = getattr(error, "exc", None) or error.__cause__ or error
    stated = getattr(getattr(inner, "response", None), "http_status", None)
    if isinstance(stated, int) and stated >= 400:
        return stated
    match = _STATUS.search(text)
    return int(match.group(1)) if match is not None else None
