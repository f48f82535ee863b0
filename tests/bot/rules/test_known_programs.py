"""Programs beside those that a track accepts: what is known passes, what is new is looked at."""

from __future__ import annotations

import dataclasses as dc
from pathlib import Path

import pytest

from bot.evidence.log.training_log import read_log
from bot.importers.programs import programs_of, together
from bot.model.case import Standing
from bot.model.known import KnownPrograms
from bot.model.run import Run
from bot.model.track import Track
from bot.model.verdict import Finding
from bot.parse.programs_json import read_programs
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL, a_case, found
from tests.bot.rules.second_cases import log
from tests.conftest import ROOT
from tests.fixtures.program import PROGRAM

RULE = 100 * "="
NEW = "that no accepted program has"
ORDER = "in an order that no accepted program has"


@pytest.fixture(scope="module")
def track(tmp_path_factory: pytest.TempPathFactory) -> Track:
    """A track that accepts one program."""
    path = tmp_path_factory.mktemp("accepted") / "train.py"
    path.write_text(PROGRAM)
    return dc.replace(SMALL, programs=programs_of([path]))


def runs_of(source: str, name: str = "run.log") -> tuple[Run, ...]:
    """The run of a log that begins with a program."""
    return read_log(f"{source}{RULE}\n".encode() + log(), name)


def new(source: str, track: Track) -> list[Finding]:
    """What is said of a program in a log, apart from what is said on every track."""
    every = {f.message for f in found("code-unusual", a_case(runs_of(source), track=SMALL))}
    told = found("code-unusual", a_case(runs_of(source), track=track))
    assert {f.level for f in told} <= {Level.WARNING}
    return [f for f in told if f.message not in every]


def changed(old: str, by: str) -> str:
    assert PROGRAM.count(old) == 1, old
    return PROGRAM.replace(old, by)


def test_an_accepted_program_passes(track: Track) -> None:
    assert new(PROGRAM, track) == []


FREE = [
    ("num_iterations: int = 1400", "num_iterations = 2 * 700"),
    ("val_loss_every: int = 125", "val_loss_every: int = 250"),
    ("learning_rate: float = 0.0036", "learning_rate: float = 0.01"),
    ('train_files: str = "data/', 'train_files: str = "/mnt/fineweb/'),
    ("# stop the clock", "# here the clock is stopped"),
    ("self.fc(norm(x)).relu().square()", "self.fc(norm(x)).relu().pow(3)"),
    ("momentum=0.95", "momentum=0.9, weight_decay=0.1"),
    ('"""A GPT."""', '"""The loss of a GPT, validated."""'),
]


@pytest.mark.parametrize(("old", "by"), FREE)
def test_what_measures_nothing_may_change(old: str, by: str, track: Track) -> None:
    assert new(changed(old, by), track) == []


