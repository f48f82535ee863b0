"""The HTTP side of the W&B double: GraphQL, file transfer, the file stream, and faults."""

from __future__ import annotations

import base64
import binascii
import dataclasses as dc
import gzip
import http.server
import json
import re
import socketserver
import threading
import time
import urllib.parse
from collections.abc import Iterable, Mapping
from typing import Any

from tests.doubles.wandb import artifacts as _artifacts  # noqa: F401  (registers operations)
from tests.doubles.wandb.completeness import missing_fields
from tests.doubles.wandb.faults import Fault, Faults
from tests.doubles.wandb.operations import OPERATIONS, Asked, subject
from tests.doubles.wandb.world import StoredRun, World, now, wire


@dc.dataclass(frozen=True)
class Request:
    """One request that the server saw. `run` is (entity, project, id) as far as given."""

    operation: str
    run: tuple[str | None, str | None, str | None]
    anonymous: bool
    agent: str


class WandbDouble:
    """A running server. Use as a context manager; `url` and `key` go to the client.

    `latency_s` is waited before each answer, as a far server would; `check` compares every answer
    with its query (off for benchmarks).
    """

    def __init__(self, latency_s: float = 0.0, check: bool = True) -> None:
        self.world = World()
        # Built here so that no text that looks like a key stands in the repository.
        self.key = "k" * 20 + "0123456789" * 2
        self.latency_s = latency_s
        self.check = check
        self.requests: list[Request] = []
        self.unknown: list[str] = []
        self.missing: list[str] = []
        self.faults = Faults()
        self._first_page: dict[str, list[str]] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.double = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> WandbDouble:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add_run(
        self,
        entity: str,
        project: str,
        run_id: str,
        *,
        history: Iterable[Mapping[str, Any]] = (),
        **fields: Any,
    ) -> StoredRun:
        """Store a finished run with its history."""
        run = StoredRun(entity, project, run_id, **fields)
        run.log(history)
        if not run.summary and run.rows:
            run.summary = dict(run.rows[-1])
        self.world.runs[(entity, project, run_id)] = run
        return run

    def fork(self, parent: StoredRun, run_id: str, step: int, **fields: Any) -> StoredRun:
        """A run that goes on from `step` of another one, whose rows up to there it inherits."""
        rows = [row for row in parent.rows if row["_step"] <= step]
        fields = {"config": dict(parent.config), "files": dict(parent.files)} | fields
        run = self.add_run(parent.entity, parent.project, run_id, history=rows, **fields)
        run.config["_wandb"] = {"branch_point": {"run_id": parent.id, "step": step}}
        run.mark(71)
        return run

    def set_access(self, entity: str, project: str, access: str) -> None:
        """`public`, `restricted` (only the key's account) or `private` (nobody here)."""
        self.world.access[(entity, project)] = access

    def fail(self, fault: Fault) -> None:
        """Inject a fault."""
        self.faults.add(fault)

    def count(self, *operations: str) -> int:
        """How many requests had one of these operations (all, where none is given)."""
        return sum(1 for r in self.requests if not operations or r.operation in operations)

    def answer(self, query: str, variables: Mapping[str, Any], asked: Asked) -> Any:
        """The GraphQL response to one operation."""
        name = operation_name(query)
        handler = OPERATIONS.get(name)
        if handler is None:
            self.unknown.append(name)
            return {"data": None, "errors": [{"message": f"Cannot query {name}"}]}
        with self.world.lock:
            data = handler(self.world, asked, variables)
        if self.check:
            self.missing += [f"{name}: {path}" for path in missing_fields(query, data)]
        return {"data": data}

    def spoil(self, fault: Fault, name: str, answer: Any) -> Any:
        """The answer as a `repeat` or `sample` fault changes it."""
        run = ((answer.get("data") or {}).get("project") or {}).get("run") or {}
        if name not in ("HistoryPage", "SampledHistoryPage") or not run:
            return answer
        if fault.sample > 1 and "history" in run:
            run["history"] = run["history"][:: fault.sample]
        if fault.repeat and "history" in run:
            run["history"] = self._first_page.setdefault(name, run["history"])
        return answer


