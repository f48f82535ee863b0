"""Where a possible run begins to be odd: each bound of `bot.rules.plausible` from both sides."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.model.case import Case
from bot.model.track import Axis, Baseline, Metric, Track
from bot.registry import Level
from tests.bot.rules import statistic_cases as st
from tests.bot.rules.run_cases import PATH, TRACKS, a_case, a_run, found, results_file

EDU, SMALL = TRACKS["fineweb-edu"], TRACKS["nanogpt-small"]
ERROR, WARNING = Level.ERROR, Level.WARNING
TOO_GOOD = "; no model is known to reach that on English text"
ABOVE_0 = ", expected above 0"


def own(unit: str) -> Track:
    """A track of a metric of its own."""
    metric = Metric("score", "Score", unit=unit)
    return dc.replace(EDU, quality=Axis("score", "s"), metrics={"score": metric})


def costing(unit: str) -> Track:
    return dc.replace(SMALL, cost=Axis("tokens", unit))


def limited(name: str) -> Track:
    return dc.replace(SMALL, limits={name: 2.0})


@pytest.mark.parametrize(
    ("track", "name", "value", "told", "level"),
    [
        (EDU, "bpb", 0.6, None, None),
        (EDU, "bpb", 0.59, f"0.59 bits/byte{TOO_GOOD}", WARNING),
        (EDU, "bpb", 0.0, f"0 bits/byte{ABOVE_0}", ERROR),
        (own("nats/byte"), "score", 0.42, None, None),  # 0.6 bits are 0.4159 nats
        (own("nats/byte"), "score", 0.41, f"0.41 nats/byte{TOO_GOOD}", WARNING),
        (own("Bits/Byte"), "score", 0.5, f"0.5 bits/byte{TOO_GOOD}", WARNING),
        (own("nats/token"), "score", 0.1, None, None),
        (own("nats/token"), "score", 0.0, f"0 nats/token{ABOVE_0}", ERROR),
        (own("nats/token"), "score", -1.0, f"-1 nats/token{ABOVE_0}", ERROR),
        (own("points"), "score", -1.0, None, None),
        (own(""), "score", -1.0, None, None),
        (costing("tokens"), "tokens", 0, f"0 tokens{ABOVE_0}", ERROR),
        (costing("tokens"), "tokens", 1, None, None),
        (costing(""), "tokens", 0, None, None),
        (limited("bpb"), "bpb", 0.5, f"0.5 bits/byte{TOO_GOOD}", WARNING),
        (limited("mfu"), "mfu", 0.0, None, None),
        (SMALL, "bpb", 0.5, None, None),  # it is no metric of this track
    ],
)
def test_values_that_no_run_has(
    track: Track, name: str, value: float, told: str | None, level: Level | None
) -> None:
    case = a_case([a_run(0, metrics={"loss": 3.277, "training_time_s": 60.0, name: value})],
                  track=track)  # fmt: skip
    message = f"{name} is {told} (r0)"
    items = [f for f in found("metric-implausible", case) if name in f.message]
    assert [(f.message, f.level, f.claimed) for f in items] == (
        [(message, level, value)] if told else []
    )


@pytest.mark.parametrize(("file", "told"), [("speedrun_results.json", 0), ("other.json", 1)])
def test_what_a_results_file_states_itself_has_a_finding_of_its_own(file: str, told: int) -> None:
    run = a_run(0, file=f"{PATH}/{file}", source="log", metrics={"bpb": 0.5})
    case = a_case([run], track=EDU, results=results_file())
    assert len(found("metric-implausible", case)) == told


# ---- The target ---------------------------------------------------------------------------------


def odd(case: Case, words: str) -> list[Any]:
    return [f for f in st.found("metric-implausible", case) if words in f.message]


@pytest.mark.parametrize(
    ("axis", "losses", "lowest"),
    [
        ({"target": 4.0}, [3.0, 4.5], None),
        ({"target": 4.0}, [2.9, 4.5], 2.9),
        ({"target": 4.0, "goal": "max"}, [2.9, 4.5], None),
        ({"target": None}, [2.9, 4.5], None),
        ({"target": 1.0}, [0.7, 4.5], 0.7),
    ],
)
def test_a_run_far_below_the_target(
    axis: dict[str, Any], losses: list[float], lowest: float | None
) -> None:
    track = dc.replace(SMALL, quality=dc.replace(SMALL.quality, **axis))
    items = odd(st.case(track, st.evidence(losses)), "far below")
    assert [(f.message, f.level, f.claimed, f.expected) for f in items] == (
        [
            (
                f"a run ends at loss {lowest}, far below the target {axis['target']:g}",
                WARNING,
                lowest,
                axis["target"],
            )
        ]
        if lowest
        else []
    )


@pytest.mark.parametrize(
    ("target", "score", "told"),
    [(0.0, -1.0, False), (-4.0, -5.0, False), (0.5, 0.3, True), (0.5, -1.0, True)],
)
def test_a_target_at_or_below_zero_has_no_such_bound(
    target: float, score: float, told: bool
) -> None:
    track = own("points")
    track = dc.replace(track, quality=dc.replace(track.quality, target=target))
    case = a_case([a_run(0, metrics={"score": score})], track=track)
    assert len(odd(case, "far below")) == told
    baseline = dc.replace(track, objective="baseline")
    runs = [a_run(n, metrics={"score": score / (n + 1)}) for n in range(2)]
    case = a_case(runs, track=baseline, arms=("candidate", "baseline"))
    assert len(odd(case, "the baseline arm")) == told


ALIKE = [3.2798, 3.2798, 3.2798, 3.2797]
"""p is 0.0014 by their own spread and 0.37 by the usual one."""


@pytest.mark.parametrize(
    ("alpha", "changes", "told"),
    [
        (0.37 / 9.5, {}, False),
        (0.37 / 10.5, {}, True),
        (0.0013, {}, False),  # it does not pass
        (0.01, {}, True),
        (0.01, {"pooled_sd": None, "pooled_df": None}, False),
        (0.01, {"test": "z", "threshold": 0.0001}, False),
    ],
)
def test_runs_that_prove_it_by_their_own_spread_alone(
    alpha: float, changes: dict[str, Any], told: bool
) -> None:
    rule = dc.replace(SMALL.significance, guard=False, alpha=alpha, **changes)
    track = dc.replace(SMALL, significance=rule)
    items = odd(st.case(track, st.evidence(ALIKE)), "unusually small")
    assert [(f.claimed, f.expected) for f in items] == [
        (pytest.approx(5e-5), rule.pooled_sd)
    ] * told


# ---- The baseline arm ---------------------------------------------------------------------------


def frozen(*losses: float) -> Baseline:
    return Baseline("b", "s", "2026-01-01", "training_time_s", (90.0,) * len(losses), losses)


@pytest.mark.parametrize(
    ("axis", "baselines", "loss", "says"),
    [
        ({}, [], 2.04, None),
        ({}, [], 2.05, "2.05 and misses the target 2"),
        ({}, [], 1.8, None),
        ({}, [], 1.79, "1.79, far beyond the target 2"),
        ({"goal": "max"}, [], 2.1, None),
        ({"goal": "max"}, [], 0.5, None),
        ({"target": None}, [], 2.1, None),
        # Six standard deviations of the frozen runs, 0.848528, or half a per cent.
        ({}, [frozen(3.0, 3.2)], 3.94, None),
        ({}, [frozen(3.0, 3.2)], 3.96, "3.96, the baseline at 3.1"),
        ({}, [frozen(3.0, 3.2)], 2.24, "2.24, the baseline at 3.1"),
        ({}, [frozen(2.0, 2.0)], 2.01, None),
        ({}, [frozen(2.0, 2.0)], 2.011, "2.011, the baseline at 2"),
        ({}, [frozen(2.0, 2.0), frozen(3.0, 3.2)], 3.5, None),
        ({}, [frozen(2.05)], 2.05, "2.05 and misses the target 2"),  # one run tells no spread
        ({}, [frozen(n, n) for n in (2.0, 3.0, 4.0, 5.0)], 1.0, "1, the baseline at 3 or 4 or 5"),
    ],
)
def test_how_far_from_the_baseline_its_arm_may_end(
    axis: dict[str, Any], baselines: list[Baseline], loss: float, says: str | None
) -> None:
    quality = dc.replace(st.SINGLE.quality, **{"target": 2.0, **axis})
    track = dc.replace(st.SINGLE, quality=quality, baselines=tuple(baselines))
    arms = st.evidence([1.95], [80.0]), st.evidence([loss], arm="baseline")
    items = odd(st.case(track, *arms), "the baseline arm")
    message = f"the baseline arm ends at loss {says}"
    assert [(f.message, f.level) for f in items] == ([(message, WARNING)] if says else [])


def test_tracks_without_a_baseline_have_arms_of_their_own() -> None:
    arms = st.evidence([3.27], [80.0]), st.evidence([3.9], arm="baseline")
    assert odd(st.case(SMALL, *arms), "the baseline arm") == []
    assert odd(st.case(st.SINGLE, *arms), "the baseline arm") != []
    assert odd(st.case(st.SINGLE, arms[0]), "the baseline arm") == []


@pytest.mark.parametrize("track", [SMALL, st.SINGLE])
def test_nothing_is_odd_about_runs_that_are_not_there_or_do_not_count(track: Track) -> None:
    assert odd(st.case(track), "") == []
    item = st.evidence([3.0])
    short = dc.replace(item, runs=(dc.replace(item.runs[0], finished=False, total_steps=200),))
    assert odd(st.case(track, short), "") == []
    arm = dc.replace(short, spec=dc.replace(short.spec, arm="baseline"))
    assert odd(st.case(track, st.evidence([3.27]), arm), "") == []
