"""The history of a record, on file or not: one gain each, gaps, people, words, and the chart."""

from __future__ import annotations

import csv
import dataclasses as dc
import io
import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

import pytest

from bot.model.official import OfficialRecord, OfficialTable
from bot.model.submission import Contributor, Submission
from bot.model.summary import Decision, Sample, Summary
from bot.model.verdict import Finding, Point, Verdict
from bot.paths import schema_path
from bot.registry import Grade, Level, Status
from leaderboard_site import feeds, techniques
from leaderboard_site.about import about, of_language, starter
from leaderboard_site.badges import badge, badge_svg
from leaderboard_site.milestones import milestones, on_file
from leaderboard_site.model import Item, Site, TrackBoard, make_board
from leaderboard_site.pages import home, people, plots, reference, search, story, track
from leaderboard_site.pages.docs import navigation
from leaderboard_site.pages.environment import FEEDS
from leaderboard_site.pages.story_files import chart_csv, story_csv
from leaderboard_site.states import shown_rules, state_of
from tests.site import synthetic

TABLE = OfficialTable(
    (
        OfficialRecord(1, 2700.0, "2024-05-28", contributors=("ann",)),
        OfficialRecord(
            2, 900.0, "2024-08-01", submission="submissions/target/two", contributors=("Ben",)
        ),
        OfficialRecord(3, 400.0, "2025-01-01", contributors=("ann", "cy"), pull_requests=(7,)),
        OfficialRecord(
            4, 390.0, "2025-02-01", submission="submissions/target/four", contributors=("cy",)
        ),
    ),
    "https://github.com/o/r",
    "README.md",
    "0123abc",
)
OFFICIAL = dc.replace(synthetic.TARGET, official=TABLE)


def verdict(name: str, cost: float, date: str, n: int = 3) -> Verdict:
    stats = Summary(
        quality=Sample((3.27,) * n),
        interval=(3.26, 3.28),
        decision=Decision("t", None, 0.001, True),
    )
    point = Point("main", 3.27, cost, {"training_time_s": cost}, stats)
    return Verdict(
        f"submissions/target/{name}",
        "target",
        Status.VERIFIED,
        Grade.LOG,
        (),
        (point,),
        title=f"The {name}",
        date=date,
    )


def board(*more: Verdict) -> TrackBoard:
    verdicts = (
        verdict("two", 950.0, "2024-08-01"),
        verdict("four", 401.0, "2025-02-01", n=1),
        *more,
    )
    return make_board(OFFICIAL, verdicts)


def site(*boards: TrackBoard) -> Site:
    return Site({b.track.id: b for b in boards})


def test_the_history_has_what_is_not_on_file_and_one_gain_each() -> None:
    rows = milestones(board())
    assert [(m.number, m.cost, m.place is not None) for m in rows] == [
        (1, 2700.0, False),
        (2, 900.0, True),
        (3, 400.0, False),
        (4, 390.0, True),
    ]
    assert [m.gain for m in rows] == [
        None,
        pytest.approx(-2 / 3),
        pytest.approx(-5 / 9),
        pytest.approx(-0.025),
    ]
    assert [m.previous for m in rows if m.step] == [s.previous for s in board().board.records]
    assert (rows[1].days, rows[-1].stands) == (153, True)
    assert on_file(board()) == (2, 4)


def test_a_new_entry_stands_after_the_table() -> None:
    rows = milestones(board(verdict("five", 380.0, "2025-03-01")))
    assert [m.number for m in rows] == [1, 2, 3, 4, None]
    assert rows[-1].gain == pytest.approx(-10 / 390)


def test_the_title_is_the_finding() -> None:
    told = story.story(board(), "")
    assert told is not None
    assert told["title"] == "From 45 min to 390 s in 8 months"
    assert "The last" in told["words"] and "2.5" in told["words"]
    assert [r["gain"] for r in told["rows"]] == ["−2.50", "−55.56", "−66.67", "–"]
    assert [r["unproved"] for r in told["rows"] if r["number"] == 4] == [
        "one run on file: p < 0.01 is not shown here"
    ]


def test_a_result_far_from_the_records_does_not_flatten_their_line() -> None:
    slow, slower = verdict("slow", 3000.0, "2025-03-01"), verdict("far", 60_000.0, "2025-03-02")
    crowded = board(slow, slower)
    dated = [m for m in milestones(crowded) if m.date]
    near, far = story.others_near(crowded, dated)
    assert ([cost for _, cost in near], far) == ([3000.0], 1)
    told = story.story(crowded, "")
    assert told is not None
    assert told["others"] == "other entries (1 far from the records is not drawn)"
    assert story.others_near(board(slow), dated)[1] == 0


