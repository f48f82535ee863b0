"""Each rule of the family evidence: the case that triggers it, and the near miss."""

from __future__ import annotations

import dataclasses as dc
import functools as ft
from collections.abc import Callable
from typing import Any

import pytest

from bot.judge import judge
from bot.model.case import Case, RunEvidence
from bot.model.run import Hardware, Run, Validation
from bot.model.submission import Claim, RunSpec
from bot.model.verdict import finding
from bot.registry import Level, catalogue
from bot.rules import RULES
from tests.bot.rules import data_cases, witness_cases
from tests.bot.rules.run_cases import LINK, SMALL, TRACKS, a_case, a_run, found, results_file

OTHER_CODE = {"train.py": "b" * 64}


def read_problem(name: str) -> Case:
    """A case whose reader named the rule."""
    spec = RunSpec("wandb", LINK.format(9), pointer="/runs/0")
    problem = finding(name, "what the reader says", run=spec.target)
    return a_case((), evidence=(RunEvidence(spec, (), (problem,)),))


def with_run(**changes: Any) -> Case:
    return a_case([a_run(0, **changes), a_run(1)])


def claimed(metric: str, value: float) -> Case:
    claim = Claim(metric, value, pointer=f"/claims/{metric}")
    return a_case(submission={"claims": (claim,)})


def on_track(run: Run, **changes: Any) -> Case:
    return a_case([run, a_run(1)], track=dc.replace(SMALL, **changes))


MEAN = sum(a_run(n).validation[-1].loss for n in range(2)) / 2
SINGLE = TRACKS["single-gpu-fineweb"]
A100 = Hardware("NVIDIA A100-SXM4-80GB", 8)
H100 = Hardware("NVIDIA H100 80GB HBM3", 1)


def at_one_step(end: int) -> Case:
    """Two arms taken at step 1000 of 2000; the baseline's second run ends at step `end`."""
    runs = [a_run(n, finished=False, total_steps=2000) for n in range(4)]
    kept = tuple(v for v in runs[3].validation if v.step <= end)
    runs[3] = dc.replace(runs[3], validation=kept, last_step=end)
    arms = ("candidate", "candidate", "baseline", "baseline")
    return a_case(runs, arms=arms, track=TRACKS["nanogpt-optimization"],
                  submission={"claims": (Claim("steps", 1000.0),)})  # fmt: skip


def of_trainer(last: Any = (1000, 3.2, 60.0), **stated: Any) -> Case:
    """A results file of the trainer with its own history."""
    return a_case(
        results=results_file(
            {"eval/loss": 3.2, "train_config": {"num_train_steps": 1000}, **stated},
            validation=[[0, 10.8, 0.0], last if last is None else list(last)],
            step_time_s={"count": 1000, "mean": 0.06},
        )
    )


