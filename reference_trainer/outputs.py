"""What goes where: the job that is asked for, and the log, W&B run and files that come of it."""

import dataclasses as dc
import pathlib
from collections.abc import Mapping
from typing import Any

from reference_trainer import levanter, names, provenance, results
from reference_trainer.backend import Backend
from reference_trainer.clock import RULE
from reference_trainer.config import Config, as_dict
from reference_trainer.devices import Device
from reference_trainer.formulas import accounting
from reference_trainer.results import Author
from reference_trainer.shards import Corpus
from reference_trainer.storage import LocalFolder
from reference_trainer.tracking import Log, Progress, Wandb, header_lines

RESULTS, LOG, OFFLINE = "speedrun_results.json", "log.txt", "run.wandb"
OUTPUTS = (RESULTS, LOG, OFFLINE)  # what a submission is made of


@dc.dataclass(frozen=True)
class Job:
    """One run to do. `out` is a local folder; checkpoints go to `store` (None: into `out`)."""

    config: Config
    corpus: Corpus
    out: pathlib.Path
    seed: int = 0
    store: str | None = None
    wandb: str = "offline"
    project: str = "speedrun"
    resume: bool = False
    track: str | None = None
    author: Author = Author()
    main: pathlib.Path | None = None  # the starter file that runs
    arm: str | None = None
    pair: str | None = None
    tags: tuple[str, ...] = ()
    github_login: str | None = None  # whose run it is: the tag and setting speedrun:LOGIN of W&B
    quiet: bool = False
    paloma: tuple[Corpus, levanter.Text] | None = None  # C4-EN, in our form and in Levanter's


class Outputs:
    """Log and W&B of one run; on processes other than the first every call does nothing."""

    def __init__(
        self,
        job: Job,
        device: Device,
        identity: dict[str, Any],
        backend: Backend,
        progress: Progress,
    ) -> None:
        self.job, self.device, self.identity = job, device, identity
        self.backend, self.progress = backend, progress
        self._log: Log | None = None
        self._wandb: Wandb | None = None

    def open(self, log_size: int | None) -> None:
        """Begin both; `log_size` is where the log of a resumed run goes on."""
        if self.backend.rank:
            return
        job = self.job
        settings = {
            "project": job.project,
            "name": f"{job.config.name}-seed{job.seed}",
            "id": self.identity["run_id"],
            "config": self._wandb_config(),
            "tags": [*job.tags, *([f"speedrun:{login}"] if (login := job.github_login) else [])],
        }
        self._wandb = Wandb(job.wandb, job.out, settings)
        for path in provenance.sources(job.main):
            self._wandb.source(path)
        if log_size is None:
            (job.out / LOG).unlink(missing_ok=True)
        self._log = Log(job.out / LOG)
        if log_size is not None:
            self._log.truncate(log_size)
            return
        if job.main is not None:
            self._log.write(job.main.read_text(encoding="utf-8").rstrip() + "\n" + "=" * 100)
        for line in header_lines(self.header()):
            self.write(line)
            self.progress.say(line)
        self.write("=" * 100)

    def header(self) -> dict[str, Any]:
        """What stands before the first step, in the log and on the terminal."""
        device = self.device
        peak = (
            f"{device.peak_flops / 1e12:.1f} TFLOP/s {device.precision} ({device.peak_source})"
            if device.peak_flops
            else f"unknown for {device.name}, so no MFU is shown"
        )
        return {
            "device": device.name,
            "world_size": device.world,
            "chips": device.chips,
            "peak": peak,
            "backend": self.backend.kind,
            "versions": ", ".join(f"{k} {v}" for k, v in self.identity["environment"].items()),
            "detected": [*self.backend.notes, *self._overlap()],
            "clock": RULE,
            "parameters": self._parameters(),
            "corpus": self.job.corpus.name,
            "data_fingerprint": results.data_fingerprint(self.job.corpus),
            "validation_fingerprint": self.job.corpus.validation.fingerprint,
            "seed": self.job.seed,
            "nonce": self.identity["nonce"],
            "code_sha256": self.identity["code_sha256"],
            **({"github_login": self.job.github_login} if self.job.github_login else {}),
        }

    def _overlap(self) -> list[str]:
        """Marin's order visits the whole of a stream, what is held out of other orders included."""
        shared = self.job.corpus.train.held_out
        if self.job.config.data.order != "marin" or not shared:
            return []
        return [
            f"validation: the last {shared:,} tokens of {self.job.corpus.name}, which "
            'data.order = "marin" trains on too; compare by data.paloma = true'
        ]

    def _parameters(self) -> str:
        counted = self.backend.parameter_count()
        formula = accounting.parameter_count(self.job.config.model.transformer())
        if counted == formula:
            return f"{counted:,}"
        return f"{counted:,} counted, {formula:,} by the configuration, which FLOPs follow"

    def _wandb_config(self) -> dict[str, Any]:
        device = self.device
        return {
            **as_dict(self.job.config),
            "optimizer": self.backend.optimizer_facts,
            **({"speedrun": self.job.github_login} if self.job.github_login else {}),
            "nonce": self.identity["nonce"],
            "seed": self.job.seed,
            "code_sha256": self.identity["code_sha256"],
            "data_fingerprint": results.data_fingerprint(self.job.corpus),
            "validation_fingerprint": self.job.corpus.validation.fingerprint,
            "device": device.name,
            "world_size": device.world,
            "chips": device.chips,
            "precision": device.precision,
            "peak_flops": device.peak_flops,
            "backend": self.backend.kind,
            names.TOTAL_STEPS: self.job.config.train.steps,
            "total_tokens": self.job.config.total_tokens,
            "versions": self.identity["environment"],
        }

    def write(self, line: str) -> None:
        """A line of the log."""
        if self._log is not None:
            self._log.write(line)

    def log(self, values: Mapping[str, float | None], step: int) -> None:
        """A row of W&B."""
        if self._wandb is not None:
            self._wandb.log(values, step)

    def log_bytes(self) -> int:
        """Size of the log, for a checkpoint."""
        return self._log.size() if self._log is not None else 0

    def close(self, exit_code: int) -> str | None:
        """Close log and W&B; the link of an online run."""
        link = None
        if self._wandb is not None:
            link = self._wandb.finish(exit_code)
            for path in self._wandb.offline_files()[-1:]:
                LocalFolder(self.job.out).write(OFFLINE, path.read_bytes())
            self._wandb = None
        if self._log is not None:
            self._log.close()
            self._log = None
        return link
