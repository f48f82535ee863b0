"""What a build costs as entries add up, counted in pages and calls, without a clock."""

from __future__ import annotations

import dataclasses as dc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from bot.model.verdict import Verdict
from leaderboard_site.generate import entries
from leaderboard_site.model import Site, make_board
from leaderboard_site.pages.docs import navigation
from leaderboard_site.pages.wanted import wanted_files
from tests.site import synthetic


def with_one_more(site: Site, verdict: Verdict) -> Site:
    """The site with another entry."""
    board = site.tracks[verdict.track]
    verdicts = [*(i.verdict for i in board.items.values()), verdict]
    about = {v.submission: synthetic.about(v) for v in verdicts}
    board = make_board(board.track, verdicts, about)
    return dc.replace(site, tracks={**site.tracks, verdict.track: board})


def made_again(before: Site, after: Site) -> set[str]:
    """The entries whose pages a build of `after` makes, where `before` was built."""
    known = {name: key for name, key, _ in entries(before)}
    return {name for name, key, _ in entries(after) if known.get(name) != key}


def pareto_entry(quality: float, cost: float) -> Verdict:
    """An entry of the pareto track at one spot of the plane."""
    verdict = synthetic.pareto_verdict(901)  # leaves the decimals of every column as they are
    (point,) = verdict.points
    return dc.replace(verdict, points=(dc.replace(point, quality=quality, cost=cost),))


def test_an_entry_that_beats_none_makes_one_page() -> None:
    site = synthetic.site(60)
    more = with_one_more(site, pareto_entry(9.0, 1e25))
    assert len(made_again(site, more)) == 1


def test_an_entry_that_beats_all_makes_the_pages_of_its_board_alone() -> None:
    site = synthetic.site(60)
    more = with_one_more(site, pareto_entry(0.1, 1e10))
    tracks = {name.partition("/")[0] for name in made_again(site, more)}
    assert tracks == {"pareto"}


def calls(work: Callable[[Site], Any], site: Site) -> int:
    """How many Python functions a piece of work calls."""
    count = 0

    def note(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work(site)
    finally:
        sys.setprofile(None)
    return count


def test_the_work_of_a_page_grows_no_faster_than_the_board() -> None:
    few, many = synthetic.site(100), synthetic.site(400)
    for work in (navigation, lambda site: list(wanted_files(site))):
        for site in (few, many):
            work(site)  # what is kept for later pages is not a cost of this one
        assert calls(work, many) < 6 * calls(work, few)


def test_runs_wanted_is_in_the_menu_while_it_holds_something() -> None:
    shown = {str(part) for part in navigation(synthetic.site(60))}
    assert "{'Runs wanted': 'wanted.md'}" in shown  # the best three may be granted compute
    assert not any("wanted" in str(part) for part in navigation(Site({})))
    nobody = synthetic.site(0)
    assert not any("wanted" in str(part) for part in navigation(nobody))
