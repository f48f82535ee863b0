"""The arm that a starter file runs in turn with: what `--interleave` names.

`baseline` is the track's frozen baseline, its code with the settings that its runs had, or without
one the starter as it is. The trainer's own model has other kernels, so it would be another
baseline. A path ending in .json is a frozen baseline too, one ending in .py any other starter file,
anything else a configuration of the trainer's own model.
"""

import ast
import contextvars
import dataclasses as dc
import importlib.util
import json
import pathlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reference_trainer import starters
from reference_trainer.backends import make_backend
from reference_trainer.config import SECTIONS, Config, load_config
from reference_trainer.errors import ConfigError
from reference_trainer.provenance import source_sha256
from reference_trainer.runs import Arm

BASELINE = "baseline"
_OTHERWISE = (
    "run its code by yourself and pass the runs to `speedrun new` with --baseline, or name the "
    "starter file that they trained: --interleave FILE.py"
)


@dc.dataclass
class Reading:
    """A starter file that is read in place of training. `found` is what it says of itself: its
    configuration, the same with `settings`, and what makes its model of one."""

    settings: Mapping[str, object]
    found: list[tuple[Config, Config, Callable[[Config, int], Any]]]


reading: contextvars.ContextVar[Reading | None] = contextvars.ContextVar("reading", default=None)
"""Where a starter file describes itself in place of training, if it is read as the other arm."""


@dc.dataclass(frozen=True)
class Frozen:
    """A frozen baseline: its starter file, and the settings that its runs recorded."""

    name: str
    file: pathlib.Path
    settings: Mapping[str, object]


def other_arm(name: str, main: pathlib.Path, backend: str, track: str, folder: pathlib.Path) -> Arm:
    """The arm of that name beside the starter file `main`; `folder` takes a copy of the starter.
    Raises ConfigError."""
    if name.endswith(".py"):
        return _arm(Frozen("", pathlib.Path(name), {}), main.name, backend)
    if name.endswith(".json"):
        return _arm(read_frozen(pathlib.Path(name)), main.name, backend)
    if name != BASELINE:
        return Arm("baseline", load_config(name), make_backend(backend))
    found = frozen(track, main.parents)
    if found is not None:
        return _arm(found, main.name, backend)
    file = starters.copy_starter(backend, folder, track=track)
    arm = _arm(Frozen("", file, {}), main.name, backend)
    note = f"baseline arm: the {backend} starter as it is; no frozen baseline of {track} is here"
    return dc.replace(arm, note=note)


def frozen_arm(track: str, folder: pathlib.Path, backend: str) -> Arm | None:
    """The frozen baseline of a track of the repository around a folder, beside a model of the
    trainer's own; None without one. Raises ConfigError."""
    found = frozen(track, (folder, *folder.parents))
    return None if found is None else _arm(found, "this run", backend)


def frozen(track: str, folders: Iterable[pathlib.Path]) -> Frozen | None:
    """The baseline that stands for a track, in the repository that one of the folders is the root
    of; None if none is frozen there. Raises ConfigError if its code cannot be run."""
    for root in folders:
        kept = {path: _json(path) for path in (root / "tracks/baselines" / track).glob("*.json")}
        passed = {item.get("after") for item in kept.values()}
        standing = [path for path, item in kept.items() if item.get("id") not in passed]
        if standing:
            return read_frozen(max(standing, key=lambda path: str(kept[path].get("frozen_on"))))
    return None


def read_frozen(path: pathlib.Path) -> Frozen:
    """The baseline of a file `tracks/baselines/TRACK/NAME.json`. Raises ConfigError."""
    item = _json(path)
    name = f"{item.get('id')} of {path.parent.name}"
    code = item.get("code")
    if not isinstance(code, dict) or not isinstance(code.get("settings"), dict):
        raise ConfigError(
            f"the baseline {name} was frozen without code that can be run; {_OTHERWISE}"
        )
    file = path.absolute().parents[3] / str(item.get("submission")) / str(code.get("path"))
    if source_sha256(_text(file)) != code.get("sha256"):
        raise ConfigError(
            f"{file} is not what it was when the baseline {name} was frozen; restore it from the "
            f"commit that froze it, or {_OTHERWISE}"
        )
    return Frozen(name, file, code["settings"])


def _arm(found: Frozen, mine: str, backend: str) -> Arm:
    """The arm of a starter file with settings of its own. Raises ConfigError."""
    file = found.file
    if (other := _backend(file)) != backend:
        raise ConfigError(
            f"{file} is written in {other} and {mine} in {backend}, and both arms need the "
            f"same; begin with that file (`speedrun new TRACK/NAME --starter {other}` writes one "
            "like it), or name another arm after --interleave"
        )
    try:
        own, config, make = _described(file.resolve(), found.settings)
    except ConfigError as error:
        if not found.settings:
            raise
        raise ConfigError(
            f"the baseline {found.name} cannot be run as it was frozen: {error}"
        ) from error
    return Arm("baseline", config, make, file.resolve(), _note(found, own, config))


def _note(found: Frozen, own: Config, config: Config) -> str:
    """What the arm is: the frozen baseline, and how its runs differ from what its file says."""
    if not found.name:
        return ""
    changed = [
        f"{section}.{field.name}={value}"
        for section in SECTIONS
        for field in dc.fields(getattr(config, section))
        if (value := getattr(getattr(config, section), field.name))
        != getattr(getattr(own, section), field.name)
    ]
    more = f", with {', '.join(changed)} as its runs recorded" if changed else ""
    return f"baseline arm: {found.name}, {found.file}{more}"


def _json(path: pathlib.Path) -> Mapping[str, Any]:
    """A baseline's file. Raises ConfigError."""
    try:
        found = json.loads(_text(path))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ConfigError(f"{path} is not a frozen baseline; name tracks/baselines/TRACK/NAME.json")
    return found


def _text(file: pathlib.Path) -> str:
    """What a file says. Raises ConfigError."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigError(
            f"{file} is missing; the other arm runs its code: use a clone of the whole repository, "
            "or name a starter file, as in `--interleave FILE.py`"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error


def _backend(file: pathlib.Path) -> str:
    """Which backend a starter file is written in; it is not run. Raises ConfigError."""
    found = re.search(r"starter\.run_(torch|jax)\(", _text(file))
    if found is None:
        raise ConfigError(f"{file} is not a starter file: it calls neither run_torch nor run_jax")
    return found[1]


def _described(
    file: pathlib.Path, settings: Mapping[str, object]
) -> tuple[Config, Config, Callable[[Config, int], Any]]:
    """What a starter file says of itself when it runs. Raises ConfigError."""
    # Imported under a name of its own: torch.compile would look for `__main__` in the other file.
    spec = importlib.util.spec_from_file_location("starter_of_the_other_arm", file)
    assert spec is not None and spec.loader is not None, file
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    read = Reading(settings, [])
    token = reading.set(read)
    try:
        spec.loader.exec_module(module)
        for node in ast.parse(_text(file)).body:
            if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
                exec(compile(ast.Module(node.body, []), file, "exec"), module.__dict__)
    except ImportError as error:
        raise ConfigError(f"{file} cannot be run as the other arm: {error}") from error
    finally:
        reading.reset(token)
    if not read.found:
        raise ConfigError(
            f"{file} is not a starter file: it does not call the trainer when it runs"
        )
    return read.found[0]
