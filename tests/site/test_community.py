"""What the site shows of a season: states, trees, baselines, boards by architecture, people."""

from __future__ import annotations

import dataclasses as dc
import json
import re
from pathlib import Path

import pytest

from bot.model.track import BoardRow, Track
from bot.model.verdict import Verdict
from leaderboard_site.community import baselines, classes, entry_section
from leaderboard_site.model import Site, TrackBoard, make_board
from leaderboard_site.pages.docs import doc_files
from leaderboard_site.pages.entry import Lineage, entry_page
from leaderboard_site.pages.home import home_page
from leaderboard_site.pages.people import people, person_page
from leaderboard_site.pages.track import track_files
from leaderboard_site.pages.wanted import wanted_files
from leaderboard_site.source import program_of, read_site
from tests.bot.competition import put
from tests.season.build import ID, TRACK, Sent, send
from tests.site import synthetic

FIRST = {
    "schema_version": 1,
    "id": "first",
    "submission": f"submissions/{ID}/first",
    "frozen_on": "2026-01-02",
    "cost_metric": "training_time_s",
    "costs": [99.91, 100.0, 100.09],
    "device": "NVIDIA A100-SXM4-80GB",
    "count": 1,
    "code": {"path": "main.py", "sha256": "0" * 64, "settings": {}},
    "credits": [{"github": "host", "name": None, "roles": ["code"], "submissions": []}],
    "board": [{"submission": f"submissions/{ID}/older", "ratio": 1.02, "state": "claimed"}],
}
BASE = {"based_on": "first"}
SENT = (
    Sent("first", "2026-01-01", None, {"host": ["code"]}),
    Sent("lucky", "2026-01-03", 0.87, {"gambler": ["idea"]}, 1, fields=BASE),
    Sent("child", "2026-01-04", 0.97, {"kim": ["code"]}, fields={"based_on": "lucky"}),
    Sent("grandchild", "2026-01-05", 0.96, {"kim": ["code"]}, fields={"based_on": "child"}),
    Sent("doubt", "2026-01-06", 1.0, {"critic": ["runs"]}, accepted=True,
         fields=BASE | {"challenges": f"{ID}/lucky"}),
    Sent("again", "2026-01-07", 0.96, {"runner": ["runs"]},
         fields=BASE | {"reproduces": f"{ID}/grandchild"}),
)  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    root: Path = tmp_path_factory.mktemp("community")
    put(root, f"tracks/{ID}.toml", TRACK)
    put(root, f"tracks/baselines/{ID}/first.json", json.dumps(FIRST))
    for number, sent in enumerate(SENT, 1):
        send(root, sent, number)
    return read_site(root, str(root / "evidence"))


@pytest.fixture(scope="module")
def board(site: Site) -> TrackBoard:
    return site.tracks[ID]


def section(site: Site, board: TrackBoard, name: str) -> dict[str, object]:
    found = entry_section(board, board.items[f"submissions/{ID}/{name}"], Lineage(site), "../")
    assert found is not None
    return found


def test_a_refuted_entry_shows_what_builds_on_it_as_a_tree(site: Site, board: TrackBoard) -> None:
    found = section(site, board, "lucky")
    assert str(found["title"]).startswith("Refuted by @critic (1 times the baseline")
    assert "disputes it, accepted by a maintainer: three runs agree (host)" in str(found["lines"])
    assert found["tree"] == [
        {"depth": 0, "url": f"../entries/{ID}/child/", "name": "child"},
        {"depth": 1, "url": f"../entries/{ID}/grandchild/", "name": "grandchild"},
    ]


def test_the_page_of_an_accepted_challenge_says_who_accepted_it_and_why(
    site: Site, board: TrackBoard
) -> None:
    why = "accepted by a maintainer: three runs agree (host)"
    pages = {
        name: entry_page(
            site, board, board.items[f"submissions/{ID}/{name}"], Lineage(site), "0" * 64
        )
        for name in ("doubt", "again")
    }
    assert why in str(pages["doubt"]) and why not in str(pages["again"])


