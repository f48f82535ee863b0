"""Users, repository settings, permissions, workflow dispatches, forks, App tokens."""

from __future__ import annotations

import datetime
import re
import uuid
from typing import TYPE_CHECKING, Any

import jwt

from tests.doubles.github.world import LEVELS, Refused, Token, now

if TYPE_CHECKING:
    from tests.doubles.github.server import Request

Answer = tuple[int, Any]


def get_me(request: Request) -> Answer:
    if request.token is None:
        raise Refused(401, "Requires authentication")
    if request.token.is_app:
        raise Refused(403, "Resource not accessible by integration")
    return 200, request.shapes.user(request.token.login)


def get_user(request: Request, login: str) -> Answer:
    if login not in request.world.users:
        raise KeyError(login)
    return 200, request.shapes.user(login)


def get_rate(request: Request) -> Answer:
    core = {"limit": 5000, "remaining": 4999, "reset": 1, "used": 1}
    return 200, {"resources": {"core": core, "search": core}, "rate": core}


def get_repo(request: Request) -> Answer:
    request.need("metadata|contents", "read")
    return 200, request.shapes.repo(request.repo)


def fork(request: Request) -> Answer:
    name = request.repo.name.split("/")[1]
    owner = (request.body or {}).get("organization") or request.token.login
    full = f"{owner}/{name}"
    known = request.world.repos.get(full)
    made = known or request.world.add_repo(full, request.repo.name)
    return 202, request.shapes.repo(made)


def get_permission(request: Request, login: str) -> Answer:
    request.need("metadata|contents", "read")
    level = request.world.level(request.repo, login)
    coarse = {"maintain": "write", "triage": "read"}.get(level, level)
    user = {**request.shapes.user(login), "permissions": {}}
    return 200, {"permission": coarse, "role_name": level, "user": user}


WORKFLOWS = ("speedrun-verify.yml", "speedrun-record.yml")


def dispatch(request: Request, workflow: str) -> Answer:
    request.need("actions", "write")
    if workflow not in request.repo.settings.get("workflows", WORKFLOWS):
        raise KeyError(workflow)
    request.repo.dispatches.append({"workflow": workflow, **request.body})
    return 204, None


def setting(key: str) -> Any:
    def handler(request: Request, *_: str) -> Answer:
        request.need("administration|actions|pages|metadata", "read")
        if key not in request.repo.settings:
            raise KeyError(key)
        return 200, request.repo.settings[key]

    return handler


def get_ruleset(request: Request, identity: str) -> Answer:
    request.need("metadata|contents", "read")
    for ruleset in request.repo.settings.get("rulesets", []):
        if ruleset["id"] == int(identity):
            return 200, ruleset
    raise KeyError(identity)


def get_run(request: Request, identity: str) -> Answer:
    request.need("actions", "read")
    created = request.repo.settings.get("runs", {}).get(int(identity), now())
    return 200, {"id": int(identity), "created_at": created}


def get_branch_rules(request: Request, branch: str) -> Answer:
    """The rules of the active rulesets whose conditions take in the branch."""
    request.need("metadata|contents", "read")
    wanted = {f"refs/heads/{branch}", "~ALL"}
    if branch == request.repo.default_branch:
        wanted.add("~DEFAULT_BRANCH")
    return 200, [
        {**rule, "ruleset_id": ruleset["id"], "ruleset_source": ruleset["source"]}
        for ruleset in request.repo.settings.get("rulesets", [])
        if ruleset["enforcement"] == "active"
        and wanted & set(ruleset.get("conditions", {}).get("ref_name", {}).get("include", ()))
        for rule in ruleset["rules"]
    ]


def get_protection(request: Request, branch: str) -> Answer:
    """Classic protection; only an administrator sees it."""
    request.need("administration", "read")
    found = request.repo.settings.get("protection", {})
    if found == "hidden":
        raise Refused(404, "Not Found")
    if branch not in found:
        raise Refused(404, "Branch not protected")
    return 200, found[branch]


def get_installation(request: Request) -> Answer:
    number = _app(request)
    url = f"{request.shapes.base}/app/installations/100/access_tokens"
    owner = request.shapes.user(request.repo.name.split("/")[0])
    return 200, {
        "id": 100,
        "app_id": int(number),
        "access_tokens_url": url,
        "account": owner,
        "permissions": {},
        "events": [],
    }


def _app(request: Request) -> str:
    """The App that signed the request; its JWT is verified as GitHub does."""
    try:
        claims = jwt.decode(request.secret, options={"verify_signature": False})
        number = str(claims["iss"])
        jwt.decode(request.secret, request.world.apps[number], algorithms=["RS256"])
    except (jwt.PyJWTError, KeyError):
        raise Refused(401, "A JSON web token could not be decoded") from None
    return number


def post_access_token(request: Request, _installation: str) -> Answer:
    number = _app(request)
    secret = f"ghs_{uuid.uuid4().hex}"
    asked = (request.body or {}).get("permissions") or {
        name: "write" for name in ("checks", "contents", "issues", "pull_requests", "actions")
    }
    granted = {name: level for name, level in asked.items() if level in LEVELS}
    request.world.tokens[secret] = Token(f"app-{number}[bot]", granted)
    life = datetime.timedelta(seconds=request.world.app_token_life_s)
    expires = datetime.datetime.now(datetime.UTC) + life
    shape = {"token": secret, "expires_at": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}
    return 201, {**shape, "permissions": granted, "created_at": now()}


def _route(
    method: str, pattern: str, handler: Any, in_repo: bool = True
) -> tuple[str, re.Pattern[str], bool, Any]:
    return method, re.compile(pattern), in_repo, handler


ROUTES = (
    _route("GET", r"/user", get_me, False),
    _route("GET", r"/users/([^/]+)", get_user, False),
    _route("GET", r"/rate_limit", get_rate, False),
    _route("POST", r"/app/installations/(\d+)/access_tokens", post_access_token, False),
    _route("GET", r"", get_repo),
    _route("GET", r"/installation", get_installation),
    _route("POST", r"/forks", fork),
    _route("GET", r"/collaborators/([^/]+)/permission", get_permission),
    _route("POST", r"/actions/workflows/([^/]+)/dispatches", dispatch),
    _route("GET", r"/rulesets", setting("rulesets")),
    _route("GET", r"/rulesets/(\d+)", get_ruleset),
    _route("GET", r"/pages", setting("pages")),
    _route("GET", r"/environments", setting("environments")),
    _route("GET", r"/environments/([^/]+)/secrets", setting("environment_secrets")),
    _route("GET", r"/actions/permissions/workflow", setting("workflow_permissions")),
    _route("GET", r"/actions/permissions/fork-pr-contributor-approval", setting("fork_approval")),
    _route("GET", r"/actions/runs", setting("runs")),
    _route("GET", r"/actions/runs/(\d+)", get_run),
    _route("GET", r"/rules/branches/(.+)", get_branch_rules),
    _route("GET", r"/branches/([^/]+)/protection", get_protection),
)
