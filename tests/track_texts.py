"""Track files that tests write, with what differs between them."""

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
    """Training time to a loss of 3.28; `more` is put after the table `[evidence]`."""
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


def highest_core(more: str = "") -> str:
    """The highest CORE score in three hours; `more` is put after the table `[evidence]`."""
    return f"""\
schema_version = 1
id = "core"
title = "Highest CORE score in three hours"
objective = "best"
[quality]
metric = "core"
goal = "max"
[metrics.core]
label = "CORE"
goal = "max"
from = ["core_metric", 'CORE metric: ([0-9.]+)']
[limits]
training_time_s = 10800
[finish]
by = "time-limit"
[log]
patterns = ['^step (?P<step>\\d+)/(?P<total>\\d+) .* loss: (?P<loss>\\S+) .*: (?P<time_s>\\S+)s']
[evidence]
accepts = ["log", "wandb"]
{more}"""