TRIGGERS: dict[str, list[Callable[[], Case]]] = {
    "link-not-a-run": [
        lambda: read_problem("link-not-a-run"),
        lambda: a_case(results=results_file({"wandb_run_link": "https://wandb.ai/e/p"})),
    ],
    "host-not-allowed": [
        lambda: read_problem("host-not-allowed"),
        lambda: a_case(results=results_file({"wandb_run_link": "https://w.example/e/p/runs/1"})),
    ],
    "run-not-found-or-private": [lambda: read_problem("run-not-found-or-private")],
    "project-not-public": [lambda: read_problem("project-not-public")],
    "evidence-unavailable": [lambda: read_problem("evidence-unavailable")],
    "evidence-changed": [lambda: read_problem("evidence-changed")],
    "run-unfinished": [
        lambda: with_run(finished=False, last_step=970),
        lambda: with_run(state="running", finished=None, total_steps=None),
        lambda: at_one_step(750),
    ],
    "run-crashed": [ft.partial(with_run, state=s) for s in ("crashed", "failed", "killed")],
    "history-gap": [lambda: with_run(problems=(("history-gap", "a hole"),))],
    "clock-not-monotonic": [lambda: with_run(problems=(("clock-not-monotonic", "it falls"),))],
    "summary-differs-from-history": [
        lambda: of_trainer(**{"eval/loss": 3.1}),
        lambda: of_trainer(training_time=50.0),
        lambda: of_trainer((1000, 3.2, 50.0)),
        lambda: of_trainer((500, 3.2, 30.0)),
        lambda: with_run(summary_values={"loss": 3.26}),
        lambda: with_run(summary_values={"time_s": 55.0}),
    ],
    "claim-differs-from-run": [
        lambda: claimed("loss", MEAN + 1e-4),
        lambda: claimed("training_time_s", 59.9),
        lambda: with_run(problems=(("claim-differs-from-run", "the log has another loss"),)),
        lambda: a_case(results=results_file({"eval/paloma/c4_en/bpb": 1.0})),
        lambda: a_case(results=results_file({"training_time": 59.0})),
    ],
    "hardware-differs-from-run": [
        lambda: a_case(
            [a_run(0, hardware=Hardware("NVIDIA XZ9000", 1))],
            track=TRACKS["fineweb-edu"],
            submission={"accelerator": "NVIDIA XZ9000", "accelerator_count": 1},
        ),
        lambda: a_case(
            [a_run(0, hardware=H100)], track=TRACKS["data-tiny"], submission={"accelerator": "cpu"}
        ),
        lambda: with_run(hardware=A100),
        lambda: with_run(hardware=Hardware()),
        lambda: with_run(hardware=Hardware("A device nobody knows", 8)),
        lambda: with_run(hardware=Hardware("NVIDIA H100 80GB HBM3", 4)),
        lambda: a_case(submission={"accelerator": "a100"}),
        lambda: a_case(submission={"accelerator_count": 4}),
        lambda: a_case(
            [a_run(0, hardware=H100), a_run(1, hardware=Hardware("NVIDIA A100-SXM4-80GB", 1))],
            track=SINGLE,
            arms=("candidate", "baseline"),
        ),
        lambda: a_case(
            [a_run(0, hardware=H100), a_run(1, hardware=Hardware(None, 1))],
            track=SINGLE,
            arms=("candidate", "baseline"),
        ),
    ],
    "code-differs-between-runs": [
        lambda: a_case([a_run(0), a_run(1, total_steps=1100)]),
        lambda: with_run(code_sha256=OTHER_CODE),
        lambda: a_case(
            [a_run(n, code_sha256={"a.py": "a" * 64, "b.py": f"{n}" * 64}) for n in range(2)]
        ),
        lambda: a_case(
            [
                a_run(0, total_steps=None),
                dc.replace(a_run(1, total_steps=None), validation=a_run(1).validation[:-1]),
            ]
        ),
    ],
    "code-differs-from-submission": [
        lambda: with_run(code_sha256=OTHER_CODE),
        lambda: a_case(
            submission={"code_path": None, "code_commit": "0" * 40},
            linked_code={"train.py": ("c" * 64,)},
        ),
    ],
    "code-missing": [
        lambda: a_case(submission={"code_path": "gone.py"}),
        lambda: a_case(
            [a_run(0, code_sha256={})],
            submission={"code_path": None},
            track=dc.replace(SMALL, code_required=True),
        ),
    ],
    "data-fingerprint-mismatch": [
        lambda: on_track(a_run(0), train_fingerprint="theirs"),
        lambda: a_case(
            (), results=results_file(), track=dc.replace(SMALL, validation_fingerprint="theirs")
        ),
        lambda: on_track(a_run(0, data_fingerprint="mine"), train_fingerprint="theirs"),
        lambda: on_track(
            a_run(0, config={"validation_fingerprint": "mine"}), validation_fingerprint="theirs"
        ),
        lambda: a_case(
            results=results_file(data_fingerprint="mine"),
            track=dc.replace(SMALL, train_fingerprint="theirs"),
        ),
    ],
    "train-validation-overlap": [
        lambda: a_case(results=results_file(data={"documents_in_both": 3})),
        lambda: a_case(results=results_file(data={"documents_in_both": 3.0})),
        lambda: a_case(
            results=results_file(data={"train_fingerprint": "a", "validation_fingerprint": "a"})
        ),
    ],
    "nonce-mismatch": [
        lambda: a_case(results=results_file(nonce="f" * 32)),
        lambda: a_case([a_run(0), a_run(20, nonce=a_run(0).nonce)]),
    ],
}

