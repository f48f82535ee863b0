"""A submission to the small track whose eight runs lie on the W&B double."""

from __future__ import annotations

import functools as ft
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bot.evidence.gather import Fetcher, gather
from bot.evidence.links import RunRef
from bot.evidence.snapshot import Snapshots
from bot.model.submission import Folder
from bot.model.track import Track
from bot.model.verdict import Verdict
from bot.parse.track_toml import load_tracks
from bot.verify import verify
from tests.bot.evidence.wandb.training import CONFIG, METADATA, OWNER, history
from tests.conftest import ROOT
from tests.doubles.wandb import WandbDouble

LOSSES = (3.2771, 3.2768, 3.2775, 3.2764, 3.2780, 3.2769, 3.2773, 3.2766)
REFS = tuple(RunRef("example-team", "nanogpt", f"r{n}") for n in range(len(LOSSES)))
PATH = "submissions/nanogpt-small/example"


@ft.cache
def tracks() -> dict[str, Track]:
    """The tracks of this repository."""
    return load_tracks(ROOT)


def fill(server: WandbDouble, refs: Sequence[RunRef] = REFS, **fields: Any) -> None:
    """Put a good run behind each ref; `fields` change all of them."""
    for n, ref in enumerate(refs):
        config = CONFIG | {"seed": n, "nonce": f"{n:032x}"}
        values = {"config": config, "files": {"wandb-metadata.json": METADATA}, "tags": [OWNER]}
        values |= fields
        server.add_run(*ref, history=history(n, final=LOSSES[n % len(LOSSES)]), **values)


def document(refs: Sequence[RunRef] = REFS, **changes: Any) -> dict[str, Any]:
    """The submission.json."""
    return {
        "schema_version": 1,
        "track": "nanogpt-small",
        "title": "An example",
        "summary": "Eight runs of an example with nothing new in it.",
        "contributors": [{"github": "example-user", "roles": ["code", "runs"]}],
        "code": {"path": "train.py"},
        "runs": [{"source": "wandb", "link": ref.url} for ref in refs],
    } | changes


def folder(value: dict[str, Any], **files: bytes) -> Folder:
    """The folder of a submission with a training script and more files."""
    text = json.dumps(value, indent=2).encode()
    return Folder(PATH, {"submission.json": text, "train.py": b"import this\n", **files})


def judged(
    fetcher: Fetcher | None,
    value: dict[str, Any] | None = None,
    snapshots: Path | None = None,
    **files: bytes,
) -> Verdict:
    """The verdict on a submission, by the path that every door takes."""
    kept = None if snapshots is None else Snapshots(snapshots)
    read = ft.partial(gather, online=fetcher, snapshots=kept)
    return verify(folder(value or document(), **files), tracks(), gather=read)


def rules(verdict: Verdict) -> dict[str, str]:
    """Rule -> level of everything found."""
    return {f.rule: str(f.level) for f in verdict.findings}
