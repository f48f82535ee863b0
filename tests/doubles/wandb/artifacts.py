"""Artifacts of a run on the W&B double: `StoredRun.artifacts` maps `type/name` to its files."""

from __future__ import annotations

import base64
import hashlib
import urllib.parse
from typing import Any

from tests.doubles.wandb.operations import Asked, Variables, in_project, of_run, operation
from tests.doubles.wandb.world import StoredRun, World, now


@operation("RunOutputArtifacts")
def run_output_artifacts(world: World, asked: Asked, variables: Variables) -> Any:
    """The artifacts that a run logged, all in one page."""
    found = of_run(world, asked, variables)
    if found is None:
        return in_project(world, asked, variables, None)
    edges = [{"node": _artifact(found, name)} for name in found.artifacts]
    page = {"totalCount": len(edges), "pageInfo": _page_info(), "edges": edges}
    return in_project(world, asked, variables, {"artifacts": page})


@operation("ArtifactMembershipFiles")
def artifact_membership_files(world: World, asked: Asked, variables: Variables) -> Any:
    """The files of one artifact, all in one page."""
    entity, project = variables["entity"], variables["project"]
    if not world.may_read(entity, project, asked.anonymous):
        return {"project": None}
    for run in world.select(entity, project, {}):
        for name, files in run.artifacts.items():
            if name.partition("/")[2] == variables["collection"]:
                edges = [{"node": _file(asked, run, name, file)} for file in files]
                page = {"totalCount": len(edges), "pageInfo": _page_info(), "edges": edges}
                held = {"__typename": "ArtifactSequence", "artifactMembership": {"files": page}}
                return {"project": {"artifactCollection": held}}
    return {"project": {"artifactCollection": None}}


def _page_info() -> dict[str, Any]:
    return {"__typename": "PageInfo", "endCursor": None, "hasNextPage": False}


def _artifact(run: StoredRun, name: str) -> dict[str, Any]:
    kind, _, collection = name.partition("/")
    files = run.artifacts[name]
    project = {
        "id": "UHJvamVjdDox",
        "internalId": "UHJvamVjdEludGVybmFsSWQ6MQ==",
        "name": run.project,
        "entity": {"name": run.entity},
    }
    sequence = {"__typename": "ArtifactSequence", "name": collection, "project": project}
    alias = {"__typename": "ArtifactAlias", "id": "QTE=", "alias": "latest"}
    return {
        "__typename": "Artifact",
        "id": base64.b64encode(f"Artifact:{run.id}:{name}".encode()).decode(),
        "artifactSequence": sequence,
        "versionIndex": 0,
        "artifactType": {"name": kind},
        "description": None,
        "metadata": "{}",
        "ttlDurationSeconds": -2,
        "ttlIsInherited": True,
        "tags": [],
        "historyStep": None,
        "state": "COMMITTED",
        "size": sum(map(len, files.values())),
        "digest": hashlib.md5(b"".join(files.values())).hexdigest(),
        "commitHash": "0",
        "fileCount": len(files),
        "createdAt": now(),
        "updatedAt": now(),
        "aliases": [{"artifactCollection": sequence, **alias}],
    }


def _file(asked: Asked, run: StoredRun, name: str, file: str) -> dict[str, Any]:
    content = run.artifacts[name][file]
    inside = urllib.parse.quote(f"{name}/{file}", safe="")
    url = f"{asked.base}/_artifact/{run.entity}/{run.project}/{run.id}/{inside}"
    digest = base64.b64encode(hashlib.md5(content).digest()).decode()
    return {
        "__typename": "File",
        "id": file,
        "name": file,
        "url": url,
        "sizeBytes": len(content),
        "storagePath": inside,
        "mimetype": "text/plain",
        "updatedAt": now(),
        "digest": digest,
        "md5": digest,
        "directUrl": url,
    }
