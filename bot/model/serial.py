"""Data classes as JSON values and back, by their annotations.

`to_json` writes every data class of the model; `read` makes one again. A key that is absent takes
the field's default, and so does a null where the field allows none; unknown keys are ignored; a
value of another type raises TypeError. A field that is not compared is not written. A class whose
JSON differs from its fields is `Shaped`.
"""

from __future__ import annotations

import abc
import dataclasses as dc
import enum
import functools as ft
import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

JsonObject = dict[str, object]
_PLAIN = frozenset({str, int, float, bool, type(None)})
_Reader = Callable[[object], object]
T = TypeVar("T")
_Instance = TypeVar("_Instance", bound="DataclassInstance")


class Shaped(abc.ABC):
    """A data class that says itself how its JSON looks."""

    __slots__ = ()

    @abc.abstractmethod
    def to_json(self) -> JsonObject:
        """The object as JSON values."""

    @classmethod
    @abc.abstractmethod
    def from_json(cls, data: Mapping[str, object]) -> Self:
        """The inverse of `to_json`. Raises KeyError, TypeError or ValueError on another shape."""


def to_json(value: object) -> object:
    """A value of the model as JSON values."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, list | tuple):
        return [item if type(item) in _PLAIN else to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, Shaped):
        return value.to_json()
    if isinstance(value, enum.Enum):
        return str(value)
    if dc.is_dataclass(value) and not isinstance(value, type):
        return fields_to_json(value)
    return value


def fields_to_json(value: DataclassInstance) -> JsonObject:
    """A data class as an object of its fields."""
    return {name: to_json(getattr(value, name)) for name in _written(type(value))}


@ft.cache
def _written(kind: type[DataclassInstance]) -> tuple[str, ...]:
    return tuple(field.name for field in dc.fields(kind) if field.compare)


def dumps(value: object) -> str:
    """JSON values as text for people and programs: a number that is not finite becomes null."""
    return json.dumps(_finite(value), indent=1, allow_nan=False, default=str)


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def read(kind: type[T], data: object) -> T:
    """A value of `kind` from JSON values."""
    return typing.cast(T, _class_reader(kind)(data))


def read_fields(kind: type[_Instance], data: Mapping[str, object]) -> _Instance:
    """A data class from an object of its fields, also where it is `Shaped`."""
    return typing.cast(_Instance, _fields_reader(kind)(data))


@ft.cache
def _reader(kind: object) -> _Reader:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is object:
        return lambda value: value
    if origin in (types.UnionType, typing.Union):
        return _union_reader(arguments)
    if origin is tuple and arguments[1:] == (...,):
        item = _reader(arguments[0])
        return lambda value: tuple(map(item, _of(value, list, tuple)))
    if origin is tuple:
        return _row_reader(tuple, arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        inner = _reader(arguments[1])
        return lambda value: {key: inner(item) for key, item in _of(value, dict).items()}
    if not isinstance(kind, type):
        raise AssertionError(f"the model holds no {kind}")
    return _class_reader(kind)


def _class_reader(kind: type) -> _Reader:
    if issubclass(kind, Shaped):
        return lambda value: kind.from_json(_of(value, dict))
    if dc.is_dataclass(kind):
        return _fields_reader(kind)
    if issubclass(kind, tuple):
        make: Callable[..., object] = kind
        return _row_reader(lambda row: make(*row), tuple(typing.get_type_hints(kind).values()))
    if issubclass(kind, enum.Enum):
        return kind
    allowed = (float, int) if kind is float else (kind,)
    return lambda value: _of(value, *allowed)


def _of(value: object, *kinds: type[T]) -> T:
    """The value if its type is one of `kinds`; true and false are not numbers."""
    if type(value) in kinds:
        return typing.cast(T, value)
    names = " or ".join(kind.__name__ for kind in kinds)
    raise TypeError(f"expected {names}, found {type(value).__name__}")


def _union_reader(kinds: tuple[object, ...]) -> _Reader:
    plain = {kind for kind in kinds if kind in _PLAIN}
    plain |= {int} if float in plain else set()
    others = [_reader(kind) for kind in kinds if kind not in plain]

    def read_union(value: object) -> object:
        if type(value) in plain:
            return value
        for reader in others:
            return reader(value)
        raise TypeError(f"unexpected {type(value).__name__}")

    return read_union


def _row_reader(make: Callable[[list[object]], object], kinds: tuple[object, ...]) -> _Reader:
    readers = [_reader(kind) for kind in kinds]

    def read_row(value: object) -> object:
        items = _of(value, list, tuple)
        return make([reader(item) for reader, item in zip(readers, items, strict=True)])

    return read_row


@ft.cache
def _fields_reader(kind: type[DataclassInstance]) -> _Reader:
    hints = typing.get_type_hints(kind)
    fields = [
        (field.name, _reader(hints[field.name]), type(None) in typing.get_args(hints[field.name]))
        for field in dc.fields(kind)
        if field.init
    ]
    required = {
        field.name
        for field in dc.fields(kind)
        if field.default is dc.MISSING and field.default_factory is dc.MISSING
    }

    def read_object(value: object) -> object:
        data = _of(value, dict)
        given = {}
        for name, reader, nullable in fields:
            item = data.get(name)
            if item is not None or nullable and name in data or name in required:
                try:
                    given[name] = reader(data[name])
                except TypeError as error:
                    raise TypeError(f"{name}: {error}") from error
        return kind(**given)

    return read_object
