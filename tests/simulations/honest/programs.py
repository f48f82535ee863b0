"""Submissions of people who train with a program of their own: NanoGPT's tracks and their like."""

from __future__ import annotations

import dataclasses as dc
import random
import statistics
from collections.abc import Sequence
from typing import Any

from tests.simulations.honest import logs, wandb_runs
from tests.simulations.honest.entry import (
    Calendar,
    Entry,
    hash_of,
    hex_id,
    source_text,
    summary_of,
)
from tests.simulations.honest.machines import H100, SEVERAL, SINGLE, TPUS, Machine
from tests.simulations.honest.training import SHORT_SPREAD, Recipe, Trained, train
from tests.simulations.honest.wandb_runs import Habits, Names, Stored

GPT2 = 8.6e8
"""FLOPs of a token of GPT-2 small with its attention; short windows and a small head save some."""


@dc.dataclass(frozen=True)
class Plan:
    """What a track asks for: a recipe with `target` in reach, on one of `machines`."""

    target: float
    recipe: Recipe
    machines: Sequence[Machine]
    runs: tuple[int, ...]
    arms: bool = False


def small(draw: random.Random) -> Plan:
    """NanoGPT small: 8 H100, a minute and a half to five."""
    steps = draw.randrange(1300, 2200, 10)
    recipe = Recipe(
        steps, 393216, GPT2 * 0.8, 10.83, 3.28, 0.0013, draw.choice((125, 250)),
        draw.uniform(0.3, 0.5), spread=SHORT_SPREAD,
    )  # fmt: skip
    return Plan(3.28, recipe, (H100,), (5, 8, 10, 12, 20))


def medium(draw: random.Random) -> Plan:
    """NanoGPT medium: 8 H100, a quarter of an hour or more."""
    steps = draw.randrange(4500, 6000, 10)
    recipe = Recipe(
        steps, 524288, 2.5e9, 10.83, 2.92, 0.0008, draw.choice((250, 500)), draw.uniform(0.45, 0.6)
    )
    return Plan(2.92, recipe, (H100,), (5, 8))


def optimization(draw: random.Random) -> Plan:
    """NanoGPT optimization: any hardware."""
    steps = draw.randrange(2750, 3500, 25)
    recipe = Recipe(
        steps, 524288, GPT2, 10.83, 3.28, 0.0013, draw.choice((125, 250)), draw.uniform(0.25, 0.45)
    )
    return Plan(3.28, recipe, (*SEVERAL, *SEVERAL, *SINGLE, *TPUS), (4, 6, 9, 12))


def single(draw: random.Random) -> Plan:
    """One GPU on FineWeb, both arms."""
    steps = draw.randrange(2500, 3500, 25)
    recipe = Recipe(
        steps, 524288, GPT2, 10.83, 3.28, 0.0013, draw.choice((125, 250)), draw.uniform(0.25, 0.45)
    )
    return Plan(3.28, recipe, SINGLE, (1, 2, 3), arms=True)


PLANS = {
    "nanogpt-small": small,
    "nanogpt-medium": medium,
    "nanogpt-optimization": optimization,
    "single-gpu-fineweb": single,
}


def fill(entry: Entry) -> None:
    """Write a submission to one of these tracks."""
    draw = entry.draw
    plan = PLANS[entry.track](draw)
    machine = draw.choice(plan.machines)
    count = draw.choice(plan.runs)
    aim = plan.target - draw.uniform(4.0, 6.0) * plan.recipe.sd / count**0.5
    recipe = dc.replace(plan.recipe, final=aim)
    arms = {"candidate": recipe}
    if plan.arms:
        slower = recipe.used * draw.uniform(0.8, 0.97)
        arms["baseline"] = dc.replace(recipe, used=slower, steps=recipe.steps + 250)
    habit = _style(entry) if entry.door == "log" else _habits(entry)
    stall = 130.0 if count >= 4 and entry.maybe("stall 130 s", 0.08) else 0.0
    slow = draw.uniform(3, 8) if entry.maybe("slow validation", 0.1) else 1.0
    long = recipe.step_s(machine) * recipe.steps > 600
    save_s = draw.uniform(1, 10) if long and entry.maybe("checkpoints", 0.2) else 0.0
    calendar, losses, times = Calendar(draw), [], []
    for number in range(count):
        for arm, item in arms.items():
            hung = stall if number == 1 else 0.0
            run = train(item, machine, number, draw, stall_s=hung, slow=slow, save_s=save_s)
            spec: dict[str, Any] = {"seed": number}
            if plan.arms:
                spec |= {"arm": arm, "pair": str(number + 1)}
            loss, seconds = _show(entry, run, habit, calendar, spec)
            if arm == "candidate":
                losses.append(loss)
                times.append(seconds)
    _close(entry, machine, habit, losses, times)


