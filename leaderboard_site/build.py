"""From generated files to a site: mkdocs for the pages, its frame around every entry.

    build(generated, out, url)

mkdocs builds the few dozen Markdown pages; the built form of one of them (the shell) is the frame
into which the body of each entry is put, so that ten thousand entries cost no Markdown. Every page
gets a content security policy that allows this site's own scripts and styles and nothing else.
Files of `out` that do not change are left alone.
"""

from __future__ import annotations

import base64
import dataclasses as dc
import hashlib
import itertools
import json
import logging
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bot import files as disk
from leaderboard_site.feeds import sitemap
from leaderboard_site.files import Writer, read_keys, read_part, remembered
from leaderboard_site.text import esc

HERE = Path(__file__).parent
SHELL_PAGE = "entries/entry/shell/index.html"
INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
INLINE_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
ALIGNED = re.compile(r'style="text-align: (left|right|center);"')
BARE_TABLE = re.compile(r"<table>(.*?)</table>", re.DOTALL)
POLICY_TOKEN = "SPEEDRUN-POLICY"
UNUSED = ("sitemap.xml", "assets/javascripts/")
"""What mkdocs writes and no page uses: the theme's script is left out (theme/main.html)."""


def build(generated: Path, out: Path, url: str, nav: Sequence[Any]) -> int:
    """Build `out` from what `generate` wrote; the number of pages.

    `url` is where the site will be served, with a slash at its end. Raises mkdocs' own errors
    (subclasses of click.ClickException) for a page that does not build.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".mkdocs-") as folder:
        pages = Path(folder) / "site"
        _mkdocs(generated / "docs", pages, url, nav)
        return _assemble(pages, generated, out, url)


BUILT = "built.json"
"""In the generated folder: the frame and the entries that the last build put into `out`."""


def _mkdocs(docs: Path, pages: Path, url: str, nav: Sequence[Any]) -> None:
    # Both notices are adverts on stderr that say nothing about this build.
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
    os.environ.setdefault("DISABLE_MKDOCS_2_WARNING", "true")
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")
    from mkdocs.commands.build import build as mkdocs_build
    from mkdocs.config import load_config

    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    config = load_config(
        str(HERE / "mkdocs.yml"),
        docs_dir=str(docs),
        site_dir=str(pages),
        site_url=url,
        nav=list(nav),
        not_in_nav="/tracks/\n/rules/\n/entries/\n/people/\n*.md\n",
    )
    mkdocs_build(config)


def _assemble(pages: Path, generated: Path, out: Path, url: str) -> int:
    writer = Writer(out)
    paths = []
    frame = frame_of((pages / SHELL_PAGE).read_text(encoding="utf-8"))
    for path in sorted(p for p in pages.rglob("*") if p.is_file()):
        name = path.relative_to(pages).as_posix()
        if name == SHELL_PAGE or name.startswith(UNUSED) or name.endswith(".map"):
            continue
        if name.endswith(".html"):
            writer.put(name, with_policy(path.read_text(encoding="utf-8")))
            if name.endswith("index.html"):
                paths.append(name.removesuffix("index.html"))
        else:
            writer.put(name, path.read_bytes())
    paths += _entries(writer, generated, frame, url)
    paths += _people(writer, generated, frame, url)
    static = generated / "static"
    for path in static.rglob("*"):
        name = path.relative_to(static).as_posix()
        if path.is_file():
            writer.put(name, path.read_bytes())
    writer.put("sitemap.xml", sitemap(url, sorted(paths)))
    writer.put("robots.txt", f"User-agent: *\nAllow: /\nSitemap: {url}sitemap.xml\n")
    writer.put(".nojekyll", "")
    writer.close()
    return len(paths)


def _entries(writer: Writer, generated: Path, frame: Frame, url: str) -> list[str]:
    """Write page and JSON of every entry that is not there as it should be; their addresses."""
    keys = read_keys(generated)
    stamp = hashlib.sha256(f"{writer.root} {frame}".encode()).hexdigest()
    built = generated / BUILT
    before = remembered(built)
    same = before.get("stamp") == stamp
    # Until all is done nothing is said to be built.
    built.unlink(missing_ok=True)
    paths = []
    for part, members in keys.items():
        wanted = {}
        for entry, key in members.items():
            page, file = f"entries/{entry}/index.html", f"api/v1/entries/{entry}.json"
            paths.append(f"entries/{entry}/")
            unchanged = same and before["keys"].get(part, {}).get(entry) == key
            if not (unchanged and writer.keep(page) and writer.keep(file)):
                wanted[entry] = key
        for entry, text in read_part(generated, part, wanted) if wanted else ():
            head, data, body = text.split("\n", 2)
            page = _framed(json.loads(head), body, f"entries/{entry}/", frame, url)
            writer.put(f"entries/{entry}/index.html", page)
            writer.put(f"api/v1/entries/{entry}.json", data + "\n")
    disk.write(built, json.dumps({"stamp": stamp, "keys": keys}))
    return paths


def _people(writer: Writer, generated: Path, frame: Frame, url: str) -> list[str]:
    """Write the page of every person; their addresses."""
    paths = []
    with (generated / "people" / "people.jsonl").open(encoding="utf-8", newline="\n") as file:
        for line in file:
            path, head, body = json.loads(line)
            writer.put(f"{path}index.html", _framed(head, body, path, frame, url))
            paths.append(path)
    return paths


# ---- The frame of an entry -----------------------------------------------------------------------


@dc.dataclass(frozen=True, slots=True)
class Frame:
    """The shell page cut at its tokens: (text, name of the token that follows)."""

    parts: tuple[tuple[str, str], ...]

    def fill(self, values: dict[str, str]) -> str:
        """The page with each token replaced; values must be escaped already."""
        return "".join(text + values.get(token, "") for text, token in self.parts)


def frame_of(shell: str) -> Frame:
    """Cut the built shell page. Raises ValueError where a token is missing."""
    shell = with_policy(shell)
    marked = re.sub(r"<div>\s*SPEEDRUN-BODY.*?</div>", "\0body\0", shell, count=1, flags=re.DOTALL)
    marked = re.sub(r"(<meta property=\"og:image\" content=\")[^\"]*", r"\1" + "\0image\0", marked)
    marked = marked.replace("SPEEDRUN-TITLE", "\0title\0")
    marked = marked.replace("SPEEDRUN-DESCRIPTION", "\0description\0")
    marked = re.sub(r"entries/entry/shell/", "\0path\0", marked)
    pieces = marked.split("\0")
    tokens = set(pieces[1::2])
    missing = {"body", "title", "description", "path"} - tokens
    if missing:
        raise ValueError(f"the shell page has no {', '.join(sorted(missing))}, check the theme")
    pieces.append("")
    return Frame(tuple(zip(pieces[::2], pieces[1::2], strict=True)))


def _framed(meta: dict[str, str], body: str, path: str, frame: Frame, url: str) -> str:
    """A page as deep as an entry's: its body in the frame."""
    image = url + (meta.get("image") or "assets/site/card.png")
    return frame.fill(
        {
            "title": esc(meta["title"]),
            "description": esc(meta["description"]),
            "body": body,
            "path": esc(path),
            "image": esc(image),
        }
    )


