"""A track's rules in words, from its file."""

from __future__ import annotations

from bot.compute.accelerators import find
from bot.model.track import Track
from leaderboard_site import text
from leaderboard_site.formats import quantity
from leaderboard_site.states import rule_words


def rules_in_words(track: Track) -> list[str]:
    """One sentence a rule, in the order a participant meets them."""
    return [
        line
        for line in (
            _counts(track),
            _limits(track),
            _data(track),
            _hardware(track),
            _proof(track),
            _evidence(track),
            _clock(track),
            _baseline(track),
            _levels(track),
        )
        if line
    ]


def _counts(track: Track) -> str:
    cost, quality = track.in_sentence(track.cost.metric), track.in_sentence(track.quality.metric)
    if track.objective == "pareto":
        word = "Lower" if track.quality.goal == "min" else "Higher"
        return (
            f"{word} {quality} and fewer {cost} both count: an entry is on the frontier unless "
            "another is no worse on both and better on one; exact ties stay."
        )
    if track.objective == "best":
        word = "Lowest" if track.quality.goal == "min" else "Highest"
        margin = track.significance.margin
        beaten = f" A record is beaten by at least {margin:g}." if margin else ""
        return f"{word} {quality} counts, whatever it costs within the limits.{beaten}"
    aim = f"{quality} of {track.quality.target:g}" if track.quality.target else quality
    if track.objective == "target":
        least = "Least" if track.cost.goal == "min" else "Most"
        return f"{least} {cost} at which the mean run reaches {_a(aim)}."
    return (
        f"The ratio of {cost} to the frozen baseline on the same machine, at {_a(aim)}. "
        f"One run is welcome; the entry is claimed until {_confirmed(track)}."
    )


def _confirmed(track: Track) -> str:
    """What confirms an entry."""
    rule = track.confirmation
    pairs = f"at least {text.plural(rule.runs, 'pair')} of runs by others"
    if rule.by == "maintainer":
        return f"a maintainer accepts {pairs} that show the gain"
    return f"{pairs} show the gain too"


def _limits(track: Track) -> str:
    """What an entry may have at most, or at least where more of it is better."""
    parts = []
    for metric, bound in track.limits.items():
        own = track.metrics.get(metric)
        word = "at least" if own is not None and own.goal == "max" else "at most"
        parts.append(f"{track.in_sentence(metric)} {word} {_bound(track, metric, bound)}")
    ends = {"time-limit": "A run ends when its time is up.", "target": "A run ends at the target."}
    said = [f"Limits: {', '.join(parts)}."] if parts else []
    return " ".join([*said, *([ends[track.finish]] if track.finish in ends else [])])


def _bound(track: Track, metric: str, bound: float) -> str:
    unit = track.unit(metric) if metric in track.metrics else ""
    return quantity(metric, bound, unit, track.digits(metric))


def _data(track: Track) -> str:
    """What is trained on, if the data are the entry, and what stays fixed."""
    fixed = " Every run has the settings that the track fixes." if track.recipe else ""
    if not track.data_submitted:
        return fixed.strip()
    config = f" of the configuration {track.data_config}" if track.data_config else ""
    return (
        f"You bring the training data, with a manifest, for training{config}.{fixed} Nothing of "
        "the validation text may be in the data; a maintainer checks the shards."
    )


def _hardware(track: Track) -> str:
    if not track.accelerators:
        return "Any hardware; the peak of every accelerator comes from one published table."
    count = f"{track.accelerator_count} × " if track.accelerator_count else ""
    return f"Hardware: {count}{' or '.join(map(_device, track.accelerators))}."


def _device(name: str) -> str:
    """The accelerator as its vendor calls it, `NVIDIA H100 SXM`; as it stands if unknown."""
    found = find(name)
    return f"{found.accelerator.vendor} {found.accelerator.name}" if found else name


def _proof(track: Track) -> str:
    test = track.significance
    runs = f" At least {test.min_runs} runs." if test.min_runs > 1 else ""
    if test.looks:
        at = ", ".join(map(str, test.looks))
        runs = f" Judged at {at} runs only, each at p < {test.alpha_each:.2g}."
    side = "below" if track.quality.goal == "min" else "above"
    if test.test in ("t", "moderated"):
        kind = "t-test" if test.test == "t" else "moderated t-test"
        target = track.quality.target
        aim = "" if target is None else f" that the mean is {side} {target:g}"
        return f"Proof: a one-sided {kind} over the runs{aim}, p < {test.alpha:g}.{runs}"
    if test.test == "z":
        # The bound decides: p at it is not a round number (0.004 with 0.0013 is 0.00105).
        bound = f"p < {test.alpha:g}"
        if test.threshold is not None:
            bound = f"(target − mean)·√n ≥ {test.threshold:g}"
        return f"Proof: known standard deviation {test.sigma:g}, {bound}.{runs}"
    if test.test == "anytime":
        return (
            f"Proof: an anytime-valid test at level {test.alpha:g}: adding runs never hurts.{runs}"
        )
    return f"No significance test: one run ranks, and its number of runs is shown.{runs}"


def _evidence(track: Track) -> str:
    words = {
        "wandb": "a Weights & Biases run",
        "log": "a training log",
        "results": "a results file",
    }
    names = [words.get(a, a) for a in track.accepts]
    code = " The code must be part of the submission." if track.code_required else ""
    return f"Evidence: {', '.join(names[:-1]) + ' or ' if names[1:] else ''}{names[-1]}.{code}"


def _clock(track: Track) -> str:
    return f"Clock: {track.clock[0].lower()}{track.clock[1:]}" if track.clock else ""


def _baseline(track: Track) -> str:
    if not track.baseline_id:
        return ""
    when = ""
    if track.promote_at:
        cost = track.in_sentence(track.cost.metric)
        when = f" A new one is due when an entry needs at most {track.promote_at:g} of its {cost}."
    made = next((b for b in track.baselines if b.id == track.baseline_id), None)
    since = f", frozen on {text.long_day(made.frozen_on)}" if made else ""
    return f"Entries are measured against the track’s baseline{since}.{when}"


def _levels(track: Track) -> str:
    if not track.levels:
        return ""
    groups: dict[str, list[str]] = {}
    for name, level in sorted(track.levels.items()):
        groups.setdefault(str(level), []).append(rule_words(name))
    words = {
        "off": "Not checked here",
        "note": "Only noted here, without a say in the state",
        "warning": "Weighed by a maintainer here",
        "error": "Must hold here",
    }
    return " ".join(
        f"{words.get(level, level)}: {', '.join(names)}." for level, names in groups.items()
    )


def _a(words: str) -> str:
    """Words with the article that fits them."""
    return f"{'an' if words[:1].lower() in 'aeio' else 'a'} {words}"