@dc.dataclass(frozen=True)
class Wandb:
    """How all runs of an entry are logged to W&B."""

    names: Names
    habits: Habits
    bare: bool


def _style(entry: Entry) -> logs.Style:
    draw = entry.draw
    form = draw.choice(logs.FORMS)
    steps_only = entry.track == "nanogpt-optimization"
    if form != "modded":
        entry.traits.append(form)
    modded = form == "modded"
    style = logs.Style(
        form=form,
        smi=modded and draw.random() < 0.6,
        unit=draw.choice(("ms", "s")),
        digits=draw.choice((4, 4, 5, 6)),
        train_lines=draw.random() < 0.6,
        look=entry.number,
    )
    if modded and entry.maybe("source in the log", 0.7):
        style = dc.replace(style, source="")
        entry.maybe("id in the source", 0.08)
    if entry.maybe("more keys", 0.3):
        style = dc.replace(style, extra=True)
    if form in ("modded", "pairs") and entry.maybe("prefix", 0.15):
        style = dc.replace(style, prefix=draw.choice(("logging", "hydra", "torchrun")))
    if entry.maybe("progress bar", 0.1):
        style = dc.replace(style, bar=True)
    if modded and entry.maybe("last step total - 1", 0.08):
        style = dc.replace(style, zero_based=True)
    if modded and entry.maybe("validation printed later", 0.08):
        style = dc.replace(style, late=draw.randint(1, 9))
    if steps_only and entry.maybe("no total", 0.05):
        style = dc.replace(style, total=False)
    if entry.maybe("CRLF", 0.05):
        style = dc.replace(style, crlf=True)
    if form in ("modded", "pairs", "json") and entry.maybe("keys of its own", 0.06):
        style = dc.replace(style, keys=("eval_nll", "train_clock"))
    if entry.maybe("fp8 named", 0.1):
        style = dc.replace(style, more=("precision: fp8 head, bf16 elsewhere",))
    if entry.maybe("paths in the log", 0.1):
        where = draw.choice(("C:\\Users\\me\\data\\fineweb10B", "/mnt/c/data", "/content/data"))
        style = dc.replace(style, more=(f"data_path={where}", "torch.compile: max-autotune"))
    return style


def _habits(entry: Entry) -> Wandb:
    draw = entry.draw
    names = draw.choice(wandb_runs.NANOGPT)
    client = wandb_runs.client(draw, offline=entry.door == "offline")
    habits = Habits(every=draw.choice((1, 10, 25)), client=client)
    if entry.maybe("last step total - 1", 0.1):
        habits = dc.replace(habits, zero_based=True, every=1)
        names = dc.replace(names, step=None)
    if names.step and entry.maybe("validation logged later", 0.15):
        habits = dc.replace(habits, late=draw.randint(1, 9), every=1)
    if entry.door == "offline" and entry.maybe("state running", 0.12):
        habits = dc.replace(habits, running=True)
    if entry.maybe("resumed", 0.1):
        habits = dc.replace(habits, resumed=0)
    entry.maybe("fp8 named", 0.1)
    if entry.maybe("several writers", 0.05):
        habits = dc.replace(habits, writers=2)
    if entry.maybe("more keys", 0.3):
        habits = dc.replace(habits, extra=True)
    if entry.maybe("keys of its own", 0.05):
        names = dc.replace(names, loss="eval/nll")
    return Wandb(names, habits, entry.maybe("no metadata", 0.1))


