"""A W&B for each test, and a home folder in which the real client can leave what it likes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import wandb

from bot.evidence.wandb.client import Patience
from bot.evidence.wandb.online import WandbFetcher
from tests.doubles.wandb import WandbDouble

QUICK = Patience(request_s=2.0, tries=3, pause_s=0.1, total_s=20.0)


@pytest.fixture(scope="session")
def wandb_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the client keeps its files; its service lives as long as the test process."""
    home = tmp_path_factory.mktemp("wandb-home")
    patch = pytest.MonkeyPatch()
    for name in ("HOME", "WANDB_CACHE_DIR", "WANDB_DATA_DIR", "WANDB_CONFIG_DIR", "WANDB_DIR"):
        patch.setenv(name, str(home))
    patch.setenv("NETRC", str(home / "netrc"))
    patch.setenv("WANDB_SILENT", "true")
    patch.setenv("WANDB_ERROR_REPORTING", "false")
    for name in ("WANDB_API_KEY", "WANDB_BASE_URL"):
        patch.delenv(name, raising=False)
    # The service takes seconds to start on a busy machine; the tests' own waits are shorter.
    wandb.setup().ensure_service()
    yield home
    patch.undo()


@pytest.fixture
def server(wandb_home: Path) -> Iterator[WandbDouble]:
    """A server of its own; at the end every query must have been known and fully answered."""
    with WandbDouble() as double:
        yield double
    assert double.unknown == []
    assert double.missing == []


@pytest.fixture
def fetcher(server: WandbDouble) -> WandbFetcher:
    """A fetcher with the server's key, without a cache, that does not wait long."""
    return WandbFetcher(server.key, server=server.url, patience=QUICK)
