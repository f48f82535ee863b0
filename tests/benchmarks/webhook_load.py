"""The webhook server under load: 300 deliveries a second for 60 seconds, and kill -9 in the middle.

    python -m tests.benchmarks.webhook_load [--rate 300] [--seconds 60]

Deliveries are offered at a fixed rate, whether or not the server keeps up (an open loop). Limits:
every answer is 2xx, every 2xx is in the queue file, the rate is kept to 2 %. After kill -9 and a
restart every acknowledged delivery is handled exactly once.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import http.client
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from bot.github.server.queue import Queue
from bot.github.server.worker import Tasks, Worker
from tests.bot.github import payloads

SECRET = "l" * 8 + "oad" * 8
THREADS = 24
SIZE = 20_000
"""Bytes of a real `pull_request.opened` payload."""


def start(folder: Path) -> tuple[subprocess.Popen[str], int]:
    command = [
        sys.executable,
        "-c",
        "from bot.cli import main; main()",
        "webhook",
        "--port",
        "0",
        "--queue",
        str(folder / "queue.sqlite"),
        "--threads",
        "8",
        "--no-worker",
    ]
    log = (folder / "server.log").open("a")
    environment = {**os.environ, "SPEEDRUN_WEBHOOK_SECRET": SECRET}
    before = (folder / "server.log").stat().st_size
    process = subprocess.Popen(command, env=environment, stderr=log, text=True)
    for _ in range(300):
        lines = (folder / "server.log").read_text()[before:].splitlines()
        found = [json.loads(line) for line in lines if '"listening"' in line]
        if found:
            return process, int(found[0]["port"])
        time.sleep(0.1)
    raise RuntimeError("the server did not start")


def delivery(number: int) -> bytes:
    payload = payloads.pull_request("example-org/speedrun", number, "synchronize")
    body = json.dumps(payload)
    return (body + " " * max(SIZE - len(body), 0)).encode()


class Load:
    """Sends deliveries at their times, from several threads."""

    def __init__(self, port: int, rate: float, seconds: float, first: int = 1):
        self.port, self.rate, self.first = port, rate, first
        self.total = int(rate * seconds)
        self.next, self.lock = 0, threading.Lock()
        self.accepted: list[int] = []
        self.late: list[float] = []
        self.errors = 0
        template = delivery(10**6)
        self.before, self.after = template.split(str(10**6).encode(), 1)

    def run(self) -> float:
        self.begin = time.monotonic()
        threads = [threading.Thread(target=self.work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.monotonic() - self.begin

    def work(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        while True:
            with self.lock:
                index, self.next = self.next, self.next + 1
            if index >= self.total:
                return
            due = self.begin + index / self.rate
            time.sleep(max(due - time.monotonic(), 0.0))
            try:
                status = self.send(connection, self.first + index)
            except OSError:
                connection.close()
                status = 0
            except http.client.HTTPException:
                connection.close()
                status = 0
            with self.lock:
                self.late.append(time.monotonic() - due)
                if 200 <= status < 300:
                    self.accepted.append(self.first + index)
                else:
                    self.errors += 1

    def send(self, connection: http.client.HTTPConnection, number: int) -> int:
        body = delivery_of(self, number)
        signature = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        connection.request(
            "POST",
            "/webhook",
            body,
            {
                "Content-Type": "application/json",
                "X-GitHub-Event": "pull_request",
                "X-GitHub-Delivery": str(uuid.uuid4()),
                "X-Hub-Signature-256": signature,
            },
        )
        answer = connection.getresponse()
        answer.read()
        return answer.status


def delivery_of(load: Load, number: int) -> bytes:
    """A delivery of its own: the number stands in every place of the template."""
    whole = load.before + str(10**6).encode() + load.after
    return whole.replace(str(10**6).encode(), str(number).encode())


def stored(folder: Path) -> set[int]:
    with sqlite3.connect(folder / "queue.sqlite") as connection:
        rows = connection.execute("select subject from job").fetchall()
    return {int(subject.rpartition("#")[2]) for (subject,) in rows}


def steady(rate: float, seconds: float) -> bool:
    folder = Path(tempfile.mkdtemp(prefix="webhook-load-"))
    process, port = start(folder)
    load = Load(port, rate, seconds)
    took = load.run()
    process.terminate()
    process.wait(timeout=60)
    kept = stored(folder)
    late = sorted(load.late)
    reached = load.total / took
    print(
        f"offered {load.total} in {took:.1f} s = {reached:.0f}/s, accepted {len(load.accepted)}, "
        f"errors {load.errors}, in the queue {len(kept)}"
    )
    print(
        f"answered after p50 {1e3 * late[len(late) // 2]:.0f} ms, "
        f"p99 {1e3 * late[int(len(late) * 0.99)]:.0f} ms, max {1e3 * late[-1]:.0f} ms"
    )
    lost = set(load.accepted) - kept
    good = not lost and load.errors == 0 and reached >= 0.98 * rate
    print("no loss" if not lost else f"LOST {len(lost)}")
    return good


def killed(rate: float, seconds: float) -> bool:
    folder = Path(tempfile.mkdtemp(prefix="webhook-kill-"))
    accepted: set[int] = set()
    first = 1
    for round_ in range(2):
        process, port = start(folder)
        load = Load(port, rate, seconds, first)
        if round_ == 0:
            threading.Timer(seconds / 2, process.kill).start()
        load.run()
        accepted |= set(load.accepted)
        first += load.total
        if round_:
            process.terminate()
        process.wait(timeout=60)
    handled: list[int] = []
    queue = Queue(folder / "queue.sqlite")

    def note(repository: str, number: int) -> str:
        handled.append(number)
        return "noted"

    def none(*_: Any) -> str:
        return "none"

    worker = Worker(queue, Tasks(note, none, none))
    while worker.step():
        pass
    queue.close()
    lost, twice = accepted - set(handled), len(handled) - len(set(handled))
    print(
        f"kill -9 in the middle: accepted {len(accepted)}, handled {len(handled)}, "
        f"lost {len(lost)}, twice {twice}"
    )
    return not lost and twice == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=300.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen = parser.parse_args()
    results = [steady(chosen.rate, chosen.seconds), killed(chosen.rate, 10.0)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
