"""How long a whole job took by what a configuration or a file states of it.

    stated({"started_at": "2026-11-30T07:00Z", "finished_at": "2026-11-30T09:00Z"}, "the file")
    stated({"total_wall_time_s": 7200}, "the file")

Each is one `Witness` of `whole_time_s`. Limits and plans are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bot.evidence.log.whole import Moment, moment_at, passed
from bot.evidence.second import kind_of, last_part, words
from bot.model.run import Witness, WitnessKind
from bot.model.values import finite
from bot.render.untrusted import plain

_BEGIN = re.compile(r"^(?:(?:job|run|train(?:ing)?|wall|process)_)?(?:start|started|begin|began)"
                    r"(?:_(?:time|at|date|ts|timestamp|utc|on))*$")  # fmt: skip
_END = re.compile(r"^(?:(?:job|run|train(?:ing)?|wall|process)_)?"
                  r"(?:end|ended|finish|finished|stop|stopped|completed)"
                  r"(?:_(?:time|at|date|ts|timestamp|utc|on))*$")  # fmt: skip
_NO_TIME = frozenset(
    "max limit budget cap timeout target estimated expected allowed requested warmup eval val load "
    "compile baseline record wandb e".split()
)
_MOST = 400


def stated(settings: Mapping[str, object], where: str) -> Iterator[Witness]:
    """The time of the whole job, by its begin and end or by a clock of a known unit."""
    begins: list[tuple[str, Moment]] = []
    ends: list[tuple[str, Moment]] = []
    for name, value in list(settings.items())[:_MOST]:
        last = last_part(name)
        if set(words(name).split("_")) & _NO_TIME:
            continue
        if _BEGIN.match(last) or _END.match(last):
            moment = moment_at(value)
            if moment is not None:
                (begins if _BEGIN.match(last) else ends).append((name, moment))
            continue
        known = kind_of(last)
        if known is not None and known.kind == "clock" and known.unit and finite(value):
            source = f"`{plain(name, 40)}` in {where}"
            yield Witness("whole_time_s", value * known.unit, WitnessKind.PROGRAM, source)
    if len(begins) == 1 and len(ends) == 1:
        (begin, first), (end, later) = begins[0], ends[0]
        seconds = passed(first, later)
        if seconds is not None and seconds > 0:
            source = f"`{plain(begin, 40)}` to `{plain(end, 40)}` in {where}"
            yield Witness("whole_time_s", seconds, WitnessKind.PROGRAM, source)
