"""`speedrun site`: generate the board's files, build the site, serve it here."""

from __future__ import annotations

import functools as ft
import http.server
import os
import time
from pathlib import Path
from typing import Any

import click

from bot.paths import build_folder, find_root

OPTIONS = (
    click.option(
        "--root",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        default=None,
        help="The repository (default: nearest parent with tracks/).",
    ),
    click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        default=None,
        help="Where to write (default: ROOT/build/site).",
    ),
    click.option(
        "--evidence",
        default=None,
        metavar="DIR|REF",
        help="Snapshots of online runs: a folder, or a git ref such as evidence "
        "[default: evidence/ or that branch].",
    ),
    click.option(
        "--repository",
        default=None,
        metavar="OWNER/NAME",
        help="The repository on GitHub, for links (default: GITHUB_REPOSITORY).",
    ),
    click.option("--url", default=None, help="Where the site will be served."),
)


def _options(command: Any) -> Any:
    return ft.reduce(lambda inner, option: option(inner), reversed(OPTIONS), command)


@click.group()
def site() -> None:
    """Build the leaderboard site from tracks, submissions and evidence."""


@site.command()
@_options
def generate(root: Path | None, out: Path | None, **source: str | None) -> None:
    """Write the files that the site is built from."""
    root, out = _places(root, out, "generated")
    data = _read(root, **source)
    from leaderboard_site.generate import generate as write

    click.echo(f"{out}: {write(data, out)} files changed")


@site.command()
@_options
def build(root: Path | None, out: Path | None, **source: str | None) -> None:
    """Generate, and build the whole site."""
    root, out = _places(root, out, "site")
    began = time.perf_counter()
    pages = build_site(_read(root, **source), out)
    click.echo(f"{out}: {pages} pages in {time.perf_counter() - began:.1f} s")


@site.command()
@_options
@click.option("--port", default=8000, show_default=True, help="Port on 127.0.0.1.")
def serve(root: Path | None, out: Path | None, port: int, **source: str | None) -> None:
    """Build, serve on this machine, and build again when a file changes."""
    root, out = _places(root, out, "served")
    source["url"] = source["url"] or f"http://127.0.0.1:{port}/"
    build_site(_read(root, **source), out)
    handler = ft.partial(http.server.SimpleHTTPRequestHandler, directory=str(out))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise click.ClickException(f"port {port}: {error.strerror}; give another --port") from error
    click.echo(f"{source['url']} (stop with Ctrl-C)")
    server.timeout = 1.0
    seen = _stamp(root)
    try:
        while True:
            server.handle_request()
            if (now := _stamp(root)) != seen:
                seen = now
                build_site(_read(root, **source), out)
                click.echo("built again")
    except KeyboardInterrupt:
        server.server_close()


def build_site(data: Any, out: Path) -> int:
    """Generate beside `out` and build into it; the number of pages. `data` is a `Site`."""
    from leaderboard_site.build import build as put_together
    from leaderboard_site.generate import generate as write
    from leaderboard_site.pages.docs import navigation

    files = out.parent / f".{out.name}-generated"
    write(data, files)
    return put_together(files, out, data.url, navigation(data))


def _places(root: Path | None, out: Path | None, name: str) -> tuple[Path, Path]:
    base = find_root(root or Path.cwd())
    if base is None:
        raise click.UsageError(
            f"{root or Path.cwd()}: no tracks/ here or above; give --root with the repository"
        )
    out = (out or base / "build" / name).absolute()
    try:
        if out.parent == base / "build":
            build_folder(base)
        out.mkdir(parents=True, exist_ok=True)
        if not all(os.access(folder, os.W_OK) for folder in (out.parent, out)):
            raise PermissionError(0, "no permission")
    except OSError as error:
        raise click.UsageError(
            f"{out} cannot be written ({error.strerror}); give another folder with --out"
        ) from error
    return base, out


def _read(root: Path, **source: str | None) -> Any:
    try:
        from leaderboard_site.source import read_site
    except ImportError as error:
        raise click.ClickException(
            f"{error.name} is missing; pip install 'speedrun-bot[site]'"
        ) from error
    if source.get("evidence") is None:
        source["evidence"] = _evidence(root)
    return read_site(root, verdicts=None, **source)


def _evidence(root: Path) -> str | None:
    """Where the evidence of this clone is by default; a sentence where there is none."""
    from bot.commands.board import default_snapshots

    found = default_snapshots(root)
    click.echo(
        f"evidence of linked runs: {found}"
        if found
        else "evidence of linked runs: none here, so their entries show no numbers; "
        "`git fetch origin evidence:refs/remotes/origin/evidence` brings it, if the bot has any"
    )
    return found


def _stamp(root: Path) -> float:
    """The newest change of anything that the site is made of."""
    folders = (root / "tracks", root / "submissions", Path(__file__).parent)
    return max(
        (p.stat().st_mtime for f in folders for p in f.rglob("*") if p.is_file()), default=0.0
    )
