"""A look: one judgement of a growing submission, as it is remembered."""

from __future__ import annotations

import dataclasses as dc


@dc.dataclass(frozen=True, slots=True)
class Look:
    """`runs` runs of one point were judged; `digest` says which, by their losses."""

    point: str
    runs: int
    digest: str
