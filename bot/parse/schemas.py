"""Data of our own files checked against `schemas/NAME.schema.json`: the first problem in words."""

from __future__ import annotations

import functools as ft
import importlib
import json
from typing import Any

from bot.paths import schema_path
from bot.render.untrusted import plain


@ft.cache
def _validator(name: str) -> Any:
    # loaded here: importing jsonschema takes longer than all other work of most commands
    validators = importlib.import_module("jsonschema.validators")
    referencing = importlib.import_module("referencing")

    def retrieve(uri: str) -> Any:
        text = schema_path(uri.rpartition("/")[2]).read_text(encoding="utf-8")
        return referencing.Resource.from_contents(json.loads(text))

    schema = retrieve(f"{name}.schema.json").contents
    registry = referencing.Registry(retrieve=retrieve)
    return validators.Draft202012Validator(schema, registry=registry)


def first_problem(value: Any, name: str) -> str | None:
    """What is wrong with `value` and what is expected, None if it fits the schema.

    A schema may word what it expects of a key: `"expected": "a whole number of days such as 3"`.
    """
    error = min(
        _validator(name).iter_errors(value), key=lambda e: list(map(str, e.path)), default=None
    )
    if error is None:
        return None
    where = ".".join(str(part) for part in error.absolute_path)
    if error.validator == "additionalProperties":
        known = sorted(error.schema["properties"])
        unknown = sorted(set(error.instance) - set(known))[0]
        inside = f"{where}.{unknown}" if where else unknown
        return f"unknown key {plain(inside, 100)}, expected one of {', '.join(known)}"
    wanted = error.schema.get("expected") if isinstance(error.schema, dict) else None
    if wanted:
        return f"{where} is {plain(repr(error.instance), 100)}, expected {wanted}"
    return plain(f"{where}: {error.message}" if where else error.message, 300)
