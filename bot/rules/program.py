"""Evidence: the source of the program that ran, in a log, on W&B or in the submission's folder.

`bot.evidence.program` reads what it states; a program is never run. Everything here is a warning.
"""

from __future__ import annotations

import functools as ft
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from bot.evidence.code_hash import hashes_of
from bot.evidence.log.unprinted import UNPRINTED
from bot.model.case import Case
from bot.model.run import Run, Stated
from bot.model.track import STEP_METRICS
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import figure
from bot.rules.about import per_message, runs_of
from bot.rules.known_programs import unknown_programs

_MOST_BYTES = 1_000_000
_PADDED = 1.05
"""A vocabulary may be padded by as much."""
_README = "say in the README why"
_EVERY_TOKEN = f"take the mean over every token, by a causal model, or {_README}"
_NO_COPY = "log and print the value as it was measured"


class _Place(NamedTuple):
    """A source: how people call it, its file, and the run whose file holds it."""

    name: str
    file: str
    run: Run | None


class _Meaning(NamedTuple):
    says: str
    fix: str
    applies: Callable[[Case, _Place, Stated], bool] = lambda case, place, stated: True


def code_unusual(case: Case) -> Iterator[Finding]:
    """A maintainer looks at code that does what training programs rarely do.

    The source is read, never run: weights of other training or a teacher, updates of the weights at
    validation, several attempts, an end that a good loss decides, a loss or a clock that is
    changed before it is printed, losses of tokens that are capped or left out, attention that
    differs at validation, a clock that is replaced, stands still during work or is read before it
    is done, figures that nobody measured, text that is run as code; and in a log a step that no
    print of its source makes. Each may be honest: say in the README why it is there, or take it
    out. On a track that lists the programs that its maintainers have accepted, so is everything
    that no accepted program has where it validates, makes the loss, keeps time, reads data and
    prints.
    """
    every = tuple(_stated(case))
    for kind, meaning in _MEANINGS.items():
        found = (
            (place, stated)
            for place, stated in every
            if stated.kind == kind and meaning.applies(case, place, stated)
        )
        yield from _findings(case, "code-unusual", found, ft.partial(_of_meaning, meaning))
    yield from unknown_programs(case)


def _of_meaning(meaning: _Meaning, stated: Stated) -> tuple[str, str]:
    if stated.kind == UNPRINTED and stated.value:
        others = "1 other line is" if stated.value == 1 else f"{stated.value:.0f} other lines are"
        return f"{meaning.says}, and {others} not either", meaning.fix
    return meaning.says, meaning.fix


def sizes_in_code(case: Case) -> Iterator[Finding]:
    """Sizes that a source states and that are not the track's, for `witnesses-disagree`."""
    found = ((p, s) for p, s in _stated(case) if _size(case, s) is not None)
    yield from _findings(case, "witnesses-disagree", found, lambda s: _size(case, s) or ("", ""))


def overlap_in_code(case: Case) -> Iterator[Finding]:
    """Validation text that a source trains on, for `train-validation-overlap`."""
    found = ((p, s) for p, s in _stated(case) if s.kind == "overlap")
    says = "mixes up the files of training and validation, or gives both the same"
    fix = "train without the validation text, or say in the README what the files hold"
    yield from _findings(case, "train-validation-overlap", found, lambda s: (says, fix))


def _findings(
    case: Case,
    rule: str,
    found: Iterator[tuple[_Place, Stated]],
    words: Callable[[Stated], tuple[str, str]],
) -> Iterator[Finding]:
    made = []
    for place, stated in found:
        says, fix = words(stated)
        name = "the log" if stated.kind == UNPRINTED else place.name
        quote = f", `{stated.text}`," if stated.text else ""
        made.append(
            finding(
                rule,
                f"line {stated.line} of {name}{quote} {says}",
                Level.WARNING,
                file=place.file,
                line=None
                if place.run is not None and place.file != place.run.file
                else stated.line,
                run=None if place.run is None else place.run.file,
                fix=fix,
            )
        )
    inside = [f for f in made if f.run is not None]
    yield from per_message(inside)
    yield from (f for f in made if f.run is None)


def _stated(case: Case) -> Iterator[tuple[_Place, Stated]]:
    """What every source of a case states, those of a maintainer's import excepted."""
    if case.brought_over:
        return
    seen = set()
    for _, run in runs_of(case):
        if run.program and (run.file, run.program) not in seen:
            seen.add((run.file, run.program))
            own = run.file if run.source in ("log", "wandb-offline") else case.list_file or run.file
            place = _Place("the source", own, run)
            yield from ((place, stated) for stated in run.program)
    yield from _in_folder(case)


def _in_folder(case: Case) -> Iterator[tuple[_Place, Stated]]:
    """What the files of a submission state, but for those that a log holds as well."""
    logs = [run for _, run in runs_of(case) if run.source == "log" and run.program]
    known = {digest for run in logs for digest in run.code_sha256.values()}
    left = _MOST_BYTES
    for name in sorted(n for n in case.folder.files if n.lower().endswith(".py")):
        data, place = case.folder.files[name], _Place(name, case.folder.full(name), None)
        if not known.isdisjoint(hashes_of(data)):
            continue
        if len(data) > left:
            yield place, Stated("unread", 1, "")
            continue
        left -= len(data)
        from bot.evidence.program import read_program

        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
        yield from ((place, stated) for stated in read_program(text))


