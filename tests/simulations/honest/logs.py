"""Logs as people's programs print them: the forms of the documentation and of published records."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import json
import math
import random
from collections.abc import Callable, Iterator

from tests.simulations.honest.training import Trained

RULE = "=" * 100


@dc.dataclass(frozen=True)
class Style:
    """How a program writes its log. `last` is the number that it gives the last step (some count
    from 0), `late` how many steps after its own a validation is printed, `resumed` the validation
    from which the run went on after a stop, `again` how many steps are there twice then, and `look`
    decides what else may differ between machines."""

    form: str = "modded"
    source: str | None = None
    smi: bool = False
    unit: str = "ms"
    digits: int = 4
    train_lines: bool = True
    extra: bool = False
    prefix: str | None = None
    bar: bool = False
    zero_based: bool = False
    late: int = 0
    resumed: int | None = None
    again: int = 0
    total: bool = True
    crlf: bool = False
    keys: tuple[str, str] = ("val_loss", "train_time")
    more: tuple[str, ...] = ()
    look: int = 0


FORMS = ("modded", "modded", "modded", "nanogpt", "pairs", "json", "csv")


def log(run: Trained, style: Style) -> bytes:
    """The text of a run's log."""
    draw = random.Random(style.look)
    lines: list[str] = []
    if style.source is not None:
        lines += [style.source.rstrip(), RULE]
    lines += [*run.machine.lines(draw, smi=style.smi), *style.more, f"Using seed={run.seed}", RULE]
    if style.form == "csv":
        lines.append(f"step,train_loss,{style.keys[0]},{style.keys[1]}_s,lr")
    body = [_prefixed(line, style, run.wall(step)) for line, step in _body(run, style, draw)]
    if style.bar:
        body = list(_with_bars(run, body))
    lines += body
    if style.form == "modded":
        lines.append(
            f"peak memory allocated: {run.machine.memory_gb * 700} MiB reserved: 40000 MiB"
        )
    return (("\r\n" if style.crlf else "\n").join(lines) + "\n").encode()


def _body(run: Trained, style: Style, draw: random.Random) -> Iterator[tuple[str, int]]:
    """The lines of steps, each with the step at which it was printed, in that order."""
    write = _WRITERS[style.form]
    end = run.recipe.steps
    stop = None if style.resumed is None else min(style.resumed + style.again, end - 1)
    yield from _span(run, style, write, 0, stop if stop is not None else end)
    if style.resumed is not None:
        yield f"resuming from checkpoint at step {style.resumed}", style.resumed
        for line in run.machine.lines(draw, smi=style.smi):
            yield line, style.resumed
        yield from _span(run, style, write, style.resumed + 1, end)


def _span(
    run: Trained, style: Style, write: Callable[..., str | None], first: int, last: int
) -> Iterator[tuple[str, int]]:
    waiting: dict[int, str] = {}
    for step in range(first, last + 1):
        if step and style.train_lines:
            line = write(run, style, step, None)
            if line is not None:
                yield line, step
        if step in run.losses:
            line = write(run, style, step, run.losses[step])
            if line is not None:
                waiting[step + style.late] = line
        if step in waiting:
            yield waiting.pop(step), step
    for line in waiting.values():
        yield line, last


def _clock(run: Trained, style: Style, step: int) -> str:
    seconds = run.clock[step]
    return f"{seconds * 1000:.0f}ms" if style.unit == "ms" else f"{seconds:.3f}s"


def _number(run: Trained, style: Style, step: int) -> str:
    """`step/total`, counted from 0 by some programs, without a total by others."""
    end = run.recipe.steps
    shown = max(step - 1, 0) if style.zero_based else step
    return f"{shown}/{end}" if style.total else f"{shown}"


def _modded(run: Trained, style: Style, step: int, loss: float | None) -> str:
    name, clock = style.keys
    average = run.clock[step] * 1000 / step if step else math.nan
    value = "" if loss is None else f" {name}:{loss:.{style.digits}f}"
    if loss is None and style.extra:
        value = f" train_loss:{run.train_losses[step]:.4f}"
    more = ""
    if style.extra:
        tokens = step * run.recipe.tokens
        more = f" tokens_seen:{tokens} epoch:{step / run.recipe.steps:.3f} lr:0.0036 grad_norm:0.41"
    head = f"step:{_number(run, style, step)}{value}"
    return f"{head} {clock}:{_clock(run, style, step)} step_avg:{average:.2f}ms{more}"


def _nanogpt(run: Trained, style: Style, step: int, loss: float | None) -> str | None:
    if loss is None:
        return None
    train = run.train_losses[step]
    return (
        f"step {step}: train loss {train:.4f}, val loss {loss:.{style.digits}f}, "
        f"train time {run.clock[step]:.2f}s"
    )


def _pairs(run: Trained, style: Style, step: int, loss: float | None) -> str:
    value = (
        f"train_loss={run.train_losses[step]:.4f}"
        if loss is None
        else f"{style.keys[0]}={loss:.{style.digits}f}"
    )
    more = " lr=0.0036 grad_norm=0.41 mem_gb=31.2" if style.extra else ""
    return (
        f"step={_number(run, style, step)} {value} {style.keys[1]}={_clock(run, style, step)}{more}"
    )


def _json(run: Trained, style: Style, step: int, loss: float | None) -> str:
    row: dict[str, float] = {"step": step}
    if style.total:
        row["train_steps"] = run.recipe.steps
    if loss is None:
        row["train_loss"] = round(run.train_losses[step], 4)
    else:
        row[style.keys[0]] = round(loss, style.digits)
    row[f"{style.keys[1]}_s"] = round(run.clock[step], 3)
    if style.extra:
        row |= {"tokens": step * run.recipe.tokens, "lr": 0.0036, "grad_norm": 0.41}
    return json.dumps(row)


def _csv(run: Trained, style: Style, step: int, loss: float | None) -> str | None:
    if loss is None and step in run.losses:
        return None
    value = "" if loss is None else f"{loss:.{style.digits}f}"
    return f"{step},{run.train_losses[step]:.4f},{value},{run.clock[step]:.3f},0.0036"


_WRITERS: dict[str, Callable[..., str | None]] = {
    "modded": _modded, "nanogpt": _nanogpt, "pairs": _pairs, "json": _json, "csv": _csv,
}  # fmt: skip


def _prefixed(line: str, style: Style, wall: float) -> str:
    moment = dt.datetime(2026, 11, 1, 8) + dt.timedelta(seconds=wall)
    clock = f"{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03d}"
    if style.prefix == "logging":
        return f"{clock} - INFO - {line}"
    if style.prefix == "hydra":
        return f"[{clock}][__main__][INFO] - {line}"
    if style.prefix == "torchrun":
        return f"[rank0]: {line}"
    return line


def _with_bars(run: Trained, lines: list[str]) -> Iterator[str]:
    """A progress bar of the same program, rewritten in place between its lines."""
    end = run.recipe.steps
    for number, line in enumerate(lines):
        yield line
        if number % 25 == 10:
            share = number / max(len(lines), 1)
            drawn = "█" * int(10 * share)
            yield "".join(
                f"\r{share:4.0%}|{drawn:<10}| {int(end * share)}/{end} [00:{n:02d}<05:00, 9.1it/s]"
                for n in range(3)
            )
