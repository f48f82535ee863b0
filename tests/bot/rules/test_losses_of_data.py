"""A loss whose name says on which text it is, beside the validation loss: in log and W&B."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.evidence.log.training_log import read_log
from bot.model.track import Metric
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL
from tests.bot.rules.second_cases import general, log, loss_at, offline, rows, told
from tests.bot.rules.test_settings import told as told_of_results


def in_log(name: str, times: float, track: Any = SMALL) -> list[tuple[str, Level]]:
    (run,) = read_log(log(lambda s: f" {name}:{times * loss_at(s):.4f}"), "run.log")
    return told(run, track)


def on_wandb(name: str, times: float, track: Any = SMALL) -> list[tuple[str, Level]]:
    def more(step: int) -> dict[str, float]:
        return {name: times * loss_at(step)} if step % 100 == 0 else {}

    return told(offline(rows(more), track), track)


OWN = ["fineweb/nll", "val/fineweb/nll", "eval.fineweb-loss", "val_fineweb_loss", "fineweb_loss",
       "loss/fineweb", "eval/fineweb_val/ce", "val/fineweb/cross_entropy"]  # fmt: skip


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("read", [in_log, on_wandb])
def test_a_higher_loss_on_the_text_of_the_track(read: Any, name: str) -> None:
    for times in (1.006, 1.08):
        ((text, level),) = read(name, times)
        assert level is Level.WARNING and f"`{name}`" in text
        assert f"ends at {round(times * 3.275, 4):.6g}" in text
    assert read(name, 1.0) == [] and read(name, 0.98) == []


@pytest.mark.parametrize("name", ["eval/c4/loss", "val/openwebtext/nll", "validation/mine/loss"])
@pytest.mark.parametrize("read", [in_log, on_wandb])
def test_a_loss_on_another_text_that_is_nearly_this_one(read: Any, name: str) -> None:
    ((text, level),) = read(name, 1.01)
    assert level is Level.WARNING and f"`{name}`" in text
    # On another text it is rarely so near.
    assert read(name, 1.05) == []


@pytest.mark.parametrize(
    "name",
    ["z_loss", "val/z_loss", "router_loss", "eval/router/loss", "mtp_loss", "val/mtp_loss",
     "val/layer3/loss", "val/aux_loss", "train/fineweb/loss", "fineweb/int8/loss",
     "fineweb/bits", "model/loss", "c4/loss", "eval/fineweb/accuracy", "val/ema/nll"],
)  # fmt: skip
@pytest.mark.parametrize("read", [in_log, on_wandb])
def test_a_loss_of_a_part_or_of_another_kind(read: Any, name: str) -> None:
    assert read(name, 1.02) == []


def test_what_the_track_itself_reads_is_one_of_its_metrics() -> None:
    own = Metric("c4", "C4 loss", keys=("eval/c4/loss",))
    track = dc.replace(SMALL, metrics={"c4": own})
    assert on_wandb("eval/c4/loss", 1.01, track) == []
    assert on_wandb("eval/c4/loss", 1.01) != []


def test_a_log_in_words() -> None:
    (run,) = read_log(general(lambda s: f" | fineweb/nll {loss_at(s) + 0.02:.4f}"), "run.log")
    ((text, _),) = told(run)
    assert "`fineweb_nll`" in text


@pytest.mark.parametrize(
    ("info", "is_told"),
    [
        ({"fineweb/nll": 3.30}, True),
        ({"val/fineweb/nll": 3.60}, True),
        ({"eval/c4/loss": 3.31}, True),
        ({"eval/c4/loss": 3.60}, False),
        ({"fineweb/nll": 3.2785}, False),
        ({"val/z_loss": 3.30}, False),
        ({"fineweb/nll": True}, False),
    ],
)
def test_a_results_file(info: dict[str, Any], is_told: bool) -> None:
    items = told_of_results(info={"eval/loss": 3.2784, **info}, track=SMALL)
    name = next(iter(info))
    assert [f"`{name}` is" in text for text in items if "states the loss" in text] == [
        True
    ] * is_told
    # Where bits per byte rank, a loss says nothing.
    assert not any("states the loss" in t for t in told_of_results(info={"eval/loss": 3.2, **info}))


def test_many_losses_on_other_texts_leave_room_for_the_rest() -> None:
    def more(step: int) -> dict[str, float]:
        return {"train/dt": 0.1} | {f"eval/text{n}/loss": 4.0 for n in range(60)}

    ((text, _),) = told(offline(rows(more)))
    assert "`train/dt`" in text
