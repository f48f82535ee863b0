"""`speedrun runs` and `speedrun stats`: what was read, and what it proves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot.commands.root import ROOT, root_of, track_of
from bot.evidence.sources import Found, read_sources
from bot.model.run import Run
from bot.model.serial import dumps, fields_to_json

if TYPE_CHECKING:
    from bot.commands.arms import Arms
    from bot.model.summary import Summary

FORMAT = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="PATH...")
@click.option("--track", "track_id", help="Track whose history keys to use.")
@FORMAT
@ROOT
def runs(sources: tuple[str, ...], track_id: str | None, form: str, root: Path | None) -> None:
    """Show what is read from logs, .wandb files, results files, folders or W&B links.

    Prints one record per run and names what could not be read. Exit status: 0 if there is a run, 2
    if there is none, 3 if a service did not answer.
    """
    track = track_of(root_of(root, shipped=True), track_id) if track_id else None
    found = read_sources(sources, track)
    if form == "json":
        shown = {
            "schema_version": 1,
            "runs": [_record(run) for run in found.runs],
            "skipped": [{"file": s.file, "why": s.said} for s in found.skipped],
        }
        click.echo(dumps(shown))
    else:
        for run in found.runs:
            click.echo(_line(run))
        _name_skipped(found)
    raise SystemExit(_reading_code(found))


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--track", "track_id", required=True, help="Track whose target and test to use.")
@click.option(
    "--baseline", multiple=True, metavar="SOURCE", help="Runs of the baseline arm; may be repeated."
)
@click.option("--step", type=click.IntRange(min=0), help="Compare all runs at this step.")
@click.option("--loss-key", help="Metric of the history to use instead of the loss.")
@click.option(
    "--groups", is_flag=True, help="Each SOURCE is a group; print the track's usual spread."
)
@FORMAT
@ROOT
def stats(
    sources: tuple[str, ...],
    track_id: str,
    baseline: tuple[str, ...],
    step: int | None,
    loss_key: str | None,
    groups: bool,
    form: str,
    root: Path | None,
) -> None:
    """Tell whether a set of runs reaches the target, or how many more it needs.

    SOURCES are logs, .wandb files, results files, folders of them, or W&B links. The runs are
    compared with those of --baseline; without it with the baseline arm of a submission's folder, or
    with logs named baseline beside others. What `speedrun check` rejects does not pass here. Exit 0
    when the track's test is passed, 1 when not, 2 when there is nothing to test, 3 when a service
    did not answer.
    """
    from bot.commands.arms import arms_of
    from bot.compute.summary import summarise
    from bot.render.words import sentences

    track = track_of(root_of(root, shipped=True), track_id)
    if groups:
        from bot.commands import spread

        data = spread.report(list(spread.groups_of(sources, track)), track, form)
        if data is not None:
            click.echo(dumps(data))
        return
    arms = arms_of(sources, baseline, track, loss_key)
    # What no run has beside the usual loss was read as what these logs call it.
    beside = loss_key if any(loss_key in run.history for run in arms.ours) else None
    summary = summarise(arms.ours, track, baseline=arms.theirs, step=step, loss_key=beside)
    refused = [{"rule": f.rule, "message": f.message} for f in arms.refused]
    if form == "json":
        unread = [{"file": s.file, "why": s.said} for s in arms.skipped]
        more = {"skipped": unread, "refused": refused, "words": list(sentences(summary))}
        click.echo(dumps(summary.to_json() | more))
    else:
        for sentence in sentences(summary):
            click.echo(sentence)
        for item in refused:
            click.echo(f"`speedrun check` rejects these runs: {item['rule']}: {item['message']}")
        _name_skipped(arms.unread)
        _name_spilt(sources, baseline)
    raise SystemExit(_stats_code(arms, summary, baseline))


def _stats_code(arms: Arms, summary: Summary, baseline: tuple[str, ...]) -> int:
    if not arms.ours or not summary.n:
        return 3 if arms.failed else 2
    if baseline and not arms.theirs and not arms.failed:
        click.echo("Error: --baseline names no run, so nothing was compared", err=True)
        return 2
    if arms.refused:
        return 1
    return 3 if arms.failed else int(not summary.passes)


def _name_spilt(sources: tuple[str, ...], baseline: tuple[str, ...]) -> None:
    """Say where `--baseline base*.log` gave the option one file, and the rest to the sources."""
    beside = {Path(name).parent for name in baseline if Path(name).is_file()}
    spilt = [
        name
        for name in sources
        if Path(name).name.lower().startswith("baseline") and Path(name).parent in beside
    ]
    if spilt:
        click.echo(
            f"{spilt[0]} and other files named baseline were counted as your own runs; repeat "
            "--baseline for each, or name a folder of them",
            err=True,
        )


def _record(run: Run) -> dict[str, Any]:
    """The public record of a run, and what else was read from it."""
    listed = ("arm", "point", "claimed")
    shown = {k: v for k, v in fields_to_json(run.record()).items() if k not in listed}
    return shown | {
        "name": run.name,
        "driver": run.hardware.driver,
        "software": dict(run.software),
        "code_sha256": dict(run.code_sha256),
        "nonce": run.nonce,
        "data_fingerprint": run.data_fingerprint,
        "created_at": run.created_at,
        "finished_at": run.finished_at,
        "last_step": run.last_step,
        "metrics": dict(run.metrics),
        "history_points": {name: len(values) for name, values in run.history.items()},
        "problems": [{"rule": rule, "message": message} for rule, message in run.problems],
    }


def _line(run: Run) -> str:
    """One run in words."""
    name = run.file if run.index == 0 else f"{run.file} run {run.index}"
    bpb = run.metrics.get("bpb")
    other = "no validation loss" if bpb is None else f"{bpb:.6g} bits per byte"
    loss = other if run.loss is None else f"loss {run.loss:.6g}"
    step = run.step
    if step is None and (points := run.history.get("bpb") or run.history.get("val_bpb")):
        step = points[-1][0]
    at = "" if step is None else f" at step {step}"
    of = "" if run.total_steps is None else f" of {run.total_steps}"
    time = "" if run.time_s is None else f", {run.time_s:.3f} s"
    device, count = run.hardware.device, run.hardware.count
    board = f", {count or '?'} x {device}" if device else ""
    end = {True: "finished", False: "not finished", None: "end unknown"}[run.finished]
    state = f" ({run.state})" if run.state and run.state != "finished" else ""
    lines = [f"{name}: {loss}{at}{of}{time}{board}, {end}{state}"]
    lines += [f"  {rule}: {message}" for rule, message in run.problems]
    return "\n".join(lines)


def _name_skipped(found: Found) -> None:
    for item in found.skipped:
        click.echo(f"skipped {item}", err=True)


def _reading_code(found: Found) -> int:
    if found.ours:
        return 3
    return 0 if found.runs else 2
