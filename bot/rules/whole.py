"""What is counted of a whole training, and how much more a number of any name may say of it.

    Counts(steps=1000).exceeded("steps", 2000.0)    More("1,000 steps", "2,000", 1000.0)

Part of the rule `witnesses-disagree`; `bot.evidence.totals` reads the numbers. A name that we do
not know may mean something near, so what it says has to be far off.
"""

from __future__ import annotations

from typing import NamedTuple

from bot.render.numbers import figure

FIX = "correct the one that is wrong, or say in the README what the other one counts"
_MORE = 1.5
# Of a job the start and the validations are a part as well, and of a short one most of it.
_WITH_START, _START_S = 2.5, 10.0
_MOST_PRICE, _LEAST_BILL = 20.0, 5.0
"""Nobody pays more dollars for an hour of a device; a bill has a least amount."""


class More(NamedTuple):
    """What is counted and what is said, both as text, and the number that is counted."""

    counted: str
    said: str
    ours: float


class Counts(NamedTuple):
    """What a run or a file is counted with; None of what is not known. `job_s` is how long the
    program ran, `cores` the devices that it sees of a chip."""

    seconds: float | None = None
    job_s: float | None = None
    chips: float | None = None
    cores: int = 1
    steps: float | None = None
    tokens: float | None = None
    flops: float | None = None
    batch_tokens: float | None = None

    def exceeded(self, quantity: str, said: float) -> More | None:
        """That a number says far more of a quantity; None if it does not, or nothing is known."""
        if quantity in ("device_s", "dollars"):
            return self._of_devices(quantity, said)
        ours = getattr(self, quantity)
        most = {
            "seconds": self._longest(),
            "chips": _MORE * self.cores * (self.chips or 0),
            "steps": _MORE * (self.steps or 0) + 2,
        }.get(quantity, _MORE * (ours or 0))
        units = {"seconds": "s", "chips": "devices", "batch_tokens": "tokens a step"}
        unit = "FLOPs of its devices" if quantity == "flops" else units.get(quantity, quantity)
        return (
            More(f"{figure(ours, 4)} {unit}", figure(said, 4), ours)
            if ours and said > most
            else None
        )

    def _longest(self) -> float:
        """The most seconds that a training may take with all that belongs to it."""
        time = self.seconds or 0.0
        known = _MORE * max(self.job_s, time) if self.job_s else _WITH_START * time
        return known + _START_S

    def _of_devices(self, quantity: str, said: float) -> More | None:
        """Hours of devices, and dollars that nobody pays for so few of them."""
        if not self.seconds or not self.chips:
            return None
        ours, most = self.seconds * self.chips / 3600, self._longest() * self.chips / 3600
        text = f"{figure(said, 4)} dollars" if quantity == "dollars" else figure(said / 3600, 4)
        within = said <= _MOST_PRICE * most + _LEAST_BILL
        if within if quantity == "dollars" else said / 3600 <= most:
            return None
        return More(f"{figure(ours, 4)} device-hours", text, ours)
