"""Steps with an identity: a hash of code, configuration and inputs decides whether one is redone.

`execution.json` in the output folder lists them (corpus, train, results; of a suite its members)
with identity, inputs, status, output and time. A finished step of the same identity is reused, a
failed one is refused until the user says `--force-run-failed`, anything else runs.
"""

import contextlib
import datetime as dt
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from reference_trainer.errors import Stopped, TrainerError
from reference_trainer.storage import Folder

FILE = "execution.json"


def identity(code: dict[str, str], config: Any, inputs: list[str]) -> str:
    """SHA-256 over what a step depends on: hashes of code, settings, identities of inputs."""
    text = json.dumps([code, config, sorted(inputs)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


class Execution:
    """The steps of one output folder, kept in its `execution.json`."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.steps: dict[str, dict[str, Any]] = {}
        if folder.exists(FILE):
            try:
                self.steps = json.loads(folder.read(FILE))["steps"]
            except (ValueError, KeyError, TypeError):
                self.steps = {}

    def finished(self, name: str, wanted: str) -> bool:
        """Whether the step was finished with this identity."""
        step = self.steps.get(name, {})
        return step.get("identity") == wanted and step.get("status") == "finished"

    def note(self, name: str, wanted: str, inputs: list[str], output: str | None = None) -> None:
        """Record a step that is done, or was there already."""
        if not self.finished(name, wanted):
            self._put(name, wanted, inputs, "finished", output)

    @contextlib.contextmanager
    def step(
        self, name: str, wanted: str, inputs: list[str], force: bool, output: str | None = None
    ) -> Iterator[None]:
        """Run a step and record how it ended. Raises TrainerError for one that failed before."""
        before = self.steps.get(name, {})
        failed = before.get("status") == "failed" and before.get("identity") == wanted
        if failed and not force:
            raise TrainerError(
                f"the step {name} failed before with the same code and settings "
                f"({before.get('reason')}); change something, or pass --force-run-failed"
            )
        self._put(name, wanted, inputs, "running", output)
        try:
            yield
        except Stopped:
            self._put(name, wanted, inputs, "stopped", output)
            raise
        except TrainerError as error:
            self._put(name, wanted, inputs, "failed", output, str(error))
            raise
        self._put(name, wanted, inputs, "finished", output)

    def _put(
        self,
        name: str,
        wanted: str,
        inputs: list[str],
        status: str,
        output: str | None,
        reason: str | None = None,
    ) -> None:
        now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        self.steps[name] = {
            "identity": wanted,
            "inputs": inputs,
            "status": status,
            "output": output,
            "at": now,
            **({"reason": reason} if reason else {}),
        }
        text = json.dumps({"schema_version": 1, "steps": self.steps}, indent=1)
        self.folder.write(FILE, (text + "\n").encode())