def _size(case: Case, stated: Stated) -> tuple[str, str] | None:
    """What a size says that is not the track's, and what to do; None where it is."""
    track, value = case.track, stated.value
    if stated.kind == "validation" and track.validation_tokens and value < track.validation_tokens:
        wanted = f"the track's {track.validation_tokens:,} tokens"
        return f"validates on {figure(value)} tokens, expected {wanted}", f"validate on {wanted}"
    if stated.kind == "share" and track.validation_tokens:
        return f"validates on a share of {figure(value)} of the text", "validate on all of it"
    if stated.kind == "vocabulary" and track.vocab_size:
        if not track.vocab_size <= value <= _PADDED * track.vocab_size:
            says = f"has a vocabulary of {figure(value)}, expected the track's {track.vocab_size:,}"
            return says, "use the track's tokenizer, or say in the README how losses compare"
    if stated.kind == "step_tokens" and track.batch_tokens and value > track.batch_tokens:
        says = f"trains on {figure(value)} tokens a step, expected {track.batch_tokens:,}"
        return says, f"train on {track.batch_tokens:,} tokens a step"
    return None


def _by_steps(case: Case, place: _Place, stated: Stated) -> bool:
    return case.track.finish == "steps"


def _by_updates(case: Case, place: _Place, stated: Stated) -> bool:
    """Whether steps count."""
    return bool(set(STEP_METRICS) & {case.track.cost.metric, *case.track.limits})


def _more_than_shown(case: Case, place: _Place, stated: Stated) -> bool:
    """Whether a loop trains more often than the log shows runs, or the submission for its file."""
    shown = sum(place.run is None or run.file == place.file for _, run in runs_of(case))
    return stated.value > max(shown, 1)


_MEANINGS: Mapping[str, _Meaning] = {
    "warm": _Meaning(
        "loads weights, which other training may have made",
        "train from random weights, or say in the README where they come from and what they cost",
    ),
    "teacher": _Meaning(
        "uses a teacher, whose training costs count too",
        "train without it, or say in the README where it comes from and what it cost",
    ),
    "validation_update": _Meaning(
        "updates weights where the program validates",
        f"keep training and validation apart, or {_README}",
    ),
    "validation_cut": _Meaning(
        "ends the validation early", "validate on all of the track's validation text"
    ),
    "updates": _Meaning(
        "updates the weights several times in one step",
        "count every update as a step",
        _by_updates,
    ),
    "step_changed": _Meaning(
        "shows fewer steps than the program takes", "count every update as a step", _by_updates
    ),
    "executed": _Meaning(
        "runs text as code, so its source does not show what it does",
        "write the code out",
    ),
    "attempts": _Meaning(
        "trains more times than there are runs",
        "submit every run, good or bad",
        _more_than_shown,
    ),
    "chosen_attempt": _Meaning(
        "trains several times and keeps the best", "submit every run, good or bad"
    ),
    "early_exit": _Meaning(
        "ends the training when the loss is good",
        "train for a number of steps that you fix in advance",
        _by_steps,
    ),
    "replaced_clock": _Meaning(
        "replaces what measures time", "measure time with the system's clock"
    ),
    "untimed_work": _Meaning(
        "updates weights while the training clock stands still",
        "time all of the training, and stop the clock for validation alone",
    ),
    "unfinished_work": _Meaning(
        "stops the training clock before the device has done its work, and starts it after",
        "synchronize before the clock is stopped",
    ),
    "time_changed": _Meaning("changes the time that passed", f"{_NO_COPY}, or {_README}"),
    "loss_changed": _Meaning("changes the validation loss", f"{_NO_COPY}, or {_README}"),
    "part_of_losses": _Meaning("caps the losses of tokens or takes a part of them", _EVERY_TOKEN),
    "tokens_left_out": _Meaning("leaves a token of the text out of the loss", _EVERY_TOKEN),
    "other_at_validation": _Meaning(
        "lets the model see other tokens at validation than in training", _EVERY_TOKEN
    ),
    "causal_at_times": _Meaning(
        "decides by a comparison whether attention is causal", _EVERY_TOKEN
    ),
    "lowest_loss": _Meaning(
        "shows the lowest or a smoothed validation loss as the validation loss",
        "print the loss of each validation",
    ),
    "hard_coded": _Meaning("has a fixed number in place of a measured one", _NO_COPY),
    UNPRINTED: _Meaning(
        "is not printed by the source in the log",
        "attach the log as the program wrote it, or the program that wrote it",
    ),
    "unread": _Meaning(
        "is where the check stopped reading: the source is too long",
        "take data and long texts out of the program",
    ),
}
"""Kind -> what a statement of that kind means, what to do about it, and when it matters."""
