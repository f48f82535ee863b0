"""A model hub on this machine: the requests that huggingface_hub makes for files.

Serves `[/datasets]/OWNER/NAME/resolve/REVISION/FILE` with the headers that name commit, size and
hash (SHA-256 for large files, which move to another address, git blob for small ones), ranges, and
`/api/datasets/OWNER/NAME[/tree/REVISION]`. `seen` lists method, file and range of every request.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = 4096  # bytes; from here on a file is "LFS"


class Hub:
    """`files` maps repository and path to bytes. `pause_at`: bytes of a file's body after which the
    connection hangs, once, until `go_on` is set; `corrupt`: files whose last byte arrives wrong;
    `gated`: repositories that want a token."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.seen: list[tuple[str, str, str | None]] = []
        self.pause_at: dict[str, int] = {}
        self.corrupt: set[str] = set()
        self.gated: set[str] = set()
        self.paused, self.go_on = threading.Event(), threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )

    def __enter__(self) -> Hub:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()

    def etag(self, data: bytes) -> str:
        if len(data) >= LARGE:
            return hashlib.sha256(data).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()

    def tree(self, repository: str) -> list[dict[str, Any]]:
        entries = []
        for path, data in self.files[repository].items():
            entry = {"type": "file", "path": path, "size": len(data), "oid": "0" * 40}
            if len(data) >= LARGE:
                entry["lfs"] = {"oid": self.etag(data), "size": len(data), "pointerSize": 130}
            entries.append(entry)
        return entries

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                """Requests are in `seen`."""

            def do_HEAD(self) -> None:
                self._answer(body=False)

            def do_GET(self) -> None:
                self._answer(body=True)

            def _answer(self, body: bool) -> None:
                path = unquote(urlsplit(self.path).path)
                if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/tree/.*", path):
                    self._send(200, json.dumps(hub.tree(match[1])).encode(), {}, body)
                    return
                if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)", path):
                    self._send(200, json.dumps({"id": match[1], "sha": COMMIT}).encode(), {}, body)
                    return
                pattern = r"/(?:datasets/)?([^/]+/[^/]+)/(resolve|large)/[^/]+/(.*)"
                match = re.fullmatch(pattern, path)
                data = hub.files.get(match[1], {}).get(match[3]) if match else None
                if match is None or data is None:
                    self._send(404, b"", {"X-Error-Code": "EntryNotFound"}, body)
                    return
                hub.seen.append((self.command, match[3], self.headers.get("Range")))
                if match[1] in hub.gated and "Authorization" not in self.headers:
                    self._send(401, b"", {"X-Error-Code": "GatedRepo"}, body)
                elif match[2] == "resolve" and len(data) >= LARGE:
                    headers = {
                        "Location": hub.url + path.replace("/resolve/", "/large/"),
                        "X-Linked-Size": str(len(data)),
                        "X-Linked-ETag": f'"{hub.etag(data)}"',
                        "X-Repo-Commit": COMMIT,
                    }
                    self._send(302, b"", headers, body)
                else:
                    self._file(match[3], data, body)

            def _file(self, name: str, data: bytes, body: bool) -> None:
                headers = {"ETag": f'"{hub.etag(data)}"', "X-Repo-Commit": COMMIT}
                begin, _, last = (self.headers.get("Range") or "bytes=0-")[6:].partition("-")
                start = int(begin) if begin else max(0, len(data) - int(last))
                end = min(int(last) + 1, len(data)) if begin and last else len(data)
                if name in hub.corrupt:
                    data = data[:-1] + bytes([data[-1] ^ 1])
                part = (start, end) != (0, len(data))
                if part:
                    headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(data)}"
                stop = hub.pause_at.pop(name, None) if body else None
                self._send(206 if part else 200, data[start:end], headers, body, stop)

            def _send(
                self,
                status: int,
                data: bytes,
                headers: dict[str, str],
                body: bool,
                stop: int | None = None,
            ) -> None:
                self.send_response(status)
                for key, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(key, value)
                self.end_headers()
                if not body:
                    return
                self.wfile.write(data[:stop])
                if stop is not None:
                    self.wfile.flush()
                    hub.paused.set()
                    hub.go_on.wait(60)
                    self.close_connection = True

        return Handler
