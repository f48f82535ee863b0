"""Who makes a new baseline due, what the others lack, and what is frozen: boards made by hand."""

from __future__ import annotations

import dataclasses as dc
import math
import tomllib
from typing import Any

import pytest

from bot.model.board import Answered, Board, Entry, Progress, State, Unranked
from bot.model.run import TRAINER, RunRecord
from bot.model.summary import Sample, Summary
from bot.model.track import Reproduction, Track
from bot.model.verdict import Finding, Point, Verdict
from bot.parse.track_toml import parse_track
from bot.rank import baseline
from bot.rank.baseline import BaselineError
from bot.registry import Grade, Level, Status
from tests.bot.competition import BASELINE

TRACK = dc.replace(
    parse_track(tomllib.loads(BASELINE), "one.toml"), baseline_id="b1", promote_at=0.9
)
MORE = dc.replace(TRACK, promote_at=1.1)
ASKS = dc.replace(TRACK, reproduction=Reproduction(runs=2))


def at(ratio: float, half: float | None = 0.01, **fields: Any) -> Progress:
    """Progress whose interval reaches `half` to either side in logarithms."""
    bounds = None if half is None else (ratio * math.exp(-half), ratio * math.exp(half))
    given: dict[str, Any] = {"promotes": False, "measured": ratio, "against": "b1", "pairs": 4}
    return Progress(ratio, bounds, **given | fields)


def verdict(name: str, *runs: RunRecord, **fields: Any) -> Verdict:
    point = Point("main", 3.27, 100.0, {})
    path = f"submissions/one/{name}"
    made = Verdict(path, "one", Status.VERIFIED, Grade.LOG, (), (point,), runs=runs)
    return dc.replace(made, **fields)


def an_entry(
    name: str, progress: Progress | None, place: int = 1, state: State | None = None, **more: Any
) -> Entry:
    cost = more.pop("cost", 100.0)
    made = verdict(name, *more.pop("runs", ()), **more)
    return Entry(
        made, made.points[0], place, False, 3.27, cost, cost, place == 1,
        progress=progress, state=state or State(),
    )  # fmt: skip


def board(*entries: Entry, track: Track = TRACK, unranked: tuple[Unranked, ...] = ()) -> Board:
    return Board(track, entries, entries[:1], (), unranked)


def test_the_first_seen_that_promote_is_due() -> None:
    due = at(0.8, promotes=True)
    dates = {"late": "2026-03-01", "undated": None, "early": "2026-01-01", "far": "2025-01-01"}
    made = [
        an_entry(name, at(0.95) if name == "far" else due, place, date=date)
        for place, (name, date) in enumerate(dates.items(), 1)
    ]
    made.append(an_entry("also", due, 0, date="2026-03-01"))
    made.append(an_entry("neither", None, 9, date="2024-01-01"))
    names = [e.submission.rpartition("/")[2] for e in baseline.contenders(board(*made))]
    assert names == ["early", "also", "late", "undated"]
    first = baseline.due(board(*made))
    assert first is not None and first.submission.endswith("early")
    assert baseline.due(board(made[3])) is None


def test_the_best_is_not_the_baseline_itself() -> None:
    own, none, other = (
        an_entry("b1", at(1.0)),
        an_entry("x", None),
        an_entry("y", at(0.97)),
    )
    assert baseline.best(board(own, none, other)) == other
    assert baseline.best(board(own, none)) is None


NARROW = "its interval reaches beyond 0.9: "


@pytest.mark.parametrize(
    ("progress", "track", "left", "why"),
    [
        (at(0.95), TRACK, 0.9 / 0.95, ""),
        (at(0.95, against=None), TRACK, 0.9 / 0.95, ""),
        (at(0.9, None), TRACK, 1.0, "one run in an arm"),
        (at(0.9001, None), TRACK, 0.9 / 0.9001, ""),
        (at(0.89, 0.02), TRACK, 0.9 / 0.89, NARROW),
        (at(1.1, None), MORE, 1.0, "one run in an arm"),
        (at(1.0999, None), MORE, 1.1 / 1.0999, ""),
        (at(0.9, None), dc.replace(TRACK, promote_at=1.0), 1 / 0.9, "one run in an arm"),
    ],
)
def test_the_distance_to_the_next_baseline(
    progress: Progress, track: Track, left: float, why: str
) -> None:
    found = baseline.distance(board(an_entry("b1", at(1.0)), an_entry("x", progress), track=track))
    assert found is not None and found.entry.submission.endswith("x")
    assert found.left == pytest.approx(left) and why in found.why and bool(found.why) is bool(why)
    threshold, bounds = track.promote_at, progress.interval
    assert threshold is not None
    want = None if bounds is None else (threshold / bounds[1], threshold / bounds[0])
    assert found.interval == want


