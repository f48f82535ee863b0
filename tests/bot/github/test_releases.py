"""A wheel is known by the release's list of hashes and by what `gh` says of its attestation."""

from __future__ import annotations

import hashlib
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.github.host.releases import known_release
from tests.bot.github.test_hosting import init
from tests.bot.github.wheels import a_wheel

NAME, DATA = "speedrun_bot-1.2.0-py3-none-any.whl", b"a wheel"
SUMS = "/v1.2.0/SHA256SUMS"
LISTED = (200, f"{hashlib.sha256(DATA).hexdigest()}  {NAME}\n".encode())


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, tuple[int, bytes]]]:
    """Path -> (status, body) of a server that stands for the releases."""
    found: dict[str, tuple[int, bytes]] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = found.get(self.path, (404, b"Not Found"))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Tests print no log of requests."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("SPEEDRUN_RELEASES", f"http://127.0.0.1:{server.server_port}")
    yield found
    server.shutdown()
    server.server_close()


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of programs; `gh` in it is what the test writes."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/bin")
    return folder / "gh"


def says(gh: Path, status: int, words: str) -> None:
    """A `gh` that notes what it was asked, and whether the file was there."""
    gh.write_text(
        f'#!/bin/sh\n[ -f "$3" ] && echo "$@" > {gh}.asked\necho "{words}" >&2\nexit {status}\n'
    )
    gh.chmod(0o755)


def test_listed_and_attested(answers: dict[str, tuple[int, bytes]], gh: Path) -> None:
    answers[SUMS] = LISTED
    says(gh, 0, "Verification succeeded!")
    assert known_release(NAME, DATA).text.startswith(f"ok    {NAME} is the one that")
    assert Path(f"{gh}.asked").read_text().split() == [
        *("attestation", "verify", NAME, "--repo", "speedrun-bot/speedrun", "--signer-workflow"),
        "speedrun-bot/speedrun/.github/workflows/release.yml",
    ]


@pytest.mark.parametrize("sums", [(404, b""), (200, b"b" * 64 + f"  {NAME}\n".encode())])
def test_a_hash_that_no_release_has(
    answers: dict[str, tuple[int, bytes]], gh: Path, sums: tuple[int, bytes]
) -> None:
    answers[SUMS] = sums
    says(gh, 0, "Verification succeeded!")
    line = known_release(NAME, DATA)
    assert f"{NAME} is an unknown build: no release of" in line.text
    assert not line.bad and not line.unknown


@pytest.mark.parametrize(
    "words",
    [
        "Error: no attestations found for subject",
        "✗ Sigstore verification failed",
        "HTTP 404: Not Found (https://api.github.com/repos/)",
    ],
)
def test_a_hash_without_an_attestation(
    answers: dict[str, tuple[int, bytes]], gh: Path, words: str
) -> None:
    answers[SUMS] = LISTED
    says(gh, 1, words)
    line = known_release(NAME, DATA)
    assert "has its hash and no attestation of it" in line.text and not line.unknown


@pytest.mark.parametrize("words", ["To get started with GitHub CLI, run: gh auth login", ""])
def test_a_gh_that_could_not_look(
    answers: dict[str, tuple[int, bytes]], gh: Path, words: str
) -> None:
    answers[SUMS] = LISTED
    says(gh, 4, words)
    line = known_release(NAME, DATA)
    assert line.unknown and (words or "status 4") in line.text


def test_without_gh_the_attestation_was_not_checked(
    answers: dict[str, tuple[int, bytes]], gh: Path
) -> None:
    answers[SUMS] = LISTED
    line = known_release(NAME, DATA)
    assert "its attestation was not checked" in line.text and not line.bad and not line.unknown


def test_no_answer_is_unknown(gh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not os.path.lexists(gh)
    monkeypatch.setenv("SPEEDRUN_RELEASES", "http://127.0.0.1:9")
    assert known_release(NAME, DATA).unknown


def test_upgrade_says_what_it_installs(
    answers: dict[str, tuple[int, bytes]], gh: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "race"
    init(folder)
    wheel = a_wheel(tmp_path, "0.2.0")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    arguments = ["upgrade", "--write", "--root", str(folder), "--repo", "example-org/race"]
    arguments += ["--wheel", str(wheel)]
    assert "is an unknown build" in CliRunner().invoke(main, arguments).output
    answers["/v0.2.0/SHA256SUMS"] = 200, f"{digest}  {wheel.name}\n".encode()
    says(gh, 0, "Verification succeeded!")
    assert "is the one that" in CliRunner().invoke(main, arguments).output
