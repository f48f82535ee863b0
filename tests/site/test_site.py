"""Generated files and the built site: the same bytes twice, nothing hostile, no broken link."""

from __future__ import annotations

import functools
import hashlib
import html
import html.parser
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
from click.testing import CliRunner

from bot.cli import COMMANDS, main
from leaderboard_site.build import policy_of
from leaderboard_site.cli import build_site
from leaderboard_site.files import Writer
from leaderboard_site.generate import generate
from leaderboard_site.model import Site
from leaderboard_site.pages import walkthrough
from leaderboard_site.pages.environment import FEEDS
from reference_trainer.walkthrough import sections
from tests.site import synthetic
from tests.site.hostile import hostile_site

ROOT = Path(__file__).resolve().parents[2]
URL = "https://example.github.io/speedrun/"


def digest(folder: Path) -> dict[str, str]:
    """Path -> digest of its bytes."""
    return {
        p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of 120 entries."""
    out = tmp_path_factory.mktemp("built") / "site"
    build_site(synthetic.site(120, url=URL), out)
    return out


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of hostile entries."""
    out = tmp_path_factory.mktemp("hostile") / "site"
    build_site(hostile_site(), out)
    return out


@pytest.mark.full("builds the site twice")
def test_the_same_bytes_twice(tmp_path: Path) -> None:
    once, again = (tmp_path / name / "site" for name in ("once", "again"))
    for place in (once, again):
        build_site(synthetic.site(20, url=URL), place)
    assert digest(once) == digest(again)


def test_a_second_build_writes_nothing(tmp_path: Path) -> None:
    site = synthetic.site(20)
    assert generate(site, tmp_path) > 0
    assert generate(site, tmp_path) == 0


def test_what_no_longer_belongs_is_removed(tmp_path: Path) -> None:
    first = Writer(tmp_path)
    first.put("a/one.txt", "1")
    first.put("two.txt", "2")
    first.close()
    second = Writer(tmp_path)
    second.put("two.txt", "2")
    second.close()
    assert digest(tmp_path).keys() == {"two.txt"} and not (tmp_path / "a").exists()


@pytest.mark.full("builds the site three times")
def test_one_more_entry_gives_what_a_fresh_build_gives(tmp_path: Path) -> None:
    grown, fresh = tmp_path / "grown" / "site", tmp_path / "fresh" / "site"
    build_site(synthetic.site(14), grown)
    before = digest(grown)
    build_site(synthetic.site(16), grown)
    build_site(synthetic.site(16), fresh)
    assert digest(grown) == digest(fresh) != before
    build_site(synthetic.site(14), grown)
    assert digest(grown) == before


# ---- Links ---------------------------------------------------------------------------------------


class Links(html.parser.HTMLParser):
    """The addresses and ids of a page, and what could run in it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: set[str] = set()
        self.scripts: list[str | None] = []
        self.handlers: list[str] = []
        self.frames: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids |= {v for k, v in attrs if k == "id" and v}
        self.handlers += [k for k, _ in attrs if k.startswith("on") or k == "style"]
        if tag in ("iframe", "object", "embed", "base"):
            self.frames.append(tag)
        if tag == "script" and values.get("type") != "application/json":
            self.scripts.append(values.get("src"))
        for key in ("href", "src"):
            value = values.get(key)
            if value:
                self.found.append(value)


@functools.cache
def pages(folder: Path) -> tuple[tuple[str, Links, str], ...]:
    """Every page of a site that is not built again, as (path, its links, its text)."""
    found = []
    for path in sorted(folder.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        links = Links()
        links.feed(text)
        found.append((path.relative_to(folder).as_posix(), links, text))
    return tuple(found)


def broken(folder: Path) -> list[tuple[str, str]]:
    """(page, address) of every address of this site that leads nowhere."""
    ids = {name: links.ids for name, links, _ in pages(folder)}
    faults = []
    for name, links, _ in pages(folder):
        for address in links.found:
            target, fragment = urldefrag(urljoin(URL + name, address))
            if not target.startswith(URL):
                continue
            path = unquote(urlsplit(target).path[len(urlsplit(URL).path) :])
            file = path + "index.html" if path.endswith("/") or not path else path
            if not (folder / file).is_file():
                faults.append((name, address))
            elif fragment and file.endswith(".html") and fragment not in ids[file]:
                faults.append((name, address))
    return faults


def test_no_link_is_broken(built: Path) -> None:
    assert broken(built) == []


def test_every_entry_has_its_address(built: Path) -> None:
    site = synthetic.site(120, url=URL)
    listed = (built / "sitemap.xml").read_text(encoding="utf-8")
    for item in site.items:
        assert (built / item.url / "index.html").is_file()
        assert f"<loc>{URL}{item.url}</loc>" in listed


def test_nothing_is_loaded_from_another_host(built: Path) -> None:
    for name, _, text in pages(built):
        loaded = re.findall(
            r'<(?:script|img|link rel="(?:stylesheet|icon|preload)")[^>]*?'
            r'(?:src|href)="([^"]+)"',
            text,
        )
        assert [x for x in loaded if "://" in x and not x.startswith(URL)] == [], name


def test_every_page_has_a_policy_that_fits_it(built: Path) -> None:
    for name, _, text in pages(built):
        policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
        assert policy is not None, name
        assert policy[1].startswith("default-src 'none'") and "unsafe" not in policy[1], name
        assert policy[1] == policy_of(text), name


# ---- Hostile text --------------------------------------------------------------------------------


def test_hostile_text_runs_nowhere(hostile: Path, built: Path) -> None:
    harmless = {name: set(map(str, links.scripts)) for name, links, _ in pages(built)}
    usual = {s.rsplit("/", 1)[-1] for found in harmless.values() for s in found}
    for name, links, _ in pages(hostile):
        assert links.frames == [], name
        assert links.handlers == [], name
        assert {str(s).rsplit("/", 1)[-1] for s in links.scripts} <= usual, name
        schemes = {urlsplit(a).scheme for a in links.found}
        assert schemes <= {"", "http", "https"}, name


def test_hostile_text_reorders_and_hides_nothing(hostile: Path) -> None:
    for path in hostile.rglob("*"):
        if path.suffix in (".html", ".json", ".xml", ".csv", ".svg"):
            text = path.read_text(encoding="utf-8")
            assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\ufeff]", text), path.name


def test_long_names_stay_short(hostile: Path) -> None:
    for name, _, text in pages(hostile):
        # A README may be long: it is folded away, and breaks anywhere.
        assert "x" * 1500 not in re.sub(r'(?s)<div class="readme">.*?</div>', "", text), name


def test_feeds_are_well_formed(hostile: Path, built: Path) -> None:
    atom = "{http://www.w3.org/2005/Atom}"
    for folder, least in ((hostile, 5), (built, 20)):
        for name in FEEDS:
            root = ET.parse(folder / "feeds" / f"{name}.xml").getroot()
            entries = root.findall(f"{atom}entry")
            ids = [e.findtext(f"{atom}id") for e in entries]
            assert len(set(ids)) == len(ids), name
            assert len(entries) >= (least if name in ("new", "records") else 0), name
            dates = [e.findtext(f"{atom}updated") or "" for e in entries]
            assert dates == sorted(dates, reverse=True)


def test_record_holders_have_a_card(built: Path) -> None:
    site: Site = synthetic.site(120, url=URL)
    record = site.tracks["target"].record
    assert record is not None
    card = built / "cards" / "target" / f"{record[0].slug}.png"
    assert card.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    page = (built / record[0].url / "index.html").read_text(encoding="utf-8")
    assert f'property="og:image" content="{URL}cards/target/{record[0].slug}.png"' in page


# ---- The command ---------------------------------------------------------------------------------


def test_without_tracks_the_command_says_what_to_do(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["site", "build", "--root", str(tmp_path)])
    assert result.exit_code == 2 and "no tracks/" in result.output


def test_evidence_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tracks").mkdir()
    for wrong in ("no-such-branch", "--upload-pack=x", "a..b"):
        result = CliRunner().invoke(
            main, ["site", "generate", "--root", str(tmp_path), f"--evidence={wrong}"]
        )
        assert result.exit_code == 2 and wrong[:20] in result.output, result.output


def test_an_empty_competition_has_a_site(tmp_path: Path) -> None:
    (tmp_path / "tracks").mkdir()
    result = CliRunner().invoke(
        main, ["site", "build", "--root", str(tmp_path), "--out", str(tmp_path / "out")]
    )
    assert result.exit_code == 0, result.output
    assert "Speedrun" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_the_picture_of_the_readme_is_small_and_wide_enough() -> None:
    from PIL import Image

    path = ROOT / "leaderboard_site" / "docs" / "assets" / "overview.png"
    assert path.stat().st_size <= 250_000
    with Image.open(path) as picture:
        assert picture.width == 1600


@pytest.mark.parametrize("name,page", [("torch", "walkthrough"), ("jax", "walkthrough-jax")])
def test_the_walkthrough_shows_every_line_of_the_starter(built: Path, name: str, page: str) -> None:
    text = (built / page / "index.html").read_text(encoding="utf-8")
    blocks = re.findall(r"<pre tabindex=\"0\"><code>(.*?)</code></pre>", text, re.DOTALL)
    shown = html.unescape(re.sub(r"<[^>]+>", "", "\n".join(blocks))).splitlines()
    source = walkthrough.starter(name)
    code = "\n".join(s.code for s in sections(source)).splitlines()
    assert len(code) > 100 and set(filter(str.strip, code)) <= set(shown)
    assert 'class="k"' in text and "style=" not in text.split("<article", 1)[1]


def test_the_page_of_commands_says_what_help_says(built: Path) -> None:
    text = (built / "commands" / "index.html").read_text(encoding="utf-8")
    shown = html.unescape(re.sub(r"<[^>]+>", "", text))
    command = [sys.executable, "-c", "from bot.cli import main; main(prog_name='speedrun')"]
    for words in (["check"], ["baseline", "freeze"], ["webhook"]):
        done = subprocess.run([*command, *words, "--help"], capture_output=True, text=True)
        options = re.findall(r"^ +(--?[a-z-]+)", done.stdout, re.MULTILINE)
        part = shown.split(f"Usage: speedrun {' '.join(words)} ")[1].split("Usage: ")[0]
        assert options and all(option in part for option in options)
    assert all(f"speedrun {name}" in shown for name in COMMANDS)


@pytest.mark.parametrize("command", ["build", "generate", "serve"])
def test_a_place_that_cannot_be_written_is_one_sentence(command: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "tracks").mkdir()
    given = ["site", command, "--root", str(tmp_path), "--out", str(tmp_path / "file" / "site")]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 2, result.output
    assert "cannot be written (Not a directory); give another folder with --out" in result.output
