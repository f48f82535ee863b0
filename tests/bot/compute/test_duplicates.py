"""Which traces are copies: near losses, equal losses, or equal clocks, up to each limit; and the
keys by which a run or a result is found again."""

from __future__ import annotations

import pytest

from bot.compute.duplicates import (
    LEAST_POINTS,
    SHARE,
    Known,
    claims_key,
    link_key,
    nonce_key,
    repeats,
    run_key,
    value_keys,
)
from bot.model.document import Document
from bot.model.results import ResultsRun, Stated
from bot.model.run import Run, Validation
from bot.model.trace import Trace

NEAR = 4.5e-4

STEPS = range(100, 1000, 100)


def shifted(by: float, steps: range = STEPS) -> Trace:
    """A training whose losses are all off by so much."""
    return Trace(tuple((step, 4 - step / 1000 + by) for step in steps))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("share", "found"), [(0.9, 0), (1.1, None)])
def test_a_trace_is_near_up_to_the_limit_above_and_below(
    sign: int, share: float, found: int | None
) -> None:
    seen = Known()
    seen.add(0, shifted(0.0))
    assert seen.original(shifted(sign * share * NEAR)) == found


@pytest.mark.parametrize(("count", "found"), [(6, 0), (5, None)])
def test_few_validations_are_not_enough(count: int, found: int | None) -> None:
    seen = Known()
    seen.add(0, shifted(0.0))
    few = range(100, 100 * count + 1, 100)
    assert seen.original(shifted(0.9 * NEAR, few)) == found


@pytest.mark.parametrize(
    ("apart", "count", "found"),
    [
        pytest.param(NEAR, 6, 0, id="as far as near, at six"),
        pytest.param(-NEAR, 6, 0, id="below"),
        pytest.param(NEAR, 5, None, id="at five"),
        pytest.param(6e-5, 5, 0, id="as far as equal, at five"),
        pytest.param(-6e-5, 5, 0, id="equal below"),
    ],
)
def test_losses_at_the_limits_themselves(apart: float, count: int, found: int | None) -> None:
    seen = Known()
    seen.add(0, Trace(tuple((n, 0.0) for n in range(count))))
    assert seen.original(Trace(tuple((n, apart) for n in range(count)))) == found


@pytest.mark.parametrize(("before", "found"), [(0, 0), (2, 0), (3, None)])
def test_one_of_the_first_three_validations_leads_to_a_near_trace(
    before: int, found: int | None
) -> None:
    """Of either of the two: the other has validations before it at steps of its own."""
    late = Trace((*((n, 9.0) for n in range(before)), *shifted(0.9 * NEAR).losses))
    for first, second in ((shifted(0.0), late), (late, shifted(0.0))):
        seen = Known()
        seen.add(0, first)
        assert seen.original(second) == found


def clocks(*milliseconds: int) -> Trace:
    """A trace that has clocks alone in common with any other."""
    return Trace((), frozenset(milliseconds))


@pytest.mark.parametrize(
    ("ours", "theirs", "equal", "found"),
    [
        pytest.param(4, 4, LEAST_POINTS, 0, id="four of four"),
        pytest.param(3, 3, LEAST_POINTS - 1, None, id="three of three"),
        pytest.param(10, 10, int(10 * SHARE), 0, id="the share of ten, exactly"),
        pytest.param(10, 10, int(10 * SHARE) - 1, None, id="one less than the share of ten"),
        pytest.param(40, 10, int(10 * SHARE), 0, id="the share of the shorter trace, the first"),
        pytest.param(10, 40, int(10 * SHARE), 0, id="the share of the shorter trace, the second"),
        pytest.param(40, 40, int(10 * SHARE), None, id="as many of forty"),
    ],
)
def test_equal_clocks_up_to_the_share(
    ours: int, theirs: int, equal: int, found: int | None
) -> None:
    seen = Known()
    seen.add(0, clocks(*range(1001, 1001 + theirs)))
    other = [*range(1001, 1001 + equal), *range(9001, 9001 + ours - equal)]
    assert seen.original(clocks(*other)) == found


