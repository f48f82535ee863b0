"""Credit, the text of a track file, the history of baselines."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.baseline import (
    Baseline,
    BaselineError,
    Credit,
    credit,
    history_path,
    read_history,
    with_baseline,
    write,
)
from bot.submission import Contributor, Submission
from bot.track import load_track
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
    entries = dict([
        entry("base", {"old-hand": ("code",)}),
        entry("idea", {"thinker": ("idea",)}, based_on="base"),
        entry("win", {"coder": ("code",), "writer": ("writing",)}, based_on="one/idea"),
        entry("again", {"runner": ("runs",)}, based_on="submissions/one/win"),
        entry("else", {"bystander": ("idea",)}, based_on="base"),
    ])
    found = credit("submissions/one/win", entries, until="submissions/one/base")
    assert logins(found) == {
        "coder": ("code",), "writer": ("writing",), "thinker": ("idea",), "runner": ("runs",)
    }


def test_roles_of_one_person_are_joined():
    entries = dict([
        entry("a", {"Example-User": ("runs",)}),
        entry("b", {"example-user": ("idea", "runs")}, based_on="a"),
    ])
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


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from(["id", "promote_at", "z"]), st.sampled_from(["1", '"b0"']),
                    max_size=3),
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
        name, f"submissions/one/{name}", "2026-01-02", "training_time_s", (600.5, 601.0),
        (3.27, 3.275), **fields,
    )


def test_history_grows_and_comes_back(tmp_path):
    put(tmp_path, "tracks/one.toml", BASELINE)
    first = frozen("b1", device="NVIDIA A100", count=1)
    second = frozen(
        "b2", after="b1", ratio=0.89, interval=(0.88, 0.9),
        credits=(Credit("example-user", None, ("idea",), ("submissions/one/b2",)),),
    )
    for item in (first, second):
        write(tmp_path, load_track(tmp_path / "tracks/one.toml"), item)
    assert read_history(tmp_path, "one") == (first, second)
    track = load_track(tmp_path / "tracks/one.toml")
    assert (track.baseline_id, track.promote_at) == ("b2", 0.9)
    assert "# a tenth less" in (tmp_path / "tracks/one.toml").read_text()


def test_the_same_baseline_is_not_frozen_twice(tmp_path):
    put(tmp_path, "tracks/one.toml", BASELINE)
    track = load_track(tmp_path / "tracks/one.toml")
    write(tmp_path, track, frozen("b1"))
    with pytest.raises(BaselineError, match="b1 is the baseline of one since 2026-01-02"):
        write(tmp_path, track, frozen("b1"))


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"schema_version": 2}', '{"schema_version": 1, "baselines": [{}]}']
)
def test_a_broken_history_is_one_sentence(tmp_path, text):
    path = history_path(tmp_path, "one")
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(BaselineError, match="one.baselines.json"):
        read_history(tmp_path, "one")
