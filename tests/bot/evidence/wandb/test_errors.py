"""What a failure of the W&B client stands for: our key, their service, or no such run."""

from __future__ import annotations

import pytest

from bot.evidence.wandb.errors import bad_key, classify, no_key, not_found, unavailable


class HTTPError(Exception):
    """As the client raises it."""


class AuthenticationError(Exception):
    """As the client raises it while it signs in."""


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
    ],
)
def test_a_failure_while_signing_in(text: str, expected: object, retry: bool) -> None:
    failure = classify(AuthenticationError(text))
    assert failure.message == getattr(expected, "message", None)
    assert failure.retry is retry


def test_a_run_that_is_not_there() -> None:
    assert classify(ValueError("Could not find run <Run e/p/r>")) == not_found()
