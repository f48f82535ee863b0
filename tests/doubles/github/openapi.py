"""GitHub's OpenAPI description (pruned) as a check of requests and answers, and as a filler.

The fixture is OpenAPI 3.0, whose `nullable` is not JSON Schema: it is rewritten on loading.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

FIXTURE = Path(__file__).with_name("openapi.json")
# Where GitHub and its own description differ (each seen with the real service's documentation).
KNOWN_DRIFT = (
    # a bare array of names is accepted by the service and sent by PyGithub
    ("POST", re.compile(r".*/issues/\d+/labels$"), "request"),
    ("PUT", re.compile(r".*/issues/\d+/labels$"), "request"),
    # the line is null once the comment is outdated; described as never null
    ("GET", re.compile(r".*/pulls/\d+/comments$"), "/line"),
    ("PATCH", re.compile(r".*/pulls/comments/\d+$"), "answer line"),
    # head.repo is null when the fork was deleted; described as never null
    ("GET", re.compile(r".*/pulls(/\d+)?$"), "head/repo"),
)


def _convert(node: Any) -> Any:
    if isinstance(node, list):
        return [_convert(item) for item in node]
    if not isinstance(node, dict):
        return node
    schema = {key: _convert(value) for key, value in node.items()}
    schema.pop("discriminator", None)
    return {"anyOf": [schema, {"type": "null"}]} if schema.pop("nullable", False) else schema


@functools.cache
def description() -> dict[str, Any]:
    return _convert(json.loads(FIXTURE.read_text()))


@functools.cache
def _registry() -> Registry[Any]:
    resource = Resource(contents=description(), specification=DRAFT202012)
    return Registry().with_resource("urn:github", resource)


@functools.cache
def _routes() -> list[tuple[str, re.Pattern[str], str]]:
    routes = []
    for path, operations in description()["paths"].items():
        pattern = re.sub(
            r"\{(\w+)\}", lambda m: "(.+)" if m[1] in ("path", "ref") else "([^/]+)", path
        )
        routes += [(method.upper(), re.compile(f"{pattern}$"), path) for method in operations]
    return routes


def find(method: str, path: str) -> str | None:
    """The templated path of an operation, the longest match winning; None if not described."""
    hits = [t for m, pattern, t in _routes() if m == method and pattern.match(path)]
    return max(hits, key=lambda t: t.count("/")) if hits else None


def _pointer(template: str, method: str, *rest: str) -> str:
    parts = ["paths", template, method.lower(), *rest]
    escaped = [p.replace("~", "~0").replace("/", "~1") for p in parts]
    return "/" + "/".join(e.replace("{", "%7B").replace("}", "%7D") for e in escaped)


@functools.cache
def _validator(pointer: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"urn:github#{pointer}"}, registry=_registry())


def _drift(method: str, path: str, where: str) -> bool:
    return any(m == method and p.match(path) and part in where for m, p, part in KNOWN_DRIFT)


def _errors(pointer: str, method: str, path: str, value: Any, side: str) -> list[str]:
    found = []
    for error in _validator(pointer).iter_errors(value):
        where = f"{side} {'/'.join(map(str, error.absolute_path))}"
        if not _drift(method, path, where):
            found.append(f"{method} {path}: {where}: {error.message[:160]}")
    return found


def check_request(method: str, path: str, body: Any) -> list[str]:
    """What GitHub's description says against a request body; undescribed operations are named."""
    template = find(method, path)
    if template is None:
        return [f"{method} {path}: not in the described operations"]
    operation = description()["paths"][template][method.lower()]
    if body is None or "requestBody" not in operation:
        return []
    pointer = _pointer(template, method, "requestBody", "content", "application/json", "schema")
    return _errors(pointer, method, path, body, "request")


def check_answer(method: str, path: str, status: int, body: Any) -> list[str]:
    """What GitHub's description says against an answer of the double."""
    template = find(method, path)
    if template is None:
        return [f"{method} {path}: not in the described operations"]
    answer = description()["paths"][template][method.lower()]["responses"].get(str(status))
    if answer is None:
        return [f"{method} {path}: status {status} is not described"]
    if "$ref" in answer or "content" not in answer or body is None:
        return []
    kind = next(iter(answer["content"]))
    pointer = _pointer(template, method, "responses", str(status), "content", kind, "schema")
    return _errors(pointer, method, path, body, "answer")


def _resolve(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        node: Any = description()
        for part in schema["$ref"].split("/")[1:]:
            node = node[part]
        schema = node
    return schema


def fill(method: str, path: str, status: int, value: Any, base: str) -> Any:
    """Add to an answer what the description requires and the double has no use for."""
    template = find(method, path)
    if template is None:
        return value
    answer = description()["paths"][template][method.lower()]["responses"].get(str(status), {})
    if "content" not in answer:
        return value
    return _fill(next(iter(answer["content"].values()))["schema"], value, base, 0)


def _fill(schema: dict[str, Any], value: Any, base: str, depth: int) -> Any:
    schema = _resolve(schema)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            options = [_resolve(option) for option in schema[key]]
            if value is None and any(option.get("type") == "null" for option in options):
                return None
            concrete = [option for option in options if option.get("type") != "null"]
            return _fill(_choose(concrete, value), value, base, depth + 1)
    if "allOf" in schema:
        merged: dict[str, Any] = dict(value or {})
        for part in schema["allOf"]:
            merged.update(_fill(part, merged, base, depth + 1) or {})
        return merged
    if schema.get("type") == "object" or "properties" in schema:
        return _fill_object(schema, value, base, depth)
    if schema.get("type") == "array":
        return [_fill(schema["items"], item, base, depth + 1) for item in value or []]
    return _scalar(schema, base) if value is None else value


def _choose(options: list[dict[str, Any]], value: Any) -> dict[str, Any]:
    kind = {dict: "object", list: "array", str: "string", int: "integer"}.get(type(value))
    return next((o for o in options if kind and o.get("type") == kind), options[0])


def _fill_object(schema: dict[str, Any], value: Any, base: str, depth: int) -> Any:
    if value is not None and not isinstance(value, dict):
        return value
    filled = dict(value or {})
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        if name in filled:
            if isinstance(filled[name], dict | list):
                filled[name] = _fill(part, filled[name], base, depth + 1)
        elif name in required and depth < 12:
            filled[name] = _fill(part, None, base, depth + 1)
    return filled


def _scalar(schema: dict[str, Any], base: str) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "string":
        formats = {"date-time": "2026-01-01T00:00:00Z", "uri": f"{base}/x", "email": "a@b.example"}
        return formats.get(schema.get("format", ""), "x")
    return {"integer": 1, "number": 1, "boolean": False}.get(schema.get("type", ""))
