"""Fuzz the reader and `check`: mutated results files and folders must never crash, hang or swell.

    python -m tests.fuzz.fuzz_check --minutes 30 [--seed 1] [--keep FOLDER]

Inputs are mutations of the corpus, of their bytes or of their values, judged as a bare file and as
a submission folder and shown in all four formats. A property that does not hold is a failure: the
input is written to FOLDER and the run goes on; the exit status is 1.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import resource
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bot.model.submission import Folder
from bot.model.verdict import Verdict
from bot.parse.track_toml import load_tracks
from bot.registry import Status, catalogue
from bot.render.terminal import to_json
from bot.render.untrusted import unsafe_in
from bot.verify import verify
from tests.conftest import ROOT
from tests.corpus.harmless import harmless
from tests.corpus.hostile import hostile
from tests.corpus.test_submission_corpus import good as good_submission
from tests.corpus.variants import load
from tests.printed import printed

TRACKS = load_tracks(ROOT)
SECONDS = 5.0
"""No input of at most 1 MB may take longer; ordinary ones take 5 ms."""
SWELL_BYTES = 400_000_000
NAMES = (
    "v0",
    "v1_fp32",
    "v1_minutes",
    "v2",
    "v2_cores",
    "v2_h200",
    "v3",
    "v4",
    "v4_gdn",
    "v4_auto",
    "v4_gate",
    "v4_h100",
)
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -0.0,
    1,
    -1,
    0.1,
    1e308,
    -1e308,
    5e-324,
    10**59,
    -(10**59),
    2**63,
    float("nan"),
    float("inf"),
    "",
    " ",
    "NaN",
    "Infinity",
    "-inf",
    "1e999",
    "v5p-32",
    "v4-7",
    "8x H100",
    "x" * 5000,
    "\u202e",
    "\ud800",
    "\x00",
    "\U0001f600" * 50,
    [],
    {},
    [[]],
    [{}],
    {"a": None},
    [1] * 300,
    "https://wandb.ai/e/p/runs/r",
    "gs://b/c",
    "javascript:x",
    "2025-06-28 21:52:29 UTC",
    "9999-12-31 23:59:59 -23:59",
    "/home/example/x",
    "../../etc/passwd",
    "0" * 400,
    "1" + "0" * 30 + "e30",
    "(((((((((((",
    "a/b/c/d/e/f",
    "%00",
    "\\",
    "`|<b>",
)


def nodes(value: Any) -> list[tuple[Any, Any]]:
    """(container, key or index) of every place in a value."""
    found, stack = [], [value]
    while stack:
        item = stack.pop()
        inside = (
            item.items()
            if isinstance(item, dict)
            else (enumerate(item) if isinstance(item, list) else ())
        )
        for key, inner in inside:
            found.append((item, key))
            stack.append(inner)
    return found


def mutate_value(value: Any, dice: random.Random) -> Any:
    """A copy with 1 to 6 places replaced, removed, renamed, swapped, doubled or scaled."""
    value = copy.deepcopy(value)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 6))):
        places = nodes(value)
        if not places:
            return dice.choice(ODD)
        holder, key = dice.choice(places)
        act = dice.randrange(7)
        if act == 0 and isinstance(holder, dict):
            del holder[key]
        elif act == 1 and isinstance(holder, dict):
            holder[dice.choice((str(key)[:-1], f"{key}s", str(key).upper(), "x"))] = holder.pop(key)
        elif act == 2 and isinstance(holder[key], (int, float)):
            holder[key] *= dice.choice((2, 0.5, 60, 1 / 60, -1, 1e6, 1.001, 0))
        elif act == 3:
            other, place = dice.choice(places)
            if place in other if isinstance(other, dict) else place < len(other):
                holder[key] = copy.deepcopy(other[place])
        elif act == 4 and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        elif act == 5 and isinstance(holder, dict):
            holder[f"new{dice.randrange(9)}"] = copy.deepcopy(dice.choice(ODD))
        else:
            holder[key] = copy.deepcopy(dice.choice(ODD))
    return value


def mutate_bytes(data: bytes, other: bytes, dice: random.Random) -> bytes:
    """A copy with bytes changed, cut, doubled, or parts of another input put in."""
    out = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        at = dice.randrange(len(out) + 1)
        size = dice.choice((1, 1, 2, 8, 64))
        act = dice.randrange(6)
        if act == 0:
            out[at : at + size] = bytes(dice.randrange(256) for _ in range(size))
        elif act == 1:
            del out[at : at + size]
        elif act == 2:
            marks = (b"{", b"[", b'"', b",", b":", b"\\u", b"}", b"]", b"0")
            out[at:at] = dice.choice(marks) * size
        elif act == 3:
            out[at:at] = out[at : at + size]
        elif act == 4:
            start = dice.randrange(len(other) + 1)
            out[at:at] = other[start : start + size * 8]
        else:
            del out[at:]
        if len(out) > 300_000:
            del out[300_000:]
    return bytes(out)


def probe(data: bytes, submission: bytes | None) -> Verdict:
    """Judge one input and check what must hold of every verdict. Raises AssertionError."""
    if submission is None:
        folder = Folder("r.json", {"r.json": data}, bare=True)
    else:
        folder = Folder(
            "submissions/fineweb-edu/x",
            {"submission.json": submission, "speedrun_results.json": data},
        )
    verdict = verify(folder, TRACKS, track_id="fineweb-edu")
    for finding in verdict.findings:
        assert finding.rule in catalogue() and finding.message, finding
    if verdict.errors:
        assert verdict.status is not Status.VERIFIED
    shown = printed(verdict)
    for text in shown:
        text.encode("utf-8")
        for line in text.split("\n"):
            assert unsafe_in(line) is None, line

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in the report")

    json.loads(to_json([verdict]), parse_constant=refuse)
    return verdict


def fuzz(
    going: Callable[[int], bool], seed: int, failed: Callable[[bytes, bytes | None, str], None]
) -> str:
    """Probe as long as `going(count)` says; a line that sums up."""
    dice = random.Random(seed)
    values = [load(name) for name in NAMES]
    texts = [v.data for v in (*hostile(), *harmless()) if len(v.data) < 100_000]
    listed = json.dumps(good_submission()).encode()
    count, slowest, start = 0, 0.0, memory()
    while going(count):
        if dice.random() < 0.7:
            data = dumped(mutate_value(dice.choice(values), dice))
        else:
            data = mutate_bytes(dice.choice(texts), dice.choice(texts), dice)
        submission = None
        if dice.random() < 0.3:
            submission = (
                dumped(mutate_value(good_submission(), dice))
                if dice.random() < 0.7
                else (mutate_bytes(listed, data, dice))
            )
        began = time.process_time()
        try:
            probe(data, submission)
        except Exception:
            failed(data, submission, traceback.format_exc())
        taken = time.process_time() - began
        slowest = max(slowest, taken)
        if taken > SECONDS:
            failed(data, submission, f"took {taken:.1f} s")
        count += 1
    grown = memory() - start
    if grown > SWELL_BYTES:
        failed(b"", None, f"memory grew by {grown:,} bytes")
    return (
        f"{count:,} inputs, seed {seed}; slowest {slowest:.2f} s, "
        f"memory grew by {grown / 1e6:.0f} MB"
    )


def dumped(value: Any) -> bytes:
    """JSON as a careless program writes it, NaN and lone surrogates included."""
    return json.dumps(value, indent=1).encode("utf-8", "surrogatepass")


def memory() -> int:
    """Peak resident memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> int:
    """Run for the minutes asked for and report."""
    parser = argparse.ArgumentParser(description="Fuzz the reader and check.")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"))
    arguments = parser.parse_args()
    failures: list[str] = []

    def failed(data: bytes, submission: bytes | None, why: str) -> None:
        kind = why.strip().splitlines()[-1]
        if kind in failures:
            return
        failures.append(kind)
        folder = arguments.keep / f"{arguments.seed}-{len(failures)}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "r.json").write_bytes(data)
        if submission is not None:
            (folder / "submission.json").write_bytes(submission)
        (folder / "why.txt").write_text(why, encoding="utf-8", errors="backslashreplace")
        print(f"{folder}: {kind}", file=sys.stderr)

    end = time.monotonic() + arguments.minutes * 60
    print(fuzz(lambda _: time.monotonic() < end, arguments.seed, failed))
    print(f"{len(failures)} kinds of failures")
    return int(bool(failures))


if __name__ == "__main__":
    raise SystemExit(main())
