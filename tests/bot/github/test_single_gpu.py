"""A new single-GPU competition as its maintainer and its people use it: by links and comments.

Its track is the one that the page *One GPU* shows, by another name and to another target.
Five submissions by link, one reproduction, one challenge that a maintainer accepts, one promotion.
Nobody edits a file that the bot writes: people type comments and merge.
"""

from __future__ import annotations

import json

import pytest

from bot.evidence.snapshot import Snapshots, config_sha256
from bot.github.host.settings import load_settings
from bot.github.server.running import engine_of, promote
from bot.model.board import Board
from bot.registry import Status
from bot.repository import Repository
from tests.bot.github.competition import (
    BOT,
    MAINTAINER,
    NOW,
    REPO,
    STEPS,
    Competition,
    history,
)
from tests.conftest import ROOT
from tests.doubles.github import git
from tests.doubles.wandb import WandbDouble

PAGE = (ROOT / "leaderboard_site/docs/single-gpu.md").read_text(encoding="utf-8")
SHOWN = PAGE.partition("```toml\n")[2].partition("```")[0]
TRACK = SHOWN.replace('"my-track"', '"lab"').replace("target = 1.9", "target = 3.28")


def config(seconds: float) -> dict[str, int]:
    """What a run that takes so long is configured with, besides its seed."""
    return {"total_steps": STEPS, "method": int(seconds)}


FROZEN = {
    "schema_version": 1,
    "id": "first",
    "submission": "submissions/lab/first",
    "frozen_on": "2026-01-01",
    "cost_metric": "training_time_s",
    "costs": [100.0, 100.2, 100.4],
    "losses": [3.277, 3.277, 3.277],
    "configs": [config_sha256(config(100))],
}
MACHINE = json.dumps({"gpu": "NVIDIA A100-SXM4-80GB", "gpu_count": 1}).encode()
PEOPLE = ("ann-lab", "ben-lab", "cat-lab", "dan-lab", "eve-lab", "finn-lab", "gil-lab")


def rows(loss: float, seconds: float, salt: int) -> list[dict[str, float]]:
    """A history under the names that the page's track reads."""
    return [
        {
            "_step": row["_step"],
            "_runtime": row["_runtime"],
            "eval/loss": row["val_loss"],
            "time/train_s": row["train_time"] / 1000,
            "throughput/total_tokens": row["step"] * 65_536,
        }
        for row in history(loss, seconds, salt)
    ]


class Lab:
    """The competition with the people in it; each step is a comment, a merge, or the bot."""

    def __init__(self, competition: Competition, wandb: WandbDouble) -> None:
        self.bot, self.wandb, self.salt = competition, wandb, 500
        for login in PEOPLE:
            competition.github.add_user(login)
        files: dict[str, bytes | str | None] = {
            "tracks/lab.toml": TRACK,
            "tracks/baselines/lab/first.json": json.dumps(FROZEN),
        }
        competition.github.commit(REPO, "main", files)
        competition.github.add_token("token-of-promote", BOT, REPO, contents="write",
                                     issues="write", pull_requests="write",
                                     actions="write")  # fmt: skip
        self.thread = competition.github.open_issue(REPO, MAINTAINER, "Runs", "Drop them here")

    def runs(self, who: str, seconds: float, pairs: int) -> str:
        """Links to so many runs on W&B."""
        links = []
        for n in range(pairs):
            self.salt += 1
            run_id = f"r{self.salt}"
            self.wandb.add_run(
                "example-team",
                "lab",
                run_id,
                history=rows(3.277 + 0.0001 * n, seconds + n / 5, self.salt),
                config=config(seconds)
                | {"seed": self.salt, "speedrun": {"nonce": f"{self.salt:032x}"}},
                tags=[f"speedrun:{who}"],
                files={"wandb-metadata.json": MACHINE},
            )
            links.append(f"https://wandb.ai/example-team/lab/runs/{run_id}")
        return " ".join(links)

    def submit(
        self, who: str, seconds: float, pairs: int = 3, more: str = "", base: float = 100.0
    ) -> int:
        """`/submit` with both arms; the number of the bot's pull request."""
        ours, theirs = self.runs(who, seconds, pairs), self.runs(who, base, pairs)
        said = f"/submit lab {ours} baseline {theirs} {more or f'idea {who}'}"
        said += "\n\nThe loss is fused with the last product."
        comment = self.bot.say(self.thread.number, who, said)
        assert self.bot.command(self.thread.number, comment, "change") == "opened"
        return max(self.bot.repo.pulls)

    def merge(self, number: int) -> None:
        """Answer, merge and record, as the workflows do."""
        self.bot.answer(number)
        self.bot.github.merge(REPO, number)
        self.bot.record(number)

    def name(self, number: int) -> str:
        (folder,) = {
            path.rpartition("/")[0]
            for path in git.text(
                self.bot.repo.directory, "diff", "--name-only", f"main...{self.branch(number)}"
            ).split()
        }
        return folder

    def branch(self, number: int) -> str:
        return self.bot.repo.pulls[number].head_branch

    def board(self) -> Board:
        root = self.bot.checkout()
        return Repository(root, snapshots=Snapshots(root / "evidence")).board("lab")

    def promoted(self, number: int) -> list[str]:
        root = self.bot.checkout()
        engine = engine_of(root, None, False)
        repo, settings = self.bot.as_job("promote"), load_settings(root)
        return list(promote(repo, settings, engine, number, NOW))


