"""Track files that tests write: training time to a loss of 3.28, with what differs between them."""

from __future__ import annotations


def time_to_loss(
    name: str,
    title: str,
    *,
    objective: str = "target",
    significance: str = 'test = "t"\nalpha = 0.01',
    accelerator: str = '"any"',
    accepts: str = '["log", "wandb"]',
    more: str = "",
) -> str:
    """The text of a track; `more` is put after its table `[evidence]`."""
    return f"""\
schema_version = 1
id = "{name}"
title = "{title}"
objective = "{objective}"
[quality]
metric = "loss"
unit = "nats/token"
goal = "min"
target = 3.28
[cost]
metric = "training_time_s"
unit = "s"
goal = "min"
[significance]
{significance}
[hardware]
accelerator = {accelerator}
[evidence]
accepts = {accepts}
{more}"""
