"""Evidence: the runs show what is claimed, on the hardware, code and data that are claimed."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator
from typing import Any

from bot.compute import accelerators, metrics
from bot.compute.case_statistics import loss_key_of, points_of
from bot.evidence.linked import SHOWN
from bot.evidence.links import LinkProblem, parse_link
from bot.model.case import Case, RunEvidence
from bot.model.results import ResultsRun, device_name
from bot.model.run import Run
from bot.model.track import TIME_METRICS
from bot.model.verdict import Finding, finding
from bot.registry import LOSS_TOLERANCE, Level
from bot.render.numbers import figure
from bot.render.untrusted import plain, shown
from bot.rules.about import SAME_MACHINE, about, per_message, ratio, read_problems, runs_of, text_of
from bot.rules.claims import claims_wait, wrong_scalars, wrong_seeds
from bot.rules.described import described
from bot.rules.reported import tolerance
from bot.rules.values import at

# ---- does it show what is claimed ---------------------------------------------------------------


def claim_differs_from_run(case: Case) -> Iterator[Finding]:
    """The claims are what the runs show.

    A bare number in `claims` is compared with the mean of the finished runs, a results file with
    the W&B run that it links: loss within 6e-5, time within 0.06 s, other quantities within 0.2 %.
    A claim about something that the runs do not record is only noted. Numbers in the description of
    the pull request, such as the output of a dry run, may be off by a hundredth. Claim what the
    history shows at the last step, not the best value along the way.
    """
    yield from read_problems(case, "claim-differs-from-run")
    key = loss_key_of(case)
    if key is not None and not case.brought_over:
        yield finding(
            "claim-differs-from-run",
            f"the submission claims {plain(key, 60)}, so the loss is taken from there and not from "
            "the validation loss",
            Level.WARNING,
            file=case.folder.full("submission.json"),
            pointer="/claims",
            fix="say in the README what it measures, or claim `loss`",
        )
    yield from claims_wait(case)
    yield from wrong_seeds(case)
    yield from described(case)
    for point in points_of(case):
        yield from wrong_scalars(case, point)
    for results in case.results:
        yield from _wrong_results(case, results)


def hardware_differs_from_run(case: Case) -> Iterator[Finding]:
    """The runs ran on the hardware that is claimed, and the track allows it.

    W&B records the devices and their number, logs print them. On a track that compares with a
    baseline, both arms must run on the same kind of machine; otherwise the ratio means nothing.
    """
    yield from read_problems(case, "hardware-differs-from-run")
    yield from per_message(_hardware_differs_from_run(case))
    yield from _hardware_unknown(case)


def _hardware_differs_from_run(case: Case) -> Iterator[Finding]:
    submission, track = case.submission, case.track
    yield from _hardware_not_told(case)
    ours = {(run.hardware.device, run.hardware.count) for run in case.runs("candidate")}
    for item, run in runs_of(case):
        device, used = _device(run.hardware.device), run.hardware.count
        # A baseline arm on a machine of its own has to run again; what is claimed may be right.
        shared = (run.hardware.device, used) in ours
        if item.spec.arm == "candidate" or (track.objective == "baseline" and shared):
            claimed = _device(submission.accelerator)
            if device and claimed and device != claimed:
                yield _hardware(case, item, run, "the submission says", claimed, device)
            count = submission.accelerator_count
            if count and used and count != used:
                yield _count(case, item, run, "the submission says", count, used)
        if device and track.accelerators and device not in track.accelerators:
            wanted = " or ".join(track.accelerators)
            yield _hardware(case, item, run, "the track asks for", wanted, device)
        limit = track.accelerator_count
        if limit and used and used != limit:
            yield _count(case, item, run, "the track asks for", limit, used)
    for results in case.results:
        yield from _wrong_machine(case, results)
    if track.objective == "baseline":
        yield from _other_machine(case)


# ---- one story ----------------------------------------------------------------------------------


def nonce_mismatch(case: Case) -> Iterator[Finding]:
    """W&B, log and results hold the same nonce.

    The trainer draws 128 random bits a run and writes them to all its output. If a results file and
    the run that it links have different nonces, they come from different trainings; so do two runs
    with one nonce and different numbers.
    """
    linked = {run.file: run for _, run in runs_of(case)}
    for results in case.results:
        run = _linked_run(results, linked)
        stated = text_of(results.ours.get("nonce"))
        if run is not None and run.nonce and stated and run.nonce != stated:
            yield finding(
                "nonce-mismatch",
                "the results file and the run that it links have different nonces",
                file=results.file,
                pointer=results.where("link"),
                run=run.file,
                claimed=plain(stated),
                expected=plain(run.nonce),
                fix="submit the results file of this run",
            )
    seen: dict[str, Run] = {}
    for item, run in runs_of(case):
        first = seen.setdefault(run.nonce, run) if run.nonce else run
        if _contradict(first, run):
            yield about(
                case,
                item,
                run,
                "nonce-mismatch",
                f"the run has the nonce of {plain(first.file, 200)} but different numbers",
                fix="submit with each run the files that it wrote",
            )


# ---- helpers -------------------------------------------------------------------------------------


def _wrong_results(case: Case, results: ResultsRun) -> Iterator[Finding]:
    run = _linked_run(results, {run.file: run for _, run in runs_of(case)})
    if run is None:
        return
    for name in SHOWN:
        stated, shown = results.number(name), run.metrics.get(name)
        if stated is None or shown is None:
            continue
        if abs(stated - shown) > tolerance("loss" if name == "bpb" else name, shown):
            yield finding(
                "claim-differs-from-run",
                f"{name} is stated as {figure(stated, 8)}, but the linked run shows "
                f"{figure(shown, 8)}",
                file=results.file,
                line=results.line(name),
                pointer=results.where(name),
                claimed=stated,
                expected=shown,
                ratio=ratio(stated, shown),
                run=run.file,
                fix="write what the history of the run shows at its last step",
            )


def _wrong_machine(case: Case, results: ResultsRun) -> Iterator[Finding]:
    """A results file that names another device, or fewer, than the run that it links used. W&B
    sees the devices of one host, so fewer than stated prove nothing."""
    run = _linked_run(results, {run.file: run for _, run in runs_of(case)})
    if run is None:
        return
    stated, shown = _device(device_name(results)), _device(run.hardware.device)
    chips = metrics.devices_of(results).chips
    if stated and shown and stated != shown:
        told, is_, where = stated, shown, results.info_pointer
    elif chips and run.hardware.count and chips < run.hardware.count:
        told, is_, where = str(chips), str(run.hardware.count), results.where("chips")
    else:
        return
    yield finding(
        "hardware-differs-from-run",
        f"the linked run used {is_}, but the file states {told}",
        **at(results, where),
        claimed=told,
        expected=is_,
        run=run.file,
        fix="write the hardware that the run used",
    )


def _linked_run(results: ResultsRun, runs: dict[str, Run]) -> Run | None:
    link = parse_link(results.text("link"))
    return None if isinstance(link, LinkProblem) else runs.get(link.url)


def _device(name: str | None) -> str | None:
    found = accelerators.find(name)
    return None if found is None else found.accelerator.id


def _hardware_unknown(case: Case) -> Iterator[Finding]:
    """Hardware of a name that nobody here knows, so that nothing was compared. Where its peak does
    not rank, the runs' own word for it will do, and a CPU needs none."""
    claimed, track = case.submission.accelerator, case.track
    if case.brought_over or not claimed or _device(claimed):
        return
    ranks = "hardware_flops" in (track.cost.metric, track.quality.metric)
    named = {(run.hardware.device or "cpu").lower() for _, run in runs_of(case)}
    if not ranks and not track.accelerators and named == {claimed.lower()}:
        return
    used = {_device(run.hardware.device) for _, run in runs_of(case)} - {None}
    yield finding(
        "hardware-differs-from-run",
        f"the submission says {shown(claimed)}, which is not a known accelerator",
        Level.WARNING,
        claimed=plain(claimed),
        file=case.folder.full("submission.json"),
        pointer="/hardware/accelerator",
        fix=f'write "{used.pop()}", which the runs used'
        if len(used) == 1
        else "use the vendor's name, such as h100-sxm",
    )


