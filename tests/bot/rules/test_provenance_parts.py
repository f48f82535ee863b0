"""What the rules on the origin of a result decide, and what they say, case by case."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.compute.duplicates import claims_key, value_keys
from bot.evidence.neighbours import log_keys
from bot.model.case import Case, Neighbour, PullRequest, RunEvidence
from bot.model.run import Run, Validation
from bot.model.submission import Contributor, Folder, RunSpec
from bot.model.trace import Trace
from bot.parse.json_file import read_json
from bot.registry import Level
from tests.bot.rules.run_cases import LINK, PATH, a_case, a_run, found, results_file

THEIRS = "submissions/nanogpt-small/theirs"
Points = tuple[Validation, ...]


def request(author: str = "example-user", *paths: str) -> PullRequest:
    return PullRequest(1, author, changed_paths=paths)


# ---- Runs of another entry ----------------------------------------------------------------------


def series(start: float, strays: int = 7) -> Points:
    """Twelve validations that fall from `start`, with a clock that strays in a way of its own."""
    return tuple(
        Validation(100 * n, start - 0.1237 * n, 6.0 * n + 0.0137 * (n * n * strays % 11))
        for n in range(1, 13)
    )


def another_clock(points: Points) -> Points:
    return tuple(p._replace(time_s=p.time_s * (1.1 + 0.01 * (p.step % 700) / 100))
                 for p in points if p.time_s)  # fmt: skip


def text(points: Points) -> bytes:
    return "".join(
        f"step:{p.step}/1200 val_loss:{p.loss:.4f} train_time:{p.time_s:.4f}s\n" for p in points
    ).encode()


ONE, TWO, THREE = series(5.1), series(4.7, 3), series(4.9, 5)


def logs(*runs: Points, spec: str = "log", arm: str = "candidate", **about: Any) -> Case:
    """An entry of logs a.log, b.log, ..."""
    names = [f"{letter}.log" for letter, _ in zip("abc", runs, strict=False)]
    specs = [RunSpec(spec, n, arm, pointer=f"/runs/{i}") for i, n in enumerate(names)]
    fields: dict[str, Any] = {"source": "log", "run_id": None, "nonce": None} | about
    made = [
        a_run(file=f"{PATH}/{name}", validation=points, **fields)
        for name, points in zip(names, runs, strict=True)
    ]
    return a_case(
        (),
        files=dict(zip(names, map(text, runs), strict=True)),
        submission={"runs": tuple(specs)},
        evidence=tuple(RunEvidence(s, (r,)) for s, r in zip(specs, made, strict=True)),
    )


def beside(case: Case, *traces: Points, keys: frozenset[str] = frozenset(), **about: Any) -> Case:
    fields = {"author": "somebody", "traces": tuple(map(Trace.of, traces))} | about
    neighbour = Neighbour(THEIRS, "nanogpt-small", run_keys=keys, **fields)
    return dc.replace(case, context=dc.replace(case.context, neighbours=(neighbour,)))


def keys_of(*runs: Points) -> frozenset[str]:
    return frozenset(key for points in runs for key in log_keys(text(points)))


NONCE = "f" * 32
ALSO = f"also in {THEIRS}"
LINKED = a_case([a_run(0)])


@pytest.mark.parametrize(
    ("case", "told"),
    [
        (beside(logs(ONE), TWO, keys=keys_of(TWO)), None),
        (beside(logs(ONE), ONE), f"a.log is {ALSO}"),
        (beside(logs(ONE, TWO), ONE), f"a.log is {ALSO}"),
        (beside(logs(ONE, TWO), ONE, TWO), f"a.log and 1 more run are {ALSO}"),
        (beside(logs(ONE, TWO, THREE), ONE, TWO, THREE), f"a.log and 2 more runs are {ALSO}"),
        # A log's key alone names the file that has it.
        (beside(logs(ONE, TWO), keys=keys_of(TWO)), f"b.log is {ALSO}"),
        (beside(logs(ONE, TWO, spec="results"), keys=keys_of(TWO)), None),
        # Losses to the last digit on another clock: `too_alike` speaks of them, but if another
        # run was copied, it is told with it.
        (beside(logs(ONE), another_clock(ONE), keys=keys_of(ONE)), None),
        (beside(logs(ONE), another_clock(ONE), ONE), f"a.log is {ALSO}"),
        (beside(logs(ONE, TWO), another_clock(ONE), keys=keys_of(ONE, TWO)), f"b.log is {ALSO}"),
        (
            beside(logs(ONE, TWO), another_clock(ONE), TWO, keys=keys_of(ONE)),
            f"a.log and 1 more run are {ALSO}",
        ),
        (
            beside(logs(ONE, nonce=NONCE), another_clock(ONE), keys=frozenset({f"nonce:{NONCE}"})),
            f"a.log is {ALSO}",
        ),
        # Only candidates are compared.
        (beside(logs(ONE, arm="baseline"), ONE, keys=keys_of(ONE)), None),
        (beside(logs(ONE, arm="baseline", nonce=NONCE), keys=frozenset({f"nonce:{NONCE}"})), None),
        # A run on W&B is named by its address.
        (
            beside(LINKED, keys=frozenset({"wandb:example-team/nanogpt/r0"})),
            f"example-team/nanogpt/r0 is {ALSO}",
        ),
        (beside(LINKED, keys=frozenset({"wandb:example-team/nanogpt/r1"})), None),
    ],
)  # fmt: skip
def test_runs_of_another_entry(case: Case, told: str | None) -> None:
    assert [f.message for f in found("duplicate-run", case) if "also in" in f.message] == (
        [told] if told else []
    )


@pytest.mark.parametrize(("merged", "level"), [(False, Level.ERROR), (True, Level.WARNING)])
def test_where_the_run_of_another_entry_is_listed(merged: bool, level: Level) -> None:
    case = beside(logs(TWO, ONE), ONE)
    case = dc.replace(case, context=dc.replace(case.context, merged=merged))
    document = read_json(b'{"runs": [{"path": "a.log"}, {"path": "b.log"}]}', "submission.json")
    (item,) = found("duplicate-run", dc.replace(case, documents={"submission.json": document}))
    assert (item.level, item.pointer, item.run) == (level, "/runs/1", f"{PATH}/b.log")
    assert item.claimed == f"{PATH}/b.log"


@pytest.mark.parametrize("withdrawn", [None, {"reason": "x"}])
def test_a_copy_at_the_merge_stays_one_until_it_is_withdrawn(withdrawn: Any) -> None:
    case = a_case(submission={"withdrawn": withdrawn}, copy_of="a.log is also in theirs")
    said = [(f.message, f.file) for f in found("duplicate-run", case)]
    message = "when this entry was merged, its verdict said: a.log is also in theirs"
    assert said == [(message, PATH)] * (withdrawn is None)
    assert found("duplicate-run", a_case()) == ()


# ---- Numbers of another entry -------------------------------------------------------------------

COPIED = f"time, quality and FLOPs are the same as in {THEIRS}, digit by digit"
DIGITS = f"the bpb is the same as in {THEIRS}, digit by digit"
OWN_NUMBERS = "submit the numbers of your own run"
OWN_OR_SEED = "submit the numbers of your own run, or say that it is the same code and seed"
RESULTS = results_file({"eval/paloma/c4_en/bpb": 1.1761422}, author={"name": "X"})
STATED = a_case([a_run(metrics={})], results=RESULTS)
MEASURED = a_case([a_run(metrics={"bpb": 1.1761422})])
EQUAL = claims_key(STATED.results)
VALUES = frozenset(value_keys(STATED.results))
LINK_KEY = frozenset({"wandb:example-team/nanogpt/r0"})


def ours(case: Case, author: str | None = None) -> Case:
    asks = None if author is None else request(author)
    return dc.replace(case, context=dc.replace(case.context, pull_request=asks))


@pytest.mark.parametrize(
    ("case", "told", "level", "fix"),
    [
        (beside(STATED), None, None, None),
        (beside(STATED, claims_key=EQUAL), COPIED, Level.ERROR, OWN_NUMBERS),
        (beside(STATED, claims_key=EQUAL, author="example-user"), COPIED, Level.ERROR, OWN_NUMBERS),
        (beside(STATED, claims_key=EQUAL, keys=LINK_KEY), COPIED, Level.ERROR, OWN_NUMBERS),
        # One's own run under one's own name is `duplicate-run`.
        (beside(STATED, claims_key=EQUAL, keys=LINK_KEY, author="example-user"), None, None, None),
        (beside(MEASURED), None, None, None),  # neither states numbers in a results file
        (beside(STATED, value_keys=VALUES), DIGITS, Level.WARNING, OWN_OR_SEED),
        (beside(MEASURED, value_keys=VALUES), DIGITS, Level.WARNING, OWN_OR_SEED),
        # An author's earlier entry: the name there is theirs, and they ask themselves.
        (beside(STATED, value_keys=VALUES, author="example-user"), None, None, None),
        (beside(STATED, value_keys=VALUES, author=None), DIGITS, Level.WARNING, OWN_OR_SEED),
        (beside(ours(STATED, "Example-User"), value_keys=VALUES, author="example-user"),
         None, None, None),
        (beside(ours(STATED, "somebody"), value_keys=VALUES, author="example-user"),
         DIGITS, Level.WARNING, OWN_OR_SEED),
        (beside(a_case([a_run(metrics={})], results=RESULTS, submission={"contributors": ()}),
                value_keys=VALUES, author=None), DIGITS, Level.WARNING, OWN_OR_SEED),
    ],
)  # fmt: skip
def test_numbers_of_another_entry(
    case: Case, told: str | None, level: Level | None, fix: str | None
) -> None:
    assert [(f.message, f.level, f.fix) for f in found("copied-result", case)] == (
        [(told, level, fix)] if told else []
    )


@pytest.mark.parametrize(
    ("case", "file", "pointer"),
    [
        (beside(STATED, claims_key=EQUAL), f"{PATH}/speedrun_results.json", "/runs/0/run_info"),
        (beside(STATED, value_keys=VALUES), f"{PATH}/speedrun_results.json",
         "/runs/0/run_info/eval~1paloma~1c4_en~1bpb"),
        (beside(MEASURED, value_keys=VALUES), PATH, None),
        (beside(a_case([a_run(metrics={"loss": 3.2771234567})], results=RESULTS),
                value_keys=frozenset(value_keys((), [a_run(metrics={"loss": 3.2771234567})]))),
         PATH, None),
    ],
)  # fmt: skip
def test_where_the_numbers_of_another_entry_stand(
    case: Case, file: str, pointer: str | None
) -> None:
    (item,) = found("copied-result", case)
    assert (item.file, item.pointer) == (file, pointer)


# ---- Who opens the pull request -----------------------------------------------------------------


def with_list(*logins: str, author: str = "somebody") -> Case:
    document = read_json(b'{"contributors": []}', f"{PATH}/submission.json")
    people = tuple(map(Contributor, logins))
    submission = {"contributors": people, "raw": {"contributors": []}}
    documents = {"submission.json": document}
    return a_case(submission=submission, pull_request=request(author), documents=documents)


def with_pages(*pages: Any) -> Case:
    file = results_file()
    file["runs"] = [
        {"run_info": file["runs"][0]["run_info"] | {"author": {"url": page}}} for page in pages
    ]
    return a_case(results=file, submission={"contributors": ()}, pull_request=request("somebody"))


TO_LIST = 'add {"github": "somebody", "roles": ["pr"]}'
TO_FILE = f"{TO_LIST} to the `contributors` of a submission.json"


@pytest.mark.parametrize(
    ("case", "level", "pointer", "claimed", "fix"),
    [
        (with_list("one"), Level.ERROR, "/contributors", "one", TO_LIST),
        (with_list("Two", "one"), Level.ERROR, "/contributors", "one, two", TO_LIST),
        (with_list(), Level.ERROR, "/contributors", None, TO_LIST),
        (with_pages("https://github.com/one"), Level.WARNING, None, "one", TO_FILE),
        (with_pages("github.com/one", " https://www.github.com/Two/ "),
         Level.WARNING, None, "one, two", TO_FILE),
        (with_pages("https://e.org/one", 7), Level.NOTE, None, None, TO_FILE),
    ],
)  # fmt: skip
def test_who_opens_it_without_being_named(
    case: Case, level: Level, pointer: str | None, claimed: str | None, fix: str
) -> None:
    (item,) = found("author-not-contributor", case)
    assert item.message == "somebody opened the pull request but is not listed as a contributor"
    assert (item.level, item.pointer, item.claimed, item.fix) == (level, pointer, claimed, fix)
    assert item.expected == "somebody"


@pytest.mark.parametrize("case", [
    with_list("one", "Somebody"),
    with_pages("https://github.com/one", "https://github.com/somebody"),
    dc.replace(with_list("one"), submission=dc.replace(with_list("one").submission, raw={})),
])  # fmt: skip
def test_who_opens_it_is_named_or_the_list_is_missing(case: Case) -> None:
    assert found("author-not-contributor", case) == ()


# ---- What else the pull request changes ---------------------------------------------------------


def changing(*paths: str, folder: str = PATH, bare: bool = False) -> Case:
    case = a_case(pull_request=request("x", *paths))
    return dc.replace(case, folder=Folder(folder, {}, bare=bare))


@pytest.mark.parametrize(
    ("case", "others", "count"),
    [
        (changing("mine.json", folder="mine.json", bare=True), None, 0),
        (changing("mine.json2", folder="mine.json", bare=True), "mine.json2", 1),
        (changing("mine.json/a", folder="mine.json", bare=True), "mine.json/a", 1),
        (changing(f"{PATH}/a", folder=f"{PATH}/"), None, 0),
        (changing(PATH), PATH, 1),
        (changing("a", "b", "c"), "a, b, c", 3),
        (changing("a", "b", "c", "d"), "a, b, c and 1 more", 4),
        (changing("a", "b", f"{PATH}/x", "c", "d", "e"), "a, b, c and 2 more", 5),
    ],
)  # fmt: skip
def test_what_else_is_changed(case: Case, others: str | None, count: int) -> None:
    message = f"the pull request also changes {others}"
    items = found("out-of-scope-change", case)
    assert [(f.message, f.claimed, f.expected) for f in items] == [(message, count, 0)][:count]


# ---- Seeds --------------------------------------------------------------------------------------


LONG = "submissions/" + "x" * 188


@pytest.mark.parametrize(("path", "shown"), [(LONG, LONG), (LONG + "y", f"{LONG}...")])
def test_a_path_is_quoted_up_to_its_200th_letter(path: str, shown: str) -> None:
    (item,) = found("out-of-scope-change", changing(path))
    assert item.message == f"the pull request also changes {shown}"


def seeded(*seeds: int | None) -> list[Run]:
    return [a_run(n, seed=seed) for n, seed in enumerate(seeds)]


@pytest.mark.parametrize(
    ("seeds", "shown"),
    [
        ((5, 5, 5), "3 have seed 5 (r0, r1 and r2)"),
        ((5, 5, 5, 5), "4 have seed 5 (r0, r1 and 2 more runs)"),
        ((1, 1, 2, 2, 3, 3), "2 have seed 1 (r0 and r1), 2 have seed 2 (r2 and r3), 2 have seed 3 "
         "(r4 and r5)"),
        ((1, 1, 2, 2, 3, 3, 4, 4), "2 have seed 1 (r0 and r1), 2 have seed 2 (r2 and r3), 2 have "
         "seed 3 (r4 and r5) and 1 more"),
        ((1, 1, 2, 2, 3, 3, 4, 4, 5, 5), "2 have seed 1 (r0 and r1), 2 have seed 2 (r2 and r3), "
         "2 have seed 3 (r4 and r5) and 2 more"),
    ],
)  # fmt: skip
def test_seeds_that_are_used_twice(seeds: tuple[int, ...], shown: str) -> None:
    (item,) = found("seed-reused", a_case(seeded(*seeds)))
    assert item.message == f"runs of the candidate arm share a seed: {shown}"
    assert (item.claimed, item.run) == (seeds[0], LINK.format(1))
