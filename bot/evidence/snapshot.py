"""Snapshots: a run as it was when it was verified, canonical, hashed, compressed, append-only.

    snapshot = encode(run)                    # bytes, < 200 KB for 10,000 points
    run = decode(snapshot)                    # source "snapshot"
    Snapshots(Path("evidence")).add(run)      # never changes a file that is there

`metrics_sha256(run)` is over what was measured (validation points, further history, stated total)
and nothing else: the same training gives the same hash whether it was read online or from its
offline file. A snapshot holds allow-listed fields only: no host, user, path, e-mail, argument or
free text of the run; of its configuration numbers and switches, and a digest of the whole.

The file is xz over JSON; series of numbers are stored as 64-bit columns, byte by byte (all first
bytes, all second bytes, ...), which halves what general compression makes of them.
"""

from __future__ import annotations

import base64
import dataclasses as dc
import hashlib
import json
import lzma
import math
import re
import struct
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.compute.shapes import precision_of, states_precision
from bot.evidence import machine
from bot.evidence.arm_names import option, should_be_equal
from bot.evidence.links import LinkProblem, RunRef, parse_link
from bot.evidence.wandb.command_line import PREFIX
from bot.evidence.wandb.history import flatten
from bot.model.run import DIGEST, Run
from bot.model.serial import read
from bot.model.track import RECIPE_TEXTS
from bot.patterns import LOGIN_TEXT
from bot.registry import Level, Status, catalogue

SCHEMA_VERSION = 1
SUFFIX = ".json.xz"
RECORDS = ".speedrun/verdicts/*.json"
_COPY = "duplicate-run"
_COUNTED = frozenset(status for status in Status if status.counts)
MAX_BYTES = 64 * 1024 * 1024
_METRICS = ("bpb", "time_s", "tokens", "train_loss")
_SOFTWARE = ("cuda", "jax", "jaxlib", "numpy", "python", "pytorch", "torch", "triton", "wandb")
_TEXTS: tuple[str, ...] = ("file", "run_id", "entity", "project", "state", "nonce")
_TEXTS += ("data_fingerprint", "created_at", "finished_at")
_CONFIG_WORDS: tuple[str, ...] = ("validation_fingerprint", "precision", "backend")
_CONFIG_WORDS += ("speedrun", "github_login", *RECIPE_TEXTS)
_CONFIG_WORDS += ("data.corpus", "train.precision", "train.sharding")
_WORD = re.compile(r"[A-Za-z0-9_.+:/ -]{1,200}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,80}", re.ASCII)
# A fingerprint begins with the name of its hash and a colon.
_SETTING = re.compile(r"[A-Za-z0-9_.:-]{1,80}", re.ASCII)
_TAG = re.compile(rf"(?:speedrun:)?{LOGIN_TEXT}")
_DEVICE = re.compile(r"[A-Za-z0-9 ._()/+-]{1,80}", re.ASCII)


class SnapshotError(ValueError):
    """Bytes that are not a snapshot of ours; the message is one sentence."""


def canonical(value: Any) -> bytes:
    """JSON with sorted keys, no spaces and no non-finite number."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode()


def _series(run: Run) -> list[str]:
    """The series of a run that are kept: the usual ones, then a track's own metrics by name."""
    own = sorted(name for name in run.history if name not in _METRICS and _NAME.fullmatch(name))
    return [*(name for name in _METRICS if name in run.history), *own]


def metrics_sha256(run: Run) -> str:
    """The digest of what the run measured. Whole numbers and floats of equal value are equal."""
    series = {name: run.history[name] for name in _series(run)}
    measured = {
        "validation": [_floats(point) for point in run.validation],
        "history": {name: [_floats(point) for point in points] for name, points in series.items()},
        "total_steps": run.total_steps,
    }
    return hashlib.sha256(canonical(measured)).hexdigest()


VOLATILE = frozenset({"seed", "nonce", "name", "run_name", "run_id", "output_dir", "out"})
"""Last parts of configuration keys that differ between runs of one configuration."""


