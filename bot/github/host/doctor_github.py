"""What `speedrun doctor --repo` sees on GitHub, each thing by one question.

An answer that the token does not get is `unknown`: neither in order nor wrong.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Iterator
from typing import Any

import requests
from github import GithubException

from bot.github.api.branches import EVIDENCE_BRANCH, tip
from bot.github.api.client import GitHubTrouble, Repo, told
from bot.github.host.doctor_tracks import Line, bad, good, unknown
from bot.model.report import Settings
from bot.render.untrusted import plain

ACTIONS_APP = 15368
"""The App behind every workflow's own token; a check of it can come from any workflow."""
_ENVIRONMENTS = ("wandb-read", "publish")


@dc.dataclass(frozen=True, slots=True)
class Rules:
    """What applies to the default branch, by rulesets and by classic protection together."""

    checks: tuple[tuple[str, int | None], ...] = ()
    """Required checks and the App that each has to come from."""
    owners: bool = False
    """Whether a review by code owners is required."""
    hidden: str = ""
    """Why a part of it could not be seen."""


@dc.dataclass(frozen=True, slots=True)
class Look:
    """One look at a repository: what every question needs."""

    repo: Repo
    settings: Settings
    needs_key: bool
    has_owners: bool

    def get(self, path: str) -> Any:
        """One answer of the API; None for 404."""
        try:
            url = f"{self.repo.api.url}{path}"
            return self.repo.api.requester.requestJsonAndCheck("GET", url)[1]
        except GithubException as error:
            if error.status == 404:
                return None
            raise


def on_github(look: Look) -> Iterator[Line]:
    """A line for each thing that is looked at."""
    for name, question in _QUESTIONS:
        yield _asked(name, question, look)
    try:
        with told("rules"):
            rules = rules_of(look)
    except Exception as error:
        yield _unseen("rules of the default branch", error)
        return
    yield _required(look, rules)
    yield _forgery(look, rules)


def _asked(name: str, question: Callable[[Look], Line], look: Look) -> Line:
    try:
        with told(name):
            return question(look)
    except Exception as error:
        # whatever the answer was, the line says that this could not be seen, and the rest goes on
        return _unseen(name, error)


def _unseen(name: str, error: Exception) -> Line:
    said = "an answer of another shape than documented"
    if isinstance(error, GitHubTrouble):
        said = str(error).removeprefix(f"{name}: ")
    down = isinstance(error.__cause__, requests.exceptions.RequestException)
    remedy = "look again later" if down else "use a token of an administrator to see it"
    return unknown(f"{name}: {plain(said, 200)}", remedy)


# ---- the questions ------------------------------------------------------------------------------


def _environments(look: Look) -> Line:
    found = look.get("/environments")
    if found is None:
        return unknown("environments: not visible", "use a token of an administrator to see them")
    names = {item.get("name") for item in found.get("environments", [])}
    lacking = [name for name in _ENVIRONMENTS if name not in names]
    if lacking:
        return bad(
            f"there is no environment {' and no '.join(lacking)}",
            "Settings, Environments: make it, for the default branch only",
        )
    ours = [item for item in found["environments"] if item.get("name") in _ENVIRONMENTS]
    open_ones = [item["name"] for item in ours if not item.get("deployment_branch_policy")]
    if open_ones:
        return bad(
            f"every branch may use the environment {open_ones[0]}",
            "Settings, Environments: limit it to the default branch",
        )
    return good("environments wandb-read and publish, for chosen branches only")


def _secret(look: Look) -> Line:
    found = look.get("/environments/wandb-read/secrets")
    names = [secret.get("name") for secret in (found or {}).get("secrets", [])]
    if "WANDB_API_KEY" in names:
        return good("environment wandb-read holds WANDB_API_KEY")
    if not look.needs_key:
        return good("no track accepts W&B runs, so no W&B key is needed")
    return bad(
        "environment wandb-read has no secret WANDB_API_KEY",
        "Settings, Environments: make it, for the default branch only, and add the key",
    )


def _permissions(look: Look) -> Line:
    found = look.get("/actions/permissions/workflow")
    if not found:
        return unknown("permissions of workflows", "use a token of an administrator to see them")
    if found.get("default_workflow_permissions") != "read":
        return bad(
            "workflows may write by default", "Settings, Actions, General: read-only permissions"
        )
    if not found.get("can_approve_pull_request_reviews"):
        return bad(
            "Actions may not open pull requests: forms end in a link instead of a pull request",
            "Settings, Actions, General: allow Actions to create pull requests",
        )
    return good("workflow tokens read by default and may open pull requests")


