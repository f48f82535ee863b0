"""Synthetic boards: verdicts of any number, the same for the same seed.

site(10_000)            a site of three tracks, most entries on the pareto track
"""

from __future__ import annotations

import dataclasses as dc
import math
import random
from collections.abc import Iterator

from bot.model.run import RunRecord, Validation
from bot.model.submission import Contributor, Submission
from bot.model.summary import (
    BaselineArm,
    Comparison,
    Decision,
    Moments,
    Sample,
    Summary,
    WithoutBest,
)
from bot.model.track import Track
from bot.model.verdict import Finding, Point, Verdict
from bot.parse.track_toml import parse_track
from bot.registry import Grade, Level, Status
from leaderboard_site.model import Pending, Site, make_board

PARETO = parse_track(
    {
        "schema_version": 1,
        "id": "pareto",
        "title": "Quality against compute",
        "objective": "pareto",
        "description": "Best bits per byte for the FLOPs spent.",
        "quality": {
            "metric": "bpb",
            "unit": "bits/byte",
            "goal": "min",
            "bands": [1.3, 1.1, 1.0, 0.95],
        },
        "cost": {"metric": "hardware_flops", "unit": "FLOP", "goal": "min"},
        "compute_grant": {"top": 3, "gpu_hours": 100.0},
    },
    "tracks/pareto.toml",
)
TARGET = parse_track(
    {
        "schema_version": 1,
        "id": "target",
        "title": "Fastest to 3.28",
        "objective": "target",
        "description": "Least time at which the mean loss reaches 3.28.",
        "quality": {"metric": "loss", "unit": "nats/token", "goal": "min", "target": 3.28},
        "cost": {"metric": "training_time_s", "unit": "s", "goal": "min"},
        "significance": {"test": "t", "alpha": 0.01},
        "hardware": {"accelerator": "h100-sxm", "count": 8},
    },
    "tracks/target.toml",
)
BASELINE = parse_track(
    {
        "schema_version": 1,
        "id": "baseline",
        "title": "One GPU, any GPU",
        "objective": "baseline",
        "description": "Time as a ratio to the frozen baseline.",
        "quality": {"metric": "loss", "unit": "nats/token", "goal": "min", "target": 3.6},
        "cost": {"metric": "training_time_s", "unit": "s", "goal": "min"},
        "baseline": {"id": "baseline-0", "promote_at": 0.9},
    },
    "tracks/baseline.toml",
)
DEVICES = ("NVIDIA H100 80GB HBM3", "v5p-32", "v6e-8", "NVIDIA A100-SXM4-80GB")
IDEAS = ("muon", "adamw", "soap", "cautious", "qk-norm", "wsd", "moe", "longer", "wide", "deep")


def curve(rng: random.Random, end: float, steps: int, seconds: float) -> list[list[float]]:
    """Twelve validation points that fall to `end`."""
    out = []
    for i in range(1, 13):
        at = i / 12
        loss = end + 2.2 * (1 - at) ** 2.3 + rng.gauss(0, 0.002) * (at < 1)
        out.append([round(steps * at), round(loss, 4), round(seconds * at, 2)])
    return out


def run(
    rng: random.Random, end: float, steps: int, seconds: float, device: str, i: int
) -> RunRecord:
    """One allow-listed run record."""
    val = curve(rng, end, steps, seconds)
    return RunRecord(
        f"logs/run-{i}.log",
        source="log",
        hardware=device,
        gpu_count=8,
        step=steps,
        total=steps,
        finished=True,
        loss=val[-1][1],
        time_s=val[-1][2],
        seed=i,
        val=tuple(Validation(*point) for point in val),
    )


def _date(rng: random.Random) -> str:
    return f"202{rng.randint(4, 6)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T12:00:00Z"


