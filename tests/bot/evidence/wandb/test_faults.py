"""What goes wrong on W&B, and what it leads to: each fault ends in one of three answers.

`verified` where the fault passes, a finding of the submitter where it is theirs to mend, and
`unverifiable` where it is ours. In every case the key is nowhere: not in what is said, not in a
log, not in an exception, not in a file that the client leaves behind.
"""

from __future__ import annotations

import base64
import dataclasses as dc
import io
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bot.evidence.fetcher import Fetcher
from bot.evidence.links import RunRef
from bot.evidence.wandb.client import Client, Patience
from bot.evidence.wandb.errors import FetchError
from bot.evidence.wandb.online import WandbFetcher
from bot.model.verdict import Verdict
from bot.registry import Level, Status
from bot.render.terminal import to_json
from tests.bot.evidence.wandb.conftest import QUICK
from tests.bot.evidence.wandb.submissions import REFS, document, fill, judged
from tests.bot.evidence.wandb.training import KEYS
from tests.doubles.wandb import Fault, WandbDouble
from tests.printed import printed

pytestmark = pytest.mark.one_in(3)

FIRST = REFS[0]
VERIFIED, REJECTED = Status.VERIFIED, Status.REJECTED
OURS, SHORT, REVIEW = Status.UNVERIFIABLE, Status.NEEDS_RUNS, Status.NEEDS_REVIEW
UNAVAILABLE, NOT_FOUND = "evidence-unavailable", "run-not-found-or-private"


@dc.dataclass
class Case:
    """One row of the table: what goes wrong, and where it must end."""

    name: str
    status: Status
    rule: str | None
    spoil: Callable[[WandbDouble], None] = lambda server: None
    key: Callable[[WandbDouble], str | None] = lambda server: server.key
    links: Callable[[], dict[str, Any]] = document


def fault(*args: Any, **fields: Any) -> Callable[[WandbDouble], None]:
    """Inject one fault."""
    return lambda server: server.fail(Fault(*args, **fields))


def access(kind: str) -> Callable[[WandbDouble], None]:
    """Change who may read the project."""
    return lambda server: server.set_access("example-team", "nanogpt", kind)


def deleted(server: WandbDouble) -> None:
    del server.world.runs[FIRST[:]]


def not_a_number(server: WandbDouble) -> None:
    run = server.world.runs[FIRST[:]]
    rows = [row | ({"val_loss": float("nan")} if "val_loss" in row else {}) for row in run.rows]
    run.replace_history(rows)


def all_exported(server: WandbDouble) -> None:
    """The history of one run lies in a parquet file, as W&B exports it after a while."""
    run = server.world.runs[FIRST[:]]
    buffer = io.BytesIO()
    pd.DataFrame(run.rows).to_parquet(buffer)
    run.exports, run.live_from = [buffer.getvalue()], len(run.rows)


def export_refused(server: WandbDouble) -> None:
    all_exported(server)
    server.fail(Fault("GET parquet", status=403, anonymous=None))


def no_keys(server: WandbDouble) -> None:
    """`historyKeys` holds nulls, though there are rows."""
    server.world.runs[FIRST[:]].stated_keys = {"sets": None, "lastStep": None, "keys": None}


def null_counts(server: WandbDouble) -> None:
    run = server.world.runs[FIRST[:]]
    keys = run.history_keys() or {}
    run.stated_keys = keys | {"keys": dict.fromkeys(keys["keys"])}


def rewound(server: WandbDouble) -> None:
    """Steps 600 to 799 stand in the history twice: the run went back and tried again."""
    run = server.world.runs[FIRST[:]]
    again = [row | {"train_loss": row["train_loss"] + 0.1} for row in run.rows[600:800]]
    run.replace_history([*run.rows[:800], *again, *run.rows[800:]])


def state(word: str) -> Callable[[WandbDouble], None]:
    def change(server: WandbDouble) -> None:
        run = server.world.runs[FIRST[:]]
        run.state = word
        if word in ("running", "killed"):
            run.replace_history([row for row in run.rows if row["_step"] <= 970])

    return change


def other_gpu(server: WandbDouble) -> None:
    meta = {"gpu": "NVIDIA A100-SXM4-80GB", "gpu_count": 8}
    server.world.runs[FIRST[:]].files["wandb-metadata.json"] = json.dumps(meta).encode()


def strangers_link() -> dict[str, Any]:
    return document([RunRef("nobody-at-all", "nanogpt", "r1"), *REFS[1:]])


