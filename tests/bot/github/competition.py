"""A small competition on the GitHub double: two tracks, a record, and what people do to it.

`Competition` runs the bot's own steps with the real PyGithub client and with tokens that hold just
the permissions of the workflow job that runs the step.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.github.api.client import Repo, connect, open_repo
from bot.github.host.settings import load_settings
from bot.github.pull_request.engine import Engine
from bot.github.pull_request.first_seen import remember
from bot.github.pull_request.report_file import read_report
from bot.github.server.running import answer_event, publish_file, record_file, verify_to_files
from bot.model.report import Report
from tests.doubles.github import GitHubDouble, git
from tests.doubles.github.world import Pull
from tests.doubles.process import kill, start
from tests.doubles.wandb import WandbDouble
from tests.track_texts import time_to_loss

REPO = "example-org/speedrun"
BOT = "github-actions[bot]"
OWNER, AUTHOR, STRANGER = "example-org", "example-user", "another-user"
MAINTAINER = "example-maintainer"
NOW = dt.datetime(2026, 11, 28, tzinfo=dt.UTC)
JOBS = {
    "evaluate": {"contents": "read", "issues": "read", "pull_requests": "read"},
    "publish": {"contents": "read", "checks": "write", "pull_requests": "write"},
    "append": {"contents": "write"},
    "tell": {"contents": "read", "issues": "write", "pull_requests": "write"},
    "remember": {"contents": "write", "actions": "read"},
    "queue": {"contents": "read", "checks": "write", "pull_requests": "read"},
    "answer": {
        "contents": "read",
        "checks": "read",
        "actions": "write",
        "issues": "write",
        "pull_requests": "write",
        "discussions": "write",
    },
    "change": {
        "contents": "write",
        "actions": "write",
        "issues": "write",
        "pull_requests": "write",
        "discussions": "write",
    },
    "lists": {"contents": "read", "pull_requests": "read", "issues": "read"},
    "watch": {"contents": "read", "checks": "read", "pull_requests": "read", "issues": "read"},
    "issue": {"contents": "read", "issues": "write", "actions": "write"},
}
TRACK = time_to_loss(
    "mini",
    "Mini: time to 3.28",
    more="""\
[evidence.keys]
loss = ["val_loss"]
time_ms = ["train_time"]
step = ["step", "_step"]
total_steps = ["train_steps"]
[levels]
improvement-not-significant = "note"
""",
)
"""Its runs are timed on one machine, so that no baseline arm is asked for beside a record."""
LAB = time_to_loss(
    "lab",
    "Lab: progress over a baseline",
    objective="baseline",
    significance='test = "none"',
    accepts='["wandb"]',
    more="""\
