"""`speedrun doctor`: is the competition set up so that it works and cannot be fooled?

Every line says what was looked at and, where something is wrong, what to do. What the token cannot
see is said as such and counts as wrong: a check that found nothing to check is no success.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import requests
from github import GithubException
from github.PullRequest import PullRequest as ApiPull

from bot.github.api.branches import EVIDENCE_BRANCH, tip
from bot.github.api.client import Repo, settle, told
from bot.github.conversation.actions import dispatch_workflow
from bot.github.host.doctor_tracks import Line, bad, good, look_at_tracks
from bot.github.pull_request.publish import LABEL
from bot.github.pull_request.pull import Trees
from bot.github.pull_request.record import VERDICTS, verdict_path
from bot.model.report import Settings
from bot.patterns import COMMIT_TEXT
from bot.render.markdown import code
from bot.render.untrusted import plain

ACTIONS_APP = 15368
"""The App behind every workflow's own token; a check of it can come from any workflow."""
WORKFLOWS = ("verify", "record", "command", "pages", "audit")
GRACE = dt.timedelta(hours=1)
AUDIT_LABEL = "speedrun: audit"
_AUDIT = "<!-- speedrun:audit -->"
_USES = re.compile(r"^\s*-?\s*uses:\s*(\S+)", re.MULTILINE)
_PINNED = re.compile(rf".+@{COMMIT_TEXT}")
_REDO = re.compile(r"^redo (verify|record) ([0-9]{1,9}) (\S{1,100})$", re.MULTILINE)


def examine(root: Path, repo: Repo | None, settings: Settings) -> list[Line]:
    """Everything that can be seen from here."""
    lines = [*look_at_tracks(root), *_workflows(root), _owners(root), _key()]
    if repo is None:
        return [*lines, Line("      give --repo to look at the repository on GitHub as well")]
    lines += [_ask(name, look, repo, settings) for name, look in _REMOTE]
    lines.append(_forgery(root, repo, settings))
    return lines


# ---- the checkout -------------------------------------------------------------------------------


def _workflows(root: Path) -> Iterator[Line]:
    for name in WORKFLOWS:
        path = root / ".github/workflows" / f"{name}.yml"
        if not path.is_file():
            yield bad(f"workflow {name}.yml is missing", "run `speedrun init .`")
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        loose = [
            use
            for use in _USES.findall(text)
            if not use.startswith(("./", "$/")) and not _PINNED.fullmatch(use)
        ]
        if loose:
            yield bad(f"{name}.yml uses {loose[0]}", "pin it to a full commit hash")
        else:
            yield good(f"workflow {name}.yml, every action pinned")


def _owners(root: Path) -> Line:
    if _has_owners(root):
        return good("CODEOWNERS covers .github")
    return bad("nobody owns .github", "add a line `/.github/ @maintainers` to .github/CODEOWNERS")


