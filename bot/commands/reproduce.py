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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot.commands.clean_run import checkout, clean_folder, run_code
from bot.commands.draft import Files, draft, given, parsed_draft
from bot.commands.new import filled, judged, own_login, write_folder
from bot.commands.program import Plan, differences, filled_in, plan
from bot.commands.root import ROOT, Unusable, root_of, tracks_of
from bot.evidence.gather import gather
from bot.evidence.recorded import Recorded, recorded
from bot.local import Local
from bot.model.submission import PLACEHOLDER
from bot.paths import as_typed
from bot.patterns import LOGIN, SLUG
from bot.render.untrusted import plain

if TYPE_CHECKING:
    from bot.render.answer import Answer

SEEDS = (1000, 10_000)
"""Fresh seeds: a run with the entry's own seed on its kind of card would be a copy of it."""


@click.command()
@click.argument("path", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--challenge", is_flag=True, help="Challenge the entry instead of reproducing it.")
@click.option("--seeds", type=click.IntRange(1), help="Pairs of runs [default: as many as needed].")
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
    made_of = plan(path, local, challenge, seeds)
    first = _fresh(made_of) if seed is None else seed
    command = filled_in(made_of.command, {"seed": first})
    target = _target(place, made_of, name, login)
    _show(made_of, target, command, first, challenge)
    if dry_run:
        click.echo("Nothing was run (--dry-run).")
        return
    if not yes and not click.confirm("Run it?", default=False):
        raise Unusable("you answered no, so nothing was run; --yes runs it without asking")
    with clean_folder() as (code, out):
        if made_of.repository is not None:
            checkout(*made_of.repository, code)
        run_code(made_of.files, command, code, out)
        made, files = _made(made_of, out, target, login, challenge)
    shown = target.relative_to(place).as_posix()
    differ = _differing(made_of, made, files, shown)
    if differ:
        made["summary"] += f" Otherwise than the entry's runs: {'; '.join(differ)}."
    made = filled(made, judged(made, shown, files, local).verdict, None)
    write_folder(target, made, files)
    for item in differ:
        click.echo(f"differs from the entry's runs: {item}")
    _say(judged(made, shown, files, local), target, login)


def _target(root: Path, made_of: Plan, name: str | None, login: str) -> Path:
    flat = made_of.entry.name.replace("/", "-")
    name = name or f"{flat[: 60 - len(login)]}-by-{login.lower()}"
    if not SLUG.fullmatch(name):
        raise Unusable(f'"{name}" is not a valid name; use lower-case letters, digits, _ and -')
    target = root / "submissions" / made_of.track.id / name
    if target.exists():
        raise Unusable(f"{target} exists; name another folder with --name")
    return target


def _fresh(made_of: Plan) -> int:
    """A first seed such that no run has one of the entry's."""
    used, n = set(made_of.found.seeds), made_of.seeds
    free = [s for s in range(*SEEDS) if used.isdisjoint(range(s, s + n))]
    return secrets.choice(free or range(*SEEDS))


def _show(made_of: Plan, target: Path, command: Sequence[str], first: int, challenge: bool) -> None:
    """What will run, and what of the entry's runs it will not share."""
    entry = made_of.entry
    people = ", ".join(f"@{plain(c.github, 40)}" for c in entry.contributors) or "nobody named"
    click.echo(f"{plain(entry.path, 200)}: {plain(entry.title or '', 100)}, by {people}")
    click.echo("This will run, in a clean temporary folder and with your rights:\n")
    shown = shlex.join(command).replace("'{out}'", "{out}")
    click.echo(f"  {plain(shown, 3000)}\n")
    if made_of.repository is not None:
        click.echo("  code: {} at {}".format(*(plain(p, 300) for p in made_of.repository)))
    for name, data in sorted(made_of.files.items()):
        digest = hashlib.sha256(data).hexdigest()[:12]
        click.echo(f"  file: {plain(name, 200)}, {len(data):,} bytes, SHA-256 {digest}")
    click.echo(f"  baseline: {made_of.baseline.id} of {made_of.track.id}")
    if facts := _facts(made_of.found):
        click.echo(f"  its runs recorded: {plain(facts, 300)}")
    for note in (*made_of.notes, *_seeds(made_of, first)):
        click.echo(f"  note: {plain(note, 400)}")
    pairs = "1 pair" if made_of.seeds == 1 else f"{made_of.seeds} pairs"
    click.echo(
        f"\n{pairs} of runs, entry and baseline in turn. {_shows(made_of, challenge)}Read the "
        f"code first: {plain(entry.path, 200)}. Tokens and keys of your environment are not passed "
        f"on.\nThe reproduction is written to {target}."
    )


def _facts(found: Recorded) -> str:
    """What the entry's runs recorded, in few words."""
    corpus = found.settings.get("data.corpus")
    seeds = ", ".join(map(str, found.seeds[:8])) + ", ..." * (len(found.seeds) > 8)
    parts = [found.backend or "", f"corpus {corpus}" if corpus else ""]
    parts += [f"{len(found.settings)} settings" if found.settings else ""]
    parts += [f"{'seed' if len(found.seeds) == 1 else 'seeds'} {seeds}" if seeds else ""]
    return "; ".join(part for part in parts if part)


def _seeds(made_of: Plan, first: int) -> Iterator[str]:
    """How the seeds stand to those of the entry."""
    seeds = range(first, first + made_of.seeds)
    same = [seed for seed in made_of.found.seeds if seed in seeds]
    if same:
        yield (
            f"the entry ran the seed {same[0]} too: on a like card the runs may be copies, which "
            "count once; leave --seed out for fresh ones"
        )


def _shows(made_of: Plan, challenge: bool) -> str:
    """What fewer pairs than needed can show; empty for enough."""
    rule, n = made_of.track.confirmation, made_of.seeds
    own = sum(run.arm == "baseline" for run in made_of.entry.runs)
    needed = max(own, 2) if challenge else rule.runs
    if n >= needed:
        return ""
    spread = "it has no spread, so by itself it neither confirms nor disputes. " if n == 1 else ""
    one = f"One pair shows that the code runs and about what it saves here; {spread}" * (n == 1)
    what = "a challenge" if challenge else "a confirmation"
    return f"{one}{what.capitalize()} needs {needed} pairs{'' if challenge else ' in all'}. "


# ---- Writing ------------------------------------------------------------------------------------


def _made(
    made_of: Plan, out: Path, target: Path, login: str, challenge: bool
) -> tuple[dict[str, Any], Files]:
    """The reproduction as submission.json, and the files beside it."""
    files, runs = given((), (), [str(out)], (), made_of.track)
    title = f"{made_of.entry.title or made_of.entry.name}, run again"
    made = draft(made_of.track, target.name, login, runs, title)
    entry = made_of.entry.path.removeprefix("submissions/")
    made["summary"] = f"The code of {entry} unchanged, run again with its baseline in turn."
    made["contributors"] = [{"github": login, "roles": ["runs"]}]
    made["challenges" if challenge else "reproduces"] = entry
    return made | {"based_on": made_of.baseline.id}, files


def _differing(made_of: Plan, made: Mapping[str, Any], files: Files, shown: str) -> list[str]:
    """What the new runs record otherwise than the entry's."""
    folder, parsed = parsed_draft(made, files, shown, made_of.track)
    gathered = gather(parsed.submission, folder, made_of.track)
    ours = [run for i in gathered.runs if i.spec.arm == "candidate" for run in i.runs]
    return differences(made_of.found, recorded(ours))


def _say(found: Answer, target: Path, login: str) -> None:
    from bot.render.terminal import to_text

    place = as_typed(target)
    steps = f"`speedrun submit {place}`."
    if login == PLACEHOLDER:
        steps = f'replace "{PLACEHOLDER}" in submission.json with your GitHub login, then {steps}'
    click.echo(to_text(dc.replace(found, next=steps), verbose=False))
    click.echo(f"Written: {place}")
