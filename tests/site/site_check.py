"""All browser checks of the site, offline: what `make site-check` runs.

    python -m tests.site.site_check [ROOT]

Builds the board of ROOT (default: this repository) and two synthetic sites, serves them on this
machine, and runs in Chromium: policy, requests, console and axe on every kind of page in light,
dark, at 390 and 320 px (check.mjs); a reader's journeys and the byte limits at 1,000 and 10,000
entries (journeys.mjs); every cell served against every cell redrawn (cells.mjs); every point of a
chart under pointer, finger and keys (points.mjs); questions of a reader (questions.mjs); hostile
entries (check.mjs); Lighthouse (lighthouse.mjs); valid HTML (check_html.mjs). Needs what
`tests/site/setup.sh` installs; ends with one line a check.
"""

from __future__ import annotations

import dataclasses as dc
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from leaderboard_site.cli import build_site
from leaderboard_site.model import Site
from leaderboard_site.source import read_site
from tests.site import synthetic
from tests.site.server import Server

HERE = Path(__file__).parent
DOCS = (
    "submit",
    "clusters",
    "accounting",
    "bits-per-byte",
    "statistics",
    "host",
    "architecture",
    "api",
    "boards",
)
KINDS = (
    "",
    "rules/",
    "rules/mfu-impossible/",
    "compare/",
    "pending/",
    "experiments/",
    "models/",
    "wanted/",
    "entries/",
    "people/",
    "techniques/",
    "cite/",
    "walkthrough/",
    "walkthrough-jax/",
    "commands/",
    *(f"{name}/" for name in DOCS),
)


def missing() -> str | None:
    """What the checks need and do not find, in words."""
    for name in ("node", "chromium"):
        if shutil.which(name) is None:
            return f"{name} is not installed"
    if not (HERE / "node_modules" / "playwright-core").is_dir():
        return "the npm packages are not installed"
    return None


def node(script: str, *arguments: str) -> tuple[bool, str]:
    """Run one script; whether it found no fault, and what it printed."""
    done = subprocess.run(
        ["node", str(HERE / script), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    return done.returncode == 0, done.stdout + done.stderr


def pages_of(site: Site) -> list[str]:
    """One page of each kind: every board, a record's entry, an entry that is none."""
    found = [*KINDS, *(f"tracks/{name}/" for name in site.tracks)]
    for board in site.tracks.values():
        items = list(board.items.values())
        held = [i for i in items if i.path in board.holders]
        others = [i for i in items if i.path not in board.holders]
        found += [i.url for i in (*held[:1], *others[:1])]
        pair = ",".join(f"{board.track.id}/{i.slug}" for i in items[:2])
        found += [f"compare/?e={pair}"] if len(items) > 1 else []
    return found


def real_checks(root: Path, folder: Path) -> Iterator[tuple[str, bool, str]]:
    """The checks of the repository's own board."""
    with Server(folder) as url:
        site = read_site(root, url=url)
        build_site(site, folder)
        pages = pages_of(site)
        yield "pages", *node("check.mjs", url, *pages)
        # A journey sorts, filters and compares: it needs some rows.
        boards = [b for b in site.tracks.values() if len(b.board.entries) > 4]
        for board in boards:
            yield f"journeys {board.track.id}", *node("journeys.mjs", url, board.track.id)
        yield "cells", *node("cells.mjs", url, *(b.track.id for b in boards))
        yield "points", *node("points.mjs", url, "", *(f"tracks/{b.track.id}/" for b in boards))
        if {"fineweb-edu", "nanogpt-small"} <= set(site.tracks):
            yield "questions", *node("questions.mjs", url)
            yield "questions on a phone", *node("questions.mjs", url, "390")
        measured = [
            "",
            f"tracks/{boards[0].track.id}/",
            next(p for p in pages if "entries/" in p and p.count("/") > 2),
        ]
        yield "lighthouse", *node("lighthouse.mjs", url, *measured)
        yield "lighthouse on a phone", *node("lighthouse.mjs", url, "--phone", *measured)
    files = [str(folder / p.split("?")[0] / "index.html") for p in pages]
    yield "html", *node("check_html.mjs", *dict.fromkeys(files))


def synthetic_checks(folder: Path) -> Iterator[tuple[str, bool, str]]:
    """Byte limits and journeys at size, and hostile entries."""
    for count in (1000, 10_000):
        place = folder / str(count)
        with Server(place) as url:
            build_site(synthetic.site(count, url=url), place)
            yield f"journeys {count}", *node("journeys.mjs", url, "pareto")
            if count == 10_000:
                yield "lighthouse 10000", *node("lighthouse.mjs", url, "tracks/pareto/")
    place = folder / "hostile"
    with Server(place) as url:
        site = dc.replace(synthetic.hostile(), url=url)
        build_site(site, place)
        pages = [
            "",
            "tracks/pareto/",
            "entries/",
            "walkthrough/",
            "walkthrough-jax/",
            "experiments/",
            "models/",
            "wanted/",
            "pending/",
            "rules/schema/",
            *(i.url for i in site.items),
            "compare/?e=pareto/hostile-0,pareto/hostile-5",
        ]
        yield "hostile", *node("check.mjs", url, *pages)
        files = [str(place / i.url / "index.html") for i in site.items]
        yield "hostile html", *node("check_html.mjs", *files)


def main() -> int:
    """Run everything; 0 where no check found a fault."""
    lack = missing()
    if lack:
        print(f"{lack}; run tests/site/setup.sh")
        return 2
    root = Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parents[1]).resolve()
    failed = 0
    passed = 0
    with tempfile.TemporaryDirectory(prefix="site-check-") as name:
        folder = Path(name)
        for checks in (real_checks(root, folder / "real"), synthetic_checks(folder)):
            for what, good, output in checks:
                print(f"{'ok  ' if good else 'FAIL'} {what}", flush=True)
                if not good:
                    print(output[-6000:])
                passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
