"""Copied logs, as they are and with losses, clocks, steps or digits changed."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.evidence.log.training_log import read_log
from bot.evidence.neighbours import as_neighbour, log_keys
from bot.evidence.snapshot import Snapshots
from bot.model.case import Context, Neighbour, PullRequest, Seen
from bot.model.submission import Folder
from bot.model.verdict import Finding
from bot.parse.folder import parse_submission
from bot.registry import Level
from bot.repository import Repository
from bot.verify import verify
from tests.bot.rules.duplicate_cases import (
    CLOCKS,
    LINES,
    LOGS,
    OTHER_RUN,
    TRACKS,
    log_folder,
    noisy,
    rules,
)
from tests.corpus.variants import changed
from tests.plain_tracks import plain_text


def test_a_copied_log_is_found_also_with_another_clock() -> None:
    log = (LOGS / "plain.log").read_bytes()
    assert log.count(b"val_loss:") >= 3, "the log must have a series"
    other = log.replace(b"train_time:", b"train_time:1")
    assert log_keys(log) == log_keys(other) != ()
    theirs = log_folder("theirs", log)
    parsed = parse_submission(theirs, TRACKS)
    beside = as_neighbour(parsed.submission, "nanogpt-small", parsed.results, theirs)
    assert "duplicate-run" in rules(
        verify(log_folder("mine", other), TRACKS, context=Context(neighbours=(beside,)))
    )
    shared = log_folder("mine", log, arm="baseline")
    assert "duplicate-run" not in rules(
        verify(shared, TRACKS, context=Context(neighbours=(beside,)))
    )


def test_a_copied_log_is_found_also_with_a_loss_or_digits_changed() -> None:
    lines = [f"step:{s}/400 val_loss:{10 - s / 99:.4f} train_time:{s}ms" for s in range(0, 401, 25)]
    log = "\n".join(lines).encode()
    keys = set(log_keys(log))
    last = log.replace(b"val_loss:5.9596", b"val_loss:5.9500")
    assert last != log and keys & set(log_keys(last))
    longer = b"\n".join(line.encode().replace(b" train_time", b"7 train_time") for line in lines)
    assert keys == set(log_keys(longer))
    noise = b"print(f'val_loss:1.2345')\n" + log
    assert keys == set(log_keys(noise))
    other = "\n".join(line.replace("val_loss:", "val_loss:1") for line in lines)
    assert not keys & set(log_keys(other.encode()))


def renumbered(line: str) -> str:
    return re.sub(r"step:(\d+)", lambda m: f"step:{int(m[1]) + (0 < int(m[1]) < 400)}", line)


def by_parts(lines: list[str]) -> list[str]:
    """A loss changed in each half, and validations that never were."""
    made = [noisy(line) if i in (3, 12) else line for i, line in enumerate(lines)]
    return [*made[:5], "step:110/400 val_loss:8.9 train_time:25750ms", *made[5:]]


@pytest.mark.parametrize("change", [
    by_parts,
    lambda lines: [renumbered(line) for line in lines],
    lambda lines: [noisy(line) for line in lines],
    lambda lines: [line.replace("loss:", "loss:+0") for line in lines],
    lambda lines: [re.sub(r"loss:([\d.]+)", lambda m: f"loss:{float(m[1]):.6e}", line)
                   for line in lines],
    lambda lines: [line.replace("loss:", "loss:\x1b[31m") for line in lines],
    lambda lines: [line.replace("val_loss", "x:1 " * 80 + "val_loss") for line in lines],
    lambda lines: [*lines, *(re.sub(r"loss:\d", "loss:1", line) for line in lines)],
])  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_copied_log_is_found_as_the_judge_reads_it(
    change: Callable[[list[str]], list[str]], encoding: str
) -> None:
    theirs = log_folder("theirs", "\n".join([*LINES, ""]).encode())
    beside = as_neighbour(parse_submission(theirs, TRACKS).submission, "nanogpt-small", (), theirs)
    mine = log_folder("mine", "\n".join([*change(LINES), ""]).encode(encoding))
    found = verify(mine, TRACKS, context=Context(neighbours=(beside,))).findings
    assert [f.level for f in found if f.rule == "duplicate-run"] == [Level.ERROR]
    shared = log_folder("mine", "\n".join([*change(LINES), ""]).encode(encoding), arm="baseline")
    assert "duplicate-run" not in rules(
        verify(shared, TRACKS, context=Context(neighbours=(beside,)))
    )


def on_a_clock(number: int, factor: float = 1.0) -> bytes:
    """The public program with one seed, on the clock of a machine of its own."""
    draw, clock, lines = random.Random(number), 0.0, []
    for line, before, now in zip(LINES, [0, *CLOCKS], CLOCKS, strict=False):
        clock += (now - before) * factor * (draw.uniform(0.95, 1.05) if number else 1)
        lines.append(re.sub(r"time:\d+", f"time:{clock:.0f}", line))
    return "\n".join([*lines, ""]).encode()


def idea(number: int) -> bytes:
    """An idea of one's own: a curve that no other run has."""
    draw = random.Random(number)
    loss = lambda m: f"val_loss:{float(m[1]) - draw.uniform(0.05, 0.2):.4f}"  # noqa: E731
    lines = [re.sub(r"val_loss:([0-9.]+)", loss, line) for line in LINES]
    time = lambda m: f"time:{int(m[1]) * draw.uniform(0.95, 1.05):.0f}"  # noqa: E731
    return "\n".join([*(re.sub(r"time:(\d+)", time, line) for line in lines), ""]).encode()


