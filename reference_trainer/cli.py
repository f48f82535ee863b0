"""`speedrun train`, or `python -m reference_trainer`: train, suite, sweep, bench, data, compile.

Neither torch nor JAX is imported before they are needed; `--dry-run` needs neither.
"""

import functools
import pathlib
import re
import sys
from collections.abc import Callable
from typing import Any

import click

from reference_trainer.backends import BACKENDS, installed_backend, make_backend
from reference_trainer.config import Config, config_names, load_config
from reference_trainer.distributed import MODES, leave
from reference_trainer.errors import ConfigError, Stopped, TrainerError
from reference_trainer.joining import join


def words(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turns what a user can mend into one sentence and exit 2, a stop signal into exit 0."""

    @functools.wraps(function)
    def spoken(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Stopped as stopped:
            click.echo(str(stopped), err=True)
            sys.exit(0)
        except TrainerError as error:
            click.echo(f"Error: {error}", err=True)
            leave(2)
            sys.exit(2)

    return spoken


def login(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A GitHub login without its @. Raises BadParameter."""
    name = value.removeprefix("@") if value else None
    if name and not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9])){0,38}", name):
        raise click.BadParameter(f'"{name}" is not a GitHub login; write yours, such as octocat')
    return name


_RUN_OPTIONS = (
    click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="SECTION.KEY=VALUE",
        help="Change one setting of the configuration.",
    ),
    click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=pathlib.Path),
        help="Output folder; default: runs/NAME-TIME.",
    ),
    click.option(
        "--seed",
        default=0,
        type=click.IntRange(0, 2**53),
        help="Seed of the initial weights and of the data order.",
    ),
    click.option(
        "--seeds",
        default=1,
        type=click.IntRange(1),
        help="Number of runs, with the seeds SEED, SEED+1, ...",
    ),
    click.option(
        "--interleave", metavar="baseline|FILE.py|CONFIG", help="Alternate with this other arm."
    ),
    click.option("--track", help="Track that the runs are for, noted in the results."),
    click.option(
        "--wandb",
        type=click.Choice(["online", "offline", "off"]),
        default="offline",
        help="online needs WANDB_API_KEY.",
    ),
    click.option("--project", default="speedrun", help="W&B project."),
    click.option("--tag", "tags", multiple=True, help="W&B tag."),
    click.option(
        "--github-login",
        metavar="LOGIN",
        callback=login,
        help="Your GitHub login: binds the runs to you, as speedrun:LOGIN in W&B.",
    ),
    click.option("--author", help="Your name, for the results."),
    click.option(
        "--distributed",
        type=click.Choice(MODES),
        default="auto",
        help="Join the other processes that torchrun, Slurm, Ray or a TPU pod started.",
    ),
    click.option("--resume", is_flag=True, help="Continue from the checkpoint in --out."),
    click.option("--dry-run", is_flag=True, help="Show what would happen; needs no GPU."),
    click.option("--device", help="With --dry-run: the device, such as H100 or v5e-8."),
    click.option("--force-run-failed", is_flag=True, help="Run failed steps again."),
    click.option("--quiet", is_flag=True, help="No progress line."),
)


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a training run, shared with the starter files."""
    for option in reversed(_RUN_OPTIONS):
        function = option(function)
    return function


@click.group(
    "train",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.option(
    "--config", "name", default="tiny", help=f"A .toml file or one of {', '.join(config_names())}."
)
@click.option("--backend", type=click.Choice(BACKENDS), help="Default: the one that is installed.")
@run_options
@click.pass_context
@words
def train(
    ctx: click.Context, name: str, backend: str | None, overrides: tuple[str, ...], **options: Any
) -> None:
    """Train a model and write what a submission needs: log, W&B file, speedrun_results.json."""
    if ctx.invoked_subcommand is not None:
        return
    from reference_trainer import runs

    config = load_config(name, pairs(overrides))
    refuse_extra(config)
    if options["dry_run"]:
        from reference_trainer import dryrun

        click.echo(dryrun.report(config, options["device"], options["wandb"]))
        return
    backend = backend or installed_backend()
    make = make_backend(backend)
    arms = [runs.Arm("candidate", config, make)]
    if options["interleave"]:
        arms.append(_beside(options["interleave"], name, options["track"], backend))
    for line in runs.run_all(arms, options, backend):
        click.echo(line)


def _beside(asked: str, name: str, track: str | None, backend: str) -> Any:
    """The other arm of the trainer's own model `name`: the frozen baseline of the track if there
    is one, else a configuration, for `baseline` the same one as the file says it."""
    from reference_trainer import other_arm, runs

    found = None
    if asked == other_arm.BASELINE and track:
        found = other_arm.frozen_arm(track, pathlib.Path.cwd(), backend)
    config = name if asked == other_arm.BASELINE else asked
    return found or runs.Arm("baseline", load_config(config), make_backend(backend))


def refuse_extra(config: Config) -> None:
    """Raise ConfigError for settings of an optimizer that is not the trainer's."""
    if config.optimizer.extra:
        extra = ", ".join(config.optimizer.extra)
        raise ConfigError(
            f"optimizer.extra ({extra}) is for an optimizer of your own; {config.optimizer.name} "
            "has its settings in [optimizer]"
        )


def pairs(overrides: tuple[str, ...]) -> dict[str, str]:
    """`--set` arguments as a mapping. Raises TrainerError."""
    found = {}
    for item in overrides:
        key, equals, value = item.partition("=")
        if not equals:
            raise TrainerError(f'"{item}" is not a setting; write --set section.key=value')
        found[key.strip()] = value.strip()
    return found


