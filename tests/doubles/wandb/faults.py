"""Faults that a test injects: what goes wrong, at which operation, how often."""

from __future__ import annotations

import dataclasses as dc
import threading


@dc.dataclass
class Fault:
    """One fault. `operation` is a GraphQL operation name, `GET file`, `GET parquet`,
    `file_stream`, `PUT`, or None for every request; `times` None means for ever.

    `status` answers with that HTTP status, `headers` and `body`; `errors` answers 200 with GraphQL
    errors of these messages; `hang_s` waits before the answer; `cut` sends half of the answer and
    closes the connection; `repeat` answers every further history page with the first one;
    `sample` answers a history page with every n-th row only; `invalid` answers 200 with no JSON.
    `anonymous` limits the fault to requests with (False) or without (True) a key; `after` lets so
    many requests pass first.
    """

    operation: str | None = None
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b'{"error": "refused"}'
    errors: tuple[str, ...] = ()
    hang_s: float = 0.0
    cut: bool = False
    repeat: bool = False
    sample: int = 1
    invalid: bool = False
    times: int | None = None
    anonymous: bool | None = False
    after: int = 0


class Faults:
    """The faults still to come, used up by `take`."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self.count = 0

    def add(self, fault: Fault) -> None:
        """Inject a fault from now on."""
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        """Heal the server."""
        with self._lock:
            self._faults.clear()

    def take(self, operation: str, anonymous: bool) -> Fault | None:
        """The fault that hits this request, if any; a limited one is used up."""
        with self._lock:
            for fault in self._faults:
                if fault.operation not in (None, operation) or fault.times == 0:
                    continue
                if fault.anonymous not in (None, anonymous):
                    continue
                if fault.after > 0:
                    fault.after -= 1
                    continue
                if fault.times is not None:
                    fault.times -= 1
                self.count += 1
                return fault
        return None
