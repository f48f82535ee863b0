"""The schemas: valid, described, with examples that pass; what the program writes obeys them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from bot.model.submission import Folder
from bot.parse.track_toml import load_tracks
from bot.rank.admission import WHY_NOT
from bot.registry import STATUS_NAMES, Level, Status, catalogue
from bot.render.terminal import to_json
from bot.verify import verify
from tests.conftest import ROOT
from tests.corpus.hostile import hostile
from tests.corpus.variants import GOOD

SCHEMAS = {
    p.name.removesuffix(".schema.json"): json.loads(p.read_text(encoding="utf-8"))
    for p in sorted((ROOT / "schemas").glob("*.schema.json"))
}
REGISTRY: Registry[Any] = Registry().with_resources(
    (schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values()
)


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(SCHEMAS[name], registry=REGISTRY)


def properties(schema: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        for key, value in (
            schema.get("properties", {}).items()
            if isinstance(schema.get("properties"), dict)
            else ()
        ):
            yield f"{where}/{key}", value
        for key, value in schema.items():
            if key != "examples":
                yield from properties(value, f"{where}/{key}")
    elif isinstance(schema, list):
        for item in schema:
            yield from properties(item, where)


def test_the_six_schemas_are_there() -> None:
    assert set(SCHEMAS) >= {"submission", "results", "track", "records", "verdict", "report"}


@pytest.mark.parametrize("name", SCHEMAS)
def test_valid_with_id_description_and_passing_examples(name: str) -> None:
    schema = SCHEMAS[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$id"].endswith(f"{name}.schema.json") and schema["description"]
    assert schema["examples"]
    for example in schema["examples"]:
        validator(name).validate(example)


@pytest.mark.parametrize("name", ["submission", "results", "track", "records"])
def test_an_editor_has_something_to_show_for_every_key(name: str) -> None:
    bare = [
        where
        for where, value in properties(SCHEMAS[name])
        if "description" not in value
        and "$ref" not in value
        and "const" not in value
        and not {"run_info", "run_related_info", "run_stats"} & {where.rpartition("/")[2]}
    ]
    assert bare == []


def test_good_files_of_all_shapes_pass() -> None:
    for path in sorted(GOOD.glob("v*.json")):
        errors = list(validator("results").iter_errors(json.loads(path.read_text())))
        assert all(list(e.path)[-1] == "url" for e in errors), path.name


def test_the_tracks_of_the_repository_pass() -> None:
    for track in load_tracks(ROOT).values():
        data = json.loads(json.dumps(track.raw, default=str))
        errors = [e.message for e in validator("track").iter_errors(data)]
        assert errors == [], track.path


def test_the_official_tables_of_the_repository_pass() -> None:
    for path in sorted((ROOT / "tracks").glob("*.records.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        assert [e.message for e in validator("records").iter_errors(data)] == [], path.name
        here = [
            ROOT / "submissions" / path.name.split(".")[0] / r.get("submission", ".")
            for r in data["records"]
        ]
        assert all(folder.is_dir() for folder in here)


def test_every_verdict_on_the_corpus_obeys_the_schema() -> None:
    tracks = load_tracks(ROOT)
    report = validator("report")
    for variant in list(hostile())[::5]:
        folder = Folder("r.json", {"r.json": variant.data}, bare=True)
        verdict = verify(folder, tracks, track_id="fineweb-edu")
        report.validate(json.loads(to_json([verdict])))


def test_the_catalogue_of_rules_is_well_formed() -> None:
    data = json.loads((ROOT / "schemas" / "rules.json").read_text(encoding="utf-8"))
    names = [rule["name"] for rule in data["rules"]]
    assert len(names) == len(set(names)) == len(catalogue())
    for rule in data["rules"]:
        assert rule["family"] in data["families"] and rule["title"]
        assert Level(rule["level"])


def test_every_status_is_in_the_schema_and_every_one_that_does_not_rank_has_a_reason() -> None:
    data = json.loads((ROOT / "schemas" / "verdict.schema.json").read_text(encoding="utf-8"))
    assert set(data["properties"]["status"]["enum"]) == set(Status) == set(STATUS_NAMES)
    assert set(WHY_NOT) == {status for status in Status if not status.counts}


def test_the_published_results_pass(golden: Path) -> None:
    results = validator("results")
    for path in sorted((golden / "marin" / "results").iterdir()):
        errors = list(results.iter_errors(json.loads(path.read_text(encoding="utf-8"))))
        assert all(list(e.path)[-1] == "url" for e in errors), path.name
