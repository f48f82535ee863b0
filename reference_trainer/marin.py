"""The order in which Marin's speedruns visit a corpus: `data.order = "marin"`.

After Levanter (stanford-crfm/levanter 9263f81: `data/_prp.py`, `data/mixture.py`, `data/text.py`,
`main/train_lm.py`) and JAX's generator, threefry (Salmon et al. 2011), so that torch needs no JAX
to train in the same order:

- windows of `seq_len` tokens, not overlapping, what is left over is dropped; the last position of a
  window has no target, and attention ends at the id that ends a document;
- the examples come in blocks of 2048, each in a random order of its own, one epoch after another;
- an example is the window (a x + b) mod windows, with a and b drawn once.

All of it follows from one seed, 42 in every entry of that board, whatever the seed of the weights.
"""

import functools
import math

import numpy as np

BLOCK = 2048
SEED = 42
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))

Key = tuple[int, int]


class Order:
    """The window of every example of a run."""

    def __init__(self, windows: int, seed: int = SEED) -> None:
        self._windows = windows
        self._blocks, components = _split((0, seed))
        _, component = _split(components)
        # JAX's randint below a power of two: the low bits of its second draw.
        drawn = int(_bits(_split(component)[1], 1)[0]) % 2**30
        self._a, self._b = _multiplier_and_shift(
            np.random.Generator(np.random.PCG64(drawn)), windows
        )
        self._block = functools.lru_cache(maxsize=2)(self._shuffled)

    def __call__(self, example: int) -> int:
        block, place = divmod(example, BLOCK)
        x = (block * BLOCK + int(self._block(block)[place])) % self._windows
        return (self._a * x + self._b) % self._windows

    def _shuffled(self, block: int) -> np.ndarray:
        """The numbers below 2048, sorted by random bits as often as JAX's `permutation` does."""
        key, found = _threefry(self._blocks, 0, block), np.arange(BLOCK)
        for _ in range(math.ceil(3 * math.log(BLOCK) / math.log(2**32 - 1))):
            key, one = _split(key)
            found = found[np.argsort(_bits(one, BLOCK), kind="stable")]
        return found


def _multiplier_and_shift(rng: np.random.Generator, windows: int) -> tuple[int, int]:
    """A random a without a factor of `windows`, so that each window comes once, and a random b."""
    if windows == 1:
        return 1, 0
    while math.gcd(a := int(rng.integers(1, windows)), windows) != 1:
        pass
    return a, int(rng.integers(0, windows))


def _split(key: Key) -> tuple[Key, Key]:
    return _threefry(key, 0, 0), _threefry(key, 0, 1)


def _threefry(key: Key, high: int, low: int) -> Key:
    one, two = _hash(key, np.array([high], np.uint32), np.array([low], np.uint32))
    return int(one[0]), int(two[0])


def _bits(key: Key, count: int) -> np.ndarray:
    one, two = _hash(key, np.zeros(count, np.uint32), np.arange(count, dtype=np.uint32))
    bits: np.ndarray = one ^ two
    return bits


def _hash(key: Key, high: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Threefry-2x32 with 20 rounds, of 64-bit counters in two halves."""
    keys = np.array([*key, key[0] ^ key[1] ^ 0x1BD11BDA], np.uint32)
    x, y = high + keys[0], low + keys[1]
    for turn in range(5):
        for distance in ROTATIONS[turn % 2]:
            x = x + y
            y = x ^ (y << np.uint32(distance) | y >> np.uint32(32 - distance))
        x = x + keys[(turn + 1) % 3]
        y = y + keys[(turn + 2) % 3] + np.uint32(turn + 1)
    return x, y
