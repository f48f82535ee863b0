"""`speedrun import modded-nanogpt SRC`: a tree of record folders with logs -> submissions.

SRC holds (at any depth) `track_1_short/<record>/`, `track_2_medium/<record>/` and
`track_3_optimization/[results/]<record>/`. Each log is trimmed to its validation points, clock and
hardware; the source code that it begins with, its training lines and its environment stay out.

Which arm a log belongs to is read from its subfolder and file name (`bot.importers.arms`); a
`--groups` file decides instead if it names the record. What is unsure is reported:

    {"commit": "...", "records": {"track_1_short/2025-11-10_Name": {
        "groups": {"claimed": {"logs": ["a.txt"]}, "baseline": {"logs": ["b.txt"]}},
        "date": "2025-11-10", "number": 43, "contributors": ["login"], "steps": 3325,
        "claims": {"loss": {"mean": 3.2784, "n": 10}, "training_time_s": 137.6}}}}

The tables of the READMEs beside the records, if there are any, give number, time, date and
people (`bot.importers.records_table`); the groups file is stronger. All rows of a table, on file or
not, become `tracks/ID.records.json` (`bot.importers.official_table`).

All but `groups` is optional, and the keys of `FACTS` are kept too. A log is named with or without
its suffix; groups other than `claimed` (or `candidate`) and `baseline` are left out. `folder` gives
the record's folder where one folder holds several records.
"""

from __future__ import annotations

import dataclasses as dc
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from bot.compute.accelerators import find
from bot.evidence.log.training_log import read_log
from bot.importers import (
    Import,
    Imported,
    Origin,
    SourceError,
    files_of,
    origin_of,
    slug,
    submission_json,
)
from bot.importers.arms import LogFile, sort_into_arms
from bot.importers.official_table import official_tables
from bot.importers.records_table import read_tables
from bot.importers.trim import trim
from bot.model.submission import MAX_FILES, MAX_LOG_BYTES
from bot.parse.json_file import read_json

UPSTREAM = "https://github.com/KellerJordan/modded-nanogpt"
TRACKS = {
    "track_1_short": "nanogpt-small",
    "track_2_medium": "nanogpt-medium",
    "track_3_optimization": "nanogpt-optimization",
}
SUFFIXES = (".txt", ".log", ".out", ".stdout")
FACTS = ("number", "time_s", "time_resolution_s", "pull_requests", "retimes", "metric")
"""What an import keeps of the official table: the record's number and time with its resolution,
the source's pull requests, the record that this is a re-timing of, the loss that was reported."""
_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?!\d)[-_]?")


@dc.dataclass(frozen=True, slots=True)
class Record:
    """One record to import: its folder in the source, its logs, and what the groups file says."""

    key: str
    folder: str
    logs: tuple[LogFile, ...]
    facts: Mapping[str, Any]
    shown_log: str | None = None
    """The log that the official table links to, where it does."""

    @property
    def track(self) -> str:
        """Our track."""
        return TRACKS[self.key.split("/")[0]]

    @property
    def name(self) -> str:
        """The record's own name: the last part of its key."""
        return self.key.rpartition("/")[2]

    @property
    def date(self) -> str | None:
        """The date of the groups file, else of the folder's name, else None."""
        stated = self.facts.get("date")
        match = _DATE.match(self.name)
        return stated if isinstance(stated, str) else "-".join(match.groups()) if match else None


