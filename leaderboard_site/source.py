"""A `Site` from a repository: tracks, submissions, evidence; everything recomputed, offline.

    read_site(root, evidence="evidence")

`evidence` is a folder of the branch's files, or a git ref of the repository at `root`, whose files
are read through git and never checked out into the tree.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from bot.github.pull_request.recorded import merges
from bot.model.submission import Folder, Submission
from bot.model.track import Track, TrackError
from bot.model.values import finite
from bot.model.verdict import Verdict
from bot.parse.folder import ReadError, parse_submission, read_path
from bot.parse.steps import read_steps
from bot.parse.track_toml import load_tracks
from bot.paths import WHEELS
from bot.patterns import REPOSITORY
from bot.repository import submission_folders, verify_repository
from leaderboard_site.model import Grant, Pending, Site, make_board

PENDING = ".speedrun/pending.json"
EXPERIMENTS = ".speedrun/experiments.json"
GRANTS = ".speedrun/grants.json"
SNAPSHOTS = "snapshots"
CODE_SUFFIXES = (".py", ".toml", ".sh", ".cu", ".md", ".yaml")
CODE_BYTES = 400_000
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,200}")


def read_site(
    root: Path,
    evidence: str | None = None,
    url: str | None = None,
    repository: str | None = None,
    verdicts: tuple[Verdict, ...] | None = None,
) -> Site:
    """Everything that the pages are made of, with the verdicts of `root` where they are known.
    Raises click.ClickException, in one sentence, for a broken track file or evidence that cannot
    be read."""
    repository = repository or os.environ.get("GITHUB_REPOSITORY")
    if repository and not REPOSITORY.fullmatch(repository):
        raise click.ClickException(f"{repository[:80]!r} is not a repository; write OWNER/NAME")
    try:
        tracks = load_tracks(root)
        with evidence_folder(root, evidence) as folder:
            if verdicts is None:
                verdicts = verify_repository(root, snapshots=_snapshots(folder))
            pending, as_of = read_pending(folder)
            experiments = _read_list(folder, EXPERIMENTS, "experiments")
            merged = merges(folder)
            grants = read_grants(folder)
    except TrackError as error:
        raise click.ClickException(str(error)) from error
    source = f"https://github.com/{repository}" if repository else None
    about, extras = _written(root, tracks, source)
    for path in extras.keys() & merged.keys():
        extras[path]["merge"] = merged[path]
    boards = {t.id: make_board(t, verdicts, about, extras) for t in tracks.values()}
    return Site(
        boards, _address(url, repository), source, pending, as_of, tuple(experiments), grants,
        program_of(root),
    )  # fmt: skip


def program_of(root: Path) -> str:
    """What pip installs the program from in a clone of the competition."""
    kept = sorted(f"./{WHEELS}/{p.name}" for p in (root / WHEELS).glob("speedrun_bot-*.whl"))
    if kept:
        return kept[-1]
    return "." if (root / "pyproject.toml").is_file() else "speedrun-bot"


def _address(url: str | None, repository: str | None) -> str:
    """Where the site will be served, with a slash at its end."""
    if url is None and repository:
        owner, name = repository.split("/")
        url = f"https://{owner.lower()}.github.io/{name}/"
    url = url or os.environ.get("SITE_URL") or "https://example.github.io/speedrun/"
    if not re.fullmatch(r"https?://[^\s\"'<>]+", url):
        raise click.ClickException(f"{url[:80]!r} is not an address; write https://HOST/PATH/")
    return url if url.endswith("/") else url + "/"


# ---- Evidence ------------------------------------------------------------------------------------


@contextmanager
def evidence_folder(root: Path, evidence: str | None) -> Iterator[Path | None]:
    """The folder of the evidence; a git ref is unpacked into a temporary one."""
    if evidence is None:
        yield None
        return
    if Path(evidence).is_dir():
        yield Path(evidence)
        return
    if not _REF.fullmatch(evidence) or ".." in evidence:
        raise click.ClickException(f"{evidence[:80]!r} is neither a folder nor a git ref")
    packed = subprocess.run(
        ["git", "-C", str(root), "archive", "--format=tar", evidence],
        capture_output=True,
        check=False,
    )
    if packed.returncode:
        raise click.ClickException(
            f"{evidence}: neither a folder nor a ref of the repository at {root}; "
            "fetch the branch first"
        )
    with tempfile.TemporaryDirectory(prefix="evidence-") as folder:
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as tar:
            tar.extractall(folder, filter="data")
        yield Path(folder)


def _snapshots(folder: Path | None) -> Any:
    if folder is None:
        return None
    from bot.evidence.snapshot import Snapshots

    inner = folder / SNAPSHOTS
    return Snapshots(inner if inner.is_dir() else folder)


def read_pending(folder: Path | None) -> tuple[tuple[Pending, ...], str | None]:
    """The open pull requests that the bot last wrote down, and when; none where it did not."""
    data = _read_json(folder, PENDING)
    rows = data.get("pulls")
    as_of = data.get("as_of")
    found = (
        [_pending(row) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    )
    return tuple(p for p in found if p), as_of if isinstance(as_of, str) else None


def _pending(row: Mapping[str, Any]) -> Pending | None:
    number = row.get("number")
    if not isinstance(number, int):
        return None
    words = {k: str(row.get(k) or "") for k in ("title", "author", "opened", "status")}
    blocks = row.get("blocks")
    return Pending(
        number,
        words["title"],
        words["author"],
        words["opened"],
        words["status"],
        tuple(str(b) for b in blocks[:10]) if isinstance(blocks, list) else (),
        str(row["place"]) if row.get("place") else None,
        str(row["track"]) if row.get("track") else None,
        str(row["url"]) if row.get("url") else None,
        str(row.get("since") or words["opened"]),
        str(row["entry"]) if row.get("entry") else None,
        int(number_of(row, "runs")),
        number_of(row, "gpu_hours"),
    )


def number_of(row: Mapping[str, Any], key: str) -> float:
    """A number that is not negative; 0 for anything else."""
    value = row.get(key)
    return float(value) if finite(value) and 0 <= value < 1e9 else 0.0


def read_grants(folder: Path | None) -> tuple[Grant, ...]:
    """The compute that the bot last wrote down as granted."""
    words = ("by", "reason", "on", "url")
    return tuple(
        Grant(str(row.get("entry")), number_of(row, "hours"), *(str(row.get(w)) for w in words))
        for row in _read_list(folder, GRANTS, "grants")
    )


def _read_list(folder: Path | None, name: str, key: str) -> list[Mapping[str, Any]]:
    rows = _read_json(folder, name).get(key)
    found: list[Mapping[str, Any]] = []
    found += [row for row in (rows if isinstance(rows, list) else ()) if isinstance(row, dict)]
    return found[:300]


def _read_json(folder: Path | None, name: str) -> Mapping[str, Any]:
    path = folder / name if folder else None
    if path is None or not path.is_file() or path.stat().st_size > 5_000_000:
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise click.ClickException(f"{path}: not readable as JSON: {error}") from error
    return data if isinstance(data, dict) else {}


# ---- What people wrote ---------------------------------------------------------------------------


def _written(
    root: Path, tracks: Mapping[str, Track], source: str | None
) -> tuple[dict[str, Submission], dict[str, dict[str, Any]]]:
    """The submissions as parsed, and their README, code and address, by path."""
    about: dict[str, Submission] = {}
    extras: dict[str, dict[str, Any]] = {}
    for path, track in submission_folders(root, tracks):
        name = path.relative_to(root).as_posix()
        try:
            folder = read_path(path, root)
            parsed = parse_submission(folder, tracks, track)
        except ReadError:
            # The verdict says so; there is nothing else to show.
            continue
        about[name] = parsed.submission
        extras[name] = {
            "readme": _readme(folder),
            "code": _code(folder, parsed.submission),
            "steps": read_steps(folder),
        }
        if source:
            kind = "blob" if folder.bare else "tree"
            extras[name]["folder_url"] = f"{source}/{kind}/HEAD/{name}"
    return about, extras


def _readme(folder: Folder) -> str | None:
    data = next((folder.files[n] for n in ("README.md", "readme.md") if n in folder.files), None)
    return None if data is None else data[:60_000].decode("utf-8", "replace")


def _code(folder: Folder, submission: Submission) -> dict[str, str]:
    """The code files of the submission, for the difference to its parent."""
    start = (submission.code_path or "").strip("./")
    found: dict[str, str] = {}
    size = 0
    for name in sorted(folder.files):
        inside = not start or name == start or name.startswith(start + "/")
        if not inside or not name.endswith(CODE_SUFFIXES) or name.lower() == "readme.md":
            continue
        size += len(folder.files[name])
        if size > CODE_BYTES:
            break
        found[name] = folder.files[name].decode("utf-8", "replace")
    return found
