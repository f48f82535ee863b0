"""The two backends by name; the library of one is imported once it is made."""

import importlib.util
from collections.abc import Callable
from typing import Any

from reference_trainer.config import Config
from reference_trainer.errors import TrainerError

BACKENDS = ("torch", "jax")


def installed_backend() -> str:
    """torch where it is installed, else jax. Raises TrainerError without either."""
    for name in BACKENDS:
        if importlib.util.find_spec(name) is not None:
            return name
    raise TrainerError(
        "neither torch nor jax is installed; install one, for instance: pip install -e '.[jax]'"
    )


def make_backend(name: str) -> Callable[[Config, int], Any]:
    """The constructor of a backend; imports its library. Raises TrainerError if it is missing."""
    if importlib.util.find_spec(name) is None:
        raise TrainerError(f"{name} is not installed: pip install -e '.[{name}]'")
    if name == "torch":
        from reference_trainer.torch_backend.engine import TorchBackend

        return TorchBackend
    from reference_trainer.jax_backend.engine import JaxBackend

    return JaxBackend
