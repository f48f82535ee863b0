"""`speedrun check` and `speedrun explain`: formats, exit codes, several paths, folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from bot.registry import catalogue
from tests.conftest import ROOT
from tests.corpus.variants import GOOD, changed, put

HERE = ["--root", str(ROOT)]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def check(*names: str, form: str = "json") -> Result:
    paths = [str(GOOD / f"{name}.json") for name in names]
    return run("check", *paths, "--track", "fineweb-edu", "--format", form, *HERE)


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["v4"], 0),
        (["v4_gate"], 0),
        (["v2_cores"], 1),
        (["v4", "v2_cores"], 1),
        (["v3", "v4"], 0),
    ],
)
def test_exit_codes(names: list[str], code: int) -> None:
    done = check(*names)
    assert done.exit_code == code
    assert len(json.loads(done.stdout)["verdicts"]) == len(names)


@pytest.mark.parametrize(
    ("form", "start"),
    [
        ("text", "\u274c Needs changes"),
        ("json", "{"),
        ("markdown", "### \u274c Needs changes"),
        ("github", "::error file="),
    ],
)
def test_formats(form: str, start: str) -> None:
    assert check("v2_cores", form=form).stdout.startswith(start)


def test_several_end_with_a_count() -> None:
    assert (
        check("v4", "v2_cores", form="text")
        .stdout.rstrip()
        .endswith("2 checked: 1 consistent, self-reported; 1 needs changes")
    )


def test_rules_across_files_compare_the_paths_given(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_bytes(changed("v4", put(model_size=154147328)))
    done = run(
        "check",
        str(tmp_path / "a.json"),
        str(tmp_path / "b.json"),
        "--track",
        "fineweb-edu",
        "--format",
        "json",
        *HERE,
    )
    rules = [{f["rule"] for f in v["findings"]} for v in json.loads(done.stdout)["verdicts"]]
    assert rules == [{"duplicate-run"}, {"duplicate-run"}] and done.exit_code == 1
    alone = run("check", str(tmp_path / "a.json"), "--track", "fineweb-edu", *HERE)
    assert alone.exit_code == 0


def competition(root: Path) -> Path:
    (root / "tracks").mkdir()
    track = (ROOT / "tracks" / "fineweb-edu.toml").read_text()
    (root / "tracks" / "fineweb-edu.toml").write_text(track)
    for name, bpb in (("old", 1.3), ("new", 1.2)):
        folder = root / "submissions" / "fineweb-edu" / name
        folder.mkdir(parents=True)
        (folder / "speedrun_results.json").write_bytes(changed("v4", put(bpb=bpb)))
    return root


def test_a_folder_is_compared_with_the_repository(tmp_path: Path) -> None:
    root = competition(tmp_path)
    done = run("check", str(root / "submissions/fineweb-edu/new"), "--offline", "--format", "json")
    verdict = json.loads(done.stdout)["verdicts"][0]
    assert verdict["submission"] == "submissions/fineweb-edu/new"
    duplicate = next(f for f in verdict["findings"] if f["rule"] == "duplicate-run")
    assert "submissions/fineweb-edu/old" in duplicate["message"]


def test_a_folder_hears_where_it_would_stand(tmp_path: Path) -> None:
    root = competition(tmp_path)
    done = run("check", str(root / "submissions/fineweb-edu/new"), "--offline")
    assert "duplicate-run" in done.stdout and "of 2 entries" not in done.stdout
    (root / "submissions/fineweb-edu/old/speedrun_results.json").write_bytes(
        changed("v4", put(bpb=1.3, wandb_run_link="https://wandb.ai/example-user/p/runs/old"))
    )
    done = run("check", str(root / "submissions/fineweb-edu/new"), "--offline")
    assert done.exit_code == 0 and "on the frontier of 2 entries" in done.stdout.replace("\n", " ")


def test_a_folder_of_submissions_stands_for_them_all(tmp_path: Path) -> None:
    root = competition(tmp_path)
    done = run("check", str(root / "submissions"), "--offline", "--format", "json")
    assert [v["submission"][-3:] for v in json.loads(done.stdout)["verdicts"]] == ["new", "old"]


@pytest.mark.parametrize("rule", list(catalogue()))
def test_every_rule_is_explained(rule: str) -> None:
    done = run("explain", rule)
    assert done.exit_code == 0 and rule in done.stdout and len(done.stdout.split()) > 15


def test_explain_lists_rules_and_guesses() -> None:
    listed = run("explain")
    assert all(name in listed.stdout for name in catalogue())
    wrong = run("explain", "hardware-flop-mismatch")
    assert wrong.exit_code == 2 and "hardware-flops-mismatch" in wrong.stderr
    assert run("explain", "no such thing").exit_code == 2


def test_explain_of_a_part_of_a_name_lists_the_rules_with_it() -> None:
    result = CliRunner().invoke(main, ["explain", "MFU"])
    assert result.exit_code == 2
    assert "Rules that contain it: mfu-impossible, mfu-unusual." in result.output
    nothing = CliRunner().invoke(main, ["explain", ""])
    assert nothing.exit_code == 2 and "`speedrun explain` lists all rules." in nothing.output


def test_a_folder_whose_results_a_glob_names_is_one_entry(tmp_path: Path) -> None:
    """Marin's layout: experiments/speedrun/NAME/{main.py, speedrun_results.json}."""
    (tmp_path / "tracks").mkdir()
    (tmp_path / ".git").mkdir()
    track = (ROOT / "tracks/fineweb-edu.toml").read_text()
    globs = '\n[submissions]\nglobs = ["experiments/speedrun/**/speedrun_results*.json"]\n'
    (tmp_path / "tracks/fineweb-edu.toml").write_text(track.partition("[submissions]")[0] + globs)
    folder = tmp_path / "experiments/speedrun/llama"
    folder.mkdir(parents=True)
    source = ROOT / "submissions/tutorial/baseline"
    found = sorted((ROOT / "submissions/fineweb-edu").glob("*/speedrun_results.json"))[0]
    (folder / "speedrun_results.json").write_bytes(found.read_bytes())
    (folder / "main.py").write_bytes((source / "main.py").read_bytes())
    command = ["check", str(folder), "--root", str(tmp_path), "--offline", "--format", "json"]
    done = CliRunner().invoke(main, command)
    rules = {f["rule"] for f in json.loads(done.stdout)["verdicts"][0]["findings"]}
    assert not rules & {"unsafe-name", "duplicate-run", "copied-result"}, rules
