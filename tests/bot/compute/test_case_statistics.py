"""The statistics of a case: whose runs they are, what counts, and what was seen before."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from typing import Any

import pytest

from bot.compute import case_statistics as stats
from bot.model.case import Case, Context, PullRequest, RunEvidence, Seen, Unlisted
from bot.model.look import Look
from bot.model.run import Run, Validation
from bot.model.submission import Claim, Contributor, Folder, RunSpec, Submission
from bot.model.summary import Decision, Summary
from bot.model.track import Axis, Significance, Track
from bot.model.verdict import Point, Verdict, finding
from bot.registry import Grade, Status

PATH = "submissions/t/mine"
TRACK = Track(
    "t", "T", "target", Axis("loss", target=3.28), Axis("training_time_s"),
    significance=Significance("t"), imported=(PATH,),
)  # fmt: skip
SHARED = dc.replace(TRACK, common_stop_step=True)
LOOKS = dc.replace(TRACK, significance=Significance("t", looks=(2, 4)))


def a_run(n: int, loss: float = 3.27, **fields: Any) -> Run:
    """A finished run of 100 steps whose history is its own."""
    points = (Validation(50, 4 + n / 7, 10.0 + n), Validation(100, loss + n / 1e4, 20.123 + n))
    values: dict[str, Any] = {"finished": True, "total_steps": 100, "validation": points}
    return Run("log", f"{n}.log", **values | fields)


def entry(*runs: Run, **fields: Any) -> RunEvidence:
    spec = {"source": "log", "target": runs[0].file if runs else "lost.log"}
    of_item = {name: fields.pop(name) for name in ("problems", "joined") if name in fields}
    return RunEvidence(RunSpec(**spec | fields), runs, **of_item)


def a_case(*items: RunEvidence, track: Track = TRACK, **fields: Any) -> Case:
    context = Context(**{n: fields.pop(n) for n in list(fields) if n in Context.__slots__})
    unlisted = fields.pop("unlisted", ())
    submission = Submission(PATH, track.id, "mine", **fields)
    return Case(
        submission, track, Folder(PATH, {}), {}, evidence=items, unlisted=unlisted, context=context
    )


def files(case: Case, point: str | None = None) -> list[str]:
    summary = stats.of_case(case, point)
    return [file for file, _ in summary.kept] if summary else []


# ---- Whose runs --------------------------------------------------------------------------------

TWO = (entry(a_run(0), a_run(1), point="a"), entry(a_run(2), a_run(3, 3.2), point="b"))


def test_each_point_has_statistics_of_its_own() -> None:
    case = a_case(*TWO, points=("a", "b"))
    assert stats.points_of(case) == ("a", "b")
    assert files(case, "a") == ["0.log", "1.log"] and files(case, "b") == ["2.log", "3.log"]
    assert all((s := stats.of_case(case, name)) and s.decision.p_holm for name in "ab")
    assert stats.of_case(case, "a") is stats.of_case(case, "a")
    alone = a_case(*TWO)
    assert stats.points_of(alone) == (None,)
    assert files(alone) == ["0.log", "1.log", "2.log", "3.log"]
    other = stats.of_case(a_case(*TWO, points=("c",)), "a")
    assert other and other.n == 2 and other.decision.p_holm is None


@pytest.mark.parametrize(
    ("items", "known"),
    [
        ((), False),
        ((entry(),), False),
        ((entry(a_run(0), arm="baseline"),), False),
        ((entry(a_run(0)),), True),
        ((entry(a_run(0)), entry(problems=(finding("link-not-a-run", "no"),))), True),
        ((entry(a_run(0)), entry(problems=(finding("evidence-unavailable", "no"),))), False),
        ((entry(a_run(0)), entry(problems=(finding("link-not-a-run", "no"),
                                           finding("evidence-unavailable", "no")))), False),
    ],
)  # fmt: skip
def test_there_are_no_statistics_of_what_we_could_not_fetch(
    items: tuple[RunEvidence, ...], known: bool
) -> None:
    assert (stats.of_case(a_case(*items)) is not None) is known


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (entry(), f"{PATH}/lost.log"),
        (entry(source="wandb", target="wandb.ai/e/p/runs/r"), "wandb.ai/e/p/runs/r"),
        (entry(source="wandb", target="a.wandb"), f"{PATH}/a.wandb"),
        (entry(a_run(7)), None),
        (entry(joined=True), None),
        (entry(arm="baseline"), None),
        (entry(point="b"), None),
    ],
)
def test_a_listed_run_that_was_not_read_does_not_count(item: RunEvidence, told: str | None) -> None:
    summary = stats.of_case(a_case(entry(a_run(0), a_run(1)), item))
    assert summary
    unread = [(e.file, e.run, e.why) for e in summary.excluded]
    assert unread == ([] if told is None else [(told, 0, "it could not be read")])


def test_the_runs_of_both_arms_count_each_unless_left_out() -> None:
    unfinished = a_run(3, finished=False), a_run(5, finished=False)
    case = a_case(
        entry(a_run(0), a_run(1), unfinished[0], point="a"),
        entry(a_run(2), a_run(4), unfinished[1], arm="baseline"),
        entry(a_run(6), point="b"),
        points=("a", "b"),
    )
    assert stats.counted(case) == {(f"{n}.log", 0) for n in (0, 1, 2, 4, 6)}
    assert stats.counted(a_case(entry(a_run(0)))) == {("0.log", 0)}
    assert stats.counted(a_case(entry(a_run(2), arm="baseline"))) == frozenset()


@pytest.mark.parametrize(
    ("finished", "track", "counts", "ended"),
    [
        (True, TRACK, True, True),
        (None, TRACK, True, None),
        (False, TRACK, True, False),
        (False, SHARED, True, True),
        (False, SHARED, False, False),
        (None, SHARED, True, None),
        (False, dc.replace(TRACK, finish="time-limit"), False, True),
        (None, dc.replace(TRACK, finish="time-limit"), False, None),
    ],
)
def test_a_run_ends_as_its_track_has_it(
    finished: bool | None, track: Track, counts: bool, ended: bool | None
) -> None:
    run = a_run(0, finished=finished)
    case = a_case(entry(run), entry(a_run(1), a_run(2)), track=track)
    assert stats.ended(case, run, {("0.log", 0)} if counts else set()) is ended
    of_points = a_case(entry(run, a_run(1), point="a"), track=track, points=("a", "b"))
    assert stats.ended(of_points, run, {("0.log", 0)} if counts else set()) is ended
    nothing = a_case(track=track)
    assert stats.ended(nothing, run, set()) is (ended if track is not SHARED else finished)


# ---- What was seen before ----------------------------------------------------------------------

AT = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
FIRST, SECOND, OTHER = Look("main", 2, "x"), Look("main", 4, "y"), Look("a", 2, "z")


def seen(*looks: Look, author: str = "example-user", **fields: Any) -> Seen:
    return Seen(1, author, AT, looks=looks, **{"submission": PATH} | fields)


def judged(name: str, look: str | None, number: int | None) -> Point:
    made = Decision("t", None, None, True, judged=number, look=look)
    return Point(name, None, None, {}, Summary(decision=made))


def test_a_verdict_took_the_looks_that_were_judged() -> None:
    points = [judged("a", "x", 2), judged("b", None, 2), judged("c", "y", None), judged("d", "", 2)]
    assert stats.looks_of(points) == (Look("a", 2, "x"),)


ME: dict[str, Any] = {"contributors": (Contributor("Example-User"),)}
RECORDED = Verdict(
    PATH, "t", Status.VERIFIED, Grade.LOG, (), (judged("main", "y", 4), judged("a", "z", 2))
)


@pytest.mark.parametrize(
    ("track", "point", "fields", "looks"),
    [
        (LOOKS, None, {"seen": (seen(FIRST),)}, (FIRST,)),
        (TRACK, None, {"seen": (seen(FIRST),)}, ()),
        (LOOKS, "a", {"seen": (seen(FIRST, OTHER),)}, (OTHER,)),
        (LOOKS, None, {"recorded": RECORDED}, (SECOND,)),
        (LOOKS, "a", {"recorded": RECORDED}, (OTHER,)),
        (LOOKS, None, {"recorded": RECORDED, "seen": (seen(FIRST, SECOND), seen(FIRST))},
         (SECOND, FIRST)),
        (LOOKS, None, {"seen": (seen(FIRST, author="somebody"),)}, ()),
        (LOOKS, None, {}, ()),
    ],
)  # fmt: skip
def test_earlier_looks_are_those_of_the_point(
    track: Track, point: str | None, fields: dict[str, Any], looks: tuple[Look, ...]
) -> None:
    case = a_case(entry(a_run(0), a_run(1)), track=track, **ME | fields)
    assert stats.earlier_looks(case, point) == looks


ADDRESS = {"run_id": "r", "entity": "e", "project": "p"}
THREE = tuple(Validation(100 * n, 3.5 - n / 10, 10.0 * n) for n in range(1, 4))


@pytest.mark.parametrize(
    ("shown", "mine"),
    [
        (seen(), True),
        (seen(author="EXAMPLE-USER"), True),
        (seen(author="Asker"), True),
        (seen(author="somebody"), False),
        (seen(submission="other"), False),
        (seen(submission="other", run_keys=frozenset({"wandb:e/p/r"})), True),
        (seen(submission="other", run_keys=frozenset({"wandb:e/p/s"})), False),
        (seen(submission="other", points=(THREE[:2], THREE)), True),
        (seen(submission="other", points=(THREE[:2],)), False),
        (seen(author="somebody", run_keys=frozenset({"wandb:e/p/r"})), False),
    ],
)
def test_what_its_people_showed_of_a_submission(shown: Seen, mine: bool) -> None:
    run = a_run(0, validation=THREE, **ADDRESS)
    asked = PullRequest(3, "asker")
    case = a_case(entry(a_run(1)), entry(run), seen=(shown,), pull_request=asked, **ME)
    assert stats.shown_before(case) == ((shown,) if mine else ())


def test_without_a_pull_request_its_contributors_alone_showed_it() -> None:
    case = a_case(entry(a_run(0)), seen=(seen(), seen(author="asker")), **ME)
    assert stats.shown_before(case) == (seen(),)


# ---- What was not read or not listed -----------------------------------------------------------

READ = entry(a_run(0), pointer="/runs/0")
LOST = entry(pointer="/runs/1")
ONE, PAIR = [{"log": "0.log"}], [{"log": "0.log"}, {"log": "1.log"}]


@pytest.mark.parametrize(
    ("items", "listed", "fields", "unread"),
    [
        ((READ,), ONE, {}, False),
        ((READ,), PAIR, {}, True),
        ((READ, LOST), PAIR, {}, True),
        ((READ, entry(pointer="/runs/1", joined=True)), PAIR, {}, False),
        ((READ, entry(pointer="/runs/1", source="results")), PAIR, {}, False),
        ((entry(a_run(0)),), ONE, {}, True),
        ((READ,), None, {}, False),
        ((READ,), "0.log", {}, False),
        ((READ,), [], {}, False),
        ((READ,), [{"log": "0.log", "arm": "baseline"}], {}, False),
        ((READ,), [{"log": "0.log", "arm": "search"}], {}, False),
        ((READ,), [{"log": "0.log", "arm": "other"}], {}, True),
        ((READ,), [{"log": "0.log", "arm": []}], {}, True),
        ((READ,), ["0.log"], {}, False),
        ((READ,), PAIR, {"imported": {}, "merged": True}, False),
        ((READ,), PAIR, {"imported": {}}, True),
    ],
)
def test_a_run_that_is_listed_and_not_read(
    items: tuple[RunEvidence, ...], listed: object, fields: dict[str, Any], unread: bool
) -> None:
    raw = {} if listed is None else {"runs": listed}
    specs = tuple(item.spec for item in items)
    assert stats.has_unread(a_case(*items, raw=raw, runs=specs, **fields)) is unread


def test_the_runs_that_are_not_listed_count_beside_those_that_are() -> None:
    others = (Unlisted("e/p", (a_run(5),)), Unlisted("e/q", (a_run(6),)))
    case = a_case(entry(a_run(0)), unlisted=others)
    found = stats.with_unlisted(case)
    assert found and [file for file, _ in found.kept] == ["0.log", "5.log", "6.log"]
    assert stats.with_unlisted(a_case(entry(a_run(0)))) is None
    assert stats.with_unlisted(a_case(unlisted=others)) is None
    theirs = a_run(2, code_sha256={"train.py": "c"})
    same = Unlisted("e/p", (a_run(5, code_sha256={"train.py": "c"}),))
    baseline = entry(theirs, arm="baseline")
    assert stats.with_unlisted(a_case(entry(a_run(0)), baseline, unlisted=(same,))) is None
    ema = {"val_ema_loss": ((100, 3.1),)}
    claims = (Claim("steps", 50), Claim("val_ema_loss", 3.1))
    kept = a_case(
        entry(a_run(0, history={"val_ema_loss": ((50, 3.2), *ema["val_ema_loss"])})),
        track=SHARED, claims=claims, unlisted=others,
    )  # fmt: skip
    found = stats.with_unlisted(kept)
    assert found and found.quality.values == (3.2,) and found.step == 50


# ---- Claims ------------------------------------------------------------------------------------


def test_the_claims_of_a_point_are_its_own_and_those_of_all() -> None:
    every, of_a, of_b = Claim("loss", 1), Claim("loss", 2, point="a"), Claim("loss", 3, point="b")
    case = a_case(claims=(every, of_a, of_b))
    assert stats.claims_of(case, "a") == (every, of_a)
    assert stats.claims_of(case, None) == (every, of_a, of_b)


@pytest.mark.parametrize(
    ("track", "claims", "step"),
    [
        (SHARED, (Claim("steps", 50),), 50),
        (SHARED, (Claim("loss", 3), Claim("step", 50.0)), 50),
        (SHARED, (Claim("steps", 0),), 0),
        (SHARED, (Claim("steps", -1),), None),
        (SHARED, (Claim("steps", 50.5),), None),
        (SHARED, (Claim("steps", 50, point="b"), Claim("steps", 60)), 60),
        (SHARED, (Claim("loss", 50),), None),
        (SHARED, (), None),
        (TRACK, (Claim("steps", 50),), None),
    ],
)
def test_the_claimed_step(track: Track, claims: tuple[Claim, ...], step: int | None) -> None:
    assert stats.claimed_step(a_case(track=track, claims=claims), "a") == step


EMA = {"val_ema_loss": ((100, 3.2),), "val/loss": ((100, 3.1),), "val_loss": ((100, 3.0),)}
IMPORTED: dict[str, Any] = {"imported": {"metric": "ema_loss"}, "merged": True}


@pytest.mark.parametrize(
    ("history", "claimed", "fields", "key"),
    [
        (EMA, ["val_ema_loss"], {}, "val_ema_loss"),
        (EMA, ["loss", "val/loss"], {}, "val/loss"),
        (EMA, ["val/loss", "val_ema_loss"], {}, "val/loss"),
        (EMA, ["val_other_loss", "val_ema_loss"], {}, "val_ema_loss"),
        (EMA, ["val_loss"], {}, None),
        ({"val_bpb": ()}, ["val_bpb"], {}, None),
        ({"ema_loss": ()}, ["ema_loss"], {}, None),
        ({"val_é_loss": ()}, ["val_é_loss"], {}, None),
        ({f"val_{'x' * 56}loss": ()}, [f"val_{'x' * 56}loss"], {}, f"val_{'x' * 56}loss"),
        ({f"val_{'x' * 57}loss": ()}, [f"val_{'x' * 57}loss"], {}, None),
        ({"ema_loss": ()}, [], IMPORTED, "ema_loss"),
        ({"ema_loss": ()}, [], {"imported": {"metric": "ema_loss"}}, None),
        ({"ema_loss": ()}, [], {"imported": {"metric": 3}, "merged": True}, None),
        ({"ema_loss": (), **EMA}, ["val_ema_loss"], IMPORTED, "ema_loss"),
    ],
)
def test_the_metric_that_stands_in_for_the_loss(
    history: dict[str, Any], claimed: list[str], fields: dict[str, Any], key: str | None
) -> None:
    claims = tuple(Claim(name, 3.2) for name in claimed)
    with_it = a_run(0, history=history), a_run(1, history=history)
    assert stats.loss_key_of(a_case(entry(*with_it), claims=claims, **fields)) == key
    lacking = a_case(entry(*with_it, a_run(2)), claims=claims, **fields)
    assert stats.loss_key_of(lacking) is None
    assert stats.loss_key_of(a_case(claims=claims, **fields)) is None
    bpb = dc.replace(TRACK, quality=Axis("bpb"))
    assert stats.loss_key_of(a_case(entry(*with_it), track=bpb, claims=claims, **fields)) is None


# ---- Pairs -------------------------------------------------------------------------------------


def turns(order: str, pairs: str = "", points: str = "", ended: str = "") -> Case:
    """Runs in order of time, c and b for the two arms; a dot in `pairs` or `points` names none."""
    items = []
    for n, letter in enumerate(order):
        times: dict[str, Any]
        moment = f"2026-01-01T00:0{n}:00Z"
        times = {"finished_at": moment} if ended[n : n + 1] == "e" else {"created_at": moment}
        if ended[n : n + 1] == "u":
            times |= {"finished": False}
        elif ended[n : n + 1] in ("-", "="):  # unknown, and that of the run before
            times = {"created_at": None if ended[n] == "-" else f"2026-01-01T00:0{n - 1}:00Z"}
        arm = {"c": "candidate", "b": "baseline", "s": "search"}[letter]
        pair = None if pairs[n : n + 1] == "." else "x"
        point = points[n : n + 1].replace(".", "") or None
        run = a_run(n, **times)
        items.append(entry(run, arm=arm, pair=pair, point=point))
    items.sort(key=lambda item: item.spec.arm)
    return a_case(*items, points=tuple(sorted(set(points) - {"."})))


@pytest.mark.parametrize(
    ("case", "paired"),
    [
        (turns("cbcb"), True),
        (turns("cbbc"), True),
        (turns("bccb"), True),
        (turns("ccbb"), False),
        (turns("cbcbc"), False),
        (turns("cbcbc", ended="xxxxu"), False),
        (turns("cbcbs", "....."), False),
        (turns("cbcbs", "xxxx."), True),
        (turns("cbcb", "xxx."), False),
        (turns("cbcb", ended="eeee"), True),
        (turns("cbcb", ended="xx-x"), False),
        (turns("cbcb", ended="x=xx"), False),
        (turns("cbcb", points="aaaa"), True),
        (turns("cbcbcbcb", points="aaaabbbb"), True),
        (turns("cbcbcbcb", points="ababaabb"), False),
        (turns("cbcbcb", points="aaabbb"), False),
        (turns("ccbbccbb", points="abababab"), True),
        (turns("cbcb", points="a.a."), False),
        (turns("bcbc", points=".aaa"), False),
    ],
)
def test_pairs_are_neighbours_in_time_of_both_arms(case: Case, paired: bool) -> None:
    summary = stats.of_case(case, case.submission.points[0] if case.submission.points else None)
    assert summary and summary.baseline and summary.baseline.comparison
    assert summary.baseline.comparison.method == ("paired" if paired else "welch")
