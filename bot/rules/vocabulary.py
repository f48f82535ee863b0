"""The vocabulary that runs and results files state, against the track's and one another's.

Part of the rule `witnesses-disagree`: a loss a token means nothing with tokens of another size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bot.evidence.second import last_part
from bot.evidence.wandb.history import flatten
from bot.model.case import Case
from bot.model.values import positive
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import figure
from bot.render.untrusted import plain
from bot.rules.about import about, per_message, runs_of

PADDED = 1.05
"""A vocabulary may be padded by as much."""
FIX = "use the track's tokenizer, or say in the README how losses compare"
_SIZES = frozenset("vocab_size n_vocab num_vocab vocabulary_size padded_vocab_size".split())
_NAMES = frozenset(
    "tokenizer tokenizer_name tokenizer_path tokenizer_name_or_path tokenizer_model tokenizer_type "
    "encoding encoding_name tiktoken_encoding".split()
)
_KNOWN: Mapping[str, int] = {
    r"gpt-?2|r50k": 50257, r"p50k": 50281, r"cl100k|gpt-?4(?!o)": 100277, r"o200k|gpt-?4o": 200019,
    r"llama-?_?3|llama3": 128256, r"llama-?_?2|llama-7b|mistral-7b": 32000, r"neox|pythia": 50277,
    r"qwen": 151646, r"gemma": 256000, r"^(?:utf-?8|bytes?|byte[-_]level|ascii)$": 256,
}  # fmt: skip
"""Sizes of the vocabularies that have a name."""


def other_vocabulary(case: Case) -> Iterator[Finding]:
    """A vocabulary that is not the track's, or where the track names none that of other runs."""
    if case.brought_over:
        return
    yield from per_message(_of_runs(case))
    for results in case.results:
        for name, size in _stated(flatten(dict(results.info))):
            if not _fits(size, case.track.vocab_size):
                yield finding(
                    "witnesses-disagree",
                    _says(name, size, f"the track's {case.track.vocab_size:,}"),
                    Level.WARNING,
                    file=results.file,
                    pointer=results.info_pointer,
                    claimed=size,
                    expected=case.track.vocab_size,
                    fix=FIX,
                )


def _of_runs(case: Case) -> Iterator[Finding]:
    usual: dict[str | None, int] = {}
    for item, run in runs_of(case):
        for name, size in _stated(flatten(run.config)):
            first = usual.setdefault(item.spec.point, size)
            wanted = case.track.vocab_size or first
            if _fits(size, wanted) or case.track.vocab_size is None and _fits(first, size):
                continue
            whose = "the track's" if case.track.vocab_size else "that of another run,"
            yield about(
                case,
                item,
                run,
                "witnesses-disagree",
                _says(name, size, f"{whose} {wanted:,}"),
                level=Level.WARNING,
                claimed=size,
                expected=wanted,
                fix=FIX,
            )


def _stated(settings: Mapping[str, object]) -> Iterator[tuple[str, int]]:
    """The first setting that says how large the vocabulary is, by number or by name."""
    for name, value in settings.items():
        last, size = last_part(name), positive(value)
        if last in _SIZES and size is not None:
            yield name, size
            return
        if last in _NAMES and isinstance(value, str):
            known = (n for form, n in _KNOWN.items() if re.search(form, value.lower()[:200]))
            for size in known:
                yield name, size
                return


def _fits(size: int, wanted: int | None) -> bool:
    """Whether a vocabulary is one of the size, or it with what pads it."""
    return wanted is None or wanted <= size <= PADDED * wanted


def _says(name: str, size: int, wanted: str) -> str:
    shown = plain(name.removeprefix("_"), 60)
    return f"`{shown}` says a vocabulary of {figure(size)}, expected {wanted}"
