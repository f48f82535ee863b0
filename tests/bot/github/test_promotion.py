"""A baseline that is due: the pull request that makes it, its words, and what becomes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.github.host.settings import load_settings
from bot.github.server.running import engine_of, promote
from bot.model.report import Kind
from bot.parse.schemas import first_problem
from tests.bot.github.competition import (
    BOT,
    LAB,
    MAINTAINER,
    NOW,
    REPO,
    Competition,
    log,
)
from tests.doubles.github import git

pytestmark = pytest.mark.one_in(3)

TRACK = LAB.replace('accepts = ["wandb"]', 'accepts = ["log"]')
FILE = "tracks/baselines/lab/faster.json"
CARD = "Running PyTorch 2.10.0 compiled for CUDA 12.6 on NVIDIA A100-SXM4-80GB with world_size 1\n"


def entry(
    name: str, seconds: float, people: dict[str, list[str]], salt: int, **fields: Any
) -> dict[str, str]:
    """Three runs of so many seconds where the baseline takes 100."""
    folder = f"submissions/lab/{name}"
    files, runs = {}, []
    for index, cost in enumerate([seconds] * 3 + [100.0] * 3):
        path = f"logs/{index}.log"
        files[f"{folder}/{path}"] = CARD + log(3.277, cost + index % 3 / 5, salt * 10 + index)
        arm = "candidate" if index < 3 else "baseline"
        runs.append({"source": "log", "path": path, "arm": arm})
    data = {
        "schema_version": 1,
        "track": "lab",
        "title": name,
        "summary": "Fewer heads, and the time that they took spent elsewhere.",
        "contributors": [{"github": who, "roles": roles} for who, roles in people.items()],
        "runs": runs,
        **fields,
    }
    return files | {f"{folder}/submission.json": json.dumps(data, indent=1) + "\n"}


FROZEN = {
    "schema_version": 1,
    "id": "first",
    "submission": "submissions/lab/first",
    "frozen_on": "2026-01-01",
    "cost_metric": "training_time_s",
    "costs": [100.0, 100.2, 100.4],
    "losses": [3.277, 3.277, 3.277],
}


@pytest.fixture
def lab(competition: Competition) -> Competition:
    """A lab whose entry `faster` is 15 % faster than its baseline; three people made it."""
    files: dict[str, Any] = {
        "tracks/lab.toml": TRACK,
        "tracks/baselines/lab/first.json": json.dumps(FROZEN),
        **entry("first", 100.0, {"host": ["code"]}, 1),
        **entry("thought", 98.0, {"thinker": ["idea"]}, 2, based_on="first"),
        **entry("faster", 85.0, {"coder": ["code"], "writer": ["writing"]}, 3, based_on="thought"),
        **entry("again", 85.2, {"runner": ["runs"]}, 4, reproduces="lab/faster"),
    }
    competition.github.commit(REPO, "main", files)
    competition.github.add_token("token-of-promote", BOT, REPO, contents="write", issues="write",
                                 pull_requests="write", actions="write")  # fmt: skip
    return competition


def promoted(lab: Competition, number: int) -> list[str]:
    root = lab.checkout()
    settings = load_settings(root)
    return list(promote(lab.as_job("promote"), settings, engine_of(root, None, False), number, NOW))


def merged(lab: Competition) -> int:
    """A pull request after whose merge a baseline is due."""
    return lab.open({"notes.md": "one more\n"}, branch="notes").number


def test_the_bot_opens_the_pull_request(lab: Competition) -> None:
    number = merged(lab)
    (said,) = promoted(lab, number)
    pull = lab.repo.pulls[max(lab.repo.pulls)]
    assert said.startswith("faster: ")
    assert (pull.user, pull.head_branch) == (BOT, "speedrun/promote-lab-faster")
    text = git.text(lab.repo.directory, "show", f"{pull.head_branch}:{FILE}")
    made = json.loads(text)
    assert first_problem(made, "baseline") is None
    assert (made["after"], made["frozen_on"]) == ("first", "2026-11-28")
    people = {c["github"]: c["roles"] for c in made["credits"]}
    assert people == {
        "coder": ["code"],
        "writer": ["writing"],
        "thinker": ["idea"],
        "runner": ["runs"],
    }
    assert [row["submission"] for row in made["board"]][0] == "submissions/lab/faster"
    changed = git.text(lab.repo.directory, "diff", "--name-only", "main", pull.head_branch)
    assert changed.split() == [FILE]


def test_its_description_says_what_why_and_who(lab: Competition) -> None:
    promoted(lab, merged(lab))
    body = lab.repo.issues[max(lab.repo.pulls)].body
    assert "`submissions/lab/faster` has reached the threshold of `lab`, 0.9: 0.8" in body
    assert "It is confirmed by" in body and "@runner" not in body  # nobody is notified
    assert "| `submissions/lab/first` | baseline | 1 | 1.175 |" in body
    assert "- `thinker`: idea" in body
    assert "| `submissions/lab/thought` | claimed | 0.98 |" in body
    assert "- `submissions/lab/thought`: thought, 0.98 of `first`" in body
    page = "([its page](https://example.org/board/entries/lab/again/))\n"
    assert f"\n- `submissions/lab/again`: again, reproduces an entry {page}" in body
    assert "**Its code is not on file**" in body
    assert "{{" not in body and "None" not in body


def test_its_check_is_started_and_shows_the_board_again(lab: Competition) -> None:
    promoted(lab, merged(lab))
    number = max(lab.repo.pulls)
    assert lab.repo.dispatches[-1] == {
        "workflow": "speedrun-verify.yml",
        "ref": "main",
        "inputs": {"pr": str(number)},
    }
    report = lab.answer(number)
    assert (report.kind, report.problems) == (Kind.RULES, ())
    said = lab.sticky(number)
    assert "### New baseline `lab/faster`: a maintainer merges or closes this" in said
    assert "This changes rules" not in said


def test_once_is_enough(lab: Competition) -> None:
    number = merged(lab)
    promoted(lab, number)
    assert promoted(lab, number) == ["lab-faster: its pull request is up to date"]
    told = [c for c in lab.comments(number) if c.startswith("<!-- speedrun:promotion -->")]
    assert len(told) == 1 and f"/pull/{max(lab.repo.pulls)}" in told[0]
    lab.repo.pulls[max(lab.repo.pulls)].state = "closed"
    assert promoted(lab, number) == ["faster: its pull request was opened before"]


def test_one_that_is_open_follows_the_board(lab: Competition) -> None:
    promoted(lab, merged(lab))
    number, branch = max(lab.repo.pulls), "speedrun/promote-lab-faster"
    more = entry("more", 85.4, {"second": ["runs"]}, 5, reproduces="lab/faster")
    lab.github.commit(REPO, "main", more)
    lab.answer(number)
    said = lab.sticky(number).replace("\\", "")
    assert "faster.json is out of date (ratio, interval, credits, board)" in said
    lab.repo.dispatches.clear()
    assert promoted(lab, number) == ["lab-faster: brought up to date"]
    made = json.loads(git.text(lab.repo.directory, "show", f"{branch}:{FILE}"))
    # nine pairs of three runs each, which take 0.2 s more on average
    ratio = (85.2 * 85.4 * 85.6) ** (1 / 3) / 100.2
    assert made["ratio"] == pytest.approx(ratio)
    assert "second" in [c["github"] for c in made["credits"]]
    assert f"{ratio:.4g} times the cost of `first`" in lab.repo.issues[number].body
    assert [d["inputs"]["pr"] for d in lab.repo.dispatches] == [str(number)]
    lab.answer(number)
    assert "out of date" not in lab.sticky(number)
    assert promoted(lab, number) == ["lab-faster: its pull request is up to date"]


def test_one_that_is_no_longer_due_says_so(lab: Competition) -> None:
    promoted(lab, merged(lab))
    number, path = max(lab.repo.pulls), "submissions/lab/faster/submission.json"
    data = json.loads(git.text(lab.repo.directory, "show", f"main:{path}"))
    stone = {"by": "coder", "date": "2026-11-28", "reason": None}
    lab.github.commit(REPO, "main", {path: json.dumps({**data, "withdrawn": stone})})
    lab.answer(number)
    assert "is no longer due: it is withdrawn. Do not merge it" in lab.sticky(number)
    assert promoted(lab, number) == ["lab-faster: no longer due: it is withdrawn"]
    assert lab.repo.issues[number].body.startswith("**Do not merge this:**")
    assert promoted(lab, number) == ["lab-faster: its pull request is up to date"]


def test_after_the_merge_the_next_one_is_measured_against_it(lab: Competition) -> None:
    promoted(lab, merged(lab))
    lab.github.merge(REPO, max(lab.repo.pulls))
    assert promoted(lab, merged_again(lab)) == ["no new baseline is due"]
    board = engine_of(lab.checkout(), None, False).board("lab")
    assert board.track.baseline_id == "faster"
    assert [b.id for b in board.track.baselines] == ["first", "faster"]


def merged_again(lab: Competition) -> int:
    return lab.open({"more.md": "two\n"}, login=MAINTAINER, branch="more").number


def test_where_actions_may_open_none_the_page_is_linked(lab: Competition) -> None:
    number = merged(lab)
    lab.github.add_token("token-of-promote", BOT, REPO, contents="write", issues="write",
                         pull_requests="read", actions="write")  # fmt: skip
    (said,) = promoted(lab, number)
    assert "/compare/main...speedrun/promote-lab-faster?expand=1" in said
    (told,) = [c for c in lab.comments(number) if c.startswith("<!-- speedrun:promotion -->")]
    assert "/compare/main...speedrun/promote-lab-faster?expand=1" in told


def test_nothing_is_opened_that_is_not_due(competition: Competition) -> None:
    files: dict[str, Any] = {
        "tracks/lab.toml": TRACK,
        **entry("first", 100.0, {"host": ["code"]}, 1),
    }
    files |= {"tracks/baselines/lab/first.json": json.dumps(FROZEN)}
    files |= entry("thought", 98.0, {"thinker": ["idea"]}, 2, based_on="first")
    competition.github.commit(REPO, "main", files)
    competition.github.add_token("token-of-promote", BOT, REPO, contents="write",
                                 pull_requests="read")  # fmt: skip
    assert promoted(competition, 1) == ["no new baseline is due"]
