"""The life of a baseline on a small competition: freeze, measure, promote, credit."""

import hashlib
import json

import pytest
from click.testing import CliRunner

from bot.commands.baseline import baseline
from bot.parse.track_toml import load_track
from tests.bot.competition import A10G, BASELINE, put, submission

OLD = [(3.270, 600.0), (3.271, 601.0), (3.272, 602.0)]


@pytest.fixture
def root(tmp_path):
    put(tmp_path, "tracks/one.toml", BASELINE)
    submission(tmp_path, "one", "b1", OLD)
    return tmp_path


def run(root, *arguments):
    return CliRunner().invoke(baseline, [*arguments, "--root", str(root)])


def freeze(root, name="b1"):
    answer = run(root, "freeze", "one", name, "--date", "2026-01-02")
    assert answer.exit_code == 0, answer.output
    return answer.output


def candidate(root, name, seconds, **fields):
    """A submission with its own run of the baseline on the same machine, a slower one."""
    mine = [(3.27, seconds), (3.275, seconds + 1), (3.273, seconds + 2)]
    theirs = [(3.27, 700.0), (3.271, 701.0), (3.272, 702.0)]
    submission(root, "one", name, mine, theirs, A10G, based_on="b1", **fields)


def test_no_baseline_yet_says_how_to_make_one(root):
    answer = run(root, "status", "one")
    assert answer.exit_code == 0
    assert "speedrun baseline freeze one SUBMISSION" in answer.output


def test_freezing_writes_the_history_and_the_track(root):
    output = freeze(root)
    assert "b1, 601 s (3 runs) on 1x NVIDIA A100-SXM4-80GB, frozen 2026-01-02" in output
    assert "@example-user: idea, runs" in output
    assert load_track(root / "tracks/one.toml").baseline_id == "b1"
    (made,) = load_track(root / "tracks/one.toml").baselines
    assert made.costs == (600.0, 601.0, 602.0)
    assert made.losses == (3.27, 3.271, 3.272)
    assert (made.after, made.ratio) == (None, None)


def test_freezing_keeps_the_code_or_says_why_nobody_can_run_it(root):
    assert "cannot run it: its code is not in the repository" in freeze(root)
    assert load_track(root / "tracks/one.toml").baselines[0].code is None
    submission(root, "one", "b2", OLD, code={"path": "main.py"})
    put(root, "submissions/one/b2/main.py", "train()\r\n\n")
    assert "`--interleave baseline` runs its main.py" in freeze(root, "b2")
    code = {b.id: b.code for b in load_track(root / "tracks/one.toml").baselines}["b2"]
    assert (code.path, code.settings) == ("main.py", {})
    assert code.sha256 == hashlib.sha256(b"train()\n").hexdigest()


def test_linked_runs_that_are_not_in_the_clone_are_fetched_first(root):
    link = {"source": "wandb", "link": "https://wandb.ai/e/p/runs/abc"}
    submission(root, "one", "linked", [], runs=[link])
    answer = run(root, "freeze", "one", "linked")
    assert answer.exit_code == 2
    assert "git fetch origin evidence:refs/remotes/origin/evidence" in " ".join(
        answer.output.split()
    )


def test_progress_is_a_ratio_on_the_submitters_machine(root):
    """Its 640 s against 701 s of the baseline there, though the frozen baseline took 601 s."""
    freeze(root)
    candidate(root, "faster", 640.0)
    lines = run(root, "status", "one").output.splitlines()
    assert any("best so far: submissions/one/faster, 0.9144 times" in line for line in lines)
    assert any("fastest on Ampere: 601 s, submissions/one/b1" in line for line in lines)
    assert not any("due now" in line for line in lines)


def test_the_distance_to_the_next_baseline_has_its_interval(root):
    """At 641 of 701 s it is at 0.9144; to 0.9 another 1.6 % are missing."""
    freeze(root)
    candidate(root, "faster", 640.0)
    found = json.loads(run(root, "status", "one", "--format", "json").output)["distance"]
    assert found["left"] == pytest.approx(0.9 * 701 / 641)
    assert found["interval"][0] < found["left"] < found["interval"][1]
    assert found["why"] is None
    text = run(root, "status", "one").output
    assert "the next baseline takes another 1.58 % [" in text
    assert "less cost than submissions/one/faster" in text


def test_what_a_good_ratio_still_lacks_is_said(root):
    freeze(root)
    submission(root, "one", "lucky", [(3.279, 500.0)], [(3.27, 600.0)], based_on="b1")
    text = run(root, "status", "one").output
    assert "the next baseline waits for submissions/one/lucky: it has one run in an arm" in text
    answer = run(root, "promote", "one")
    assert answer.exit_code == 2
    assert "0.8333 times the baseline, but it has one run in an arm" in answer.output


def test_how_many_more_pairs_would_narrow_the_interval_is_said(root):
    """Three pairs at 0.89: half the interval of the log is 0.0257 (t with 2.28 degrees of freedom),
    the gap to 0.9 is 0.0112. So 3 x (0.0257 / 0.0112)^2 pairs are needed, of which three are there.
    """
    freeze(root)
    theirs = [(3.27, 1000.0), (3.271, 1003.0), (3.272, 997.0)]
    near = [(3.27, 880.0), (3.271, 890.0), (3.272, 900.0)]
    submission(root, "one", "near", near, theirs, A10G, based_on="b1")
    text = " ".join(run(root, "status", "one").output.split())
    assert "submissions/one/near: its interval reaches beyond 0.9: about 13 more pairs" in text


