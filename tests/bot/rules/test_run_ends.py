"""Runs that stopped early or crashed, and what was edited or left out after they were shown."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.compute.duplicates import trace_of
from bot.model.case import Case, Neighbour
from bot.model.run import Run, RunRecord, Validation
from bot.model.trace import Trace
from bot.model.verdict import Verdict
from bot.registry import Grade, Status
from tests.bot.rules.run_cases import LINK, PATH, a_case, a_run, found, results_file

RUN_ON = "run it to its end; if you cannot, keep it listed and say why in the README"
WAIT = "wait until the run has finished, then comment `/verify`"
NAN = ", where its loss is not a finite number"
SHOWS = "the run has reached its last step (1000), but W&B still shows it as "


@pytest.mark.parametrize(
    ("fields", "said", "fix"),
    [
        ({}, None, ""),
        ({"finished": None, "total_steps": None}, None, ""),
        ({"finished": False, "last_step": 970},
         "the run reached step 970 of 1000, so it does not count", RUN_ON),
        ({"finished": False, "last_step": 999},
         "the run reached step 999 of 1000, so it does not count", RUN_ON),
        ({"finished": False, "last_step": 1000},
         f"the run reached step 1000 of 1000{NAN}, so it does not count", RUN_ON),
        ({"finished": False, "last_step": 1001},
         f"the run reached step 1001 of 1000{NAN}, so it does not count", RUN_ON),
        ({"finished": False, "last_step": None},
         f"the run reached step 1000 of 1000{NAN}, so it does not count", RUN_ON),
        ({"finished": False, "last_step": None, "validation": ()},
         "the run reached no step of 1000, so it does not count", RUN_ON),
        ({"finished": False, "last_step": 970, "total_steps": None},
         "the run reached step 970, so it does not count", RUN_ON),
        ({"finished": False, "last_step": 970, "state": "pending"},
         "the run reached step 970 of 1000 and is still running, so it does not count", WAIT),
        ({"finished": False, "last_step": 1001, "state": "running"},
         "the run reached step 1001 of 1000 and is still running, so it does not count", WAIT),
        ({"finished": True, "state": "preempting"}, f"{SHOWS}preempting; it counts", WAIT),
        ({"finished": True, "state": "running", "last_step": None},
         f"{SHOWS}running; it counts", WAIT),
        ({"finished": None, "total_steps": None, "state": "running"},
         "the run reached step 1000 and is still running, so it does not count", WAIT),
        ({"finished": False, "last_step": None, "validation": (), "total_steps": None,
          "state": "running"}, "the run reached no step and is still running, so it does not count",
         WAIT),
        *(({"finished": False, "last_step": 970, "state": state}, None, "")
          for state in ("crashed", "failed", "killed", "preempted")),
    ],
)  # fmt: skip
def test_how_far_a_run_came(fields: dict[str, Any], said: str | None, fix: str) -> None:
    items = found("run-unfinished", a_case([a_run(0, **fields), a_run(1)]))
    last = fields.get("last_step", 1000)
    last = 1000 if last is None and "validation" not in fields else last
    wanted = (f"{said} (r0)", fields.get("total_steps", 1000), last, fix)
    assert [(f.message, f.claimed, f.expected, f.fix) for f in items] == [wanted] * (
        said is not None
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"state": "finished"}, None),
        ({"state": "crashed"}, '"crashed"; it reached its end, so it counts'),
        ({"state": "preempted", "last_step": 1001},
         '"preempted"; it reached its end, so it counts'),
        ({"state": "failed", "last_step": 999, "finished": False},
         '"failed"; it reached step 999 of 1000, so it does not count'),
        ({"state": "killed", "last_step": None}, '"killed"; it reached its end, so it counts'),
        ({"state": "killed", "last_step": None, "validation": (), "finished": False},
         '"killed"; it reached no step of 1000, so it does not count'),
        ({"state": "killed", "last_step": 970, "total_steps": None, "finished": False},
         '"killed"; it reached step 970, so it does not count'),
        ({"state": "killed", "total_steps": 0, "last_step": None, "validation": (),
          "finished": False}, '"killed"; it reached no step, so it does not count'),
    ],
)  # fmt: skip
def test_how_far_a_run_that_crashed_came(fields: dict[str, Any], said: str | None) -> None:
    items = found("run-crashed", a_case([a_run(0, **fields), a_run(1)]))
    wanted = [(f"W&B calls the run {said} (r0)", fields["state"], "finished")]
    assert [(f.message, f.claimed, f.expected) for f in items] == wanted * (said is not None)


# ---- a summary that was edited ------------------------------------------------------------------

CURVE = (Validation(0, 9.0, 0.0), Validation(500, 3.0, 40.0), Validation(1000, 3.2, 60.0))
EARLY = (Validation(0, 9.0, None), Validation(500, 3.0, 40.0))


@pytest.mark.parametrize(
    ("name", "shown", "fields", "ends"),
    [
        ("loss", 3.2, {}, None),
        ("loss", 3.20005, {}, None),
        ("loss", 3.20007, {}, 3.2),
        ("loss", 3.0, {}, None),  # the best of them
        ("loss", 9.0, {}, None),  # and the worst
        ("loss", 5.0, {}, 3.2),
        ("time_s", 60.05, {}, None),
        ("time_s", 60.07, {}, 60.0),
        ("time_s", 40.0, {}, 60.0),
        ("time_s", 40.0, {"validation": EARLY}, None),
        ("time_s", 41.0, {"validation": EARLY}, 40.0),
        ("time_s", 60.0, {"history": {"time_s": ((0, 0.0), (1000, 70.0))}}, 70.0),
        ("time_s", 70.0, {"history": {"time_s": ((0, 0.0), (1000, 70.0))}}, None),
        ("time_s", 60.0, {"history": {"time_s": ()}}, None),
        ("bpb", 1.0, {"history": {"bpb": ((0, 2.0), (1000, 1.1))}}, 1.1),
        ("bpb", 1.1, {"history": {"bpb": ((0, 2.0), (1000, 1.1))}}, None),
        ("bpb", 1.0, {}, None),
    ],
)
def test_a_summary_ends_as_its_history(
    name: str, shown: float, fields: dict[str, Any], ends: float | None
) -> None:
    run = a_run(0, **{"validation": CURVE, "summary_values": {name: shown}, **fields})
    items = found("summary-differs-from-history", a_case([run]))
    assert [(f.claimed, f.expected) for f in items] == [(shown, ends)] * (ends is not None)
    for item in items:
        assert item.ratio == pytest.approx(shown / float(ends or 0))
        assert f"says {name} = " in item.message


# ---- what was left out afterwards ---------------------------------------------------------------


def recorded(run: Run, **changes: Any) -> list[tuple[str, Any, Any]]:
    """What is said of a run of a merged entry, where this of it was recorded otherwise."""
    record = dc.replace(run.record(), **changes)
    return after(run, record)


def after(run: Run, record: RunRecord, **submission: Any) -> list[tuple[str, Any, Any]]:
    verdict = Verdict(PATH, "nanogpt-small", Status.VERIFIED, Grade.LOG, (), (), runs=(record,))
    case = a_case([run], submission=submission, recorded=verdict)
    items = found("evidence-changed", case)
    assert all(f.file == run.file for f in items)
    return [(f.message.partition(" ")[0], f.claimed, f.expected) for f in items]


@pytest.mark.parametrize("source", ["log", "wandb-offline", "results"])
def test_a_file_shows_what_was_recorded_at_the_merge(source: str) -> None:
    run = a_run(0, source=source, file=f"{PATH}/a.log")
    assert recorded(run) == [] and recorded(run, seed=99) == []
    assert recorded(run, loss=3.0) == [("loss", 3.277, 3.0)]
    assert recorded(run, step=900, loss=3.0) == [("step", 1000, 900)]
    assert recorded(run, time_s=50.0) == [("time_s", 60.0, 50.0)]
    assert recorded(run, loss=3.0, index=1) == [] and recorded(run, loss=3.0, file="b.log") == []
    assert after(run, dc.replace(run.record(), loss=3.0), withdrawn="it was wrong") == []
    assert not found("evidence-changed", a_case([run]))
    linked = dc.replace(run, source="wandb")  # of which the bot keeps a snapshot
    assert recorded(linked, loss=3.0) == []


def kept(runs: list[Run], before: list[Trace], *keys: str, merged: bool = False) -> list[str]:
    entry = Neighbour(PATH, "nanogpt-small", None, frozenset(keys), traces=tuple(before))
    case: Case = a_case(runs, before=entry, merged=merged)
    items = found("evidence-changed", case)
    assert [f.claimed for f in items] == [int(f.message.partition(" ")[0]) for f in items]
    assert all(f.file == PATH for f in items)
    return [f.message for f in items]


ONE = "1 run of the entry on the board is no longer among its runs"
TWO = "2 runs of the entry on the board are no longer among its runs"
MINE, OTHER = "wandb:example-team/nanogpt/r0", "wandb:example-team/nanogpt/r9"


def test_a_change_of_an_entry_keeps_its_runs() -> None:
    runs = [a_run(0), a_run(1)]
    first, second, third = (trace_of(a_run(n)) for n in (0, 1, 30))
    assert kept(runs, [first, second]) == [] and kept(runs, [first]) == []
    assert kept(runs, [first, third]) == [ONE] and kept(runs[1:], [first, third]) == [TWO]
    assert kept(runs, [first, third], merged=True) == []
    assert kept(runs, [Trace.of(())]) == []  # of which nothing was known
    assert kept(runs, [], MINE) == [] and kept(runs, [], OTHER) == [ONE]
    assert kept(runs, [third], OTHER) == [TWO]
    assert kept(runs, [], "metrics:" + "0" * 64) == []
    assert not found("evidence-changed", a_case(runs))


def test_a_link_that_leads_to_no_run_is_quoted() -> None:
    for rule, link in (("link-not-a-run", "https://wandb.ai/e/p"),
                       ("host-not-allowed", "https://w.example/e/p/runs/1")):  # fmt: skip
        case = a_case((), results=results_file({"wandb_run_link": link}))
        (item,) = found(rule, case)
        assert item.message.startswith("`wandb_run_link`: ") and item.claimed == link
        assert (item.pointer or "").endswith("/wandb_run_link") and item.line is not None
        assert not found(rule, a_case((), results=results_file({"wandb_run_link": None})))
        assert not found(rule, a_case((), results=results_file({"wandb_run_link": LINK.format(0)})))
