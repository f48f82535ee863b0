"""The board as files for machines: JSON, CSV and Parquet, under `api/v1/`.

Rows hold what `bot.rank.ranking` and the verdicts say. The shapes are versioned by the path and by
`schema_version`; fields are added, never changed or removed, within a version.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from bot.model.serial import fields_to_json, to_json
from bot.model.summary import Summary
from bot.model.track import Track
from leaderboard_site import text
from leaderboard_site.model import Item, Place, Site, TrackBoard
from leaderboard_site.pages.environment import FEEDS, number
from leaderboard_site.rates import device_of
from leaderboard_site.seasons import seasons
from leaderboard_site.states import state_of

SCHEMA_VERSION = 1
METRICS = (
    "hardware_flops",
    "model_flops",
    "training_time_s",
    "steps",
    "tokens",
    "parameters",
    "mfu",
    "chips",
    "peak_flops",
    "loss",
    "bpb",
    "chip_hours",
    "cost_usd",
)
FINDINGS = ("rule", "level", "message", "file", "line", "pointer", "fix")
RUNS = (
    "file",
    "index",
    "source",
    "run_id",
    "hardware",
    "gpu_count",
    "step",
    "total",
    "finished",
    "state",
    "loss",
    "time_s",
    "seed",
)


def dumps(data: Any) -> str:
    """Compact JSON with sorted keys; a number that is not finite raises ValueError."""
    return (
        json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        + "\n"
    )


def board_rows(site: Site, board: TrackBoard) -> list[dict[str, Any]]:
    """One row a ranked point in the board's order, then one a submission that does not rank."""
    rows = [_row(site, board, item, place) for item, place in board.places]
    rows += [_row(site, board, i, None) for i in board.items.values() if not i.places]
    return rows


def _row(site: Site, board: TrackBoard, item: Item, place: Place | None) -> dict[str, Any]:
    verdict, track = item.verdict, board.track
    entry = place.entry if place else None
    stats = entry.point.summary if entry else Summary()
    low, high = stats.interval or (None, None)
    row: dict[str, Any] = {
        "track": track.id,
        "number": item.number,
        "submission": verdict.submission,
        "point": place.point if place else None,
        "place": entry.place if entry else None,
        "tied": entry.tied if entry else None,
        "on_frontier": entry.on_frontier if entry else None,
        "frontier_chance": entry.frontier_chance if entry else None,
        "quality_metric": track.quality.metric,
        "quality": number(entry.quality) if entry else None,
        "cost_metric": track.cost.metric,
        "cost": number(entry.shown_cost) if entry else None,
        "clock": entry.clock if entry else None,
        "cost_of_its_own_runs": number(entry.cost) if entry else None,
        "ratio": entry.progress.ratio if entry and entry.progress else None,
        "band": entry.band if entry else None,
        "band_place": entry.band_place if entry else None,
        "n": stats.n or None,
        "interval_low": number(low),
        "interval_high": number(high),
        "p": number(stats.p),
        "status": str(verdict.status),
        "evidence": str(verdict.evidence),
        "state": item.standing or None,
        "date": verdict.date,
        "title": text.clean(verdict.title or "", 300) or None,
        "contributors": ", ".join(text.clean(c.github, 60) for c in item.contributors) or None,
        "device": text.clean(device_of(verdict, item.about) or "", 80) or None,
        "why_unranked": text.clean(item.unranked[0], 300) if item.unranked and not place else None,
        "url": site.url + item.url,
    }
    values = place.values if place else {}
    return row | {m: number(values.get(m)) for m in METRICS}


def frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows as a table of nullable columns, so that whole numbers stay whole."""
    names = list(rows[0]) if rows else []
    return pd.DataFrame({n: [row[n] for row in rows] for n in names}).convert_dtypes()


def csv_text(rows: list[dict[str, Any]]) -> str:
    """The rows as CSV; text that a spreadsheet would run as a formula gets a leading quote."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0] if rows else ())
    writer.writerows([_cell(v) for v in row.values()] for row in rows)
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return "'" + value if value[:1] in ("=", "+", "-", "@", "\t") else value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value


def parquet_bytes(table: pd.DataFrame) -> bytes:
    """The table as Parquet."""
    out = io.BytesIO()
    table.to_parquet(out, index=False, compression="zstd")
    return out.getvalue()