def _hardware_not_told(case: Case) -> Iterator[Finding]:
    """Runs that do not say what they ran on, or name what nobody here knows, where a track asks
    for one kind of machine: nothing was checked, and a maintainer looks."""
    track = case.track
    for item, run in runs_of(case):
        name, count = run.hardware.device, run.hardware.count
        lacks = []
        if track.accelerators and _device(name) is None:
            known = "names no accelerator" if name is None else f"names {plain(name, 80)}"
            lacks.append(f"{known}, and the track needs {' or '.join(track.accelerators)}")
        if track.accelerator_count and count is None:
            lacks.append(f"does not say how many, and the track needs {track.accelerator_count}")
        if lacks:
            yield about(
                case,
                item,
                run,
                "hardware-differs-from-run",
                f"the run {'; it '.join(lacks)}",
                level=Level.WARNING,
                claimed=name,
                fix=_told_how(name, count),
            )


def _told_how(name: str | None, count: int | None) -> str:
    if name is not None and accelerators.is_cut(name):
        return "the name was cut off and stands for several devices: print `nvidia-smi -L` as well"
    if name is None or not count:
        return "print the devices at the top of the log"
    return "run on the track's hardware, or name it as its vendor does"


def _count(case: Case, item: RunEvidence, run: Run, who: str, wanted: int, used: int) -> Finding:
    """Another number of devices than is stated. Where none is asked for, and neither time nor FLOPs
    rank, nothing depends on it. A log without a world size that lists more devices than one says
    what its machine has, and not what it used of it."""
    found = _hardware(case, item, run, who, wanted, used)
    asked, ranks = case.track.accelerator_count, {case.track.cost.metric, case.track.quality.metric}
    if not asked and not ranks & {*TIME_METRICS, "hardware_flops"}:
        return dc.replace(found, level=Level.NOTE)
    listed = any(w.quantity == "listed" for w in run.witnesses)
    if listed and wanted < used and (asked or 1) == 1:
        message = f"the log lists {used} devices and states no world size, but "
        message += f"{who} {wanted}"
        fix = f"if the run used {wanted}, print `world_size: {wanted}` at the top of the log"
        return dc.replace(found, level=Level.WARNING, message=message, fix=fix, write=None)
    return found