def _show(
    entry: Entry, run: Trained, habit: logs.Style | Wandb, calendar: Calendar, spec: dict[str, Any]
) -> tuple[float, float]:
    """Put one run where the entry's evidence lies; its loss and seconds as they are printed."""
    draw = entry.draw
    began = calendar.begin(run)
    arm = spec.get("arm", "candidate")
    lr = 0.0036 if arm == "candidate" else 0.003
    if isinstance(habit, logs.Style):
        return _show_log(entry, run, habit, spec, lr)
    code = source_text(run, lr, "default")
    if arm == "candidate":
        entry.files["train.py"] = code.encode()
    middle = sorted(run.losses)[len(run.losses) // 2]
    habits = habit.habits
    if habits.resumed is not None:
        habits = dc.replace(habits, resumed=middle - int(habits.zero_based))
    config = wandb_runs.config_of(run, habit.names, draw, hash_of(code))
    metadata = run.machine.metadata(random.Random(entry.number), old=habits.minor < wandb_runs.OLD)
    if habit.bare:
        metadata = None
    if "fp8 named" in entry.traits:
        config["dtype"] = "fp8"
    history = wandb_runs.rows(run, habit.names, habits, began)
    files = {"code/train.py": code.encode()}
    stored = Stored(
        run, hex_id(draw), history, config, metadata, habits, began,
        name=f"seed{run.seed}", files=files,
    )  # fmt: skip
    if entry.door == "online":
        entry.online.append(stored)
        link = f"https://wandb.ai/example-team/{entry.project}/runs/{stored.id}"
        entry.runs.append({"source": "wandb", "link": link, **spec})
    else:
        for part, data in enumerate(wandb_runs.offline(stored)):
            name = f"logs/run-{stored.id}{f'-part{part}' if part else ''}.wandb"
            entry.add_file("wandb", name, data, **spec)
    return run.loss, run.seconds


def _show_log(
    entry: Entry, run: Trained, style: logs.Style, spec: dict[str, Any], lr: float
) -> tuple[float, float]:
    draw, run_id = entry.draw, hex_id(entry.draw, 12)
    arm = spec.get("arm", "candidate")
    given = source_text(run, lr, "default")
    if style.source is not None:
        other = arm == "candidate" and "id in the source" in entry.traits
        style = dc.replace(style, source=source_text(run, lr, run_id if other else "default"))
    if arm == "candidate":
        entry.files["train.py"] = given.encode()
    if run.seed == 0 and entry.maybe("resumed log", 0.06):
        middle = sorted(run.losses)[len(run.losses) // 2]
        again = draw.choice((0, 0, run.recipe.val_every // 2))
        style = dc.replace(style, resumed=middle, again=again)
    name = f"logs/{arm}-seed{run.seed}-{run_id}.{draw.choice(('log', 'txt'))}"
    entry.add_file("log", name, logs.log(run, style), **spec)
    digits = 3 if style.unit == "ms" or style.form == "json" else 2
    return round(run.loss, style.digits), round(run.seconds, digits)


def _close(
    entry: Entry, machine: Machine, habit: logs.Style | Wandb, losses: list[float],
    times: list[float],
) -> None:  # fmt: skip
    """The document: claims from the numbers as printed, and a text that rounds them."""
    draw, fields = entry.draw, {}
    if entry.maybe("claims", 0.7):
        fields["claims"] = {"loss": summary_of(losses)}
        if draw.random() < 0.7:
            fields["claims"]["training_time_s"] = round(statistics.fmean(times), 2)
    keys: dict[str, str] = {}
    if isinstance(habit, logs.Style) and habit.keys[0] == "eval_nll":
        unit = "time_ms" if habit.unit == "ms" and habit.form != "json" else "time_s"
        keys = {"loss": "eval_nll", unit: habit.keys[1] + "_s" * (habit.form == "json")}
    if isinstance(habit, Wandb) and habit.names.loss == "eval/nll":
        keys = {"loss": "eval/nll"}
    if keys:
        fields["keys"] = keys
    mean, seconds = statistics.fmean(losses), statistics.fmean(times)
    summary = (
        f"A change of the schedule. Mean loss {mean:.3f} over {len(losses)} runs on "
        f"{machine.count} {machine.device}, {seconds:.0f} s each."
    )
    entry.finish(machine, track=entry.track, summary=summary, **fields)