def test_an_entry_says_what_its_state_rests_on(site: Site, board: TrackBoard) -> None:
    found = section(site, board, "grandchild")
    assert str(found["title"]).startswith("Confirmed by @runner (0.96 times the baseline [")
    assert f"it builds on submissions/{ID}/lucky, which is refuted" in str(found["lines"])
    assert found["tree"] == []
    assert section(site, board, "again")["title"] == "Reproduces grandchild, which is confirmed"


def test_the_track_shows_its_baselines_and_the_next_one(board: TrackBoard) -> None:
    found = baselines(board, "../")
    assert found is not None
    assert found["next"].startswith("The next baseline takes another 6.25 % [")
    (row,) = found["rows"]
    assert (row["id"], row["people"]) == ("first", ["host (code)"])
    assert row["board"] == [{"name": "older", "ratio": "1.0200", "state": "claimed"}]


def test_absolute_times_stand_by_architecture(board: TrackBoard) -> None:
    (kind,) = classes(board, "../")
    assert kind["name"] == "Ampere"
    assert [row["name"] for row in kind["rows"]] == ["grandchild", "child", "first"]


def test_the_page_has_it_all(site: Site, board: TrackBoard) -> None:
    page = str(dict(track_files(site, board))[f"tracks/{ID}/index.md"])
    assert "A place in three commands" in page and "Fastest on Ampere" in page
    assert "The board when first was frozen" in page
    assert f"speedrun new {ID}/my-idea --starter jax" in page
    assert re.search(r"older: 1.0200", page)
    assert "A place by links" not in page


def test_a_baseline_without_code_is_run_by_hand(site: Site, board: TrackBoard) -> None:
    (first,) = board.track.baselines
    track = dc.replace(board.track, baselines=(dc.replace(first, code=None),))
    bare = dc.replace(board, track=track)
    page = str(dict(track_files(site, bare))[f"tracks/{ID}/index.md"])
    assert f"/submit {ID} LINK LINK LINK baseline" in page and "interleave" not in page


def promoted(site: Site) -> tuple[Track, list[Verdict]]:
    """The track after one of its entries became the baseline, and its verdicts."""
    track = site.tracks[ID].board.track
    first = track.baselines[0]
    path = f"submissions/{ID}/grandchild"
    entry = dc.replace(first, id="grandchild", submission=path, after="first", ratio=0.96)
    later = dc.replace(track, baselines=(first, entry), baseline_id="grandchild")
    verdicts = [item.verdict for item in site.tracks[ID].items.values()]
    return later, verdicts


def test_a_baseline_that_an_entry_became_is_its_peoples(site: Site) -> None:
    later, verdicts = promoted(site)
    first, entry = later.baselines
    path = entry.submission
    again = make_board(later, verdicts).items
    assert again[f"submissions/{ID}/first"].people == "the project"
    assert again[path].people != "the project"


def test_reproducers_and_critics_are_credited(site: Site) -> None:
    found = people(site)
    assert (found["runner"].again, found["runner"].mistakes) == (1, 0)
    assert (found["critic"].again, found["critic"].mistakes) == (0, 1)
    assert "1 mistake found" in person_page(found["critic"])[0]["description"]
    assert "1 reproduction." in person_page(found["runner"])[0]["description"]
    assert "1 challenge, 1 mistake found" in person_page(found["critic"])[0]["description"]


def test_the_home_page_counts_from_the_first_baseline(site: Site) -> None:
    later, verdicts = promoted(site)
    first, entry = later.baselines
    path = entry.submission
    rows = (BoardRow(first.submission, 1.0, "claimed"), BoardRow(path, 0.96, "confirmed"))
    later = dc.replace(later, baselines=(first, dc.replace(entry, board=rows)))
    then = baselines(make_board(later, verdicts), "../")
    assert then is not None
    assert [row["state"] for row in then["rows"][0]["board"]] == ["baseline", "confirmed"]
    page = home_page(Site({ID: make_board(later, verdicts)}))
    assert "0.9600 <small>of the first baseline’s training time</small>" in page
    assert "of the baseline’s training time" in home_page(site)