def _has_owners(root: Path) -> bool:
    for place in (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"):
        path = root / place
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            return bool(re.search(r"^(/?\.github/|\*)\S*\s+@\S", text, re.MULTILINE))
    return False


def _key() -> Line:
    """Whether the W&B key of the environment works."""
    key = os.environ.get("WANDB_API_KEY", "")
    if not key:
        return bad(
            "no W&B key here: linked runs stay `unverifiable`, never green",
            "put WANDB_API_KEY into the environment `wandb-read` (and here, to check it)",
        )
    from bot.evidence.wandb.client import Client, Patience
    from bot.evidence.wandb.errors import FetchError

    try:
        Client(key, os.environ.get("WANDB_BASE_URL"), Patience(tries=1)).open()
    except FetchError as error:
        return bad(
            f"the W&B key does not work: {plain(error.failure.message, 200)}",
            "make a new key for the bot's account and replace WANDB_API_KEY in `wandb-read`",
        )
    return good("the W&B key works")


# ---- the repository on GitHub -------------------------------------------------------------------


def _ask(name: str, look: Callable[[Repo, Settings], Line], repo: Repo, settings: Settings) -> Line:
    try:
        with told(name):
            return look(repo, settings)
    except Exception as error:
        # whatever the answer was, the line says that this could not be seen, and the rest goes on
        said = str(error).removeprefix(f"{name}: ")
        down = isinstance(error.__cause__, requests.exceptions.RequestException)
        remedy = "look again later" if down else "use a token of an administrator to see it"
        return bad(f"{name}: {plain(said, 200)}", remedy)


def _get(repo: Repo, path: str) -> Any:
    """One answer of the API; None for 404."""
    try:
        return repo.api.requester.requestJsonAndCheck("GET", f"{repo.api.url}{path}")[1]
    except GithubException as error:
        if error.status == 404:
            return None
        raise


def _secret(repo: Repo, settings: Settings) -> Line:
    found = _get(repo, "/environments/wandb-read/secrets") or {}
    names = [secret["name"] for secret in found.get("secrets", [])]
    if "WANDB_API_KEY" in names:
        return good("environment wandb-read holds WANDB_API_KEY")
    return bad(
        "environment wandb-read has no secret WANDB_API_KEY",
        "Settings, Environments: make it, for the default branch only, and add the key",
    )


def _permissions(repo: Repo, settings: Settings) -> Line:
    found = _get(repo, "/actions/permissions/workflow") or {}
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


def _pages(repo: Repo, settings: Settings) -> Line:
    found = _get(repo, "/pages")
    if found and found.get("build_type") == "workflow":
        return good("Pages is built by the workflow")
    return bad("Pages is not set to GitHub Actions", "Settings, Pages: source GitHub Actions")


def _evidence(repo: Repo, settings: Settings) -> Line:
    if tip(repo.api, EVIDENCE_BRANCH):
        return good("the branch evidence is there")
    return good("the branch evidence comes with the first merge")


def _required(repo: Repo, settings: Settings) -> Line:
    rules = [r for r in _required_checks(repo) if r["context"] == settings.check]
    if rules:
        return good(f"the check {settings.check} is required")
    return bad(
        f"nothing requires the check {settings.check}",
        "Settings, Rules: require it on the default branch",
    )


_REMOTE = (
    ("secret", _secret),
    ("permissions", _permissions),
    ("required check", _required),
    ("evidence", _evidence),
    ("Pages", _pages),
)


def _required_checks(repo: Repo) -> list[dict[str, Any]]:
    """The required status checks of all active rulesets."""
    found: list[dict[str, Any]] = []
    for entry in _get(repo, "/rulesets") or []:
        if entry.get("enforcement") != "active":
            continue
        ruleset = _get(repo, f"/rulesets/{int(entry['id'])}") or {}
        for rule in ruleset.get("rules", []):
            if rule.get("type") == "required_status_checks":
                found += rule["parameters"]["required_status_checks"]
    return found


def _forgery(root: Path, repo: Repo, settings: Settings) -> Line:
    """Can a pull request's own workflow write a check of the same name, and would it count?"""

    def look(repo: Repo, settings: Settings) -> Line:
        pinned = any(
            r["context"] == settings.check and r.get("integration_id") not in (None, ACTIONS_APP)
            for r in _required_checks(repo)
        )
        if pinned:
            return good("the required check is pinned to an App: no workflow can forge it")
        approval = _get(repo, "/actions/permissions/fork-pr-contributor-approval") or {}
        guarded = approval.get("approval_policy") == "all_external_contributors"
        if guarded and _has_owners(root):
            return good("fork workflows need approval and .github has owners")
        return bad(
            f"a pull request's own workflow can forge the check {settings.check}",
            "publish with an App and pin it in the ruleset, or require approval for all external "
            "contributors and code owners for .github",
        )

    return _ask("forgery", look, repo, settings)


# ---- the nightly watch --------------------------------------------------------------------------


def unanswered(repo: Repo, settings: Settings, now: dt.datetime | None = None) -> list[Line]:
    """Pull requests without an answer or past the promised review, merges without a record, and
    what to start again."""
    now = now or dt.datetime.now(dt.UTC)
    lines = [_key()]
    with told("looking at the pull requests"):
        for pull in repo.api.get_pulls(state="open"):
            if not pull.draft and now - pull.created_at >= GRACE:
                lines += _waiting(repo, settings, pull, now)
        lines += _unrecorded(repo, now)
    return [*lines, good("every open pull request has an answer")] if len(lines) == 1 else lines


def _waiting(repo: Repo, settings: Settings, pull: ApiPull, now: dt.datetime) -> Iterator[Line]:
    """What an open pull request still waits for: our answer, or a maintainer's."""
    runs = repo.api.get_commit(pull.head.sha).get_check_runs(check_name=settings.check)
    app = repo.login.removesuffix("[bot]")
    # a check of the same name that another App or workflow wrote is no answer of ours
    ends = [r.completed_at for r in runs if r.app.slug == app and r.completed_at]
    labels = {label.name for label in pull.labels}
    again = Line(f"redo verify {pull.number} {pull.base.ref}")
    if not ends:
        yield bad(f"pull request {pull.number} has no answer", "started again")
        yield again
    elif f"{LABEL}unverifiable" in labels:
        yield again
    elif f"{LABEL}needs-review" in labels:
        days = (now - max(ends)).days
        if days >= settings.review_days:
            yield bad(
                f"pull request {pull.number} waits for a review for {days} days",
                f"{settings.review_days} were promised: review it, or raise review_days in "
                ".github/speedrun.toml",
            )


def _unrecorded(repo: Repo, now: dt.datetime) -> Iterator[Line]:
    at = tip(repo.api, EVIDENCE_BRANCH)
    kept = {e.path for e in Trees(repo, at).files(VERDICTS)} if at else set()
    passing = {f"{LABEL}verified", f"{LABEL}needs-review"}
    for pull in repo.api.get_pulls(state="closed", sort="updated", direction="desc").get_page(0):
        name = verdict_path(pull.number).rpartition("/")[2]
        labels = {label.name for label in pull.labels}
        old = pull.merged_at is not None and now - pull.merged_at > GRACE
        if old and labels & passing and name not in kept:
            yield bad(f"the merge of {pull.number} was not recorded", "started again")
            yield Line(f"redo record {pull.number} {pull.base.ref}")


def keep_issue(repo: Repo, settings: Settings, folder: Path) -> str:
    """One audit issue: opened, kept up to date, closed. Starts again what the files ask for."""
    texts = {
        path.name: path.read_text(encoding="utf-8", errors="replace")[:20_000]
        for path in sorted(folder.glob("*.txt"))
        if not path.is_symlink()
    }
    if not texts:
        texts = {"audit": "the audit left no result\nexit 3\n"}
    for workflow, number, ref in _REDO.findall("\n".join(texts.values()))[:50]:
        dispatch_workflow(repo, f"{workflow}.yml")(int(number), ref)
    failed = {n: t for n, t in texts.items() if re.search(r"^(exit [1-9]|wrong )", t, re.M)}
    with told("keeping the audit issue"):
        return settle(repo, lambda: _upsert_issue(repo, failed))


def _upsert_issue(repo: Repo, failed: dict[str, str]) -> str:
    known = [
        issue
        for issue in repo.api.get_issues(state="open", labels=[AUDIT_LABEL])
        if issue.user.login == repo.login and (issue.body or "").startswith(_AUDIT)
    ]
    if not failed:
        for issue in known:
            issue.edit(state="closed")
        return "all is well"
    body = _issue_body(failed)
    if not known:
        title = "The nightly audit found something"
        made = repo.api.create_issue(title, body, labels=[AUDIT_LABEL])
        return f"opened {made.html_url}"
    if known[0].body != body:
        known[0].edit(body=body)
    for extra in known[1:]:
        extra.edit(state="closed")
    return f"kept {known[0].html_url}"


def _issue_body(failed: dict[str, str]) -> str:
    parts = [_AUDIT, "This issue is kept up to date every night and closed when all is well.", ""]
    for name, text in failed.items():
        parts += [f"**{code(name)}**", ""]
        parts += [f"- {code(line, 300)}" for line in text.splitlines()[:100] if line.strip()]
        parts.append("")
    return "\n".join(parts)[:60_000]