def config_sha256(config: Mapping[str, Any]) -> str:
    """The digest of a configuration, less volatile keys and what names begin with `_`."""
    kept = {
        key: value
        for key, value in config.items()
        if not key.startswith("_") and key.rpartition(".")[2] not in VOLATILE
    }
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def restrict(run: Run) -> Run:
    """The run with allow-listed fields only: what a snapshot and a comment may show."""
    config = {
        key: value
        for key, value in flatten(run.config).items()
        if _NAME.fullmatch(key) and _plain(value) and _may_be_kept(key)
    }
    device, branch = run.hardware.device, run.branch_point
    digest = run.config.get(DIGEST, config_sha256(run.config))
    return dc.replace(
        run,
        name=None,
        history={name: run.history[name] for name in _series(run)},
        hardware=dc.replace(
            run.hardware, device=device if device and _DEVICE.fullmatch(device) else None
        ),
        software={k: v for k, v in run.software.items() if k in _SOFTWARE and _NAME.fullmatch(v)},
        config=config | _words(run.config) | {DIGEST: digest},
        tags=tuple(tag for tag in run.tags if _TAG.fullmatch(tag))[:20],
        code_sha256={k: v for k, v in run.code_sha256.items() if _plain_path(k)},
        state=_word(run.state),
        nonce=_word(run.nonce),
        data_fingerprint=_word(run.data_fingerprint),
        created_at=_word(run.created_at),
        finished_at=_word(run.finished_at),
        heartbeat_at=_word(run.heartbeat_at),
        branch_point=branch and branch._replace(run_id=_word(branch.run_id)),
        witnesses=tuple(filter(machine.may_be_kept, run.witnesses)),
    )


def _may_be_kept(name: str) -> bool:
    """Whether a setting may be kept, if its value may: of the command's arguments only those in
    which two arms should not differ."""
    return not name.startswith("_") or (name.startswith(PREFIX) and should_be_equal(name))


def _words(config: Mapping[str, Any]) -> dict[str, str]:
    """The texts of a configuration that rules read: options in which two arms may differ, each as
    one word, precisions by their usual names, and a few more."""
    flat = flatten(config)
    found = {name: flat.get(name, config.get(name)) for name in _CONFIG_WORDS}
    kept = {k: v for k, v in found.items() if isinstance(v, str) and _SETTING.fullmatch(v)}
    for name, value in flat.items():
        if name in kept or not _may_be_kept(name) or not _NAME.fullmatch(name):
            continue
        if isinstance(value, str) and states_precision(name):
            value = precision_of({name: value})
        elif not should_be_equal(name, value):
            continue
        if (word := option(name, value)) is not None:
            kept[name] = word
    return kept


def encode(run: Run) -> bytes:
    """The snapshot of a run. The same run gives the same bytes."""
    run = restrict(run)
    document = {
        "schema_version": SCHEMA_VERSION,
        "metrics_sha256": metrics_sha256(run),
        "run": {
            **{name: getattr(run, name) for name in _TEXTS},
            "index": run.index,
            "total_steps": run.total_steps,
            "last_step": run.last_step,
            "finished": run.finished,
            "seed": run.seed,
            "hardware": dc.asdict(run.hardware),
            "software": dict(run.software),
            "config": dict(run.config),
            "tags": list(run.tags),
            "code_sha256": dict(run.code_sha256),
            "metrics": dict(run.metrics),
            "summary_values": dict(run.summary_values),
            "problems": [list(problem) for problem in run.problems],
            **_recorded(run),
        },
        "validation": _pack([(v.step, v.loss, _nan(v.time_s)) for v in run.validation], 3),
        "history": {name: _pack(points, 2) for name, points in run.history.items()},
        "step_times_s": _pack([(t,) for t in run.step_times_s], 1),
    }
    return lzma.compress(canonical(document), preset=6)


