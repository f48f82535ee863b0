"""Run our workflow files on this machine with `act`, against the GitHub double.

The actions of others are replaced by small stand-ins (there is no network): checkout extracts a
branch of the double, upload and download copy files, set-up points to the command that is
installed here. Jobs, conditions, environment, secrets and outputs are evaluated by act.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from bot.github.api.workflows import file_of
from bot.github.host.files import Target, adapted
from bot.github.host.source import HOME, Source
from tests.bot.github.competition import REPO, Competition
from tests.conftest import ROOT

STANDINS = {
    "actions/checkout": """
name: checkout
description: a branch of the double
inputs: {ref: {default: main}, path: {default: "."}, persist-credentials: {default: "true"}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {REF: "${{ inputs.ref }}", TO: "${{ inputs.path }}"}
      run: |
        mkdir -p "$GITHUB_WORKSPACE/$TO"
        git -C "$DOUBLE_REPO" archive "$REF" | tar -x -C "$GITHUB_WORKSPACE/$TO"
""",
    "actions/upload-artifact": """
name: upload
description: copy
inputs: {name: {}, path: {}, if-no-files-found: {}, retention-days: {}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {NAME: "${{ inputs.name }}", FROM: "${{ inputs.path }}"}
      run: |
        mkdir -p "$ARTIFACTS/$NAME"
        [ -d "$FROM" ] && FROM="$FROM/."
        cp -r "$FROM" "$ARTIFACTS/$NAME"
""",
    "actions/download-artifact": """
name: download
description: copy
inputs: {name: {}, path: {}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {NAME: "${{ inputs.name }}", TO: "${{ inputs.path }}"}
      run: mkdir -p "$TO" && cp -r "$ARTIFACTS/$NAME"/. "$TO"
""",
}
STANDINS["actions/create-github-app-token"] = """
name: token
description: never run here, no App is configured
runs: {using: composite, steps: []}
"""
STANDINS["actions/upload-pages-artifact"] = STANDINS["actions/upload-artifact"].replace(
    "name: {}", 'name: {default: "site"}'
)
STANDINS["actions/deploy-pages"] = """
name: deploy
description: nothing to deploy to
outputs: {page_url: {value: "https://example.org"}}
runs: {using: composite, steps: [{shell: bash, run: "true"}]}
"""
SETUP = """
name: setup
description: the command installed here
inputs: {lock: {default: "bot"}}
outputs: {command: {value: "${{ steps.find.outputs.command }}"}}
runs:
  using: composite
  steps:
    - id: find
      shell: bash
      run: echo "command=$SPEEDRUN_COMMAND" >> "$GITHUB_OUTPUT"
"""


def command_file(folder: Path) -> Path:
    """A `speedrun` command that runs the code under test, and notes which secrets it saw."""
    path = folder / "speedrun"
    path.write_text(
        f'#!/bin/bash\nseen=no; [ -n "$WANDB_API_KEY" ] && seen=yes\n'
        f'echo "$1 key=$seen" >> "{folder}/commands.txt"\n'
        f'exec "{sys.executable}" -c "from bot.cli import main; main()" "$@"\n'
    )
    path.chmod(0o755)
    return path


class Runner:
    """A throw-away clone with our workflows, and act."""

    def __init__(self, competition: Competition, folder: Path, act: str):
        self.competition, self.folder, self.act = competition, folder, act
        self.clone = folder / "clone"
        shutil.copytree(ROOT / ".github", self.clone / ".github")
        source = Source(f"{HOME}/.github/actions/setup@{'0' * 40}")
        for path in (self.clone / ".github/workflows").glob("speedrun-*.yml"):
            path.write_text(adapted(path.read_text(), Target(REPO, "main", source)))
        setup = folder / "actions/home/.github/actions/setup"
        setup.mkdir(parents=True)
        (setup / "action.yml").write_text(SETUP)
        for args in (
            ["init", "-q", "-b", "main"],
            ["add", "-A"],
            [
                "-c",
                "user.name=example-user",
                "-c",
                "user.email=a@b.example",
                "commit",
                "-qm",
                "workflows",
            ],
            ["remote", "add", "origin", f"https://github.com/{REPO}.git"],
        ):
            subprocess.run(["git", "-C", str(self.clone), *args], check=True)
        self.standins = [f"{HOME}@{'0' * 40}={folder / 'actions/home'}"]
        for name, text in STANDINS.items():
            place = folder / "actions" / name
            place.mkdir(parents=True)
            (place / "action.yml").write_text(text)
            found = re.findall(rf"{name}@([0-9a-f]{{40}})", self._all_workflows())
            for sha in set(found):
                self.standins.append(f"{name}@{sha}={place}")
        self.command = command_file(folder)

    def _all_workflows(self) -> str:
        folder = self.clone / ".github/workflows"
        return "\n".join(path.read_text() for path in folder.glob("*.yml"))

    def run(
        self,
        event: str,
        payload: dict[str, Any],
        tokens: dict[str, str],
        inputs: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run what an event triggers. `tokens`: one run a job, because act has one token a run."""
        body = {
            "repository": {"default_branch": "main", "full_name": REPO, "fork": False},
            **payload,
        }
        if inputs:
            body["inputs"] = inputs
        path = self.folder / "event.json"
        path.write_text(json.dumps(body))
        artifacts = self.folder / "artifacts"
        done = subprocess.CompletedProcess[str]([], 0, "", "")
        for workflow, token in tokens.items():
            environment = {
                "GITHUB_API_URL": self.competition.github.url,
                "DOUBLE_REPO": str(self.competition.repo.directory),
                "ARTIFACTS": str(artifacts),
                "SPEEDRUN_COMMAND": str(self.command),
                "PYTHONPATH": str(ROOT),
                "SPEEDRUN_CACHE": "",
                "WANDB_BASE_URL": os.environ.get("WANDB_BASE_URL", "http://127.0.0.1:9"),
            }
            options = [x for k, v in environment.items() for x in ("--env", f"{k}={v}")]
            for standin in self.standins:
                options += ["--local-repository", standin]
            secrets = [
                "-s",
                f"GITHUB_TOKEN={token}",
                "-s",
                f"WANDB_API_KEY={os.environ.get('WANDB_API_KEY', 'none' * 10)}",
            ]
            done = subprocess.run(
                [
                    self.act,
                    event,
                    "-W",
                    f".github/workflows/{file_of(workflow)}",
                    "-e",
                    str(path),
                    "-P",
                    "ubuntu-24.04=-self-hosted",
                    "--no-cache-server",
                    *options,
                    *secrets,
                ],
                cwd=self.clone,
                capture_output=True,
                text=True,
                timeout=300,
                env={**os.environ, "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder)},
            )
        return done

    def commands(self) -> list[str]:
        path = self.folder / "commands.txt"
        return path.read_text().splitlines() if path.exists() else []