NEAR_MISSES: dict[str, list[Callable[[], Case]]] = {
    "link-not-a-run": [
        lambda: a_case(results=results_file({"wandb_run_link": f"{LINK.format(0)}?nw=nwuserx"})),
        lambda: a_case(results=results_file({"wandb_run_link": "https://w.example/e/p/runs/1"})),
    ],
    "host-not-allowed": [
        lambda: a_case(results=results_file({"wandb_run_link": "https://wandb.ai/e/p"})),
    ],
    "run-unfinished": [
        lambda: with_run(finished=None, total_steps=None),
        lambda: with_run(last_step=999),
        lambda: at_one_step(1000),
    ],
    "run-crashed": [lambda: with_run(state=None)],
    "history-gap": [lambda: with_run(problems=(("clock-not-monotonic", "it falls"),))],
    "clock-not-monotonic": [lambda: with_run(problems=(("history-gap", "a hole"),))],
    "summary-differs-from-history": [
        lambda: of_trainer(),
        lambda: of_trainer((1000, 3.20005, 60.05)),
        lambda: of_trainer(None),
        lambda: of_trainer((1000, "3.2"), training_time=60.1),
        lambda: with_run(summary_values={"loss": a_run(0).validation[-1].loss + 5e-5}),
        lambda: with_run(summary_values={"loss": 10.777}),  # the largest, as define_metric allows
        lambda: with_run(summary_values={"bpb": 1.0}),  # not in the history: nothing to compare
    ],
    "claim-differs-from-run": [
        lambda: claimed("loss", MEAN + 5e-5),
        lambda: claimed("training_time_s", 60.05),
        lambda: a_case(results=results_file({"training_time": 60.05})),
        lambda: a_case(results=results_file({"wandb_run_link": LINK.format(7), "bpb": 9.0})),
    ],
    "hardware-differs-from-run": [
        lambda: a_case(
            [a_run(0, hardware=Hardware("NVIDIA XZ9000 Laptop GPU", 1))],
            track=TRACKS["tutorial"],
            submission={"accelerator": "nvidia xz9000 laptop gpu", "accelerator_count": 1},
        ),
        lambda: a_case(
            [a_run(0, hardware=Hardware())],
            track=TRACKS["data-tiny"],
            submission={"accelerator": "cpu"},
        ),
        lambda: a_case(submission={"accelerator": "H100", "accelerator_count": 8}),
        lambda: a_case(
            [a_run(0, hardware=H100), a_run(1, hardware=H100)],
            track=SINGLE,
            arms=("candidate", "baseline"),
        ),
        lambda: a_case(
            [a_run(0, hardware=Hardware(None, 1)), a_run(1, hardware=H100)], track=SINGLE
        ),
    ],
    "code-differs-between-runs": [
        lambda: a_case([a_run(0), a_run(1, total_steps=None)]),
        lambda: a_case([a_run(n, total_steps=None, finished=None) for n in range(2)]),
        lambda: a_case(
            [
                a_run(n, total_steps=None, code_sha256=code)
                for n, code in enumerate(
                    ({"a.py": "a" * 64, "b.py": "b" * 64}, {"b.py": "b" * 64, "c.py": "c" * 64})
                )
            ]
        ),
        lambda: a_case(
            [
                a_run(0, code_sha256={"x/train.py": "a" * 64}),
                a_run(1, code_sha256={"source": "a" * 64}),
            ]
        ),
        lambda: a_case([a_run(0), a_run(1, total_steps=9)], arms=("candidate", "baseline")),
        lambda: a_case(
            [a_run(0), a_run(1, code_sha256=OTHER_CODE)], arms=("candidate", "baseline")
        ),
        lambda: with_run(code_sha256={}),
    ],
    "code-differs-from-submission": [
        lambda: a_case(files={"train.py": b"\xef\xbb\xbfimport this  \r\n\r\n"}),
        lambda: with_run(code_sha256={}),
        lambda: a_case([a_run(0, code_sha256=OTHER_CODE)], arms=("baseline",)),
        lambda: with_run(code_sha256={"reference_trainer": "d" * 64}),
    ],
    "code-missing": [
        lambda: a_case(track=dc.replace(SMALL, code_required=True)),
        lambda: a_case(submission={"code_path": None}, track=dc.replace(SMALL, code_required=True)),
        lambda: a_case(submission={"code_path": "code"}, files={"code/main.py": b"1"}),
    ],
    "data-fingerprint-mismatch": [
        lambda: a_case(
            [a_run(n, data_fingerprint="theirs") for n in range(2)],
            track=dc.replace(SMALL, train_fingerprint="theirs"),
        ),
        lambda: a_case(
            (),
            results=results_file(data={"train_fingerprint": "theirs"}),
            track=dc.replace(SMALL, train_fingerprint="theirs"),
        ),
        lambda: on_track(a_run(0, data_fingerprint="mine"), train_fingerprint=None),
    ],
    "train-validation-overlap": [
        lambda: a_case(results=results_file(data={"documents_in_both": 0})),
        lambda: a_case(
            results=results_file(data={"train_fingerprint": "a", "validation_fingerprint": "b"})
        ),
    ],
    "nonce-mismatch": [
        lambda: a_case(results=results_file(nonce=a_run(0).nonce)),
        lambda: a_case([a_run(0), a_run(0, source="log", file="a.log")]),
        lambda: a_case([a_run(0, nonce=None), a_run(20, nonce=None)]),
    ],
}
TRIGGERS |= witness_cases.TRIGGERS
NEAR_MISSES |= witness_cases.NEAR_MISSES
for mine, more in (
    (TRIGGERS, data_cases.TRIGGERS),
    (NEAR_MISSES, data_cases.NEAR_MISSES),
):
    for rule, cases in more.items():
        mine[rule] = [*mine.get(rule, ()), *cases]