def other_host() -> dict[str, Any]:
    value = document()
    value["runs"][0]["link"] = "https://wandb.ai.example.org/example-team/nanogpt/runs/r0"
    return value


def report_link() -> dict[str, Any]:
    value = document()
    value["runs"][0]["link"] = "https://wandb.ai/example-team/nanogpt/reports/Good--VmlldzoxMjM"
    return value


TABLE = [
    Case("nothing is wrong", VERIFIED, None),
    Case("401: the key is not known", OURS, UNAVAILABLE, key=lambda s: "z" * 40),
    Case("the key is revoked half-way (401)", OURS, UNAVAILABLE, fault("Runs", status=401)),
    Case("no key", OURS, UNAVAILABLE, key=lambda s: None),
    Case("a short key", OURS, UNAVAILABLE, key=lambda s: "short"),
    Case("a proxy's 403 on the project", OURS, UNAVAILABLE, fault("Runs", status=403)),
    Case("a proxy's 404 on the project", OURS, UNAVAILABLE, fault("Runs", status=404)),
    Case("a proxy's 400 on the project", OURS, UNAVAILABLE, fault("Runs", status=400)),
    Case(
        "429 once, with the time to wait",
        VERIFIED,
        None,
        fault("RunParquetHistory", status=429, headers=(("Retry-After", "1"),), times=1),
    ),
    Case("429 for ever", OURS, UNAVAILABLE, fault("Runs", status=429)),
    Case("500 for ever", OURS, UNAVAILABLE, fault("HistoryPage", status=500)),
    Case("502 once", VERIFIED, None, fault("HistoryPage", status=502, times=1)),
    Case("503 for ever", OURS, UNAVAILABLE, fault(None, status=503)),
    Case("503 while signing in, once", VERIFIED, None, fault("Viewer", status=503, times=1)),
    Case("a hang on a page", OURS, UNAVAILABLE, fault("HistoryPage", hang_s=9.0)),
    Case("a hang while signing in", OURS, UNAVAILABLE, fault("Viewer", hang_s=9.0)),
    Case("a GraphQL error", OURS, UNAVAILABLE, fault("Runs", errors=("internal error",))),
    Case("a GraphQL error on a page", OURS, UNAVAILABLE, fault("HistoryPage", errors=("oops",))),
    Case(
        "a GraphQL error that refuses",
        REJECTED,
        NOT_FOUND,
        fault("Runs", errors=("permission denied",)),
    ),
    Case("an answer that is no JSON, once", VERIFIED, None, fault("Runs", invalid=True, times=1)),
    Case("an answer that is no JSON", OURS, UNAVAILABLE, fault("HistoryPage", invalid=True)),
    Case("a private project", REJECTED, NOT_FOUND, access("private")),
    Case("a deleted run", REJECTED, NOT_FOUND, deleted),
    Case("an entity that does not exist", REJECTED, NOT_FOUND, links=strangers_link),
    Case("a project that only the key reads", REJECTED, "project-not-public", access("restricted")),
    Case(
        "nobody can say whether the project is public",
        OURS,
        UNAVAILABLE,
        fault("PublicRuns", status=502, anonymous=True),
    ),
    Case(
        "a proxy refuses to ask whether the project is public",
        OURS,
        UNAVAILABLE,
        fault("PublicRuns", status=403, anonymous=True),
    ),
    Case(
        "a GraphQL error when it is asked whether the project is public",
        OURS,
        UNAVAILABLE,
        fault("PublicRuns", errors=("internal error",), anonymous=True),
    ),
    Case(
        "W&B limits how often it is asked, and says until when",
        VERIFIED,
        None,
        fault(
            "PublicRuns",
            status=429,
            headers=(("RateLimit-Reset", "1"),),
            times=1,
            anonymous=True,
        ),
    ),
    Case(
        "the metadata are refused (403)",
        REVIEW,
        "hardware-differs-from-run",
        fault("GET file", status=403, anonymous=None),
    ),
    Case("an export is refused (403)", OURS, UNAVAILABLE, export_refused),
    Case("W&B says nothing of the keys", OURS, UNAVAILABLE, no_keys),
    Case("W&B says a key has no counts", VERIFIED, None, null_counts),
    Case("NaN as text", REJECTED, "metric-not-finite", not_a_number),
    Case("a sampled history", OURS, UNAVAILABLE, fault("HistoryPage", sample=10)),
    Case("a history exported to parquet", VERIFIED, None, all_exported),
    Case("a run that was rewound", REJECTED, "clock-not-monotonic", rewound),
    Case("a page that repeats", OURS, UNAVAILABLE, fault("HistoryPage", repeat=True)),
    Case(
        "a connection cut in a page, once",
        VERIFIED,
        None,
        fault("HistoryPage", cut=True, times=1),
    ),
    Case("a connection cut in every page", OURS, UNAVAILABLE, fault("HistoryPage", cut=True)),
    Case("the files cannot be listed", OURS, UNAVAILABLE, fault("RunFiles", status=500)),
    Case(
        "the metadata fail once",
        VERIFIED,
        None,
        fault("GET file", status=502, times=1, anonymous=None),
    ),
    Case("a run that is still going", REVIEW, "run-unfinished", state("running")),
    Case("a run killed at 97 %", REVIEW, "run-crashed", state("killed")),
    Case("a GPU that is not the track's", REJECTED, "hardware-differs-from-run", other_gpu),
    Case("a host that is not W&B", REJECTED, "host-not-allowed", links=other_host),
    Case("a report for a run", REJECTED, "link-not-a-run", links=report_link),
]