def pareto_verdict(i: int, seed: int = 0) -> Verdict:
    """One entry of the pareto track: a power law with scatter above it."""
    rng = random.Random(f"{seed}/{i}")
    flops = 10 ** rng.uniform(17.5, 21.5)
    quality = 0.72 + 0.62 * (flops / 1e18) ** -0.17 + rng.expovariate(12)
    device = rng.choice(DEVICES)
    chips, peak = 8, 989e12
    seconds = flops / (chips * peak)
    tokens = flops * 0.35 / (6 * 1.5e8)
    metrics = {
        "hardware_flops": flops,
        "model_flops": flops * rng.uniform(0.2, 0.5),
        "training_time_s": seconds,
        "chips": chips,
        "peak_flops": peak,
        "tokens": tokens,
        "parameters": 150_000_000,
        "bpb": quality,
        "steps": 10_000,
        "mfu": 0.35,
    }
    warned = rng.random() < 0.2
    findings = (
        (
            Finding(
                "run-not-bound",
                Level.WARNING,
                "The run carries neither nonce nor login.",
                file="submission.json",
                line=12,
                pointer="/runs/0",
                fix="Add the author's login to the tags of the run.",
            ),
        )
        if warned
        else ()
    )
    name = f"{rng.choice(IDEAS)}-{rng.choice(IDEAS)}-{i:05d}"
    return Verdict(
        f"submissions/pareto/{name}",
        "pareto",
        Status.NEEDS_REVIEW if warned else Status.VERIFIED,
        rng.choice(list(Grade)),
        findings,
        (Point("main", quality, flops, metrics),),
        (run(rng, quality * 2.2, 10_000, seconds, device, 0),),
        None,
        f"{name.split('-')[0].title()} at {flops:.1e}",
        _date(rng),
    )


def statistics(values: list[float], costs: list[float], target: float, alpha: float) -> Summary:
    """What the statistics of a point hold, with a normal p for the synthetic data."""
    m = Moments.of(values)
    half = 2.3 * m.sd / math.sqrt(m.n) if m.sd else None
    z = (target - m.mean) / (m.sd / math.sqrt(m.n)) if m.sd else None
    p = 0.5 * math.erfc(z / math.sqrt(2)) if z is not None else None
    return Summary(
        metric="loss",
        target=target,
        alpha=alpha,
        quality=Sample(tuple(values)),
        interval=(m.mean - half, m.mean + half) if half else None,
        cost=Sample(tuple(costs)),
        decision=Decision("t", None, p, p is not None and p < alpha),
        p_sigma=p,
        p_pooled=p,
        without_best=WithoutBest(p, False),
        needed_runs=0,
    )


def target_verdict(i: int, seed: int = 0) -> Verdict:
    """One entry of the target track: times fall as `i` rises."""
    rng = random.Random(f"target/{seed}/{i}")
    seconds = 400 * 0.93 ** min(i, 18) + rng.expovariate(0.2)
    n = rng.randint(4, 12)
    values = [round(rng.gauss(3.2775, 0.0012), 5) for _ in range(n)]
    costs = [round(rng.gauss(seconds, 0.4), 2) for _ in range(n)]
    stats = statistics(values, costs, 3.28, 0.01)
    metrics = {
        "training_time_s": sum(costs) / len(costs),
        "loss": sum(values) / len(values),
        "steps": 3000 - i,
        "chips": 8,
        "peak_flops": 989e12,
        "tokens": 1.2e9,
        "parameters": 124_000_000,
    }
    day = f"2025-{1 + i % 12:02d}-{1 + i % 28:02d}T08:00:00Z"
    return Verdict(
        f"submissions/target/record-{i:03d}",
        "target",
        Status.VERIFIED,
        Grade.LOG,
        (),
        (Point("main", metrics["loss"], metrics["training_time_s"], metrics, stats),),
        tuple(
            run(rng, v, 3000 - i, c, DEVICES[0], k)
            for k, (v, c) in enumerate(zip(values, costs, strict=True))
        ),
        None,
        f"Idea number {i}",
        day,
    )


