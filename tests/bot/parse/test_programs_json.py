"""The list of accepted programs that a track names: what is read, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from bot.model.known import KnownPrograms
from bot.model.track import TrackError
from bot.parse.programs_json import read_list, written
from bot.parse.track_toml import load_track
from tests.conftest import ROOT

A, B = "0" * 19 + "a", "f" * 20
GOOD = {"schema_version": 1, "orders": [A], "statements": [A, B]}


def track(folder: Path, name: str, data: object = None) -> Path:
    """A track file that names a list, and the list beside it."""
    text = (ROOT / "tracks" / "nanogpt-small.toml").read_text(encoding="utf-8")
    path = folder / "tracks" / "nanogpt-small.toml"
    (path.parent / "programs").mkdir(parents=True)
    path.write_text(text.replace("programs/nanogpt.json", name), encoding="utf-8")
    if data is not None:
        (path.parent / "programs" / "a.json").write_text(
            data if isinstance(data, str) else json.dumps(data)
        )
    return path


def test_a_list_is_read_for_every_day_of_the_track(tmp_path: Path) -> None:
    read = load_track(track(tmp_path, "programs/a.json", GOOD))
    for one in (read, *(old for _, old in read.earlier)):
        assert one.programs is not None and one.programs.is_read
        assert one.programs.statements == {A, B} and one.programs.orders == {A}
    assert len(read.earlier) > 1


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("../a.json", GOOD, "programs"),
        ("/etc/a.json", GOOD, "programs"),
        ("programs/a.txt", GOOD, "programs"),
        ("programs/a.json", {**GOOD, "schema_version": 2}, "schema_version is 2, we know 1"),
        ("programs/a.json", {**GOOD, "orders": "none"}, "orders is str, expected a list"),
        ("programs/a.json", {**GOOD, "statements": ["A" * 20]}, "expected 20 hexadecimal digits"),
        ("programs/a.json", [], "is not a JSON object"),
        ("programs/a.json", "[" * 99_999, "a.json"),
    ],
)
def test_a_list_that_cannot_be_used(name: str, data: object, says: str, tmp_path: Path) -> None:
    with pytest.raises(TrackError, match=says):
        load_track(track(tmp_path, name, data))


def test_a_track_file_that_was_copied_alone_is_read_without_its_list(tmp_path: Path) -> None:
    known = load_track(track(tmp_path, "programs/b.json", GOOD)).programs
    assert known is not None and not known.is_read


def test_a_list_is_no_link_to_another_folder(tmp_path: Path) -> None:
    path = track(tmp_path, "programs/a.json")
    (tmp_path / "outside.json").write_text(json.dumps(GOOD))
    (path.parent / "programs" / "a.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(TrackError, match="does not hold it"):
        load_track(path)


def test_a_list_is_written_as_it_is_read(tmp_path: Path) -> None:
    known = KnownPrograms("", frozenset({B, A}), frozenset({B}), True, "some records")
    path = tmp_path / "a.json"
    path.write_bytes(written(known, known.about))
    assert read_list(path) == known
    assert json.loads(path.read_text())["statements"] == [A, B]
    shipped = ROOT / "tracks" / "programs" / "nanogpt.json"
    listed = read_list(shipped)
    assert shipped.read_bytes() == written(listed, listed.about)
    schema = json.loads((ROOT / "schemas" / "programs.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(json.loads(shipped.read_text(encoding="utf-8")))
