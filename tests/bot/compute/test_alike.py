"""Copies with noise and parts of one run, and trainings that are only near."""

from __future__ import annotations

import random

import pytest

from bot.compute import alike, woven
from bot.model.case import Neighbour
from bot.model.run import Run, Validation
from bot.model.trace import Trace
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL, TRACKS, a_case, a_run, found

STEPS = range(0, 1501, 125)
MEDIUM = TRACKS["nanogpt-medium"]


def seed(n: int, white: float = 0.002) -> Trace:
    """One training: an offset of its own, and fluctuations at each validation, which shrink to a
    quarter as they do in real ones."""
    draw = random.Random(n)
    offset = draw.gauss(0, 0.0013)
    left = {s: 1 - s / 1500 for s in STEPS[1:]}
    return Trace(
        tuple(
            (s, 3.276 + offset + 6 * x**2 + draw.gauss(0, white * (0.75 + 4 * x)))
            for s, x in left.items()
        )
    )


def noisy(trace: Trace, sd: float, n: int, until: int = 1500) -> Trace:
    """A copy with noise at each validation; after `until` another training."""
    draw = random.Random(f"{n} {sd}")
    other = dict(seed(1000 + n).losses)
    return Trace(
        tuple((s, x + draw.gauss(0, sd) if s <= until else other[s]) for s, x in trace.losses)
    )


def parts(trace: Trace) -> list[Trace]:
    """The even and the odd validations of one run, each with its end."""
    *most, end = trace.losses
    return [Trace((*most[k::2], end)) for k in (0, 1)]


@pytest.mark.parametrize("sd", [1e-4, 4e-4, 6e-4, 8e-4, 1e-3, 1.1e-3])
def test_copies_with_noise_are_too_alike(sd: float) -> None:
    assert alike.within([noisy(seed(1), sd, n) for n in range(8)])


def test_a_fork_with_noise_is_found_by_its_first_half() -> None:
    assert alike.within([noisy(seed(1), 2e-4, n, until=1000) for n in range(5)])


@pytest.mark.parametrize("n", range(20))
def test_trainings_of_one_script_are_not(n: int) -> None:
    traces = [seed(n * 50 + k) for k in range(8)]
    assert alike.within(traces) == () == alike.across(traces[:4], traces[4:])


@pytest.mark.parametrize(("runs", "is_told"), [(8, True), (70, False)])
def test_of_many_runs_two_pairs_may_be_near_by_chance(runs: int, is_told: bool) -> None:
    many = [seed(n, 0.004) for n in range(runs)]
    near = [noisy(many[n], 5.5e-4, n) for n in range(2)]
    assert bool(alike.within([*many, *near])) is is_told


@pytest.mark.parametrize("sd", [1e-3, 1.5e-3])
def test_noisy_copies_of_another_entry_are_matched_one_by_one(sd: float) -> None:
    theirs = [seed(n) for n in range(6)]
    copies = [noisy(t, sd, n) for n, t in enumerate(theirs)]
    assert len(alike.across(copies[:4], theirs)) == 4
    assert alike.across([copies[0], *(seed(n) for n in range(70, 75))], theirs) == ()


def test_two_near_runs_among_many_are_a_coincidence() -> None:
    many = [seed(n) for n in range(8)]
    assert alike.within([*many, noisy(many[0], 6.5e-4, 0)]) == ()
    assert len(alike.within([*many, noisy(many[0], 1e-4, 0)])) == 1


def test_the_runs_of_another_entry_with_noise() -> None:
    theirs = [seed(n) for n in range(5)]
    assert len(alike.across([noisy(t, 5e-4, n) for n, t in enumerate(theirs)], theirs)) >= 3
    assert alike.across([noisy(theirs[0], 3e-4, 0)], theirs)
    assert alike.across([seed(77), noisy(theirs[0], 7e-4, 0)], theirs) == ()