def test_a_record_of_one_run_is_marked_only_where_a_test_is_asked() -> None:
    asked = board()
    item = asked.items["submissions/target/four"]
    assert story.unproved(asked, item, item.best)
    two = asked.items["submissions/target/two"]
    assert not story.unproved(asked, two, two.best)
    free = dc.replace(OFFICIAL, significance=dc.replace(OFFICIAL.significance, test="none"))
    assert not story.unproved(dc.replace(asked, track=free), item, item.best)


def test_the_lead_says_whose_evidence_is_not_on_file() -> None:
    newer = OfficialTable((*TABLE.records, OfficialRecord(5, 300.0, "2025-06-01")))
    without = make_board(
        dc.replace(OFFICIAL, official=newer), [verdict("two", 950.0, "2024-08-01")]
    )
    words = track.lead(without)
    assert "official record is <strong>300.0 s</strong>" in words or "300 s" in words
    assert "#5" in words and "not on file" in words and "1 of 5" in words
    assert "not on file" not in track.lead(board())


def inverse(svg: str, axis: str, at: float) -> float:
    """The data value of a pixel, by the scale that the chart carries."""
    found = re.search(rf'"{axis}":\[([^\]]+)\]', svg)
    assert found is not None
    low, high, start, end, log = (float(v) for v in found[1].split(","))
    share = (at - start) / (end - start)
    return low * math.exp(share * math.log(high / low)) if log else low + share * (high - low)


def dots(svg: str) -> list[tuple[str, str, float, float, str]]:
    """(href, words, x, y, class) of every point that is a link, in data units."""
    out = []
    pattern = (
        r'<a href="([^"]*)"><title>([^<]*)</title><circle class="([^"]*)" cx="([^"]*)" cy="([^"]*)"'
    )
    for href, words, kind, cx, cy in re.findall(pattern, svg):
        out.append((href, words, inverse(svg, "x", float(cx)), inverse(svg, "y", float(cy)), kind))
    return out


def test_each_dot_of_the_record_is_its_milestone() -> None:
    whole = board(verdict("slow", 500.0, "2025-03-01"))
    told = story.story(whole, "")
    assert told is not None
    wide = told["svg"].split("</svg>")[0]
    rows = milestones(whole)
    found = dots(wide)
    assert len(found) == len(rows)
    for (href, words, day, cost, kind), m in zip(found, rows, strict=True):
        assert day == pytest.approx(m.date and story.text.ordinal_day(m.date), abs=1)
        assert cost == pytest.approx(m.cost, rel=2e-3)
        assert f"#{m.number} " in words
        assert kind == ("record" if m.place else "claimed")
        assert m.item is None or href == m.item.url
    assert found[2][0] == "https://github.com/o/r/pull/7"
    assert wide.count("frontier gap") == 1


@pytest.mark.parametrize("relative", [False, True])
def test_each_dot_of_the_board_is_its_entry(relative: bool) -> None:
    whole = synthetic.site(300).tracks["pareto"]
    data = plots.against(whole, "hardware_flops")
    wide = plots.quality_chart(whole, data, "", relative=relative).split("</svg>")[0]
    rows = {item.url: (value, place.entry.quality) for item, place, value in data.rows}
    found = dots(wide)
    assert len(found) == len(data.front)
    for href, _, x, y, _ in found:
        cost, quality = rows[href]
        assert x == pytest.approx(cost, rel=0.01)
        assert y == pytest.approx(0.0 if relative else quality, abs=2e-3)


def test_the_files_under_the_charts_are_exact() -> None:
    rows = list(csv.DictReader(io.StringIO(story_csv(board()))))
    assert [r["cost"] for r in rows] == ["2700", "900", "400", "390"]
    assert [r["cost_of_its_own_runs"] for r in rows] == ["", "950", "", "401"]
    pareto = synthetic.site(60).tracks["pareto"]
    data = plots.against(pareto, "hardware_flops")
    listed = list(csv.DictReader(io.StringIO(chart_csv(pareto, data))))
    assert [float(r["bpb"]) for r in listed] == [p.entry.quality for _, p, _ in data.rows]
    best = [i for i, r in enumerate(listed) if r["best_on_these_axes"] == "True"]
    assert best == sorted(data.front)


