"""Results files: the five shapes of Marin's `speedrun_results.json`, and the trainer's, as runs.

`read_results` turns a document into one `ResultsRun` a run, whatever the shape: every quantity by
one name, in one unit, with the JSON pointer that it came from. Nothing is recomputed here; see
`bot.compute.metrics`. The shapes (`runs` is a list of them):

- V0, V1: `run_related_info` {hardware_config, model_config, ...} and `run_stats`, minutes;
- V2 to V4: `run_info`, seconds; V3 adds chips and the peak, V4 FLOPs per token;
- ours: V4 with a `speedrun` object (schema_version, seed, nonce, fingerprint, ...).
"""

from __future__ import annotations

import dataclasses as dc
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bot.evidence.links import RUN_PAGE, LinkProblem, parse_link
from bot.model.document import Document, at
from bot.model.results import ResultsRun, Stated
from bot.model.verdict import Finding, finding
from bot.parse.json_scan import escape
from bot.registry import Level
from bot.render.untrusted import plain, shown

MAX_RUNS = 500
"""A results file with more runs is refused by the rule `schema`."""
BPB_KEY = "eval/paloma/c4_en/bpb"

NEW_KEYS: Mapping[str, tuple[str, ...]] = {
    "bpb": (BPB_KEY, "eval/bpb", "bpb"),
    "loss": ("eval/loss", "eval/paloma/c4_en/loss", "val_loss", "loss"),
    "training_time_s": ("training_time",),
    "hardware_flops": ("training_hardware_flops",),
    "model_flops": ("model_flops",),
    "flops_per_token": ("model_flops_per_token",),
    "parameters": ("model_size",),
    "tokens": ("total_tokens",),
    "chips": ("num_chips",),
    "devices": ("num_devices",),
    "peak_flops": ("device_flops",),
    "timestamp": ("run_completion_timestamp",),
    "link": ("wandb_run_link",),
    "dataset": ("tokenized_dataset",),
}
"""Quantity -> keys of `run_info` tried in order."""

OLD_KEYS: Mapping[str, tuple[str, ...]] = {
    "bpb": ("run_stats/eval~1paloma~1c4_en~1bpb",),
    "minutes": ("run_stats/training_time_in_minutes",),
    "hardware_flops": ("run_stats/total_training_flops", "run_stats/final_flops_estimate"),
    "estimate": ("run_stats/pre_run_flops_estimate",),
    "parameters": ("run_related_info/num_parameters",),
    "tokens": ("run_related_info/total_tokens",),
    "devices": ("run_related_info/hardware_config/num_devices",),
    "peak_flops": ("run_related_info/hardware_config/device_flops",),
    "timestamp": ("run_related_info/run_completion_timestamp",),
    "link": ("run_related_info/wandb_run_link", "run_related_info/wandb_run_id"),
    "dataset": ("run_related_info/tokenized_dataset",),
}
"""Quantity -> pointers below the run of the two oldest shapes."""

_MAPPED = {"loss": "loss", "bpb": "bpb", "tokens": "tokens", "time_s": "training_time_s"}
"""Quantity of `keys` in submission.json -> quantity of a results file."""
_TEXTS = frozenset({"timestamp", "link", "dataset"})


def read_results(
    document: Document, names: Mapping[str, str] | None = None
) -> tuple[ResultsRun, ...]:
    """Every run that can be made out in a document; () where there is none. `names` are those of a
    submission's own for its quantities, see `Submission.keys`."""
    value = document.value
    runs = value.get("runs") if isinstance(value, dict) else None
    if not isinstance(runs, list) or len(runs) > MAX_RUNS:
        return ()
    own = {_MAPPED[name]: key for name, key in (names or {}).items() if name in _MAPPED}
    read = (_read_run(run, i, document, own) for i, run in enumerate(runs))
    return tuple(run for run in read if run is not None)


def is_results(value: Any) -> bool:
    """Whether a JSON value means to be a results file: an object with `runs` of our shapes."""
    runs = value.get("runs") if isinstance(value, dict) else None
    return isinstance(runs, list) and any(
        isinstance(run, dict) and ("run_info" in run or "run_related_info" in run) for run in runs
    )


