"""`speedrun new` beside what is there: sessions, logins, files of an earlier try."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bot.commands.test_new import document, logs, new, root, run  # noqa: F401  (fixtures)
from tests.doubles.wandb.offline_file import offline_file


def test_of_several_sessions_the_newest_complete_one_is_taken(
    root: Path,  # noqa: F811
    logs: list[str],  # noqa: F811
) -> None:
    """The trainer writes one for each start; a stopped one and a trial of one arm are none."""
    texts = [Path(name).read_text() for name in logs]
    stopped = texts[5].replace("step:1000/1000", "step:900/1000")
    sessions = {
        "20260101-100000": {"candidate-seed0": texts[0], "baseline-seed0": texts[1]},
        "20260102-100000": {"candidate-seed0": texts[2], "baseline-seed0": texts[3]},
        "20260103-100000": {"candidate-seed0": texts[4]},
        "20260104-100000": {"candidate-seed0": texts[4], "baseline-seed0": stopped},
    }
    for session, runs in sessions.items():
        for arm, text in runs.items():
            (root / "runs" / session / arm).mkdir(parents=True)
            (root / "runs" / session / arm / "log.txt").write_text(text)
    track = "single-gpu-fineweb"
    made, path = new(root, f"{track}/newest", "--log", str(root / "runs"))
    assert "took 20260102-100000, the newest complete session, and left out 3 other" in made.output
    assert [len(document(path)["runs"])] == [2]
    every = [part for name in sessions for part in ("--log", str(root / "runs" / name))]
    made, path = new(root, f"{track}/all", *every)
    assert len(document(path)["runs"]) == 7


@pytest.mark.parametrize("second", ["example-user", "example-other", None])
def test_the_login_is_the_one_that_runs_name(
    root: Path,  # noqa: F811
    second: str | None,
) -> None:
    options = []
    for n, login in enumerate(("example-user", second)):
        rows = [{"_step": s, "eval/loss": 3.3 - n / 99, "time/train_s": 0.06 * s} for s in (0, 9)]
        data = offline_file(rows, config={"speedrun": login} if login else {}, run_id=f"r{n}")
        (root / f"run{n}.wandb").write_bytes(data)
        options += ["--log", str(root / f"run{n}.wandb")]
    made, path = new(root, "tutorial/mine", *options)
    agree = second in ("example-user", None)
    named = "example-user" if agree else "your-github-login"
    assert [person["github"] for person in document(path)["contributors"]] == [named]
    assert ("with your GitHub login" in made.output) is not agree


def test_files_of_an_earlier_try_are_named(root: Path, logs: list[str]) -> None:  # noqa: F811
    place = "nanogpt-small/again"
    every = [part for name in logs for part in ("--log", name)]
    made, path = new(root, place, *every)
    assert "left over" not in made.output
    assert "does not list" not in run(root, "check", str(path)).output
    (path / "submission.json").unlink()
    made, path = new(root, place, *every[:2])
    assert "logs/run_1.log, logs/run_2.log, logs/run_3.log and 2 more; remove" in made.output
    told = "does not list logs/run_1.log, logs/run_2.log, logs/run_3.log and 2 more; list"
    assert told in run(root, "check", str(path)).output
    (path / "submission.json").unlink()
    made, path = new(root, place, *every)
    assert "left over" not in made.output
    assert "does not list" not in run(root, "check", str(path)).output
