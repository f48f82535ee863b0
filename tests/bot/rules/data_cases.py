"""Cases of entries that bring their training data: good ones, and one thing wrong in each."""

from __future__ import annotations

import copy
import dataclasses as dc
import json
from collections.abc import Callable
from typing import Any

from bot.evidence.snapshot import restrict
from bot.model.case import Case
from bot.model.run import TRAINER
from bot.parse.data_manifest import DATA_MANIFEST, read_manifest
from bot.parse.json_file import read_json
from tests.bot.rules.run_cases import PATH, TRACKS, a_case, a_run

TRACK = TRACKS["data-tiny"]
OWN = {TRAINER: "e" * 64}
SHARD = {"file": "train_000000.bin", "tokens": 1000, "sha256": "b" * 64}
MANIFEST: dict[str, Any] = {
    "schema_version": 1,
    "name": "my-pool",
    "about": "",
    "tokenizer": {"name": "byte", "sha256": "a" * 64, "size": 257, "end_of_text": 256},
    "splits": {
        "train": {"tokens": 1000, "bytes": 990, "documents": 10, "shards": [SHARD]},
        "validation": {
            "tokens": 100,
            "bytes": 99,
            "documents": 1,
            "shards": [{"file": "validation_000000.bin", "tokens": 100, "sha256": "c" * 64}],
        },
    },
    "data": {
        "licence": "CC0-1.0",
        "url": "https://example.org/my-pool",
        "sources": [
            {"name": "a", "licence": "MIT", "documents": 12, "bytes": 1200, "sha256": "d" * 64}
        ],
        "filters": [{"name": "length", "removed": 2, "min_words": 20}],
        "overlap": {
            "ngram": 13,
            "documents": 0,
            "documents_with_ngrams": 0,
            "ngrams": 0,
            "validation_ngrams": 80,
        },
    },
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The manifest with another value at `a.b.0.c`."""
    made = copy.deepcopy(MANIFEST)
    *parents, last = path.split(".")
    place: Any = made
    for part in parents:
        place = place[int(part)] if part.isdigit() else place[part]
    place[int(last) if last.isdigit() else last] = value
    return made


def brought(manifest: dict[str, Any] | None = MANIFEST, track: Any = None, **run: Any) -> Case:
    """An entry with this manifest, and two runs on the data of the good one."""
    good = read_manifest(read_json(json.dumps(MANIFEST).encode(), "m"))
    assert good is not None
    files, documents = {}, {}
    if manifest is not None:
        files[DATA_MANIFEST] = json.dumps(manifest).encode()
        documents[DATA_MANIFEST] = read_json(files[DATA_MANIFEST], f"{PATH}/{DATA_MANIFEST}")
    settings: dict[str, Any] = {"validation_fingerprint": good.validation.fingerprint}
    for key, value in TRACK.recipe.items():
        section, _, name = key.partition(".")
        settings.setdefault(section, {})[name] = value
    fields = {
        "config": settings,
        "data_fingerprint": good.train.fingerprint,
        "code_sha256": OWN,
        **run,
    }
    wanted = {"validation_fingerprint": good.validation.fingerprint, **(track or {})}
    made = a_case(
        [a_run(n, **fields) for n in range(2)], track=dc.replace(TRACK, **wanted), files=files
    )
    return dc.replace(made, documents=documents)


def with_setting(section: str, name: str, value: Any) -> Case:
    """An entry whose runs had another setting; `None` leaves it out."""
    settings = copy.deepcopy(dict(brought().evidence[0].runs[0].config))
    settings[section][name] = value
    if value is None:
        del settings[section][name]
    return brought(config=settings)


def kept() -> Case:
    """Runs as a snapshot keeps them: no nested tables, few texts."""
    run = restrict(brought().evidence[0].runs[0])
    assert not any(isinstance(value, dict) for value in run.config.values())
    return brought(config=run.config)


TRIGGERS: dict[str, list[Callable[[], Case]]] = {
    "data-manifest": [
        lambda: brought(None),
        lambda: brought(changed("splits.train.tokens", 999)),
        lambda: brought(changed("splits.train.documents", 11)),
        lambda: brought(changed("data.filters.0.removed", 3)),
        lambda: brought(
            changed("splits.train.shards", [{**SHARD, "tokens": 500}, {**SHARD, "tokens": 500}])
        ),
        lambda: brought(changed("splits.validation.shards.0.sha256", "f" * 64)),
        lambda: brought(changed("tokenizer.sha256", "f" * 64)),
    ],
    "data-fingerprint-mismatch": [
        lambda: brought(data_fingerprint="sha256:" + "0" * 64),
        lambda: brought(changed("splits.train.shards.0.sha256", "f" * 64)),
        lambda: brought(data_fingerprint=None),
    ],
    "train-validation-overlap": [
        lambda: brought(changed("data.overlap.documents", 1)),
        lambda: brought(changed("data.overlap.ngrams", 1)),
    ],
    "uncorroborated": [lambda: brought()],
    "recipe-differs": [
        lambda: with_setting("model", "hidden", 256),
        lambda: with_setting("train", "steps", 401),
        lambda: with_setting("schedule", "kind", "cosine"),
        lambda: with_setting("optimizer", "lr", 0.008),
        lambda: with_setting("optimizer", "muon_lr", None),
        lambda: with_setting("model", "qk_norm", 1),
        lambda: with_setting("train", "batch", None),
        lambda: brought(config={}),
        lambda: brought(code_sha256={**OWN, "main.py": "1" * 64}),
    ],
}
NEAR_MISSES: dict[str, list[Callable[[], Case]]] = {
    "data-manifest": [
        lambda: brought(),
        lambda: brought(None, track={"data_submitted": False}),
        lambda: brought({"schema_version": 1}),  # the rule `schema` speaks of it
    ],
    "data-fingerprint-mismatch": [lambda: brought()],
    "train-validation-overlap": [lambda: brought()],
    "uncorroborated": [
        lambda: brought(track={"data_verified": frozenset({verified()})}),
        lambda: brought(track={"data_submitted": False}),
    ],
    "recipe-differs": [
        lambda: brought(),
        lambda: with_setting("model", "hidden", 128.0),
        lambda: with_setting("model", "something_else", 1),
        lambda: kept(),
    ],
}


def verified() -> str:
    """The fingerprint of the good training data."""
    return str(brought().evidence[0].runs[0].data_fingerprint)
