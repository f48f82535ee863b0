"""Faults that a test plans: an answer instead of GitHub's, after or before the write was stored."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass
class Fault:
    """Applies to the next `times` requests whose method and path match.

    `stored`: the request takes effect, only its answer is lost (a 502 after a stored POST).
    `cut`: the connection is closed without an answer.
    """

    method: str = ""
    path: str = ""
    status: int = 502
    message: str = "Server Error"
    headers: dict[str, str] = field(default_factory=dict)
    stored: bool = False
    cut: bool = False
    times: int = 1
    skip: int = 0

    def takes(self, method: str, path: str) -> bool:
        """Whether this request is hit; counts it off."""
        if self.times <= 0 or self.method not in ("", method):
            return False
        if not re.search(self.path, path):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.times -= 1
        return True
