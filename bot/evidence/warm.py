"""Settings that say a run begins with the weights of other training.

    setting_of({"trainer.init_from": "gpt2"})       "trainer.init_from: gpt2"
    stated_in('resume_from="ckpt/step-50000"')      "resume_from: ckpt/step-50000"

Shared by logs and W&B.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from bot.evidence.second import last_part, words
from bot.render.untrusted import plain

SAYS = "begins with the weights of other training"
_OTHER = re.compile(
    r"^(?:initiali[sz]e|init|start|warm_?start|finetune|fine_tune)d?_from(?:_[a-z0-9_]+)?$"
    r"|^init_(?:checkpoint|ckpt)(?:_[a-z]+)?$"
    r"|^(?:[a-z]+_)?pretrained(?:_[a-z_]+)?$|^warm_?start(?:_[a-z]+)?$"
)
_GOING_ON = re.compile(
    r"^(?:resume|restore|continue)d?_from(?:_[a-z0-9_]+)?$"
    r"|^(?:resume|load|restore)_(?:checkpoint|ckpt|weights|model)(?:_(?:path|dir|file|from))?$"
)
"""Names under which a run goes on from its own checkpoint as well."""
_NOT_WEIGHTS = frozenset("tokenizer tokenizers tok vocab scratch epoch epochs steps lr".split())
_NOTHING = frozenset(
    "none null nil false no off 0 0.0 n/a scratch random auto allow never must str bool int "
    "path optional empty ~ - {} []".split()
)
_STATED = re.compile(
    r"(?<![\w.])([A-Za-z][\w.-]{1,60})['\"]?\s{0,3}[:=]\s{0,3}['\"]?([^\s'\",;(){}\[\]]{1,200})"
)
_HINTS = ("_from", "load_", "pretrained", "warm", "checkpoint", "ckpt")


def setting_of(
    settings: Mapping[str, object], run_id: str | None = None, marks: Collection[str] = ()
) -> str | None:
    """The setting that names other weights, in words; None without one. A run that its client
    calls resumed, or that loads a checkpoint of its own name, goes on from itself."""
    places = (v for n, v in settings.items() if last_part(n).endswith(("dir", "base_path")))
    folders = {PurePosixPath(v) for v in places if isinstance(v, str)}
    for name, value in settings.items():
        own = _GOING_ON.search(last_part(name)) is not None
        if not _names_weights(name) or not _is_given(value):
            continue
        text = str(value)
        mine = "resumed" in marks or (run_id is not None and run_id in re.split(r"[/\\]", text))
        if own and (mine or PurePosixPath(text).parent in folders):
            continue
        return plain(f"{name}: {text}", 120)
    return None


def stated_in(line: str) -> str | None:
    """The setting of a line of text that names other weights, in words."""
    if not any(hint in line.lower() for hint in _HINTS):
        return None
    return setting_of({name: value.rstrip(".") for name, value in _STATED.findall(line)})


def _names_weights(name: str) -> bool:
    last = last_part(name)
    if _NOT_WEIGHTS & set(words(name).split("_")):
        return False
    return bool(_OTHER.search(last) or _GOING_ON.search(last))


def _is_given(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip()) and value.strip().lower() not in _NOTHING
    return bool(value)
