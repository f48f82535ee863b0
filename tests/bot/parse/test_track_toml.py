"""Mistakes in a track file: one sentence each, with the line, what stands there, what to write."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.github.host.doctor_tracks import look_at_tracks
from bot.model.track import TrackError
from bot.parse.track_schema import problems_in
from bot.parse.track_toml import load_track, load_tracks, read_track
from bot.paths import schema_path

ROOT = Path(__file__).resolve().parents[3]
GOOD = """schema_version = 1
id = "one"
title = "One"
objective = "target"

[quality]
metric = "loss"
goal = "min"
target = 3.28

[cost]
metric = "training_time_s"
"""

BEST = """schema_version = 1
id = "one"
title = "One"
objective = "best"
[quality]
metric = "accuracy"
[metrics.accuracy]
label = "Accuracy"
from = ['accuracy: (.+)']
[evidence]
accepts = ["log"]
[significance]
test = "none"
"""


def put(root: Path, text: str | bytes, name: str = "one.toml") -> Path:
    path = root / "tracks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


CHANGED = [
    ('title = "One"', 'titel = "One"', 'line 3: the file has the unknown key "titel"; did you'),
    ('title = "One"\n', "", "line 1: the file lacks the key title"),
    ("schema_version = 1", "schema_version = 2", "line 1: schema_version is 2, this program kn"),
    ("schema_version = 1", 'schema_version = "1"', 'line 1: schema_version is "1", this program'),
    ("schema_version = 1", "schema_version = true", "line 1: schema_version is true, this pro"),
    (
        '"target"',
        '"targt"',
        'objective is "targt", expected "pareto", "target", "baseline" or "best"',
    ),
    ("[cost]", "[costs]", 'line 11: the file has the unknown key "costs"; did you mean "cost"?'),
    ('[cost]\nmetric = "training_time_s"\n', "", "line 1: the file lacks a table [cost]"),
    ("3.28", '"3.28"', 'line 9: quality.target is "3.28", expected a number; write 3.28 without'),
    ("3.28", "nan", "line 9: quality.target is NaN, expected a number"),
    ("3.28", "true", "line 9: quality.target is true, expected a number"),
    ("target = 3.28\n", "", 'line 6: objective "target" needs the value to reach'),
    ('goal = "min"', 'goal = "lower"', 'quality.goal is "lower", expected "min" or "max"'),
    ('goal = "min"', 'gaol = "min"', '[quality] has the unknown key "gaol"; did you mean "goal"?'),
    ('[quality]\nmetric = "loss"', "[quality]", "line 6: [quality] lacks the key metric"),
    ('id = "one"', 'id = "One Two"', 'line 2: id is "One Two", expected lower-case letters'),
    ('id = "one"', "id = 1", "line 2: id is 1, expected a text in quotes"),
]
ADDED = [
    ('[significance]\ntest = "t-test"', '14: significance.test is "t-test", expected "t", "z"'),
    ("[significance]\nalpha = 5", "significance.alpha is 5, expected a number between 0 and 1"),
    ("[significance]\nmin_runs = 2.5", "significance.min_runs is 2.5, expected a whole number"),
    ('[significance]\ntest = "z"', 'line 13: test "z" needs a known deviation'),
    ('[hardware]\naccelerators = "h100"', 'key "accelerators"; did you mean "accelerator"?'),
    ("[hardware]\ncount = 0", "hardware.count is 0, expected a whole number above 0"),
    ('[submissions]\nglobs = "records/*/"', 'expected a list in [ ]; write ["records/*/"]'),
    ('[levels]\n"too-few-run" = "note"', 'names the rule "too-few-run", unknown; did you'),
    ('[levels]\n"witnesses-disagree" = "note"', 'sets "witnesses-disagree" to "note", and would'),
    ('[levels]\n"duplicate-run" = "off"', 'line 14: [levels] sets "duplicate-run" to "off", and'),
    ('[levels]\n"mfu-unusual" = "warn"', 'is "warn", expected "error", "warning", "note" or'),
    ('[evidence]\naccepts = [\n "wandb",\n "logs"]', '14: evidence.accepts[2] is "logs", expected'),
    ('[evidence.keys]\nvalidation = ["x"]', '"validation", expected "loss", "bpb", "train_loss"'),
    ('[[rules]]\ndate = "2025-05-24"\ntext = "x"', '14: rules[1].date is "2025-05-24", expected'),
    ("[[rules]]\ndate = 2025-05-24T00:00:00Z\ntext = 'x'", "expected a day without quotes"),
    ("[[rules]]\ndate = 2025-05-24", "line 13: [rules[1]] lacks the key text"),
    ("[[rules]]\ndate = 2025-05-24\ntext = 'x'\n[[rules]]\ndate = 3\ntext = ''", "17: rules[2]."),
    (
        "[[rules]]\ndate = 2025-05-24\ntext = 'x'\n[rules.before.quality]\ntargt = 3",
        '17: [rules[1].before.quality] has the unknown key "targt"; did you mean "target"?',
    ),
    ("[compute_grant]\ntop = 3", "line 13: [compute_grant] lacks the key gpu_hours"),
    ("[compute_grant]\ntop = 0\ngpu_hours = 9", "compute_grant.top is 0, expected a whole"),
    (
        '[evidence]\naccepts = ["results"]\n[compute_grant]\ntop = 1\ngpu_hours = 9',
        "nobody can be eligible",
    ),
    ("[baseline]\npromote_at = -1", "baseline.promote_at is -1, expected a ratio above 0"),
    ("baseline = 3", 'line 13: [cost] has the unknown key "baseline"'),
    ('[data]\nsubmitted = true\ncorpus = "c"', "needs the text that scores; write validation ="),
    (
        '[data]\nsubmitted = true\ncorpus = "c"\nvalidation = "v"\ntrain = "t"',
        "17: data.train fixes the training data",
    ),
    ('[[data.verified]]\ntrain = "t"', "[data.verified[1]] lacks the key date"),
    ('[recipe.optimizer]\nname = "muon"', "14: recipe.optimizer.name is a text, which the record"),
    ("[recipe.model]\nhidden = [1]", "recipe.model.hidden is [1], expected a number or"),
    ("[data]\nnote = '''\n[levels]\nx = 1\n'''", 'line 14: [data] has the unknown key "note"'),
]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((GOOD.replace(before, after, 1), words) for before, after, words in CHANGED),
        *((f"{GOOD}{more}\n", words) for more, words in ADDED),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    path = put(tmp_path, text)
    with pytest.raises(TrackError) as caught:
        load_track(path)
    assert words in str(caught.value)
    assert re.match(rf"{re.escape(str(path))}: line \d+: ", str(caught.value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "more",
    [
        '"witnesses-disagree" = "warning"',
        '"duplicate-run" = "error"',
        '"too-few-runs" = "note"',
        '"hardware-flops-mismatch" = "off"',
    ],
)
def test_levels_that_hide_nothing(tmp_path: Path, more: str) -> None:
    name, level = (part.strip(' "') for part in more.split("="))
    track = load_track(put(tmp_path, f"{GOOD}[levels]\n{more}\n"))
    assert track.levels == {name: level}


@pytest.mark.parametrize(
    ("more", "sound"),
    [
        ('[levels]\n"author-not-contributor" = "note"', False),
        ('[levels]\n"author-not-contributor" = "error"', True),
        ('by = "maintainer"\n[levels]\n"author-not-contributor" = "note"', True),
    ],
)
def test_who_opened_a_reproduction_is_among_its_people(
    tmp_path: Path, more: str, sound: bool
) -> None:
    text = GOOD.replace('"target"', '"baseline"') + f"[reproduction]\nruns = 3\n{more}\n"
    if sound:
        assert load_track(put(tmp_path, text)).reproduction is not None
    else:
        with pytest.raises(TrackError, match="could confirm it in another name"):
            load_track(put(tmp_path, text))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            GOOD.replace("One", "Gr\u00fc\u00dfe").encode("latin-1"),
            "line 3: byte 0xfc is not UTF-8",
        ),
        (b"\xef\xbb\xbf" + GOOD.encode(), "line 1: begins with a byte order mark"),
        (GOOD.encode("utf-16"), "line 1: byte 0xff is not UTF-8"),
        (b"id = one\n", "not readable as TOML: Invalid value (at line 1, column 6)"),
        (b'id = "a"\nid = "b"\n', "not readable as TOML: Cannot overwrite a value (at line 2"),
        (b"[[rules]]\ndate = 2025-13-45\n", "not readable as TOML"),
        (b"a = " + b"[" * 100_000, "not readable as TOML"),
        (b"a = " + b"9" * 10_000, "not readable as TOML"),
        (b"", "lacks the key schema_version"),
        (b"title = [" + b"[" * 400 + b"]" * 400 + b"]", "title is "),
        (b'levels."a\\nb\\u202e" = "x"', r'levels."a\nb\u202e" is "x", expected'),
        (b"x = [" + b'"", ' * 100_000 + b"]", 'has the unknown key "x"'),
    ],
)
def test_bytes_that_are_no_track(data: bytes, words: str) -> None:
    with pytest.raises(TrackError, match=re.escape(words)):
        read_track(data, "tracks/one.toml")


@pytest.mark.parametrize(
    "command",
    [
        ["doctor"],
        ["audit"],
        ["recent"],
        ["new", "one/mine"],
        ["stats", "--track", "one", "x.log"],
        ["check", "x"],
        ["site", "generate"],
        ["baseline", "status", "one"],
    ],
)
def test_every_command_says_it_without_a_traceback(tmp_path: Path, command: list[str]) -> None:
    put(tmp_path, GOOD.replace("title", "titel"))
    (tmp_path / "x.log").write_text("")
    arguments = [*command, "--root", str(tmp_path)]
    answer = CliRunner().invoke(main, arguments)
    assert isinstance(answer.exception, SystemExit), answer.exception
    assert answer.exit_code != 0
    assert 'line 3: the file has the unknown key "titel"; did you mean "title"?' in answer.output


def test_a_folder_and_two_tracks_of_one_id(tmp_path: Path) -> None:
    put(tmp_path, GOOD)
    put(tmp_path, GOOD, "two.toml")
    with pytest.raises(TrackError, match='two.toml: id is "one", expected "two" as the file name'):
        load_tracks(tmp_path)
    (tmp_path / "tracks/two.toml").unlink()
    (tmp_path / "tracks/two.toml").mkdir()
    with pytest.raises(TrackError, match="two.toml: cannot be read: Is a directory"):
        load_tracks(tmp_path)


def said(root: Path) -> str:
    return "\n".join(line.text for line in look_at_tracks(root) if line.bad)


def test_doctor_tells_every_mistake_of_every_track(tmp_path: Path) -> None:
    put(tmp_path, GOOD.replace("title", "titel").replace('"min"', '"less"'))
    put(tmp_path, GOOD, "two.toml")
    put(tmp_path, GOOD, "three.yml")
    words = said(tmp_path)
    assert 'tracks/one.toml: line 3: the file has the unknown key "titel"' in words
    assert 'tracks/one.toml: line 8: quality.goal is "less"' in words
    assert 'tracks/two.toml: id is "one", expected "two"' in words
    assert "tracks/three.yml is not read" in words


@pytest.mark.parametrize(
    ("old", "new", "problems"),
    [
        ("", "", 0),
        ('objective = "best"\n', "", 1),
        ('"best"', '"bset"', 1),
        ('"none"', '"ttest"', 1),
        ('["log"]', '["logs"]', 1),
        ('["log"]', '["wandb"]', 1),
        ('"none"', '"t"', 1),
        ('"best"', '"pareto"', 1),
    ],
)
def test_what_follows_from_a_typo_is_no_second_problem(old: str, new: str, problems: int) -> None:
    text = BEST.replace(old, new)
    assert len(list(problems_in(tomllib.loads(text), text))) == problems


def test_doctor_tells_what_a_track_names_and_nothing_is(tmp_path: Path) -> None:
    put(tmp_path, GOOD.replace('"training_time_s"', '"wall"'))
    assert 'cost.metric is "wall", which nothing supplies' in said(tmp_path)
    put(
        tmp_path,
        GOOD + '[hardware]\naccelerator = "h1000"\n[baseline]\nid = "gone"\n'
        '[submissions]\nglobs = ["runs/*/"]\n'
        '[[retimings]]\nsubmission = "submissions/one/a"\nof = "x"\ndate = 2026-01-01\n',
    )
    words = said(tmp_path)
    assert '[hardware] accelerator "h1000" is unknown' in words
    assert '[baseline] id is "gone", but there is neither gone nor submissions/one/gone' in words
    assert '[submissions] globs: "runs/*/" matches nothing' in words
    assert '[[retimings]] submission is "submissions/one/a"' in words
    assert '[[retimings]] of is "x"' in words
    for place in ("submissions/one/gone", "submissions/one/a", "submissions/one/x", "runs/first"):
        (tmp_path / place).mkdir(parents=True)
    assert len(said(tmp_path).splitlines()) == 2


def test_the_tracks_here_are_in_order() -> None:
    assert [line.text for line in look_at_tracks(ROOT) if line.bad] == []


def test_the_page_for_hosts_names_every_key() -> None:
    import json

    page = (ROOT / "leaderboard_site/docs/host.md").read_text(encoding="utf-8")
    schema = json.loads(schema_path("track.schema.json").read_text(encoding="utf-8"))
    tables = schema["properties"]
    keys = (
        set(tables)
        | {
            key
            for name in (
                "quality",
                "cost",
                "significance",
                "hardware",
                "data",
                "baseline",
                "evidence",
                "submissions",
            )
            for key in tables[name]["properties"]
        }
        | set(tables["evidence"]["properties"]["keys"]["properties"])
    )
    assert [
        key
        for key in sorted(keys)
        if not re.search(rf"[`\[]{key}[`\]]", page) and f"evidence.{key}" not in page
    ] == []
