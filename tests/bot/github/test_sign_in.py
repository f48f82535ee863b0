"""The server signs in as a GitHub App: proof, installation's token, its renewal, and no trace."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import Any

import pytest

from bot.github.api.client import GitHubTrouble, api_url, server_url
from bot.github.host.settings import load_settings
from bot.github.server import serving, sign_in
from bot.github.server.queue import Queue
from bot.github.server.sign_in import APP_ID, APP_KEY, SignIn
from bot.model.report import Settings
from tests.bot.github.competition import REPO, Competition, submission
from tests.doubles.github import Fault

pytestmark = pytest.mark.one_in(3)

rsa = pytest.importorskip(
    "cryptography.hazmat.primitives.asymmetric.rsa", reason="needs cryptography (extra `bot`)"
)
NUMBER = "4242"
LOGIN = f"app-{NUMBER}[bot]"


def key_pair() -> tuple[str, str]:
    """A new key, private and public, as PEM."""
    from cryptography.hazmat.primitives import serialization as form

    key = rsa.generate_private_key(65537, 2048)
    private = key.private_bytes(
        form.Encoding.PEM, form.PrivateFormat.TraditionalOpenSSL, form.NoEncryption()
    )
    public = key.public_key().public_bytes(
        form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


@pytest.fixture
def app(competition: Competition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An App that is installed on the repository; its private key."""
    private, public = key_pair()
    competition.github.apps[NUMBER] = public
    competition.github.add_user(LOGIN, "Bot")
    (tmp_path / "app.pem").write_text(private)
    monkeypatch.setenv(APP_ID, NUMBER)
    monkeypatch.setenv(APP_KEY, str(tmp_path / "app.pem"))
    monkeypatch.setenv("SPEEDRUN_BOT_LOGIN", LOGIN)
    monkeypatch.setenv("GITHUB_TOKEN", "not-used")
    return private


def asked(competition: Competition, path: str) -> int:
    return sum(path in call.path for call in competition.github.calls)


def test_server_works_as_the_app(competition: Competition, app: str, tmp_path: Path) -> None:
    root = competition.checkout()
    tasks = serving.tasks(REPO, root, Queue(tmp_path / "queue.sqlite"))
    pull = competition.open(submission("fast", seconds=90.0))
    assert tasks.verify(REPO, pull.number) == "published"
    (body,) = competition.comments(pull.number, LOGIN)
    assert body.startswith("<!-- speedrun:verdict -->")
    (check,) = competition.repo.checks.values()
    assert (check["app"], check["conclusion"]) == (f"app-{NUMBER}", "success")
    assert competition.labels(pull.number) == ["speedrun: verified"]
    tasks.verify(REPO, pull.number)
    assert asked(competition, "/installation") == 2, "one installation, one token for both jobs"
    assert asked(competition, "/access_tokens") == 1
    assert not any(call.login == "not-used" for call in competition.github.calls)


def test_token_is_renewed_before_it_expires(competition: Competition, app: str) -> None:
    """Each token is taken away once the next is asked for, as GitHub would at its end."""
    competition.github.app_token_life_s = 15  # what is left when PyGithub must not wait any more
    repo = SignIn(REPO).open(load_settings(competition.checkout()))

    def expire(phase: str, method: str, path: str) -> None:
        if phase == "before" and path.endswith("/access_tokens"):
            for token in [t for t in competition.github.tokens if t.startswith("ghs_")]:
                del competition.github.tokens[token]

    competition.github.on_request = expire
    assert repo.api.complete().default_branch == "main"
    assert repo.api.get_branch("main").name == "main"
    assert asked(competition, "/access_tokens") == 2

    competition.github.app_token_life_s = 3600
    repo = SignIn(REPO).open(load_settings(competition.checkout()))
    for _ in range(3):
        repo.api.get_branch("main")
    assert asked(competition, "/access_tokens") == 3


def test_token_that_was_taken_away_is_told(competition: Competition, app: str) -> None:
    repo = SignIn(REPO).open(Settings())
    repo.api.get_branch("main")
    for token in [t for t in competition.github.tokens if t.startswith("ghs_")]:
        del competition.github.tokens[token]
    from bot.github.api.client import told

    with pytest.raises(GitHubTrouble, match="renew the App's key"), told("reading"):
        repo.api.get_branch("main")


def secrets(competition: Competition, private: str) -> list[str]:
    tokens = [t for t in competition.github.tokens if t.startswith("ghs_")]
    assert tokens
    lines = [line for line in private.splitlines() if not line.startswith("-----")]
    return [*tokens, *lines]


