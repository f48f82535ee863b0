"""Text, numbers, ticks and fits: what a reader's eye rests on."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import least_squares

from leaderboard_site import fits, scales, text


@given(st.text())
def test_clean_text_hides_nothing_and_is_bounded(words: str) -> None:
    shown = text.clean(words, 50)
    assert len(shown) <= 50
    assert not any(c in shown for c in "\u202e\u2066\u200b\x00\n\r\t\x1b")


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "//evil.example",
        "https://",
        "http://a b/",
        "vbscript:x",
        " https://a.example",
        "https://a.example/\u202e",
        "",
        "file:///etc/passwd",
    ],
)
def test_other_addresses_are_no_links(url: str) -> None:
    assert text.safe_url(url) is None


def test_an_address_is_a_link() -> None:
    assert text.safe_url("https://wandb.ai/a/b/runs/c") == "https://wandb.ai/a/b/runs/c"


@given(
    st.floats(1e-3, 1e25),
    st.floats(1.001, 1e6),
    st.sampled_from(["hardware_flops", "loss", "training_time_s"]),
)
def test_ticks_lie_inside_are_few_and_differ_as_printed(
    low: float, ratio: float, metric: str
) -> None:
    scale = scales.Scale(low, low * ratio, 0, 100, log=True)
    values = scales.ticks_for(scale, metric, 5)
    assert len(values) <= 12
    assert all(scale.low * 0.999 <= v <= scale.high * 1.001 for v in values)
    labels = scales.tick_labels(values, metric)
    assert len(labels) == len(values)


def test_a_narrow_range_of_losses_has_ticks_that_differ() -> None:
    scale = scales.Scale(3.2743, 3.2801, 0, 100, log=True)
    values = scales.ticks_for(scale, "loss", 5)
    labels = scales.tick_labels(values, "loss")
    assert len(values) >= 3 and len(set(labels)) == len(labels)


@pytest.mark.parametrize("seed", range(8))
def test_a_fit_reaches_the_least_squares_optimum(seed: int) -> None:
    rng = random.Random(seed)
    xs = [10 ** (18 + 0.6 * i) for i in range(6)]
    ys = [0.7 + 0.5 * (x / 1e19) ** -rng.uniform(0.1, 0.3) + rng.gauss(0, 0.003) for x in xs]
    law = fits.fit(list(zip(xs, ys, strict=True)))
    assert law is not None

    def residuals(p: list[float]) -> list[float]:
        return [p[2] + p[0] * (x / law.scale) ** -p[1] - y for x, y in zip(xs, ys, strict=True)]

    best = min(
        (
            least_squares(
                residuals,
                [0.5, b, 0.5],
                bounds=([-9, 0.005, 0], [9, 1.5, 9]),
                xtol=1e-15,
                ftol=1e-15,
                gtol=1e-15,
            )
            for b in (0.05, 0.1, 0.2, 0.4, 0.8)
        ),
        key=lambda r: r.cost,
    )
    assert law.residual == pytest.approx(2 * best.cost, rel=1e-6)


def test_two_points_make_no_law() -> None:
    assert fits.fit([(1e18, 1.2), (1e19, 1.1)]) is None


def test_three_points_make_a_law_without_a_floor_that_is_not_drawn_beyond_them() -> None:
    law = fits.fit([(x, 2.0 * (x / 1e19) ** -0.1) for x in (1e18, 1e19, 1e20)])
    assert law is not None and not law.usable and law.df == 1
    assert (law.a, law.b, law.c) == (pytest.approx(2), pytest.approx(0.1), 0)
    assert all(0.99e18 <= x <= 1.01e20 for x, *_ in fits.curve(law))


@pytest.mark.full("a hundred fits")
def test_the_band_of_three_points_covers_the_law_as_often_as_it_says() -> None:
    rng, hits = random.Random(5), 0
    for _ in range(100):
        points = [(x, (x / 1e19) ** -0.1 * rng.gauss(1, 0.003)) for x in (1e18, 1e19, 1e20)]
        law = fits.fit(points)
        assert law is not None
        low, high = law.band(1e19)
        hits += low <= 1 <= high
    assert hits >= 88  # 95 expected; one in a thousand of such tests has fewer


def test_a_law_without_support_is_not_drawn_beyond_its_points() -> None:
    law = fits.fit([(1e18, 1.2), (3e18, 1.0), (1e19, 1.3), (1e20, 1.1)])
    assert law is not None and not law.usable
    assert all(0.99e18 <= x <= 1.01e20 for x, *_ in fits.curve(law))
