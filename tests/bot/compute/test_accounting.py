"""FLOPs, parameters and bits per byte against published figures of the Marin board."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from bot.compute import accounting
from bot.compute.accounting import Transformer

# layers, hidden, intermediate, heads, kv heads, length; tokens, model FLOPs, FLOPs a token, params
GOLDEN = [
    (16, 2048, 7168, 16, 8, 4096, 23999807488, 2.071634014279733e20, 2877292544, 1431373824),
    (6, 512, 1792, 8, 8, 4096, 2599944192, 1.777337490915459e18, 227868672, 154147328),
    (12, 768, 2688, 12, 12, 4096, 5999951872, 9.99035877535934e18, 555024384, 299649792),
    (24, 1024, 3584, 16, 8, 4096, 10399776768, 4.210403636805422e19, 1349517312, 602457088),
    (15, 1408, 5632, 11, 11, 4096, 16739467264, 8.340318450894452e19, 1660809216, 837003904),
    (6, 512, 1792, 8, 8, 1024, 1572864000, 8.95011054944256e17, 189677568, 154147328),
    (4, 128, 448, 2, 2, 1024, 786432000, 8.6953760391168e16, 36855808, 33784960),
    (4, 192, 448, 2, 2, 1024, 996147200, 1.66350525825024e17, 55664640, 50874048),
    (8, 256, 896, 4, 4, 1024, 3145728000, 8.43291058765824e17, 89358336, 73273600),
    (7, 640, 2560, 5, 5, 4096, 4201119744, 4.1559385496459674e18, 329748480, 210052480),
    (24, 1024, 3584, 16, 8, 1024, 10399776768, 3.2571741421090898e19, 1043988480, 602457088),
]


def llama(layers: int, hidden: int, mlp: int, heads: int, kv: int, length: int) -> Transformer:
    return Transformer(layers, hidden, mlp, heads, kv, hidden // heads, 128256, length)


@pytest.mark.parametrize("row", GOLDEN)
def test_published_runs_to_the_bit(row: tuple[float, ...]) -> None:
    *dimensions, tokens, flops, per_token, params = row
    shape = llama(*(int(d) for d in dimensions))
    assert accounting.forward_flops_per_token(shape) == per_token
    assert accounting.model_flops(shape, int(tokens)) == flops
    assert accounting.parameter_count(shape) == params


def stated(info: dict[str, Any]) -> Transformer:
    """The shape that a results file states; the newest key for the length goes first."""
    m = info["model_config"]
    length = next(m[key] for key in ("train_seq_len", "max_seq_len", "seq_len") if m.get(key))
    return Transformer(
        layers=m["num_layers"],
        hidden=m["hidden_dim"],
        intermediate=m["intermediate_dim"],
        heads=m["num_heads"],
        kv_heads=m.get("num_kv_heads") or m["num_heads"],
        head_dim=m.get("head_dim") or m["hidden_dim"] // m["num_heads"],
        vocab=128256,
        seq_len=length,
        gated="activation_function" in m,
    )


def test_every_published_run_with_a_formula_to_the_bit(golden: Path) -> None:
    truth = json.loads((golden / "marin" / "truth.json").read_text(encoding="utf-8"))
    exact = [row["file"] for row in truth["files"] if row["model_flops_check"] == "exact"]
    assert len(exact) == 83
    for name in exact:
        path = golden / "marin" / "results" / name
        info = json.loads(path.read_text(encoding="utf-8"))["runs"][0]["run_info"]
        flops = accounting.model_flops(stated(info), info["total_tokens"])
        assert flops == info["model_flops"], name


def test_published_run_with_a_plain_mlp() -> None:
    """A published 300m run with squared ReLU: 4 h f in place of 6 h f."""
    shape = Transformer(16, 1024, 4096, 8, 8, 128, 128256, 2048, gated=False)
    assert accounting.forward_flops_per_token(shape) == 800_325_632
    assert accounting.model_flops(shape, 1_159_987_200) == 2.785102466855731e18


def test_hardware_flops_of_a_v5p_32_run() -> None:
    flops = accounting.hardware_flops(54420.352921210935, 16, 459e12)
    assert flops == 3.996630718533731e20
    assert accounting.mfu(2.071634014279733e20, flops) == 0.5183451162182345


@pytest.mark.parametrize("hardware", [0.0, -1.0, math.inf, math.nan])
def test_mfu_without_hardware_is_undefined(hardware: float) -> None:
    assert accounting.mfu(1e18, hardware) is None


def test_parameters_of_gpt2_small() -> None:
    """Published: 124,439,808 with biases (102,144 of them, and 19,200 in the norms)."""
    shape = Transformer(12, 768, 3072, 12, 12, 64, 50257, 1024, gated=False, tied=True)
    biases = 12 * (2304 + 768 + 3072 + 768) + 25 * 768
    with_positions = accounting.parameter_count(shape) + 1024 * 768
    assert with_positions + biases == 124_439_808


def test_extra_parameters_of_variants() -> None:
    base = dict(layers=6, hidden=512, intermediate=1792, heads=8, kv_heads=8, head_dim=64)
    count = lambda **more: accounting.parameter_count(  # noqa: E731
        Transformer(**base, vocab=128256, seq_len=4096, **more)
    )
    assert count(norms_per_layer=4) == 154_153_472  # published, hybrid norms
    assert count(qk_norm=True) - count() == 6 * 2 * 64
    assert count(attention_gate=True) - count() == 6 * 512 * 512
    assert count(learned_positions=4096) - count() == 4096 * 512


@pytest.mark.parametrize(
    ("variant", "layer", "outer"),
    [
        ({}, 2 * 10, 10),
        ({"norms_per_layer": 3}, 3 * 10, 10),
        ({"qk_norm": True}, 2 * 10 + 2 * 7, 10),
        ({"final_norm": False}, 2 * 10, 0),
        ({"embedding_norm": True}, 2 * 10, 2 * 10),
        ({"final_norm": False, "embedding_norm": True}, 2 * 10, 10),
        ({"norm_weights": False}, 0, 0),
        ({"norm_weights": False, "qk_norm": True, "embedding_norm": True}, 0, 0),
    ],
)
def test_the_weights_of_norms(variant: dict[str, Any], layer: int, outer: int) -> None:
    """5 layers of width 10 with 3 heads, one of keys, of width 7; MLPs of 20; 11 tokens."""
    shape = Transformer(5, 10, 20, 3, 1, 7, 11, 13, **variant)
    products = 3 * 10 * 20 + 10 * (21 + 2 * 7) + 21 * 10
    assert accounting.parameter_count(shape) == 5 * (products + layer) + 2 * 11 * 10 + outer


FP8 = {"fp8": 1500.0, "bf16": 1000.0}


@pytest.mark.parametrize(
    ("precision", "peaks", "peak"),
    [
        ("bf16", FP8, 1000.0),
        ("int8", FP8, None),
        ("fp8", {"bf16": 1000.0}, None),
        ("fp8", {"fp8": 1500.0}, None),
        ("fp8", {}, None),
        # layers of 6 f h = 1,200, 2 h (21 + 14) = 700, 2 h^2 = 200, and 4 s 21 + 3 s 3 = 1,209;
        # the head 2 h V = 220: of 16,765 FLOPs 6,220 are in 8 bits
        ("fp8", FP8, 16_765 / (6_220 / 1500 + 10_545 / 1000)),
    ],
)
def test_the_peak_of_fp8_is_that_of_each_product(
    precision: str, peaks: dict[str, float], peak: float | None
) -> None:
    shape = Transformer(5, 10, 20, 3, 1, 7, 11, 13)
    assert accounting.forward_flops_per_token(shape) == 16_765
    assert accounting.peak_flops(shape, precision, peaks) == pytest.approx(peak)


@pytest.mark.parametrize(
    ("model", "hardware", "mfu"),
    [
        (1.0, 4.0, 0.25),
        (0.5, 0.5, 1.0),
        (0.0, 0.5, 0.0),
        (math.nan, 4.0, None),
        (math.inf, 4.0, None),
        (1.0, math.inf, None),
        (1.0, 0.0, None),
    ],
)
def test_mfu_is_the_share_of_the_hardware(model: float, hardware: float, mfu: float | None) -> None:
    assert accounting.mfu(model, hardware) == mfu


def test_bits_per_byte() -> None:
    assert accounting.bits_per_byte(math.log(2), 1) == 1.0
    assert accounting.bits_per_byte(8 * math.log(2), 2) == pytest.approx(4.0)
    with pytest.raises(ValueError, match="at least 1 byte"):
        accounting.bits_per_byte(1.0, 0)


def test_tokens() -> None:
    assert accounting.tokens(256, 4096, 22888) == 23_999_807_488


@pytest.mark.parametrize(("gated", "products"), [(True, 6), (False, 4)])
def test_fp8_computes_the_products_of_the_mlps_and_of_the_head(gated: bool, products: int) -> None:
    shape = Transformer(3, 64, 256, 4, 4, 16, 1000, 128, gated=gated)
    in_8_bits = 3 * products * 64 * 256 + 2 * 64 * 1000
    assert accounting.fp8_flops_per_token(shape) == in_8_bits
