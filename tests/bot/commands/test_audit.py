"""audit and recent on a small competition."""

import json

import pytest
from click.testing import CliRunner

from bot.commands.audit import audit, recent
from bot.parse.track_toml import load_tracks
from bot.rank.audit import boards_of, difference, from_json, to_json
from tests.bot.competition import TARGET, commit, put, submission


@pytest.fixture
def root(tmp_path):
    put(tmp_path, "tracks/fast.toml", TARGET)
    submission(tmp_path, "fast", "first", [(3.27, 100.0), (3.275, 100.4)])
    submission(tmp_path, "fast", "second", [(3.279, 90.0), (3.2795, 90.4)])
    commit(tmp_path)
    return tmp_path


def run(command, root, *arguments):
    return CliRunner().invoke(command, [*arguments, "--root", str(root)])


def changes(root, *arguments):
    answer = run(audit, root, "--format", "json", *arguments)
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.output)["changes"]


def test_every_submission_is_verified_and_ranked(root):
    answer = run(audit, root, "--format", "json")
    data = json.loads(answer.output)
    places = [(e["submission"], e["place"]) for e in data["boards"]["fast"]["entries"]]
    assert places == [("submissions/fast/second", 1), ("submissions/fast/first", 2)]
    assert len(data["verdicts"]) == 2


def test_nothing_changed_is_said(root):
    answer = run(audit, root, "--against", "HEAD")
    assert answer.exit_code == 0
    assert answer.output.endswith("No difference.\n")


def test_a_stricter_target_shows_who_falls(root):
    put(root, "tracks/fast.toml", TARGET.replace("target = 3.28", "target = 3.278"))
    found = {c["submission"]: c for c in changes(root, "--against", "HEAD")}
    second = found["submissions/fast/second"]
    assert (second["kind"], second["before"], second["after"]) == ("gone", 1, None)
    assert any(word.startswith("+ target-missed") for word in second["words"])
    first = found["submissions/fast/first"]
    assert (first["kind"], first["before"], first["after"]) == ("moved", 2, 1)


def test_a_new_submission_is_new(root):
    submission(root, "fast", "third", [(3.27, 95.0)])
    found = {c["submission"]: c for c in changes(root, "--against", "main")}
    third = found["submissions/fast/third"]
    assert (third["kind"], third["after"], third["words"]) == ("new", 2, ["not there before"])
    assert found["submissions/fast/first"]["kind"] == "moved"


def test_a_former_audit_is_compared_too(root, tmp_path):
    """So that a change of the rules themselves can be shown: each side by its own code."""
    former = json.loads(run(audit, root, "--format", "json").output)
    former["verdicts"][0]["status"] = "rejected"
    entries = former["boards"]["fast"]["entries"]
    gone = former["verdicts"][0]["submission"]
    former["boards"]["fast"]["entries"] = [e for e in entries if e["submission"] != gone]
    path = tmp_path / "former.json"
    path.write_text(json.dumps(former))
    (change,) = [c for c in changes(root, "--against", str(path)) if c["kind"] == "new"]
    assert change["submission"] == "submissions/fast/first"
    assert "status rejected -> verified" in change["words"] or any(
        word.startswith("status rejected -> ") for word in change["words"]
    )


