"""Check runs and their annotations (50 a request, appended by later requests)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.doubles.github.world import Refused

if TYPE_CHECKING:
    from tests.doubles.github.server import Request

Answer = tuple[int, Any]


def _annotations(body: dict[str, Any]) -> list[dict[str, Any]]:
    output = body.get("output") or {}
    annotations = output.get("annotations") or []
    if len(annotations) > 50:
        raise Refused(422, "No more than 50 annotations may be sent in one request.")
    for name in ("summary", "text"):
        if len(output.get(name) or "") > 65535:
            raise Refused(422, f"output.{name} is too long")
    return list(annotations)


def post_check(request: Request) -> Answer:
    if request.token is None or not request.token.is_app:
        raise Refused(403, "You must authenticate via a GitHub App.")
    request.need("checks", "write")
    body = request.body
    identity = next(request.world.ids)
    check = request.repo.checks[identity] = {
        **body,
        "id": identity,
        "annotations": _annotations(body),
        "app": request.token.login.removesuffix("[bot]"),
    }
    return 201, request.shapes.check(request.repo, check)


def get_check(request: Request, identity: str) -> Answer:
    request.need("checks", "read")
    return 200, request.shapes.check(request.repo, request.repo.checks[int(identity)])


def patch_check(request: Request, identity: str) -> Answer:
    request.need("checks", "write")
    check = request.repo.checks[int(identity)]
    check["annotations"] += _annotations(request.body)
    output = {**(check.get("output") or {}), **(request.body.get("output") or {})}
    check.update({**request.body, "output": output})
    return 200, request.shapes.check(request.repo, check)


def list_annotations(request: Request, identity: str) -> Answer:
    request.need("checks", "read")
    blob = request.shapes.html(request.repo, "/blob/x")
    empty = {"start_column": None, "end_column": None, "title": None, "raw_details": None}
    listed = request.repo.checks[int(identity)]["annotations"]
    return 200, [{**empty, "blob_href": blob, **annotation} for annotation in listed]


def list_checks(request: Request, sha: str) -> Answer:
    request.need("checks", "read")
    name = request.query.get("check_name")
    found = [
        request.shapes.check(request.repo, check)
        for check in request.repo.checks.values()
        if check["head_sha"] == sha and name in (None, check["name"])
    ]
    return 200, {"total_count": len(found), "check_runs": found}


def _route(method: str, pattern: str, handler: Any) -> tuple[str, re.Pattern[str], bool, Any]:
    return method, re.compile(pattern), True, handler


ROUTES = (
    _route("POST", r"/check-runs", post_check),
    _route("GET", r"/check-runs/(\d+)", get_check),
    _route("PATCH", r"/check-runs/(\d+)", patch_check),
    _route("GET", r"/check-runs/(\d+)/annotations", list_annotations),
    _route("GET", r"/commits/(\w+)/check-runs", list_checks),
)
