"""Schema errors as advice: what is written, what is wanted, which key was probably meant.

`advise(document, schema)` checks a document with jsonschema and turns each of its errors into a
finding of the rule `schema` in words of the file's author. A document of an unknown version has
no other findings: see `version_problem`.
"""

from __future__ import annotations

import functools as ft
import importlib
import itertools as it
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bot.model.document import Document
from bot.model.values import is_not_finite, near_key
from bot.model.verdict import Finding, finding
from bot.parse.data_manifest import DATA_MANIFEST
from bot.parse.json_scan import escape
from bot.parse.results_json import MAX_RUNS, is_results
from bot.parse.schema_version import claim_of, version_problem
from bot.paths import schema_path
from bot.registry import Level
from bot.render.untrusted import plain, shown

MAX_FINDINGS = 25
MAX_ERRORS = 200
MAX_UNKNOWN = 200
"""Of that many unknown keys of one object a misspelling is looked for."""

# Quantities of a results file that rules of their own speak of: when absent, and the first ones
# also when they are of another type.
_TEXTS = frozenset({"run_completion_timestamp", "wandb_run_link", "wandb_run_id"})
_OWN_RULE = _TEXTS | {"eval/paloma/c4_en/bpb", "training_time", "training_time_in_minutes"}
_ALWAYS = frozenset({"$schema"})
_KINDS = {
    "number": "a number",
    "integer": "a whole number",
    "string": "text",
    "object": "an object",
    "array": "a list",
    "boolean": "true or false",
    "null": "null",
}


def advise(document: Document, schema: str) -> Iterator[Finding]:
    """Findings of one document against `schemas/NAME.schema.json`; at most MAX_FINDINGS."""
    if version_problem(document) is None:
        yield from it.islice(_all(document, schema), MAX_FINDINGS)


def advise_file(document: Document) -> Iterator[Finding]:
    """`advise` with the schema that a document's name and content ask for."""
    if document.problems:
        return
    name = document.file.rpartition("/")[2]
    if name == DATA_MANIFEST:
        schema = "data_manifest"
    else:
        listed = name == "submission.json" and not is_results(document.value)
        schema = "submission" if listed else "results"
    yield from advise(document, schema)


def _all(document: Document, schema: str) -> Iterator[Finding]:
    closed = schema != "results"
    many = _too_many_runs(document)
    if many is not None:
        yield many
        return
    found = it.islice(_validator(schema).iter_errors(document.value), MAX_ERRORS)
    errors = sorted(found, key=_order)
    meant = {tuple(_order(e)): _meant(e) for e in errors if e.validator == "additionalProperties"}
    for error in errors:
        if set(_missing(error)).isdisjoint(meant.get(tuple(_order(error)), {}).values()):
            yield from _advice(error, document, closed)
    if not closed:
        yield from typos(document)


def _too_many_runs(document: Document) -> Finding | None:
    runs = document.value.get("runs") if isinstance(document.value, dict) else None
    if not isinstance(runs, list) or len(runs) <= MAX_RUNS:
        return None
    return finding(
        "schema",
        f"`runs` has {len(runs):,} entries, at most {MAX_RUNS} are read",
        file=document.file,
        line=document.line("/runs"),
        pointer="/runs",
        claimed=len(runs),
        expected=MAX_RUNS,
        fix="put one point of a suite in a file",
    )


def _order(error: Any) -> list[str]:
    return [str(part) for part in error.absolute_path]


