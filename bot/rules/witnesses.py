"""Evidence: every source that states a quantity of a run states the same, or nobody can tell.

A row of a history is written by the training program, `_runtime` by W&B's client, the time of the
first and the last sign of life by W&B's servers: see `bot.model.run.WitnessKind`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from bot.model.case import Case, RunEvidence
from bot.model.run import Run, Witness
from bot.model.values import parse_timestamp
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.untrusted import plain
from bot.rules.about import about, per_message, ratio, read_problems, runs_of

# The clock of a run may begin a little before its client does, and W&B rounds to seconds.
_SLACK, _SLACK_S = 1.02, 5.0
# Validation stands still in the training clock: over the real runs at hand it takes under a third.
_SLOW, _LEAST_POINTS, _LEAST_S = 0.5, 4, 10.0


def witnesses_disagree(case: Case) -> Iterator[Finding]:
    """All sources of a quantity say the same.

    The training clock cannot count more time than passed on the machine (W&B's `_runtime`) or
    between the first and the last sign of life on W&B's servers. A clock that runs at less than
    half the pace of `_runtime` between validations is reported to a maintainer; one long pause is
    not. More devices than W&B's client saw, and a hash that a log states of a source other than
    the one in it, are named with both values. Log what the run did, and let nothing be edited.
    """
    yield from read_problems(case, "witnesses-disagree")
    yield from per_message(_disagree(case))


def _disagree(case: Case) -> Iterator[Finding]:
    for item, run in runs_of(case):
        yield from _too_much_time(case, item, run)
        yield from _slow_clock(case, item, run)
        for quantity in ("code", "chips"):
            said = [w for w in run.witnesses if w.quantity == quantity]
            yield from _contradiction(case, item, run, said)


def _too_much_time(case: Case, item: RunEvidence, run: Run) -> Iterator[Finding]:
    """A training time longer than the machine's or the servers' own."""
    time = run.metrics.get("training_time_s")
    if time is None:
        return
    created, seen = parse_timestamp(run.created_at), parse_timestamp(run.heartbeat_at)
    service = None if created is None or seen is None else (seen - created).total_seconds()
    if "offline" in run.client_marks or "resumed" in run.client_marks:
        service = None  # the servers saw none of it, or only its last part from its beginning on
    limits = (("W&B's `_runtime`", run.runtime_s), ("first to last sign of life on W&B", service))
    for source, limit in limits:
        if limit is not None and time > _SLACK * limit + _SLACK_S:
            yield about(
                case,
                item,
                run,
                "witnesses-disagree",
                f"the training clock says {time:.6g} s, {source} {limit:.6g} s",
                claimed=time,
                expected=limit,
                ratio=ratio(time, limit),
                fix="log the training time that passed, while it passes",
            )
            return


def _slow_clock(case: Case, item: RunEvidence, run: Run) -> Iterator[Finding]:
    """A training clock that runs slower than the machine's between most validations."""
    machine = dict(run.runtimes)
    both = [(v.time_s, machine[v.step]) for v in run.validation if v.step in machine]
    timed = [(clock, runtime) for clock, runtime in both if clock is not None]
    if len(timed) < _LEAST_POINTS or timed[-1][1] - timed[0][1] < _LEAST_S:
        return
    pairs = zip(timed, timed[1:], strict=False)
    paces = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in pairs if b[1] > a[1]]
    pace = statistics.median(paces) if len(paces) >= _LEAST_POINTS - 1 else 1.0
    if 0 <= pace < _SLOW:
        yield about(
            case,
            item,
            run,
            "witnesses-disagree",
            f"between validations the training clock counts {pace:.2g} s of each second of W&B's "
            "`_runtime`",
            level=Level.WARNING,
            claimed=pace,
            expected=1.0,
            fix="say in the README what the clock leaves out besides validation",
        )


def _contradiction(
    case: Case, item: RunEvidence, run: Run, said: list[Witness]
) -> Iterator[Finding]:
    """Two sources of one quantity with two values. Fewer devices than a machine has are honest."""
    if len({w.value for w in said}) < 2:
        return
    first, other = said[0], next(w for w in said if w.value != said[0].value)
    devices = first.quantity == "chips"
    if devices and float(other.value) < float(first.value):
        return
    shown = (str(w.value)[:12] if isinstance(w.value, str) else f"{w.value:g}" for w in said)
    a, b = list(dict.fromkeys(shown))[:2]
    yield about(
        case,
        item,
        run,
        "witnesses-disagree",
        f"{'the devices' if devices else 'the hash of the code'}: {plain(first.source, 80)} says "
        f"{a}, {plain(other.source, 80)} {b}",
        level=Level.WARNING if devices else None,
        claimed=other.value,
        expected=first.value,
        fix="let every machine of the run write to it, or give its log"
        if devices
        else "give the log as the training wrote it",
    )


def key_mapped(case: Case) -> Iterator[Finding]:
    """Quantities under names of the submission's own are looked at by a maintainer.

    `keys` in submission.json says what the author's logs or W&B histories call a quantity. Nobody
    but the author knows what such a name measures, so a maintainer compares it with the code.
    """
    told = ", ".join(
        f"{quantity} from `{plain(name, 60)}`"
        for quantity, name in sorted(case.submission.keys.items())
    )
    if told and not case.brought_over:
        yield finding(
            "key-mapped",
            f"the submission says what its runs call a quantity: {told}",
            file=case.folder.full("submission.json"),
            pointer="/keys",
            fix="say in the README what each of them measures, and where the code logs it",
        )
