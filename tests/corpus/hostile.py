"""Hostile or broken results files, and the error-level rules that must be found in each."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from tests.corpus import values
from tests.corpus.variants import Variant, changed, load, put, secrets


def hostile() -> Iterator[Variant]:
    """Every hostile or broken variant of a results file."""
    yield from _bytes()
    yield from _structure()
    for name, base, change, errors, warnings in values.rows():
        yield Variant(name, changed(base, change), frozenset(errors), frozenset(warnings))
    for name, text in secrets().items():
        errors = {"secret-in-text"}
        yield Variant(
            f"secret-{name}", changed("v4", put(description=f"see {text} there")), frozenset(errors)
        )
    for name, char in _BAD_CHARS.items():
        yield Variant(
            f"text-{name}",
            changed("v4", put(description=f"fast{char}run")),
            frozenset({"unsafe-text"}),
        )


_BAD_CHARS = {
    "rlo": "\u202e",
    "lri": "\u2066",
    "rlm": "\u200f",
    "zero-width": "\u200b",
    "bom": "\ufeff",
    "word-joiner": "\u2060",
    "nul": "\0",
    "escape": "\x1b[31m",
    "backspace": "\b",
    "delete": "\x7f",
    "c1": "\x9b",
    "tag": "\U000e0041",
    "line-separator": "\u2028",
    "hangul-filler": "\u3164",
    "soft-hyphen": "\u00ad",
    "joiner": "\u200d",
    "selector": "\U000e0101",
    "noncharacter": "\ufffe",
    "interlinear": "\ufff9",
}


def _bytes() -> Iterator[Variant]:
    """What is wrong before a value can be read."""
    good = json.dumps(load("v4"), indent=2)
    data = good.encode()
    number = f'"training_time": {load("v4")["runs"][0]["run_info"]["training_time"]}'
    assert number in good
    texts = {
        "empty": b"",
        "blank": b" \n\t\n",
        "truncated": data[: len(data) // 2],
        "truncated-last": data[:-3],
        "two-values": data + data,
        "trailing-text": data + b"\nthanks",
        "bom-8": b"\xef\xbb\xbf" + data,
        "utf-16": good.encode("utf-16"),
        "utf-16-be": b"\xfe\xff" + good.encode("utf-16-be"),
        "utf-32": good.encode("utf-32"),
        "latin-1": good.replace("One run", "Ein Lauf f\u00fcr").encode("latin-1"),
        "bad-utf8": data.replace(b"One run", b"One \xff\xfe run"),
        "overlong-utf8": data.replace(b"One run", b"One \xc0\xaf run"),
        "surrogate-utf8": data.replace(b"One run", b"One \xed\xa0\x80 run"),
        "zero-byte": data.replace(b"One run", b"One\0run"),
        "binary": bytes(range(256)) * 20,
        "zip": b"PK\x03\x04" + bytes(200),
        "gzip": b"\x1f\x8b\x08" + bytes(range(1, 200)),
        "html": b"<!doctype html><html><body>404</body></html>",
        "yaml": b"runs:\n  - run_info:\n      training_time: 3\n",
        "python-literal": b"{'runs': [{'run_info': None}]}",
        "comment": b"// results\n" + data,
        "hash-comment": b"# results\n" + data,
        "trailing-comma": data.replace(b'"runs": [', b'"x": [1,],\n "runs": ['),
        "conflict-marker": b"<<<<<<< HEAD\n" + data + b"=======\n",
        "lfs-pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n",
        "nan": good.replace(number, '"training_time": NaN').encode(),
        "infinity": good.replace(number, '"training_time": Infinity').encode(),
        "minus-infinity": good.replace(number, '"training_time": -Infinity').encode(),
        "overflow": good.replace(number, '"training_time": 1e400').encode(),
        "minus-overflow": good.replace(number, '"training_time": -1e999').encode(),
        "huge-int": good.replace(number, f'"training_time": {"9" * 5000}').encode(),
        "long-int": good.replace(number, f'"training_time": {"9" * 61}').encode(),
        "leading-zero": good.replace(number, '"training_time": 012').encode(),
        "hex": good.replace(number, '"training_time": 0x10').encode(),
        "plus": good.replace(number, '"training_time": +1').encode(),
        "bare-point": good.replace(number, '"training_time": .5').encode(),
        "underscore": good.replace(number, '"training_time": 1_000').encode(),
        "python-true": good.replace(number, '"training_time": True').encode(),
        "undefined": good.replace(number, '"training_time": undefined').encode(),
        "duplicate-key": good.replace(number, f'{number}, "training_time": 1').encode(),
        "duplicate-escaped": good.replace(number, f'{number}, "training_\\u0074ime": 1').encode(),
        "duplicate-runs": good.replace('"runs"', '"runs": [], "runs"').encode(),
        "half-surrogate": good.replace("One run", "One \\ud800 run").encode(),
        "half-surrogate-low": good.replace("One run", "One \\udc00 run").encode(),
        "half-surrogate-key": good.replace('"description"', '"descr\\ud800"').encode(),
        "bad-escape": good.replace("One run", "One \\x41 run").encode(),
        "raw-newline": good.replace("One run", "One\nrun").encode(),
        "raw-tab": good.replace("One run", "One\trun").encode(),
        "single-quotes": good.replace('"', "'").encode(),
        "curly-quotes": good.replace('"runs"', "\u201cruns\u201d").encode(),
        "missing-comma": good.replace(',\n        "num_chips"', '\n        "num_chips"').encode(),
        "missing-colon": good.replace('"runs":', '"runs"').encode(),
        "unclosed-string": good.replace('"One run of the series."', '"One run').encode(),
        "deep-lists": b'{"runs": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "deep-objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        "just-too-deep": b"[" * 41 + b"]" * 41,
        "unclosed-deep": b"[" * 200_000,
        "too-large": b'{"runs": [], "pad": "' + b"x" * 1_000_001 + b'"}',
    }
    for name, text in texts.items():
        yield Variant(name, text, frozenset({"json-invalid"}))


def _structure() -> Iterator[Variant]:
    """JSON, but no results file."""
    values: dict[str, Any] = {
        "null": None,
        "true": True,
        "number": 42,
        "text": "results",
        "list": [],
        "object": {},
        "list-of-runs": load("v4")["runs"],
        "runs-null": {"runs": None},
        "runs-empty": {"runs": []},
        "runs-text": {"runs": "none"},
        "runs-number": {"runs": 3},
        "runs-object": {"runs": {}},
        "run-null": {"runs": [None]},
        "run-list": {"runs": [[]]},
        "run-empty": {"runs": [{}]},
        "run-text": {"runs": ["a run"]},
        "info-null": {"runs": [{"run_info": None}]},
        "info-list": {"runs": [{"run_info": []}]},
        "info-text": {"runs": [{"run_info": "x"}]},
        "related-null": {"runs": [{"run_related_info": None, "run_stats": {}}]},
        "related-no-stats": {
            "runs": [{"run_related_info": load("v1_minutes")["runs"][0]["run_related_info"]}]
        },
        "stats-list": {"runs": [{**load("v1_minutes")["runs"][0], "run_stats": []}]},
        "runs-misspelt": {"run": load("v4")["runs"]},
        "info-misspelt": {"runs": [{"run_inf": load("v4")["runs"][0]["run_info"]}]},
        "submission": {"schema_version": 1, "track": "fineweb-edu", "title": "x", "runs": []},
    }
    for name, value in values.items():
        yield Variant(f"shape-{name}", json.dumps(value).encode(), frozenset({"schema"}))
    several = load("v4")
    several["runs"].append(None)
    yield Variant("shape-second-null", json.dumps(several).encode(), frozenset({"schema"}))
    twice = load("v4")
    twice["runs"].append(copy.deepcopy(twice["runs"][0]))
    yield Variant("run-twice", json.dumps(twice).encode(), frozenset({"duplicate-run"}))
    for version in (0, 2, 99, "1", None, True, 1.5, [], {}):
        value = load("v4") | {"schema_version": version}
        yield Variant(
            f"version-{version!r}",
            json.dumps(value).encode(),
            frozenset({"schema-version-unknown"}),
        )
    ours = load("v4") | {"speedrun": {"schema_version": 7}}
    yield Variant(
        "version-of-object", json.dumps(ours).encode(), frozenset({"schema-version-unknown"})
    )
