"""What binds a run's outputs together: nonce, code hash, git state, versions."""

import hashlib
import importlib.metadata
import pathlib
import platform
import secrets
import subprocess
import sys
from typing import Any

PACKAGE = pathlib.Path(__file__).parent
LIBRARIES = ("torch", "jax", "jaxlib", "numpy", "wandb", "tiktoken", "speedrun-bot")


def new_nonce() -> str:
    """128 random bits as hex, the same in W&B, log and results of one run."""
    return secrets.token_hex(16)


def source_sha256(text: str) -> str:
    """Hash of a source text: line ends are LF, white space at the end cut to one line feed."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").rstrip()
    return hashlib.sha256((plain + "\n").encode("utf-8", "replace")).hexdigest()


def package_sha256() -> str:
    """Hash of the trainer itself: of the names and hashes of its Python files."""
    lines = [
        f"{path.relative_to(PACKAGE).as_posix()} {source_sha256(path.read_text(encoding='utf-8'))}"
        for path in sorted(PACKAGE.rglob("*.py"))
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def code_hashes(main: pathlib.Path | None) -> dict[str, str]:
    """Hashes of a run's code, by name: the starter with what it imports from its folder, if there
    is one, and the trainer."""
    hashes = {
        path.relative_to(main.parent).as_posix(): source_sha256(path.read_text(encoding="utf-8"))
        for path in sources(main)
        if main is not None
    }
    return {**hashes, "reference_trainer": package_sha256()}


def sources(main: pathlib.Path | None) -> list[pathlib.Path]:
    """The starter file, and the modules of its folder that it has imported."""
    if main is None:
        return []
    files = {pathlib.Path(f) for m in list(sys.modules.values()) if (f := _file_of(m))}
    beside = sorted(f for f in files if main.parent in f.parents and "site-packages" not in f.parts)
    return [main, *(f for f in beside if f != main and PACKAGE not in f.parents)]


def _file_of(module: object) -> str | None:
    """The Python file of a module, None for those without one."""
    file = getattr(module, "__file__", None)
    return str(file) if isinstance(file, str) and file.endswith(".py") else None


def versions() -> dict[str, str]:
    """Versions of Python, system and libraries; no host or user names."""
    found = {"python": platform.python_version(), "system": platform.system()}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def git_state(folder: pathlib.Path = PACKAGE) -> dict[str, Any] | None:
    """Commit and whether tracked files differ from it; None outside a repository."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    return {"commit": commit, "modified": bool(_git(folder, "status", "--porcelain", "-uno"))}


def _git(folder: pathlib.Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
