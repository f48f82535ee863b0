"""What newcomers get wrong in the files of their runs: kinds of files, metrics, arms, code."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable

from bot.parse.track_toml import read_track
from tests.journeys.mistakes import (
    FIRST,
    LOSSES,
    Files,
    Mistake,
    edit,
    log,
    put,
    text,
)
from tests.track_texts import time_to_loss

LAB_TEXT = time_to_loss(
    "lab", "Progress over a baseline", objective="baseline", significance='test = "none"'
)
LAB = read_track(LAB_TEXT.encode(), "tracks/lab.toml")
SOURCE = "import torch\n\nfor step in range(1000):\n    print(step)\n"
LOG = log(LOSSES[0], 1)
NOTEBOOK = json.dumps(
    {
        "cells": [{"cell_type": "code", "source": [], "outputs": [{"text": LOG.decode()}]}],
        "nbformat": 4,
    }
).encode()


def archive() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as made:
        made.writestr("0.log", LOG)
    return data.getvalue()


def instead(name: str, data: bytes) -> Callable[[Files], Files]:
    """The first log under another name."""

    def apply(files: Files) -> Files:
        kept = {key: value for key, value in files.items() if key != FIRST}
        return text(lambda t: t.replace(FIRST, name))({**kept, name: data})

    return apply


def in_logs(change: Callable[[bytes], bytes]) -> Callable[[Files], Files]:
    """A mistake in every log."""
    return lambda files: {k: change(v) if k.endswith(".log") else v for k, v in files.items()}


def measuring(name: str) -> Callable[[Files], Files]:
    """Logs of another metric."""
    return in_logs(lambda data: data.replace(b"val_loss", name.encode()))


# ---- two arms -----------------------------------------------------------------------------------


def slower(data: bytes, devices: int = 1) -> bytes:
    """The log of a baseline, which takes a fifth longer."""
    lines = data.decode().replace("world_size 1", f"world_size {devices}")
    lines = re.sub(r"train_time:([\d.]+)", lambda m: f"train_time:{float(m[1]) * 1.2:.3f}", lines)
    return lines.replace("step_avg:90.00", "step_avg:108.00").encode()


def two_arms(files: Files, device: str = "A100-SXM4-80GB", devices: int = 1) -> Files:
    """The first two runs as candidates, and two of the baseline."""
    data = json.loads(files["submission.json"]) | {"track": "lab"}
    del data["claims"]
    for n, run in enumerate(data["runs"]):
        run["arm"] = "candidate" if n < 2 else "baseline"
        if n > 1:
            files = files | {run["path"]: slower(log(LOSSES[n], n + 11, device=device), devices)}
    return {**files, "submission.json": json.dumps(data, indent=2).encode()}


def arms(device: str = "A100-SXM4-80GB", devices: int = 1) -> Callable[[Files], Files]:
    return lambda files: two_arms(files, device, devices)


def misspelt(files: Files) -> Files:
    return text(lambda t: t.replace('"baseline"', '"base"'))(two_arms(files))


# ---- code ---------------------------------------------------------------------------------------


def logged(files: Files, source: str) -> Files:
    """Logs that begin with the source that ran."""
    head = f"{source}{'=' * 100}\n".encode()
    return in_logs(lambda data: head + data)(files)


def code(submitted: str, ran: str = SOURCE) -> Callable[[Files], Files]:
    def apply(files: Files) -> Files:
        files = logged(files, ran) | {"train.py": submitted.encode()}
        return edit(lambda d: d.update(code={"path": "train.py"}))(files)

    return apply


def edited_after_one_run(files: Files) -> Files:
    files = code(SOURCE)(files)
    return files | {FIRST: files[FIRST].replace(b"range(1000)", b"range(1001)")}


def forgotten(files: Files) -> Files:
    files = code(SOURCE)(files)
    return {name: data for name, data in files.items() if name != "train.py"}


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
FOLDER = "submissions/lab/idea"
MISTAKES = (
    Mistake("huge-log", "metric-missing", put(FIRST, b"step 1\n" * 10_000)),
    Mistake(
        "huge-list",
        "json-invalid",
        text(lambda t: t.replace('"summary": "', f'"summary": "{"very " * 250_000}')),
    ),
    Mistake("binary-bytes", "metric-missing", put(FIRST, bytes(range(256)) * 8)),
    Mistake("binary-picture", "metric-missing", put(FIRST, PNG)),
    Mistake("binary-checkpoint", "metric-missing", instead("logs/0.pt", b"\x80\x02ckpt\0" * 400)),
    Mistake("bom-list", "json-invalid", text(lambda t: "\ufeff" + t)),
    Mistake(
        "bom-utf-16",
        "json-invalid",
        lambda f: {**f, "submission.json": f["submission.json"].decode().encode("utf-16")},
    ),
    Mistake("zip-renamed", "metric-missing", put(FIRST, archive())),
    Mistake("zip-listed", "metric-missing", instead("logs/0.zip", archive())),
    Mistake("zip-gzip", "metric-missing", instead("logs/0.log.gz", gzip.compress(LOG, mtime=0))),
    Mistake("notebook-empty", "metric-missing", put(FIRST, b'{"cells": [], "nbformat": 4}')),
    Mistake("notebook-renamed", "metric-missing", put(FIRST, NOTEBOOK)),
    Mistake("notebook-listed", "metric-missing", instead("train.ipynb", NOTEBOOK)),
    Mistake("empty-log", "metric-missing", put(FIRST, b"")),
    Mistake("empty-lines", "metric-missing", put(FIRST, b"\n\n  \n")),
    Mistake("empty-header", "metric-missing", put(FIRST, LOG.split(b"\n")[0] + b"\n")),
    Mistake("metric-accuracy", "metric-missing", measuring("accuracy")),
    Mistake("metric-training", "metric-missing", measuring("train_loss")),
    Mistake("metric-perplexity", "metric-missing", measuring("val_ppl")),
    Mistake("baseline-misspelt", "schema", misspelt, FOLDER, LAB),
    Mistake("baseline-machine", "arms-differ", arms("H100 80GB HBM3"), FOLDER, LAB),
    Mistake("baseline-unknown", "arms-differ", arms("FooBar 9000"), FOLDER, LAB),
    Mistake("baseline-devices", "hardware-differs-from-run", arms(devices=8), FOLDER, LAB),
    Mistake("code-edited", "code-differs-from-submission", code(SOURCE + "print()\n")),
    Mistake("code-of-one-run", "code-differs-from-submission", edited_after_one_run),
    Mistake("code-forgotten", "code-missing", forgotten),
)
HARMLESS = (
    ("crlf-logs", in_logs(lambda data: data.replace(b"\n", b"\r\n"))),
    ("crlf-all", lambda files: {k: v.replace(b"\n", b"\r\n") for k, v in files.items()}),
    ("bom-log", put(FIRST, b"\xef\xbb\xbf" + LOG)),
    ("bom-log-utf-16", put(FIRST, LOG.decode().encode("utf-16"))),
    ("code-crlf", code(SOURCE.replace("\n", "\r\n"))),
)
