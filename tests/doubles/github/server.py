"""The HTTP side of the double: routing, pagination, rate limits, faults, and the shape check.

Runs in the test's process on threads; a test may set `on_request` to act between a request and
its effect, or between the effect and the answer (kill points).
"""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.doubles.github import (
    graphql,
    openapi,
    routes_admin,
    routes_checks,
    routes_git,
    routes_issues,
    routes_pulls,
    routes_reviews,
)
from tests.doubles.github.faults import Fault
from tests.doubles.github.git import GitError
from tests.doubles.github.shapes import Shapes
from tests.doubles.github.world import Refused, Repo, Token, World

REPO = re.compile(r"/repos/([^/]+/[^/]+)(/.*)?$")


@dataclass
class Request:
    """One request as a route sees it; `path` is relative to its repository when there is one."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    token: Token | None
    secret: str
    world: World
    shapes: Shapes
    repo: Repo | None = None
    accept: str = ""

    def need(self, resources: str, level: str) -> None:
        assert self.repo is not None
        self.world.need(self.repo, self.token, resources, level)


@dataclass(frozen=True)
class Call:
    """A request that arrived, for assertions on what was asked and how often."""

    method: str
    path: str
    login: str | None
    status: int
    body: Any = field(default=None, compare=False)


ROUTES = (
    *routes_git.ROUTES,
    *routes_pulls.ROUTES,
    *routes_reviews.ROUTES,
    *routes_issues.ROUTES,
    *routes_checks.ROUTES,
    *routes_admin.ROUTES,
)


class GitHubDouble(World):
    """Start with `with GitHubDouble() as github:`; everything of World, and a server."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.violations: list[str] = []
        self.faults: list[Fault] = []
        self.faulty = False
        self.rate_remaining: int | None = None
        self.on_request: Callable[[str, str, str], None] | None = None
        self.lock = threading.RLock()
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # headers and body leave in one packet: the client's delayed ACK costs 40 ms otherwise
            disable_nagle_algorithm = True
            wbufsize = 1 << 16

            def log_message(self, *arguments: Any) -> None:
                """Keep the test output quiet."""

            def answer(self) -> None:
                double.handle(self)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.shapes = Shapes(self, self.url)

    def __enter__(self) -> GitHubDouble:
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.remove()

    # ---- one request ------------------------------------------------------------------------

    def handle(self, http: BaseHTTPRequestHandler) -> None:
        length = int(http.headers.get("Content-Length") or 0)
        raw = http.rfile.read(length) if length else b""
        address = urllib.parse.urlsplit(http.path)
        path = urllib.parse.unquote(address.path, errors="surrogateescape")
        secret = (http.headers.get("Authorization") or "").split(" ")[-1]
        request = Request(
            http.command,
            path,
            dict(urllib.parse.parse_qsl(address.query)),
            json.loads(raw) if raw else None,
            self.tokens.get(secret),
            secret,
            self,
            self.shapes,
            accept=http.headers.get("Accept") or "",
        )
        with self.lock:
            outcome = self.decide(request, path)
        if outcome is None:
            http.close_connection = True
            return
        status, body, headers = outcome
        self.send(http, request, path, status, body, headers)

    def decide(self, request: Request, path: str) -> tuple[int, Any, dict[str, str]] | None:
        """Answer of a route, or of a fault; None means that the connection is cut."""
        login = request.token.login if request.token else None
        fault = next((f for f in self.faults if f.takes(request.method, path)), None)
        self.faulty |= fault is not None
        if self.on_request:
            self.on_request("before", request.method, path)
        if fault is None or fault.stored:
            status, body = self.route(request, path)
        else:
            status, body = fault.status, {"message": fault.message}
        if self.on_request:
            self.on_request("after", request.method, path)
        self.calls.append(Call(request.method, path, login, status, request.body))
        if fault is None:
            return status, body, {}
        if fault.cut:
            return None
        return fault.status, {"message": fault.message}, fault.headers

    def route(self, request: Request, path: str) -> tuple[int, Any]:
        limited = self.spend()
        if limited:
            return limited
        try:
            if path == "/graphql":
                return graphql.answer(request)
            hit = REPO.match(path)
            if hit:
                request.repo = self.repos.get(hit[1])
                request.path = hit[2] or ""
                if request.repo is None:
                    return 404, {"message": "Not Found"}
            self.violations += openapi.check_request(request.method, path, request.body)
            return self.dispatch(request, path, bool(hit))
        except Refused as refusal:
            return refusal.status, {"message": refusal.message}
        except (KeyError, GitError):
            return 404, {"message": "Not Found"}

    def dispatch(self, request: Request, path: str, in_repo: bool) -> tuple[int, Any]:
        for method, pattern, scoped, handler in ROUTES:
            hit = pattern.fullmatch(request.path)
            if hit and method == request.method and scoped == in_repo:
                return handler(request, *hit.groups())
        self.violations.append(f"{request.method} {path}: the double has no such route")
        return 404, {"message": "Not Found"}

    def spend(self) -> tuple[int, Any] | None:
        if self.rate_remaining is None:
            return None
        if self.rate_remaining <= 0:
            return 403, {"message": "API rate limit exceeded for installation ID 1."}
        self.rate_remaining -= 1
        return None

    # ---- the answer -------------------------------------------------------------------------

    def send(
        self,
        http: BaseHTTPRequestHandler,
        request: Request,
        path: str,
        status: int,
        body: Any,
        headers: dict[str, str],
    ) -> None:
        if isinstance(body, list) and status == 200:
            body = self.page(request, path, body, headers)
        elif isinstance(body, dict) and status == 200 and request.method == "GET":
            for key in ("check_runs", "workflow_runs"):
                if key in body:
                    body = {**body, key: self.page(request, path, body[key], headers)}
        if status < 300 and body is not None and not isinstance(body, bytes):
            if path != "/graphql":
                body = openapi.fill(request.method, path, status, body, self.url)
                self.violations += openapi.check_answer(request.method, path, status, body)
        data = body if isinstance(body, bytes) else b"" if body is None else dump(body)
        http.send_response(status)
        remaining = 4999 if self.rate_remaining is None else self.rate_remaining
        standard = {
            "Content-Type": "application/json; charset=utf-8",
            "Content-Length": str(len(data)),
            "X-RateLimit-Limit": "5000",
            "X-RateLimit-Remaining": str(remaining),
            "X-RateLimit-Reset": str(int(time.time()) + 1),
            **headers,
        }
        for key, value in standard.items():
            http.send_header(key, value)
        http.end_headers()
        http.wfile.write(data)

    def page(
        self, request: Request, path: str, items: list[Any], headers: dict[str, str]
    ) -> list[Any]:
        size = min(int(request.query.get("per_page", 30)), 100)
        number = int(request.query.get("page", 1))
        last = -(-len(items) // size)
        if number < last:
            links = []
            for page, relation in ((number + 1, "next"), (last, "last")):
                query = urllib.parse.urlencode({**request.query, "page": page})
                quoted = urllib.parse.quote(path, errors="surrogateescape")
                links.append(f'<{self.url}{quoted}?{query}>; rel="{relation}"')
            headers["Link"] = ", ".join(links)
        return items[(number - 1) * size : number * size]


def dump(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogateescape")