def baseline_verdict(i: int, seed: int = 0) -> Verdict:
    """One entry of the baseline track."""
    rng = random.Random(f"baseline/{seed}/{i}")
    ratio = 1 - 0.02 * min(i, 9) + rng.uniform(-0.01, 0.01)
    values = [round(rng.gauss(3.59, 0.001), 4) for _ in range(2)]
    costs = [round(1800 * ratio + rng.gauss(0, 2), 1) for _ in range(2)]
    stats = statistics(values, costs, 3.6, 0.05)
    bounds = ratio - 0.01, ratio + 0.01
    compared = Comparison("welch", 0.0, None, None, None, ratio, bounds)
    arm = BaselineArm(Moments(2, 1800.0, 2.0), comparison=compared)
    stats = dc.replace(stats, baseline=arm)
    metrics = {
        "training_time_s": sum(costs) / len(costs),
        "loss": sum(values) / len(values),
        "steps": 5000,
        "chips": 1,
        "tokens": 3e8,
    }
    return Verdict(
        f"submissions/baseline/try-{i:03d}",
        "baseline",
        Status.VERIFIED,
        Grade.LOG,
        (),
        (Point("main", metrics["loss"], metrics["training_time_s"], metrics, stats),),
        tuple(
            run(rng, v, 5000, c, "NVIDIA GeForce RTX 4090", k)
            for k, (v, c) in enumerate(zip(values, costs, strict=True))
        ),
        None,
        f"Try {i}",
        f"2026-{1 + i % 9:02d}-03T00:00:00Z",
    )


def verdicts(count: int, seed: int = 0) -> Iterator[tuple[Track, Verdict]]:
    """`count` verdicts: 30 of the target track, 20 of the baseline track, the rest pareto."""
    few_target, few_baseline = min(30, count // 10), min(20, count // 10)
    for i in range(few_target):
        yield TARGET, target_verdict(i, seed)
    for i in range(few_baseline):
        yield BASELINE, baseline_verdict(i, seed)
    for i in range(count - few_target - few_baseline):
        yield PARETO, pareto_verdict(i, seed)


def about(verdict: Verdict) -> Submission:
    """What the author of a synthetic entry wrote."""
    number = sum(map(ord, verdict.submission)) % 40
    return Submission(
        verdict.submission,
        verdict.track,
        verdict.submission.rsplit("/", 1)[1],
        verdict.title,
        "A synthetic entry for tests and benchmarks.",
        (Contributor(f"example-user-{number}", roles=("idea", "code", "runs")),),
    )


def site(count: int, seed: int = 0, url: str = "https://example.github.io/speedrun/") -> Site:
    """A whole synthetic site."""
    groups: dict[str, list[Verdict]] = {}
    for track, verdict in verdicts(count, seed):
        groups.setdefault(track.id, []).append(verdict)
    boards = {
        t.id: make_board(
            t, groups.get(t.id, ()), {v.submission: about(v) for v in groups.get(t.id, ())}
        )
        for t in (PARETO, TARGET, BASELINE)
    }
    return Site(boards, url)


def lists() -> tuple[tuple[Pending, ...], tuple[dict[str, str], ...]]:
    """Open pull requests in every state, and two preregistrations, one of them given up."""
    at = "https://github.com/example-org/speedrun"
    rows = (
        (
            "Cautious weight decay at 300M",
            "needs-review",
            (),
            "would be on the frontier, 0.4 % below its neighbour",
            "2026-11-20T09:00:00Z",
            "pareto",
        ),
        (
            "Muon with a longer warm-up",
            "rejected",
            ("hardware-flops-mismatch", "schema"),
            None,
            "2026-11-02T09:00:00Z",
            "pareto",
        ),
        (
            "Half the steps, twice the batch, and everything else as it was in the record before",
            "needs-runs",
            ("target-not-significant",),
            "would be place 3 of 31",
            "2026-11-26T22:10:00Z",
            "target",
        ),
        ("Fix a typo in the README", "no answer yet", (), None, "2026-11-28T01:00:00Z", None),
    )
    pulls = tuple(
        Pending(
            90 + i,
            title,
            f"example-user-{i}",
            opened,
            status,
            blocks,
            place,
            track,
            f"{at}/pull/{90 + i}",
        )
        for i, (title, status, blocks, place, opened, track) in enumerate(rows)
    )
    tests = (
        {
            "title": "Does QK-norm hold at 1.2B?",
            "date": "2026-11-03",
            "url": f"{at}/issues/71",
            "state": "registered",
        },
        {
            "title": "Sparse embeddings at 130M",
            "date": "2026-08-19",
            "url": f"{at}/issues/40",
            "state": "closed without a submission",
        },
    )
    return pulls, tests
