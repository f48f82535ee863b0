"""W&B runs that people really had, after public reports: each with the answer of an expert."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd
import pytest

from bot.evidence.snapshot import decode, encode, metrics_sha256
from bot.evidence.wandb.online import WandbFetcher
from bot.model.run import Run
from bot.model.verdict import Verdict
from bot.registry import Grade, Status
from tests.bot.evidence.wandb.submissions import REFS, document, fill, judged, rules
from tests.bot.evidence.wandb.training import CONFIG, KEYS, METADATA, OWNER, history
from tests.doubles.wandb import WandbDouble

pytestmark = pytest.mark.one_in(3)

Row = dict[str, Any]
REF = REFS[0]


def change(server: WandbDouble, rows: Callable[[Row], Row | None], **config: Any) -> None:
    """Put every good run behind its link, with each row changed; None leaves a row out."""
    fill(server)
    for run in server.world.runs.values():
        run.config |= config
        changed = [rows(dict(row)) for row in run.rows]
        run.replace_history(row for row in changed if row is not None)


def told(verdict: Verdict, rule: str) -> str:
    return next((f"{f.message}; {f.fix}" for f in verdict.findings if f.rule == rule), "")


def fetched(server: WandbDouble, fetcher: WandbFetcher) -> Run:
    run = fetcher.fetch([REF], KEYS, code=None)[REF].run
    assert run is not None
    return run


# ---- clocks -------------------------------------------------------------------------------------


def test_a_clock_in_rows_of_its_own(server: WandbDouble, fetcher: WandbFetcher) -> None:
    fill(server)
    for run in server.world.runs.values():
        apart = []
        for row in run.rows:
            time = row.pop("train_time")
            apart.append(row)
            if row["_step"] % 125 == 1:
                apart.append({"_step": row["_step"] + 0.5, "train_time": time})
        for step, row in enumerate(apart):
            row["_step"], row["step"] = step, int(row["_step"])
        run.replace_history(apart)
    verdict = judged(fetcher)
    assert verdict.status is Status.REJECTED
    assert "step 1000, has no clock in its row" in told(verdict, "metric-missing")


def test_a_clock_missing_in_the_last_row(server: WandbDouble, fetcher: WandbFetcher) -> None:
    def without(row: Row) -> Row:
        return {k: v for k, v in row.items() if k != "train_time" or row["_step"] < 1000}

    change(server, without)
    verdict = judged(fetcher)
    assert verdict.status is Status.REJECTED and "has no clock" in told(verdict, "metric-missing")


def test_seconds_under_the_key_of_milliseconds(server: WandbDouble, fetcher: WandbFetcher) -> None:
    def seconds(row: Row) -> Row:
        return row | {"train_time": row["train_time"] / 1000, "_runtime": row["_step"] * 0.13}

    change(server, seconds)
    verdict = judged(fetcher)
    assert verdict.status is Status.REJECTED
    assert "microseconds a step" in told(verdict, "clock-implausible")
    assert "of W&B's `_runtime`" in told(verdict, "witnesses-disagree")


@pytest.mark.parametrize(
    ("runtime", "level"),
    [(0.0631, None), (0.08, None), (0.05, "error"), (0.1, "warning"), (0.2, "warning")],
)
def test_the_clock_beside_the_machines(
    runtime: float, level: str | None, server: WandbDouble, fetcher: WandbFetcher
) -> None:
    change(server, lambda row: row | {"_runtime": row["_step"] * runtime})
    verdict = judged(fetcher)
    assert rules(verdict).get("witnesses-disagree") == level
    kept = decode(encode(fetched(server, fetcher)))
    assert kept.runtime_s == 1000 * runtime and len(kept.runtimes) == len(kept.validation)


def test_a_notebook_that_idled_is_honest(server: WandbDouble, fetcher: WandbFetcher) -> None:
    change(
        server, lambda row: row | {"_runtime": row["_step"] * 0.07 + 9000 * (row["_step"] > 990)}
    )
    assert judged(fetcher).status is Status.VERIFIED


def test_a_run_longer_than_the_service_saw_it(server: WandbDouble, fetcher: WandbFetcher) -> None:
    times = {"created_at": "2026-01-01T00:00:00", "heartbeat_at": "2026-01-01T00:00:40"}
    fill(server, **times)
    assert "sign of life" in told(judged(fetcher), "witnesses-disagree")


def test_a_run_that_was_synced_later(server: WandbDouble, fetcher: WandbFetcher) -> None:
    times = {"created_at": "2026-01-01T00:00:00", "heartbeat_at": "2026-01-01T00:00:40"}
    fill(server, **times)
    for run in server.world.runs.values():
        run.config["_wandb"] = {"t": {"3": [4]}}
    assert judged(fetcher).status is Status.VERIFIED


# ---- names --------------------------------------------------------------------------------------


def renamed(**names: str) -> Callable[[Row], Row]:
    other = {key: name.replace("__", "/") for key, name in names.items()}
    return lambda row: {other.get(key, key): value for key, value in row.items()}


def test_another_name_of_the_loss(server: WandbDouble, fetcher: WandbFetcher) -> None:
    change(server, renamed(val_loss="held_out__nll"))
    verdict = judged(fetcher)
    assert verdict.status is Status.REJECTED and "too-few-runs" not in rules(verdict)
    assert '"keys": {"loss": "held_out/nll"}' in told(verdict, "metric-missing")
    mapped = judged(fetcher, document(keys={"loss": "held_out/nll"}))
    assert rules(mapped) == {"key-mapped": "warning"}
    assert mapped.status is Status.NEEDS_REVIEW


def test_another_name_of_the_step(server: WandbDouble, fetcher: WandbFetcher) -> None:
    fill(server)
    for run in server.world.runs.values():
        rows = [row | {"trainer/global_step": row["_step"]} for row in run.rows[::125]]
        run.replace_history(row | {"_step": n} for n, row in enumerate(rows))
        run.rows[-1]["val_loss"] = 3.277
    verdict = judged(fetcher)
    assert verdict.status is Status.REJECTED and "too-few-runs" not in rules(verdict)
    assert '"keys": {"step": "trainer/global_step"}' in told(verdict, "metric-missing")
    mapped = judged(fetcher, document(keys={"step": "trainer/global_step"}))
    assert "metric-missing" not in rules(mapped)
    assert mapped.runs[0].step == 1000


def test_a_loss_that_is_text(server: WandbDouble, fetcher: WandbFetcher) -> None:
    change(
        server, lambda row: row | ({"val_loss": str(row["val_loss"])} if "val_loss" in row else {})
    )
    verdict = judged(fetcher)
    assert verdict.status is Status.REJECTED
    assert "`val_loss` is text in the history" in told(verdict, "metric-missing")


# ---- forks and continuations --------------------------------------------------------------------


def test_a_history_that_begins_mid_way(server: WandbDouble, fetcher: WandbFetcher) -> None:
    def second(row: Row) -> Row | None:
        late = row["_step"] >= 625
        return row | {"train_time": row["train_time"] - 60.25 * 625} if late else None

    change(server, second)
    verdict = judged(fetcher)
    assert "begins at step 625 of 1000" in told(verdict, "history-gap")
    assert verdict.status is not Status.VERIFIED


def test_a_fork_inherits_the_rows_of_its_parent(server: WandbDouble, fetcher: WandbFetcher) -> None:
    fill(server)
    parent = server.add_run("example-team", "nanogpt", "parent", history=history(77), config=CONFIG)
    for ref in REFS:
        run = server.world.runs[tuple(ref)]
        fork = server.fork(parent, ref.id, 500, config=dict(run.config), files=run.files)
        fork.log(row for row in run.rows if row["_step"] > 500)
    verdict = judged(fetcher)
    assert "forked from parent at step 500" in told(verdict, "history-gap")
    assert verdict.status is not Status.VERIFIED


def test_a_run_that_was_rewound_says_so(server: WandbDouble, fetcher: WandbFetcher) -> None:
    fill(server)
    run = server.world.runs[tuple(REF)]
    rows = [row for row in run.rows if row["_step"] > 600]
    run.rewind(600)
    run.log(rows)
    assert "was rewound" in told(judged(fetcher), "history-gap")


def test_nested_rows_are_read_by_their_dotted_names(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    def nested(row: Row) -> Row:
        loss = row.pop("val_loss", None)
        return row if loss is None else row | {"val": {"loss": loss}}

    change(server, nested)
    verdict = judged(fetcher, document(keys={"loss": "val.loss"}))
    assert rules(verdict) == {"key-mapped": "warning"}


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        (
            {"branch_point": {"run_id": "parent", "step": 500}, "t": {"3": [71]}},
            "forked from parent",
        ),
        ({"t": {"3": [1, 72]}}, "was rewound"),
        ({"t": {"3": [1, 5]}}, ""),
        ({"t": None, "e": None, "branch_point": 7}, ""),
    ],
)
def test_the_marks_of_the_client(
    marks: Mapping[str, Any], said: str, server: WandbDouble, fetcher: WandbFetcher
) -> None:
    fill(server)
    for run in server.world.runs.values():
        run.config["_wandb"] = marks
    verdict = judged(fetcher)
    assert said in told(verdict, "history-gap")
    assert (verdict.status is Status.VERIFIED) is (said == "")


def test_a_validation_logged_late_under_its_own_step(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    fill(server)
    for run in server.world.runs.values():
        rows = []
        for row in run.rows:
            step = row["_step"]
            rows.append({"step": step} | {k: v for k, v in row.items() if k != "val_loss"})
            if step >= 3 and (step - 3) % 100 == 0 or step == 1000:
                at = step - 3 if step < 1000 else step
                late = run.rows[at]
                rows.append({"step": at, "val_loss": late["val_loss"], "train_time": 60.25 * at})
        run.replace_history(row | {"_step": n} for n, row in enumerate(rows))
    assert judged(fetcher).status is Status.VERIFIED


# ---- machines -----------------------------------------------------------------------------------


def machine(**fields: Any) -> dict[str, bytes]:
    return {"wandb-metadata.json": json.dumps(json.loads(METADATA) | fields).encode()}


WRITERS = {str(n): {"host": f"node-{n}", "gpu_count": 8} for n in range(2)}
TWICE = {str(n): {"host": "node-0", "gpu_count": 8} for n in range(2)}


@pytest.mark.parametrize(
    ("config", "fields", "own", "count", "disagree"),
    [
        ({}, {}, {}, 8, False),
        ({"world_size": 1}, {}, {}, 1, False),
        ({"world_size": 32}, {}, {}, 32, True),
        ({"world_size": 16}, {"slurm": {"job_num_nodes": "2"}}, {}, 16, False),
        ({"num_devices": 16}, {}, {}, 16, True),
        ({"trainer": {"n_gpus": 1}}, {}, {}, 1, False),
        ({"num_hosts": 2, "local_device_count": 8}, {}, {}, 16, True),
        ({"num_gpus": 0.5}, {}, {}, 8, False),
        ({"num_gpus": 8, "num_nodes": 2}, {}, {}, 16, True),
        ({"num_gpus": 16, "num_nodes": 2}, {}, {}, 16, True),
        ({"devices": 4, "num_nodes": 2}, {}, {}, 8, False),
        ({}, {"slurm": {"job_num_nodes": "2"}}, {}, 16, False),
        ({}, {}, {"e": WRITERS}, 16, False),
        ({}, {}, {"e": TWICE}, 8, False),
        ({}, {"slurm": {"job_num_nodes": "many"}}, {}, 8, False),
    ],
)
def test_devices_are_counted_over_all_machines(
    config: Row, fields: Row, own: Row, count: int, disagree: bool,
    server: WandbDouble, fetcher: WandbFetcher,
) -> None:  # fmt: skip
    given = CONFIG | config | {"_wandb": own}
    server.add_run(*REF, history=history(), config=given, files=machine(**fields))
    run = fetched(server, fetcher)
    assert run.hardware.count == count
    assert (len({w.value for w in run.witnesses if w.quantity == "chips"}) == 2) is (
        disagree or count < 8
    )


def test_other_makers_name_their_devices(server: WandbDouble, fetcher: WandbFetcher) -> None:
    card = {"id": "0", "series": "AMD Instinct MI300X", "model": "0x74a1"}
    files = {"wandb-metadata.json": json.dumps({"gpu_amd": [card] * 8}).encode()}
    server.add_run(*REF, history=history(), config=CONFIG, files=files)
    run = fetched(server, fetcher)
    assert (run.hardware.device, run.hardware.count) == ("AMD Instinct MI300X", 8)


@pytest.mark.parametrize(
    ("gpu", "name"),
    [("AMD Radeon RX 7900 XTX", "AMD Radeon RX 7900 XTX"), ("AMD card 9", "Navi 31")],
)
def test_the_series_of_several_cards_gives_way_to_the_name_of_one(
    gpu: str, name: str, server: WandbDouble, fetcher: WandbFetcher
) -> None:
    metadata = {"gpu": gpu, "gpu_amd": [{"id": "0", "series": "Navi 31"}]}
    files = {"wandb-metadata.json": json.dumps(metadata).encode()}
    server.add_run(*REF, history=history(), config=CONFIG, files=files)
    run = fetched(server, fetcher)
    assert (run.hardware.device, run.hardware.count) == (name, 1)


JAX = {"throughput/device_kind": "TPU v3", "num_devices": 16}


@pytest.mark.parametrize(
    ("config", "summary", "files", "device", "count"),
    [
        ({}, JAX, {}, "TPU v3", 8),
        ({"device": "cuda"}, JAX, {}, "TPU v3", 8),
        ({"device": "NVIDIA A40", "num_devices": 2}, JAX, {}, "NVIDIA A40", 2),
        ({}, JAX, machine(), "NVIDIA H100 80GB HBM3", 16),
        ({"device": "cuda"}, {}, {}, "cuda", None),
        ({}, {"device_name": "TPU v3", "num_devices": 16}, {}, None, None),
    ],
)
def test_a_program_names_its_devices_where_the_client_does_not(
    config: Row, summary: Row, files: dict[str, bytes], device: str | None, count: int | None,
    server: WandbDouble, fetcher: WandbFetcher,
) -> None:  # fmt: skip
    server.add_run(*REF, history=history(), config=config, summary=summary, files=files)
    run = fetched(server, fetcher)
    assert (run.hardware.device, run.hardware.count) == (device, count)


def test_the_metadata_are_found_among_150_files(server: WandbDouble, fetcher: WandbFetcher) -> None:
    many = {f"media/{n:03}.png": b"" for n in range(150)}
    server.add_run(*REF, history=history(), config=CONFIG, files={**many, **machine()})
    assert fetched(server, fetcher).hardware.count == 8


# ---- sources ------------------------------------------------------------------------------------


def test_numbers_from_an_attached_log_are_graded_as_a_log(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    for n, ref in enumerate(REFS):
        rows = history(n, final=3.2771 - n / 5000)
        log = "".join(
            f"step:{r['_step']}/1000 val_loss:{r['val_loss']} train_time:{r['train_time']:.0f}ms\n"
            for r in rows
            if "val_loss" in r
        )
        names = ("_step", "_runtime", "train_loss")
        bare = [{name: r[name] for name in names} for r in rows]
        files = {"wandb-metadata.json": METADATA, "train.log": log.encode()}
        config = CONFIG | {"seed": n, "nonce": f"{n:032x}"}
        server.add_run(*ref, history=bare, config=config, files=files, tags=[OWNER])
    verdict = judged(fetcher)
    assert (verdict.status, verdict.evidence) == (Status.VERIFIED, Grade.LOG), verdict.findings


def exported(rows: Iterable[Row]) -> bytes:
    buffer = io.BytesIO()
    pd.DataFrame(list(rows)).to_parquet(buffer)
    return buffer.getvalue()


def test_a_run_of_many_keys_reads_the_same_however_much_is_exported(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    extra = {f"layer/{n}": 0.5 for n in range(80)}
    rows = [row | (extra if row["_step"] % 10 == 0 else {}) for row in history()]
    found = set()
    for exports, live_from in (([], 0), (rows[:500], 500), (rows, 1001)):
        run = server.add_run(*REF, history=rows, config=CONFIG, files=machine())
        run.exports = [exported(exports)] if exports else []
        run.live_from = live_from
        again = WandbFetcher(server.key, server=server.url)
        found.add(metrics_sha256(fetched(server, again)))
    assert len(found) == 1


def test_a_missing_middle_of_many_keys_is_unavailable(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    extra = {f"layer/{n}": 0.5 for n in range(80)}
    rows = [row | extra for row in history()]
    run = server.add_run(*REF, history=rows, config=CONFIG, files=machine())
    run.stated_keys, run.line_count = run.history_keys(), len(rows)
    run.exports, run.live_from = [exported(rows[:300])], 300
    run.replace_history(row for row in rows if not 300 <= row["_step"] < 700)
    answer = fetcher.fetch([REF], KEYS)[REF]
    assert answer.run is None and answer.failure is not None
    assert answer.failure.rule == "evidence-unavailable"
