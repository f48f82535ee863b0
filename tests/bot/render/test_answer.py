"""The answer: short enough to be read in twenty seconds, never without a next step, the same for
terminal and comment."""

from __future__ import annotations

import dataclasses as dc
import re

import pytest

from bot.model.report import Kind, Place, Report, Settings
from bot.model.run import RunRecord
from bot.model.summary import Excluded, Summary
from bot.model.verdict import Finding, Point, Verdict, finding, status_of
from bot.registry import OURS, STATUS_NAMES, Grade, Level, Status, catalogue
from bot.render import details
from bot.render.answer import Answer, Where, answer
from bot.render.comment import body_of, to_markdown
from bot.render.groups import grouped
from bot.render.needed import needed
from bot.render.terminal import to_text
from tests.bot.render.words import before_next, rules, visible, words

FILE = "submissions/mini/idea/submission.json"
SETTINGS = Settings(site="https://example.org")
LONG = "word " * 200
RULES = {
    Status.REJECTED: "claim-differs-from-run",
    Status.UNVERIFIABLE: "evidence-unavailable",
    Status.NEEDS_RUNS: "target-not-significant",
    Status.NEEDS_REVIEW: "unlisted-runs",
    Status.CONSISTENT: "not-better-than-record",
    Status.VERIFIED: "not-better-than-record",
}
PLACE = Place(
    text="a new record by 1.3 s",
    result="76.09 s",
    rows=(
        ("Validation loss, mean of 8 runs", "3.2774", "below 3.28", ""),
        ("p-value", "0.000004", "below 0.01", ""),
        ("Training time", "76.09 s", "", "77.34 s"),
    ),
    record=True,
)


def verdict(status: Status, findings: tuple[Finding, ...]) -> Verdict:
    """A verdict of eight runs with findings that lead to a status."""
    grade = Grade.SELF_REPORTED if status is Status.CONSISTENT else Grade.LOG
    assert status_of(findings, grade) is status
    runs = tuple(
        RunRecord(f"logs/{n}.log", step=1375, loss=3.2774, time_s=76.0, gpu_count=8)
        for n in range(8)
    )
    point = Point("main", 3.2774, 76.09, {"loss": 3.2774, "training_time_s": 76.09})
    return Verdict("submissions/mini/idea", "mini", status, grade, findings, (point,), runs=runs)


def found(rule: str, n: int, message: str) -> Finding:
    return finding(rule, f"{message} {n}", file=FILE, line=n + 1, fix=f"write 3.27{n}")


def cases() -> list[tuple[str, Verdict]]:
    """Each status with one finding, with 12 of different rules, and with 12 long ones of one."""
    made = []
    for status, rule in RULES.items():
        grade = Grade.SELF_REPORTED if status is Status.CONSISTENT else Grade.LOG
        rules = [n for n in catalogue() if status_of([found(n, 0, "x")], grade) is status]
        one = (found(rule, 1, "the loss is claimed as 3.1, the runs give 3.2774:"),)
        many = tuple(
            found(rules[n % len(rules)], n, f"the run logs/{n}.log is odd in way")
            for n in range(12)
        )
        long = tuple(found(rule, n, LONG) for n in range(12))
        for name, findings in (("one", one), ("twelve", many), ("long", long)):
            made.append((f"{status}-{name}", verdict(status, findings)))
    return made


CASES = cases()


def comment(item: Verdict) -> str:
    """The visible part of the bot's comment."""
    report = Report("o/r", 1, "b" * 40, "0" * 40, Kind.SUBMISSION, "example-user", (item,))
    return body_of(dc.replace(report, places={item.submission: PLACE}), SETTINGS)


def test_every_status_is_covered() -> None:
    assert {item.status for _, item in CASES} == set(Status)
    assert len(CASES) == 3 * len(Status)


@pytest.mark.parametrize(("name", "item"), CASES, ids=[name for name, _ in CASES])
def test_the_next_step_comes_within_fifteen_words(name: str, item: Verdict) -> None:
    body = comment(item)
    assert body.count("**Next:**") == 1
    assert before_next(body) <= 15, visible(body)
    step = re.search(r"\*\*Next:\*\* (.*)", body)
    assert step and len(words(step[1])) >= 3


@pytest.mark.parametrize(("name", "item"), CASES, ids=[name for name, _ in CASES])
def test_what_is_visible_is_short(name: str, item: Verdict) -> None:
    body = comment(item)
    groups = len(rules(visible(body)))
    assert groups <= 3
    assert len(words(visible(body))) <= 120 + 60 * groups, visible(body)


