"""Values of a results file that are wrong, and what must be found in each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.corpus.variants import BPB, Row, both, drop, put, rename, scaled


def rows() -> Iterator[Row]:
    """Every row of the table."""
    yield from _flops()
    yield from _types()
    yield from _ranges()
    yield from _links()
    yield from _times()
    yield from _missing()
    yield from _counts()


def _flops() -> Iterator[Row]:
    hardware, none = "hardware-flops-mismatch", set[str]()
    for factor in (2.0, 0.5, 1.01, 0.99, 60.0, 1000.0):
        yield (
            f"hardware-x{factor}",
            "v4",
            scaled("training_hardware_flops", factor),
            {hardware},
            none,
        )
    for factor in (1 / 60, 1e-6, 1 / 16):
        yield (
            f"hardware-x{factor:.3g}",
            "v4",
            scaled("training_hardware_flops", factor),
            {hardware, "mfu-impossible"},
            none,
        )
    yield "time-x60", "v4", scaled("training_time", 60.0), {hardware}, none
    yield (
        "time-in-minutes",
        "v4",
        scaled("training_time", 1 / 60),
        {hardware, "mfu-impossible"},
        none,
    )
    yield "chips-are-cores", "v3", put(num_chips=32), {"chip-count-mismatch"}, none
    yield (
        "chips-and-flops",
        "v3",
        both(put(num_chips=32), scaled("training_hardware_flops", 2.0)),
        {"chip-count-mismatch", hardware},
        none,
    )
    yield "chips-one", "v3", put(num_chips=1), {"chip-count-mismatch"}, none
    yield "chips-half", "v3", put(num_chips=8.0), {"chip-count-mismatch"}, none
    yield (
        "slice-renamed",
        "v3",
        put(resources__tpu_type="v5p-64"),
        {"chip-count-mismatch", hardware},
        none,
    )
    yield "slices-two", "v3", put(resources__slice_count=2), {"chip-count-mismatch", hardware}, none
    yield (
        "other-device",
        "v3",
        put(resources__tpu_type="v6e-16"),
        {"device-peak-mismatch", hardware},
        none,
    )
    yield (
        "gpu-count",
        "v4_h100",
        put(resources__device__count=8),
        {"chip-count-mismatch", hardware},
        {"local-path-in-text"},
    )
    for factor in (0.5, 2.0, 0.0625, 1.003, 1e-12):
        yield (
            f"peak-x{factor}",
            "v4",
            scaled("device_flops", factor),
            {"device-peak-mismatch"},
            none,
        )
    yield (
        "peak-override",
        "v4",
        put(resources__device_flops_override=1e12),
        {"device-peak-mismatch"},
        none,
    )
    yield (
        "peak-self-declared-low",
        "v4_auto",
        both(put(device_flops=1e9), put(training_hardware_flops=9645.162001783028 * 1e9)),
        {"mfu-impossible"},
        {"device-unknown"},
    )
    for factor in (2.0, 1 / 3, 1.01):
        yield (
            f"model-x{factor:.3g}",
            "v4",
            scaled("model_flops", factor),
            {"model-flops-mismatch"},
            none,
        )
    yield (
        "model-above-hardware",
        "v4",
        scaled("model_flops", 20.0),
        {"model-flops-mismatch", "mfu-impossible"},
        none,
    )
    yield "model-tiny", "v4", scaled("model_flops", 1e-3), {"model-flops-mismatch"}, {"mfu-unusual"}
    yield (
        "model-above-hardware-unknown-architecture",
        "v4_gdn",
        scaled("model_flops", 200.0),
        {"mfu-impossible"},
        none,
    )
    for factor in (10, 0.5, 1.01):
        yield (
            f"tokens-x{factor}",
            "v4",
            scaled("total_tokens", factor),
            {"token-count-mismatch"},
            none,
        )
    yield (
        "tokens-and-model",
        "v4",
        both(scaled("total_tokens", 2), scaled("model_flops", 2.0)),
        {"token-count-mismatch"},
        none,
    )
    yield (
        "batch-other",
        "v4",
        put(train_config__train_batch_size=256),
        {"token-count-mismatch"},
        none,
    )
    yield (
        "steps-other",
        "v4",
        put(train_config__num_train_steps=100),
        {"token-count-mismatch"},
        none,
    )
    yield "layers-other", "v4", put(model_config__num_layers=12), {"model-flops-mismatch"}, none
    yield "hidden-other", "v4", put(model_config__hidden_dim=1024), {"model-flops-mismatch"}, none


def _types() -> Iterator[Row]:
    keys = (
        "training_time",
        "training_hardware_flops",
        "model_flops",
        "model_size",
        "total_tokens",
        "num_chips",
        "device_flops",
    )
    for key in keys:
        for value in ("12.5", "much", True, [1], {"value": 1}):
            yield f"type-{key}-{value!r}", "v4", put(**{key: value}), {"schema"}, set()
    yield "type-bpb-text", "v4", put(bpb="1.17"), {"schema"}, set()
    yield "type-bpb-true", "v4", put(bpb=True), {"schema"}, set()
    for key in ("model_config", "train_config", "resources"):
        yield f"type-{key}-list", "v4", put(**{key: []}), {"schema"}, set()
    yield "type-author-text", "v4", put(author="Example Author"), {"schema"}, set()
    yield "type-author-name", "v4", put(author__name=["a"]), {"schema"}, set()
    yield "type-layers-text", "v4", put(model_config__num_layers="6"), {"schema"}, set()
    yield "type-batch-text", "v4", put(train_config__train_batch_size="128"), {"schema"}, set()
    yield "type-dataset-number", "v4", put(tokenized_dataset=7), {"schema"}, set()
    yield "author-url-script", "v4", put(author__url="javascript:alert(1)"), {"schema"}, set()
    yield "author-url-data", "v4", put(author__url="data:text/html,x"), {"schema"}, set()


def _ranges() -> Iterator[Row]:
    implausible = "metric-implausible"
    for value in (0, -1.1, 0.01, 9.5, 1e300, -0.0):
        yield f"bpb-{value}", "v4", put(bpb=value), {implausible}, set()
    for word in ("NaN", "Infinity", "-Infinity", "inf"):
        yield f"bpb-{word}", "v4", put(bpb=word), {"metric-not-finite"}, set()
    for value in (0, -4621.46, 1e12):
        yield (
            f"time-{value}",
            "v4",
            put(training_time=value),
            {implausible} | ({"hardware-flops-mismatch"} if value == 1e12 else set()),
            set(),
        )
    for key in (
        "training_hardware_flops",
        "model_flops",
        "total_tokens",
        "model_size",
        "num_chips",
        "num_devices",
        "device_flops",
    ):
        for value in (0, -3):
            yield f"{key}-{value}", "v4", put(**{key: value}), {implausible}, set()
    yield (
        "flops-endless",
        "v4",
        put(training_hardware_flops=1e300),
        {implausible, "hardware-flops-mismatch"},
        set(),
    )


def _links() -> Iterator[Row]:
    not_a_run, host = {"link-not-a-run"}, {"host-not-allowed"}
    links: dict[str, tuple[Any, set[str]]] = {
        "empty": ("", not_a_run),
        "null": (None, not_a_run),
        "number": (5, not_a_run),
        "list": (["https://wandb.ai/e/p/runs/r"], not_a_run),
        "words": ("my run", not_a_run),
        "project": ("https://wandb.ai/e/p", not_a_run),
        "home": ("https://wandb.ai", not_a_run),
        "workspace": ("https://wandb.ai/e/p/workspace?nw=x", not_a_run),
        "report": ("https://wandb.ai/e/p/reports/Title--Vmlldzox", not_a_run),
        "sweep": ("https://wandb.ai/e/p/sweeps/abc", not_a_run),
        "artifact": ("https://wandb.ai/e/p/artifacts/model/m/v0", not_a_run),
        "runs-page": ("https://wandb.ai/e/p/runs", not_a_run),
        "bucket": ("gs://bucket/checkpoints/run", not_a_run),
        "bare": ("e/p/runs/r", not_a_run),
        "dots": ("https://wandb.ai/../../runs/x", not_a_run),
        "script": ("javascript:alert(1)", not_a_run),
        "file": ("file:///etc/passwd", not_a_run),
        "colon": ("https://wandb.ai/e/p/runs/a:b", not_a_run),
        "other-host": ("https://example.org/e/p/runs/r", host),
        "look-alike": ("https://wandb.ai.example.org/e/p/runs/r", host),
        "user-info": ("https://wandb.ai@example.org/e/p/runs/r", host),
        "port": ("https://wandb.ai:8443/e/p/runs/r", host),
        "address": ("http://169.254.169.254/e/p/runs/r", host),
        "localhost": ("http://localhost/e/p/runs/r", host),
        "homograph": ("https://w\u0430ndb.ai/e/p/runs/r", host),
    }
    for name, (link, errors) in links.items():
        yield f"link-{name}", "v4", put(wandb_run_link=link), errors, set()
    yield "link-absent", "v4", drop("wandb_run_link"), not_a_run, set()


def _times() -> Iterator[Row]:
    bad = (
        "",
        "yesterday",
        "28/06/2025 21:52",
        "2025-13-01 00:00:00 UTC",
        "06-28-2025",
        "2025-02-30 10:00:00 UTC",
        "2025-06-28 25:00:00 UTC",
        "June 28, 2025",
        "1751147549",
        "2025-06-28 21:52:29 PST",
        "0001-01-01 00:00:00 UTC",
        "1970-01-01 00:00:00 UTC",
        "2999-01-01 00:00:00 UTC",
        "\u0662\u0660\u0662\u0665-06-28 21:52:29 UTC",
        "2025-06-28",
        "28.06.2025 21:52:29",
        "2025/06/28 21:52:29 UTC",
    )
    for value in (*bad, 1751147549, None, True, ["2025-06-28 21:52:29 UTC"]):
        yield (
            f"timestamp-{value!r}",
            "v4",
            put(run_completion_timestamp=value),
            {"timestamp-invalid"},
            set(),
        )
    yield "timestamp-absent", "v4", drop("run_completion_timestamp"), {"timestamp-invalid"}, set()


def _missing() -> Iterator[Row]:
    yield "no-bpb", "v4", drop("bpb"), {"metric-missing"}, set()
    yield "null-bpb", "v4", put(bpb=None), {"metric-missing"}, set()
    yield "no-time", "v4", drop("training_time"), {"metric-missing"}, set()
    yield (
        "no-hardware",
        "v4",
        drop("resources", "num_chips", "device_flops"),
        {"metric-missing"},
        {"device-unknown"},
    )
    yield "misspelt-time", "v4", rename("training_time", "trainning_time"), {"schema"}, set()
    yield "misspelt-bpb", "v4", rename(BPB, "eval/paloma/c4_em/bpb"), {"schema"}, set()
    yield (
        "misspelt-flops",
        "v4",
        rename("training_hardware_flops", "training_hardware_flop"),
        {"schema"},
        set(),
    )
    yield "misspelt-case", "v4", rename("total_tokens", "Total-Tokens"), {"schema"}, set()


def _counts() -> Iterator[Row]:
    mismatch, implausible = {"chip-count-mismatch"}, {"metric-implausible"}
    yield "no-slice", "v3", put(resources__tpu_type="v5p-33"), mismatch, set()
    yield "no-slice-zero", "v3", put(resources__tpu_type="v5p-0"), mismatch, set()
    yield "slices-zero", "v3", put(resources__slice_count=0), implausible, set()
    yield "slices-half", "v3", put(resources__slice_count=0.5), implausible, set()
    yield (
        "gpus-negative",
        "v2_h200",
        put(resources__gpu_count=-1),
        implausible | {"metric-missing"},
        set(),
    )
    yield "steps-zero", "v4", put(train_config__num_train_steps=0), implausible, set()
    yield "layers-fraction", "v4", put(model_config__num_layers=6.5), implausible, set()
    yield (
        "chips-fraction-only",
        "v4_auto",
        both(put(num_chips=1.5), drop("resources__device__count")),
        {"metric-missing"},
        set(),
    )
