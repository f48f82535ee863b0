"""Losses whose names say on which text they are: whether one may be that of the track.

Part of the rule `witnesses-disagree`; `bot.evidence.beside` reads the names.
"""

from __future__ import annotations

import re

from bot.evidence.beside import CORPORA, data_of, of_validation
from bot.model.track import Track

_NEAR = 1.03
"""Times the validation loss: a loss on another text is rarely so near above it."""


def may_be_of_track(track: Track, name: str, other: float, ours: float) -> bool:
    """Whether a loss is on the track's text by its name, or on one so near that it may be it.
    Losses on other texts are honest, and so is what the track itself reads under that name."""
    if name in {key for metric in track.metrics.values() for key in metric.keys}:
        return False
    near = of_validation(name) and other <= _NEAR * ours
    return near or bool((data_of(name) or frozenset()) & _texts_of(track))


def _texts_of(track: Track) -> frozenset[str]:
    """The names of its text in what a track says."""
    said = (track.title, track.description, track.quality.label, *track.keys.loss, *track.keys.bpb)
    named = CORPORA & {word for text in said for word in _words(text)}
    return named | frozenset(_words(track.data_corpus or ""))


def _words(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower())
