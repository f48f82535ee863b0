"""Learning rate over the run: a multiplier of every optimizer's own rate, between 0 and 1."""

import math

from reference_trainer.config import ScheduleConfig


def multiplier(schedule: ScheduleConfig, step: int, steps: int) -> float:
    """The multiplier for the update number `step`, counted from 0, of `steps`.

    The warm-up is linear and its first update is not zero: (step + 1) / warmup_steps. `cosine`
    then falls along half a cosine; `wsd` stays at 1 and falls linearly over the last
    `decay_fraction` of the run. Both end at `min_ratio`.
    """
    if step < schedule.warmup_steps:
        return (step + 1) / schedule.warmup_steps
    floor = schedule.min_ratio
    if schedule.kind == "cosine":
        done = (step - schedule.warmup_steps) / max(1, steps - schedule.warmup_steps)
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
    decay_steps = max(1.0, schedule.decay_fraction * steps)
    left = (steps - step) / decay_steps
    return floor + (1 - floor) * min(1.0, left)
