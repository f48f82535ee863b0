"""Share cards: one PNG of 1200 by 630 pixels for each record or frontier entry.

Drawn with Pillow's built-in font, so that a build needs no font file and gives the same bytes
everywhere. Characters that the font does not have show as boxes, which harm nobody.
"""

from __future__ import annotations

import functools as ft
import io
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

from leaderboard_site import scales, text
from leaderboard_site.model import Item, TrackBoard
from leaderboard_site.pages.environment import SITE_NAME
from leaderboard_site.pages.track import result_of
from leaderboard_site.states import state_of

SIZE = (1200, 630)
MOST = 60
"""Cards a track at most: of a long frontier, the entries of best quality."""
INK, PAPER, BLUE, GREY = 0, 1, 2, 3
PALETTE = (24, 32, 44, 252, 252, 250, 11, 92, 173, 98, 108, 120)


def card_holders(board: TrackBoard) -> list[Item]:
    """The items that get a card, in the board's order."""
    items = [i for i in board.items.values() if i.path in board.holders and i.places]
    sign = board.track.quality.sign
    items.sort(key=lambda i: (sign * i.places[0].entry.quality, i.path))
    return items[:MOST]


@ft.cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


class Words(NamedTuple):
    """What a card says."""

    track: str
    name: str
    result: str
    verdict: str
    who: str


def card_words(board: TrackBoard, item: Item) -> Words:
    """The words of an entry's card."""
    return Words(
        f"{SITE_NAME} · {text.clean(board.track.title, 60)}",
        text.clean(item.label, 90),
        result_of(board, item.places[0]),
        ", ".join(w for w in (state_of(item.verdict).name, item.standing) if w)
        + f"; evidence: {item.verdict.evidence}",
        f"{text.clean(item.people, 60)} · {text.day(item.verdict.date)}",
    )


def draw_card(words: Words) -> bytes:
    """The card as PNG."""
    image, pen = _blank()
    pen.text((70, 66), words.track, GREY, _font(34))
    y = 140
    for line in wrap(words.name, 30)[:2]:
        pen.text((70, y), line, INK, _font(64))
        y += 78
    pen.text((70, 340), words.result, BLUE, _font(72 if len(words.result) < 26 else 46))
    pen.text((70, 470), words.verdict, GREY, _font(34))
    pen.text((70, 530), words.who, GREY, _font(34))
    return _packed(image)


def track_card(title: str, words: str, points: Sequence[tuple[int, float]]) -> bytes:
    """The card of a board as PNG: its title, the finding, and the record over time as a line."""
    image, pen = _blank()
    pen.text((70, 50), f"{SITE_NAME} · {text.clean(title, 60)}", GREY, _font(34))
    y = 104
    for line in _lines(text.clean(words, 90), 34)[:2]:
        pen.text((70, y), line, INK, _font(54))
        y += 64
    left, top, right, bottom = 70, 290, 1130, 580
    pen.line((left, bottom, right, bottom), fill=GREY, width=2)
    if len(points) > 1:
        x = scales.fit([p[0] for p in points], left, right, pad=1e-6)
        spread = scales.fit([p[1] for p in points], bottom - 10, top, log=True, pad=1e-6)
        path = [(x(points[0][0]), spread(points[0][1]))]
        for day, value in points[1:]:
            path += [(x(day), path[-1][1]), (x(day), spread(value))]
        pen.line(path, fill=BLUE, width=5, joint="curve")
        px, py = path[-1]
        pen.ellipse((px - 9, py - 9, px + 9, py + 9), fill=BLUE)
    return _packed(image)


def _lines(words: str, width: int) -> list[str]:
    """Lines of at most about `width` characters, broken at spaces."""
    return textwrap.wrap(words, width) or [""]


def site_card(about: str) -> bytes:
    """The card of every page that has none of its own, as PNG."""
    image, pen = _blank()
    pen.text((70, 180), SITE_NAME, INK, _font(110))
    words = _lines(about[:1].upper() + about[1:], 46)[0]
    pen.text((70, 340), f"{words}:", GREY, _font(44))
    pen.text((70, 400), "numbers recomputed from evidence", GREY, _font(44))
    return _packed(image)


def _blank() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("P", SIZE, PAPER)
    image.putpalette(PALETTE + (0,) * (768 - len(PALETTE)))
    pen = ImageDraw.Draw(image)
    pen.fontmode = "1"
    pen.rectangle((0, 0, 1200, 14), fill=BLUE)
    return image, pen


def _packed(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", bits=2, compress_level=6)
    return out.getvalue()


def wrap(words: str, width: int) -> list[str]:
    """Lines of at most `width` characters, broken anywhere if need be."""
    return [words[i : i + width] for i in range(0, len(words), width)] or [""]
