"""A submission that is not written yet: what is given on a command line, as files and `runs`.

    files, runs = given(links, results, logs, baseline, track)
    parsed = parsed_draft(draft(track, "my-idea", login, runs), files, shown, track)

`new` writes it; `stats` has it judged to say what `check` would reject.
"""

from __future__ import annotations

import dataclasses as dc
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from bot.commands.given import given_logs
from bot.commands.root import Unusable
from bot.commands.suites import STEPS, members
from bot.evidence.sources import is_link
from bot.model.submission import MAX_JSON_BYTES, MAX_LOG_BYTES, PLACEHOLDER, Folder
from bot.model.track import Track
from bot.parse.folder import Parsed, ReadError, parse_submission
from bot.parse.plan import issue_in

SCHEMA = "https://speedrun-bot.github.io/schemas/submission.schema.json"
MOST_OFFERED = 20
MOST_STEPS = 30
_DEPTH = 4
"""An offline W&B file lies so deep in the folder of its run."""
Files = dict[str, bytes]
Runs = list[dict[str, Any]]


def given(
    links: Iterable[str],
    results: Iterable[str],
    logs: Iterable[str],
    baseline: Iterable[str],
    track: Track,
    loss_key: str | None = None,
    suite: Path | None = None,
) -> tuple[Files, Runs]:
    """The files to copy, by name in the folder, and the entries of `runs`. Raises Unusable.

    `suite` is the folder of a suite that the trainer ran; each of its members becomes a point.
    `baseline` lists the links, results files, logs or folders of the baseline arm. If it is empty,
    logs with "baseline" in their own name or their folder's make up that arm.
    """
    files: Files = {}
    runs: Runs = [{"source": "wandb", "link": _address(link)} for link in links]
    runs += [_results(name, files) for name in results]
    named = tuple(baseline)
    keyed = mapped(track, loss_key)
    found = given_logs(logs, *keyed)
    mixed = not named and (len({base for _, base in found}) > 1 or bool(runs))
    for path, base in found:
        runs.append(_log(path, files) | ({"arm": "baseline"} if base and mixed else {}))
    if suite is not None:
        runs += _members(suite, track, files)
    for source in named:
        runs += [entry | {"arm": "baseline"} for entry in _any(source, files, *keyed)]
    return files, runs


def mapped(track: Track, loss_key: str | None) -> tuple[Track, frozenset[str]]:
    """The track with this name of the loss, and the quantities that are so named."""
    if loss_key is None:
        return track, frozenset()
    keys = track.keys.named({"loss": loss_key})
    return dc.replace(track, keys=keys), frozenset({"loss"})


def _any(source: str, files: Files, track: Track, mapped: frozenset[str]) -> Runs:
    """The entries of one source, whatever it is."""
    if is_link(source):
        return [{"source": "wandb", "link": _address(source)}]
    if source.lower().endswith(".json"):
        return [_results(source, files)]
    return [_log(path, files) for path, _ in given_logs([source], track, mapped)]


def _members(suite: Path, track: Track, files: Files) -> Runs:
    """The entries of a suite's runs, each with its point, and the list of its steps as a file."""
    runs: Runs = []
    for point, path in members(suite, track):
        kind = "results" if path.suffix == ".json" else "log"
        name = _free(f"{point}/{file_name(path.name)}", files)
        files[name] = read_whole(path, MAX_LOG_BYTES if kind == "log" else MAX_JSON_BYTES)
        runs.append({"source": kind, "path": name, "point": point})
    files[STEPS] = read_whole(suite / STEPS, MAX_JSON_BYTES)
    return runs


def _address(link: str) -> str:
    from bot.evidence.links import LinkProblem, parse_link

    found = parse_link(link)
    if isinstance(found, LinkProblem):
        _offer(link)
        raise Unusable(f'"{link[:200]}": {found.message}; {found.fix}')
    return found.url


def _results(name: str, files: Files) -> dict[str, Any]:
    count = sum(file.startswith("speedrun_results") for file in files)
    inside = "speedrun_results.json" if not count else f"speedrun_results_{count + 1}.json"
    files[inside] = read_whole(Path(name), MAX_JSON_BYTES)
    _take_steps(Path(name), files)
    return {"source": "results", "path": inside}


def _log(path: Path, files: Files) -> dict[str, Any]:
    inside = _free(f"logs/{file_name(path.name)}", files)
    files[inside] = read_whole(path, MAX_LOG_BYTES)
    _take_steps(path, files)
    return {"source": "log", "path": inside}