@pytest.mark.parametrize(("name", "item"), CASES, ids=[name for name, _ in CASES])
def test_the_first_line_has_the_name_of_the_status(name: str, item: Verdict) -> None:
    first = comment(item).split("\n")[0].replace("\\", "")
    assert re.match(rf"### \S+ {STATUS_NAMES[item.status]}: .", first), first


@pytest.mark.parametrize(("name", "item"), CASES, ids=[name for name, _ in CASES])
def test_nothing_is_lost(name: str, item: Verdict) -> None:
    body = re.sub(r"\\(.)", r"\1", comment(item))
    for one in item.findings:
        fix = "" if one.rule in OURS else one.fix or ""
        assert f"`{one.rule}`" in body and fix in body, one.fix


def test_what_is_at_fault_on_our_side_asks_nothing_of_the_author() -> None:
    [item] = [v for name, v in CASES if name == "unverifiable-one"]
    assert "Fix:" not in comment(item)
    assert "Fix: write 3.271" in to_text(answer(item, where=Where.FOLDER))


def test_what_is_at_fault_on_our_side_is_no_thing_to_fix() -> None:
    names = ("claim-differs-from-run", "evidence-unavailable")
    said = answer(verdict(Status.REJECTED, tuple(found(rule, 1, "said") for rule in names)))
    assert said.result == "one thing to fix"
    assert tuple(g.rule for g in said.groups) == names[:1]
    assert tuple(g.rule for g in said.folded) == names[1:]


def test_what_is_folded_says_how_much_it_weighs_and_ends() -> None:
    names = ("schema",) * 3 + ("evidence-unavailable", "unlisted-runs")
    items = [found(rule, n, "this said") for n, rule in enumerate(names)]
    items[:3] = [dc.replace(items[0], message=f"`{key}` is missing") for key in "abc"]
    body = comment(verdict(Status.REJECTED, tuple(items)))
    lines = re.findall(r"^- ([\w ]+?) \[?`(\S+)`.*: (This.*)$", body, re.MULTILINE)
    assert lines == [
        ("our side", "evidence-unavailable", "This said 3."),
        ("warning", "unlisted-runs", "This said 4. **Fix:** write 3.274."),
    ]


def test_the_warning_about_all_runs_comes_before_those_about_one() -> None:
    names = ("run-unfinished", "seed-reused", "unlisted-runs", "run-not-bound")
    item = verdict(Status.NEEDS_REVIEW, tuple(found(rule, 1, "said") for rule in names))
    said = answer(item)
    assert [g.rule for g in said.groups] == ["run-not-bound", "run-unfinished", "seed-reused"]
    assert [g.rule for g in said.more] == ["unlisted-runs"]


def test_a_fold_lists_as_many_things_as_its_title_counts() -> None:
    items = [finding("schema", f"`{key}` is missing", file=FILE) for key in "abc"]
    items += [
        finding("schema", f"`arm` of run {n} is wrong", file=FILE, line=n, fix="write `x`")
        for n in (4, 5)
    ]
    items.append(finding("unlisted-runs", "runs are left out", file=FILE))
    item = answer(verdict(Status.REJECTED, tuple(items)))
    body = to_markdown(item, SETTINGS)
    assert item.fold == "One more to fix, 8 runs, all numbers and 1 note"
    lines = re.findall(r"^ *- .*$", body, re.MULTILINE)
    assert [line.partition("- ")[0] for line in lines] == ["", "  ", ""]
    assert lines[1] == "  - line 5: `arm` of run 5 is wrong."


def test_runs_with_one_fault_are_one_line_of_the_fold() -> None:
    link = "https://wandb.ai/e/p/runs/"
    items = tuple(
        finding("evidence-unavailable", f"no answer (r{n})", run=f"{link}r{n}") for n in range(4)
    )
    item = answer(dc.replace(verdict(Status.UNVERIFIABLE, items), runs=()))
    assert item.fold == "The other 3 runs"
    (line,) = re.findall(r"^- .*$", to_markdown(item, SETTINGS), re.MULTILINE)
    assert line.startswith("- as above: our side")
    assert line.endswith(f"The same goes for [`r2`]({link}r2), [`r3`]({link}r3).")


