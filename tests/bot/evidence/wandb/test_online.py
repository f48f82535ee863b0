"""Runs read through the real client: what arrives, how many requests it takes, the cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.evidence.code_hash import source_sha256
from bot.evidence.links import RunRef
from bot.evidence.snapshot import config_sha256, decode, encode
from bot.evidence.wandb.attached import EVERY
from bot.evidence.wandb.online import WandbFetcher
from bot.model.run import SOURCE_READ, Hardware, Run, Stated
from tests.bot.evidence.wandb.conftest import QUICK
from tests.bot.evidence.wandb.training import CONFIG, KEYS, METADATA, history
from tests.doubles.wandb import WandbDouble

pytestmark = pytest.mark.one_in(3)

REF = RunRef("example-team", "nanogpt", "r1")


def read(fetcher: WandbFetcher, ref: RunRef = REF, code: str | None = None) -> Run:
    fetched = fetcher.fetch([ref], KEYS, code=code)[ref]
    assert fetched.run is not None, fetched.failure
    return fetched.run


def test_a_run_arrives_with_history_hardware_configuration_and_code(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    files = {"wandb-metadata.json": METADATA, "code/train.py": b"val_tokens = 7 * 2\n"}
    server.add_run(*REF, history=history(), config=CONFIG, files=files, tags=["example-user"])
    run = read(fetcher, code="train.py")
    assert (run.loss, run.step, run.finished, run.state) == (3.2771, 1000, True, "finished")
    assert run.time_s == 60.25
    assert len(run.validation) == 11
    assert len(run.history["train_loss"]) == 1001
    assert run.hardware == Hardware("NVIDIA H100 80GB HBM3", 8)
    assert (run.seed, run.nonce, run.tags) == (1, "5f" * 16, ("example-user",))
    assert list(run.code_sha256) == ["train.py"]
    sizes = tuple(stated for stated in run.program if stated.kind == "validation")
    assert sizes == (Stated("validation", 1, "val_tokens = 7 * 2", 14.0, "val_tokens"),)
    assert decode(encode(run)).program == run.program
    assert run.metrics["hardware_flops"] == 60.25 * 8 * 989.5e12
    assert run.problems == ()


def test_nothing_that_is_not_allowed_leaves_the_reader(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    config = CONFIG | {"hostname": "node-17", "data": "/home/someone/data", "argv": ["x"]}
    server.add_run(
        *REF,
        history=history(),
        config=config,
        files={"wandb-metadata.json": METADATA},
        tags=["<script>", "someone@example.org"],
        display_name="[click](http://example.org)",
    )
    shown = repr(read(fetcher))
    for text in ("node-17", "someone", "argv", "script", "click"):
        assert text not in shown


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"display_name": "seed 1 of someone"}, False),
        ({"display_name": "someone-from-ckpt-3000"}, True),
        ({"group": "resume from 3000"}, True),
        ({"tags": ["finetune"]}, True),
        ({"notes": "we fine-tuned the learning rate of someone"}, False),
        ({"notes": "continued from the pretrained model of someone"}, True),
    ],
)
def test_a_run_that_is_called_a_warm_start(
    server: WandbDouble, fetcher: WandbFetcher, said: dict[str, Any], told: bool
) -> None:
    server.add_run(*REF, history=history(), config=CONFIG, **said)
    run = read(fetcher)
    assert [rule for rule, text in run.problems if "builds on" in text] == ["history-gap"] * told
    assert "someone" not in repr(run)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--resume-from", "/home/someone/ckpt.pt"], "argv.resume-from: ckpt.pt"),
        (["train.data=/home/someone/fineweb_val.bin"], "names what it trains on"),
        (["--val-files", "/home/someone/fineweb_train_9.bin"], "names what it validates on"),
        (["--val-files", "train/fineweb_val_0.bin", "--eval-train-data=train_1.bin"], None),
        (["--seed", "1", "--user", "someone", "--steps", "1000", "--lr=0.02"], None),
        (["--no-resume", "--init-from=none", "key", "--token", "someone-else"], None),
        ("--resume-from someone", None),
    ],
)
def test_what_the_command_line_says(
    server: WandbDouble, fetcher: WandbFetcher, args: Any, says: str | None
) -> None:
    found = json.loads(METADATA) | {"args": args}
    files = {"wandb-metadata.json": json.dumps(found).encode()}
    server.add_run(*REF, history=history(), config=CONFIG, files=files)
    run = read(fetcher)
    assert ([says in text for _, text in run.problems] == [True]) if says else run.problems == ()
    assert "someone" not in repr(run)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("torchrun --nproc_per_node=8 train.py --resume-from /home/someone/ckpt.pt", True),
        ("Namespace(lr=0.1, resume_from='/home/someone/ckpt.pt', seed=1)", True),
        (["--resume-from", "/home/someone/ckpt.pt"], True),
        ("Namespace(lr=0.1, resume_from=None, seed=1)", False),
        ("someone tried resume_from=ckpt.pt, which did not help", False),
        (["resume-from", "ckpt.pt"], False),
    ],
)
def test_a_command_that_a_setting_holds(
    server: WandbDouble, fetcher: WandbFetcher, text: Any, told: bool
) -> None:
    server.add_run(*REF, history=history(), config=CONFIG | {"launch": text})
    run = read(fetcher)
    assert ["ckpt.pt" in said for _, said in run.problems] == [True] * told
    assert "someone" not in repr(run)


def test_options_of_the_command_line_are_kept_where_arms_are_compared(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    found = json.loads(METADATA) | {"args": ["--compile-mode", "eager", "--lr", "0.1"]}
    files = {"wandb-metadata.json": json.dumps(found).encode()}
    server.add_run(*REF, history=history(), config=CONFIG, files=files)
    run = read(fetcher)
    assert {n: v for n, v in run.config.items() if "argv" in n} == {"_argv.compile-mode": "eager"}
    assert config_sha256(run.config) == config_sha256(
        {n: v for n, v in run.config.items() if "argv" not in n}
    )


@pytest.mark.parametrize(
    ("stated", "at_hand", "told"),
    [
        (None, True, False),
        ({"train.py": source_sha256("print(1)")}, True, False),
        ({"train.py": "ab" * 32}, False, True),
        ({"other.py": "ab" * 32}, False, False),
    ],
)
def test_a_hash_that_the_attached_file_does_not_have(
    server: WandbDouble, fetcher: WandbFetcher, stated: Any, at_hand: bool, told: bool
) -> None:
    config = CONFIG | ({} if stated is None else {"code_sha256": stated})
    server.add_run(*REF, history=history(), config=config, files={"code/train.py": b"print(1)\n"})
    run = read(fetcher, code=EVERY)
    assert (SOURCE_READ in run.client_marks) is at_hand
    assert [rule for rule, _ in run.problems] == ["witnesses-disagree"] * told
    assert stated is None or run.code_sha256 == stated
    unasked = read(fetcher, code=None)
    assert SOURCE_READ not in unasked.client_marks and unasked.problems == ()


def test_at_most_four_requests_a_run_beyond_its_pages(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    files = {"wandb-metadata.json": METADATA, "code/train.py": b"print(1)\n"}
    refs = [RunRef("example-team", "nanogpt", f"r{n}") for n in range(5)]
    for ref in refs:
        server.add_run(*ref, history=history(), config=CONFIG, files=files)
    assert all(f.run for f in fetcher.fetch(refs, KEYS, code="train.py").values())
    shared = server.count("Viewer", "Runs", "PublicRuns")
    assert shared == 3
    assert server.count() - server.count("HistoryPage") <= 4 * len(refs) + shared
    assert server.count() - server.count("HistoryPage") - shared == 4 * len(refs)


def test_a_finished_run_is_cached_until_it_changes(server: WandbDouble, tmp_path: Path) -> None:
    stored = server.add_run(*REF, history=history(), config=CONFIG)
    first = read(WandbFetcher(server.key, server=server.url, cache=tmp_path, patience=QUICK))
    pages = server.count("HistoryPage")
    again = read(WandbFetcher(server.key, server=server.url, cache=tmp_path, patience=QUICK))
    assert again == first
    assert server.count("HistoryPage") == pages
    stored.heartbeat_at = "2031-01-01T00:00:00"
    read(WandbFetcher(server.key, server=server.url, cache=tmp_path, patience=QUICK))
    assert server.count("HistoryPage") == 2 * pages


def test_a_running_run_is_not_cached(server: WandbDouble, tmp_path: Path) -> None:
    server.add_run(*REF, history=history()[:500], config=CONFIG, state="running")
    run = read(WandbFetcher(server.key, server=server.url, cache=tmp_path, patience=QUICK))
    assert (run.state, run.finished) == ("running", False)
    assert list(tmp_path.iterdir()) == []


def test_a_run_with_too_many_keys_is_read_by_the_tracks_keys_alone(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    rows = [row | {f"grad/{n}": 0.5 for n in range(100)} for row in history()]
    server.add_run(*REF, history=rows, config=CONFIG)
    run = read(fetcher)
    assert (run.loss, run.time_s, len(run.validation)) == (3.2771, 60.25, 11)
    assert server.count("HistoryPage") == 0


def test_steps_counted_in_billions_do_not_make_billions_of_pages(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    rows = [row | {"_step": row["_step"] * 524288} for row in history()]
    server.add_run(*REF, history=rows, config=CONFIG)
    assert read(fetcher).loss == 3.2771
    assert server.count("HistoryPage") == 2


def test_the_log_is_read_where_the_history_lacks_the_keys(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    log = "".join(
        f"step:{n}/1000 val_loss:{4 - n / 1000:.4f} train_time:{60 * n}ms step_avg:60.00ms\n"
        for n in range(0, 1001, 100)
    )
    rows = [{"_step": n, "other": 1.0} for n in range(10)]
    server.add_run(*REF, history=rows, files={"logs/run.txt": log.encode()})
    run = read(fetcher)
    assert (run.loss, run.time_s, run.total_steps, run.finished) == (3.0, 60.0, 1000, True)


def test_a_log_that_contradicts_the_history_is_found_out(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    rows = [
        {"_step": n, "_runtime": 0.07 * n, "val_loss": 4 - n / 1000} for n in range(0, 1001, 100)
    ]
    log = "".join(
        f"step:{n}/1000 val_loss:{3.9 - n / 1000:.4f} train_time:{60 * n}ms step_avg:60.00ms\n"
        for n in range(0, 1001, 100)
    )
    server.add_run(*REF, history=rows, files={"run.log": log.encode()})
    run = read(fetcher)
    assert [rule for rule, _ in run.problems] == ["claim-differs-from-run"]
    assert run.time_s == 60.0


def test_the_drawer_is_opened(server: WandbDouble, fetcher: WandbFetcher) -> None:
    server.add_run(*REF, history=history(1), config=CONFIG)
    worse = history(2, final=3.31)
    server.add_run("example-team", "nanogpt", "worse", history=worse, config=CONFIG)
    other = CONFIG | {"lr": 0.03}
    server.add_run("example-team", "nanogpt", "other", history=history(3), config=other)
    found = fetcher.unlisted({REF: read(fetcher)}, KEYS)
    assert [(item.project, [run.loss for run in item.runs]) for item in found] == [
        ("example-team/nanogpt", [3.31])
    ]


def test_log_and_code_are_found_in_artifacts_too(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    log = "".join(
        f"step:{n}/1000 val_loss:{4 - n / 1000:.4f} train_time:{60 * n}ms step_avg:60.00ms\n"
        for n in range(0, 1001, 100)
    )
    artifacts = {
        "log/run-log": {"train.log": log.encode()},
        "code/source": {"train.py": b"print(1)\n", "other.py": b""},
        "model/weights": {"weights.txt": b"never read"},
    }
    server.add_run(*REF, history=[{"_step": n, "x": 1.0} for n in range(3)], artifacts=artifacts)
    run = read(fetcher, code="train.py")
    assert (run.loss, run.time_s, run.finished) == (3.0, 60.0, True)
    assert list(run.code_sha256) == ["train.py"]
    assert server.count("GET artifact") == 2


def test_an_attached_log_that_is_too_large_is_not_downloaded(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    files = {"train.log": b"step:1/1 val_loss:3.0 train_time:1ms step_avg:1ms"}
    sizes = {"train.log": 5_000_000_000}
    rows = [{"_step": n, "x": 1.0} for n in range(3)]
    server.add_run(*REF, history=rows, files=files, file_sizes=sizes)
    run = read(fetcher)
    assert run.validation == ()
    assert "was not read" in dict(run.problems)["history-gap"]
    assert server.count("GET file") == 0


def test_a_history_of_five_gigabytes_is_read_by_its_validations(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    stored = server.add_run(*REF, history=history(), config=CONFIG)
    stored.line_count = 5_000_000
    run = read(fetcher)
    assert (run.loss, run.time_s, len(run.validation)) == (3.2771, 60.25, 11)
    assert server.count("HistoryPage") == 0


@pytest.mark.parametrize(
    ("more", "found"),
    [({}, 1), ({"trial": 3, "output_dir": "b"}, 1), ({"seed": 9}, 1), ({"lr": 0.9}, 0)],
)
def test_a_run_with_one_more_label_is_the_same_experiment(
    server: WandbDouble, fetcher: WandbFetcher, more: dict[str, Any], found: int
) -> None:
    server.add_run(*REF, history=history(), config=CONFIG)
    server.add_run(*REF[:2], "r2", history=history(seed=2), config=CONFIG | more)
    drawer = fetcher.unlisted({REF: read(fetcher)}, KEYS)
    assert [run.run_id for item in drawer for run in item.runs] == ["r2"] * found


def test_a_digest_that_a_configuration_states_of_itself_is_not_taken(
    server: WandbDouble, fetcher: WandbFetcher
) -> None:
    server.add_run(*REF, history=history(), config=CONFIG | {"config_sha256": "ab" * 32})
    digest = read(fetcher).config["config_sha256"]
    assert digest != "ab" * 32 and len(str(digest)) == 64
