"""Pull requests: read, files, open, merge, reviewers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.doubles.github import routes_reviews
from tests.doubles.github.world import Refused

if TYPE_CHECKING:
    from tests.doubles.github.server import Request

Answer = tuple[int, Any]
FILES_LIMIT = 3000


def list_pulls(request: Request) -> Answer:
    request.need("pull_requests", "read")
    state, head = request.query.get("state", "open"), request.query.get("head")
    found = []
    for pull in sorted(request.repo.pulls.values(), key=lambda p: -p.number):
        label = f"{pull.head_repo.split('/')[0]}:{pull.head_branch}"
        if state in ("all", pull.state) and head in (None, label):
            found.append(request.shapes.pull(request.repo, pull))
    return 200, found


def get_pull(request: Request, number: str) -> Answer:
    request.need("pull_requests", "read")
    return 200, request.shapes.pull(request.repo, request.repo.pulls[int(number)])


def patch_pull(request: Request, number: str) -> Answer:
    request.need("pull_requests", "write")
    pull = request.repo.pulls[int(number)]
    issue = request.repo.issues[int(number)]
    pull.state = issue.state = request.body.get("state", pull.state)
    issue.body = request.body.get("body", issue.body)
    issue.title = request.body.get("title", issue.title)
    return 200, request.shapes.pull(request.repo, pull)


def post_pull(request: Request) -> Answer:
    token, repo, body = request.token, request.repo, request.body
    if token is None:
        raise Refused(401, "Requires authentication")
    if token.is_app:
        request.need("pull_requests", "write")
        if token.login == "github-actions[bot]" and not repo.actions_may_open_pulls:
            words = "GitHub Actions is not permitted to create or approve pull requests."
            raise Refused(403, words)
    owner, _, branch = body["head"].rpartition(":")
    source = f"{owner}/{repo.name.split('/')[1]}" if owner else repo.name
    if source not in request.world.repos:
        raise Refused(422, "Validation Failed: head invalid")
    head = request.world.repos[source]
    if request.world.branch(head, branch) is None:
        raise Refused(422, "Validation Failed: head invalid")
    for pull in repo.pulls.values():
        if (pull.head_repo, pull.head_branch, pull.state) == (source, branch, "open"):
            raise Refused(422, f"A pull request already exists for {body['head']}.")
    if request.world.branch(repo, body["base"]) is None:
        raise Refused(422, "Validation Failed: base invalid")
    pull = request.world.open_pull(
        repo.name, token.login, source, branch, body["title"], body.get("body") or "", body["base"]
    )
    pull.maintainer_can_modify = body.get("maintainer_can_modify", True)
    return 201, request.shapes.pull(repo, pull)


def list_files(request: Request, number: str) -> Answer:
    request.need("pull_requests", "read")
    pull = request.repo.pulls[int(number)]
    files = request.shapes.files(request.repo, pull)
    if pull.pretend_files is None:
        shown = routes_reviews.patches(request.world, request.repo, pull)
        files = [
            file | ({"patch": shown[file["filename"]]} if file["filename"] in shown else {})
            for file in files
        ]
    return 200, files[:FILES_LIMIT]


def merge(request: Request, number: str) -> Answer:
    request.need("contents", "write")
    pull = request.repo.pulls[int(number)]
    if request.body.get("sha") not in (None, pull.head_sha):
        return 409, {"message": "Head branch was modified. Review and try the merge again."}
    sha = request.world.merge(request.repo.name, pull.number)
    return 200, {"sha": sha, "merged": True, "message": "Pull Request successfully merged"}


def request_reviewers(request: Request, number: str) -> Answer:
    request.need("pull_requests", "write")
    pull = request.repo.pulls[int(number)]
    for login in request.body.get("reviewers", []):
        if request.world.level(request.repo, login) == "read":
            raise Refused(422, "Reviews may only be requested from collaborators.")
        if login == pull.user:
            raise Refused(422, "Review cannot be requested from pull request author.")
        if login not in pull.reviewers:
            pull.reviewers.append(login)
    return 201, request.shapes.pull(request.repo, pull)


def pulls_of_commit(request: Request, sha: str) -> Answer:
    request.need("pull_requests", "read")
    found = [p for p in request.repo.pulls.values() if sha in (p.merge_sha, p.head_sha)]
    return 200, [request.shapes.pull(request.repo, pull) for pull in found]


def _route(method: str, pattern: str, handler: Any) -> tuple[str, re.Pattern[str], bool, Any]:
    return method, re.compile(pattern), True, handler


ROUTES = (
    _route("GET", r"/pulls", list_pulls),
    _route("POST", r"/pulls", post_pull),
    _route("GET", r"/pulls/(\d+)", get_pull),
    _route("PATCH", r"/pulls/(\d+)", patch_pull),
    _route("GET", r"/pulls/(\d+)/files", list_files),
    _route("PUT", r"/pulls/(\d+)/merge", merge),
    _route("POST", r"/pulls/(\d+)/requested_reviewers", request_reviewers),
    _route("GET", r"/commits/(\w+)/pulls", pulls_of_commit),
)