@pytest.mark.parametrize(
    ("common", "equal", "found"),
    [
        pytest.param(4, 4, 0, id="all of four"),
        pytest.param(3, 3, None, id="all of three"),
        pytest.param(5, 4, None, id="four of five may be chance"),
        pytest.param(5, 5, 0, id="all of five"),
        pytest.param(6, 5, 0, id="five of six"),
        pytest.param(6, 4, None, id="four of six"),
        pytest.param(10, 7, 0, id="the share of ten, exactly"),
        pytest.param(10, 6, None, id="one less than the share of ten"),
    ],
)
def test_equal_losses_up_to_the_share(common: int, equal: int, found: int | None) -> None:
    """The other losses are far off, and neither trace's own steps count."""
    seen = Known()
    steps = [100 * (n + 1) for n in range(common)]
    seen.add(0, Trace((*((s, 3.5) for s in steps), *((50 + s, 3.4) for s in steps))))
    ours = [(s, 3.5 if n < equal else 3.7) for n, s in enumerate(steps)]
    assert seen.original(Trace((*ours, *((75 + s, 3.3) for s in steps)))) == found


@pytest.mark.parametrize(("apart", "found"), [(5.9e-5, 0), (-5.9e-5, 0), (6.1e-5, None)])
def test_losses_are_equal_up_to_the_tolerance(apart: float, found: int | None) -> None:
    """Over few validations, where nearness says nothing."""
    seen = Known()
    steps = range(100, 600, 100)
    seen.add(0, Trace(tuple((s, 3.50001 + s / 7e3) for s in steps)))
    assert seen.original(Trace(tuple((s, 3.50001 + s / 7e3 + apart) for s in steps))) == found


def test_the_earliest_of_several_originals_is_named() -> None:
    seen = Known()
    for number in (3, 1, 2):
        seen.add(number, shifted(0.0))
    assert seen.original(shifted(0.0)) == 1


# ---- Runs --------------------------------------------------------------------------------------


def run(n: int, loss: float = 0.0, clock: float = 1.0, count: int = 12, fork: int = 99) -> Run:
    """A run whose losses and clocks are moved by so much, and are others after the fork."""
    points = [
        Validation(100 * k, 3.9 - 0.0317 * k + loss, clock * k**1.1) for k in range(1, count + 1)
    ]
    points[fork:] = [Validation(s, x + 0.1, 1.37 * (t or 0.0)) for s, x, t in points[fork:]]
    return Run("log", f"{n}.log", validation=tuple(points))


@pytest.mark.parametrize(
    ("runs", "pairs"),
    [
        ([run(0), run(1, 0.5, 2.0), run(2, 0.9, 3.0)], ()),
        ([run(0), run(1, 1e-5, 2.0), run(2, 0.5, 3.0)], ((1, 0),)),
        # a copy of a copy is one of the original
        ([run(0), run(1, 3e-4, 2.0), run(2, 7e-4, 3.0)], ((1, 0),)),
        ([run(0), run(1, 1e-5, 2.0), run(2, 0.0, 3.0)], ((1, 0), (2, 0))),
        # a fork has three losses and clocks in common, which are too few for a copy
        ([run(0), run(1, 0.5, 2.0), run(2, fork=3)], ((2, 0),)),
        ([run(0), run(1, 0.5, 2.0), run(2, fork=2)], ()),
        ([run(1, 0.5, 2.0), run(0), run(2, fork=3)], ((2, 1),)),
    ],
)
def test_each_copy_and_its_original(runs: list[Run], pairs: tuple[tuple[int, int], ...]) -> None:
    assert repeats(runs) == pairs


# ---- Keys --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "key"),
    [
        ("https://wandb.ai/team/project/runs/abc", "wandb:team/project/abc"),
        ("https://wandb.ai/team/project", None),
        ("elsewhere", None),
        (7, None),
    ],
)
def test_the_key_of_a_link_is_that_of_its_run(link: object, key: str | None) -> None:
    assert link_key(link) == key


ONLINE = {"run_id": "r", "entity": "e", "project": "p"}


