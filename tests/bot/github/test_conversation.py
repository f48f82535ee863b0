"""What people write without knowing the commands, and answers that nothing may lose."""

from __future__ import annotations

import dataclasses as dc
import re

import pytest

from bot.github.api.client import GitHubTrouble
from bot.github.conversation.commands import Command, Links, Mistake, Unknown, parse
from bot.github.conversation.forms import from_command, lines_for, read_form
from bot.github.pull_request.intake import runs_in, submission_of
from bot.github.pull_request.merge_queue import repeat_check
from bot.github.pull_request.publish import our_checks
from bot.github.pull_request.waivers import read_acted
from bot.model.report import Kind, Settings
from bot.registry import Status
from tests.bot.github.competition import AUTHOR, BOT, REPO, STRANGER, Competition, submission
from tests.bot.github.test_intake import LINK, TRACKS, form
from tests.doubles.github import Fault

pytestmark = pytest.mark.one_in(3)

RUN = "https://wandb.ai/example-team/speedrun/runs/"


@pytest.mark.parametrize(
    ("body", "near"),
    [
        ("/sumbit " + RUN + "r1", "submit"),
        ("/verfy", "verify"),
        ("/run add " + RUN + "r1", "runs"),
        ("/acept mfu-unusual because seen", "accept"),
        ("/lgtm", ""),
    ],
)
def test_unknown_command_is_answered(competition: Competition, body: str, near: str) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    found = parse(body)
    assert isinstance(found, Unknown) and found.near == near
    comment = competition.say(pull.number, STRANGER, body)
    assert competition.command(pull.number, comment) == "unknown command"
    (answer,) = competition.comments(pull.number, BOT)
    assert ("Did you mean" in answer) == bool(near) and f"`/{near}" in answer
    assert competition.repo.dispatches == []


@pytest.mark.parametrize("body", ["/etc/passwd is odd", "a /sumbit inside", "> /sumbit", "thanks"])
def test_what_only_looks_like_a_command_is_none(body: str) -> None:
    assert parse(body) is None


def test_in_a_quiet_repository_other_bots_are_left_alone(competition: Competition) -> None:
    text = "[bot]\nquiet = true\n"
    competition.github.commit(REPO, "main", {".github/speedrun.toml": text})
    pull = competition.open({"notes.md": "x\n"})
    comment = competition.say(pull.number, STRANGER, "/lgtm")
    competition.command(pull.number, comment)
    report = competition.answer(pull.number)
    assert report.kind is Kind.OTHER
    assert competition.comments(pull.number, BOT) == []
    assert competition.checks(pull.head_sha) == [("speedrun", "neutral")]
    entry = competition.open(submission("fast", seconds=90.0), branch="entry-2")
    competition.answer(entry.number)
    assert competition.sticky(entry.number)


def test_a_change_of_the_bot_itself_is_said(competition: Competition) -> None:
    pull = competition.open({".github/workflows/speedrun-verify.yml": "on: push\n"})
    assert "This changes the bot itself" in competition.answer(pull.number).problems[0]
    pull = competition.open({"lib/code.py": "x = 1\n"}, branch="other")
    assert competition.answer(pull.number).problems == ()


