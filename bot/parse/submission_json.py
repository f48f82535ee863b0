"""The fields of submission.json as a `Submission`; what the schema refuses is left out here.

A folder without submission.json, and a bare file, say it by their files: every results file and
every log is a run.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from bot.model.document import Document
from bot.model.results import ResultsRun
from bot.model.submission import (
    ARMS,
    LOG_ENDINGS,
    REPLIES,
    ROLES,
    Claim,
    Contributor,
    Folder,
    Reply,
    RunSpec,
    Submission,
)
from bot.model.track import Keys, Track
from bot.parse.json_scan import escape
from bot.parse.results_json import is_results
from bot.render.untrusted import plain

SUBMISSION = "submission.json"
# What the schema refuses a longer list of; the rest would only cost time.
MAX_POINTS, MAX_RUNS = 50, 500
QUANTITIES = frozenset(field.name for field in dc.fields(Keys)) - {"own"}


def read_submission(
    folder: Folder,
    raw: Mapping[str, Any],
    track: Track | None,
    documents: Mapping[str, Document],
    results: tuple[ResultsRun, ...],
) -> Submission:
    """The submission that `raw`, the object of submission.json, describes; with {} what the files
    of the folder say by themselves. Values of a wrong type count as absent."""
    path = folder.path
    parts = PurePosixPath(path).parts
    nested = len(parts) > 2 and parts[0] == "submissions"
    name = "/".join(parts[2:]) if nested else PurePosixPath(path).name
    code, hardware = _dict(raw.get("code")), _dict(raw.get("hardware"))
    runs = _run_specs(raw) if raw else _implied_specs(folder, documents)
    issue = raw.get("preregistration")
    return Submission(
        path=path,
        track=track.id if track else _text(raw.get("track")) or "",
        name=name,
        title=_text(raw.get("title")) or _described(results),
        summary=_text(raw.get("summary")),
        contributors=_contributors(raw),
        based_on=_text(raw.get("based_on")),
        reply=_reply(raw),
        preregistration=None if issue is None else plain(str(issue), 300),
        code_path=_text(code.get("path")),
        code_repository=_text(code.get("repository")),
        code_commit=_text(code.get("commit")),
        code_command=_text(code.get("command")),
        accelerator=_text(hardware.get("accelerator")),
        accelerator_count=_int(hardware.get("count")),
        points=tuple(p for p in _list(raw.get("points"))[:MAX_POINTS] if isinstance(p, str)),
        runs=runs,
        claims=_claims(raw),
        links=_links(raw),
        keys=keys_of(raw),
        imported=_dict(raw.get("imported")) or None,
        withdrawn=_dict(raw.get("withdrawn")) or None,
        raw=raw,
    )


def _links(raw: Mapping[str, Any]) -> tuple[dict[str, str], ...]:
    links = (link for link in _list(raw.get("links")) if isinstance(link, dict))
    return tuple({k: v for k, v in link.items() if isinstance(v, str)} for link in links)


def _reply(raw: Mapping[str, Any]) -> Reply | None:
    named = {key: text for key in REPLIES if (text := _text(raw.get(key))) is not None}
    return Reply(*named.popitem()) if len(named) == 1 else None


def keys_of(raw: Mapping[str, Any]) -> dict[str, str]:
    """Quantity -> its name in the runs of the submission, as far as both can be."""
    return {
        quantity: name
        for quantity, name in _dict(raw.get("keys")).items()
        if quantity in QUANTITIES and isinstance(name, str) and 0 < len(name.strip()) <= 200
    }


def _described(results: tuple[ResultsRun, ...]) -> str | None:
    text = next((r.info.get("description") for r in results), None)
    return plain(text, 120) if isinstance(text, str) and text.strip() else None


def _run_specs(raw: Mapping[str, Any]) -> tuple[RunSpec, ...]:
    specs = []
    for index, run in enumerate(_list(raw.get("runs"))[:MAX_RUNS]):
        if not isinstance(run, dict):
            continue
        source = run.get("source")
        target = run.get("path")
        if source == "wandb" and run.get("link") is not None:
            target = run["link"]
        if source in ("wandb", "log", "results") and isinstance(target, str):
            arm = run.get("arm", "candidate")
            pair = run.get("pair")
            specs.append(
                RunSpec(
                    source,
                    target,
                    arm if arm in ARMS else "candidate",
                    None if pair is None else str(pair),
                    _text(run.get("point")),
                    _int(run.get("seed")),
                    f"/runs/{index}",
                )
            )
    return tuple(specs)


def _implied_specs(folder: Folder, documents: Mapping[str, Document]) -> tuple[RunSpec, ...]:
    """The runs of a folder without submission.json, or of a bare file: all it holds."""
    specs = [
        RunSpec("results", name)
        for name, document in documents.items()
        if name != SUBMISSION or is_results(document.value)
    ]
    specs += [
        RunSpec("log", name)
        for name in folder.files
        if name not in documents and (folder.bare or name.lower().endswith(LOG_ENDINGS))
    ]
    if not specs and not folder.bare:
        # A JSON file of another format, which the track's field map reads.
        specs += [RunSpec("results", name) for name in folder.files if name.endswith(".json")]
    return tuple(specs)


def _claims(raw: Mapping[str, Any]) -> tuple[Claim, ...]:
    """Claims by metric, or by point and metric: {"bpb": 1.1} or {"130m": {"bpb": 1.1}}."""
    points = {p for p in _list(raw.get("points")) if isinstance(p, str)}
    claims: list[Claim] = []
    for key, value in _dict(raw.get("claims")).items():
        pointer = f"/claims/{escape(key)}"
        if key in points and isinstance(value, dict):
            for metric, inner in value.items():
                claims += _claim(metric, inner, f"{pointer}/{escape(metric)}", key)
        else:
            claims += _claim(key, value, pointer, None)
    return tuple(claims)


def _claim(metric: str, value: Any, pointer: str, point: str | None) -> list[Claim]:
    mean = _number(value.get("mean")) if isinstance(value, dict) else _number(value)
    if mean is None:
        return []
    if not isinstance(value, dict):
        return [Claim(metric, mean, point=point, pointer=pointer)]
    sd, n, p = _number(value.get("sd")), _int(value.get("n")), _number(value.get("p"))
    return [Claim(metric, mean, sd, n, p, point, pointer, scalar=False)]


def _contributors(raw: Mapping[str, Any]) -> tuple[Contributor, ...]:
    people = [p for p in _list(raw.get("contributors")) if isinstance(p, dict)]
    return tuple(
        Contributor(
            login,
            _text(p.get("name")),
            _text(p.get("affiliation")),
            _text(p.get("url")),
            tuple(role for role in _list(p.get("roles")) if role in ROLES),
        )
        for p in people
        if (login := _text(p.get("github"))) is not None
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value)
