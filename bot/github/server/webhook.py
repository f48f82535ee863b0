"""The self-hosted server: github-webhook dispatches, our gate stands in front of it.

The library checks SHA-1 only, accepts unsigned requests when no secret is set, has no size limit
and fails on odd bodies; so the gate refuses everything that is not JSON with a valid
X-Hub-Signature-256, of a bounded size, and an object. What passes is stored before it is
acknowledged; the work is done later by `bot.github.server.worker`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import queue as plain_queue
import re
import threading
import time
from collections import Counter
from concurrent.futures import Future
from typing import Any

from flask import Flask, Response, abort, g, request
from github_webhook import Webhook  # type: ignore[import-untyped]

from bot.github.pull_request.merge_queue import queued
from bot.github.server.queue import Queue
from bot.patterns import REPOSITORY

MAX_BODY = 25 * 1024 * 1024
"""GitHub's own limit of a payload."""
MIN_SECRET = 16
EVENTS = (
    "ping",
    "pull_request",
    "merge_group",
    "issue_comment",
    "issues",
    "discussion",
    "discussion_comment",
)
_DELIVERY = re.compile(r"[0-9A-Za-z-]{1,64}")
_EVENT = re.compile(r"[a-z0-9_]{1,64}")
_ABOUT = {"pull_request": "pull_request", "issue_comment": "issue", "issues": "issue"}
_LOG = logging.getLogger("speedrun.webhook")


class Writer:
    """Puts deliveries into the queue, many in one flush: a flush costs more than a row."""

    def __init__(self, queue: Queue):
        self._queue = queue
        self._waiting: plain_queue.SimpleQueue[tuple[Any, Future[bool]] | None]
        self._waiting = plain_queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="queue-writer", daemon=True)
        self._thread.start()

    def put(self, delivery: tuple[str, str, str, bytes]) -> bool:
        """Store a delivery; returns when it is on disk. False for a replay."""
        stored: Future[bool] = Future()
        self._waiting.put((delivery, stored))
        return stored.result(timeout=9.0)  # GitHub gives up after 10 seconds

    def close(self) -> None:
        """Write what waits, then stop."""
        self._waiting.put(None)
        self._thread.join(timeout=10.0)

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch = [first]
            while len(batch) < 200 and not self._waiting.empty():
                item = self._waiting.get()
                if item is None:
                    self._store(batch)
                    return
                batch.append(item)
            self._store(batch)

    def _store(self, batch: list[tuple[Any, Future[bool]]]) -> None:
        try:
            results = self._queue.put_all([delivery for delivery, _ in batch])
        except Exception as error:
            # each sender gets a 500 and GitHub shows the delivery as failed, to be sent again
            for _, stored in batch:
                stored.set_exception(error)
            return
        for (_, stored), result in zip(batch, results, strict=True):
            stored.set_result(result)


def subject_of(event: str, payload: dict[str, Any]) -> str:
    """What a delivery is about: `owner/repo#7`; orders the work. ValueError for an odd shape."""
    name = _within(payload, "repository", "full_name")
    if not isinstance(name, str) or not REPOSITORY.fullmatch(name):
        raise ValueError("repository.full_name is missing")
    if event == "merge_group":
        return f"{name}#{queued(str(_within(payload, event, 'head_ref')))}"
    key = _ABOUT.get(event, "discussion")
    number = _within(payload, key, "number")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ValueError(f"{key}.number is missing")
    return f"{name}#{number}" if key != "discussion" else f"{name}#d{number}"


def _within(payload: dict[str, Any], *keys: str) -> Any:
    value: Any = payload
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _check_shape(event: str, payload: dict[str, Any]) -> None:
    """What github-webhook and the worker index without looking; ValueError if it is not so."""
    needed: list[tuple[str, ...]] = [("sender", "login")]
    if event == "merge_group":
        needed.append((event, "head_sha"))
    if event.endswith("comment"):
        needed.append(("comment", "user", "login"))
    for keys in needed:
        if not isinstance(_within(payload, *keys), str):
            raise ValueError(f"{'.'.join(keys)} is missing")


