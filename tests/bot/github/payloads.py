"""Webhook payloads in the shapes that GitHub publishes, cut to what the bot and its library read.

`payloads.json` comes from `@octokit/webhooks-examples` (MIT, copyright the Octokit contributors) by
`cut_payloads.py`; what is not
among the examples (a fork, a deleted fork, a comment on a pull request) is derived here.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("payloads.json")


def published() -> list[tuple[str, dict[str, Any]]]:
    """(event, payload) of every kept example."""
    return [(entry["event"], entry["payload"]) for entry in json.loads(FILE.read_text())]


def example(event: str, action: str) -> dict[str, Any]:
    for name, payload in published():
        if (name, payload.get("action")) == (event, action):
            return copy.deepcopy(payload)
    raise KeyError((event, action))


def pull_request(repo: str, number: int, action: str, merged: bool = False) -> dict[str, Any]:
    payload = example("pull_request", "opened" if action != "synchronize" else action)
    payload["action"] = action
    payload["number"] = payload["pull_request"]["number"] = number
    payload["pull_request"]["merged"] = merged
    payload["repository"]["full_name"] = repo
    return payload


def deleted_fork(repo: str, number: int) -> dict[str, Any]:
    payload = pull_request(repo, number, "synchronize")
    payload["pull_request"]["head"]["repo"] = None
    return payload


def comment(repo: str, number: int, identity: int, action: str = "created") -> dict[str, Any]:
    payload = example("issue_comment", "created")
    payload["action"] = action
    payload["issue"]["number"] = number
    payload["issue"]["pull_request"] = {"url": "https://api.github.com/x"}
    payload["comment"]["id"] = identity
    payload["repository"]["full_name"] = repo
    return payload


def merge_group(repo: str, number: int, action: str = "checks_requested") -> dict[str, Any]:
    """A pull request in the merge queue; the examples have none."""
    pull = pull_request(repo, number, "opened")
    group = {
        "head_sha": "b" * 40,
        "head_ref": f"refs/heads/gh-readonly-queue/main/pr-{number}-{'a' * 40}",
        "base_sha": "c" * 40,
        "base_ref": "refs/heads/main",
    }
    kept = {"repository": pull["repository"], "sender": pull["sender"]}
    return {"action": action, "merge_group": group, **kept}
