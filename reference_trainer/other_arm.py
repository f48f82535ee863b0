"""The arm that a starter file runs in turn with: what `--interleave` names.

`baseline` is the code of the track's frozen baseline if this repository has it, else the starter as
it is. The trainer's own model has other kernels, so it would be another baseline. A path ending in
.py is any other starter file, anything else a configuration of the trainer's own model.
"""

import ast
import contextvars
import importlib.util
import json
import pathlib
import re
import sys
from collections.abc import Callable
from typing import Any

from reference_trainer import starters
from reference_trainer.cli import make_backend
from reference_trainer.config import Config, load_config
from reference_trainer.errors import ConfigError
from reference_trainer.runs import Arm

BASELINE = "baseline"
Described = tuple[Config, Callable[[Config, int], Any]]
"""What a starter file says of itself: its configuration, and what makes its model of it."""
reading: contextvars.ContextVar[list[Described] | None] = contextvars.ContextVar(
    "reading", default=None
)
"""Where a starter file describes itself in place of training, if it is read as the other arm."""


def other_arm(name: str, main: pathlib.Path, backend: str, track: str, folder: pathlib.Path) -> Arm:
    """The arm of that name beside the starter file `main`; `folder` takes a copy of the starter.
    Raises ConfigError."""
    if name == BASELINE:
        file = frozen(main, backend, track)
        file = file or starters.copy_starter(backend, folder, track=track)
    elif name.endswith(".py"):
        file = pathlib.Path(name)
    else:
        return Arm("baseline", load_config(name), make_backend(backend))
    if (other := _backend(file)) != backend:
        raise ConfigError(
            f"{file} is written in {other} and {main.name} in {backend}, and both arms need the "
            "same; begin with that file, or name another arm after --interleave"
        )
    config, make = _described(file.resolve())
    return Arm("baseline", config, make, file.resolve())


def frozen(main: pathlib.Path, backend: str, track: str) -> pathlib.Path | None:
    """The starter file of the track's baseline, if the repository around `main` has it.

    A first baseline is the starter as it is, of which there is one a backend: None in the other.
    """
    for root in main.parents:
        kept = [
            json.loads(path.read_text(encoding="utf-8"))
            for path in (root / "tracks/baselines" / track).glob("*.json")
        ]
        passed = {item["after"] for item in kept}
        standing = [item for item in kept if item["id"] not in passed]
        if standing:
            newest = max(standing, key=lambda item: str(item["frozen_on"]))
            file = root / str(newest["submission"]) / "main.py"
            if file.is_file() and (newest["after"] or _backend(file) == backend):
                return file
            return None
    return None


def _backend(file: pathlib.Path) -> str:
    """Which backend a starter file is written in; it is not run. Raises ConfigError."""
    try:
        found = re.search(r"starter\.run_(torch|jax)\(", file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error
    if found is None:
        raise ConfigError(f"{file} is no starter file: it calls neither run_torch nor run_jax")
    return found[1]


def _described(file: pathlib.Path) -> Described:
    """What a starter file says of itself when it runs. Raises ConfigError."""
    # Imported under a name of its own: torch.compile would look for `__main__` in the other file.
    spec = importlib.util.spec_from_file_location("starter_of_the_other_arm", file)
    assert spec is not None and spec.loader is not None, file
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    found: list[Described] = []
    token = reading.set(found)
    try:
        spec.loader.exec_module(module)
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
                exec(compile(ast.Module(node.body, []), file, "exec"), module.__dict__)
    except ImportError as error:
        raise ConfigError(f"{file} cannot be run as the other arm: {error}") from error
    finally:
        reading.reset(token)
    if not found:
        raise ConfigError(f"{file} is no starter file: it does not call the trainer when it runs")
    return found[0]
