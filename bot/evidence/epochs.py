"""The length of a training by its epochs: how many were planned, and how long each of them is.

    planned({"max_epochs": 3, "steps_per_epoch": 900}, 1400, (), None, "the log")
    in_words("training for 3 epochs of 900 steps")      epochs 3, steps_per_epoch 900

Shared by logs, W&B and results files, like `bot.evidence.second`. Where trainers have both, the
most steps stand above the epochs, and one epoch is what they have without being asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bot.compute.paces import Series
from bot.evidence.amounts import factors
from bot.evidence.second import BATCHES, SEQUENCES, last_part, states_length, words
from bot.model.run import Witness, WitnessKind
from bot.model.values import whole
from bot.render.untrusted import plain

_EPOCHS = re.compile(
    r"^(?:(?:max|num|n|total|train|training|num_train|n_train|max_train)_)?epochs$"
    r"|^epochs_(?:max|total|num)$"
)
_STEPS = re.compile(
    r"^(?:num_|train_|opt(?:im|imizer)?_)*(?:steps|iters|iterations|updates|update_steps)"
    r"_(?:per|in|each)_(?:an_|one_)?epoch$|^epoch_(?:steps|iters|iterations|length|len)$"
    r"|^(?:num_|train_)?batches_(?:per|in)_(?:an_|one_)?epoch$|^len_train_?loader$"
    r"|^train_?loader_len(?:gth)?$"
)
_SAMPLES = re.compile(
    r"^(?:num_|n_|train_)?(?:samples|examples|sequences|seqs)_per_epoch$"
    r"|^(?:num|n|total)_train(?:ing)?_(?:samples|examples|sequences|seqs)$"
    r"|^train(?:ing)?_(?:samples|examples|sequences|set_size|size|dataset_size|data_size)$"
    r"|^(?:num_train|n_train|dataset_size|dataset_samples|dataset_len(?:gth)?|len_train_?(?:set|ds)"
    r"|epoch_samples|num_examples)$"
)
_TOKENS = re.compile(
    r"^(?:num_|train_)?tokens_(?:per|in)_(?:an_|one_)?epoch$|^epoch_tokens$|^unique_tokens$"
    r"|^(?:dataset|train(?:ing)?_(?:set|data|dataset))_(?:num_|total_)?tokens$"
    r"|^tokens_in_(?:train(?:ing)?_)?(?:dataset|set|data)$"
)
_BATCH_OF_ONE = ("batch_size", "micro_batch_size", "device_batch_size",
                 "per_device_train_batch_size", "per_device_batch_size")  # fmt: skip
_NOT_OF_TRAINING = frozenset(
    "warmup decay cooldown eval val valid validation test save log patience checkpoint lr freeze "
    "scheduler schedule every interval frequency".split()
)
_IN_TOKENS = 16384
"""A batch of more counts tokens."""
_MORE, _BEYOND = 1.01, 1.1

_SAID = re.compile(
    r"(?<![\d.])(\d{1,6}(?:\.\d{1,4})?) epochs?\s?(?:of|x|×|with|at|,|\()\s?(\d[\d,_]{0,11})"
    r"(?: (?:training|optimizer|train|update))? (steps|iterations|iters|batches|updates)",
    re.IGNORECASE,
)
_SAID_EACH = re.compile(
    r"(?<![a-z])(steps|iterations|iters|batches|updates|samples|examples|sequences|tokens)"
    r" (?:per|in an?|in each|each|in one) epoch\W{1,4}(\d[\d,_]{0,15})|"
    r"(?<![\d.])(\d[\d,_]{0,15}) (steps|iterations|iters|batches|updates|samples|examples"
    r"|sequences|tokens) (?:per|in an?|in each|each|in one) epoch|"
    r"(?<![a-z])(?:one|1|an|each) epoch (?:is|has|=|takes|of) (\d[\d,_]{0,15}) "
    r"(steps|iterations|iters|batches|updates|samples|examples|sequences|tokens)",
    re.IGNORECASE,
)
_SAID_HOW_MANY = re.compile(
    r"(?<![a-z])(?:train(?:ing)?|run(?:ning)?|plan(?:ned|s)?)(?: for| of|:)? (\d{1,6}) epochs?\b",
    re.IGNORECASE,
)


def in_words(line: str) -> Iterator[tuple[str, float]]:
    """What a line says of epochs and their length in words, as settings."""
    if "epoch" not in line and "Epoch" not in line:
        return
    if (told := _SAID.search(line)) is not None:
        yield "epochs", float(told[1])
        yield "steps_per_epoch", _number(told[2])
    elif (told := _SAID_HOW_MANY.search(line)) is not None:
        yield "epochs", float(told[1])
    if (told := _SAID_EACH.search(line)) is not None:
        unit, value = (told[1], told[2]) if told[1] else (told[4], told[3])
        unit, value = (told[6], told[5]) if told[5] else (unit, value)
        kept = unit.lower() if unit.lower() in ("tokens", "samples", "examples") else "steps"
        kept = "samples" if unit.lower() == "sequences" else kept
        yield f"{kept}_per_epoch", _number(value)


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("_", ""))


def planned(
    settings: Mapping[str, float], steps: int, tokens: Series, chips: int | None, where: str
) -> Iterator[Witness]:
    """The planned length by epochs where it is longer than the run, `total_steps`, or shorter,
    `short_plan`. Where a batch may be meant in several ways, the plan nearest to the run counts."""
    fitting = {n for n, v in settings.items() if states_length(n) and _near(v, steps)}
    if steps <= 0 or any(last_part(name).startswith("max") for name in fitting):
        return
    for source, epochs, least, most in _plans(settings, tokens, chips):
        name = f"{source} in {where}"
        if epochs <= 1 and fitting:
            continue
        if least > _MORE * steps + 2:
            yield Witness("total_steps", round(least), WitnessKind.PROGRAM, name)
        elif steps > _BEYOND * most + 2:
            yield Witness("short_plan", round(most), WitnessKind.PROGRAM, name)


def _near(length: float, steps: int) -> bool:
    return abs(length - steps) <= 0.01 * steps + 2


def _plans(
    settings: Mapping[str, float], tokens: Series, chips: int | None
) -> Iterator[tuple[str, float, float, float]]:
    """(what states a length, its epochs, the fewest steps that it may be, the most)"""
    epochs = {n: v for n, v in settings.items() if _is(_EPOCHS, n)}
    for name, value in settings.items() if epochs else ():
        sizes = _each(name, value, settings, tokens, chips)
        for plan, times in epochs.items() if sizes else ():
            source = f"`{plain(plan, 40)}` and `{plain(name, 40)}`"
            yield source, times, times * min(sizes), times * max(sizes)


def states_plan(settings: Mapping[str, object]) -> bool:
    """Whether a configuration states a length by epochs and what an epoch is."""
    named = [n for n, v in settings.items() if whole(v) not in (None, 0, -1)]
    return any(_is(_EPOCHS, n) for n in named) and any(
        _is(form, n) for n in named for form in (_STEPS, _SAMPLES, _TOKENS)
    )


def _is(form: re.Pattern[str], name: str) -> bool:
    return bool(form.search(last_part(name))) and not _NOT_OF_TRAINING & set(words(name).split("_"))


def _each(
    name: str, value: float, settings: Mapping[str, float], tokens: Series, chips: int | None
) -> tuple[float, ...]:
    """The steps that an epoch may have by a setting that says how long it is."""
    times = factors(settings, chips)
    if _is(_STEPS, name):
        # Batches of one device and one pass are more than updates.
        passes = "batch" in name or "loader" in name
        return tuple(value / t for t in (times if passes else (1.0,)))
    counts_tokens = _is(_TOKENS, name)
    if not counts_tokens and not _is(_SAMPLES, name):
        return ()
    lengths = [v for n, v in settings.items() if last_part(n) in SEQUENCES] or []
    batches = set[float]()
    for other, size in settings.items():
        last = last_part(other)
        if last not in BATCHES and last not in _BATCH_OF_ONE:
            continue
        in_tokens = "token" in last or size >= _IN_TOKENS
        of_all = (size,) if last in BATCHES else tuple(size * t for t in times)
        if in_tokens == counts_tokens:
            batches |= set(of_all)
        elif in_tokens:
            batches |= {one / length for one in of_all for length in lengths}
        else:
            batches |= {one * length for one in of_all for length in lengths}
    seen = sorted(dict(tokens).items())
    if counts_tokens and len(seen) > 1 and seen[-1][0] > seen[0][0]:
        batches = {(seen[-1][1] - seen[0][1]) / (seen[-1][0] - seen[0][0])}
    return tuple(value / batch for batch in batches if batch > 0)
