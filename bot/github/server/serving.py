"""`speedrun webhook`: gate, queue and worker in one process, for those who run a GitHub App.

Environment: SPEEDRUN_WEBHOOK_SECRET (of the App's webhook), and what
`bot.github.server.sign_in` reads. Logs are JSON lines on standard error.
`GET /health` and `GET /metrics` are for the operator: keep them off the public address.
"""

from __future__ import annotations

import dataclasses as dc
import json
import logging
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import waitress  # type: ignore[import-untyped]

from bot.github.api.client import GitHubTrouble, Repo, checked_name
from bot.github.api.workflows import Dispatch
from bot.github.host.settings import load_settings
from bot.github.pull_request.evaluate import NotOpen, evaluate
from bot.github.pull_request.first_seen import remember
from bot.github.pull_request.publish import publish
from bot.github.server import running
from bot.github.server.queue import Queue
from bot.github.server.sign_in import SignIn
from bot.github.server.webhook import JsonLines, create_app
from bot.github.server.worker import Tasks, Worker
from bot.model.report import Settings
from bot.registry import Status

SECRET = "SPEEDRUN_WEBHOOK_SECRET"
_LOG = logging.getLogger("speedrun.webhook")


def serve(
    host: str, port: int, queue_path: Path, threads: int, name: str | None, root: Path | None
) -> None:
    """Serve until SIGTERM or SIGINT. Without `root` deliveries are only received.

    Raises ValueError for a name that is not a repository, for a secret that is missing or too
    short, or no way to sign in.
    """
    if name is not None:
        checked_name(name)
    log_as_json()
    queue = Queue(queue_path)
    app = create_app(os.environ.get(SECRET, ""), queue)
    worker = None
    if root is not None:
        if name is None:
            raise ValueError("the worker serves one repository: give --repo, or --no-worker")
        worker = Worker(queue, tasks(name, root, queue))
    server: Any = waitress.create_server(
        app, host=host, port=port, threads=threads, connection_limit=1000, channel_timeout=30
    )
    if worker is not None:
        worker.start()
    # the server's loop ends in order on KeyboardInterrupt
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _LOG.info("listening", extra={"fields": {"host": host, "port": server.effective_port}})
    try:
        server.run()
    finally:
        app.extensions["speedrun"]["writer"].close()
        if worker is not None:
            worker.stop()
            worker.join(timeout=60.0)
        queue.close()


def log_as_json() -> None:
    """One JSON object a line on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("speedrun")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False


def refresh(root: Path) -> None:
    """Bring the checkout of the default branch, and that of the evidence, up to date."""
    for folder in (root, root / running.EVIDENCE_FOLDER):
        if not (folder / ".git").exists():
            continue
        done = subprocess.run(
            ["git", "-C", str(folder), "pull", "--quiet", "--ff-only"],
            capture_output=True,
            timeout=120,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )
        if done.returncode:
            raise GitHubTrouble(f"the checkout {folder.name} could not be brought up to date")


def enqueue(queue: Queue, name: str, merged: bool = False) -> Dispatch:
    """Start a verification, or what follows a merge, by putting it into the queue: there is no
    workflow to start."""

    def start(number: int, ref: str) -> None:
        body = {
            "action": "closed" if merged else "synchronize",
            "pull_request": {"number": number, "merged": merged},
            "id": uuid.uuid4().hex,
        }
        queue.put(uuid.uuid4().hex, "pull_request", f"{name}#{number}", json.dumps(body).encode())

    return start


def tasks(name: str, root: Path, queue: Queue) -> Tasks:
    """What the worker does for one repository. Raises ValueError if it cannot sign in."""
    sign_in = SignIn(name)
    sign_in.check()
    served = _Served(name, root, queue, sign_in)
    return Tasks(served.verify, served.record, served.command, served.again)


@dc.dataclass(frozen=True)
class _Served:
    """One repository, and what is done for it."""

    name: str
    root: Path
    queue: Queue
    sign_in: SignIn

    def _ready(self, named: str) -> tuple[Repo, Settings]:
        if named.lower() != self.name.lower():
            raise ValueError(f"a delivery for {named}, this server serves {self.name}")
        refresh(self.root)
        settings = load_settings(self.root)
        return self.sign_in.open(settings), settings

    def verify(self, named: str, number: int) -> str:
        repo, settings = self._ready(named)
        engine = running.engine_of(self.root, None, True)
        try:
            report, _ = evaluate(repo, engine, number)
        except NotOpen as error:
            return str(error)
        said = publish(repo, report, settings).why_not or "published"
        remember(repo, report, running.now())
        return said

    def record(self, named: str, number: int) -> str:
        from bot.github.pull_request.record import append, tell

        repo, settings = self._ready(named)
        engine = running.engine_of(self.root, None, True)
        report, runs = evaluate(repo, engine, number, merged=True)
        if not report.verdicts:
            return "no submission"
        if report.status is Status.UNVERIFIABLE:
            raise GitHubTrouble("the evidence could not be read; tried again later")
        append(repo, report, [run for run in runs if run.source == "wandb"], running.now())
        said = f"told {tell(repo, report, settings)}"
        refresh(self.root)
        after = running.engine_of(self.root, None, True)
        start = enqueue(self.queue, self.name)
        promoted = running.promote(repo, settings, after, number, running.now(), start)
        return "; ".join([said, *promoted])

    def command(self, named: str, event: str, number: int, comment: str) -> str:
        repo, settings = self._ready(named)
        start = enqueue(self.queue, self.name)
        record = enqueue(self.queue, self.name, merged=True)
        return running.answer_event(
            repo, settings, self.root, event, number, comment, start, record
        )

    def again(self, named: str, ref: str, head_sha: str) -> str:
        from bot.github.pull_request.merge_queue import repeat_check

        repo, settings = self._ready(named)
        return repeat_check(repo, settings, ref, head_sha)
