"""Bits per byte, as this trainer defines it.

    bpb = sum of losses over the scored targets, in nats / (ln 2 x UTF-8 bytes of those targets)

A ratio of sums, not a mean of batch ratios. Documents lie in the stream behind an end-of-text
id each; that id is never scored and stands for no bytes, and the first one gives the first token
of the text a context, so every byte of the text is in the denominator exactly once. Bytes come from
the tokenizer's own pieces (a piece may hold part of a character) or, where the whole split is
scored, from the length of the original text in the manifest; both must agree.
"""

import numpy as np

from reference_trainer.errors import DataError
from reference_trainer.formulas import accounting
from reference_trainer.shards import Corpus


def scored_bytes(corpus: Corpus, tokens: int) -> int | None:
    """UTF-8 bytes of the scored targets (`tokens` as in `validation_batches`), None if unknown.

    Raises DataError where the manifest and the tokenizer's pieces disagree.
    """
    split = corpus.validation
    everything = tokens == 0 or tokens >= split.tokens - 1
    if corpus.byte_lengths is None:
        return split.utf8_bytes if everything else None
    count = split.tokens - 1 if everything else tokens
    total = int(corpus.byte_lengths[split.window(1, count)].sum())
    if everything and split.utf8_bytes is not None and total != split.utf8_bytes:
        raise DataError(
            f"{corpus.name}: the validation tokens stand for {total:,} bytes, the manifest counts "
            f"{split.utf8_bytes:,}; the tokenizer does not match, build the corpus again"
        )
    return total


def evaluate(
    total_nats: float, targets: int, total_bytes: int | None
) -> tuple[float, float | None]:
    """Mean loss in nats per scored target, and bits per byte where the bytes are known."""
    loss = total_nats / targets
    if total_bytes is None or not np.isfinite(total_nats):
        return loss, None
    return loss, accounting.bits_per_byte(total_nats, total_bytes)
