"""Published results with the right answers, worked out apart from this program.

    golden = unpack(folder)      folder/marin, folder/nanogpt

`marin.tar.xz`: 107 results files of a Pareto competition in five historical shapes, the findings
and numbers that are right for each (`truth.json`), and its board with the right frontier.
`nanogpt.tar.xz`: 928 training logs, trimmed to step, loss, clock and hardware; what each says, and
the statistics of every record's groups. Facts and figures only: descriptions are left out.
`cases/`: small inputs of our own making, each of a kind that was once read wrongly.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

HERE = Path(__file__).parent
CASES = HERE / "cases"


def unpack(folder: Path) -> Path:
    """Unpack both archives below `folder`."""
    for name in ("marin", "nanogpt"):
        with tarfile.open(HERE / f"{name}.tar.xz") as archive:
            archive.extractall(folder / name, filter="data")
    return folder
