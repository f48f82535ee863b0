"""What two sets of texts share: whole documents, and runs of 13 words.

Texts are compared by their words, lower-cased and in one Unicode form, so that white space,
punctuation, case and invisible characters hide nothing. What is written otherwise (a translation,
a cipher) is not found. A run of 13 words is a 64-bit polynomial of the hashes of its
words: equal runs always have equal values, and different ones collide about once in 2^64.
"""

import functools
import hashlib
import re
import unicodedata
from collections.abc import Iterable

import numpy as np

NGRAM = 13
_WORD = re.compile(r"\w+")
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that every word of a run counts


def words_of(text: str) -> list[str]:
    """The words of a text as they are compared."""
    return _WORD.findall(_INVISIBLE.sub("", unicodedata.normalize("NFKC", text).lower()))


def document_key(words: list[str]) -> int:
    """The hash of a whole document."""
    digest = hashlib.sha256(" ".join(words).encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "little")


@functools.lru_cache(maxsize=1 << 20)
def _word_key(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def ngram_keys(words: list[str]) -> np.ndarray:
    """The values of every run of 13 words, in order; of a shorter text none."""
    count = len(words) - NGRAM + 1
    if count < 1:
        return np.empty(0, np.uint64)
    keys = np.fromiter((_word_key(word) for word in words), np.uint64, len(words))
    total = np.zeros(count, np.uint64)
    for place in range(NGRAM):
        total = total * _BASE + keys[place : place + count]
    return total


class Index:
    """The documents and runs of words of one set of texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        documents, parts = set(), [np.empty(0, np.uint64)]
        for text in texts:
            words = words_of(text)
            documents.add(document_key(words))
            parts.append(ngram_keys(words))
        self.documents = documents
        self.ngrams = np.unique(np.concatenate(parts))

    def holds(self, words: list[str]) -> bool:
        """Whether a document of these words is in the set."""
        return document_key(words) in self.documents

    def shared(self, words: list[str]) -> np.ndarray:
        """The values of the runs of 13 words that the set has too, each once."""
        keys = np.unique(ngram_keys(words))
        if not len(self.ngrams) or not len(keys):
            return keys[:0]
        places = np.searchsorted(self.ngrams, keys).clip(max=len(self.ngrams) - 1)
        return np.asarray(keys[self.ngrams[places] == keys])


class Overlap:
    """Counts what training documents share with a set, document by document. Runs of words go on
    across documents, so that cutting a text into short ones hides nothing."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.documents = self.touched = 0
        self._ngrams: set[int] = set()
        self._tail: list[str] = []

    def add(self, text: str) -> bool:
        """Count a document; whether it shares anything."""
        words = words_of(text)
        whole = self.index.holds(words)
        joined = self._tail + words
        shared, self._tail = self.index.shared(joined), joined[-(NGRAM - 1) :]
        self.documents += whole
        self.touched += bool(whole or len(shared))
        self._ngrams.update(shared.tolist())
        return bool(whole or len(shared))

    def figures(self) -> dict[str, int]:
        """The figures of a manifest: documents that are in both, documents that share a run of 13
        words, and runs of 13 words in both, each counted once."""
        return {
            "ngram": NGRAM,
            "documents": self.documents,
            "documents_with_ngrams": self.touched,
            "ngrams": len(self._ngrams),
            "validation_ngrams": len(self.index.ngrams),
        }