def test_key_and_tokens_are_in_no_log(
    competition: Competition, app: str, tmp_path: Path, caplog: Any, capsys: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    root = competition.checkout()
    tasks = serving.tasks(REPO, root, Queue(tmp_path / "queue.sqlite"))
    pull = competition.open(submission("fast", seconds=90.0))
    tasks.verify(REPO, pull.number)
    competition.github.faults = [Fault("GET", "/pulls/1$", 401, "Bad credentials", times=9)]
    with pytest.raises(GitHubTrouble) as failure:
        tasks.verify(REPO, pull.number)
    said = (
        caplog.text
        + "".join(capsys.readouterr())
        + "".join(traceback.format_exception(failure.value))
    )
    assert "api.github.com" in said or "127.0.0.1" in said, "the client's own log was watched"
    for secret in secrets(competition, app):
        assert secret not in said
    assert "eyJ" not in said, "a signed proof"
    shown = repr(SignIn(REPO)) + repr(SignIn(REPO, {APP_KEY: app}))
    assert "BEGIN" not in shown and not any(s in shown for s in secrets(competition, app))


def test_key_of_another_app(competition: Competition, app: str) -> None:
    competition.github.apps[NUMBER] = key_pair()[1]
    with pytest.raises(GitHubTrouble, match="not of one App, or the clock"):
        SignIn(REPO).open(Settings())


def test_app_that_is_not_installed(competition: Competition, app: str) -> None:
    competition.github.faults = [Fault("GET", "/installation$", 404, "Not Found", times=9)]
    with pytest.raises(GitHubTrouble, match=f"not installed on {REPO}"):
        SignIn(REPO).open(Settings())


def test_key_as_text_works_too(competition: Competition, app: str) -> None:
    repo = SignIn(REPO, {APP_ID: NUMBER, APP_KEY: app}).open(Settings())
    assert repo.api.complete().default_branch == "main"


WRONG = {
    "no way in": ({}, "neither SPEEDRUN_APP_ID"),
    "no key": ({APP_ID: "1"}, "SPEEDRUN_APP_KEY is not set"),
    "no number": ({APP_KEY: "x"}, "SPEEDRUN_APP_ID is not set"),
    "no file": ({APP_ID: "1", APP_KEY: "/nonexistent/s3cr3t"}, "does not name a readable file"),
    "a mangled key": ({APP_ID: "1", APP_KEY: "s3cr3t" * 2000}, "does not name a readable file"),
    "a broken key": (
        {APP_ID: "1", APP_KEY: "-----BEGIN RSA " + "PRIVATE KEY-----\ns3cr3t"},
        "not an RSA private key",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_missing_is_said_before_the_server_starts(tmp_path: Path, name: str) -> None:
    environment, words = WRONG[name]
    with pytest.raises(ValueError, match=words) as failure:
        SignIn(REPO, environment).check()
    trace = "".join(traceback.format_exception(failure.value))
    assert "s3cr3t" not in trace


def test_command_refuses_to_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from bot.cli import main

    (tmp_path / "tracks").mkdir()
    for name in (APP_ID, APP_KEY, "GITHUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPEEDRUN_WEBHOOK_SECRET", "w" * 40)
    arguments = ["webhook", "--repo", REPO, "--root", str(tmp_path), "--port", "0"]
    queue = str(tmp_path / "queue.sqlite")
    result = CliRunner().invoke(main, [*arguments, "--queue", queue])
    assert result.exit_code == 2 and "neither SPEEDRUN_APP_ID" in result.output
    assert sign_in.TOKEN in result.output


@pytest.mark.parametrize(
    ("api", "server"),
    [
        ("https://api.github.com", "https://github.com"),
        ("https://github.example.org/api/v3", "https://github.example.org"),
        ("https://api.example.ghe.com", "https://example.ghe.com"),
    ],
)
def test_pages_are_on_the_host_of_the_api(
    monkeypatch: pytest.MonkeyPatch, api: str, server: str
) -> None:
    monkeypatch.delenv("GITHUB_SERVER_URL", raising=False)
    monkeypatch.setenv("GITHUB_API_URL", api)
    assert server_url() == server


def test_the_api_of_the_settings_counts_where_no_workflow_set_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = Settings(api_url="https://github.example.org/api/v3")
    monkeypatch.delenv("GITHUB_API_URL", raising=False)
    assert api_url(own) == own.api_url
    assert api_url() == "https://api.github.com"
    monkeypatch.setenv("GITHUB_API_URL", "https://api.example.ghe.com")
    assert api_url(own) == "https://api.example.ghe.com"
