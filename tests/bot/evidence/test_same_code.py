"""The keys of code: what changes nothing in a program, and what does."""

from __future__ import annotations

import pytest

from bot.evidence.same_code import LEAST, codes_of, program_key
from bot.model.run import TRAINER, Run
from bot.model.submission import Folder, RunSpec, Submission
from reference_trainer import starters

PROGRAM = "import torch\n\n\ndef train(seed):\n    '''Train it.'''\n" + "".join(
    f"    layer_{i} = torch.nn.Linear({i}, 64)  # layer {i}\n" for i in range(20)
)


@pytest.mark.parametrize(
    "other",
    [
        PROGRAM.replace("# layer", "# the layer number"),
        PROGRAM.replace("Train it.", "This is mine."),
        PROGRAM.replace("    ", "\t").replace("\n\n\n", "\n").replace("\n", "\r\n"),
        "# by somebody else\n" + PROGRAM,
        'AUTHOR = {"name": "me"}\nDESCRIPTION = "a better warm-up"\n' + PROGRAM,
    ],
    ids=["comments", "docstring", "white space", "a header", "author"],
)
def test_what_changes_nothing(other: str) -> None:
    assert other != PROGRAM
    assert program_key(other) == program_key(PROGRAM) is not None


@pytest.mark.parametrize(
    "other",
    [
        PROGRAM.replace("64)", "65)"),
        PROGRAM + '    print("# a comment")\n',
        PROGRAM + '    kernel = """one"""\n',
    ],
)
def test_what_makes_it_another_program(other: str) -> None:
    assert program_key(other) != program_key(PROGRAM)
    changed = other.replace("# a comment", "# another").replace("one", "two")
    assert changed == other or program_key(changed) != program_key(other)


def test_a_short_program_and_the_starter_have_none() -> None:
    line = "x = 1234\n"
    assert program_key(line * (LEAST // 6 - 1)) is None
    assert program_key(line * (LEAST // 6 + 1)) is not None
    for kind in starters.KINDS:
        text = starters.source(kind)
        assert program_key(text) is None
        mine = text.replace('CONFIG = "tiny"', 'CONFIG = "small"')
        assert mine != text and program_key(mine) is not None


def entry(*specs: RunSpec, code: str | None = None, **files: str) -> frozenset[str]:
    named = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    folder = Folder("submissions/mini/x", {n: t.encode() for n, t in named.items()})
    about = Submission("submissions/mini/x", "mini", "x", code_path=code, runs=specs)
    return codes_of(about, folder)


def test_a_file_and_the_source_in_a_log_are_one_program() -> None:
    log = RunSpec("log", "a.log")
    filed = entry(code="main.py", main_dot_py=PROGRAM)
    inside = entry(log, a_dot_log=f"{PROGRAM}{'=' * 100}\nstep:1\n")
    between = entry(log, a_dot_log=f"{'=' * 100}\n{PROGRAM}{'=' * 100}\nstep:1\n")
    assert filed & inside and filed & between
    assert entry(log, a_dot_log=f"step:1\n{'=' * 100}\n") == frozenset()
    assert entry(RunSpec("log", "a.log", arm="baseline"), a_dot_log=PROGRAM) == frozenset()


def test_the_hashes_that_runs_state() -> None:
    about, folder = Submission("s", "mini", "x"), Folder("s", {})
    one, two = "a" * 64, "b" * 64

    def stated(**hashes: str) -> frozenset[str]:
        return codes_of(about, folder, [Run("wandb", "x", code_sha256=hashes)])

    assert stated(train=one) == stated(main=one) != stated(main=two)
    # Of several files all count: one that is shared makes no copy.
    assert not stated(main=one, optimizer=two) & stated(other="c" * 64, optimizer=two)
    assert stated(**{TRAINER: one}) == frozenset()
