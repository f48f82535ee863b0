"""The program of an entry: its files, how they run, and what of its runs' record they leave out.

`plan` reads it from the submission, from the files attached to its W&B runs, and from what its
runs recorded. Nothing here runs anything: what differs is said before anyone is asked.
"""

from __future__ import annotations

import dataclasses as dc
import importlib
import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from bot.commands.board import snapshots_of
from bot.commands.root import Unusable
from bot.evidence.code_hash import hashes_of
from bot.evidence.gather import ENVIRONMENT, gather
from bot.evidence.recorded import Recorded, Value, recorded
from bot.local import Local
from bot.model.run import TRAINER, Run
from bot.model.submission import LOG_ENDINGS, Folder, Submission
from bot.model.track import Baseline, Track
from bot.parse.baselines_json import path_of
from bot.parse.folder import Parsed, ReadError, parse_submission, read_path
from bot.patterns import STARTER
from bot.render.numbers import listed
from bot.render.untrusted import plain

_TRAINER = "{python} {file} {settings} --interleave {baseline} --seed {seed} --seeds {seeds} "
_TRAINER += "--out {out} --track {track} --wandb offline"
_BARE = re.compile(r"(?!(?:true|false|inf|nan)\b)[A-Za-z][A-Za-z0-9_.-]*")
_BY_HAND = (
    "run both by yourself and name the runs: `speedrun new TRACK/NAME --log ... --baseline ...`, "
    'with "reproduces" in submission.json'
)


@dc.dataclass(frozen=True, slots=True)
class Plan:
    """What will run: `files` are copied into the clean folder, where `command` runs. `found` is
    what the entry's runs recorded, `notes` what of it the new runs will not share."""

    entry: Submission
    track: Track
    files: Mapping[str, bytes]
    repository: tuple[str, str] | None
    command: tuple[str, ...]
    seeds: int
    baseline: Baseline
    found: Recorded
    notes: tuple[str, ...] = ()


def plan(path: Path, local: Local, challenge: bool, seeds: int | None) -> Plan:
    """What would run, with {seed} and {out} left open. Raises Unusable if nothing says how."""
    folder, parsed = _read(path, local)
    entry, track = parsed.submission, _track(parsed)
    baseline = _baseline(entry, track, local)
    runs, notes = _runs(folder, parsed, local.root)
    found = recorded(runs)
    files = {n: d for n, d in folder.files.items() if not _is_evidence(n)}
    name, files = _code(entry, files, found)
    repository = None
    if entry.code_repository is not None and entry.code_commit is not None:
        repository = entry.code_repository, entry.code_commit
    code = files.get(name or "", b"")
    words: dict[str, object] = {"python": sys.executable, "file": name, "track": track.id}
    words["seeds"] = pairs = seeds or _pairs(entry, track, challenge)
    settings: tuple[str, ...] = ()
    if entry.code_command:
        command = entry.code_command
        notes += _not_passed(found)
    elif b"reference_trainer" in code:
        command, (settings, more) = _TRAINER, _settings(found, code.decode("utf-8", "replace"))
        words["baseline"], notes = _frozen(local.root, track, baseline, code), notes + more
    else:
        raise Unusable(_no_command(entry, name, repository))
    notes += tuple(_other(found, name, code, repository))
    made = _words(command, words, settings)
    return Plan(entry, track, files, repository, made, pairs, baseline, found, notes)


def _read(path: Path, local: Local) -> tuple[Folder, Parsed]:
    try:
        folder = read_path(path, local.root)
        return folder, parse_submission(folder, local.tracks)
    except ReadError as error:
        raise Unusable(str(error)) from error


def _track(parsed: Parsed) -> Track:
    entry, track = parsed.submission, parsed.track
    if track is None or track.objective != "baseline":
        raise Unusable(
            f"{entry.path}: only entries of a `baseline` track can be reproduced, because the "
            "result is the ratio of two arms on one machine"
        )
    if entry.reply is not None:
        raise Unusable(f"{entry.path} {entry.reply.kind} {entry.reply.entry}; name that entry")
    return track


def _baseline(entry: Submission, track: Track, local: Local) -> Baseline:
    """The baseline that the entry was measured against, which runs beside it."""
    board = local.repository.board(track.id)
    verdicts = [e.verdict for e in board.entries] + [u.verdict for u in board.unranked]
    ran = [v.against for v in verdicts if v.submission == entry.path and v.against]
    known = {item.id: item for item in track.baselines}
    found = next((known[name] for name in (*ran, board.track.baseline_id) if name in known), None)
    if found is None:
        raise Unusable(
            f"{track.id} is not open yet: no baseline is frozen to run beside {entry.path}; "
            f"`speedrun baseline status {track.id}` says how a maintainer opens it"
        )
    return found


