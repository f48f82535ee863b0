"""Which logs of a record folder are one group, and which of them its baseline."""

import json

import pytest
from click.testing import CliRunner

from bot.commands.importing import import_
from bot.importers import SourceError
from bot.importers.arms import sort_into_arms
from bot.importers.modded_nanogpt import _folders
from tests.bot.importers.nanogpt_cases import (
    FOLDER,
    arms_of,
    log,
    only,
    put,
    read,
)


@pytest.mark.parametrize(
    "path, arm",
    [
        ("12-19-Baseline/x.txt", "baseline"),
        ("baseline_pr299/x.txt", "baseline"),
        ("comparison_0f6c8eac.txt", "baseline"),
        ("original_timing.txt", "baseline"),
        ("logs/baseline0-1490.txt", "baseline"),
        ("this_pr/x.txt", "candidate"),
        ("12-21-Smoothed-Scalars/x.txt", "candidate"),
        ("runs/x.txt", "candidate"),
    ],
)
def test_words_of_the_path_decide(tmp_path, path, arm):
    other = {"baseline": "a1.txt", "candidate": "baseline/b1.txt"}[arm]
    put(tmp_path, **{FOLDER + path: log(1), FOLDER + other: log(2)})
    logs = _folders(tmp_path, [])["track_1_short/2025-12-21_SmoothedScalars"]
    arms, left_out, doubts = sort_into_arms(logs, None)
    assert [g.path for g in arms.pop(arm)] == [path]
    assert [g.path for group in arms.values() for g in group] == [other]
    assert (left_out, doubts) == ([], [])


def test_probes_and_ablations_are_left_out(tmp_path):
    put(tmp_path, **{FOLDER + "a1.txt": log(1), FOLDER + "ablation/probes/p.txt": log(2)})
    result = read(tmp_path)
    assert arms_of(only(result))["candidate"] == {"a1"}
    assert result.skipped[0][0].endswith("ablation/probes/p.txt")


def test_groups_that_no_name_tells_apart_are_a_doubt(tmp_path):
    """A folder with runs of two lengths: the faster are taken, and it is said."""
    put(
        tmp_path,
        **{
            FOLDER + f"{i}abcdef0-0000-0000-0000-000000000000.txt": log(i, 1000 + 250 * (i % 2))
            for i in range(1, 5)
        },
    )
    result = read(tmp_path)
    assert len(arms_of(only(result))["candidate"]) == 2
    ((_, why),) = result.doubts
    assert "2 of 1000 steps on 8 devices, 2 of 1250 steps on 8 devices" in why


def test_runs_on_another_number_of_devices_are_no_baseline(tmp_path):
    put(
        tmp_path,
        **{
            FOLDER + "this_pr/a1.txt": log(1),
            FOLDER + "baseline-8x/b1.txt": log(2),
            FOLDER + "baseline/b2.txt": log(3, gpus=1),
        },
    )
    result = read(tmp_path)
    assert arms_of(only(result))["baseline"] == {"b1"}
    assert any("another number of devices" in why for _, why in result.skipped)


def test_a_second_copy_of_a_run_is_left_out(tmp_path):
    put(
        tmp_path,
        **{
            FOLDER + "a1.txt": log(1),
            FOLDER + "all.txt": log(1) + log(2),
            FOLDER + "a2.txt": log(2),
        },
    )
    result = read(tmp_path)
    assert arms_of(only(result))["candidate"] == {"a1", "a2"}
    assert "its runs are those of" in result.skipped[0][1]


def test_a_folder_of_another_folders_logs_is_left_out(tmp_path):
    later = "records/track_1_short/2026-01-01_Again/"
    put(tmp_path, **{FOLDER + "a1.txt": log(1), later + "a1.txt": log(1)})
    result = read(tmp_path)
    assert only(result).path.startswith("nanogpt-small/2026-01-01_again")
    assert (
        "track_1_short/2025-12-21_SmoothedScalars",
        "its logs are those of track_1_short/2026-01-01_Again",
    ) in result.skipped


def groups_file(tmp_path, **record):
    path = tmp_path / "groups.json"
    path.write_text(json.dumps({"records": {"track_1_short/2025-12-21_SmoothedScalars": record}}))
    return path


def test_a_groups_file_decides(tmp_path):
    src = put(tmp_path / "src", **{FOLDER + f"{n}.log": log(i) for i, n in enumerate("abc")})
    groups = groups_file(
        tmp_path,
        groups={
            "claimed": {"logs": ["a.txt"]},
            "baseline": {"logs": ["b.txt", "gone.txt"]},
            "other": {"logs": ["c.txt"]},
        },
        date="2025-12-22",
        number=52,
        contributors=["example-user"],
        claims={"loss": {"mean": 3.279, "n": 7}},
        steps=1000,
    )
    result = read(src, groups)
    item = only(result)
    data = json.loads(item.files["submission.json"])
    assert arms_of(item) == {"candidate": {"a"}, "baseline": {"b"}}
    assert data["claims"] == {"loss": {"mean": 3.279, "n": 7}, "steps": 1000}
    assert data["imported"]["number"] == 52
    assert data["imported"]["date"] == "2025-12-22"
    assert data["imported"]["authors"] == [{"name": "example-user"}]
    assert "1 logs of the groups file are not there, such as gone" in result.doubts[0][1]
    assert any(path.endswith("c.log") for path, _ in result.skipped)


def test_names_of_a_groups_file_that_fit_nothing_are_told(tmp_path):
    src = put(tmp_path / "src", **{FOLDER + "a.txt": log(1)})
    result = read(src, groups_file(tmp_path, groups={"claimd": {"logs": ["a.txt"]}}))
    assert any('no "claimed" for it, only "claimd"' in why for _, why in result.doubts)
    path = tmp_path / "other.json"
    path.write_text('{"records": {"track_1_short/gone": {"groups": {}}}}')
    assert read(src, path).doubts[0] == (
        "track_1_short/gone",
        "1 names of the groups file, such as this one, name no folder of the source; "
        "write TRACK/FOLDER",
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"groups": 3},
        {"groups": {"claimed": 3}},
        {"groups": {"claimed": {"logs": 3}}},
        {"groups": {"claimed": {"logs": [3, None]}}},
        {"groups": []},
        {"date": 3},
        {"claims": 3},
        {"contributors": 3},
        {"number": "x"},
        {"steps": "x"},
        {"folder": []},
        {"claims": {"loss": {"mean": {}}}},
        {"contributors": [3]},
        {"steps": -1},
    ],
)
def test_odd_values_of_a_groups_file_are_no_crash(tmp_path, fields):
    src = put(tmp_path / "src", **{FOLDER + "a.txt": log(1)})
    answer = CliRunner().invoke(
        import_,
        [
            "modded-nanogpt",
            str(src),
            "--out",
            str(tmp_path / "out"),
            "--groups",
            str(groups_file(tmp_path, **fields)),
        ],
    )
    assert answer.exception is None or isinstance(answer.exception, SystemExit)


@pytest.mark.parametrize("text", ["{", "[]", '{"records": 3}', '{"records": {"a": 1}}'])
def test_a_broken_groups_file_is_one_sentence(tmp_path, text):
    src = put(tmp_path / "src", **{FOLDER + "a.txt": log(1)})
    path = tmp_path / "groups.json"
    path.write_text(text)
    with pytest.raises(SourceError, match="groups.json"):
        read(src, path)
