"""`speedrun import marin SRC`: a tree of Marin Speedrun results files -> submissions.

SRC may be a checkout (`experiments/speedrun/**/speedrun_results*.json`, odd file names included)
or a flat folder of versions named `path__with__underscores@blob.json`. Of several versions of one
path the newest is imported and the others are listed as superseded. A `runs.json` of the site, if
SRC holds one, adds the rows that no results file of SRC covers: they link a W&B run and wait for
its evidence. Facts and the source link are kept; the description is left out.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from bot.importers import (
    Import,
    Imported,
    Origin,
    SourceError,
    files_of,
    origin_of,
    slug,
    submission_json,
    to_json,
    unnested,
)
from bot.model.submission import MAX_JSON_BYTES
from bot.parse.json_file import read_json

TRACK = "fineweb-edu"
UPSTREAM = "https://github.com/marin-community/marin"
BASE = "experiments/speedrun/"
RESULTS_NAME = re.compile(r"(?P<before>.*)speedrun_results(?P<after>[^/]*?)(?:\.json)+")
FLAT_NAME = re.compile(r"(?P<path>.+)@(?P<blob>[0-9a-f]{7,40})\.json")
PROSE = ("description",)


@dc.dataclass(frozen=True, slots=True)
class Version:
    """One version of one results file. `shape` counts the five shapes from 0 to 4."""

    path: str
    blob: str | None
    data: Mapping[str, Any]
    shape: int
    finished: str | None
    link: str | None
    author: Mapping[str, Any] | None

    @property
    def age(self) -> tuple[int, str]:
        """What orders versions: the newer shape, then the later completion."""
        return self.shape, self.finished or ""

    def to_json(self) -> dict[str, Any]:
        """What is kept of a superseded version."""
        kept = {"blob": self.blob, "shape": f"V{self.shape}", "finished": self.finished}
        return {key: value for key, value in kept.items() if value is not None}


def read_marin(src: Path, origin: Origin | None = None) -> Import:
    """Read `src`. Raises SourceError if it holds no results file at all."""
    origin = origin or origin_of(src, UPSTREAM)
    versions: dict[str, list[Version]] = defaultdict(list)
    rows: list[Mapping[str, Any]] = []
    skipped: list[tuple[str, str]] = []
    for file in files_of(src):
        name = file.relative_to(src).as_posix()
        path, blob = _original(name)
        table = PurePosixPath(name).name == "runs.json"
        if path is None and not table:
            continue
        value, why = _read(file, name)
        if table and isinstance(value, list):
            rows += [r for r in value if isinstance(r, dict) and isinstance(r.get("run_name"), str)]
            continue
        version = None if path is None or why else _version(path, blob, value)
        if version is None:
            skipped.append((name, why or "it holds no run of a known shape"))
        else:
            versions[version.path].append(version)
    if not versions and not rows:
        raise SourceError(f"{src} holds no speedrun_results*.json and no runs.json")
    doubts: list[tuple[str, str]] = []
    live = {row["run_name"]: row for row in rows}
    made = [
        _submission(found, live.get(_name(path), {}), origin, doubts)
        for path, found in sorted(versions.items())
    ]
    made += _board_rows(rows, {_name(path) for path in versions}, origin)
    return Import(unnested(made), tuple(skipped), tuple(doubts))


def _original(name: str) -> tuple[str | None, str | None]:
    """The path in the competition's repository and the blob, (None, None) for other files."""
    flat = FLAT_NAME.fullmatch(PurePosixPath(name).name)
    path = flat["path"].replace("__", "/") if flat else name
    if not RESULTS_NAME.fullmatch(PurePosixPath(path).name):
        return None, None
    return path[max(path.find(BASE), 0) :], flat["blob"] if flat else None


def _read(file: Path, name: str) -> tuple[Any, str | None]:
    """The JSON of a file, or why there is none."""
    if file.stat().st_size > MAX_JSON_BYTES:
        return None, f"it has {file.stat().st_size:,} bytes, more than {MAX_JSON_BYTES:,}"
    document = read_json(file.read_bytes(), name)
    return document.value, document.problems[0].message if document.problems else None


def _version(path: str, blob: str | None, value: Any) -> Version | None:
    runs = value.get("runs") if isinstance(value, dict) else None
    if not isinstance(runs, list) or not runs or not all(isinstance(r, dict) for r in runs):
        return None
    old, new = runs[0].get("run_related_info"), runs[0].get("run_info")
    info = new if isinstance(new, dict) else old
    if not isinstance(info, dict):
        return None
    link = info.get("wandb_run_link", info.get("wandb_run_id"))
    author = info.get("author")
    return Version(
        path=path,
        blob=blob,
        data=value,
        shape=_shape(info, new is info),
        finished=_time(info.get("run_completion_timestamp")),
        link=link if isinstance(link, str) else None,
        author=author if isinstance(author, dict) else None,
    )