def _hardware(
    case: Case, item: RunEvidence, run: Run, who: str, wanted: Any, found: Any
) -> Finding:
    if isinstance(wanted, int):
        devices = "1 device" if found == 1 else f"{found} devices"
        message = f"the run used {devices}, but {who} {wanted}"
    else:
        message = f"the run used {found}, but {who} {wanted}"
    mine = who == "the submission says"
    made = about(
        case,
        item,
        run,
        "hardware-differs-from-run",
        message,
        claimed=wanted if mine else found,
        expected=found if mine else wanted,
        fix="run on the track's hardware",
    )
    if not mine:
        return made
    key = "count" if isinstance(wanted, int) else "accelerator"
    shown = str(found) if isinstance(found, int) else f'"{found}"'
    fix = f"write {shown}, which the runs used"
    return dc.replace(made, pointer=f"/hardware/{key}", write=found, fix=fix)


def _other_machine(case: Case) -> Iterator[Finding]:
    """Arms of a baseline track that did not run on one kind of machine."""
    kinds: dict[tuple[str | None, int | None], tuple[RunEvidence, Run]] = {}
    for item, run in runs_of(case):
        device = _device(run.hardware.device) or run.hardware.device
        if device is not None:
            kinds.setdefault((device, run.hardware.count), (item, run))
    untold = [(item, run) for item, run in runs_of(case) if run.hardware.device is None]
    if untold and case.runs("baseline") and len(kinds) < 2:
        yield about(
            case,
            *untold[0],
            "hardware-differs-from-run",
            "the run names no device, but both arms must run on the same kind of machine",
            level=Level.WARNING,
            fix="log the device with the steps (`cpu` if there is no accelerator)",
        )
    if len(kinds) > 1:
        first, other = list(kinds)[:2]
        item, run = kinds[other]
        yield about(
            case,
            item,
            run,
            "hardware-differs-from-run",
            f"the run used {_machine(*other)}, but another run {_machine(*first)}; "
            "both arms must share a machine",
            claimed=plain(str(other[0])),
            expected=plain(str(first[0])),
            fix=SAME_MACHINE,
        )


def _machine(device: object, count: int | None) -> str:
    return f"{count}x {plain(str(device))}" if count else f"{plain(str(device))} of unknown number"


def _contradict(a: Run, b: Run) -> bool:
    """Whether two runs with one nonce show different losses at the same step."""
    if a is b:
        return False
    losses = {v.step: v.loss for v in a.validation}
    return any(abs(losses.get(v.step, v.loss) - v.loss) > LOSS_TOLERANCE for v in b.validation)
