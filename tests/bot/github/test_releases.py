"""A wheel is known by the release's list of hashes and by the attestation of it, or is unknown."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.github.host.releases import known_release
from tests.bot.github.test_hosting import init
from tests.bot.github.wheels import a_wheel

NAME, DIGEST = "speedrun_bot-1.2.0-py3-none-any.whl", "a" * 64


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, tuple[int, bytes]]]:
    """Path -> (status, body) of a server that stands for the releases and the attestations."""
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
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("RELEASES", "ATTESTATIONS"):
        monkeypatch.setenv(f"SPEEDRUN_{name}", f"http://127.0.0.1:{server.server_port}")
    yield found
    server.shutdown()
    server.server_close()


def provenance(digest: str, kind: str = "https://slsa.dev/provenance/v1") -> bytes:
    statement = {"predicateType": kind, "subject": [{"name": NAME, "digest": {"sha256": digest}}]}
    payload = base64.b64encode(json.dumps(statement).encode()).decode()
    return json.dumps(
        {"attestations": [{"bundle": {"dsseEnvelope": {"payload": payload}}}]}
    ).encode()


SUMS, PROOF = "/v1.2.0/SHA256SUMS", f"/attestations/sha256:{DIGEST}"
LISTED = (200, f"{DIGEST}  {NAME}\n".encode())


def test_listed_and_attested(answers: dict[str, tuple[int, bytes]]) -> None:
    answers |= {SUMS: LISTED, PROOF: (200, provenance(DIGEST))}
    assert known_release(NAME, DIGEST).text.startswith(f"ok    {NAME} is the one that")


@pytest.mark.parametrize(
    ("sums", "proof", "words"),
    [
        ((404, b""), (200, provenance(DIGEST)), "no release of"),
        ((200, b"b" * 64 + f"  {NAME}\n".encode()), (200, provenance(DIGEST)), "no release of"),
        (LISTED, (404, b"{}"), "no attestation of it"),
        (LISTED, (200, b'{"attestations": []}'), "no attestation of it"),
        (LISTED, (200, provenance("b" * 64)), "no attestation of it"),
        (LISTED, (200, provenance(DIGEST, "https://example.org/note")), "no attestation of it"),
    ],
)
def test_an_unknown_build(
    answers: dict[str, tuple[int, bytes]], sums: tuple[int, bytes], proof: tuple[int, bytes],
    words: str,
) -> None:  # fmt: skip
    answers |= {SUMS: sums, PROOF: proof}
    line = known_release(NAME, DIGEST)
    assert f"{NAME} is an unknown build: " in line.text and words in line.text
    assert not line.bad and not line.unknown


@pytest.mark.parametrize("proof", [(500, b""), (200, b"not json"), (200, b'{"attestations": [3]}')])
def test_an_answer_that_tells_nothing_is_unknown(
    answers: dict[str, tuple[int, bytes]], proof: tuple[int, bytes]
) -> None:
    answers |= {SUMS: LISTED, PROOF: proof}
    assert known_release(NAME, DIGEST).unknown


def test_upgrade_says_what_it_installs(
    answers: dict[str, tuple[int, bytes]], tmp_path: Path
) -> None:
    folder = tmp_path / "race"
    init(folder)
    wheel = a_wheel(tmp_path, "0.2.0")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    arguments = ["upgrade", "--write", "--root", str(folder), "--repo", "example-org/race"]
    arguments += ["--wheel", str(wheel)]
    assert "is an unknown build" in CliRunner().invoke(main, arguments).output
    answers["/v0.2.0/SHA256SUMS"] = 200, f"{digest}  {wheel.name}\n".encode()
    answers[f"/attestations/sha256:{digest}"] = 200, provenance(digest)
    assert "is the one that" in CliRunner().invoke(main, arguments).output