def test_below_the_threshold_promotion_is_refused(root):
    freeze(root)
    candidate(root, "faster", 640.0)
    answer = run(root, "promote", "one")
    assert answer.exit_code == 2
    assert "is at 0.9144 times the baseline, a new one is due at 0.9" in answer.output
    assert load_track(root / "tracks/one.toml").baseline_id == "b1"


def test_a_tenth_less_makes_a_new_baseline_and_credits_everyone(root):
    freeze(root)
    candidate(root, "idea", 660.0, contributors=[{"github": "thinker", "roles": ["idea"]}])
    candidate(root, "faster", 620.0, contributors=[{"github": "coder", "roles": ["code"]}])
    path = root / "submissions/one/faster/submission.json"
    data = json.loads(path.read_text()) | {"based_on": "idea"}
    path.write_text(json.dumps(data))
    assert "due now: speedrun baseline promote one submissions/one/faster" in (
        run(root, "status", "one").output
    )
    answer = run(root, "promote", "one", "--date", "2026-02-03")
    assert answer.exit_code == 0, answer.output
    made = load_track(root / "tracks/one.toml").baselines[-1]
    assert (made.id, made.after, made.frozen_on) == ("faster", "b1", "2026-02-03")
    assert made.ratio == pytest.approx(621 / 701)
    assert {c.github: c.roles for c in made.credits} == {"coder": ("code",), "thinker": ("idea",)}
    assert load_track(root / "tracks/one.toml").baseline_id == "faster"


def test_after_a_promotion_older_entries_are_on_the_new_scale(root):
    """Measured at 0.95 of the old baseline, which the new one beat by a fifth, it is at 1.19."""
    freeze(root)
    imported = {"url": "https://github.com/example/board"}
    for name, seconds, date in (("slow", 665.0, "2026-01-10"), ("win", 560.0, "2026-01-20")):
        submission(
            root,
            "one",
            name,
            [(3.27, seconds), (3.27, seconds + 1), (3.27, seconds - 1)],
            [(3.27, 700.0), (3.271, 701.0), (3.272, 699.0)],
            device=A10G,
            based_on="b1",
            imported=imported | {"date": date},
        )
    assert run(root, "promote", "one", "--date", "2026-02-01").exit_code == 0
    submission(
        root,
        "one",
        "next",
        [(3.27, 539.0)],
        [(3.27, 550.0)],
        device=A10G,
        based_on="win",
        imported=imported | {"date": "2026-02-10"},
    )
    data = json.loads(run(root, "status", "one", "--format", "json").output)
    ratios = {e["submission"].rpartition("/")[2]: e["ratio"] for e in data["entries"]}
    assert ratios == pytest.approx({"next": 0.98, "win": 1.0, "slow": 0.95 / 0.8, "b1": 1 / 0.8})
    against = {e["submission"].rpartition("/")[2]: e["against"] for e in data["entries"]}
    assert (against["slow"], against["next"]) == ("b1", "win")
    assert data["due"] is None
    assert "is measured against" not in run(root, "status", "one").output


def test_a_dry_run_writes_nothing(root):
    answer = run(root, "freeze", "one", "b1", "--dry-run")
    assert "nothing written" in answer.output
    assert load_track(root / "tracks/one.toml").baselines == ()
    assert load_track(root / "tracks/one.toml").baseline_id is None


def test_a_lucky_run_is_welcome(root):
    """One run on each side: it counts and ranks; without an interval it makes no new baseline."""
    freeze(root)
    submission(root, "one", "lucky", [(3.279, 500.0)], [(3.27, 600.0)], based_on="b1")
    data = json.loads(run(root, "status", "one", "--format", "json").output)
    lucky = next(e for e in data["entries"] if e["submission"].endswith("lucky"))
    assert lucky["ratio"] == pytest.approx(5 / 6)
    assert lucky["interval"] is None
    assert lucky["place"] == 1
    assert data["due"] is None


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["status", "none"], 'there is no track "none"; known tracks: one'),
        (
            ["freeze", "one", "missing"],
            "has no submission missing; if it was merged on GitHub, run `git pull`",
        ),
        (["freeze", "one", "b1", "--date", "tomorrow"], "--date tomorrow: write YYYY-MM-DD"),
        (["promote", "one"], "no entry of one has a baseline arm"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(root, arguments, words):
    answer = run(root, *arguments)
    assert answer.exit_code in (1, 2)
    assert words in answer.output
    assert "Traceback" not in answer.output


def test_a_rejected_submission_is_not_frozen(root):
    path = root / "submissions/one/b1/submission.json"
    path.write_text(path.read_text().replace('"title"', '"titel"'))
    answer = run(root, "freeze", "one", "b1")
    assert answer.exit_code == 2
    assert "is rejected" in answer.output
    assert "schema" in answer.output
