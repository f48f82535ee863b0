"""Several runs after one another: seeds, and two arms in turn on one machine."""

import contextlib
import dataclasses as dc
import datetime as dt
import json
import os
import pathlib
import statistics
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from reference_trainer import corpus as corpora
from reference_trainer import distributed, joining, provenance, storage
from reference_trainer.config import Config, as_dict
from reference_trainer.distributed import Group
from reference_trainer.errors import TrainerError
from reference_trainer.graph import Execution, identity
from reference_trainer.loop import MakeBackend, train
from reference_trainer.outputs import OUTPUTS, RESULTS, Job
from reference_trainer.results import Author
from reference_trainer.shards import Corpus, open_corpus
from reference_trainer.storage import LocalFolder


@dc.dataclass(frozen=True)
class Arm:
    """What to run: `candidate`, and `baseline` beside it. `main` is the starter file, if any;
    `note` says what the arm is, where that does not stand on the command line."""

    name: str
    config: Config
    make_backend: MakeBackend
    main: pathlib.Path | None = None
    note: str = ""


Arms = Sequence[Arm]
T = TypeVar("T")


def run_all(arms: Arms, options: dict[str, Any], backend: str) -> Iterator[str]:
    """Do every run and yield one line about each, then a summary. `options` are those of the CLI.

    Two arms take turns in the order of `in_turn`. Every process of a cluster gets here; process 0
    speaks.
    """
    check_environment(arms, options["wandb"])
    group = joining.join(backend, options["distributed"])
    with distributed.together(group):
        yield from run_in(group, arms, options)
        if group.first:
            yield _next(pathlib.Path(options["out"]), len(arms), options.get("submission"))


def run_in(group: Group, arms: Arms, options: dict[str, Any]) -> Iterator[str]:
    """`run_all` in a group that is joined already, without the word on what to do next."""
    group.agree("the command", _command(arms, options))
    yield from _do(arms, options, group)


def _command(arms: Arms, options: dict[str, Any]) -> dict[str, Any]:
    """What every process must have been started with, by the name that people know it by."""
    names = ("seed", "seeds", "interleave", "track", "wandb", "resume", "force_run_failed")
    facts = {f"--{name.replace('_', '-')}": options[name] for name in names}
    for arm in arms:
        for section, values in as_dict(arm.config).items():
            settings = values.items() if isinstance(values, dict) else [("", values)]
            facts |= {f"{section}.{key}".rstrip("."): value for key, value in settings}
        facts |= {f"the file {k}": v for k, v in provenance.code_hashes(arm.main).items()}
    return facts


def _do(arms: Arms, options: dict[str, Any], group: Group) -> Iterator[str]:
    new = f"{arms[0].config.name}-{dt.datetime.now():%Y%m%d-%H%M%S}"
    place = group.share("the output folder", lambda: str(options["out"] or folder_called(new)))
    out = options["out"] = pathlib.Path(place)
    first = group.first
    yield from (arm.note for arm in arms if first and arm.note)
    opened = {a.config.data.corpus: corpus_of(a.config, options["quiet"], group) for a in arms}
    prints = {name: corpus.train.fingerprint for name, corpus in opened.items()}
    group.agree("the data", prints, None)
    found: dict[str, list[dict[str, Any]]] = {arm.name: [] for arm in arms}
    for number in range(options["seeds"]):
        seed = options["seed"] + number
        for arm in in_turn(arms, number):
            folder = _folder_of_run(out, arm.name, seed, len(arms), options["seeds"])
            corpus = opened[arm.config.data.corpus]
            job = _job(arm, corpus, folder, seed, len(arms) > 1, options)
            done, every = sum(map(len, found.values())), len(arms) * options["seeds"]
            if first and every > 1:
                yield f"run {done + 1} of {every}: {arm.name}, seed {seed}"
            info = _once(job, arm, options["force_run_failed"], group)
            found[arm.name].append(info)
            if first:
                yield _line(arm.name, seed, info, folder)
    if first:
        yield from _summary(found)
        yield from in_the_way(found, options["track"], arms[0].main)


def in_turn(arms: Sequence[T], number: int) -> Sequence[T]:
    """The arms in the order of pair `number`: candidate, baseline, baseline, candidate, ...

    A machine that slows down steadily then costs both arms the same. With candidate always first, a
    drift of one sd a run makes 24 % of equal arms differ at p < 0.01 (8 runs an arm).
    """
    return arms if number % 2 == 0 else tuple(reversed(arms))