def _pages(look: Look) -> Line:
    if not look.settings.pages:
        return good("Pages is off in .github/speedrun.toml: the board is built elsewhere")
    found = look.get("/pages")
    if found and found.get("build_type") == "workflow":
        return good("Pages is built by the workflow")
    return bad("Pages is not set to GitHub Actions", "Settings, Pages: source GitHub Actions")


def _evidence(look: Look) -> Line:
    if tip(look.repo.api, EVIDENCE_BRANCH):
        return good("the branch evidence is there")
    return good("the branch evidence comes with the first pull request")


def _reviewers(look: Look) -> Line:
    for login in look.settings.reviewers:
        with told(f"reviewer {login}"):
            url = f"{look.repo.api.url.partition('/repos/')[0]}/users/{login}"
            kind = look.repo.api.requester.requestJsonAndCheck("GET", url)[1].get("type")
        if kind == "Organization":
            return bad(
                f"{login} is an organisation and cannot review",
                "name people in reviewers of .github/speedrun.toml",
            )
    return good(f"reviewers: {', '.join(look.settings.reviewers) or 'nobody is asked'}")


_QUESTIONS: tuple[tuple[str, Callable[[Look], Line]], ...] = (
    ("environments", _environments),
    ("secret", _secret),
    ("permissions", _permissions),
    ("evidence", _evidence),
    ("Pages", _pages),
    ("reviewers", _reviewers),
)


# ---- rules of the default branch ----------------------------------------------------------------


def rules_of(look: Look) -> Rules:
    """The rules that apply to the default branch: what GitHub says of the branch, which takes in
    only active rulesets that name it, and classic protection where it can be seen."""
    branch = look.repo.api.default_branch
    checks: list[tuple[str, int | None]] = []
    owners = False
    for rule in look.get(f"/rules/branches/{branch}") or []:
        values = rule.get("parameters") or {}
        if rule.get("type") == "required_status_checks":
            checks += [
                (item["context"], item.get("integration_id"))
                for item in values.get("required_status_checks", ())
            ]
        if rule.get("type") == "pull_request":
            owners = owners or bool(values.get("require_code_owner_review"))
    hidden = ""
    try:
        classic = look.get(f"/branches/{branch}/protection") or {}
    except GithubException as error:
        classic, hidden = {}, f"classic protection (GitHub answered {error.status})"
    required = classic.get("required_status_checks") or {}
    checks += [(item["context"], item.get("app_id")) for item in required.get("checks", ())]
    reviews = classic.get("required_pull_request_reviews") or {}
    owners = owners or bool(reviews.get("require_code_owner_reviews"))
    return Rules(tuple(checks), owners, hidden)


def _required(look: Look, rules: Rules) -> Line:
    name = look.settings.check
    if any(context == name for context, _ in rules.checks):
        return good(f"the check {name} is required")
    if rules.hidden:
        return unknown(
            f"no ruleset requires the check {name}; {rules.hidden} could not be seen",
            "use a token of an administrator to see it",
        )
    return bad(
        f"nothing requires the check {name} on the default branch",
        "Settings, Rules: require it on the default branch",
    )


def _forgery(look: Look, rules: Rules) -> Line:
    """Can a pull request's own workflow write a check of the same name, and would it count?"""
    name = look.settings.check
    apps = {app for context, app in rules.checks if context == name}
    if apps - {None, -1, ACTIONS_APP}:
        return good("the required check is pinned to an App: no workflow can forge it")
    remedy = (
        "publish with an App and pin it in the ruleset, or require approval for all external "
        "contributors and code owners for .github"
    )
    try:
        with told("approval of fork workflows"):
            approval = look.get("/actions/permissions/fork-pr-contributor-approval")
    except GitHubTrouble as trouble:
        return unknown(str(trouble), "use a token of an administrator to see it")
    guarded = (approval or {}).get("approval_policy") == "all_external_contributors"
    if guarded and look.has_owners and rules.owners:
        return good("fork workflows need approval, and code owners review .github")
    if guarded and look.has_owners and rules.hidden:
        return unknown(
            f"whether code owners have to review; {rules.hidden} could not be seen",
            "use a token of an administrator to see it",
        )
    if guarded and look.has_owners:
        return bad(
            ".github has owners, and nothing requires their review",
            "Settings, Rules: require a review by code owners on the default branch",
        )
    return bad(f"a pull request's own workflow can forge the check {name}", remedy)
