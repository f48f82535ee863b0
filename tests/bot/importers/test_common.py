"""Names, origins and writing: what all importers share."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.importers import (
    MAX_COMPONENTS,
    SLUG,
    Import,
    Imported,
    Origin,
    SourceError,
    files_of,
    origin_of,
    slug,
    submission_json,
    unnested,
    write,
)

PART = st.text(string.ascii_letters + string.digits + "_-. +é", min_size=1, max_size=12)
NAME = st.lists(PART, min_size=1, max_size=6).map("/".join)


@given(NAME)
def test_a_slug_is_a_safe_name(name):
    parts = slug(name).split("/")
    assert len(parts) <= MAX_COMPONENTS
    assert all(SLUG.fullmatch(part) for part in parts)


@given(NAME, NAME)
def test_two_names_give_two_slugs(a, b):
    def canonical(name):
        return [part for part in name.split("/") if part not in ("", ".")]

    assert (slug(a) == slug(b)) == (canonical(a) == canonical(b))


@pytest.mark.parametrize("name", ["adamc_llama_scaling/130m", "a/b/c/d", "1_2b"])
def test_a_safe_name_stays(name):
    assert slug(name) == name


def test_names_that_differ_in_case_or_punctuation_stay_apart():
    assert len({slug(n) for n in ("1.2b", "1_2b", "1-2b", "1.2B", "1_2B")}) == 5
    assert slug("1.2b").startswith("1_2b-")


def test_a_long_name_is_cut_and_told_apart():
    a, b = slug("x" * 100), slug("x" * 101)
    assert a != b
    assert max(len(a), len(b)) <= 64


def test_a_submission_inside_another_moves_it_aside():
    items = [Imported("t/a", {}), Imported("t/a/130m", {}), Imported("t/b", {})]
    assert [i.path for i in unnested(items)] == ["t/a/main", "t/a/130m", "t/b"]


def test_origin_is_read_from_git_files(tmp_path):
    git = tmp_path / ".git"
    (git / "refs/heads").mkdir(parents=True)
    (git / "config").write_text('[remote "origin"]\n\turl = git@github.com:example/board.git\n')
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs/heads/main").write_text("a" * 40 + "\n")
    (tmp_path / "records").mkdir()
    origin = origin_of(tmp_path / "records", "https://github.com/other/one")
    assert origin == Origin("https://github.com/example/board", "a" * 40)
    assert origin.link("x/y.json") == (f"https://github.com/example/board/blob/{'a' * 40}/x/y.json")


@pytest.mark.parametrize(
    "config, head",
    [
        ('[remote "origin"]\nurl = https://token@evil.example/x/y\n', "ref: refs/heads/main\n"),
        ("not a config", "ref: ../../../etc/passwd\n"),
        ("", "zzz\n"),
    ],
)
def test_a_strange_git_folder_gives_no_origin_of_its_own(tmp_path, config, head):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text(config)
    (tmp_path / ".git/HEAD").write_text(head)
    assert origin_of(tmp_path, "https://github.com/o/r") == Origin("https://github.com/o/r")


def test_links_and_hidden_folders_are_not_followed(tmp_path):
    (tmp_path / "real.txt").write_text("x")
    (tmp_path / "link.txt").symlink_to("real.txt")
    (tmp_path / "up").symlink_to("..")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text("x")
    assert [p.name for p in files_of(tmp_path)] == ["real.txt"]


def test_no_folder_is_one_sentence(tmp_path):
    with pytest.raises(SourceError, match="is not a folder; give the folder"):
        list(files_of(tmp_path / "missing"))


def an_import(text=b"1"):
    runs = [{"source": "log", "path": "a.log"}]
    data = submission_json("t", "A", runs=runs, imported={"url": "u"})
    return Import((Imported("t/a", {"submission.json": data, "a.log": text}),))


def test_writing_twice_changes_nothing(tmp_path):
    assert write(tmp_path, an_import()) == (1, 0)
    assert write(tmp_path, an_import()) == (0, 1)
    assert write(tmp_path, an_import(b"2")) == (1, 0)
    assert (tmp_path / "submissions/t/a/a.log").read_bytes() == b"2"


def test_a_folder_that_people_wrote_is_left_alone(tmp_path):
    folder = tmp_path / "submissions/t/a"
    folder.mkdir(parents=True)
    mine = json.dumps({"title": "mine"})
    (folder / "submission.json").write_text(mine)
    with pytest.raises(SourceError, match="was not imported; it stays as it is"):
        write(tmp_path, an_import())
    assert (folder / "submission.json").read_text() == mine


def test_two_entries_of_one_name_are_refused(tmp_path):
    item = Imported("t/a", {"submission.json": b"{}"})
    with pytest.raises(SourceError, match="two entries of the source would both become t/a"):
        write(tmp_path, Import((item, item)))
    assert not (tmp_path / "submissions").exists()
