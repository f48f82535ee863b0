"""What the values of a program print as, by what their names and functions say: part of
`bot.evidence.program.texts`."""

from __future__ import annotations

from collections.abc import Sequence

from bot.evidence.program.pattern import MESSAGE, TEXT, VALUE, Hole, Piece, names_value

_ORDER = {"value": 0, "number": 0, "message": 1, "text": 2}
MEASURES = frozenset(
    "item mean sum max min abs round len int float bool read read_text readline stdout stderr "
    "decode check_output getoutput strftime isoformat now utcnow time perf_counter elapsed_time "
    "numel size dim shape tolist cpu detach norm std var median get_lr get_last_lr sqrt log exp "
    "next getpid gethostname get_rank get_world_size getattr type id hex uuid4 range enumerate "
    "set sorted list tuple dict vars asdict gather loss backward step sample memory_summary "
    "absolute resolve stem name getenv get divmod pow bytes".split()
)
"""Functions whose results name no quantity."""
MODULES = frozenset(
    "torch np numpy math time os sys datetime platform dist socket random subprocess pathlib Path "
    "uuid itertools triton jax jnp F nn glob inspect gc psutil dt".split()
)
EACH = frozenset(
    "range enumerate zip named_parameters parameters named_modules modules named_buffers "
    "named_children children state_dict glob rglob iterdir listdir param_groups product "
    "count arange linspace sorted reversed".split()
)
"""What a loop goes over that gives no text."""
NUMBERS = frozenset(
    "loss losses step steps time seconds ms lr norm acc accuracy bpb count total avg mean".split()
)
SAYS = frozenset("msg message messages line lines text texts report summary table string".split())
CHANGES = frozenset("strip rstrip lstrip lower upper title replace ljust rjust center".split())


def is_told(pieces: Sequence[Piece]) -> bool:
    return kind_of(pieces) != VALUE.kind


def kind_of(pieces: Sequence[Piece]) -> str:
    """The kind of a text where it is a part of another one."""
    if len(pieces) == 1 and isinstance(pieces[0], Hole):
        return pieces[0].kind if not pieces[0].number else VALUE.kind
    if any(p == TEXT for p in pieces) and not any(isinstance(p, str) and p.strip() for p in pieces):
        return TEXT.kind
    told = any(isinstance(p, str) and names_value(p) or p in (TEXT, MESSAGE) for p in pieces)
    return MESSAGE.kind if told else VALUE.kind


def highest(*kinds: str) -> str:
    return max(kinds, key=lambda k: _ORDER[k], default=VALUE.kind)
