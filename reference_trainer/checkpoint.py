"""Checkpoints: everything that a resumed run needs to go on as if nothing had happened.

`checkpoints/step-00000100/` holds `state.npz` (parameters and optimizer, by name), `run.json`
(step, clock, losses so far, nonce, fingerprints) and, last, `DONE`. The data position is the step
itself, because batches are a function of seed and step; no random state is drawn on besides.
"""

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from reference_trainer.errors import StorageError
from reference_trainer.storage import Folder

ROOT = "checkpoints"
MARKER = "DONE"
KEEP = 2  # the newest ones; an older one serves when the newest turns out bad


def save(folder: Folder, step: int, state: Mapping[str, np.ndarray], run: dict[str, Any]) -> None:
    """Write a checkpoint and drop what is older than the newest two.

    Raises StorageError; a failed checkpoint leaves nothing behind.
    """
    name = f"{ROOT}/step-{step:08d}"
    folder.remove(name)
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {key.replace("/", "|"): value for key, value in state.items()}
    np.savez(buffer, **arrays)
    try:
        folder.write(f"{name}/state.npz", buffer.getvalue())
        folder.write(f"{name}/run.json", json.dumps(run).encode())
        folder.write(f"{name}/{MARKER}", b"")
    except StorageError:
        folder.remove(name)
        raise
    oldest = steps(folder)[-KEEP:][0]
    for name in folder.children(ROOT):  # also what a killed process left half written
        if name < f"step-{oldest:08d}":
            folder.remove(f"{ROOT}/{name}")


def steps(folder: Folder) -> list[int]:
    """Steps of the complete checkpoints, ascending."""
    found = []
    for name in folder.children(ROOT):
        number = name.removeprefix("step-")
        if number.isdigit() and folder.exists(f"{ROOT}/{name}/{MARKER}"):
            found.append(int(number))
    return sorted(found)


def load(folder: Folder, step: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """State and run of a checkpoint. Raises StorageError where it cannot be read."""
    name = f"{ROOT}/step-{step:08d}"
    run = json.loads(folder.read(f"{name}/run.json"))
    try:
        with np.load(io.BytesIO(folder.read(f"{name}/state.npz"))) as arrays:
            state = {key.replace("|", "/"): arrays[key] for key in arrays.files}
    except (ValueError, zipfile.BadZipFile) as error:
        raise StorageError(
            f"checkpoint step {step} is damaged ({error}); remove {name}, then an older one serves"
        ) from error
    return state, run