@train.command()
@click.argument("members", nargs=-1, required=True, metavar="[POINT=]CONFIG[,KEY=VALUE...]...")
@click.option("--backend", type=click.Choice(BACKENDS), help="Default: the one that is installed.")
@run_options
@words
def suite(
    members: tuple[str, ...], backend: str | None, overrides: tuple[str, ...], **options: Any
) -> None:
    """Train several sizes, each a point of one submission. Start it again to go on."""
    from reference_trainer import suite as suites

    if options["interleave"]:
        raise TrainerError("a suite has one arm; leave --interleave out")
    found = suites.members_of(members, pairs(overrides))
    for member in found:
        refuse_extra(member.config)
    if options["dry_run"]:
        from reference_trainer import dryrun

        for member in found:
            click.echo(f"point {member.point}")
            click.echo(dryrun.report(member.config, options["device"], options["wandb"]))
        return
    backend = backend or installed_backend()
    for line in suites.run_suite(found, options, make_backend(backend), backend):
        click.echo(line)


@train.command()
@click.option("--workers", default=1, type=click.IntRange(1), help="Runs at a time.")
@click.option("--retries", default=2, type=click.IntRange(0), help="How often one is tried again.")
@click.option("--arm", "arms", multiple=True, metavar="NAME=SECTION.KEY=VALUE,...")
@click.option("--launch", default="", help="What starts a run, such as 'srun --ntasks=1 --exact'.")
@click.option("--file", help="A starter to run instead of the trainer's own models.")
@click.argument("arguments", nargs=-1)
@words
def sweep(arguments: tuple[str, ...], **options: Any) -> None:
    """Run seeds and arms of the command behind --, and the failed ones again."""
    from reference_trainer import sweep as sweeps

    members = sweeps.members_of([*sweeps.program(options["file"]), *arguments], options["arms"])
    launch = sweeps.launched_by(options["launch"])
    sweeps.run(members, launch, options["workers"], options["retries"])


@train.command()
@click.argument("corpus", required=False)
@click.option("--list", "listed", is_flag=True, help="Name the known corpora.")
@click.option("--verify", is_flag=True, help="Check the SHA-256 of every shard.")
@words
def data(corpus: str | None, listed: bool, verify: bool) -> None:
    """Build or download a corpus and say what is in it."""
    from reference_trainer import corpus as corpora
    from reference_trainer import downloads
    from reference_trainer.packages import RECIPES
    from reference_trainer.shards import open_corpus

    if listed or corpus is None:
        for recipe in RECIPES.values():
            click.echo(f"{recipe.name:20} {recipe.about}")
        for dataset in downloads.DATASETS.values():
            click.echo(f"{dataset.name:20} {dataset.about}")
        return
    folder = corpora.prepare(corpus, lambda text: click.echo(text, err=True))
    found = open_corpus(folder, verify)
    for split in (found.train, found.validation):
        in_bytes = f"{split.utf8_bytes:,} bytes" if split.utf8_bytes else "bytes unknown"
        click.echo(f"{split.name:10} {split.tokens:>14,} tokens  {in_bytes}  {split.fingerprint}")
    both = corpora.overlap(folder)
    if both is not None:
        click.echo(f"documents in both splits: {both}")
    click.echo(f"folder: {folder}")


@train.command()
@click.option("--config", "name", default="gpt2-124m")
@click.option("--set", "overrides", multiple=True, metavar="SECTION.KEY=VALUE")
@click.option("--backend", type=click.Choice(BACKENDS))
@click.option("--micro-batch", "batches", multiple=True, type=int, help="One or more; best wins.")
@click.option(
    "--steps", default=20, type=click.IntRange(1), help="Timed steps of each measurement."
)
@click.option(
    "--against",
    type=click.FloatRange(0, min_open=True),
    metavar="TOKENS_PER_S",
    help="What a peer reaches here.",
)
@click.option(
    "--whole-batch",
    is_flag=True,
    help="A step is the configuration's whole batch, not one micro-batch on each device.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@words
def bench(batches: tuple[int, ...], **options: Any) -> None:
    """Measure tokens/s, MFU and peak memory of whole training steps on random tokens."""
    from reference_trainer import bench as benchmark

    config = load_config(options["name"], pairs(options["overrides"]))
    backend = options["backend"] or installed_backend()
    make, how = make_backend(backend), (options["against"], options["whole_batch"])
    join(backend, "auto")
    report = benchmark.measure(config, make, batches, options["steps"], *how)
    if not report["rank"]:
        click.echo(benchmark.to_json(report) if options["as_json"] else benchmark.to_text(report))
    leave(0)


@train.command("compile")
@click.option("--config", "name", default="gpt2-124m")
@click.option("--set", "overrides", multiple=True, metavar="SECTION.KEY=VALUE")
@click.option("--tpu", "generation", required=True, help="v4, v5e, v5p, v6e or v7x.")
@words
def compile_ahead(name: str, overrides: tuple[str, ...], generation: str) -> None:
    """Compile the JAX step for a TPU that is not here; needs the package libtpu."""
    config = load_config(name, pairs(overrides))
    make_backend("jax")
    from reference_trainer.jax_backend.ahead import compile_for

    found = compile_for(config, generation)
    click.echo(
        f"{config.name} compiles for {found.topology}, {found.devices} devices: "
        f"{found.needed_bytes / 2**30:.2f} of {found.available_bytes / 2**30:.0f} GiB on each, "
        f"attention: {found.attention}"
    )
