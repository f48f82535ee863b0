"""Model FLOPs, parameters and the share of the peak: each bound and each cause that is named."""

from __future__ import annotations

from typing import Any

import pytest

from bot.model.case import Case
from bot.model.run import Witness, WitnessKind
from bot.registry import Level
from bot.rules.utilization import reported_mfu
from tests.bot.rules.run_cases import TRACKS, a_case, a_run, found, results_file

EDU, SMALL = TRACKS["fineweb-edu"], TRACKS["nanogpt-small"]
MODEL = {
    "num_layers": 1,
    "hidden_dim": 2,
    "intermediate_dim": 4,
    "num_heads": 1,
    "vocab_size": 3,
    "seq_len": 8,
}
TRAIN = {"train_batch_size": 2, "num_train_steps": 5}
FLOPS = 39360
"""Of the model on its 2 x 5 x 8 tokens: MLP 4 x 2 x 4, projections 2 x 2 (2 + 4) + 2 x 2 x 2,
attention 4 x 8 x 2 + 3 x 8 and output 2 x 2 x 3 are 164 a token, times 3 x 80."""
PARAMETERS = 50
"""Tables 2 x 3 x 2, attention 2 (2 + 4) + 2 x 2, MLP 2 x 2 x 4, norms 2 x 2 and 2."""


def case(track: Any = EDU, /, **info: Any) -> Case:
    """One chip of a peak of 1e6 for a second; MFU is 0.03936."""
    stated = {
        "model_config": MODEL,
        "train_config": TRAIN,
        "training_time": 1.0,
        "num_chips": 1,
        "num_devices": 1,
        "device_flops": 1e6,
        "training_hardware_flops": 1e6,
        "model_flops": FLOPS,
    }
    return a_case((), track=track, results=results_file(stated | info))


def old(**stats: Any) -> Case:
    """A file of an old shape, with 6 x parameters x tokens."""
    about = {
        "num_parameters": 100,
        "total_tokens": 80,
        "hardware_config": {"num_devices": 1, "device_flops": 1e6},
    }
    stated = {"training_time_in_minutes": 1 / 60, "total_training_flops": 1e6, **stats}
    return a_case((), track=EDU, results={"runs": [{"run_related_info": about,
                                                    "run_stats": stated}]})  # fmt: skip


FACTOR = ", the factor of forward and backward"
BIGGER = {**MODEL, "experts": 8}
UNKNOWN = {"num_layers": 1}
NO_TRAIN: dict[str, Any] = {"train_config": {}}


@pytest.mark.parametrize(
    ("info", "says"),
    [
        ({}, None),
        ({"model_flops": FLOPS * 1.0019}, None),
        ({"model_flops": FLOPS * 1.0021}, "0.21 % too high"),
        ({"model_flops": FLOPS * 0.9979}, "0.21 % too low"),
        ({"model_flops": FLOPS * 3.005}, f"3 times too high{FACTOR}"),
        ({"model_flops": FLOPS * 3.01}, "3.01 times too high"),
        ({"model_flops": FLOPS / 3}, f"3 times too low{FACTOR}"),
        ({"model_flops": FLOPS / 2}, "2 times too low"),
        ({"model_flops": FLOPS * 2, "total_tokens": 160}, None),  # the tokens are wrong
        ({"model_flops": FLOPS * 2, "total_tokens": 80}, "2 times too high"),
        ({"model_flops": FLOPS * 2, "total_tokens": 80, **NO_TRAIN}, "2 times too high"),
        ({"model_flops": FLOPS * 2, **NO_TRAIN}, None),
        ({"model_flops": None}, None),
        ({"model_flops": 0}, None),
        ({"model_flops": -1.0}, None),
        ({"model_flops": 1}, "39,360 times too low"),
        ({"model_flops": FLOPS * 2, "model_config": UNKNOWN}, None),
        ({"model_flops": FLOPS * 2, "model_config": BIGGER}, None),
    ],
)
def test_model_flops_that_differ(info: dict[str, Any], says: str | None) -> None:
    items = found("model-flops-mismatch", case(**info))
    assert [f.message.partition(":")[0] for f in items] == (
        [f"`model_flops` is {says}"] if says else []
    )
    for item in items:
        assert item.message.endswith(", expected 39,360 from the model's dimensions")
        assert item.fix == "write 39360, 3 x forward FLOPs per token x tokens"
        assert item.claimed == info["model_flops"]
        assert item.ratio == pytest.approx(info["model_flops"] / FLOPS)


