"""Whether a wheel is one that the project released: by its hash in the release's SHA256SUMS, and by
the attestation that the release's workflow made of it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import requests

from bot.github.host.doctor_tracks import Line, good, unknown
from bot.github.host.source import HOME

_VERSION = re.compile(r"speedrun_bot-([0-9][A-Za-z0-9.]*)-py3-none-any\.whl")
_TIMEOUT_S = 10
_MOST_BYTES = 2_000_000
_PROVENANCE = "https://slsa.dev/provenance/"


def wheel_in(files: Mapping[str, bytes]) -> Line | None:
    """A line on the wheel among the files that are installed; None if there is none."""
    name = next((name for name in files if name.endswith(".whl")), None)
    if name is None:
        return None
    return known_release(name.rpartition("/")[2], hashlib.sha256(files[name]).hexdigest())


def known_release(name: str, digest: str) -> Line:
    """A line on a wheel: released and attested, an unknown build, or what did not answer. Two
    requests; none without a network."""
    match = _VERSION.fullmatch(name)
    server = os.environ.get("SPEEDRUN_RELEASES", f"https://github.com/{HOME}/releases/download")
    try:
        answer = requests.get(
            f"{server}/v{match[1] if match else ''}/SHA256SUMS", timeout=_TIMEOUT_S
        )
        lines = [line.split() for line in answer.text[:100_000].splitlines()] if answer.ok else []
        if not ([digest, name] in lines or [digest, f"*{name}"] in lines):
            return _unknown_build(name, f"no release of {HOME} has its hash")
        attested = _attested(digest)
    except requests.exceptions.RequestException:
        return unknown(f"whether {name} was released: {HOME} did not answer", "look again later")
    if attested is None:
        return unknown(
            f"{name}: its hash is that of the release; GitHub did not answer for the attestation",
            f"look again later, or run `gh attestation verify {name} --repo {HOME}`",
        )
    if not attested:
        return _unknown_build(name, f"the release of {HOME} has its hash and no attestation of it")
    return good(f"{name} is the one that {HOME} released, and its workflow attests it")


def _unknown_build(name: str, why: str) -> Line:
    return Line(
        f"note  {name} is an unknown build: {why}\n"
        "      that is right for a wheel that you built yourself; otherwise run `speedrun upgrade`"
    )


def _attested(digest: str) -> bool | None:
    """Whether GitHub keeps a provenance of this hash; None if it gave no answer. That the signature
    is GitHub's is for `gh attestation verify` to check."""
    server = os.environ.get("SPEEDRUN_ATTESTATIONS", f"https://api.github.com/repos/{HOME}")
    answer = requests.get(f"{server}/attestations/sha256:{digest}", timeout=_TIMEOUT_S)
    if answer.status_code == 404:
        return False
    if not answer.ok or len(answer.content) > _MOST_BYTES:
        return None
    try:
        return any(digest in _subjects(item) for item in answer.json()["attestations"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _subjects(attestation: Mapping[str, Any]) -> Iterator[str]:
    """The hashes that one attestation of provenance speaks of."""
    payload = attestation["bundle"]["dsseEnvelope"]["payload"]
    statement = json.loads(base64.b64decode(payload, validate=True))
    if str(statement["predicateType"]).startswith(_PROVENANCE):
        for subject in statement["subject"]:
            yield str(subject["digest"]["sha256"])