@pytest.fixture
def lab(competition: Competition, wandb: WandbDouble) -> Lab:
    return Lab(competition, wandb)


def test_the_bot_asks_for_what_is_missing(lab: Lab) -> None:
    said = f"/submit lab {lab.runs('ann-lab', 85.0, 1)}"
    comment = lab.bot.say(lab.thread.number, "ann-lab", said)
    assert lab.bot.command(lab.thread.number, comment, "change") == "incomplete"
    answer = lab.bot.comments(lab.thread.number)[-1]
    assert "which runs are the baseline's, on the same machine" in answer
    assert "add `baseline LINK...` behind the links" in answer
    assert "whose idea it was" in answer and "add `idea LOGIN`" in answer


def arms(lab: Lab, number: int) -> list[str]:
    """The arms that the runs of a pull request count in."""
    (verdict,) = lab.bot.answer(number).verdicts
    return [run.arm for run in verdict.runs]


def test_runs_of_both_arms_are_added(lab: Lab) -> None:
    number = lab.submit("ann-lab", 85.0, pairs=1)
    ours, theirs = lab.runs("ann-lab", 85.0, 2).split(), lab.runs("ann-lab", 100.0, 2).split()
    said = f"/runs add {ours[0]} baseline {theirs[0]}"
    comment = lab.bot.say(number, "ann-lab", said)
    assert lab.bot.command(number, comment, "change") == "committed"
    assert arms(lab, number) == ["candidate", "baseline"] * 2
    # where nothing says which is which, the configuration of the frozen baseline does
    comment = lab.bot.say(number, "ann-lab", f"/runs add {ours[1]} {theirs[1]}")
    assert lab.bot.command(number, comment, "change") == "committed"
    assert arms(lab, number) == ["candidate", "baseline"] * 3
    told = lab.bot.sticky(number).replace("\\", "")
    assert "ran the baseline, so it counts in the baseline arm" in told
    # said afterwards, the list says it too
    comment = lab.bot.say(number, "ann-lab", f"/runs add baseline {theirs[1]}")
    assert lab.bot.command(number, comment, "change") == "committed"
    assert arms(lab, number) == ["candidate", "baseline"] * 3
    assert "ran the baseline, so it counts" not in lab.bot.sticky(number)


def test_an_entry_that_nobody_has_is_asked_for(lab: Lab) -> None:
    lab.merge(lab.submit("ann-lab", 85.0, pairs=1))
    (path,) = (e.submission for e in lab.board().entries)
    name = path.rpartition("/")[2]
    links = f"{lab.runs('ben-lab', 85.0, 1)} baseline {lab.runs('ben-lab', 100.0, 1)}"
    for wrong in (name[:-1], "warmdown"):
        said = f"/submit lab {links} reproduces lab/{wrong}"
        comment = lab.bot.say(lab.thread.number, "ben-lab", said)
        assert lab.bot.command(lab.thread.number, comment, "change") == "incomplete"
        asked = lab.bot.comments(lab.thread.number)[-1].replace("\\", "")
        assert f'lab has no merged entry "lab/{wrong}"' in asked
        assert f"with one of `lab/{name}`" in asked
    said = f"/submit lab {links} reproduces lab/{name}"
    comment = lab.bot.say(lab.thread.number, "ben-lab", said)
    assert lab.bot.command(lab.thread.number, comment, "change") == "opened"


