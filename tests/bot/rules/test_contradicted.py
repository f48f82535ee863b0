"""Second statements of a run beside what ranks: the bound of each, and the words beyond it."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.model.run import Hardware, Run, Validation, Witness, WitnessKind
from bot.registry import Level
from bot.rules.contradicted import contradicted
from tests.bot.rules.run_cases import SMALL, TRACKS, a_case, a_run

PARETO, STEPS = TRACKS["fineweb-edu"], TRACKS["nanogpt-optimization"]
TARGET = dc.replace(SMALL, finish="target")
ANY_COUNT = dc.replace(SMALL, accelerator_count=None)


def judged(run: Run, track: Any = SMALL, arm: str = "candidate", **options: bool) -> list[str]:
    case = a_case([run], track=track, arms=(arm,))
    found = list(contradicted(case, case.evidence[0], run, **options))
    assert {f.rule for f in found} <= {"witnesses-disagree"}
    return [f.message for f in found]


def said(
    quantity: str,
    value: float | str,
    track: Any = SMALL,
    arm: str = "candidate",
    kind: WitnessKind = WitnessKind.PROGRAM,
    **changes: Any,
) -> list[str]:
    witness = Witness(quantity, value, kind, "`x`")
    return judged(a_run(0, witnesses=(witness,), **changes), track, arm)


def timed(seconds: float | None) -> dict[str, Any]:
    return {"metrics": {"training_time_s": seconds}}


@pytest.mark.parametrize(
    ("quantity", "ours", "other", "arm", "is_told"),
    [
        # The sum of the steps: 85 % of it is honest.
        ("training_time_s", 85.0, 100.0, "candidate", False),
        ("training_time_s", 84.9, 100.0, "candidate", True),
        ("training_time_s", 200.0, 100.0, "candidate", False),
        ("training_time_s", 0.25, 0.5, "candidate", False),  # of a moment
        ("training_time_s", 0.25, 0.51, "candidate", True),
        ("training_time_s", 100.0, 85.0, "baseline", False),
        ("training_time_s", 100.0, 84.9, "baseline", True),
        ("training_time_s", 100.0, 1.0, "baseline", True),
        ("training_time_s", 100.0, 0.0, "baseline", False),
        ("training_time_s", 80.0, 100.0, "baseline", True),
        ("training_time_s", None, 100.0, "candidate", False),
        # A clock that runs on: 75 % of it, and no more than 5 % and 2 s above it.
        ("elapsed_s", 75.0, 100.0, "candidate", False),
        ("elapsed_s", 74.9, 100.0, "candidate", True),
        ("elapsed_s", 107.0, 100.0, "candidate", False),
        ("elapsed_s", 107.1, 100.0, "candidate", True),
        ("elapsed_s", None, 100.0, "candidate", False),
        # A run of a moment: a second below the clock; above it half of its time, or half a second.
        ("elapsed_s", 0.1, 1.1, "candidate", False),
        ("elapsed_s", 0.1, 1.0, "candidate", False),
        ("elapsed_s", 0.2, 1.1, "candidate", False),
        ("elapsed_s", 0.1, 1.2, "candidate", True),
        ("elapsed_s", 3.0, 1.5, "candidate", False),
        ("elapsed_s", 3.0, 1.4, "candidate", True),
        ("elapsed_s", 0.8, 0.3, "candidate", False),
        ("elapsed_s", 0.8, 0.25, "candidate", True),
        # A clock that counts validations.
        ("wall_time_s", 60.0, 100.0, "candidate", False),
        ("wall_time_s", 59.9, 100.0, "candidate", True),
        ("wall_time_s", None, 100.0, "candidate", False),
        # With its start as well: 40 % of it, and no more than 5 % and 2 s above it.
        ("loop_time_s", 40.0, 100.0, "candidate", False),
        ("loop_time_s", 39.9, 100.0, "candidate", True),
        ("loop_time_s", 107.0, 100.0, "candidate", False),
        ("loop_time_s", 107.1, 100.0, "candidate", True),
        ("loop_time_s", None, 100.0, "candidate", False),
        # The whole job: no shorter than the clock and under ten times it, if it took ten seconds.
        ("job_time_s", 10.0, 100.0, "candidate", False),
        ("job_time_s", 9.9, 100.0, "candidate", True),
        ("job_time_s", 0.9, 10.0, "candidate", True),
        ("job_time_s", 0.9, 9.9, "candidate", False),
        ("job_time_s", 104.0, 100.0, "candidate", False),
        ("job_time_s", 104.1, 100.0, "candidate", True),
        ("job_time_s", None, 100.0, "candidate", False),
    ],
)
def test_how_far_another_clock_may_be(
    quantity: str, ours: float | None, other: float, arm: str, is_told: bool
) -> None:
    verbs = {
        "wall_time_s": "with validations makes it",
        "loop_time_s": "with all that belongs to it says",
        "job_time_s": "says the whole job took",
    }
    verb = verbs.get(quantity, "makes it")
    words = f"the training clock says {ours:g} s, but `x` {verb} {other:g} s" if ours else ""
    assert said(quantity, other, arm=arm, **timed(ours)) == [words] * is_told


@pytest.mark.parametrize(
    ("value", "changes", "is_told"),
    [
        (1012, {}, False),
        (1013, {}, True),
        (1013, {"last_step": 1200}, True),
        (1013, {"validation": ()}, True),
        (1012, {"validation": ()}, False),
        (1013, {"validation": (), "last_step": None}, False),
    ],
)
def test_a_hundredth_and_two_steps_more_are_the_same_count(
    value: int, changes: dict[str, Any], is_told: bool
) -> None:
    assert (
        said("steps", value, **changes)
        == ["the run counts 1,000 steps, but `x` says 1,013"] * is_told
    )


@pytest.mark.parametrize(
    ("value", "changes", "track", "ends"),
    [
        (1012, {}, SMALL, None),
        (1013, {}, SMALL, "1,000"),
        (1013, {}, TARGET, None),
        (1013, {"last_step": None, "total_steps": None}, SMALL, "1,000"),
        (1013, {"total_steps": None}, SMALL, "1,000"),
        (1517, {"last_step": 1500}, SMALL, None),
        (1518, {"last_step": 1500}, SMALL, "1,500"),
        (1518, {"last_step": 900, "total_steps": 1500}, SMALL, "1,500"),
        (1013, {"last_step": None, "total_steps": None, "validation": ()}, SMALL, None),
    ],
)
def test_a_longer_plan(value: int, changes: dict[str, Any], track: Any, ends: str | None) -> None:
    told = [f"the run ends at step {ends}, but `x` plans {value:,}"] if ends else []
    assert said("total_steps", value, track, **changes) == told


@pytest.mark.parametrize(
    ("changes", "finish", "told"),
    [
        ({"total_steps": None}, "steps", "the last validation is at step 1,000, and"),
        ({}, "steps", None),
        ({"total_steps": None}, "target", None),
        ({}, "time-limit", "the clock is read at step 1,000, and"),
        ({"validation": ()}, "time-limit", None),
        ({"validation": (), "total_steps": None}, "steps", None),
    ],
)
def test_training_after_the_last_validation(
    changes: dict[str, Any], finish: Any, told: str | None
) -> None:
    found = said("later_steps", 1400, dc.replace(SMALL, finish=finish), **changes)
    assert found == ([f"{told} training goes on to 1,400"] if told else [])


MACHINE, PROGRAM = WitnessKind.MACHINE, WitnessKind.PROGRAM
TPU = "TPU v3"


@pytest.mark.parametrize(
    ("device", "used", "other", "kind", "track", "is_told"),
    [
        (TPU, 4, 8, PROGRAM, SMALL, False),  # JAX shows both cores of a v3 chip
        (TPU, 4, 4, PROGRAM, SMALL, False),
        (TPU, 4, 2, PROGRAM, SMALL, False),
        (TPU, 4, 7, PROGRAM, SMALL, True),
        ("H100", 8, 9, PROGRAM, SMALL, True),
        ("H100", 8, 16, PROGRAM, SMALL, True),
        ("H100", 8, 8, PROGRAM, SMALL, False),
        (None, 8, 16, PROGRAM, SMALL, True),
        ("XPU 9", 8, 16, PROGRAM, SMALL, True),
        ("XPU 9", 8, 8, PROGRAM, SMALL, False),
        ("H100", None, 16, PROGRAM, SMALL, False),
        # What the machine has: as many as the track asks for, else no fewer than were used.
        ("H100", 8, 8, MACHINE, SMALL, False),
        ("H100", 8, 16, MACHINE, SMALL, True),
        ("H100", 16, 8, MACHINE, SMALL, False),
        ("H100", 2, 4, MACHINE, dc.replace(SMALL, accelerator_count=2), True),
        ("H100", 1, 8, MACHINE, dc.replace(SMALL, accelerator_count=1), False),
        ("H100", 2, 4, MACHINE, ANY_COUNT, False),
        ("H100", 8, 8, MACHINE, ANY_COUNT, False),
        ("H100", 8, 4, MACHINE, ANY_COUNT, False),  # two machines of four
        ("H100", 8, 3, MACHINE, ANY_COUNT, True),
        ("H100", 1, 1, MACHINE, PARETO, False),
    ],
)
def test_how_many_devices_another_source_may_name(
    device: str | None, used: int | None, other: int, kind: Any, track: Any, is_told: bool
) -> None:
    found = said("chips", other, track, kind=kind, hardware=Hardware(device, used))
    assert found == [f"the run is counted with {used} devices, but `x` says {other}"] * is_told


@pytest.mark.parametrize(
    ("quantity", "value", "track", "changes", "told"),
    [
        ("loss", 3.41, SMALL, {}, "the validation loss is 3.277, but `x` ends at 3.41"),
        ("loss", 3.41, SMALL, {"validation": ()}, None),
        ("bpb", 0.98, SMALL, {}, "bits per byte end at 1.01; computed from `x` by the factor "
         "between the two at the first validation, they are 0.98"),
        ("bpb", 0.98, SMALL, {"metrics": {}}, None),
        # An H100 SXM has 80 GiB; 2 % more is how the source rounds.
        ("memory_bytes", 1.02 * 80 * 2**30, SMALL, {}, None),
        ("memory_bytes", 84 * 2**30, SMALL, {},
         "`x` says 84 GiB, but a NVIDIA H100 80GB HBM3 has 80"),
        ("memory_bytes", 84 * 2**30, SMALL, {"hardware": Hardware(None, 8)}, None),
        ("memory_bytes", 84 * 2**30, SMALL, {"hardware": Hardware("XPU 9", 8)}, None),
        ("mfu", 1.0, SMALL, {}, None),
        ("mfu", 1.25, SMALL, {}, "`x` says that the run used 1.25 times the peak of its chips"),
        ("mfu", "1.25", SMALL, {}, None),
        ("whatever", 9.0, SMALL, {}, None),
        # Counters, of `bot.rules.counted`.
        ("updates", 2000, STEPS, {},
         "the run counts 1,000 steps, but by `x` they are 2,000 updates"),
        ("updates", 2000, SMALL, {}, None),
        ("updates", 2000, dc.replace(SMALL, limits={"steps": 2000.0}), {},
         "the run counts 1,000 steps, but by `x` they are 2,000 updates"),
        ("updates", 2000, STEPS, {"last_step": 1500},
         "the run counts 1,500 steps, but by `x` they are 2,000 updates"),
        ("updates", 2000, STEPS, {"last_step": None},
         "the run counts 1,000 steps, but by `x` they are 2,000 updates"),
        ("updates", 2000, STEPS, {"validation": (), "last_step": None},
         "the run counts 0 steps, but by `x` they are 2,000 updates"),
        ("schedule", 3000, SMALL, {},
         "the run ends at step 1,000, but `x` is 3,000, 3 times as many"),
        ("schedule", 3000, TARGET, {}, None),
        ("schedule", 3000, SMALL, {"validation": (), "last_step": None}, None),
        ("short_plan", 700, SMALL, {}, "the run goes on to step 1,000, but `x` plans 700"),
        ("short_plan", 700, TARGET, {}, None),
        ("validation_tokens", 10_485_760, SMALL, {}, None),
        ("validation_tokens", 10_485_759, SMALL, {},
         "`x` validates on 10,485,759 tokens, but the track on 10,485,760"),
        ("validation_tokens", 1, PARETO, {}, None),
        ("passes", 8000, STEPS, {}, "the run counts 1,000 steps, but `x` says 8,000"),
        ("passes", 8000, SMALL, {}, None),
        ("passes", 8000, STEPS, {"validation": ()}, None),
    ],
)  # fmt: skip
def test_what_a_second_statement_says(
    quantity: str, value: Any, track: Any, changes: dict[str, Any], told: str | None
) -> None:
    assert said(quantity, value, track, **changes) == ([told] if told else [])


def test_a_machine_that_is_not_used_whole_needs_a_model_where_its_flops_rank() -> None:
    (text,) = said("chips", 8, PARETO, kind=MACHINE, hardware=Hardware("H100", 2))
    assert text == (
        "the run is counted with 2 of the 8 devices that its machine has, and states no model by "
        "which that could be judged"
    )


COUNT = ((100, 50.0), (200, 250.0), (300, 650.0))


@pytest.mark.parametrize(
    ("quantity", "series", "told"),
    [
        ("tokens", COUNT, "the run counts 650 tokens, but `x` says 900"),
        ("tokens", (), None),
        ("batch_tokens", COUNT, "`x` says 900 tokens a step, but a step counts 3 tokens"),
        ("batch_tokens", COUNT[:2], "`x` says 900 tokens a step, but a step counts 2 tokens"),
        ("batch_tokens", COUNT[:1],
         "`x` says 900 tokens a step, but the run states another number"),
        ("batch_tokens", (), "`x` says 900 tokens a step, but the run states another number"),
        ("batch_tokens", ((100, 50.0), (100, 60.0)),
         "`x` says 900 tokens a step, but the run states another number"),
    ],
)  # fmt: skip
def test_tokens_of_a_run_and_of_a_step(quantity: str, series: Any, told: str | None) -> None:
    found = said(quantity, 900, history={"tokens": series})
    assert found == ([told] if told else [])


@pytest.mark.parametrize(("bpb", "is_told"), [(1.009, False), (1.011, True), (0.989, True)])
def test_nats_beside_bits_per_byte(bpb: float, is_told: bool) -> None:
    """4 bytes a token and 4 ln 2 nats are one bit a byte; a hundredth is rounding."""
    track = dc.replace(PARETO, bytes_per_token=4.0)
    nats = 2.772588722239781
    words = f"bits per byte end at {bpb}; computed from `x`, 2.7726, and the track's 4 bytes "
    words += "a token, they are 1"
    assert said("nats", nats, track, metrics={"bpb": bpb}) == [words] * is_told
    assert said("nats", nats, track, metrics={}) == []
    assert said("nats", nats, PARETO, metrics={"bpb": bpb}) == []


def test_each_quantity_is_told_once_and_all_clocks_are_one() -> None:
    witnesses = [
        Witness("elapsed_s", 100.0, PROGRAM, "`a`"),
        Witness("job_time_s", 1000.0, PROGRAM, "`b`"),
        Witness("mfu", 2.0, PROGRAM, "`c`"),
        Witness("mfu", 3.0, PROGRAM, "`d`"),
        Witness("loss", 4.0, PROGRAM, "`e`"),
    ]
    run = a_run(0, witnesses=tuple(witnesses))
    clock, share, loss = judged(run)
    assert ("`a`" in clock, "`c`" in share, "`e`" in loss) == (True, True, True)
    assert judged(run, untimed=False) == [share, loss]
    assert judged(run, untimed=True)[0] == clock


@pytest.mark.parametrize(("hashes", "told"), [("aab", True), ("aaa", False), ("a", False)])
def test_a_hash_of_other_code(hashes: str, told: bool) -> None:
    witnesses = tuple(
        Witness("code", letter * 64, PROGRAM, f"`{n}`") for n, letter in enumerate(hashes)
    )
    words = "the hash of the code: `0` says aaaaaaaaaaaa, but `2` says bbbbbbbbbbbb"
    assert judged(a_run(0, witnesses=witnesses)) == [words] * told


# ---- beside the training loss -------------------------------------------------------------------


def beside(*apart: float, moves: float = 0.1, first: int = 100) -> Run:
    """Validations every 100 steps that fall by `moves`, and a training loss so far below each."""
    points = [Validation(first + 100 * n, 4.0 - moves * n, None) for n in range(len(apart))]
    training = tuple((p.step, p.loss - off) for p, off in zip(points, apart, strict=True))
    return a_run(0, validation=tuple(points), history={"train_loss": training})


@pytest.mark.parametrize(
    ("run", "how"),
    [
        (beside(0.0, 0.0, 0.0), "equals"),
        (beside(0.0, 0.0), None),
        (beside(0.0, 0.0, 0.0, first=0), None),  # the first of them is before any training
        (beside(0.002, 0.002, 0.002), "is within 0.002 of"),
        (beside(0.002, -0.002, 0.002), "is within 0.002 of"),
        (beside(0.003, 0.003, 0.003), None),
        (beside(0.0015, 0.0015, 0.0015, moves=0.01), "is within 0.0015 of"),
        (beside(0.0022, 0.0022, 0.0022, moves=0.01), None),  # a fifth of what it moves by
        (beside(0.0, 0.0, 0.0, moves=0.0), "equals"),
        (beside(0.5, 0.5, 0.0), None),
    ],
)
def test_one_loss_under_two_names(run: Run, how: str | None) -> None:
    words = (
        f"the training loss {how} the validation loss at most of {len(run.validation)} validations"
    )
    assert judged(run) == [words] * (how is not None)


@pytest.mark.parametrize(
    ("apart", "usual", "last"),
    [
        ((0.1, 0.1, 0.1, 0.1), None, None),
        ((0.1, 0.1, 0.1, 0.1, 0.0), "0.1", "0"),
        ((0.1, 0.1, 0.1, 0.05), "0.1", "0.05"),
        ((0.1, 0.1, 0.1, 0.07), None, None),  # a hundredth of the loss is nothing
        ((0.1, 0.1, 0.0), None, None),  # too few before it
        ((0.12, 0.1, 0.1, 0.08, 0.03), None, None),  # four times what it moves by is 0.08
        ((0.12, 0.1, 0.1, 0.08, 0.015), "0.1", "0.015"),
        ((0.5, 0.1, 0.1, 0.1, 0.1, 0.0), "0.1", "0"),  # five of them are asked
        ((0.1, 0.5, 0.1, 0.1, 0.1, 0.1, 0.0), "0.1", "0"),
        ((0.5, 0.1, 0.1, 0.1, 0.0), None, None),  # one of them moved by far more
        ((0.1, 0.1, 0.1, 0.2), None, None),  # a rise makes no result better
    ],
)
def test_a_last_validation_that_falls_alone(
    apart: tuple[float, ...], usual: str | None, last: str | None
) -> None:
    """The first of `apart` is only where the second begins: no loss stands before it."""
    words = (
        f"the last validation loss is {last} from the training loss before it, usual are {usual}"
    )
    found = [text for text in judged(beside(0.3, *apart)) if "usual are" in text]
    assert found == [words] * (usual is not None)


def test_what_a_finding_says_of_the_two_values() -> None:
    case = a_case([a_run(0, witnesses=(Witness("mfu", 2.0, PROGRAM, "`x`"),))])
    (item,) = contradicted(case, case.evidence[0], case.evidence[0].runs[0])
    assert (item.level, item.claimed, item.expected, item.ratio) == (Level.WARNING, 1.0, 2.0, 0.5)
    assert item.fix == "check the clock, the devices and their peak"
