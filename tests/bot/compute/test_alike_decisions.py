"""When curves are too near, at each limit: pairs, groups and entries of which one distance decides.

A run is 3.3 nats at sixteen validations, and another run differs from it by `sizes` with signs of
its own, so that every distance is known by hand.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Callable, Sequence

import pytest

from bot.compute import alike
from bot.compute.alike import Near, across, apart, of_one_clock, other_cadence, within
from bot.model.trace import Trace
from bot.model.track import Axis, Significance
from tests.bot.rules.run_cases import SMALL

N = 16
SIGNS = tuple(tuple(1 if (n // every) % 2 == 0 else -1 for n in range(N)) for every in (1, 2, 4, 8))
Sizes = Sequence[float]


def run(losses: Sequence[float], shift: float = 0) -> Trace:
    return Trace(tuple((int(100 * (n + 1) + shift), loss) for n, loss in enumerate(losses)))


def flat() -> Trace:
    return run([3.3] * N)


def beside(sizes: Sizes, kind: int = 0, factor: float = 1.0, k: int = 0) -> Trace:
    """A run that differs by `sizes` from `original(k)`, times a factor."""
    signs = SIGNS[kind]
    own = [x for _, x in original(k).losses]
    return run([x * factor + s * d for x, s, d in zip(own, signs, sizes, strict=True)])


def original(k: int) -> Trace:
    """Runs that have nothing in common: they begin far apart and fall by other factors."""
    return run([3.3 + k * (0.01 + n * 0.005) for n in range(N)])


def by_nats(c: float) -> Sizes:
    """The first half decides; the second is of another form."""
    return [c] * 8 + [0.03] * 8


def by_body(c: float) -> Sizes:
    """All but three points decide, the first of them."""
    return [0.004] * 3 + [c] * 13


def by_early(c: float) -> Sizes:
    """The first quarter decides."""
    return [c] * 4 + [0.004] * 12


def by_usual(c: float) -> Sizes:
    """The whole curve decides, whose first quarter is far: c^2 = (4 x 0.0019^2 + 12 e^2) / 16."""
    return [0.0019] * 4 + [math.sqrt((16 * c**2 - 4 * 0.0019**2) / 12)] * 12


def rms(values: Sizes) -> float:
    return math.sqrt(math.fsum(v * v for v in values) / len(values))


# ---- One pair ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [7, 8, 9, 12, 13, 16, 21])
def test_the_distances_of_two_runs(n: int) -> None:
    """Half of at least four points, and a quarter of at least three."""
    for sizes in ([1e-4 * (k + 1) for k in range(n)], [1e-4 * (n - k) for k in range(n)]):
        a, b = run([3.3] * n), run([3.3 + d for d in sizes])
        found = apart(a, b)
        half, part = sizes[: n // 2], max(n // 4, 3)
        assert found is not None
        want = min(rms(sizes), rms(half) if n >= 8 else math.inf)
        assert found.nats == pytest.approx(want)
        assert found.early == pytest.approx(rms(sizes[:part]))
        assert found.late == pytest.approx(rms(sizes[-part:]))


@pytest.mark.parametrize("at", range(12))
def test_the_form_is_looked_at_in_three_places(at: int) -> None:
    """After a third, after two thirds and at the end: 0.7 % is another form, 0.5 % is none."""
    for share, limit in ((0.007, at in (4, 8, 11)), (0.005, False)):
        b = run([3.3 * (1 + share * (n == at)) for n in range(12)])
        found = apart(run([3.3] * 12), b)
        assert found is not None
        assert (found.body == math.inf) is (found.shape == math.inf) is limit
        assert apart(b, run([3.3] * 12)) is not None


FAR = 6 * 0.0008


@pytest.mark.parametrize(
    ("first", "end", "looked_at", "nats"),
    [
        ([0.005] * 3, 0.0, True, False),  # far, of one form
        ([0.005] * 3, 0.03, False, False),  # far, of another form
        ([0.005, 0.005, 0.0], 0.03, True, True),
        ([0.0, 0.005, 0.005], 0.03, True, True),
        ([0.0047] * 3, 0.03, True, True),
    ],
)
def test_runs_that_begin_far_apart_are_compared_by_their_form(
    first: list[float], end: float, looked_at: bool, nats: bool
) -> None:
    b = run([3.3 + d for d in (*first, *[0.005] * 12, end)])
    found = apart(flat(), b)
    assert (found is not None) is looked_at
    if found is not None:
        assert (found.nats < math.inf) is nats


def test_a_loss_of_zero_has_a_form_too() -> None:
    """As of 1: a difference of 0.006 is none, 0.0065 is."""
    zero = [0.0] * 12
    near = [*[FAR] * 3, *zero[3:]]
    assert apart(run(near), run(zero)) is not None
    for x, other in ((0.006, False), (0.0065, True)):
        found = apart(run([*zero[:4], x, *zero[5:]]), run([0.0] * 12))
        assert found is not None and (found.body == math.inf) is other
    one, some = [1.0] * 12, [*zero[:4], 0.006, *zero[5:]]
    assert apart(run(some), run(one)) is not None


def test_of_several_pairings_the_nearest_counts() -> None:
    losses = [3.3 + 0.002 * ((n * 7) % 5) for n in range(N)]
    shifted = apart(run(losses), run(losses, 3))
    assert shifted is not None and shifted.nats == shifted.body == shifted.shape == 0
    late = apart(run(losses), run(losses, 50))
    assert late is not None and late.body == late.shape == 0
    assert late.nats == math.inf and late.early == math.inf, "not of the same steps"
    moved = apart(run(losses), Trace(tuple((s - 100, x) for s, x in run(losses).losses[1:])))
    assert moved is not None and moved.body == moved.shape == 0


ONE = [
    (by_nats, 1.0, 4.4e-4, True), (by_nats, 1.0, 4.6e-4, False),
    (by_body, 1.0, 1.75e-4, True), (by_body, 1.0, 1.85e-4, False),
    (lambda c: [c] * N, 1.01, 7.9e-5, True), (lambda c: [c] * N, 1.01, 8.2e-5, False),
]  # fmt: skip
SPREADS = pytest.mark.parametrize("spread", [1.0, 0.5])


@SPREADS
@pytest.mark.parametrize(("sizes", "factor", "c", "told"), ONE)
def test_a_single_pair_may_be_too_near(
    sizes: Callable[[float], Sizes], factor: float, c: float, told: bool, spread: float
) -> None:
    copy = beside(sizes(c * spread), factor=factor)
    found = within([flat(), copy], spread)
    assert [(p.a, p.b) for p in found] == [(0, 1)] * told
    assert [(p.a, p.b) for p in across([flat()], [copy], spread)] == [(0, 0)] * told
    for pair in found:
        assert pair.apart == pytest.approx(c * spread, rel=0.02)


def test_an_exact_distance_is_within_its_limit() -> None:
    a, b = run([3.25] * N), run([3.25 + SIGNS[0][n] * 2.0**-12 for n in range(8)] + [3.3] * 8)
    nats = 2.0**-12
    spread = nats / alike.NEAREST
    assert within([a, b], spread) == (Near(0, 1, nats),)
    assert within([a, b], spread * 0.999999) == ()


# ---- Many runs ---------------------------------------------------------------------------------


def couples(runs: int, near: int, c: float) -> list[Trace]:
    """`runs` runs of which `near` pairs are near."""
    copies = [beside(by_nats(c), k=k) for k in range(near)]
    return [*(original(k) for k in range(runs - near)), *copies]


@pytest.mark.parametrize(
    ("runs", "near", "c", "told"),
    [
        (4, 2, 7.9e-4, True),
        (4, 2, 8.1e-4, False),
        (4, 1, 7.9e-4, False),
        (11, 2, 7.9e-4, True),  # 55 pairs
        (12, 2, 7.9e-4, False),  # 66: one more for each 120
        (12, 3, 7.9e-4, True),
        (25, 4, 7.9e-4, True),  # 300
        (25, 3, 7.9e-4, False),
        (12, 1, 4e-4, True),
        (45, 1, 4e-4, True),  # 990
        (46, 1, 4e-4, False),  # 1035: one more for each 2000
        (46, 2, 4e-4, True),
    ],
)
def test_more_runs_make_more_near_pairs_by_chance(
    runs: int, near: int, c: float, told: bool
) -> None:
    found = within(couples(runs, near, c))
    assert [(p.a, p.b) for p in found] == [(k, runs - near + k) for k in range(near)] * told
    if runs == 4:
        for factor in (0.5, 2.0):
            assert bool(within(couples(runs, near, c * factor), factor)) is told


GROUPS = [
    (by_usual, (1.0, 1.0), 1.28e-3, True), (by_usual, (1.0, 1.0), 1.32e-3, False),
    (by_early, (1.0, 1.0), 1.75e-3, True), (by_early, (1.0, 1.0), 1.85e-3, False),
    (by_body, (1.0, 1.0), 3.4e-4, True), (by_body, (1.0, 1.0), 3.6e-4, False),
    (lambda c: [c] * N, (1.01, 1.02), 2.45e-4, True),
    (lambda c: [c] * N, (1.01, 1.02), 2.65e-4, False),
]  # fmt: skip


@pytest.mark.parametrize(("sizes", "factors", "c", "told"), GROUPS)
def test_a_group_is_judged_by_its_usual_pair(
    sizes: Callable[[float], Sizes], factors: tuple[float, float], c: float, told: bool
) -> None:
    """Two runs beside a first one, each by c, and apart from each other by more than that."""
    two = [beside(sizes(c), k, f) for k, f in enumerate(factors)]
    found = within([flat(), *two])
    assert [(p.a, p.b) for p in found] == [(0, 1), (0, 2), (1, 2)] * told


@pytest.mark.parametrize(
    ("group", "strangers", "told"), [(3, 0, True), (3, 1, True), (3, 2, False), (4, 2, False)]
)
def test_half_of_the_pairs_are_comparable(group: int, strangers: int, told: bool) -> None:
    near = [flat(), *(beside([0.0009] * N, k) for k in range(group - 1))]
    assert bool(within([*near, *(original(k + 1) for k in range(strangers))])) is told


def test_the_spread_of_the_track_moves_the_limits_of_a_group() -> None:
    two = [beside(by_early(0.0017), k) for k in (0, 1)]
    assert within([flat(), *two]) and not within([flat(), *two], 0.9)
    usual = [beside([0.0019] * 4 + [0.0008] * 12, k) for k in (0, 1)]  # 0.00118
    assert within([flat(), *usual]) and not within([flat(), *usual], 0.9)
    body = [beside(by_body(3.3e-4), k) for k in (0, 1)]
    assert within([flat(), *body]) and not within([flat(), *body], 0.9)


# ---- Two entries -------------------------------------------------------------------------------


def entries(count: int, sizes: Sizes, extra: int = 0) -> tuple[list[Trace], list[Trace]]:
    """An entry whose first `count` runs are beside those of another, and `extra` of its own."""
    theirs = [original(k) for k in range(count)]
    mine = [beside(sizes, k=k) for k in range(count)]
    return [*mine, *(original(-1 - k) for k in range(extra))], theirs


def both_ends(early: float, share: float) -> Sizes:
    return [early] * 4 + [0.004] * 8 + [early * share] * 4


@pytest.mark.parametrize(
    ("count", "sizes", "extra", "told"),
    [
        (3, by_nats(7.9e-4), 0, True),
        (3, by_nats(7.9e-4), 9, True),  # three are no coincidence in any number
        (3, by_nats(8.1e-4), 0, False),
        (2, by_nats(7.9e-4), 0, False),
        (3, both_ends(0.00175, 0.6), 0, True),
        (3, both_ends(0.00185, 0.6), 0, False),
        (3, both_ends(0.00175, 2.1), 0, True),
        (3, both_ends(0.00175, 2.3), 0, False),
        (3, both_ends(0.00175, 0.45), 0, False),
        (3, by_body(3.7e-4), 0, True),
        (3, by_body(3.9e-4), 0, False),
        (2, by_body(3.7e-4), 0, False),
        (4, by_body(3.7e-4), 1, True),  # four of five
        (3, by_body(3.7e-4), 1, False),  # 3 are fewer than four fifths of 4
    ],
)
def test_the_runs_of_two_entries(count: int, sizes: Sizes, extra: int, told: bool) -> None:
    mine, theirs = entries(count, sizes, extra)
    found = across(mine, theirs)
    assert [(p.a, p.b) for p in found] == [(k, k) for k in range(count)] * told


@pytest.mark.parametrize(("c", "told"), [(2.75e-4, True), (2.9e-4, False)])
def test_the_form_of_runs_of_two_entries(c: float, told: bool) -> None:
    theirs = [original(k) for k in range(3)]
    mine = [beside([c] * N, factor=1.01, k=k) for k in range(3)]
    assert bool(across(mine, theirs)) is told


def test_the_limits_across_follow_the_spread() -> None:
    cases = (by_nats(7.5e-4), both_ends(0.0017, 1.0), by_body(3.6e-4))
    for sizes in cases:
        assert across(*entries(3, sizes)) and not across(*entries(3, sizes), 0.9)


def test_three_runs_near_one_are_one_match() -> None:
    mine = [beside(by_nats(7.9e-4), kind) for kind in range(3)]
    assert across(mine, [flat()]) == ()


def test_each_run_is_matched_to_its_nearest() -> None:
    mine, theirs = entries(3, by_nats(7.9e-4))
    nearer = beside(by_nats(3e-4), kind=1, k=0)
    worse = [beside([0.002] * N, kind=2, k=0), nearer]
    assert alike.across([original(0)], worse)[0].b == 1
    assert alike.across([original(0)], worse[::-1])[0].b == 0
    assert [p.b for p in across(mine, [*theirs, *theirs])] == [0, 1, 2]


def test_the_first_120_runs_of_an_entry_are_compared() -> None:
    others = [original(k + 1) for k in range(119)]
    assert [p.a for p in across([*others, flat()], [flat()])] == [119]
    assert across([*others, original(120), flat()], [flat()]) == ()


# ---- Clocks, steps and the track ---------------------------------------------------------------


def clocked(stretch: float, off: float, clocks: frozenset[int] = frozenset({1})) -> Trace:
    """Validations every `stretch` seconds, by turns `off` late and early."""
    times, now = [], 0.0
    for n in range(20):
        now += stretch + (off if n % 2 else -off)
        times.append((n + 1, now))
    return Trace((), clocks, tuple(times))


@pytest.mark.parametrize(
    ("stretch", "off", "told"),
    [(100.0, 8e-4, True), (100.0, 1e-3, False), (10.0, 4.5e-4, True), (10.0, 5.5e-4, False)],
)
def test_one_clock_is_equal_in_seconds_and_in_share(stretch: float, off: float, told: bool) -> None:
    mine, theirs = clocked(stretch, off), clocked(stretch, 0.0)
    assert bool(list(of_one_clock([mine], [theirs]))) is told


def test_a_clock_is_compared_where_both_have_one() -> None:
    some, none = clocked(10.0, 0.0), clocked(10.0, 0.0, frozenset())
    assert [(p.a, p.b) for p in of_one_clock([none, some], [none, dc.replace(some)])] == [(1, 1)]
    assert not list(of_one_clock([some], [none])) and not list(of_one_clock([some], [some]))
    many = [none] * 119
    assert [p.a for p in of_one_clock([*many, some], [dc.replace(some)])] == [119]
    assert not list(of_one_clock([*many, none, some], [dc.replace(some)]))


def at(*steps: int) -> Trace:
    return Trace(tuple((step, 3.3) for step in steps))


@pytest.mark.parametrize(
    ("mine", "theirs", "told"),
    [
        ((1, 3, 5, 9), (2, 4, 6, 9), True),
        ((1, 3, 9), (2, 4, 6, 9), False),
        ((1, 3, 5, 8), (2, 4, 6, 9), False),
        (range(1, 11), (*range(4, 11), 0, -1, -2), False),  # seven of ten
        (range(1, 11), (*range(5, 11), 0, -1, -2, -3), True),
        (range(1, 11), range(4, 11), False),
        (range(1, 21), (*range(14, 21), 0, -1, -2), False),  # of the shorter one
    ],
)
def test_parts_of_a_run_end_at_one_step_and_share_few(
    mine: Sequence[int], theirs: Sequence[int], told: bool
) -> None:
    assert bool(list(other_cadence([at(*mine), at(*theirs)]))) is told


@pytest.mark.parametrize(
    ("rule", "metric", "spread"),
    [
        (Significance(sigma=0.00065), "loss", 0.5),
        (Significance(pooled_sd=0.00065), "loss", 0.5),
        (Significance(sigma=0.00065, pooled_sd=0.001), "loss", 0.5),
        (Significance(sigma=0.0026), "loss", 1.0),
        (Significance(sigma=0.00065), "accuracy", 1.0),
        (Significance(), "loss", 1.0),
        (Significance(), "accuracy", 1.0),
    ],
)
def test_the_spread_of_a_track(rule: Significance, metric: str, spread: float) -> None:
    track = dc.replace(SMALL, significance=rule, quality=Axis(metric, target=3.28))
    assert alike.spread_of(track) == pytest.approx(spread)
