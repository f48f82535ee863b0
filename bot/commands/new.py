"""`speedrun new`: a submission folder with everything that can be filled in.

    speedrun new nanogpt-small/my-idea --wandb https://wandb.ai/E/P/runs/ID --wandb ...
    speedrun new fineweb-edu/my-idea --results speedrun_results.json
    speedrun new single-gpu/my-idea --log a.log --starter torch

Writes `submissions/TRACK/NAME/submission.json` with the runs, hardware and claims that the evidence
shows, copies results files and logs beside it, and judges it as the bot will.
"""

from __future__ import annotations

import dataclasses as dc
import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot import files as disk
from bot.commands.given import given_logs
from bot.commands.root import ROOT, Unusable, root_of, track_of, tracks_of
from bot.compute import accelerators
from bot.local import Local
from bot.model.submission import MAX_JSON_BYTES, MAX_LOG_BYTES, PLACEHOLDER, Folder
from bot.model.track import Track
from bot.model.verdict import Verdict
from bot.parse.folder import ReadError, parse_submission
from bot.patterns import LOGIN, SLUG
from bot.render import numbers

if TYPE_CHECKING:
    from bot.render.answer import Answer

SCHEMA = "https://speedrun-bot.github.io/schemas/submission.schema.json"
MOST_OFFERED = 20


@click.command()
@click.argument("place", metavar="TRACK/NAME")
@click.option("--wandb", "links", multiple=True, metavar="URL", help="A W&B run; several times.")
@click.option("--results", multiple=True, metavar="FILE", help="A results file; several times.")
@click.option(
    "--log",
    "logs",
    multiple=True,
    metavar="FILE",
    help="A training log, a .wandb file or a folder of them; several times.",
)
@click.option("--code", metavar="FILE", help="The source file that ran; it is copied.")
@click.option(
    "--starter",
    type=click.Choice(["torch", "jax"]),
    help="Also put one readable training file to hack on into the folder.",
)
@click.option("--title", help="Title for the board.")
@click.option("--author", metavar="LOGIN", help="Your GitHub login.")
@ROOT
def new(
    place: str,
    links: Sequence[str],
    results: Sequence[str],
    logs: Sequence[str],
    code: str | None,
    starter: str | None,
    title: str | None,
    author: str | None,
    root: Path | None,
) -> None:
    """Write a submission folder with everything that can be filled in, and check it.

    Exit status: 0 written, and what the bot will say is printed; 2 nothing was written.
    """
    root = root_of(root)
    track, path = _place(place, root)
    if (path / "submission.json").exists():
        raise Unusable(
            f"{path / 'submission.json'} exists; edit it, remove it to begin "
            "again, or choose another name"
        )
    if not (links or results or logs or starter):
        raise Unusable("nothing to submit: give --wandb, --results, --log or --starter")
    files, runs = _evidence(links, results, logs, track)
    login = author or _login()
    if author is not None and not LOGIN.fullmatch(author):
        raise Unusable(f'"{author}" is no GitHub login')
    if starter is not None:
        _starter(starter, path, track, login, title or "")
        files["main.py"] = (path / "main.py").read_bytes()
    if code is not None:
        files[_file_name(Path(code).name)] = _read(Path(code), MAX_JSON_BYTES)
    if not runs:
        click.echo(
            f"{path / 'main.py'} is there. Train with it, then run speedrun new again with "
            "the runs."
        )
        return
    shown = path.relative_to(root).as_posix()
    draft = _draft(track, path.name, title, login, runs, code or ("main.py" if starter else None))
    local = Local(root, tracks_of(root))
    draft = _filled(draft, _judged(draft, shown, files, local).verdict)
    _write(path, draft, files)
    _say(path, _judged(draft, shown, files, local), login, sum("arm" in run for run in runs))


# ---- what is given ------------------------------------------------------------------------------


def _place(place: str, root: Path) -> tuple[Track, Path]:
    """The track and the folder that `TRACK/NAME` stands for. Raises Unusable."""
    track_id, *name = place.strip("/").split("/")
    track = track_of(root, track_id)
    if not 1 <= len(name) <= 4 or not all(SLUG.fullmatch(part) for part in name):
        raise Unusable(
            f'"{"/".join(name)}" is no name: use lower-case letters, digits, _ and -, such as '
            f"{track_id}/my-idea"
        )
    return track, root / "submissions" / track_id / Path(*name)


def _evidence(
    links: Iterable[str], results: Iterable[str], logs: Iterable[str], track: Track
) -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    """The files to copy, by name in the folder, and the entries of `runs`. Raises Unusable."""
    from bot.evidence.links import LinkProblem, parse_link

    files: dict[str, bytes] = {}
    runs: list[dict[str, Any]] = []
    for link in links:
        found = parse_link(link)
        if isinstance(found, LinkProblem):
            _offer(link)
            raise Unusable(f'--wandb "{link[:200]}": {found.message}; {found.fix}')
        runs.append({"source": "wandb", "link": found.url})
    for n, name in enumerate(results):
        inside = "speedrun_results.json" if n == 0 else f"speedrun_results_{n + 1}.json"
        files[inside] = _read(Path(name), MAX_JSON_BYTES)
        runs.append({"source": "results", "path": inside})
    found_logs = given_logs(logs, track)
    mixed = len({base for _, base in found_logs}) > 1 or bool(runs)
    for path, base in found_logs:
        inside = _free(f"logs/{_file_name(path.name)}", files)
        files[inside] = _read(path, MAX_LOG_BYTES)
        arm = {"arm": "baseline"} if base and mixed else {}
        runs.append({"source": "log", "path": inside, **arm})
    return files, runs


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
    raise Unusable(f"the link is a {what}; name those of its finished runs that count:{lines}")