def beside(theirs: bytes, mine: Folder) -> list[Finding]:
    folder = log_folder("theirs", theirs)
    other = as_neighbour(parse_submission(folder, TRACKS).submission, "nanogpt-small", (), folder)
    said = verify(mine, TRACKS, context=Context(neighbours=(other,))).findings
    return [f for f in said if f.rule == "duplicate-run"]


@pytest.mark.parametrize(
    ("clock", "factor", "level"),
    [
        (1, 1.0, Level.WARNING),
        (2, 1.6, Level.WARNING),
        (0, 1.0, Level.ERROR),
        (0, 1.6, Level.ERROR),
    ],
)
def test_equal_losses_are_a_copy_where_the_clock_is_too(
    clock: int, factor: float, level: Level
) -> None:
    (item,) = beside(on_a_clock(0), log_folder("mine", on_a_clock(clock, factor)))
    assert item.level is level
    assert ("the same code with the same seed" in str(item.fix)) is (level is Level.WARNING)


@pytest.mark.parametrize(
    ("clocks", "level"),
    [((5230, 9871), Level.WARNING), ((4928, 9408), Level.ERROR), ((7392, 14112), Level.ERROR)],
)
def test_a_run_of_two_validations_after_the_first(clocks: tuple[int, int], level: Level) -> None:
    def log(*times: int) -> bytes:
        points = zip((0, 40, 80), ("10.8257", "6.9172", "6.1148"), (0, *times), strict=True)
        lines = (f"step:{s}/80 val_loss:{x} train_time:{t}ms" for s, x, t in points)
        return "\n".join([*lines, ""]).encode()

    (item,) = beside(log(4928, 9408), log_folder("mine", log(*clocks)))
    assert item.level is level


def test_noise_in_the_losses_is_a_copy_on_any_clock() -> None:
    noise = "\n".join(noisy(line) for line in on_a_clock(1).decode().splitlines())
    (item,) = beside(on_a_clock(0), log_folder("mine", noise.encode()))
    assert item.level is Level.ERROR


def test_two_people_may_run_the_public_baseline_with_the_same_seeds() -> None:
    def entry(name: str, number: int) -> Folder:
        folder = log_folder(name, idea(number), on_a_clock(number))
        listed = json.loads(folder.files["submission.json"])
        listed["runs"][1]["arm"] = "baseline"
        return dc.replace(
            folder, files={**folder.files, "submission.json": json.dumps(listed).encode()}
        )

    theirs = entry("theirs", 1)
    other = as_neighbour(parse_submission(theirs, TRACKS).submission, "nanogpt-small", (), theirs)
    said = verify(entry("mine", 2), TRACKS, context=Context(neighbours=(other,)))
    assert not {"duplicate-run", "run-of-another"} & rules(said)


