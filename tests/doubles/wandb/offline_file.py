"""An offline file of W&B from rows: the records that its client writes, in LevelDB's log format.

data = offline_file(rows, config={"seed": 1})
"""

from __future__ import annotations

import importlib
import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

pb: Any = importlib.import_module("wandb.proto.wandb_internal_pb2")
BLOCK, HEADER = 32768, 7
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4


def offline_file(
    rows: Iterable[Mapping[str, Any]],
    *,
    config: Mapping[str, Any] | None = None,
    run_id: str = "r0",
    device: str | None = "NVIDIA H100 80GB HBM3",
    count: int = 8,
    ended: bool = True,
    later: Mapping[str, Any] | None = None,
    began: float | None = None,
    boards: str = "",
    tpu: bool = False,
    said: Mapping[str, str] | None = None,
    args: Sequence[str] = (),
    more: Iterable[Any] = (),
) -> bytes:
    """The bytes of a run with these rows; each has `_step`. `later` is written to its configuration
    after them, `began` is its start in seconds, `boards` the beginning of its GPUs' identities. The
    devices are the chips of a `tpu`, or GPUs; `said` are texts of the run, as `notes`, and `args`
    the arguments of its command; `more` are records as they are."""
    records = [_run(run_id, config or {})]
    for name, text in (said or {}).items():
        setattr(records[0].run, name, text)
    if began is not None:
        records[0].run.start_time.FromMicroseconds(round(began * 1e6))
    if device is not None:
        records.append(_tpu(device, count) if tpu else _machine(device, count, boards))
        records[-1].environment.args.extend(args)
    records += [_row(row) for row in rows]
    if later is not None:
        records.append(_run(run_id, later))
    records += more
    if ended:
        record = pb.Record()
        record.exit.exit_code = 0
        records.append(record)
    return blocks(record.SerializeToString() for record in records)


def _run(run_id: str, config: Mapping[str, Any]) -> Any:
    record = pb.Record()
    record.run.run_id, record.run.project = run_id, "speedrun"
    record.run.tags.append("speedrun:example-user")
    for name, value in config.items():
        item = record.run.config.update.add()
        item.key, item.value_json = name, json.dumps(value)
    return record


def _tpu(device: str, count: int) -> Any:
    record = pb.Record()
    record.environment.tpu.name, record.environment.tpu.count = device, count
    return record


def _machine(device: str, count: int, boards: str) -> Any:
    record = pb.Record()
    record.environment.gpu_type, record.environment.gpu_count = device, count
    for n in range(count):
        card = record.environment.gpu_nvidia.add()
        card.name = device
        if boards:
            card.uuid = f"GPU-{boards}{n}"
    return record


def _row(row: Mapping[str, Any]) -> Any:
    record = pb.Record()
    record.history.step.num = int(row["_step"])
    for name, value in row.items():
        item = record.history.item.add()
        item.nested_key.append(name)
        item.value_json = json.dumps(value)
    return record


def blocks(payloads: Iterable[bytes]) -> bytes:
    """Serialised records as the file holds them."""
    out = bytearray(b":W&B\xe1\xbe\x00")
    for payload in payloads:
        begun, rest = False, payload
        while True:
            left = BLOCK - len(out) % BLOCK
            if left < HEADER:
                out += b"\0" * left
                continue
            chunk, rest = rest[: left - HEADER], rest[left - HEADER :]
            kind = (LAST if begun else FULL) if not rest else (MIDDLE if begun else FIRST)
            out += struct.pack("<IHB", zlib.crc32(bytes([kind]) + chunk), len(chunk), kind) + chunk
            begun = True
            if not rest:
                break
    return bytes(out)
