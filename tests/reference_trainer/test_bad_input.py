"""What is said of bad input: one sentence, exit 2, and nothing half-written."""

from __future__ import annotations

import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from click.testing import CliRunner, Result

from reference_trainer import corpus as corpora
from reference_trainer.backends import installed_backend
from reference_trainer.cli import train
from reference_trainer.errors import DataError, TrainerError
from reference_trainer.manifests import Recipe
from reference_trainer.shards import MANIFEST, Corpus
from reference_trainer.storage import Lock
from tests.reference_trainer.conftest import invented

SETTINGS = {
    "train.steps": 6,
    "train.batch": 8,
    "train.micro_batch": 4,
    "train.eval_every": 3,
    "train.checkpoint_every": 3,
    "train.log_every": 1,
    "schedule.warmup_steps": 2,
    "model.layers": 1,
    "model.hidden": 64,
    "model.seq_len": 32,
    "data.val_tokens": 0,
}


@pytest.fixture
def copied(corpus: Corpus, tmp_path: pathlib.Path) -> pathlib.Path:
    """A corpus to spoil."""
    return pathlib.Path(shutil.copytree(corpus.folder, tmp_path / "copy"))


@pytest.fixture(autouse=True)
def _some_backend() -> None:
    try:
        installed_backend()
    except TrainerError:
        pytest.skip("neither torch nor jax is installed; make test installs jax")


def arguments(data: pathlib.Path, out: pathlib.Path, **more: object) -> list[str]:
    """Of a small run. `more` replaces settings, with __ for the dot."""
    changed = {k.replace("__", "."): v for k, v in more.items()}
    settings = {**SETTINGS, "data.corpus": f'"{data}"', **changed}
    parts = [part for k, v in settings.items() for part in ("--set", f"{k}={v}")]
    return [*parts, "--wandb", "off", "--quiet", "--out", str(out)]


def run(data: pathlib.Path, out: pathlib.Path, **more: object) -> Result:
    return CliRunner().invoke(train, arguments(data, out, **more))


def one_sentence(result: Result) -> str:
    """What was said, after checking its form."""
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith("Error: ") and result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr and not result.stderr.rstrip().endswith(".")
    return result.stderr


def names(folder: pathlib.Path) -> list[str]:
    """Every file below a folder, [] where there is none."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def cut_short(folder: pathlib.Path) -> None:
    path = folder / "train_000000.bin"
    path.write_bytes(path.read_bytes()[:-2])


def foreign(folder: pathlib.Path) -> None:
    (folder / "train_000000.bin").write_bytes(b"PK\x03\x04" + b"x" * 5000)


def missing(folder: pathlib.Path) -> None:
    (folder / "validation_000000.bin").unlink()


def no_manifest(folder: pathlib.Path) -> None:
    (folder / MANIFEST).write_text("{", encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (cut_short, "it is cut short, fetch it again"),
        (foreign, "train_000000.bin is not a token shard"),
        (missing, "validation_000000.bin is missing"),
        (no_manifest, "manifest.json of copy is not readable"),
    ],
)
def test_spoilt_corpora(
    spoil: Callable[[pathlib.Path], None], said: str, copied: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    spoil(copied)
    assert said in one_sentence(run(copied, tmp_path / "out"))
    assert names(tmp_path / "out") == []


def test_a_tokenizer_that_does_not_match(copied: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Pieces of another tokenizer stand for other bytes than the manifest counted."""
    np.save(copied / "byte_lengths.npy", np.full(257, 2))
    said = one_sentence(run(copied, tmp_path / "out"))
    assert "the tokenizer does not match, build the corpus again" in said
    assert names(tmp_path / "out") == ["execution.json"]


def test_a_vocabulary_larger_than_the_model(copied: pathlib.Path, tmp_path: pathlib.Path) -> None:
    manifest = json.loads((copied / MANIFEST).read_text(encoding="utf-8"))
    manifest["tokenizer"]["size"] = 50257
    (copied / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    said = one_sentence(run(copied, tmp_path / "out"))
    assert "50,257 token ids" in said and "set model.vocab = 50304" in said
    assert names(tmp_path / "out") == ["execution.json"]


def test_an_unknown_key(corpus: Corpus, tmp_path: pathlib.Path) -> None:
    said = one_sentence(run(corpus.folder, tmp_path / "out", train__stepz=3))
    assert 'did you mean "steps"?' in said and not (tmp_path / "out").exists()


def test_no_accelerator_for_a_large_model(corpus: Corpus, tmp_path: pathlib.Path) -> None:
    large = {"train__steps": 10**9, "schedule__warmup_steps": 0}
    said = one_sentence(run(corpus.folder, tmp_path / "out", **large))
    assert "no accelerator was found" in said and "days; use a machine with a GPU" in said
    assert names(tmp_path / "out") == ["execution.json"]


@pytest.mark.full("trains twice")
def test_two_processes_in_one_folder(corpus: Corpus, tmp_path: pathlib.Path) -> None:
    """The second one leaves everything of the first alone and can go on once it has ended."""
    out = tmp_path / "out"
    with Lock(out):
        (out / "log.txt").write_text("the first one's\n", encoding="utf-8")
        said = one_sentence(run(corpus.folder, out))
        assert "another process is writing into out; choose another --out" in said
        assert names(out) == [".lock", "log.txt"]
        assert (out / "log.txt").read_text(encoding="utf-8") == "the first one's\n"
    assert run(corpus.folder, out).exit_code == 0
    log = (out / "log.txt").read_bytes()
    said = one_sentence(
        run(corpus.folder, out, train__steps=5)
    )  # another run than the finished one
    assert "holds the results of another run" in said and (out / "log.txt").read_bytes() == log
    again = run(corpus.folder, out)  # the finished one, which is not trained again
    assert again.exit_code == 0 and (out / "log.txt").read_bytes() == log


@pytest.fixture
def file_limit() -> Iterator[Callable[[int], None]]:
    """Sets the largest size that this process may write, as a disk that fills up would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.full("trains")
@pytest.mark.parametrize(
    ("size", "file"),
    [(60_000, "checkpoints/step-00000003/state.npz"), (900, "log.txt")],
)
def test_a_disk_that_fills_while_saving(
    size: int, file: str, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    """In a process of its own, for the limit is the process's."""
    out = tmp_path / "out"
    code = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
        "from reference_trainer.cli import train\n"
        "train(sys.argv[1:])\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, *arguments(corpus.folder, out)],
        capture_output=True,
        text=True,
        timeout=300,
        env=dict(os.environ),
        cwd=pathlib.Path(__file__).parents[2],
    )
    said = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert said == [
        f"Error: {file} could not be written: the disk is full; free some space or set "
        "SPEEDRUN_PREFIX elsewhere"
    ]
    assert names(out) == ["execution.json", "log.txt"]
    execution = json.loads((out / "execution.json").read_text(encoding="utf-8"))
    assert execution["steps"]["train"]["status"] == "failed"


def test_a_disk_that_fills_while_a_corpus_is_built(
    file_limit: Callable[[int], None], tmp_path: pathlib.Path
) -> None:
    recipe = Recipe("large", "byte", "", lambda: invented(60), validation_one_in=10)
    file_limit(20_000)
    with pytest.raises(DataError, match="corpus large could not be written: the disk is full"):
        corpora.build(recipe, tmp_path / "data" / "large")
    assert names(tmp_path) == []
