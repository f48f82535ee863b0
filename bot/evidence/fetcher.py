"""What reads linked runs, whatever it asks: the one way of `bot.evidence` to W&B."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from bot.evidence.links import RunRef
from bot.model.case import Unlisted
from bot.model.run import Run
from bot.model.track import Keys

if TYPE_CHECKING:
    from bot.evidence.wandb.online import Fetched


class Fetcher(Protocol):
    """What reads linked runs: `bot.evidence.wandb.online.WandbFetcher`."""

    def fetch(
        self, refs: Sequence[RunRef], keys: Keys, *, code: str | None = None
    ) -> Mapping[RunRef, Fetched]:
        """Every run of `refs`, or why there is none. Never raises."""

    def unlisted(self, listed: Mapping[RunRef, Run], keys: Keys) -> tuple[Unlisted, ...]:
        """Runs of the same configuration in the same projects that are not listed."""