SHAPES = {
    "plain": f"{RUN}r1",
    "in a sentence": f"Have a look at {RUN}r1.",
    "in brackets": f"(see {RUN}r1)",
    "in angle brackets": f"<{RUN}r1>",
    "a Markdown link": f"[my run]({RUN}r1)",
    "a Markdown link with a title": f'[my run]({RUN}r1 "first")',
    "a Markdown link to itself": f"[{RUN}r1]({RUN}r1)",
    "a code span": f"`{RUN}r1`",
    "bold in a list": f"- **{RUN}r1**,",
    "with a query": f"{RUN}r1?nw=nwuserexample!",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_links_in_any_shape(shape: str) -> None:
    assert [run.id for run in runs_in(SHAPES[shape])] == ["r1"]
    read = read_form(form(SHAPES[shape]), AUTHOR, TRACKS)
    assert [run.id for run in read.links] == ["r1"], read.missing


def test_a_link_without_a_command_is_answered_with_what_can_be_done(
    competition: Competition,
) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    assert isinstance(parse(SHAPES["in a sentence"]), Links)
    comment = competition.say(pull.number, STRANGER, SHAPES["in a sentence"])
    assert competition.command(pull.number, comment) == "links"
    (answer,) = competition.comments(pull.number, BOT)
    assert f"```\n/runs add {RUN}r1\n```" in answer
    issue = competition.github.open_issue(REPO, STRANGER, "A run", f"Look: {RUN}r1 and {RUN}r2")
    assert competition.command(issue.number, "", event="issues") == "links"
    (answer,) = competition.comments(issue.number, BOT)
    assert "Those are 2 W&B runs" in answer
    pasted = re.findall(r"(?m)^/submit .*$", answer)
    lab, mini = (parse(line.replace("LINK", f"{RUN}b1")) for line in pasted)
    assert isinstance(mini, Command) and isinstance(lab, Command)
    assert [run.id for run in mini.links] == ["r1", "r2"] and (mini.track, lab.track) == (
        "mini",
        "lab",
    )
    assert lab.idea == (STRANGER,) and "baseline LINK" in pasted[0]


def test_many_tracks_share_one_line() -> None:
    many = {name: dc.replace(TRACKS["mini"], id=name) for name in ("a", "b", "c", "d")}
    (item,) = lines_for(runs_in(f"{RUN}r1"), AUTHOR, many)
    assert item == {
        "title": "TRACK is one of `a`, `b`, `c`, `d`",
        "line": f"/submit TRACK {RUN}r1",
    }


@pytest.mark.parametrize(
    "body",
    [
        f"/submit {RUN}r1 please",
        f"/submit please {RUN}r1",
        f"/submit mini {RUN}r1\r\nthanks! It took 8 H100 and/or luck",
        f"/submit: {RUN}r1 \U0001f389",
        f"/submit\u00a0{RUN}r1",
        f"/submit [my run]({RUN}r1) bitte",
        f"/submit\n\n- {RUN}r1\n\nMy idea is new, and the baseline is old.",
    ],
)
def test_words_beside_the_links_are_prose(body: str) -> None:
    found = parse(body)
    assert isinstance(found, Command), found
    form = from_command(found, AUTHOR, {"mini": TRACKS["mini"]})
    assert (form.track, [run.id for run in form.links], form.baseline) == ("mini", ["r1"], ())
    assert form.missing == () and form.contributors == ({"github": AUTHOR, "roles": ["runs"]},)


def test_the_words_below_a_submission_are_its_explanation() -> None:
    said = "Idea: fuse the loss and the last product.\nCode by me; runs took an hour."
    found = parse(f"/submit mini {RUN}r1 and {RUN}r2 idea ann\n\n{said}")
    assert isinstance(found, Command), found
    assert (found.words, found.idea, found.code) == (said, ("ann",), ())
    assert [run.id for run in found.links] == ["r1", "r2"]
    form = from_command(found, AUTHOR, {"mini": TRACKS["mini"]}, "Fused  loss")
    assert (form.title, submission_of(form)["summary"]) == ("Fused loss", said)


def test_below_the_first_line_a_word_of_ours_is_unmistakable() -> None:
    found = parse(f"/submit mini\n{RUN}r1\n## Baseline runs:\n{RUN}r2\nidea @ann, code @ben")
    assert isinstance(found, Command), found
    assert ([r.id for r in found.links], [r.id for r in found.baseline]) == (["r1"], ["r2"])
    assert (found.idea, found.code) == (("ann",), ("ben",))
    found = parse(f"/submit mini\n{RUN}r1 baseline {RUN}r2 idea ann")
    assert isinstance(found, Command) and found.idea == ("ann",) and len(found.baseline) == 1


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("reproduce lab/x", "did you mean `reproduces`?"),
        ("code finn", "did you mean `code @finn`?"),
        ("baseline LINK idea dan", "`LINK` stands for something"),
        ("baseline LINK... idea dan", "`LINK...` stands for something"),
        ("idea LOGIN", "`LOGIN` stands for something"),
    ],
)
def test_a_word_that_is_almost_one_of_ours_is_answered(said: str, told: str) -> None:
    found = parse(f"/submit mini {RUN}r1 {said}")
    assert isinstance(found, Mistake) and told in found.problem
    near = parse(f"/submit mini {RUN}r1 code @finn\nOthers may reproduce it; the link is above.")
    assert isinstance(near, Command) and near.code == ("finn",)


def test_a_name_of_no_track_is_told_even_where_there_is_one_track() -> None:
    found = parse(f"/submit one-card {RUN}r1")
    assert isinstance(found, Command)
    (missing,) = from_command(found, AUTHOR, {"mini": TRACKS["mini"]}).missing
    assert missing == '"one-card" is not a track that takes W&B links: choose one of mini'


def test_a_misspelled_track_and_a_part_of_a_link_are_told() -> None:
    found = parse(f"/submit minni {RUN}r1")
    assert isinstance(found, Command)
    assert from_command(found, AUTHOR, {"mini": TRACKS["mini"]}).missing
    assert isinstance(parse(f"/submit {RUN}r1 example-team/speedrun"), Mistake)


