"""A static server for the browser checks: gzip as Pages does, so that bytes are real ones.

python -m tests.site.server FOLDER [PORT]
"""

from __future__ import annotations

import gzip
import http.server
import sys
import threading
from pathlib import Path
from typing import Any

PACKED = (".html", ".css", ".js", ".json", ".svg", ".xml", ".csv", ".txt")


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files below `directory`, packed where a browser accepts it."""

    protocol_version = "HTTP/1.1"
    packed: dict[str, bytes] = {}

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if path.is_dir():
            if not self.path.split("?")[0].endswith("/"):
                self.send_response(301)
                self.send_header("Location", self.path + "/")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            path = path / "index.html"
        if not path.is_file():
            self.answer(404, b"not found", "text/plain", False)
            return
        kind = self.guess_type(str(path))
        accepts = "gzip" in self.headers.get("Accept-Encoding", "")
        pack = accepts and path.suffix in PACKED
        data = path.read_bytes()
        if pack:
            data = self.pack(path, data)
        self.answer(200, data, kind, pack)

    def pack(self, path: Path, data: bytes) -> bytes:
        """The file packed, kept until it changes."""
        key = f"{path} {path.stat().st_mtime_ns}"
        if key not in self.packed:
            self.packed[key] = gzip.compress(data, 9, mtime=0)
        return self.packed[key]

    def answer(self, status: int, data: bytes, kind: str, packed: bool) -> None:
        """One whole answer."""
        self.send_response(status)
        text = kind.startswith("text/") or kind in ("application/json", "application/xml")
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if text else kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "max-age=600")
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


class Server:
    """`with Server(folder) as url:` serves until the block ends."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        handler = type("Bound", (Handler,), {"packed": {}})
        self.http = http.server.ThreadingHTTPServer(
            ("127.0.0.1", port),
            lambda *a, **k: handler(*a, directory=str(folder), **k),
        )
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/"

    def __enter__(self) -> str:
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        return self.url

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()


if __name__ == "__main__":
    server = Server(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 8000)
    print(server.url, flush=True)
    server.http.serve_forever()