def test_there_is_no_distance_where_one_is_due_or_nothing_ran_the_baseline() -> None:
    near = an_entry("x", at(0.95))
    assert baseline.distance(board(near)) is not None
    promoted = an_entry("y", at(0.8, promotes=True), 2)
    assert baseline.distance(board(near, promoted)) is None
    assert baseline.distance(board(near, track=dc.replace(TRACK, promote_at=None))) is None
    assert baseline.distance(board(an_entry("x", None), an_entry("b1", at(1.0)))) is None
    assert baseline.distance(board(an_entry("x", at(0.95, against="b0")))) is None


@pytest.mark.parametrize(
    ("progress", "says"),
    [
        (at(0.89, 0.02), f"{NARROW}about "),
        (at(0.89, None), "it has one run in an arm"),
        (at(0.89, 0.001), "its findings say why"),
        (at(0.95), "it is at 0.95 times the baseline, and a new one is due at 0.9"),
        (at(0.5, against="b0"), "it ran the baseline b0, and b1 stands now"),
        (at(0.89, None, against=None), "it has one run in an arm"),
        (at(0.8, promotes=True), "submissions/one/first was seen earlier and reached"),
        (None, "it is not on the board any more"),
    ],
)
def test_why_an_entry_makes_no_baseline(progress: Progress | None, says: str) -> None:
    first = an_entry("first", at(0.8, promotes=True), date="2026-01-01")
    entries = [first, an_entry("x", progress, date="2026-02-01")]
    assert baseline.not_due(board(*entries), "submissions/one/x").startswith(says)
    alone = board(*entries[1:])
    if progress is not None and not progress.promotes:
        assert baseline.not_due(alone, "submissions/one/x").startswith(says)


def test_why_what_is_no_entry_makes_no_baseline() -> None:
    path = "submissions/one/x"
    unranked = tuple(Unranked(verdict(n), None, f"because of {n}") for n in ("y", "x"))
    assert baseline.not_due(board(unranked=unranked), path) == "because of x"
    assert baseline.not_due(board(unranked=unranked[:1]), path) == "it is not on the board any more"
    assert baseline.not_due(board(), "submissions/one/b1") == "it is the baseline already"
    other = an_entry("y", at(0.95))
    assert "not on the board" in baseline.not_due(board(other), path)
    unset = board(an_entry("x", at(0.5)), track=dc.replace(TRACK, promote_at=None))
    assert "due at None" in baseline.not_due(unset, path)


@pytest.mark.parametrize(
    ("half", "pairs", "words"),
    [
        # The gap is ln(0.9 / 0.89) = 0.011173; pairs x ((half / gap)^2 - 1), rounded up.
        (0.0112, 4, "about 1 more pair of runs would narrow it enough"),
        (0.0125, 4, "about 2 more pairs of runs would narrow it enough"),
        (0.0224, 4, "about 13 more pairs of runs would narrow it enough"),
        (0.1117, 1, "about 99 more pairs of runs would narrow it enough"),
        (0.1118, 1, "more runs narrow it"),
        (0.0224, 0, "more runs narrow it"),
    ],
)
def test_how_many_pairs_narrow_an_interval(half: float, pairs: int, words: str) -> None:
    entry = an_entry("x", at(0.89, half, pairs=pairs))
    assert baseline.not_due(board(entry), entry.submission) == NARROW + words


def reply(pairs: int, counts: bool = True) -> Answered:
    return Answered("r", "reproduces", (), None, pairs, 0.9, None, counts)


CHALLENGED = State("challenged", (reply(9),))


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (State(), "to be confirmed it needs 2 pairs of runs by another person, and has 0"),
        (State("claimed", (reply(1), reply(5, False))), "and has 1"),
        (State("claimed", (reply(1), reply(1))), "the 2 pairs of runs that count do not show"),
        (State("claimed", (reply(3),)), "the 3 pairs of runs that count do not show"),
        (CHALLENGED, "it is challenged"),
    ],
)
def test_what_an_unconfirmed_entry_lacks(state: State, says: str) -> None:
    assert says in baseline.unconfirmed(state, Reproduction(runs=2))
    entry = an_entry("x", at(0.8), state=state)
    assert says in baseline.not_due(board(entry, track=ASKS), entry.submission)
    assert "findings say why" in baseline.not_due(board(entry), entry.submission)
    confirmed = dc.replace(entry, state=dc.replace(state, name="confirmed"))
    assert "findings say why" in baseline.not_due(board(confirmed, track=ASKS), entry.submission)


# ---- Machines ----------------------------------------------------------------------------------

A100, H100 = "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3"


def a_run(device: str | None = A100, count: int = 1, arm: str = "candidate", **more: Any) -> Any:
    return RunRecord("a.log", hardware=device, gpu_count=count, arm=arm, **more)


@pytest.mark.parametrize(
    ("runs", "name"),
    [
        ([a_run()], "Ampere"),
        ([a_run(), a_run(count=2), a_run("A10")], "Ampere"),
        ([a_run(), a_run(H100, arm="baseline")], "Ampere"),
        ([a_run(), a_run(H100)], None),
        ([a_run(), a_run("unheard-of")], None),
        ([a_run("unheard-of")], None),
        ([a_run(), a_run(None)], "Ampere"),
        ([a_run(None)], None),
        ([], None),
    ],
)
def test_the_architecture_of_all_runs(runs: list[RunRecord], name: str | None) -> None:
    assert baseline.architecture(verdict("x", *runs)) == name