@pytest.mark.parametrize(
    ("said", "people"),
    [
        ("idea me", [(AUTHOR, ["idea", "runs"])]),
        (f"idea: {AUTHOR.upper()}", [(AUTHOR, ["idea", "runs"])]),
        (f"idea by @{STRANGER}", [(AUTHOR, ["runs"]), (STRANGER, ["idea"])]),
    ],
)
def test_who_submits_ran_it(said: str, people: list[tuple[str, list[str]]]) -> None:
    found = parse(f"/submit {RUN}r1 {said}")
    assert isinstance(found, Command)
    form = from_command(found, AUTHOR, {"mini": TRACKS["mini"]})
    assert [(p["github"], p["roles"]) for p in form.contributors] == people


@pytest.mark.parametrize("body", ["/submit", "/submit please", "/submit\nthanks!"])
def test_submit_takes_the_links_of_the_post_above(competition: Competition, body: str) -> None:
    issue = competition.github.open_issue(REPO, AUTHOR, "A run", f"Look: {RUN}r1")
    comment = competition.say(issue.number, STRANGER, body)
    assert competition.command(issue.number, comment, "change") == "mistake", "not their post"
    competition.github.commit(REPO, "main", {"tracks/lab.toml": None})
    comment = competition.say(issue.number, AUTHOR, body)
    assert competition.command(issue.number, comment, "change") == "opened"
    pull = competition.open(submission("fast", seconds=90.0))
    comment = competition.say(pull.number, AUTHOR, body)
    assert competition.command(pull.number, comment, "change") == "mistake"
    assert "is a submission already" in competition.comments(pull.number)[-1]


def test_links_to_other_pages_are_no_runs(competition: Competition) -> None:
    assert parse("https://wandb.ai/example-team/speedrun is our project") is None
    issue = competition.github.open_issue(REPO, STRANGER, "Hello", "https://example.org/a/b/c")
    assert competition.command(issue.number, "", event="issues") == "no form"


def test_the_form_takes_a_track_by_its_title() -> None:
    assert read_form(form(LINK, track=TRACKS["mini"].title), AUTHOR, TRACKS).track == "mini"
    assert read_form(form(LINK, track="Mini?"), AUTHOR, TRACKS | {"b": TRACKS["mini"]}).missing


def test_a_misspelled_rule_is_told() -> None:
    found = parse("/explain target-mised")
    assert isinstance(found, Mistake) and "did you mean `target-missed`?" in found.problem


def test_why_tells_the_finding_of_this_commit(competition: Competition) -> None:
    pull = competition.open(submission("slow", seconds=90.0, shift=0.5))
    assert competition.answer(pull.number).status is Status.REJECTED
    comment = competition.say(pull.number, STRANGER, "/why target-missed")
    assert competition.command(pull.number, comment) == "told why"
    answer = competition.comments(pull.number, BOT)[-1]
    assert "`target-missed`: " in answer and "3.7" in answer
    comment = competition.say(pull.number, STRANGER, "/why mfu-impossible")
    competition.command(pull.number, comment)
    assert "says nothing about this commit" in competition.comments(pull.number, BOT)[-1]


# ---- nothing is lost ----------------------------------------------------------------------------


def test_a_refused_reaction_does_not_cost_the_answer(competition: Competition) -> None:
    competition.github.faulty = True
    competition.github.faults.append(Fault("POST", "/reactions", status=403))
    pull = competition.open(submission("fast", seconds=90.0))
    comment = competition.say(pull.number, STRANGER, "/help")
    assert competition.command(pull.number, comment) == "help"
    assert len(competition.comments(pull.number, BOT)) == 1


def test_a_refused_start_is_told(competition: Competition) -> None:
    competition.repo.settings["workflows"] = []
    pull = competition.open(submission("fast", seconds=90.0))
    comment = competition.say(pull.number, AUTHOR, "/verify")
    assert competition.command(pull.number, comment) == "not started"
    (answer,) = competition.comments(pull.number, BOT)
    assert "could not be started" in answer and "/verify" in answer


def test_a_refused_start_is_told_below_what_is_recorded(competition: Competition) -> None:
    people = [{"github": AUTHOR}, {"github": STRANGER, "roles": ["idea", "code"]}]
    pull = competition.open(submission("fast", seconds=90.0, contributors=people))
    comment = competition.say(pull.number, STRANGER, "/confirm")
    competition.repo.settings["workflows"] = []
    assert competition.command(pull.number, comment) == "confirmed"
    (answer,) = competition.comments(pull.number, BOT)
    assert "could not be started" in answer and "confirms the roles `idea, code` here" in answer
    assert read_acted([answer]) == {STRANGER: "confirm"}, "the record stays"
    del competition.repo.settings["workflows"]
    competition.command(pull.number, comment)
    (answer,) = competition.comments(pull.number, BOT)
    assert "could not be started" not in answer and read_acted([answer])