def entry_of(site: Site, board: TrackBoard, name: str) -> str:
    return entry_page(site, board, board.items[f"submissions/{ID}/{name}"], Lineage(site), "0" * 64)


@pytest.mark.parametrize("name", ["grandchild", "lucky"])
def test_a_settled_entry_is_not_said_to_wait(site: Site, board: TrackBoard, name: str) -> None:
    page = entry_of(site, board, name)
    assert "not yet reproduced" not in page and "not yet run again" not in page
    assert " style=" not in page  # the policy of a page refuses it
    state = {"grandchild": "confirmed", "lucky": "refuted"}[name]
    assert f'<small class="why">{state}</small>' in page
    assert "run again by others in 3 pairs of runs" in page


def test_a_claimed_entry_says_so_once(site: Site, board: TrackBoard) -> None:
    page = entry_of(site, board, "child")
    assert "Claimed; nobody else has run it yet." in page and "not yet run again" in page
    assert "recorded, not yet reproduced" not in page
    assert f"<code>/submit {ID} LINK... baseline LINK... reproduces {ID}/child</code>" in page


def test_the_program_is_installed_from_what_the_competition_keeps(tmp_path: Path) -> None:
    assert program_of(tmp_path) == "speedrun-bot"
    put(tmp_path, "pyproject.toml", "")
    assert program_of(tmp_path) == "."
    put(tmp_path, ".github/speedrun/speedrun_bot-9.9.9-py3-none-any.whl", "")
    kept = program_of(tmp_path)
    assert kept == "./.github/speedrun/speedrun_bot-9.9.9-py3-none-any.whl"
    site = Site({}, repository="https://github.com/example-user/race", program=kept)
    line = f"pip install '{kept}[bot]'"
    assert site.install == [f"git clone {site.repository} speedrun && cd speedrun", line]
    assert line.replace("'", "&#39;") in home_page(site)
    assert all(f"    {line}" in dict(doc_files(site))[f"{n}.md"] for n in ("submit", "single-gpu"))


def test_what_waits_for_confirmation_is_wanted(site: Site) -> None:
    page = str(dict(wanted_files(site))["wanted.md"])
    assert f"reproduces {ID}/child" in page and "can become the next baseline" not in page
    assert f"reproduces {ID}/grandchild" not in page and f"reproduces {ID}/first" not in page


def test_what_is_claimed_is_no_record(site: Site) -> None:
    found = people(site)
    assert (found["gambler"].records, found["gambler"].claimed) == ([], 0)
    assert "record" not in person_page(found["gambler"])[0]["description"]


def test_what_people_did_for_others_has_a_list(site: Site) -> None:
    found = people(site)
    _, critic = person_page(found["critic"])
    assert "Reproductions and challenges" in critic and "found a mistake" in critic
    assert "No entry of theirs" not in critic
    head, host = person_page(found["host"])
    assert head["description"].endswith("1 baseline.")
    assert "frozen on 2026-01-02: code" in host


def test_a_closed_track_offers_no_place_yet() -> None:
    closed = dc.replace(
        synthetic.BASELINE, baseline_id=None, description="Fill it with `speedrun data build`."
    )
    for rules, shown in ((closed, False), (synthetic.BASELINE, True)):
        board = make_board(rules, [])
        text = str(dict(track_files(Site({rules.id: board}), board))[f"tracks/{rules.id}/index.md"])
        assert ("A place in three commands" in text) is shown
        assert ("Not open yet" in text) is not shown
        assert ("<code>speedrun data build</code>" in text) is not shown