def test_the_fastest_of_each_architecture_is_the_first_of_equals() -> None:
    entries = [
        an_entry(name, None, place, cost=cost, runs=[a_run(device)])
        for place, (name, cost, device) in enumerate(
            [("h", 50.0, H100), ("a", 90.0, A100), ("b", 80.0, A100), ("c", 80.0, A100),
             ("d", 10.0, "unheard-of")], 1,
        )
    ]  # fmt: skip
    found = baseline.fastest(board(*entries))
    assert [(k, e.submission) for k, e in found.items()] == [
        ("Ampere", "submissions/one/b"),
        ("Hopper", "submissions/one/h"),
    ]


# ---- Freezing ----------------------------------------------------------------------------------


def frozen(*runs: RunRecord, on: str = "2026-01-02", **more: Any) -> Any:
    entry = more.pop("entry", None)
    return baseline.freeze(verdict("x", *runs, **more), TRACK, on=on, entry=entry)


@pytest.mark.parametrize(
    ("on", "moment"), [("2026-01-02", None), ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z")]
)
def test_a_baseline_is_frozen_on_a_day_or_at_a_moment(on: str, moment: str | None) -> None:
    made = frozen(on=on)
    assert (made.id, made.frozen_on, made.frozen_at) == ("x", "2026-01-02", moment)


@pytest.mark.parametrize(
    ("runs", "hardware"),
    [
        ([a_run(), a_run()], (A100, 1)),
        ([a_run(), a_run(H100, arm="baseline")], (A100, 1)),
        ([a_run(), a_run(count=2)], (None, None)),
        ([], (None, None)),
    ],
)
def test_a_baseline_has_the_hardware_of_all_its_runs(runs: list[Any], hardware: Any) -> None:
    made = frozen(*runs)
    assert (made.device, made.count) == hardware


def test_a_baseline_keeps_what_its_runs_ran() -> None:
    own = {"b.py": "2", "a.py": "1", TRAINER: "t"}
    made = frozen(
        a_run(code_sha256=own, config_sha256="c"),
        a_run(code_sha256=own, config_sha256=None),
        a_run(arm="baseline", code_sha256={"a.py": "9"}, config_sha256="d"),
    )
    assert (made.sources, made.configs) == (("1", "2"), ("c",))


def test_costs_are_those_of_the_runs_or_of_the_point() -> None:
    assert (frozen().costs, frozen().losses) == ((100.0,), (3.27,))
    statistics = Summary(cost=Sample((99.0, math.inf, 101.0)), quality=Sample((3.2,)))
    point = Point("main", None, None, {}, statistics)
    assert frozen(points=(point,)).costs == (99.0, 101.0)
    assert frozen(points=(point,)).losses == (3.2,)
    bare = dc.replace(point, statistics=None)
    assert baseline.freeze(verdict("x"), TRACK, on="", entry=None).losses == (3.27,)
    with pytest.raises(BaselineError, match="has no training_time_s to measure against"):
        frozen(points=(bare,))


def test_progress_over_the_baseline_before_is_that_which_was_measured() -> None:
    progress = at(0.8, measured=0.85, measured_interval=(0.84, 0.86))
    made = frozen(entry=an_entry("x", progress))
    assert (made.after, made.ratio, made.interval) == ("b1", 0.85, (0.84, 0.86))
    without = frozen(entry=an_entry("x", None))
    assert (without.after, without.ratio, without.interval) == (None, None, None)
    entry = an_entry("b1", progress)
    again = baseline.freeze(verdict("b1"), TRACK, on="2026-01-02", entry=entry)
    assert (again.after, again.ratio) == (None, None), "the baseline is not after itself"


BLOCKED = Finding("schema", Level.ERROR, "no")


@pytest.mark.parametrize(
    ("name", "fields", "says"),
    [
        ("X y", {}, "is not a submission of the track one"),
        ("x", {"status": Status.REJECTED, "findings": (BLOCKED, BLOCKED)}, r"rejected \(schema\)"),
        ("x", {"points": ()}, "has no run to freeze"),
    ],
)
def test_what_cannot_be_frozen(name: str, fields: dict[str, Any], says: str) -> None:
    with pytest.raises(BaselineError, match=says):
        baseline.freeze(verdict(name, **fields), TRACK, on="2026-01-02")


def test_the_rows_of_a_board_are_those_with_a_ratio() -> None:
    made = board(an_entry("x", at(0.9)), an_entry("y", None), an_entry("z", at(0.95)))
    found = [(r.submission, r.ratio, r.state) for r in baseline.rows(made)]
    assert found == [("submissions/one/x", 0.9, "claimed"), ("submissions/one/z", 0.95, "claimed")]
