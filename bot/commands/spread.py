"""`speedrun stats --groups`: the usual spread of a track's groups of runs, for its track file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from bot.commands.arms import arms_of
from bot.compute.moderated import Prior, estimate_prior
from bot.compute.summary import summarise
from bot.model.summary import Moments
from bot.model.track import Track


def groups_of(sources: tuple[str, ...], track: Track) -> Iterator[tuple[str, Moments]]:
    """(name, moments) of each group: a source's runs, those of a baseline arm apart."""
    for source in sources:
        arms = arms_of([source], (), track)
        for name, arm in ((source, arms.ours), (f"{source} (baseline arm)", arms.theirs)):
            moments = summarise(arm, track).moments
            if moments is not None and moments.sd:
                yield name, moments


def report(groups: list[tuple[str, Moments]], track: Track, form: str) -> dict[str, Any] | None:
    """Print the groups and the lines for the track file; the same as JSON values if asked.

    Raises click.ClickException if too few groups have a spread.
    """
    try:
        prior = estimate_prior(moments for _, moments in groups)
    except ValueError as error:
        raise click.ClickException(f"{error}; name more folders of runs") from error
    if form == "json":
        return {
            "groups": [{"name": n, "n": m.n, "mean": m.mean, "sd": m.sd} for n, m in groups],
            "pooled_sd": prior.pooled_sd,
            "pooled_df": prior.pooled_df,
            "prior_sd": prior.sd,
            "prior_df": prior.df,
        }
    for name, m in groups:
        click.echo(f"{m.n:4}  mean {m.mean:.6g}  sd {m.sd:.3g}  {name}")
    for line in _lines(prior, track):
        click.echo(line)
    return None


def _lines(prior: Prior, track: Track) -> Iterator[str]:
    yield ""
    yield f"{prior.groups} groups. For tracks/{track.id}.toml:"
    yield "[significance]"
    yield f"pooled_sd = {prior.pooled_sd:.6g}"
    yield f"pooled_df = {prior.pooled_df}"
    yield f"prior_sd = {prior.sd:.4g}"
    yield f"prior_df = {prior.df:.3g}"
