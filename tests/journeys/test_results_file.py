"""A newcomer's mistakes in a results file: units, chips, peaks and keys.

Each is mended by doing literally what the answer says: the line that it suggests, or the key, text
or number that its fix names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from bot.model.report import Settings
from bot.model.submission import Folder
from bot.parse.track_toml import load_tracks
from bot.render.answer import Answer, Where, answer
from bot.render.comment import to_markdown
from bot.render.groups import Group
from bot.verify import verify
from tests.bot.render.words import before_next, visible, words
from tests.conftest import ROOT
from tests.corpus.variants import changed, put, scaled

TRACKS = load_tracks(ROOT)
ROUNDS = 5


def text(change: Callable[[str], str]) -> bytes:
    return change(changed("v4", lambda info: None).decode()).encode()


FLOPS, TIME = "training_hardware_flops", "training_time"
MISTAKES: tuple[tuple[str, str, bytes], ...] = (
    ("minutes", "hardware-flops-mismatch", changed("v4", scaled(FLOPS, 1 / 60))),
    ("hours", "hardware-flops-mismatch", changed("v4", scaled(FLOPS, 1 / 3600))),
    ("milliseconds", "hardware-flops-mismatch", changed("v4", scaled(TIME, 1000.0))),
    ("time-in-minutes", "hardware-flops-mismatch", changed("v4", scaled(TIME, 1 / 60))),
    ("exaflops", "hardware-flops-mismatch", changed("v4", scaled(FLOPS, 1e-18))),
    ("petaflops", "hardware-flops-mismatch", changed("v4", scaled(FLOPS, 1e-15))),
    ("cores", "hardware-flops-mismatch", changed("v2_cores", lambda info: None)),
    ("sparse", "hardware-flops-mismatch", changed("v4", scaled(FLOPS, 2.0))),
    ("fp32", "hardware-flops-mismatch", changed("v1_fp32", lambda info: None)),
    ("model-flops", "model-flops-mismatch", changed("v4", scaled("model_flops", 1 / 3))),
    ("tokens", "token-count-mismatch", changed("v4", scaled("total_tokens", 2.0))),
    ("bpb-text", "schema", changed("v4", put(bpb="1.1761"))),
    ("bpb-percent", "metric-implausible", changed("v4", put(bpb=117.61))),
    ("misspelled", "schema", text(lambda t: t.replace('"training_time"', '"trainign_time"'))),
    ("comma", "json-invalid", text(lambda t: t.replace(",\n", "\n", 1))),
    ("trailing", "json-invalid", text(lambda t: re.sub(r"(\d)\n(\s*})", r"\1,\n\2", t, count=1))),
    ("bom", "json-invalid", text(lambda t: "\ufeff" + t)),
    ("nan", "json-invalid", text(lambda t: re.sub(r'("training_time": )[^,]+', r"\1NaN", t))),
)
NAMES = [name for name, _, _ in MISTAKES]
UNKNOWN = {"bpb-percent": 1.1761, "nan": 4556.4377}
"""What only the author knows: the number that was measured."""


def said(data: bytes) -> Answer:
    folder = Folder("r.json", {"r.json": data}, bare=True)
    return answer(verify(folder, TRACKS, track_id="fineweb-edu"), where=Where.FILE)


@pytest.mark.parametrize(("name", "rule", "data"), MISTAKES, ids=NAMES)
def test_the_right_cause_comes_first(name: str, rule: str, data: bytes) -> None:
    item = said(data)
    assert item.groups[0].rule == rule, [g.says for g in item.groups]
    body = to_markdown(item, Settings())
    assert before_next(body) <= 15
    assert len(words(visible(body))) <= 120 + 60 * len(item.groups)


@pytest.mark.parametrize(("name", "rule", "data"), MISTAKES, ids=NAMES)
def test_doing_what_the_answer_says_makes_it_pass(name: str, rule: str, data: bytes) -> None:
    for _ in range(ROUNDS):
        item = said(data)
        if item.verdict.status.counts:
            return
        data = follow(item.groups[0], data, UNKNOWN.get(name))
    assert said(data).verdict.status.counts, said(data).verdict.findings


def follow(group: Group, data: bytes, known: float | None) -> bytes:
    """The file after what a group says was done, with what it also settles."""
    lines = data.decode("utf-8-sig").split("\n")
    for finding in (*group.findings, *group.follows):
        fix, line = finding.fix or "", finding.line or 0
        place = re.match(r"column (\d+)", finding.message)
        rename = re.search(r"rename `([^`]+)` to `([^`]+)`", fix)
        number = re.match(r"write (-?[\d.]+(?:e-?\d+)?) in `([^`]+)`", fix)
        plain = re.match(r"write (-?[\d.]+(?:e-?\d+)?)", fix)
        if finding.suggestion:
            lines[line - 1] = finding.suggestion
        elif rename:
            lines = [one.replace(f'"{rename[1]}"', f'"{rename[2]}"') for one in lines]
        elif number:
            lines = [_value(one, number[2], number[1]) for one in lines]
        elif 'add the ","' in fix and place:
            lines = _inserted(lines, line, int(place[1]))
        elif "remove that comma" in fix:
            before = "\n".join(lines)
            lines = re.sub(r",(\s*[}\]])", r"\1", before, count=1).split("\n")
        elif finding.pointer and (plain or known is not None):
            key = finding.pointer.rpartition("/")[2].replace("~1", "/")
            lines = [_value(one, key, plain[1] if plain else repr(known)) for one in lines]
        elif "NaN" in finding.message and known is not None:
            lines = [one.replace("NaN", repr(known)) for one in lines]
        elif "byte order mark" not in finding.message and not finding.because:
            raise AssertionError(f"{finding.rule}: {finding.message}: {fix}")
    return "\n".join(lines).encode()


def _value(line: str, key: str, value: str) -> str:
    return re.sub(rf"({re.escape(json.dumps(key))}: )[^,\n]+", lambda m: m[1] + value, line)


def _inserted(lines: list[str], line: int, column: int) -> list[str]:
    """A comma after what stands before a place."""
    head = "\n".join([*lines[: line - 1], lines[line - 1][: column - 1]]).rstrip()
    text = "\n".join(lines)
    return f"{head},{text[len(head) :]}".split("\n")
