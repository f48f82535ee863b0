"""Git data: trees, blobs, commits, refs, branches, compare, contents."""

from __future__ import annotations

import base64
import posixpath
import re
from typing import TYPE_CHECKING, Any

from tests.doubles.github import git
from tests.doubles.github.world import Refused

if TYPE_CHECKING:
    from tests.doubles.github.server import Request

Answer = tuple[int, Any]


def get_tree(request: Request, sha: str) -> Answer:
    request.need("contents", "read")
    repo = request.repo
    tree = git.tree_of(repo.directory, sha)
    entries = git.read_tree(repo.directory, tree, "recursive" in request.query)
    for entry in entries:
        entry["url"] = request.shapes.url(repo, f"/git/{entry['type']}s/{entry['sha']}")
    url = request.shapes.url(repo, f"/git/trees/{tree}")
    return 200, {"sha": tree, "url": url, "tree": entries, "truncated": repo.truncated_trees}


def post_tree(request: Request) -> Answer:
    request.need("contents", "write")
    repo, body = request.repo, request.body
    entries: list[tuple[str, str, str | None]] = []
    for entry in body["tree"]:
        sha = entry.get("sha")
        if "content" in entry:
            sha = git.write_blob(repo.directory, entry["content"].encode())
        entries.append((entry["mode"], entry["path"], sha))
    tree = git.write_tree(repo.directory, body.get("base_tree"), entries)
    shape = {"sha": tree, "url": request.shapes.url(repo, f"/git/trees/{tree}")}
    return 201, {**shape, "tree": git.read_tree(repo.directory, tree, False), "truncated": False}


def get_blob(request: Request, sha: str) -> Answer:
    request.need("contents", "read")
    content = git.read_blob(request.repo.directory, sha)
    if len(content) > 100 * 1024 * 1024:
        raise Refused(403, "This API returns blobs up to 100 MB in size.")
    return 200, {
        "sha": sha,
        "node_id": "x",
        "size": len(content),
        "encoding": "base64",
        "content": base64.encodebytes(content).decode(),
        "url": request.shapes.url(request.repo, f"/git/blobs/{sha}"),
    }


def post_blob(request: Request) -> Answer:
    request.need("contents", "write")
    text = request.body["content"]
    plain = request.body.get("encoding") != "base64"
    sha = git.write_blob(request.repo.directory, text.encode() if plain else base64.b64decode(text))
    return 201, {"sha": sha, "url": request.shapes.url(request.repo, f"/git/blobs/{sha}")}


def get_commit(request: Request, sha: str) -> Answer:
    request.need("contents", "read")
    return 200, request.shapes.commit(request.repo, sha)


def post_commit(request: Request) -> Answer:
    request.need("contents", "write")
    body = request.body
    sha = git.write_commit(
        request.repo.directory, body["tree"], body.get("parents", []), body["message"]
    )
    return 201, request.shapes.commit(request.repo, sha)


def _ref(request: Request, name: str, sha: str) -> dict[str, Any]:
    url = request.shapes.url(request.repo, f"/git/commits/{sha}")
    return {
        "ref": f"refs/{name}",
        "node_id": "x",
        "url": request.shapes.url(request.repo, f"/git/refs/{name}"),
        "object": {"type": "commit", "sha": sha, "url": url},
    }


def get_ref(request: Request, name: str) -> Answer:
    request.need("contents", "read")
    sha = git.ref(request.repo.directory, name)
    return 200, _ref(request, name, sha)


def post_ref(request: Request) -> Answer:
    request.need("contents", "write")
    name, sha = request.body["ref"], request.body["sha"]
    branch = name.removeprefix("refs/heads/")
    if request.world.branch(request.repo, branch):
        raise Refused(422, "Reference already exists")
    if not git.has(request.repo.directory, sha):
        raise Refused(422, "Object does not exist")
    request.world.move(request.repo, branch, sha)
    return 201, _ref(request, name.removeprefix("refs/"), sha)


def patch_ref(request: Request, name: str) -> Answer:
    """Move a branch; without force only forwards, as GitHub's default is."""
    request.need("contents", "write")
    directory, sha = request.repo.directory, request.body["sha"]
    try:
        old = git.ref(directory, name)
    except git.GitError:
        raise Refused(422, "Reference does not exist") from None
    if not request.body.get("force") and not git.is_ancestor(directory, old, sha):
        raise Refused(422, "Update is not a fast forward")
    request.world.move(request.repo, name.removeprefix("heads/"), sha)
    return 200, _ref(request, name, sha)


def get_branch(request: Request, name: str) -> Answer:
    request.need("contents", "read")
    sha = request.world.branch(request.repo, name)
    if sha is None:
        raise KeyError(name)
    page = request.shapes.commit_page(request.repo, sha)
    return 200, {"name": name, "commit": page, "protected": False}


def get_commit_page(request: Request, ref: str) -> Answer:
    request.need("contents", "read")
    sha = git.text(request.repo.directory, "rev-parse", "--verify", f"{ref}^{{commit}}")
    return 200, request.shapes.commit_page(request.repo, sha)


def get_contents(request: Request, path: str) -> Answer:
    """As the real one: a symlink inside the repository answers with its target's content."""
    request.need("contents", "read")
    return 200, _contents(request, path, request.query.get("ref", "refs/heads/main"))


def _contents(request: Request, path: str, ref: str) -> Any:
    directory = request.repo.directory
    if ".." in path.split("/"):
        raise KeyError(path)
    line = git.text(directory, "ls-tree", "-l", ref, path)
    if not line:
        raise KeyError(path)
    mode, _, sha, size = line.split("\t", 1)[0].split()
    if mode == "120000":
        target = git.text(directory, "cat-file", "blob", sha)
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        return _contents(request, inside, ref)
    url = request.shapes.url(request.repo, f"/contents/{path}")
    content = git.read_blob(directory, sha)
    return {
        "type": "file",
        "name": path.split("/")[-1],
        "path": path,
        "sha": sha,
        "size": int(size),
        "encoding": "base64",
        "content": base64.encodebytes(content).decode(),
        "url": url,
        "git_url": url,
        "html_url": url,
        "download_url": url,
        "_links": {"self": url, "git": url, "html": url},
    }


def _route(method: str, pattern: str, handler: Any) -> tuple[str, re.Pattern[str], bool, Any]:
    return method, re.compile(pattern), True, handler


ROUTES = (
    _route("GET", r"/git/trees/([\w/.-]+)", get_tree),
    _route("POST", r"/git/trees", post_tree),
    _route("GET", r"/git/blobs/(\w+)", get_blob),
    _route("POST", r"/git/blobs", post_blob),
    _route("GET", r"/git/commits/(\w+)", get_commit),
    _route("POST", r"/git/commits", post_commit),
    _route("GET", r"/git/ref/(.+)", get_ref),
    _route("POST", r"/git/refs", post_ref),
    _route("PATCH", r"/git/refs/(.+)", patch_ref),
    _route("GET", r"/branches/([^/]+)", get_branch),
    _route("GET", r"/commits/([\w.-]+)", get_commit_page),
    _route("GET", r"/contents/(.*)", get_contents),
)
