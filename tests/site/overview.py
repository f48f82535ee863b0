"""The picture in the README: the bot's answer to a pull request, and the board it guards.

    python -m tests.site.overview [OUT]

Both halves are real: the left one is what the bot would say to a results file in which the cores
of a TPU were counted as its chips, rendered as GitHub renders Markdown; the right one is a page of
the board, built from this repository. Needs what `tests/site/setup.sh` installs.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt
from PIL import Image

from bot.model.report import Kind, Report, Settings
from bot.model.verdict import Verdict
from bot.parse.folder import read_path
from bot.parse.track_toml import load_tracks
from bot.render.comment import render_comment
from bot.verify import verify
from leaderboard_site.cli import build_site
from leaderboard_site.source import read_site
from tests.site.server import Server

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TRACK = "fineweb-edu"
RESULTS = ROOT / "tests" / "bot" / "data" / "results" / "v2_cores.json"
OUT = ROOT / "leaderboard_site" / "docs" / "assets" / "overview.png"
MOST_BYTES = 250_000

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Comment</title><style>
body {{ margin: 0; padding: 20px 18px; background: #fff; color: #1f2328;
  font: 14px/1.5 -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; }}
.box {{ border: 1px solid #d1d9e0; border-radius: 6px; }}
.head {{ background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; color: #59636e;
  border-radius: 6px 6px 0 0; }}
.head b {{ color: #1f2328; }}
.tag {{ border: 1px solid #d1d9e0; border-radius: 2em; padding: 0 7px; font-size: 12px; }}
.body {{ padding: 4px 16px 12px; }}
h3 {{ font-size: 17px; margin: 14px 0 12px; line-height: 1.3; }}
p, ul, table {{ margin: 0 0 14px; }}
ul {{ padding-left: 26px; }}
code {{ background: #818b981f; border-radius: 6px; padding: .2em .4em;
  font: 85% ui-monospace, "Noto Sans Mono", monospace; }}
a {{ color: #0969da; text-decoration: none; }} a code {{ color: inherit; }}
table {{ border-collapse: collapse; }}
th, td {{ border: 1px solid #d1d9e0; padding: 5px 13px; text-align: left; }}
tr:nth-child(even) td {{ background: #f6f8fa; }}
summary {{ cursor: pointer; }}
</style><div class="box"><div class="head"><b>github-actions</b> <span class="tag">bot</span>
commented 2 minutes after the pull request</div><div class="body">{body}</div></div></html>"""


def verdict(folder: Path) -> Verdict:
    """The engine's verdict on a submission that holds the results file alone."""
    place = folder / "submissions" / TRACK / "wide_llama" / "1_2b"
    place.mkdir(parents=True)
    shutil.copy(RESULTS, place / "speedrun_results.json")
    about = {
        "schema_version": 1,
        "track": TRACK,
        "title": "Wide Llama, 1.2B",
        "summary": "A Llama of 16 layers, twice as wide as the starter.",
        "contributors": [{"github": "example-user", "roles": ["idea", "code", "runs"]}],
        "runs": [{"source": "results", "path": "speedrun_results.json"}],
    }
    (place / "submission.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    return verify(read_path(place, folder), load_tracks(ROOT), track_id=TRACK)


def comment(found: Verdict, site: str) -> str:
    """The bot's comment as a page of HTML."""
    report = Report(
        "example-org/speedrun",
        12,
        hashlib.sha1(RESULTS.read_bytes(), usedforsecurity=False).hexdigest(),
        "0" * 40,
        Kind.SUBMISSION,
        "example-user",
        (found,),
    )
    body = render_comment(report, Settings(site=site))
    parser = MarkdownIt("gfm-like", {"html": True, "linkify": False})
    html = parser.render(re.sub(r"<!--.*?-->\n?", "", body, flags=re.DOTALL))
    # Chromium has no picture for the icon where no emoji font is installed.
    return PAGE.format(body=html.replace("❌", '<b style="color:#cf222e">×</b>'))


def small(picture: bytes) -> bytes:
    """The picture with a palette of 256 colours or fewer, below the limit of bytes."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    for colours in (256, 128, 64):
        out = io.BytesIO()
        image.quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            out, "PNG", optimize=True
        )
        if out.tell() <= MOST_BYTES:
            break
    return out.getvalue()


def main() -> int:
    """Draw the picture; 1 where it is too large for a README."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    with tempfile.TemporaryDirectory(prefix="overview-") as name:
        folder = Path(name)
        site_folder = folder / "site"
        with Server(site_folder) as url:
            build_site(read_site(ROOT, url=url), site_folder)
            page = comment(verdict(folder / "pull"), url.rstrip("/"))
            (site_folder / "comment.html").write_text(page, encoding="utf-8")
            raw = folder / "overview.png"
            script = str(HERE / "overview.mjs")
            pages = (f"{url}comment.html", f"{url}tracks/{TRACK}/")
            subprocess.run(["node", script, str(raw), *pages], check=True, timeout=120)
        data = small(raw.read_bytes())
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(data)
    print(f"{out}: {len(data):,} bytes, limit {MOST_BYTES:,}")
    return 0 if len(data) <= MOST_BYTES else 1


if __name__ == "__main__":
    raise SystemExit(main())