# ---- Content security policy ---------------------------------------------------------------------


def with_policy(page: str) -> str:
    """The page with its policy in place of the token that the theme prints.

    Markdown aligns table cells by style attributes, which the policy forbids: they become classes.
    """
    page = ALIGNED.sub(r'class="align-\1"', page)
    # A wide table scrolls in a box of its own, which the keyboard must reach.
    count = itertools.count(1)
    page = BARE_TABLE.sub(
        lambda found: (
            f'<section class="sr scroll" tabindex="0" aria-label="Table {next(count)}">'
            f'<table class="plain">{found[1]}</table></section>'
        ),
        page,
    )
    return page.replace(POLICY_TOKEN, policy_of(page), 1)


def policy_of(page: str) -> str:
    """Own files only; the theme's inline scripts and styles by their digests."""
    scripts = " ".join(_digests(INLINE_SCRIPT, page))
    styles = " ".join(_digests(INLINE_STYLE, page))
    return (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self' {styles}; "
        "img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'self'"
    ).replace(" ;", ";")


def _digests(pattern: re.Pattern[str], page: str) -> list[str]:
    found = dict.fromkeys(pattern.findall(page))
    return [
        f"'sha256-{base64.b64encode(hashlib.sha256(x.encode()).digest()).decode()}'" for x in found
    ]