def _recorded(run: Run) -> dict[str, Any]:
    """What the client and the servers recorded by themselves, as far as a run has it."""
    found: dict[str, Any] = {
        "runtime_s": run.runtime_s,
        "runtimes": [list(point) for point in run.runtimes],
        "heartbeat_at": run.heartbeat_at,
        "branch_point": None if run.branch_point is None else list(run.branch_point),
        "nodes": run.nodes,
        "client_marks": list(run.client_marks),
        "witnesses": [list(witness) for witness in run.witnesses],
        "program": [list(stated) for stated in run.program],
    }
    return {name: value for name, value in found.items() if value not in (None, [])}


def decode(data: bytes) -> Run:
    """The run of a snapshot, `source` "snapshot". Raises SnapshotError on anything else."""
    try:
        document = json.loads(lzma.LZMADecompressor().decompress(data, MAX_BYTES))
        version = document["schema_version"]
        if version != SCHEMA_VERSION:
            raise SnapshotError(f"snapshot has schema_version {version}, we know {SCHEMA_VERSION}")
        run = _decode(document)
    except (lzma.LZMAError, EOFError, KeyError, TypeError, ValueError, struct.error) as error:
        if isinstance(error, SnapshotError):
            raise
        raise SnapshotError(f"not a snapshot: {type(error).__name__}") from error
    if metrics_sha256(run) != document["metrics_sha256"]:
        raise SnapshotError("the snapshot's numbers do not have its own metrics hash")
    return run


def _decode(document: Mapping[str, Any]) -> Run:
    validation = [
        (int(step), loss, None if math.isnan(time) else time)
        for step, loss, time in _unpack(document["validation"], 3)
    ]
    history = {
        name: [(int(step), value) for step, value in _unpack(column, 2)]
        for name, column in document["history"].items()
    }
    series = {
        "validation": validation,
        "history": history,
        "step_times_s": [time for (time,) in _unpack(document["step_times_s"], 1)],
    }
    return read(Run, {**document["run"], **series, "source": "snapshot"})


def _pack(rows: Sequence[Sequence[float]], width: int) -> list[str]:
    """Columns of numbers as base64 of byte-transposed doubles; steps as differences."""
    columns = [[float(row[n]) for row in rows] for n in range(width)]
    if width > 1:
        steps = columns[0]
        columns[0] = [b - a for a, b in zip([0.0, *steps], steps, strict=False)]
    packed = []
    for column in columns:
        data = struct.pack(f"<{len(column)}d", *column)
        packed.append(base64.b64encode(b"".join(data[n::8] for n in range(8))).decode())
    return packed


def _unpack(packed: Sequence[str], width: int) -> list[tuple[float, ...]]:
    columns = []
    for text in packed:
        data = base64.b64decode(text, validate=True)
        count = len(data) // 8
        planes = [data[n * count : (n + 1) * count] for n in range(8)]
        whole = bytes(byte for group in zip(*planes, strict=True) for byte in group)
        columns.append(list(struct.unpack(f"<{count}d", whole)))
    if len(columns) != width:
        raise SnapshotError(f"the snapshot has {len(columns)} columns, expected {width}")
    if width > 1:
        total, steps = 0.0, []
        for difference in columns[0]:
            total += difference
            steps.append(total)
        columns[0] = steps
    return list(zip(*columns, strict=True))


