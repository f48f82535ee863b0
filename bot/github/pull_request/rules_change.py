"""A pull request that changes what counts: the rank difference of the boards, from data alone.

Track files and the table of accelerators are data and are compared here. Python code of a pull
request is never run by a job of the bot, so what it changes is said to be unknown.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterable

from bot.compute import accelerators
from bot.github.pull_request.engine import Engine
from bot.github.pull_request.promotion import outdated
from bot.github.pull_request.pull import ChangedFile, TreeEntry, Trees, read_blob
from bot.model.report import Report
from bot.model.submission import MAX_JSON_BYTES
from bot.model.track import Track, TrackError
from bot.parse.baselines_json import FOLDER, with_baselines
from bot.parse.track_toml import read_track

TABLE = "schemas/accelerators.json"
_CODE = ("bot/", "schemas/")
_SHOWN = 5
_FILES = ("100644", "100755")


def rules_report(
    engine: Engine,
    trees: Trees,
    blank: Report,
    files: tuple[ChangedFile, ...],
    promotes: str = "",
) -> Report:
    """The report on changed rules. Reads one blob for each changed track, and the table.
    `promotes` is the branch of a new baseline that we opened: its file must still be due."""
    changed: dict[str, Track | None] = {}
    table: tuple[accelerators.Accelerator, ...] | None = None
    problems: list[str] = []
    paths = sorted({p for f in files for p in f.paths})
    for path in paths:
        try:
            if path == TABLE:
                table = accelerators.parse(_read(trees, path, trees.find(path)))
            elif track_id := _track_of(path):
                changed[track_id] = _track(engine, trees, track_id)
        except (TrackError, ValueError) as error:
            problems.append(
                f"{path}: {error}"[:500] if path not in str(error) else str(error)[:500]
            )
    if promotes:
        made = [(p, _read(trees, p, trees.find(p))) for p in paths if p.startswith(f"{FOLDER}/")]
        problems += outdated(engine, promotes, made)
    changes, same = engine.difference(changed, table)
    unknown = tuple(_unknown(paths))
    alone = len(files) == 1 and files[0].status == "added" and paths[0].startswith(f"{FOLDER}/")
    return dc.replace(
        blank,
        changes=changes,
        unchanged=same,
        problems=tuple(problems),
        advice=unknown,
        baseline=paths[0].removeprefix(f"{FOLDER}/").removesuffix(".json") if alone else "",
    )


def _track_of(path: str) -> str:
    """The track that a file below tracks/ is about; empty for any other."""
    folder, _, name = path.rpartition("/")
    if folder == "tracks" and name.endswith(".toml"):
        return name.removesuffix(".toml")
    above, _, track = folder.rpartition("/")
    return track if above == FOLDER and name.endswith(".json") else ""


def _track(engine: Engine, trees: Trees, track_id: str) -> Track | None:
    """The changed track with its baselines, None for one that is removed."""
    path = f"tracks/{track_id}.toml"
    entry = trees.find(path)
    if entry is None:
        return None
    track = read_track(_read(trees, path, entry), path)
    folder = f"{FOLDER}/{track_id}"
    files = [dc.replace(e, path=f"{folder}/{e.path}") for e in trees.files(folder)]
    track = with_baselines(track, [(e.path, _read(trees, e.path, e)) for e in files])
    before = engine.tracks.get(track_id)
    return track if before is None else dc.replace(track, official=before.official)


def _read(trees: Trees, path: str, entry: TreeEntry | None) -> bytes:
    if entry is None:
        raise ValueError(f"{path} is removed: nothing can be checked without it, so put it back")
    if entry.kind != "blob" or entry.mode not in _FILES or entry.size > MAX_JSON_BYTES:
        raise ValueError(f"{path} is not a plain file of at most {MAX_JSON_BYTES} bytes")
    return read_blob(trees.repo, entry)


def _unknown(paths: Iterable[str]) -> Iterable[str]:
    """What cannot be evaluated as data, and what a maintainer does about it."""
    code = [path for path in paths if path.startswith(_CODE) and path != TABLE]
    if code:
        more = f" and {len(code) - _SHOWN} more" if len(code) > _SHOWN else ""
        yield (
            f"What these files change is not known here, because code of a pull request is never "
            f"run by the bot: {', '.join(code[:_SHOWN])}{more}. The board is re-scored after the "
            "merge. To see the difference before it, run speedrun audit --against with the base "
            "commit on a machine of your own."
        )
