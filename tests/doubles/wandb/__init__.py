"""A W&B for tests: an HTTP server that the real `wandb` client writes to and reads from.

    with WandbDouble() as server:
        server.add_run("example-team", "nanogpt", "r1", history=[...], config={...})
        server.fail(Fault("HistoryPage", status=502, times=1))
        api = wandb.Api(overrides={"base_url": server.url}, api_key=server.key)

`server.requests` lists every request with its operation and run; `server.unknown` lists the
operations that the double does not know and `server.missing` the fields of a query that it did not
answer: both must be empty at the end of a test.
"""

from tests.doubles.wandb.faults import Fault
from tests.doubles.wandb.server import WandbDouble
from tests.doubles.wandb.world import StoredRun, World

__all__ = ["Fault", "StoredRun", "WandbDouble", "World"]
