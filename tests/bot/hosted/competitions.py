"""Public competitions as they stand, from numbers of their repositories: their files, our track.

The files under `tests/bot/data/hosted` hold numbers only. `write_golf` and `write_imagenet` put
them back into the lines and the layout of the two repositories; of ours there is one track file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HOSTED = Path(__file__).parents[1] / "data/hosted"

GOLF = r"""
schema_version = 1
id = "golf"
title = "Bits per byte in 16 MB and ten minutes"
objective = "best"
[quality]
metric = "final_bpb"
unit = "bits/byte"
[metrics.final_bpb]
label = "Bits per byte after compression"
unit = "bits/byte"
digits = 4
from = [
  '^legal_ttt_exact .*val_bpb:(\S+)',
  'quantized_ttt\S* .*val_bpb:\s*(\S+)',
  '^final_(?:int8_)?ttt_lora .*val_bpb:(\S+)',
  '^(?:final_\w*sliding\w*|quantized_sliding_window) .*val_bpb:(\S+)',
  '^final_\w+_roundtrip\w* .*val_bpb:(\S+)',
  "/val_bpb",
]
[metrics.artifact_bytes]
label = "Artifact size"
unit = "bytes"
from = ['Total submission size [^:]+: (\d+) bytes', '^budget:(\d+)/16000000', "/bytes_total"]
[metrics.trained_ms]
label = "Training time"
unit = "ms"
from = ['stopping_early: wallclock_cap train_time: ?(\d+)ms']
[limits]
artifact_bytes = 16_000_000
trained_ms = 600_250            # the clock is looked at after a step
[significance]
margin = 0.002
[finish]
by = "time-limit"
[log]
patterns = ['^(?:\d+\.\d+ +)?(?P<step>\d+)/(?P<total>\d+) val_loss: (?P<loss>\S+)']
[evidence]
accepts = ["log", "results"]
[submissions]
globs = ["records/track_10min_16mb/*/"]
"""

IMAGENET = r"""
schema_version = 1
id = "imagenet"
title = "Time to 93 % (top 5) on ImageNet"
objective = "target"
[quality]
metric = "loss"
goal = "max"
target = 93
unit = "%"
[cost]
metric = "training_time_s"
unit = "s"
[significance]
test = "none"
[finish]
by = "target"
[log]
patterns = ['^(?P<step>\d+)(?:\.\d+)?\t(?P<time_h>\S+)\t\S+\t(?P<loss>\S+)']
[evidence]
accepts = ["log"]
[submissions]
globs = ["ImageNet/train/*.tsv"]
"""


def read(name: str) -> Any:
    """The numbers of one competition."""
    return json.loads((HOSTED / f"{name}.json").read_text())


def new_root(root: Path, track: str, text: str) -> Path:
    """A repository of theirs in which the one file of ours is the track."""
    (root / "tracks").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / f"tracks/{track}.toml").write_text(text)
    return root


def golf_log(runs: list[Any]) -> str:
    """The log of one or more trainings: validations, the stop, the size, the final lines."""
    lines: list[str] = []
    for validations, stopped, size, finals in runs:
        for step, total, loss, clock in validations:
            timed = f"step:{step}/{total} val_loss:{loss} val_bpb:1.5 train_time:{clock}ms"
            lines.append(timed if clock is not None else f"{step}/{total} val_loss: {loss}")
        if stopped is not None:
            lines.append(f"stopping_early: wallclock_cap train_time: {stopped}ms")
        if size is not None:
            lines.append(f"Total submission size int6+brotli: {size} bytes")
        lines += [f"{form} val_loss:2.0 val_bpb:{bpb:.8f}" for form, bpb in finals]
    return "\n".join(lines) + "\n"


def write_golf(root: Path) -> Path:
    """The record folders of the golf competition: its submission.json, its logs, a list of
    packages among them."""
    new_root(root, "golf", GOLF)
    for entry in read("golf")["entries"]:
        folder = root / "records/track_10min_16mb" / entry["folder"]
        for name, runs in entry["logs"]:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(golf_log(runs) if runs else "numpy\nbrotli\n")
        if "stated" in entry:
            stated = {"author": "example-user", "track": "10min_16mb", **entry["stated"]}
            (folder / "submission.json").write_text(json.dumps(stated))
    return root


def write_imagenet(root: Path) -> Path:
    """The tables of the ImageNet competition: epoch, hours, two accuracies."""
    new_root(root, "imagenet", IMAGENET)
    folder = root / "ImageNet/train"
    folder.mkdir(parents=True)
    for name, rows in read("imagenet")["entries"].items():
        table = [["epoch", "hours", "top1Accuracy", "top5Accuracy"], *rows]
        (folder / f"{name}.tsv").write_text("".join("\t".join(row) + "\n" for row in table))
    return root
