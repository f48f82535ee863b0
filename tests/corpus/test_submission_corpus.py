"""Broken submission.json files and folders: each gets its finding, in words."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from bot.model.submission import Folder
from bot.model.verdict import Verdict
from bot.parse.track_toml import load_tracks
from bot.registry import Level, Status
from bot.verify import verify
from tests.conftest import ROOT
from tests.corpus.variants import GOOD

TRACKS = load_tracks(ROOT)
RESULTS = (GOOD / "v4.json").read_bytes()
PATH = "submissions/fineweb-edu/example"


def good() -> dict[str, Any]:
    return {
        "schema_version": 1,
        "track": "fineweb-edu",
        "title": "Two layers fewer",
        "summary": "Drops two layers of the model and spends the time on more tokens.",
        "contributors": [{"github": "example-user", "roles": ["idea", "runs", "pr"]}],
        "runs": [{"source": "results", "path": "speedrun_results.json"}],
        "claims": {"bpb": json.loads(RESULTS)["runs"][0]["run_info"]["eval/paloma/c4_en/bpb"]},
    }


def judge(
    value: Any,
    path: str = PATH,
    files: dict[str, bytes] | None = None,
    skipped: dict[str, str] | None = None,
) -> Verdict:
    data = value if isinstance(value, bytes) else json.dumps(value, indent=1).encode()
    held = {"submission.json": data, "speedrun_results.json": RESULTS} if files is None else files
    return verify(Folder(path, held, skipped or {}), TRACKS)


def errors(verdict: Verdict) -> set[str]:
    return {f.rule for f in verdict.findings if f.level is Level.ERROR}


def test_the_good_one() -> None:
    verdict = judge(good())
    assert errors(verdict) == set(), [f.message for f in verdict.errors]
    assert verdict.status is Status.CONSISTENT  # its results file is the author's word alone
    assert verdict.title == "Two layers fewer"


def drop(key: str) -> Callable[[dict[str, Any]], Any]:
    return lambda v: {k: x for k, x in v.items() if k != key}


def put(**values: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda v: {**v, **values}


def rename(old: str, new: str) -> Callable[[dict[str, Any]], Any]:
    return lambda v: {new if k == old else k: x for k, x in v.items()}


RUN = {"source": "results", "path": "speedrun_results.json"}
SCHEMA: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "list": (lambda v: [v], "expected an object"),
    "null": (lambda v: None, "expected an object"),
    "no-title": (drop("title"), "no `title`"),
    "no-runs": (drop("runs"), "no `runs`"),
    "no-contributors": (drop("contributors"), "no `contributors`"),
    "no-version": (drop("schema_version"), "no `schema_version`"),
    "no-track": (drop("track"), "no `track`"),
    "misspelt-contributors": (rename("contributors", "contributers"), "`contributers`"),
    "misspelt-title": (rename("title", "titel"), "`titel`"),
    "misspelt-optional": (rename("summary", "sumary"), "`sumary`"),
    "upper-case": (rename("runs", "Runs"), "`Runs`"),
    "title-number": (put(title=3), "expected text"),
    "title-empty": (put(title=""), "is empty"),
    "title-long": (put(title="x" * 500), "at most 120"),
    "summary-list": (put(summary=["a"]), "expected text"),
    "contributors-empty": (put(contributors=[]), "is empty"),
    "contributors-text": (put(contributors="example-user"), "expected a list"),
    "contributor-text": (put(contributors=["example-user"]), "expected an object"),
    "contributor-no-login": (put(contributors=[{"name": "A"}]), "no `github`"),
    "contributor-at": (put(contributors=[{"github": "@example-user"}]), "@example-user"),
    "contributor-address": (put(contributors=[{"github": "https://github.com/x"}]), "github"),
    "contributor-role": (put(contributors=[{"github": "a", "roles": ["idee"]}]), "idee"),
    "contributor-roles-text": (put(contributors=[{"github": "a", "roles": "runs"}]), "a list"),
    "contributor-url": (put(contributors=[{"github": "a", "url": "javascript:x"}]), "javascript"),
    "contributor-url-no-scheme": (
        put(contributors=[{"github": "a", "url": "a.org"}]),
        "does not start with https",
    ),
    "runs-empty": (put(runs=[]), "is empty"),
    "runs-object": (put(runs={}), "expected a list"),
    "run-text": (put(runs=["speedrun_results.json"]), "expected an object"),
    "run-no-source": (put(runs=[{"path": "speedrun_results.json"}]), "no `source`"),
    "run-source": (put(runs=[{"source": "result", "path": "x.json"}]), "result"),
    "run-no-path": (put(runs=[{"source": "results"}]), "no `path`"),
    "run-no-link": (put(runs=[{"source": "wandb"}]), "no `link` or `path`"),
    "run-no-offline-file": (put(runs=[{"source": "wandb", "path": "a.wandb"}]), "no file"),
    "run-arm": (put(runs=[{**RUN, "arm": "control"}]), "control"),
    "run-seed": (put(runs=[{**RUN, "seed": "one"}]), "expected a whole number"),
    "run-missing-file": (put(runs=[{**RUN, "path": "results.json"}]), "no file"),
    "run-outside": (put(runs=[{**RUN, "path": "../other/speedrun_results.json"}]), "no file"),
    "run-absolute": (put(runs=[{**RUN, "path": "/etc/passwd"}]), "no file"),
    "run-point": (put(points=["130m"], runs=[{**RUN, "point": "131m"}]), "131m"),
    "claim-text": (put(claims={"bpb": "1.1"}), "expected a number"),
    "claim-unknown-part": (put(claims={"bpb": {"mean": 1.1, "std": 0.1}}), "`std`"),
    "claim-without-mean": (put(claims={"bpb": {"sd": 0.1}}), "no `mean`"),
    "claim-of-no-point": (put(claims={"130m": {"bpb": 1.1}}), "no point"),
    "claims-list": (put(claims=[1.1]), "expected an object"),
    "hardware-count": (put(hardware={"accelerator": "H100", "count": 0}), "at least 1"),
    "code-commit": (put(code={"repository": "https://example.org/r", "commit": "main"}), "commit"),
    "code-http": (put(code={"repository": "http://example.org/r"}), "repository"),
    "link-kind": (put(links=[{"kind": "video", "url": "https://example.org"}]), "video"),
    "links-many": (put(links=[{"kind": "post", "url": "https://example.org"}] * 40), "at most 30"),
    "track-number": (put(track=3), "track"),
    "track-unknown": (put(track="fineweb-edo"), "fineweb-edo"),
    "track-other": (put(track="single-gpu-fineweb"), "lies under"),
}


@pytest.mark.parametrize("name", SCHEMA)
def test_schema_faults_read_like_advice(name: str) -> None:
    change, words = SCHEMA[name]
    verdict = judge(change(good()))
    found = [f for f in verdict.findings if f.rule == "schema"]
    assert any(words in f.message or words in (f.fix or "") for f in found), [
        (f.message, f.fix) for f in verdict.findings
    ]
    soft = name in ("misspelt-optional",)
    assert verdict.status is Status.REJECTED or soft
    for finding in found:
        assert finding.file and finding.fix


OTHERS: dict[str, tuple[Any, str]] = {
    "version": (put(schema_version=2), "schema-version-unknown"),
    "version-text": (put(schema_version="1"), "schema-version-unknown"),
    "json": (lambda v: b"{'track': 1}", "json-invalid"),
    "twice": (lambda v: b'{"track": "a", "track": "b"}', "json-invalid"),
    "bidi": (put(title="fast\u202eecar"), "unsafe-text"),
    "point-name": (put(points=["130 M"]), "unsafe-name"),
    "point-dots": (put(points=[".."]), "unsafe-name"),
    "token": (put(summary="my key is " + "hf" + "_" + "Ab1" * 12), "secret-in-text"),
    "link-report": (
        put(runs=[{"source": "wandb", "link": "https://wandb.ai/e/p/reports/x--V1"}]),
        "link-not-a-run",
    ),
    "link-host": (
        put(runs=[{"source": "wandb", "link": "https://example.org/e/p/runs/r"}]),
        "host-not-allowed",
    ),
    "claim": (put(claims={"bpb": 0.9}), "claim-differs-from-run"),
    "run-listed-twice": (
        put(
            runs=[
                {"source": "wandb", "link": "https://wandb.ai/e/p/runs/r"},
                {"source": "wandb", "link": "https://wandb.ai/e/p/runs/r?nw=x"},
            ]
        ),
        "duplicate-run",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_faults(name: str) -> None:
    change, rule = OTHERS[name]
    verdict = judge(change(good()))
    assert rule in errors(verdict), [(f.rule, f.message) for f in verdict.findings]
    assert verdict.status is Status.REJECTED


@pytest.mark.parametrize(
    "path",
    [
        "submissions/fineweb-edu/Example",
        "submissions/fineweb-edu/a b",
        "submissions/fineweb-edu/..",
        "submissions/fineweb-edu/con",
        "submissions/fineweb-edu/caf\u00e9",
        "submissions/fineweb-edu/a/b/c/d/e",
        "submissions/fineweb-edu/" + "x" * 65,
        "submissions/fineweb-edu/-x",
        "submissions/fineweb-edu/x\u202ey",
        "submissions/fineweb-edu/.git",
    ],
)
def test_unsafe_folder_names(path: str) -> None:
    assert "unsafe-name" in errors(judge(good(), path))


@pytest.mark.parametrize("path", [PATH, "submissions/fineweb-edu/a/b-1/c_2/130m"])
def test_safe_folder_names(path: str) -> None:
    assert "unsafe-name" not in errors(judge(good(), path))


@pytest.mark.parametrize("name", ["a b.py", "x;rm -rf.py", "\u202ex.md", "caf\u00e9.md", "a\nb.md"])
def test_unsafe_file_names(name: str) -> None:
    files = {
        "submission.json": json.dumps(good()).encode(),
        "speedrun_results.json": RESULTS,
        name: b"x",
    }
    assert "unsafe-name" in errors(judge(None, files=files))


def test_secrets_in_other_files_are_found() -> None:
    key = ("WANDB_API" + "_KEY=" + "0123456789abcdef" * 2 + "01234567").encode()
    files = {
        "submission.json": json.dumps(good()).encode(),
        "speedrun_results.json": RESULTS,
        "train.py": b"import os\n" + key + b"\n",
    }
    verdict = judge(None, files=files)
    found = next(f for f in verdict.errors if f.rule == "secret-in-text")
    assert found.line == 2 and found.file == f"{PATH}/train.py"


@pytest.mark.parametrize(
    "name",
    [
        "config.json",
        "keys.csv",
        "Dockerfile",
        "id_rsa",
        "run.html",
        "out.jsonl",
        "fix.patch",
        "seed0.wandb",
    ],
)
@pytest.mark.parametrize("write", [
    lambda text: text.encode(), lambda text: text.encode("utf-16"),
    lambda text: ("x " * 15_000 + text).encode(), lambda text: b"\0\xff" * 99 + text.encode(),
])  # fmt: skip
def test_secrets_are_looked_for_in_every_file(name: str, write: Callable[[str], bytes]) -> None:
    token = "ghp" + "_" + "Ab1" * 12
    for text, expected in ((token, True), ("ghp" + "_" + "not a token", False)):
        files = {
            "submission.json": json.dumps(good()).encode(),
            "speedrun_results.json": RESULTS,
            name: write(f" {text}\n"),
        }
        found = [f for f in judge(None, files=files).errors if f.rule == "secret-in-text"]
        assert bool(found) is expected
        assert all(token not in f.message for f in found)


@pytest.mark.parametrize("at", [*range(19_560, 19_602, 7), *range(19_960, 20_002, 7)])
def test_a_secret_on_a_seam_of_a_long_line(at: int) -> None:
    line = ("x" * at + " ghp" + "_" + "Ab1" * 12 + " " + "y" * 30_000).encode()
    files = {
        "submission.json": json.dumps(good()).encode(),
        "speedrun_results.json": RESULTS,
        "notes.csv": line,
    }
    assert "secret-in-text" in {f.rule for f in judge(None, files=files).errors}


def test_longer_lists_than_the_schema_takes_are_refused_in_a_moment() -> None:
    names = [f"p{n}" for n in range(20_000)]
    runs = [{"source": "results", "path": "speedrun_results.json", "point": n} for n in names]
    begun = time.process_time()
    verdict = judge(good() | {"points": names, "runs": runs[:5000]})
    assert {"schema"} <= {f.rule for f in verdict.errors} and time.process_time() - begun < 20
    assert len(verdict.points) <= 50


def test_skipped_files_are_findings() -> None:
    verdict = judge(good(), skipped={"big.log": "has 30,000,000 bytes", "x": "a symbolic link"})
    assert {f.rule for f in verdict.errors} == {"schema", "unsafe-name"}
    assert all("was not read" in f.message for f in verdict.errors)


def test_a_folder_with_nothing_in_it_fails() -> None:
    verdict = judge(None, files={"README.md": b"# hello"})
    assert errors(verdict) == {"metric-missing"}


def test_a_listed_file_that_is_no_results_file() -> None:
    files = {"submission.json": json.dumps(good()).encode(), "speedrun_results.json": b'{"a": 1}'}
    assert errors(judge(None, files=files)) == {"schema"}
