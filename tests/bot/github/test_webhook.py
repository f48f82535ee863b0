"""The self-hosted door: what the gate lets in (attack group 14), the queue, the worker."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from bot.github.server.queue import LEASE_S, MOST_ATTEMPTS, Job, Queue
from bot.github.server.webhook import create_app
from bot.github.server.worker import Tasks, Worker, handle
from tests.bot.github import payloads
from tests.bot.github.competition import REPO

pytestmark = pytest.mark.one_in(3)

SECRET = "w" * 8 + "ebhook" * 4
QUEUED = f"refs/heads/gh-readonly-queue/main/pr-7-{'a' * 40}"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    made = Queue(tmp_path / "queue.sqlite", Clock())
    yield made
    made.close()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[FlaskClient]:
    queue = Queue(tmp_path / "queue.sqlite")
    app = create_app(SECRET, queue)
    yield app.test_client()
    app.extensions["speedrun"]["writer"].close()
    queue.close()


def sign(body: bytes, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def send(client: FlaskClient, body: bytes, event: str = "pull_request", **headers: str) -> int:
    sent = {
        "Content-Type": "application/json",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": str(uuid.uuid4()),
        "X-Hub-Signature-256": sign(body),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return client.post("/webhook", data=body, headers=sent).status_code


def body_of(number: int = 7, action: str = "opened") -> bytes:
    return json.dumps(payloads.pull_request(REPO, number, action)).encode()


def waiting(client: FlaskClient) -> int:
    answer: Any = client.get("/health").json
    return int(answer["waiting"])


# ---- 14: the gate -------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(payloads.published())))
def test_published_payloads_pass(client: FlaskClient, number: int) -> None:
    event, payload = payloads.published()[number]
    kept = event in ("pull_request", "issue_comment", "issues", "discussion", "discussion_comment")
    assert send(client, json.dumps(payload).encode(), event) == 204
    assert waiting(client) == int(kept)


def test_fork_that_was_deleted(client: FlaskClient) -> None:
    assert send(client, json.dumps(payloads.deleted_fork(REPO, 3)).encode()) == 204
    assert waiting(client) == 1


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("X-Hub-Signature-256", "", 401),
        ("X-Hub-Signature-256", "sha256=" + "0" * 64, 401),
        ("X-Hub-Signature-256", "sha256=", 401),
        ("X-Hub-Signature-256", "sha1=" + "0" * 40, 401),
        ("X-Hub-Signature-256", "sha256=\u00e9", 401),
        ("X-GitHub-Event", "", 400),
        ("X-GitHub-Event", "Pull Request", 400),
        ("X-GitHub-Event", "a" * 65, 400),
        ("X-GitHub-Delivery", "", 400),
        ("X-GitHub-Delivery", "../../x", 400),
        ("X-GitHub-Delivery", "a\tb", 400),
        ("Content-Type", "application/x-www-form-urlencoded", 415),
        ("Content-Type", "", 415),
        ("Content-Type", "text/plain", 415),
    ],
)
def test_headers_that_are_refused(client: FlaskClient, name: str, value: str, status: int) -> None:
    assert send(client, body_of(), **{name: value}) == status
    assert waiting(client) == 0


def test_sha1_alone_is_refused(client: FlaskClient) -> None:
    body = body_of()
    sha1 = "sha1=" + hmac.new(SECRET.encode(), body, hashlib.sha1).hexdigest()
    assert send(client, body, **{"X-Hub-Signature": sha1, "X-Hub-Signature-256": ""}) == 401


def test_form_with_the_signature_of_nothing(client: FlaskClient) -> None:
    """The library signs b"" for forms: one constant would authenticate any form."""
    body = b"payload=" + body_of()
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Hub-Signature-256": sign(b""),
    }
    assert send(client, body, **headers) == 415


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"[1]",
        b"{",
        b'"x"',
        b"[" * 100_000,
        b"{}",
        b'{"repository": {"full_name": "../x"}, "pull_request": {"number": 1}}',
        b'{"repository": {"full_name": "a/b"}, "pull_request": {"number": "1"}}',
        b'{"repository": {"full_name": "a/b"}, "pull_request": {"number": true}}',
        b'{"repository": {"full_name": "a/b"}, "pull_request": {"number": 1}, "sender": "x"}',
        b'{"repository": {"full_name": "a/b\\n"}, "pull_request": {"number": 1}}',
        b'{"repository": {"full_name": "a/b"}, "pull_request": 7, "sender": {"login": "x"}}',
    ],
)
def test_bodies_that_are_refused(client: FlaskClient, body: bytes) -> None:
    assert send(client, body) == 400
    assert waiting(client) == 0


def test_huge_body(client: FlaskClient) -> None:
    body = b'{"a": "' + b"x" * (26 * 1024 * 1024) + b'"}'
    assert send(client, body) == 413


def test_replays_are_acknowledged_and_not_kept(client: FlaskClient) -> None:
    body = body_of()
    first = str(uuid.uuid4())
    assert send(client, body, **{"X-GitHub-Delivery": first}) == 204
    assert send(client, body, **{"X-GitHub-Delivery": first}) == 204
    assert send(client, body, **{"X-GitHub-Delivery": str(uuid.uuid4())}) == 204
    assert send(client, body, event="issues") == 400, "another event's shape"
    assert waiting(client) == 1


@pytest.mark.parametrize("secret", ["", "short", "x" * 15])
def test_no_door_without_a_secret(tmp_path: Path, secret: str) -> None:
    queue = Queue(tmp_path / "q.sqlite")
    with pytest.raises(ValueError, match="SPEEDRUN_WEBHOOK_SECRET"):
        create_app(secret, queue)
    queue.close()


def test_other_methods_and_paths(client: FlaskClient) -> None:
    assert client.get("/webhook").status_code == 405
    assert client.post("/other", data=b"{}").status_code == 404


def test_metrics_count(client: FlaskClient) -> None:
    send(client, body_of())
    send(client, body_of(), **{"X-Hub-Signature-256": "sha256=x"})
    text = client.get("/metrics").get_data(as_text=True)
    assert 'speedrun_deliveries_total{status="204"} 1' in text
    assert 'speedrun_deliveries_total{status="401"} 1' in text
    assert 'speedrun_jobs{state="waiting"} 1' in text


# ---- the queue ----------------------------------------------------------------------------------


def put(queue: Queue, number: int = 1, identity: str = "", event: str = "pull_request") -> bool:
    body = f"{number} {identity}".encode()
    return queue.put(identity or uuid.uuid4().hex, event, f"{REPO}#{number}", body)


def test_a_job_is_done_once(queue: Queue) -> None:
    assert put(queue, identity="a")
    assert not put(queue, identity="a")
    job = queue.lease()
    assert job and queue.lease() is None
    queue.done(job, "ok")
    assert queue.lease() is None
    assert queue.counts() == {"waiting": 0, "running": 0, "done": 1, "dead": 0}


def test_jobs_of_one_pull_request_never_run_side_by_side(queue: Queue) -> None:
    for number, identity in ((1, "a"), (1, "b"), (2, "c")):
        put(queue, number, identity)
    first, second = queue.lease(), queue.lease()
    assert first and second
    assert (first.subject, second.subject) == (f"{REPO}#1", f"{REPO}#2")
    assert queue.lease() is None
    queue.done(first, "ok")
    third = queue.lease()
    assert third and third.subject == f"{REPO}#1"


def test_a_dead_worker_gives_its_job_back(queue: Queue, tmp_path: Path) -> None:
    put(queue)
    lost = queue.lease()
    assert lost and isinstance(queue.clock, Clock)
    queue.clock.now += LEASE_S + 1
    again = queue.lease()
    assert again and (again.id, again.attempts) == (lost.id, 2)
    queue.done(lost, "too late")
    assert queue.counts()["running"] == 1, "the first worker no longer holds it"
    queue.done(again, "ok")
    assert queue.counts()["done"] == 1


def test_failures_are_tried_later_and_then_left_for_a_person(queue: Queue) -> None:
    put(queue)
    assert isinstance(queue.clock, Clock)
    waits = []
    for _ in range(MOST_ATTEMPTS):
        start = queue.clock.now
        while (job := queue.lease()) is None:
            queue.clock.now += 1
        waits.append(queue.clock.now - start)
        queue.failed(job, "GitHub is down")
    assert waits == sorted(waits) and waits[-1] > 60
    queue.clock.now += 1e6
    assert queue.lease() is None
    assert queue.counts()["dead"] == 1


def test_identities_are_forgotten_after_three_days(queue: Queue) -> None:
    put(queue, identity="a")
    job = queue.lease()
    assert job and isinstance(queue.clock, Clock)
    queue.done(job, "ok")
    queue.forget_old()
    assert not put(queue, identity="a")
    queue.clock.now += 4 * 24 * 3600
    queue.forget_old()
    assert put(queue, identity="a")


def test_many_threads_and_two_connections(tmp_path: Path) -> None:
    path = tmp_path / "q.sqlite"
    queues = [Queue(path), Queue(path)]
    taken: list[int] = []
    lock = threading.Lock()

    def work(queue: Queue, start: int) -> None:
        for n in range(start, start + 40):
            put(queue, n, f"id-{n}")
        while job := queue.lease():
            with lock:
                taken.append(job.id)
            queue.done(job, "ok")
        queue.close()

    threads = [threading.Thread(target=work, args=(queues[n % 2], n * 30)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(set(taken)) == 130, "overlapping identities are kept once"
    for queue in queues:
        queue.close()


# ---- the worker ---------------------------------------------------------------------------------


class Done:
    """Tasks that note what they were asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def tasks(self) -> Tasks:
        def note(*what: Any) -> str:
            self.asked.append(what)
            return "noted"

        return Tasks(
            lambda *a: note("verify", *a),
            lambda *a: note("record", *a),
            lambda *a: note("command", *a),
            lambda *a: note("queue", *a),
        )


