"""The report: first line, place, cause and remedy; four forms that say the same."""

from __future__ import annotations

import json
import re

import pytest

from bot.model.submission import Folder
from bot.model.verdict import Finding, Verdict
from bot.parse.track_toml import load_tracks
from bot.registry import Grade, Level, Status
from bot.render.terminal import (
    _sentence,
    number,
    summary_line,
    to_annotations,
    to_json,
    to_markdown,
    to_text,
)
from bot.verify import verify
from tests.conftest import ROOT
from tests.corpus.variants import changed

TRACKS = load_tracks(ROOT)


def judged(name: str) -> Verdict:
    file = Folder("r.json", {"r.json": changed(name, lambda info: None)}, bare=True)
    return verify(file, TRACKS, track_id="fineweb-edu")


def test_the_worst_file_in_words() -> None:
    text = to_text(judged("v1_fp32"))
    assert text.splitlines()[0] == "\u2717 rejected: needs changes"
    assert "3 errors" in text and "self-reported numbers" in text
    for words in (
        "960 times too low",
        "minutes were multiplied as if they were seconds",
        "fp32 peak of A100",
        "Fix: write 3.12e+14",
        "and this goes away",
    ):
        assert words in re.sub(r"\s+", " ", text), words
    assert re.search(r"hardware-flops-mismatch  line \d+", text)
    assert re.search(r"hardware FLOPs +4\.5660e\+15 +4\.3833e\+18 +0\.001042  <", text)


def test_a_good_file_in_words() -> None:
    text = to_text(judged("v4"))
    assert text.startswith("\u2713 consistent: all checks pass") and "no findings" in text
    assert "<" not in text


def test_columns_are_aligned_and_lines_short() -> None:
    lines = to_text(judged("v1_fp32"), width=80).splitlines()
    assert all(len(line) <= 80 for line in lines)
    table = lines[lines.index("Numbers") + 1 :]
    ends = {re.search(r"recomputed|[0-9]  ", line).end() for line in table[:1]}
    assert len(ends) == 1


def test_colour_only_where_asked() -> None:
    verdict = judged("v1_fp32")
    assert "\x1b[" not in to_text(verdict) and "\x1b[31m" in to_text(verdict, colour=True)
    assert re.sub(r"\x1b\[\d+m", "", to_text(verdict, colour=True)) == to_text(verdict)


def test_markdown_says_what_blocks_and_links_rules() -> None:
    text = to_markdown(judged("v1_fp32"), rules_url="https://example.org/rules/")
    assert text.startswith("**Needs changes**")
    assert "[hardware-flops-mismatch](https://example.org/rules/hardware-flops-mismatch/)" in text
    assert "### What blocks" in text and "| hardware FLOPs |" in text


def hostile() -> Verdict:
    bad = "<img src=x onerror=alert(1)> @example-user #1 | \u202e [a](javascript:b) `x`"
    finding = Finding("schema", Level.ERROR, bad, bad, 3, bad, bad, bad, None, bad, bad, bad)
    return Verdict(bad, bad, Status.REJECTED, Grade.LOG, (finding,) * 500, (), title=bad)


def test_hostile_text_in_every_field_stays_text() -> None:
    text = to_markdown(hostile())
    outside = re.sub(r"\\.|(`+)(?:(?!\1).)*?\1", "", text)
    for harm in ("<img", "@example", "#1", "](javascript", "\u202e"):
        assert harm not in outside, harm
    assert len(text) <= 60_000 and "left out" in text
    for line in to_annotations(hostile()):
        assert "\n" not in line and line.startswith("::error file=")
        assert "," not in line.split("file=")[1].split(",line=")[0]


def test_annotations_carry_file_line_and_fix() -> None:
    lines = list(to_annotations(judged("v2_cores")))
    assert len(lines) == 1
    assert re.match(r"::error file=r\.json,line=\d+,title=hardware-flops-mismatch::", lines[0])
    assert "Fix:" in lines[0]
    assert list(to_annotations(judged("v4"))) == ["::notice title=speedrun::r.json: consistent"]


def test_json_is_strict_and_complete() -> None:
    report = json.loads(to_json([judged("v1_fp32")]), parse_constant=lambda c: pytest.fail(c))
    assert report["schema_version"] == 2
    keys = {
        "rule",
        "level",
        "message",
        "file",
        "line",
        "pointer",
        "claimed",
        "expected",
        "ratio",
        "fix",
    }
    assert keys <= set(report["verdicts"][0]["findings"][0])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (0, "0"),
        (16, "16"),
        (2599944192, "2,599,944,192"),
        (4.59e14, "4.5900e+14"),
        (1.17614, "1.17614"),
        (1e-9, "1.0000e-09"),
        (54420.352921210935, "54420.4"),
        (-3, "-3"),
    ],
)
def test_numbers(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_a_line_for_several() -> None:
    assert summary_line([judged("v4"), judged("v3"), judged("v0")]) == (
        "3 checked: 2 consistent, 1 rejected"
    )


def test_where_it_would_stand_and_what_the_runs_prove() -> None:
    log = (ROOT / "tests" / "bot" / "data" / "logs" / "plain.log").read_bytes()
    verdict = verify(Folder("a.log", {"a.log": log}, bare=True), TRACKS, track_id="nanogpt-small")
    for show in (to_text, to_markdown):
        text = show(verdict, place="would be place 3 of 41")
        assert "Would be place 3 of 41" in text
        assert re.search(r"1 run: loss mean \d", text)
    assert "claimed" not in to_text(verdict)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the run is odd", "The run is odd"),
        ("a/b.log is also there", "a/b.log is also there"),
        ("training_time_s is claimed", "training_time_s is claimed"),
        ("loss is", "Loss is"),
    ],
)
def test_a_sentence_that_begins_with_a_name_keeps_it(text: str, shown: str) -> None:
    assert _sentence(text) == shown


def test_an_entry_that_would_not_rank_is_not_told_that_all_is_done() -> None:
    verdict = judged("v4")
    why = "would not rank: it has no baseline arm (`--interleave baseline` of the trainer)"
    assert "Nothing blocks" in to_text(verdict)
    for form in (to_text(verdict, place=why), to_markdown(verdict, place=why)):
        assert "what a place on the board needs is said above" in form
        assert "Nothing needs doing" not in form and "`--interleave baseline`" in form
