"""The next step: all that is to be done, how it goes on, and what the reader can count on."""

from __future__ import annotations

import dataclasses as dc

import pytest

from bot.model.report import Place, Settings
from bot.model.summary import Chance, Summary
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
        (1, "make the fix below"),
        (2, "fix the two below"),
        (3, "fix the three below"),
        (4, "fix the three below and the one in the fold"),
        (10, "fix the three below and the seven in the fold"),
    ],
)
def test_a_review_comes_after_the_fixes(many: int, step: str) -> None:
    item = answer(of(Status.NEEDS_REVIEW, "unlisted-runs", many), review_days=3)
    assert item.next == (
        f"{step}, then push, or comment `/verify` if no file changed; what you cannot fix, "
        "explain here. A maintainer then reviews it within 3 days."
    )


def test_what_has_no_fix_waits_for_the_maintainer_alone() -> None:
    item = of(Status.NEEDS_REVIEW, "unlisted-runs", 2, fix=None)
    assert answer(item, review_days=3).next == (
        "a maintainer reviews it within 3 days; you may explain it before that."
    )


def test_a_terminal_has_no_fold() -> None:
    item = of(Status.REJECTED, "schema", 5)
    assert answer(item, where=Where.FOLDER).next == (
        "fix the three below and the two that `-v` shows, then run the check again."
    )


def test_a_review_that_waits_for_the_author_says_for_how_much() -> None:
    place = Place(result="90.14 s", text="a possible record by 30.0 s")
    ten = of(Status.NEEDS_REVIEW, "unlisted-runs", 10)
    assert answer(ten, place).result == "10 things to fix; 90.14 s, a possible record by 30.0 s"
    assert answer(ten, place, Where.BOARD).result == "90.14 s, a possible record by 30.0 s"
    long = dc.replace(place, text="on the frontier of 12 entries, which is a long tale")
    told = "90.14 s, on the frontier of 12 entries, which is a long tale"
    assert answer(ten, long).result == told, "the place is never left out"
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
    ("many", "step"),
    [
        (1, "make the fix below, fix or explain one more in the fold, then push; "),
        (
            5,
            "fix the three below and the two in the fold, fix or explain one more there, then "
            "push once; ",
        ),
    ],
)
def test_the_step_names_what_may_be_explained(many: int, step: str) -> None:
    item = of(Status.REJECTED, "schema", many)
    more = (finding("unlisted-runs", "said"), finding("not-better-than-record", "said"))
    item = dc.replace(item, findings=(*item.findings, *more))
    assert answer(item).next == f"{step}the check runs again by itself."


def test_the_fold_says_what_needs_something_done() -> None:
    found = of(Status.REJECTED, "schema", 4)
    more = (finding("unlisted-runs", "said"), finding("not-better-than-record", "said"))
    item = dc.replace(found, findings=(*found.findings, *more))
    assert answer(item).fold == "One more to fix, one to fix or explain and 1 note (nothing to do)"
    assert answer(found).fold == "One more to fix"


def short(*chances: Chance) -> Verdict:
    odds = "".join(f", {c.chance:.0%} with {c.runs}" for c in chances[1:]).replace("%", " %")
    fix = f"add 2 runs: about 75 % chance to pass{odds}. Anyone may supply them"
    item = finding("target-not-significant", "too much chance", fix=fix)
    point = Point("main", 3.27, 76.0, {}, Summary(needed_runs=2, chances=chances))
    return Verdict("s", "t", Status.NEEDS_RUNS, Grade.LOG, (item,), (point,))


def test_more_runs_say_their_chance_once_and_that_all_count() -> None:
    item = answer(short(Chance(2, 0.75), Chance(3, 0.85)), Place(text="a record by 1.0 s"))
    assert item.next == (
        "run it about 2 more times with new seeds: 2 more give a 75 % chance to pass, 3 give "
        "85 %. Add each log to the folder and to `runs` in `submission.json` and push, or comment "
        "`/runs add LINK` with the address of each W&B run. Anyone may supply them; every new "
        "run counts, bad ones too. If it passes: a record by 1.0 s."
    )
    assert item.groups[0].fix == "add 2 runs."


def test_a_chance_that_the_step_does_not_say_stays_with_the_fix() -> None:
    item = answer(short())
    assert "chance" not in item.next and "75 % chance to pass" in item.groups[0].fix


def test_what_could_not_be_read_is_no_list_of_fixes() -> None:
    item = of(Status.UNVERIFIABLE, "evidence-unavailable", 1)
    body = comment(item)
    assert "What we could not read:" in body and "1. " not in body
    assert "every night" in body and "Read `s` at" in body and "Checked" not in body
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
        ("write 90.175, or remove the claim", "under the file, or write 90.175."),
        ('write "x, or leave y"', 'under the file, or write "x, or leave y".'),
    ],
)
def test_a_suggestion_comes_first_and_leaves_one_other_way(fix: str, shown: str) -> None:
    line = '"training_time_s": 90.175'
    one = dc.replace(wrong(fix), suggestion=line)
    item = Verdict("s", "t", Status.REJECTED, Grade.LOG, (one,), ())
    assert f"Apply the suggestion {shown}" in comment(item, line)
    assert "Apply" not in comment(item) and "remove the claim" not in comment(item, line)


def wrong(fix: str) -> Finding:
    return finding("claim-differs-from-run", "said", file=FILE, line=5, fix=fix)
