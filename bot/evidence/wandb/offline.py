"""Offline files of W&B (`run-ID.wandb`): records in the block format of LevelDB's log.

A file is a header of 7 bytes and blocks of 32 KiB; a record is cut into chunks, each with a CRC-32,
a length and a type. A file that ends in the middle of a record, as one copied from a running
machine does, gives what stands before, and says so.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import importlib
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from bot.evidence import machine, parallel, second
from bot.evidence.boards import boards_of
from bot.evidence.wandb.build import build_run, unread
from bot.evidence.wandb.client_records import KINDS, ClientRecords
from bot.evidence.wandb.command_line import settings_of
from bot.evidence.wandb.contradictions import contradictions
from bot.evidence.wandb.history import Raw, Row, flatten, read_columns, with_defaults
from bot.evidence.wandb.marks import FEATURES, Marks, hardware_of, nodes_of, other_cards
from bot.evidence.wandb.second import read_second
from bot.model.run import BranchPoint, Run
from bot.model.track import Keys
from bot.render.untrusted import plain

_BLOCK = 32 * 1024
_CHUNK = struct.Struct("<IHB")
_MAGIC = b":W&B"
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_SETTLED = {"seed", "nonce", "data_fingerprint", "validation_fingerprint", "precision", "device"}
_SETTLED |= {*second.LENGTHS, *parallel.COUNTS, *second.BATCHES}
_SOFTWARE = ("torch", "jax", "numpy", "triton", "flash-attn", "transformers")


class OfflineFileError(ValueError):
    """The bytes are not a W&B offline file; the message is one sentence."""


def read_offline(data: bytes, file: str, keys: Keys) -> Run:
    """The run of an offline file. Raises OfflineFileError where there is none to be read.

    Needs the `wandb` package for its record definitions. What cannot be read to the end is a
    problem of the run (`history-gap`), not an error.
    """
    if data[:4] != _MAGIC or len(data) < 7:
        raise OfflineFileError(f"{file}: not a W&B offline file, it does not begin with :W&B")
    protocol: Any = importlib.import_module("wandb.proto.wandb_internal_pb2")

    raw = Raw("wandb-offline", file)
    rows: list[Row] = []
    facts = _nothing_yet()
    damage = None
    count = 0
    for payload in _payloads(data):
        if isinstance(payload, str):
            damage = payload
            break
        try:
            record = protocol.Record.FromString(payload)
        except Exception as error:  # protobuf's DecodeError has no public home in all versions
            damage = f"record {count + 1} cannot be decoded ({type(error).__name__})"
            break
        count += 1
        _take(record, rows, facts)
    if "run" not in facts:
        raise OfflineFileError(f"{file}: holds no run, {damage or f'{count} records were read'}")
    _fill(raw, facts)
    raw.problems += [facts["twice"]] if "twice" in facts else []
    if damage is not None:
        raw.problems.append(("history-gap", f"{damage}; {len(rows)} rows before were read"))
    resolved = with_defaults(keys)
    raw.problems += contradictions(rows, resolved, raw.config)
    columns = read_columns(rows, resolved)
    read_second(rows, columns, resolved, raw)
    present = frozenset(key for row in rows for key in row)
    if why := unread(rows, columns, resolved, present):
        raw.problems.append(("metric-missing", why))
    run = build_run(raw, columns, resolved)
    if raw.state == "crashed" and damage is None and run.finished is not False:
        # All of it is there, or no end is stated that it falls short of, and only the last record
        # is missing, as in a file copied too soon.
        run = dc.replace(run, state=None)
    return dc.replace(run, problems=(*run.problems, *facts["beside"].problems(run)))


def _nothing_yet() -> dict[str, Any]:
    """What is known of a run before its first record."""
    empty: dict[str, Any] = {"config": {}, "summary": {}, "tags": (), "features": set(), "said": {}}
    return empty | {"beside": ClientRecords()}


def _payloads(data: bytes) -> Iterator[bytes | str]:
    """The records in order; a text as last item says where and how the file is damaged."""
    position, parts = 7, b""
    while position < len(data):
        left = _BLOCK - position % _BLOCK
        if left < _CHUNK.size:
            position += left
            continue
        if position + _CHUNK.size > len(data):
            yield f"the file ends in the middle of a record at byte {len(data)}"
            return
        crc, size, kind = _CHUNK.unpack_from(data, position)
        if kind == 0 and size == 0:
            position += left
            continue
        chunk = data[position + _CHUNK.size : position + _CHUNK.size + size]
        if len(chunk) < size:
            yield f"the file ends in the middle of a record at byte {len(data)}"
            return
        if zlib.crc32(bytes([kind]) + chunk) != crc or kind > _LAST:
            yield f"the record at byte {position} is damaged"
            return
        position += _CHUNK.size + size
        parts = chunk if kind in (_FULL, _FIRST) else parts + chunk
        if kind in (_FULL, _LAST):
            yield parts
            parts = b""
    if parts:
        yield f"the file ends in the middle of a record at byte {len(data)}"


def _take(record: Any, rows: list[Row], facts: dict[str, Any]) -> None:
    """Add one record to what is known of the run."""
    kind = record.WhichOneof("record_type")
    if kind == "history":
        row = _items(record.history.item)
        if record.history.HasField("step"):
            row.setdefault("_step", record.history.step.num)
        rows.append(row)
    elif kind == "run":
        facts["run"] = record.run
        _configure(facts, record.run.config)
        facts["tags"] = tuple(record.run.tags)
    elif kind == "config":
        _configure(facts, record.config)
    elif kind == "summary":
        facts["summary"] |= _items(record.summary.update)
    elif kind == "environment":
        facts["environment"] = record.environment
        if record.environment.gpu_type:
            found = f"{record.environment.gpu_count} x {record.environment.gpu_type}"
            _say(facts, "the machine", found)
    elif kind == "telemetry":
        facts["features"] |= _features(record.telemetry)
    elif kind in KINDS:
        facts["beside"].take(record)
    elif kind == "exit":
        facts["exit"] = facts.get("exit") or record.exit.exit_code


def _configure(facts: dict[str, Any], config: Any) -> None:
    """Take a record of the configuration, and every value of what no run changes on its way."""
    values = _items(config.update)
    facts["config"] |= values
    for item in config.remove:
        facts["config"].pop(_key(item), None)
    for name, value in values.items():
        last = second.last_part(name)
        if value is not None and (last in _SETTLED or name.startswith("code_sha256")):
            _say(facts, name, value)


def _say(facts: dict[str, Any], name: str, value: Any) -> None:
    """Note a value; the first that is not the one before is a contradiction."""
    if facts["said"].setdefault(name, value) != value:
        first, other = (plain(str(v), 40) for v in (facts["said"][name], value))
        text = f"the file states {plain(name, 60)} as {first} and later as {other}"
        facts.setdefault("twice", ("history-gap", text))


def _features(telemetry: Any) -> set[str]:
    """Our words for the features that the client noted, where its version knows them."""
    names = {field.number: field.name for field in telemetry.feature.DESCRIPTOR.fields}
    return {
        word
        for number, word in FEATURES.items()
        if number in names and getattr(telemetry.feature, names[number])
    }


def _key(item: Any) -> str:
    return ".".join(item.nested_key) or item.key


def _items(items: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for item in items:
        try:
            values[_key(item)] = _value(item)
        except ValueError:
            continue  # a value that is not JSON is not a number, and nothing else is looked for
    return flatten(values)


def _value(item: Any) -> Any:
    """The value of an item: newer files have it typed, all have it as JSON."""
    if item.value_json:
        return json.loads(item.value_json)
    names = {field.name for field in item.DESCRIPTOR.fields}
    for name in ("boolean", "integer", "number", "text", "json"):
        if name in names and item.HasField(name):
            value = getattr(item, name)
            return json.loads(value) if name == "json" else value
    return None


def _fill(raw: Raw, facts: Mapping[str, Any]) -> None:
    run = facts["run"]
    raw.run_id, raw.name = run.run_id or None, run.display_name or None
    raw.entity, raw.project = run.entity or None, run.project or None
    raw.config = {k: v for k, v in facts["config"].items() if not k.startswith("_wandb")}
    raw.summary, raw.tags = facts["summary"], facts["tags"]
    raw.labels, raw.notes = (run.run_group, run.job_type), run.notes or None
    raw.marks = _marks(run, facts["features"] | _features(run.telemetry))
    if run.HasField("start_time"):
        raw.created_at = _time(run.start_time.seconds, run.start_time.nanos)
    if "exit" in facts:
        raw.state = "finished" if facts["exit"] == 0 else "failed"
    else:
        raw.state = "crashed"  # without its last record a run has not ended by itself
    environment = facts.get("environment")
    if environment is not None:
        seen = _metadata(environment)
        raw.hardware = hardware_of(seen)
        raw.problems += other_cards(seen)
        raw.witnesses += [*boards_of(seen), *machine.recorded(seen)]
        raw.arguments = settings_of(seen.get("args"))
        raw.marks = raw.marks._replace(nodes=nodes_of(seen))
        if environment.python:
            raw.software = {"python": environment.python}
        if environment.cuda_version:
            raw.software = {**raw.software, "cuda": environment.cuda_version}


def _marks(run: Any, features: set[str]) -> Marks:
    """The client's marks: what the run continues, and how."""
    branch = None
    names = {field.name for field in run.DESCRIPTOR.fields}
    if "branch_point" in names and run.HasField("branch_point"):
        step = run.branch_point.value
        branch = BranchPoint(run.branch_point.run or None, int(step) if step >= 0 else None)
    if run.resumed:
        features = features | {"resumed"}
    return Marks(tuple(word for word in FEATURES.values() if word in features), branch)


def _metadata(environment: Any) -> dict[str, Any]:
    """The record of the machine under the names that it has in `wandb-metadata.json`."""
    json_format: Any = importlib.import_module("google.protobuf.json_format")
    found: dict[str, Any] = json_format.MessageToDict(environment, preserving_proto_field_name=True)
    return found | {"gpu": found.get("gpu_type")}


def _time(seconds: int, nanos: int) -> str | None:
    try:
        moment = dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{moment}.{nanos // 1000:06d}Z" if 0 < nanos < 10**9 else f"{moment}Z"
    except (OverflowError, OSError, ValueError):
        return None
