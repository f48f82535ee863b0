"""Whose run a log says that it is: lines that name somebody, and code and prose that do not."""

from __future__ import annotations

import pytest

from bot.evidence.log.owner import owners_in, pages_in
from bot.evidence.log.training_log import read_log

NAMES = (
    "github_login: another-user",
    "speedrun: github_login another-user",
    "python train.py --github-login another-user --seed 3",
    "torchrun train.py --github-login=another-user",
    '["train.py", "--github-login", "another-user"]',
    "Namespace(github_login='another-user', seed=1)",
    'config: {"seed": 3, "github_login": "another-user"}',
    "tags: ['speedrun:another-user', 'fast']",
    "speedrun:another-user",
)
NOT_ANYBODY = (
    'parser.add_argument("--github-login", help="whose run it is")',
    '    "github_login": self.job.github_login,',
    "github_login: str | None = None",
    "github_login=options['github_login']",
    "def tag(github_login: str) -> str:",
    'tags = [f"speedrun:{login}"]',
    "usage: train.py [--github-login LOGIN] [--seed N]",
    "use --github-login to bind the run",
    "the github_login is taken from the settings",
    "github_login: null",
    "github_login: your-github-login",
    "wandb project modded:speedrun:medium tags: fast",
    "speedrun:1024 tokens a second",
)


@pytest.mark.parametrize("line", NAMES)
def test_a_line_that_names_somebody(line: str) -> None:
    assert owners_in(line) == ("another-user",)


@pytest.mark.parametrize("line", NOT_ANYBODY)
def test_a_line_that_names_nobody(line: str) -> None:
    assert owners_in(line) == ()


def test_a_long_line_is_not_looked_at() -> None:
    assert owners_in("github_login: another-user" + " " * 4000) == ()
    assert pages_in("wandb: https://wandb.ai/a/b/runs/c " + "x" * 4000) == ()


def test_the_pages_that_the_client_names() -> None:
    line = "wandb: View run at https://wandb.ai/example-team/nanogpt/runs/x9f2k1"
    assert pages_in(line) == ("wandb:example-team/nanogpt/x9f2k1",)
    assert pages_in("wandb: View project at https://wandb.ai/example-team/nanogpt") == ()


def test_what_stands_before_the_steps_is_said_of_the_run() -> None:
    steps = "".join(
        f"step:{s}/20 val_loss:{4 - s / 10:.4f} train_time:{s}ms\n" for s in (0, 10, 20)
    )
    (run,) = read_log(f"github_login: another-user\n{steps}".encode(), "a.log")
    assert run.tags == ("speedrun:another-user",)
    (nobody,) = read_log(f"github_login: null\n{steps}".encode(), "a.log")
    assert nobody.tags == ()
