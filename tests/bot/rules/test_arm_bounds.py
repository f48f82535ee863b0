"""Two arms: from where on it is told that the baseline arm took longer than it should have."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.model.case import Case, Standing
from bot.model.run import Hardware
from bot.model.track import BaselineCode, Track
from bot.model.verdict import Finding, finding
from bot.parse.json_file import read_json
from tests.bot.rules.arm_cases import A100, CPU, FROZEN, H100, TRACK, V100, a_run_of, armed, frozen
from tests.bot.rules.run_cases import PATH, SMALL, a_case, found

# ---- an arm that took longer --------------------------------------------------------------------


def slower(case: Case) -> list[Finding]:
    return list(found("baseline-slower-than-frozen", case))


def timed(*seconds: float, **changes: Any) -> Case:
    return armed([(4.0, x) for x in seconds], **changes)


@pytest.mark.parametrize(
    ("costs", "seconds", "slow"),
    [
        ((100.0, 100.0), (105.0, 105.0), False),  # 5 % is little
        ((100.0, 100.0), (105.1, 105.1), True),
        ((100.0,), (105.0,), False),
        ((100.0,), (105.1,), True),
        ((10.0,), (10.6,), True),
        ((100.0, 100.0), (90.0, 120.2), True),  # the arm's own spread excuses nothing
        # a spread of 14.14 s in both arms of two makes 3 standard errors of 14.14 s
        ((90.0, 110.0), (142.4, 142.4), False),
        ((90.0, 110.0), (142.5, 142.5), True),
        ((90.0, 110.0), (151.9,), False),  # and of two and one 3 of 17.32 s
        ((90.0, 110.0), (152.0,), True),
        ((90.0, 110.0), (134.6,) * 4, False),  # of two and four 3 of 12.25 s, and more here
        ((90.0, 110.0), (136.8,) * 4, True),
    ],
)
def test_an_arm_takes_as_long_as_the_frozen_baseline(
    costs: tuple[float, ...], seconds: tuple[float, ...], slow: bool
) -> None:
    told = slower(timed(*seconds, track=frozen(costs=costs)))
    assert len(told) == slow
    for item in told:
        assert item.expected == sum(costs) / len(costs)
        assert item.claimed == pytest.approx(sum(seconds) / len(seconds))


def test_the_span_of_several_runs_is_told() -> None:
    end = " of the frozen baseline on the same hardware"
    (item,) = slower(timed(110.0, 130.0))
    assert item.message == f"the baseline arm takes 120 s (110 to 130), 1.2 times the 100 s{end}"
    (item,) = slower(timed(120.0))
    assert item.message == f"the baseline arm takes 120 s, 1.2 times the 100 s{end}"
    track = dc.replace(TRACK, cost=dc.replace(TRACK.cost, unit=""))
    (item,) = slower(timed(120.0, track=track))
    assert item.message == f"the baseline arm takes 120, 1.2 times the 100{end}"


def test_only_a_track_of_ratios_with_a_cost_to_lower_compares() -> None:
    assert not slower(
        timed(200.0, track=dc.replace(TRACK, cost=dc.replace(TRACK.cost, goal="max")))
    )
    assert not slower(timed(200.0, track=dc.replace(TRACK, objective="target")))
    assert not slower(timed(200.0, track=frozen(costs=())))
    assert not slower(timed(200.0, track=frozen(cost_metric="steps")))
    assert not slower(timed(track=TRACK)) and not found("uncorroborated", timed(track=TRACK))


def test_the_last_frozen_baseline_on_the_hardware_counts() -> None:
    def two(hardware: str) -> Track:
        later = dc.replace(FROZEN, id="second", costs=(60.0, 60.0), device=hardware)
        return dc.replace(TRACK, baselines=(FROZEN, later), baseline_id="second")

    assert [f.expected for f in slower(timed(120.0, track=two("H100 SXM")))] == [60.0]
    assert [f.expected for f in slower(timed(120.0, track=two("A100")))] == [100.0]


@pytest.mark.parametrize(
    ("hardware", "limit"),
    [
        # 989.5 TFLOP/s in bf16 against 312, and 125 in fp16; half as much again is too much
        (A100, 150 * 989.5 / 312),
        (dc.replace(A100, count=2), 75 * 989.5 / 312),
        (dc.replace(A100, count=None), 150 * 989.5 / 312),
        (V100, 150 * 989.5 / 125),
        (dc.replace(H100, count=2), 75.0),
    ],
)
def test_on_other_hardware_the_peaks_say_what_to_expect(hardware: Hardware, limit: float) -> None:
    assert slower(timed(limit * 0.9999, hardware=hardware)) == []
    (item,) = slower(timed(limit * 1.0001, hardware=hardware))
    place = f"{hardware.count or 'an unknown number of'} x {hardware.device}"
    usual = "fp16" if hardware is V100 else "bf16"
    by = f"by the peaks of both devices ({usual} here, bf16 there) the frozen"
    assert f" on {place}; {by}" in item.message
    assert "baseline's 100 s on H100 SXM make" in item.message
    assert (item.claimed, item.expected) == (None, None)


def test_the_precision_that_the_arm_states_is_named() -> None:
    fp32 = {"hardware": V100, "config": {"precision": "fp32"}}
    runs = [a_run_of(n, 4.0, 1900.0, **fp32) for n in (0, 1)]
    (item,) = slower(a_case(runs, arms=["candidate", "baseline"], track=TRACK))
    assert "1 x Tesla V100-SXM2-16GB in fp32; by the peaks" in item.message
    code = BaselineCode("main.py", "0" * 64, {"train.precision": "auto"})
    for stated, says in (
        ("fp32", "150 s in fp32, 1.5 times the 100 s of the frozen baseline in bf16 on"),
        ("bf16", "150 s, 1.5 times the 100 s of the frozen baseline on"),
    ):
        runs = [a_run_of(n, 4.0, 150.0, config={"precision": stated}) for n in (0, 1)]
        track = frozen(code=code)
        (item,) = slower(a_case(runs, arms=["candidate", "baseline"], track=track))
        assert says in item.message
    run = a_run_of(0, 4.0, 150.0, hardware=CPU, config={"precision": "fp32"})
    unknown = frozen(code=code, device=CPU.device, count=CPU.count)
    (item,) = slower(a_case([run, run], arms=["candidate", "baseline"], track=unknown))
    assert "auto" not in item.message and "frozen baseline on the same" in item.message


def test_of_several_frozen_baselines_the_last_says_what_to_expect() -> None:
    first = dc.replace(FROZEN, costs=(50.0,))
    track = dc.replace(
        TRACK, baselines=(first, dc.replace(FROZEN, id="second")), baseline_id="second"
    )
    assert slower(timed(80 * 989.5 / 312, hardware=A100, track=track)) == []


def two(second: dict[str, Any], current: str = "second") -> Track:
    later = dc.replace(FROZEN, id="second", submission=SECOND, **second)
    return dc.replace(TRACK, baselines=(FROZEN, later), baseline_id=current)


SECOND = "submissions/single-gpu-fineweb/second"


def test_which_frozen_baselines_an_arm_may_be_runs_of() -> None:
    # what stands later than the arm's is none of them
    assert slower(timed(105.0, track=two({"costs": (60.0,)}, "first"))) == []
    # of the one that its author names alone
    track = two({"costs": (60.0,), "device": "A100"})
    (item,) = slower(timed(130.0, track=track))
    assert item.expected == 100.0 and "on the same hardware" in item.message
    (item,) = slower(timed(130.0, track=track, submission={"based_on": "second"}))
    assert item.expected is None and "by the peaks of both devices" in item.message


@pytest.mark.parametrize(
    ("device", "count", "hardware", "fits"),
    [
        ("H100 SXM", 1, H100, True),
        ("h100", 1, H100, True),
        ("H100 SXM", None, Hardware("H100 SXM", None), True),
        ("H100 SXM", 2, H100, False),
        (None, 1, Hardware(None, 1), False),
        ("My board ", 1, Hardware("my Board", 1), True),
        (" ", 1, Hardware(" ", 1), False),
        ("", 1, Hardware("", 1), False),
    ],
)
def test_what_is_the_same_hardware(
    device: str | None, count: int | None, hardware: Hardware, fits: bool
) -> None:
    track = frozen(device=device, count=count)
    told = slower(timed(106.0, hardware=hardware, track=track))
    assert ["on the same hardware" in item.message for item in told] == [True] * fits


def test_nothing_is_said_before_all_evidence_is_read() -> None:
    standing = Standing(record="submissions/nanogpt-small/first", record_cost=10.0)
    for track in (TRACK, SMALL):
        case = armed([(3.0, 200.0)], track=track, standing=standing)
        gone = finding("evidence-unavailable", "W&B does not answer")
        last = dc.replace(case.evidence[-1], problems=(gone,))
        unread = dc.replace(case, evidence=(*case.evidence[:-1], last))
        assert slower(case) and not slower(unread) and not found("arms-differ", unread)
        assert not [f for f in found("uncorroborated", unread) if "baseline ran on" in f.message]


def test_hardware_that_nobody_knows_is_not_compared() -> None:
    for hardware in (CPU, Hardware(), Hardware(None, 1)):
        assert slower(timed(1e6, hardware=hardware)) == []
    (said,) = doubted(100.0, 90.0, Hardware(None, 2))
    assert said.startswith("no frozen baseline ran on 2 x a device that is not named, so nothing")
    assert slower(timed(1e6, hardware=A100, track=frozen(device=None))) == []
    assert slower(timed(1e6, hardware=A100, track=frozen(device="cpu"))) == []
    assert slower(timed(1e6, hardware=H100, track=dc.replace(TRACK, baselines=()))) == []


def test_an_arm_of_two_machines_is_compared_by_the_peaks() -> None:
    case = timed(200.0, 200.0)
    other = dc.replace(a_run_of(3, 4.0, 200.0), hardware=A100)
    last = dc.replace(case.evidence[3], runs=(other,))
    assert slower(dc.replace(case, evidence=(*case.evidence[:3], last)))[0].expected is None


@pytest.mark.parametrize(
    ("seconds", "named"),
    [((104.9,), True), ((105.1,), False), ((95.1,), True), ((94.9,), False), ((90.0, 110.0), True)],
)
def test_an_older_baseline_that_takes_as_long_is_named(
    seconds: tuple[float, ...], named: bool
) -> None:
    now = dc.replace(FROZEN, id="second", frozen_on="2026-03-01", costs=(60.0, 60.0))
    fix = "run both arms again on an idle machine, taking turns."
    older = ' If you ran first, write `"based_on": "first"`: the ratio is converted.'

    def said(**changes: Any) -> str | None:
        known = (dc.replace(FROZEN, **changes), now)
        track = dc.replace(TRACK, baselines=known, baseline_id="second")
        (item,) = slower(timed(*seconds, track=track))
        return item.fix

    assert said() == fix + older * named
    assert said(costs=()) == said(cost_metric="steps") == said(device="A100") == fix


@pytest.mark.parametrize(
    ("seconds", "slow"),
    [
        ((105.0, 105.0), False),
        ((105.1, 105.1), True),
        ((105.1,), True),
        ((119.0, 139.0), False),  # 3 standard errors of 10 s
        ((121.0, 141.0), True),
        ((121.0, 131.0, 141.0), True),
        ((107.0, 117.0, 127.0), False),  # 3 of 5.77 s
        ((108.0, 118.0, 128.0), True),
    ],
)
def test_runs_of_the_record_take_as_long_as_the_record(
    seconds: tuple[float, ...], slow: bool
) -> None:
    standing = Standing(record="submissions/nanogpt-small/first", record_cost=100.0)
    told = slower(timed(*seconds, track=SMALL, standing=standing))
    assert len(told) == slow
    for item in told:
        mean = sum(seconds) / len(seconds)
        assert (item.claimed, item.expected) == (pytest.approx(mean), 100.0)
    steps = dc.replace(SMALL, cost=dc.replace(SMALL.cost, metric="steps"))
    fewer = dc.replace(standing, record_cost=500.0)  # of 1,000
    assert slower(timed(*seconds, track=steps, standing=fewer)) == []
    assert slower(timed(track=SMALL, standing=standing)) == []
    single = dc.replace(standing, record_cost=10.0)
    assert slower(timed(10.6, track=SMALL, standing=single))
    listed = dc.replace(SMALL, imported=(PATH,))
    imported = {"imported": {"url": "https://example.org"}}
    old = timed(*seconds, track=listed, standing=standing, submission=imported, merged=True)
    assert slower(old) == []


# ---- ratios without a second witness ------------------------------------------------------------


def doubted(theirs: float, ours: float, hardware: Hardware = A100, **changes: Any) -> list[str]:
    case = armed([(4.0, theirs)], [(4.0, ours)], hardware=hardware, **changes)
    return [f.message for f in found("uncorroborated", case) if "baseline" in f.message]


@pytest.mark.parametrize(
    ("ours", "track", "told"),
    [
        (90.0, TRACK, True),  # a ratio of 0.9 makes a new baseline
        (90.1, TRACK, False),
        (90.0, dc.replace(TRACK, promote_at=None), False),
        (90.0, dc.replace(TRACK, objective="target"), False),
        (90.0, dc.replace(TRACK, baselines=(), baseline_id=None), False),
        (90.0, frozen(device="A100"), False),
        (90.0, frozen(device="A100", costs=()), True),
    ],
)
def test_a_new_baseline_on_new_hardware_is_looked_at(ours: float, track: Track, told: bool) -> None:
    said = doubted(100.0, ours, track=track)
    assert [m.startswith("no frozen baseline ran on 1 x NVIDIA A100") for m in said] == [
        True
    ] * told
    assert all(m.endswith(", and the ratio would make a new baseline") for m in said)
    assert doubted(100.0, ours, track=track, merged=True) == []


def test_one_frozen_baseline_on_the_one_machine_is_enough() -> None:
    other = dc.replace(FROZEN, id="second")
    both = (dc.replace(FROZEN, device="A100"), other)
    track = dc.replace(TRACK, baselines=both, baseline_id="second")
    assert doubted(100.0, 90.0, track=track) == []
    assert doubted(100.0, 90.0, Hardware("NVIDIA A100-SXM4-80GB", 2), track=track)
    case = armed([(4.0, 100.0)] * 2, [(4.0, 90.0)], track=track)
    runs = (dc.replace(case.evidence[-1].runs[0], hardware=A100),)
    two = dc.replace(case, evidence=(*case.evidence[:-1], dc.replace(case.evidence[-1], runs=runs)))
    for made, told in ((case, 0), (two, 1)):
        said = [f for f in found("uncorroborated", made) if "frozen baseline ran on" in f.message]
        assert len(said) == told


UNNAMED = frozen(device="cpu")


@pytest.mark.parametrize(
    ("theirs", "ours", "best", "told"),
    [
        (200.0, 150.0, 0.8, True),  # twice as long as usual
        (199.0, 149.0, 0.8, False),
        (200.0, 160.0, 0.8, False),  # no better than the best
        (101.0, 60.0, 0.8, False),
        (200.0, 180.0, None, True),  # without a best what makes a new baseline leads
        (200.0, 181.0, None, False),
    ],
)
def test_a_busy_machine_that_would_lead_is_looked_at(
    theirs: float, ours: float, best: float | None, told: bool
) -> None:
    standing = Standing(record_ratio=best)
    said = doubted(theirs, ours, CPU, track=UNNAMED, standing=standing)
    start = "the machine may have been busy: the baseline arm takes 200 s, 2 times the frozen "
    start += "baseline's 100 s; machines of all speeds are called cpu, but 2 times is much"
    assert [m.startswith(start) for m in said] == [True] * told
    assert all(m.endswith(", and the ratio would be the best") for m in said)
    named = doubted(theirs, ours, H100, track=TRACK, standing=standing)
    assert named == []  # a machine with a name of its own is as fast as others


# ---- where it is told ---------------------------------------------------------------------------


def test_a_finding_points_to_the_list_of_runs() -> None:
    case = timed(200.0)
    assert [(f.file, f.pointer) for f in slower(case)] == [(PATH, None)]
    listed = results_list(case)
    assert [(f.file, f.pointer) for f in slower(listed)] == [(f"{PATH}/submission.json", "/runs")]


def results_list(case: Case) -> Case:
    document = read_json(case.folder.files["submission.json"], f"{PATH}/submission.json")
    return dc.replace(case, documents={"submission.json": document})
