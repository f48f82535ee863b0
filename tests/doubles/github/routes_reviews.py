"""Comments on lines of a pull request's diff, and the suggestions in them that people apply."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from tests.doubles.github import git
from tests.doubles.github.world import Pull, Refused, Repo, World, now

if TYPE_CHECKING:
    from tests.doubles.github.server import Request

Answer = tuple[int, Any]
MOST_PATCH_LINES = 3000
NOT_IN_DIFF = (
    "Unprocessable Entity: Pull request review thread line must be part of the diff and Pull "
    "request review thread diff hunk can't be blank"
)
_SUGGESTION = re.compile(r"^(`{3,})suggestion\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)


# ---- the diff -----------------------------------------------------------------------------------


def base_of(world: World, repo: Repo, pull: Pull) -> str:
    main = None if pull.merged else world.branch(repo, pull.base)
    return git.merge_base(repo.directory, main or pull.base_sha, pull.head_sha)


def patches(world: World, repo: Repo, pull: Pull) -> dict[str, str]:
    """Path -> patch as the list of files shows it; none for binary and very large files."""
    base = base_of(world, repo, pull)
    found = git.diff(repo.directory, "-M", "--no-color", base, pull.head_sha)
    shown = {}
    for part in re.split(r"^diff --git ", found.decode("utf-8", "replace"), flags=re.MULTILINE):
        head, _, hunks = part.partition("\n@@ ")
        path = re.search(r"^\+\+\+ b/(.*)$", head, re.MULTILINE)
        if path and hunks and hunks.count("\n") <= MOST_PATCH_LINES:
            shown[path[1]] = f"@@ {hunks}".removesuffix("\n")
    return shown


def commentable(patch: str) -> set[int]:
    """The lines of the new side that a patch shows."""
    lines: set[int] = set()
    number = 0
    for row in patch.split("\n"):
        head = re.match(r"@@ -[\d,]+ \+(\d+)", row)
        number = int(head[1]) if head else number + (row[:1] in ("+", " "))
        if not head and row[:1] in ("+", " "):
            lines.add(number - 1)
    return lines


def file_lines(repo: Repo, commit: str, path: str) -> list[bytes]:
    try:
        return git.git(repo.directory, "show", f"{commit}:{path}").split(b"\n")
    except git.GitError:
        return []


def line_now(world: World, repo: Repo, comment: dict[str, Any]) -> int | None:
    """Where the line of a comment is at the head; None once it was changed."""
    pull = repo.pulls[comment["number"]]
    path, wanted = comment["path"], comment["original_line"]
    if pull.head_sha != comment["original_commit_id"]:
        before = file_lines(repo, comment["original_commit_id"], path)
        after = file_lines(repo, pull.head_sha, path)
        blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
        moved = [b.b + wanted - b.a for b in blocks if b.a < wanted <= b.a + b.size]
        wanted = moved[0] if moved else None
    patch = patches(world, repo, pull).get(path, "")
    return wanted if wanted in commentable(patch) else None


# ---- routes -------------------------------------------------------------------------------------


def _shape(request: Request, comment: dict[str, Any]) -> dict[str, Any]:
    repo, shapes = request.repo, request.shapes
    number, identity = comment["number"], comment["id"]
    page = shapes.html(repo, f"/pull/{number}#discussion_r{identity}")
    api = shapes.url(repo, f"/pulls/{number}")
    links = {"self": {"href": page}, "html": {"href": page}, "pull_request": {"href": api}}
    shape = {
        "id": identity,
        "pull_request_review_id": comment["review"],
        "body": comment["body"],
        "path": comment["path"],
        "line": line_now(request.world, repo, comment),
        "original_line": comment["original_line"],
        "side": "RIGHT",
        "user": shapes.user(comment["user"]),
        "url": shapes.url(repo, f"/pulls/comments/{identity}"),
        "html_url": page,
        "pull_request_url": api,
        "author_association": shapes.association(repo, comment["user"]),
        "commit_id": repo.pulls[number].head_sha,
        "original_commit_id": comment["original_commit_id"],
        "created_at": comment["at"],
        "updated_at": comment["at"],
        "_links": links,
    }
    return shape | ({"in_reply_to_id": comment["reply"]} if comment["reply"] else {})


def post_review(request: Request, number: str) -> Answer:
    request.need("pull_requests", "write")
    repo, body = request.repo, request.body
    pull = repo.pulls[int(number)]
    commit = body.get("commit_id") or pull.head_sha
    if not body.get("body") and body.get("event") in ("COMMENT", "REQUEST_CHANGES"):
        raise Refused(422, "Unprocessable Entity: Body can't be blank")
    if any(one.get("side") == "LEFT" for one in body.get("comments", [])):
        raise Refused(422, "a line that was removed takes no suggestion")
    shown = patches(request.world, repo, pull)
    for one in body.get("comments", []):
        lines = commentable(shown.get(one["path"], ""))
        if (
            commit != pull.head_sha
            or not {one["line"], one.get("start_line", one["line"])} <= lines
        ):
            raise Refused(422, NOT_IN_DIFF)
    review = next(request.world.ids)
    for one in body.get("comments", []):
        remark(request.world, repo, pull, request.token.login, one, review)
    page = request.shapes.html(repo, f"/pull/{number}")
    return 200, {
        "id": review,
        "user": request.shapes.user(request.token.login),
        "body": body.get("body", ""),
        "state": "COMMENTED",
        "commit_id": commit,
        "html_url": f"{page}#pullrequestreview-{review}",
        "pull_request_url": request.shapes.url(repo, f"/pulls/{number}"),
        "author_association": request.shapes.association(repo, request.token.login),
        "_links": {"html": {"href": page}, "pull_request": {"href": page}},
    }


def remark(
    world: World,
    repo: Repo,
    pull: Pull,
    user: str,
    said: dict[str, Any],
    review: int,
    reply: int | None = None,
) -> int:
    """Store a comment on a line; its number."""
    identity = next(world.ids)
    repo.reviewed[identity] = {
        "id": identity,
        "number": pull.number,
        "user": user,
        "review": review,
        "reply": reply,
        "path": said["path"],
        "original_line": said["line"],
        "original_commit_id": pull.head_sha,
        "body": said["body"],
        "at": now(),
    }
    return identity


def list_review_comments(request: Request, number: str) -> Answer:
    request.need("pull_requests", "read")
    found = [c for c in request.repo.reviewed.values() if c["number"] == int(number)]
    return 200, [_shape(request, comment) for comment in found]


def patch_review_comment(request: Request, identity: str) -> Answer:
    request.need("pull_requests", "write")
    comment = request.repo.reviewed[int(identity)]
    comment["body"] = request.body["body"]
    return 200, _shape(request, comment)


def delete_review_comment(request: Request, identity: str) -> Answer:
    request.need("pull_requests", "write")
    del request.repo.reviewed[int(identity)]
    return 204, None


# ---- what a person clicks -----------------------------------------------------------------------


def apply_suggestion(world: World, repo: Repo, identity: int) -> str:
    """Commit the suggestion of a comment to the head branch, as its button does; the commit."""
    comment = repo.reviewed[identity]
    pull = repo.pulls[comment["number"]]
    line = line_now(world, repo, comment)
    found = _SUGGESTION.search(comment["body"])
    assert line is not None, "outdated suggestions cannot be applied"
    assert found, "the comment has no suggestion"
    lines = file_lines(repo, pull.head_sha, comment["path"])
    written = found[2].removesuffix("\n").encode()
    assert lines[line - 1] != written, "no changes were made to the code"
    lines[line - 1 : line] = written.split(b"\n")
    return world.commit(pull.head_repo, pull.head_branch, {comment["path"]: b"\n".join(lines)})


def _route(method: str, pattern: str, handler: Any) -> tuple[str, re.Pattern[str], bool, Any]:
    return method, re.compile(pattern), True, handler


ROUTES = (
    _route("POST", r"/pulls/(\d+)/reviews", post_review),
    _route("GET", r"/pulls/(\d+)/comments", list_review_comments),
    _route("PATCH", r"/pulls/comments/(\d+)", patch_review_comment),
    _route("DELETE", r"/pulls/comments/(\d+)", delete_review_comment),
)