def test_parts_of_one_run_validate_at_other_steps() -> None:
    assert list(alike.other_cadence(parts(seed(1))))
    assert list(alike.other_cadence([seed(1), seed(2), Trace(seed(3).losses[:-2])])) == []


def test_runs_of_a_larger_model_differ_less() -> None:
    def tighter(trace: Trace) -> Trace:
        return Trace(tuple((s, 3.276 + (x - 3.276) * 0.3) for s, x in trace.losses))

    assert alike.spread_of(MEDIUM) == pytest.approx(0.0008 / 0.0013)
    assert alike.spread_of(SMALL) == 1.0
    runs = [tighter(seed(n, white=0.001)) for n in range(6)]
    assert alike.within(runs) and not alike.within(runs, alike.spread_of(MEDIUM))
    assert alike.within([noisy(runs[0], 3e-4, n) for n in range(6)], alike.spread_of(MEDIUM))


def case_of(traces: list[Trace], **context: object) -> list[str]:
    runs = [run_of(n, trace) for n, trace in enumerate(traces)]
    items = found("duplicate-run", a_case(runs, **context))
    assert all(item.level is Level.WARNING and item.fix for item in items)
    return [item.message for item in items]


def run_of(n: int, trace: Trace) -> Run:
    points = (Validation(s, x, s * 0.05 * (1 + n / 97)) for s, x in trace.losses)
    return a_run(n, validation=tuple(points))


def test_the_rule_names_the_distance_and_the_other_entry() -> None:
    (message,) = case_of([noisy(seed(1), 7e-4, n) for n in range(5)])
    assert "5 runs are 0.0" in message and "closer than trainings with different seeds" in message
    assert case_of([seed(n) for n in range(5)]) == []
    (message,) = case_of(parts(seed(4)))
    assert "end at one step and validate at different ones" in message
    theirs = Neighbour("submissions/nanogpt-small/theirs", "nanogpt-small", "somebody",
                       frozenset(), None, frozenset(),
                       tuple(seed(n) for n in range(5)))  # fmt: skip
    mine = [noisy(trace, 6e-4, n) for n, trace in enumerate(theirs.traces)]
    assert any("submissions/nanogpt-small/theirs" in m for m in case_of(mine, neighbours=(theirs,)))
    others = [seed(50 + n) for n in range(5)]
    assert case_of(others, neighbours=(theirs,)) == []


def test_a_run_that_is_put_together_from_others() -> None:
    def printed(n: int, digits: int = 4) -> Trace:
        found = [(s, round(x + s * 1e-9, digits)) for s, x in seed(n).losses]
        return Trace(tuple(found))

    def parts_of(a: Trace, b: Trace, every: int = 2) -> Trace:
        pairs = zip(a.losses, b.losses, strict=True)
        return Trace(tuple(p if i % every else q for i, (p, q) in enumerate(pairs)))

    own = [printed(n) for n in range(3)]
    ways = [parts_of(a, b) for a in own for b in own if a is not b]
    assert not alike.within(ways)
    (message,) = case_of(ways)
    assert "share 6 of 12 losses to the last digit" in message
    assert case_of([printed(n) for n in range(6)]) == []
    few = [parts_of(printed(n), printed(9), 3) for n in range(3)]
    assert not list(woven.shared(few, few)), "4 of 12"
    coarse = [parts_of(printed(n, 3), printed(9, 3)) for n in range(3)]
    assert not list(woven.shared(coarse, coarse)), "three decimals are equal by chance"
    theirs = Neighbour("submissions/nanogpt-small/theirs", "nanogpt-small", "somebody",
                       frozenset(), None, frozenset(), tuple(own))  # fmt: skip
    mine = [parts_of(own[0], printed(20)), printed(21), printed(22)]
    (message,) = case_of(mine, neighbours=(theirs,))
    assert "submissions/nanogpt-small/theirs share 6 of 12" in message
