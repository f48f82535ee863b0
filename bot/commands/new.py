"""`speedrun new`: a submission folder with everything that can be filled in.

    speedrun new nanogpt-small/my-idea --wandb https://wandb.ai/E/P/runs/ID ...
    speedrun new fineweb-edu/my-idea --results speedrun_results.json
    speedrun new single-gpu/my-idea --log a.log --starter torch

Writes `submissions/TRACK/NAME/submission.json` with the runs, hardware and claims that the evidence
shows, copies results files and logs beside it, and judges it as the bot will.
"""

from __future__ import annotations

import dataclasses as dc
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot import files as disk
from bot.commands.data import CORPUS_MANIFEST
from bot.commands.draft import (
    Files,
    announced,
    draft,
    file_name,
    given,
    parsed_draft,
    read_whole,
    text,
    with_login,
)
from bot.commands.root import ROOT, Unusable, root_of, track_of, tracks_of
from bot.commands.several import Several
from bot.compute import accelerators
from bot.local import Local
from bot.model.submission import MAX_JSON_BYTES, PLACEHOLDER
from bot.model.summary import Summary
from bot.model.track import Track
from bot.model.verdict import Point, Verdict
from bot.parse.data_manifest import DATA_MANIFEST
from bot.paths import as_typed
from bot.patterns import LOGIN, SLUG
from bot.render import numbers

if TYPE_CHECKING:
    from bot.render.answer import Answer


_COPIED = ("logs/*", "execution*.json", "speedrun_results*.json")
AGAIN = "Train with it, then run `speedrun new` again with the runs."


@click.command(cls=Several)
@click.argument("place", metavar="TRACK/NAME")
@click.option(
    "--wandb", "links", multiple=True, metavar="URL", help="A W&B run; several may follow."
)
@click.option(
    "--results", multiple=True, metavar="FILE", help="A results file; several may follow."
)
@click.option(
    "--log",
    "logs",
    multiple=True,
    metavar="FILE",
    help="A training log, a .wandb file or a folder of them; several may follow.",
)
@click.option(
    "--suite",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="A suite that the trainer ran: each of its members is a point.",
)
@click.option(
    "--data",
    "data",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The data that you built with `speedrun data build`; its manifest is copied.",
)
@click.option(
    "--baseline",
    multiple=True,
    metavar="SOURCE",
    help="Runs of the baseline arm: links, files or folders; several may follow.",
)
@click.option("--loss-key", metavar="NAME", help="What your logs or W&B call the validation loss.")
@click.option(
    "--code", metavar="FILE", help="The source file that ran; it is copied into the folder."
)
@click.option(
    "--starter",
    type=click.Choice(["torch", "jax"]),
    help="Also write one readable training file to hack on.",
)
@click.option("--title", help="Title on the board.")
@click.option("--author", metavar="LOGIN", help="Your GitHub login.")
@click.option(
    "--preregistration", metavar="ISSUE", help="The issue that announced it: number or address."
)
@click.option("-v", "--verbose", is_flag=True, help="Show all findings, numbers and runs.")
@ROOT
def new(
    place: str,
    links: Sequence[str],
    results: Sequence[str],
    logs: Sequence[str],
    suite: Path | None,
    data: Path | None,
    baseline: Sequence[str],
    loss_key: str | None,
    code: str | None,
    starter: str | None,
    title: str | None,
    author: str | None,
    preregistration: str | None,
    verbose: bool,
    root: Path | None,
) -> None:
    """Write a submission folder, fill in what the runs tell, and check it.

    Prints what the bot will say. Exit status: 0 written, 2 nothing was written.
    """
    root = root_of(root)
    track, path = _place(place, root)
    if not (links or results or logs or suite or starter):
        raise Unusable("nothing to submit; add --wandb, --results, --log, --suite or --starter")
    issue = {} if preregistration is None else {"preregistration": announced(preregistration)}
    login = _login(author)
    files, runs = given(links, results, logs, baseline, track, loss_key, suite)
    if starter is not None:
        _starter(starter, path, track, login, title or "", root)
    code = code or _written(path)
    files |= _read(data, code)
    if not runs:
        click.echo(f"{path / 'main.py'} is ready. {AGAIN}")
        return
    shown = path.relative_to(root).as_posix()
    made = issue | draft(track, path.name, login, runs, title or "", code)
    made = with_login(made, files, shown, track)
    local = Local(root, tracks_of(root))
    if loss_key is not None:
        made = _with_loss(made, loss_key, shown, files, local)
    made = filled(made, judged(made, shown, files, local).verdict, loss_key)
    write_folder(path, made, files)
    _say(path, judged(made, shown, files, local), made, bool(baseline), verbose)


