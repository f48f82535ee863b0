"""Feeds of baselines and of states: one event for each thing that happened."""

from __future__ import annotations

import dataclasses as dc
import xml.etree.ElementTree as ET

from bot.model.board import Answered, State
from bot.model.track import Baseline, Credit
from leaderboard_site.feeds import feed_files
from leaderboard_site.model import Site, make_board
from tests.site import synthetic

ATOM = "{http://www.w3.org/2005/Atom}"


def events(site: Site, name: str) -> list[tuple[str, str, str, str]]:
    """(title, link, date, summary) of a feed, newest first."""
    root = ET.fromstring(dict(feed_files(site))[f"feeds/{name}.xml"])
    return [
        (
            entry.findtext(f"{ATOM}title") or "",
            next(link.get("href") or "" for link in entry.iter(f"{ATOM}link")),
            (entry.findtext(f"{ATOM}updated") or "")[:10],
            entry.findtext(f"{ATOM}summary") or "",
        )
        for entry in root.iter(f"{ATOM}entry")
    ]


def ids(site: Site, name: str) -> set[str]:
    root = ET.fromstring(dict(feed_files(site))[f"feeds/{name}.xml"])
    return {entry.findtext(f"{ATOM}id") or "" for entry in root.iter(f"{ATOM}entry")}


def board_of(baselines: tuple[Baseline, ...] = ()) -> Site:
    verdicts = [synthetic.baseline_verdict(i) for i in range(2)]
    track = dc.replace(synthetic.BASELINE, baselines=baselines)
    return Site({"baseline": make_board(track, verdicts)})


def test_each_baseline_is_an_event_with_what_it_gained() -> None:
    first = Baseline("b0", "submissions/baseline/gone", "2026-01-02", "training_time_s", (9.0,), ())
    people = (Credit("example-user", None, ("code",), ()),)
    second = Baseline(
        "b1",
        synthetic.baseline_verdict(0).submission,
        "2026-03-04",
        "training_time_s",
        (8.0,),
        (),
        after="b0",
        ratio=0.875,
        credits=people,
    )
    site = board_of((first, second))
    later, earlier = events(site, "baselines")
    assert later[0] == "One GPU, any GPU: baseline b1" and later[2] == "2026-03-04"
    assert later[1] == f"{site.url}{site.items[0].url}"
    assert later[3].endswith("It takes 0.8750 of what b0 took.")
    assert earlier[1] == f"{site.url}tracks/baseline/" and "takes" not in earlier[3]
    assert events(board_of(), "baselines") == []


def test_another_state_of_a_pull_request_is_another_event() -> None:
    pull = synthetic.lists()[0][2]
    assert pull.status == "needs-runs"
    waiting = dc.replace(pull, since="2026-11-27T10:00:00Z", gpu_hours=3.2)
    site = dc.replace(board_of(), pending=(waiting,))
    [(title, link, date, summary)] = events(site, "states")
    assert title.startswith("#92 Half the steps") and title.endswith("Needs more runs")
    assert (link, date) == (pull.url, "2026-11-27")
    assert summary == "would be place 3 of 31. About 3.2 GPU-hours are missing."
    done = dc.replace(site, pending=(dc.replace(waiting, status="verified"),))
    assert not ids(site, "states") & ids(done, "states")


def test_an_entry_that_others_ran_again_is_an_event() -> None:
    site = board_of()
    board = site.tracks["baseline"]
    entry, reply = site.items
    answered = Answered(reply.path, "reproduces", ("x",), None, 2, 0.9, None, True)
    state = State("confirmed", (answered,))
    confirmed = dc.replace(board, board=dc.replace(board.board, states={entry.path: state}))
    site = dc.replace(site, tracks={"baseline": confirmed})
    [(title, link, date, summary)] = events(site, "states")
    assert title == f"{entry.title}: confirmed" and link.endswith(entry.url)
    assert date == (reply.verdict.date or "")[:10]
    assert summary.startswith(f"{entry.title} is confirmed by @x (0.9 times the baseline, 2 pairs")
    claimed = dc.replace(board.board, states={entry.path: State()})
    alone = dc.replace(site, tracks={"baseline": dc.replace(board, board=claimed)})
    assert events(alone, "states") == []
