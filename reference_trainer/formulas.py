"""The bot's two modules of formulas and accelerators, loaded by path.

They are shared so that every formula exists once. The path is relative to this package: a `bot.py`
beside a starter, or in the folder where `python -m reference_trainer` runs, is somebody else's and
is never imported. Both modules need nothing but the standard library.
"""

import importlib.util
import pathlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.compute import accelerators, accounting
else:
    _COMPUTE = pathlib.Path(__file__).resolve().parents[1] / "bot" / "compute"

    def _load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(
            f"reference_trainer._{name}", _COMPUTE / f"{name}.py"
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    accounting, accelerators = _load("accounting"), _load("accelerators")

__all__ = ["accelerators", "accounting"]