def api_files(site: Site) -> Iterator[tuple[str, str | bytes]]:
    """Every file below `api/v1/` but those of single entries."""
    everything: list[dict[str, Any]] = []
    lines = ""
    for board in site.tracks.values():
        rows = board_rows(site, board)
        everything += rows
        head = {"schema_version": SCHEMA_VERSION, "track": _track(board)}
        body = {"entries": rows, "seasons": to_json(seasons(board))}
        yield f"api/v1/{board.track.id}.json", dumps(head | body)
        mine = csv_text(rows)
        lines += mine.partition("\n")[2] if lines else mine
        yield f"api/v1/{board.track.id}.csv", mine
        yield f"api/v1/{board.track.id}.parquet", parquet_bytes(frame(rows))
    yield "api/v1/entries.csv", lines
    yield "api/v1/entries.parquet", parquet_bytes(frame(everything))
    runs = [_run(item, run) for item in site.items for run in item.verdict.runs]
    yield "api/v1/runs.csv", csv_text(runs)
    yield "api/v1/runs.parquet", parquet_bytes(frame(runs))
    findings = [_finding(item, f) for item in site.items for f in item.verdict.findings]
    yield "api/v1/findings.csv", csv_text(findings)
    yield (
        "api/v1/records.json",
        dumps({"schema_version": SCHEMA_VERSION, "records": _records(site)}),
    )
    yield "api/v1/index.json", dumps(_index(site))
    yield (
        "api/v1/schema/board.schema.json",
        dumps(board_schema(site, everything[0] if everything else {})),
    )


def _track(board: TrackBoard) -> dict[str, Any]:
    track = board.track
    return {
        "id": track.id,
        "title": track.title,
        "objective": track.objective,
        "quality": {
            "metric": track.quality.metric,
            "unit": track.quality.unit,
            "goal": track.quality.goal,
            "target": track.quality.target,
        },
        "cost": {"metric": track.cost.metric, "unit": track.cost.unit, "goal": track.cost.goal},
    }


def _records(site: Site) -> list[dict[str, Any]]:
    return [
        {
            "track": b.track.id,
            "date": r.date,
            "submission": r.submission,
            "point": r.point,
            "cost": number(r.cost),
            "quality": number(r.quality),
            "previous": number(r.previous),
            "gain": number(r.gain) if b.track.objective == "target" else None,
            "beat": r.beat,
            "clock": r.clock,
            "cost_of_its_own_runs": number(r.own),
            "number": r.number,
            "superseded_by": r.superseded_by,
            "superseded_on": r.superseded_on,
            "url": site.url + b.items[r.submission].url,
        }
        for b in site.tracks.values()
        for r in b.board.records
    ]


def _run(item: Item, run: Any) -> dict[str, Any]:
    row = {"track": item.verdict.track, "submission": item.path}
    return row | {k: _plain(getattr(run, k)) for k in RUNS}


def _finding(item: Item, finding: Any) -> dict[str, Any]:
    data = fields_to_json(finding)
    return {"track": item.verdict.track, "submission": item.path} | {
        k: _plain(data[k]) for k in FINDINGS
    }


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return text.clean(value, 400)
    return value if isinstance(value, bool | int) or number(value) is not None else None


def _index(site: Site) -> dict[str, Any]:
    names = [b.track.id for b in site.tracks.values()]
    files = [f"{n}.{ext}" for n in names for ext in ("json", "csv", "parquet")]
    files += [
        "entries.csv",
        "entries.parquet",
        "runs.csv",
        "runs.parquet",
        "findings.csv",
        "records.json",
        "schema/board.schema.json",
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "tracks": [
            _track(b)
            | {"entries": len(b.board.entries), "record": b.record[0].path if b.record else None}
            for b in site.tracks.values()
        ],
        "files": [f"{site.url}api/v1/{f}" for f in files],
        "entry": f"{site.url}api/v1/entries/TRACK/SLUG.json",
        "feeds": [f"{site.url}feeds/{n}.xml" for n in (*FEEDS, *names)],
    }


