"""Suggestions that one click applies: on lines of the diff alone, never twice, never stale."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bot.github.pull_request.suggestions import START, shown_lines
from bot.registry import Status
from tests.bot.github.competition import (
    AUTHOR,
    BOT,
    REPO,
    STRANGER,
    Competition,
    submission,
)
from tests.bot.github.test_faults import FAULTS
from tests.doubles.github import Fault, git
from tests.doubles.github.routes_reviews import apply_suggestion, remark
from tests.doubles.github.world import Pull

pytestmark = pytest.mark.one_in(3)

REVIEWS = re.compile(r"/pulls/(\d+/(comments|reviews)|comments/\d+)$")
LIST = "submissions/mini/fast/submission.json"


def claiming(**claims: Any) -> dict[str, Any]:
    """A submission whose claims are its only fault; its runs take 90 to 90.4 s."""
    return dict(submission("fast", seconds=90.0, claims=claims))


def standing(competition: Competition) -> list[dict[str, Any]]:
    return list(competition.repo.reviewed.values())


def lines(competition: Competition, pull: Pull) -> list[str]:
    found = git.git(competition.repo.directory, "show", f"{pull.head_sha}:{LIST}")
    return found.decode().split("\n")


def test_one_click_makes_the_check_pass(competition: Competition) -> None:
    pull = competition.open(claiming(training_time_s=60.0))
    assert competition.answer(pull.number).status is Status.REJECTED
    [comment] = standing(competition)
    assert comment["user"] == BOT and comment["path"] == LIST
    assert "60.0" in lines(competition, pull)[comment["original_line"] - 1]
    body = competition.sticky(pull.number)
    page = f"https://github.com/{REPO}/pull/{pull.number}#pullrequestreview-{comment['review']}"
    assert f"[apply the suggestion]({page})" in body
    assert "```" not in body, "what one click writes need not be copied"

    before = lines(competition, pull)
    apply_suggestion(competition.github, competition.repo, comment["id"])
    after = lines(competition, pull)
    assert [n for n, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]] == [
        comment["original_line"] - 1
    ]
    assert competition.answer(pull.number).status is Status.VERIFIED
    assert standing(competition) == [], "an applied suggestion is taken back"


def test_publishing_again_posts_nothing_twice(competition: Competition) -> None:
    pull = competition.open(claiming(training_time_s=60.0))
    competition.answer(pull.number)
    body, before = competition.sticky(pull.number), standing(competition)
    since = len(competition.github.calls)
    competition.publish(pull.number)
    assert {c.method for c in competition.github.calls[since:]} == {"GET"}
    assert (competition.sticky(pull.number), standing(competition)) == (body, before)


def test_at_most_three(competition: Competition) -> None:
    claims = {"loss": {"mean": 3.1, "sd": 0.5, "n": 3, "p": 0.5}, "training_time_s": 60.0}
    pull = competition.open(claiming(**claims))
    competition.answer(pull.number)
    assert len(standing(competition)) == 3
    assert len({c["original_line"] for c in standing(competition)}) == 3
    assert len({c["review"] for c in standing(competition)}) == 1, "one review, one notification"


def test_clicking_all_there_is_makes_it_pass(competition: Competition) -> None:
    claims = {"loss": {"mean": 3.1, "sd": 0.5, "n": 3, "p": 0.5}, "training_time_s": 60.0}
    pull = competition.open(claiming(**claims))
    for _ in range(4):
        since = len(competition.github.calls)
        passes = competition.answer(pull.number).status is Status.VERIFIED
        asked = [c for c in competition.github.calls[since:] if REVIEWS.search(c.path)]
        assert len(asked) <= 2 + sum(c.method == "DELETE" for c in asked)
        if passes:
            break
        for comment in standing(competition):
            apply_suggestion(competition.github, competition.repo, comment["id"])
    assert competition.labels(pull.number) == ["speedrun: verified"]
    assert standing(competition) == []


def test_line_that_is_not_in_the_diff_is_told_as_text(competition: Competition) -> None:
    """The entry is on the default branch already, and the pull request changes it far away."""
    files = claiming(training_time_s=60.0)
    data = json.loads(files[LIST])
    data = {"claims": data.pop("claims"), **data}
    files[LIST] = json.dumps(data, indent=2) + "\n"
    competition.github.commit(REPO, "main", dict(files))
    data["runs"].pop()
    pull = competition.open({LIST: json.dumps(data, indent=2) + "\n"})
    report = competition.answer(pull.number)
    assert "claim-differs-from-run" in {f.rule for f in report.verdicts[0].errors}
    assert standing(competition) == []
    assert "```json" in competition.sticky(pull.number)


def test_windows_line_ends_are_never_half_changed(competition: Competition) -> None:
    files = claiming(training_time_s=60.0)
    files[LIST] = files[LIST].replace("\n", "\r\n").encode()
    pull = competition.open(files)
    assert competition.answer(pull.number).status is Status.REJECTED
    assert standing(competition) == []
    assert "```json" in competition.sticky(pull.number)


def test_the_last_line_of_a_file_without_a_line_end(competition: Competition) -> None:
    files = claiming()
    text = json.dumps({k: v for k, v in json.loads(files[LIST]).items() if k != "claims"})
    files[LIST] = f'{text[:-1]},\n"claims": {{"training_time_s": 60.0}}}}'
    pull = competition.open(files)
    competition.answer(pull.number)
    [comment] = standing(competition)
    apply_suggestion(competition.github, competition.repo, comment["id"])
    assert lines(competition, pull)[-1] == '"claims": {"training_time_s": 90.175}}'
    assert competition.answer(pull.number).status is Status.VERIFIED


def test_a_review_has_a_text_of_its_own(competition: Competition) -> None:
    """GitHub's description asks for one of every review that comments."""
    pull = competition.open(claiming(training_time_s=60.0))
    competition.answer(pull.number)
    [posted] = [c for c in competition.github.calls if c.path.endswith("/reviews")]
    assert posted.body["event"] == "COMMENT" and posted.body["body"].strip()
    assert posted.body["commit_id"] == pull.head_sha
    assert all(c["side"] == "RIGHT" and c["line"] > 0 for c in posted.body["comments"])