@pytest.mark.full("a season of pull requests")
def test_a_season_by_links_alone(lab: Lab) -> None:
    # five submissions by link
    fast = lab.submit("ann-lab", 85.0, more="idea ben-lab")
    # the configuration of dan's machine is another one, by which the baseline is not recognised
    others = [lab.submit("cat-lab", 97.0), lab.submit("dan-lab", 98.0, base=101.0)]
    single = lab.submit("eve-lab", 96.0, pairs=1)
    lucky = lab.submit("finn-lab", 80.0, pairs=1)
    names = {number: lab.name(number) for number in (fast, *others, single, lucky)}
    for number in names:
        lab.merge(number)
    board = lab.board()
    assert [e.submission for e in board.entries] == [
        names[lucky], names[fast], names[single], *(names[n] for n in others)
    ]  # fmt: skip
    assert lab.promoted(lucky) == ["no new baseline is due"], "nobody has confirmed anything"

    # one reproduction, one challenge, the maintainer's word
    again = lab.submit("gil-lab", 85.2, more=f"reproduces lab/{names[fast].rpartition('/')[2]}")
    report = lab.bot.answer(again)
    assert report.status is Status.VERIFIED
    assert f"{names[fast]} becomes confirmed" in lab.bot.sticky(again).replace("\\", "")
    lab.merge(again)
    doubt = lab.submit("ben-lab", 99.9, more=f"challenges lab/{names[lucky].rpartition('/')[2]}")
    report = lab.bot.answer(doubt)
    assert report.status is Status.NEEDS_REVIEW
    assert "becomes challenged" in lab.bot.sticky(doubt)
    said = "/accept maintainer-decides because three runs on another card show no gain"
    comment = lab.bot.say(doubt, MAINTAINER, said)
    assert lab.bot.command(doubt, comment) == "accepted"
    assert lab.bot.answer(doubt).status is Status.VERIFIED
    assert "becomes refuted" in lab.bot.sticky(doubt)
    lab.merge(doubt)
    board = lab.board()
    assert board.states[names[lucky]].name == "refuted"
    assert board.states[names[fast]].name == "confirmed"
    assert board.entries[0].submission == names[fast]

    # one promotion
    (opened,) = lab.promoted(doubt)
    number = max(lab.bot.repo.pulls)
    # three runs take 0.2 s more on average; two people measured the new baseline, in as many pairs
    new = ((85.2 / 100.2) * (85.4 / 100.2)) ** 0.5
    then = {
        names[fast]: 1.0,
        names[single]: 96 / 100 / new,
        names[others[0]]: 97.2 / 100.2 / new,
        names[others[1]]: 98.2 / 101.2 / new,
    }
    table = lab.bot.repo.issues[number].body.partition("### The board")[2]
    for entry, ratio in then.items():
        state = "confirmed" if entry == names[fast] else "claimed"
        assert f"| `{entry}` | {state} | {ratio * new:.4g} | {ratio:.4g} |" in table
    assert names[lucky] not in table
    assert opened.startswith(names[fast].rpartition("/")[2])
    lab.bot.answer(number)
    lab.bot.github.merge(REPO, number)
    board = lab.board()
    assert f"submissions/lab/{board.track.baseline_id}" == names[fast]
    shown = {e.submission: e.progress.ratio for e in board.entries if e.progress}
    assert shown == {entry: pytest.approx(ratio) for entry, ratio in then.items()}
    assert list(shown) == sorted(then, key=then.__getitem__)
    made = board.track.baselines[-1]
    assert (made.after, {c.github: c.roles for c in made.credits}) == (
        "first",
        {"ann-lab": ("runs",), "ben-lab": ("idea",), "gil-lab": ("runs",)},
    )
    assert lab.promoted(number) == ["no new baseline is due"]
