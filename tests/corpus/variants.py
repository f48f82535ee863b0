"""Variants of a good results file: how they are made; see `hostile`, `values` and `harmless`.

Each variant is made from a stored good file by one change, so that the corpus is a table of kinds
of faults and not a heap of files. Tokens that look like secrets are put together at run time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GOOD = Path(__file__).parent.parent / "bot" / "data" / "results"
BPB = "eval/paloma/c4_en/bpb"
Change = Callable[[dict[str, Any]], None]
Row = tuple[str, str, Change, set[str], set[str]]
"""Name, stored file, change, errors, warnings."""


@dataclass(frozen=True)
class Variant:
    """One input. `errors` are the error-level rules that must be found, exactly; `warnings` those
    that must be among the weaker findings."""

    name: str
    data: bytes
    errors: frozenset[str] = frozenset()
    warnings: frozenset[str] = frozenset()


def load(name: str) -> dict[str, Any]:
    """A stored good file as a value."""
    value: dict[str, Any] = json.loads((GOOD / f"{name}.json").read_text(encoding="utf-8"))
    return value


def changed(name: str, change: Change) -> bytes:
    """A stored file after `change` was applied to its run_info (run_related_info of old files)."""
    value = load(name)
    run = value["runs"][0]
    change(run.get("run_info") or run)
    return json.dumps(value, indent=2).encode()


def put(**values: Any) -> Change:
    """Set keys; a key `a__b` stands for `a/b` below."""

    def change(info: dict[str, Any]) -> None:
        for path, value in values.items():
            *parents, last = path.split("__")
            place = info
            for parent in parents:
                place = place[parent]
            place["eval/paloma/c4_en/bpb" if last == "bpb" else last] = value

    return change


def drop(*paths: str) -> Change:
    """Remove keys."""

    def change(info: dict[str, Any]) -> None:
        for path in paths:
            *parents, last = path.split("__")
            place = info
            for parent in parents:
                place = place[parent]
            del place[BPB if last == "bpb" else last]

    return change


def rename(old: str, new: str) -> Change:
    """Rename a key of the run_info."""

    def change(info: dict[str, Any]) -> None:
        info[new] = info.pop(old)

    return change


def scaled(key: str, factor: float) -> Change:
    """Multiply a number of the run_info."""

    def change(info: dict[str, Any]) -> None:
        info[key] = info[key] * factor

    return change


def both(*changes: Change) -> Change:
    """Several changes, one after another."""

    def change(info: dict[str, Any]) -> None:
        for single in changes:
            single(info)

    return change


def secrets() -> dict[str, str]:
    """Texts of the shapes of secrets, none of them real; made here so that none is stored."""
    body = "Ab1" * 20
    return {
        "github": "ghp" + "_" + body[:36],
        "github-fine": "github" + "_pat_" + body[:50],
        "hugging-face": "hf" + "_" + body[:34],
        "openai": "sk" + "-" + body[:40],
        "aws": "AKI" + "A" + "Q7" * 8,
        "google": "AIz" + "a" + body[:35],
        "slack": "xox" + "b-" + "1234567890-" + body[:12],
        "gitlab": "glpat" + "-" + body[:20],
        "wandb-assigned": "WANDB_API" + "_KEY=" + "0123456789abcdef" * 2 + "01234567",
        "wandb-link": "https://wandb.ai/e/p/reports/r--V1?access" + "Token=" + body[:40],
        "url-password": "https://user:" + "hunter22@" + "example.org/data",
        "private-key": "-----BEGIN RSA " + "PRIVATE KEY-----",
        "jwt": "ey" + "JhbGciOiJI." + "ey" + "JzdWIiOiIx." + body[:20],
    }