def _is_evidence(name: str) -> bool:
    if name == "submission.json" or name.endswith(LOG_ENDINGS) or "speedrun_results" in name:
        return True
    return PurePosixPath(name).match("execution*.json")  # the steps that the trainer lists


def _pairs(entry: Submission, track: Track, challenge: bool) -> int:
    """Pairs that count: those that the track asks for, for a challenge as many as the entry has."""
    own = sum(run.arm == "baseline" for run in entry.runs) if challenge else 0
    return max(track.confirmation.runs, own, 2)


# ---- What its runs recorded ---------------------------------------------------------------------


def _runs(folder: Folder, parsed: Parsed, root: Path) -> tuple[list[Run], tuple[str, ...]]:
    """The entry's own runs, from snapshots or else from W&B, and what could not be read."""
    entry, track = parsed.submission, parsed.track
    assert track is not None
    with snapshots_of(root, None) as kept:
        items = gather(entry, folder, track, snapshots=kept).runs
    if any(item.spec.is_link and not item.runs for item in items):
        items = gather(entry, folder, track, online=ENVIRONMENT).runs
    ours = [item for item in items if item.spec.arm == "candidate"]
    runs = [run for item in ours for run in item.runs]
    if runs or not ours:
        return runs, ()
    why = next((f.message for item in ours for f in item.problems), "there is none")
    return [], (f"what its runs recorded could not be read ({plain(why, 200)})",)


def differences(of_entry: Recorded, made: Recorded) -> list[str]:
    """What the new runs record otherwise than the entry's, each as `name: new, in place of old`."""
    found = []
    if of_entry.settings and made.settings:
        for name, value in of_entry.settings.items():
            new = made.settings.get(name)
            if new != value:
                found.append(f"{name} {new}, in place of {value}")
    for what, old, new in (
        ("the backend", of_entry.backend, made.backend),
        ("the training data", of_entry.data, made.data),
    ):
        if old and new and old != new:
            found.append(f"{what} {new}, in place of {old}")
    for name, digest in of_entry.code_sha256.items():
        if name != TRAINER and made.code_sha256.get(name, digest) != digest:
            found.append(f"the code of {name}")
    return [plain(item, 200) for item in found]


def _other(found: Recorded, name: str | None, code: bytes, repository: object) -> Iterator[str]:
    """What the runs used that is otherwise here: the file itself, or the trainer."""
    stated = found.code_sha256.get(PurePosixPath(name or "").name)
    if code and stated is not None and stated not in hashes_of(code) and repository is None:
        yield f"{name} is not the file that its runs recorded; it has changed since"
    if TRAINER in found.code_sha256:
        trainer: Any = importlib.import_module("reference_trainer.stated")
        if trainer.trainer_sha256() != found.code_sha256[TRAINER]:
            yield "its runs used another version of the reference trainer than this one"


def _not_passed(found: Recorded) -> tuple[str, ...]:
    """What a command of the author's own is not told."""
    if not found.settings:
        return ()
    return (
        f"its author's command decides the settings; the check compares the {len(found.settings)} "
        "that its runs recorded with those of the new runs",
    )


# ---- The command --------------------------------------------------------------------------------