def test_runs_that_were_not_read_or_listed_twice_are_told_in_the_table() -> None:
    item = verdict(Status.REJECTED, (found("schema", 1, "wrong"),))
    out = tuple(Excluded(f"logs/{n}.log", 0, "it could not be read") for n in (0, 9))
    point = dc.replace(item.points[0], statistics=Summary(excluded=out))
    item = dc.replace(item, points=(point,), runs=(*item.runs, item.runs[0]))
    assert answer(item).fold.startswith("10 runs")
    ends = [(run, ended) for run, _, _, _, ended in details.run_rows(item)]
    assert ends[-2:] == [("logs/0.log", "listed twice"), ("logs/9.log", "not read")]
    assert ends[0] == ("logs/0.log", "unknown")


def test_a_fold_without_runs_promises_no_numbers() -> None:
    item = verdict(Status.UNVERIFIABLE, (found("evidence-unavailable", 1, "said"),))
    assert answer(item).fold == "8 runs and all numbers"
    assert answer(dc.replace(item, runs=())).fold == "Details"


def test_no_praise_above_open_warnings() -> None:
    place = dc.replace(PLACE, first_entry=True)
    for status in Status:
        [item] = [v for name, v in CASES if name == f"{status}-one"]
        text = to_markdown(answer(item, place), SETTINGS)
        assert ("welcome" in text) == (status is Status.VERIFIED)
        assert "ongratulations" not in text


# ---- groups -------------------------------------------------------------------------------------


def test_one_cause_of_many_runs_is_one_group() -> None:
    items = [
        finding(
            "run-unfinished", f"logs/{n}.log ends at step {100 + n} of 1000", run=f"logs/{n}.log"
        )
        for n in range(8)
    ]
    [group] = grouped(items)
    assert group.says == "logs/0.log ends at step 100 of 1000. The same goes for 7 more runs."
    assert len(group.findings) == 8


def test_different_mistakes_of_one_rule_are_counted_apart() -> None:
    items = [finding("schema", f"`{key}` is missing", file=FILE) for key in "abcdefghijkl"]
    assert [g.says for g in grouped(items)] == [f"`{k}` is missing." for k in "abcdefghijkl"]
    assert answer(verdict(Status.REJECTED, tuple(items))).result == "12 things to fix"


def test_a_fix_is_not_said_to_settle_what_has_another() -> None:
    items = [
        finding("schema", "`arm` is wrong", file=FILE, line=n, fix=f"write {n}") for n in range(5)
    ]
    [group] = grouped(items)
    assert (group.says, group.fix) == ("`arm` is wrong.", "write 0.")
    assert group.others == "4 more like this are folded, each with its own fix."
    assert grouped(items[:2])[0].others == "1 more like this is folded, with its own fix."
    alike = [dc.replace(item, fix="write `x`") for item in items]
    assert grouped(alike)[0].says == "`arm` is wrong. The same goes for 4 more places."
    other = [*alike, dc.replace(alike[0], fix="remove it")]
    assert [len(group.findings) for group in grouped(other)] == [5, 1]


def test_a_number_is_never_shown_without_its_bound() -> None:
    said = "the mean is good (3.2773, target 3.28), but 2 runs leave too much to chance: "
    for more in range(1, 40):
        text = f"{said}p = 0.021, needed below 0.01; {'a long tale ' * more}, and its end"
        shown = grouped([finding("schema", text, fix=LONG)])[0].says
        assert "p = 0.021" not in shown or "p = 0.021, needed below 0.01" in shown, shown
    [group] = grouped([finding("schema", f"{said}p = 0.021, needed below 0.01", fix=LONG)])
    assert "3.2773, target 3.28" in group.says


def test_twelve_things_say_where_to_begin() -> None:
    [item] = [v for name, v in CASES if name == "rejected-twelve"]
    said = answer(item)
    assert said.line == "Needs changes: 12 things to fix"
    assert said.next == (
        "fix the three below and the nine in the fold, then push once; the check runs again by "
        "itself."
    )
    assert len(said.groups) == 3 and said.fold.startswith("Nine more to fix, 8 runs")


def test_what_is_fixed_on_wandb_needs_no_push() -> None:
    item = finding("project-not-public", "said", fix="make it public, then comment /verify")
    said = answer(verdict(Status.REJECTED, (item,))).next
    assert said == "make the fix below and push, or comment `/verify` if no file changed."


def test_few_different_findings_stay_apart() -> None:
    items = [finding("schema", f"`{key}` is missing", file=FILE) for key in ("a", "b", "c")]
    assert [g.says for g in grouped(items)] == [f"`{k}` is missing." for k in "abc"]


