"""A badly broken submission, mended with nothing but what the comment says."""

from __future__ import annotations

import json
import re
from typing import Any

from bot.registry import Status
from tests.bot.github.competition import AUTHOR, OWNER, Competition, submission

FOLDER = "submissions/mini/broken"
PATH = f"{FOLDER}/submission.json"
WANDB = "https://wandb.ai/example-team/speedrun"


def broken() -> dict[str, Any]:
    """More than twelve mistakes of many kinds, as a newcomer might make them together."""
    files: dict[str, Any] = dict(submission("broken", seconds=90.0, salt=7))
    data = json.loads(files[PATH])
    data["runs"] += [
        {"source": "log", "path": "logs/9.log"},
        {"source": "wandb", "link": WANDB},
        {"source": "wandb", "link": "https://runs.example/a/b/runs/c"},
    ]
    data |= {
        "summary": "See /home/me/run.sh \u202ehidden",
        "contributors": [{"github": "another-user", "roles": ["boss"]}],
        "claims": {"loss": {"mean": 3.25, "n": 9}, "training_time_s": 80.0},
        "colour": "red",
        "title": "",
        "links": ["https://example.org/post"],
        "code": {"path": "train.py"},
    }
    files[PATH] = json.dumps(data, indent=2)
    files[f"{FOLDER}/logs/1.log"] = files[f"{FOLDER}/logs/0.log"]
    theirs = submission("record", OWNER, seconds=120.0, salt=90)
    files[f"{FOLDER}/logs/3.log"] = theirs["submissions/mini/record/logs/3.log"]
    return files | {"README.md": "changed\n"}


def blocks(body: str) -> dict[str, list[str]]:
    """Rule -> what the comment says of each finding that has to change."""
    found: dict[str, list[str]] = {}
    for item in re.split(r"^(?:- |\d\. )", body, flags=re.MULTILINE)[1:]:
        rule = re.search(r"\[`([a-z-]+)`\]\(", item)
        if rule is None:
            continue  # what else the pull request is told
        found.setdefault(rule[1], []).append(item)
    return found


def test_twelve_findings_are_mended_by_the_comment_alone(competition: Competition) -> None:
    pull = competition.open(broken(), branch="broken")
    report = competition.answer(pull.number)
    assert report.status is Status.REJECTED
    body = competition.sticky(pull.number)
    said = blocks(body)
    assert sum(map(len, said.values())) >= 12, sorted(said)
    for items in said.values():
        for item in items:
            if not item.startswith("note"):  # a note may leave nothing to do
                assert re.search(r"\*\*(?:Fix|Optional):\*\* ", item), item
            assert FOLDER in item or "submission.json" in item or "README" in item, item
    assert any("logs/3.log" in item and "record" in item for item in said["duplicate-run"])
    assert any("logs/1.log" in item for item in said["duplicate-run"])

    data = json.loads(broken()[PATH])
    data["runs"] = data["runs"][:1] + data["runs"][2:3] + data["runs"][4:8]
    data["summary"] = "The learning rate of the embedding is larger, with a warm-up of 100 steps."
    data["contributors"] = [
        {"github": "another-user", "roles": ["code"]},
        {"github": AUTHOR, "roles": ["pr"]},
    ]
    data["title"] = "A larger learning rate"
    for key in ("claims", "colour", "links"):
        del data[key]
    mended: dict[str, Any] = {PATH: json.dumps(data, indent=2), "README.md": "A speedrun.\n"}
    mended[f"{FOLDER}/train.py"] = "print('train')\n"
    mended |= {f"{FOLDER}/logs/{n}.log": None for n in (1, 3)}
    competition.push(mended, branch="broken")
    report = competition.answer(pull.number)
    assert report.status is Status.VERIFIED, report.verdicts[0].findings
    assert len(competition.comments(pull.number)) == 2
    assert competition.labels(pull.number) == ["speedrun: verified"]
    assert "now passes" in competition.comments(pull.number)[-1]
