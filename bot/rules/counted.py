"""Counters and settings of a run that contradict what it is counted with: one judge for each.

Part of the rule `witnesses-disagree`; `bot.evidence.counters` reads them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from bot.compute.shapes import larger_model
from bot.model.case import Case, RunEvidence
from bot.model.run import Run, Witness
from bot.model.track import STEP_METRICS
from bot.model.verdict import Finding
from bot.registry import Level
from bot.render.numbers import figure
from bot.render.untrusted import plain
from bot.rules.about import about, ratio

Said = tuple[str, float, str] | None
"""The message, our value and the remedy; None where both agree."""
Judge = Callable[[Case, RunEvidence, Run, Witness], Said]


def _ends(run: Run) -> int:
    return max(run.last_step or 0, run.step or 0)


def _tokens(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    series = run.history.get("tokens", ())
    if not series:
        return None
    ours = series[-1][1]
    message = f"the run counts {figure(ours)} tokens, but {plain(w.source, 90)} says "
    message += figure(float(w.value))
    return message, ours, "log one count of the tokens, or say in the README what the other counts"


def _batch(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    series, ours = run.history.get("tokens", ()), 0.0
    if series and series[-1][0] > series[0][0]:
        ours = (series[-1][1] - series[0][1]) / (series[-1][0] - series[0][0])
    other = next((x for x in run.witnesses if x.quantity == "other_batch"), None)
    counted = "the run states another number"
    if ours:
        counted = f"a step counts {figure(ours)} tokens"
    elif other is not None:
        counted = f"{plain(other.source, 60)} says {figure(float(other.value))}"
    message = f"{plain(w.source, 90)} says {figure(float(w.value))} tokens a step, but {counted}"
    return message, ours, "state the tokens of one update of the weights, over all devices"


def _updates(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """Updates within a step: they count where steps do."""
    if case.track.cost.metric not in STEP_METRICS and not set(STEP_METRICS) & set(
        case.track.limits
    ):
        return None
    ours = _ends(run)
    message = f"the run counts {ours:,} steps, but by {plain(w.source, 90)} they "
    message += f"are {figure(float(w.value))} updates"
    return message, ours, "count every update of the weights as a step"


def _schedule(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    ours = _ends(run)
    if case.track.finish != "steps" or not ours:
        return None
    message = f"the run ends at step {ours:,}, but {plain(w.source, 90)} is "
    message += f"{figure(float(w.value))}, {round(float(w.value) / ours)} times as many"
    return message, ours, "say in the README why the schedule is longer than the run"


def _short_plan(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    ours = _ends(run)
    if case.track.finish != "steps":
        return None
    message = f"the run goes on to step {ours:,}, but {plain(w.source, 90)} plans "
    message += figure(float(w.value))
    return message, ours, "say in the README why the run goes on beyond its plan"


def _early_stop(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """A run that its loss may stop, where all runs end by their number of steps."""
    if case.track.finish != "steps" or run.step is None:
        return None
    message = f"{plain(w.source, 90)} lets the loss end the run, which ends at step {run.step:,}"
    return message, run.step, "train for a number of steps that you fix in advance"


def _validation_tokens(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    wanted = case.track.validation_tokens
    if wanted is None or float(w.value) >= wanted:
        return None
    message = (
        f"{plain(w.source, 90)} validates on {figure(float(w.value))} tokens, but the track on "
    )
    message += f"{wanted:,}"
    return message, wanted, f"validate on the track's {wanted:,} tokens"


def _validation_share(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    if float(w.value) >= 1:
        return None
    message = f"{plain(w.source, 90)} validates on {float(w.value):.3g} of the validation text"
    return message, 1.0, "validate on all of it"


def _planned_tokens(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """A plan of more tokens than were trained on: where runs end by their steps, the end may be a
    chosen one."""
    series, end = run.history.get("tokens", ()), _ends(run)
    each = (
        series[-1][1] / series[-1][0] if series and series[-1][0] > 0 else case.track.batch_tokens
    )
    ours = 0.0 if each is None else each * end
    if case.track.finish != "steps" or not ours or float(w.value) <= _PLANNED * ours:
        return None
    message = f"the run trains on {figure(ours)} tokens, but {plain(w.source, 90)} plans "
    message += figure(float(w.value))
    return message, ours, "say in the README why the run ends before its plan"


def _step_tokens(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """Another batch than the track's, where the track fixes it; one way to read it is enough."""
    wanted = case.track.batch_tokens
    if wanted is None:
        return None
    read = [x.value for x in run.witnesses if (x.quantity, x.source) == (w.quantity, w.source)]
    if any(abs(float(value) / wanted - 1) <= _FACTOR for value in read):
        return None
    message = (
        f"{plain(w.source, 90)} makes {figure(float(w.value))} tokens a step, but the track's "
    )
    message += f"batch is {wanted:,}"
    return message, wanted, f"train on the track's {wanted:,} tokens at each step"


