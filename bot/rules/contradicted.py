"""Second statements of a run that contradict what ranks: one comparison for each quantity.

Part of the rule `witnesses-disagree`, in `bot.rules.witnesses`. Most are warnings: the source of a
second number may measure something else, and a maintainer sees both values.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Mapping

from bot.compute import accelerators
from bot.compute.shapes import parameters_of, transformer_of
from bot.evidence.second import longest_job
from bot.model.case import Case, RunEvidence
from bot.model.run import Run, Witness, WitnessKind
from bot.model.verdict import Finding
from bot.registry import Level
from bot.render.numbers import count, figure
from bot.render.untrusted import plain
from bot.rules.about import about, ratio
from bot.rules.counted import JUDGES, Judge, Said, another_model
from bot.rules.other_texts import may_be_of_track

# Times of steps leave out what stands between them; on the real logs at hand they are within 8 %.
_STEP_PACE, _CLOCK_PACE = 0.85, 0.75
# Validation stands still in the training clock: over the real runs at hand it takes under a third.
_WALL_PACE, _WALL_OVER = 0.6, 1.05
# W&B's client stamps a row when the next one begins; in a run of a moment that is most of it.
_WALL_SLACK_S, _MOMENT_S = 2.0, 0.5
# Of a whole job an hour of start-up and evaluation is honest, and so is a notebook left open.
_JOB_PACE, _JOB_LEAST_S = 0.1, 10.0
# With compilation and validations a short run takes up to twice its training clock.
_LOOP_PACE, _LOOP_START_S = 0.4, 600.0
_MEMORY = 1.02
_MOST_SHARE = 1.0
_LEAST_EQUAL = 3
# Beside the training loss the validations of a run move by a tenth of this from one to the next.
_RECENT, _FALL = 5, 0.01
# The loss of one batch is 0.026 from the validation loss in the nearest of the real runs at hand.
_TOO_CLOSE, _OF_MOVES = 0.0025, 0.2


def contradicted(
    case: Case, item: RunEvidence, run: Run, *, untimed: bool = True
) -> Iterator[Finding]:
    """Every contradiction of one run, the first of each quantity; `untimed` says that nothing is
    told of its clock yet."""
    yield from _code(case, item, run)
    told: set[str] = set() if untimed else {"time"}
    for witness in run.witnesses:
        judge = _JUDGES.get(witness.quantity)
        group = "time" if witness.quantity.endswith("_s") else witness.quantity.split("_of_")[0]
        if judge is None or group in told or isinstance(witness.value, str):
            continue
        said = judge(case, item, run, witness)
        if said is not None:
            told.add(group)
            message, ours, fix = said
            yield about(
                case,
                item,
                run,
                "witnesses-disagree",
                message,
                level=Level.WARNING,
                claimed=ours,
                expected=witness.value,
                ratio=ratio(ours, float(witness.value)),
                fix=fix,
            )
    yield from another_model(case, item, run)
    yield from _one_loss(case, item, run)
    yield from _fell_alone(case, item, run)


_JOB_FIX = (
    "log what the rest of the time was, such as `compilation took 312 s`, or say it in the README"
)
_CLOCK_FIX = "log the training time that passed, or say in the README what the other number counts"


def _training_time(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """A like clock: it runs as fast as the training clock. A slow one makes no result better, but
    a slow baseline arm does. A run of a moment may be off by one."""
    time, other = run.metrics.get("training_time_s"), float(w.value)
    if time is None or other <= 0 or abs(other - time) <= _MOMENT_S / 2:
        return None
    slow = item.spec.arm == "baseline" and time * _STEP_PACE > other
    if time >= _STEP_PACE * other and not slow:
        return None
    return _times(time, w, "makes it"), time, _CLOCK_FIX


def _elapsed(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """A clock that runs on, over stretches without a validation: loading and logging take some."""
    time, other = run.metrics.get("training_time_s"), float(w.value)
    if time is None or _fits(time, other, _CLOCK_PACE):
        return None
    return _times(time, w, "makes it"), time, _CLOCK_FIX


def _wall_time(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """A clock that also counts validations: the training clock is no faster, and not far slower."""
    time, other = run.metrics.get("training_time_s"), float(w.value)
    if time is None or _fits(time, other, _WALL_PACE):
        return None
    return _times(time, w, "with validations makes it"), time, _CLOCK_FIX


def _fits(time: float, other: float, pace: float) -> bool:
    """Whether a training time goes with another clock; a run of a moment may be off by a moment."""
    slow = time < pace * other and other - time > _WALL_SLACK_S / 2
    return not slow and time <= _WALL_OVER * other + min(_WALL_SLACK_S, max(time / 2, _MOMENT_S))


def _loop_time(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """The time of the training with its start and its validations: no shorter, and not of another
    order."""
    time, other = run.metrics.get("training_time_s"), float(w.value)
    if time is None:
        return None
    long = time < _LOOP_PACE * other or other - _accounted(run) > longest_job(time, _LOOP_START_S)
    if not long and time <= _WALL_OVER * other + _WALL_SLACK_S:
        return None
    return _times(time, w, "with all that belongs to it says"), time, _JOB_FIX


def _job_time(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """The time of the whole job: no shorter than the training, and not much longer, but for what
    the log accounts for."""
    time, other = run.metrics.get("training_time_s"), float(w.value)
    if time is None:
        return None
    if _whole_time(case, item, run, w) is None and time <= 1.02 * other + _WALL_SLACK_S:
        return None
    return _times(time, w, "says the whole job took"), time, _JOB_FIX


def _whole_time(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """The same of a line that may speak of a part alone, which is shorter."""
    time, other = run.metrics.get("training_time_s"), float(w.value)
    if time is None:
        return None
    rest = other - _accounted(run)
    if rest <= longest_job(time) and not (rest >= _JOB_LEAST_S and time < _JOB_PACE * rest):
        return None
    return _times(time, w, "says the whole job took"), time, _JOB_FIX


def _accounted(run: Run) -> float:
    """The seconds of a job that the run itself accounts for besides its training."""
    return sum(float(w.value) for w in run.witnesses if w.quantity == "beside_s")


def _times(time: float, w: Witness, verb: str) -> str:
    return (
        f"the training clock says {figure(time)} s, but {plain(w.source, 90)} {verb} "
        f"{figure(float(w.value))} s"
    )


def _steps(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    ours = run.step if run.step is not None else run.last_step
    if ours is None or float(w.value) <= 1.01 * ours + 2:
        return None
    message = (
        f"the run counts {ours:,} steps, but {plain(w.source, 90)} says {figure(float(w.value))}"
    )
    return message, ours, "count every update of the weights as a step"


def _length(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """A longer plan: where runs end by their number of steps, the end may be a chosen one."""
    ours = max(run.total_steps or 0, run.last_step or run.step or 0)
    if case.track.finish != "steps" or not ours or float(w.value) <= 1.01 * ours + 2:
        return None
    message = (
        f"the run ends at step {ours:,}, but {plain(w.source, 90)} plans {figure(float(w.value))}"
    )
    return message, ours, "say in the README why the run ends before its plan"


def _went_on(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """Training after the last validation where no end is stated: the stop may be chosen. Where
    the clock ends a run, that training is beyond it."""
    if run.step is None:
        return None
    if case.track.finish == "time-limit":
        message = f"the clock is read at step {run.step:,}, and training goes on to {w.value:,}"
        return message, run.step, "validate at the end of the training, and log the clock there"
    if run.total_steps is not None or case.track.finish != "steps":
        return None
    message = f"the last validation is at step {run.step:,}, and training goes on to {w.value:,}"
    return message, run.step, "state the planned number of steps in the log, as in `step:100/1000`"


def _chips(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """Fewer devices than a machine has are honest; fewer than the program says are not."""
    used, other = run.hardware.count, float(w.value)
    if not used:
        return None
    shown = accelerators.find(run.hardware.device)
    per_chip = 1 if shown is None else shown.accelerator.devices_per_chip
    if w.kind is WitnessKind.MACHINE and used < other and _weightless(case, run):
        message = f"the run is counted with {used} of the {figure(other)} devices that its machine "
        message += "has, and states no model by which that could be judged"
        return message, used, "log the dimensions or the number of parameters of the model"
    if w.kind is WitnessKind.MACHINE:
        # Who uses one GPU of eight is honest; on a track for eight nobody has sixteen. The record
        # is one machine's: a run over several of them uses a multiple of it.
        asked = case.track.accelerator_count or 1
        fits = used == other if asked > 1 and used == asked else used <= other or used % other == 0
    else:
        fits = other <= used or other == used * per_chip
    if fits:
        return None
    message = (
        f"the run is counted with {count(used, 'device')}, but {plain(w.source, 90)} says "
        f"{figure(other)}"
    )
    return message, used, "let every machine of the run write to it, or give its log"


def _weightless(case: Case, run: Run) -> bool:
    """Whether devices rank and the run states neither dimensions nor parameters."""
    ranks = "hardware_flops" in (case.track.cost.metric, case.track.quality.metric)
    shape = transformer_of(run.config, case.track.vocab_size)
    return ranks and shape is None and parameters_of(run) is None


def _loss(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    if run.loss is None:
        return None
    message = f"the validation loss is {figure(run.loss, 6)}, but {plain(w.source, 90)} ends at "
    message += f"{figure(float(w.value), 6)}"
    return message, run.loss, "say in the README what the other loss measures, and which one counts"


def _loss_of_data(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    name = w.source.partition("`")[2].partition("`")[0]
    if run.loss is None or not may_be_of_track(case.track, name, float(w.value), run.loss):
        return None
    return _loss(case, item, run, w)


def _bits(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    ours = run.metrics.get("bpb")
    if ours is None:
        return None
    message = (
        f"bits per byte end at {figure(ours, 5)}; computed from {plain(w.source, 120)} by "
        f"the factor between the two at the first validation, they are {figure(float(w.value), 5)}"
    )
    return message, ours, "log both of one evaluation of the same text"


def _same_bits(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    ours = run.metrics.get("bpb")
    if ours is None:
        return None
    message = f"bits per byte end at {figure(ours, 5)}, but {plain(w.source, 90)} ends at "
    message += figure(float(w.value), 5)
    return message, ours, "say in the README what the other one measures, and which one counts"


def _memory(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    found = accelerators.find(run.hardware.device)
    size = None if found is None else found.accelerator.memory_bytes
    if size is None or float(w.value) <= _MEMORY * size:
        return None
    message = (
        f"{plain(w.source, 90)} says {figure(float(w.value) / 2**30)} GiB, but a "
        f"{plain(run.hardware.device or '', 60)} has {figure(size / 2**30)}"
    )
    return message, size, "name the device that the run used"


def _share(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    if float(w.value) <= _MOST_SHARE:
        return None
    message = f"{plain(w.source, 90)} says that the run used {figure(float(w.value), 3)} times the "
    message += "peak of its chips"
    return message, _MOST_SHARE, "check the clock, the devices and their peak"


_JUDGES: Mapping[str, Judge] = {
    **JUDGES,
    "training_time_s": _training_time,
    "elapsed_s": _elapsed,
    "wall_time_s": _wall_time,
    "job_time_s": _job_time,
    "whole_time_s": _whole_time,
    "loop_time_s": _loop_time,
    "steps": _steps,
    "total_steps": _length,
    "later_steps": _went_on,
    "chips": _chips,
    "loss": _loss,
    "loss_of_data": _loss_of_data,
    "bpb": _bits,
    "same_bpb": _same_bits,
    "memory_bytes": _memory,
    "mfu": _share,
}


def _code(case: Case, item: RunEvidence, run: Run) -> Iterator[Finding]:
    """A hash that a log states of a source other than the one in it."""
    said = [w for w in run.witnesses if w.quantity == "code"]
    other = next((w for w in said if w.value != said[0].value), None)
    if other is not None:
        first = said[0]
        yield about(
            case,
            item,
            run,
            "witnesses-disagree",
            f"the hash of the code: {plain(first.source, 80)} says {str(first.value)[:12]}, "
            f"but {plain(other.source, 80)} says {str(other.value)[:12]}",
            claimed=other.value,
            expected=first.value,
            fix="give the log as the training wrote it",
        )


def _one_loss(case: Case, item: RunEvidence, run: Run) -> Iterator[Finding]:
    """A training loss that is the validation loss at nearly every validation, or next to it."""
    training = dict(run.history.get("train_loss", ()))
    both = [(v.loss, training[v.step]) for v in run.validation if v.step > 0 and v.step in training]
    apart = statistics.median(abs(a - b) for a, b in both) if both else math.inf
    moves = [abs(a - b) for (a, _), (b, _) in itertools.pairwise(both)]
    # A toy whose loss stands still is near every other loss of it.
    near = min(_TOO_CLOSE, _OF_MOVES * statistics.median(moves)) if moves else 0.0
    if len(both) >= _LEAST_EQUAL and apart <= near:
        how = f"is within {figure(apart, 2)} of" if apart else "equals"
        yield about(
            case,
            item,
            run,
            "witnesses-disagree",
            f"the training loss {how} the validation loss at most of {len(both)} validations",
            level=Level.WARNING,
            fix="say in the README how the validation loss is computed, and on which text",
        )


def _fell_alone(case: Case, item: RunEvidence, run: Run) -> Iterator[Finding]:
    """A last validation that is lower beside the training loss than those before it were."""
    training = sorted(run.history.get("train_loss", ()))
    beside = []
    for before, now in itertools.pairwise(run.validation):
        since = [loss for step, loss in training if (before.step + now.step) / 2 < step <= now.step]
        if since:
            beside.append((now.step, now.loss - statistics.fmean(since)))
    if not beside or beside[-1][0] != run.validation[-1].step:
        return
    *earlier, last = [apart for _, apart in beside[-_RECENT:]]
    if len(earlier) < _LEAST_EQUAL:
        return
    usual = statistics.median(earlier)
    fall = usual - last
    if fall > max(_FALL * abs(run.validation[-1].loss), 4 * max(abs(x - usual) for x in earlier)):
        yield about(
            case,
            item,
            run,
            "witnesses-disagree",
            f"the last validation loss is {figure(last, 3)} from the training loss before it, "
            f"usual are {figure(usual, 3)}",
            level=Level.WARNING,
            claimed=last,
            expected=usual,
            fix="say in the README what the last validation does that those before it do not",
        )
