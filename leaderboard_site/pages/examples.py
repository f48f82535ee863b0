"""The worked examples of the documentation, computed by the functions that judge submissions."""

from __future__ import annotations

from typing import Any

from bot.compute import accounting, significance
from bot.compute.accelerators import all_accelerators, find, peak_flops
from bot.model.summary import Moments
from bot.registry import catalogue
from bot.render.numbers import probability
from leaderboard_site import fits, text
from leaderboard_site.about import starter
from leaderboard_site.model import Site
from leaderboard_site.rates import rates, rates_note

LOSSES = (3.2791, 3.2773, 3.2786, 3.2768, 3.2795, 3.2779, 3.2782, 3.2771)
"""Eight validation losses of the statistics page; a made-up sample, computed like a real one."""
CANDIDATE_S = (88.42, 88.51, 88.37, 88.60, 88.45)
BASELINE_S = (89.91, 90.12, 89.87, 90.05, 89.98)


def examples(site: Site) -> dict[str, Any]:
    """Every value that the pages of `docs/` print."""
    values: dict[str, Any] = {
        "site_url": site.url,
        "repository": site.repository or "OWNER/REPO",
        "tracks": [b.track for b in site.tracks.values()],
        "starter": starter(site),
        "install": site.install,
        "rules": len(catalogue()),
        "count": sum(len(b.board.entries) for b in site.tracks.values()),
        "rates": [{"id": k, "rate": f"{v:.2f}"} for k, v in rates().items()],
        "rates_note": rates_note(),
        "fit_df": fits.MIN_DF,
        "fit_points": fits.MIN_POINTS,
        "fit_width": f"{100 * fits.MAX_HALF_WIDTH:.0f} %",
    }
    return values | _accounting() | _bytes() | _statistics()


MODEL = accounting.Transformer(
    layers=12,
    hidden=768,
    intermediate=2048,
    heads=12,
    kv_heads=12,
    head_dim=64,
    vocab=50304,
    seq_len=1024,
)


def _accounting() -> dict[str, Any]:
    model = MODEL
    h100 = find("NVIDIA H100 80GB HBM3")
    slice_ = find("v5p-32")
    assert h100 is not None and slice_ is not None
    peak = peak_flops(h100.accelerator) or 0.0
    seconds, chips = 1800.0, 8
    tokens = accounting.tokens(batch=512, seq_len=1024, steps=6000)
    hardware = accounting.hardware_flops(seconds, chips, peak)
    flops = accounting.model_flops(model, tokens)
    forward = accounting.forward_flops_per_token(model)
    return {
        "model": model,
        "peak": text.power(peak, 4),
        "seconds": f"{seconds:g}",
        "chips": chips,
        "hardware": text.power(hardware, 4),
        "tokens": f"{tokens:,}".replace(",", " "),
        "forward": f"{forward:,}".replace(",", " "),
        "model_flops": text.power(flops, 4),
        "mfu": f"{100 * (accounting.mfu(flops, hardware) or 0):.1f}",
        "parameters": f"{accounting.parameter_count(model):,}".replace(",", " "),
        "six_nd": text.power(6.0 * accounting.parameter_count(model) * tokens, 4),
        "v5p_chips": slice_.chips,
        "v5p_peak": text.power(peak_flops(slice_.accelerator) or 0.0, 4),
        "peaks": [
            {
                "name": f"{a.vendor} {a.name}",
                "arch": a.architecture,
                "peak": text.power(most, 4),
                "cores": a.cores_per_chip,
            }
            for a in all_accelerators()
            if (most := peak_flops(a)) is not None
        ],
    }


def _bytes() -> dict[str, Any]:
    nats, size, count = 2_961_408.0, 4_482_190, 1_000_000
    return {
        "nats": f"{nats:,.0f}".replace(",", " "),
        "bytes": f"{size:,}".replace(",", " "),
        "bpb_tokens": f"{count:,}".replace(",", " "),
        "bpb": f"{accounting.bits_per_byte(nats, size):.5f}",
        "nats_per_token": f"{nats / count:.5f}",
        "bytes_per_token": f"{size / count:.3f}",
    }


def _statistics() -> dict[str, Any]:
    target = 3.28
    sample = Moments.of(LOSSES)
    gain = sample.gain(target, "min")
    low, high = significance.interval(sample) or (0.0, 0.0)
    four = Moments.of(LOSSES[:4])
    short = four.gain(target, "min")

    def passes(m: Moments) -> bool:
        p = significance.t_p(m)
        return p is not None and p < 0.01

    return _arms() | {
        "losses": ", ".join(f"{v:.4f}" for v in LOSSES),
        "n": sample.n,
        "mean": f"{sample.mean:.6f}",
        "sd": f"{sample.sd:.6f}",
        "population_sd": f"{(sample.sd or 0) * ((sample.n - 1) / sample.n) ** 0.5:.6f}",
        "t": f"{significance.t_statistic(gain):.3f}",
        "t_p": probability(significance.t_p(gain)),
        "low": f"{low:.5f}",
        "high": f"{high:.5f}",
        "p_without_sqrt": probability(
            significance.t_p(Moments(2, gain.mean, (sample.sd or 0) * 2**0.5))
        ),
        "z_sigma": "0.0013",
        "z": f"{gain.mean * sample.n**0.5:.5f}",
        "z_p": probability(significance.z_p(gain, 0.0013)),
        "four_p": probability(significance.t_p(short)),
        "four_mean": f"{four.mean:.6f}",
        "four_sd": f"{four.sd:.6f}",
        "four_needed": significance.needed_runs(short, passes, None),
        "anytime": probability(significance.anytime_p(gain, 0.0013)),
    }


def _arms() -> dict[str, Any]:
    versus = significance.welch(CANDIDATE_S, BASELINE_S)
    ratio = versus.ratio_interval or (0.0, 0.0)
    return {
        "candidate": ", ".join(f"{v:.2f}" for v in CANDIDATE_S),
        "baseline": ", ".join(f"{v:.2f}" for v in BASELINE_S),
        "welch_gap": text.signed(versus.difference, 3),
        "welch_t": f"{versus.statistic:.2f}",
        "welch_df": f"{versus.df:.1f}",
        "welch_p": probability(versus.p),
        "ratio": f"{versus.ratio:.4f}",
        "ratio_low": f"{ratio[0]:.4f}",
        "ratio_high": f"{ratio[1]:.4f}",
    }
