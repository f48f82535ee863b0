"""The training loop, the same for every backend: clock, validation, checkpoints, log, results.

Reading order: `train` sets a run up and closes it whatever happens, `Run.go` is the loop. Losses
are read one step late, when the next step is already queued, so that no device waits for us.
"""

import contextlib
import dataclasses as dc
import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from reference_trainer import bpb, checkpoint, memory, names, provenance, results, storage
from reference_trainer import corpus as corpora
from reference_trainer.backend import Backend, Pending
from reference_trainer.clock import Clock
from reference_trainer.config import Config, as_dict
from reference_trainer.distributed import Group
from reference_trainer.errors import ConfigError, NotFiniteLoss, Stopped, StorageError, TrainerError
from reference_trainer.formulas import accounting
from reference_trainer.outputs import OUTPUTS, RESULTS, Job, Outputs
from reference_trainer.results import Outcome
from reference_trainer.schedule import multiplier
from reference_trainer.scores import Scores
from reference_trainer.shards import Corpus, TrainingBatches
from reference_trainer.signals import StopSignal
from reference_trainer.storage import Folder, LocalFolder, Lock, open_folder
from reference_trainer.tracking import Progress, step_line

MakeBackend = Callable[[Config, int], Backend]


def train(
    job: Job, make_backend: MakeBackend, locked: bool = False, group: Group | None = None
) -> dict[str, Any]:
    """Do one run; returns the results document (on every process of `group`). `locked`: the caller
    holds the lock of `job.out`.

    Raises TrainerError with one sentence, or Stopped after a stop signal and a checkpoint.
    """
    group = group or Group()
    job = dc.replace(job, config=_documents_apart(job.config, job.corpus))
    with Lock(job.out) if group.first and not locked else contextlib.nullcontext():
        backend = make_backend(job.config, job.seed)
        memory.check(job.config, backend.device)
        memory.check_accelerator(job.config, backend.device)
        run = Run(job, backend, group)
        try:
            return run.go()
        except BaseException as error:
            run.close(0 if isinstance(error, Stopped) else 1)
            if memory.is_exhausted(error):
                raise TrainerError(memory.too_little(job.config, backend.device)) from error
            raise