FAMILY = [name for name, entry in catalogue().items() if entry["family"] == "evidence"]


def table(rows: dict[str, list[Callable[[], Case]]]) -> list[Any]:
    return [
        pytest.param(name, make, id=f"{name}-{n}")
        for name, makers in rows.items()
        for n, make in enumerate(makers)
    ]


@pytest.mark.parametrize(("name", "make"), table(TRIGGERS))
def test_it_triggers(name: str, make: Callable[[], Case]) -> None:
    findings = found(name, make())
    assert findings
    assert {f.rule for f in findings} == {name}
    assert all(f.message and f.level is not None for f in findings)


@pytest.mark.parametrize(("name", "make"), table(NEAR_MISSES))
def test_a_near_miss_does_not(name: str, make: Callable[[], Case]) -> None:
    assert found(name, make()) == ()


@pytest.mark.parametrize("name", FAMILY)
def test_a_good_case_meets_every_rule_and_every_rule_has_a_page(name: str) -> None:
    assert found(name, a_case()) == ()
    page = RULES[name].__doc__ or ""
    assert len(page.split("\n\n")) >= 2
    elsewhere = {"witnesses-disagree", "clock-implausible", "uncorroborated"}
    assert name in TRIGGERS or name in elsewhere


def test_a_claim_names_both_numbers_and_their_ratio() -> None:
    (item,) = found("claim-differs-from-run", claimed("loss", 3.2))
    assert (item.claimed, item.expected, item.level) == (3.2, pytest.approx(MEAN), Level.ERROR)
    assert item.ratio == pytest.approx(3.2 / MEAN)
    assert (item.file, item.pointer) == (
        "submissions/nanogpt-small/example/submission.json",
        "/claims/loss",
    )


def test_an_unfinished_run_is_named_with_where_it_stopped() -> None:
    (item,) = found("run-unfinished", with_run(finished=False, last_step=970))
    assert (item.run, item.message) == (
        LINK.format(0),
        "the run reached step 970 of 1000, so it does not count (r0)",
    )