def _read_run(
    run: Any, index: int, document: Document, own: Mapping[str, str]
) -> ResultsRun | None:
    pointer = f"/runs/{index}"
    if not isinstance(run, dict):
        return None
    if isinstance(run.get("run_info"), dict):
        info, where = run["run_info"], f"{pointer}/run_info"
        stated = {
            name: _state(name, info[key], f"{where}/{escape(key)}")
            for name, keys in NEW_KEYS.items()
            for key in [_first(info, (own[name], *keys) if name in own else keys)]
            if key is not None
        }
        shape = "V4" if "flops_per_token" in stated else "V3" if "chips" in stated else "V2"
        return ResultsRun(document.file, index, shape, pointer, where, info, stated, document)
    if isinstance(run.get("run_related_info"), dict):
        info, where = run["run_related_info"], f"{pointer}/run_related_info"
        stated = _state_old(run, pointer)
        stats = run.get("run_stats")
        shape = "V0" if isinstance(stats, dict) and "final_flops_estimate" in stats else "V1"
        return ResultsRun(document.file, index, shape, pointer, where, info, stated, document)
    return None


def _first(info: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if info.get(key) is not None), None)


def _state_old(run: Mapping[str, Any], pointer: str) -> dict[str, Stated]:
    stated = {}
    for name, paths in OLD_KEYS.items():
        for path in paths:
            try:
                raw = at(run, f"/{path}")
            except KeyError:
                continue
            if raw is not None:
                stated[name] = _state(name, raw, f"{pointer}/{path}")
                break
    minutes = stated.pop("minutes", None)
    if minutes is not None:
        value = minutes.value
        seconds = value * 60 if isinstance(value, (int, float)) else None
        stated["training_time_s"] = dc.replace(minutes, value=seconds)
    return stated


def _state(name: str, raw: Any, pointer: str) -> Stated:
    if name in _TEXTS:
        return Stated(pointer, raw, raw if isinstance(raw, str) else None)
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str)):
        return Stated(pointer, raw, None)
    if not isinstance(raw, str):
        return Stated(pointer, raw, raw)
    # Only the oldest shape writes its two estimates as text.
    if not pointer.endswith("_flops_estimate") or not re.fullmatch(
        r"[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", raw
    ):
        return Stated(pointer, raw, None)
    value = float(raw)
    digits = len(raw.lower().partition("e")[0].replace(".", "").lstrip("0"))
    usable = math.isfinite(value)
    return Stated(pointer, raw, value if usable else None, 0.5 * 10.0 ** (1 - max(1, digits)))


def link_problems(results: tuple[ResultsRun, ...]) -> Iterator[Finding]:
    """W&B references of results files that are absent or no addresses.

    Addresses that lead elsewhere are the business of `bot.rules.evidence`. A file of our trainer
    may have none: a run without W&B is self-reported.
    """
    for run in results:
        item = run.stated.get("link")
        found = (
            None
            if item is not None
            else _link(
                run,
                "link-not-a-run",
                "there is no link to a W&B run",
                f"link the run's page: {RUN_PAGE}",
            )
        )
        if item is not None and "://" not in str(item.raw):
            parsed = parse_link(item.raw)
            fix = "" if isinstance(parsed, LinkProblem) else f'write "{parsed.url}"'
            if fix and "." in str(item.raw).partition("/")[0]:
                found = _link(run, "schema", "the link to the run has no scheme", fix)
                found = dc.replace(found, level=Level.WARNING)
            elif fix:
                message = f"{shown(item.raw)} is a path, not a page"
                found = _link(run, "link-not-a-run", message, fix)
        if found is not None and (item is not None or not run.ours):
            yield found


def _link(run: ResultsRun, rule: str, message: str, fix: str) -> Finding:
    item = run.stated.get("link")
    return finding(
        rule,
        message,
        file=run.file,
        line=run.line("link"),
        pointer=run.where("link"),
        fix=fix,
        claimed=None if item is None else plain(str(item.raw)),
    )
