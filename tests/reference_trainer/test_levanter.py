"""Levanter's bits per byte: every rule of it on a text one can count, and the whole once more from
the raw bytes by another program."""

from __future__ import annotations

import json
import math
import pathlib
from typing import Any

import numpy as np
import pytest

from reference_trainer import checkpoint, levanter, names
from reference_trainer.cli import make_backend
from reference_trainer.config import Config
from reference_trainer.loop import train
from reference_trainer.shards import Corpus, open_corpus
from reference_trainer.storage import LocalFolder
from reference_trainer.tokenizers import ByteTokenizer, JsonTokenizer
from tests.reference_trainer.conftest import invented, job, with_, with_paloma
from tests.reference_trainer.test_backends import nats_of

END = 256


def raw(texts: list[str]) -> list[int]:
    """The stream from the bytes of the texts: a space and the end behind each."""
    return [i for text in texts for i in [*text.encode(), 32, END]]


def recomputed(tokens: list[int], T: int, batch: int, p: dict[str, Any], config: Config) -> float:
    """Windows, documents, bytes and the mean over batches, written down a second time."""
    windows = [tokens[i : i + T] for i in range(0, len(tokens) - T + 1, T)]
    mean = count = 0.0
    for first in range(0, len(windows), batch):
        nats, size, targets = 0.0, 0, 0
        for window in windows[first : first + batch]:
            begin = 0
            for i, token in enumerate(window):
                if token == END or i == T - 1:
                    nats += nats_in(window[begin : i + 2], p, config)
                    begin = i + 1
            targets += T - 1
            size += sum(length(token) for token in window[1:])
        mean += nats / size / math.log(2) * targets
        count += targets
    return mean / count


def length(token: int) -> int:
    """An ASCII byte is itself, half a character U+FFFD, the end of a text nothing."""
    return 0 if token == END else 1 if token < 128 else 3


def nats_in(tokens: list[int], p: dict[str, Any], config: Config) -> float:
    """Loss of every target of one document, its end and what follows included."""
    if len(tokens) < 2:
        return 0.0
    total = nats_of(tokens, p, config)
    targets = [i for i, token in enumerate(tokens[1:], 1) if token == END]
    for i in targets:  # `nats_of` leaves the end of a text out
        total += end_loss(tokens[: i + 1], p, config)
    return total


def end_loss(tokens: list[int], p: dict[str, Any], config: Config) -> float:
    """Loss of END as the last target: the head's rows of END and of 0 change places."""
    head = p["head"].copy()
    head[[0, END]] = head[[END, 0]]
    before = nats_of([*tokens[:-1], 0], {**p, "head": head}, config)
    rest = nats_of(tokens[:-1], {**p, "head": head}, config) if len(tokens) > 2 else 0.0
    return before - rest


@pytest.mark.full("trains")
def test_both_definitions_agree_with_a_recomputation_from_the_raw_bytes(
    backend_name: str, small: Config, tmp_path: pathlib.Path
) -> None:
    folder = with_paloma(tmp_path / "data")
    corpus = open_corpus(folder)
    text = levanter.read(folder / "paloma-c4_en", END)
    config = with_(small, checkpoint_every=12, eval_every=0)
    from reference_trainer.downloads import paloma

    asked = job(config, corpus, tmp_path / "run", paloma=paloma(corpus))
    info = train(asked, make_backend(backend_name))["runs"][0]["run_info"]
    state, _ = checkpoint.load(LocalFolder(tmp_path / "run"), 12)
    p = {n.removeprefix("param/"): v.astype(float) for n, v in state.items() if "param/" in n}
    tokens = raw(list(invented(12)))
    assert tokens == text.ids.tolist()
    T = config.model.seq_len
    expected = recomputed(tokens, T, config.train.batch, p, config)
    assert info[names.PALOMA_BPB] == pytest.approx(expected, abs=1e-6)
    own = stream_of(open_corpus(folder / "paloma-c4_en"))
    nats = sum(nats_of(own[i : i + T + 1], p, config) for i in range(0, len(own) - 1, T))
    ours = nats / math.log(2) / sum(token < END for token in own)
    assert info[names.PALOMA_OWN_BPB] == pytest.approx(ours, abs=1e-6)
    assert abs(expected - ours) > 1e-3  # the definitions differ, and by how much is seen


def stream_of(corpus: Corpus) -> list[int]:
    return [int(i) for array in corpus.validation.arrays for i in array]


def test_windows_documents_and_bytes_by_hand() -> None:
    text = levanter.Text(
        np.array(raw(["ab", "é"]) * 2), levanter.byte_lengths(ByteTokenizer()), END
    )
    assert text.ids.tolist() == [97, 98, 32, END, 195, 169, 32, END] * 2
    (batch,) = levanter.batches(text, seq_len=6, batch=2)  # 16 ids: two windows, four left over
    assert batch.targets == 10
    assert batch.utf8_bytes == (1 + 1 + 0 + 3 + 3) + (0 + 1 + 1 + 1 + 0)
    assert batch.rows[:, :4].tolist() == [
        [97, 98, 32, END],
        [195, 169, END, END],
        [32, END, 97, END],
        [97, 98, 32, END],
    ]
    assert batch.weights.sum(axis=1).tolist() == [4, 1, 2, 3]


def test_a_batch_has_its_own_ratio() -> None:
    """Two batches of one window, 1 nat a target: the mean of the ratios, not the ratio of sums."""
    lengths = levanter.byte_lengths(ByteTokenizer())
    text = levanter.Text(np.array([*b"aaaa", *"éé".encode()]), lengths, END)
    found = levanter.score(text, 4, 1, lambda rows, weights: float(weights.sum()))
    assert found == pytest.approx((3 / 3 + 3 / 9) / 2 / math.log(2))
    both = levanter.score(text, 4, 2, lambda rows, weights: float(weights.sum()))
    assert both == pytest.approx(6 / 12 / math.log(2))


SPECIAL = ({"id": 5, "content": "<|begin_of_text|>"}, {"id": 6, "content": "<|end_of_text|>"})
FLAGS = {name: False for name in ("single_word", "lstrip", "rstrip", "normalized")}
TOKENIZER = {
    "version": "1.0",
    "added_tokens": [{**token, **FLAGS, "special": True} for token in SPECIAL],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
    "model": {
        "type": "BPE",
        "vocab": {"a": 0, "Ġ": 1, "Ã": 2, "©": 3, "Ã©": 4},
        "merges": ["Ã ©"],
    },
}


def opened(folder: pathlib.Path, **more: Any) -> JsonTokenizer:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({**TOKENIZER, **more}), encoding="utf-8")
    return JsonTokenizer(path, "<|end_of_text|>")


def test_half_a_character_is_three_bytes_and_a_special_id_none(tmp_path: pathlib.Path) -> None:
    coder = opened(tmp_path)
    assert levanter.byte_lengths(coder).tolist() == [1, 1, 3, 3, 2, 0, 0]
    assert coder.byte_lengths().tolist() == [1, 1, 1, 1, 2, 0, 0]
    template = {"single": [{"SpecialToken": {"id": "<|begin_of_text|>", "type_id": 0}}]}
    assert not coder.begins_itself
    assert opened(tmp_path, post_processor=template).begins_itself


def test_a_document_has_its_begin_and_end(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("tokenizers", reason="tokenizers is not installed; make test-full does")
    coder = opened(tmp_path)
    assert levanter.document(coder, "aé").tolist() == [5, 1, 0, 4, 1, 6]
    coder.begins_itself = True
    assert levanter.document(coder, "aé").tolist() == [5, 0, 4, 1, 6]
