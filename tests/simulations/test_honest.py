"""The short form of `python -m tests.simulations.honest`: nobody honest is turned away."""

from bot.registry import Status
from tests.simulations.honest import judged


def test_the_honest_are_verified() -> None:
    verdicts = judged(40)
    rejected = [(v.submission, v.findings) for v in verdicts if v.status is Status.REJECTED]
    assert rejected == []
    assert sum(v.status is Status.VERIFIED for v in verdicts) >= 38
