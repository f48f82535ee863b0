"""Public corpora from the Hugging Face Hub, fetched at first use, resumable, with checked hashes.

`NAME@500M` fetches no more than the training tokens that it names. Without it FineWeb-Edu is
streamed (see `streaming`), and `SPEEDRUN_SHARDS` says how many training shards of FineWeb to fetch
(100 M tokens, 200 MB each).
"""

import contextlib
import dataclasses as dc
import fnmatch
import gzip
import hashlib
import json
import os
import pathlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from reference_trainer import levanter
from reference_trainer.errors import DataError
from reference_trainer.manifests import SHARD_TOKENS, SplitWriter, write_manifest
from reference_trainer.shards import MANIFEST, Corpus, Split, file_sha256, open_shard, open_split
from reference_trainer.streaming import Ids, documents
from reference_trainer.tokenizers import Gpt2Tokenizer, JsonTokenizer
from reference_trainer.treecache import described, file_number, files_needed, read_documents

Say = Callable[[str], None]
LLAMA3 = "marin-community/marin-tokenizer"
PALOMA, PALOMA_REVISION = "allenai/paloma", "65cd6fc"
PALOMA_FILES = "c4_en/val/val*.jsonl.gz"
HELD_OUT = 5_000_000  # tokens of a stream that validate


@dc.dataclass(frozen=True)
class Dataset:
    """A corpus of the Hub."""

    name: str
    about: str
    repository: str
    build: Callable[[pathlib.Path, str, str, int | None, Say], None]


def fetch(name: str, folder: pathlib.Path, say: Say) -> None:
    """Download and prepare a corpus, or the beginning of it, into `folder`. Raises DataError."""
    base, _, size = name.partition("@")
    dataset = DATASETS[base]
    limit = tokens_of(size, name) if size else None
    folder.mkdir(parents=True, exist_ok=True)
    say(f"downloading {dataset.repository} (resumes where it was broken off)")
    dataset.build(folder, name, dataset.repository, limit, say)


def tokens_of(size: str, name: str) -> int:
    """The number that `500M` stands for. Raises DataError."""
    match = re.fullmatch(r"([1-9][0-9]{0,8})([kMB]?)", size)
    if match is None:
        raise DataError(f'"{name}" has the size "{size}"; write a number, as in @500M or @2B')
    return int(match[1]) * {"": 1, "k": 10**3, "M": 10**6, "B": 10**9}[match[2]]


def _hub(
    repository: str,
    file: str,
    folder: pathlib.Path,
    revision: str | None = None,
    kind: str = "dataset",
) -> pathlib.Path:
    """One file of a repository, with its hash checked; a broken download goes on where it stopped,
    also in another process. The Hub names a large file by its SHA-256, a small one by its git blob.
    """
    try:
        import huggingface_hub as hub
        from huggingface_hub.errors import GatedRepoError
    except ImportError as error:
        raise DataError("downloading needs a package: pip install -e '.[corpora]'") from error
    target = folder / file
    target.parent.mkdir(parents=True, exist_ok=True)
    token = os.environ.get("HF_TOKEN") or None
    try:
        url = hub.hf_hub_url(repository, file, repo_type=kind, revision=revision)
        about = hub.get_hf_file_metadata(url, token=token)
        etag = about.etag or ""
        if target.is_file() and _hash_like(etag, target) == etag:
            return target
        part = target.with_name(f"{target.name}.{etag[:16]}.part")
        _append(about, url, part, token)
    except GatedRepoError as error:
        raise DataError(
            f"{repository} is gated: accept its terms on its page and set HF_TOKEN"
        ) from error
    except Exception as error:  # which HTTP library raises, changes with the Hub's versions
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{file} of {repository} could not be fetched: {reason}") from error
    found = _hash_like(etag, part)
    if found != etag:
        part.unlink()
        raise DataError(
            f"{file} of {repository} came as {found[:12]}..., the Hub says {etag[:12]}...; it "
            "was removed, fetch it again"
        )
    part.replace(target)
    return target


def _append(about: Any, url: str, part: pathlib.Path, token: str | None) -> None:
    """Fetch what a partial file lacks. The token goes to the Hub alone, not where it sends us."""
    from huggingface_hub.file_download import http_get

    same_host = urlsplit(about.location).netloc == urlsplit(url).netloc
    with part.open("ab") as file:
        http_get(
            about.location,
            file,
            resume_size=part.stat().st_size,
            headers={"Authorization": f"Bearer {token}"} if token and same_host else None,
            expected_size=about.size,
        )


def _hash_like(etag: str, path: pathlib.Path) -> str:
    """The hash of a file in the kind that `etag` is of."""
    return file_sha256(path) if len(etag) == 64 else _git_blob(path)


