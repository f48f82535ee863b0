"""The W&B runs that results files link: what a file states is compared with what its run shows.

A results file is a claim. Where the run that it links can be read (online, or from a snapshot) its
history gives the numbers, and what only the file knows (dimensions, chips) is kept beside them.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from bot.compute import accounting, metrics
from bot.evidence.links import RunRef, parse_link
from bot.model.case import RunEvidence
from bot.model.results import ResultsRun
from bot.model.run import Hardware, Run
from bot.model.submission import Folder, RunSpec, Submission
from bot.model.track import Track
from bot.model.verdict import Finding, finding
from bot.registry import Level

if TYPE_CHECKING:
    from bot.parse.folder import Parsed

SHOWN = ("bpb", "loss", "training_time_s", "tokens")
"""Metrics that a history shows; the others follow from them or stand in the file alone."""
_WORDS = {"bpb": "bits per byte", "training_time_s": "training time"}


def specs_of(
    submission: Submission, results: Iterable[ResultsRun], folder: Folder
) -> tuple[tuple[ResultsRun, RunSpec], ...]:
    """(run of a results file, the link in it as a spec), for links to runs that the submission
    does not list itself."""
    listed = {ref(spec.target) for spec in submission.runs if spec.is_link}
    by_file = {folder.full(s.target): s for s in submission.runs if s.source == "results"}
    found = []
    for run in results:
        spec = by_file.get(run.file)
        link = run.text("link")
        if spec is not None and link is not None and (known := ref(link)) and known not in listed:
            found.append(
                (
                    run,
                    dc.replace(
                        spec,
                        source="wandb",
                        target=link,
                        seed=None,
                        aside=True,
                        pointer=run.where("link"),
                    ),
                )
            )
    return tuple(found)


def with_linked(parsed: Parsed, folder: Folder) -> Submission:
    """The submission with the runs that its results files link beside those that it lists."""
    aside = tuple(spec for _, spec in specs_of(parsed.submission, parsed.results, folder))
    return dc.replace(parsed.submission, runs=(*parsed.submission.runs, *aside))


def ref(link: str | None) -> RunRef | None:
    """The run that a link leads to, or None."""
    parsed = parse_link(link)
    return parsed if isinstance(parsed, RunRef) else None


def joined(
    item: RunEvidence, read: Sequence[tuple[ResultsRun, RunEvidence]], track: Track
) -> RunEvidence:
    """The evidence of a results file with its linked runs in the place of what it states."""
    if item.spec.source != "results":
        return item
    runs, problems = list(item.runs), list(item.problems)
    for results, found in read:
        if results.file != _file_of(item):
            continue
        line = results.line("link")
        problems += [dc.replace(p, file=results.file, line=line) for p in found.problems]
        for place, stated in enumerate(item.runs):
            if stated.index == results.index and found.runs:
                untold = tuple(_untold(found.runs[0], results, track))
                runs[place] = _with_file(found.runs[0], stated, whole=not untold)
                problems += untold
    return dc.replace(item, runs=tuple(runs), problems=tuple(problems))


def _file_of(item: RunEvidence) -> str | None:
    return item.runs[0].file if item.runs else None


def _with_file(run: Run, stated: Run, whole: bool) -> Run:
    """A linked run with what only the file knows of it; what the history shows counts. It is
    graded as the file where the run does not show all that ranks (`whole` is false)."""
    shown = {name: run.metrics[name] for name in SHOWN if run.metrics.get(name) is not None}
    values = {**stated.metrics, **shown}
    seconds, chips, peak = (values.get(k) for k in ("training_time_s", "chips", "peak_flops"))
    if "training_time_s" in shown and seconds and chips and peak:
        hardware = accounting.hardware_flops(seconds, int(chips), float(peak))
        model = values.get("model_flops")
        mfu = None if model is None else accounting.mfu(model, hardware)
        values["hardware_flops"] = metrics.finite(hardware)
        values["mfu"] = None if mfu is None else metrics.finite(mfu)
    total = run.total_steps or stated.total_steps
    reached = None if total is None else run.last_step is not None and run.last_step >= total - 1
    return dc.replace(
        run,
        metrics=values,
        total_steps=total,
        finished=reached if run.finished is None else run.finished,
        hardware=Hardware(
            run.hardware.device or stated.hardware.device,
            run.hardware.count or stated.hardware.count,
            run.hardware.driver,
        ),
        seed=run.seed if run.seed is not None else stated.seed,
        source=run.source if whole else "results",
        # `_untold` says what the history lacks, beside what the file states.
        problems=tuple(p for p in run.problems if p[0] != "metric-missing"),
    )


def _untold(run: Run, results: ResultsRun, track: Track) -> Iterator[Finding]:
    """Where the run lacks what ranks: then only the file says it, and a maintainer looks."""
    quality = track.quality.metric
    for name in dict.fromkeys((quality, "training_time_s")):
        if name in SHOWN and run.metrics.get(name) is None and results.number(name) is not None:
            yield finding(
                "metric-missing",
                f"the history of the linked run shows no {_WORDS.get(name, name)}, so nothing "
                "confirms the number in the file",
                Level.WARNING,
                file=results.file,
                line=results.line(name),
                pointer=results.where(name),
                run=run.file,
                fix="log it to W&B under the key that the track names",
            )
    if "hardware_flops" in (track.cost.metric, quality):
        yield from _unseen_devices(run.hardware, results)


def _unseen_devices(seen: Hardware, results: ResultsRun) -> Iterator[Finding]:
    """What the devices cost rests on the file alone where the run does not show them."""
    lacking = {"device": seen.device, "number of devices": seen.count}
    names = [name for name, value in lacking.items() if value is None]
    if names:
        pointer = f"{results.info_pointer}/resources"
        yield finding(
            "metric-missing",
            f"the linked run shows no {' and no '.join(names)}: the file's word on the hardware "
            "stands alone",
            Level.WARNING,
            file=results.file,
            line=results.document.line(pointer),
            pointer=pointer,
            fix="log the device and how many of them train to the configuration of the run, "
            "as `device` and `num_devices`",
        )
