"""Cases with runs that are good, for tests that change one thing in them."""

from __future__ import annotations

import dataclasses as dc
import json
import re
from collections.abc import Sequence
from typing import Any

from bot.evidence.code_hash import source_sha256
from bot.model.case import Case, Context, RunEvidence
from bot.model.run import Hardware, Run, Validation
from bot.model.submission import Contributor, Folder, RunSpec, Submission
from bot.model.track import Track
from bot.model.verdict import Finding
from bot.parse.json_file import read_json
from bot.parse.results_json import read_results
from bot.rules import RULES
from tests.plain_tracks import plain_tracks

TRACKS = plain_tracks()
SMALL = TRACKS["nanogpt-small"]
PATH = "submissions/nanogpt-small/example"
SOURCE = "import this\n"
LINK = "https://wandb.ai/example-team/nanogpt/runs/r{}"


def a_run(n: int = 0, **changes: Any) -> Run:
    """A finished W&B run of 1000 steps at 3.277 in 60 s on 8 H100."""
    points = tuple(
        Validation(step, 3.277 + (1000 - step) / 1000 + 6.5 * (step == 0) + n / 5000, step * 0.06)
        for step in range(0, 1001, 250)
    )
    fields: dict[str, Any] = {
        "source": "wandb",
        "file": LINK.format(n),
        "run_id": f"r{n}",
        "entity": "example-team",
        "project": "nanogpt",
        "validation": points,
        "total_steps": 1000,
        "last_step": 1000,
        "finished": True,
        "state": "finished",
        "hardware": Hardware("NVIDIA H100 80GB HBM3", 8),
        "code_sha256": {"train.py": source_sha256(SOURCE)},
        "seed": n,
        "nonce": f"{n:032x}",
        "metrics": {"loss": points[-1].loss, "training_time_s": 60.0, "bpb": 1.01},
    }
    return Run(**fields | changes)


CONTEXT = {field.name for field in dc.fields(Context)}


def a_case(
    runs: Sequence[Run] | None = None,
    *,
    track: Track = SMALL,
    results: dict[str, Any] | None = None,
    files: dict[str, bytes] | None = None,
    arms: Sequence[str] = (),
    submission: dict[str, Any] | None = None,
    **changes: Any,
) -> Case:
    """A case over `runs` (two good ones), one entry each; `submission` changes its fields, and
    `changes` are fields of the case or of its context."""
    runs = (a_run(0), a_run(1)) if runs is None else tuple(runs)
    specs = [
        RunSpec(
            "wandb", run.file, arm=arms[n] if n < len(arms) else "candidate", pointer=f"/runs/{n}"
        )
        for n, run in enumerate(runs)
    ]
    content = {"submission.json": b'{"title": "An example"}', "train.py": SOURCE.encode()}
    folder = Folder(PATH, content | (files or {}))
    fields: dict[str, Any] = {
        "path": PATH,
        "track": track.id,
        "name": "example",
        "summary": "Something that is explained in a few more words.",
        "contributors": (Contributor("example-user"),),
        "code_path": "train.py",
        "runs": tuple(specs),
        "raw": {"title": "An example"},
    }
    documents = {}
    read = ()
    if results is not None:
        document = read_json(json.dumps(results).encode(), f"{PATH}/speedrun_results.json")
        documents = {"speedrun_results.json": document}
        read = read_results(document)
    evidence = tuple(RunEvidence(s, (r,)) for s, r in zip(specs, runs, strict=True))
    case = Case(Submission(**fields | (submission or {})), track, folder, documents, read, evidence)
    context = Context(**{name: changes.pop(name) for name in list(changes) if name in CONTEXT})
    return dc.replace(case, context=context, **changes)


def results_file(info: dict[str, Any] | None = None, **ours: Any) -> dict[str, Any]:
    """A results file of the newest shape that links the run r0."""
    stated = {
        "description": "An example",
        "eval/paloma/c4_en/bpb": 1.01,
        "model_config": {},
        "train_config": {},
        "training_time": 60.0,
        "num_chips": 8,
        "num_devices": 8,
        "device_flops": 989.5e12,
        "training_hardware_flops": 60.0 * 8 * 989.5e12,
        "model_flops_per_token": 1.0,
        "run_completion_timestamp": "2026-01-01 00:00:00 UTC",
        "wandb_run_link": LINK.format(0),
    }
    return {"runs": [{"run_info": stated | (info or {})}], "speedrun": {"schema_version": 1} | ours}


def found(name: str, case: Case) -> tuple[Finding, ...]:
    """What one rule finds. A fix is read after "Fix:", so it begins in lower case."""
    findings = tuple(RULES[name](case))
    for item in findings:
        assert not re.match(r"[A-Z][a-z]+ ", item.fix or ""), item.fix
    return findings
