"""An answer on a terminal, as JSON and as annotations: what it says, and that it stays safe."""

from __future__ import annotations

import dataclasses as dc
import json
import re

import pytest

from bot.model.report import Settings
from bot.model.run import Witness, WitnessKind
from bot.model.submission import Folder
from bot.model.verdict import Finding, Verdict
from bot.parse.track_toml import load_tracks
from bot.registry import Grade, Level, Status
from bot.render.answer import Answer, Where, answer
from bot.render.comment import to_markdown
from bot.render.details import witness_rows
from bot.render.place import place
from bot.render.terminal import summary_line, to_annotations, to_json, to_text
from bot.verify import verify
from tests.conftest import ROOT
from tests.corpus.variants import changed

TRACKS = load_tracks(ROOT)
SETTINGS = Settings(site="https://example.org")


def judged(name: str) -> Verdict:
    file = Folder("r.json", {"r.json": changed(name, lambda info: None)}, bare=True)
    return verify(file, TRACKS, track_id="fineweb-edu")


def answered(name: str) -> Answer:
    verdict = judged(name)
    return answer(verdict, place(verdict, TRACKS["fineweb-edu"], None), Where.FILE)


@pytest.mark.parametrize("width", [40, 80])
def test_a_command_is_never_broken_so_that_it_can_be_copied(width: int) -> None:
    command = f"speedrun new TRACK/NAME --results {'a' * 80}.json"
    told = dc.replace(answered("v1_fp32"), next=f"make a submission of the file: `{command}`.")
    assert command in to_text(told, width=width)
    near = to_text(dc.replace(told, next="words " * 40), width=width)
    assert all(len(line) <= width for line in near.splitlines())


def test_the_worst_file_in_words() -> None:
    lines = to_text(answered("v1_fp32")).splitlines()
    assert lines[0] == "❌ Needs changes: one thing to fix"
    assert lines[1] == "Next: make the fix below and run the check again."
    text = re.sub(r"\s+", " ", " ".join(lines))
    for words in (
        "960 times too low",
        "minutes were multiplied as if they were seconds",
        "Fix: write 4.3833",
        "This also settles `device-peak-mismatch`",
        "and `mfu-impossible`",
    ):
        assert words in text, words
    assert re.search(r"hardware-flops-mismatch line \d+", text)


def test_what_is_folded_is_shown_when_asked_for() -> None:
    item = answered("v1_fp32")
    assert "recomputed" not in to_text(item) and "With -v" in to_text(item)
    text = to_text(item, verbose=True)
    assert re.search(r"Hardware FLOPs +4\.566e15 FLOPs +4\.383e18 FLOPs +0\.001042 !", text)
    assert "Settled with hardware-flops-mismatch." in text and "With -v" not in text


def test_a_good_file_in_words() -> None:
    text = to_text(answered("v4"))
    assert text.startswith(
        "☑️ Consistent, self-reported: 1.1761 bits/byte at 8.366e18 FLOPs\nNext: "
    )
    assert "error" not in text and "!" not in text


@pytest.mark.parametrize("width", [40, 80, 100])
def test_lines_are_as_short_as_asked(width: int) -> None:
    lines = to_text(answered("v1_fp32"), width=width, verbose=True).splitlines()
    assert all(len(line) <= width for line in lines if "`" not in line)


def test_a_command_is_never_broken_in_two() -> None:
    text = to_text(answered("v4"), width=60)
    assert "`speedrun new TRACK/NAME --results r.json`" in text


def test_colour_only_where_asked() -> None:
    item = answered("v1_fp32")
    assert "\x1b[" not in to_text(item) and "\x1b[31m" in to_text(item, colour=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", to_text(item, colour=True)) == to_text(item)


def test_markdown_has_the_line_to_write_and_links_rules() -> None:
    text = to_markdown(answered("v1_fp32"), SETTINGS)
    assert text.startswith("### ❌ Needs changes: one thing to fix\n\n**Next:** ")
    assert "[`hardware-flops-mismatch`](https://example.org/rules/hardware-flops-mismatch/)" in text
    assert re.search(r'```json\n +"total_training_flops": 4\.3833\d+e18,\n   ```\n', text)


def hostile() -> Answer:
    bad = "<img src=x onerror=alert(1)> @example-user #1 | \u202e [a](javascript:b) `x`"
    item = Finding("schema", Level.ERROR, bad, bad, 3, bad, bad, bad, None, bad, bad, bad, bad, bad)
    return answer(Verdict(bad, bad, Status.REJECTED, Grade.LOG, (item,) * 500, (), title=bad))


def test_hostile_text_in_every_field_stays_text() -> None:
    text = to_markdown(hostile(), SETTINGS)
    fences = re.sub(r"(?ms)^ *(`{3,}).*?^ *\1", "", text)
    outside = re.sub(r"\\.|(`+)(?:(?!\1).)*?\1", "", fences)
    for harm in ("<img", "@example", "#1", "](javascript", "\u202e"):
        assert harm not in outside, harm
    assert len(text) <= 60_000
    for line in to_annotations(hostile()):
        assert "\n" not in line and line.startswith("::error file=")
        assert "," not in line.split("file=")[1].split(",line=")[0]


def test_annotations_carry_file_line_and_fix() -> None:
    lines = list(to_annotations(answered("v2_cores")))
    assert len(lines) == 1
    assert re.match(r"::error file=r\.json,line=\d+,title=hardware-flops-mismatch::", lines[0])
    assert "Fix:" in lines[0]
    [good] = to_annotations(answered("v4"))
    assert good.startswith("::notice title=speedrun::r.json: Consistent, self-reported: 1.1761")


def test_json_is_strict_and_complete() -> None:
    report = json.loads(to_json([judged("v1_fp32")]), parse_constant=lambda c: pytest.fail(c))
    assert report["schema_version"] == 2
    keys = {"rule", "level", "message", "file", "line", "pointer", "claimed", "expected"}
    keys |= {"ratio", "fix", "write", "suggestion", "because"}
    assert keys <= set(report["verdicts"][0]["findings"][0])


def test_a_line_for_several() -> None:
    assert summary_line([judged("v4"), judged("v3"), judged("v0")]) == (
        "3 checked: 2 consistent, self-reported; 1 needs changes"
    )


def test_what_each_number_rests_on() -> None:
    verdict = judged("v4")
    rows = {title: (value, who) for title, value, who in witness_rows(verdict)}
    assert rows["Bits per byte"][1] == "the results file (author)"
    (point,) = verdict.points
    machine = (
        Witness("runtime_s", 90.0, WitnessKind.MACHINE, "the client's `_runtime`"),
        Witness("runtime_s", 95.0, WitnessKind.SERVICE, "W&B's created and heartbeat times"),
    )
    several = dc.replace(point, rests_on={"runtime_s": machine})
    ((_, value, who),) = witness_rows(dc.replace(verdict, points=(several,)))
    assert value == "90.00 s" and "`_runtime` (machine): 90.00 s; W&B's created" in who