@pytest.mark.parametrize(
    ("clock", "factor", "theirs"), [(1, 1.0, False), (0, 1.0, True), (0, 1.6, True)]
)
def test_what_another_pull_request_showed_on_another_clock(
    clock: int, factor: float, theirs: bool
) -> None:
    log, day = on_a_clock(0), dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    (run,) = read_log(log, "")
    points = tuple(v._replace(loss=round(v.loss, 3)) for v in run.validation)
    context = Context(
        seen=(Seen(3, "another-user", day, frozenset(log_keys(log)), (points,)),),
        pull_request=PullRequest(7, "example-user"),
        first_seen=day + dt.timedelta(1),
    )
    said = verify(log_folder("mine", on_a_clock(clock, factor)), TRACKS, context=context).findings
    found = {f.rule: f.level for f in said if f.rule in ("run-of-another", "duplicate-run")}
    assert found == (
        {"run-of-another": Level.ERROR} if theirs else {"duplicate-run": Level.WARNING}
    )


def apart(n: int, line: str) -> str:
    """A line of another training, whose loss and clock are as far away as real ones are."""
    line = re.sub(r"(\d+)ms", lambda m: f"{int(m[1]) + 13 * (n * n % 7)}ms", line)
    off = 0.0021 * (-1) ** n
    return re.sub(r"val_loss:([0-9.]+)", lambda m: f"val_loss:{float(m[1]) + off:.4f}", line)


def test_noise_in_the_last_digits_makes_no_other_run() -> None:
    """Every loss moved by 0.0002 and every clock by 0.07 %: closer than two trainings come."""
    theirs = log_folder("theirs", "\n".join([*LINES, ""]).encode())
    beside = as_neighbour(parse_submission(theirs, TRACKS).submission, "nanogpt-small", (), theirs)

    def moved(line: str, sign: int) -> str:
        line = re.sub(r"(\d+)ms", lambda m: f"{int(int(m[1]) * 1.0007) + 3}ms", line)
        loss = lambda m: f"val_loss:{float(m[1]) + sign * 2e-4:.4f}"  # noqa: E731
        return re.sub(r"val_loss:([0-9.]+)", loss, line)

    lines = [moved(line, 1 if i % 2 else -1) for i, line in enumerate(LINES)]
    mine = log_folder("mine", "\n".join([*lines, ""]).encode())
    assert "duplicate-run" in rules(verify(mine, TRACKS, context=Context(neighbours=(beside,))))


def test_another_run_on_the_same_machine_is_no_copy() -> None:
    theirs = log_folder("theirs", "\n".join([*LINES, ""]).encode())
    beside = as_neighbour(parse_submission(theirs, TRACKS).submission, "nanogpt-small", (), theirs)
    other = [apart(n, line) for n, line in enumerate(LINES)]
    other[2:5] = LINES[2:5]  # by chance
    mine = log_folder("mine", "\n".join([*other, ""]).encode())
    assert "duplicate-run" not in rules(verify(mine, TRACKS, context=Context(neighbours=(beside,))))
    seconds = [
        [re.sub(r"(\d+)ms", lambda m: f"{int(m[1]) // 1000}s", line) for line in lines]
        for lines in (LINES, other)
    ]
    theirs, mine = (
        log_folder(name, "\n".join([*lines, ""]).encode())
        for name, lines in zip(("theirs", "mine"), seconds, strict=True)
    )
    beside = as_neighbour(parse_submission(theirs, TRACKS).submission, "nanogpt-small", (), theirs)
    assert "duplicate-run" not in rules(verify(mine, TRACKS, context=Context(neighbours=(beside,))))


def test_a_log_of_a_run_that_another_entry_links(tmp_path: Path) -> None:
    link = "https://wandb.ai/example-team/runs/runs/theirs"
    (run,) = read_log("\n".join([*LINES, ""]).encode(), link)
    (tmp_path / "tracks").mkdir()
    text = plain_text("nanogpt-small")
    (tmp_path / "tracks" / "nanogpt-small.toml").write_text(text, encoding="utf-8")
    folder = tmp_path / "submissions" / "nanogpt-small" / "theirs"
    folder.mkdir(parents=True)
    listed = {
        "schema_version": 1,
        "track": "nanogpt-small",
        "title": "x",
        "contributors": [{"github": "example-user"}],
        "runs": [{"source": "wandb", "link": link}],
    }
    (folder / "submission.json").write_text(json.dumps(listed))
    kept = Snapshots(tmp_path / "evidence")
    mine = log_folder("mine", "\n".join([*map(noisy, LINES), ""]).encode())

    def found(snapshots: Snapshots | None) -> set[str]:
        beside = Repository(tmp_path, TRACKS, snapshots).neighbours
        assert [n.path for n in beside] == ["submissions/nanogpt-small/theirs"]
        return rules(verify(mine, TRACKS, context=Context(neighbours=beside)))

    assert "duplicate-run" not in found(kept)
    kept.add(run)
    assert "duplicate-run" in found(kept)
    assert "duplicate-run" not in found(None)


