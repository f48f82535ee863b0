"""Several runs after one another: seeds, and two arms in turn on one machine."""

import dataclasses as dc
import datetime as dt
import json
import os
import pathlib
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from reference_trainer import corpus as corpora
from reference_trainer import names, provenance, storage
from reference_trainer.config import Config, as_dict
from reference_trainer.errors import TrainerError
from reference_trainer.graph import Execution, identity
from reference_trainer.loop import MakeBackend, train
from reference_trainer.outputs import RESULTS, Job
from reference_trainer.results import Author
from reference_trainer.shards import Corpus, open_corpus
from reference_trainer.storage import LocalFolder


@dc.dataclass(frozen=True)
class Arm:
    """What to run: `candidate`, and `baseline` beside it. `main` is the starter file, if any."""

    name: str
    config: Config
    make_backend: MakeBackend
    main: pathlib.Path | None = None


Arms = Sequence[Arm]


def run_all(arms: Arms, options: dict[str, Any]) -> Iterator[str]:
    """Do every run and yield one line about each, then a summary. `options` are those of the CLI.

    Two arms take turns in the order of `in_turn`.
    """
    check_environment(arms, options["wandb"])
    out = options["out"] or _new_folder(arms[0].config.name)
    first = int(os.environ.get("RANK", "0")) == 0
    opened = {a.config.data.corpus: _corpus(a.config, options["quiet"]) for a in arms}
    found: dict[str, list[dict[str, Any]]] = {arm.name: [] for arm in arms}
    for number in range(options["seeds"]):
        seed = options["seed"] + number
        for arm in in_turn(arms, number):
            folder = _folder_of_run(out, arm.name, seed, len(arms), options["seeds"])
            corpus = opened[arm.config.data.corpus]
            job = _job(arm, corpus, folder, seed, len(arms) > 1, options)
            info = _once(job, arm, options["force_run_failed"])
            found[arm.name].append(info)
            if first:
                yield _line(arm.name, seed, info, folder)
    if first:
        yield from _summary(found)
        yield _next(out, len(arms), options.get("submission") or "TRACK/NAME")


def in_turn(arms: Arms, number: int) -> Arms:
    """The arms in the order of pair `number`: candidate, baseline, baseline, candidate, ...

    A machine that slows down steadily then costs both arms the same. With candidate always first, a
    drift of one sd a run makes 24 % of equal arms differ at p < 0.01 (8 runs an arm).
    """
    return arms if number % 2 == 0 else tuple(reversed(arms))


def _once(job: Job, arm: Arm, force: bool) -> dict[str, Any]:
    """The run of a job, or its results where it was finished before with the same code, settings
    and data."""
    folder = LocalFolder(job.out)
    data = [job.corpus.train.fingerprint, job.corpus.validation.fingerprint]
    wanted = identity(
        provenance.code_hashes(job.main), [as_dict(job.config), job.seed, job.arm], data
    )
    if int(os.environ.get("RANK", "0")) != 0:
        return _info(train(job, arm.make_backend))
    with storage.Lock(job.out):
        execution = Execution(folder)
        if execution.finished("train", wanted) and folder.exists(RESULTS):
            return _info(json.loads(folder.read(RESULTS)))
        execution.note("corpus", identity({}, job.corpus.name, data), [], job.corpus.name)
        with execution.step("train", wanted, data, force):
            document = train(job, arm.make_backend, locked=True)
        execution.note("results", identity({}, document, [wanted]), [wanted], RESULTS)
    return _info(document)


def _info(document: dict[str, Any]) -> dict[str, Any]:
    info: dict[str, Any] = document["runs"][0]["run_info"]
    return info


def check_environment(arms: Arms, wandb: str) -> None:
    """Name what is missing before any work begins. Raises TrainerError."""
    missing = []
    if wandb == "online" and not os.environ.get("WANDB_API_KEY"):
        missing.append("WANDB_API_KEY (or pass --wandb offline)")
    if any(arm.config.data.paloma for arm in arms) and not os.environ.get("HF_TOKEN"):
        missing.append("HF_TOKEN for allenai/paloma (or pass --set data.paloma=false)")
    if missing:
        raise TrainerError(f"the environment lacks {' and '.join(missing)}")


def _corpus(config: Config, quiet: bool) -> Corpus:
    from reference_trainer.tracking import Progress

    say = Progress(0, not quiet).say
    corpus = open_corpus(corpora.prepare(config.data.corpus, say))
    both = corpora.overlap(corpus.folder)
    if both:
        say(f"warning: {both} documents of {corpus.name} are in training and in validation")
    return corpus


def _job(
    arm: Arm,
    corpus: Corpus,
    folder: pathlib.Path,
    seed: int,
    paired: bool,
    options: dict[str, Any],
) -> Job:
    prefix = storage.prefix()
    remote = prefix is not None and "://" in prefix
    also = {}
    if arm.config.data.paloma:
        from reference_trainer import downloads

        also[names.PALOMA_BPB] = downloads.paloma(corpus)
    return Job(
        config=arm.config,
        corpus=corpus,
        out=folder,
        seed=seed,
        store=f"{prefix}/runs/{folder.parent.name}/{folder.name}" if remote else None,
        wandb=options["wandb"],
        project=options["project"],
        resume=options["resume"],
        track=options["track"],
        author=Author(
            options["author"], options.get("affiliation") or None, options.get("url") or None
        ),
        main=arm.main,
        arm=arm.name if paired else None,
        pair=str(seed) if paired else None,
        tags=tuple(options["tags"]),
        github_login=options["github_login"],
        quiet=options["quiet"],
        also_validate=also,
    )


def _new_folder(name: str) -> pathlib.Path:
    """runs/NAME-TIME below SPEEDRUN_PREFIX where that is a folder, else below here."""
    prefix = storage.prefix()
    base = pathlib.Path(prefix) if prefix and "://" not in prefix else pathlib.Path()
    return base / "runs" / f"{name}-{dt.datetime.now():%Y%m%d-%H%M%S}"


def _folder_of_run(out: pathlib.Path, arm: str, seed: int, arms: int, seeds: int) -> pathlib.Path:
    if arms == 1 and seeds == 1:
        return out
    return out / (f"{arm}-seed{seed}" if arms > 1 else f"seed{seed}")


def _line(arm: str, seed: int, info: dict[str, Any], folder: pathlib.Path) -> str:
    bits = "" if info["eval/bpb"] is None else f"  {info['eval/bpb']:.4f} bits/byte"
    return (
        f"{arm} seed {seed}: loss {info['eval/loss']:.4f}{bits}  "
        f"{info['training_time']:.1f} s  {folder / RESULTS}"
    )


def _next(out: pathlib.Path, arms: int, submission: str) -> str:
    """The command that makes a submission of the runs, W&B files or else logs. The names of the
    folders tell it which of two arms a run is of, so that it gets the folder that holds both."""
    files = sorted(out.glob("**/run.wandb")) or sorted(out.glob("**/log.txt"))
    if arms > 1:
        files = [out]
    here = pathlib.Path.cwd()
    shown = [p.relative_to(here) if p.is_relative_to(here) else p for p in files]
    return f"next: speedrun new {submission} " + " ".join(f"--log {path}" for path in shown)


def _summary(found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    for arm, infos in found.items():
        if len(infos) > 1:
            yield f"{arm}: {len(infos)} runs, " + ", ".join(
                f"{name} {statistics.fmean(values):.4f} ± {statistics.stdev(values):.4f}{unit}"
                for name, unit, values in (
                    ("loss", "", [i["eval/loss"] for i in infos]),
                    ("time", " s", [i["training_time"] for i in infos]),
                )
            )
