"""A baseline arm that is not the frozen baseline: its code, its settings, and near misses."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.evidence.snapshot import decode, encode, restrict
from bot.model.run import TRAINER
from bot.model.track import BaselineCode, Track
from bot.registry import Level
from tests.bot.rules.arm_cases import FROZEN, TRACK, a_run_of
from tests.bot.rules.run_cases import a_case, found

HASH, OLDER, OTHER = "5" * 64, "3" * 64, "a" * 64
SETTINGS: dict[str, str | int | float | bool] = {
    "train.batch": 16,
    "train.micro_batch": 16,
    "train.save_every": 0,
    "data.order": "mix",
}
CODE = BaselineCode("main.py", HASH, SETTINGS)
STOOD = dc.replace(TRACK, baselines=(dc.replace(FROZEN, code=CODE, sources=(HASH,)),))


def said(
    config: dict[str, Any] | None = None,
    code: dict[str, str] | None = None,
    *,
    track: Track = STOOD,
    ours: dict[str, Any] | None = None,
    kept: bool = False,
) -> list[str]:
    """What is told of an arm with this configuration and code, beside a candidate of other code."""
    mine = {"config": SETTINGS | (ours or {}), "code_sha256": {"main.py": "c" * 64}}
    arm = {"config": SETTINGS | (config or {}), "code_sha256": {"main.py": HASH}}
    arm |= {} if code is None else {"code_sha256": code}
    runs = [a_run_of(n, 4.0, 60.0, source="wandb", **mine) for n in (0, 1)]
    runs += [a_run_of(n, 4.0, 100.0, source="wandb", **arm) for n in (2, 3)]
    runs = [decode(encode(restrict(run))) for run in runs] if kept else runs
    arms = ["candidate", "candidate", "baseline", "baseline"]
    told = list(found("arms-differ", a_case(runs, arms=arms, track=track)))
    assert {f.level for f in told} <= {Level.WARNING}
    return [f.message for f in told]


def test_the_frozen_baseline_as_it_is() -> None:
    assert said() == said(kept=True) == []
    assert said(code={"main.py": HASH, "helper.py": OTHER}) == []
    assert said(code={"main.py": HASH, TRAINER: OTHER}) == []


@pytest.mark.parametrize("kept", [False, True])
def test_an_arm_of_other_code_is_named(kept: bool) -> None:
    (text,) = said(code={"main.py": OTHER}, kept=kept)
    assert text.startswith("the baseline arm ran the code aaaaaaaaaaaa, which belongs to no frozen")
    assert text.endswith("that of first is 555555555555")


def test_one_run_of_other_code_is_enough() -> None:
    codes = ("c" * 64, HASH, OTHER)
    runs = [a_run_of(n, 4.0, 90.0, code_sha256={"main.py": c}) for n, c in enumerate(codes)]
    case = a_case(runs, arms=["candidate", "baseline", "baseline"], track=STOOD)
    (item,) = found("arms-differ", case)
    assert "ran the code aaaaaaaaaaaa in 1 of its 2 runs" in item.message


def test_an_arm_that_names_no_code_beside_a_candidate_that_does() -> None:
    assert (
        said(code={})
        == said(code={TRAINER: OTHER})
        == ["the candidate's runs name their code, and the baseline arm's do not all"]
    )
    codes: tuple[dict[str, str], ...] = ({}, {}, {"main.py": HASH})
    runs = [a_run_of(n, 4.0, 90.0, code_sha256=code) for n, code in enumerate(codes)]
    for arms in (["candidate", "baseline", "baseline"], ["candidate", "candidate", "baseline"]):
        assert not found("arms-differ", a_case(runs, arms=arms, track=STOOD))


def test_an_arm_that_states_no_setting_beside_a_candidate_that_does() -> None:
    runs = [a_run_of(n, 4.0, 90.0, code_sha256={"main.py": HASH}) for n in range(2)]
    bare, full = runs[1], dc.replace(runs[0], config=SETTINGS)
    both = ["candidate", "baseline"]
    (item,) = found("arms-differ", a_case([full, bare], arms=both, track=STOOD))
    names = "data.order, train.batch, train.micro_batch, train.save_every"
    assert item.message == f"the candidate's runs state {names}, and the baseline arm's do not"
    assert not found("arms-differ", a_case([bare, full], arms=both, track=STOOD))
    online = dc.replace(full, source="wandb")
    assert not found("arms-differ", a_case([online, bare], arms=both, track=STOOD))


def test_an_older_baseline_and_one_without_code_are_no_other_code() -> None:
    first = dc.replace(FROZEN, sources=(OLDER,))
    now = dc.replace(STOOD.baselines[0], id="second", submission="submissions/x/second")
    two = dc.replace(STOOD, baselines=(first, now), baseline_id="second")
    assert said(code={"main.py": OLDER}, track=two) == []
    assert len(said(code={"main.py": OTHER}, track=two)) == 1
    assert said(code={"main.py": OTHER}, track=TRACK) == []
    assert said(code={"main.py": OTHER}, track=dc.replace(STOOD, baseline_id=None)) == []


@pytest.mark.parametrize("kept", [False, True])
def test_an_arm_with_other_settings_is_named(kept: bool) -> None:
    assert said({"train.batch": 32}, kept=kept) == [
        "the baseline arm has train.batch 32, the frozen baseline 16"
    ]


def test_a_word_of_another_value_is_named() -> None:
    (text,) = said({"data.order": "sorted"}, ours={"data.order": "sorted"})
    assert text == "the baseline arm has data.order sorted, the frozen baseline mix"


def test_an_argument_of_the_command_is_a_setting() -> None:
    assert said({"_argv.train.batch": 32}) == [
        "the baseline arm has train.batch 32, the frozen baseline 16"
    ]
    assert said({"_argv.train.batch": 16}) == []


def test_what_is_not_frozen_or_not_stated_is_no_other_value() -> None:
    assert said({"train.batch": 16.0, "optimizer.beta3": 0.5}) == []
    assert said({"train.batch": None}) == []


def test_a_machine_asks_for_settings_of_its_own_in_both_arms() -> None:
    small = {"train.micro_batch": 4}
    assert said(small, ours=small) == []
    told = said(small)
    assert "the baseline arm has train.micro_batch 4, the frozen baseline 16" in told
    more = {"train.batch": 32}
    assert said(more, ours=more) == ["the baseline arm has train.batch 32, the frozen baseline 16"]


def test_of_several_baselines_of_one_code_the_nearest_is_compared() -> None:
    settings = SETTINGS | {"train.batch": 32}
    now = dc.replace(
        STOOD.baselines[0],
        id="second",
        submission="submissions/x/second",
        code=dc.replace(CODE, settings=settings),
    )
    two = dc.replace(STOOD, baselines=(*STOOD.baselines, now), baseline_id="second")
    assert said(track=two) == said({"train.batch": 32}, track=two) == []
    assert len(said({"train.batch": 64}, track=two)) == 1


def test_many_settings_are_counted() -> None:
    names = {f"optimizer.beta{n}": 0.5 for n in range(6)}
    code = dc.replace(CODE, settings=SETTINGS | names)
    track = dc.replace(STOOD, baselines=(dc.replace(STOOD.baselines[0], code=code),))
    (text,) = said(dict.fromkeys(names, 0.9), track=track)
    assert text.count("the frozen baseline") == 4 and text.endswith("; and 2 more")
