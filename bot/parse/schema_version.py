"""The `schema_version` of a file: one that this program knows."""

from __future__ import annotations

from bot.model.document import Document
from bot.model.verdict import Finding, finding
from bot.parse.results_json import MAX_RUNS
from bot.render.untrusted import plain, shown

KNOWN_VERSIONS = "1"


def version_problem(document: Document) -> Finding | None:
    """The finding on the document's own version, or that of its `speedrun` object, where we do
    not know it; else None."""
    value = document.value
    if not isinstance(value, dict):
        return None
    places = [("", value), ("/speedrun", value.get("speedrun"))]
    runs = value.get("runs")
    for index, run in enumerate(runs[:MAX_RUNS] if isinstance(runs, list) else ()):
        info = run.get("run_info") if isinstance(run, dict) else None
        ours = info.get("speedrun") if isinstance(info, dict) else None
        places.append((f"/runs/{index}/run_info/speedrun", ours))
    for pointer, place in places:
        if (
            isinstance(place, dict)
            and place.get("schema_version", 1) != 1
            or (isinstance(place, dict) and place.get("schema_version") is True)
        ):
            where = f"{pointer}/schema_version"
            written = place["schema_version"]
            return finding(
                "schema-version-unknown",
                f"schema_version is {shown(written)}, this program knows {KNOWN_VERSIONS}",
                file=document.file,
                line=document.line(where),
                pointer=where,
                claimed=claim_of(written),
                expected=1,
                fix="write 1 without quotes"
                if written == "1"
                else "write the file with a trainer of this version, or update this program",
            )
    return None


def claim_of(value: object) -> str | float | bool | None:
    """What is written, as a value that is safe and small enough to repeat."""
    if isinstance(value, str):
        return plain(value)
    return value if value is None or isinstance(value, (bool, int, float)) else shown(value)
