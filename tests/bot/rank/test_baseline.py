"""Credit, the text of a track file, the history of baselines."""

import dataclasses as dc
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model.submission import Contributor, Submission
from bot.model.track import Baseline, Credit, TrackError
from bot.parse.track_toml import load_track, parse_track
from bot.rank.baseline import (
    BaselineError,
    credit,
    measured_against,
    relation,
    with_baseline,
    write,
)
from tests.bot.competition import BASELINE, put


def entry(name, people, based_on=None, imported=None):
    contributors = tuple(Contributor(login, roles=roles) for login, roles in people.items())
    path = f"submissions/one/{name}"
    return path, Submission(
        path, "one", name, contributors=contributors, based_on=based_on, imported=imported
    )


def logins(found):
    return {person.github: person.roles for person in found}


def test_idea_runs_code_and_writing_may_be_four_people():
    entries = dict(
        [
            entry("base", {"old-hand": ("code",)}),
            entry("idea", {"thinker": ("idea",)}, based_on="base"),
            entry("win", {"coder": ("code",), "writer": ("writing",)}, based_on="one/idea"),
            entry("again", {"runner": ("runs",)}, based_on="submissions/one/win"),
            entry("else", {"bystander": ("idea",)}, based_on="base"),
        ]
    )
    found = credit("submissions/one/win", entries, until="submissions/one/base")
    assert logins(found) == {
        "coder": ("code",),
        "writer": ("writing",),
        "thinker": ("idea",),
        "runner": ("runs",),
    }


def test_roles_of_one_person_are_joined():
    entries = dict(
        [
            entry("a", {"Example-User": ("runs",)}),
            entry("b", {"example-user": ("idea", "runs")}, based_on="a"),
        ]
    )
    (person,) = credit("submissions/one/b", entries)
    assert person == Credit(
        "example-user", None, ("idea", "runs"), ("submissions/one/b", "submissions/one/a")
    )


def test_a_circle_of_based_on_ends():
    entries = dict([entry("a", {"x": ()}, based_on="b"), entry("b", {"y": ()}, based_on="a")])
    assert set(logins(credit("submissions/one/a", entries))) == {"x", "y"}


def test_authors_of_an_imported_entry_are_credited():
    authors = [{"github": "example-user", "name": "Example"}, {"name": "No Login"}, 3]
    entries = dict([entry("a", {}, imported={"url": "https://example.org", "authors": authors})])
    (person,) = credit("submissions/one/a", entries)
    assert (person.github, person.name) == ("example-user", "Example")


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a = 1\n", 'a = 1\n\n[baseline]\nid = "b1"\n'),
        ("[baseline]\npromote_at = 0.9\n", '[baseline]\nid = "b1"\npromote_at = 0.9\n'),
        (
            '[baseline]  # here\nid = "b0"  # old\n\n[x]\nid = "stays"\n',
            '[baseline]  # here\nid = "b1"\n\n[x]\nid = "stays"\n',
        ),
        (
            '[x]\nid = "stays"\n\n[baseline]\n# why\nid="b0"\n',
            '[x]\nid = "stays"\n\n[baseline]\n# why\nid = "b1"\n',
        ),
    ],
)
def test_the_track_file_keeps_its_other_lines(text, expected):
    assert with_baseline(text, "b1", "t.toml") == expected


@given(
    st.dictionaries(
        st.sampled_from(["id", "promote_at", "z"]), st.sampled_from(["1", '"b0"']), max_size=3
    ),
    st.booleans(),
)
def test_the_track_file_says_what_it_said(keys, followed):
    text = "a = 1\n[baseline]\n" + "".join(f"{k} = {v}\n" for k, v in keys.items())
    text += '[after]\nid = "kept"\n' if followed else ""
    before = tomllib.loads(text)
    after = tomllib.loads(with_baseline(text, "b1", "t.toml"))
    assert after == {**before, "baseline": {**before["baseline"], "id": "b1"}}


def test_what_would_not_come_out_right_is_refused():
    text = 'baseline = {id = "b0"}\n'
    with pytest.raises((BaselineError, tomllib.TOMLDecodeError)):
        with_baseline(text, "b1", "t.toml")
    nested = 'text = """\n[baseline]\n"""\n'
    with pytest.raises(BaselineError, match='write id = "b1" under'):
        with_baseline(nested, "b1", "t.toml")


