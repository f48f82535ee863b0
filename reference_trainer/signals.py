"""Stop signals become a wish that the loop fulfils at the next step."""

import signal
from typing import Any, Protocol


class Stoppable(Protocol):
    """What can be asked to stop."""

    stop_requested: bool


class StopSignal:
    """SIGTERM and SIGINT ask the run to save and stop; a second one acts at once."""

    def __init__(self, run: Stoppable) -> None:
        self.run = run
        self.old: dict[int, Any] = {}

    def __enter__(self) -> None:
        def ask(number: int, frame: Any) -> None:
            self.run.stop_requested = True
            signal.signal(number, self.old[number])

        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                self.old[number] = signal.signal(number, ask)
            except ValueError:  # not the main thread: whoever runs us handles signals
                return

    def __exit__(self, *error: Any) -> None:
        for number, handler in self.old.items():
            signal.signal(number, handler)
