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
from bot.github.conversation.forms import LABEL
from bot.github.host.doctor_tracks import Line, bad, good, unknown
from bot.model.report import Settings
from bot.parse.plan import PREREGISTRATION
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
    queue: bool = False
    """Whether changes are merged by a queue."""
    hidden: str = ""
    """Why a part of it could not be seen."""


@dc.dataclass(frozen=True, slots=True)
class Look:
    """One look at a repository: what every question needs."""

    repo: Repo
    settings: Settings
    needs_key: bool
    owners: tuple[str, ...]
    """Who owns .github and tracks."""
    answers_queue: bool

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
    if rules.queue:
        yield _queue(look)


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
    if not look.needs_key:
        return good("no track accepts W&B runs, so no W&B key is needed")
    found = look.get("/environments/wandb-read/secrets")
    names = [secret.get("name") for secret in (found or {}).get("secrets", [])]
    if "WANDB_API_KEY" in names:
        return good("environment wandb-read holds WANDB_API_KEY")
    if found is None and _has_environment(look, "wandb-read"):
        return unknown(
            "whether environment wandb-read holds WANDB_API_KEY",
            "use a token of an administrator to see it",
        )
    return bad(
        "environment wandb-read has no secret WANDB_API_KEY",
        "Settings, Environments: make it, for the default branch only, and add the key",
    )


def _has_environment(look: Look, name: str) -> bool:
    """Whether there is an environment, or it cannot be told."""
    found = look.get("/environments")
    return found is None or any(e.get("name") == name for e in found.get("environments", []))


def _forks(look: Look) -> Line:
    """Whether participants can open a pull request from a fork."""
    about = look.get("") or {}
    if not about.get("private"):
        return good("everybody can fork the repository and open a pull request")
    allowed = about.get("allow_forking")
    if allowed is None:
        return unknown(
            "whether this private repository may be forked",
            "use a token of an administrator to see it",
        )
    if allowed:
        return good("the repository is private, and its members can fork it")
    return bad(
        "the repository is private and may not be forked, so nobody can open a pull request",
        "Settings, General: allow forking, or make the repository public",
    )


def _labels(look: Look) -> Line:
    """Whether the labels of the issue forms exist: GitHub drops those that do not."""
    found = {item.get("name") for item in look.get("/labels?per_page=100") or []}
    lacking = [name for name in (LABEL, PREREGISTRATION) if name not in found]
    if not lacking:
        return good("the labels of the issue forms exist")
    return bad(
        f"there is no label {' and no '.join(lacking)}: GitHub drops it from the issue form, and "
        "the bot takes the issue for an ordinary one",
        "; ".join(f"gh label create {name}" for name in lacking),
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
    if found is None and (look.get("") or {}).get("has_pages"):
        return unknown("how Pages is built", "use a token of an administrator to see it")
    return bad("Pages is not set to GitHub Actions", "Settings, Pages: source GitHub Actions")


def _evidence(look: Look) -> Line:
    if tip(look.repo.api, EVIDENCE_BRANCH):
        return good("the branch evidence is there")
    return good("the branch evidence comes with the first pull request")


def _is_organisation(look: Look, login: str) -> bool:
    with told(f"account {login}"):
        url = f"{look.repo.api.url.partition('/repos/')[0]}/users/{login}"
        answer = look.repo.api.requester.requestJsonAndCheck("GET", url)[1]
    return bool(answer.get("type") == "Organization")


def _owners(look: Look) -> Line:
    """Whether those whom CODEOWNERS names can own: people and teams, not an organisation."""
    people = [name[1:] for name in look.owners if name.startswith("@") and "/" not in name]
    for login in people:
        if _is_organisation(look, login):
            return bad(
                f"CODEOWNERS names the organisation {login}, which owns nothing",
                f"name people, or a team as @{login}/TEAM",
            )
    return good(f"code owners: {', '.join(look.owners) or 'nobody'}")


def _reviewers(look: Look) -> Line:
    for login in look.settings.reviewers:
        if _is_organisation(look, login):
            return bad(
                f"{login} is an organisation and cannot review",
                "name people in reviewers of .github/speedrun.toml",
            )
    return good(f"reviewers: {', '.join(look.settings.reviewers) or 'nobody is asked'}")


_QUESTIONS: tuple[tuple[str, Callable[[Look], Line]], ...] = (
    ("environments", _environments),
    ("secret", _secret),
    ("permissions", _permissions),
    ("labels", _labels),
    ("evidence", _evidence),
    ("Pages", _pages),
    ("forks", _forks),
    ("reviewers", _reviewers),
    ("code owners", _owners),
)


# ---- rules of the default branch ----------------------------------------------------------------


def rules_of(look: Look) -> Rules:
    """The rules that apply to the default branch: what GitHub says of the branch, which takes in
    only active rulesets that name it, and classic protection where it can be seen."""
    branch = look.repo.api.default_branch
    checks: list[tuple[str, int | None]] = []
    owners = queue = False
    for rule in look.get(f"/rules/branches/{branch}") or []:
        values = rule.get("parameters") or {}
        if rule.get("type") == "required_status_checks":
            checks += [
                (item["context"], item.get("integration_id"))
                for item in values.get("required_status_checks", ())
            ]
        queue = queue or rule.get("type") == "merge_queue"
        if rule.get("type") == "pull_request":
            owners = owners or bool(values.get("require_code_owner_review"))
    classic, hidden = _classic(look, branch)
    required = classic.get("required_status_checks") or {}
    checks += [(item["context"], item.get("app_id")) for item in required.get("checks", ())]
    reviews = classic.get("required_pull_request_reviews") or {}
    owners = owners or bool(reviews.get("require_code_owner_reviews"))
    return Rules(tuple(checks), owners, queue, hidden)


def _classic(look: Look, branch: str) -> tuple[dict[str, Any], str]:
    """Classic protection, and why it could not be seen. GitHub's 404 says in words whether there is
    none or the token may not know."""
    url = f"{look.repo.api.url}/branches/{branch}/protection"
    try:
        return look.repo.api.requester.requestJsonAndCheck("GET", url)[1], ""
    except GithubException as error:
        said = error.data.get("message") if isinstance(error.data, dict) else ""
        if error.status == 404 and "not protected" in str(said).lower():
            return {}, ""
        return {}, f"classic protection (GitHub answered {error.status})"


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
    if approval is None:
        return unknown(
            "which workflows of forks need approval", "use a token of an administrator to see it"
        )
    guarded = approval.get("approval_policy") == "all_external_contributors"
    if guarded and look.owners and rules.owners:
        return good("fork workflows need approval, and code owners review .github")
    if guarded and look.owners and rules.hidden:
        return unknown(
            f"whether code owners have to review; {rules.hidden} could not be seen",
            "use a token of an administrator to see it",
        )
    if guarded and look.owners:
        return bad(
            ".github has owners, but nothing requires their review",
            "Settings, Rules: require a review by code owners on the default branch",
        )
    return bad(f"a pull request's own workflow can forge the check {name}", remedy)


def _queue(look: Look) -> Line:
    name = look.settings.check
    if look.answers_queue:
        return good(f"a merge queue is on, and the workflow says {name} again for it")
    return bad(
        f"a merge queue is on, but no workflow runs the check {name} for it, so it would "
        "wait forever",
        "run `speedrun upgrade`, whose workflow is started by merge_group as well",
    )
