"""What a starter file trains with, read from its text: nobody's code runs for that.

stated(pathlib.Path("main.py").read_text())  ->  {"model.layers": 8, "train.steps": 480, ...}
"""

import ast
from collections.abc import Mapping
from typing import Any

from reference_trainer import provenance
from reference_trainer.config import SECTIONS, as_dict
from reference_trainer.errors import ConfigError
from reference_trainer.starter import configured

_NAMES = ("CONFIG", "SETTINGS")

__all__ = ["stated", "trainer_sha256"]


def stated(text: str) -> dict[str, object] | None:
    """The settings of a starter file by `section.key`; None if its text alone does not tell them:
    CONFIG and SETTINGS must be written out, and used where the trainer is called alone."""
    try:
        tree = ast.parse(text)
        values = {name: _value(tree, name) for name in _NAMES}
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    config, settings = values["CONFIG"], values["SETTINGS"]
    if not isinstance(config, str) or not isinstance(settings, Mapping):
        return None
    try:
        return flat(as_dict(configured(config, settings, "")({})))
    except (ConfigError, AttributeError):
        return None


def flat(config: Mapping[str, Any]) -> dict[str, object]:
    """A configuration by `section.key`, and `optimizer.extra.NAME`."""
    found: dict[str, object] = {}
    for section in SECTIONS:
        for key, value in config[section].items():
            if isinstance(value, Mapping):
                found |= {f"{section}.{key}.{name}": inner for name, inner in value.items()}
            else:
                found[f"{section}.{key}"] = value
    return found


def trainer_sha256() -> str:
    """The hash of this trainer, as its runs record it."""
    return provenance.package_sha256()


def _value(tree: ast.Module, name: str) -> object:
    """The literal that is assigned to a name once and read once. Raises ValueError."""
    uses = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
    made = [
        node.value
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id == name
    ]
    if len(made) != 1 or len(uses) != 2:
        raise ValueError(f"{name} is not assigned once and read once")
    return ast.literal_eval(made[0])