@pytest.mark.parametrize("inside", ["```", "````", "```suggestion", "<!-- x -->", "| a \\\\ b"])
def test_line_with_marks_of_markdown(competition: Competition, inside: str) -> None:
    """The line holds another value beside the one that is wrong."""
    files = claiming(training_time_s=60.0)
    text = files[LIST].replace(
        '"training_time_s": 60.0', f'"training_time_s": 60.0, "note": "{inside}"'
    )
    files[LIST] = text
    pull = competition.open(files)
    competition.answer(pull.number)
    for comment in standing(competition):
        before = lines(competition, pull)[comment["original_line"] - 1]
        apply_suggestion(competition.github, competition.repo, comment["id"])
        after = lines(competition, pull)[comment["original_line"] - 1]
        assert after != before and inside in after


def test_another_commit_takes_back_what_no_longer_holds(competition: Competition) -> None:
    pull = competition.open(claiming(training_time_s=60.0))
    competition.answer(pull.number)
    [first] = standing(competition)
    competition.push(claiming(training_time_s=70.0))
    competition.answer(pull.number)
    [second] = standing(competition)
    assert second["id"] != first["id"]
    competition.push(claiming(training_time_s=70.0) | {"submissions/mini/fast/notes.txt": "x\n"})
    competition.answer(pull.number)
    assert standing(competition) == [second], "a push elsewhere leaves it"