def test_markdown_is_a_list(root):
    put(root, "tracks/fast.toml", TARGET.replace("target = 3.28", "target = 3.278"))
    answer = run(audit, root, "--against", "HEAD", "--format", "markdown")
    (line,) = [x for x in answer.output.splitlines() if "fast/first" in x]
    assert line.startswith("- fast: submissions/fast/first: place 2 ")
    assert "\\>" in line


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--against", "nowhere"], "name a branch, a tag or a commit"),
        (["--track", "none"], 'there is no track "none"; known tracks: fast'),
        (["--snapshots", "nowhere"], "--snapshots: nowhere is not a commit"),
        (["--evidence"], "--evidence needs snapshots"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(root, arguments, words):
    answer = run(audit, root, *arguments)
    assert answer.exit_code == 2
    assert words in answer.output
    assert "Traceback" not in answer.output


def test_a_file_of_another_shape_is_refused(root, tmp_path):
    path = tmp_path / "x.json"
    for text in ("[]", "{}", '{"schema_version": 9, "verdicts": []}', "nonsense"):
        path.write_text(text)
        answer = run(audit, root, "--against", str(path))
        assert answer.exit_code == 2
        assert str(path) in answer.output


def test_an_old_revision_with_a_broken_track_is_named(root):
    put(root, "tracks/fast.toml", "id = 3")
    old = commit(root)
    put(root, "tracks/fast.toml", TARGET)
    answer = run(audit, root, "--against", old)
    assert answer.exit_code == 2
    assert "--against" in answer.output


def test_a_folder_without_tracks_is_refused(tmp_path):
    answer = run(audit, tmp_path)
    assert answer.exit_code == 2
    assert "has no folder tracks/" in answer.output


def test_rejected_submissions_are_listed_and_fail(root):
    submission(root, "fast", "bad", [(3.5, 80.0)])
    answer = run(audit, root)
    assert answer.exit_code == 1
    assert "rejected: submissions/fast/bad: target-missed" in answer.output


def test_json_comes_back(root):
    data = json.loads(run(audit, root, "--format", "json").output)
    tracks = load_tracks(root)
    found = from_json(data, tracks)
    again = boards_of(found.verdicts, tracks)
    assert difference(found, again) == ()
    assert json.loads(json.dumps(to_json(found))) == data


def test_recent_shows_the_newest_first(root):
    for name, date in (("a", "2025-01-01"), ("b", "2026-01-01")):
        imported = {"url": "https://github.com/example/board", "date": date}
        seconds = 80.0 if name == "b" else 85.0
        submission(root, "fast", name, [(3.27, seconds)], imported=imported)
    lines = run(recent, root).output.splitlines()
    assert lines[0].startswith("2026-01-01  submissions/fast/b: ")
    assert lines[0].endswith("place 1 of 4, a record")
    assert lines[1].startswith("2025-01-01  submissions/fast/a: ")
    assert len(run(recent, root, "--limit", "1").output.splitlines()) == 1
    assert run(recent, root, "--days", "1").exit_code == 2


def test_what_has_no_place_is_named_with_the_reason(root):
    levels = '\n[levels]\n"target-missed" = "note"\n'
    put(root, "tracks/fast.toml", TARGET + levels)
    submission(root, "fast", "slow", [(3.4, 80.0), (3.41, 80.2)])
    why = "its validation loss 3.405 misses the target 3.28"
    answer = run(audit, root)
    assert f"  no place: submissions/fast/slow: {why}" in answer.output.splitlines()
    assert answer.output.startswith("fast: 3 submissions (")
    imported = {"url": "https://github.com/example/board", "date": "2025-01-01"}
    submission(root, "fast", "slow", [(3.4, 80.0), (3.41, 80.2)], imported=imported)
    slow = next(x for x in run(recent, root).output.splitlines() if "fast/slow" in x)
    assert slow.endswith(f"does not rank: {why}")


def test_a_track_that_is_not_there_is_named(root):
    for command in (audit, recent):
        answer = run(command, root, "--track", "fats")
        assert answer.exit_code == 2
        assert 'there is no track "fats"; known tracks: fast' in answer.output


@pytest.mark.parametrize("data", [b"\x00\x80\xff", b"[]", b"{", b'{"schema_version": 1}'])
def test_a_file_that_is_no_audit_is_named(root, tmp_path, data):
    (tmp_path / "former.json").write_bytes(data)
    answer = run(audit, root, "--against", str(tmp_path / "former.json"))
    assert answer.exit_code == 2
    assert "not what `speedrun audit --format json` prints" in answer.output
    assert "codec" not in answer.output and "indices" not in answer.output
