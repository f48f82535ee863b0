"""Record folders as modded-nanogpt has them."""

import json
from pathlib import PurePosixPath

from bot.importers import Origin
from bot.importers.modded_nanogpt import read_records

ORIGIN = Origin("https://github.com/example/board", "c" * 40)
SMI = (
    "| NVIDIA-SMI 550.1   Driver Version: 550.1   CUDA Version: 12.4 |\n"
    + "".join(
        f"|   {i}  NVIDIA H100 80GB HBM3   On  | 00000000:{i:02X}:00.0 Off |   0 |\n"
        for i in range(8)
    )
    + "|    0   N/A  N/A     12345   C   /home/somebody/bin/python   1234MiB |\n"
)
SOURCE = (
    "import os\n\ndef main():\n"
    '    print(f"step:{step}/{total} val_loss:{val_loss:.4f} train_time:{t:.0f}ms")\n'
)
RULE = "=" * 100 + "\n"


def log(seed, total=1000, ms=60.0, gpus=8, end=None):
    """A whole log as the competition writes it: source, environment, training and validation."""
    head = SMI if gpus == 8 else f"Running on device_name=NVIDIA H100 with world_size={gpus}\n"
    lines = [SOURCE, RULE, "Running PyTorch 2.10.0 compiled for CUDA 12.6\n", head, RULE]
    for step in range(0, (end or total) + 1, 250):
        clock = f"train_time:{step * ms:.0f}ms step_avg:{ms:.2f}ms"
        if step:
            lines.append(f"step:{step}/{total} train_loss:3.{300 - seed} {clock}\n")
        lines.append(f"step:{step}/{total} val_loss:3.{9000 - step * 6 - seed:04d} {clock}\n")
    return "".join(lines)


def put(root, **files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def read(root, groups=None):
    return read_records(root, groups, ORIGIN)


def arms_of(item):
    data = json.loads(item.files["submission.json"])
    found = {"candidate": set(), "baseline": set()}
    for run in data["runs"]:
        found[run["arm"]].add(PurePosixPath(run["path"]).stem)
    return found


def only(result):
    (item,) = result.submissions
    return item


FOLDER = "records/track_1_short/2025-12-21_SmoothedScalars/"
