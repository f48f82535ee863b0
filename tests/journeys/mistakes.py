"""What newcomers get wrong, each in up to three variants, on one good submission.

A mistake changes the files of the good submission; the rule is the one that must be named first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.model.track import Track
from bot.parse.track_toml import read_track
from tests.track_texts import time_to_loss

Files = dict[str, bytes]
TEXT = time_to_loss("fast", "Time to 3.28", accelerator='["a100-sxm"]')
TRACK = read_track(TEXT.encode(), "tracks/fast.toml")
LOSSES = (3.2771, 3.2775, 3.2768, 3.2774)
SPARE = (3.2770, 3.2773, 3.2769, 3.2776, 3.2772, 3.2767)
"""Losses of further runs that the newcomer can make."""


def log(
    loss: float, salt: int, steps: int = 1000, until: int = 1000, device: str = "A100-SXM4-80GB"
) -> bytes:
    """The text of one training log of 90 seconds."""
    lines = [f"Running PyTorch 2.10.0 compiled for CUDA 12.6 on NVIDIA {device} with world_size 1"]
    for step in range(0, until + 1, 250):
        value = loss + (steps - step) * 0.005 + (steps - step) * salt * 1e-6
        clock = 90.0 * step / steps * (1 + salt * 1e-4)
        lines.append(
            f"step:{step}/{steps} val_loss:{value:.5f} train_time:{clock:.3f}s step_avg:90.00ms"
        )
    return ("\n".join(lines) + "\n").encode()


def good(losses: tuple[float, ...] = LOSSES, device: str = "A100-SXM4-80GB") -> Files:
    """The files of a submission without a mistake."""
    files = {f"logs/{n}.log": log(x, n + 1, device=device) for n, x in enumerate(losses)}
    mean = round(sum(losses) / len(losses), 4)
    data = {
        "schema_version": 1,
        "track": "fast",
        "title": "A larger learning rate",
        "summary": "The learning rate of the embedding is larger, with a warm-up of 100 steps.",
        "contributors": [{"github": "example-user", "roles": ["idea", "runs"]}],
        "hardware": {"accelerator": "a100-sxm", "count": 1},
        "runs": [{"source": "log", "path": name} for name in files],
        "claims": {"loss": {"mean": mean, "n": len(losses)}},
    }
    return {**files, "submission.json": json.dumps(data, indent=2).encode()}


def edit(change: Callable[[dict[str, Any]], object]) -> Callable[[Files], Files]:
    """A mistake in submission.json."""

    def apply(files: Files) -> Files:
        data = json.loads(files["submission.json"])
        change(data)
        return {**files, "submission.json": json.dumps(data, indent=2).encode()}

    return apply


def text(change: Callable[[str], str]) -> Callable[[Files], Files]:
    """A mistake in the text of submission.json."""
    return lambda files: {
        **files,
        "submission.json": change(files["submission.json"].decode()).encode(),
    }


def put(name: str, data: bytes) -> Callable[[Files], Files]:
    """A mistake in another file."""
    return lambda files: {**files, name: data}


@dataclass(frozen=True)
class Mistake:
    """`rule` must be the first cause that is named; `name` is `KIND-VARIANT`."""

    name: str
    rule: str
    make: Callable[[Files], Files]
    folder: str = "submissions/fast/idea"
    track: Track = TRACK


def claim(**values: Any) -> Callable[[Files], Files]:
    return edit(lambda d: d["claims"]["loss"].update(values))


def claiming(**values: Any) -> Callable[[Files], Files]:
    return edit(lambda d: d["claims"].update(values))


def lose(*keys: str) -> Callable[[Files], Files]:
    return edit(lambda d: [d.pop(key) for key in keys])


def rename(old: str, new: str) -> Callable[[Files], Files]:
    return text(lambda t: t.replace(f'"{old}"', f'"{new}"', 1))


def listing(path: str) -> Callable[[Files], Files]:
    """One more run in the list."""
    return edit(lambda d: d["runs"].append({"source": "log", "path": path}))


def linking(link: str) -> Callable[[Files], Files]:
    """One more run, behind a link."""
    return edit(lambda d: d["runs"].append({"source": "wandb", "link": link}))


def copied(files: Files) -> Files:
    return listing("logs/9.log")({**files, "logs/9.log": files["logs/0.log"]})


def hardware(**values: Any) -> Callable[[Files], Files]:
    return edit(lambda d: d["hardware"].update(values))


def losses(*values: float) -> Callable[[Files], Files]:
    return lambda files: good(values)


def without(name: str) -> Callable[[Files], Files]:
    return lambda files: {k: v for k, v in files.items() if k != name}


PROJECT = "https://wandb.ai/example-user/speedrun"
FIRST = "logs/0.log"
MISTAKES = (
    Mistake("folder-capitals", "unsafe-name", dict, "submissions/fast/My-Idea"),
    Mistake("folder-space", "unsafe-name", dict, "submissions/fast/my idea"),
    Mistake("folder-point", "unsafe-name", dict, "submissions/fast/v1.2"),
    Mistake("track-unknown", "schema", edit(lambda d: d.update(track="fastt"))),
    Mistake("track-title", "schema", edit(lambda d: d.update(track="Time to 3.28"))),
    Mistake("track-missing", "schema", lose("track")),
    Mistake("track-folder", "schema", dict, "submissions/slow/idea"),
    Mistake("field-missing-title", "schema", lose("title")),
    Mistake("field-missing-runs", "schema", lose("runs")),
    Mistake("field-missing-contributors", "schema", lose("contributors")),
    Mistake("field-misspelled-title", "schema", rename("title", "titel")),
    Mistake("field-misspelled-runs", "schema", text(lambda t: t.replace('"runs": [', '"run": ['))),
    Mistake("field-misspelled-path", "schema", rename("path", "pth")),
    Mistake("json-comma", "json-invalid", text(lambda t: t.replace("},\n", "}\n", 1))),
    Mistake("json-twice", "json-invalid", text(lambda t: t.replace("{", '{"track": "fast",', 1))),
    Mistake("claim-ms", "claim-differs-from-run", claiming(training_time_s=90022.5)),
    Mistake("claim-minutes", "claim-differs-from-run", claiming(training_time_s=1.5)),
    Mistake("claim-text", "schema", claiming(training_time_s="90 s")),
    Mistake("claim-far", "reported-statistics-wrong", claim(mean=3.3)),
    Mistake("claim-best", "reported-statistics-wrong", claim(mean=3.2768)),
    Mistake("claim-n", "reported-statistics-wrong", claim(n=5)),
    Mistake("claim-sd", "reported-statistics-wrong", claim(sd=0.1)),
    Mistake("claim-p", "reported-statistics-wrong", claim(p=0.3)),
    Mistake("claim-p-two-sided", "reported-statistics-wrong", claim(p=0.0004)),
    Mistake("runs-none", "schema", edit(lambda d: d.update(runs=[]))),
    Mistake("runs-one", "too-few-runs", losses(*LOSSES[:1])),
    Mistake("runs-two", "target-not-significant", losses(*LOSSES[:2])),
    Mistake("runs-twice", "duplicate-run", listing(FIRST)),
    Mistake("runs-copied", "duplicate-run", copied),
    Mistake("target-missed", "target-missed", losses(*(x + 0.006 for x in LOSSES))),
    Mistake("target-above", "target-missed", losses(3.2799, 3.2801, 3.2803, 3.2802)),
    Mistake("target-just", "target-not-significant", losses(3.2797, 3.2799, 3.2795, 3.2803)),
    Mistake("log-missing", "schema", without(FIRST)),
    Mistake("log-cut", "run-unfinished", put(FIRST, log(3.2771, 1, until=500))),
    Mistake("link-project", "link-not-a-run", linking(PROJECT)),
    Mistake("link-workspace", "link-not-a-run", linking(f"{PROJECT}/workspace?nw=x")),
    Mistake("link-user", "link-not-a-run", linking("https://wandb.ai/example-user")),
    Mistake("link-sweep", "link-not-a-run", linking(f"{PROJECT}/sweeps/abc123")),
    Mistake("link-report", "link-not-a-run", linking(f"{PROJECT}/reports/x--VmlldzoxMjM")),
    Mistake("link-shared", "link-not-a-run", linking("https://api.wandb.ai/links/example-user/a1")),
    Mistake(
        "link-report-token", "link-not-a-run", linking(f"{PROJECT}/reports/x--VmlldzoxMjM/edit")
    ),
    Mistake("link-elsewhere", "host-not-allowed", linking("https://example.org/runs/1")),
    Mistake("gpu-claimed", "hardware-differs-from-run", hardware(accelerator="h100-sxm")),
    Mistake("gpu-count", "hardware-differs-from-run", hardware(count=8)),
    Mistake("gpu-unknown", "hardware-differs-from-run", hardware(accelerator="my fast box")),
)
HARMLESS = (
    ("crlf", text(lambda t: t.replace("\n", "\r\n"))),
    ("rounded", claim(mean=3.277)),
    ("rounded-time", claiming(training_time_s=90.0)),
    ("rounded-two-digits", claim(mean=3.28)),
)