def test_a_nonce_is_found_again_in_another_kind_of_file() -> None:
    nonce = "0123456789abcdef" * 2
    beside_log = log_folder("theirs", f"nonce: {nonce}\nstep:1/1 val_loss:3.2\n".encode())
    beside = as_neighbour(
        parse_submission(beside_log, TRACKS).submission, "nanogpt-small", (), beside_log
    )
    made = json.loads(changed("v4", OTHER_RUN)) | {"speedrun": {"schema_version": 1}}
    for drawn, expected in ((nonce, True), ("f" * 32, False)):
        made["speedrun"]["nonce"] = drawn
        folder = Folder("mine.json", {"r.json": json.dumps(made).encode()}, bare=True)
        verdict = verify(
            folder, TRACKS, track_id="fineweb-edu", context=Context(neighbours=(beside,))
        )
        assert ("duplicate-run" in rules(verdict)) is expected


def test_one_log_twice_in_a_submission() -> None:
    log = (LOGS / "plain.log").read_bytes()
    assert "duplicate-run" in rules(verify(log_folder("mine", log, log), TRACKS))


def test_two_files_of_one_training_count_once_and_are_told() -> None:
    """A log and the offline W&B file of a run show its losses with other digits."""
    nonce = b"nonce: " + b"0123456789abcdef" * 2 + b"\n"
    log = nonce + (LOGS / "plain.log").read_bytes()
    other = re.sub(rb"(val_loss:\d\.\d{3})\d", rb"\1", log)
    assert other != log
    verdict = verify(log_folder("mine", log, other), TRACKS)
    assert len(verdict.runs) == 2
    (found,) = (f for f in verdict.findings if f.rule == "duplicate-run")
    assert (found.level, found.message) == (
        Level.NOTE,
        "1.log does not count: the same run as 0.log",
    )
    assert found.pointer == "/runs/1" and found.line


def test_a_run_that_is_too_much_like_another_is_not_left_out_silently() -> None:
    log = (LOGS / "plain.log").read_bytes()
    alike = re.sub(rb"(val_loss:\d\.\d{3})\d", rb"\g<1>9", log)
    verdict = verify(log_folder("mine", log, alike), TRACKS)
    (found,) = (f for f in verdict.findings if f.rule == "duplicate-run")
    assert found.level is Level.WARNING and found.pointer == "/runs/1"
    assert found.message.startswith("1.log does not count: its losses or its clocks are those of")


OTHER = [
    f"step:{s}/400 val_loss:{10.1 - s / 97:.4f} train_time:{t + 3 * s + 17}ms"
    for s, t in zip(range(0, 401, 25), CLOCKS, strict=True)
]


def entry(*logs: bytes) -> Folder:
    return log_folder("mine", *logs)


def before(folder: Folder) -> Neighbour:
    parsed = parse_submission(folder, TRACKS)
    return as_neighbour(parsed.submission, "nanogpt-small", parsed.results, folder)


def test_a_merged_entry_whose_log_is_replaced() -> None:
    first, second = ("\n".join([*of, ""]).encode() for of in (LINES, OTHER))
    as_it_was = Context(neighbours=(before(entry(first)),))
    replaced = verify(entry(second), TRACKS, as_it_was).findings
    assert [f.level for f in replaced if f.rule == "evidence-changed"] == [Level.WARNING]
    for kept in (entry(first), entry(first, second)):
        assert "evidence-changed" not in rules(verify(kept, TRACKS, as_it_was))
    merged = dc.replace(as_it_was, merged=True)
    assert "evidence-changed" not in rules(verify(entry(second), TRACKS, merged))
