"""Provenance: what a reproduction or a challenge says of another entry."""

from __future__ import annotations

from collections.abc import Iterator

from bot.compute.baselines import ran, relation
from bot.compute.case_statistics import of_case, points_of
from bot.compute.ratios import Measured, disputes, measured, to_target
from bot.model.case import Case
from bot.model.run import SOURCE_READ
from bot.model.submission import REPLIES
from bot.model.verdict import Finding, finding
from bot.render.numbers import percent
from bot.rules.about import quoted


def entry_unknown(case: Case) -> Iterator[Finding]:
    """What a submission reproduces or challenges is an entry of the board.

    `reproduces` and `challenges` name the folder of a merged entry, such as `single-gpu/faster`, of
    the same track and no reply itself. A submission does one of the two, and only on a track of
    objective `baseline`: there the ratio of two arms on one machine says whether a gain holds.
    """
    given = [key for key in REPLIES if isinstance(case.submission.raw.get(key), str)]
    if not given:
        return
    reply, standing = case.submission.reply, case.context.standing
    if len(given) > 1:
        message, fix = "it both reproduces and challenges", "keep one of the two keys"
    elif case.track.objective != "baseline":
        message = f"{case.track.id} takes no reproductions or challenges of its entries"
        fix = f"delete `{given[0]}`, and submit an entry of your own"
    elif reply is not None and standing.known and standing.target is None:
        message = f"{case.track.id} has no entry {quoted(reply.entry)}"
        fix = f"name a merged entry of the track, such as {case.track.id}/NAME"
    else:
        return
    yield finding(
        "entry-unknown",
        message,
        file=case.folder.full("submission.json"),
        pointer=f"/{given[-1]}",
        claimed=quoted(str(case.submission.raw[given[-1]])),
        fix=fix,
    )


def maintainer_decides(case: Case) -> Iterator[Finding]:
    """A maintainer decides on runs that dispute an entry, and on credit that is taken away.

    A challenge whose runs dispute an entry takes that entry off the board, so a maintainer weighs
    it first: `/accept maintainer-decides because ...` lets it count. Until then the entry is shown
    as challenged. On a track with `[reproduction] by = "maintainer"` reproductions wait for the
    same, and so do those whose runs do not hold their code where the entry's do: a hash of it that
    is only stated confirms nothing. A challenge whose runs show the gain after all needs nobody:
    its runs join the entry's. A pull request that takes somebody out of a merged entry, or a role
    or the first place from them, needs their `/confirm`, or a maintainer who accepts it.
    """
    reply, target = case.submission.reply, case.context.standing.target
    if reply is None or target is None:
        return
    rule = case.track.confirmation
    runs = case.runs("candidate")
    if target.source_read and not all(SOURCE_READ in run.client_marks for run in runs):
        yield finding(
            "maintainer-decides",
            f"the logs of {target.path} hold the code that they ran, but these do not; a "
            "maintainer decides whether they count",
            file=case.folder.full("submission.json"),
            pointer=f"/{reply.kind}",
            fix="give logs that begin with their source, or save the code with the run on W&B; "
            "else a maintainer types `/accept maintainer-decides because ...`",
        )
    own = measured(target.statistics)
    for point in points_of(case)[:1]:
        summary = of_case(case, point)
        ratio = _to_theirs(case, measured(summary))
        if ratio is None:
            continue
        missed = to_target(summary, case.track)[1]
        disputed = reply.kind == "challenges" and disputes(ratio, own, case.track, missed)
        if not disputed and rule.by != "maintainer":
            continue
        claimed = f", {percent(own.ratio)} was claimed" if own else ""
        claimed += ", and they miss the target" if missed else ""
        yield finding(
            "maintainer-decides",
            f"these runs of {target.path} take {percent(ratio.ratio)} of the baseline's cost"
            f"{claimed}; a maintainer decides whether they count",
            file=case.folder.full("submission.json"),
            pointer=f"/{reply.kind}",
            claimed=ratio.ratio,
            expected=own.ratio if own else None,
            fix="a maintainer types `/accept maintainer-decides because ...`",
        )


def _to_theirs(case: Case, ratio: Measured | None) -> Measured | None:
    """A ratio to the baseline that the entry ran; None where nothing relates the two baselines."""
    target, arm = case.context.standing.target, ran(case)
    if ratio is None or target is None or arm is None or target.against is None:
        return ratio
    links = relation(case.track.baselines, arm.id, target.against)
    return None if links is None else ratio.scaled(links)
