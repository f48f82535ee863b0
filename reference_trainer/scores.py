"""What a model scores on a validation text, over all processes: loss and bits per byte."""

import math
from collections.abc import Iterator

import numpy as np

from reference_trainer import bpb, levanter, names
from reference_trainer.backend import Backend
from reference_trainer.config import Config
from reference_trainer.shards import Corpus, validation_batches


class Scores:
    """Scores of one backend; every process calls the same method at the same point."""

    def __init__(self, config: Config, corpus: Corpus, backend: Backend) -> None:
        self.config, self.corpus, self.backend = config, corpus, backend
        self.share = config.train.micro_batch * backend.device.world  # rows of all processes
        count = self.share // backend.processes
        self.mine = slice(backend.rank * count, (backend.rank + 1) * count)

    def batches(self, corpus: Corpus) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """This process's share of the validation batches."""
        found = validation_batches(
            corpus.validation,
            self.config.model.seq_len,
            self.share,
            self._limit(corpus),
            corpus.end_of_text,
        )
        for rows, weights in found:
            yield rows[self.mine], weights[self.mine]

    def of(self, corpus: Corpus) -> tuple[float, float | None]:
        """Loss in nats per target and bits per byte of a corpus's validation split."""
        pending, targets = [], 0.0
        for rows, weights in self.batches(corpus):
            pending.append(self.backend.evaluate(rows, weights))
            targets += float(weights.sum())
        nats, targets = self.backend.total([math.fsum(read() for read in pending), targets])
        return bpb.evaluate(nats, int(targets), bpb.scored_bytes(corpus, self._limit(corpus)))

    def of_paloma(self, corpus: Corpus, text: levanter.Text) -> dict[str, float]:
        """C4-EN's bits per byte as Levanter computes them, and as we do."""
        seq_len, batch = self.config.model.seq_len, self.config.train.batch
        found = {names.PALOMA_BPB: levanter.score(text, seq_len, batch, self._nats)}
        _, own = self.of(corpus)
        return found if own is None else {**found, names.PALOMA_OWN_BPB: own}

    def _nats(self, rows: np.ndarray, weights: np.ndarray) -> float:
        """The weighted sum of the losses of all rows, which every process has."""
        pending = []
        for first in range(0, len(rows), self.share):
            ids, scored = (a[first : first + self.share] for a in (rows, weights))
            missing = ((0, self.share - len(ids)), (0, 0))
            ids, scored = np.pad(ids, missing), np.pad(scored, missing)
            pending.append(self.backend.evaluate(ids[self.mine], scored[self.mine]))
        return self.backend.total([math.fsum(read() for read in pending)])[0]

    def _limit(self, corpus: Corpus) -> int:
        return self.config.data.val_tokens if corpus is self.corpus else 0
