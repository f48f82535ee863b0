"""`speedrun train`, the same as `python -m reference_trainer`: train, bench, data.

Neither torch nor JAX is imported before they are needed; `--dry-run` needs neither.
"""

import importlib.util
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import click

from reference_trainer.config import Config, config_names, load_config
from reference_trainer.errors import Stopped, TrainerError

BACKENDS = ("torch", "jax")


class _Words(click.Group):
    """Turns what a user can mend into one sentence and exit 2, a stop signal into exit 0."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except Stopped as stopped:
            click.echo(str(stopped), err=True)
            sys.exit(0)
        except TrainerError as error:
            raise click.ClickException(str(error)) from error


@click.group(
    "train",
    cls=_Words,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--config",
    "name",
    default="tiny",
    show_default=True,
    help=f"Name or .toml file. Names: {', '.join(config_names())}.",
)
@click.option("--set", "overrides", multiple=True, metavar="SECTION.KEY=VALUE", help="Change one.")
@click.option("--backend", type=click.Choice(BACKENDS), help="Default: the one that is installed.")
@click.option("--out", type=click.Path(file_okay=False, path_type=pathlib.Path), help="Folder.")
@click.option("--seed", default=0, show_default=True, help="Of first values and order of the data.")
@click.option("--seeds", default=1, show_default=True, help="So many runs: SEED, SEED+1, ...")
@click.option("--interleave", metavar="CONFIG", help="Alternate with baseline or a config.")
@click.option("--track", help="Track that the runs are for, noted in the results.")
@click.option(
    "--wandb",
    type=click.Choice(["online", "offline", "off"]),
    default="offline",
    show_default=True,
    help="Where to log; online needs WANDB_API_KEY.",
)
@click.option("--project", default="speedrun", show_default=True, help="W&B project.")
@click.option("--tag", "tags", multiple=True, help="W&B tag, such as your GitHub login.")
@click.option("--author", help="Your name, for the results.")
@click.option("--resume", is_flag=True, help="Go on from the newest checkpoint in --out.")
@click.option("--dry-run", is_flag=True, help="Say what would happen; needs no torch, JAX or GPU.")
@click.option("--device", help="With --dry-run: the device to reckon with, such as H100 or v5e-8.")
@click.option("--force-run-failed", is_flag=True, help="Do steps again that failed before.")
@click.option("--quiet", is_flag=True, help="No progress line.")
@click.pass_context
def train(ctx: click.Context, name: str, overrides: tuple[str, ...], **options: Any) -> None:
    """Train a model and write what a submission needs: log, W&B file, speedrun_results.json."""
    if ctx.invoked_subcommand is not None:
        ctx.obj = (name, overrides, options)
        return
    from reference_trainer import runs

    config = load_config(name, _pairs(overrides))
    if options["dry_run"]:
        from reference_trainer import dryrun

        click.echo(dryrun.report(config, options["device"], options["wandb"]))
        return
    arms = [("candidate", config)]
    if options["interleave"]:
        other = name if options["interleave"] == "baseline" else options["interleave"]
        arms.append(("baseline", load_config(other)))
    backend = options["backend"] or installed_backend()
    for line in runs.run_all(arms, make_backend(backend), backend, options):
        click.echo(line)


def installed_backend() -> str:
    """torch where it is installed, else jax. Raises TrainerError without either."""
    for name in BACKENDS:
        if importlib.util.find_spec(name) is not None:
            return name
    raise TrainerError(
        "neither torch nor jax is installed; install one, for instance: pip install torch"
    )


def make_backend(name: str) -> Callable[[Config, int], Any]:
    """The constructor of a backend; imports its library. Raises TrainerError if it is missing."""
    if importlib.util.find_spec(name) is None:
        raise TrainerError(f"{name} is not installed: pip install {name}")
    if name == "torch":
        from reference_trainer.torch_backend.engine import TorchBackend

        return TorchBackend
    from reference_trainer.jax_backend.engine import JaxBackend

    return JaxBackend


def _pairs(overrides: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for item in overrides:
        key, equals, value = item.partition("=")
        if not equals:
            raise TrainerError(f'"{item}" is no setting; write --set section.key=value')
        pairs[key.strip()] = value.strip()
    return pairs


@train.command()
@click.argument("corpus", required=False)
@click.option("--list", "listed", is_flag=True, help="Name the known corpora.")
@click.option("--verify", is_flag=True, help="Check the SHA-256 of every shard.")
def data(corpus: str | None, listed: bool, verify: bool) -> None:
    """Build or download a corpus and say what is in it."""
    from reference_trainer import corpus as corpora
    from reference_trainer import downloads
    from reference_trainer.shards import open_corpus

    if listed or corpus is None:
        for recipe in corpora.recipes().values():
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
@click.option("--config", "name", default="gpt2-124m", show_default=True)
@click.option("--set", "overrides", multiple=True, metavar="SECTION.KEY=VALUE")
@click.option("--backend", type=click.Choice(BACKENDS))
@click.option("--micro-batch", "batches", multiple=True, type=int, help="One or more; best wins.")
@click.option("--steps", default=20, show_default=True, help="Timed steps of each measurement.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def bench(batches: tuple[int, ...], **options: Any) -> None:
    """Measure tokens/s, MFU and peak memory of whole training steps on random tokens."""
    from reference_trainer import bench as benchmark

    config = load_config(options["name"], _pairs(options["overrides"]))
    backend = options["backend"] or installed_backend()
    report = benchmark.measure(config, make_backend(backend), batches, options["steps"])
    click.echo(benchmark.to_json(report) if options["as_json"] else benchmark.to_text(report))
