"""Short logs and how the tests read them."""

from __future__ import annotations

from bot.evidence.files import FileRuns, read_file
from bot.evidence.sources import ANY_TRACK
from bot.model.run import Run
from bot.model.track import Keys

BAR = "█████     "


def read(text: str | bytes, keys: Keys | None = None, *mapped: str) -> FileRuns:
    track = ANY_TRACK if keys is None else ANY_TRACK.__class__("", "", "target", *AXES, keys=keys)
    data = text if isinstance(text, bytes) else text.encode()
    return read_file(data, "x.log", track, mapped=frozenset(mapped))


AXES = (ANY_TRACK.quality, ANY_TRACK.cost)


def end(text: str | bytes, keys: Keys | None = None, *mapped: str) -> Run:
    found = read(text, keys, *mapped)
    assert found.why == "", found
    return found.runs[-1]


def late(step: int, after: int) -> str:
    """A log whose first validation is printed behind its fifth step."""
    lines = [f"step:{n}/20 train_loss:5.0 train_time:{n}00ms" for n in range(1, 6)]
    lines.append(f"step:{step}/20 val_loss:10.8 train_time:0ms")
    lines += [f"step:{n}/20 train_loss:5.0 train_time:{n}00ms" for n in range(after, 21)]
    return "\n".join([*lines, "step:20/20 val_loss:3.2771 train_time:2000ms"]) + "\n"


LINE = "step:250/250 val_loss:3.2771 train_time:12770ms step_avg:51.08ms"


# ---- the honest ---------------------------------------------------------------------------------


def points(*steps: int, total: int = 1000, late: float = 0.0) -> str:
    return "".join(
        f"step:{s}/{total} val_loss:{9 - s / 200} train_time:{s * 0.05 + late * (s > 500)}s\n"
        for s in steps
    )
