"""The next step: all that is to be done, how it goes on, and what the reader can count on."""

from __future__ import annotations

import dataclasses as dc

import pytest

from bot.model.report import Place, Settings
from bot.model.submission import Reply
from bot.model.summary import BaselineArm, Chance, Sample, Summary
from bot.model.verdict import Finding, Point, Verdict, finding
from bot.registry import Grade, Status
from bot.render.answer import Where, answer
from bot.render.comment import render, view
from bot.render.terminal import to_text
from tests.bot.render.words import visible

SETTINGS = Settings(site="https://example.org")
FILE = "s/submission.json"
KEYS = "abcdefghij"


def of(status: Status, rule: str, many: int, fix: str | None = "do it") -> Verdict:
    items = tuple(finding(rule, f"`{key}` is odd", file=FILE, fix=fix) for key in KEYS[:many])
    return Verdict("s", "t", status, Grade.LOG, items, ())


def comment(item: Verdict, suggestion: str | None = None) -> str:
    """What is visible on a pull request; the suggestion stands on a page of its own."""
    links = {(FILE, 5): "https://example.org/review"} if suggestion else None
    shown = view(answer(item), 200, 50, links)
    return visible(render("_answer.md.j2", SETTINGS, a=shown, details=True, sha="b" * 40))


@pytest.mark.parametrize(
    ("many", "step"),
    [
        (1, "make the fix below, or explain it"),
        (2, "fix the two below, or explain them"),
        (3, "fix the three below, or explain them"),
        (4, "fix the three below and the one in the fold, or explain them"),
        (10, "fix the three below and the seven in the fold, or explain them"),
    ],
)
def test_a_review_comes_after_the_fixes(many: int, step: str) -> None:
    item = answer(of(Status.NEEDS_REVIEW, "unlisted-runs", many), review_days=3)
    assert item.next == (
        f"{step} in a comment. A push or the comment `/verify` starts the check again; then "
        "a maintainer reviews it within 3 days."
    )


def test_what_has_no_fix_waits_for_the_maintainer_alone() -> None:
    item = of(Status.NEEDS_REVIEW, "unlisted-runs", 2, fix=None)
    assert answer(item, review_days=3).next == (
        "a maintainer reviews it within 3 days; you may explain it in a comment."
    )


def test_a_terminal_has_no_fold() -> None:
    item = of(Status.REJECTED, "schema", 5)
    assert answer(item, where=Where.FOLDER).next == (
        "fix the three below and the two that `-v` shows, then run the check again."
    )


def test_a_review_that_waits_for_the_author_says_for_how_much() -> None:
    place = Place(result="90.14 s", text="a possible record by 30.0 s")
    ten = of(Status.NEEDS_REVIEW, "unlisted-runs", 10)
    first = "10 things to fix first; 90.14 s, a possible record by 30.0 s"
    assert answer(ten, place).result == first
    assert answer(ten, place, Where.BOARD).result == "90.14 s, a possible record by 30.0 s"
    long = dc.replace(place, text="on the frontier of 12 entries, which is a long tale")
    told = "90.14 s, on the frontier of 12 entries, which is a long tale"
    assert answer(ten, long).result == told, "the place is never left out"
    middle = dc.replace(place, text="a possible record by 30.0 s, and challenged")
    assert answer(ten, middle).result == f"your turn first; 90.14 s, {middle.text}"
    long = Place(result="3 % less training time than the baseline, within the noise")
    assert answer(ten, long).result == long.result, "the result is never left out"
    nothing = of(Status.NEEDS_REVIEW, "unlisted-runs", 10, fix=None)
    assert answer(nothing, place).result == "90.14 s, a possible record by 30.0 s"


@pytest.mark.parametrize(
    ("status", "rule", "fix"),
    [
        (Status.NEEDS_REVIEW, "unlisted-runs", "list them, or say here why not."),
        (Status.REJECTED, "schema", "list them, or say in the README why not."),
    ],
)
def test_a_review_has_one_place_to_explain(status: Status, rule: str, fix: str) -> None:
    item = of(status, rule, 1, fix="list them, or say in the README why not")
    assert answer(item).groups[0].fix == fix
    assert "in the README" in (answer(item, where=Where.FOLDER).groups[0].fix or "")


@pytest.mark.parametrize(
    ("many", "things", "step", "fold"),
    [
        (1, "two", "fix the two below and push; ", "1 note"),
        (5, "six", "fix the three below and the three in the fold, then push once; ",
         "Three more to fix and 1 note"),
    ],
)  # fmt: skip
def test_title_step_and_fold_have_one_count(many: int, things: str, step: str, fold: str) -> None:
    item = of(Status.REJECTED, "schema", many)
    warned = finding("unlisted-runs", "said", fix="list them")
    silent = finding("seed-reused", "said")
    item = dc.replace(item, findings=(*item.findings, warned, silent))
    said = answer(item)
    assert said.result == f"{things} things to fix"
    assert said.next == f"{step}the check runs again by itself."
    assert said.fold == fold, "a finding without a fix is not among the things to fix"


def test_good_numbers_do_not_stand_beside_a_bad_verdict() -> None:
    place = Place(result="90.1 s", rows=(("p-value", "0.000004", "below 0.01", ""),))
    for rule, beside in (("schema", False), ("target-missed", True)):
        body = render(
            "_answer.md.j2",
            SETTINGS,
            a=view(answer(of(Status.REJECTED, rule, 1), place), 200, 50),
            details=True,
            sha="b" * 40,
        )
        assert ("0.000004" in visible(body)) is beside and "0.000004" in body
    assert answer(of(Status.NEEDS_REVIEW, "unlisted-runs", 1), place).rows


