"""Every answer reads as a sentence, and shows no escape."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from markdown_it import MarkdownIt

from bot.model.report import Place, Settings
from bot.render.comment import render

SETTINGS = Settings()


class Text(HTMLParser):
    """What a reader sees of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = ""

    def handle_data(self, data: str) -> None:
        self.seen += data


def seen(markdown: str) -> str:
    """A comment as GitHub shows it, in one line."""
    page = Text()
    page.feed(MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(markdown))
    return " ".join(page.seen.split())


def entry(place: Place | None, passes: bool = True, verified: bool = True) -> dict[str, Any]:
    values = {"submission": "submissions/my-track/fast", "track": "my-track", "link": ""}
    told = {"place": place, "passes": passes, "verified": verified, "reply": False}
    return {**values, **told}


ON = "On the board of my-track: submissions/my-track/fast"
KEPT = "Kept, not ranked: submissions/my-track/fast"


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (entry(Place(text="2nd of 3, 1.2 s behind the record")), f"{ON} is 2nd of 3, 1.2 s behind"),
        (entry(Place(text="a new record by 30.0 s", record=True)), "30.0 s. It holds the record."),
        (entry(Place(text="1st of 2, claimed", confirm="To be confirmed: `/submit t LINK...`")),
         "1st of 2, claimed. To be confirmed: /submit t LINK.... The evidence"),
        (entry(Place(text="a reproduction: `submissions/my-track/old` becomes confirmed"))
         | {"reply": True},
         "Kept: submissions/my-track/fast is a reproduction: submissions/my-track/old becomes "
         "confirmed."),
        (entry(Place(text="1st of 2, claimed", record=True, claimed=True)),
         f"{ON} is 1st of 2, claimed. It has the best claimed ratio. The evidence"),
        (entry(None), f"{ON}. The evidence"),
        (entry(Place()), f"{ON}. The evidence"),
        (entry(Place(text="its evidence states no loss", ranks=False)),
         f"{KEPT}: its evidence states no loss."),
        (entry(None, passes=False), f"{KEPT} was merged while its verdict did not pass."),
    ],
)  # fmt: skip
def test_the_closing_comment_is_a_sentence(item: dict[str, Any], said: str) -> None:
    text = seen(render("closing.md.j2", SETTINGS, report={"head_sha": "b" * 40}, entries=[item]))
    assert said in text and "\\" not in text
    place = item["place"]
    record = place is not None and place.record and not place.claimed
    assert ("Congratulations" in text) == record


def test_a_possible_record_is_not_congratulated() -> None:
    place = Place(text="a possible record by 30.0 s", record=True)
    values = {"report": {"head_sha": "b" * 40}, "entries": [entry(place, verified=False)]}
    assert "Congratulations" not in render("closing.md.j2", SETTINGS, **values)


@pytest.mark.parametrize(
    ("template", "values", "said"),
    [
        ("mistake.md.j2", {"problem": "did you mean `target-missed`?", "form": "/why RULE"},
         "did you mean target-missed?"),
        ("not_started.md.j2", {"number": 3, "why": "`x-y` (a-b) is #4"}, "x-y (a-b) is #4"),
        ("unknown.md.j2", {"word": "sum-bit", "near": "submit"}, "There is no command /sum-bit."),
    ],
)  # fmt: skip
def test_an_answer_shows_no_escape(template: str, values: dict[str, Any], said: str) -> None:
    text = seen(render(template, SETTINGS, **values))
    assert said in text and "\\" not in text and "`" not in text
