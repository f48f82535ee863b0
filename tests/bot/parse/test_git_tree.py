"""Old versions read from git as data."""

import os
import subprocess

import pytest

from bot.parse.git_tree import GitError, export, on_main, resolve
from tests.bot.competition import commit, put


def test_a_revision_is_written_as_it_was(tmp_path):
    root, out = tmp_path / "root", tmp_path / "out"
    put(root, "tracks/a.toml", "old\n")
    put(root, "other/b.txt", "not asked for\n")
    old = commit(root)
    put(root, "tracks/a.toml", "new\n")
    commit(root)
    assert export(root, old, ["tracks", "submissions"], out) == 1
    assert (out / "tracks/a.toml").read_text() == "old\n"
    assert not (out / "other").exists()


def test_bytes_and_strange_names_survive(tmp_path):
    root, out = tmp_path / "root", tmp_path / "out"
    put(root, "t/with space\n.txt", "x")
    (root / "t/bin").write_bytes(bytes(range(256)) + b"\nabc 5\n")
    (root / "t/empty").write_bytes(b"")
    commit(root)
    assert export(root, "main", ["t"], out) == 3
    assert (out / "t/bin").read_bytes() == bytes(range(256)) + b"\nabc 5\n"
    assert (out / "t/empty").read_bytes() == b""
    assert (out / "t/with space\n.txt").read_text() == "x"


def test_links_are_left_out(tmp_path):
    root, out = tmp_path / "root", tmp_path / "out"
    put(root, "t/a", "x")
    os.symlink("/etc/passwd", root / "t/link")
    commit(root)
    assert export(root, "HEAD", ["t"], out) == 1


def test_a_folder_of_a_repository_has_its_own_paths(tmp_path):
    put(tmp_path, "competition/tracks/a.toml", "x")
    commit(tmp_path)
    assert export(tmp_path / "competition", "HEAD", ["tracks"], tmp_path / "out") == 1
    assert (tmp_path / "out/tracks/a.toml").exists()


@pytest.mark.parametrize("revision", ["nowhere", "--output=x", "HEAD^{tree}", "a b"])
def test_what_is_no_commit_is_one_sentence(tmp_path, revision):
    put(tmp_path, "a", "x")
    commit(tmp_path)
    with pytest.raises(GitError, match="name a branch, a tag or a commit"):
        resolve(tmp_path, revision)


def test_no_repository_is_one_sentence(tmp_path):
    with pytest.raises(GitError, match="is not a commit of the repository"):
        export(tmp_path, "HEAD", ["a"], tmp_path / "out")


def test_a_folder_is_on_main_until_it_changes(tmp_path):
    upstream, clone, name = tmp_path / "upstream", tmp_path / "clone", "submissions/t/{}/s.json"
    put(upstream, name.format("a"), "1")
    commit(upstream)
    assert on_main(upstream, "submissions/t/a")
    subprocess.run(["git", "clone", "--quiet", str(upstream), str(clone)], check=True)
    put(clone, name.format("b"), "1")
    commit(clone)
    assert on_main(clone, "submissions/t/a")
    assert not on_main(clone, "submissions/t/b")  # committed, and not upstream
    put(clone, name.format("a"), "2")
    assert not on_main(clone, "submissions/t/a")
    assert not on_main(tmp_path, "submissions/t/a")
