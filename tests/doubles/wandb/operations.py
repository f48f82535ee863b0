"""The GraphQL operations that the `wandb` client sends, answered from a `World`.

Each handler takes the world, the request and its variables and returns the `data` object. Shapes
follow the queries of wandb 0.31; `server.missing` tells when a query asks for more.
"""

from __future__ import annotations

import base64
import dataclasses as dc
import hashlib
import json
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from tests.doubles.wandb.world import StoredRun, World, now, wire

Variables = Mapping[str, Any]
Handler = Callable[[World, "Asked", Variables], Any]
OPERATIONS: dict[str, Handler] = {}
ACCOUNT = "bot-account"


@dc.dataclass(frozen=True)
class Asked:
    """Who asks, and the server's own address for the URLs of answers."""

    anonymous: bool
    base: str


def operation(*names: str) -> Callable[[Handler], Handler]:
    """Register a handler under its operation names."""

    def register(handler: Handler) -> Handler:
        OPERATIONS.update(dict.fromkeys(names, handler))
        return handler

    return register


def subject(variables: Variables) -> tuple[str | None, str | None, str | None]:
    """(entity, project, run) of a request; operations name them differently."""

    def first(*names: str) -> str | None:
        return next((variables[n] for n in names if variables.get(n)), None)

    return (
        first("entity", "entityName"),
        first("project", "projectName"),
        first("run", "runName", "name"),
    )


def of_run(world: World, asked: Asked, variables: Variables) -> StoredRun | None:
    """The run that a request is about, None where it is not there or may not be read."""
    entity, project, run = subject(variables)
    if not world.may_read(entity or "", project or "", asked.anonymous):
        return None
    return world.runs.get((entity or "", project or "", run or ""))


def in_project(world: World, asked: Asked, variables: Variables, run: Any) -> dict[str, Any]:
    """An answer about a run, inside its project; null where that may not be read."""
    entity, project, _ = subject(variables)
    if not world.may_read(entity or "", project or "", asked.anonymous):
        return {"project": None}
    return {"project": {"internalId": "1", "run": run}}


def run_node(run: StoredRun) -> dict[str, Any]:
    """Every field of a run that the client's fragments ask for."""
    identity = f"Run:v1:{run.id}:{run.project}:{run.entity}"
    config = {key: {"value": value, "desc": None} for key, value in run.config.items()}
    return {
        "__typename": "Run",
        "id": base64.b64encode(identity.encode()).decode(),
        "projectId": "1",
        "tags": run.tags,
        "name": run.id,
        "displayName": run.display_name or run.id,
        "sweepName": None,
        # W&B shows a run that was killed as crashed.
        "state": "crashed" if run.state == "killed" else run.state,
        "config": json.dumps(wire(config)),
        "group": run.group,
        "jobType": None,
        "commit": None,
        "readOnly": True,
        "createdAt": run.created_at,
        "heartbeatAt": run.heartbeat_at,
        "description": None,
        "notes": run.notes,
        "systemMetrics": "{}",
        "summaryMetrics": json.dumps(wire(run.summary)),
        "historyLineCount": run.lines,
        "user": {"name": run.user, "username": run.user},
        "historyKeys": run.history_keys(),
    }


@operation("Viewer", "GetDefaultEntity", "GetViewer", "?")
def viewer(world: World, asked: Asked, variables: Variables) -> Any:
    """The account of the key."""
    return {
        "viewer": {
            "id": "VXNlcjox",
            "entity": ACCOUNT,
            "username": ACCOUNT,
            "name": "Bot",
            "email": "bot@example.org",
            "admin": False,
            "flags": "{}",
            "deletedAt": None,
            "isServiceAccount": False,
            "teams": {"edges": []},
            "apiKeys": {"edges": []},
            "accountType": None,
        }
    }


@operation("OrganizationCoreWeaveOrganizationID")
def organization(world: World, asked: Asked, variables: Variables) -> Any:
    """Entities belong to no organisation here."""
    return {"entity": {"organization": None}}


@operation("ServerFeaturesQuery")
def features(world: World, asked: Asked, variables: Variables) -> Any:
    """No optional features."""
    return {"serverInfo": {"features": []}}