def _shape(info: Mapping[str, Any], flat: bool) -> int:
    """0 to 4: which of the five shapes of results files this is."""
    if not flat:
        return 1 if "run_completion_timestamp" in info else 0
    if "model_flops_per_token" in info:
        return 4
    return 3 if "num_chips" in info else 2


def _time(text: Any) -> str | None:
    """`2025-05-19 08:43:36 UTC` as ISO 8601, None if it is something else."""
    try:
        parsed = dt.datetime.strptime(str(text), "%Y-%m-%d %H:%M:%S UTC")
    except ValueError:
        return None
    return parsed.strftime("%Y-%m-%dT%H:%M:%SZ")


def _name(path: str) -> str:
    """The competition's own name of a results path: its folder, and what the file name adds."""
    folder, _, file = path.removeprefix(BASE).rpartition("/")
    match = RESULTS_NAME.fullmatch(file)
    assert match is not None
    extra = f"{match['before']}{match['after']}".strip("-_.")
    # The colon keeps `130m` with the file name part `sep` apart from a folder `130m-sep`.
    return f"{folder}:{extra}" if extra else folder or file


def _submission(
    found: Sequence[Version],
    row: Mapping[str, Any],
    origin: Origin,
    doubts: list[tuple[str, str]],
) -> Imported:
    """The newest of the versions of one path as a submission; `row` is its row on the site."""
    ages = {id(v): (v.age, _agreement(v, row)) for v in found}
    ordered = sorted(found, key=lambda v: (ages[id(v)], v.blob or ""), reverse=True)
    newest, older = ordered[0], ordered[1:]
    equal = [v for v in older if ages[id(v)] == ages[id(newest)]]
    if any(_without_prose(v.data) != _without_prose(newest.data) for v in equal):
        doubts.append(
            (
                newest.path,
                f"versions of the same shape and time, blobs "
                f"{', '.join(str(v.blob) for v in (newest, *equal))}: "
                "nothing says which is newer; the first was taken",
            )
        )
    name = _name(newest.path)
    imported = _imported(origin, newest.path, name, newest.author) | {
        "blob": newest.blob,
        "superseded": [version.to_json() for version in older],
    }
    return Imported(
        f"{TRACK}/{slug(name)}",
        {
            "submission.json": submission_json(
                TRACK,
                name,
                runs=[{"source": "results", "path": "speedrun_results.json"}],
                imported={k: v for k, v in imported.items() if v not in (None, [])},
            ),
            "speedrun_results.json": to_json(_without_prose(newest.data)),
        },
    )


def _agreement(version: Version, row: Mapping[str, Any]) -> int:
    """How many facts of the site's row the version states; the site shows the newest."""
    info = version.data["runs"][0].get("run_info")
    if not isinstance(info, dict):
        return 0
    keys = ("author", "wandb_link", "training_time", "training_hardware_flops", "model_flops")
    theirs = {"wandb_link": "wandb_run_link"}
    return sum(key in row and info.get(theirs.get(key, key)) == row[key] for key in keys)


def _imported(
    origin: Origin, path: str, name: str, author: Mapping[str, Any] | None
) -> dict[str, Any]:
    kept = {k: v for k, v in (author or {}).items() if k in ("name", "affiliation", "url") and v}
    return {
        "url": origin.link(path),
        "commit": origin.commit,
        "name": name,
        "path": path,
        "authors": [kept] if kept else [],
    }


def _without_prose(value: Any) -> Any:
    """The same JSON with free text emptied; keys stay, so that the shape stays."""
    if isinstance(value, dict):
        return {k: "" if k in PROSE else _without_prose(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_without_prose(item) for item in value]
    return value


def _board_rows(
    rows: Iterable[Mapping[str, Any]], covered: set[str], origin: Origin
) -> list[Imported]:
    """Rows of the site's table that no results file covers: a W&B link and what the row claims."""
    made = []
    for row in sorted(rows, key=lambda r: str(r["run_name"])):
        name, link = row["run_name"], row.get("wandb_link")
        if name in covered or not isinstance(link, str):
            continue
        covered.add(name)
        author = row.get("author")
        folder = str(row.get("results_filepath") or BASE + name)
        finished = _time(row.get("run_completion_timestamp"))
        claims = {
            metric: row[key]
            for key, metric in BOARD_METRICS.items()
            if isinstance(row.get(key), int | float) and not isinstance(row[key], bool)
        }
        imported = _imported(origin, folder, name, author if isinstance(author, dict) else None)
        imported |= {"date": finished}
        made.append(
            Imported(
                f"{TRACK}/{slug(name)}",
                {
                    "submission.json": submission_json(
                        TRACK,
                        name,
                        runs=[{"source": "wandb", "link": link}],
                        claims=claims,
                        imported={k: v for k, v in imported.items() if v not in (None, [])},
                    )
                },
            )
        )
    return made


BOARD_METRICS = {
    "eval_paloma_c4_en_bpb": "bpb",
    "training_hardware_flops": "hardware_flops",
    "model_flops": "model_flops",
    "training_time": "training_time_s",
    "model_size": "parameters",
}
"""Keys of the site's table -> our metrics."""