def short(*chances: Chance) -> Verdict:
    odds = "".join(f", {c.chance:.0%} with {c.runs}" for c in chances[1:]).replace("%", " %")
    fix = f"add about 2 runs: about 75 % chance to pass{odds}. Anyone may add the runs"
    item = finding("target-not-significant", "too much chance", fix=fix)
    point = Point("main", 3.27, 76.0, {}, Summary(needed_runs=2, chances=chances))
    return Verdict("s", "t", Status.NEEDS_RUNS, Grade.LOG, (item,), (point,))


def test_more_runs_say_their_chance_once_and_that_all_count() -> None:
    item = answer(short(Chance(2, 0.75), Chance(3, 0.85)), Place(text="a record by 1.0 s"))
    assert item.next == (
        "run it about 2 more times with new seeds. Add each log to the folder and to `runs` in "
        "`submission.json` and push, or comment `/runs add LINK` with the address of each W&B run."
    )
    assert item.outlook == (
        "If it passes: a record by 1.0 s. Anyone may add the runs, and every new run counts, bad "
        "ones too. Judging by the runs so far, 2 more are enough in 75 % of cases, 3 more in 85 %."
    )
    assert item.groups[0].fix == "", "the step says it"


def test_warnings_beside_missing_runs_are_to_be_fixed_too() -> None:
    missing = short(Chance(2, 0.75))
    warned = finding("unlisted-runs", "said", fix="list them")
    item = answer(dc.replace(missing, findings=(*missing.findings, warned)))
    assert item.next.endswith("Fix it too: see below.")
    assert [g.rule for g in item.groups] == ["target-not-significant", "unlisted-runs"]


def test_a_chance_that_the_step_does_not_say_stays_with_the_fix() -> None:
    item = answer(short())
    assert "cases" not in item.outlook and "75 % chance to pass" in item.groups[0].fix


def test_what_could_not_be_read_is_no_list_of_fixes() -> None:
    item = of(Status.UNVERIFIABLE, "evidence-unavailable", 1)
    body = comment(item)
    assert "Why the bot could not check it:" in body and "1. " not in body
    assert "every night, and a maintainer steps in if it still fails after 7 days" in body
    assert "Read `s` at" in body and "Checked" not in body
    text = to_text(answer(item, where=Where.FOLDER))
    assert "Read s." in text and "Checked" not in text
    assert "Checked `s`" in comment(of(Status.REJECTED, "schema", 1))


def test_what_we_could_not_fetch_names_the_runs_and_blames_no_line() -> None:
    runs = [f"https://wandb.ai/a/b/runs/fast{n}" for n in range(3)]
    items = tuple(
        finding("evidence-unavailable", f"W&B is down (fast{n})", file=FILE, line=n + 5, run=run)
        for n, run in enumerate(runs)
    )
    item = Verdict("s", "t", Status.UNVERIFIABLE, Grade.LOG, items, ())
    assert answer(item).groups[0].says == "W&B is down (fast0 and 2 more runs)."
    assert "line 5" not in comment(item)
    one = of(Status.UNVERIFIABLE, "evidence-unavailable", 1)
    assert "submission.json" in comment(one), "no run says what was read"


@pytest.mark.parametrize(
    ("fix", "shown"),
    [
        ("write 90.175, or remove the claim", "or write 90.175."),
        ('write "x, or leave y"', 'or write "x, or leave y".'),
    ],
)
def test_a_suggestion_comes_first_and_leaves_one_other_way(fix: str, shown: str) -> None:
    line = '"training_time_s": 90.175'
    one = dc.replace(wrong(fix), suggestion=line)
    item = Verdict("s", "t", Status.REJECTED, Grade.LOG, (one,), ())
    assert f"apply the suggestion, {shown}" in comment(item, line)
    assert "apply" not in comment(item) and "remove the claim" not in comment(item, line)


def wrong(fix: str) -> Finding:
    return finding("claim-differs-from-run", "said", file=FILE, line=5, fix=fix)


@pytest.mark.parametrize(
    ("ours", "theirs", "said", "line"),
    [
        (1, 1, "2 more of the entry and 2 more of the baseline", "LINK... baseline LINK..."),
        (3, 1, "2 more of the baseline", "baseline LINK..."),
        (1, 3, "2 more of the entry", "LINK..."),
        (3, 0, "3 more of the baseline", "baseline LINK..."),
    ],
)
def test_more_runs_name_the_arm_that_lacks_them(
    ours: int, theirs: int, said: str, line: str
) -> None:
    item = finding("too-few-runs", "few", claimed=min(ours, theirs), expected=3)
    arm = BaselineArm(cost=Sample((100.0,) * theirs)) if theirs else None
    summary = Summary(quality=Sample((3.27,) * ours), baseline=arm)
    verdict = dc.replace(short(), findings=(item,), reply=Reply("reproduces", "lab/x"))
    told = answer(dc.replace(verdict, points=(Point("main", 3.27, 76.0, {}, summary),)))
    assert told.result == said
    assert told.next == (
        f"run {said}, in turn on one machine. Comment `/runs add {line}` with the address of each "
        "W&B run."
    )


def test_nobody_is_told_to_push_to_a_branch_of_ours() -> None:
    for status in (Status.REJECTED, Status.NEEDS_REVIEW):
        verdict = of(status, "explanation-missing", 1)
        told = answer(verdict, where=Where.INTAKE).next
        assert "comment `/withdraw` here, then `/submit` again" in told and "A push" not in told
        assert "/withdraw" not in answer(verdict).next
    told = answer(short(), where=Where.INTAKE).next
    assert "Comment `/runs add LINK`" in told and "push" not in told
