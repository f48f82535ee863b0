"""Names of settings that two arms of a comparison share, whatever the candidate is about.

    should_be_equal("train.micro_batch")     True
    option("compile_mode", "eager")          the word that a snapshot keeps of its value

What decides how fast any code runs, or what its loss is measured on. A snapshot keeps these
settings also where they are words.
"""

from __future__ import annotations

import hashlib
import re

from bot.evidence.second import last_part, words

_MEASURED = frozenset(
    "val valid validation eval evaluation test holdout heldout dev data dataset datasets corpus "
    "tokenizer vocab shard shards paloma score scored scoring inference stride".split()
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
    "clocks micro microbatch microbatches log logging print watch eager precision "
    "threads affinity nice cpu cpus cores omp mkl nccl cudnn cublas driver image container "
    "blocking launch clock mhz watts governor turbo allocator alloc numa "
    "float8 mxfp8 fp4 mxfp4 nvfp4 int8 int4".split()
)
_BESIDE = frozenset(
    "save saves saving saved checkpoint checkpoints checkpointer ckpt ckpts dump trace tracing "
    "logger profile profiler profiled profiling debug debugging anomaly check checks "
    "checking assert asserts verbose monitor "
    "monitoring hook hooks timing timer detect gc garbage".split()
)
"""What a run does beside training: under any part of a name, as are those below."""
_CARRIED_OUT = frozenset(
    "impl implementation foreach capturable blocking memory mem offloading persistent loader "
    "dataloader".split()
)
_CONDUCT = _BESIDE | _CARRIED_OUT
_ANYWHERE = _CONDUCT | (_SPEED - frozenset("image power graph graphs".split()))
_PLACES = re.compile(
    r"(?:^|_)(?:path|paths|file|files|prefix|suffix|label|uri|root|location|comment|title|project"
    r"|entity|group|description)$"
)
_ATTENTION = frozenset(("attn", "attention"))
_KERNELS = frozenset(
    "eager sdpa flash math naive xformers efficient cudnn flex manual vanilla triton".split()
)
"""Words for a way to compute attention, in the value of a setting of attention."""
_ENVIRONMENT = frozenset("env environ environment".split())
_EXACT = frozenset("seq_len sequence_length block_size context_length max_seq_len".split())
# A nonce or a digest differs by its nature, precision and data have rules of their own.
_OTHER_RULE = frozenset("precision validation_fingerprint data_fingerprint peak_flops".split())
_LABELS = re.compile(r"(?:^|_)(?:dir|folder|name|id|url|sha256|hash|tag|tags|seed|note|notes)$")
# Words under these names tell of a person or a machine, and are kept nowhere.
_PRIVATE = frozenset(
    "host hosts node nodes hostname user email address ip key token secret password".split()
)
_DIGEST = "text-"
_NOT_DONE = frozenset(("", "none", "null", "false", "0", "0.0", "-1", "off", "no", "never"))
_WORD = re.compile(r"[A-Za-z0-9_.:,*+-]{1,80}")


def should_be_equal(name: str, value: object = None) -> bool:
    """Whether a setting of this name is the same in both arms, unless it is the improvement. Of
    attention the value tells whether it says how it is computed."""
    last, parts = last_part(name), set(words(name).split("_"))
    if last in _OTHER_RULE or _LABELS.search(last):
        return False
    if last in _EXACT or parts & _MEASURED:
        return True
    if parts & _ENVIRONMENT:
        return True
    if _PLACES.search(last):
        return False
    if (_MACHINE | _SPEED) & set(last.split("_")):
        return True
    kernel = isinstance(value, str) and bool(_KERNELS & set(words(value[:80]).split("_")))
    return bool(parts & _ANYWHERE) or (kernel and bool(parts & _ATTENTION))


def of_the_machine(name: str) -> bool:
    """Whether a setting may follow the machine that a run is on, as the size of a pass does."""
    return bool((_MACHINE | _SPEED | _CONDUCT) & set(last_part(name).split("_")))


def costs_nothing(name: str, value: str) -> bool:
    """Whether a setting is of what a run does beside training, and says that it does not."""
    return value in _NOT_DONE and bool(_BESIDE & set(words(name).split("_")))


def is_digest(value: object) -> bool:
    """Whether a kept word stands for a text that is not known."""
    return isinstance(value, str) and value.startswith(_DIGEST)


def option(name: str, value: object) -> str | None:
    """A setting in words, or a short list, as one word; a path or a sentence by a digest, a path by
    that of its last part. None for numbers, switches, and what may tell of a person."""
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    if not isinstance(value, str) or not value.strip() or _PRIVATE & set(words(name).split("_")):
        return None
    if _WORD.fullmatch(value.strip()):
        return value.strip()
    last = re.split(r"[/\\]", value.strip().rstrip("/\\"))[-1]
    return f"{_DIGEST}{hashlib.sha256(last.encode()).hexdigest()[:12]}"