def operation_name(query: str) -> str:
    """The name of the operation in a GraphQL text; `?` where it has none."""
    match = re.search(r"\b(?:query|mutation)\s+(\w+)", query)
    return match.group(1) if match else "?"


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    double: WandbDouble

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the tests, not an error of the server."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *args: Any) -> None:
        """Quiet: tests read `requests`."""

    # ---- requests ---------------------------------------------------------------------------

    def do_GET(self) -> None:
        """Files and parquet exports, with ranges."""
        parts = urllib.parse.urlsplit(self.path).path.strip("/").split("/")
        kinds = {"_file": "GET file", "_parquet": "GET parquet", "_artifact": "GET artifact"}
        if len(parts) != 5 or parts[0] not in kinds:
            return self._send(404, {"error": "not found"})
        kind, path = kinds[parts[0]], (parts[1], parts[2], parts[3])
        fault = self._note(kind, path)
        run = self.server.double.world.runs.get(path)
        if run is None:
            return self._send(404, {"error": "not found"})
        name = urllib.parse.unquote(parts[4])
        if kind == "GET file":
            content = run.files.get(name)
        elif kind == "GET artifact":
            type_, collection, file = name.split("/", 2)
            content = run.artifacts.get(f"{type_}/{collection}", {}).get(file)
        else:
            content = dict(enumerate(run.exports)).get(int(parts[4]))
        if content is None:
            return self._send(404, {"error": "not found"}, fault)
        return self._send_bytes(content, fault)

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        """An uploaded file of a run."""
        _, entity, project, name, file = urllib.parse.urlsplit(self.path).path.strip("/").split("/")
        body = self._body()
        fault = self._note("PUT", (entity, project, name))
        run = self.server.double.world.runs[(entity, project, name)]
        run.files[urllib.parse.unquote(file)] = body
        self._send(200, {}, fault)

    def do_POST(self) -> None:
        """GraphQL, or the file stream of a run that is logging."""
        body = self._body()
        path = urllib.parse.urlsplit(self.path).path
        stream = re.fullmatch(r"/files/([^/]+)/([^/]+)/([^/]+)/file_stream", path)
        if stream is not None:
            return self._file_stream(stream.groups(), json.loads(body))
        if path != "/graphql":
            return self._send(404, {"error": f"no route {path}"})
        asked = json.loads(body)
        return self._graphql(asked["query"], asked.get("variables") or {})

    def _graphql(self, query: str, variables: Mapping[str, Any]) -> None:
        name, double = operation_name(query), self.server.double
        fault = self._note(name, subject(variables))
        key = self._key()
        if key not in (None, double.key):
            return self._send(401, {"errors": [{"message": "user is not logged in"}]}, fault)
        if fault is not None and fault.errors:
            errors = [{"message": text, "path": ["project"]} for text in fault.errors]
            return self._send(200, {"data": None, "errors": errors})
        answer = double.answer(query, variables, Asked(key is None, double.url))
        if fault is not None:
            answer = double.spoil(fault, name, answer)
        return self._send(200, answer, fault)

    def _file_stream(self, path: tuple[Any, ...], data: Mapping[str, Any]) -> None:
        fault = self._note("file_stream", path)  # type: ignore[arg-type]
        if self._key() != self.server.double.key:
            return self._send(401, {"error": "not logged in"})
        run = self.server.double.world.runs[path]  # type: ignore[index]
        for file, chunk in (data.get("files") or {}).items():
            if file == "wandb-history.jsonl":
                run.log(json.loads(text) for text in chunk["content"])
            elif file == "wandb-summary.json":
                run.summary = json.loads(chunk["content"][-1])
            elif file == "output.log":
                run.console.extend(chunk["content"])
        if data.get("complete"):
            run.state = "finished" if data.get("exitcode") == 0 else "failed"
        run.heartbeat_at = now()
        return self._send(200, {"limits": {}}, fault)

    # ---- plumbing ---------------------------------------------------------------------------

    def _note(self, name: str, path: Any) -> Fault | None:
        double = self.server.double
        agent = self.headers.get("User-Agent", "")
        anonymous = self.headers.get("Authorization") is None
        double.requests.append(Request(name, tuple(path), anonymous, agent))
        if double.latency_s:
            time.sleep(double.latency_s)
        return double.faults.take(name, anonymous and not name.startswith("GET"))

    def _key(self) -> str | None:
        """The key of the request, None for an anonymous one, "" for one that cannot be read."""
        header = self.headers.get("Authorization")
        if header is None:
            return None
        kind, _, value = header.partition(" ")
        if kind == "Bearer":
            return value
        try:
            return base64.b64decode(value).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""

    def _body(self) -> bytes:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body

    def _send(self, status: int, value: Any, fault: Fault | None = None) -> None:
        content = json.dumps(wire(value), allow_nan=False).encode()
        self._write(status, content, "application/json", (), fault)

    def _send_bytes(self, content: bytes, fault: Fault | None) -> None:
        kind, size = "application/octet-stream", len(content)
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if match is None:
            return self._write(200, content, kind, (("Accept-Ranges", "bytes"),), fault)
        first, last = match.groups()
        low = size - int(last) if first == "" else int(first)
        high = size - 1 if first == "" or last == "" else min(int(last), size - 1)
        where = (("Content-Range", f"bytes {low}-{high}/{size}"), ("Accept-Ranges", "bytes"))
        return self._write(206, content[low : high + 1], kind, where, fault)

    def _write(
        self,
        status: int,
        content: bytes,
        kind: str,
        headers: Iterable[tuple[str, str]],
        fault: Fault | None,
    ) -> None:
        if fault is not None and fault.hang_s:
            time.sleep(fault.hang_s)
        if fault is not None and fault.status is not None:
            status, content, headers = fault.status, fault.body, fault.headers
        if fault is not None and fault.invalid:
            content = b"<html>gateway</html>"
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(content)))):
            self.send_header(name, value)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault is not None and fault.cut:
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            self.close_connection = True
            return
        self.wfile.write(content)