def read_records(src: Path, groups: Path | None = None, origin: Origin | None = None) -> Import:
    """Read `src`. Raises SourceError if it holds no log with steps, or `groups` is unusable."""
    facts = _groups(groups)
    origin = origin or origin_of(src, UPSTREAM)
    if origin.commit is None and isinstance(facts.get("commit"), str):
        origin = dc.replace(origin, commit=facts["commit"])
    skipped: list[tuple[str, str]] = []
    folders = _folders(src, skipped)
    if not folders:
        raise SourceError(f"{src} holds no logs under {', '.join(TRACKS)}")
    doubts: list[tuple[str, str]] = []
    made: list[Imported] = []
    tables = _tables(src)
    known = facts.get("records", {})
    gone = [key for key in sorted(known) if str(known[key].get("folder", key)) not in folders]
    if gone:
        words = (
            f"{len(gone)} names of the groups file, such as this one, name no folder of the source"
        )
        doubts.append((gone[0], f"{words}; write TRACK/FOLDER"))
    records = [_tabled(r, tables, doubts) for r in _records(folders, known)]
    for record in _without_copies(records, skipped):
        item = _submission(record, origin, skipped, doubts)
        if item is not None:
            made.append(item)
    official = tuple(official_tables(_readmes(src), TRACKS, made, origin))
    return Import(tuple(made), tuple(skipped), tuple(doubts), official)


# ---- Reading the source -----------------------------------------------------------------------


def _groups(path: Path | None) -> Mapping[str, Any]:
    if path is None:
        return {}
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from error
    value = _json(data, str(path))
    records = value.get("records") if isinstance(value, dict) else None
    if not isinstance(records, dict) or not all(isinstance(r, dict) for r in records.values()):
        raise SourceError(
            f"{path} is not a groups file: expected "
            '{"records": {"<folder>": {"groups": ...}}}'
        )
    for key, record in records.items():
        _check_record(record, f"{path}: records.{key}")
    return value  # type: ignore[no-any-return]


def _check_record(record: Mapping[str, Any], where: str) -> None:
    """Refuse a record of the groups file that cannot be read as one. Raises SourceError."""
    kinds = {
        "groups": (dict, "an object"),
        "claims": (dict, "an object"),
        "contributors": (list, "a list"),
    }
    for key, (kind, wanted) in kinds.items():
        if not isinstance(record.get(key) or kind(), kind):
            raise SourceError(f"{where}.{key} is {record[key]!r}, expected {wanted}")
    for name, group in (record.get("groups") or {}).items():
        logs = group.get("logs", []) if isinstance(group, dict) else None
        if not isinstance(logs, list):
            raise SourceError(
                f'{where}.groups.{name} is not a group: expected {{"logs": ["a.txt"]}}'
            )


def _json(data: bytes, name: str) -> Any:
    """A maintainer's own file: read strictly if it is small, plainly if it is large."""
    document = read_json(data, name)
    if document.problems and len(data) < MAX_LOG_BYTES and len(data) > 1_000_000:
        try:
            return json.loads(data)
        except ValueError as error:
            raise SourceError(f"{name} is not JSON: {error}") from error
    if document.problems:
        raise SourceError(f"{name}: {document.problems[0].message}")
    return document.value


def _folders(src: Path, skipped: list[tuple[str, str]]) -> Mapping[str, tuple[LogFile, ...]]:
    """Record folder (`track_1_short/2025-...`) -> its logs that hold steps."""
    found: dict[str, list[LogFile]] = defaultdict(list)
    for file in files_of(src):
        path = _below_track(file, src)
        if path is None or file.suffix not in SUFFIXES:
            continue
        folder, inside = _split(path)
        if file.stat().st_size > MAX_LOG_BYTES:
            skipped.append((path, f"it has more than {MAX_LOG_BYTES:,} bytes"))
            continue
        data = file.read_bytes()
        runs = tuple(run for run in read_log(data, inside) if run.validation)
        if runs:
            found[folder].append(LogFile(inside, data, runs))
        else:
            skipped.append((path, "it holds no validation line"))
    return {folder: tuple(logs) for folder, logs in sorted(found.items())}


def _below_track(file: Path, src: Path) -> str | None:
    """The path from the track's folder on, which may be `src` itself or above it; else None."""
    parts = [*src.resolve().parts, *file.relative_to(src).parts]
    at = next((i for i in range(len(parts) - 1, -1, -1) if parts[i] in TRACKS), None)
    return None if at is None or at > len(parts) - 2 else "/".join(parts[at:])


