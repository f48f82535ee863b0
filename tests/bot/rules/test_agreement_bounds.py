"""Runs against what is claimed of them: hardware, nonces and results files, from both sides."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.model.case import Case
from bot.model.run import Hardware, Run, Validation, Witness, WitnessKind
from bot.model.track import Track
from bot.model.verdict import Finding
from bot.registry import Level
from tests.bot.rules.run_cases import PATH, SMALL, TRACKS, a_case, a_run, found, results_file

NAME = "NVIDIA H100 80GB HBM3"
FREE = dc.replace(SMALL, accelerators=(), accelerator_count=None)
STEPS = TRACKS["nanogpt-optimization"]
RATIO = dc.replace(TRACKS["single-gpu-fineweb"], accelerator_count=None)
H100, ONE, BARE = Hardware(NAME, 8), Hardware(NAME, 1), Hardware(NAME)
A100 = Hardware("NVIDIA A100-SXM4-80GB", 8)


def told(case: Case) -> list[Finding]:
    return list(found("hardware-differs-from-run", case))


def of(hardware: Hardware, track: Track = FREE, **submission: Any) -> list[Finding]:
    run = a_run(0, hardware=hardware)
    return told(a_case([run], track=track, submission=submission))


def asks(*names: str, count: int | None = None) -> Track:
    return dc.replace(SMALL, accelerators=names, accelerator_count=count)


# ---- the number and the kind of devices ---------------------------------------------------------

THEIRS = "run on the track's hardware"


@pytest.mark.parametrize(
    ("hardware", "track", "claims", "said"),
    [
        (H100, FREE, {}, None),
        (H100, FREE, {"accelerator": "h100", "accelerator_count": 8}, None),
        (H100, FREE, {"accelerator": "a100"},
         ("the run used h100-sxm, but the submission says a100-sxm", "a100-sxm", "h100-sxm",
          "/hardware/accelerator", 'write "h100-sxm", which the runs used')),
        (H100, FREE, {"accelerator_count": 4},
         ("the run used 8 devices, but the submission says 4", 4, 8, "/hardware/count",
          "write 8, which the runs used")),
        (ONE, FREE, {"accelerator_count": 4},
         ("the run used 1 device, but the submission says 4", 4, 1, "/hardware/count",
          "write 1, which the runs used")),
        (BARE, FREE, {"accelerator_count": 4}, None),
        (H100, asks("h100-sxm", count=8), {}, None),
        (H100, asks("a100-sxm"), {},
         ("the run used h100-sxm, but the track asks for a100-sxm", "h100-sxm", "a100-sxm", None,
          THEIRS)),
        (H100, asks("a100-sxm", "v100-sxm"), {},
         ("the run used h100-sxm, but the track asks for a100-sxm or v100-sxm", "h100-sxm",
          "a100-sxm or v100-sxm", None, THEIRS)),
        (H100, asks("a100-sxm", "h100-sxm"), {}, None),
        (H100, asks(count=4), {},
         ("the run used 8 devices, but the track asks for 4", 8, 4, None, THEIRS)),
    ],
)  # fmt: skip
def test_what_a_run_used(
    hardware: Hardware, track: Track, claims: dict[str, Any], said: tuple[Any, ...] | None
) -> None:
    items = of(hardware, track, **claims)
    assert [(f.message, f.claimed, f.expected, f.pointer, f.fix) for f in items] == (
        [] if said is None else [(f"{said[0]} (r0)", *said[1:])]
    )
    assert [f.write for f in items] == [said[2] if "write" in said[4] else None] * 1 if said else 1


@pytest.mark.parametrize(
    ("track", "level"),
    [
        (FREE, Level.ERROR),  # its time ranks
        (STEPS, Level.NOTE),
        (dc.replace(STEPS, accelerator_count=8), Level.ERROR),
        (dc.replace(STEPS, cost=dc.replace(STEPS.cost, metric="hardware_flops")), Level.ERROR),
        (dc.replace(FREE, cost=STEPS.cost, quality=dc.replace(FREE.quality, metric="flops")),
         Level.NOTE),
        (dc.replace(STEPS, quality=dc.replace(STEPS.quality, metric="training_time_s")),
         Level.ERROR),
    ],
)  # fmt: skip
def test_a_number_on_which_nothing_depends_is_a_note(track: Track, level: Level) -> None:
    assert [f.level for f in of(H100, track, accelerator_count=4)] == [level]


@pytest.mark.parametrize(
    ("track", "claimed", "level"),
    [
        (FREE, 4, Level.WARNING),
        (FREE, 16, Level.ERROR),
        (asks(count=1), None, Level.WARNING),
        (asks(count=8), 4, Level.ERROR),
        (asks(count=2), None, Level.ERROR),
    ],
)
def test_a_log_that_lists_the_devices_of_its_machine(
    track: Track, claimed: int | None, level: Level
) -> None:
    listed = (Witness("listed", 8, WitnessKind.PROGRAM, "the log"),)
    run = a_run(0, hardware=H100, witnesses=listed)
    (item,) = told(a_case([run], track=track, submission={"accelerator_count": claimed}))
    assert item.level is level
    if level is Level.WARNING:
        who, n = ("the submission says", 4) if claimed else ("the track asks for", 1)
        start = "the log lists 8 devices and states no world size, but "
        assert item.message == f"{start}{who} {n} (r0)" and item.write is None
        assert item.fix == f"if the run used {n}, print `world_size: {n}` at the top of the log"


def test_the_claim_is_of_the_candidate() -> None:
    claims = {"accelerator": "a100", "accelerator_count": 4}
    both = [a_run(0, hardware=dc.replace(A100, count=4)), a_run(1, hardware=H100)]
    arms = ("candidate", "baseline")
    assert told(a_case(both, arms=arms, track=FREE, submission=claims)) == []
    same = [a_run(0, hardware=H100), a_run(1, hardware=H100)]
    for track, runs in ((FREE, 1), (RATIO, 2)):
        items = told(a_case(same, arms=arms, track=track, submission=claims))
        assert [f.message.partition(", ")[0] for f in items] == (
            ["the run used h100-sxm", "the run used 8 devices"]
            if runs == 1
            else ["each of the 2 runs used h100-sxm", "each of the 2 runs used 8 devices"]
        )
    # an arm on a machine of its own has to run again, whatever is claimed
    items = told(a_case(both, arms=arms, track=RATIO, submission=claims))
    assert [f.fix for f in items] == ["run both arms on the same machine"]


@pytest.mark.parametrize(
    ("device", "count", "track", "said", "fix"),
    [
        (None, None, FREE, None, ""),
        ("A board", None, FREE, None, ""),
        (NAME, None, asks("h100-sxm"), None, ""),
        (None, 8, asks("h100-sxm", "a100-sxm"),
         "names no accelerator, and the track needs h100-sxm or a100-sxm",
         "print the devices at the top of the log"),
        ("A board", 8, asks("h100-sxm"), "names A board, and the track needs h100-sxm",
         "run on the track's hardware, or name it as its vendor does"),
        ("A board", None, asks("h100-sxm"), "names A board, and the track needs h100-sxm",
         "print the devices at the top of the log"),
        (NAME, None, asks(count=8), "does not say how many, and the track needs 8",
         "print the devices at the top of the log"),
        ("A board...", 8, asks("h100-sxm"), "names A board..., and the track needs h100-sxm",
         "the name was cut off and stands for several devices: print `nvidia-smi -L` as well"),
        (None, None, asks("h100-sxm", count=8),
         "names no accelerator, and the track needs h100-sxm; it does not say how many, and the "
         "track needs 8", "print the devices at the top of the log"),
    ],
)  # fmt: skip
def test_a_track_of_one_machine_asks_what_a_run_used(
    device: str | None, count: int | None, track: Track, said: str | None, fix: str
) -> None:
    items = of(Hardware(device, count), track)
    wanted = [] if said is None else [(f"the run {said} (r0)", Level.WARNING, device, fix)]
    assert [(f.message, f.level, f.claimed, f.fix) for f in items] == wanted


@pytest.mark.parametrize(
    ("claimed", "devices", "track", "fix"),
    [
        ("A board", ("A board",), FREE, None),
        ("a board", ("A Board", "A board"), FREE, None),
        ("cpu", (None,), FREE, None),
        ("A board", ("A board", "cpu"), FREE, "use the vendor's name, such as h100-sxm"),
        ("A board", (NAME,), FREE, 'write "h100-sxm", which the runs used'),
        ("A board", (NAME, "NVIDIA A100-SXM4-80GB"), FREE,
         "use the vendor's name, such as h100-sxm"),
        ("A board", ("A board",), TRACKS["fineweb-edu"], "use the vendor's name, such as h100-sxm"),
        (NAME, (NAME,), FREE, None),
        (None, (NAME,), FREE, None),
    ],
)  # fmt: skip
def test_a_claimed_device_that_nobody_knows(
    claimed: str | None, devices: tuple[str | None, ...], track: Track, fix: str | None
) -> None:
    runs = [a_run(n, hardware=Hardware(d, 1)) for n, d in enumerate(devices)]
    case = a_case(runs, track=track, submission={"accelerator": claimed})
    items = [f for f in told(case) if "is not a known accelerator" in f.message]
    assert [(f.fix, f.claimed, f.level) for f in items] == (
        [] if fix is None else [(fix, claimed, Level.WARNING)]
    )
    asked = dc.replace(track, accelerators=("h100-sxm",))
    again = told(a_case(runs, track=asked, submission={"accelerator": claimed}))
    known = claimed is None or claimed == NAME
    assert any("is not a known accelerator" in f.message for f in again) is not known


# ---- two arms on one kind of machine ------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (H100, H100, None),
        (H100, Hardware("H100 SXM5", 8), None),  # another spelling
        (H100, A100, ("8x a100-sxm, but another run 8x h100-sxm", "a100-sxm", "h100-sxm")),
        (H100, ONE, ("1x h100-sxm, but another run 8x h100-sxm", "h100-sxm", "h100-sxm")),
        (
            H100,
            BARE,
            ("h100-sxm of unknown number, but another run 8x h100-sxm", "h100-sxm", "h100-sxm"),
        ),
        (
            BARE,
            ONE,
            ("1x h100-sxm, but another run h100-sxm of unknown number", "h100-sxm", "h100-sxm"),
        ),
        (Hardware("cpu", 1), Hardware("gpu", 1), ("1x gpu, but another run 1x cpu", "gpu", "cpu")),
        (Hardware(), Hardware(), "none"),
        (H100, Hardware(), "none"),
    ],
)
def test_both_arms_share_a_machine(first: Hardware, second: Hardware, said: Any) -> None:
    runs = [a_run(0, hardware=first), a_run(1, hardware=second)]
    items = told(a_case(runs, arms=("candidate", "baseline"), track=RATIO))
    if said == "none":
        text = "the run names no device, but both arms must run on the same kind of machine"
        last = 0 if first.device is None else 1
        assert [(f.message, f.level) for f in items] == [(f"{text} (r{last})", Level.WARNING)]
        alone = a_case(runs, arms=("candidate", "candidate"), track=RATIO)
        assert told(alone) == []  # nothing to share it with
        return
    assert [(f.message, f.claimed, f.expected, f.level) for f in items] == (
        []
        if said is None
        else [(f"the run used {said[0]}; both arms must share a machine (r1)", *said[1:],
               Level.ERROR)]
    )  # fmt: skip
    assert told(a_case(runs, arms=("candidate", "baseline"), track=FREE)) == []


def test_of_three_machines_the_first_two_are_named() -> None:
    runs = [a_run(n, hardware=h) for n, h in enumerate((H100, A100, ONE, Hardware()))]
    (item,) = told(a_case(runs, arms=("candidate", *["baseline"] * 3), track=RATIO))
    assert "8x a100-sxm, but another run 8x h100-sxm" in item.message


# ---- a results file and the run that it links ---------------------------------------------------


def file_of(run: Run | None = None, ours: dict[str, Any] | None = None, **info: Any) -> Case:
    run = a_run(0) if run is None else run
    return a_case([run], results=results_file(info, **(ours or {})), track=FREE)


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({}, None),
        ({"num_chips": 8, "num_devices": 8}, None),
        ({"num_chips": 16, "num_devices": 16}, None),  # W&B sees the devices of one host
        ({"num_chips": 7, "num_devices": 7}, ("8", "7")),
        ({"resources": {"device": {"kind": "H100"}}}, None),
        ({"resources": {"device": {"kind": "A100"}}}, ("h100-sxm", "a100-sxm")),
        ({"resources": {"device": {"kind": "A board"}}}, None),
    ],
)
def test_a_results_file_names_the_machine_of_its_run(
    info: dict[str, Any], said: tuple[str, str] | None
) -> None:
    items = told(file_of(**info))
    assert [(f.message, f.claimed, f.expected) for f in items] == (
        []
        if said is None
        else [(f"the linked run used {said[0]}, but the file states {said[1]} (r0)", *said[::-1])]
    )
    assert told(file_of(a_run(0, hardware=Hardware()), **info)) == []
    assert told(file_of(**{**info, "wandb_run_link": "https://wandb.ai/e/p"})) == []
    assert told(file_of(a_run(5), **info)) == []  # that it links no run here is told elsewhere


@pytest.mark.parametrize(
    ("info", "told_of"),
    [
        ({"eval/paloma/c4_en/bpb": 1.01005}, []),
        ({"eval/paloma/c4_en/bpb": 1.01007}, ["bpb is stated as 1.01007, but"]),
        ({"eval/paloma/c4_en/bpb": 1.00993}, ["bpb is stated as 1.00993, but"]),
        ({"eval/loss": 3.27705}, []),
        ({"eval/loss": 3.27707}, ["loss is stated as 3.27707, but"]),
        ({"training_time": 60.05}, []),
        ({"training_time": 60.07}, ["training_time_s is stated as 60.07, but"]),
        ({"training_time": 59.0}, ["training_time_s is stated as 59, but"]),
        ({"total_tokens": 1001}, []),
        ({"total_tokens": 1003}, ["tokens is stated as 1,003, but"]),
        ({"total_tokens": 1003, "eval/loss": 3.0},
         ["loss is stated as 3, but", "tokens is stated"]),
        ({"model_size": 5}, []),
    ],
)  # fmt: skip
def test_a_results_file_states_what_its_run_shows(info: dict[str, Any], told_of: list[str]) -> None:
    run = a_run(0, metrics={**a_run(0).metrics, "loss": 3.277, "tokens": 1000, "parameters": 6})
    items = found("claim-differs-from-run", file_of(run, **info))
    assert [f.message.startswith(s) for f, s in zip(items, told_of, strict=True)] == [True] * len(
        told_of
    )
    for item in items:
        assert isinstance(item.claimed, int | float) and isinstance(item.expected, int | float)
        assert item.ratio == pytest.approx(item.claimed / item.expected)
        assert item.file == f"{PATH}/speedrun_results.json" and item.line is not None
    bare = dc.replace(run, metrics={})
    assert not found("claim-differs-from-run", file_of(bare, **info))
    assert not found("claim-differs-from-run", file_of(dc.replace(run, file="other"), **info))


# ---- one story ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "nonce", "wrong"),
    [("a" * 32, "a" * 32, 0), ("a" * 32, "b" * 32, 1), (None, "b" * 32, 0), ("a" * 32, None, 0),
     (5, "b" * 32, 0), ("", "b" * 32, 0)],
)  # fmt: skip
def test_a_results_file_has_the_nonce_of_its_run(
    stated: Any, nonce: str | None, wrong: int
) -> None:
    items = found("nonce-mismatch", file_of(a_run(0, nonce=nonce), {"nonce": stated}))
    assert [(f.claimed, f.expected) for f in items] == [(stated, nonce)] * wrong
    assert not found("nonce-mismatch", file_of(a_run(5, nonce=nonce), {"nonce": stated}))


def points(*losses: float, step: int = 100) -> tuple[Validation, ...]:
    return tuple(Validation(step * n, loss, None) for n, loss in enumerate(losses))


@pytest.mark.parametrize(
    ("first", "second", "wrong"),
    [
        (points(10.0, 3.0), points(10.0, 3.0), 0),
        (points(10.0, 3.0), points(10.0, 3.00005), 0),
        (points(10.0, 3.0), points(10.0, 3.00007), 1),
        (points(10.0, 3.0), points(9.9, 3.0), 1),
        (points(10.0, 3.0), points(10.0), 0),
        (points(10.0, 3.0), points(10.0, 2.0, step=50), 0),  # no step of which both speak
        (points(), points(10.0), 0),
        (points(10.0), points(), 0),
    ],
)
def test_runs_of_one_nonce_have_one_story(
    first: tuple[Validation, ...], second: tuple[Validation, ...], wrong: int
) -> None:
    def told_of(other: str | None, nonce: str | None = "a" * 32) -> list[str | None]:
        runs = [
            a_run(0, nonce=nonce, validation=first),
            a_run(1, nonce=other, validation=second),
        ]
        return [f.run for f in found("nonce-mismatch", a_case(runs))]

    assert told_of("a" * 32) == [a_run(1).file] * wrong
    assert told_of("b" * 32) == [] and told_of(None) == []
    assert told_of(None, None) == [] and told_of("", "") == []
