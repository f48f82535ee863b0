"""A file that stands for the wheel of the bot: `init` copies it and notes its hash."""

from __future__ import annotations

from pathlib import Path


def a_wheel(folder: Path, version: str = "0.1.0") -> Path:
    """A stand-in below `folder`, the same bytes for the same version."""
    path = folder / "dist" / f"speedrun_bot-{version}-py3-none-any.whl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"PK\x05\x06" + version.encode().ljust(18, b"\0"))
    return path
