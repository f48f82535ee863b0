"""Numbers of one evaluation beside the validation loss: other losses, perplexity, bits per byte;
and the share of the peak that a run logs of itself.

    matters("val/ppl", "val/loss")                  True
    losses_beside("val_loss", readings, losses, where)
    bits_beside(bits, losses, "eval/loss", "eval/bpb", where)

Shared by logs and W&B. A loss that is lower than what stands beside it says is what matters; one
that is higher makes no result better.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Mapping

from bot.compute.independence import decimals
from bot.compute.paces import Series
from bot.evidence.second import last_part, words
from bot.model.run import Witness, WitnessKind
from bot.render.untrusted import plain

_OF_VALIDATION = frozenset(
    "val valid validation eval evaluation dev test heldout holdout held out".split()
)
_OF_ALL = frozenset("full final last total whole entire true real all set lm".split())
_LOSS = frozenset("loss nll ce xent crossentropy cross entropy".split())
_PERPLEXITY = frozenset("ppl perplexity perp pplx".split())
_BITS = frozenset("bpb bpc bits byte bytes char per base".split())
_OTHER_UNIT = frozenset("word words byte char train training trn".split())
_OTHER_BASE = frozenset("bits bit bpb bpc".split())
CORPORA = frozenset(
    "fineweb finewebedu edu c4 mc4 wikitext wikitext2 wikitext103 wiki wikipedia pile openwebtext "
    "owt webtext redpajama slimpajama dclm dolma lambada tinystories shakespeare enwik8 text8 ptb "
    "gutenberg books bookcorpus stories cc commoncrawl refinedweb starcoder sotu paloma climbmix "
    "nemotron oscar lm1b pg19 arxiv imagenet cifar10 cifar100 mnist".split()
)
"""Texts by the names that people give them."""
_AROUND_DATA = frozenset("data dataset set split corpus text en english metrics lm".split())
_PART_OF_A_LOSS = frozenset(
    "train training trn batch micro step z zloss router routing aux auxiliary mtp balance load lb "
    "balancing kl kd distill distillation reg regularization regularizer l layer layers block head "
    "heads expert experts moe commit commitment vq ponder ema swa averaged avg smooth smoothed "
    "running scaled weighted min max best lowest std var stderr sem delta diff gap target first "
    "initial init previous record baseline draft drafter byte bytes char word position pos rank "
    "teacher student contrastive recon reconstruction gen generator dis discriminator critic "
    "policy value reward int fp quant quantized roundtrip untied unk mask masked penalty "
    "sliding window long short easy hard domain".split()
)
"""What makes a loss that of the training, of a part, or of something else than the text."""
_IS_A_NAME = re.compile(r"[a-z]{1,20}\d{0,3}[a-z]{0,4}")
_MOST_WORDS = 3
_LEAST = 1e-3
_LEAST_EARLIER, _LEAST_OF_ANY = 3, 6
# A mean of perplexities is that of a loss higher by half of its variance between batches.
_OF_A_MEAN, _MOVES, _STRAYS = 0.01, 2.5e-3, 4.0
_FALLS, _ON_A_LINE = 1.3, 5e-4
_FACTOR = 0.02
"""Of the implied bits per byte at the end so much may be off."""
_SAME_BITS = 0.005
"""So much may two means of one text differ by rounding and by how batches are weighed."""
_FRACTION = 1.5
"""A larger share of the peak is in per cent."""


def matters(name: str, chosen: str) -> bool:
    """Whether a name may contradict a validation loss of the name `chosen`."""
    return (
        is_loss_beside(name, chosen)
        or data_of(name) is not None
        or _is_perplexity(name)
        or _is_bits(name)
    )


def is_loss_beside(name: str, chosen: str) -> bool:
    """Whether a name is a validation loss beside the chosen one: its words and further ones, such
    as `val_loss_full` beside `val_loss`, the same words otherwise written, such as `val/loss`, or
    other words for them, such as `test_loss`. A loss of another data set has a path of its own."""
    mine, other = set(words(chosen).split("_")), set(words(name).split("_"))
    if mine == other:
        return name != chosen
    if other & _OTHER_BASE:
        return False
    if name.count("/") > max(chosen.count("/"), 1):
        return False
    rest = other - _LOSS
    same = len(rest) < len(other) and bool(rest) and rest <= _OF_VALIDATION | _OF_ALL
    further = mine < other and len(other - mine) <= 2 and name.count("/") <= chosen.count("/")
    return further or (same and bool(mine & _OF_VALIDATION))


def data_of(name: str) -> frozenset[str] | None:
    """The words of a loss that may name the text of its evaluation, as `val/fineweb/nll` does, or
    `c4_en_loss`. None if the name is not that of a whole loss, or names a training loss."""
    order = words(name).split("_")
    parts = frozenset(order)
    rest = parts - _LOSS - _OF_VALIDATION - _OF_ALL - _AROUND_DATA
    stems = {word.rstrip("0123456789") for word in parts}
    if not {order[0], order[-1]} & _LOSS or (parts | stems) & (_OTHER_BASE | _PART_OF_A_LOSS):
        return None
    named = all(_IS_A_NAME.fullmatch(word) for word in rest)
    return rest if named and 0 < len(rest) <= _MOST_WORDS else None


def of_validation(name: str) -> bool:
    """Whether a name says that it is of a validation."""
    return bool(_OF_VALIDATION & set(words(name).split("_")))


def _is_perplexity(name: str) -> bool:
    parts = set(words(name).split("_"))
    return bool(parts & _PERPLEXITY) and parts <= _PERPLEXITY | _OF_VALIDATION | _OF_ALL


def _is_bits(name: str) -> bool:
    parts = set(words(name).split("_"))
    named = parts & {"bpb", "bpc"} or {"bits", "per"} <= parts
    return bool(named) and parts <= _BITS | _OF_VALIDATION | _OF_ALL


def losses_beside(
    chosen: str, readings: Mapping[str, Series], losses: Series, where: str
) -> Iterator[Witness]:
    """Every other number of the last validation that makes its loss higher than the chosen one."""
    if not losses:
        return
    ordered = sorted(losses)
    (end, value), before = ordered[-1], ordered[-2][0] if len(ordered) > 1 else -1
    mine, training = dict(losses), dict(readings.get("train_loss", ()))
    for name, series in readings.items():
        source = f"`{plain(name, 40)}` in {where}"
        points = {step: v for step, v in series if v > 0}
        both = {step: v for step, v in points.items() if step in mine and mine[step] > 0}
        other, quantity = None, "loss"
        if is_loss_beside(name, chosen) or data_of(name) is not None:
            quantity = "loss" if is_loss_beside(name, chosen) else "loss_of_data"
            at = max((step for step in points if before < step <= end), default=None)
            other = None if at is None else points[at]
            least = _LEAST * max(1.0, abs(value))
        elif end in both and _is_perplexity(name):
            other, least = _by_perplexity(name, both, mine, training)
        elif end in both and _is_bits(name):
            other, least = _by_bits(both, mine)
        elif end in both and name != "train_loss":
            other, least = _on_a_line(both, mine)
        if other is not None and other > value + least:
            yield Witness(quantity, other, WitnessKind.PROGRAM, source)


def _by_perplexity(
    name: str,
    found: Mapping[int, float],
    losses: Mapping[int, float],
    training: Mapping[int, float],
) -> tuple[float | None, float]:
    """The loss that a perplexity makes, and by how much it may be higher: some programs take a mean
    of perplexities, and some count in bits. A name that does not say of what it is may be that of
    the training."""
    end = max(found)
    apart, base = min(
        (
            ({s: math.log(v, base) - losses[s] for s, v in found.items()}, base)
            for base in (math.e, 2.0)
        ),
        key=lambda item: statistics.median(map(abs, item[0].values())),
    )
    digits = _rounding(found) / found[end] / math.log(base)
    bare = not _OF_VALIDATION & set(words(name).split("_"))
    if (
        bare
        and end in training
        and abs(math.log(found[end], base) - training[end]) < _MOVES + digits
    ):
        return None, 0.0
    earlier = [apart[s] for s in sorted(apart) if s < end][-5:]
    other = losses[end] + apart[end]
    if len(earlier) < _LEAST_EARLIER:
        return other, _OF_A_MEAN + digits
    usual = statistics.median(earlier)
    strays = max(abs(x - usual) for x in earlier)
    return other, min(_OF_A_MEAN + digits, usual + _MOVES + digits + _STRAYS * strays)


def _on_a_line(
    found: Mapping[int, float], losses: Mapping[int, float]
) -> tuple[float | None, float]:
    """The loss by a number of any name that goes with it, up to the last validation, as nothing
    but the loss of the same text does: on a line over it, in nats or in bits where that begins at
    another place."""
    *earlier, end = sorted(found)
    x, y = [losses[s] for s in earlier], [found[s] for s in earlier]
    if len(earlier) < _LEAST_OF_ANY or max(x) < _FALLS * min(x):
        return None, 0.0
    slope, begin = statistics.linear_regression(x, y)
    rounding = 2 * _rounding(found) / found[end]
    off = max(abs(b / (begin + slope * a) - 1) for a, b in zip(x, y, strict=True))
    if slope <= 0 or off > _ON_A_LINE / 2 + rounding or rounding > _ON_A_LINE:
        return None, 0.0
    same = any(abs(slope * unit - 1) < _LEAST for unit in (1.0, math.log(2)))
    return (found[end] - (0.0 if same else begin)) / slope, 2 * (_LEAST + rounding) * losses[end]


def _by_bits(found: Mapping[int, float], losses: Mapping[int, float]) -> tuple[float | None, float]:
    """The loss that bits per byte make by what a nat of the same text has of them: before the last
    validation they are a line over the loss, which a constant moves and does not turn."""
    *earlier, end = sorted(found)
    x, y = [losses[s] for s in earlier], [found[s] for s in earlier]
    if len(earlier) < _LEAST_EARLIER or max(x) < _FALLS * min(x):
        return None, 0.0
    slope, begin = statistics.linear_regression(x, y)
    rounding = 2 * _rounding(found) / found[end]
    off = max(abs(b / (begin + slope * a) - 1) for a, b in zip(x, y, strict=True))
    if slope <= 0 or off > _ON_A_LINE + rounding:
        return None, 0.0
    return found[end] / slope, (_LEAST + rounding) * losses[end]


def _rounding(found: Mapping[int, float]) -> float:
    """Half of the last digit that a series is printed with."""
    return 0.5 * 10.0 ** -decimals(tuple(found.values()))


def bits_beside(
    bits: Series, losses: Series, loss: str, name: str, where: str
) -> Iterator[Witness]:
    """Bits per byte at the end by the loss of the same text: their factor is that of the text."""
    series = dict(losses)
    pairs = [(v, series[s]) for s, v in bits if series.get(s, 0) > 0 and v > 0]
    if len(pairs) < 2:
        return
    nats = pairs[-1][1]
    yield Witness("nats", nats, WitnessKind.PROGRAM, f"`{loss[:40]}` in {where}")
    # A token is one byte of text at the least.
    factor, (last, nats) = min(pairs[0][0] / pairs[0][1], 1 / math.log(2)), pairs[-1]
    if abs(factor * nats / last - 1) > _FACTOR:
        source = f"`{loss[:40]}` beside `{name[:40]}` in {where}"
        yield Witness("bpb", factor * nats, WitnessKind.PROGRAM, source)


def same_bits(bits: Series, others: Series, name: str, where: str) -> Iterator[Witness]:
    """Bits per byte of the same text under another name, if the last are higher."""
    ordered = sorted(p for p in bits if math.isfinite(p[1]))
    if not ordered:
        return
    (end, value), before = ordered[-1], ordered[-2][0] if len(ordered) > 1 else -1
    other = max(((s, v) for s, v in others if before < s <= end), default=None)
    if other is not None and other[1] > value * (1 + _SAME_BITS):
        source = f"`{plain(name, 40)}` in {where}"
        yield Witness("same_bpb", other[1], WitnessKind.PROGRAM, source)


def shares(readings: Mapping[str, Series], where: str) -> Iterator[Witness]:
    """A share of the peak that the run itself logs, as a fraction or in per cent.

    A step that is cut short makes one value of a fraction large. Small values with a few large ones
    may be either, and are not a witness.
    """
    for name, series in readings.items():
        if last_part(name) == "mfu":
            values = sorted(v for _, v in series)
            middle = values[len(values) // 2]
            if middle > _FRACTION or values[-1] <= _FRACTION:
                share = middle / 100 if middle > _FRACTION else middle
                source = f"`{plain(name, 40)}` in {where}"
                yield Witness("mfu", share, WitnessKind.PROGRAM, source)