[evidence.keys]
loss = ["val_loss"]
time_ms = ["train_time"]
step = ["step", "_step"]
total_steps = ["train_steps"]
[baseline]
promote_at = 0.9
""",
)
STEPS, POINTS = 1000, 9
FREE = re.compile(r"/git/blobs|/files$|/pulls/(\d+/(comments|reviews)|comments/\d+)$")


def log(loss: float, seconds: float, salt: int = 0) -> str:
    """A training log that ends at `loss` after `seconds`; `salt` makes its series its own."""
    lines = []
    noise = random.Random(salt)
    for point in range(POINTS):
        step = STEPS * point // (POINTS - 1)
        fall = (1 - point / (POINTS - 1)) ** 2
        value = loss + 4.0 * fall + noise.uniform(-0.05, 0.05) * (point < POINTS - 1)
        elapsed = 1000.0 * seconds * point / (POINTS - 1)
        lines.append(
            f"step:{step}/{STEPS} val_loss:{value:.4f} train_time:{elapsed:.0f}ms "
            f"step_avg:{elapsed / max(step, 1):.2f}ms"
        )
    return "\n".join(lines) + "\n"


def history(loss: float, seconds: float, salt: int = 0) -> list[dict[str, Any]]:
    """The same run as rows of a W&B history."""
    rows = []
    for line in log(loss, seconds, salt).splitlines():
        words = dict(word.split(":", 1) for word in line.split())
        step = int(words["step"].split("/")[0])
        rows.append(
            {
                "_step": step,
                "step": step,
                "val_loss": float(words["val_loss"]),
                "train_time": float(words["train_time"].removesuffix("ms")),
                "_runtime": 8 + 0.0011 * float(words["train_time"].removesuffix("ms")),
            }
        )
    return rows


LOSSES = (3.2771, 3.2783, 3.2766, 3.2779, 3.2775, 3.2768, 3.2781, 3.2770)


def submission(
    name: str,
    author: str = AUTHOR,
    *,
    runs: int = 8,
    seconds: float = 100.0,
    shift: float = 0.0,
    salt: int = 0,
    track: str = "mini",
    **extra: Any,
) -> dict[str, str]:
    """The files of a submission with logs: by default it passes."""
    folder = f"submissions/{track}/{name}"
    listed = [{"source": "log", "path": f"logs/{n}.log"} for n in range(runs)]
    data = {
        "schema_version": 1,
        "track": track,
        "title": f"Entry {name}",
        "summary": "A larger learning rate for the embedding, warmed up over 100 steps.",
        "contributors": [{"github": author, "roles": ["idea", "runs"]}],
        "runs": listed,
        **extra,
    }
    files = {f"{folder}/submission.json": json.dumps(data, indent=2) + "\n"}
    for n in range(runs):
        # a zero-mean wiggle, so that runs differ and their mean does not depend on the name
        files[f"{folder}/logs/{n}.log"] = log(
            LOSSES[n % 8] + shift, seconds + 0.2 * (n % 3), salt * 100 + n
        )
    return files


def wandb_submission(
    wandb: WandbDouble,
    name: str,
    author: str = AUTHOR,
    *,
    runs: int = 8,
    seconds: float = 90.0,
    salt: int = 0,
    project: str = "speedrun",
    track: str = "mini",
) -> dict[str, str]:
    """A submission that links runs, which the W&B double then has."""
    links = []
    for n in range(runs):
        run_id = f"{name}{n}"
        wandb.add_run(
            "example-team",
            project,
            run_id,
            history=history(LOSSES[n % 8], seconds + 0.2 * (n % 3), salt * 100 + n),
            config={"train_steps": STEPS, "seed": n, "speedrun": {"nonce": f"{salt:04x}{n:028x}"}},
            tags=[f"speedrun:{author}"],
        )
        link = f"https://wandb.ai/example-team/{project}/runs/{run_id}"
        links.append({"source": "wandb", "link": link})
    files = submission(name, author, runs=0, track=track)
    path = f"submissions/{track}/{name}/submission.json"
    data = json.loads(files[path]) | {"runs": links}
    return {path: json.dumps(data, indent=2) + "\n"}


class Competition:
    """The double with a repository of two tracks and one record, and the steps of the bot."""

    def __init__(self, github: GitHubDouble, folder: Path):
        self.github = github
        self.folder = folder
        self.count = 0
        for login in (OWNER, AUTHOR, STRANGER, MAINTAINER, BOT):
            github.add_user(login)
        self.repo = github.add_repo(REPO)
        self.repo.collaborators[MAINTAINER] = "write"
        files = {"tracks/mini.toml": TRACK, "tracks/lab.toml": LAB, "README.md": "A speedrun.\n"}
        settings = f'[bot]\nreviewers = ["{MAINTAINER}"]\nsite = "https://example.org/board"\n'
        files[".github/speedrun.toml"] = settings
        files |= submission("record", OWNER, seconds=120.0, salt=90)
        github.commit(REPO, "main", dict(files))
        for job, permissions in JOBS.items():
            github.add_token(f"token-of-{job}", BOT, REPO, **permissions)
        for login in (OWNER, AUTHOR, STRANGER, MAINTAINER):
            github.add_token(f"token-of-{login}", login)
        self.waits: list[float] = []
        self.costs: list[tuple[str, int]] = []

    @contextlib.contextmanager
    def counted(self, step: str) -> Iterator[None]:
        """Note the requests of a step beyond one a blob, one a hundred changed files, and those
        about suggestions."""
        since = len(self.github.calls)
        yield
        made = self.github.calls[since:]
        free = sum(bool(FREE.search(c.path)) for c in made)
        self.costs.append((step, len(made) - free))

    # ---- what people do -------------------------------------------------------------------------

    def fork(self, login: str = AUTHOR) -> str:
        name = f"{login}/speedrun"
        if name not in self.github.repos:
            self.github.add_repo(name, REPO)
        return name

    def push(
        self, files: dict[str, Any], login: str = AUTHOR, branch: str = "entry", **modes: Any
    ) -> str:
        return self.github.commit(self.fork(login), branch, files, **modes)

    def open(
        self,
        files: dict[str, Any],
        login: str = AUTHOR,
        branch: str = "entry",
        title: str = "An entry",
        body: str = "## Approach\n\nA larger learning rate for the embedding.\n",
        **modes: Any,
    ) -> Pull:
        self.push(files, login, branch, **modes)
        return self.github.open_pull(REPO, login, self.fork(login), branch, title, body)

    def say(self, number: int, login: str, body: str) -> int:
        return self.github.comment(REPO, number, login, body)["id"]

    # ---- what the bot does ----------------------------------------------------------------------

    def as_job(self, job: str) -> Repo:
        repo = open_repo(connect(f"token-of-{job}", url=self.github.url, backoff=0.0), REPO, BOT)
        return Repo(repo.api, repo.name, repo.login, self.waits.append)

    def checkout(self) -> Path:
        """The default branch as files, as the workflows check it out; evidence inside it."""
        self.count += 1
        root = self.folder / f"checkout-{self.count}"
        root.mkdir(parents=True)
        git.check_out(self.repo.directory, "main", root)
        if self.github.branch(self.repo, "evidence"):
            (root / "evidence").mkdir(exist_ok=True)
            git.check_out(self.repo.directory, "evidence", root / "evidence")
        return root

    def verify(self, number: int, merged: bool = False, online: bool = True) -> Report:
        root = self.checkout()
        self.report = self.folder / f"report-{self.count}.json"
        self.snapshots = self.folder / f"snapshots-{self.count}"
        return verify_to_files(
            self.as_job("evaluate"),
            Engine(root, root / "evidence", online),
            number,
            merged,
            self.report,
            self.snapshots,
        )

    def publish(self, number: int) -> str:
        settings = load_settings(self.checkout())
        return publish_file(self.as_job("publish"), settings, self.report, number, None, True)

    def answer(self, number: int, **kinds: Any) -> Report:
        """The jobs of `speedrun-verify.yml`."""
        with self.counted("answer"):
            report = self.verify(number, **kinds)
            self.publish(number)
        self.remember(number)
        return report

    def remember(self, number: int, at: dt.datetime = NOW) -> str | None:
        with self.counted("remember"):
            found = read_report(self.report, repository=REPO, pr=number)
            return remember(self.as_job("remember"), found, at)

    def record(self, number: int) -> list[str]:
        """The jobs of `speedrun-record.yml`."""
        said = []
        with self.counted("record"):
            self.verify(number, merged=True)
            settings = load_settings(self.checkout())
            for job in ("append", "tell"):
                said += record_file(
                    self.as_job(job), settings, self.report, number, self.snapshots, job, NOW
                )
        return said

    def command(
        self, number: int, comment: int | str, job: str = "answer", event: str = "issue_comment"
    ) -> str:
        root = self.checkout()
        settings = load_settings(root)
        with self.counted("command"):
            return answer_event(self.as_job(job), settings, root, event, number, str(comment))

    # ---- the state ------------------------------------------------------------------------------

    def comments(self, number: int, login: str = BOT) -> list[str]:
        found = self.repo.comments.values()
        return [c["body"] for c in found if (c["number"], c["user"]) == (number, login)]

    def sticky(self, number: int) -> str:
        found = [b for b in self.comments(number) if b.startswith("<!-- speedrun:verdict -->")]
        assert len(found) == 1, f"{len(found)} verdict comments"
        return found[0]

    def checks(self, sha: str) -> list[tuple[str, str]]:
        found = self.repo.checks.values()
        return [(c["name"], c.get("conclusion")) for c in found if c["head_sha"] == sha]

    def labels(self, number: int) -> list[str]:
        return self.repo.issues[number].labels

    def branches(self) -> dict[str, str]:
        return git.branches(self.repo.directory)


def kill_points(last: int, every: int) -> pytest.MarkDecorator:
    """`at` and `phase` of `killed_at` for as many requests; a full run takes each of them, any
    other run one in so many, from the middle of the first so many on."""
    points = [(at, phase) for phase in ("before", "after") for at in range(1, last + 1)]
    rest = pytest.mark.full("before and after each request")
    marks = [() if number % every == every // 2 else rest for number in range(len(points))]
    params = [pytest.param(*point, marks=m) for point, m in zip(points, marks, strict=True)]
    return pytest.mark.parametrize(("at", "phase"), params)


def killed_at(
    competition: Competition, program: str, arguments: list[str], at: int, phase: str
) -> bool:
    """Run a program in a process of its own, killed `phase` ("before" or "after") its `at`-th
    request; False when it ended first."""
    state: dict[str, Any] = {"count": 0, "killed": False}

    def strike(now: str, method: str, path: str) -> None:
        if now != phase or state["killed"]:
            return
        state["count"] += 1
        if state["count"] == at:
            state["killed"] = True
            kill(state["process"])

    with competition.github.lock:
        state["process"] = start(program, arguments)
        competition.github.on_request = strike
    state["process"].join(300)
    assert state["process"].exitcode is not None
    competition.github.on_request = None
    return bool(state["killed"])
