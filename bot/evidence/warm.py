"""What says that a run builds on other training: begins with its weights, or learns from its model.

    setting_of({"trainer.init_from": "gpt2"})       "trainer.init_from: gpt2"
    stated_in('resume_from="ckpt/step-50000"')      "resume_from: ckpt/step-50000"
    label_of(["seed1", "from-ckpt-3000"])           "from-ckpt"

Shared by logs and W&B.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

from bot.evidence.second import last_part, words
from bot.render.untrusted import plain

SAYS = "builds on other training"
_OTHER = re.compile(
    r"^(?:initiali[sz]e|init|start|warm_?start|finetune|fine_tune)d?_from(?:_[a-z0-9_]+)?$"
    r"|^init_(?:checkpoint|ckpt)(?:_[a-z]+)?$"
    r"|^(?:[a-z]+_)?pretrained(?:_[a-z_]+)?$|^warm_?start(?:_[a-z]+)?$|^from_(?:checkpoint|ckpt)$"
    r"|^(?:initial|base|parent|donor|source)_(?:checkpoint|ckpt|weights)(?:_[a-z_]+)?$"
    r"|^base_model_(?:name_or_)?path$"
    r"|^(?:soup|merged?|averaged?|transfer|graft|grown?|upcycled?|bootstrap)_from$"
    r"|^load_(?:from|state(?:_dict)?|path)$"
    r"|^(?:[a-z]+_)?teacher(?:s|_(?!forc)[a-z_]+)?$|^(?:self_)?distil[a-z]*(?:_[a-z_]+)?$"
    r"|^kd_(?:alpha|beta|lambda|weight|loss|coef|coeff|ratio|temp|temperature|teacher|model)$"
    r"|^(?:use_)?soft_?(?:labels?|targets?)(?:_[a-z_]+)?$"
)
_LABEL = re.compile(
    r"(?:from|load|loaded|init|restarted?|continued?)[-_ ]+(?:from[-_ ]+)?"
    r"(?:the[-_ ]+)?(?:ckpt|checkpoint|pre-?trained)|resum(?:e|ed|ing)[-_ ]+(?:from|at|of)"
    r"|(?:ckpt|checkpoint)[-_ ]?\d{2,9}|warm[-_ ]?start(?:ed)?(?:[-_ ]|$)"
    r"|continu(?:e|ed|ing|ation)[-_ ]+(?:of|from|pre-?train\w*)|(?<![a-z])distil|teacher(?!.?forc)"
    r"|fine[-_ ]?tun(?:e|ed|ing)[-_ ]+(?:from|of|gpt|llama|qwen)",
    re.IGNORECASE,
)
_SHORT_LABEL = re.compile(
    r"(?<![a-z])(?:resum(?:e|ed|ing)|pre-?trained|fine[-_ ]?tun(?:e|ed|ing))(?![a-z])"
    r"(?![-_ ]?(?:lr|learning|hyper|hparam|sched|optim|beta|momentum|wd))",
    re.IGNORECASE,
)
"""What says it in a name or a tag, and would say too little in a sentence."""
_DENIED = re.compile(r"(?:(?<![a-z])(?:no|not|non|without|never)[-_ ]+)$", re.IGNORECASE)
_TEACHERS = frozenset("teacher distill distillation kd".split())
_LONGEST = 2000
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
_HINTS = ("_from", "from_", "load_", "pretrained", "warm", "checkpoint", "ckpt", "teacher",
          "distil", "kd_", "soft_", "_model", "_weights")  # fmt: skip


def setting_of(
    settings: Mapping[str, object], run_id: str | None = None, marks: Collection[str] = ()
) -> str | None:
    """The setting that names other weights, in words; None without one. A run that its client
    calls resumed, or that loads a checkpoint of its own name, goes on from itself."""
    places = (v for n, v in settings.items() if last_part(n).endswith(("dir", "base_path")))
    folders = {PurePosixPath(v) for v in places if isinstance(v, str)}
    for name, value in settings.items():
        own = _GOING_ON.search(last_part(name)) is not None
        named = _names_weights(name) or _of_teacher(name, settings)
        if not named or not _is_given(value):
            continue
        text = str(value)
        mine = "resumed" in marks or (run_id is not None and run_id in re.split(r"[/\\]", text))
        if own and (mine or PurePosixPath(text).parent in folders):
            continue
        return in_words(name, value)
    return None


def in_words(name: str, value: object) -> str:
    """A setting as it is shown: of an argument of the command the folders may tell of a person."""
    text = str(value)
    if name.startswith("_"):
        text = re.split(r"[/\\]", text.rstrip("/\\"))[-1]
    return plain(f"{name.removeprefix('_')}: {text}", 120)


def label_of(
    labels: Iterable[str | None], notes: str | None = None, marks: Collection[str] = ()
) -> str | None:
    """The name, tag or note of a run that says so; None without one. A run that its client calls
    resumed may be called so."""
    patterns = [_LABEL] if "resumed" in marks else [_LABEL, _SHORT_LABEL]
    found = [*((text, patterns) for text in labels), (notes, [_LABEL])]
    for text, wanted in found:
        for match in (m for p in wanted for m in p.finditer((text or "")[:_LONGEST])):
            own = "resumed" in marks and match[0].lower().startswith("resum")
            if not own and not _DENIED.search((text or "")[: match.start()]):
                return plain(match[0].strip(" -_"), 40)  # the rest may tell of a person
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


def _of_teacher(name: str, settings: Mapping[str, object]) -> bool:
    """Whether a setting stands below the name of a teacher that is not switched off."""
    parents = re.split(r"[./]", name)[:-1]
    place = next((n for n, part in enumerate(parents) if words(part) in _TEACHERS), None)
    if place is None:
        return False
    above = name[: len(".".join(parents[: place + 1]))]
    switches = (
        settings.get(f"{above}.{on}", True) for on in ("enabled", "enable", "use", "active")
    )
    return all(_is_given(value) for value in switches)


def _is_given(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip()) and value.strip().lower() not in _NOTHING
    return bool(value)
