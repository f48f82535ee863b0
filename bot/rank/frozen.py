"""The baselines that a track ever froze, as its file lists them, and how they relate.

    [[baselines]]
    id = "faster"
    submission = "submissions/my-track/faster"
    frozen_on = 2026-02-03
    cost_metric = "training_time_s"
    costs = [620.0, 621.0]
    losses = [3.27, 3.275]
    after = "first"
    ratio = 0.885

    [[baselines.credits]]
    github = "example-user"
    roles = ["idea", "code"]
    submissions = ["submissions/my-track/faster"]

An entry is measured against the baseline of its day. `relation` puts it on the scale of the one
that stands now: its ratio times the ratios of the baselines between.
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.model.track import Baseline


def measured_against(
    baselines: tuple[Baseline, ...], current: str, based_on: str | None, date: str | None
) -> str:
    """The id of the baseline that an entry was measured against.

    The one that it says it is based on; else the one that stood on its date; else `current`.
    """
    for item in baselines:
        if based_on in (item.id, item.submission, item.submission.removeprefix("submissions/")):
            return item.id
    if date is not None and any(b.id == current for b in baselines):
        before = [b for b in baselines if b.frozen_on <= date[:10]]
        return before[-1].id if before else baselines[0].id
    return current


def relation(baselines: tuple[Baseline, ...], own: str, current: str) -> float | None:
    """What a ratio to the baseline `own` is multiplied by to be one to `current`.

    None where some baseline between them was frozen without a ratio to the one before.
    """
    scale = _scale(baselines)
    if own == current:
        return 1.0
    mine, theirs = scale.get(own), scale.get(current)
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return None
    return mine[1] / theirs[1]


def _scale(baselines: tuple[Baseline, ...]) -> Mapping[str, tuple[str, float]]:
    """Id -> (first of its chain, cost relative to that first)."""
    scale: dict[str, tuple[str, float]] = {}
    for item in baselines:
        before = scale.get(item.after) if item.after is not None else None
        if before is None or item.ratio is None:
            scale[item.id] = (item.id, 1.0)
        else:
            scale[item.id] = (before[0], before[1] * item.ratio)
    return scale
