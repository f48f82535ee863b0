"""What a starter file calls: the trainer's command line around its own model and optimizer."""

import datetime as dt
import pathlib
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import click

from reference_trainer.cli import pairs, run_options, words
from reference_trainer.config import Config, as_dict, load_config, parse_config, put
from reference_trainer.other_arm import other_arm, reading
from reference_trainer.recorded import Optimizer

__all__ = ["Optimizer", "run_jax", "run_torch"]

_MODEL = {
    "gated": False,
    "norm_weights": False,
    "qk_norm": True,
    "tied": False,
    "kv_heads": 0,
    "zero_init": False,
}
"""What a starter's model has fixed."""
_OPTIMIZER = {"embed_lr": 0.0}
"""What its optimizer does not have."""
MakeBackend = Callable[[Config, int], Any]
Configure = Callable[[Mapping[str, object]], Config]


def run_torch(
    file: str,
    config: str,
    settings: Mapping[str, object],
    build_model: Any,
    build_optimizers: Any,
    track: str,
    description: str,
    author: Mapping[str, str],
) -> None:
    """Run a torch starter from the command line; the model sets its own first values."""

    def make(config: Config, seed: int) -> Any:
        from reference_trainer.torch_backend.engine import TorchBackend

        return TorchBackend(config, seed, build_model, build_optimizers, values=None)

    _run(file, "torch", configured(config, settings, description), make, track, author)


def run_jax(
    file: str,
    config: str,
    settings: Mapping[str, object],
    make_losses: Any,
    make_optimizer: Any,
    values: Any,
    track: str,
    description: str,
    author: Mapping[str, str],
) -> None:
    """Run a JAX starter from the command line."""

    def make(config: Config, seed: int) -> Any:
        from reference_trainer.jax_backend.engine import JaxBackend

        return JaxBackend(config, seed, make_losses, make_optimizer, values)

    _run(file, "jax", configured(config, settings, description), make, track, author)


def configured(name: str, settings: Mapping[str, object], description: str) -> Configure:
    """A function from the command line's settings to the configuration. What a starter's model
    has fixed (plain MLP, norms without weights) is put into the configuration for the FLOPs."""

    def configure(overrides: Mapping[str, object]) -> Config:
        data = as_dict(load_config(name))
        data["description"] = description
        data["model"].update(_MODEL)
        data["optimizer"].update(_OPTIMIZER)
        for key, value in settings.items():
            put(data, key, value)
        config = parse_config(data, "SETTINGS")
        return load_config(name, overrides, base=as_dict(config)) if overrides else config

    return configure


def _run(
    file: str,
    backend: str,
    configure: Configure,
    make: MakeBackend,
    track: str,
    author: Mapping[str, str],
) -> None:
    read = reading.get()
    if read is not None:
        read.found.append((configure({}), configure(read.settings), make))
        return
    main = pathlib.Path(file).resolve()

    @click.command(
        main.name, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
    )
    @run_options
    @words
    def command(overrides: tuple[str, ...], **options: Any) -> None:
        """Train what this file describes."""
        from reference_trainer import runs

        config = configure(pairs(overrides))
        if options["dry_run"]:
            from reference_trainer import dryrun

            click.echo(dryrun.report(config, options["device"], options["wandb"]))
            return
        options["track"] = options["track"] or track
        _place(options, main)
        options["author"] = options["author"] or author.get("name") or None
        options["affiliation"], options["url"] = author.get("affiliation"), author.get("url")
        _train(runs.Arm("candidate", config, make, main), main, backend, options)

    command.main(args=sys.argv[1:], prog_name=f"python {main.name}")


def _train(arm: Any, main: pathlib.Path, backend: str, options: dict[str, Any]) -> None:
    """Do the runs of the file, in turn with those of another arm if that is asked for."""
    from reference_trainer import runs

    arms, asked = [arm], options["interleave"]
    with tempfile.TemporaryDirectory() as folder:
        if asked:
            place = pathlib.Path(folder)
            arms.append(other_arm(asked, main, backend, options["track"], place))
        for line in runs.run_all(arms, options, backend):
            click.echo(line)


def _place(options: dict[str, Any], main: pathlib.Path) -> None:
    """A starter in a submission's folder writes its runs beside the repository's other build
    files: a pull request holds what `speedrun new` takes from them, not all that W&B leaves."""
    root = next((p for p in main.parents if (p / "tracks").is_dir()), None)
    if root is None or (root / "submissions") not in main.parents:
        return
    name = main.parent.relative_to(root / "submissions").as_posix()
    options["submission"] = name
    time = f"{dt.datetime.now():%Y%m%d-%H%M%S}"
    options["out"] = options["out"] or root / "build" / "runs" / name / time
