"""Are the pages that submissions link still there? For the nightly audit alone.

    for state in check_links(addresses): print(state.url, state.kind, state.message)

An address is a stranger's: https on port 443 of a public address only, on every redirect as well;
the name is resolved once and that very address is connected to; of an answer only its head is read,
bounded in bytes and seconds. Nothing is sent but a plain GET.
"""

from __future__ import annotations

import dataclasses as dc
import ipaddress
import re
import socket
import ssl
import time
import urllib.parse
from collections.abc import Callable, Iterable

MOST = 500
REDIRECTS = 5
HEAD_BYTES = 32_768
SECONDS = 15.0
IN_ALL_S = 900.0
GONE = (404, 410)
_TRANSLATED = tuple(
    ipaddress.IPv6Network(net)
    for net in ("::ffff:0:0/96", "64:ff9b::/96", "2002::/16", "2001::/32")
)
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: |\r?\n)")
_LOCATION = re.compile(rb"\r?\nlocation:[ \t]*([^\r\n]{1,2000})", re.IGNORECASE)

Resolve = Callable[[str], list[str]]
Connect = Callable[[str, str, float], socket.socket]
"""(address, host name, seconds) -> a connection on which the host has proved its name."""


@dc.dataclass(frozen=True, slots=True)
class LinkState:
    """What became of a link: `there`, `dead`, `unknown` (it may be there) or `refused` (by us)."""

    url: str
    kind: str
    message: str


class _Refused(ValueError):
    """An address that is not asked; the message says why."""


def public_addresses(host: str) -> list[str]:
    """The addresses of a name, those of version 4 first. Raises OSError."""
    found = socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in sorted(found, key=lambda e: e[0] != socket.AF_INET)]


def tls(address: str, host: str, seconds: float) -> socket.socket:
    """A connection whose certificate is that of the host. Raises OSError."""
    plain = socket.create_connection((address, 443), timeout=seconds)
    try:
        return ssl.create_default_context().wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise


def check_links(
    urls: Iterable[str], *, resolve: Resolve = public_addresses, connect: Connect = tls
) -> tuple[LinkState, ...]:
    """The state of each address, once, in order; at most 500, and at most 15 minutes in all."""
    ends = time.monotonic() + IN_ALL_S
    found = []
    for number, url in enumerate(dict.fromkeys(urls)):
        if number >= MOST or time.monotonic() > ends:
            found.append(LinkState(url, "unknown", "not looked at: there were too many"))
        else:
            found.append(_check(url, resolve, connect))
    return tuple(found)


def _check(url: str, resolve: Resolve, connect: Connect) -> LinkState:
    ends = time.monotonic() + SECONDS
    at = url
    try:
        for _ in range(REDIRECTS + 1):
            status, to = _ask(at, resolve, connect, ends)
            if status in GONE:
                return LinkState(url, "dead", f"the page is gone (HTTP {status})")
            if status // 100 == 2:
                return LinkState(url, "there", f"HTTP {status}")
            if status // 100 != 3 or to is None:
                return LinkState(url, "unknown", f"HTTP {status}")
            at = urllib.parse.urljoin(at, to)
        return LinkState(url, "unknown", f"more than {REDIRECTS} redirects")
    except _Refused as refusal:
        return LinkState(url, "refused", str(refusal))
    except socket.gaierror as error:
        if error.errno == socket.EAI_NONAME:
            return LinkState(url, "dead", "there is no such host")
        return LinkState(url, "unknown", "the host's name could not be looked up")
    except (OSError, ValueError) as error:
        return LinkState(url, "unknown", f"no answer ({type(error).__name__})")


def _ask(url: str, resolve: Resolve, connect: Connect, ends: float) -> tuple[int, str | None]:
    """Status and redirect of one address. Raises _Refused, OSError, ValueError."""
    host, path = _parts(url)
    addresses = resolve(host)
    if not all(map(_public, addresses)):
        raise _Refused("it leads to an address that is not public")
    if not addresses:
        raise OSError("no address")
    left = max(ends - time.monotonic(), 0.1)
    with connect(addresses[0], host, left) as connection:
        request = (
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: speedrun-audit\r\n"
            "Accept: */*\r\nConnection: close\r\n\r\n"
        )
        connection.sendall(request.encode("ascii"))
        return _head(connection, ends)


def _public(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    # an address of version 4 in the clothes of version 6 would be translated back on the way
    inner = found.version == 6 and any(found in network for network in _TRANSLATED)
    return found.is_global and not found.is_multicast and not inner


def _parts(url: str) -> tuple[str, str]:
    """Host and path with query, safe to write into a request."""
    if re.search(r"[\x00-\x20\x7f]", url) or len(url) > 2000:
        raise _Refused("it is not a plain address")
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "https":
        raise _Refused("only https is looked at")
    if parts.username is not None or parts.port not in (None, 443) or not parts.hostname:
        raise _Refused("only a host name on the usual port is looked at")
    host = parts.hostname.encode("idna").decode("ascii")
    path = urllib.parse.quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = urllib.parse.quote(parts.query, safe="/?%:@!$&'()*+,;=~-._")
    return host, f"{path}?{query}" if query else path


def _head(connection: socket.socket, ends: float) -> tuple[int, str | None]:
    """Read until the head ends, the bound is reached, or time is up."""
    read = b""
    while b"\r\n\r\n" not in read and len(read) < HEAD_BYTES:
        left = ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        more = connection.recv(4096)
        if not more:
            break
        read += more
    head = read.partition(b"\r\n\r\n")[0] + b"\r\n"
    status = _STATUS.match(head)
    if status is None:
        raise ValueError("not HTTP")
    to = _LOCATION.search(head)
    return int(status[1]), to[1].decode("latin-1").strip() if to else None