def create_app(secret: str, queue: Queue) -> Flask:
    """The application. Raises ValueError for a missing or a short secret."""
    if len(secret) < MIN_SECRET:
        raise ValueError(
            f"the webhook secret has {len(secret)} characters, expected at least {MIN_SECRET}; "
            "set SPEEDRUN_WEBHOOK_SECRET to the secret of the App's webhook"
        )
    app = Flask("speedrun")
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    hook = Webhook(app, endpoint="/webhook", secret=None)
    # the library logs fields of the payload as they are, line breaks included
    logging.getLogger("webhook").disabled = True
    writer = Writer(queue)
    counters: Counter[str] = Counter()
    started = time.monotonic()
    app.extensions["speedrun"] = {"queue": queue, "writer": writer, "counters": counters}
    app.before_request(lambda: gate(secret.encode()))

    @app.after_request
    def count(response: Response) -> Response:
        if request.path == "/webhook":
            counters[str(response.status_code)] += 1
            _LOG.info("delivery", extra={"fields": _facts(response)})
        return response

    for event in EVENTS[1:]:
        hook.hook(event)(_receiver(event, writer))

    @app.get("/health")
    def health() -> tuple[dict[str, Any], int]:
        state = queue.counts()
        healthy = state["dead"] == 0
        return {"ok": healthy, "uptime_s": round(time.monotonic() - started), **state}, 200

    @app.get("/metrics")
    def metrics() -> Response:
        return Response(_metrics(queue, counters), mimetype="text/plain; version=0.0.4")

    return app


def gate(key: bytes) -> tuple[str, int] | None:
    """Refuse what GitHub did not send; leaves what the receivers need in `g`.

    An event that we have no use for is acknowledged here: the library would look into it.
    """
    if request.path != "/webhook":
        return None
    if request.method != "POST":
        abort(405)
    if request.mimetype != "application/json":
        abort(415)
    body = request.get_data(cache=True, parse_form_data=False)
    wanted = "sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest()
    given = request.headers.get("X-Hub-Signature-256", "")
    if not hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode()):
        abort(401)
    event = request.headers.get("X-GitHub-Event", "")
    delivery = request.headers.get("X-GitHub-Delivery", "")
    if not _EVENT.fullmatch(event) or not _DELIVERY.fullmatch(delivery):
        abort(400)
    try:
        payload = json.loads(body)
        if not isinstance(payload, dict):
            raise ValueError("the payload is not an object")
        if event not in EVENTS:
            return "", 204
        g.delivery, g.body = delivery, body
        g.subject = "" if event == "ping" else subject_of(event, payload)
        if event != "ping":
            _check_shape(event, payload)
    except (ValueError, RecursionError):
        abort(400)
    return None if event != "ping" else ("", 204)


def _receiver(event: str, writer: Writer) -> Any:
    def receive(payload: dict[str, Any]) -> None:
        g.stored = writer.put((g.delivery, event, g.subject, g.body))

    receive.__name__ = f"receive_{event}"
    return receive


def _facts(response: Response) -> dict[str, Any]:
    """For the log: nothing of the payload but what the gate checked."""
    return {
        "status": response.status_code,
        "event": request.headers.get("X-GitHub-Event", "")[:64] if "delivery" in g else "",
        "delivery": g.get("delivery", ""),
        "subject": g.get("subject", ""),
        "replay": g.get("stored") is False,
    }


def _metrics(queue: Queue, counters: Counter[str]) -> str:
    lines = ["# TYPE speedrun_deliveries_total counter"]
    lines += [
        f'speedrun_deliveries_total{{status="{status}"}} {count}'
        for status, count in sorted(counters.items())
    ]
    lines.append("# TYPE speedrun_jobs gauge")
    lines += [f'speedrun_jobs{{state="{s}"}} {n}' for s, n in queue.counts().items()]
    lines.append("# TYPE speedrun_oldest_wait_seconds gauge")
    lines.append(f"speedrun_oldest_wait_seconds {queue.oldest_wait_s():.3f}")
    return "\n".join(lines) + "\n"


class JsonLines(logging.Formatter):
    """One JSON object a line, so that a log cannot be forged with line breaks."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        data = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1]:
            data["error"] = type(record.exc_info[1]).__name__
        return json.dumps(data, default=str)