def _read(path: Path, limit: int) -> bytes:
    """The bytes of a file. Raises Unusable."""
    try:
        if not path.is_file():
            what = "is not a regular file" if path.exists() else "there is no such file"
            raise Unusable(f"{path}: {what}")
        size = path.stat().st_size
        if size > limit:
            raise Unusable(f"{path}: has {size:,} bytes, at most {limit:,} are taken")
        return path.read_bytes()
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror or 'cannot be read'}") from error


def _file_name(name: str) -> str:
    """A plain name for a copied file."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name).lstrip("._-")[:100]
    return plain or "run.log"


def _free(name: str, files: Mapping[str, bytes]) -> str:
    """`name`, with a number where it is taken."""
    stem, dot, ending = name.rpartition(".")
    n, free = 1, name
    while free in files:
        n += 1
        free = f"{stem or name}_{n}{dot}{ending if stem else ''}"
    return free


def _login() -> str:
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


def _starter(kind: str, path: Path, track: Track, login: str, description: str) -> None:
    import importlib

    # By name: nothing of the bot depends on the trainer.
    starters: Any = importlib.import_module("reference_trainer.starters")
    name = "" if login == PLACEHOLDER else login
    try:
        starters.copy_starter(kind, path, track=track.id, author=name, description=description)
    except FileExistsError as error:
        raise Unusable(f"{path / 'main.py'} exists; remove it, or leave --starter out") from error


# ---- what is written ----------------------------------------------------------------------------


def _draft(
    track: Track,
    name: str,
    title: str | None,
    login: str,
    runs: list[dict[str, Any]],
    code: str | None,
) -> dict[str, Any]:
    """A submission.json without the parts that the evidence decides."""
    draft: dict[str, Any] = {
        "$schema": SCHEMA,
        "schema_version": 1,
        "track": track.id,
        "title": (title or name.replace("-", " ").replace("_", " ").capitalize())[:120],
        "summary": "",
        "contributors": [{"github": login, "roles": ["idea", "code", "runs", "writing", "pr"]}],
    }
    if code is not None:
        draft["code"] = {"path": _file_name(Path(code).name)}
    return draft | {"runs": runs}


def _judged(
    draft: Mapping[str, Any], shown: str, files: Mapping[str, bytes], local: Local
) -> Answer:
    """What `speedrun check` will say of the draft. Raises Unusable."""
    folder = Folder(shown, {"submission.json": _text(draft), **files})
    try:
        parsed = parse_submission(folder, local.tracks)
    except ReadError as error:
        raise Unusable(str(error)) from error
    return local.answers([(folder, parsed)])[0]


def _filled(draft: dict[str, Any], verdict: Verdict) -> dict[str, Any]:
    """The draft with the hardware and the claims that its runs show."""
    seen = {(run.get("hardware"), run.get("gpu_count")) for run in verdict.runs}
    device, count = seen.pop() if len(seen) == 1 else (None, None)
    found = accelerators.find(device) if isinstance(device, str) else None
    more: dict[str, Any] = {}
    if found is not None and count:
        more["hardware"] = {"accelerator": found.accelerator.id, "count": count}
    claims = _claims(verdict)
    if claims:
        more["claims"] = claims
    runs = draft.pop("runs")
    return draft | more | {"runs": runs}


def _claims(verdict: Verdict) -> dict[str, Any]:
    """The quality with its statistics where there are any, and the cost."""
    point = verdict.points[0] if verdict.points else None
    if point is None or point.quality is None:
        return {}
    names = {
        name: value
        for name in ("loss", "bpb", "training_time_s", "steps", "hardware_flops")
        if (value := point.metrics.get(name)) in (point.quality, point.cost) and value is not None
    }
    stated: dict[str, Any] = dict(names)
    statistics = point.statistics or {}
    for name, value in names.items():
        if value == statistics.get("mean") and value == point.quality:
            parts = {key: statistics.get(key) for key in ("mean", "sd", "n", "p")}
            stated[name] = {key: part for key, part in parts.items() if part is not None}
    return stated


def _text(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _write(path: Path, draft: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
    """Write everything, the list last, so that a folder with a list is whole."""
    for name, data in {**files, "submission.json": _text(draft)}.items():
        disk.write(path / name, data)


def _say(path: Path, found: Answer, login: str, baseline: int) -> None:
    from bot.render.terminal import to_text

    steps = ['say in "summary" what you changed and why it helps']
    if login == PLACEHOLDER:
        steps.insert(0, f'replace "{PLACEHOLDER}" with your GitHub login')
    if found.groups:
        steps.append("fix what is listed below")
    steps += [f"`speedrun check {path}`", f"`speedrun submit {path}`"]
    why = "" if found.place.ranks else f" It does not rank yet: {found.place.text}."
    click.echo(to_text(dc.replace(found, next=f"{numbers.listed(steps)}.{why}")))
    click.echo(f"Written: {path}")
    if baseline:
        verb = "is" if baseline == 1 else "are"
        click.echo(
            f"{baseline} of the logs {verb} named baseline and became the baseline arm; if that is "
            'wrong, remove "arm" from their entries in submission.json.'
        )