def _settings(found: Recorded, code: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The `--set` words that make a starter file train what the runs recorded, and notes. What
    its text says by itself is left out if that can be told."""
    trainer: Any = importlib.import_module("reference_trainer.stated")
    stated: Mapping[str, object] | None = trainer.stated(code)
    notes = [
        f"its runs differ in {name} ({listed(list(map(str, values)))}); what the file says is used"
        for name, values in found.varying.items()
    ]
    if not found.settings:
        notes.append("its runs recorded no settings; those of the file are used")
    words: list[str] = []
    for name, value in found.settings.items():
        if stated is None or name in stated or name.startswith("optimizer.extra."):
            if stated is None or stated.get(name) != value:
                words += ["--set", f"{name}={_typed(value)}"]
        else:
            notes.append(f"its runs recorded {name}={value}, which this trainer does not have")
    return tuple(words), tuple(notes)


def _typed(value: Value) -> str:
    """A value as it is typed after `--set`."""
    bare = isinstance(value, str) and _BARE.fullmatch(value)
    return str(value) if bare else json.dumps(value)


def _frozen(root: Path, track: Track, baseline: Baseline, code: bytes) -> Path:
    """What a starter's --interleave is given: the file of the frozen baseline, since the clean
    folder is outside the repository. Raises Unusable if it cannot run beside this code."""
    if baseline.code is None:
        raise Unusable(
            f"the baseline {baseline.id} of {track.id} was frozen without code that can be run, so "
            f"nothing can run it in turn here; {_BY_HAND}"
        )
    own, theirs = STARTER.search(code.decode("utf-8", "replace")), backend_of(root, baseline)
    if own and theirs and own[1] != theirs:
        raise Unusable(
            f"the entry is written in {own[1]} and the baseline {baseline.id} in {theirs}, but "
            f"only arms in the same framework can run in turn; {_BY_HAND}"
        )
    return (root / path_of(track.id, baseline.id)).absolute()


def backend_of(root: Path, baseline: Baseline) -> str | None:
    """The backend that a frozen baseline's starter file is written in, if it has one."""
    file = root / baseline.submission / baseline.code.path if baseline.code else None
    if file is None or not file.is_file():
        return None
    found = STARTER.search(file.read_text("utf-8", "replace"))
    return found[1] if found else None


def _no_command(entry: Submission, name: str | None, repository: object) -> str:
    if name is None and repository is None:
        return (
            f"{entry.path} has its code neither in the repository nor attached to its W&B runs; "
            'its author can put the file beside submission.json, and "code": {"path": "main.py"} '
            f"into it. If you have the code, {_BY_HAND}"
        )
    return (
        f"{entry.path} does not say how its code runs; its author can add "
        '"command" under "code", such as "python train.py --seeds {seeds} --out {out}"'
    )


def _words(command: str, values: Mapping[str, object], settings: Sequence[str]) -> tuple[str, ...]:
    """The command as words; each is filled in after the split, so that no value adds one."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Unusable(f'code.command "{plain(command, 200)}" cannot be read: {error}') from error
    at = words.index("{settings}") if "{settings}" in words else len(words)
    words = [*words[:at], *settings, *words[at + 1 :]]
    return filled_in(
        (sys.executable, *words[1:]) if words[:1] == ["python"] else tuple(words), values
    )


def filled_in(words: Sequence[str], values: Mapping[str, object]) -> tuple[str, ...]:
    """The words of a command with their {names} filled in."""
    for name, value in values.items():
        words = [word.replace(f"{{{name}}}", str(value)) for word in words]
    return tuple(words)


# ---- The code -----------------------------------------------------------------------------------


def _code(
    entry: Submission, files: dict[str, bytes], found: Recorded
) -> tuple[str | None, dict[str, bytes]]:
    """The name of the file that runs, and all files: of the folder, or those attached to the W&B
    runs if it has no code. Raises Unusable."""
    path = entry.code_path or _only_file(files)
    if path is not None and str(PurePosixPath(path)) not in files:
        raise Unusable(f'{entry.path}: its code, "{plain(path, 200)}", is not in its folder')
    if path is not None or entry.code_repository is not None or entry.code_command:
        return path, files
    attached = _attached(entry)
    names = [n for n in found.code_sha256 if n != TRAINER and n in attached]
    if not attached:
        return None, files
    if not names and (only := _only_file(attached)):
        names = [only]
    if not names:
        shown = plain(", ".join(sorted(attached)), 200)
        raise Unusable(
            f"{entry.path} has no code in the repository, and of the files attached to its W&B run "
            f'({shown}) nothing says which one runs; its author can add it as "code"'
        )
    stated = found.code_sha256.get(names[0])
    if stated is not None and stated not in hashes_of(attached[names[0]]):
        raise Unusable(
            f"{names[0]}, attached to the W&B run of {entry.path}, is not the file that the run "
            "says it ran; ask its author for the code"
        )
    return names[0], files | attached


def _only_file(files: Mapping[str, bytes]) -> str | None:
    """The file that runs, where submission.json does not name it."""
    names = [name for name in files if name.endswith(".py")]
    return "main.py" if "main.py" in names else names[0] if len(names) == 1 else None


def _attached(entry: Submission) -> dict[str, bytes]:
    """The Python files attached to the first run on W&B. Raises Unusable if it does not answer."""
    from bot.evidence.links import LinkProblem, parse_link

    for spec in entry.runs:
        ref = parse_link(spec.target) if spec.is_link and spec.arm == "candidate" else None
        if ref is None or isinstance(ref, LinkProblem):
            continue
        from bot.evidence.wandb.errors import FetchError
        from bot.evidence.wandb.online import WandbFetcher

        try:
            return WandbFetcher.from_environment().sources(ref)
        except FetchError as error:
            raise Unusable(
                f"{entry.path} has no code in the repository, and its W&B run cannot be asked for "
                f"it: {error.failure.message}; {error.failure.fix}"
            ) from error
    return {}
