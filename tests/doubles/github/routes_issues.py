"""Issues, comments, reactions, labels. A pull request is an issue too, as on GitHub."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.doubles.github.world import Refused, now

if TYPE_CHECKING:
    from tests.doubles.github.server import Request

Answer = tuple[int, Any]
EITHER = "issues|pull_requests"


def _resource(request: Request, number: int) -> str:
    return EITHER if number in request.repo.pulls else "issues"


def list_issues(request: Request) -> Answer:
    request.need("issues", "read")
    state, labels = request.query.get("state", "open"), request.query.get("labels", "")
    wanted = set(filter(None, labels.split(",")))
    found = [
        request.shapes.issue(request.repo, issue)
        for issue in sorted(request.repo.issues.values(), key=lambda i: -i.number)
        if state in ("all", issue.state) and wanted <= set(issue.labels)
    ]
    return 200, found


def post_issue(request: Request) -> Answer:
    request.need("issues", "write")
    body = request.body
    issue = request.world.open_issue(
        request.repo.name, request.token.login, body["title"], body.get("body") or ""
    )
    issue.labels = list(body.get("labels") or [])
    return 201, request.shapes.issue(request.repo, issue)


def get_issue(request: Request, number: str) -> Answer:
    request.need(_resource(request, int(number)), "read")
    return 200, request.shapes.issue(request.repo, request.repo.issues[int(number)])


def patch_issue(request: Request, number: str) -> Answer:
    request.need(_resource(request, int(number)), "write")
    issue = request.repo.issues[int(number)]
    issue.state = request.body.get("state", issue.state)
    if request.body.get("body", issue.body) != issue.body:
        issue.body, issue.edited_at = request.body["body"], now()
    if int(number) in request.repo.pulls:
        request.repo.pulls[int(number)].state = issue.state
    return 200, request.shapes.issue(request.repo, issue)


def list_comments(request: Request, number: str) -> Answer:
    request.need(_resource(request, int(number)), "read")
    comments = [c for c in request.repo.comments.values() if c["number"] == int(number)]
    return 200, [request.shapes.comment(request.repo, comment) for comment in comments]


def post_comment(request: Request, number: str) -> Answer:
    token = request.token
    if token is None or token.is_app:
        request.need(_resource(request, int(number)), "write")
    stored = request.world.comment(
        request.repo.name, int(number), token.login, request.body["body"]
    )
    return 201, request.shapes.comment(request.repo, stored)


def get_comment(request: Request, identity: str) -> Answer:
    comment = request.repo.comments[int(identity)]
    request.need(_resource(request, comment["number"]), "read")
    return 200, request.shapes.comment(request.repo, comment)


def patch_comment(request: Request, identity: str) -> Answer:
    comment = request.repo.comments[int(identity)]
    if request.token is None or request.token.login != comment["user"] or request.token.is_app:
        request.need(_resource(request, comment["number"]), "write")
    if len(request.body["body"]) > 65536:
        raise Refused(422, "body is too long (maximum is 65536 characters)")
    comment["body"], comment["updated_at"] = request.body["body"], now()
    comment["edits"] = comment.get("edits", 0) + 1
    return 200, request.shapes.comment(request.repo, comment)


def delete_comment(request: Request, identity: str) -> Answer:
    comment = request.repo.comments[int(identity)]
    request.need(_resource(request, comment["number"]), "write")
    del request.repo.comments[int(identity)]
    return 204, None


def _react(request: Request, kind: str, identity: int) -> Answer:
    reaction = (kind, identity, request.token.login, request.body["content"])
    known = reaction in request.repo.reactions
    if not known:
        request.repo.reactions.append(reaction)
    shape = {
        "id": 1,
        "node_id": "x",
        "content": request.body["content"],
        "user": request.shapes.user(request.token.login),
        "created_at": now(),
    }
    return (200 if known else 201), shape


def react_to_comment(request: Request, identity: str) -> Answer:
    comment = request.repo.comments[int(identity)]
    request.need(_resource(request, comment["number"]), "write")
    return _react(request, "comment", int(identity))


def react_to_issue(request: Request, number: str) -> Answer:
    request.need(_resource(request, int(number)), "write")
    return _react(request, "issue", int(number))


def list_issue_labels(request: Request, number: str) -> Answer:
    request.need(_resource(request, int(number)), "read")
    names = request.repo.issues[int(number)].labels
    return 200, [request.shapes.label(request.repo, name) for name in names]


def add_labels(request: Request, number: str) -> Answer:
    request.need(_resource(request, int(number)), "write")
    body = request.body
    issue = request.repo.issues[int(number)]
    for name in body["labels"] if isinstance(body, dict) else body:
        if name not in issue.labels:
            issue.labels.append(name)
    return list_issue_labels(request, number)


def set_labels(request: Request, number: str) -> Answer:
    request.need(_resource(request, int(number)), "write")
    body = request.body
    names = body["labels"] if isinstance(body, dict) else body
    request.repo.issues[int(number)].labels = list(dict.fromkeys(names))
    return list_issue_labels(request, number)


def remove_label(request: Request, number: str, name: str) -> Answer:
    request.need(_resource(request, int(number)), "write")
    labels = request.repo.issues[int(number)].labels
    if name not in labels:
        raise Refused(404, "Label does not exist")
    labels.remove(name)
    return list_issue_labels(request, number)


def list_labels(request: Request) -> Answer:
    request.need("issues", "read")
    return 200, [request.shapes.label(request.repo, name) for name in request.repo.labels]


def post_label(request: Request) -> Answer:
    request.need("issues", "write")
    name = request.body["name"]
    if name in request.repo.labels:
        raise Refused(422, "Validation Failed: already_exists")
    request.repo.labels[name] = {
        "color": request.body.get("color", "ededed"),
        "description": request.body.get("description", ""),
    }
    return 201, request.shapes.label(request.repo, name)


def _route(method: str, pattern: str, handler: Any) -> tuple[str, re.Pattern[str], bool, Any]:
    return method, re.compile(pattern), True, handler


ROUTES = (
    _route("GET", r"/issues", list_issues),
    _route("POST", r"/issues", post_issue),
    _route("GET", r"/issues/(\d+)", get_issue),
    _route("PATCH", r"/issues/(\d+)", patch_issue),
    _route("GET", r"/issues/(\d+)/comments", list_comments),
    _route("POST", r"/issues/(\d+)/comments", post_comment),
    _route("GET", r"/issues/comments/(\d+)", get_comment),
    _route("PATCH", r"/issues/comments/(\d+)", patch_comment),
    _route("DELETE", r"/issues/comments/(\d+)", delete_comment),
    _route("POST", r"/issues/comments/(\d+)/reactions", react_to_comment),
    _route("POST", r"/issues/(\d+)/reactions", react_to_issue),
    _route("GET", r"/issues/(\d+)/labels", list_issue_labels),
    _route("POST", r"/issues/(\d+)/labels", add_labels),
    _route("PUT", r"/issues/(\d+)/labels", set_labels),
    _route("DELETE", r"/issues/(\d+)/labels/(.+)", remove_label),
    _route("GET", r"/labels", list_labels),
    _route("POST", r"/labels", post_label),
)
