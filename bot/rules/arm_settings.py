"""Settings in which the two arms of a comparison differ though only the code under test should.

    unequal(ours, theirs)       "train.micro_batch is 64 in the candidate and 2 in the baseline arm"

Part of the rule `arms-differ`. What a candidate is about differs freely: optimizer, schedule, shape
of the model, batch, length. What decides how fast any code runs, or what its loss is measured on,
is named with both values. It is a warning: it may be the improvement itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bot.evidence.second import last_part, words
from bot.evidence.wandb.history import flatten
from bot.model.run import Run
from bot.render.untrusted import plain

_MEASURED = frozenset(
    "val valid validation eval evaluation test holdout heldout dev data dataset datasets corpus "
    "tokenizer vocab shard shards paloma".split()
)
_MACHINE = frozenset(
    "device devices gpu gpus chips node nodes hosts mesh parallel parallelism sharding shard fsdp "
    "ddp zero tp pp cp dp sp ep rank ranks world".split()
)
_SPEED = frozenset(
    "compile compiled compiler inductor dynamo jit xla cudagraph cudagraphs graph graphs remat "
    "recompute checkpointing offload fused kernel kernels flash sdpa backend "
    "dtype fp8 amp autocast bf16 fp16 fp32 tf32 matmul deterministic benchmark workers prefetch "
    "pin profile profiler debug anomaly nan sync synchronize sleep throttle delay power "
    "clocks micro microbatch microbatches log logging print watch".split()
)
_EXACT = frozenset("seq_len sequence_length block_size context_length max_seq_len".split())
# A nonce or a digest differs by its nature, precision and data have rules of their own.
_OTHER_RULE = frozenset("precision validation_fingerprint data_fingerprint peak_flops".split())
_LABELS = re.compile(r"(?:^|_)(?:dir|folder|name|id|url|sha256|hash|tag|tags|seed|note|notes)$")
_OFF = frozenset(("", "none", "null", "false", "0", "0.0", "1", "1.0", "auto", "-1"))
"""What an option that only the candidate has may be: it is not in use."""
_MOST, _SHOWN = 400, 4


def unequal(ours: Sequence[Run], theirs: Sequence[Run]) -> str | None:
    """The settings in which two arms differ and should not, in words; None without one."""
    found = list(_unequal(ours, theirs))
    if not found:
        return None
    more = len(found) - _SHOWN
    rest = f"; and {more} more" if more > 0 else ""
    return "; ".join(found[:_SHOWN]) + rest


def _unequal(ours: Sequence[Run], theirs: Sequence[Run]) -> Iterator[str]:
    mine, other = _settings(ours), _settings(theirs)
    alike = {run.source for run in ours} == {run.source for run in theirs}
    for name in sorted(mine.keys() | other.keys()):
        a, b = mine.get(name, frozenset()), other.get(name, frozenset())
        if a and b and a.isdisjoint(b):
            told = f"is {_show(a)} in the candidate and {_show(b)} in the baseline arm"
            yield f"{plain(name, 60)} {told}"
        elif alike and mine and other and not (a and b) and not (a and a <= _OFF):
            where, lacks = ("candidate", "baseline arm") if a else ("baseline arm", "candidate")
            yield f"{plain(name, 60)} is {_show(a or b)} in the {where}, the {lacks} does not say"


def _settings(arm: Sequence[Run]) -> Mapping[str, frozenset[str]]:
    """What all runs of an arm state of the settings that should be equal, by name."""
    found: dict[str, list[str]] = {}
    for run in arm:
        for name, value in list(flatten(run.config).items())[:_MOST]:
            if _should_be_equal(name):
                found.setdefault(name, []).append(str(value).strip().lower())
    return {name: frozenset(v) for name, v in found.items() if len(v) == len(arm)}


def _should_be_equal(name: str) -> bool:
    last, parts = last_part(name), set(words(name).split("_"))
    if last in _OTHER_RULE or _LABELS.search(last):
        return False
    if last in _EXACT or parts & _MEASURED:
        return True
    return bool((_MACHINE | _SPEED) & set(last.split("_")))


def _show(values: frozenset[str]) -> str:
    return plain(", ".join(sorted(values)), 60)
