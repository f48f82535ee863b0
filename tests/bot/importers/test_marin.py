"""Marin Speedrun results: versions, odd names, in-place layouts, prose."""

import copy
import json
import re

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.commands.importing import import_
from bot.importers import Origin, SourceError
from bot.importers.marin import read_marin

ORIGIN = Origin("https://github.com/example/board", "c" * 40)
V2 = {
    "runs": [
        {
            "run_info": {
                "author": {
                    "name": "Example User",
                    "affiliation": "Example",
                    "url": "https://example.org",
                },
                "description": "words that stay out",
                "eval/paloma/c4_en/bpb": 1.5263875722885132,
                "model_flops": 8.6953760391168e16,
                "model_size": 33784960,
                "resources": {
                    "device_flops_override": None,
                    "slice_count": 1,
                    "tpu_type": "v4-128",
                },
                "run_completion_timestamp": "2025-05-19 08:43:36 UTC",
                "training_hardware_flops": 1.964721860534394e18,
                "training_time": 111.63192389399967,
                "wandb_run_link": "https://wandb.ai/example/board/runs/llama_30m_run-52f00d",
            }
        }
    ]
}
V1 = {
    "runs": [
        {
            "run_related_info": {
                "num_parameters": 33784832,
                "run_completion_timestamp": "2025-04-28 05:02:00 UTC",
                "wandb_run_link": "https://wandb.ai/example/board/runs/30m-e509d3",
            },
            "run_stats": {
                "eval/paloma/c4_en/bpb": 1.528401494026184,
                "training_time_in_minutes": 28.79,
            },
        }
    ]
}
V0 = {
    "runs": [
        {
            "run_related_info": {
                "num_parameters": 33784832,
                "wandb_run_id": "gs://example/30m-e509d3",
            },
            "run_stats": {
                "eval/paloma/c4_en/bpb": 1.528401494026184,
                "final_flops_estimate": "5.13e+17",
            },
        }
    ]
}


def changed(base, **fields):
    data = copy.deepcopy(base)
    data["runs"][0]["run_info"] |= fields
    return data


def put(root, **files):
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data if isinstance(data, str) else json.dumps(data))
    return root


def by_path(result):
    return {item.path: item.files for item in result.submissions}


def entry(result, path):
    return json.loads(by_path(result)[path]["submission.json"])


def test_numbers_stay_and_prose_goes(tmp_path):
    put(tmp_path, **{"experiments/speedrun/llama_30m/speedrun_results.json": V2})
    result = read_marin(tmp_path, ORIGIN)
    kept = json.loads(by_path(result)["fineweb-edu/llama_30m"]["speedrun_results.json"])
    assert kept == changed(V2, description="")
    assert b"words that stay out" not in b"".join(
        data for files in by_path(result).values() for data in files.values()
    )


def test_source_and_author_are_kept_as_facts(tmp_path):
    put(tmp_path, **{"experiments/speedrun/llama_30m/speedrun_results.json": V2})
    data = entry(read_marin(tmp_path, ORIGIN), "fineweb-edu/llama_30m")
    assert data["imported"] == {
        "url": f"https://github.com/example/board/blob/{'c' * 40}"
        "/experiments/speedrun/llama_30m/speedrun_results.json",
        "commit": "c" * 40,
        "name": "llama_30m",
        "path": "experiments/speedrun/llama_30m/speedrun_results.json",
        "authors": [
            {"name": "Example User", "affiliation": "Example", "url": "https://example.org"}
        ],
    }
    assert data["runs"] == [{"source": "results", "path": "speedrun_results.json"}]


def flat(path, blob):
    return f"results/{path.replace('/', '__')}@{blob}.json"


