"""What the self-hosted server does with its queue: the same steps as the workflows.

A payload is only a hint where to look. Everything is read again from the API, so deliveries that
come twice, late or in another order lead to the same state.
"""

from __future__ import annotations

import dataclasses as dc
import json
import logging
import threading
from collections.abc import Callable
from typing import Any

from bot.github.api.client import GitHubTrouble
from bot.github.server.queue import Job, Queue

_LOG = logging.getLogger("speedrun.worker")
_VERIFY = ("opened", "synchronize", "reopened", "ready_for_review", "edited")


@dc.dataclass(frozen=True)
class Tasks:
    """The things to do, each idempotent, each returning a word for the log."""

    verify: Callable[[str, int], str]
    record: Callable[[str, int], str]
    command: Callable[[str, str, int, str], str]
    queue: Callable[[str, str, str], str]


def handle(job: Job, tasks: Tasks, newer: Callable[[Job], bool]) -> str:
    """Do one job. Raises what the tasks raise."""
    payload = json.loads(job.body)
    repository, _, number = job.subject.rpartition("#")
    action = payload.get("action")
    if job.event == "pull_request":
        if action == "closed" and payload["pull_request"].get("merged") is True:
            return tasks.record(repository, int(number))
        if action not in _VERIFY:
            return f"nothing to do for {str(action)[:30]}"
        return "outdated" if newer(job) else tasks.verify(repository, int(number))
    if job.event == "merge_group":
        if action != "checks_requested":
            return f"nothing to do for {str(action)[:30]}"
        group = payload["merge_group"]
        return tasks.queue(repository, str(group["head_ref"]), str(group["head_sha"]))
    return _said(job.event, action, payload, tasks, repository, number)


def _said(
    event: str, action: Any, payload: dict[str, Any], tasks: Tasks, repository: str, number: str
) -> str:
    """Comments count when created, never when edited; a form can be fixed by editing it."""
    plain = int(number.removeprefix("d"))
    if event in ("issue_comment", "discussion_comment"):
        if action != "created":
            return "an edited comment is not a command"
        key = "id" if event == "issue_comment" else "node_id"
        return tasks.command(repository, event, plain, str(payload["comment"][key]))
    wanted = ("opened", "edited", "labeled") if event == "issues" else ("created",)
    if action not in wanted:
        return f"nothing to do for {str(action)[:30]}"
    return tasks.command(repository, event, plain, "")


class Worker(threading.Thread):
    """Takes jobs one after the other until it is stopped."""

    def __init__(self, queue: Queue, tasks: Tasks, idle_s: float = 0.5):
        super().__init__(name="speedrun-worker", daemon=True)
        self.queue, self.tasks, self.idle_s = queue, tasks, idle_s
        self.stopping = threading.Event()

    def run(self) -> None:
        """The loop; a failure of one job never ends it."""
        while not self.stopping.is_set():
            if not self.step():
                self.stopping.wait(self.idle_s)
        self.queue.close()

    def step(self) -> bool:
        """One job; False when none was due."""
        job = self.queue.lease()
        if job is None:
            return False
        fields: dict[str, Any] = {"job": job.id, "event": job.event, "subject": job.subject}
        try:
            outcome = handle(job, self.tasks, self.queue.newer)
        except Exception as error:
            # any failure of one job is kept with the job and tried again; the loop goes on
            words = str(error) if isinstance(error, GitHubTrouble) else type(error).__name__
            self.queue.failed(job, words)
            _LOG.warning("failed", extra={"fields": {**fields, "why": words}})
        else:
            self.queue.done(job, outcome)
            self.queue.forget_old()
            _LOG.info("done", extra={"fields": {**fields, "outcome": outcome}})
        return True

    def stop(self) -> None:
        """Finish the job at hand, then end."""
        self.stopping.set()