def test_who_is_named_nowhere_confirms_nothing(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    comment = competition.say(pull.number, STRANGER, "/confirm")
    assert competition.command(pull.number, comment) == "not named"
    (answer,) = competition.comments(pull.number, BOT)
    assert f"does not name {STRANGER}" in answer.replace("\\", "") and not read_acted([answer])


def test_a_reviewer_who_cannot_be_asked_does_not_cost_the_verdict(
    competition: Competition,
) -> None:
    competition.github.faulty = True
    competition.github.faults.append(Fault("POST", "/requested_reviewers", status=422))
    pull = competition.open(submission("plain", seconds=90.0, summary=""), body="")
    assert competition.answer(pull.number).status is Status.NEEDS_REVIEW
    assert competition.labels(pull.number) == ["speedrun: needs-review"]


def test_a_check_of_an_app_that_is_gone_is_not_ours(competition: Competition) -> None:
    """GitHub documents `app: null`."""
    pull = competition.open(submission("fast", seconds=90.0))
    competition.answer(pull.number)
    next(iter(competition.repo.checks.values()))["app"] = None
    repo = competition.as_job("publish")
    assert our_checks(repo, Settings(), pull.head_sha) == []
    competition.publish(pull.number)
    assert len(our_checks(repo, Settings(), pull.head_sha)) == 1


def test_a_list_that_disagrees_with_the_count_is_not_checked_yet(
    competition: Competition,
) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    pull.pretend_count = 10
    report = competition.answer(pull.number)
    assert report.status is Status.UNVERIFIABLE
    assert competition.checks(pull.head_sha) == [("speedrun", "neutral")]


@pytest.mark.parametrize("ours", [False, True])
def test_a_monorepo_changes_more_files_than_github_lists(
    competition: Competition, ours: bool
) -> None:
    files = {"lib/code.py": "x = 1\n"}
    pull = competition.open({**files, **(submission("fast", seconds=90.0) if ours else {})})
    pull.pretend_count = 3001
    report = competition.answer(pull.number)
    assert report.status is (Status.REJECTED if ours else None)


def test_replaced_log_of_a_merged_entry(competition: Competition) -> None:
    files = submission("fast", seconds=90.0)
    pull = competition.open(files)
    competition.answer(pull.number)
    competition.github.merge(REPO, pull.number)
    competition.record(pull.number)
    faster = submission("fast", seconds=70.0)
    log = "submissions/mini/fast/logs/0.log"
    again = competition.open({**files, log: faster[log]}, branch="again")
    report = competition.verify(again.number)
    (verdict,) = report.verdicts
    changed = [f for f in verdict.findings if f.rule == "evidence-changed"]
    assert [f.file for f in changed] == [log]
    assert changed[0].expected == pytest.approx(90.0) and changed[0].claimed == pytest.approx(70.0)
    path = "submissions/mini/fast/submission.json"
    words = files[path].replace("Entry fast", "A better title")
    harmless = competition.open({**files, path: words}, branch="words")
    (verdict,) = competition.verify(harmless.number).verdicts
    assert [f for f in verdict.findings if f.rule == "evidence-changed"] == []


# ---- merge queue --------------------------------------------------------------------------------


def test_the_merge_queue_hears_what_the_pull_request_heard(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.answer(pull.number)
    queued = competition.github.commit(REPO, "queued", {"x": "y"})
    ref = f"refs/heads/gh-readonly-queue/main/pr-{pull.number}-{'0' * 40}"
    repo = competition.as_job("queue")
    for _ in range(2):
        repeat_check(repo, Settings(), ref, queued)
    assert competition.checks(queued) == [("speedrun", "success")]
    with pytest.raises(ValueError, match="not a branch of the merge queue"):
        repeat_check(repo, Settings(), "refs/heads/main", queued)


def test_the_merge_queue_lets_nothing_in_that_was_not_checked(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    queued = competition.github.commit(REPO, "queued", {"x": "y"})
    ref = f"gh-readonly-queue/main/pr-{pull.number}-{'0' * 40}"
    repeat_check(competition.as_job("queue"), Settings(), ref, queued)
    assert competition.checks(queued) == [("speedrun", "failure")]
    with pytest.raises(GitHubTrouble):
        repeat_check(competition.as_job("queue"), Settings(), ref.replace("pr-1", "pr-9"), queued)
