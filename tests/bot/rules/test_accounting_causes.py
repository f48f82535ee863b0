"""Bounds of what is possible, and the cause that a wrong number is said to have."""

from __future__ import annotations

import pytest

from bot.model.verdict import Finding
from tests.bot.rules.run_cases import a_case, found, results_file
from tests.bot.rules.test_text_and_accounting import findings
from tests.corpus.variants import Change, drop, put, scaled

BOUNDS = [
    ("eval/paloma/c4_en/bpb", 0.61, 8.0),
    ("training_time", 1e-3, 3.2e8),
    ("training_hardware_flops", 0.5, 1e30),
    ("model_flops", 0.5, 1e30),
    ("total_tokens", 1, 1e15),
    ("model_size", 1, 1e15),
]


def odd(key: str, value: float) -> list[Finding]:
    case = a_case((), results=results_file({key: value}))
    return [
        f
        for f in found("metric-implausible", case)
        if (f.pointer or "").endswith(key.split("/")[-1])
    ]


@pytest.mark.parametrize(("key", "least", "most"), BOUNDS)
def test_a_number_is_possible_from_above_zero_to_its_bound(
    key: str, least: float, most: float
) -> None:
    assert odd(key, least) == [] and odd(key, most) == []
    assert len(odd(key, 0)) == len(odd(key, most * 1.01)) == 1


def said(rule: str, name: str, change: Change) -> str:
    (finding,) = (f for f in findings(name, change) if f.rule == rule)
    return finding.message


@pytest.mark.parametrize(
    ("factor", "named"), [(3.0, True), (1 / 3, True), (2.0, False), (0.5, False)]
)
def test_the_factor_of_forward_and_backward_is_named(factor: float, named: bool) -> None:
    message = said("model-flops-mismatch", "v4", scaled("model_flops", factor))
    assert ("the factor of forward and backward" in message) is named


@pytest.mark.parametrize(
    ("name", "factor", "words"),
    [
        ("v4", 0.5, "the peak of one core was used"),
        ("v4_h100", 2.0, "the fp8 peak of H100 SXM was used"),
    ],
)
def test_the_peak_that_was_taken_is_named(name: str, factor: float, words: str) -> None:
    change = scaled("training_hardware_flops", factor)
    assert words in said("hardware-flops-mismatch", name, change)


@pytest.mark.parametrize(
    ("change", "fix"),
    [
        (put(run_completion_timestamp="yesterday"), "write it as"),
        (drop("run_completion_timestamp"), "add it to `run_info` as"),
    ],
)
def test_a_time_stamp_is_corrected_or_added(change: Change, fix: str) -> None:
    (finding,) = (f for f in findings("v4", change) if f.rule == "timestamp-invalid")
    assert (finding.fix or "").startswith(fix)


@pytest.mark.parametrize(
    ("dataset", "local"),
    [
        ("./tokens", True),
        ("/tokens", True),
        ("a/b/c", True),
        ("owner/name", False),
        ("owner/name/", False),
        ("name", False),
        ("gs://bucket/a/b", False),
    ],
)
def test_a_data_set_of_a_hub_is_not_a_path(dataset: str, local: bool) -> None:
    rules = {f.rule for f in findings("v4", put(tokenized_dataset=dataset))}
    assert ("local-path-in-text" in rules) is local
