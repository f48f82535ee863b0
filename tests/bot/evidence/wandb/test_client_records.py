"""What W&B's client recorded beside the history: busy devices, used models, the console; and what
a run says of the choice and of the parts of its steps."""

from __future__ import annotations

from typing import Any

import pytest

from bot.evidence.links import RunRef
from bot.evidence.wandb.client_records import ClientRecords
from bot.evidence.wandb.offline import read_offline
from bot.evidence.wandb.online import CONSOLES, WandbFetcher
from bot.registry import Status
from tests.bot.evidence.wandb.submissions import REFS, fill, judged
from tests.bot.evidence.wandb.training import CONFIG, KEYS, METADATA, OWNER, history
from tests.doubles.wandb import WandbDouble
from tests.doubles.wandb.offline_file import offline_file, pb


def loads(names: str, percent: float, count: int, readings: int = 5) -> list[Any]:
    """Records of how busy devices are; `names` holds a place for their number."""
    records = []
    for _ in range(readings):
        record = pb.Record()
        for n in range(count):
            item = record.stats.item.add()
            item.key, item.value_json = names.format(n), str(percent)
        records.append(record)
    return records


def used(kind: str) -> list[Any]:
    record = pb.Record()
    record.use_artifact.type, record.use_artifact.name = kind, "example-team/nanogpt/medium:v7"
    return [record]


def printed(loss: float = 0.0, clock: float = 1.0, digits: int = 4) -> str:
    """What the program of `history()` prints at each validation, `loss` above it and on a clock
    that is a multiple of it."""
    return "".join(
        f"step:{row['_step']}/1000 val_loss:{row['val_loss'] + loss:.{digits}f} "
        f"train_time:{row['train_time'] * clock:.0f}ms\n"
        for row in history()
        if "val_loss" in row
    )


def console(text: str) -> list[Any]:
    record = pb.Record()
    record.output_raw.line = text
    return [record]


@pytest.mark.parametrize(
    ("records", "chips", "told"),
    [
        (loads("gpu.{}.gpu", 97, 8), 1, "measured 8 GPUs at work on this machine, but the run"),
        (loads("gpu.{}.gpu", 97, 8), 8, None),
        (loads("gpu.{}.gpu", 12, 8), 1, None),
        (loads("gpu.{}.gpu", 97, 8, readings=2), 1, None),
        # Another job has the other devices: the client tells them apart by process.
        (loads("gpu.{}.gpu", 97, 8) + loads("gpu.process.{}.gpu", 97, 1), 1, None),
        (loads("gpu.process.{}.gpu", 97, 2), 1, "measured 2 GPUs"),
        (loads("gpu.{}.temp", 97, 8), 1, None),
        (used("model"), 8, "a model that it used, medium:v7, the run builds on other training"),
        (used("dataset"), 8, None),
        (console(printed()), 8, None),
        (console(printed(loss=0.00004)), 8, None),
        (console(printed(digits=2)), 8, None),
        (console(printed(loss=0.02)), 8, "the console of the run has the loss 10.7"),
        (console(printed(clock=1.6)), 8, "has the training clock at 9.64 s at step 100, the"),
        (console(printed(clock=1.01)), 8, None),
        (console("epoch 3 of 4\nhello\n"), 8, None),
    ],
)
def test_an_offline_file(records: list[Any], chips: int, told: str | None) -> None:
    config = CONFIG | {"chips": chips}
    run = read_offline(offline_file(history(), config=config, more=records), "r.wandb", KEYS)
    found = [text for rule, text in run.problems if rule == "history-gap"]
    assert len(found) == (told is not None)
    assert told is None or told in found[0]


def test_records_that_are_no_numbers_and_many_of_them_are_passed_over() -> None:
    seen = ClientRecords()
    for value in ("", "{", "[1]", "null", '"a"', "1e999", "NaN"):
        for record in loads("gpu.{}.gpu", 0, 1, 1):
            record.stats.item[0].value_json = value
            seen.take(record)
    for record in loads("gpu.{}.gpu", 97, 2000, 60):
        seen.take(record)
    assert seen.busy() == 1024


@pytest.mark.parametrize(
    ("text", "status"), [(printed(loss=0.02), Status.NEEDS_REVIEW), ("Done.\n", Status.VERIFIED)]
)
def test_the_console_of_a_few_runs_is_compared(
    server: WandbDouble, fetcher: WandbFetcher, text: str, status: Status
) -> None:
    fill(server, files={"wandb-metadata.json": METADATA, "output.log": text.encode()})
    verdict = judged(fetcher)
    assert verdict.status is status
    told = [f for f in verdict.findings if "the console of the run" in f.message]
    assert len(told) <= CONSOLES and bool(told) == (status is Status.NEEDS_REVIEW)


def test_a_few_consoles_are_two_requests(server: WandbDouble, fetcher: WandbFetcher) -> None:
    files = {"wandb-metadata.json": METADATA, "output.log": b"Done.\n"}
    refs = [RunRef("example-team", "nanogpt", f"r{n}") for n in range(5)]
    for ref in refs:
        server.add_run(*ref, history=history(), config=CONFIG, files=files)
    assert all(f.run for f in fetcher.fetch(refs, KEYS).values())
    shared = server.count("Viewer", "Runs", "PublicRuns")
    assert server.count() - server.count("HistoryPage") - shared == 3 * len(refs) + CONSOLES


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"notes": "We kept the best 8 of 40 seeds."}, Status.NEEDS_REVIEW),
        ({"group": "best-of-12-runs"}, Status.NEEDS_REVIEW),
        ({"tags": [OWNER, "seed-3-of-20"]}, Status.NEEDS_REVIEW),
        ({"notes": "The best 8 of 8 seeds."}, Status.VERIFIED),
        (
            {"group": "trial-40", "notes": "Batch 40, the best of our ideas so far."},
            Status.VERIFIED,
        ),
    ],
)
def test_a_choice_that_its_labels_state(
    server: WandbDouble, fetcher: WandbFetcher, said: dict[str, Any], status: Status
) -> None:
    fill(server, **said)
    assert judged(fetcher).status is status


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ({"time/forward_ms": 36, "time/backward_ms": 71, "optim_ms": 9}, Status.NEEDS_REVIEW),
        ({"bwd_time_s": 0.08}, Status.NEEDS_REVIEW),
        ({"time/forward_ms": 17, "time/backward_ms": 34, "optim_ms": 8}, Status.VERIFIED),
        # One part under two names is no longer, and the validation is not a part of a step.
        ({"forward_ms": 40, "fwd_time_ms": 40}, Status.VERIFIED),
        ({"val/forward_ms": 90, "optimizer/lr_ms": 3}, Status.VERIFIED),
    ],
)
def test_parts_of_a_step_that_take_longer_than_it(
    server: WandbDouble, fetcher: WandbFetcher, parts: dict[str, float], status: Status
) -> None:
    for n, ref in enumerate(REFS):
        rows = [row | parts for row in history(n, final=3.2764 + n / 5000)]
        config = CONFIG | {"seed": n, "nonce": f"{n:032x}"}
        files = {"wandb-metadata.json": METADATA}
        server.add_run(*ref, history=rows, config=config, files=files, tags=[OWNER])
    verdict = judged(fetcher)
    assert verdict.status is status
    assert any("in the history makes it" in f.message for f in verdict.findings) == (
        status is Status.NEEDS_REVIEW
    )