def test_what_follows_stands_under_its_cause_with_what_to_write() -> None:
    cause = finding("hardware-flops-mismatch", "too low", file="r.json", line=9)
    peak = finding(
        "device-peak-mismatch", "wrong", file="r.json", line=6, write=3.12e14, because=cause.rule
    )
    mfu = finding("mfu-impossible", "too high", file="r.json", because=cause.rule)
    [group] = grouped([cause, peak, mfu])
    assert group.also == (
        "This also settles `device-peak-mismatch` (line 6: write `3.12e14`) and `mfu-impossible`."
    )


def test_a_weak_finding_hides_no_strong_one() -> None:
    strong = finding("duplicate-run", "the run is also in another entry")
    weak = [finding("unlisted-runs", f"the project has {n} more runs") for n in range(20)]
    item = answer(Verdict("s", "t", Status.REJECTED, Grade.LOG, (*weak, strong), ()))
    assert [g.rule for g in item.groups] == ["duplicate-run"]
    assert item.line == "Needs changes: one thing to fix"


# ---- the next step ------------------------------------------------------------------------------


def short_of(claimed: int, expected: int, needed_runs: int | None = None) -> Verdict:
    item = finding("too-few-runs", "too few", claimed=claimed, expected=expected)
    point = Point("main", 3.27, 76.0, {}, Summary(needed_runs=needed_runs))
    return Verdict("s", "t", Status.NEEDS_RUNS, Grade.LOG, (item,), (point,))


def test_as_many_runs_are_asked_for_as_are_needed() -> None:
    assert needed(short_of(1, 3)) == 2
    assert needed(short_of(1, 3, 7)) == 7


def test_two_hundred_runs_are_not_asked_for() -> None:
    item = answer(short_of(1, 2, 204))
    assert item.line == "Needs more runs: slightly longer ones"
    assert item.next.startswith("train slightly longer")
    assert answer(short_of(1, 2, 20)).line == "Needs more runs: about 20 more"


@pytest.mark.parametrize("where", list(Where))
@pytest.mark.parametrize("status", list(Status))
def test_a_next_step_for_every_reader(where: Where, status: Status) -> None:
    [item] = [v for name, v in CASES if name == f"{status}-one"]
    step = answer(item, PLACE, where).next
    assert step.endswith(".") and len(step.split()) >= 3
    if not where.on_pull:
        assert "`/" not in step, "a command on a pull request, to somebody who has none"


def test_what_does_not_rank_says_why() -> None:
    [item] = [v for name, v in CASES if name == "verified-one"]
    place = Place(text="it has no baseline arm", result="76.09 s", ranks=False)
    said = answer(item, place)
    assert said.line == "Verified: 76.09 s, not ranked"
    assert said.next == "nothing is wrong, but it does not rank: it has no baseline arm."


# ---- one renderer -------------------------------------------------------------------------------


def shown(text: str) -> list[str]:
    """Words of a text without layout: what two printers of one answer have in common."""
    plain = re.sub(r"[*`#\\]|\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.findall(r"[\w.,/%-]*\w", plain)


def same_words(item: Answer) -> None:
    """Terminal and comment show the same result, step, findings and table, in the same words."""
    text, body = shown(to_text(item, width=400)), shown(to_markdown(item, SETTINGS))
    for part in (item.line, item.next):
        assert _holds(text, shown(part)) and _holds(body, shown(part)), part
    for group in item.groups:
        assert group.rule in text and group.rule in body
        for part in (group.says, group.fix, group.also, group.others):
            assert _holds(text, shown(part)) and _holds(body, shown(part)), part
    for row in item.rows:
        for cell in row:
            assert _holds(text, shown(cell)) and _holds(body, shown(cell)), cell


def _holds(text: list[str], part: list[str]) -> bool:
    joined = " ".join(text)
    return " ".join(part) in joined


@pytest.mark.parametrize(("name", "item"), CASES, ids=[name for name, _ in CASES])
def test_terminal_and_comment_say_the_same(name: str, item: Verdict) -> None:
    if not name.endswith("long"):
        same_words(answer(item, PLACE))


def test_the_same_on_the_submissions_of_the_repository(own_verdicts: tuple[Verdict, ...]) -> None:
    assert len(own_verdicts) > 100
    for item in own_verdicts:
        said = answer(item)
        same_words(said)
        body = to_markdown(said, SETTINGS)
        assert before_next(body) <= 15, visible(body)
        assert len(words(visible(body))) <= 120 + 60 * len(said.groups), visible(body)


def test_levels_are_those_of_the_findings() -> None:
    for _, item in CASES:
        levels = {g.level for g in answer(item).groups}
        assert levels <= {Level.ERROR, Level.WARNING} and len(levels) <= 1