# ---- what is given ------------------------------------------------------------------------------


def _place(place: str, root: Path) -> tuple[Track, Path]:
    """The track and the folder that `TRACK/NAME` stands for. Raises Unusable."""
    track_id, *name = place.strip("/").split("/")
    if not name:
        tracks = ", ".join(tracks_of(root))
        raise Unusable(f'"{place}" is not TRACK/NAME, such as TRACK/my-idea; tracks: {tracks}')
    track = track_of(root, track_id)
    if not 1 <= len(name) <= 4 or not all(SLUG.fullmatch(part) for part in name):
        raise Unusable(
            f'"{"/".join(name)}" is not a valid name; use lower-case letters, digits, _ and -, '
            f"such as {track_id}/my-idea"
        )
    path = root / "submissions" / track_id / Path(*name)
    if (path / "submission.json").exists():
        raise Unusable(
            f"{path / 'submission.json'} exists; edit it, remove it to begin "
            "again, or choose another name"
        )
    return track, path


def _read(data: Path | None, code: str | None) -> dict[str, bytes]:
    """The corpus manifest and the code that are named, under the names that they get."""
    found = {}
    if data is not None:
        found[DATA_MANIFEST] = read_whole(data / CORPUS_MANIFEST, MAX_JSON_BYTES)
    if code is not None:
        found[file_name(Path(code).name)] = read_whole(Path(code), MAX_JSON_BYTES)
    return found


def _written(path: Path) -> str | None:
    """The starter file in the folder, which `new` wrote now or before."""
    main = path / "main.py"
    return str(main) if main.is_file() else None


def _login(author: str | None) -> str:
    if author is not None and not LOGIN.fullmatch(author):
        raise Unusable(f'"{author}" is not a GitHub login')
    return author or own_login()


def own_login() -> str:
    """The user's GitHub login where this machine knows it."""
    found = os.environ.get("GITHUB_USER", "")
    if not found:
        try:
            done = subprocess.run(
                ["git", "config", "--get", "github.user"],
                capture_output=True,
                text=True,
                timeout=10,
                check=False,
            )
            found = done.stdout.strip()
        except (OSError, subprocess.SubprocessError):
            found = ""
    return found if LOGIN.fullmatch(found) else PLACEHOLDER


def _starter(kind: str, path: Path, track: Track, login: str, description: str, root: Path) -> None:
    import importlib

    # By name: nothing of the bot depends on the trainer.
    starters: Any = importlib.import_module("reference_trainer.starters")
    name = "" if login == PLACEHOLDER else login
    try:
        starters.copy_starter(kind, path, track=track.id, author=name, description=description)
    except FileExistsError as error:
        raise Unusable(f"{path / 'main.py'} exists; remove it, or leave --starter out") from error
    _beside_baseline(kind, track, root)


def _beside_baseline(kind: str, track: Track, root: Path) -> None:
    """Say so if the track's frozen baseline cannot run in turn with a starter of this kind."""
    from bot.commands.program import backend_of

    frozen = next((b for b in track.baselines if b.id == track.baseline_id), None)
    theirs = backend_of(root, frozen) if frozen else None
    if theirs not in (None, kind):
        click.echo(
            f"The baseline of {track.id} is written in {theirs}, and both arms need the same: with "
            f"`--starter {theirs}` it runs beside yours (`--interleave baseline`)."
        )


# ---- what is written ----------------------------------------------------------------------------


def judged(made: Mapping[str, Any], shown: str, files: Files, local: Local) -> Answer:
    """What `speedrun check` will say of the draft. Raises Unusable."""
    return local.answers([parsed_draft(made, files, shown, local.tracks[made["track"]])])[0]


def _with_loss(
    made: dict[str, Any], key: str, shown: str, files: Files, local: Local
) -> dict[str, Any]:
    """The draft that takes the loss from `key`: what the runs call it, if they have none under
    the track's names; else a loss of its own (averaged weights), which the claims then name.
    Raises Unusable if no run has it."""
    for changed in (made | {"keys": {"loss": key}}, made | {"claims": {key: 0.0}}):
        points = judged(changed, shown, files, local).verdict.points
        if "keys" in changed and points and points[0].quality is not None:
            plain = judged(made, shown, files, local).verdict.points
            if plain and plain[0].quality is None:
                return changed
        elif "claims" in changed and points and points[0].summary.metric == key:
            return changed
    raise Unusable(
        f'--loss-key "{key[:100]}": no run has this metric in its history; `speedrun runs` shows '
        "the names that they have"
    )