@operation("Run")
def run(world: World, asked: Asked, variables: Variables) -> Any:
    """One run, or null where it does not exist or may not be read."""
    found = of_run(world, asked, variables)
    return in_project(world, asked, variables, found and run_node(found))


@operation("PublicRuns")
def public_runs(world: World, asked: Asked, variables: Variables) -> Any:
    """Names and whole configurations of some runs of a project, for whoever asks."""
    entity, project = variables["entity"], variables["project"]
    if not world.may_read(entity, project, asked.anonymous):
        return {"project": None}
    found = world.select(entity, project, json.loads(variables.get("filters") or "{}"))
    nodes = [{key: run_node(item)[key] for key in ("name", "config")} for item in found]
    return {"project": {"runs": {"edges": [{"node": node} for node in nodes]}}}


@operation("RunHistoryKeys")
def run_history_keys(world: World, asked: Asked, variables: Variables) -> Any:
    """The keys of the history and its last step."""
    found = of_run(world, asked, variables)
    return in_project(world, asked, variables, found and {"historyKeys": found.history_keys()})


@operation("Runs")
def runs(world: World, asked: Asked, variables: Variables) -> Any:
    """A page of the runs of a project, filtered and ordered."""
    entity, project = variables["entity"], variables["project"]
    if not world.may_read(entity, project, asked.anonymous):
        return {"project": None}
    found = world.select(entity, project, json.loads(variables.get("filters") or "{}"))
    if (variables.get("order") or "").startswith("-"):
        found = found[::-1]
    start = int(variables.get("cursor") or -1) + 1
    page = found[start : start + (variables.get("perPage") or 50)]
    end = start + len(page)
    return {
        "project": {
            "internalId": "1",
            "runCount": len(found),
            "readOnly": True,
            "runs": {
                "edges": [
                    {"node": run_node(item), "cursor": str(start + n)}
                    for n, item in enumerate(page)
                ],
                "pageInfo": {"endCursor": str(end - 1), "hasNextPage": end < len(found)},
            },
        }
    }


@operation("HistoryPage")
def history_page(world: World, asked: Asked, variables: Variables) -> Any:
    """Rows of steps [minStep, maxStep) as JSON texts, at most `pageSize` of them."""
    found = of_run(world, asked, variables)
    rows = found.texts(variables["minStep"], variables["maxStep"]) if found else []
    return in_project(world, asked, variables, found and {"history": rows[: variables["pageSize"]]})