SIX = "6 x parameters x tokens"


@pytest.mark.parametrize(
    ("info", "share"),
    [
        ({}, (0.03936, "model FLOPs")),
        ({"training_hardware_flops": 2e6}, (0.01968, "model FLOPs")),
        ({"training_hardware_flops": None}, (0.03936, "model FLOPs")),
        ({"training_hardware_flops": 0}, (0.03936, "model FLOPs")),
        ({"training_hardware_flops": 1}, (39360.0, "model FLOPs")),
        ({"training_hardware_flops": None, "training_time": None}, None),
        ({"model_flops": 0}, None),
        ({"model_flops": 1}, (1e-6, "model FLOPs")),
        ({"model_flops": None}, None),
        ({"model_flops": None, "model_size": 100, "total_tokens": 80}, (0.048, SIX)),
        ({"model_flops": None, "model_size": 100}, None),
        ({"model_flops": None, "total_tokens": 80}, None),
    ],
)
def test_the_share_that_a_file_states(info: dict[str, Any], share: Any) -> None:
    made = case(**info)
    assert reported_mfu(made, made.results[0]) == share


GENERAL = "correct training time, chips, peak or tokens"
OF_STATED = "`training_hardware_flops`, but a chip cannot exceed its peak"
FIX = "fix the hardware FLOPs, and this goes away"


@pytest.mark.parametrize(
    ("peak", "stated", "message", "expected", "fix"),
    [
        (1e6, 1e6, None, None, None),
        (1e6, FLOPS, None, None, None),
        (1e6, FLOPS - 1, f"model FLOPs are 1 times {OF_STATED}; with correct hardware FLOPs it is "
         "0.0394 times", 0.03936, FIX),
        (1e6, 2e4, f"model FLOPs are 1.97 times {OF_STATED}; with correct hardware FLOPs it is "
         "0.0394 times", 0.03936, FIX),
        (FLOPS, 2e4, f"model FLOPs are 1.97 times {OF_STATED}; with correct hardware FLOPs it is "
         "1 times", 1.0, f"{FIX}; the MFU is then 100 %, which is high: say why in the "
         "description"),
        (52480, 2e4, f"model FLOPs are 1.97 times {OF_STATED}; with correct hardware FLOPs it is "
         "0.75 times", 0.75, FIX),
        (52000, 2e4, f"model FLOPs are 1.97 times {OF_STATED}; with correct hardware FLOPs it is "
         "0.757 times", FLOPS / 52000, f"{FIX}; the MFU is then 75.7 %, which is high: say why in "
         "the description"),
        (3936000, 2e4, f"model FLOPs are 1.97 times {OF_STATED}; with correct hardware FLOPs it "
         "is 0.01 times", 0.01, FIX),
        (4e6, 2e4, f"model FLOPs are 1.97 times {OF_STATED}; with correct hardware FLOPs it is "
         "0.00984 times", FLOPS / 4e6, f"{FIX}; the MFU is then 0.98 %, which is low: say why in "
         "the description"),
        (2e4, 2e4, f"model FLOPs are 1.97 times {OF_STATED}", None, GENERAL),
        (3e4, 2e4, f"model FLOPs are 1.97 times {OF_STATED}", None, GENERAL),
        (None, 2e4, f"model FLOPs are 1.97 times {OF_STATED}", None, GENERAL),
        (FLOPS, 1e6, None, None, None),
        (2e4, 1e6, "model FLOPs are 1.97 times the hardware FLOPs recomputed from time, chips and "
         "peak, but a chip cannot exceed its peak", None, GENERAL),
    ],
)  # fmt: skip
def test_more_than_the_peak(
    peak: float | None, stated: float, message: str | None, expected: float | None, fix: str | None
) -> None:
    made = case(device_flops=peak, training_hardware_flops=stated)
    items = found("mfu-impossible", made)
    assert [(f.message, f.expected, f.fix) for f in items] == (
        [(message, expected, fix)] if message else []
    )
    assert all(f.claimed == f.ratio == FLOPS / 2e4 for f in items if stated != FLOPS - 1)


