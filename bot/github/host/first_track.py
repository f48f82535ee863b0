"""The track file that `speedrun init` writes: one for each objective, ready to be edited."""

from __future__ import annotations

from bot.model.track import OBJECTIVES

_HEAD = """# One competition. `speedrun doctor` checks it; the page "Host your own" lists every key.
schema_version = 1
id = "{track}"
"""
_LOSS = """
[quality]
metric = "loss"
unit = "nats/token"
goal = "min"
target = 3.28

[cost]
metric = "training_time_s"
unit = "s"
goal = "min"
"""
_LOG_KEYS = """
[hardware]
accelerator = "any"

[evidence]
accepts = ["wandb", "log", "results"]

# Where the histories of W&B runs keep what: the first name that is there counts.
[evidence.keys]
loss = ["val_loss", "val/loss", "eval/loss"]
time_ms = ["train_time", "train_time_ms"]
time_s = ["train_time_s", "training_time_s", "time/train_s"]
step = ["step", "_step"]
total_steps = ["train_steps", "total_steps"]
"""
_TARGET = f"""title = "Time to the target"
objective = "target"
description = "Least training time at which the mean loss reaches the target."
{_LOSS}
# One-sided t-test of the mean against the target.
[significance]
test = "t"
alpha = 0.01
{_LOG_KEYS}"""
_BASELINE = """title = "Progress over the baseline"
objective = "baseline"
description = "Run the baseline and your code on one machine; the ratio of the times counts."

# What the starter of a new track reaches in its first minute; set what yours should.
[quality]
metric = "loss"
unit = "nats/token"
goal = "min"
target = 1.9

[cost]
metric = "training_time_s"
unit = "s"
goal = "min"

# Nothing is proved here; mean, spread and the ratio's interval are shown.
[significance]
test = "none"

# One card, whichever it is.
[hardware]
accelerator = "any"
count = 1

# A tenth less time than the baseline's makes a new baseline due. `speedrun baseline make` trains
# the first one, `speedrun baseline freeze` takes an entry: until then the track is not open.
[baseline]
promote_at = 0.9

# Only entries that others confirmed make a new baseline: in 3 pairs of runs, entry and baseline.
[reproduction]
runs = 3
by = "another-person"
alpha = 0.05

[evidence]
accepts = ["wandb", "log", "results"]

# Where the histories of W&B runs keep what: the first name that is there counts.
[evidence.keys]
loss = ["eval/loss", "val_loss", "val/loss"]
time_s = ["time/train_s", "train_time_s", "training_time_s"]
time_ms = ["train_time", "train_time_ms"]
tokens = ["throughput/total_tokens", "tokens"]
step = ["_step", "step"]
total_steps = ["total_steps", "train_steps"]
"""
_PARETO = """title = "Quality against compute"
objective = "pareto"
description = "Best bits per byte for the hardware FLOPs spent; the frontier counts."

[quality]
metric = "bpb"
unit = "bits/byte"
goal = "min"

[cost]
metric = "hardware_flops"
unit = "FLOPs"
goal = "min"

[significance]
test = "none"

[hardware]
accelerator = "any"

[evidence]
accepts = ["wandb", "results"]

# Where the histories of W&B runs keep what: the first name that is there counts.
[evidence.keys]
bpb = ["eval/paloma/c4_en/bpb", "eval/bpb", "val_bpb"]
step_time_s = ["throughput/duration"]
tokens = ["throughput/total_tokens"]
step = ["_step"]
"""
_BEST = """title = "Best quality within a time limit"
objective = "best"
description = "Least bits per byte after ten minutes of training."

# A metric of your own: from a line of the log, a history key of W&B, or a JSON pointer.
[quality]
metric = "final_bpb"
unit = "bits/byte"
goal = "min"

[metrics.final_bpb]
label = "Final bits per byte"
unit = "bits/byte"
digits = 4
from = ['final val_bpb:(\\S+)', "final_bpb", "/val_bpb"]

# The most that an entry may have.
[limits]
training_time_s = 600

[finish]
by = "time-limit"

[significance]
test = "none"

[hardware]
accelerator = "any"

[evidence]
accepts = ["wandb", "log", "results"]
"""
_TEXTS = dict(zip(OBJECTIVES, (_PARETO, _TARGET, _BASELINE, _BEST), strict=True))


def objective_of(adopt: tuple[str, ...]) -> str:
    """The objective that fits the files adopted: results files hold bits per byte and FLOPs."""
    return "pareto" if adopt and all(glob.endswith(".json") for glob in adopt) else "target"


def track_text(track: str, objective: str, adopt: tuple[str, ...]) -> str:
    """The text of `tracks/TRACK.toml`."""
    text = _HEAD.format(track=track) + _TEXTS[objective]
    if adopt:
        listed = ", ".join(f'"{glob}"' for glob in adopt)
        text += f"\n# Results stay where they are.\n[submissions]\nglobs = [{listed}]\n"
    return text
