"""A vocabulary that is not the track's, or differs among the runs of an entry."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.model.track import Track
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL, a_case, a_run, found, results_file
from tests.bot.rules.second_cases import config, offline, rows

GPT2 = dc.replace(SMALL, vocab_size=50257)


def told(settings: list[dict[str, Any]], track: Track = GPT2) -> list[str]:
    runs = [offline(rows(), track, **config(**each)) for each in settings]
    items = list(found("witnesses-disagree", a_case(runs, track=track)))
    assert all(item.level is Level.WARNING for item in items)
    return [item.message for item in items]


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"vocab_size": 32000}, {"vocab_size": 50304}),
        ({"model": {"padded_vocab_size": 65536}}, {"bigram_vocab_size": 5 * 50304}),
        ({"tokenizer": "meta-llama/Llama-3.1-8B"}, {"tokenizer": "openai-community/gpt2"}),
        ({"data": {"tokenizer_name": "byte"}}, {"data": {"tokenizer_name": "my/tokenizer"}}),
        ({"encoding": "cl100k_base"}, {"encoding": "utf-8 of the log"}),
    ],
)
def test_another_vocabulary_than_the_tracks(other: dict[str, Any], same: dict[str, Any]) -> None:
    (text,) = told([other])
    assert "expected the track's 50,257" in text and "says a vocabulary of" in text
    assert told([same]) == []
    for settings, is_told in ((other, True), (same, False)):
        file = a_case([a_run()], track=GPT2, results=results_file({"train_config": settings}))
        messages = [item.message for item in found("witnesses-disagree", file)]
        assert [("a vocabulary of" in text) for text in messages] == [True] * is_told


def test_two_vocabularies_in_one_entry() -> None:
    assert SMALL.vocab_size is None
    (text,) = told([{"vocab_size": 50257}, {"vocab_size": 32000}], SMALL)
    assert "says a vocabulary of 32,000, expected that of another run, 50,257" in text
    assert told([{"vocab_size": 50304}, {"vocab_size": 50257}, {}], SMALL) == []
