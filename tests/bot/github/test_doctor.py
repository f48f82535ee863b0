"""What `doctor` sees of repositories that are set up in many ways: each line right, and `unknown`
where it cannot see."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.github.api.client import connect, open_repo
from bot.github.host.doctor import examine
from bot.github.host.settings import load_settings
from tests.bot.github.competition import BOT, REPO, Competition
from tests.bot.github.test_hosting import environments, well_set_up
from tests.bot.github.test_hosting_variants import write

pytestmark = pytest.mark.one_in(3)

# ---- doctor: recorded configurations ------------------------------------------------------------

Change = Callable[[dict[str, Any], Path], None]


def other_branch(settings: dict[str, Any], _: Path) -> None:
    include = ["refs/heads/release"]
    settings["rulesets"][0]["conditions"]["ref_name"]["include"] = include


def only_evaluated(settings: dict[str, Any], _: Path) -> None:
    settings["rulesets"][0]["enforcement"] = "evaluate"


def classic(settings: dict[str, Any], _: Path) -> None:
    settings["rulesets"] = []
    checks = [{"context": "speedrun", "app_id": 4242}]
    required = {"checks": checks, "contexts": ["speedrun"], "strict": False}
    settings["protection"] = {"main": {"required_status_checks": required}}


def no_environment(settings: dict[str, Any], _: Path) -> None:
    settings["environments"] = environments("wandb-read")


def every_branch(settings: dict[str, Any], _: Path) -> None:
    settings["environments"] = environments("wandb-read", "publish", branches=False)


def no_pages(settings: dict[str, Any], root: Path) -> None:
    del settings["pages"]
    write(root, ".github/speedrun.toml", "[workflows]\npages = false\n")


def logs_only(settings: dict[str, Any], root: Path) -> None:
    del settings["environment_secrets"]
    for path in (root / "tracks").glob("*.toml"):
        text = path.read_text().replace('accepts = ["log", "wandb"]', 'accepts = ["log"]')
        path.write_text(text.replace('accepts = ["wandb"]', 'accepts = ["log"]'))


def an_organisation(settings: dict[str, Any], root: Path) -> None:
    write(root, ".github/speedrun.toml", '[bot]\nreviewers = ["big-org"]\n')


def no_owners(settings: dict[str, Any], root: Path) -> None:
    (root / ".github/CODEOWNERS").write_text("/.github/ @example-org\n")


def no_key(settings: dict[str, Any], _: Path) -> None:
    settings["environment_secrets"] = {"total_count": 0, "secrets": []}


def hidden_key(settings: dict[str, Any], _: Path) -> None:
    del settings["environment_secrets"]


def site_of_a_branch(settings: dict[str, Any], _: Path) -> None:
    settings["pages"] = {**settings["pages"], "build_type": "legacy"}


def no_site(settings: dict[str, Any], _: Path) -> None:
    del settings["pages"]


def workflows_write(settings: dict[str, Any], _: Path) -> None:
    settings["workflow_permissions"]["default_workflow_permissions"] = "write"


def no_pull_requests(settings: dict[str, Any], _: Path) -> None:
    settings["workflow_permissions"]["can_approve_pull_request_reviews"] = False


def queue(settings: dict[str, Any], _: Path) -> None:
    parameters = {
        "check_response_timeout_minutes": 60,
        "grouping_strategy": "ALLGREEN",
        "max_entries_to_build": 5,
        "max_entries_to_merge": 5,
        "merge_method": "MERGE",
        "min_entries_to_merge": 1,
        "min_entries_to_merge_wait_minutes": 5,
    }
    settings["rulesets"][0]["rules"].append({"type": "merge_queue", "parameters": parameters})


def queue_of_an_old_install(settings: dict[str, Any], root: Path) -> None:
    queue(settings, root)
    path = root / ".github/workflows/speedrun-verify.yml"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "  merge_group:" not in line))


def unpinned(settings: dict[str, Any], _: Path) -> None:
    parameters = settings["rulesets"][0]["rules"][0]["parameters"]
    parameters["required_status_checks"] = [{"context": "speedrun"}]


def approval_for_all(settings: dict[str, Any], root: Path) -> None:
    unpinned(settings, root)
    settings["fork_approval"] = {"approval_policy": "all_external_contributors"}


def owners_review(settings: dict[str, Any], root: Path) -> None:
    approval_for_all(settings, root)
    parameters = {
        "dismiss_stale_reviews_on_push": True,
        "require_code_owner_review": True,
        "require_last_push_approval": False,
        "required_approving_review_count": 1,
        "required_review_thread_resolution": False,
    }
    settings["rulesets"][0]["rules"].append({"type": "pull_request", "parameters": parameters})


def hidden_approval(settings: dict[str, Any], root: Path) -> None:
    unpinned(settings, root)
    del settings["fork_approval"]


def hidden_protection(settings: dict[str, Any], _: Path) -> None:
    settings["rulesets"] = []
    settings["protection"] = "hidden"


def organisation_owns(settings: dict[str, Any], root: Path) -> None:
    text = "/.github/ @big-org\n/tracks/ @big-org\n"
    (root / ".github/CODEOWNERS").write_text(text)


def team_owns(settings: dict[str, Any], root: Path) -> None:
    text = "/.github/ @big-org/judges\n/tracks/ @big-org/judges  # the jury\n"
    (root / ".github/CODEOWNERS").write_text(text)


def no_forks(settings: dict[str, Any], _: Path) -> None:
    settings |= {"private": True, "allow_forking": False}


def forks_of_members(settings: dict[str, Any], _: Path) -> None:
    settings |= {"private": True, "allow_forking": True}


def hidden_forks(settings: dict[str, Any], _: Path) -> None:
    settings["private"] = True


Words = tuple[str, ...]
NOT_REQUIRED = ("nothing requires the check", "can forge the check")
CONFIGURATIONS: dict[str, tuple[Change, Words, Words]] = {
    "as it should be": (lambda s, r: None, (), ()),
    "a ruleset of another branch": (other_branch, NOT_REQUIRED, ()),
    "a ruleset that is only evaluated": (only_evaluated, NOT_REQUIRED, ()),
    "classic protection": (classic, (), ()),
    "classic protection that answers 404": (
        hidden_protection,
        ("can forge the check",),
        ("no ruleset requires the check speedrun; classic protection",),
    ),
    "no environment": (no_environment, ("there is no environment publish",), ()),
    "an environment for every branch": (every_branch, ("every branch may use",), ()),
    "no W&B key": (no_key, ("has no secret WANDB_API_KEY",), ()),
    "secrets that answer 404": (hidden_key, (), ("wandb-read holds WANDB_API_KEY",)),
    "another site": (no_pages, (), ()),
    "Pages off": (no_site, ("Pages is not set to GitHub Actions",), ()),
    "Pages from a branch": (site_of_a_branch, ("Pages is not set to GitHub Actions",), ()),
    "logs only": (logs_only, (), ()),
    "workflows that may write": (workflows_write, ("workflows may write by default",), ()),
    "Actions that open no pull requests": (no_pull_requests, ("may not open pull requests",), ()),
    "an organisation as reviewer": (an_organisation, ("is an organisation and cannot",), ()),
    "an organisation as owner": (organisation_owns, ("names the organisation big-org",), ()),
    "a team as owner": (team_owns, (), ()),
    "workflows of forks run freely": (unpinned, ("can forge the check",), ()),
    "approval without review": (approval_for_all, ("nothing requires their review",), ()),
    "approval and review": (owners_review, (), ()),
    "approval that answers 404": (hidden_approval, (), ("which workflows of forks",)),
    "tracks without an owner": (no_owners, ("nobody owns",), ()),
    "a merge queue": (queue, (), ()),
    "a merge queue and an old install": (queue_of_an_old_install, ("a merge queue is on",), ()),
    "forks allowed to members": (forks_of_members, (), ()),
    "forks not allowed": (no_forks, ("may not be forked",), ()),
    "forks hidden": (hidden_forks, (), ("whether this private repository may be forked",)),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_doctor_on_recorded_configurations(competition: Competition, wandb: Any, name: str) -> None:
    root = well_set_up(competition)
    competition.github.add_user("big-org", "Organization")
    change, wrong, unseen = CONFIGURATIONS[name]
    change(competition.repo.settings, root)
    competition.repo.private = competition.repo.settings.get("private", False)
    found = look(competition, root, "token-of-admin")
    first = {kind: [x.text.splitlines()[0] for x in found if kind(x)] for kind in (is_bad, unknown)}
    assert matched(first[is_bad], wrong) == wrong, first[is_bad]
    # no release has the hash of the stand-in, and nothing answers where releases are asked for
    hidden = [line for line in first[unknown] if "is a release:" not in line]
    assert matched(hidden, unseen) == unseen, hidden
    assert (len(first[is_bad]), len(hidden)) == (len(wrong), len(unseen))


def is_bad(line: Any) -> bool:
    return bool(line.bad)


def unknown(line: Any) -> bool:
    return bool(line.unknown)


def matched(lines: list[str], wanted: Words) -> Words:
    return tuple(words for words in wanted if any(words in line for line in lines))


def test_the_configurations_are_many() -> None:
    assert len(CONFIGURATIONS) >= 12


def look(competition: Competition, root: Path, token: str) -> list[Any]:
    repo = open_repo(connect(token, url=competition.github.url), REPO, BOT)
    return examine(root, repo, load_settings(root))


def test_what_a_token_cannot_see_is_unknown_and_neither_ok_nor_wrong(
    competition: Competition, wandb: Any
) -> None:
    root = well_set_up(competition)
    competition.repo.settings["rulesets"] = []
    competition.github.add_token("token-of-little", BOT, REPO, contents="read")
    found = look(competition, root, "token-of-little")
    hidden = "\n".join(line.text for line in found if line.unknown)
    for words in ("environments", "permissions", "classic protection"):
        assert words in hidden
    for line in found:
        if "environment" in line.text or "requires the check" in line.text:
            assert line.unknown and not line.bad, line.text


def test_an_odd_answer_is_unknown(competition: Competition, wandb: Any) -> None:
    root = well_set_up(competition)
    competition.repo.settings["environments"] = {"total_count": 1, "environments": [{"name": None}]}
    competition.github.violations.clear()
    found = look(competition, root, "token-of-admin")
    assert any("there is no environment" in line.text for line in found if line.bad)
    competition.github.violations.clear()


def test_exit_status_tells_wrong_from_unseen(competition: Competition, wandb: Any) -> None:
    root = well_set_up(competition)
    arguments = ["doctor", "--root", str(root), "--repo", REPO]
    environment = {**os.environ, "GITHUB_TOKEN": "token-of-admin"}
    assert CliRunner().invoke(main, arguments, env=environment).exit_code == 3
    competition.repo.settings["environments"] = environments()
    result = CliRunner().invoke(main, arguments, env=environment)
    assert result.exit_code == 1, result.output
