"""Dead links, looked for on addresses that strangers wrote: what is asked, and what never is."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.evidence import dead_links
from bot.evidence.dead_links import check_links

PUBLIC = "93.184.216.34"
ANSWERS = {
    "/there": b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n" + b"x" * 1000,
    "/gone": b"HTTP/1.1 404 Not Found\r\n\r\n",
    "/left": b"HTTP/1.0 410 Gone\r\n\r\n",
    "/busy": b"HTTP/1.1 503 Service Unavailable\r\n\r\n",
    "/login": b"HTTP/1.1 403 Forbidden\r\n\r\n",
    "/moved": b"HTTP/1.1 301 Moved\r\nLocation: /there\r\n\r\n",
    "/dead-end": b"HTTP/1.1 302 Found\r\nlocation: https://other.example/gone\r\n\r\n",
    "/ring": b"HTTP/1.1 302 Found\r\nLocation: /ring\r\n\r\n",
    "/inward": b"HTTP/1.1 302 Found\r\nLocation: https://inside.example/there\r\n\r\n",
    "/downgrade": b"HTTP/1.1 302 Found\r\nLocation: http://public.example/there\r\n\r\n",
    "/file": b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n",
    "/nothing": b"",
    "/noise": b"SSH-2.0-OpenSSH_9\r\n\r\n",
    "/endless": b"HTTP/1.1 200 OK\r\n" + b"X-Padding: " + b"a" * 200_000,
}


MOST_DRIPS = 600
"""Half a minute of one byte every 50 ms: the server gives up after that."""


class Hosts:
    """A server for every host name; notes what was asked of which host."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes]] = []
        self.drips = 0
        self.names = {"public.example": [PUBLIC], "other.example": [PUBLIC]}
        self.names["inside.example"] = ["10.0.0.7"]
        self.server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection: socket.socket) -> None:
        with connection:
            request = connection.recv(65536)
            path = request.split(b" ")[1].decode().partition("?")[0]
            host = next(x for x in request.split(b"\r\n") if x.startswith(b"Host: "))[6:].decode()
            self.asked.append((host, request))
            try:
                if path == "/slow":
                    while self.drips < MOST_DRIPS:
                        connection.sendall(b"H")
                        self.drips += 1
                        time.sleep(0.05)
                connection.sendall(ANSWERS.get(path, b""))  # a stranger on a used port: nothing
            except OSError:
                return

    def resolve(self, host: str) -> list[str]:
        if host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return self.names[host]

    def connect(self, address: str, host: str, seconds: float) -> socket.socket:
        assert address == PUBLIC
        return socket.create_connection(self.server.getsockname(), timeout=seconds)

    def kinds(self, *urls: str) -> list[str]:
        return [s.kind for s in check_links(urls, resolve=self.resolve, connect=self.connect)]


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    made = Hosts()
    yield made
    made.server.close()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/there", "there"),
        ("/gone", "dead"),
        ("/left", "dead"),
        ("/busy", "unknown"),
        ("/login", "unknown"),
        ("/moved", "there"),
        ("/dead-end", "dead"),
        ("/ring", "unknown"),
        ("/inward", "refused"),
        ("/downgrade", "refused"),
        ("/file", "refused"),
        ("/nothing", "unknown"),
        ("/noise", "unknown"),
        ("/endless", "there"),
    ],
)
def test_what_became_of_a_page(hosts: Hosts, path: str, kind: str) -> None:
    assert hosts.kinds(f"https://public.example{path}") == [kind]
    assert "inside.example" not in {host for host, _ in hosts.asked}


def test_a_host_that_is_no_more(hosts: Hosts) -> None:
    assert hosts.kinds("https://nowhere.example/") == ["dead"]


def test_a_name_that_cannot_be_looked_up_tonight(hosts: Hosts) -> None:
    def broken(host: str) -> list[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure")

    states = check_links(["https://public.example/"], resolve=broken, connect=hosts.connect)
    assert [s.kind for s in states] == ["unknown"]


@pytest.mark.parametrize(
    "url",
    [
        "http://public.example/there",
        "ftp://public.example/there",
        "https://user:pw@public.example/there",
        "https://public.example:8443/there",
        "https:///there",
        "https://public.example/there\r\nX-Injected: 1",
        "https://public.example/the re",
        "https://public.example/" + "a" * 3000,
    ],
)
def test_addresses_that_are_never_asked(hosts: Hosts, url: str) -> None:
    assert hosts.kinds(url) == ["refused"]
    assert hosts.asked == []


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "fe80::1%eth0",
        "fd00::1",
        "::ffff:127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
    ],
)
def test_private_addresses_are_never_connected_to(hosts: Hosts, address: str) -> None:
    hosts.names["public.example"] = [PUBLIC, address]
    assert hosts.kinds("https://public.example/there") == ["refused"]
    assert hosts.asked == []


def test_nothing_of_an_address_breaks_the_request(hosts: Hosts) -> None:
    hosts.kinds("https://public.example/there?q=\u202e\u00e9&x=%0d%0aX:1")
    ((_, request),) = hosts.asked
    assert request.count(b"\r\n") == 6 and request.isascii()


def test_a_server_that_drips_is_left(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_links, "SECONDS", 0.5)
    assert hosts.kinds("https://public.example/slow") == ["unknown"]
    assert hosts.drips < MOST_DRIPS


def test_the_time_in_all_is_bounded(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """One page a second: the third begins at the bound, the fourth after it."""
    now = [100.0]
    monkeypatch.setattr(dead_links, "IN_ALL_S", 2.0)
    monkeypatch.setattr("bot.evidence.dead_links.time.monotonic", lambda: now[0])

    def resolve(host: str) -> list[str]:
        now[0] += 1
        return hosts.resolve(host)

    urls = [f"https://public.example/there?{n}" for n in range(5)]
    states = check_links(urls, resolve=resolve, connect=hosts.connect)
    assert [s.kind for s in states] == ["there"] * 3 + ["unknown"] * 2
    assert states[3].message == "not looked at: there were too many"


def test_many_links_and_twice_the_same(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_links, "MOST", 2)
    urls = [f"https://public.example/{p}" for p in ("there", "there", "gone", "left")]
    assert hosts.kinds(*urls) == ["there", "dead", "unknown"]
    assert len(hosts.asked) == 2


def test_audit_of_a_repository_without_submissions(tmp_path: Path) -> None:
    (tmp_path / "tracks").mkdir()
    result = CliRunner().invoke(main, ["audit", "--links", "--root", str(tmp_path)])
    assert result.exit_code == 0 and "nothing to watch" in result.output


def test_audit_asks_no_address_of_ours(tmp_path: Path) -> None:
    from tests.bot.github.competition import TRACK, submission

    links = [{"kind": "post", "url": url} for url in ("https://127.0.0.1/x", "https://[::1]/y")]
    files = {"tracks/mini.toml": TRACK, **submission("fast", links=links)}
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    result = CliRunner().invoke(main, ["audit", "--links", "--root", str(tmp_path)])
    assert "links: 2 refused" in result.output
    assert "https://127.0.0.1/x: it leads to an address that is not public" in result.output
    assert result.exit_code == 0