def test_the_key_of_a_run_is_its_address() -> None:
    assert run_key(Run("wandb", "x", **ONLINE)) == "wandb:e/p/r"
    for name in ONLINE:
        assert run_key(Run("wandb", "x", **ONLINE | {name: None})) is None
        assert (run_key(run_with(3, **{name: None})) or "").startswith("metrics:")


def run_with(points: int, **fields: str | None) -> Run:
    made = tuple(Validation(100 * n, 3.5 - n, None) for n in range(points))
    return Run("log", "x", validation=made, **ONLINE | fields)


def test_the_key_of_a_run_without_an_address_is_its_series() -> None:
    assert run_key(run(0, count=2)) is None
    assert run_key(run(0, count=3)) == run_key(run(1, count=3))
    other = {run_key(r) for r in (run(0), run(0, 1e-9), run(0, clock=1.001), run(0, count=11))}
    assert len(other) == 4


@pytest.mark.parametrize(
    ("nonce", "key"),
    [("a" * 16, "nonce:" + "a" * 16), ("a" * 15, None), (None, None), ([1] * 16, None)],
)
def test_a_nonce_of_few_bits_is_no_key(nonce: object, key: str | None) -> None:
    assert nonce_key(nonce) == key


def results(**values: float | None) -> ResultsRun:
    stated = {name: Stated("/", value, value) for name, value in values.items()}
    return ResultsRun("r.json", 0, "runs", "", "", {}, stated, Document("r.json", {}))


SHORT = results(training_time_s=60.0, bpb=1.0)
LONG = results(training_time_s=70.0, loss=3.0)


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ([SHORT], [results(training_time_s=60.00001, bpb=1.000001)], True),
        ([SHORT], [results(training_time_s=60.001, bpb=1.0)], False),
        ([SHORT], [results(training_time_s=60.0, bpb=1.00001)], False),
        ([SHORT], [results(training_time_s=60.0, bpb=1.0, tokens=None)], True),
        ([SHORT], [results(training_time_s=60.0, bpb=1.0, tokens=5)], False),
        ([SHORT], [results(training_time_s=60.0, loss=1.0)], False),
        ([SHORT, LONG], [LONG, SHORT], True),
        ([SHORT, LONG], [SHORT], False),
        # what does not say its time, or neither of its qualities, is left out
        ([SHORT, results(bpb=1.0, loss=3.0)], [SHORT], True),
        ([SHORT, results(training_time_s=60.0, tokens=5)], [SHORT], True),
    ],
)
def test_results_are_found_again_by_six_digits(
    ours: list[ResultsRun], theirs: list[ResultsRun], same: bool
) -> None:
    first, second = claims_key(ours), claims_key(theirs)
    assert first and second and (first == second) is same
    assert claims_key([results(bpb=1.0), results(training_time_s=60.0)]) is None


@pytest.mark.parametrize(
    ("name", "value", "places"),
    [
        # 1.0123456 / 4e-6 = 253,086.4 and 1.0123474 / 4e-6 = 253,086.85
        ("bpb", 1.0123456, (253_086, 253_086)),
        ("bpb", 1.0123474, (253_086, 253_087)),
        ("bpb", 1.012345, (253_086, 253_086)),
        ("bpb", 1.01234, None),
        ("bpb", 1, None),
        ("bpb", 999_999.5, (249_999_875_000, 249_999_875_000)),
        ("bpb", 1_234_567.1, None),
        ("bpb", -1_234_567.1, None),
        # 3.27712345 / 4e-8 = 81,928,086.25 and 3.27712347 / 4e-8 = 81,928,086.75
        ("loss", 3.27712345, (81_928_086, 81_928_086)),
        ("loss", 3.27712347, (81_928_086, 81_928_087)),
        ("loss", 3.2771234, None),
        ("tokens", 1.0123456, None),
    ],
)
def test_the_keys_of_a_value_are_its_places(
    name: str, value: float, places: tuple[int, int] | None
) -> None:
    keys = places and {f"{name}:0:{places[0]}": name, f"{name}:0.5:{places[1]}": name}
    assert value_keys([results(**{name: value})]) == (keys or {})
    assert value_keys([], [Run("log", "x", metrics={name: value})]) == (keys or {})
