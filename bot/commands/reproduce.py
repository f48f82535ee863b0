"""`speedrun reproduce`: run a submission's code here, both arms in turn, and write what came of it.

    speedrun reproduce submissions/single-gpu/faster
    speedrun reproduce submissions/single-gpu/lucky --challenge --seeds 5

The code is a stranger's: what will run is shown, and nothing runs before you say so. It runs in a
temporary folder with a copy of the submission's files, with your rights, and without the tokens and
keys of your environment. This is not a sandbox: read the code first.
"""

from __future__ import annotations

import dataclasses as dc
import hashlib
import secrets
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot.commands.clean_run import checkout, clean_folder, run_code
from bot.commands.draft import Files, draft, given
from bot.commands.make_baseline import CODE
from bot.commands.new import filled, judged, own_login, write_folder
from bot.commands.root import ROOT, Unusable, root_of, tracks_of
from bot.local import Local
from bot.model.submission import LOG_ENDINGS, PLACEHOLDER, Submission
from bot.model.track import Reproduction, Track
from bot.parse.folder import ReadError, parse_submission, read_path
from bot.patterns import LOGIN, SLUG
from bot.render.untrusted import plain

if TYPE_CHECKING:
    from bot.render.answer import Answer

SEEDS = (1000, 10_000)
"""Fresh seeds: a run with the entry's own seed on its kind of card would be a copy of it."""
_TRAINER = "{python} {file} --interleave {baseline} --seed {seed} --seeds {seeds} --out {out} "
_TRAINER += "--track {track} --wandb offline"


@dc.dataclass(frozen=True, slots=True)
class Plan:
    """What will run: `files` are copied into the clean folder, where `command` runs."""

    entry: Submission
    track: Track
    files: Mapping[str, bytes]
    repository: tuple[str, str] | None
    command: tuple[str, ...]
    seeds: int