def frozen(name, **fields):
    return Baseline(
        name,
        f"submissions/one/{name}",
        "2026-01-02",
        "training_time_s",
        (600.5, 601.0),
        (3.27, 3.275),
        **fields,
    )


def test_history_grows_and_comes_back(tmp_path):
    put(tmp_path, "tracks/one.toml", BASELINE)
    path = tmp_path / "tracks/one.toml"
    people = (
        Credit("example-user", 'A "quoted" n\u00e4me', ("idea",), ("submissions/one/b2",)),
        Credit("other", None, (), ()),
    )
    first = frozen("b1", device="NVIDIA A100", count=1)
    second = frozen("b2", after="b1", ratio=0.89, interval=(0.88, 0.9), credits=people)
    for item in (first, second):
        assert write(load_track(path), item) == path
    track = load_track(path)
    assert track.baselines == (first, second)
    assert (track.baseline_id, track.promote_at) == ("b2", 0.9)
    assert path.read_text().startswith(BASELINE.split("[baseline]")[0])
    assert "# a tenth less" in path.read_text()


def test_the_same_baseline_is_not_frozen_twice(tmp_path):
    put(tmp_path, "tracks/one.toml", BASELINE)
    write(load_track(tmp_path / "tracks/one.toml"), frozen("b1"))
    with pytest.raises(BaselineError, match="b1 is the baseline of one since 2026-01-02"):
        write(load_track(tmp_path / "tracks/one.toml"), frozen("b1"))


@pytest.mark.parametrize(
    "table",
    [
        "",
        'id = "b"\nsubmission = "s"\nfrozen_on = "today"\ncost_metric = "x"\ncosts = []',
        'id = "b"\nsubmission = "s"\nfrozen_on = 2026-01-01\ncost_metric = "x"\ncosts = ["1"]',
        'id = "b"\nsubmission = "s"\nfrozen_on = 2026-01-01\ncost_metric = "x"\ncosts = [nan]',
        'id = "b"\nsubmission = "s"\nfrozen_on = 2026-01-01\ncost_metric = "x"\ncosts = []\n'
        "ratio = 0",
        'id = "b"\nsubmission = "s"\nfrozen_on = 2026-01-01\ncost_metric = "x"\ncosts = 3',
    ],
)
def test_an_incomplete_history_is_one_sentence(tmp_path, table):
    put(tmp_path, "tracks/one.toml", f"{BASELINE}\n[[baselines]]\n{table}\n")
    with pytest.raises(TrackError, match=r"one.toml: line \d+: "):
        load_track(tmp_path / "tracks/one.toml")
    data = tomllib.loads(f"{BASELINE}\n[[baselines]]\n{table}\n")
    with pytest.raises(TrackError, match=r"one.toml: a table \[\[baselines\]\] is incomplete"):
        parse_track(data, "one.toml")


# ---- What an entry was measured against --------------------------------------------------------

CHAIN = (
    dc.replace(frozen("b1"), frozen_on="2026-01-01"),
    dc.replace(frozen("b2", after="b1", ratio=0.9), frozen_on="2026-02-01"),
    dc.replace(frozen("b3", after="b2", ratio=0.8), frozen_on="2026-03-01"),
    dc.replace(frozen("b4"), frozen_on="2026-04-01"),
)


TRACK = dc.replace(parse_track(tomllib.loads(BASELINE), "one.toml"), baselines=CHAIN)


@pytest.mark.parametrize(
    "based_on, date, expected",
    [
        ("b1", "2026-03-05", "b1"),
        ("one/b2", None, "b2"),
        ("submissions/one/b2", None, "b2"),
        ("somebody", "2026-02-15T10:00:00Z", "b2"),
        (None, "2026-02-01", "b2"),
        (None, "2025-01-01", "b1"),
        (None, None, "b3"),
    ],
)
def test_the_baseline_of_an_entry(based_on, date, expected):
    assert measured_against(TRACK, "b3", based_on, date) == expected


@pytest.mark.parametrize(
    "own, current, scale",
    [
        ("b3", "b3", 1.0),
        ("b2", "b3", 1 / 0.8),
        ("b1", "b3", 1 / 0.72),
        ("b1", "b2", 1 / 0.9),
        ("b3", "b4", None),
        ("unknown", "b4", None),
    ],
)
def test_ratios_are_put_on_one_scale(own, current, scale):
    found = relation(CHAIN, own, current)
    assert found is scale if scale is None else found == pytest.approx(scale)