def filled(made: dict[str, Any], verdict: Verdict, loss_key: str | None) -> dict[str, Any]:
    """The draft with the hardware and the claims that its runs show."""
    seen = {(run.hardware, run.gpu_count) for run in verdict.runs}
    device, count = seen.pop() if len(seen) == 1 else (None, None)
    found = accelerators.find(device) if isinstance(device, str) else None
    more: dict[str, Any] = {}
    if found is not None and count:
        more["hardware"] = {"accelerator": found.accelerator.id, "count": count}
    claims = _claims(verdict, loss_key if "claims" in made else None)
    if claims:
        more["claims"] = claims
    runs = _with_seeds(made.pop("runs"), verdict)
    return made | more | {"runs": runs}


def _with_seeds(runs: list[dict[str, Any]], verdict: Verdict) -> list[dict[str, Any]]:
    """The entries with the seed that each run states; as pairs, if every seed is once in each arm.

    Which run is compared with which is decided by their times, not by this name.
    """
    found: dict[str, list[int | None]] = {}
    for run in verdict.runs:
        found.setdefault(run.file.rpartition("/")[2], []).append(run.seed)
    arms: dict[str, list[int]] = {"candidate": [], "baseline": []}
    told = []
    for entry in runs:
        seeds = found.get(str(entry.get("path", "")).rpartition("/")[2], [])
        seed = seeds[0] if len(seeds) == 1 else None
        told.append(entry if seed is None else entry | {"seed": seed})
        arms.setdefault(entry.get("arm", "candidate"), []).append(-1 if seed is None else seed)
    ours, theirs = sorted(arms["candidate"]), sorted(arms["baseline"])
    if ours and ours == theirs and len({*ours} - {-1}) == len(ours):
        return [e | {"pair": str(e["seed"])} if "seed" in e else e for e in told]
    return told


def _claims(verdict: Verdict, loss_key: str | None) -> dict[str, Any]:
    """What each point claims, by its name if there are several."""
    claims = {point.name: _of_point(point, loss_key) for point in verdict.points}
    if len(claims) > 1:
        return {name: made for name, made in claims.items() if name and made}
    return next(iter(claims.values()), {})


def _of_point(point: Point, loss_key: str | None) -> dict[str, Any]:
    """The quality with its statistics if there are any, and the cost; a loss that stands in
    for the usual one under its own name."""
    if point.quality is None:
        return {}
    names = {
        name: value
        for name in ("loss", "bpb", "training_time_s", "steps", "hardware_flops")
        if (value := point.metrics.get(name)) in (point.quality, point.cost) and value is not None
    }
    stated: dict[str, Any] = dict(names)
    mean = point.summary.moments
    for name, value in names.items():
        if mean is not None and value == mean.mean == point.quality:
            stated[name] = _stated(point.summary)
    if loss_key is not None:
        stated.pop("loss", None)
        stated = {loss_key: _stated(point.summary)} | stated
    return stated


def _stated(summary: Summary) -> dict[str, Any]:
    m = summary.moments
    parts = {"mean": m and m.mean, "sd": m and m.sd, "n": summary.n or None, "p": summary.p}
    return {key: part for key, part in parts.items() if part is not None}


def write_folder(path: Path, made: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
    """Write everything, the list last, so that a folder with a list is whole."""
    for name, data in {**files, "submission.json": text(made)}.items():
        disk.write(path / name, data)
    old = [file.relative_to(path).as_posix() for kind in _COPIED for file in path.glob(kind)]
    if loose := sorted(set(old) - files.keys()):
        shown = numbers.listed([*loose[:3], *([f"{len(loose) - 3} more"] if loose[3:] else [])])
        click.echo(
            f"{path}: left over from an earlier try, and listed nowhere: {shown}; remove them, or "
            "`submit` pushes them too",
            err=True,
        )


def _say(
    path: Path, found: Answer, made: Mapping[str, Any], arms_given: bool, verbose: bool
) -> None:
    from bot.render.terminal import to_text

    steps = ['say in "summary" what you changed and why it helps']
    if made["contributors"][0]["github"] == PLACEHOLDER:
        steps.insert(0, f'replace "{PLACEHOLDER}" with your GitHub login')
    if found.groups:
        steps.append("fix what is listed below")
    place = as_typed(path)
    steps += [f"run `speedrun check {place}`", f"run `speedrun submit {place}`"]
    why = "" if found.place.ranks else f" It does not rank yet: {found.place.text}."
    click.echo(to_text(dc.replace(found, next=f"{numbers.listed(steps)}.{why}"), verbose=verbose))
    click.echo(f"Written: {place}")
    baseline = 0 if arms_given else sum("arm" in run for run in made["runs"])
    if baseline:
        verb = "is" if baseline == 1 else "are"
        click.echo(
            f"{baseline} of the logs {verb} named baseline and became the baseline arm; if that is "
            'wrong, remove "arm" from their entries in submission.json.'
        )
