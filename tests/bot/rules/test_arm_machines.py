"""Two arms on two machines, and a baseline arm on a busy one, with near misses."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bot.evidence.machine import recorded
from bot.model.run import MACHINE, Hardware, Run, Witness, WitnessKind
from bot.model.track import Track
from bot.registry import Level
from bot.rules.about import SAME_MACHINE
from bot.rules.arm_machines import busier, other_machine
from bot.rules.arms import AGAIN
from tests.bot.rules.arm_cases import A100, H100, TRACK, a_run_of, frozen
from tests.bot.rules.run_cases import a_case, found


def on(facts: Mapping[str, float | str], n: int = 0, seconds: float = 60.0, **changes: Any) -> Run:
    said = [Witness(MACHINE + k, v, WitnessKind.PROGRAM, "the log") for k, v in facts.items()]
    return a_run_of(n, 4.0, seconds, witnesses=tuple(said), **changes)


def arms(
    ours: Sequence[Mapping[str, float | str]], theirs: Sequence[Mapping[str, float | str]]
) -> tuple[list[Run], list[Run]]:
    return [on(f, n) for n, f in enumerate(ours)], [on(f, 5 + n) for n, f in enumerate(theirs)]


@pytest.mark.parametrize(
    ("mine", "other", "says"),
    [
        ({"system": "Darwin"}, {"system": "Linux"},
         "system Darwin in the candidate and Linux in the baseline arm"),
        ({"cpus": 96.0}, {"cpus": 2.0},
         "CPU cores: 96 in the candidate and 2 in the baseline arm"),
        ({"memory": 256.0}, {"memory": 240.0}, "GiB of memory: 256 in the candidate and 240"),
        ({"cpu": 1.0}, {"cpu": 2.0}, "the processors are of two models"),
        ({"host": 1.0}, {"host": 2.0}, "each arm ran on a host of its own"),
        ({"torch": "2.4"}, {"torch": "2.5"}, "torch 2.4 in the candidate and 2.5"),
    ],
)  # fmt: skip
def test_machines_that_differ(
    mine: Mapping[str, float | str], other: Mapping[str, float | str], says: str
) -> None:
    message = other_machine(*arms([mine] * 2, [other] * 2))
    assert message is not None and message.startswith(says)
    assert other_machine(*arms([mine] * 2, [mine] * 2)) is None


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ([{}, {}], [{}, {}]),
        ([{"cpus": 96.0}] * 2, [{}, {}]),  # one arm alone states it
        ([{"memory": 251.0}] * 2, [{"memory": 252.0}] * 2),
        ([{"load": 1.0}] * 2, [{"load": 30.0}] * 2),
        # a library was updated in a session whose arms take turns
        ([{"torch": "2.4"}, {"torch": "2.5"}], [{"torch": "2.4"}, {"torch": "2.5"}]),
        ([{"torch": "2.4"}] * 2 + [{"torch": "2.5"}], [{"torch": "2.4"}] + [{"torch": "2.5"}] * 2),
        # each run in a container of its own, or one run in each arm
        ([{"host": 1.0}, {"host": 2.0}], [{"host": 3.0}, {"host": 4.0}]),
        ([{"host": 1.0}], [{"host": 2.0}]),
        ([{"host": 1.0}, {"host": 2.0}], [{"host": 1.0}, {"host": 2.0}]),
    ],
)
def test_arms_of_one_machine(
    ours: Sequence[Mapping[str, float | str]], theirs: Sequence[Mapping[str, float | str]]
) -> None:
    assert other_machine(*arms(ours, theirs)) is None


def test_versions_and_drivers_that_a_run_states_elsewhere() -> None:
    ours, theirs = ([on({}, 0, software={"python": v})] for v in ("CPython 3.11.7", "3.12.1"))
    assert (
        other_machine(ours, theirs) == "python 3.11 in the candidate and 3.12 in the baseline arm"
    )
    assert other_machine(ours, [on({}, software={"python": "3.11.2"})]) is None
    ours, theirs = ([on({}, hardware=Hardware("H100", 1, d))] for d in ("550.54", "535.10"))
    assert "GPU driver 550.54 in" in (other_machine(ours, theirs) or "")


def test_an_arm_that_describes_no_machine() -> None:
    known: Mapping[str, float | str] = {"cpus": 8.0, "memory": 64.0, "system": "Linux"}
    text = "the runs of the candidate describe their machine, those of the baseline arm do not"
    assert other_machine(*arms([known] * 2, [{}] * 2)) == text
    assert "of the baseline arm describe" in (other_machine(*arms([{}] * 2, [known] * 2)) or "")
    assert other_machine(*arms([{"cpus": 8.0, "memory": 64.0}] * 2, [{}] * 2)) is None
    assert other_machine(*arms([known, {}], [{}] * 2)) is None
    assert other_machine(*arms([known] * 2, [{}, {"cpus": 8.0}])) is None
    ours, theirs = arms([known], [{}])
    assert other_machine(ours, [dc.replace(theirs[0], source="wandb")]) is None


def test_what_was_named_already_is_not_named_again() -> None:
    both = arms([{"torch": "2.4"}], [{"torch": "2.5"}])
    assert other_machine(*both) and other_machine(*both, frozenset({"torch"})) is None


def test_many_differences_are_counted() -> None:
    one: Mapping[str, float | str]
    one = {"system": "Linux", "arch": "arm64", "kernel": "6.8", "python": "3.11", "cpus": 4.0}
    other: Mapping[str, float | str]
    other = {"system": "Darwin", "arch": "x86_64", "kernel": "5.4", "python": "3.12", "cpus": 8.0}
    message = other_machine(*arms([one], [other]))
    assert message is not None and message.endswith("; and 1 more")


def test_the_client_s_record_of_two_machines() -> None:
    def run(n: int, cpus: int, host: str) -> Run:
        record = {"cpu_count": cpus, "memory": {"total": 64 * 2**30}, "host": host}
        return a_run_of(n, 4.0, 60.0, witnesses=tuple(recorded(record)))

    runs = [run(0, 96, "epyc-1"), run(1, 96, "epyc-1"), run(2, 2, "old-box"), run(3, 2, "old-box")]
    case = a_case(runs, arms=["candidate"] * 2 + ["baseline"] * 2, track=TRACK)
    (item,) = found("arms-differ", case)
    assert item.level is Level.WARNING and item.fix == SAME_MACHINE
    assert item.message.startswith("the arms ran on machines that differ: CPU cores: 96 in")
    assert "epyc" not in item.message and "old-box" not in item.message


# ---- a busy machine -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        ([{"load": 0.3}] * 2, [{"load": 17.0}] * 2, True),
        ([{"load": 0.3}] * 2, [{"load": 2.5}] * 2, False),  # the training itself is a load
        ([{"load": 8.0}] * 2, [{"load": 17.0}] * 2, False),
        ([{"load": 8.0}] * 2, [{"load": 18.1}] * 2, True),
        ([{"load": 17.0}] * 2, [{"load": 0.3}] * 2, False),  # to the candidate's cost
        ([{"load": 0.3}, {"load": 17.0}], [{"load": 17.0}] * 2, False),  # it ran first
        ([{"load": 0.3}] * 2, [{"load": 17.0}, {"load": 0.3}], False),
        ([{}] * 2, [{"load": 17.0}] * 2, False),
        ([{"processes": 1.0}] * 2, [{"processes": 18.0}] * 2, True),
        ([{"gpu_use": 3.0}] * 2, [{"gpu_use": 97.0}] * 2, True),
        ([{"gpu_use": 3.0}] * 2, [{"gpu_use": 40.0}] * 2, False),
    ],
)
def test_a_load_of_one_arm(
    ours: Sequence[Mapping[str, float | str]],
    theirs: Sequence[Mapping[str, float | str]],
    told: bool,
) -> None:
    assert (busier(*arms(ours, theirs)) is not None) == told


BUSY = {"load": 17.42, "processes": 18.0}
IDLE = {"load": 0.31, "processes": 1.0}


def loaded(
    seconds: float, n: int = 2, track: Track = TRACK, hardware: Hardware = H100
) -> list[str]:
    """What is told of an idle candidate and an arm on a busy machine that took so long."""
    runs = [on(IDLE, k, 60.0, hardware=hardware) for k in range(n)]
    runs += [on(BUSY, k + 5, seconds, hardware=hardware) for k in range(n)]
    case = a_case(runs, arms=["candidate"] * n + ["baseline"] * n, track=track)
    told = [f for f in found("arms-differ", case) if "busy" in f.message]
    assert all(f.level is Level.WARNING and f.fix == AGAIN for f in told)
    return [f.message for f in told]


def test_a_load_counts_where_the_arm_is_slower_than_the_frozen_baseline() -> None:
    (text,) = loaded(150.0)
    assert text == (
        "the machine was busy when the baseline arm ran: load average 17.4, 0.31 in the candidate; "
        "number of running processes 18, 1 in the candidate"
    )
    assert loaded(150.0, 1) and loaded(100.0) == []


def test_a_load_counts_where_nothing_says_how_long_the_baseline_takes() -> None:
    assert loaded(100.0, hardware=A100)
    assert loaded(100.0, 1, hardware=A100) == []  # the second of two runs finds the first's load
    assert loaded(100.0, track=frozen(costs=()))
    assert loaded(100.0, track=dc.replace(TRACK, objective="target")) == []