def _git_blob(path: pathlib.Path) -> str:
    data = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _fineweb_shards(
    folder: pathlib.Path, name: str, repository: str, limit: int | None, say: Say
) -> None:
    """Shards as modded-nanogpt uses them, whole ones. Hashes are taken at the first download and
    checked by `data --verify` from then on."""
    count = int(os.environ.get("SPEEDRUN_SHARDS", "9"))
    if limit is not None:
        count = -(-limit // SHARD_TOKENS)
    names = {
        "validation": ["fineweb_val_000000.bin"],
        "train": [f"fineweb_train_{i:06d}.bin" for i in range(1, count + 1)],
    }
    coder = Gpt2Tokenizer()
    splits: dict[str, dict[str, Any]] = {}
    lengths = coder.byte_lengths()
    for split, files in names.items():
        shards: list[dict[str, Any]] = []
        total_bytes = 0
        for file in files:
            path = _hub(repository, file, folder)
            tokens = open_shard(path)
            total_bytes += int(lengths[tokens].sum())
            shards.append({"file": file, "tokens": len(tokens), "sha256": file_sha256(path)})
            say(f"{file}: {len(tokens):,} tokens")
        splits[split] = {
            "tokens": sum(s["tokens"] for s in shards),
            "bytes": total_bytes - int(lengths[open_shard(folder / files[0])[0]]),
            "documents": None,
            "shards": shards,
        }
    write_manifest(folder, name, "", coder, splits)


def _fineweb_edu(
    folder: pathlib.Path, name: str, repository: str, limit: int | None, say: Say
) -> None:
    """The pre-tokenised cache: streamed as it is, or with a limit the files that hold the documents
    up to there, rewritten as shards of which one document in 200 validates."""
    cache = folder.parent / name.partition("@")[0] / "cache"  # other sizes find it there too
    data = "train/input_ids/data/"
    files = {f: sha for f, sha in _tree(repository).items() if f.startswith("train/input_ids/")}
    about = [f for f in files if not f.startswith(data) or file_number(f) is None]
    for file in about:
        _hub(repository, file, cache)
    pieces = sorted((f for f in files if f not in about), key=lambda f: file_number(f) or 0)
    if limit is None:
        say(f"streaming {repository}: ids come as they are needed and are kept")
        hashes = [{"file": f, "sha256": files[f]} for f in pieces]
        url = _address(repository, data.rstrip("/"))
        stream_cache(cache / "train", folder, name, llama3(folder), url, hashes)
        return
    needed = files_needed(cache / "train", limit) or len(pieces)
    for number, file in enumerate(pieces[:needed]):
        _hub(repository, file, cache)
        say(f"{number + 1} of {needed} files")
    from_cache(cache, folder, name, llama3(folder), limit=limit)


def _address(repository: str, file: str) -> str:
    """Where a data set's file is, at the newest commit, which later runs keep to."""
    import huggingface_hub as hub

    with _in_words(f"the commit of {repository} could not be found"):
        commit = hub.HfApi().repo_info(repository, repo_type="dataset").sha
    return str(hub.hf_hub_url(repository, file, repo_type="dataset", revision=commit))


def stream_cache(
    root: pathlib.Path,
    folder: pathlib.Path,
    name: str,
    coder: Any,
    url: str,
    hashes: list[dict[str, Any]],
) -> None:
    """Write the manifest of a TreeCache whose ids stay at `url`; `hashes` are those of its files.
    Its last documents validate, at most 5 M tokens and a 200th of them."""
    ids, bounds = described(root)
    total = int(bounds[-1])
    stream = {"url": url, "tokens": total, "piece": int(ids.chunks[0]), "vocab": coder.size}
    first = int(np.searchsorted(bounds, total - min(HELD_OUT, total // 200)))
    first = min(first, len(bounds) - 2)
    kind = np.uint16 if coder.size <= 2**16 else np.uint32
    writer, lengths = SplitWriter(folder, "validation", coder, kind), coder.byte_lengths()
    remote = Ids(folder / "pieces", **stream)
    for document in documents(remote, bounds[first:]):
        digest = hashlib.sha256(document.astype("<u4").tobytes()).digest()
        writer.add(document, int(lengths[document].sum()), digest)
    train = {
        "tokens": total,
        "bytes": None,
        "documents": len(bounds) - 1,
        "held_out": total - int(bounds[first]),
        "stream": stream,
        "shards": hashes,
    }
    splits = {"train": train, "validation": writer.finish()}
    write_manifest(folder, name, "", coder, splits)


def _tree(repository: str, revision: str | None = None) -> dict[str, str]:
    """The files of a repository with their hashes. Raises DataError, also without a network."""
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.hf_api import RepoFile
    except ImportError as error:
        raise DataError("downloading needs a package: pip install -e '.[corpora]'") from error
    with _in_words(f"the files of {repository} could not be listed"):
        api = HfApi(token=os.environ.get("HF_TOKEN") or None)
        listed = api.list_repo_tree(
            repository, recursive=True, repo_type="dataset", revision=revision
        )
        found = [f for f in listed if isinstance(f, RepoFile)]
        return {f.path: f.lfs.sha256 if f.lfs else f.blob_id for f in found}


@contextlib.contextmanager
def _in_words(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # which HTTP library raises, changes with the Hub's versions
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"{what}: {reason}; go online once, or copy the corpus from another machine and set "
            "SPEEDRUN_DATA"
        ) from error


def from_cache(
    cache: pathlib.Path,
    folder: pathlib.Path,
    name: str,
    coder: Any,
    one_in: int = 200,
    limit: int | None = None,
) -> None:
    """Write shards from a TreeCache: `train/input_ids` below `cache`, or `input_ids` itself; with
    `limit`, of the documents that end within the first so many ids."""
    root = cache / "train" if (cache / "train").is_dir() else cache
    kind = np.uint16 if coder.size <= 2**16 else np.uint32
    lengths = coder.byte_lengths()
    writers = {s: SplitWriter(folder, s, coder, kind) for s in ("train", "validation")}
    for ids in read_documents(root, limit):
        if len(ids) and int(ids.max()) >= coder.size:
            raise DataError(
                f"the cache holds id {int(ids.max()):,}, the tokenizer has {coder.size:,}; "
                "it was made with another one"
            )
        digest = hashlib.sha256(ids.astype("<u4").tobytes()).digest()
        held_out = int.from_bytes(digest[:4], "big") % one_in == 0
        size = int(lengths[ids].sum())
        writers["validation" if held_out else "train"].add(ids, size, digest)
    splits = {split: writer.finish() for split, writer in writers.items()}
    write_manifest(folder, name, "", coder, splits)


def llama3(folder: pathlib.Path) -> JsonTokenizer:
    """Llama 3's tokenizer as the Marin board uses it."""
    path = _hub(LLAMA3, "tokenizer.json", folder / "tokenizer", kind="model")
    return JsonTokenizer(path, "<|end_of_text|>")


def paloma(corpus: Corpus) -> tuple[Corpus, levanter.Text]:
    """`corpus` with C4-EN's validation text of Paloma in place of its own, and the same text in
    Levanter's form. Raises DataError."""
    folder = corpus.folder / "paloma-c4_en"
    if not (folder / MANIFEST).is_file():
        paths = _paloma_files(folder)
        coder = llama3(corpus.folder)
        if coder.sha256 != corpus.tokenizer_sha256:
            raise DataError(f"Paloma is scored with Llama 3 ids, {corpus.name} has others")
        writer = SplitWriter(folder, "validation", coder, np.uint32)
        for text in paloma_texts(paths):
            data = text.encode("utf-8")
            writer.add(coder.encode([text])[0], len(data), hashlib.sha256(data).digest())
        levanter.write(folder, coder, paloma_texts(paths))
        write_manifest(folder, "paloma-c4_en", "", coder, {"validation": writer.finish()})
    splits = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["splits"]
    split: Split = open_split(folder, corpus.tokenizer_sha256, "validation", splits, False)
    own = dc.replace(corpus, name="paloma-c4_en", folder=folder, validation=split)
    return own, levanter.read(folder, corpus.end_of_text)


def _paloma_files(folder: pathlib.Path) -> list[pathlib.Path]:
    """C4-EN's validation files, by the pattern that Marin reads: one file today."""
    listed = fnmatch.filter(sorted(_tree(PALOMA, PALOMA_REVISION)), PALOMA_FILES)
    if not listed:
        raise DataError(f"{PALOMA} at {PALOMA_REVISION} has no file {PALOMA_FILES}")
    return [_hub(PALOMA, file, folder, PALOMA_REVISION) for file in listed]


def paloma_texts(paths: Iterable[pathlib.Path]) -> Iterator[str]:
    """The field `text` of each line of gzipped JSON-lines files."""
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)["text"]


DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "fineweb10B-gpt2",
            "FineWeb in GPT-2 tokens, shards of 100 M; nine of them, or NAME@500M",
            "kjj0/fineweb10B-gpt2",
            _fineweb_shards,
        ),
        Dataset(
            "fineweb-edu-10B",
            "FineWeb-Edu in Llama 3 tokens, as the Marin board trains on; streamed, or NAME@500M",
            "marin-community/fineweb-edu-pretokenized-10B",
            _fineweb_edu,
        ),
    )
}
