"""What the runs of an entry record of the program that made them, as far as all agree.

    found = recorded(runs)       found.settings["train.steps"], found.backend, found.seeds

The trainer writes its whole configuration to W&B, and a run keeps its numbers, switches and a few
texts. `code_of` is what a frozen baseline keeps, so that everyone runs just that beside their own.
"""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from bot.evidence.arm_names import is_digest
from bot.evidence.code_hash import file_sha256
from bot.evidence.gather import gather
from bot.evidence.snapshot import Snapshots
from bot.model.run import TRAINER, Run
from bot.model.submission import Folder
from bot.model.track import BaselineCode
from bot.parse.folder import Parsed

_SETTING = re.compile(
    r"(?:model|data|train|optimizer|schedule)\.[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_]+)?"
)
_CLASSES = "optimizer.name"
"""What a run records of its optimizer under that name are its classes, which is not a setting."""
_BACKENDS = ("torch", "jax")
Value = str | int | float | bool


@dc.dataclass(frozen=True, slots=True)
class Recorded:
    """What runs record alike; `varying` are the settings in which they differ. Of runs that another
    program made nothing but seeds, code and data is known."""

    settings: Mapping[str, Value] = dc.field(default_factory=dict)
    varying: Mapping[str, tuple[Value, ...]] = dc.field(default_factory=dict)
    backend: str | None = None
    seeds: tuple[int, ...] = ()
    code_sha256: Mapping[str, str] = dc.field(default_factory=dict)
    data: str | None = None
    """The fingerprint of the training data."""


def recorded(runs: Iterable[Run]) -> Recorded:
    """What these runs record of their program; runs from results files record no settings."""
    listed = tuple(runs)
    each = [_settings(run) for run in listed]
    names = dict.fromkeys(name for found in each for name in found)
    values = {n: tuple(dict.fromkeys(f[n] for f in each if n in f)) for n in names}
    backends = {b for run in listed if (b := run.config.get("backend")) in _BACKENDS}
    return Recorded(
        settings={name: found[0] for name, found in values.items() if len(found) == 1},
        varying={name: found for name, found in values.items() if len(found) > 1},
        backend=str(next(iter(backends))) if len(backends) == 1 else None,
        seeds=tuple(sorted({run.seed for run in listed if run.seed is not None})),
        code_sha256=_alike(run.code_sha256 for run in listed),
        data=_alike({"": run.data_fingerprint} for run in listed if run.data_fingerprint).get(""),
    )


def _settings(run: Run) -> dict[str, Value]:
    """The settings of a run of the reference trainer, by `section.key`."""
    if TRAINER not in run.code_sha256:
        return {}
    return {
        name: value
        for name, value in run.config.items()
        if _SETTING.fullmatch(name)
        and name != _CLASSES
        and isinstance(value, str | int | float)
        and not is_digest(value)
    }


def _alike(found: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """What all that state it state alike."""
    values: dict[str, set[str]] = {}
    for item in found:
        for name, value in item.items():
            values.setdefault(name, set()).add(value)
    return {name: next(iter(said)) for name, said in values.items() if len(said) == 1}


class NoCode(ValueError):
    """Why nobody can run the one program of an entry; the message follows its name."""


def code_of(folder: Folder, parsed: Parsed, snapshots: Snapshots | None) -> BaselineCode:
    """The one program of an entry: the file in its folder, and the settings that its runs recorded.
    Raises NoCode."""
    entry, track = parsed.submission, parsed.track
    name = str(PurePosixPath(entry.code_path)) if entry.code_path else ""
    if track is None or name not in folder.files:
        raise NoCode(
            "its code is not in the repository; put the file beside its submission.json, and "
            '`"code": {"path": "main.py"}` into it'
        )
    gathered = gather(entry, folder, track, snapshots=snapshots)
    runs = [r for i in gathered.runs if i.spec.arm == "candidate" for r in i.runs]
    found = recorded(runs)
    for setting, values in found.varying.items():
        listed = " and ".join(map(str, values))
        raise NoCode(f"its runs differ in {setting}, {listed}; list runs of one program alone")
    if not found.settings and any(TRAINER in run.code_sha256 for run in runs):
        raise NoCode(
            "its logs do not record the settings of its runs; list their .wandb files in its `runs`"
        )
    text = folder.files[name].decode("utf-8", "replace")
    return BaselineCode(name, file_sha256(text), dict(sorted(found.settings.items())))