def job_of(event: str, payload: dict[str, Any], subject: str) -> Job:
    return Job(1, event, subject, json.dumps(payload).encode(), 1)


@pytest.mark.parametrize(
    ("event", "payload", "wanted"),
    [
        ("pull_request", payloads.pull_request(REPO, 7, "opened"), [("verify", REPO, 7)]),
        ("pull_request", payloads.pull_request(REPO, 7, "synchronize"), [("verify", REPO, 7)]),
        ("pull_request", payloads.pull_request(REPO, 7, "closed", True), [("record", REPO, 7)]),
        ("pull_request", payloads.pull_request(REPO, 7, "closed"), []),
        ("pull_request", payloads.pull_request(REPO, 7, "labeled"), []),
        (
            "issue_comment",
            payloads.comment(REPO, 7, 5),
            [("command", REPO, "issue_comment", 7, "5")],
        ),
        ("issue_comment", payloads.comment(REPO, 7, 5, "edited"), []),
        ("merge_group", payloads.merge_group(REPO, 7), [("queue", REPO, QUEUED, "b" * 40)]),
        ("merge_group", payloads.merge_group(REPO, 7, "destroyed"), []),
        ("issue_comment", payloads.comment(REPO, 7, 5, "deleted"), []),
    ],
)
def test_what_a_delivery_leads_to(event: str, payload: dict[str, Any], wanted: list[Any]) -> None:
    done = Done()
    handle(job_of(event, payload, f"{REPO}#7"), done.tasks(), lambda job: False)
    assert done.asked == wanted


