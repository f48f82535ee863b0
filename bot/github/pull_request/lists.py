"""What is open, for the site: pull requests as the bot last answered them, and preregistrations.

`write_lists` leaves `pending.json`, `experiments.json` and `grants.json` in `.speedrun` of the
folder that the site takes its evidence from. Nothing is judged here: what the bot thinks of a pull
request stands in the hidden line of its own comment. Titles and logins are strangers' text.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
from pathlib import Path
from typing import Any

from bot import files as disk
from bot.github.api.client import Repo, login_of, told
from bot.github.pull_request.publish import ours
from bot.github.pull_request.waivers import GRANTED, read_grants
from bot.model.submission import MAX_JSON_BYTES
from bot.parse.plan import PREREGISTRATION, issue_number
from bot.parse.submission_json import SUBMISSION
from bot.parse.track_toml import load_tracks
from bot.registry import Status
from bot.render.comment import STICKY, State, read_state
from bot.render.untrusted import plain
from bot.repository import submission_folders

PENDING = ".speedrun/pending.json"
EXPERIMENTS = ".speedrun/experiments.json"
GRANTS = ".speedrun/grants.json"
MOST = 300
MOST_GRANTS = 30
TIME = "%Y-%m-%dT%H:%M:%SZ"
_TITLE = 200


def write_lists(repo: Repo, root: Path, out: Path, now: dt.datetime) -> tuple[int, int]:
    """Write the files below `out`; how many pull requests and preregistrations there are.

    Requests: one for each 100 pull requests or issues, one for each open pull request, and one for
    each that was granted compute.
    Raises GitHubTrouble, TrackError.
    """
    pulls = pending(repo)
    experiments = preregistrations(repo, answered(root, repo.name))
    as_of = now.strftime(TIME)
    for name, data in (
        (PENDING, {"as_of": as_of, "pulls": pulls}),
        (EXPERIMENTS, {"as_of": as_of, "experiments": experiments}),
        (GRANTS, {"as_of": as_of, "grants": granted(repo)}),
    ):
        disk.write(out / name, json.dumps(data, indent=1, sort_keys=True) + "\n")
    return len(pulls), len(experiments)


def pending(repo: Repo) -> list[dict[str, Any]]:
    """The open pull requests, newest first, at most 300."""
    with told("reading the open pull requests"):
        return [_row(repo, pull) for pull in itertools.islice(repo.api.get_pulls("open"), MOST)]


def _row(repo: Repo, pull: Any) -> dict[str, Any]:
    comments = ours(repo, repo.api.get_issue(pull.number))
    sticky = next((c for c in comments if (c.body or "").startswith(STICKY)), None)
    body = (sticky.body or "") if sticky else ""
    state = read_state(body) or State("", None, "")
    status = state.status or ("draft" if pull.draft else "no answer yet")
    if state.sha and state.sha != pull.head.sha:
        status = "being checked"
    return {
        "number": pull.number,
        "title": plain(pull.title or "", _TITLE),
        "author": plain(state.author or login_of(pull), 60),
        "opened": pull.created_at.strftime(TIME),
        "status": plain(status, 40),
        "blocks": [plain(rule, 64) for rule in state.blocks],
        "place": plain(state.place, 200) or None,
        "track": plain(state.track, 64) or None,
        "url": f"{repo.page}/pull/{pull.number}",
        "since": (sticky.updated_at if sticky else pull.created_at).strftime(TIME),
        "entry": plain(state.entry, 260) or None,
        "runs": state.runs if status == Status.NEEDS_RUNS else 0,
        "gpu_hours": round(state.gpu_hours, 3),
    }


def granted(repo: Repo) -> list[dict[str, Any]]:
    """What maintainers granted, newest pull request first; only our own record of it counts."""
    with told("reading the grants"):
        issues = itertools.islice(repo.api.get_issues(state="all", labels=[GRANTED]), MOST_GRANTS)
        return [
            {
                "entry": plain(grant.entry, 260),
                "hours": grant.amount,
                "by": plain(grant.by, 60),
                "reason": plain(grant.reason, 300),
                "on": plain(grant.on, 10),
                "url": issue.html_url,
            }
            for issue in issues
            for grant in read_grants(comment.body or "" for comment in ours(repo, issue))
        ]


def preregistrations(repo: Repo, done: frozenset[int]) -> list[dict[str, Any]]:
    """The preregistered experiments that no submission of the checkout names, newest first."""
    with told("reading the preregistrations"):
        issues = repo.api.get_issues(state="all", labels=[PREREGISTRATION])
        found = [
            issue
            for issue in itertools.islice(issues, MOST)
            if "/issues/" in issue.html_url and issue.number not in done
        ]
    return [
        {
            "title": plain(issue.title or "", _TITLE),
            "date": issue.created_at.strftime("%Y-%m-%d"),
            "url": f"{repo.page}/issues/{issue.number}",
            "state": "registered" if issue.state == "open" else "closed without a submission",
        }
        for issue in found
    ]


def answered(root: Path, repository: str) -> frozenset[int]:
    """Numbers of the issues that the submissions of a checkout name as their preregistration."""
    found: set[int] = set()
    for path, _ in submission_folders(root, load_tracks(root)):
        file = path / SUBMISSION
        if file.is_symlink() or not file.is_file() or file.stat().st_size > MAX_JSON_BYTES:
            continue
        try:
            data = json.loads(file.read_bytes())
        except (ValueError, RecursionError):
            continue  # its verdict says so
        named = data.get("preregistration") if isinstance(data, dict) else None
        number = issue_number(named, repository)
        found |= {number} if number else set()
    return frozenset(found)
