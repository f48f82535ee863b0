"""Make `payloads.json` from the npm package of GitHub's published webhook examples.

npm pack @octokit/webhooks-examples@7.6.1
tar xzf octokit-webhooks-examples-7.6.1.tgz package/api.github.com/index.json
python -m tests.bot.github.cut_payloads package/api.github.com/index.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.bot.github.payloads import FILE

EVENTS = (
    "ping",
    "pull_request",
    "issue_comment",
    "issues",
    "discussion",
    "discussion_comment",
    "push",
    "star",
)
DEPTH = 4
PEOPLE_AND_PLACES = {
    "repository",
    "organization",
    "sender",
    "user",
    "owner",
    "repo",
    "author",
    "assignee",
    "head",
    "base",
    "installation",
    "head_repository",
    "creator",
    "actor",
}
KEPT = {
    "login",
    "id",
    "type",
    "full_name",
    "name",
    "ref",
    "sha",
    "label",
    "number",
    "repo",
    "user",
    "owner",
    "fork",
    "private",
}


def cut(value: Any, depth: int = 0) -> Any:
    """Keep the shape; drop addresses and what lies deeper than anything we look at."""
    if isinstance(value, dict):
        if depth >= DEPTH:
            return {}
        return {
            k: narrow(cut(v, depth + 1)) if k in PEOPLE_AND_PLACES else cut(v, depth + 1)
            for k, v in value.items()
            if not (k.endswith("_url") or k in ("url", "_links", "body", "permissions", "email"))
        }
    if isinstance(value, list):
        return [cut(item, depth + 1) for item in value[:1]]
    return value


def narrow(value: Any) -> Any:
    """A person or a repository: the fields by which it is told apart."""
    return {k: v for k, v in value.items() if k in KEPT} if isinstance(value, dict) else value


def main() -> None:
    source = json.loads(Path(sys.argv[1]).read_text())
    kept = [
        {"event": entry["name"], "payload": cut(payload)}
        for entry in source
        if entry["name"] in EVENTS
        for payload in entry["examples"]
    ]
    FILE.write_text(json.dumps(kept, separators=(",", ":"), sort_keys=True) + "\n")
    print(f"{len(kept)} payloads, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