def _once(job: Job, arm: Arm, force: bool, group: Group) -> dict[str, Any]:
    """The run of a job, or its results where it was finished before with the same code, settings
    and data. Process 0 looks and keeps the folder; the others hear of it."""
    folder = storage.open_folder(job.store) if job.store else LocalFolder(job.out)
    data = [job.corpus.train.fingerprint, job.corpus.validation.fingerprint]
    wanted = identity(
        provenance.code_hashes(job.main), [as_dict(job.config), job.seed, job.arm], data
    )
    with contextlib.ExitStack() as held:

        def before() -> dict[str, Any] | None:
            """The results of a finished run, None where there is something to do."""
            held.enter_context(storage.Lock(job.out))
            execution = Execution(folder)
            if execution.finished("train", wanted) and folder.exists(RESULTS):
                if job.store and not (job.out / RESULTS).is_file():
                    storage.copy(folder, LocalFolder(job.out), OUTPUTS)
                return dict(json.loads(folder.read(RESULTS)))
            if folder.exists(RESULTS) and not job.resume:
                raise TrainerError(
                    f"{job.out} holds the results of another run (other settings, code or data); "
                    "choose another --out, or delete that folder"
                )
            execution.note("corpus", identity({}, job.corpus.name, data), [], job.corpus.name)
            held.enter_context(execution.step("train", wanted, data, force))
            return None

        document = group.share("what is left to do", before)
        if document is not None:
            return _info(document)
        document = train(job, arm.make_backend, locked=True, group=group)
    if group.first:
        results = identity({}, document, [wanted])
        Execution(folder).note("results", results, [wanted], RESULTS)
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


def corpus_of(config: Config, quiet: bool, group: Group) -> Corpus:
    """The corpus, built by process 0 first, and by others where they do not see its disk."""
    from reference_trainer.tracking import Progress

    say = Progress(0, group.first and not quiet).say
    group.share("the corpus", lambda: str(corpora.prepare(config.data.corpus, say)))
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
    paloma = None
    if arm.config.data.paloma:
        from reference_trainer import downloads

        paloma = downloads.paloma(corpus)
    return Job(
        config=arm.config,
        corpus=corpus,
        out=folder,
        seed=seed,
        store=store_of(folder),
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
        paloma=paloma,
    )


def store_of(folder: pathlib.Path) -> str | None:
    """Where a run of that output folder keeps everything, if SPEEDRUN_PREFIX is a bucket."""
    prefix = storage.prefix()
    if prefix is None or "://" not in prefix:
        return None
    return f"{prefix.rstrip('/')}/runs/{folder.parent.name}/{folder.name}"


def folder_called(name: str) -> pathlib.Path:
    """runs/NAME below SPEEDRUN_PREFIX where that is a folder, else below here."""
    prefix = storage.prefix()
    base = pathlib.Path(prefix) if prefix and "://" not in prefix else pathlib.Path()
    return base / "runs" / name


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


def _next(out: pathlib.Path, arms: int, submission: str | None) -> str:
    """The command that makes a submission of the runs, W&B files or else logs. The names of the
    folders tell it which of two arms a run is of, so that it gets the folder that holds both."""
    files = sorted(out.glob("**/run.wandb")) or sorted(out.glob("**/log.txt"))
    if arms > 1:
        files = [out]
    here = pathlib.Path.cwd()
    shown = [p.relative_to(here) if p.is_relative_to(here) else p for p in files]
    return f"next: speedrun new {submission or 'TRACK/NAME'} " + " ".join(
        f"--log {path}" for path in shown
    )


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


def in_the_way(
    found: dict[str, list[dict[str, Any]]], track: str | None, main: pathlib.Path | None
) -> Iterator[str]:
    """What keeps runs from a place on the board of their track, if its file is here."""
    here = (main.parent, *main.parent.parents) if main else ()
    folders = (*here, pathlib.Path.cwd(), *pathlib.Path.cwd().parents)
    path = next((p for f in folders if (p := f / "tracks" / f"{track}.toml").is_file()), None)
    rules: dict[str, Any] = {}
    if path is not None:
        with contextlib.suppress(ValueError, OSError):  # a broken file is for others to report
            rules = tomllib.loads(path.read_text(encoding="utf-8"))
    quality = rules.get("quality", {})
    metric, target = quality.get("metric"), quality.get("target")
    values: list[Any] = [info.get(f"eval/{metric}") for info in found["candidate"]]
    if target is not None and values and None not in values:
        mean = statistics.fmean(values)
        if mean > target and quality.get("goal", "min") == "min":
            yield f"target missed: {metric} {mean:.4f}, {track} asks for less than {target}"
    if rules.get("objective") == "baseline" and "baseline" not in found:
        yield (
            "no baseline arm: these runs alone do not rank, for the ratio to it counts; "
            "add --interleave baseline"
        )