@ft.cache
def _schema(name: str) -> Mapping[str, Any]:
    text = schema_path(f"{name}.schema.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


@ft.cache
def _validator(name: str) -> Any:
    # Loaded here: importing jsonschema takes longer than all other work on one file.
    validators = importlib.import_module("jsonschema.validators")
    return validators.Draft202012Validator(_schema(name))


def _advice(error: Any, document: Document, closed: bool) -> Iterator[Finding]:
    path = [str(part) for part in error.absolute_path]
    pointer = "".join(f"/{escape(part)}" for part in path)
    if not closed and path and (path[-1] in _TEXTS or is_not_finite(error.instance)):
        return
    words = _WORDS.get(error.validator, _other)
    for key, message, fix, level in words(error, path, closed):
        if not closed and key in _OWN_RULE:
            continue
        where = (
            pointer
            if key is None or error.validator == "required"
            else (f"{pointer}/{escape(key)}")
        )
        value = None if error.validator in ("required", "anyOf") else claim_of(error.instance)
        yield finding(
            "schema",
            message,
            level,
            file=document.file,
            line=document.line(where),
            pointer=where,
            claimed=value,
            fix=fix,
        )


Words = Iterator[tuple[str | None, str, str, Level | None]]


def _type(error: Any, path: list[str], closed: bool) -> Words:
    kinds = error.validator_value
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    wanted = " or ".join(_KINDS[kind] for kind in kinds if kind != "null") or "null"
    name = _name(path)
    fix = _hint(error, f"write {wanted}")
    text = error.instance
    if "number" in kinds or "integer" in kinds:
        if isinstance(text, str) and re.fullmatch(r"[+-]?[0-9.]{1,40}([eE][+-]?\d{1,3})?", text):
            fix = f"write {text.strip()} without quotes"
    elif "array" in kinds and isinstance(text, str) and _takes_text(error.schema):
        fix = f'write ["{plain(text)}"]'
    elif "object" in kinds and error.schema.get("properties"):
        must = error.schema.get("required") or list(error.schema["properties"])[:3]
        fix = _hint(error, f"write an object with {', '.join(map(_quoted, must))}")
    yield None, f"{name} is {_kind(text)}, expected {wanted}", fix, None


def _takes_text(schema: Mapping[str, Any]) -> bool:
    items = schema.get("items", {})
    return items.get("type") == "string" or "enum" in items


def _missing(error: Any) -> list[str]:
    """The keys that an error says are missing, or one of which is."""
    if error.validator == "required":
        # jsonschema gives one error for each missing key and names it only in its message.
        return [k for k in error.validator_value if error.message.startswith(repr(k))]
    if error.validator == "anyOf":
        return [key for choice in error.validator_value for key in choice.get("required", ())]
    return []


def _required(error: Any, path: list[str], closed: bool) -> Words:
    [key] = _missing(error)
    holder, known = _name(path), error.schema.get("properties", {})
    inner = not closed and len(path) > 2
    near = None if closed else near_key(key, set(error.instance) - set(known))
    if near is not None:
        if not inner:  # else `typos` speaks of it
            fix = f"rename {_quoted(near)} to {_quoted(key)}"
            yield key, f"{holder} has no {_quoted(key)}, but {_quoted(near)}", fix, None
        return
    wanted = known.get(key, {})
    what = wanted.get("description", "")
    fix = f"add {_quoted(key)}" + (f" ({_lowered(what)})" if what else "")
    if "const" in wanted:
        fix = f"add {_quoted(key)}: {json.dumps(wanted['const'])}"
    if key == "path" and "link" in error.instance:
        fix = 'write "source": "wandb", since there is a link, or name the file by `path`'
    yield key, f"{holder} has no {_quoted(key)}", fix, Level.WARNING if inner else None


def _unknown(error: Any, path: list[str], closed: bool) -> Words:
    known = set(error.schema.get("properties", ())) | _ALWAYS
    meant = _meant(error)
    for key in sorted(set(error.instance) - known):
        message = f"{_name(path)} has the unknown key {_quoted(key)}"
        if key in meant:
            near = _quoted(meant[key])
            yield key, f"{message}; did you mean {near}?", f"rename it to {near}", None
        elif not key.startswith("x-"):
            fix = f"remove it; known keys are {', '.join(sorted(known - _ALWAYS))}"
            yield key, message, fix, Level.WARNING


def _meant(error: Any) -> Mapping[str, str]:
    """Unknown key of an object -> the absent one that it was probably meant to be, where unknown
    keys are told of."""
    if error.schema.get("additionalProperties") is not False:
        return {}
    known = frozenset(error.schema.get("properties", ())) | _ALWAYS
    return dict(misspelt(error.instance, known))


def _enum(error: Any, path: list[str], closed: bool) -> Words:
    choices = [str(choice) for choice in error.validator_value]
    value = error.instance
    near = near_key(value, set(choices)) if isinstance(value, str) else None
    begun = [
        c for c in choices if isinstance(value, str) and len(value) > 2 and c.startswith(value)
    ]
    near = near or (begun[0] if len(begun) == 1 else None)
    fix = f'write "{near}"' if near else f"write one of {', '.join(choices)}"
    yield None, f"{_name(path)} is {shown(value)}, expected one of {', '.join(choices)}", fix, None


def _pattern(error: Any, path: list[str], closed: bool) -> Words:
    name, value = _name(path), error.instance
    if path[-1] == "url" or path[-1] in ("repository", "link"):
        scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)", value)
        if scheme is None:
            message = f"{name} is {shown(value)}, which does not start with https://"
            fix = f'write "https://{plain(value.lstrip("/"))}"'
            yield None, message, fix, None if closed else Level.WARNING
        else:
            yield None, f"{name} begins with {shown(scheme.group())}", "write https://...", None
        return
    what = error.schema.get("description")
    fix = f"write the {_lowered(what)}" if what else f"match {error.validator_value}"
    if path[-1] == "github":
        login = re.sub(r"^@|^(https?://)?(www\.)?github\.com/", "", value.strip()).strip("/")
        if re.fullmatch(error.validator_value, login):
            fix = f'write "{login}"'
    yield None, f"{name} is {shown(value)}, which has the wrong form", fix, None


def _size(error: Any, path: list[str], closed: bool) -> Words:
    name, limit = _name(path), error.validator_value
    if error.validator in ("minItems", "minLength"):
        yield None, f"{name} is empty", _hint(error, "fill it in"), None
    elif error.validator == "maxItems":
        yield None, f"{name} has {len(error.instance)} items, at most {limit}", "shorten it", None
    else:
        yield (
            None,
            f"{name} has {len(error.instance)} characters, at most {limit}",
            "shorten it",
            None,
        )


