"""Cut GitHub's OpenAPI description down to the operations that the bot and its double use.

    npm pack @octokit/openapi@23.0.2
    tar xzf octokit-openapi-23.0.2.tgz package/generated/api.github.com.json
    python tests/doubles/github/prune_openapi.py package/generated/api.github.com.json

writes `openapi.json` beside this file. The source is MIT licensed (LICENSE.octokit-openapi).
Examples and prose are dropped: the fixture is for checking shapes, not for reading.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPO = "/repos/{owner}/{repo}"
OPERATIONS = {
    "/user": "get",
    "/users/{username}": "get",
    "/rate_limit": "get",
    "/app/installations/{installation_id}/access_tokens": "post",
    REPO: "get",
    f"{REPO}/installation": "get",
    f"{REPO}/forks": "post",
    f"{REPO}/branches/{{branch}}": "get",
    f"{REPO}/branches/{{branch}}/protection": "get",
    f"{REPO}/rulesets": "get",
    f"{REPO}/rulesets/{{ruleset_id}}": "get",
    f"{REPO}/pages": "get",
    f"{REPO}/environments": "get",
    f"{REPO}/environments/{{environment_name}}/secrets": "get",
    f"{REPO}/actions/permissions/workflow": "get",
    f"{REPO}/actions/permissions/fork-pr-contributor-approval": "get",
    f"{REPO}/actions/workflows/{{workflow_id}}/dispatches": "post",
    f"{REPO}/actions/runs": "get",
    f"{REPO}/actions/runs/{{run_id}}": "get",
    f"{REPO}/rules/branches/{{branch}}": "get",
    f"{REPO}/collaborators/{{username}}/permission": "get",
    f"{REPO}/commits/{{ref}}": "get",
    f"{REPO}/commits/{{commit_sha}}/pulls": "get",
    f"{REPO}/commits/{{ref}}/check-runs": "get",
    f"{REPO}/compare/{{basehead}}": "get",
    f"{REPO}/contents/{{path}}": "get",
    f"{REPO}/git/trees/{{tree_sha}}": "get",
    f"{REPO}/git/trees": "post",
    f"{REPO}/git/blobs/{{file_sha}}": "get",
    f"{REPO}/git/blobs": "post",
    f"{REPO}/git/commits/{{commit_sha}}": "get",
    f"{REPO}/git/commits": "post",
    f"{REPO}/git/ref/{{ref}}": "get",
    f"{REPO}/git/refs": "post",
    f"{REPO}/git/refs/{{ref}}": "patch",
    f"{REPO}/pulls": "get post",
    f"{REPO}/pulls/{{pull_number}}": "get patch",
    f"{REPO}/pulls/{{pull_number}}/files": "get",
    f"{REPO}/pulls/{{pull_number}}/merge": "put",
    f"{REPO}/pulls/{{pull_number}}/reviews": "post",
    f"{REPO}/pulls/{{pull_number}}/comments": "get",
    f"{REPO}/pulls/comments/{{comment_id}}": "patch delete",
    f"{REPO}/pulls/{{pull_number}}/requested_reviewers": "post",
    f"{REPO}/issues": "get post",
    f"{REPO}/issues/{{issue_number}}": "get patch",
    f"{REPO}/issues/{{issue_number}}/comments": "get post",
    f"{REPO}/issues/comments/{{comment_id}}": "get patch delete",
    f"{REPO}/issues/comments/{{comment_id}}/reactions": "get post",
    f"{REPO}/issues/{{issue_number}}/reactions": "post",
    f"{REPO}/issues/{{issue_number}}/labels": "get post put",
    f"{REPO}/issues/{{issue_number}}/labels/{{name}}": "delete",
    f"{REPO}/labels": "get post",
    f"{REPO}/check-runs": "post",
    f"{REPO}/check-runs/{{check_run_id}}": "get patch",
    f"{REPO}/check-runs/{{check_run_id}}/annotations": "get",
}
NOISE = {"examples", "example", "description", "summary", "externalDocs", "x-github", "tags"}


def strip(node: Any) -> Any:
    """Drop prose and examples; `properties` may have keys of the same names and are kept."""
    if isinstance(node, list):
        return [strip(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties":
            kept[key] = {name: strip(schema) for name, schema in value.items()}
        elif key not in NOISE or (key == "description" and not isinstance(value, str)):
            kept[key] = strip(value)
    return kept


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def operation(source: dict[str, Any], path: str, method: str) -> dict[str, Any]:
    found = source["paths"][path][method]
    return {key: strip(found[key]) for key in ("requestBody", "responses") if key in found}


def prune(source: dict[str, Any]) -> dict[str, Any]:
    """The subset with every component that it refers to, directly or not."""
    paths = {
        path: {method: operation(source, path, method) for method in methods.split()}
        for path, methods in OPERATIONS.items()
    }
    components: dict[str, dict[str, Any]] = {}
    waiting = set(references(paths))
    while waiting:
        _, _, kind, name = waiting.pop().split("/")
        if name not in components.setdefault(kind, {}):
            components[kind][name] = strip(source["components"][kind][name])
            waiting |= set(references(components[kind][name]))
    ordered = {kind: dict(sorted(items.items())) for kind, items in sorted(components.items())}
    return {"openapi": source["openapi"], "paths": paths, "components": ordered}


def main() -> None:
    source = json.loads(Path(sys.argv[1]).read_text())
    target = Path(__file__).with_name("openapi.json")
    target.write_text(json.dumps(prune(source), separators=(",", ":")) + "\n")
    print(f"{target.name}: {target.stat().st_size} bytes, {len(OPERATIONS)} paths")


if __name__ == "__main__":
    main()
