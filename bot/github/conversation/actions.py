"""What commands do. `answer` reads one comment from the API, acts, and replies once.

Who may do what is asked of the API, never taken from a payload. Whatever somebody wrote is read
again from the API as well, so a forged or replayed delivery can at most repeat what was said.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any

from bot.github.api.branches import EVIDENCE_BRANCH
from bot.github.api.client import GitHubTrouble, told
from bot.github.api.threads import IssueThread
from bot.github.conversation import edits, forms, grants
from bot.github.conversation.commands import (
    COMMANDS,
    MAX_LINKS,
    Command,
    Links,
    Mistake,
    Unknown,
    parse,
    with_post,
)
from bot.github.conversation.intake_pull import open_submission
from bot.github.conversation.talk import Talk, is_maintainer
from bot.github.pull_request import suggestions
from bot.github.pull_request.intake import BRANCHES, Intake, submitter
from bot.github.pull_request.preregistration import fetch_plan
from bot.github.pull_request.publish import LABEL, our_checks
from bot.github.pull_request.pull import Pull, facts, fetch
from bot.github.pull_request.waivers import CONFIRM, DECLINE, GRANTED, Acted, Grant, Waiver
from bot.registry import catalogue
from bot.render.comment import STICKY, Safe, read_state, render
from bot.render.experiment import registered
from bot.rules import RULES

OUR_BRANCHES = "speedrun/"
_MOST_NOTES = 1000


def answer(talk: Talk) -> str:
    """Handle one comment; a word for the log. Raises GitHubTrouble."""
    said = talk.said
    if said.bot or said.author == talk.repo.login:
        return "own"
    command = parse(said.body)
    if command is None:
        return "no command"
    if isinstance(command, Unknown):
        return _unknown(talk, command)
    if isinstance(command, Links):
        return _links(talk, command)
    if not isinstance(command, Command) or command.name not in _EDITS:
        talk.react("eyes")  # an edit is answered in words, within the same seconds
    if isinstance(command, Mistake):
        usage = COMMANDS[command.name]
        talk.reply("mistake.md.j2", problem=command.problem, form=usage.form)
        return "mistake"
    if command.name in _ANYWHERE:
        return _ANYWHERE[command.name](talk, command)
    if not isinstance(talk.thread, IssueThread):
        talk.reply("mistake.md.j2", problem="this works on a pull request", form=said.body[:80])
        return "not a pull request"
    return _on_pull(talk, command)


def _unknown(talk: Talk, command: Unknown) -> str:
    """A line that looks like a command. Other bots have commands too: a repository that wants
    quiet hears of ours only."""
    if not command.near and talk.settings.quiet:
        return "unknown command"
    talk.reply("unknown.md.j2", word=command.word, near=command.near)
    return "unknown command"


def _links(talk: Talk, command: Links) -> str:
    """Links to runs in an ordinary comment or post: what can be done with them."""
    on_pull = isinstance(talk.thread, IssueThread) and talk.thread.is_pull()
    links = command.links[:MAX_LINKS]
    if on_pull:
        lines = [{"title": "", "line": f"/runs add {' '.join(link.url for link in links)}"}]
    else:
        lines = forms.lines_for(links, talk.said.author, talk.tracks)
    talk.reply("links.md.j2", count=len(links), lines=lines, on_pull=on_pull)
    return "links"


def _on_pull(talk: Talk, command: Command) -> str:
    try:
        pull = facts(fetch(talk.repo, talk.thread.number))
    except GitHubTrouble as trouble:
        if trouble.status != 404:
            raise
        form = COMMANDS[command.name].form
        talk.reply("mistake.md.j2", problem="this works on a pull request", form=form)
        return "not a pull request"
    author = submitter(pull, talk.repo.name, talk.repo.login)
    own = talk.said.author.lower() == author.lower()
    by_another = command.name in _BY_ANOTHER
    may = (own and not by_another) or command.name in _FOR_ALL
    may = may or is_maintainer(talk.repo, talk.said.author)
    if (own and by_another) or (not may and command.name != "runs"):
        values = {"command": command.name, "who": COMMANDS[command.name].who}
        talk.reply("refused.md.j2", own=own and may, **values)
        return "not permitted"
    return _HANDLERS[command.name](talk, command, pull, may)


# ---- commands for everybody, everywhere ---------------------------------------------------------


def _help(talk: Talk, command: Command) -> str:
    talk.reply("help.md.j2", commands=COMMANDS.values())
    return "help"


def _explain(talk: Talk, command: Command) -> str:
    entry = catalogue()[command.rule]
    check = RULES.get(command.rule)
    # the docstrings are ours and written in Markdown
    page = Safe((inspect.getdoc(check) or "") if check else "")
    talk.reply("explain.md.j2", rule=command.rule, entry=entry, page=page)
    return "explained"


def _submit(talk: Talk, command: Command) -> str:
    """A submission of the links of the command, or of those in the post that it stands below."""
    thread, form, problem = talk.thread, COMMANDS["submit"].form, "give at least one W&B link"
    post = thread.post()
    own = post.author == talk.said.author
    if not command.links:
        labels = thread.labels() if isinstance(thread, IssueThread) else []
        if isinstance(thread, IssueThread) and thread.is_pull():
            problem, form = "this pull request is a submission already", "/verify"
        elif forms.LABEL in labels:
            problem = "the form above is what is submitted; edit it, and the bot reads it again"
        elif own:
            command = with_post(command, post.body)
    if not command.links:
        talk.reply("mistake.md.j2", problem=problem, form=form)
        return "mistake"
    title = post.title if own else ""
    return submit_form(talk, forms.from_command(command, talk.said.author, talk.tracks, title))


def submit_form(talk: Talk, form: Intake) -> str:
    """Turn a form into a pull request, or say what is missing."""
    form = forms.with_known_entry(form, talk.tracks, talk.root)
    if form.missing:
        talk.reply("missing.md.j2", missing=form.missing)
        return "incomplete"
    opened = open_submission(talk.repo, form, talk.thread, talk.said)
    talk.reply("opened.md.j2", opened=opened, link=Safe(opened.link), form=form)
    if not opened.number:
        return "branch only"
    started = talk.start(opened.number, opened.base)
    return "opened" if started == "dispatched" else started


def register(talk: Talk) -> str:
    """Say what was read of a preregistration, when it was opened, and again when it was edited."""
    plan = fetch_plan(talk.repo, talk.thread.number, talk.tracks)
    talk.reply("registered.md.j2", plan=registered(plan))
    return "registered" if not plan.unread else "registered in part"


# ---- commands on a pull request -----------------------------------------------------------------


def _verify(talk: Talk, command: Command, pull: Pull, may: bool) -> str:
    if pull.state != "open":
        talk.reply("mistake.md.j2", problem="this pull request is closed", form="/verify")
        return "closed"
    return talk.start(pull.number, pull.base_ref)


def _accept(talk: Talk, command: Command, pull: Pull, may: bool) -> str:
    """Record a waiver for the commit that the maintainer saw, not for one pushed meanwhile. An
    entry that is merged is recorded again with it."""
    thread = talk.thread
    assert isinstance(thread, IssueThread)
    with told("reading the verdict"):
        sticky = next((c for c in thread.ours() if (c.body or "").startswith(STICKY)), None)
    state = read_state(sticky.body) if sticky else None
    seen = sticky and talk.said.at and sticky.updated_at <= talk.said.at
    if pull.state != "open" and not pull.merged:
        problem = "this pull request was closed without being merged"
        talk.reply("mistake.md.j2", problem=problem, form=COMMANDS["accept"].form)
        return "closed"
    if state is None or state.sha != pull.head_sha or not seen:
        problem = "the commit changed since, or has no verdict yet; read the new one and repeat"
        talk.reply("mistake.md.j2", problem=problem, form=COMMANDS["accept"].form)
        return "not the verdict's commit"
    waiver = Waiver(command.rule, pull.head_sha, talk.said.author, command.reason)
    values = {"waiver": waiver, "merged": pull.merged}
    body = f"{waiver.marker()}\n{render('accepted.md.j2', talk.settings, **values)}"
    thread.reply(talk.said, body)
    _start_below(talk, pull.number, pull.base_ref, body, merged=pull.merged)
    return "accepted"


def _grant(talk: Talk, command: Command, pull: Pull, may: bool) -> str:
    """Record a grant of compute to an eligible entry, and label the pull request for the site."""
    thread = talk.thread
    assert isinstance(thread, IssueThread)
    with told("reading the verdict"):
        bodies = [comment.body or "" for comment in thread.ours()]
    asked = Grant("", f"{command.hours:g}", talk.said.author, command.reason, f"{talk.today}")
    found = grants.settle(asked, bodies, pull, talk.tracks)
    if isinstance(found, str):
        talk.reply("mistake.md.j2", problem=found, form=COMMANDS["grant"].form)
        return "not eligible"
    grant, how = found
    body = render("granted.md.j2", talk.settings, grant=grant, how=how)
    with told("recording the grant"):
        talk.repo.api.get_issue(pull.number).add_to_labels(GRANTED)
    thread.reply(talk.said, f"{grant.marker()}\n{body}")
    return "granted"


def _runs(talk: Talk, command: Command, pull: Pull, may: bool) -> str:
    def change(data: Mapping[str, Any]) -> dict[str, Any]:
        return edits.add_runs(data, command.links, command.baseline)

    number = len({*command.links, *command.baseline})
    count = "1 run" if number == 1 else f"{number} runs"
    return _edit(talk, pull, may, change, f"Add {count}", "runs")


def _correct(talk: Talk, command: Command, pull: Pull, may: bool) -> str:
    def change(data: Mapping[str, Any]) -> dict[str, Any]:
        return edits.correct_author(data, pull.author, command.login)

    return _edit(talk, pull, may, change, f"Name {command.login} as contributor")


def _confirm(talk: Talk, command: Command, pull: Pull, may: bool) -> str:
    """Record that whoever asks says so: the runs bound to that login are shown with their will."""
    by = talk.said.author
    roles = edits.roles_of(talk.repo, pull, talk.tracks, by)
    own = by.lower() == submitter(pull, talk.repo.name, talk.repo.login).lower()
    if roles is None and not own and not _verdict_names(talk, by):
        problem = f"this submission does not name {by}, so there is nothing to confirm"
        talk.reply("mistake.md.j2", problem=problem, form=COMMANDS["runs"].form)
        return "not named"
    text = render("confirmed.md.j2", talk.settings, by=by, roles=roles or ())
    body = f"{Acted(talk.said.author, CONFIRM).marker()}\n{text}"
    talk.thread.reply(talk.said, body)
    if pull.state == "open":
        _start_below(talk, pull.number, pull.base_ref, body)
    return "confirmed"


def _verdict_names(talk: Talk, login: str) -> bool:
    """Whether our verdict asks for this person: their run is shown, and they are not listed."""
    thread = talk.thread
    assert isinstance(thread, IssueThread)
    with told("reading the verdict"):
        bodies = [c.body or "" for c in thread.ours() if (c.body or "").startswith(STICKY)]
    name = re.compile(rf"(?<![\w-]){re.escape(login)}(?![\w-])", re.IGNORECASE)
    return any(name.search(body.replace("\\", "")) for body in bodies)


def _decline(talk: Talk, command: Command, pull: Pull, may: bool) -> str:
    """Take whoever asks out of the contributors; recorded, so that a later push counts as well."""

    def change(data: Mapping[str, Any]) -> dict[str, Any]:
        return edits.take_out(data, talk.said.author)

    return _edit(talk, pull, may, change, f"Take {talk.said.author} out", DECLINE)


def _why(talk: Talk, command: Command, pull: Pull, may: bool) -> str:
    """The findings of one rule on this very commit, as the check run tells them."""
    with told("reading the check"):
        runs = our_checks(talk.repo, talk.settings, pull.head_sha)
        latest = max(runs, key=lambda run: run.id, default=None)
        found = [
            note
            for note in itertools.islice(latest.get_annotations() if latest else (), _MOST_NOTES)
            if note.title == command.rule
        ]
    check = RULES.get(command.rule)
    first = (inspect.getdoc(check) or "").split("\n\n")[0].replace("\n", " ") if check else ""
    talk.reply(
        "why.md.j2",
        rule=command.rule,
        checks=Safe(first),
        notes=[{"path": n.path, "line": n.start_line, "message": n.message} for n in found[:3]],
        more=max(len(found) - 3, 0),
        judged=latest is not None,
    )
    return "told why"


def _start_below(talk: Talk, number: int, ref: str, body: str, merged: bool = False) -> None:
    """Start a verification below an answer that records something and stays, or if it was merged
    what follows a merge; if GitHub refuses, the answer ends with that."""
    try:
        (talk.record if merged else talk.dispatch)(number, ref)
    except GitHubTrouble as trouble:
        values = {"number": number, "why": str(trouble)}
        said = render("not_started.md.j2", talk.settings, **values)
        talk.thread.reply(talk.said, f"{body}\n{said}")


def _withdraw(talk: Talk, command: Command, pull: Pull, may: bool) -> str:
    """An open pull request is closed and labelled; a merged entry gets a tombstone."""
    if pull.merged:
        date = talk.today.isoformat()

        def change(data: Mapping[str, Any]) -> dict[str, Any]:
            return edits.withdraw(data, talk.said.author, date, command.reason)

        return _edit(talk, pull, may, change, "Withdraw the submission")
    values = {"by": talk.said.author, "reason": command.reason, "sha": pull.head_sha}
    with told("withdrawing"):
        talk.reply("withdrawn.md.j2", ours=pull.head_ref.startswith(BRANCHES), **values)
        api = talk.repo.api.get_issue(pull.number)
        for label in pull.labels:
            if label.startswith(LABEL) and label != f"{LABEL}withdrawn":
                api.remove_from_labels(label)
        api.add_to_labels(f"{LABEL}withdrawn")
        if pull.state == "open":
            api.edit(state="closed")
    return "withdrawn"


def _edit(
    talk: Talk, pull: Pull, may: bool, change: edits.Change, message: str, act: str = ""
) -> str:
    """Change submission.json and say what came of it; `act` is recorded of whoever asked."""
    if pull.state != "open" and not pull.merged:
        talk.reply("mistake.md.j2", problem="this pull request is closed", form="/help")
        return "closed"
    may = may and _branch_is_theirs(talk, pull)
    outcome = edits.apply(talk.repo, pull, talk.tracks, change, message, may, talk.settings)
    link = outcome.link
    if outcome.suggestion is not None:
        link = suggestions.ask(talk.repo, pull, outcome.suggestion, talk.said.id)
    values = {"outcome": outcome, "link": Safe(link), "message": message}
    body = render("edited.md.j2", talk.settings, **values)
    if act and outcome.kind != "refused":
        body = f"{Acted(talk.said.author, act).marker()}\n{body}"
    talk.thread.reply(talk.said, body)
    again = pull.number if act == DECLINE and pull.state == "open" else 0
    if outcome.verify or again:
        _start_below(talk, outcome.verify or again, pull.base_ref, body)
    return outcome.kind


def _branch_is_theirs(talk: Talk, pull: Pull) -> bool:
    """Whether who asks may have the head branch changed.

    Anybody can open a pull request from a branch that others made in this repository, so being its
    author is not enough there; our own branches hold nothing but what was asked for.
    """
    if pull.merged or pull.head_repo != talk.repo.name:
        return True
    if pull.head_ref in (pull.default_branch, EVIDENCE_BRANCH):
        return False
    ours = pull.author == talk.repo.login and pull.head_ref.startswith(OUR_BRANCHES)
    return ours or is_maintainer(talk.repo, talk.said.author)


_ANYWHERE: Mapping[str, Callable[[Talk, Command], str]] = {
    "help": _help,
    "explain": _explain,
    "submit": _submit,
}
_HANDLERS: Mapping[str, Callable[[Talk, Command, Pull, bool], str]] = {
    "verify": _verify,
    "accept": _accept,
    "runs": _runs,
    "correct-author": _correct,
    "withdraw": _withdraw,
    "confirm": _confirm,
    "decline": _decline,
    "grant": _grant,
    "why": _why,
}
_EDITS = ("runs", "withdraw", "correct-author", "decline")
_BY_ANOTHER = ("accept", "grant")
_FOR_ALL = ("confirm", "decline", "why")