def test_answered_suggestion_keeps_its_thread(competition: Competition) -> None:
    pull = competition.open(claiming(training_time_s=60.0))
    competition.answer(pull.number)
    [ours] = standing(competition)
    said = {"path": LIST, "line": ours["original_line"], "body": "Is that so?"}
    remark(competition.github, competition.repo, pull, AUTHOR, said, 1, ours["id"])
    competition.push(submission("fast", seconds=90.0))
    competition.answer(pull.number)
    kept, answer = standing(competition)
    assert kept["id"] == ours["id"] and "```" not in kept["body"]
    assert answer["body"] == "Is that so?"
    since = len(competition.github.calls)
    competition.publish(pull.number)
    assert {c.method for c in competition.github.calls[since:]} == {"GET"}


def test_comments_of_others_are_left_alone(competition: Competition) -> None:
    """Even with our marker in them, and with the very words."""
    pull = competition.open(claiming(training_time_s=60.0))
    competition.answer(pull.number)
    [ours] = standing(competition)
    said = {"path": LIST, "line": ours["original_line"], "body": ours["body"]}
    remark(competition.github, competition.repo, pull, STRANGER, said, 1)
    competition.push(submission("fast", seconds=90.0))
    competition.answer(pull.number)
    assert [c["user"] for c in standing(competition)] == [STRANGER]


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_while_it_is_posted(competition: Competition, fault: str) -> None:
    pull = competition.open(claiming(training_time_s=60.0))
    competition.verify(pull.number)
    planned = FAULTS[fault]("POST", "/pulls/1/reviews$")
    competition.github.faults = [planned]
    competition.publish(pull.number)
    assert planned.times == 0, "the fault was never met"
    body = competition.sticky(pull.number)
    [comment] = standing(competition)
    assert f"#pullrequestreview-{comment['review']})" in body
    competition.publish(pull.number)
    assert (competition.sticky(pull.number), standing(competition)) == (body, [comment])


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_while_it_is_taken_back(competition: Competition, fault: str) -> None:
    pull = competition.open(claiming(training_time_s=60.0))
    competition.answer(pull.number)
    competition.push(submission("fast", seconds=90.0))
    competition.verify(pull.number)
    planned = FAULTS[fault]("DELETE", "/pulls/comments/")
    competition.github.faults = [planned]
    competition.publish(pull.number)
    assert planned.times == 0, "the fault was never met"
    assert standing(competition) == []


def test_two_workers_that_both_saw_none(competition: Competition) -> None:
    pull = competition.open(claiming(training_time_s=60.0))
    competition.answer(pull.number)
    [ours] = standing(competition)
    said = {"path": LIST, "line": ours["original_line"], "body": ours["body"]}
    remark(competition.github, competition.repo, pull, BOT, said, 7)
    competition.publish(pull.number)
    assert standing(competition) == [ours]


def test_token_that_may_not_comment_on_lines(competition: Competition) -> None:
    pull = competition.open(claiming(training_time_s=60.0))
    competition.github.faults.append(
        Fault("POST", rf"/pulls/{pull.number}/reviews", status=403, times=9)
    )
    assert competition.answer(pull.number).status is Status.REJECTED
    assert "```json" in competition.sticky(pull.number)


def test_marker_is_not_shown(competition: Competition) -> None:
    pull = competition.open(claiming(training_time_s=60.0))
    competition.answer(pull.number)
    [comment] = standing(competition)
    first, rest = comment["body"].split("\n", 1)
    assert first.startswith(START) and first.endswith("-->")
    assert rest.startswith("[`claim-differs-from-run`](https://example.org/board/rules/")


def test_lines_of_a_patch() -> None:
    end = "\\ No newline at end of file"
    patch = f"@@ -1,3 +1,4 @@ x\n a\n-b\n+B\n+C\n c\n@@ -20 +21,2 @@\n z\n+y\n{end}"
    assert shown_lines(patch) == {1: "a", 2: "B", 3: "C", 4: "c", 21: "z", 22: "y"}
    assert shown_lines("@@ -1,3 +1,3 @@\n a\n\n c") == {}, "a hunk that was cut tells no lines"
    assert shown_lines("") == {}
