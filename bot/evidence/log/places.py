"""At which step a line stands that does not say so: by the bar above it, the epoch, micro-batches.

places = Places()
places.bar(10, 400)                  # a progress bar of step 10 of 400
places.epoch(1.0)                    # a line of the end of the first epoch: (20, 400)
places.both(4, 1), places.of_iter(480)      # four micro-batches a step: step 120
"""

from __future__ import annotations

import re

_SEEN = 12
_WHOLE = 0.02
"""How far a whole number of steps may be off by the rounding of an epoch."""

_OF_EPOCH = re.compile(
    r"(?<![a-z])epoch(?:\((\w{1,12})\))?:?\s{0,4}(?:\[\s{0,8}(\d{1,9})(?:/\d{1,9})?\]\s{0,4})?"
    r"\[\s{0,8}(\d{1,15}(?:/\s{0,8}\d{1,15})?)\]\s{0,4}:?",
    re.IGNORECASE,
)


def of_epoch(line: str) -> str:
    """A line with its epoch and its batch by name, as in `Epoch(train) [1][150/196]  loss: 2.1`;
    batches of a validation are not steps, so they are left out."""
    match = _OF_EPOCH.search(line)
    if match is None:
        return line
    kind, epoch, batch = match.groups()
    trains = kind is None or kind.lower().startswith("train")
    if epoch is None and trains:
        return line
    told = [f"{kind or ''} epoch: {epoch}"] if epoch else [kind or ""]
    told += [f"step: {batch}"] if trains else []
    return f"{line[: match.start()]} {', '.join(told)}, {line[match.end() :]}"


class Places:
    """The state of one log while its lines are read in order."""

    def __init__(self) -> None:
        self._bar: tuple[int, int] | None = None
        self._each = 1
        self._epochs: list[float] = []
        self._before: float | None = None
        """The last epoch before the bar."""
        self._since: list[float] = []
        """The epochs of the lines since the bar."""

    def bar(self, step: int, total: int) -> None:
        """A progress bar; one of another length is that of another loop, and is not the run's."""
        if self._bar is None or total == self._bar[1]:
            if self._bar != (step, total):
                self._before = self._epochs[-1] if self._epochs else None
                self._since = []
            self._bar = step, total

    def no_bar(self) -> None:
        """A bar of one epoch: steps are not counted from the beginning."""
        self._bar = None

    def epoch(self, epoch: float | None) -> tuple[int, int] | tuple[None, None]:
        """Step and total of a line that names no step; by its epoch where the bar lags behind."""
        if self._bar is None:
            step: tuple[int, int] | tuple[None, None] = None, None
        else:
            step = self._bar
        if epoch is None:
            return step
        self._epochs = [*self._epochs[-_SEEN:], epoch]
        self._since.append(epoch)
        if self._bar is None or self._before is None or epoch <= self._since[0]:
            return step
        each = self._bar[0] / self._before if self._before > 0 else 0.0
        told = [each * e for e in self._epochs]
        fits = all(abs(value - round(value)) < _WHOLE for value in told)
        counted = round(each * epoch)
        return (counted, self._bar[1]) if fits and counted > self._bar[0] else step

    def both(self, iteration: int | None, step: int | None) -> None:
        """A line that counts its micro-batches beside its steps."""
        if iteration and step and iteration % step == 0:
            self._each = iteration // step

    def of_iter(self, iteration: int | None) -> int | None:
        """The step of a line that counts micro-batches alone, where steps are counted elsewhere."""
        return None if iteration is None else iteration // self._each
