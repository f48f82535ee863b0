"""What a failure of the W&B client stands for: our key, their service, or no such run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bot.evidence.wandb.errors import bad_key, classify, no_key, not_found, unavailable


class HTTPError(Exception):
    """As the client raises it."""


class AuthenticationError(Exception):
    """As the client raises it while it signs in."""


class Refused(Exception):
    """The cause of a failure to sign in, with the answer of the server."""

    response = SimpleNamespace(http_status=401)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, bad_key().message),
        (403, unavailable("W&B answered with HTTP status 403").message),
        (429, unavailable("W&B limits how often we may ask (429)").message),
        (503, unavailable("W&B answered with HTTP status 503").message),
    ],
)
def test_a_status_while_reading(status: int, message: str) -> None:
    """401 says that the key is wrong; 403 may be a proxy's, and says nothing of the key."""
    assert classify(HTTPError(f"HTTP {status}: refused")).message == message


@pytest.mark.parametrize(
    ("text", "expected", "retry"),
    [
        ("HTTP 401: denied", bad_key(), False),
        ("HTTP 403: denied", bad_key(), False),
        ("HTTP 503: busy", unavailable("W&B answered with HTTP status 503"), True),
        ("HTTP 429: slow down", unavailable("W&B answered with HTTP status 429"), False),
        ("No API key configured", no_key(), False),
        ("API key must be 40 characters", bad_key(), False),
        ("Failed to verify credentials with a.test: user is not logged in", bad_key(), False),
        ("input: project user is not logged in", bad_key(), False),
        ("Invalid API key", bad_key(), False),
        ("Failed to verify: unexpected EOF", unavailable("the connection to W&B broke off"), True),
        (
            "Failed to verify: invalid character '<' looking for beginning of value",
            unavailable("the connection to W&B broke off"),
            True,
        ),
        (
            'Post "http://a.test/graphql": dial tcp: connect: connection refused',
            unavailable("W&B could not be reached"),
            True,
        ),
    ],
)
def test_a_failure_while_signing_in(text: str, expected: object, retry: bool) -> None:
    failure = classify(AuthenticationError(text))
    assert failure.message == getattr(expected, "message", None)
    assert failure.retry is retry


def test_a_refused_key_says_who_must_do_what() -> None:
    error = AuthenticationError("Failed to verify credentials")
    error.__cause__ = Refused()
    message = classify(error).message
    assert "did not accept the API key" in message
    assert "its operator must put a valid key into `WANDB_API_KEY`" in message


def test_a_run_that_is_not_there() -> None:
    assert classify(ValueError("Could not find run <Run e/p/r>")) == not_found()
