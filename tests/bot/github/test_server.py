"""The self-hosted server as a process: a whole journey, and kill -9 in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from pathlib import Path
from typing import Any

import pytest

from bot.github.server.queue import Queue
from bot.github.server.worker import Worker
from tests.bot.github import payloads
from tests.bot.github.competition import AUTHOR, REPO, Competition, submission
from tests.bot.github.test_webhook import SECRET, Done, sign


def start_server(folder: Path, environment: dict[str, str], *more: str) -> tuple[Any, int]:
    command = [
        sys.executable,
        "-c",
        "from bot.cli import main; main()",
        "webhook",
        "--port",
        "0",
        "--queue",
        str(folder / "queue.sqlite"),
        *more,
    ]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    line = process.stderr.readline()
    if '"listening"' not in line:
        process.kill()
        raise AssertionError(line + process.stderr.read())
    return process, int(json.loads(line)["port"])


def post(port: int, body: bytes, event: str = "pull_request") -> int:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/webhook",
        body,
        {
            "Content-Type": "application/json",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": str(uuid.uuid4()),
            "X-Hub-Signature-256": sign(body),
        },
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return int(answer.status)


def test_server_answers_a_pull_request_and_a_command(
    competition: Competition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    competition.github.add_token(
        "token-of-server",
        "github-actions[bot]",
        REPO,
        contents="write",
        checks="write",
        pull_requests="write",
        issues="write",
    )
    pull = competition.open(submission("fast", seconds=90.0))
    environment = {
        **os.environ,
        "SPEEDRUN_WEBHOOK_SECRET": SECRET,
        "GITHUB_TOKEN": "token-of-server",
        "GITHUB_API_URL": competition.github.url,
    }
    root = competition.checkout()
    process, port = start_server(tmp_path, environment, "--repo", REPO, "--root", str(root))
    try:
        payload = payloads.pull_request(REPO, pull.number, "opened")
        assert post(port, json.dumps(payload).encode()) == 204
        wait_for(lambda: competition.labels(pull.number) == ["speedrun: verified"])
        comment = competition.say(pull.number, AUTHOR, "/verify")
        said = json.dumps(payloads.comment(REPO, pull.number, comment)).encode()
        assert post(port, said, "issue_comment") == 204
        wait_for(lambda: health(port)["done"] == 3 and health(port)["waiting"] == 0)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        process.stderr.close()
    assert competition.checks(pull.head_sha) == [("speedrun", "success")]
    assert len(competition.comments(pull.number)) == 1


def health(port: int) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=20) as answer:
        found: dict[str, Any] = json.loads(answer.read())
        return found


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


@pytest.mark.full("starts three servers")
def test_kill_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    """kill -9 while deliveries come: every one that was acknowledged is in the file, once."""
    environment = {**os.environ, "SPEEDRUN_WEBHOOK_SECRET": SECRET}
    acknowledged: list[int] = []
    number = 0
    for _ in range(3):
        process, port = start_server(tmp_path, environment, "--no-worker")
        killer = threading.Timer(1.0, process.kill)
        killer.start()
        try:
            while True:
                number += 1
                body = json.dumps(payloads.pull_request(REPO, number, "opened")).encode()
                if post(port, body) == 204:
                    acknowledged.append(number)
        except OSError:
            pass  # killed: this one was not acknowledged, GitHub shows it as failed
        process.wait(timeout=30)
        assert process.stderr
        process.stderr.close()
    assert len(acknowledged) > 10
    queue = Queue(tmp_path / "queue.sqlite")
    done = Done()
    worker = Worker(queue, done.tasks())
    while worker.step():
        pass
    handled = [what[2] for what in done.asked]
    assert len(handled) == len(set(handled))
    assert set(acknowledged) <= set(handled) <= set(range(1, number + 1))
    assert queue.counts()["waiting"] == 0
    queue.close()
