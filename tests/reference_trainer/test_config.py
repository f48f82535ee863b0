"""Configurations: the ones that come along, and what is said of wrong ones."""

from __future__ import annotations

import pathlib

import pytest
from click.testing import CliRunner

from bot.compute.accounting import forward_flops_per_token, model_flops, parameter_count
from reference_trainer import dryrun, memory
from reference_trainer.cli import train
from reference_trainer.config import config_names, load_config, parse_config
from reference_trainer.errors import ConfigError
from reference_trainer.shards import Corpus

# Published on the Marin board: parameters, forward FLOPs of a token, tokens and model FLOPs.
MARIN = {
    "llama-130m": (154147328, 227868672, 2599944192, 1.777337490915459e18),
    "llama-520m": (602457088, 1349517312, 10399776768, 4.210403636805422e19),
    "llama-1_2b": (1431373824, 2877292544, 23999807488, 2.071634014279733e20),
    "llama-75m": (73273600, 89358336, 3145728000, 8.43291058765824e17),
    "llama-30m": (33784960, 36855808, 786432000, 8.6953760391168e16),
    "llama-300m": (299649792, 555024384, 5999951872, 9.99035877535934e18),
}


@pytest.mark.parametrize("name", MARIN)
def test_llama_sizes_cost_what_the_board_says(name: str) -> None:
    parameters, per_token, tokens, flops = MARIN[name]
    shape = load_config(name).model.transformer()
    assert parameter_count(shape) == parameters
    assert forward_flops_per_token(shape) == per_token
    assert model_flops(shape, tokens) == flops


def test_every_configuration_is_sound() -> None:
    for name in config_names():
        config = load_config(name)
        assert config.name == name and config.description
        assert config.total_tokens == config.train.batch * config.model.seq_len * config.train.steps


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("train.stepz", "3", 'unknown key "train.stepz"; did you mean "steps"?'),
        ("train.steps", "0", "train.steps is 0, expected at least 1"),
        ("train.steps", "9999999999", "expected at least 1 and at most 1e+09"),
        ("train.steps", '"many"', "train.steps is 'many', expected a whole number"),
        ("train.micro_batch", "5", "the second must divide the first"),
        ("model.heads", "5", "model.hidden is 128 and model.heads is 5"),
        ("model.vocab", "300", "write 320"),
        ("optimizer.name", "lion", 'optimizer.name is "lion", expected one of adamw, muon'),
        ("schedule.warmup_steps", "999", "the warm-up must end within the run"),
        ("model.head_dim", "7", "even"),
        ("nothing", "1", "write SECTION.KEY=VALUE"),
    ],
)
def test_a_wrong_setting_is_named(key: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=None) as error:
        load_config("tiny", {key: value})
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_unknown_configuration_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="tiny"):
        load_config("huge")


def test_broken_toml_is_one_sentence(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[model\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="not readable as TOML"):
        load_config(str(path))


def test_missing_section() -> None:
    with pytest.raises(ConfigError, match=r"\[model\] is missing"):
        parse_config({"name": "x"}, "x.toml")


def test_override_keeps_types() -> None:
    config = load_config(
        "tiny", {"optimizer.lr": "1", "data.corpus": "other", "train.compile": "true"}
    )
    assert config.optimizer.lr == 1.0 and config.data.corpus == "other" and config.train.compile


def test_the_memory_of_a_dry_run_is_that_of_one_of_the_devices() -> None:
    """64 chips share 128 sequences: two on each, where four A100 take eight at a time."""
    config = load_config("llama-130m")
    shown = {name: dryrun.report(config, name, "off") for name in ("4x A100", "v4-128")}
    assert "8 sequences at a time on each of 4:" in shown["4x A100"]
    assert "2 sequences at a time on each of 64:" in shown["v4-128"]
    assert "set train.micro_batch = 2" in shown["v4-128"]
    assert "set train.micro_batch" not in shown["4x A100"]
    sharded = load_config("llama-130m", {"train.sharding": "fsdp"})
    state = 18 * parameter_count(config.model.transformer())
    assert memory.estimate(config, 2, 64).state == state
    assert memory.estimate(sharded, 2, 64).state == state // 64
    assert memory.estimate(config, 8).activations == 4 * memory.estimate(config, 2).activations


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("sotuu", 'Error: there is no corpus "sotuu"'),
        ("fineweb-edu-10B@5X", 'has the size "5X"'),
        ("fineweb-edu-10B@", 'has the size ""'),
        ("fineweb-edu-10B@5M", "fineweb-edu-10B@5M, not here yet"),
    ],
)
def test_a_dry_run_knows_which_corpora_there_are(
    name: str, shown: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPEEDRUN_DATA", str(tmp_path))
    dry = ["--config", "tiny", "--set", f"data.corpus={name}", "--dry-run"]
    done = CliRunner().invoke(train, dry)
    assert shown in done.output
    assert done.exit_code == (2 if "Error" in done.output else 0)


def test_a_dry_run_finds_a_corpus_in_a_folder(
    corpus: Corpus, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(corpus.folder.parent)
    config = load_config("tiny", {"data.corpus": corpus.folder.name})
    assert f"{corpus.train.tokens:,} tokens" in dryrun.report(config, "H100", "off")


def test_devices_that_cannot_share_a_batch_are_told_what_to_write() -> None:
    config = load_config("llama-130m")
    assert "a train.batch that is a multiple of 3" in memory.does_not_split(config, 3)
    assert "set train.micro_batch = 4" in memory.does_not_split(config, 32)