VALIDATED = "            val_loss += model(inputs, targets)\n"
BEGIN = "# begin training\n"
CHEATS = {
    "labels in the input": (VALIDATED, f"            inputs = targets.clone()\n{VALIDATED}"),
    "hard batches left out": (
        VALIDATED,
        f"            if inputs.float().std() > 9: continue\n{VALIDATED}",
    ),
    "the least of all ranks": ("ReduceOp.AVG", "ReduceOp.MIN"),
    "a hook": (BEGIN, f"{BEGIN}model.register_forward_pre_hook(peek)\n"),
    "batches kept in a list": (
        "    val_loss = 0\n",
        "    kept = list(val_loader)\n    val_loss = 0\n",
    ),
    "padded tokens": ("targets.view(-1))", "targets.view(-1), ignore_index=0)"),
    "a buffer filled by the text": (
        "        x = self.embed(tokens)",
        "        self.seen.copy_(tokens)\n        x = self.embed(tokens)",
    ),
    "half a sequence": ("buffer[:-1].view", "buffer[: -1 - size // 2].view"),
    "fewer tokens": ("val_tokens: int = 10485760", "val_tokens: int = 1048576"),
    "a module's function": (BEGIN, f"{BEGIN}dist.ReduceOp.AVG = dist.ReduceOp.MIN\n"),
    "a built-in bound anew": (BEGIN, f"{BEGIN}range = lambda n: builtin(n // 2)\n"),
    "names in text": (BEGIN, f"{BEGIN}globals()['training_' + 'time_ms'] = 0\n"),
    "a class in place of the model": (
        "model = torch.compile(",
        "class Best(GPT):\n    pass\nGPT = Best\nmodel = torch.compile(",
    ),
    "arguments by position": (
        "    def forward(self, tokens, targets):",
        "    def forward(self, *given):",
    ),
    "the next token": (
        "        x = self.embed(tokens)",
        "        x = self.embed(tokens[1:])",
    ),
    "no mask": ("is_causal=True", "is_causal=False"),
    "another clock": ("import time\n", "from clocks import time\n"),
    "a line that is printed": (
        "def print0(text):\n",
        "def print0(text):\n    text = text.replace('9', '8')\n",
    ),
    "a mean over more": ("val_loss /= val_steps", "val_loss /= val_steps + 1"),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_statement_that_no_accepted_program_has(name: str, track: Track) -> None:
    (item,) = new(changed(*CHEATS[name]), track)
    assert NEW in item.message and "line" in item.message
    assert item.fix is not None and "README" in item.fix


SYNC = "torch.cuda.synchronize()\n    training_time_ms"
LEFT_OUT = {
    "the reduction": ("    dist.reduce(val_loss, 0, op=dist.ReduceOp.AVG)\n", ""),
    "waiting for the device": (SYNC, SYNC.partition("\n")[2].strip()),
    "the mean": ("    val_loss /= val_steps\n", ""),
    "the weights as they were": ("model.load_state_dict(initial)\n", ""),
    "a clock that starts late": (
        "    optimizer.step()\n",
        "    optimizer.step()\n    torch.cuda.synchronize()\n    t0 = time.perf_counter()\n",
    ),
    "two updates": ("    optimizer.step()\n", "    optimizer.step()\n    optimizer.step()\n"),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_known_statements_in_another_order(name: str, track: Track) -> None:
    (item,) = new(changed(*LEFT_OUT[name]), track)
    assert ORDER in item.message


def test_statements_of_two_accepted_programs_are_no_third(tmp_path: Path) -> None:
    first = changed("val_loss /= val_steps", "val_loss = val_loss / val_steps")
    second = changed("    val_loss = 0\n", "    val_loss = 0.0\n")
    mixed = first.replace("    val_loss = 0\n", "    val_loss = 0.0\n")
    for number, source in enumerate((first, second)):
        (tmp_path / f"{number}.py").write_text(source)
    accepts_both = dc.replace(SMALL, programs=programs_of(sorted(tmp_path.glob("*.py"))))
    assert new(first, accepts_both) == new(second, accepts_both) == []
    (item,) = new(mixed, accepts_both)
    assert ORDER in item.message


def test_at_most_three_statements_are_quoted(track: Track) -> None:
    lines = "".join(f"val_loss_{n} = {n}\n" for n in range(5))
    (item,) = new(changed(BEGIN, BEGIN + lines), track)
    begin = PROGRAM.split("\n").index(BEGIN.strip()) + 2
    assert f"5 statements {NEW}: line {begin}, `val_loss_0 = 0`; " in item.message
    assert item.message.count("`") == 6 and "; and 2 more" in item.message
    assert item.line == begin


def test_runs_that_share_a_program_are_told_once(track: Track) -> None:
    source = changed("ReduceOp.AVG", "ReduceOp.MIN")
    runs = [r for name in ("a.log", "b.log") for r in runs_of(source, name)]
    (item,) = found("code-unusual", a_case(runs, track=track))
    assert "1 more run" in item.message


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (PROGRAM + "def f(:\n", "does not read as Python"),
        ("import torch\nfor x in y:\n    pass\n", "prints no validation loss"),
        ("import torch\nval = " + "f(" * 150 + ")" * 150 + "\nfor x in y:\n    pass\n", "not read"),
    ],
)
def test_a_program_of_which_nothing_is_known(source: str, says: str, track: Track) -> None:
    (item,) = new(source, track)
    assert says in item.message


def test_a_program_in_the_folder_is_judged_where_the_log_holds_none(track: Track) -> None:
    (run,) = read_log(log(), "run.log")
    for by, count in (("AVG", 0), ("MIN", 1)):
        code = changed("ReduceOp.AVG", f"ReduceOp.{by}").encode()
        case = a_case([run], track=track, files={"train.py": code})
        assert len(list(found("code-unusual", case))) == count
    # What does not validate, or is not there, shows nothing of how the runs measured.
    case = a_case([run], track=track, files={"train.py": b"import this\n"})
    assert list(found("code-unusual", case)) == []
    bare = dc.replace(case.folder, files={"submission.json": b"{}"})
    assert list(found("code-unusual", dc.replace(case, folder=bare))) == []


def test_the_program_of_the_record_needs_no_list(track: Track) -> None:
    runs = runs_of(changed("ReduceOp.AVG", "ReduceOp.MIN"))
    (digest,) = runs[0].code_sha256.values()
    for code, count in ((digest, 0), ("0" * 64, 1)):
        standing = Standing(record_code=frozenset({code}))
        case = a_case(runs, track=track, standing=standing)
        assert len([f for f in found("code-unusual", case) if NEW in f.message]) == count


def test_a_track_without_a_list_judges_as_before(track: Track) -> None:
    source = changed("    dist.reduce(val_loss, 0, op=dist.ReduceOp.AVG)\n", "")
    assert list(found("code-unusual", a_case(runs_of(source), track=SMALL))) == []
    unread = dc.replace(SMALL, programs=KnownPrograms("programs/a.json"))
    (note,) = found("code-unusual", a_case(runs_of(source), track=unread))
    assert note.level is Level.NOTE and "tracks/programs/a.json" in note.message


def test_the_starters_are_on_the_list_of_this_repository() -> None:
    """After a change: `speedrun import programs reference_trainer/starters/*/main.py --into
    tracks/programs/nanogpt.json`."""
    known = read_programs(ROOT / "tracks", "programs/nanogpt.json")
    starters = sorted((ROOT / "reference_trainer" / "starters").glob("*/main.py"))
    shipped = programs_of(starters)
    assert len(starters) == 2 and len(shipped.orders) == 2
    assert shipped.statements <= known.statements and shipped.orders <= known.orders
    assert together(known, shipped).statements == known.statements
