"""The logs that `speedrun new --log` names: every run once, with the arm that its place tells.

given_logs(["runs/", "a.log"], track)  ->  [(Path("runs/seed0/run.wandb"), False), ...]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from bot.commands.root import Unusable
from bot.evidence.sources import read_sources
from bot.model.run import Run
from bot.model.track import Track
from bot.render import numbers

ENDINGS = (".log", ".txt", ".wandb")
_TIME = re.compile(r"\d{8}-\d{6}")
LINE = "step:80/80 val_loss:1.94 train_time:17823ms"


def given_logs(
    names: Iterable[str], track: Track, mapped: frozenset[str] = frozenset()
) -> list[tuple[Path, bool]]:
    """Every file with a run, and whether its name or its folder says that it is of the baseline.

    A file that is named has to hold a run. In a folder, files without one are left out, and so
    are those whose run another file holds: a trainer leaves a log beside a W&B file, and W&B
    leaves logs of its own. Raises Unusable.
    """
    found: list[tuple[Path, bool]] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            path = _session(path, track, mapped)
            kept = _with_runs(path, track, mapped)
            found += [(p, any(map(is_baseline, p.relative_to(path).parts))) for p in kept]
        else:
            _runs(path, track, mapped)
            found.append((path, any(map(is_baseline, path.absolute().parts[-2:]))))
    return found


def is_baseline(name: str) -> bool:
    """Whether the name of a file or folder says that it is of the baseline."""
    return name.lower().startswith("baseline")


def _runs(path: Path, track: Track, mapped: frozenset[str]) -> tuple[Run, ...]:
    read = read_sources([str(path)], track, mapped)
    if read.runs:
        return read.runs
    raise Unusable(str(read.skipped[0]) if read.skipped else f"{path}: it contains no run")


def _session(folder: Path, track: Track, mapped: frozenset[str]) -> Path:
    """The newest session of a folder that holds several, named by their times, as the trainer
    writes one for each start; the folder itself if none of them is complete."""
    found = sorted((p for p in folder.iterdir() if _TIME.fullmatch(p.name)), reverse=True)
    if len(found) < 2:
        return folder
    newest = next((p for p in found if _is_complete(p, track, mapped)), None)
    said = f"{folder} holds {len(found)} sessions, none of them complete: took all"
    if newest is not None:
        others = numbers.count(len(found) - 1, "other session")
        said = f"{folder}: took {newest.name}, the newest complete session, and left out "
        said += f"{others}; `--log {folder}/*` takes all"
    click.echo(said, err=True)
    return newest or folder


def _is_complete(session: Path, track: Track, mapped: frozenset[str]) -> bool:
    """Whether all runs ended by themselves, with as many in each arm, and both arms if the track
    compares them."""
    found = _read([p for p in session.rglob("*") if p.suffix in ENDINGS and p.is_file()],
                  track, mapped)  # fmt: skip
    base = [any(map(is_baseline, path.relative_to(session).parts)) for path, _ in found]
    equal = base.count(True) == base.count(False)
    alone = track.objective != "baseline" and len(set(base)) == 1
    runs = [run for _, read in found for run in read]
    return bool(runs) and (equal or alone) and all(run.finished is not False for run in runs)


def _read(
    files: Iterable[Path], track: Track, mapped: frozenset[str]
) -> list[tuple[Path, tuple[Run, ...]]]:
    """The files that hold runs, W&B files first where two hold the same run."""
    kept: dict[object, tuple[Path, tuple[Run, ...]]] = {}
    for path in sorted(files, key=lambda p: (p.suffix != ".wandb", len(p.parts), str(p))):
        runs = read_sources([str(path)], track, mapped).runs
        if runs:
            kept.setdefault(_identity(runs, path), (path, runs))
    return sorted(kept.values(), key=lambda item: item[0])


def _with_runs(folder: Path, track: Track, mapped: frozenset[str]) -> list[Path]:
    """The files of a folder that hold runs, each run once."""
    files = [p for p in folder.rglob("*") if p.suffix in ENDINGS and p.is_file()]
    if not files:
        raise Unusable(
            f"{folder}: the folder has no .log, .txt or .wandb file{_why(folder, track)}"
        )
    kept = [path for path, _ in _read(files, track, mapped)]
    if not kept:
        raise Unusable(
            f"{folder}: no file in the folder contains a run; expected W&B files, or logs "
            f"with lines such as {LINE}{_why(folder, track)}"
        )
    if left := len(files) - len(kept):
        click.echo(
            f"{folder}: left out {left} of {len(files)} files, which hold no run, or a run "
            "that another file holds",
            err=True,
        )
    return kept


def _why(folder: Path, track: Track) -> str:
    """What the first files of a folder are, if they are not logs; each on a line of its own."""
    skipped = read_sources([str(folder)], track).skipped
    lines = [str(item) for item in skipped if item.fix][:3]
    more = len(skipped) - len(lines)
    return "".join(f"\n  {line}" for line in lines) + (
        f"\n  and {more} more" if lines and more else ""
    )


def _identity(runs: Sequence[Run], path: Path) -> object:
    """What two files of one run share; a run without a nonce and without losses is itself."""
    return tuple(
        run.nonce or ((run.validation, run.step_times_s) if run.validation else path)
        for run in runs
    )
