"""Whether a wheel is one that the project released: its hash in the release's SHA256SUMS."""

from __future__ import annotations

import os
import re

import requests

from bot.github.host.doctor_tracks import Line, good, unknown
from bot.github.host.source import HOME

_VERSION = re.compile(r"speedrun_bot-([0-9][A-Za-z0-9.]*)-py3-none-any\.whl")
_TIMEOUT_S = 10


def known_release(name: str, digest: str) -> Line:
    """A line on a wheel: released, or an unknown build. One request; none without a network."""
    match = _VERSION.fullmatch(name)
    server = os.environ.get("SPEEDRUN_RELEASES", f"https://github.com/{HOME}/releases/download")
    url = f"{server}/v{match[1] if match else ''}/SHA256SUMS"
    try:
        answer = requests.get(url, timeout=_TIMEOUT_S)
    except requests.exceptions.RequestException:
        return unknown(f"whether {name} was released: {HOME} did not answer", "look again later")
    lines = [line.split() for line in answer.text[:100_000].splitlines()] if answer.ok else []
    if [digest, name] in lines or [digest, f"*{name}"] in lines:
        return good(f"{name} is the one that {HOME} released")
    return Line(
        f"note  {name} is an unknown build: no release of {HOME} has its hash\n"
        "      that is right for a wheel that you built yourself; otherwise run `speedrun upgrade`"
    )