def _part_tokens(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """A batch that may be that of one device or of one pass: no larger than the track's."""
    wanted = case.track.batch_tokens
    more = wanted is not None and float(w.value) > (1 + _FACTOR) * wanted
    return _step_tokens(case, item, run, w) if more else None


def _nats(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """The loss beside bits per byte, where the track says how many bytes a token has."""
    ours, size = run.metrics.get("bpb"), case.track.bytes_per_token
    if ours is None or size is None:
        return None
    right = float(w.value) / (math.log(2) * size)
    if abs(ours / right - 1) <= _FACTOR:
        return None
    message = f"bits per byte end at {figure(ours, 5)}; computed from {plain(w.source, 120)}, "
    message += f"{figure(float(w.value), 5)}, and the track's {figure(size)} bytes a token, they "
    message += f"are {figure(right, 5)}"
    return message, ours, "divide the nats of the text by its bytes and by ln 2"


def another_model(case: Case, item: RunEvidence, run: Run) -> Iterator[Finding]:
    """A model whose dimensions are smaller than the number of its parameters, or what a token of it
    takes, says: its FLOPs are compared with those of the chips, and parameters may be limited."""
    track = case.track
    ranks = {track.cost.metric, track.quality.metric, *track.limits}
    found = larger_model(run, track.vocab_size)
    if found is None or not ranks & {"hardware_flops", "parameters"}:
        return
    stated, ours, what = found
    yield about(
        case,
        item,
        run,
        "witnesses-disagree",
        f"the run states {figure(stated)} {what}, its dimensions make {figure(ours)}",
        level=Level.WARNING,
        claimed=ours,
        expected=stated,
        ratio=ratio(ours, stated),
        fix="log the dimensions of the model that was trained, or say in the README what else has "
        "parameters",
    )


def _passes(case: Case, item: RunEvidence, run: Run, w: Witness) -> Said:
    """A counter beside that of the steps, where steps rank: nothing says that it counts parts of
    one."""
    if case.track.cost.metric not in STEP_METRICS or run.step is None:
        return None
    message = f"the run counts {run.step:,} steps, but {plain(w.source, 90)} says "
    message += figure(float(w.value))
    return message, run.step, "state the gradient accumulation, or count every update as a step"


_FACTOR, _PLANNED = 0.01, 1.02

JUDGES: Mapping[str, Judge] = {
    "tokens": _tokens,
    "batch_tokens": _batch,
    "updates": _updates,
    "schedule": _schedule,
    "short_plan": _short_plan,
    "validation_tokens": _validation_tokens,
    "validation_share": _validation_share,
    "early_stop": _early_stop,
    "planned_tokens": _planned_tokens,
    "step_tokens": _step_tokens,
    "part_tokens": _part_tokens,
    "nats": _nats,
    "passes": _passes,
}
