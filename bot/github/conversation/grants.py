"""Whether compute may be granted to the entry of a pull request, by what our comments there say."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence

from bot.github.pull_request.pull import Pull
from bot.github.pull_request.waivers import Grant, read_grants
from bot.model.track import ComputeGrant, Track
from bot.render.comment import STICKY, State, read_state


def settle(
    asked: Grant, bodies: Sequence[str], pull: Pull, tracks: Mapping[str, Track]
) -> tuple[Grant, str] | str:
    """The grant with its entry, and how to get it; or why it cannot be made, in words."""
    state = next((read_state(body) for body in bodies if body.startswith(STICKY)), None)
    if state is None or state.sha != pull.head_sha:
        return "the newest commit has no verdict yet; wait for it and repeat"
    rule = tracks[state.track].compute_grant if state.track in tracks else None
    if rule is None:
        return f"the track {state.track or '(none)'} has no [compute_grant]; add it to its file"
    grant = dc.replace(asked, entry=state.entry)
    # a delivery may come twice
    before = sum(g.amount for g in read_grants(bodies) if g != grant)
    return _why_not(state, rule, before + grant.amount) or (grant, rule.how)


def _why_not(state: State, rule: ComputeGrant, hours: float) -> str:
    if not state.grant_hours:
        return f"grants go to the {rule.top} best verified entries of the track"
    if hours > rule.gpu_hours:
        return f"{hours:g} GPU-hours in all are more than the {rule.gpu_hours:g} of the track"
    return ""