def test_the_newest_of_several_versions_stands(tmp_path):
    path = "experiments/speedrun/llama_30m/speedrun_results.json"
    put(
        tmp_path,
        **{
            flat(path, "00000001"): V1,
            flat(path, "00000002"): V2,
            flat(path, "00000003"): V0,
        },
    )
    result = read_marin(tmp_path, ORIGIN)
    data = entry(result, "fineweb-edu/llama_30m")
    assert data["imported"]["blob"] == "00000002"
    assert data["imported"]["superseded"] == [
        {"blob": "00000001", "shape": "V1", "finished": "2025-04-28T05:02:00Z"},
        {"blob": "00000003", "shape": "V0"},
    ]
    assert result.doubts == ()


def test_versions_that_nothing_orders_are_reported(tmp_path):
    path = "experiments/speedrun/a/speedrun_results.json"
    put(tmp_path, **{flat(path, "00000001"): V2, flat(path, "00000002"): changed(V2, model_size=9)})
    result = read_marin(tmp_path, ORIGIN)
    assert len(result.submissions) == 1
    assert "nothing says which is newer" in result.doubts[0][1]


def test_the_live_row_settles_which_version_is_newest(tmp_path):
    path = "experiments/speedrun/a/speedrun_results.json"
    other = changed(V2, training_hardware_flops=1e18)
    row = {"run_name": "a", "training_hardware_flops": 1e18}
    put(
        tmp_path,
        **{
            flat(path, "00000002"): V2,
            flat(path, "00000001"): other,
            "board/runs.json": [row],
        },
    )
    result = read_marin(tmp_path, ORIGIN)
    assert entry(result, "fineweb-edu/a")["imported"]["blob"] == "00000001"
    assert result.doubts == ()


def test_versions_that_differ_in_prose_alone_are_no_doubt(tmp_path):
    path = "experiments/speedrun/a/speedrun_results.json"
    other = changed(V2, description="x")
    put(tmp_path, **{flat(path, "00000001"): V2, flat(path, "00000002"): other})
    assert read_marin(tmp_path, ORIGIN).doubts == ()


def test_odd_file_names_are_found_and_told_apart(tmp_path):
    base = "experiments/speedrun/gate/lr_x2/130m/"
    put(
        tmp_path,
        **{
            base + "speedrun_results.json": V2,
            base + "speedrun_results-sep.json": V2,
            base + "speedrun_results_v5p64.json": V2,
            "experiments/speedrun/dclm/speedrun_results.json.json": V0,
            "experiments/speedrun/dclm/notes.json": V2,
        },
    )
    result = read_marin(tmp_path, ORIGIN)
    names = {entry(result, item.path)["imported"]["name"] for item in result.submissions}
    assert names == {"gate/lr_x2/130m", "gate/lr_x2/130m:sep", "gate/lr_x2/130m:v5p64", "dclm"}
    assert len(by_path(result)) == 4


def test_a_row_without_a_results_file_waits_for_its_evidence(tmp_path):
    row = {
        "run_name": "moe/300m",
        "eval_paloma_c4_en_bpb": 1.05,
        "training_time": 100.5,
        "training_hardware_flops": 1e19,
        "model_flops": None,
        "model_size": True,
        "wandb_link": "https://wandb.ai/example/board/runs/abc",
        "description": "words",
        "run_completion_timestamp": "2025-07-01 00:00:00 UTC",
    }
    put(tmp_path, **{"board/runs.json": [row, "noise", {"run_name": 3}]})
    data = entry(read_marin(tmp_path, ORIGIN), "fineweb-edu/moe/300m")
    assert data["runs"] == [{"source": "wandb", "link": row["wandb_link"]}]
    assert data["claims"] == {"bpb": 1.05, "hardware_flops": 1e19, "training_time_s": 100.5}
    assert data["imported"]["date"] == "2025-07-01T00:00:00Z"


