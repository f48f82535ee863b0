"""Names and texts of an entry: what is refused, where it stands, and the bounds of the search."""

from __future__ import annotations

import dataclasses as dc
import json
from typing import Any

import pytest

from bot.model.case import Case, Neighbour
from bot.model.submission import Folder
from bot.model.verdict import finding
from bot.parse.json_file import read_json
from bot.registry import Level
from bot.rules.text import plain_name
from tests.bot.rules.run_cases import PATH, a_case, found, results_file

TOKEN = "hf" + "_" + "Ab1" * 11
HIDDEN = "a\u202eb"


def entry(path: str = PATH, /, **files: bytes | str) -> Case:
    """An entry of these files; the name is given with _ for each dot."""
    data = {
        name.replace("_", "."): text.encode() if isinstance(text, str) else text
        for name, text in files.items()
    }
    return dc.replace(a_case(()), folder=Folder(path, data))


def holding(value: Any, name: str = "a.json", **files: bytes | str) -> Case:
    """An entry with a JSON file."""
    document = read_json(json.dumps(value).encode(), f"{PATH}/{name}")
    case = entry(**files)
    folder = dc.replace(case.folder, files={**case.folder.files, name: document.text.encode()})
    return dc.replace(case, folder=folder, documents={name: document})


# ---- Names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "fine"),
    [("a", True), ("a-b_9", True), ("A", False), ("", False), ("a b", False), ("con", False),
     ("com1", False), ("com10", True), ("lpt9", False), ("console", True), ("a" * 64, True),
     ("a" * 65, False)],
)  # fmt: skip
def test_the_name_of_a_folder_or_a_point(name: str, fine: bool) -> None:
    assert plain_name(name) is fine


RENAME = "expected only lower-case letters, digits, _ and -"
DEEP = "submissions/t/a/b/c/d"


@pytest.mark.parametrize(
    ("case", "message", "file", "fix"),
    [
        (entry(), None, None, None),
        (entry(DEEP), None, None, None),
        (entry(f"{DEEP}/e"), f'"{DEEP}/e" lies 5 folders deep, at most 4', f"{DEEP}/e",
         "move it up"),
        (entry("submissions/T/a"), None, None, None),  # the track's folder is a maintainer's
        (entry("submissions/t/A b!"), f'the folder is named "A b!", {RENAME}',
         "submissions/t/A b!", 'rename it, for instance to "a-b"'),
        (entry("submissions/t/_!_"), f'the folder is named "_!_", {RENAME}', "submissions/t/_!_",
         'rename it, for instance to "name"'),
        (entry("submissions/t/" + "A" * 65), f'the folder is named "{"A" * 65}", {RENAME}',
         "submissions/t/" + "A" * 65, f'rename it, for instance to "{"a" * 64}"'),
        (entry("elsewhere/T/A/B/C/D/E"), None, None, None),
        (dc.replace(entry(), folder=Folder("submissions/t/A", {}, bare=True)), None, None, None),
        (a_case((), submission={"points": ("fine", "Big")}),
         f'the point is named "Big", {RENAME}', f"{PATH}/submission.json",
         'rename it, for instance to "big"'),
    ],
)  # fmt: skip
def test_names_of_folders_and_points(
    case: Case, message: str | None, file: str | None, fix: str | None
) -> None:
    items = found("unsafe-name", case)
    assert [(f.message, f.file, f.fix) for f in items] == (
        [(message, file, fix)] if message else []
    )


@pytest.mark.parametrize(
    ("name", "fine"),
    [("a.log", True), ("A/b-c+d@e_f.txt", True), ("_a", True), ("-a", False), (".a", False),
     ("a/.b", False), ("a b", False), ("a" * 120, True), ("a" * 121, False)],
)  # fmt: skip
def test_names_of_files(name: str, fine: bool) -> None:
    message = f'the file name "{name[:80]}{"..." * (len(name) > 80)}" is not valid: use only '
    for folder in (Folder(PATH, {name: b""}), Folder(PATH, {}, skipped={name: "large"})):
        items = found("unsafe-name", dc.replace(a_case(()), folder=folder))
        assert [f.message.startswith(message) for f in items] == [True] * (not fine)
        assert all(f.file == f"{PATH}/{name}" for f in items)


@pytest.mark.parametrize(
    ("theirs", "side"),
    [
        (f"{PATH}/more", "around"),
        ("submissions/nanogpt-small/", "inside"),
        (PATH, None),
        (f"{PATH}2", None),
        ("submissions/nanogpt-small/exam", None),
    ],
)
def test_an_entry_in_another(theirs: str, side: str | None) -> None:
    beside = [Neighbour(path, "t", None, frozenset()) for path in ("submissions/t/x", theirs)]
    items = found("unsafe-name", a_case((), neighbours=(*beside, beside[1])))
    message = f"the folder lies {side} the entry {theirs.rstrip('/')}"
    assert [(f.message, f.file, f.claimed) for f in items] == [(message, PATH, PATH)] * bool(side)


# ---- What the readers and the schemas say -------------------------------------------------------


def test_findings_of_the_readers_are_passed_on() -> None:
    for name in ("json-invalid", "schema", "schema-version-unknown", "unsafe-name"):
        item = finding(name, "what the reader says")
        assert found(name, dc.replace(a_case(()), problems=(item,))) == (item,)


