"""Every field that the trainer writes of itself is described in the schema of results files."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator

from reference_trainer import devices, provenance, results
from reference_trainer.config import Config
from reference_trainer.results import Author, Outcome
from reference_trainer.shards import Corpus

SCHEMA = pathlib.Path(__file__).parents[2] / "schemas" / "results.schema.json"
OPEN = {"environment", "code_sha256"}  # names in them are free


def undescribed(value: Any, schema: dict[str, Any], at: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for key, inner in value.items():
            if key not in known:
                yield f"{at}/{key}"
            elif key not in OPEN:
                yield from undescribed(inner, known[key], f"{at}/{key}")


def test_the_schema_describes_what_the_trainer_writes(small: Config, corpus: Corpus) -> None:
    outcome = Outcome(
        loss=2.0,
        bpb=2.9,
        training_time_s=3.0,
        step_times_s=[1.0, 2.0],
        untimed_s={"compilation_s": 0.5, "validation_s": 0.1, "checkpoints_s": 0.0},
        history=[(0, 5.0, 0.0), (2, 2.0, 3.0)],
        peak_memory_bytes=None,
        overlap=0,
        extra_metrics={},
        parameters=1000,
        optimizer={"name": "adamw", "optimizers": []},
    )
    identity = {
        "nonce": provenance.new_nonce(),
        "run_id": "0123abcd",
        "track": "tutorial",
        "seed": 0,
        "arm": "candidate",
        "pair": "0",
        "backend": "jax",
        "config": small.name,
        "code_sha256": provenance.code_hashes(None),
        "git": {"commit": "0" * 40, "modified": False},
        "environment": provenance.versions(),
    }
    shape = small.model.transformer()
    device = devices.describe("NVIDIA H100 80GB HBM3", 1, "bf16", None, {}, shape)
    document = results.results(small, device, corpus, outcome, identity, Author("A"), None)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert list(Draft202012Validator(schema).iter_errors(document)) == []
    ours = document["runs"][0]["run_info"]["speedrun"]
    assert list(undescribed(ours, schema["$defs"]["speedrun"])) == []
    wrong = json.loads(results.to_json(document))
    wrong["runs"][0]["run_info"]["speedrun"]["step_time_s"]["mean"] = "fast"
    (error,) = Draft202012Validator(schema).iter_errors(wrong)
    assert "step_time_s" in error.json_path
