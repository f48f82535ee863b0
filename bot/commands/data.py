"""`speedrun data`: training data as an entry, from a pool of texts to shards that hold.

speedrun data build pool.toml --track data-choice --out my-data
speedrun data verify submissions/data-choice/my-entry --shards fetched/ --record
"""

from __future__ import annotations

import datetime as dt
import functools as ft
import importlib
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bot import files as disk
from bot.commands.draft import read_whole
from bot.commands.root import ROOT, Unusable, root_of, track_of
from bot.model.submission import MAX_JSON_BYTES
from bot.model.track import Track
from bot.parse.data_manifest import DATA_MANIFEST
from bot.parse.json_file import read_json
from bot.parse.schema_advice import advise
from bot.parse.schema_version import version_problem
from bot.parse.track_toml import parse_track
from bot.render.untrusted import plain

CORPUS_MANIFEST = "manifest.json"
FOLDER = click.Path(path_type=Path, file_okay=False)


@click.group()
def data() -> None:
    """Training data as an entry: curate a pool of texts, check shards against their manifest."""


def _spoken(function: Callable[..., Any]) -> Callable[..., Any]:
    """What the trainer refuses is one sentence and exit 2."""

    @ft.wraps(function)
    def work(*args: Any, **kwargs: Any) -> Any:
        errors = _trainer("errors")
        try:
            return function(*args, **kwargs)
        except errors.TrainerError as error:
            raise Unusable(str(error)) from error

    return work


def _trainer(name: str) -> Any:
    """A module of the trainer, by name: nothing of the bot depends on it."""
    return importlib.import_module(f"reference_trainer.{name}")


def _say(text: str) -> None:
    click.echo(text, err=True)


@data.command()
@click.argument("pool", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--track", "track_id", required=True, metavar="TRACK", help="Track it is for.")
@click.option("--out", type=FOLDER, required=True, help="Folder to write; it must not exist.")
@click.option(
    "--allow-endpoint",
    is_flag=True,
    help="Allow the pool's [score] section to send texts to the endpoint that it names.",
)
@ROOT
@_spoken
def build(pool: Path, track_id: str, out: Path, allow_endpoint: bool, root: Path | None) -> None:
    """Curate the texts that POOL (a pool.toml) lists into shards with a manifest.

    Documents are filtered by length, removed if they repeat one another or share 13 words in a row
    with the validation text, rated by the pool's scorer, and written as a corpus that the trainer
    takes.
    """
    track = _submitted(track_of(root_of(root), track_id))
    work = _trainer("curation.build")
    listed = _trainer("curation.pool").load_pool(pool)
    corpus = work.validation_corpus(track.data_corpus, track.validation_fingerprint, _say)
    manifest = work.build(listed, corpus, out, allow_endpoint, _say)
    if "url" not in manifest["data"]:
        _say(
            f"{pool.name} has no url; before you submit, write where the shards are to be fetched: "
            f'"url" under "data" in {out / CORPUS_MANIFEST}'
        )
    config = track.data_config or "FILE.toml"
    click.echo(f"next: speedrun train --config {config} --set data.corpus={out} --track {track.id}")


@data.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--track", "track_id", metavar="TRACK", help="Track [default: that of the folder].")
@click.option("--shards", type=FOLDER, help="The shards [default: the folder of the manifest].")
@click.option("--record", is_flag=True, help="Note in the track file that they hold.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@ROOT
@_spoken
def verify(
    path: Path,
    track_id: str | None,
    shards: Path | None,
    record: bool,
    form: str,
    root: Path | None,
) -> None:
    """Check fetched shards against the manifest at PATH (a submission, a corpus or the file).

    Compares hashes, sizes and counts, then the text itself with the track's validation text.
    Exit status: 0 everything holds, 1 something does not.
    """
    place = root_of(root, path)
    track = _submitted(track_of(place, track_id or _track_of(path, place)))
    manifest_path = _manifest_at(path)
    manifest = _read(manifest_path)
    corpus = _trainer("curation.build").validation_corpus(
        track.data_corpus, track.validation_fingerprint, _say
    )
    check = _trainer("curation.verify").check
    found = check(manifest, shards or manifest_path.parent, corpus, _say)
    if form == "json":
        click.echo(json.dumps({"schema_version": 1, "track": track.id, **found}, indent=2))
    else:
        click.echo("\n".join(_lines(found)))
    if found["problems"]:
        raise SystemExit(1)
    if record:
        click.echo(_record(track, found["train_fingerprint"], dt.date.today()))


def _submitted(track: Track) -> Track:
    if not track.data_submitted:
        raise Unusable(
            f"on {track.id} the training data are fixed; name a track whose file has "
            "`submitted = true` under [data]"
        )
    return track


def _track_of(path: Path, root: Path) -> str:
    """The track that a folder under submissions/ belongs to. Raises Unusable."""
    try:
        parts = path.resolve().relative_to(root.resolve()).parts
    except ValueError:
        parts = ()
    if len(parts) < 3 or parts[0] != "submissions":
        raise Unusable(f"{path}: which track? Add --track with its id")
    return parts[1]


def _manifest_at(path: Path) -> Path:
    names = [path / name for name in (DATA_MANIFEST, CORPUS_MANIFEST)] if path.is_dir() else [path]
    return next((name for name in names if name.is_file()), names[0])


def _read(path: Path) -> dict[str, Any]:
    """A manifest that its schema accepts. Raises Unusable with what is wrong, three faults at
    most."""
    document = read_json(read_whole(path, MAX_JSON_BYTES), path.name)
    version = version_problem(document)
    told = document.problems or ((version,) if version else ())
    wrong = [*told] or [*advise(document, "data_manifest")]
    if wrong:
        lines = [f"{f.pointer or '/'}: {f.message}; {f.fix}" for f in wrong[:3]]
        more = f"\n  and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise Unusable(
            f"{path} is not a valid data manifest:\n  " + plain("\n  ".join(lines), 2000) + more
        )
    value: dict[str, Any] = dict(document.value) if isinstance(document.value, dict) else {}
    return value


def _lines(found: dict[str, Any]) -> list[str]:
    if found["problems"]:
        return ["The shards do not hold:", *(f"  {plain(p, 500)}" for p in found["problems"])]
    overlap = found["overlap"]
    return [
        f"The shards hold: {found['train_fingerprint']}",
        f"No document and no run of {overlap['ngram']} words of the validation text "
        f"({overlap['validation_ngrams']:,} runs) is in them.",
    ]


def _record(track: Track, train: str, day: dt.date) -> str:
    """Append to the track's file that these data were verified. Raises Unusable."""
    if train in track.data_verified:
        return f"{track.path} says so already."
    path = Path(track.path)
    text = path.read_text(encoding="utf-8").rstrip("\n")
    text += f'\n\n[[data.verified]]\ntrain = "{train}"\ndate = {day.isoformat()}\n'
    try:
        after = parse_track(tomllib.loads(text), str(path))
    except ValueError as error:
        raise Unusable(f"{path}: add [[data.verified]] by hand: {error}") from error
    if after.data_verified != track.data_verified | {train}:
        raise Unusable(f"{path}: add [[data.verified]] by hand; is it an inline array?")
    disk.write(path, text)
    return f"Recorded in {path}; commit it."