NO_MODEL: dict[str, Any] = {"model_flops": None, "model_config": UNKNOWN}


def test_more_than_the_peak_with_hardware_flops_that_are_right() -> None:
    for stated in (1e6, None):
        made = case(model_flops=2e6, training_hardware_flops=stated)
        (item,) = found("mfu-impossible", made)
        assert (item.fix, item.expected) == (GENERAL, None) and "with correct" not in item.message
    assert found("mfu-impossible", case(**NO_MODEL)) == ()
    assert found("mfu-unusual", case(**NO_MODEL)) == ()


def test_more_than_the_peak_without_a_stated_number() -> None:
    (item,) = found("mfu-impossible", case(device_flops=2e4, training_hardware_flops=None))
    assert (item.fix, item.expected, item.pointer) == (GENERAL, None, "/runs/0/run_info")


LOOK = "check training time, chips and peak, or explain it in the description"
OF_SIX: dict[str, Any] = {"model_flops": None, "total_tokens": 80, "model_size": PARAMETERS}


@pytest.mark.parametrize(
    ("info", "says", "fix"),
    [
        ({}, None, None),
        ({"training_hardware_flops": 52480, "device_flops": 52480}, None, None),
        ({"training_hardware_flops": 3936000, "device_flops": 3936000}, None, None),
        ({"training_hardware_flops": FLOPS, "device_flops": FLOPS}, "1, above 0.75", LOOK),
        ({"training_hardware_flops": 50000, "device_flops": 50000}, "0.787, above 0.75", LOOK),
        ({"training_hardware_flops": 4e6, "device_flops": 4e6}, "0.00984, below 0.01", LOOK),
        ({"training_hardware_flops": 2e4, "device_flops": 2e4}, None, None),  # `mfu-impossible`
        # The figure that is wrong is named.
        ({"training_hardware_flops": 50000}, "0.787, above 0.75", FIX),
        ({"training_hardware_flops": 50000, "device_flops": 4e6}, "0.787, above 0.75",
         f"{FIX}; the MFU is then 0.98 %, which is low: say why in the description"),
        ({**OF_SIX, "total_tokens": 8}, "0.0024, below 0.01",
         "fix the tokens, and this goes away"),
        ({**OF_SIX, "model_size": 5}, "0.0024, below 0.01",
         "fix the parameters, and this goes away"),
        ({**OF_SIX, "model_size": 5, "device_flops": 4e6, "training_hardware_flops": 4e6},
         "0.0006, below 0.01", LOOK),
        ({**NO_MODEL, "total_tokens": 80, "model_size": 5, "training_hardware_flops": 5e5},
         "0.0048, below 0.01", FIX),
    ],
)  # fmt: skip
def test_an_unusual_share(info: dict[str, Any], says: str | None, fix: str | None) -> None:
    items = found("mfu-unusual", case(**info))
    what = SIX if "model_flops" in info else "model FLOPs"
    message = f"{what} over hardware FLOPs, both as stated, are {says}"
    assert [(f.message, f.fix) for f in items] == ([(message, fix)] if says else [])
    assert all(f.claimed == pytest.approx(float((says or "").partition(",")[0]), rel=1e-3)
               for f in items)  # fmt: skip


@pytest.mark.parametrize(
    ("track", "flops", "level"),
    [(EDU, 4e6, Level.WARNING), (SMALL, 4e6, Level.NOTE), (SMALL, 5e4, Level.WARNING)],
)
def test_little_use_is_a_note_where_flops_do_not_rank(
    track: Any, flops: float, level: Level
) -> None:
    (item,) = found("mfu-unusual", case(track, device_flops=flops, training_hardware_flops=flops))
    assert item.level is level


