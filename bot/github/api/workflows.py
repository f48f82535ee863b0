"""The workflow files of the bot: their names, stated once, and how one is started."""

from __future__ import annotations

from collections.abc import Callable

from bot.github.api.client import Repo, told

WORKFLOWS = ("verify", "record", "command", "pages", "audit")
Dispatch = Callable[[int, str], None]


def file_of(name: str) -> str:
    """The file of a workflow. The prefix keeps it apart from the repository's own workflows."""
    return f"speedrun-{name}.yml"


def dispatch_workflow(repo: Repo, name: str = "verify") -> Dispatch:
    """Start a workflow for a pull request: writes with a workflow's token start none."""

    def start(number: int, ref: str) -> None:
        with told(f"starting {file_of(name)}"):
            _start(repo, name, ref, {"pr": str(number)})

    return start


def _start(repo: Repo, name: str, ref: str, inputs: dict[str, str]) -> None:
    """One request: by its file name a workflow need not be looked up first."""
    url = f"{repo.api.url}/actions/workflows/{file_of(name)}/dispatches"
    body = {"ref": ref, "inputs": inputs} if inputs else {"ref": ref}
    repo.api.requester.requestJsonAndCheck("POST", url, input=body)


def rebuild_site(repo: Repo) -> str:
    """Start the workflow that builds the site, on the default branch."""
    with told(f"starting {file_of('pages')}"):
        _start(repo, "pages", repo.api.default_branch, {})
    return "the site is being rebuilt"