@click.command()
@click.argument("path", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--challenge", is_flag=True, help="Challenge the entry instead of reproducing it.")
@click.option("--seeds", type=click.IntRange(2), help="Pairs of runs [default: as many as needed].")
@click.option("--seed", type=click.IntRange(0), help="The first seed [default: a fresh one].")
@click.option("--name", help="Name of the new folder [default: ENTRY-by-LOGIN].")
@click.option("--author", metavar="LOGIN", help="Your GitHub login.")
@click.option("--dry-run", is_flag=True, help="Show what would run; run and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@ROOT
def reproduce(
    path: Path,
    challenge: bool,
    seeds: int | None,
    seed: int | None,
    name: str | None,
    author: str | None,
    dry_run: bool,
    yes: bool,
    root: Path | None,
) -> None:
    """Run a submission's code on this machine and write the reproduction as a submission.

    Shows what will run and asks. Exit status: 0 written, 2 nothing was run or written.
    """
    place = root_of(root, path)
    login = author or own_login()
    if not LOGIN.fullmatch(login) and login != PLACEHOLDER:
        raise Unusable(f'"{login}" is not a GitHub login')
    local = Local(place, tracks_of(place))
    first = secrets.choice(range(*SEEDS)) if seed is None else seed
    plan = _plan(local, path, challenge, seeds, first)
    target = _target(place, plan, name, login)
    _show(plan, target)
    if dry_run:
        click.echo("Nothing was run (--dry-run).")
        return
    if not yes and not click.confirm("Run it?", default=False):
        raise Unusable("nothing was run")
    with clean_folder() as (code, out):
        if plan.repository is not None:
            checkout(*plan.repository, code)
        run_code(plan.files, plan.command, code, out)
        made, files = _made(plan, out, target, login, challenge)
    shown = target.relative_to(place).as_posix()
    made = filled(made, judged(made, shown, files, local).verdict, None)
    write_folder(target, made, files)
    _say(judged(made, shown, files, local), target, login)


# ---- The plan -----------------------------------------------------------------------------------


def _plan(local: Local, path: Path, challenge: bool, seeds: int | None, seed: int) -> Plan:
    """What would run. Raises Unusable if the submission does not say how."""
    try:
        folder = read_path(path, local.root)
        parsed = parse_submission(folder, local.tracks)
    except ReadError as error:
        raise Unusable(str(error)) from error
    entry, track = parsed.submission, parsed.track
    if track is None or track.objective != "baseline":
        raise Unusable(
            f"{entry.path}: only entries of a `baseline` track can be reproduced, because the "
            "result is the ratio of two arms on one machine"
        )
    if entry.reply is not None:
        raise Unusable(f"{entry.path} {entry.reply.kind} {entry.reply.entry}; name that entry")
    files = {n: d for n, d in folder.files.items() if not _is_evidence(n)}
    repository = None
    if entry.code_repository is not None and entry.code_commit is not None:
        repository = entry.code_repository, entry.code_commit
    command = entry.code_command or _of_trainer(entry, files)
    if command is None:
        raise Unusable(
            f"{entry.path} does not say how its code runs; its author can add "
            '"command" under "code", such as "python train.py --seeds {seeds} --out {out}"'
        )
    pairs = seeds or _pairs(entry, track, challenge)
    words = {"python": sys.executable, "file": entry.code_path, "seed": seed, "seeds": pairs}
    words |= {"track": track.id, "out": "{out}"}
    words |= {"baseline": _baseline(local.root, track, files.get(entry.code_path or "", b""))}
    return Plan(entry, track, files, repository, _words(command, words), pairs)


def _is_evidence(name: str) -> bool:
    return name == "submission.json" or name.endswith(LOG_ENDINGS) or "speedrun_results" in name


def _of_trainer(entry: Submission, files: Mapping[str, bytes]) -> str | None:
    """The command of a starter file, which knows how to run both arms."""
    code = files.get(entry.code_path or "", b"")
    return _TRAINER if b"reference_trainer" in code else None


def _baseline(root: Path, track: Track, code: bytes) -> str:
    """What a starter's --interleave is given: the file of the frozen baseline, because the clean
    folder is outside the repository. The first one is the starter in either backend."""
    frozen = track.baselines[-1] if track.baselines else None
    file = root / frozen.submission / CODE if frozen else None
    if frozen is None or file is None or not file.is_file():
        return "baseline"
    torch = b"starter.run_torch("
    same = (torch in code) == (torch in file.read_bytes())
    return str(file) if same or frozen.after else "baseline"


def _pairs(entry: Submission, track: Track, challenge: bool) -> int:
    """Pairs that count: those that the track asks for, for a challenge as many as the entry has."""
    own = sum(run.arm == "baseline" for run in entry.runs) if challenge else 0
    return max((track.reproduction or Reproduction()).runs, own, 2)


def _words(command: str, values: Mapping[str, object]) -> tuple[str, ...]:
    """The command as words; each is filled in after the split, so that no value adds one."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Unusable(f'code.command "{plain(command, 200)}" cannot be read: {error}') from error
    for name, value in values.items():
        words = [word.replace(f"{{{name}}}", str(value)) for word in words]
    return (sys.executable, *words[1:]) if words[:1] == ["python"] else tuple(words)


def _target(root: Path, plan: Plan, name: str | None, login: str) -> Path:
    flat = plan.entry.name.replace("/", "-")
    name = name or f"{flat[: 60 - len(login)]}-by-{login.lower()}"
    if not SLUG.fullmatch(name):
        raise Unusable(f'"{name}" is not a valid name; use lower-case letters, digits, _ and -')
    target = root / "submissions" / plan.track.id / name
    if target.exists():
        raise Unusable(f"{target} exists; name another folder with --name")
    return target


def _show(plan: Plan, target: Path) -> None:
    people = ", ".join(f"@{plain(c.github, 40)}" for c in plan.entry.contributors) or "nobody named"
    click.echo(f"{plain(plan.entry.path, 200)}: {plain(plan.entry.title or '', 100)}, by {people}")
    click.echo("This will run, in a clean temporary folder and with your rights:\n")
    shown = shlex.join(plan.command).replace("'{out}'", "{out}")
    click.echo(f"  {plain(shown, 1000)}\n")
    if plan.repository is not None:
        click.echo("  code: {} at {}".format(*(plain(part, 300) for part in plan.repository)))
    for name, data in sorted(plan.files.items()):
        digest = hashlib.sha256(data).hexdigest()[:12]
        click.echo(f"  file: {plain(name, 200)}, {len(data):,} bytes, SHA-256 {digest}")
    click.echo(
        f"\n{plan.seeds} pairs of runs, entry and baseline in turn. Read the code first: "
        f"{plain(plan.entry.path, 200)}. Tokens and keys of your environment are not passed on.\n"
        f"The reproduction is written to {target}."
    )


# ---- Writing ------------------------------------------------------------------------------------


def _made(
    plan: Plan, out: Path, target: Path, login: str, challenge: bool
) -> tuple[dict[str, Any], Files]:
    """The reproduction as submission.json, and the files beside it."""
    files, runs = given((), (), [str(out)], (), plan.track)
    title = f"{plan.entry.title or plan.entry.name}, run again"
    made = draft(plan.track, target.name, login, runs, title)
    entry = plan.entry.path.removeprefix("submissions/")
    made["summary"] = f"The code of {entry} unchanged, run again with its baseline in turn."
    made["contributors"] = [{"github": login, "roles": ["runs"]}]
    made["challenges" if challenge else "reproduces"] = entry
    base = plan.entry.based_on
    return made | ({"based_on": base} if base else {}), files


def _say(found: Answer, target: Path, login: str) -> None:
    from bot.render.terminal import to_text

    steps = f"`speedrun submit {target}`."
    if login == PLACEHOLDER:
        steps = f'replace "{PLACEHOLDER}" in submission.json with your GitHub login, then {steps}'
    click.echo(to_text(dc.replace(found, next=steps), verbose=False))
    click.echo(f"Written: {target}")
