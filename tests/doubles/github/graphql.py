"""The few GraphQL operations for discussions and issues, parsed with a real GraphQL parser.

Every field that the query selects must be known here, otherwise the query is refused: a query
that GitHub would refuse cannot pass unseen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphql import FieldNode, GraphQLError, OperationDefinitionNode, parse

from tests.doubles.github import git

if TYPE_CHECKING:
    from tests.doubles.github.server import Request


def answer(request: Request) -> tuple[int, Any]:
    body = request.body or {}
    if request.token is None:
        return 401, {"message": "This endpoint requires you to be authenticated."}
    try:
        definition = parse(body.get("query", "")).definitions[0]
        assert isinstance(definition, OperationDefinitionNode)
        variables = body.get("variables") or {}
        data = {}
        for node in definition.selection_set.selections:
            assert isinstance(node, FieldNode)
            resolver = RESOLVERS[node.name.value]
            data[node.name.value] = select(node, resolver(request, arguments(node, variables)))
        return 200, {"data": data}
    except GraphQLError as error:
        return 200, {"errors": [{"message": error.message}]}
    except PermissionError as error:
        return 200, {"errors": [{"type": "FORBIDDEN", "message": str(error)}]}
    except KeyError as error:
        return 200, {"errors": [{"message": f"unknown field or node {error}"}]}
    except LookupError as error:
        return 200, {"errors": [{"type": "NOT_FOUND", "message": str(error)}]}


def arguments(node: FieldNode, variables: dict[str, Any]) -> dict[str, Any]:
    return {argument.name.value: value_of(argument.value, variables) for argument in node.arguments}


def value_of(node: Any, variables: dict[str, Any]) -> Any:
    if node.kind == "variable":
        return variables[node.name.value]
    if node.kind == "object_value":
        return {f.name.value: value_of(f.value, variables) for f in node.fields}
    return int(node.value) if node.kind == "int_value" else node.value


def select(node: FieldNode, value: Any) -> Any:
    """The selected fields of a value; KeyError for one that the type does not have."""
    if node.selection_set is None or value is None:
        return value
    if isinstance(value, list):
        return [select(node, item) for item in value]
    return {f.name.value: select(f, value[f.name.value]) for f in _fields(node)}


def _fields(node: Any) -> list[FieldNode]:
    """The fields of a selection, those of an inline fragment (`... on Type`) included."""
    found: list[FieldNode] = []
    for selection in node.selection_set.selections:
        found += [selection] if isinstance(selection, FieldNode) else _fields(selection)
    return found


def _find(request: Request, node_id: str) -> tuple[Any, dict[str, Any]]:
    for repo in request.world.repos.values():
        for discussion in repo.discussions.values():
            for item in (discussion, *discussion["comments"]):
                if item["id"] == node_id:
                    return repo, item
    raise KeyError(node_id)


def _may_write(request: Request, repo: Any) -> None:
    permissions = request.token.permissions
    if permissions is not None and permissions.get("discussions") != "write":
        raise PermissionError("Resource not accessible by integration")


def discussion_of(request: Request, given: dict[str, Any]) -> dict[str, Any]:
    repo = request.world.repos[f"{given['owner']}/{given['name']}"]
    shown = {}
    for discussion in repo.discussions.values():
        shown[discussion["number"]] = {
            **discussion,
            "author": {"login": discussion["user"]},
            "comments": {
                "nodes": [{**c, "author": {"login": c["user"]}} for c in discussion["comments"]],
                "pageInfo": {"hasNextPage": False, "endCursor": None},
            },
        }

    class Lazy(dict[str, Any]):
        """`discussion(number:)`, `issue(number:)` or `object(expression:)` inside `repository`:
        only one is asked for."""

        def __getitem__(self, key: str) -> Any:
            number = (request.body.get("variables") or {}).get("number")
            if key == "object":
                return _object(request, repo)
            if key == "issue":
                return _issue(request, repo, number)
            if key != "discussion":
                raise KeyError(key)
            return shown.get(number)

    return Lazy()


def _object(request: Request, repo: Any) -> dict[str, Any] | None:
    """What `COMMIT:PATH` leads to; as in Git no symlink is followed."""
    permissions = request.token.permissions
    if permissions is not None and permissions.get("contents", "none") == "none":
        raise PermissionError("Resource not accessible by integration")
    expression = request.body["variables"]["expression"]
    try:
        oid = git.text(repo.directory, "rev-parse", "--verify", expression)
        kind = git.text(repo.directory, "cat-file", "-t", oid)
    except git.GitError:
        return None
    return {"__typename": kind.capitalize(), "oid": oid}


def _issue(request: Request, repo: Any, number: int) -> dict[str, Any]:
    """An issue; an unknown number, or that of a pull request, is NOT_FOUND as on GitHub."""
    permissions = request.token.permissions
    if permissions is not None and permissions.get("issues", "none") == "none":
        raise PermissionError("Resource not accessible by integration")
    if number not in repo.issues or number in repo.pulls:
        raise LookupError(f"Could not resolve to an Issue with the number of {number}.")
    issue = repo.issues[number]
    known = issue.user in request.world.users
    return {
        "number": number,
        "title": issue.title,
        "body": issue.body,
        "createdAt": issue.created_at,
        "lastEditedAt": issue.edited_at,
        "author": {"login": issue.user.removesuffix("[bot]")} if known else None,
    }


def add_comment(request: Request, given: dict[str, Any]) -> dict[str, Any]:
    wanted = given["input"]
    repo, discussion = _find(request, wanted["discussionId"])
    _may_write(request, repo)
    identity = f"DC_{next(request.world.ids)}"
    login = request.token.login.removesuffix("[bot]")
    comment = {"id": identity, "body": wanted["body"], "user": login, "createdAt": "x", "url": "u"}
    discussion["comments"].append(comment)
    return {"comment": comment}


def update_comment(request: Request, given: dict[str, Any]) -> dict[str, Any]:
    wanted = given["input"]
    repo, comment = _find(request, wanted["commentId"])
    _may_write(request, repo)
    comment["body"] = wanted["body"]
    return {"comment": comment}


def add_reaction(request: Request, given: dict[str, Any]) -> dict[str, Any]:
    wanted = given["input"]
    repo, subject = _find(request, wanted["subjectId"])
    _may_write(request, repo)
    repo.reactions.append(("discussion", subject["id"], request.token.login, wanted["content"]))
    return {"reaction": {"content": wanted["content"]}}


def node(request: Request, given: dict[str, Any]) -> dict[str, Any]:
    _, item = _find(request, given["id"])
    return {**item, "author": {"login": item["user"]}}


RESOLVERS = {
    "repository": discussion_of,
    "addDiscussionComment": add_comment,
    "updateDiscussionComment": update_comment,
    "addReaction": add_reaction,
    "node": node,
}
