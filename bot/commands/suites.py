"""A suite that the trainer ran, as the runs of one submission: `speedrun new --suite FOLDER`.

The trainer lists the members in `FOLDER/execution.json`, each with its status and the folder of
its runs; the name of a member is that of its point.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from bot.commands.given import given_logs
from bot.commands.root import Unusable
from bot.model.track import Track
from bot.patterns import SLUG

STEPS = "execution.json"
RESULTS = "speedrun_results.json"


def members(folder: Path, track: Track) -> list[tuple[str, Path]]:
    """(point, file with its run) of every member, in the order of the suite. Raises Unusable for a
    member that is not finished."""
    steps = _steps(folder)
    unfinished = [name for name, step in steps.items() if step.get("status") != "finished"]
    if unfinished:
        raise Unusable(
            f"{folder / STEPS}: not finished: {', '.join(unfinished)}; start the suite again, or "
            "train it without them"
        )
    return [(name, path) for name, step in steps.items() for path in _runs(folder, step, track)]


def _steps(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / STEPS
    try:
        steps = json.loads(path.read_text(encoding="utf-8"))["steps"]
        known = {str(name): dict(step) for name, step in steps.items()}
    except OSError as error:
        raise Unusable(
            f"{path}: {error.strerror or 'cannot be read'}; name the folder that "
            "`python -m reference_trainer suite` wrote"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unusable(f"{path}: not a list of steps; run the suite again") from error
    if not known or not all(
        SLUG.fullmatch(name) and step.get("output") for name, step in known.items()
    ):
        raise Unusable(f"{path}: lists no members of a suite; name the folder of a suite")
    return known


def _runs(folder: Path, step: dict[str, Any], track: Track) -> Iterator[Path]:
    """The runs of one member: W&B files or logs, or results files where the track takes those
    alone."""
    name = str(step["output"])
    if len(PurePosixPath(name).parts) != 1 or name == "..":
        raise Unusable(f'{folder / STEPS}: the output "{name[:100]}" is not a folder of the suite')
    if set(track.accepts) - {"results"}:
        yield from (path for path, _ in given_logs([str(folder / name)], track))
        return
    found = sorted((folder / name).rglob(RESULTS))
    if not found:
        raise Unusable(f"{folder / name}: there is no {RESULTS}; start the suite again")
    yield from found
