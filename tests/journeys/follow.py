"""Somebody who does literally what a fix says, and nothing else.

`follow` reads a group of the answer as it is shown, its fix and its suggestion, and changes the
files. What only the person has (further runs, the log that the training printed, a better run) it
takes from what was prepared. A fix that it does not understand is an error of the fix.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bot.render.groups import Group
from tests.journeys.evidence_mistakes import slower
from tests.journeys.mistakes import LOSSES, SPARE, Files, log

LIST = "submission.json"


@dataclass(frozen=True)
class State:
    """A submission, and how many of the spare runs were used."""

    folder: str
    files: Files
    spent: int = 0

    @property
    def data(self) -> Any:
        """The list as it reads, errors of form aside."""
        return json.loads(self.files[LIST].decode("utf-8-sig"))

    def with_data(self, data: Any) -> State:
        """The same with another list."""
        return replace(self, files={**self.files, LIST: json.dumps(data, indent=2).encode()})

    def with_file(self, name: str, data: bytes) -> State:
        """The same with one file changed."""
        return replace(self, files={**self.files, name: data})


class NotUnderstood(AssertionError):
    """A fix that does not say what to do."""


def follow(group: Group, state: State) -> State:
    """The submission after what the group says was done for each of its findings."""
    for finding in group.findings:
        fix = finding.fix or ""
        if finding.suggestion and finding.line:
            state = _line(state, finding.line, finding.suggestion)
            continue
        for pattern, act in _ACTS:
            found = re.search(pattern, fix)
            if found:
                place = finding.pointer or f"{finding.line}:{finding.message}"
                state = act(state, found, place)
                break
        else:
            raise NotUnderstood(f"{finding.rule}: {finding.message}: {fix}")
    return state


Act = Callable[[State, "re.Match[str]", str], State]


def _line(state: State, number: int, text: str) -> State:
    lines = state.files[LIST].decode("utf-8-sig").split("\n")
    lines[number - 1] = text
    return state.with_file(LIST, "\n".join(lines).encode())


def _at(data: Any, pointer: str) -> tuple[Any, Any]:
    """The holder of what a pointer leads to, and its key."""
    *parents, last = pointer.split("/")[1:]
    for key in parents:
        data = data[int(key)] if isinstance(data, list) else data[key]
    return data, int(last) if isinstance(data, list) else last


def _write(state: State, found: re.Match[str], pointer: str) -> State:
    data = state.data
    holder, key = _at(data, pointer)
    if key not in holder or not isinstance(holder[key], str):
        raise NotUnderstood(f"{found[0]} at {pointer}, where no text stands")
    holder[key] = found[1]
    return state.with_data(data)


def _spell_key(state: State, found: re.Match[str], pointer: str) -> State:
    old = pointer.rpartition("/")[2]
    return state.with_file(
        LIST, state.files[LIST].replace(f'"{old}":'.encode(), f'"{found[1]}":'.encode())
    )


def _rename_folder(state: State, found: re.Match[str], pointer: str) -> State:
    return replace(state, folder=f"{state.folder.rpartition('/')[0]}/{found[1]}")


def _add_key(state: State, found: re.Match[str], pointer: str) -> State:
    """A key with a value as it is shown, or of the kind that the fix describes."""
    shown = re.search(r"`: (\[.*\])", found.string)
    track = state.folder.split("/")[1]
    kinds = {"title": "A larger learning rate", "runs": _all_logs(state), "track": track}
    value = json.loads(shown[1]) if shown else kinds[found[1]]
    return state.with_data({**state.data, found[1]: value})


def _all_logs(state: State) -> list[dict[str, str]]:
    return [{"source": "log", "path": name} for name in state.files if name != LIST]


def _add_runs(state: State, found: re.Match[str], pointer: str) -> State:
    """As many further runs as are asked for."""
    data = state.data
    for _ in range(int(found[1])):
        name = f"logs/new{state.spent}.log"
        state = state.with_file(name, log(SPARE[state.spent], 50 + state.spent))
        state = replace(state, spent=state.spent + 1)
        data["runs"].append({"source": "log", "path": name})
    return state.with_data(data)


def _train_longer(state: State, found: re.Match[str], pointer: str) -> State:
    """Every run once more, longer and therefore better."""
    for n, loss in enumerate(LOSSES):
        state = state.with_file(f"logs/{n}.log", log(loss, n + 1))
    return state


def _true_log(state: State, found: re.Match[str], pointer: str) -> State:
    """The log as the training printed it, in the place of what was there."""
    data = state.data
    holder, key = _at(data, pointer)
    old, name = holder[key]["path"], f"logs/{key}.log"
    holder[key]["path"] = name
    kept = {k: v for k, v in state.files.items() if k != old}
    return replace(state, files=kept).with_file(name, log(LOSSES[key], key + 1)).with_data(data)


def _unlist(state: State, found: re.Match[str], pointer: str) -> State:
    data = state.data
    holder, key = _at(data, pointer)
    del holder[key]
    return state.with_data(data)


def _plain_utf8(state: State, found: re.Match[str], pointer: str) -> State:
    data = state.files[LIST]
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    return state.with_file(LIST, data.decode("utf-16" if wide else "utf-8-sig").encode())


def _move(state: State, found: re.Match[str], pointer: str) -> State:
    return replace(state, folder=f"{found[1]}/{state.folder.rpartition('/')[2]}")


def _number(state: State, found: re.Match[str], pointer: str) -> State:
    """The number that a text holds."""
    data = state.data
    holder, key = _at(data, pointer)
    number = re.search(r"[\d.]+", holder[key])
    assert number is not None
    holder[key] = float(number[0])
    return state.with_data(data)


def _fill_in(state: State, found: re.Match[str], pointer: str) -> State:
    return state.with_data({**state.data, pointer.lstrip("/"): _all_logs(state)})


def _shorten(state: State, found: re.Match[str], pointer: str) -> State:
    return state.with_data({**state.data, "summary": "A larger learning rate, warmed up."})


def _train_again(state: State, found: re.Match[str], pointer: str) -> State:
    """Every run once more, on one machine, with the metric that is asked for."""
    for n, run in enumerate(state.data["runs"]):
        again = log(LOSSES[n], n + 1)
        if run.get("arm") == "baseline":
            again = slower(again)
        state = state.with_file(run["path"], again)
    return state


def _source(state: State, found: re.Match[str], pointer: str) -> State:
    """The source that ran, which the logs begin with; the runs of another one run again."""
    usual = state.files["logs/3.log"].partition(b"=" * 100)[0]
    for name, data in state.files.items():
        if name.endswith(".log"):
            rest = data.partition(b"=" * 100)[2]
            state = state.with_file(name, usual + b"=" * 100 + rest)
    return state.with_file("train.py", usual)


def _comma(state: State, found: re.Match[str], pointer: str) -> State:
    """A comma before the line and column that the message names."""
    place = re.match(r"(\d+):column (\d+)", pointer)
    assert place is not None
    lines = state.files[LIST].decode().split("\n")
    before = "\n".join([*lines[: int(place[1]) - 1], lines[int(place[1]) - 1][: int(place[2]) - 1]])
    text = "\n".join(lines)
    fixed = before.rstrip() + "," + text[len(before.rstrip()) :]
    return state.with_file(LIST, fixed.encode())


def _once(state: State, found: re.Match[str], pointer: str) -> State:
    return state.with_data(state.data)  # a reader of JSON keeps the last


def _explain(state: State, found: re.Match[str], pointer: str) -> State:
    return state.with_file("README.md", b"The first run was cut off when its machine went away.\n")


_ACTS: tuple[tuple[str, Act], ...] = (
    (r"rename it, for instance to \"([^\"]+)\"", _rename_folder),
    (r"^rename it to `(\w+)`", _spell_key),
    (r"^write \"([^\"]+)\"", _write),
    (r"^add `(\w+)`", _add_key),
    (r"^add (?:about )?(\d+) (?:more )?runs?", _add_runs),
    (r"^(?i:train (?:slightly )?longer)|Train slightly longer", _train_longer),
    (r"submit the (?:log|text)|submit the log itself|output of the training cell", _true_log),
    (r"give the log that the training printed", _true_log),
    (r"log it as val_loss|run both arms on the same machine", _train_again),
    (r"^move the folder to ([\w/-]+)$", _move),
    (r"^write a number", _number),
    (r"^fill it in", _fill_in),
    (r"^keep the results in this file", _shorten),
    (r"submit the source file exactly as it ran|^add the file, or correct the path", _source),
    (r"leave it out|remove the run|list each run once|link the run's page", _unlist),
    (r"save it as UTF-8", _plain_utf8),
    (r"say (?:why )?in the README", _explain),
    (r"add the \",\"", _comma),
    (r"keep one of the two", _once),
)
