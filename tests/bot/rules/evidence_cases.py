"""Cases that trigger the rules on evidence, and near misses."""

from __future__ import annotations

import dataclasses as dc
import functools as ft
from collections.abc import Callable
from typing import Any

from bot.model.case import Case, RunEvidence
from bot.model.run import Hardware, Run, Stated
from bot.model.submission import Claim, RunSpec
from bot.model.verdict import finding
from tests.bot.rules import data_cases, witness_cases
from tests.bot.rules.run_cases import LINK, SMALL, TRACKS, a_case, a_run, results_file

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
    "code-unusual": [
        lambda: a_case(files={"main.py": b"val_loss = 0.99 * val_loss"}),
        lambda: with_run(program=(Stated("warm", 3, "torch.load(weights)"),)),
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
    "code-unusual": [
        lambda: a_case(files={"main.py": b"val_loss = val_loss / steps"}),
        lambda: a_case(files={"main.txt": b"val_loss = 0.99 * val_loss"}),
        lambda: with_run(program=(Stated("plan", 3, "steps = 5", 5.0, "steps"),)),
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