PATIENCE = (
    "503 for ever",
    "429 for ever",
    "the files cannot be listed",
    "a hang",
    "503 while signing in, once",
    "the metadata fail once",
)
"""These wait for seconds; `500 for ever` waits until no try is left, and `502 once` for the second,
in every run."""


def of_table(number: int, case: Case) -> Any:
    waits = case.name.startswith(PATIENCE)
    marks = pytest.mark.full("waits for each of its tries") if waits or number % 3 else ()
    return pytest.param(case, id=case.name, marks=marks)


@pytest.mark.parametrize("case", [of_table(*row) for row in enumerate(TABLE)])
def test_a_fault_ends_where_it_belongs(
    case: Case,
    server: WandbDouble,
    wandb_home: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    fill(server)
    case.spoil(server)
    key = case.key(server)
    fetcher = WandbFetcher(key, server=server.url, patience=QUICK)
    with caplog.at_level(logging.DEBUG):
        verdict = judged(fetcher, case.links())
    found = {f.rule for f in verdict.findings}
    assert (verdict.status, case.rule is None or case.rule in found) == (case.status, True), found
    if case.status is OURS:
        blocking = {f.rule for f in verdict.findings if f.level is Level.ERROR}
        assert blocking == {UNAVAILABLE}
    shown = capfd.readouterr()
    said = [shown.out, shown.err, caplog.text, repr(fetcher), *reports(verdict)]
    assert_absent(key, "\n".join(said), wandb_home)


def reports(verdict: Verdict) -> list[str]:
    """The verdict in all the words there are for it."""
    parts = printed(verdict)
    return [*map(str, parts), str(to_json([verdict]))]


def assert_absent(key: str | None, said: str, home: Path) -> None:
    """The key is neither in what was said nor in a file, as it is or as the client sends it."""
    if key is None or len(key) < 20:
        return
    for form in (key, base64.b64encode(f"api:{key}".encode()).decode()):
        assert form not in said
        for path in home.rglob("*"):
            if path.is_file():
                assert form.encode() not in path.read_bytes(), path


def test_the_rest_of_a_submission_is_still_checked(server: WandbDouble) -> None:
    fill(server)
    deleted(server)
    not_a_number_in = server.world.runs[REFS[1][:]]
    not_a_number_in.replace_history([{"_step": 0, "val_loss": float("nan")}])
    verdict = judged(WandbFetcher(server.key, server=server.url, patience=QUICK))
    assert {NOT_FOUND, "metric-not-finite"} <= {f.rule for f in verdict.findings}
    assert len(verdict.runs) == len(REFS) - 1


def test_the_key_is_in_no_exception(server: WandbDouble) -> None:
    server.fail(Fault(None, status=401, body=b"denied"))
    with pytest.raises(FetchError) as caught:
        Client(server.key, server.url, QUICK).open()
    chain: BaseException | None = caught.value
    while chain is not None:
        assert server.key not in repr(chain)
        chain = chain.__cause__ or chain.__context__


def test_one_slow_run_does_not_hold_the_others_up(server: WandbDouble) -> None:
    fill(server, REFS[:2])
    server.fail(Fault("RunFiles", hang_s=8.0, times=1))
    patience = Patience(request_s=30.0, tries=1, pause_s=0.1, total_s=2.0)
    fetcher: Fetcher = WandbFetcher(server.key, server=server.url, patience=patience)
    fetched = fetcher.fetch(REFS[:2], KEYS)
    assert sorted(item.run is None for item in fetched.values()) == [False, True]
