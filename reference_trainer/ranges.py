"""What a setting may be, written beside its field: `steps: Annotated[int, Range(1)]`."""

import dataclasses as dc
from typing import Any, get_args, get_origin

from reference_trainer.errors import ConfigError

HUGE = 10**9  # no count of this trainer is larger


@dc.dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`; `without` says which end is not allowed itself: "low" or "high"."""

    low: float = 0
    high: float = HUGE
    without: str = ""

    def admits(self, value: float) -> bool:
        outside = {"low": self.low, "high": self.high}.get(self.without)
        return self.low <= value <= self.high and value != outside  # NaN is in no range

    def words(self, value: float) -> str:
        """What was expected in place of `value`."""
        low = f"{'above' if self.without == 'low' else 'at least'} {self.low:g}"
        if self.high == HUGE and not value > HUGE:
            return low
        return f"{low} and {'below' if self.without == 'high' else 'at most'} {self.high:g}"


class OneOf(tuple[str, ...]):
    """One of some words."""

    def admits(self, value: Any) -> bool:
        return value in self

    def words(self, value: Any) -> str:
        return f"one of {', '.join(self)}"


COUNT, SIZE = Range(0), Range(1)
RATE = Range(0, 1e6)  # learning rates, decays, bounds
SHARE = Range(0, 1)
MOMENTUM = Range(0, 1, "high")


class Extra(dict[str, Any]):
    """Settings of an optimizer of one's own: text, numbers, true or false, or lists of them."""


_KINDS = {
    "Extra": "a table",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "tuple": "a list",
}


def typed(kind: Any, value: Any, where: str) -> Any:
    """`value` if it is of the field's type; a whole number may stand for a float."""
    plain = get_args(kind)[0] if get_origin(kind) is not None else kind
    if plain is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if plain is Extra and isinstance(value, dict):
        return Extra(value)
    right = isinstance(value, plain) and (plain is bool or not isinstance(value, bool))
    if not right:
        raise ConfigError(
            f"{where} is {value!r}, expected {_KINDS.get(plain.__name__, plain.__name__)}"
        )
    return value


def check(section: Any, where: str) -> None:
    """Raise ConfigError for the first field whose value its annotation does not allow."""
    for field in dc.fields(section):
        value = getattr(section, field.name)
        for allowed in getattr(field.type, "__metadata__", ()):
            if not allowed.admits(value):
                shown = f'"{value}"' if isinstance(value, str) else value
                raise ConfigError(
                    f"{where}.{field.name} is {shown}, expected {allowed.words(value)}"
                )
