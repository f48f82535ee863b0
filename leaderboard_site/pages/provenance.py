"""From the announcement to the verdict: issue, code, steps, runs, pull request, with hashes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from bot.compute.experiment import compare
from bot.model.experiment import Plan
from bot.parse.plan import issue_number
from bot.parse.steps import Step
from bot.render import experiment as words
from bot.render.groups import sentence
from leaderboard_site import text
from leaderboard_site.graph import Node, draw
from leaderboard_site.model import Item, Site
from leaderboard_site.states import state_of

TITLE = "Preregistration: "
"""How the form begins a title."""
LEAST = 4
"""Boxes of a graph that says more than that runs led to a verdict."""
MOST_STEPS = 12


def provenance(site: Site, item: Item, digest: str) -> dict[str, Any] | None:
    """The graph of an entry and the same as a list; None if hardly anything is known."""
    nodes = list(nodes_of(site, item, digest))
    if len(nodes) < LEAST:
        return None
    names = {node.id: f"{node.kind}: {node.says}" for node in nodes}
    rows = [
        {
            "kind": node.kind,
            "says": node.says,
            "hash": node.hash,
            "href": node.href,
            "after": [names[parent] for parent in node.parents if parent in names],
        }
        for node in nodes
    ]
    kinds = ", ".join(dict.fromkeys(node.kind for node in nodes))
    return {"svg": draw(nodes, f"How this entry came about: {kinds}"), "rows": rows}


def experiment(site: Site, item: Item) -> dict[str, Any] | None:
    """What was planned beside what was run, by the verdict of this page."""
    plan = plan_of(item)
    if plan is None:
        return None
    found = compare(plan, item.verdict, True)
    return {
        "plan": plan,
        "issue": issue_url(site, plan.issue),
        "outcome": sentence(words.outcome(plan, found, True)),
        "rows": words.rows(found),
    }


def plan_of(item: Item) -> Plan | None:
    """The announced plan, as it was recorded with the merge."""
    return item.merge.plan if item.merge else None


def issue_url(site: Site, value: object) -> str | None:
    """The address of a preregistration, which is an issue's number or an address."""
    if value is None:
        return None
    repository = (site.repository or "").removeprefix("https://github.com/")
    number = issue_number(value, repository)
    if number is not None:
        return f"{site.repository}/issues/{number}" if site.repository else f"#{number}"
    return str(value)


def pull_url(site: Site, item: Item) -> str | None:
    """The address of the pull request that brought an entry, where it is known."""
    if item.merge and site.repository:
        return f"{site.repository}/pull/{item.merge.pull}"
    stated = item.about.raw.get("pull_request") if item.about else None
    if isinstance(stated, int) and not isinstance(stated, bool) and site.repository:
        return f"{site.repository}/pull/{stated}"
    return text.safe_url(stated) if isinstance(stated, str) else None


def code_url(item: Item) -> str | None:
    """Where the code lies: a repository at a commit, or the submission's folder."""
    about = item.about
    if about and about.code_repository:
        commit = text.clean(about.code_commit or "", 40)
        base = about.code_repository.removesuffix(".git").rstrip("/")
        return f"{base}/tree/{commit}" if commit.isalnum() else base
    return item.folder_url if item.code else None


def steps_url(item: Item) -> str | None:
    """The list of steps in the submission's folder."""
    if not item.steps or not item.folder_url:
        return None
    return f"{item.folder_url.replace('/tree/', '/blob/', 1)}/{item.steps[0].file}"


# ---- the boxes ----------------------------------------------------------------------------------


def nodes_of(site: Site, item: Item, digest: str) -> Iterator[Node]:
    """The boxes of an entry, parents first."""
    first: tuple[str, ...] = ()
    about, plan = item.about, plan_of(item)
    if about and about.preregistration:
        named = plan.issue if plan else about.preregistration
        title = plan.title.removeprefix(TITLE) if plan else str(named)
        kind = f"Issue {plan.issue}" if plan else "Issue"
        href = issue_url(site, named) or ""
        yield Node("issue", kind, text.clean(title, 60), plan.sha256 if plan else "", href)
        first = ("issue",)
    hashes = _code(item)
    if hashes:
        says = about.code_path or "linked" if about else "of the runs"
        yield Node("code", "Code", says, hashes[0], code_url(item) or "", first)
        first = ("code",)
    ends: list[str] = []
    for node in _steps(item.steps, first):
        ends = [end for end in ends if end not in node.parents] + [node.id]
        yield node
    runs = item.verdict.runs
    if runs:
        count = text.plural(len(runs), "run")
        yield Node("runs", "Runs", count, runs_digest(item), "#runs", tuple(ends) or first)
        first = ("runs",)
    if item.merge:
        says = f"merged {text.day(item.merge.at)}"
        href = pull_url(site, item) or ""
        yield Node("pull", f"Pull #{item.merge.pull}", says, item.merge.commit, href, first)
        first = ("pull",)
    yield Node("verdict", "Verdict", state_of(item.verdict).name, digest, "#evidence", first)


def _code(item: Item) -> list[str]:
    """What stands for the code: the linked commit, or the sources that the runs logged."""
    if item.about and item.about.code_commit:
        return [item.about.code_commit]
    logged = {h for run in item.verdict.runs for h in run.code_sha256.values()}
    return [sorted(logged)[0]] if len(logged) == 1 else [_digest(sorted(logged))] if logged else []


def _steps(steps: tuple[Step, ...], first: tuple[str, ...]) -> Iterator[Node]:
    """Steps of one name are one box: eight runs have eight steps `train`, of one code."""
    groups: dict[str, list[Step]] = {}
    for step in steps:
        groups.setdefault(step.name, []).append(step)
    made = {step.identity: name for name, group in groups.items() for step in group}
    for name, group in list(groups.items())[:MOST_STEPS]:
        inputs = {made[x] for step in group for x in step.inputs if x in made}
        parents = tuple(f"step {n}" for n in groups if n in inputs and n != name)
        states = {step.status for step in group}
        says = f"{len(group)} × " if len(group) > 1 else ""
        says += states.pop() if len(states) == 1 else "differently ended"
        identities = sorted(step.identity for step in group)
        whole = identities[0] if len(identities) == 1 else _digest(identities)
        yield Node(f"step {name}", f"Step {name}", says, whole, "", parents or first)


def runs_digest(item: Item) -> str:
    """SHA-256 over what the runs measured: step, loss and clock of each validation."""
    return _digest([[list(point) for point in run.val] for run in item.verdict.runs])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()


def about_links(item: Item) -> Mapping[str, list[str]]:
    """What the submission links, by kind."""
    found: dict[str, list[str]] = {}
    for link in item.about.links if item.about else ():
        found.setdefault(str(link.get("kind", "link")), []).append(str(link.get("url", "")))
    return found