def test_the_table_of_runs_says_what_the_rule_says() -> None:
    at_step = [[run.finished for run in judge(at_one_step(n)).runs] for n in (1000, 750)]
    assert at_step == [[True] * 4, [True, True, False, False]]
    by_target = dc.replace(SMALL, finish="target")
    reached = a_run(0, finished=False, last_step=970)
    assert judge(a_case([reached], track=by_target)).runs[0].finished is True
    assert judge(a_case([reached])).runs[0].finished is False


def test_a_run_at_its_end_that_is_called_running_counts() -> None:
    (item,) = found("run-unfinished", with_run(state="running"))
    assert item.message == (
        "the run has reached its last step (1000), but W&B still shows it as running; it counts "
        "(r0)"
    )
    (item,) = found("run-unfinished", with_run(state="running", finished=False, last_step=970))
    assert "is still running, so it does not count (r0)" in item.message


@pytest.mark.parametrize(("finished", "said"), [(True, "it counts"), (False, "it does not count")])
def test_a_crashed_run_says_whether_it_counts(finished: bool, said: str) -> None:
    step = 1000 if finished else 970
    (item,) = found("run-crashed", with_run(state="crashed", finished=finished, last_step=step))
    assert item.message == f'the state of the run is "crashed"; {said} (r0)'


def test_what_a_reader_said_is_not_said_twice() -> None:
    run = a_run(0, problems=(("history-gap", "a hole"),))
    told = finding("history-gap", "a hole", run=run.file)
    spec = RunSpec("wandb", run.file, pointer="/runs/0")
    case = a_case([run], evidence=(RunEvidence(spec, (run,), (told,)),))
    assert len(found("history-gap", case)) == 1


def test_two_points_at_one_step_are_no_nonce_of_two_runs() -> None:
    same = a_run(0, validation=(Validation(1000, 3.277, 60.0),))
    assert found("nonce-mismatch", a_case([a_run(0), same])) == ()


def test_what_is_true_of_many_runs_is_said_once() -> None:
    runs = [a_run(n, finished=False, last_step=970) for n in range(12)]
    (item,) = found("run-unfinished", a_case(runs))
    assert item.message.startswith("each of the 12 runs reached step 970 of 1000")
    assert item.message.endswith("it does not count (r0 and 11 more runs)")


@pytest.mark.parametrize(
    ("metric", "fix"),
    [
        ("los", 'claim "loss", if that is what it is'),
        ("training_times", 'claim "training_time_s", if that is what it is'),
        ("happiness", "claim loss or training_time_s, or remove the claim"),
        ("mfu", "remove the claim"),
    ],
)
def test_a_claim_that_nothing_is_compared_with_is_noted(metric: str, fix: str) -> None:
    (item,) = found("claim-differs-from-run", claimed(metric, 3.0))
    assert item.level is Level.NOTE and item.fix == fix and "not compared" in item.message


@pytest.mark.parametrize(
    ("field", "metric", "shown", "within", "beyond"),
    [
        ("total_tokens", "tokens", 1e9, 0.0019, 0.0021),
        ("total_tokens", "tokens", 1e9, -0.0019, -0.0021),
        ("eval/paloma/c4_en/bpb", "bpb", 1.01, 5.5e-5 / 1.01, 6.5e-5 / 1.01),
        ("training_time", "training_time_s", 60.0, 0.055 / 60, 0.065 / 60),
    ],
)
def test_how_far_a_results_file_may_be_from_the_history(
    field: str, metric: str, shown: float, within: float, beyond: float
) -> None:
    """0.2 % of a number of tokens, 6e-5 of a loss, 0.06 s: no more, and no less."""
    for off, differs in ((within, False), (beyond, True)):
        run = a_run(0)
        run = dc.replace(run, metrics={**run.metrics, metric: shown})
        case = a_case([run, a_run(1)], results=results_file({field: shown * (1 + off)}))
        named = [f for f in found("claim-differs-from-run", case) if f.message.startswith(metric)]
        assert bool(named) is differs, (off, named)