def test_a_queued_pull_request_is_received_and_an_odd_branch_is_not(client: FlaskClient) -> None:
    payload = payloads.merge_group(REPO, 7)
    assert send(client, json.dumps(payload).encode(), "merge_group") == 204
    payload["merge_group"]["head_ref"] = "refs/heads/main"
    assert send(client, json.dumps(payload).encode(), "merge_group") == 400
    payload["merge_group"] = None
    assert send(client, json.dumps(payload).encode(), "merge_group") == 400


def test_an_outdated_push_is_skipped(queue: Queue) -> None:
    done = Done()
    payload = json.dumps(payloads.pull_request(REPO, 1, "synchronize"))
    for n in range(3):
        queue.put(f"{n}", "pull_request", f"{REPO}#1", f"{payload}{' ' * n}".encode())
    worker = Worker(queue, done.tasks())
    while worker.step():
        pass
    assert done.asked == [("verify", REPO, 1)]
    assert queue.counts()["done"] == 3


def test_the_worker_forgets_what_is_done_for_three_days(queue: Queue) -> None:
    payload = json.dumps(payloads.pull_request(REPO, 1, "closed")).encode()
    worker = Worker(queue, Done().tasks())
    assert isinstance(queue.clock, Clock)
    for identity, kept in (("a", 1), ("b", 2), ("c", 1)):
        assert queue.put(identity, "pull_request", f"{REPO}#1", payload + b" " * ord(identity))
        assert worker.step()
        assert queue.counts()["done"] == kept
        queue.clock.now += 2 * 24 * 3600 if identity == "a" else 4 * 24 * 3600


def test_a_failing_job_does_not_stop_the_worker(queue: Queue) -> None:
    def broken(*_: Any) -> str:
        raise RuntimeError("no")

    done = Done()
    payload = json.dumps(payloads.pull_request(REPO, 1, "opened")).encode()
    queue.put("a", "pull_request", f"{REPO}#1", payload)
    queue.put("b", "pull_request", f"{REPO}#2", payload + b" ")
    good = done.tasks()

    def verify(repo: str, number: int) -> str:
        return broken() if number == 1 else good.verify(repo, number)

    tasks = Tasks(verify, broken, broken, broken)
    worker = Worker(queue, tasks)
    assert worker.step() and worker.step() and not worker.step()
    assert queue.counts() == {"waiting": 1, "running": 0, "done": 1, "dead": 0}