@pytest.mark.parametrize(
    "text, why",
    [
        ("{", "ends too early"),
        ('{"runs": []}', "no run of a known shape"),
        ("[]", "no run"),
        ('{"runs": [{"run_info": 3}]}', "no run"),
        ('{"a": NaN}', "NaN"),
    ],
)
def test_a_broken_file_is_left_out_and_named(tmp_path, text, why):
    put(tmp_path, **{"a/speedrun_results.json": V2, "b/speedrun_results.json": text})
    result = read_marin(tmp_path, ORIGIN)
    assert len(result.submissions) == 1
    ((path, reason),) = result.skipped
    assert path == "b/speedrun_results.json"
    assert why in reason


def test_a_tree_without_results_is_refused(tmp_path):
    put(tmp_path, **{"readme.txt": "x"})
    with pytest.raises(SourceError, match="holds no speedrun_results"):
        read_marin(tmp_path)


def test_the_command_says_what_it_did(tmp_path):
    src = put(tmp_path / "src", **{"experiments/speedrun/a/speedrun_results.json": V2})
    out = tmp_path / "out"
    answer = CliRunner().invoke(import_, ["marin", str(src), "--out", str(out)])
    assert answer.exit_code == 0
    assert answer.output.startswith("1 submissions under")
    assert (out / "submissions/fineweb-edu/a/submission.json").exists()
    answer = CliRunner().invoke(import_, ["marin", str(tmp_path / "no"), "--out", str(out)])
    assert answer.exit_code == 2
    assert "is not a folder" in answer.output
    assert "Traceback" not in answer.output


def test_a_track_that_is_not_there_is_told(tmp_path):
    src = put(tmp_path / "src", **{"experiments/speedrun/a/speedrun_results.json": V2})
    out = tmp_path / "out"
    answer = CliRunner().invoke(import_, ["marin", str(src), "--out", str(out)])
    assert "missing   tracks/fineweb-edu.toml" in answer.output
    (out / "tracks").mkdir()
    (out / "tracks/fineweb-edu.toml").write_text("")
    answer = CliRunner().invoke(import_, ["marin", str(src), "--out", str(out)])
    assert "missing" not in answer.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--url", "example.org/x"],
            "--url is 'example.org/x', expected an address such as https://",
        ),
        (["--commit", "main"], "--commit is 'main', expected 40 hexadecimal digits"),
    ],
)
def test_an_origin_that_is_no_address_is_refused(tmp_path, arguments, words):
    answer = CliRunner().invoke(
        import_, ["marin", str(tmp_path), "--out", str(tmp_path / "out"), *arguments]
    )
    assert answer.exit_code == 2
    assert words in " ".join(answer.output.split())


def test_an_address_is_to_be_cloned_first(tmp_path):
    address = "https://github.com/example-user/contest"
    answer = CliRunner().invoke(import_, ["marin", address, "--out", str(tmp_path)])
    assert answer.exit_code == 2
    assert "is a web address; `git clone` it" in answer.output


def test_an_output_that_is_a_file_is_one_sentence(tmp_path):
    src = put(tmp_path / "src", **{"experiments/speedrun/a/speedrun_results.json": V2})
    (tmp_path / "out").write_text("")
    given = ["import", "marin", str(src), "--out", str(tmp_path / "out")]
    answer = CliRunner().invoke(main, given)
    assert answer.exit_code == 2
    assert re.fullmatch(r"Error: \S+/out\S*: Not a directory\n", answer.output)


def test_every_published_file_keeps_its_numbers(golden):
    result = read_marin(golden / "marin")
    names = {p.name.split("@")[0] for p in (golden / "marin/results").iterdir()}
    with_results = [f for f in by_path(result).values() if "speedrun_results.json" in f]
    assert len(with_results) == len(names)
    assert result.skipped == ()
    for files in with_results:
        data = json.loads(files["submission.json"])["imported"]
        flat_name = f"{data['path'].replace('/', '__')}@{data['blob']}.json"
        raw = json.loads((golden / "marin/results" / flat_name).read_text())
        for run in raw["runs"]:
            if "description" in run.get("run_info", {}):
                run["run_info"]["description"] = ""
        assert json.loads(files["speedrun_results.json"]) == raw
