"""All browser checks of the site, offline: what `make site-check` runs.

    python -m tests.site.site_check [ROOT] [--only WORD...]

`--only` runs the checks whose names begin with one of the words: pages, journeys, cells, points,
questions, bytes, lighthouse, html, hostile. Builds the board of ROOT (default: this repository) and
synthetic sites, serves them on this machine, and runs in Chromium: policy, requests, console and
axe on every kind of page in light, dark, at 390 and 320 px (check.mjs); a reader's journeys and the
byte limits at 1,000 and 10,000 entries (journeys.mjs); every cell served against every cell redrawn
(cells.mjs); every point of a chart under pointer, finger and keys (points.mjs); questions of a
reader (questions.mjs); what a first visit weighs (first_load.mjs); hostile entries (check.mjs);
Lighthouse (lighthouse.mjs); valid HTML (check_html.mjs). Needs what `tests/site/setup.sh` installs;
ends with one line a check.
"""

from __future__ import annotations

import argparse
import dataclasses as dc
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from leaderboard_site.cli import build_site
from leaderboard_site.model import Site
from leaderboard_site.source import read_site
from tests.site import synthetic
from tests.site.hostile import hostile_site
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
        timeout=1800,
    )
    return done.returncode == 0, done.stdout + done.stderr


def pages_of(site: Site) -> list[str]:
    """One page of each kind: every board, a record's entry, an entry that holds none."""
    found = [*KINDS, *(f"tracks/{name}/" for name in site.tracks)]
    for board in site.tracks.values():
        items = list(board.items.values())
        held = [i for i in items if i.path in board.holders]
        others = [i for i in items if i.path not in board.holders]
        found += [i.url for i in (*held[:1], *others[:1])]
        pair = ",".join(f"{board.track.id}/{i.slug}" for i in items[:2])
        found += [f"compare/?e={pair}"] if len(items) > 1 else []
    return found


Check = tuple[str, Callable[[], tuple[bool, str]]]
"""Its name, and what runs it: whether it found no fault, and what it printed."""


def check(name: str, script: str, *arguments: str) -> Check:
    """A check that one script makes."""
    return name, lambda: node(script, *arguments)


def real_checks(root: Path, folder: Path) -> Iterator[Check]:
    """The checks of the repository's own board."""
    with Server(folder) as url:
        site = read_site(root, url=url)
        build_site(site, folder)
        pages = pages_of(site)
        yield check("pages", "check.mjs", url, *pages)
        # A journey sorts, filters and compares: it needs some rows.
        boards = [b for b in site.tracks.values() if len(b.board.entries) > 4]
        for board in boards:
            yield check(f"journeys {board.track.id}", "journeys.mjs", url, board.track.id)
        yield check("cells", "cells.mjs", url, *(b.track.id for b in boards))
        yield check("points", "points.mjs", url, "", *(f"tracks/{b.track.id}/" for b in boards))
        if {"fineweb-edu", "nanogpt-small"} <= set(site.tracks):
            yield check("questions", "questions.mjs", url)
            yield check("questions on a phone", "questions.mjs", url, "390")
        entry = next(p for p in pages if "entries/" in p and p.count("/") > 2)
        measured = ["", *(f"tracks/{b.track.id}/" for b in boards[:1]), entry]
        weighed = (*(f"tracks/{b.track.id}/=110" for b in boards), f"{entry}=80")
        yield check("bytes", "first_load.mjs", url, "=80", *weighed)
        yield check("lighthouse", "lighthouse.mjs", url, *measured)
        yield check("lighthouse on a phone", "lighthouse.mjs", url, "--phone", *measured)
    files = [str(folder / p.split("?")[0] / "index.html") for p in pages]
    yield check("html", "check_html.mjs", *dict.fromkeys(files))


def synthetic_checks(folder: Path) -> Iterator[Check]:
    """Byte limits and journeys at size."""
    for count in (1000, 10_000):
        place = folder / str(count)
        with Server(place) as url:
            build_site(synthetic.site(count, url=url), place)
            yield check(f"journeys {count}", "journeys.mjs", url, "pareto")
            if count == 10_000:
                yield check("lighthouse 10000", "lighthouse.mjs", url, "tracks/pareto/")


def hostile_checks(folder: Path) -> Iterator[Check]:
    """Entries that try to do harm."""
    with Server(folder) as url:
        site = dc.replace(hostile_site(), url=url)
        build_site(site, folder)
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
        yield check("hostile", "check.mjs", url, *pages)
        files = [str(folder / i.url / "index.html") for i in site.items]
        yield check("hostile html", "check_html.mjs", *files)


PARTS = ("pages", "journeys", "cells", "points", "questions", "bytes", "lighthouse", "html")
FORMAT = argparse.RawDescriptionHelpFormatter


def main() -> int:
    """Run the checks that were asked for; 0 where none found a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=FORMAT)
    parser.add_argument("root", nargs="?", type=Path, default=HERE.parents[1])
    parser.add_argument("--only", nargs="+", metavar="WORD", default=())
    asked = parser.parse_args()
    lack = missing()
    if lack:
        print(f"{lack}; run tests/site/setup.sh")
        return 2
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="site-check-") as name:
        for what, run in _checks(asked.root.resolve(), Path(name), tuple(asked.only)):
            good, output = run()
            print(f"{'ok  ' if good else 'FAIL'} {what}", flush=True)
            if not good:
                print(output[-6000:])
            passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def _checks(root: Path, folder: Path, only: tuple[str, ...]) -> Iterator[Check]:
    """The checks whose name begins with one of the words; a site that none needs is not built."""
    sources = (
        (PARTS, real_checks(root, folder / "real")),
        (("journeys 1", "lighthouse 1"), synthetic_checks(folder)),
        (("hostile",), hostile_checks(folder / "hostile")),
    )
    for parts, checks in sources:
        if only and not any(p.startswith(w) or w.startswith(p) for w in only for p in parts):
            continue
        yield from (c for c in checks if not only or c[0].startswith(only))


if __name__ == "__main__":
    raise SystemExit(main())