class Run:
    """The state of one run beside the backend's: step, clock, history, outputs."""

    def __init__(self, job: Job, backend: Backend, group: Group) -> None:
        self.job, self.backend, self.config, self.group = job, backend, job.config, group
        self.first = backend.rank == 0
        self.rows = rows_of_process(job.config, backend)
        self.batches = TrainingBatches(
            job.corpus.train,
            job.config.model.seq_len,
            job.config.train.batch,
            job.config.data.order,
            job.seed,
        )
        _check_corpus(job.config, job.corpus)
        self.scores = Scores(job.config, job.corpus, backend)
        self.store: Folder = open_folder(job.store) if job.store else LocalFolder(job.out)
        self.saver = None
        if self.first or backend.writers > 1:
            self.saver = checkpoint.Saver(self.store, backend.rank, backend.writers)
        self.clock, self.step = Clock(), 0
        self.history: list[tuple[int, float, float]] = []
        self.last_bpb: float | None = None
        self.extra: dict[str, float] = {}
        self.untimed = {"compilation_s": 0.0, "validation_s": 0.0, "checkpoints_s": 0.0}
        self.saved: int | None = None
        self.identity = self._identity()
        self.progress = Progress(job.config.train.steps, self.first and not job.quiet)
        self.outputs = Outputs(job, backend.device, self.identity, backend, self.progress)
        self.stop_requested = False

    def _identity(self) -> dict[str, Any]:
        drawn = self.group.share(
            "the nonce",
            lambda: {"nonce": provenance.new_nonce(), "run_id": provenance.new_nonce()[:8]},
        )
        return {
            **drawn,
            "track": self.job.track,
            "github_login": self.job.github_login,
            "seed": self.job.seed,
            "arm": self.job.arm,
            "pair": self.job.pair,
            "backend": self.backend.kind,
            "config": self.config.name,
            "code_sha256": provenance.code_hashes(self.job.main),
            "git": provenance.git_state(),
            "environment": {**provenance.versions(), **self.backend.device.software},
        }

    # ---- the loop --------------------------------------------------------------------------

    def go(self) -> dict[str, Any]:
        """Train to the end. See `train`."""
        log_size = self._restore() if self.job.resume else None
        self.outputs.open(log_size)
        with StopSignal(self):
            self._warm_up()
            if self.group.processes > 1:
                parameters = self.backend.parameters_sha256()
                state = {"the step": self.step, "the parameters": parameters}
                self.group.agree("the state before the first update", state, None)
            if self.step == 0:
                self._validate()
            late: tuple[int, Pending] | None = None
            while self.step < self.config.train.steps:
                if self._asked_to_stop():
                    self._settle(late)
                    self._stop()
                pending = self._dispatch()
                if late is not None:
                    self._arrived(*late)
                late = (self.step, pending)
                if self._pause_due():
                    self._settle(late)
                    late = None
                    self._pause()
        return self._finish()

    def _dispatch(self) -> Pending:
        """Queue the next update. The clock runs from the first one after a pause."""
        self.clock.start()
        rows = self.batches(self.step, *self.rows)
        rate = multiplier(self.config.schedule, self.step, self.config.train.steps)
        self.step += 1
        return self.backend.train_step(rows, rate)

    def _arrived(self, step: int, pending: Pending) -> None:
        """The loss of a step is there: clock, log, progress, and the check that it is a number."""
        loss = pending()
        seconds = self.clock.lap()
        if not math.isfinite(loss):
            raise NotFiniteLoss(self._not_finite(step, loss))
        elapsed, train = self.clock.lapped_s, self.config.train
        if not self.first:
            return
        flops = 3 * accounting.forward_flops_per_token(self.config.model.transformer())
        tokens = self.config.tokens_per_step
        mfu = self.backend.device.utilisation(flops * tokens, seconds)
        if step % train.log_every == 0 or step == train.steps:
            line = step_line(step, train.steps, elapsed, loss, validation=False, bpb=None)
            self.outputs.write(line)
        self.outputs.log(
            {
                names.TRAIN_LOSS: loss,
                names.TIME_S: elapsed,
                names.STEP_TIME_S: seconds,
                names.TOKENS: step * tokens,
                names.TOKENS_PER_S: tokens / seconds,
                names.MFU: mfu,
                names.MULTIPLIER: multiplier(self.config.schedule, step - 1, train.steps),
            },
            step,
        )
        left = elapsed / step * (train.steps - step)
        self.progress.show(step, loss, tokens / seconds, mfu, left)

    def _settle(self, late: tuple[int, Pending] | None) -> None:
        """Stop the clock with the devices idle, then read the outstanding loss."""
        self.backend.synchronize()
        self.clock.stop()
        if late is not None:
            self._arrived(*late)

    def _pause_due(self) -> bool:
        train = self.config.train
        every = [n for n in (train.eval_every, train.checkpoint_every) if n]
        return self.step == train.steps or any(self.step % n == 0 for n in every)

    def _pause(self) -> None:
        train = self.config.train
        if self.step == train.steps or (train.eval_every and self.step % train.eval_every == 0):
            self._validate()
        if train.checkpoint_every and self.step % train.checkpoint_every == 0:
            self._save()

    # ---- outside the clock -----------------------------------------------------------------

    def _warm_up(self) -> None:
        began = time.perf_counter()
        self.progress.say("compiling (not timed)")
        rows = self.batches(0, *self.rows)
        _, weights = next(self.scores.batches(self.job.corpus))
        self.backend.warm_up(rows, weights)
        self.untimed["compilation_s"] += time.perf_counter() - began

    def _validate(self) -> None:
        began, elapsed = time.perf_counter(), self.clock.elapsed_s
        loss, bits = self.scores.of(self.job.corpus)
        self.last_bpb = bits
        values: dict[str, float | None] = {
            names.LOSS: loss,
            names.BPB: bits,
            names.TIME_S: elapsed,
            names.TOKENS: self.step * self.config.tokens_per_step,
        }
        if self.job.paloma is not None:
            self.extra.update(self.scores.of_paloma(*self.job.paloma))
            values.update(self.extra)
        if not math.isfinite(loss):
            raise NotFiniteLoss(self._not_finite(self.step, loss))
        self.history.append((self.step, loss, elapsed))
        steps = self.config.train.steps
        line = step_line(self.step, steps, elapsed, loss, validation=True, bpb=bits)
        self.outputs.write(line)
        self.outputs.log(values, self.step)
        self.progress.say(line)
        self.untimed["validation_s"] += time.perf_counter() - began

    def _save(self) -> None:
        """Write a checkpoint of the present step."""
        began = time.perf_counter()
        state = self.backend.state()
        if self.saver is not None and self.saved != self.step:
            run = {
                "step": self.step,
                "elapsed_s": self.clock.elapsed_s,
                "step_times_s": self.clock.step_times_s,
                "history": self.history,
                "bpb": self.last_bpb,
                "untimed": self.untimed,
                "log_bytes": self.outputs.log_bytes(),
                "identity": {**self.identity, "git": None},
                "config": as_dict(self.config),
                "train_fingerprint": self.job.corpus.train.fingerprint,
            }
            self.saver.save(self.step, state, run)
        self.saved = self.step
        self.untimed["checkpoints_s"] += time.perf_counter() - began

    def _saved(self) -> None:
        """Wait until the newest checkpoint is whole."""
        if self.saver is not None:
            self.saver.wait()

    def _restore(self) -> int | None:
        """Take up the newest checkpoint; the size of the log at that point, None without one."""
        found = self.group.share("the checkpoint", lambda: checkpoint.steps(self.store)[-1:])
        if not found:
            self.progress.say("no checkpoint here; starting at step 0")
            return None
        state, run = checkpoint.load(self.store, found[-1])
        self._check_same(run)
        try:
            self.backend.load(state)
        except (KeyError, ValueError) as error:
            raise StorageError(
                f"checkpoint step {found[-1]} does not fit this model: {error}"
            ) from error
        self.step = self.saved = run["step"]
        self.clock = Clock(run["elapsed_s"])
        self.clock.step_times_s = run["step_times_s"]
        self.history = [tuple(point) for point in run["history"]]
        self.last_bpb, self.untimed = run["bpb"], run["untimed"]
        kept = {k: run["identity"][k] for k in ("nonce", "run_id", "code_sha256")}
        if kept["code_sha256"] != self.identity["code_sha256"]:
            raise StorageError(
                "the code has changed since this run began; finish it with the code it began with, "
                "or start anew in another --out"
            )
        self.identity.update(kept)
        self.progress.say(f"resuming at step {self.step}")
        return int(run["log_bytes"])

    def _check_same(self, run: Mapping[str, Any]) -> None:
        if run["config"] != json.loads(json.dumps(as_dict(self.config))):
            raise ConfigError(
                "the configuration differs from that of the checkpoint; resume with the same one, "
                "or start anew in another --out"
            )
        if run["train_fingerprint"] != self.job.corpus.train.fingerprint:
            raise ConfigError("the training data differ from those of the checkpoint")
        if run["identity"]["seed"] != self.job.seed:
            raise ConfigError(
                f"the checkpoint has seed {run['identity']['seed']}, asked was {self.job.seed}"
            )

    # ---- stopping --------------------------------------------------------------------------

    def _asked_to_stop(self) -> bool:
        """Whether any process got a stop signal; processes agree at the steps that are logged."""
        if self.backend.processes == 1:
            return self.stop_requested
        if self.step % self.config.train.log_every:
            return False
        return self.backend.total([float(self.stop_requested)])[0] > 0

    def _stop(self) -> None:
        self._save()
        self._saved()
        raise Stopped(
            f"stopped at step {self.step} of {self.config.train.steps}, checkpoint saved; "
            "go on with --resume"
        )

    def _not_finite(self, step: int, loss: float) -> str:
        self._saved()
        good = (
            f"the last good checkpoint is step {self.saved}" if self.saved else "no checkpoint yet"
        )
        return (
            f"the loss is {loss} at step {step}; {good}. Lower optimizer.lr or optimizer.muon_lr, "
            "lengthen schedule.warmup_steps, or set optimizer.clip_norm = 1.0"
        )

    # ---- the end ---------------------------------------------------------------------------

    def _finish(self) -> dict[str, Any]:
        self._saved()
        link = self.close(0)
        _, loss, elapsed = self.history[-1]
        outcome = Outcome(
            loss=loss,
            bpb=self.last_bpb,
            training_time_s=elapsed,
            step_times_s=self.clock.step_times_s,
            untimed_s=self.untimed,
            history=self.history,
            peak_memory_bytes=self.backend.peak_memory_bytes(),
            overlap=corpora.overlap(self.job.corpus.folder),
            extra_metrics=self.extra,
            parameters=self.backend.parameter_count(),
            optimizer=self.backend.optimizer_facts,
        )
        document = results.results(
            self.config,
            self.backend.device,
            self.job.corpus,
            outcome,
            self.identity,
            self.job.author,
            link,
        )
        if self.first:
            LocalFolder(self.job.out).write(RESULTS, results.to_json(document))
            if self.job.store:
                storage.copy(LocalFolder(self.job.out), self.store, OUTPUTS)
        return document

    def close(self, exit_code: int) -> str | None:
        """Close log and W&B; the link of an online run."""
        return self.outputs.close(exit_code)


def _documents_apart(config: Config, corpus: Corpus) -> Config:
    """In Marin's order attention ends where the documents of the corpus do."""
    if config.data.order != "marin":
        return config
    return dc.replace(config, model=dc.replace(config.model, document_end=corpus.end_of_text))


def rows_of_process(config: Config, backend: Backend) -> tuple[int, int]:
    """First row and number of rows of this process in the batch of a step. Raises ConfigError."""
    train, world = config.train, backend.device.world
    if train.batch % (train.micro_batch * world):
        raise ConfigError(memory.does_not_split(config, world))
    count = train.batch // backend.processes
    return backend.rank * count, count


def _check_corpus(config: Config, corpus: Corpus) -> None:
    if corpus.vocab > config.model.vocab:
        raise ConfigError(
            f"corpus {corpus.name} has {corpus.vocab:,} token ids ({corpus.tokenizer}), the model "
            f"{config.model.vocab:,} rows; set model.vocab = {-(-corpus.vocab // 64) * 64}"
        )
    if corpus.validation.tokens < 2:
        raise TrainerError(f"corpus {corpus.name} has no validation text; add a validation split")
    bpb.scored_bytes(corpus, config.data.val_tokens)  # raises where the tokenizer is another one
