"""A short run of the fuzzer, and a probe that must fail where a property is broken."""

from __future__ import annotations

import os
import random

import pytest

from tests.corpus.variants import load
from tests.fuzz.fuzz_check import fuzz, mutate_value, probe


@pytest.mark.more
def test_two_hundred_inputs_without_a_failure() -> None:
    """Fifty, in a run that is not a full one."""
    failures, most = list[str](), 200 if os.environ.get("SPEEDRUN_FULL") else 50
    line = fuzz(lambda n: n < most, 20261128, lambda data, submission, why: failures.append(why))
    assert failures == [] and line.startswith(f"{most} inputs, seed 20261128")


def test_mutations_differ_and_leave_the_original_alone() -> None:
    value, dice = load("v4"), random.Random(1)
    made = [mutate_value(value, dice) for _ in range(50)]
    assert value == load("v4") and sum(m != value for m in made) > 40


def test_the_probe_tells_good_from_bad() -> None:
    assert probe(b"{", None).errors
    assert not probe(b"\n", None).status == "verified"
