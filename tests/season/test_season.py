"""The whole season, against boards, states, credits and feed that were worked out by hand.

The first baseline takes 100 s. `three` is at 0.88 of it and becomes the baseline, `fourth` is at
0.885 of that and becomes the next: 0.88 x 0.885 = 0.7788 of the first. Everything is then shown
over that last one, so an entry at 0.97 of the first is at 0.97 / 0.7788.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bot.model.board import Board
from bot.parse.track_toml import load_track
from bot.registry import Grade
from leaderboard_site.feeds import feed_files
from leaderboard_site.source import read_site
from leaderboard_site.tables import board_rows
from tests.bot.competition import put
from tests.season.build import CARD, H100, ID, TRACK, Sent, promote, repository, send

NOISE = (0.95, 0.96, 0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03, 1.04)
"""Single runs of changes that do little: 40 of them, ten values four times."""


def noisy(start: int, day: str, on: float, base: str) -> list[Sent]:
    fields = {"based_on": base}
    return [
        Sent(f"noisy-{n:02d}", day, NOISE[n % 10], {f"p{n:02d}": ["idea", "runs"]}, 1, on=on,
             fields=fields)
        for n in range(start, start + 20)
    ]  # fmt: skip


def reply(name: str, day: str, ratio: float, who: str, kind: str, entry: str, **more: Any) -> Sent:
    fields = {kind: f"{ID}/{entry}", "based_on": more.pop("base", "first")}
    return Sent(name, day, ratio, {who: ["runs"]}, fields=fields, **more)


SPRING = [
    Sent("first", "2026-01-01", None, {"host": ["code", "pr"]}, 5),
    *noisy(0, "2026-01-10", 1.0, "first"),
    # somebody's code, run again by three people: a small gain is real
    *(reply(f"again-{who}", "2026-01-12", 0.97, who, "reproduces", "noisy-02")
      for who in ("ann", "ben", "cat")),
    # a lucky run without a gain, what was built on it, and the challenge that a maintainer accepted
    Sent("lucky", "2026-01-14", 0.87, {"gambler": ["idea", "runs"]}, 1,
         fields={"based_on": "first"}),
    Sent("on-lucky", "2026-01-15", 0.985, {"believer": ["code"]}, fields={"based_on": "lucky"}),
    Sent("on-on-lucky", "2026-01-16", 0.984, {"child": ["code"]}, fields={"based_on": "on-lucky"}),
    reply("doubt-lucky", "2026-01-18", 1.0, "critic", "challenges", "lucky", accepted=True),
    # a real gain of 12 %: the idea of one, the code of another, the runs of a third
    Sent("thought", "2026-01-20", 0.995, {"thinker": ["idea"]}, 1, fields={"based_on": "first"}),
    Sent("three", "2026-01-22", 0.88, {"coder": ["code"]}, fields={"based_on": "thought"}),
    # the coder's own re-run confirms nothing, and three runs of the idea alone settle nothing
    reply("self-three", "2026-01-22", 0.88, "coder", "reproduces", "three"),
    reply("again-thought", "2026-01-22", 1.0, "ida", "reproduces", "thought"),
    # one arm on a faster card, the same fairly, and a baseline arm that something slowed down
    Sent("fast-card", "2026-01-23", 1.0, {"hasty": ["runs"]}, card=H100, other_card=CARD),
    Sent("fair-card", "2026-01-24", 0.999, {"hasty": ["runs"]}, card=H100,
         fields={"based_on": "first"}),
    Sent("slow-arm", "2026-01-25", 0.99, {"busy": ["runs"]}, slow=1.25,
         fields={"based_on": "first"}),
]  # fmt: skip
CONFIRMED = [reply("runs-three", "2026-01-28", 0.88, "runner", "reproduces", "three", card=CARD)]
SUMMER = [
    *noisy(20, "2026-02-10", 0.88, "three"),
    # a challenge that shows the gain after all
    reply("doubt-three", "2026-02-11", 0.88, "sceptic", "challenges", "three"),
    Sent("fourth", "2026-02-12", 0.885, {"dora": ["idea", "code"]}, on=0.88,
         fields={"based_on": "three"}),
    Sent("rival", "2026-02-13", 0.88, {"emil": ["idea", "code"]}, on=0.88,
         fields={"based_on": "three"}),
    reply("again-rival", "2026-02-14", 0.88, "finn", "reproduces", "rival", base="three", on=0.88),
    reply("again-fourth", "2026-02-15", 0.885, "gina", "reproduces", "fourth", base="three",
          on=0.88, card=CARD),
]  # fmt: skip
LAST = 0.88 * 0.885
GRADE = (Grade.REPRODUCED,)


def is_a(part: str) -> str:
    return f"submissions/{ID}/{part}"


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("season")
    put(root, f"tracks/{ID}.toml", TRACK)
    sent = iter(enumerate([*SPRING, *CONFIRMED, *SUMMER], 1))

    def arrive(count: int) -> None:
        for _ in range(count):
            number, item = next(sent)
            send(root, item, number)

    arrive(1)
    freeze_first(root)
    arrive(len(SPRING) - 1)
    assert promote(root, "2026-01-26") is None, "nobody has confirmed it yet"
    arrive(len(CONFIRMED))
    assert promote(root, "2026-02-01") == "three"
    arrive(len(SUMMER))
    assert promote(root, "2026-03-01") == "fourth"
    return root


def freeze_first(root: Path) -> None:
    data = {
        "schema_version": 1,
        "id": "first",
        "submission": is_a("first"),
        "frozen_on": "2026-01-02",
        "cost_metric": "training_time_s",
        "costs": [99.91, 99.955, 100.0, 100.045, 100.09],
        "device": "NVIDIA A100-SXM4-80GB",
        "count": 1,
    }
    put(root, f"tracks/baselines/{ID}/first.json", json.dumps(data))


@pytest.fixture(scope="module")
def board(season: Path) -> Board:
    return repository(season).board(ID, jobs=1)


def test_it_is_a_season_of_at_least_sixty_submissions() -> None:
    names = [s.name for s in (*SPRING, *CONFIRMED, *SUMMER)]
    assert len(names) == len(set(names)) == 61


def test_the_baselines(season: Path) -> None:
    made = load_track(season / f"tracks/{ID}.toml").baselines
    assert [(b.id, b.after) for b in made] == [
        ("first", None),
        ("three", "first"),
        ("fourth", "three"),
    ]
    assert [b.ratio for b in made] == [None, pytest.approx(0.88), pytest.approx(0.885)]
    # both were within their intervals, which lie beyond 0.9 as a whole
    for b in made[1:]:
        assert b.ratio and b.interval and b.interval[0] < b.ratio < b.interval[1] <= 0.9


def test_the_credits(season: Path) -> None:
    made = load_track(season / f"tracks/{ID}.toml").baselines
    assert {c.github: c.roles for c in made[1].credits} == {
        "thinker": ("idea",),
        "coder": ("code", "runs"),
        "ida": ("runs",),
        "runner": ("runs",),
    }
    assert {c.github: c.roles for c in made[2].credits} == {
        "dora": ("idea", "code"),
        "gina": ("runs",),
    }


def test_an_old_board_stays_readable(season: Path) -> None:
    """As it stood when `three` was frozen: the best of 0.88, then the noise of single runs."""
    made = load_track(season / f"tracks/{ID}.toml").baselines[1]
    assert (made.board[0].submission, made.board[0].state) == (is_a("three"), "confirmed")
    assert [round(row.ratio, 4) for row in made.board[:4]] == [0.88, 0.95, 0.95, 0.96]
    assert is_a("lucky") not in [row.submission for row in made.board]


def test_the_states(board: Board) -> None:
    names = {path.removeprefix(is_a("")): s.name for path, s in board.states.items()}
    told = {name: state for name, state in names.items() if state != "claimed"}
    assert told == {
        "noisy-02": "confirmed",
        "three": "confirmed",
        "fourth": "confirmed",
        "rival": "confirmed",
        "lucky": "refuted",
    }
    failed = [a for a in board.states[is_a("three")].replies if a.kind == "challenge"]
    assert [(a.holds, a.counts) for a in failed] == [(False, True)]


def test_a_demoted_ancestor_is_named_by_all_below_it(board: Board) -> None:
    flagged = {path: s.refuted for path, s in board.states.items() if s.refuted}
    lucky = is_a("lucky")
    assert flagged == {is_a("on-lucky"): (lucky,), is_a("on-on-lucky"): (lucky,)}
    ranked = [e.submission for e in board.entries]
    assert is_a("on-lucky") in ranked and lucky not in ranked


def test_what_does_not_rank_says_why(board: Board) -> None:
    why = {u.verdict.submission.removeprefix(is_a("")): u.why for u in board.unranked}
    replies = ["again-ann", "again-ben", "again-cat", "again-fourth", "again-rival"]
    replies += ["again-thought", "doubt-lucky", "doubt-three", "runs-three", "self-three"]
    assert sorted(why) == sorted([*replies, "fast-card", "lucky", "slow-arm"])
    assert why["fast-card"] == "it needs changes: see its findings"
    assert why["slow-arm"].endswith("a slow arm does not win")
    assert why["lucky"] == f"it is refuted by {is_a('doubt-lucky')}"
    assert why["doubt-three"] == f"it challenges {is_a('three')} and joins its evidence"


def test_the_board(board: Board) -> None:
    """All over the last baseline: the 20 single runs of spring at x / 0.7788, those of summer at
    x / 0.885, `rival` at 0.88 / 0.885."""
    entries = {e.submission.removeprefix(is_a("")): e for e in board.entries}
    found = {name: e.progress.ratio for name, e in entries.items() if e.progress}
    wanted = {f"noisy-{n:02d}": NOISE[n % 10] / LAST for n in range(20)}
    wanted |= {f"noisy-{n:02d}": NOISE[n % 10] / 0.885 for n in range(20, 40)}
    wanted |= {"first": 1 / LAST, "three": 1 / 0.885, "fourth": 1.0, "rival": 0.88 / 0.885}
    # one pair at 0.995 and three at 1.0: each weighs as its pairs do
    wanted |= {"thought": 0.995 ** (1 / 4) / LAST, "fair-card": 0.999 / LAST}
    wanted |= {"on-lucky": 0.985 / LAST, "on-on-lucky": 0.984 / LAST}
    assert found == pytest.approx(wanted, rel=1e-4)
    baselines = {name: entries[name].progress for name in ("first", "three", "fourth")}
    assert {n: p and (p.measured, p.promotes) for n, p in baselines.items()} == dict.fromkeys(
        baselines, (1.0, False)
    )
    order = [e.submission.removeprefix(is_a("")) for e in board.entries]
    assert order[:3] == ["rival", "fourth", "noisy-20"]
    assert len(order) == 48
    reproduced = {e.submission.removeprefix(is_a("")) for e in board.entries if e.grade in GRADE}
    assert reproduced == {"noisy-02", "three", "fourth", "rival"}


def test_the_record_over_time_has_no_lucky_run(board: Board) -> None:
    """Of one day the worse enter first: five steps of noise in spring, five in summer."""
    steps = [r.submission.removeprefix(is_a("")) for r in board.records]
    spring = [f"noisy-{n}" for n in (14, 13, 12, 11, 10)]
    summer = [f"noisy-{n}" for n in (34, 33, 32, 31, 30)]
    assert steps == ["first", *spring, "three", *summer, "fourth", "rival"]


def test_the_feed_and_the_board_file(season: Path) -> None:
    site = read_site(season, str(season / "evidence"))
    rows = {r["submission"]: r for r in board_rows(site, site.tracks[ID])}
    assert rows[is_a("three")]["state"] == "confirmed"
    assert rows[is_a("three")]["evidence"] == "reproduced"
    assert (rows[is_a("lucky")]["state"], rows[is_a("lucky")]["place"]) == ("refuted", None)
    assert rows[is_a("runs-three")]["state"] is None
    feed = dict(feed_files(site))[f"feeds/{ID}.xml"]
    told = {}
    for item in feed.split("<entry>")[1:]:
        title, summary = (re.search(f"<{t}>([^<]*)</{t}>", item) for t in ("title", "summary"))
        assert title and summary
        told[title[1]] = summary[1]
    assert len(told) == 50
    assert told["doubt-lucky"].startswith("Challenges lucky, which is refuted.")
    assert told["runs-three"].startswith("Reproduces three, which is confirmed.")
    assert told["again-fourth"].startswith("Reproduces fourth, which is confirmed.")
    assert told["rival"].endswith("Confirmed.")
