"""The clock, and its rules, in one place.

Timed: everything between the first update and the last one - drawing batches, forward, backward,
optimizer, writing the progress. Not timed: reading data the first time, compiling (done before the
first update, on the first batch, without changing a parameter), validation, checkpoints. The clock
stops only after the devices are idle, so that no work moves out of the timed part.

The time of a step is the time between the moments at which its loss and the one before arrived; the
last one before a pause ends when the devices are idle. The sum of all step times is the training
time. A log and a results file state the clock as it stood at the last validation: no update has run
since, so what a process does afterwards (closing its files, or resuming a run that was finished but
for them) counts nowhere.
"""

import time
from collections.abc import Callable

RULE = "timed: updates with their data; not timed: compilation, validation, checkpoints"


class Clock:
    """Seconds of training. `now` is replaceable so that tests need not wait."""

    def __init__(
        self, elapsed_s: float = 0.0, now: Callable[[], float] = time.perf_counter
    ) -> None:
        self._now = now
        self._elapsed = elapsed_s
        self._since: float | None = None
        self.lapped_s = elapsed_s  # training time at the last lap
        self.step_times_s: list[float] = []

    @property
    def elapsed_s(self) -> float:
        """Training time so far."""
        running = 0.0 if self._since is None else self._now() - self._since
        return self._elapsed + running

    def start(self) -> None:
        """Go on counting."""
        if self._since is None:
            self._since = self._now()

    def stop(self) -> None:
        """Stop counting. The caller has waited for the devices."""
        self._elapsed, self._since = self.elapsed_s, None

    def lap(self) -> float:
        """A step is done: its seconds, also kept in `step_times_s`."""
        elapsed = self.elapsed_s
        seconds, self.lapped_s = elapsed - self.lapped_s, elapsed
        self.step_times_s.append(seconds)
        return seconds