def entry_data(item: Item) -> tuple[str, str]:
    """The verdict as canonical JSON, and its SHA-256: what an entry's page and file state.

    Numbers that are not finite are null, and characters that hide are replaced.
    """
    data = item.verdict.to_json()
    try:
        packed = dumps(data).rstrip("\n")
        plain = packed.isascii() and packed.isprintable() and "\\u" not in packed
    except ValueError:
        plain = False
    if not plain:
        packed = dumps(_finite(data)).rstrip("\n")
    return packed, hashlib.sha256(packed.encode()).hexdigest()


def entry_json(site: Site, board: TrackBoard, item: Item, packed: str, digest: str) -> str:
    """One entry's file: the verdict, where it stands, and what the compare page draws."""
    steps = number(item.verdict.metrics.get("steps"))
    tokens = number(item.verdict.metrics.get("tokens"))
    head = dumps(
        {
            "schema_version": SCHEMA_VERSION,
            "name": text.clean(named(item)),
            "state": state_of(item.verdict).name,
            "community": item.standing or None,
            "target": board.track.quality.target,
            "beat": beaten_name(board, item),
            "builds_on": builds_on(site, item),
            "url": site.url + item.url,
            "sha256": digest,
            "places": [
                {
                    "point": p.point,
                    "place": p.entry.place,
                    "tied": p.entry.tied,
                    "on_frontier": p.entry.on_frontier,
                    "frontier_chance": p.entry.frontier_chance,
                    "quality": number(p.entry.quality),
                    "cost": number(p.entry.shown_cost),
                    "clock": p.entry.clock,
                    "values": {k: number(v) for k, v in p.values.items()},
                }
                for p in item.places
            ],
            "quality_metric": board.track.quality.metric,
            "cost_metric": board.track.cost.metric,
            "labels": _labels(board.track),
            "forms": {m: [board.track.unit(m), board.track.digits(m)] for m in board.track.metrics},
            "tokens_per_step": tokens / steps if tokens and steps else None,
            "people": text.clean(item.people, 120),
        }
    )
    return f'{head.rstrip()[:-1]},"verdict":{packed}}}\n'


def _labels(track: Track) -> dict[str, str]:
    """What people call the metrics that the track ranks by, and those of its own."""
    return {m: track.label(m) for m in (track.quality.metric, track.cost.metric, *track.metrics)}


def named(item: Item) -> str:
    """The number and the title of an entry."""
    return f"#{item.number} {item.title}" if item.number is not None else item.title


def beaten_name(board: TrackBoard, item: Item) -> str | None:
    """Whose record it took, None where it took none."""
    step = board.steps.get(item.path)
    beaten = step.beat if step else None
    other = board.items.get(beaten or "")
    return text.clean(named(other)) if other else beaten


def builds_on(site: Site, item: Item) -> dict[str, str] | None:
    """The entry that it builds on, where that is on file."""
    parent = site.item(item.about.based_on, item.verdict.track) if item.about else None
    return {"name": text.clean(named(parent)), "url": parent.url} if parent else None


def _finite(value: Any) -> Any:
    """JSON values with numbers that are not finite put to null and text made harmless."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    if isinstance(value, float):
        return number(value)
    if isinstance(value, str):
        return text.clean(value, 2000)
    return value


def board_schema(site: Site, row: Mapping[str, Any]) -> dict[str, Any]:
    """JSON Schema of `<track>.json`, whose entries have the fields of `row`."""
    kinds = {k: _type(k) for k in row}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{site.url}api/v1/schema/board.schema.json",
        "title": "The board of one track",
        "type": "object",
        "required": ["schema_version", "track", "entries"],
        "properties": {
            "schema_version": {"const": SCHEMA_VERSION},
            "track": {"type": "object", "required": ["id", "title", "objective"]},
            "seasons": {"type": "array", "items": {"type": "object", "required": ["year"]}},
            "entries": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": sorted(kinds),
                    "properties": {k: {"type": v} for k, v in sorted(kinds.items())},
                },
            },
        },
    }


def _type(key: str) -> list[str]:
    if key in ("tied", "on_frontier"):
        return ["boolean", "null"]
    if key in ("place", "band_place", "n", "number"):
        return ["integer", "null"]
    numbers = (
        "quality",
        "cost",
        "cost_of_its_own_runs",
        "ratio",
        "band",
        "interval_low",
        "interval_high",
        "p",
        *METRICS,
    )
    return ["number", "null"] if key in numbers else ["string", "null"]