@dc.dataclass(frozen=True, slots=True)
class Snapshots:
    """The folder of snapshots: `ENTITY/PROJECT/ID/NNNN-HASH.json.xz`, numbered as they came."""

    root: Path

    def versions(self, ref: RunRef) -> tuple[Path, ...]:
        """The snapshots of a run, oldest first."""
        folder = self.root / folder_of(ref)
        return tuple(sorted(folder.glob(f"*{SUFFIX}"))) if folder.is_dir() else ()

    def latest(self, ref: RunRef) -> Run | None:
        """The newest snapshot of a run, or None. Raises SnapshotError where it is damaged."""
        paths = self.versions(ref)
        if not paths:
            return None
        if paths[-1].stat().st_size > MAX_BYTES:
            raise SnapshotError(f"{paths[-1].name} has more than {MAX_BYTES} bytes")
        return decode(paths[-1].read_bytes())

    def add(self, run: Run) -> Path | None:
        """Write a new version, unless the newest one measured the same; None where it did."""
        named = name_of(run, len(self.versions(ref_of(run))))
        before = self.latest(ref_of(run))
        if before is not None and metrics_sha256(before) == metrics_sha256(run):
            return None
        path = self.root / named
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(encode(run))
        return path

    def received(self) -> Mapping[str, str]:
        """Submission -> the date of its result as it was recorded at its first merge, ISO 8601.

        The record of each pull request lies beside the snapshots; one that cannot be read says
        nothing.
        """
        dates: dict[str, str] = {}
        for verdict in self._records():
            name, date = str(verdict["submission"]), verdict.get("date")
            if verdict["status"] in _COUNTED and isinstance(date, str) and date:
                dates[name] = min(date, dates.get(name, date))
        return dates

    def against(self) -> Mapping[str, str]:
        """Submission -> the frozen baseline that its arm ran, as its last merge recorded it."""
        return {
            str(verdict["submission"]): verdict["against"]
            for verdict in self._records()
            if isinstance(verdict.get("against"), str)
        }

    def copies(self) -> Mapping[str, str]:
        """Submission -> of what its last merge recorded it to be a copy, in words."""
        found = {}
        for verdict in self._records():
            said = [f for f in verdict.get("findings", ()) if f["rule"] == _COPY]
            accepted = _COPY in (verdict.get("accepted") or ())
            errors = [str(f["message"]) for f in said if f["level"] == Level.ERROR and not accepted]
            found[str(verdict["submission"])] = errors[0] if errors else ""
        return {name: text for name, text in found.items() if text}

    def accepted(self) -> Mapping[str, Mapping[str, str]]:
        """Submission -> what maintainers accepted at its last merge: rule, and why and by whom."""
        found = {}
        for verdict in self._records():
            rules = verdict.get("accepted")
            found[str(verdict["submission"])] = {
                rule: why
                for rule, why in (rules.items() if isinstance(rules, dict) else ())
                if rule in catalogue() and isinstance(why, str)
            }
        return found

    def _records(self) -> Iterator[Mapping[str, Any]]:
        for path in sorted(self.root.glob(RECORDS)):
            try:
                verdicts = json.loads(path.read_bytes())["verdicts"]
                yield from [v for v in verdicts if v["submission"] and v["status"]]
            except (OSError, ValueError, KeyError, TypeError):
                continue

    def __iter__(self) -> Iterator[RunRef]:
        """Every run that has a snapshot."""
        for folder in sorted({path.parent for path in self.root.glob(f"*/*/*/*{SUFFIX}")}):
            yield RunRef(*map(urllib.parse.unquote, folder.relative_to(self.root).parts))


def ref_of(run: Run) -> RunRef:
    """The W&B run that `run` is. Raises SnapshotError for a run that has no link."""
    found = parse_link(run.file)
    if isinstance(found, LinkProblem):
        raise SnapshotError(
            f"{run.file[:100]} is not a W&B run: there is nothing to keep beside its file"
        )
    return found


def folder_of(ref: RunRef) -> str:
    """The folder of a run's snapshots, relative to the root; its parts are checked names."""
    return "/".join(urllib.parse.quote(part, safe="") for part in ref)


def name_of(run: Run, version: int = 0) -> str:
    """The path of a snapshot relative to the root of the evidence."""
    return f"{folder_of(ref_of(run))}/{version:04d}-{metrics_sha256(run)[:12]}{SUFFIX}"


def _floats(point: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else float(value) for value in point]


def _nan(value: float | None) -> float:
    return math.nan if value is None else value


def _plain(value: Any) -> bool:
    if isinstance(value, bool):
        return True
    return isinstance(value, int | float) and math.isfinite(value) and abs(value) < 1e30


def _plain_path(name: str) -> bool:
    return name == "" or (_WORD.fullmatch(name) is not None and ".." not in name)


def _word(value: str | None) -> str | None:
    return value if value is not None and _WORD.fullmatch(value) else None
