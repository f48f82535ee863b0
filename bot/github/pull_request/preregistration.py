"""The issue that announced an experiment: read at one request, answered when it is over.

GitHub dates the issue and the last edit of its text; both are asked of the API.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from collections.abc import Iterable, Iterator, Mapping

from bot.github.api.client import GHOST, GitHubTrouble, Repo, settle, told
from bot.github.pull_request.engine import Engine
from bot.github.pull_request.publish import ours
from bot.model.experiment import Plan
from bot.model.report import Report, Settings
from bot.model.run import Run
from bot.model.track import Track
from bot.model.values import parse_timestamp
from bot.parse.plan import issue_number, read_plan
from bot.registry import STATUS_NAMES
from bot.render.comment import entry_page, render
from bot.render.experiment import view
from bot.render.untrusted import plain

SUMMARY = "<!-- speedrun:experiment "
MOST_PLANS = 5
_READ = """query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { issue(number: $number) {
    number title body createdAt lastEditedAt author { login } } } }"""


def fetch_plan(repo: Repo, number: int, tracks: Mapping[str, Track]) -> Plan:
    """The plan in an issue; one request. Raises GitHubTrouble, status 404 if there is none."""
    owner, name = repo.name.split("/")
    variables = {"owner": owner, "name": name, "number": number}
    with told(f"reading issue {number}"):
        answer = settle(repo, lambda: repo.api.requester.graphql_query(_READ, variables)[1]["data"])
    issue = (answer["repository"] or {}).get("issue")
    if issue is None:
        raise GitHubTrouble(f"there is no issue {number}", 404)
    author = (issue["author"] or {}).get("login") or GHOST
    return read_plan({**issue, "author": author}, tracks)


@dc.dataclass
class Plans:
    """The plans of one pull request, and what to tell its author of them. Raises GitHubTrouble
    where a plan that is to be recorded cannot be read now."""

    repo: Repo
    engine: Engine
    merged: bool = False
    found: dict[str, Plan] = dc.field(default_factory=dict)
    advice: list[str] = dc.field(default_factory=list)
    _read: dict[int, Plan | None] = dc.field(default_factory=dict)

    def add(self, path: str, named: str | None, runs: Iterable[Run], pull: int) -> None:
        """Read the plan that a submission names, unless it is of another repository."""
        if named is None:
            return
        number = issue_number(named, self.repo.name)
        if number is None:
            self.advice.append(
                f'preregistration is "{plain(named, 80)}": write the number of an issue of this '
                "repository, such as 12, and its plan is compared with the runs."
            )
            return
        if number not in self._read:
            self._read[number] = self._fetch(number)
        plan = self._read[number]
        if plan is not None:
            at, by = _first_run(runs, self.engine.memory.since(pull, path, ()))
            self.found[path] = dc.replace(plan, first_run=at, first_run_by=by)

    def _fetch(self, number: int) -> Plan | None:
        if len(self._read) >= MOST_PLANS:
            self.advice.append(f"Issue {number} is not read: at most {MOST_PLANS} plans are.")
            return None
        try:
            return fetch_plan(self.repo, number, self.engine.tracks)
        except GitHubTrouble as trouble:
            if self.merged and (trouble.status is None or trouble.status >= 500):
                raise  # what is recorded is recorded once; the nightly audit starts it again
            self.advice.append(
                f"preregistration names issue {number}, which is not there: write the number of "
                "the issue that announced the experiment."
                if trouble.status == 404
                else f"The plan in issue {number} could not be read now; /verify tries again."
            )
            return None


def _first_run(runs: Iterable[Run], seen: dt.datetime | None) -> tuple[str | None, str]:
    """When the first run began by W&B's servers, or was shown here first by GitHub's clock."""
    online = (run.created_at for run in runs if run.source == "wandb")
    made = [moment for text in online if (moment := parse_timestamp(text))]
    shown = seen or dt.datetime.now(dt.UTC)
    first, by = (min(made), "W&B") if made and min(made) <= shown else (shown, "GitHub")
    return first.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), by


# ---- when it is over ----------------------------------------------------------------------------


def summarise(repo: Repo, report: Report, settings: Settings) -> Iterator[str]:
    """Put the result of each experiment into its issue, once; a word for the log.

    An issue that is gone, locked or closed to us costs nothing else. Raises GitHubTrouble.
    """
    for verdict in report.verdicts:
        plan = report.plans.get(verdict.submission)
        if plan is None:
            continue
        marker = f"{SUMMARY}{report.pr} {verdict.submission} -->"
        text = render(
            "experiment.md.j2",
            settings,
            pull=report.pr,
            submission=verdict.submission,
            place=report.places.get(verdict.submission),
            status=STATUS_NAMES[verdict.status],
            runs=[run.file for run in verdict.runs][:20],
            link=entry_page(verdict, settings),
            e=view(plan, verdict, True),
        )
        try:
            yield f"issue {plan.issue}: {_upsert(repo, plan.issue, marker, text)}"
        except GitHubTrouble as trouble:
            if trouble.status not in (403, 404, 410, 422):
                raise
            yield f"issue {plan.issue} could not be answered: {trouble}"


def _upsert(repo: Repo, number: int, marker: str, text: str) -> str:
    body = f"{marker}\n{text}"

    def upsert() -> str:
        issue = repo.api.get_issue(number)
        known = next((c for c in ours(repo, issue) if (c.body or "").startswith(marker)), None)
        if known is None:
            return str(issue.create_comment(body).html_url)
        if known.body != body:
            known.edit(body)
        return str(known.html_url)

    with told(f"answering issue {number}"):
        return settle(repo, upsert)
