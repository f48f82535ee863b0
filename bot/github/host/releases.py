"""Whether a wheel is one that the project released: by its hash in the release's SHA256SUMS and, if
GitHub's `gh` is installed, by the signed attestation that the release's workflow made of it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import requests

from bot.github.host.doctor_tracks import Line, good, unknown
from bot.github.host.source import HOME

_VERSION = re.compile(r"speedrun_bot-([0-9][A-Za-z0-9.]*)-py3-none-any\.whl")
_TIMEOUT_S = 10
_GH_TIMEOUT_S = 60
_REFUSED = re.compile(r"no attestations found|HTTP 404|verification failed", re.IGNORECASE)
"""What `gh attestation verify` says of a file that is not attested, or not by this workflow."""


def wheel_in(files: Mapping[str, bytes]) -> Line | None:
    """A line on the wheel among the files that are installed; None if there is none."""
    name = next((name for name in files if name.endswith(".whl")), None)
    return None if name is None else known_release(name.rpartition("/")[2], files[name])


def known_release(name: str, data: bytes) -> Line:
    """A line on a wheel: released and attested, an unknown build, or what did not answer."""
    digest = hashlib.sha256(data).hexdigest()
    match = _VERSION.fullmatch(name)
    server = os.environ.get("SPEEDRUN_RELEASES", f"https://github.com/{HOME}/releases/download")
    try:
        answer = requests.get(
            f"{server}/v{match[1] if match else ''}/SHA256SUMS", timeout=_TIMEOUT_S
        )
    except requests.exceptions.RequestException:
        return unknown(
            f"whether {name} is a release: {HOME} did not answer",
            "nothing to do if you built it yourself; otherwise check the connection and look again",
        )
    lines = [line.split() for line in answer.text[:100_000].splitlines()] if answer.ok else []
    if [digest, name] in lines or [digest, f"*{name}"] in lines:
        return _attested(name, data)
    return _unknown_build(name, f"no release of {HOME} has its hash")


def _unknown_build(name: str, why: str) -> Line:
    return Line(
        f"note  {name} is an unknown build: {why}\n"
        "      that is right for a wheel that you built yourself; otherwise run `speedrun upgrade`"
    )


def _attested(name: str, data: bytes) -> Line:
    """A line on a wheel whose hash the release has; `gh` checks signature, repository, workflow."""
    verify = ("attestation", "verify", name, "--repo", HOME)
    by = ("--signer-workflow", f"{HOME}/.github/workflows/release.yml")
    gh = shutil.which("gh")
    if gh is None:
        return Line(
            f"note  {name} has the hash that {HOME} released; its attestation was not checked\n"
            f"      install https://cli.github.com, or run `gh {' '.join(verify)}` elsewhere"
        )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(data)
        try:
            done = subprocess.run(
                [gh, *verify, *by],
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_GH_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return _unanswered(name, type(error).__name__)
    if done.returncode == 0:
        return good(f"{name} is the one that {HOME} released, and its workflow attests it")
    said = (done.stderr + done.stdout).strip()
    if _REFUSED.search(said):
        return _unknown_build(name, f"the release of {HOME} has its hash and no attestation of it")
    return _unanswered(name, said.splitlines()[-1][:200] if said else f"status {done.returncode}")


def _unanswered(name: str, why: str) -> Line:
    return unknown(
        f"the attestation of {name}, whose hash is that of the release: gh says {why!r}",
        "run `gh auth status`, then look again",
    )