def _range(error: Any, path: list[str], closed: bool) -> Words:
    word = "at least" if error.validator == "minimum" else "at most"
    message = f"{_name(path)} is {shown(error.instance)}, expected {word} {error.validator_value}"
    yield None, message, _hint(error, f"write {word} {error.validator_value}"), None


def _any_of(error: Any, path: list[str], closed: bool) -> Words:
    keys, holder = _missing(error), _name(path)
    if keys[0] == "contributors":
        fix = 'add `contributors`: [{"github": "your-login", "roles": ["runs"]}]'
        yield None, f"{holder} has no `contributors`", fix, None
    else:
        either = " or ".join(map(_quoted, keys))
        yield None, f"{holder} has no {either}", f"add {either}", None


def _unique(error: Any, path: list[str], closed: bool) -> Words:
    yield None, f"{_name(path)} lists an item twice", "list each once", None


def _other(error: Any, path: list[str], closed: bool) -> Words:
    yield None, f"{_name(path)} is {shown(error.instance)}", _hint(error, "see the schema"), None


_WORDS = {
    "type": _type,
    "required": _required,
    "additionalProperties": _unknown,
    "enum": _enum,
    "pattern": _pattern,
    "minItems": _size,
    "maxItems": _size,
    "minLength": _size,
    "maxLength": _size,
    "minimum": _range,
    "maximum": _range,
    "anyOf": _any_of,
    "uniqueItems": _unique,
}


def typos(document: Document) -> Iterator[Finding]:
    """Keys of a results file that look like a misspelling of a known key that is absent."""
    runs = document.value.get("runs") if isinstance(document.value, dict) else None
    for index, run in enumerate(runs if isinstance(runs, list) else ()):
        for pointer, place, known in _places(run, f"/runs/{index}"):
            for key, meant in misspelt(place, known):
                where = f"{pointer}/{escape(key)}"
                yield finding(
                    "schema",
                    f"there is no key {_quoted(key)}; did you mean {_quoted(meant)}?",
                    file=document.file,
                    line=document.line(where),
                    pointer=where,
                    fix=f"rename {_quoted(key)} to {_quoted(meant)}",
                )


def misspelt(place: Mapping[str, Any], known: frozenset[str]) -> list[tuple[str, str]]:
    """(key, known key that was probably meant) for unknown keys near an absent known one."""
    absent = {key for key in known if place.get(key) is None}
    found: list[tuple[str, str]] = []
    if not absent:
        return found
    for key in it.islice((key for key in place if key not in known), MAX_UNKNOWN):
        meant = near_key(key, absent)
        if meant is not None:
            found.append((key, meant))
            absent.discard(meant)
    return found


def _places(run: Any, pointer: str) -> Iterator[tuple[str, Mapping[str, Any], frozenset[str]]]:
    defs = _schema("results")["$defs"]
    for part in ("run_info", "run_related_info", "run_stats"):
        place = run.get(part) if isinstance(run, dict) else None
        if not isinstance(place, dict):
            continue
        known = defs[part]["properties"]
        required = frozenset(defs[part].get("required", ())) | (_OWN_RULE & frozenset(known))
        yield f"{pointer}/{part}", place, required
        for inner, keys in (("model_config", _DIMENSIONS), ("train_config", _LENGTHS)):
            if isinstance(place.get(inner), dict):
                yield f"{pointer}/{part}/{inner}", place[inner], keys


_DIMENSIONS = frozenset({"num_layers", "hidden_dim", "intermediate_dim", "num_heads"})
_LENGTHS = frozenset({"train_batch_size", "num_train_steps"})


def _name(path: list[str]) -> str:
    """A value by its place: `author.url` below a run of a results file, else `claims.loss`,
    run 2, `github` of contributor 1."""
    for part in ("run_info", "run_related_info", "run_stats"):
        if part in path[:-1]:
            return _quoted(".".join(path[path.index(part) + 1 :]))
    last = next((n for n in reversed(range(1, len(path))) if path[n].isdigit()), None)
    if last is None:
        return _quoted(".".join(path)) if path else "the file"
    item = f"{plain(path[last - 1].removesuffix('s'), 60)} {int(path[last]) + 1}"
    item += f" of {_name(path[: last - 1])}" if last > 1 else ""
    return f"{_quoted('.'.join(path[last + 1 :]))} of {item}" if path[last + 1 :] else item


def _quoted(key: str) -> str:
    return f"`{plain(key, 60)}`"


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return f"text ({shown(value, 40)})"
    if isinstance(value, bool) or value is None:
        return shown(value)
    if isinstance(value, (int, float)):
        return f"a number ({shown(value)})"
    return shown(value)


def _hint(error: Any, fallback: str) -> str:
    # The description of a whole file tells its readers about the format, not what to write here.
    what = error.schema.get("description") if error.absolute_path else None
    return f"{fallback} ({_lowered(what)})" if what else fallback


def _lowered(description: str) -> str:
    """A schema's description as part of a sentence."""
    text = description.partition(". ")[0].rstrip(".")
    name = any(letter.isupper() for letter in text.partition(" ")[0][1:])
    return text if name else text[:1].lower() + text[1:]
