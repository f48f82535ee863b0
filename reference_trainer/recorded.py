"""Which settings an optimizer really used: reading one is remembered.

A starter's optimizer is not the one that the configuration names, so its results and its W&B run
state what ran. A setting of `optimizer.extra` that nothing reads is a typing error, and said so.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from reference_trainer.config import OptimizerConfig
from reference_trainer.errors import ConfigError
from reference_trainer.ranges import Extra


class Optimizer(NamedTuple):
    """Of JAX: `init(params) -> state` and `update(grads, state, params, multiplier) -> (params,
    state)`, with `multiplier` from the schedule.

    `evaluated(params, state) -> params` gives other parameters to validate with, such as an
    average. With `second`, `update` gets a fifth argument `gradients(params, key=None) -> (loss,
    gradients)` of the same batch at other parameters; with a key, on targets that the model draws
    from its own predictions (`losses(params, tokens, None, key)`).
    """

    init: Callable[..., Any]
    update: Callable[..., Any]
    evaluated: Callable[..., Any] | None = None
    second: bool = False

    @property
    def name(self) -> str:
        """The function that made it."""
        return str(self.update.__qualname__.partition(".")[0])


class RecordedExtra(Extra):
    """`optimizer.extra`, remembering the names that were read."""

    def __init__(self, values: Mapping[str, Any], used: dict[str, Any]) -> None:
        super().__init__(values)
        self._used = used

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise ConfigError(f"the optimizer needs optimizer.extra.{name}; pass it with --set")
        self._used[f"extra.{name}"] = super().__getitem__(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._used[f"extra.{name}"] = super().get(name, default)
        return super().get(name, default)


class Recorded:
    """An OptimizerConfig that remembers in `used` what was read of it."""

    def __init__(self, config: OptimizerConfig) -> None:
        self._config = config
        self.used: dict[str, Any] = {}
        self._extra = RecordedExtra(config.extra, self.used)

    def __getattr__(self, name: str) -> Any:
        if name == "extra":
            return self._extra
        value = getattr(self._config, name)
        self.used[name] = value
        return value

    def check_all_read(self) -> None:
        """Raise ConfigError for a setting of `extra` that the optimizer does not have."""
        known = sorted(name for name in self.used if name.startswith("extra."))
        for name in self._config.extra:
            if f"extra.{name}" not in known:
                listed = ", ".join(f"optimizer.{n}" for n in known) or "nothing of optimizer.extra"
                raise ConfigError(f"optimizer.extra.{name} is read by nothing; it reads {listed}")


def facts_of_torch(optimizers: list[Any], used: Mapping[str, Any]) -> dict[str, Any]:
    """Class, settings and number of parameters of each group, before the schedule changes any;
    above them the settings that were read."""
    listed = []
    for optimizer in optimizers:
        own = {k: v for k, v in vars(optimizer).items() if not k.startswith("_")}
        for group in optimizer.param_groups:
            count = sum(p.numel() for p in group["params"])
            named = {"name": type(optimizer).__name__, "parameters": count}
            listed.append({**named, **_plain(own), **_plain(group)})
    return {**_plain(used), "name": _joined(listed), "optimizers": listed}


def facts_of_jax(optimizer: Optimizer, used: Mapping[str, Any], count: int) -> dict[str, Any]:
    """The function that made the optimizer and the settings that it read."""
    listed = [{"name": optimizer.name, "parameters": count, **_plain(used)}]
    return {**_plain(used), "name": _joined(listed), "optimizers": listed}


def _joined(listed: list[dict[str, Any]]) -> str:
    return " + ".join(dict.fromkeys(str(item["name"]) for item in listed))


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers, text and lists of them; switches that are off and what is not set are left out."""
    kept: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, (list, tuple)) and all(isinstance(v, (int, float)) for v in value):
            kept[key] = list(value)
        elif isinstance(value, (int, float, str)) and value is not False:
            kept[key] = value
    return kept