def _split(path: str) -> tuple[str, str]:
    """A path as (record folder, path inside). Files beside the folders are records themselves."""
    track, *rest = path.split("/")
    if rest[0] == "results" and len(rest) > 1:
        rest = rest[1:]
    if len(rest) == 1:
        return f"{track}/results_root", rest[0]
    return f"{track}/{rest[0]}", "/".join(rest[1:])


def _records(
    folders: Mapping[str, tuple[LogFile, ...]], known: Mapping[str, Mapping[str, Any]]
) -> Iterator[Record]:
    """The records of the folders: those that the groups file names, and each folder it does not."""
    named = set()
    for key, facts in sorted(known.items()):
        folder = str(facts.get("folder", key))
        if folder in folders and key.split("/")[0] in TRACKS:
            named.add(folder)
            yield Record(key, folder, folders[folder], facts)
    for folder, logs in folders.items():
        if folder in named:
            continue
        if folder.endswith("/results_root"):
            for log in logs:
                stem = PurePosixPath(log.path).stem
                yield Record(f"{folder.split('/')[0]}/{stem}", folder, (log,), {})
        else:
            yield Record(folder, folder, logs, {})


def _tables(src: Path) -> Mapping[str, Mapping[str, Any]]:
    """The rows of the READMEs of the repository around `src`, by the path of their log."""
    found: dict[str, Mapping[str, Any]] = {}
    for readme, folder in _readmes(src):
        found |= read_tables(readme, folder)
    return found


def _readmes(src: Path) -> list[tuple[Path, PurePosixPath]]:
    """The READMEs of the repository around `src`, each with its folder there."""
    full = src.resolve()
    bases = [p.parent for p in (full, *full.parents) if p.name == "records"]
    base = bases[-1] if bases else full
    folders = (PurePosixPath(), *(PurePosixPath("records") / track for track in TRACKS))
    return [(base / folder / "README.md", folder) for folder in folders]


def _tabled(
    record: Record, tables: Mapping[str, Mapping[str, Any]], doubts: list[tuple[str, str]]
) -> Record:
    """The record with what its row of the tables says, where the groups file does not."""
    place = _source_path(record)
    alone = record.folder.endswith("/results_root")
    inside = {f"{place}/{log.path}" for log in record.logs}
    rows = {
        path: facts
        for path, facts in tables.items()
        if path in inside or not alone and (path == place or path.startswith(f"{place}/"))
    }
    if not rows:
        return record
    path = max(rows, key=lambda p: (rows[p].get("number", 0), p))
    if len({row.get("number") for row in rows.values() if "number" in row}) > 1:
        doubts.append((record.key, f"{len(rows)} rows of the table link to it; {path} was taken"))
    return dc.replace(
        record, facts={**rows[path], **record.facts}, shown_log=path.removeprefix(f"{place}/")
    )


def _source_path(record: Record) -> str:
    """The path of a record's folder in the source repository."""
    folder = record.folder.replace("track_3_optimization/", "track_3_optimization/results/")
    return f"records/{folder.removesuffix('/results_root')}"


def _without_copies(records: Iterable[Record], skipped: list[tuple[str, str]]) -> Iterator[Record]:
    """Drop a folder whose logs are those of another: the numbered one stays, else the later."""
    groups: dict[frozenset[bytes], list[Record]] = defaultdict(list)
    for record in records:
        data = frozenset(log.data for log in record.logs)
        groups[data].append(record)
    for same in groups.values():
        folders = {record.folder for record in same}
        if len(folders) == 1:
            yield from same
            continue
        kept = max(same, key=lambda r: ("number" in r.facts, r.key))
        skipped += [(r.folder, f"its logs are those of {kept.folder}") for r in same if r != kept]
        yield kept


# ---- Making a submission ----------------------------------------------------------------------