@operation("SampledHistoryPage", "RunSampledHistory")
def sampled_history(world: World, asked: Asked, variables: Variables) -> Any:
    """Rows that have all of the wanted keys; steps [minStep, maxStep], both included."""
    found = of_run(world, asked, variables)
    spec = json.loads(variables.get("spec") or variables["specs"][0])
    low, high = spec.get("minStep", 0), spec.get("maxStep", 1 << 60)
    texts = found.texts(low, high + 1) if found else []
    rows = [row for row in map(json.loads, texts) if all(key in row for key in spec["keys"])]
    stride = max(1, -(-len(rows) // spec.get("samples", 500)))
    kept = [{key: row[key] for key in spec["keys"]} for row in rows[::stride]]
    return in_project(world, asked, variables, found and {"sampledHistory": [kept]})


@operation("RunParquetHistory")
def parquet_history(world: World, asked: Asked, variables: Variables) -> Any:
    """Where the exported parts of the history lie, and the rows not exported yet."""
    found = of_run(world, asked, variables)
    if found is None:
        return in_project(world, asked, variables, None)
    path = "/".join((found.entity, found.project, found.id))
    urls = [f"{asked.base}/_parquet/{path}/{n}" for n in range(len(found.exports))]
    rows = found.rows if urls else []
    live = [wire(row) for row in rows if row["_step"] >= found.live_from]
    history = {"parquetUrls": urls, "liveData": live}
    return in_project(world, asked, variables, {"parquetHistory": history})


def file_node(asked: Asked, found: StoredRun, name: str) -> dict[str, Any]:
    """One file of a run with its address, size and MD5."""
    content = found.files[name]
    where = "/".join((found.entity, found.project, found.id, urllib.parse.quote(name, safe="")))
    url = f"{asked.base}/_file/{where}"
    return {
        "id": name,
        "name": name,
        "url": url,
        "directUrl": url,
        "sizeBytes": str(found.file_sizes.get(name, len(content))),
        "mimetype": "text/plain",
        "updatedAt": now(),
        "md5": base64.b64encode(hashlib.md5(content).digest()).decode(),
    }


@operation("RunFiles")
def run_files(world: World, asked: Asked, variables: Variables) -> Any:
    """A page of the files of a run."""
    found = of_run(world, asked, variables)
    if found is None:
        return in_project(world, asked, variables, None)
    wanted = variables.get("fileNames") or []
    names = [name for name in sorted(found.files) if not wanted or name in wanted]
    start = int(variables.get("fileCursor") or -1) + 1
    page = names[start : start + (variables.get("fileLimit") or 50)]
    end = start + len(page)
    edges = [
        {"cursor": str(start + n), "node": file_node(asked, found, name)}
        for n, name in enumerate(page)
    ]
    info = {"endCursor": str(end - 1), "hasNextPage": end < len(names)}
    answer = {"fileCount": len(names), "files": {"edges": edges, "pageInfo": info}}
    return in_project(world, asked, variables, answer)


@operation("UpsertBucket")
def upsert_bucket(world: World, asked: Asked, variables: Variables) -> Any:
    """Create a run or change its attributes; what `wandb.init` sends."""
    entity = variables.get("entity") or ACCOUNT
    project, name = variables.get("project") or "uncategorized", variables["name"]
    with world.lock:
        inserted = (entity, project, name) not in world.runs
        found = world.runs.setdefault(
            (entity, project, name), StoredRun(entity, project, name, state="running", user=ACCOUNT)
        )
    if variables.get("config"):
        found.config = {
            key: item["value"] if isinstance(item, dict) and "value" in item else item
            for key, item in json.loads(variables["config"]).items()
        }
    if variables.get("displayName"):
        found.display_name = variables["displayName"]
    if variables.get("tags"):
        found.tags = list(variables["tags"])
    if variables.get("summaryMetrics"):
        found.summary = json.loads(variables["summaryMetrics"])
    bucket = {key: run_node(found)[key] for key in ("id", "name", "displayName", "sweepName")}
    owner = {"id": "RW50aXR5OjE=", "name": entity}
    bucket |= {"description": None, "config": "{}", "historyLineCount": len(found.rows)}
    bucket["project"] = {"id": "UHJvamVjdDox", "name": project, "entity": owner}
    return {"upsertBucket": {"bucket": bucket, "inserted": inserted}}


@operation("CreateRunFiles")
def create_run_files(world: World, asked: Asked, variables: Variables) -> Any:
    """Upload addresses for files of a run."""
    entity, project, name = subject(variables)
    base = f"{asked.base}/_upload/{entity}/{project}/{name}"
    files = [
        {"name": item, "uploadUrl": f"{base}/{urllib.parse.quote(item, safe='')}"}
        for item in variables["files"]
    ]
    return {"createRunFiles": {"runID": name, "uploadHeaders": [], "files": files}}


@operation("RunResumeStatus")
def run_resume_status(world: World, asked: Asked, variables: Variables) -> Any:
    """Where a run that is there already goes on; nothing for a run that is not there."""
    entity, project, name = subject(variables)
    found = world.runs.get((entity or ACCOUNT, project or "uncategorized", name or ""))
    bucket = None
    if found is not None:
        node = run_node(found)
        kept = ("id", "name", "displayName", "summaryMetrics", "config", "tags", "notes")
        bucket = {key: node[key] for key in kept}
        bucket |= {"historyLineCount": node["historyLineCount"]}
        bucket |= {"logLineCount": len(found.console), "eventsLineCount": 0, "eventsTail": "[]"}
        bucket["historyTail"] = json.dumps([found.texts(0, 1 << 60)[-1]] if found.rows else [])
        bucket["wandbConfig"] = json.dumps({"t": found.config.get("_wandb", {}).get("t", {})})
    owner = {"id": "RW50aXR5OjE=", "name": entity}
    return {"model": {"id": "UHJvamVjdDox", "name": project, "entity": owner, "bucket": bucket}}
