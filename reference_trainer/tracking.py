"""What a run says while it trains: a plain log, W&B, and one live line on the terminal.

The log begins with the source of the starter file (where there is one) and a rule of `=`, then
`key: value` lines, then one line a step that is logged, in the form of modded-nanogpt:

    step:125/3500 val_loss:3.9621 bpb:1.2345 train_time:43151ms step_avg:345.21ms
"""

import pathlib
import shutil
import sys
import time
from collections.abc import Mapping
from typing import Any

from reference_trainer.errors import StorageError, TrainerError
from reference_trainer.storage import reason


class Log:
    """The text log of one run. Opened for appending; `truncate` cuts it back when resuming."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)  # what is logged is on disk

    def write(self, text: str) -> None:
        """A line. Raises StorageError where it does not fit on the disk."""
        data = memoryview((text + "\n").encode())
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            message = f"{self.path.name} could not be written: {reason(error)}"
            raise StorageError(message) from error

    def size(self) -> int:
        return self.path.stat().st_size

    def truncate(self, size: int) -> None:
        """Drop what was logged after the checkpoint that the run goes on from."""
        self._file.truncate(size)
        self._file.seek(0, 2)

    def close(self) -> None:
        self._file.close()


def header_lines(facts: Mapping[str, Any]) -> list[str]:
    """`key: value` lines; a mapping gives one line an entry (`code_sha256: main.py 12ab...`)."""
    lines = []
    for key, value in facts.items():
        if isinstance(value, Mapping):
            lines += [f"{key}: {name} {item}" for name, item in value.items()]
        elif isinstance(value, list):
            lines += [f"{key}: {item}" for item in value]
        else:
            lines.append(f"{key}: {value}")
    return lines


def step_line(
    step: int, steps: int, elapsed_s: float, loss: float, *, validation: bool, bpb: float | None
) -> str:
    """One line of the log. `step_avg` is `nan` before the first step."""
    kind = "val_loss" if validation else "train_loss"
    average = elapsed_s * 1000 / step if step else float("nan")
    more = f" bpb:{bpb:.6f}" if bpb is not None else ""
    return (
        f"step:{step}/{steps} {kind}:{loss:.6f}{more} "
        f"train_time:{elapsed_s * 1000:.0f}ms step_avg:{average:.3f}ms"
    )


class Wandb:
    """A W&B run, online or offline; with mode "off" every call does nothing."""

    def __init__(self, mode: str, folder: pathlib.Path, settings: Mapping[str, Any]) -> None:
        self._run: Any = None
        self.folder, self._offline = folder, mode == "offline"
        if mode == "off":
            return
        try:
            import wandb
        except ImportError as error:
            raise TrainerError(
                f"logging to W&B needs a package ({error}): pip install wandb, or pass --wandb off"
            ) from error
        folder.mkdir(parents=True, exist_ok=True)
        self._run = wandb.init(
            mode="online" if mode == "online" else "offline",
            dir=str(folder),
            project=settings["project"],
            name=settings["name"],
            id=settings["id"],
            resume="allow" if mode == "online" else None,
            config=dict(settings["config"]),
            tags=list(settings["tags"]),
            settings=_private(wandb),
        )

    def log(self, values: Mapping[str, float | None], step: int) -> None:
        if self._run is not None:
            self._run.log({k: v for k, v in values.items() if v is not None}, step=step)

    def source(self, path: pathlib.Path) -> None:
        """Attach the source that ran."""
        if self._run is not None:
            copy = pathlib.Path(self._run.dir) / path.name
            shutil.copyfile(path, copy)
            self._run.save(str(copy), base_path=self._run.dir, policy="now")

    def finish(self, exit_code: int = 0) -> str | None:
        """Close the run; its page where it is online."""
        if self._run is None:
            return None
        url: str | None = None if self._offline else self._run.url
        self._run.finish(exit_code=exit_code)
        if self._offline:
            import wandb

            wandb.teardown()  # only then is the last record on disk for certain
        self._run = None
        return url

    def offline_files(self) -> list[pathlib.Path]:
        """The `.wandb` files of this run's folder."""
        return sorted(self.folder.glob("wandb/offline-run-*/*.wandb"))


def _private(wandb: Any) -> Any:
    """Settings that keep host, user, paths and command line out of a run that will be public. What
    the run is on stands in its configuration."""
    return wandb.Settings(
        silent=True,
        console="off",
        disable_git=True,
        disable_code=True,
        x_disable_meta=True,
        x_disable_machine_info=True,
        x_disable_stats=True,
        host="",
        username="",
        program="main.py",
        program_relpath="main.py",
        program_abspath="",
    )


class Progress:
    """One line that is rewritten in place on a terminal, or a line now and then elsewhere."""

    def __init__(self, steps: int, shown: bool) -> None:
        self.steps, self.shown = steps, shown
        self._terminal = sys.stderr.isatty()
        self._last, self._wide = 0.0, 0

    def show(
        self, step: int, loss: float, tokens_per_s: float, mfu: float | None, left_s: float
    ) -> None:
        now = time.monotonic()
        pause = 0.2 if self._terminal else 15.0
        if not self.shown or (now - self._last < pause and step < self.steps):
            return
        self._last = now
        speed = f"{tokens_per_s:,.0f} tokens/s"
        used = "" if mfu is None else f"  MFU {mfu:.1%}"
        text = f"step {step}/{self.steps}  loss {loss:.4f}  {speed}{used}  {_duration(left_s)} left"
        self._put(text)

    def say(self, text: str) -> None:
        """A line that stays."""
        if self.shown:
            if self._terminal and self._wide:
                sys.stderr.write("\r" + " " * self._wide + "\r")
                self._wide = 0
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    def _put(self, text: str) -> None:
        if not self._terminal:
            self.say(text)
            return
        sys.stderr.write("\r" + text.ljust(self._wide))
        sys.stderr.flush()
        self._wide = len(text)


def _duration(seconds: float) -> str:
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