def _submission(
    record: Record,
    origin: Origin,
    skipped: list[tuple[str, str]],
    doubts: list[tuple[str, str]],
) -> Imported | None:
    arms, left_out, unsure = sort_into_arms(
        record.logs, record.facts.get("groups"), record.shown_log
    )
    skipped += [(f"{record.folder}/{path}", why) for path, why in left_out]
    doubts += [(record.key, why) for why in unsure]
    if not arms["candidate"]:
        skipped.append((record.folder, "it has no log of the record itself"))
        return None
    files, runs = _logs(record, arms, skipped, doubts)
    claims = _claims(record.facts)
    stop = _early_stop(arms["candidate"]) if "steps" not in claims else None
    if stop is not None and record.track == "nanogpt-optimization":
        claims["steps"] = stop
        doubts.append((record.key, f"all its runs stop early, at step {stop}: taken as its claim"))
    files["submission.json"] = submission_json(
        record.track,
        _title(record),
        hardware=_hardware(arms["candidate"]),
        runs=runs,
        claims=claims,
        imported=_imported(record, origin),
    )
    return Imported(f"{record.track}/{slug(record.name)}", files)


def _logs(
    record: Record,
    arms: Mapping[str, Sequence[LogFile]],
    skipped: list[tuple[str, str]],
    doubts: list[tuple[str, str]],
) -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    """The trimmed logs by their new names, and the `runs` of the submission.json."""
    files: dict[str, bytes] = {}
    runs: list[dict[str, Any]] = []
    for arm, logs in arms.items():
        for log in logs:
            if len(files) >= MAX_FILES - 2:
                skipped.append((f"{record.folder}/{log.path}", f"more than {MAX_FILES} files"))
                continue
            trimmed = trim(log)
            if trimmed is None:
                doubts.append((f"{record.folder}/{log.path}", "it reads otherwise once trimmed"))
                continue
            name = f"logs/{slug(str(PurePosixPath(log.path).with_suffix('')))}.log"
            if name in files:
                name = f"logs/{slug(log.path)}.log"
            files[name] = trimmed
            runs.append({"source": "log", "path": name, "arm": arm})
    return files, runs


def _title(record: Record) -> str:
    """The record's name without its date; its number if it has no other name."""
    rest = _DATE.sub("", record.name, count=1)
    return f"Record {int(rest)}" if rest.isascii() and rest.isdigit() else rest or record.name


def _imported(record: Record, origin: Origin) -> dict[str, Any]:
    path = _source_path(record)
    people = record.facts.get("contributors", ())
    kept = {
        "url": origin.link(path).replace("/blob/", "/tree/"),
        "commit": origin.commit,
        "name": record.name,
        "path": path,
        "date": record.date,
        **{key: record.facts.get(key) for key in FACTS},
        "authors": [{"name": p} if isinstance(p, str) else p for p in people],
    }
    return {key: value for key, value in kept.items() if value not in (None, [])}


def _hardware(logs: Sequence[LogFile]) -> dict[str, Any] | None:
    """The accelerator and count that all runs agree on, where the list knows the device."""
    seen = {(run.hardware.device, run.hardware.count) for log in logs for run in log.runs}
    if len(seen) != 1:
        return None
    device, count = next(iter(seen))
    found = find(device)
    return {"accelerator": found.accelerator.id, "count": count} if found and count else None


def _early_stop(logs: Sequence[LogFile]) -> int | None:
    """The step at which all runs stop before their stated end, None if they do not."""
    ends = {(run.finished, run.step) for log in logs for run in log.runs}
    finished, step = next(iter(ends))
    return step if len(ends) == 1 and finished is False else None


def _claims(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the record's page claimed: numbers, and objects of numbers."""
    claims = dict(facts.get("claims") or {})
    steps = facts.get("steps")
    if isinstance(steps, int):
        claims["steps"] = steps
    return claims