def _take_steps(path: Path, files: Files) -> None:
    """Copy the steps that the trainer listed in the folder of a run: the board draws them."""
    for folder in path.absolute().parents[:_DEPTH]:
        steps = folder / STEPS
        if steps.is_file() and steps.stat().st_size <= MAX_JSON_BYTES:
            data = steps.read_bytes()
            kept = [name for name in files if PurePosixPath(name).match("execution*.json")]
            new = data not in [files[name] for name in kept]
            if new and len(kept) < MOST_STEPS and _lists_steps(data):
                files[_free(STEPS, files)] = data
            return


def _lists_steps(data: bytes) -> bool:
    """Whether a file of that name is the trainer's; others have theirs."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("steps"), dict)


def _offer(link: str) -> None:
    """For the link of a project or a sweep: its finished runs. Raises Unusable that lists them."""
    from bot.evidence.links import project_of

    place = project_of(link)
    if place is None:
        return
    from bot.evidence.wandb.online import WandbFetcher

    runs, failure = WandbFetcher.from_environment().finished(place)
    what = "sweep" if place.sweep else "project"
    if failure is not None:
        raise Unusable(f"the link is a {what}, not one run, and {failure.message}; {failure.fix}")
    if not runs:
        raise Unusable(f"the {what} has no finished run that can be read; make it public on W&B")
    lines = "".join(f"\n  --wandb {run.url}" for run in runs[:MOST_OFFERED])
    more = len(runs) - MOST_OFFERED
    lines += f"\n  and {more} more" if more > 0 else ""
    raise Unusable(f"the link is a {what}; name its finished runs that count:{lines}")


def read_whole(path: Path, limit: int) -> bytes:
    """The bytes of a file. Raises Unusable."""
    try:
        if not path.is_file():
            what = "is not a regular file" if path.exists() else "there is no such file"
            raise Unusable(f"{path}: {what}")
        size = path.stat().st_size
        if size > limit:
            raise Unusable(f"{path}: has {size:,} bytes; at most {limit:,} are accepted")
        return path.read_bytes()
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror or 'cannot be read'}") from error


def file_name(name: str) -> str:
    """A plain name for a copied file."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name).lstrip("._-")[:100]
    return plain or "run.log"


def _free(name: str, files: Mapping[str, bytes]) -> str:
    """`name`, with a number if it is taken."""
    stem, dot, ending = name.rpartition(".")
    n, free = 1, name
    while free in files:
        n += 1
        free = f"{stem or name}_{n}{dot}{ending if stem else ''}"
    return free


def draft(
    track: Track, name: str, login: str, runs: Runs, title: str = "", code: str | None = None
) -> dict[str, Any]:
    """A submission.json without the parts that the evidence decides."""
    made: dict[str, Any] = {
        "$schema": SCHEMA,
        "schema_version": 1,
        "track": track.id,
        "title": (title or name.replace("-", " ").replace("_", " ").capitalize())[:120],
        "summary": "",
        "contributors": [{"github": login, "roles": ["idea", "code", "runs", "writing", "pr"]}],
    }
    if code is not None:
        made["code"] = {"path": file_name(Path(code).name)}
    points = list(dict.fromkeys(run["point"] for run in runs if "point" in run))
    return made | ({"points": points} if points else {}) | {"runs": runs}


def announced(issue: str) -> int | str:
    """A preregistration as submission.json names it: a number, or an address. Raises Unusable."""
    if (found := issue_in(issue)) is not None:
        return found
    raise Unusable(f'--preregistration "{issue[:100]}": write the number of an issue, such as 12')


def text(document: Mapping[str, Any]) -> bytes:
    """The bytes of a submission.json."""
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def parsed_draft(
    made: Mapping[str, Any], files: Mapping[str, bytes], shown: str, track: Track
) -> tuple[Folder, Parsed]:
    """The folder as it will be, and what it says. Raises Unusable."""
    folder = Folder(shown, {"submission.json": text(made), **files})
    try:
        return folder, parse_submission(folder, {track.id: track})
    except ReadError as error:
        raise Unusable(str(error)) from error


def with_login(made: dict[str, Any], files: Files, shown: str, track: Track) -> dict[str, Any]:
    """The draft with the login that runs of the candidate name, where none is known, if any does
    and none names another."""
    person = made["contributors"][0]
    if person["github"] != PLACEHOLDER:
        return made
    from bot.evidence.gather import gather
    from bot.rules.ownership import owners_of

    folder, parsed = parsed_draft(made, files, shown, track)
    read = gather(parsed.submission, folder, track).runs
    ours = [run for item in read if item.spec.arm == "candidate" for run in item.runs]
    found = {login for run in ours for login in owners_of(run)}
    return made | {"contributors": [person | {"github": found.pop()}]} if len(found) == 1 else made
