"""Changes of a good results file that a careful expert would not mind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.corpus.variants import Change, Variant, both, changed, drop, load, put, scaled


def harmless() -> Iterator[Variant]:
    """Changes that a careful expert would not mind: no error may be found."""
    rows: list[tuple[str, str, Change, set[str]]] = [
        ("ints-as-floats", "v4", _floats, set()),
        ("extra-keys", "v4", put(notes="a remark", extra={"a": [1, 2, {"b": None}]}), set()),
        ("extra-model-key", "v4", put(model_config__remark="none", model_config__new=False), set()),
        ("unicode-name", "v4", put(author__name="Zo\u00eb \u674e \u0414\u043c\u0438\u0442"), set()),
        ("hebrew-name", "v4", put(author__name="\u05d3\u05d5\u05d3"), set()),
        (
            "emoji",
            "v4",
            put(description="fast \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9"),
            set(),
        ),
        ("persian-joiner", "v4", put(description="\u0645\u06cc\u200c\u0634\u0648\u062f"), set()),
        ("accents-decomposed", "v4", put(author__name="Jose\u0301"), set()),
        ("newlines", "v4", put(description="line one\nline two\ttab"), set()),
        ("iso-time", "v4", put(run_completion_timestamp="2025-06-28T21:52:29Z"), set()),
        ("iso-offset", "v4", put(run_completion_timestamp="2025-06-28T21:52:29.123+02:00"), set()),
        (
            "naive-time",
            "v4",
            put(run_completion_timestamp="2025-06-28 21:52:29"),
            {"timestamp-invalid"},
        ),
        ("link-query", "v4", put(wandb_run_link="https://wandb.ai/e/p/runs/r?nw=nwuserx"), set()),
        ("link-tab", "v4", put(wandb_run_link="https://wandb.ai/e/p/runs/r/overview"), set()),
        ("link-http", "v4", put(wandb_run_link="http://www.wandb.ai/e/p/runs/r"), set()),
        ("link-no-scheme", "v4", put(wandb_run_link="wandb.ai/e/p/runs/r"), {"schema"}),
        ("url-no-scheme", "v4", put(author__url="example.org/me"), {"schema"}),
        ("no-description", "v4", put(description=None), set()),
        ("hub-dataset", "v4", put(tokenized_dataset="example/fineweb-edu"), set()),
        ("rounded-peak", "v4", put(device_flops=4.591e14), set()),
        ("rounded-flops", "v4", scaled("training_hardware_flops", 1.0005), set()),
        (
            "high-utilisation",
            "v4_gdn",
            scaled("model_flops", 55.0),
            {"mfu-unusual", "model-flops-unchecked"},
        ),
        (
            "novel-architecture",
            "v4",
            both(put(model_config__mixture_of_experts=8), scaled("model_flops", 1.7)),
            {"model-flops-unchecked"},
        ),
        ("replicas", "v4", put(resources__replicas=4), set()),
        ("two-lengths", "v4", put(model_config__seq_len=2048), {"token-count-mismatch"}),
        ("no-chips", "v4", drop("num_chips", "num_devices"), set()),
        ("no-peak", "v4", drop("device_flops"), set()),
        (
            "commit-hash",
            "v4",
            put(description="at commit 0123456789abcdef0123456789abcdef01234567"),
            set(),
        ),
    ]
    for name, base, change, warnings in rows:
        yield Variant(name, changed(base, change), frozenset(), frozenset(warnings))
    good = load("v4")
    yield Variant("one-line", json.dumps(good).encode())
    yield Variant("crlf", json.dumps(good, indent=1).replace("\n", "\r\n").encode())
    yield Variant("sorted", json.dumps(good, sort_keys=True).encode())
    yield Variant("reversed", json.dumps(_reverse(good)).encode())
    yield Variant("leading-space", b"\n\n  " + json.dumps(good).encode() + b"\n\n")
    remark = {**good, "remark": "\u00e9t\u00e9 \U0001f600"}
    yield Variant("raw-unicode", json.dumps(remark, ensure_ascii=False).encode())
    yield Variant("version", json.dumps({**good, "schema_version": 1}).encode())


def _floats(info: dict[str, Any]) -> None:
    for place in (info, info["model_config"], info["train_config"]):
        for key, value in place.items():
            if isinstance(value, int) and not isinstance(value, bool):
                place[key] = float(value)


def _reverse(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reverse(inner) for key, inner in reversed(value.items())}
    return value