def test_a_pareto_board_shows_its_frontiers_over_time() -> None:
    whole = synthetic.site(200).tracks["pareto"]
    told = story.story(whole, "")
    assert told is not None
    found = re.fullmatch(
        r"Bits per byte for (\S+) FLOPs: from (\S+) to (\S+) since Jul 2024", told["title"]
    )
    assert found is not None
    cost, then, now = map(float, found.groups())
    # By hand: the best that costs no more, among the first fifth of the entries and among all.
    dated = sorted((i.verdict.date, i.path, p.entry) for i, p in whole.places)
    entries = [e for *_, e in dated]
    for part, shown in ((entries[: len(entries) // 5], then), (entries, now)):
        best = min(e.quality for e in part if e.shown_cost <= cost * 1.005)
        assert best == pytest.approx(shown, abs=6e-5)
    assert told["svg"].count("age0") == 2
    assert len(dots(told["svg"].split("</svg>")[0])) == len(whole.board.frontier)


def test_people_have_pages_with_their_records_on_file_or_not() -> None:
    everybody = people.people(site(board()))
    assert set(everybody) == {"ann", "ben", "cy"}
    cy = everybody["cy"]
    assert [m.number for _, m in cy.records] == [4] and [m.number for _, m in cy.unread] == [3]
    head, body = people.person_page(cy)
    assert head["description"] == "cy: 1 entry on file, 2 records set (1 of them not on file)."
    assert 'href="../../../entries/target/four/"' in body and "stands" in body


def test_a_baseline_is_the_projects_and_nobodys() -> None:
    about = Submission(
        "submissions/baseline/baseline-0",
        "baseline",
        "baseline-0",
        contributors=(Contributor("example-user-7"),),
    )
    made = dc.replace(synthetic.baseline_verdict(0), submission=about.path)
    whole = make_board(synthetic.BASELINE, [made], {about.path: about})
    item = whole.items[about.path]
    assert (item.people, item.persons) == ("the project", ())
    assert people.people(site(whole)) == {}
    other = make_board(
        dc.replace(synthetic.BASELINE, baseline_id=None), [made], {about.path: about}
    )
    assert other.items[about.path].people == "example-user-7"


def test_the_account_of_the_project_is_no_person() -> None:
    verdict = synthetic.target_verdict(0)
    named = dc.replace(synthetic.about(verdict), contributors=(Contributor("example-user"),))
    whole = make_board(synthetic.TARGET, [verdict], {verdict.submission: named})
    (item,) = whole.items.values()
    assert (item.people, item.persons) == ("the project", ())
    assert people.people(site(whole)) == {}


@pytest.mark.parametrize(
    ("label", "title", "stated", "tags"),
    [
        ("2025-07-18_TritonMuon", "TritonMuon", None, ["muon", "kernels"]),
        ("adamw_llama_scaling/130m", "", None, ["adam"]),
        ("2025-10-04_Backout", "Backout", None, []),
        ("2025-10-04_Backout", "Backout", ["fp8", "no-such-tag"], ["fp8"]),
        ("2025-07-18_TritonMuon", "TritonMuon", [], []),
        ("parameters", "A money matter", None, []),
    ],
)
def test_tags_come_from_the_submission_else_from_its_own_name(
    label: str, title: str, stated: Sequence[str] | None, tags: list[str]
) -> None:
    raw = {} if stated is None else {"techniques": stated}
    about = Submission(f"submissions/target/{label}", "target", label, raw=raw)
    item = Item(
        dc.replace(verdict("x", 1.0, "2025-01-01"), submission=about.path, title=title), about
    )
    assert [t.id for t in techniques.techniques_of(item)] == tags


def test_which_entries_used_a_technique() -> None:
    whole = board(
        verdict("muon-five", 380.0, "2025-03-01"), verdict("muon-six", 700.0, "2024-12-01")
    )
    (group,) = reference.technique_groups(site(whole))
    assert group["technique"].id == "muon"
    assert [r["item"].name for r in group["rows"]] == ["muon-five", "muon-six"]
    assert track.facets(whole) == [{"id": "muon", "title": "Muon and its variants", "count": 2}]


def warned(status: Status, grade: Grade = Grade.LOG, **fields: object) -> Verdict:
    rules = ("run-not-bound", "mfu-unusual", "seed-reused")
    findings = tuple(Finding(name, Level.WARNING, "") for name in rules)
    base = verdict("x", 1.0, "2025-01-01")
    return dc.replace(base, status=status, evidence=grade, findings=findings, **fields)


def test_a_review_says_which_warnings_it_waits_for() -> None:
    state = state_of(warned(Status.NEEDS_REVIEW))
    assert (state.kind, state.name) == ("needs-review", "Needs review")
    assert shown_rules(state) == "run not bound, MFU unusual and 1 more"
    accepted = warned(Status.NEEDS_REVIEW, accepted={"run-not-bound": "fine"})
    assert shown_rules(state_of(accepted)) == "MFU unusual, seed reused"
    assert state_of(warned(Status.VERIFIED)).rules == ()


def test_what_the_author_alone_says_is_never_shown_as_verified() -> None:
    state = state_of(warned(Status.CONSISTENT, Grade.SELF_REPORTED))
    assert (state.kind, state.name) == ("consistent", "Consistent, self-reported")


def test_feeds_say_what_was_beaten() -> None:
    files = dict(feeds.feed_files(site(board())))
    mine = ET.fromstring(files["feeds/target.xml"])
    texts = [e.text or "" for e in mine.iter("{http://www.w3.org/2005/Atom}summary")]
    assert texts[0].startswith("Beats #3, not on file: 400 s to 390 s, −2.50 %.")
    assert set(files) == {f"feeds/{name}.xml" for name in ("target", *FEEDS)}


def test_a_badge_holds_the_record_and_no_markup_of_a_title() -> None:
    shown = badge(board())
    picture = badge_svg(f"<b>{shown['label']}", shown["message"])
    assert ET.fromstring(picture).attrib["aria-label"].endswith(shown["message"])
    assert "<b>" not in picture


def test_the_search_finds_people_techniques_numbers_and_words_of_documents() -> None:
    data = search.search_data(site(board()), {"submit.md": "# Hello\n\nA `peculiar` word."})
    rows = {(title, kind) for title, _, kind, _ in data["pages"]}
    assert ("cy", "person") in rows and ("Statistics", "document") in rows
    texts = {url: words for _, url, _, words in data["pages"]}
    assert "peculiar word" in texts["submit/"]
    assert ["four", "The four", 4] in data["entries"]["target"]


def test_empty_pages_are_not_in_the_navigation() -> None:
    shown = str(navigation(site(board())))
    for name in ("pending.md", "experiments.md", "wanted.md"):
        assert name not in shown
    assert "people" in shown
    pulls, tests = synthetic.lists()
    full = dc.replace(site(board()), pending=pulls, experiments=tests)
    for name in ("pending.md", "experiments.md", "wanted.md"):
        assert name in str(navigation(full))


def test_a_track_without_a_baseline_says_what_opens_it() -> None:
    closed = make_board(dc.replace(synthetic.BASELINE, baseline_id=None), [])
    page = dict(track.track_files(site(closed), closed))["tracks/baseline/index.md"]
    assert "Not open yet" in page and "speedrun baseline make baseline" in page
    assert "Not open yet" in home.home_page(site(closed))
    opened = make_board(synthetic.BASELINE, [])
    assert track.not_open(opened) == []


def test_every_board_is_one_click_from_every_board() -> None:
    whole = synthetic.site(60)
    for each in whole.tracks.values():
        page = dict(track.track_files(whole, each))[f"tracks/{each.track.id}/index.md"]
        for other in whole.tracks:
            assert f'href="../../tracks/{other}/"' in page


def test_the_tags_of_the_board_are_those_that_a_submission_may_name() -> None:
    schema = json.loads(schema_path("submission.schema.json").read_text(encoding="utf-8"))
    allowed = schema["properties"]["techniques"]["items"]["enum"]
    assert allowed == [tag.id for tag in techniques.techniques()]


def test_a_competition_of_no_language_model_speaks_of_its_own_tracks() -> None:
    made = board()
    axis = dc.replace(made.track.quality, metric="accuracy", unit="%", target=94.0)
    track = dc.replace(made.track, title="Digits to 94 %", quality=axis)
    digits = site(dc.replace(made, track=track))
    assert (about(digits), starter(digits)) == ("Digits to 94 %", "")
    for name in ("bits-per-byte.md", "single-gpu.md", "walkthrough.md"):
        assert name not in str(navigation(digits))
    words = site(dc.replace(made, track=dc.replace(track, quality=dc.replace(axis, metric="bpb"))))
    assert of_language(words) and "bits-per-byte.md" in str(navigation(words))