def test_a_file_of_another_version() -> None:
    assert [f.message.partition(",")[0] for f in found("schema-version-unknown",
            holding({"schema_version": 9}))] == ["schema_version is 9"]  # fmt: skip
    assert found("schema-version-unknown", holding({"schema_version": 1})) == ()


# ---- Texts --------------------------------------------------------------------------------------


def nested(text: str, times: int = 1) -> dict[str, Any]:
    return {"about": [text] * times}


@pytest.mark.parametrize(
    ("case", "places"),
    [
        (holding(nested("fine")), []),
        (holding(nested(HIDDEN)), [("a.json", 1, "/about/0")]),
        (holding(nested(HIDDEN, 5)), [("a.json", 1, f"/about/{n}") for n in range(5)]),
        (holding(nested(HIDDEN, 6)), [("a.json", 1, f"/about/{n}") for n in range(5)]),
        (entry(README_md=f"fine\n{HIDDEN}\n"), [("README.md", 2, None)]),
        (entry(README_MD=HIDDEN), [("README.MD", 1, None)]),
        (entry(notes_txt=HIDDEN), []),
        (entry(README_md=f"{HIDDEN}\n" * 6), [("README.md", n, None) for n in range(1, 6)]),
        (entry(README_md=""), []),
    ],
)
def test_characters_that_hide(case: Case, places: list[Any]) -> None:
    items = found("unsafe-text", case)
    assert [(f.file, f.line, f.pointer) for f in items] == [
        (f"{PATH}/{file}", line, pointer) for file, line, pointer in places
    ]
    assert all(f.message.startswith("the text contains U+202E") for f in items)


WIDE = "x" * 19_990 + " "
"""So long that the token stands where the first piece of a line ends."""


@pytest.mark.parametrize(
    ("case", "places"),
    [
        (holding(nested(TOKEN)), [("a.json", 1, "/about/0")]),
        (holding(nested("fine"), train_py=f"\n\nkey = '{TOKEN}'\n"), [("train.py", 3, None)]),
        (entry(train_py=f"{TOKEN}\n" * 6), [("train.py", n, None) for n in range(1, 6)]),
        (entry(train_py=WIDE + TOKEN), [("train.py", 1, None)]),
        (entry(train_py=f"{WIDE}{'y' * 100} {TOKEN} {WIDE}"), [("train.py", 1, None)]),
        (entry(train_py=f"{WIDE * 3}{TOKEN}"), [("train.py", 1, None)]),
        (entry(train_py=f"{TOKEN}{WIDE * 3}"), [("train.py", 1, None)]),
        (entry(train_py=TOKEN.encode("utf-16")), [("train.py", 1, None)]),
        (entry(train_py=b"\xfe\xff" + TOKEN.encode("utf-16-be")), [("train.py", 1, None)]),
        (entry(train_py=b"\xff" + TOKEN.encode()), [("train.py", 1, None)]),
        (entry(train_py="nothing"), []),
    ],
)
def test_secrets(case: Case, places: list[Any]) -> None:
    items = found("secret-in-text", case)
    assert [(f.file, f.line, f.pointer) for f in items] == [
        (f"{PATH}/{file}", line, pointer) for file, line, pointer in places
    ]
    assert {f.message for f in items} <= {"the text seems to contain a Hugging Face token"}


PUBLIC = "write the public address of the data"
INSIDE = "write the path inside this folder"
FULL = "/home/example/data"


@pytest.mark.parametrize(
    ("value", "pointer", "fix"),
    [
        ({"about": "gs://home/example"}, None, None),
        ({"about": FULL}, "/about", PUBLIC),
        ({"about": f"see {FULL} for more"}, "/about", PUBLIC),
        ({"about": f"{FULL} " + "x" * (9_999 - len(FULL) - 1)}, "/about", PUBLIC),
        ({"about": f"{FULL} " + "x" * (10_000 - len(FULL) - 1)}, None, None),
        ({"runs": [{"path": FULL}]}, "/runs/0/path", INSIDE),
        ({"runs": [{"link": FULL}]}, "/runs/0/link", PUBLIC),
        ({"path": FULL}, "/path", PUBLIC),
    ],
)
def test_paths_of_ones_own_machine(
    value: dict[str, Any], pointer: str | None, fix: str | None
) -> None:
    items = found("local-path-in-text", holding(value))
    message = f'the text contains a local path, "{FULL}"'
    assert [(f.message, f.pointer, f.fix, f.claimed) for f in items] == (
        [(message, pointer, fix, FULL)] if pointer else []
    )


@pytest.mark.parametrize(
    ("dataset", "told"),
    [
        ("owner/name", False),
        ("owner/name/", False),
        (" owner/name ", False),
        ("gs://bucket/a/b", False),
        ("a/b/c", True),
        ("./data", True),
        ("../data", True),
        ("/data2", True),
        (FULL, True),
        (None, False),
    ],
)
def test_the_address_of_a_data_set(dataset: str | None, told: bool) -> None:
    case = a_case((), results=results_file({"tokenized_dataset": dataset}))
    items = found("local-path-in-text", case)
    assert [(f.claimed, f.level) for f in items] == [(dataset, Level.WARNING)] * told