# ---- Runs of logs and of W&B --------------------------------------------------------------------

PEAK = 60 * 8 * 989.5e12
"""Of a run of 60 s on 8 H100."""


def run(share: float, parameters: int | None = 10**9, **changes: Any) -> Any:
    """A run whose tokens take a share of that by 6 x parameters."""
    tokens = share * PEAK / 6 / (parameters or 10**6)
    witnesses = (Witness("parameters", parameters, WitnessKind.PROGRAM, "x"),) if parameters else ()
    values = {"loss": 3.277, "training_time_s": 60.0, "tokens": tokens}
    return a_run(0, witnesses=witnesses, metrics=values, **changes)


BY = "its 1,000,000,000 parameters"


@pytest.mark.parametrize(
    ("name", "made", "share", "model"),
    [
        ("mfu-impossible", run(1.05), "1.05", BY),
        ("mfu-impossible", run(0.95), None, BY),
        ("mfu-impossible", run(9.0), "9", BY),
        ("mfu-impossible", run(1.05, None), "1.05", "a model of a million parameters"),
        ("mfu-unusual", run(1.05), None, BY),
        ("mfu-unusual", run(0.95), "0.95", BY),
        ("mfu-unusual", run(0.76), "0.76", BY),
        ("mfu-unusual", run(0.74), None, BY),
        ("mfu-impossible", run(1.05, source="results"), None, BY),
        ("mfu-impossible", run(1.05, validation=()), "1.05", BY),
        ("mfu-impossible", a_run(0), None, BY),
    ],
)
def test_the_share_of_a_run(name: str, made: Any, share: str | None, model: str) -> None:
    items = found(name, a_case([made]))
    message = (
        f"the tokens of the run take {share} times what its chips can compute in its time, by "
        f"{model} (r0)"
    )
    assert [f.message for f in items] == ([message] if share else [])


# ---- Parameters, and models that no formula covers ----------------------------------------------


@pytest.mark.parametrize(
    ("info", "claimed"),
    [
        ({"model_size": PARAMETERS}, None),
        ({"model_size": 50.09}, None),
        ({"model_size": 51}, "51"),
        ({"model_size": 5000}, "5,000"),
        ({"model_size": 0}, None),
        ({"model_size": 1}, "1"),
        ({"model_size": -1}, None),
        ({}, None),
        ({"model_size": 51, "model_config": BIGGER}, None),
        ({"model_size": 51, "model_config": UNKNOWN}, None),
    ],
)
def test_a_number_of_parameters(info: dict[str, Any], claimed: str | None) -> None:
    items = found("parameter-count-mismatch", case(**info))
    assert [f.message for f in items] == (
        [f"the file states {claimed} parameters, but the dimensions give 50"] if claimed else []
    )
    assert all(item.ratio == info["model_size"] / 50 for item in items)


NEW = {**MODEL, **{f"new_{letter}": 1 for letter in "abcde"}}


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (case(), None),
        (case(model_flops=FLOPS * 2), None),
        (case(model_config=BIGGER), None),  # the formula fits all the same
        (case(model_config=BIGGER, model_flops=FLOPS * 2), "there is no formula for experts"),
        (case(model_config=NEW, model_flops=FLOPS * 2),
         "there is no formula for new_a, new_b, new_c, new_d"),
        (case(model_config=UNKNOWN), "the model's dimensions are not all stated"),
        (case(model_config=UNKNOWN, model_flops=None), None),
        (case(model_config={**UNKNOWN, "experts": 8}), "there is no formula for experts"),
        (case(model_flops=FLOPS, model_config=BIGGER, train_config={}, total_tokens=80), None),
        (old(), None),
    ],
)  # fmt: skip
def test_a_model_that_no_formula_covers(made: Case, why: str | None) -> None:
    items = found("model-flops-unchecked", made)
    message = f"`model_flops` is shown as stated, since {why}; hardware FLOPs rank as usual"
    assert [f.message for f in items] == ([message] if why else [])
