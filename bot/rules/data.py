"""Evidence: the runs used the data of the track, and kept training and validation apart."""

from __future__ import annotations

from collections.abc import Iterator

from bot.evidence.mixtures import misplaced_in
from bot.evidence.wandb.history import flatten
from bot.model.case import Case
from bot.model.results import ResultsRun
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.untrusted import plain
from bot.rules.about import about, per_message, runs_of, text_of
from bot.rules.manifest import manifest_of, stated_overlap, wanted_train
from bot.rules.program import overlap_in_code


def data_fingerprint_mismatch(case: Case) -> Iterator[Finding]:
    """The runs used the data of the track.

    The trainer writes a digest of its training data, and one of its validation data, to W&B, log
    and results; the track states what they must be, or the manifest of the entry's own training
    data does. Use the data that the track or the manifest names, unchanged.
    """
    yield from per_message(_wrong_fingerprints(case))
    for results in case.results:
        yield from _wrong_data(case, results)


def _wrong_fingerprints(case: Case) -> Iterator[Finding]:
    train, owner = _wanted(case)
    for item, run in runs_of(case):
        pairs = (
            ("training", run.data_fingerprint, train),
            (
                "validation",
                text_of(run.config.get("validation_fingerprint")),
                case.track.validation_fingerprint,
            ),
        )
        for what, found, wanted in pairs:
            if found and wanted and found != wanted:
                yield about(
                    case,
                    item,
                    run,
                    "data-fingerprint-mismatch",
                    f"the run's {what} data are not the {owner[what]}'s",
                    claimed=found,
                    expected=wanted,
                    fix=f"train with the {owner[what]}'s {what} data",
                )
            elif wanted and not found and run.source != "results":
                yield about(
                    case,
                    item,
                    run,
                    "data-fingerprint-mismatch",
                    f"nothing in the run says what its {what} data were",
                    level=Level.WARNING,
                    expected=wanted,
                    fix="log their fingerprint, as the trainer does",
                )


def _wanted(case: Case) -> tuple[str | None, dict[str, str]]:
    """The fingerprint that training data must have, and who states that of each part."""
    owner = "manifest" if manifest_of(case) is not None else "track"
    return wanted_train(case), {"training": owner, "validation": "track"}


def train_validation_overlap(case: Case) -> Iterator[Finding]:
    """No validation document is among the training documents.

    A model that has seen the validation text has memorised it. The trainer counts the documents
    that are in both parts and writes the number to the results. A run that names validation text as
    what it trains on is a warning.
    """
    yield from case.problems_of("train-validation-overlap")
    yield from per_message(_named_alike(case))
    yield from overlap_in_code(case)
    yield from stated_overlap(case)
    for results in case.results:
        data = results.ours.get("data")
        data = data if isinstance(data, dict) else {}
        both = data.get("documents_in_both")
        same = data.get("train_fingerprint")
        if isinstance(both, (int, float)) and not isinstance(both, bool) and both > 0:
            text = f"{both:g} validation documents are among the training documents"
        elif isinstance(same, str) and same and same == data.get("validation_fingerprint"):
            text = "training and validation data are the same"
        else:
            continue
        yield finding(
            "train-validation-overlap",
            text,
            file=results.file,
            claimed=both,
            expected=0,
            pointer=results.pointer,
            fix="train without the validation documents",
        )


def _named_alike(case: Case) -> Iterator[Finding]:
    """Runs and files whose training data have the name of validation text."""
    fix = "train without the validation text, or say in the README what the file holds"
    for item, run in runs_of(case):
        for name, message in run.problems:
            if name == "train-validation-overlap":
                yield about(case, item, run, name, message, level=Level.WARNING, fix=fix)
    for results in case.results:
        settings = flatten({k: v for k, v in results.info.items() if isinstance(v, dict)})
        for name, does in misplaced_in(settings):
            yield finding(
                "train-validation-overlap",
                f"the file names what it {does}: {plain(f'{name}: {settings[name]}', 120)}",
                Level.WARNING,
                file=results.file,
                pointer=results.info_pointer,
                fix=fix,
            )


def _wrong_data(case: Case, results: ResultsRun) -> Iterator[Finding]:
    data = results.ours.get("data")
    data = data if isinstance(data, dict) else {}
    train = data.get("train_fingerprint") or results.ours.get("data_fingerprint")
    wanted_data, owner = _wanted(case)
    pairs = (
        ("training", train, wanted_data),
        ("validation", data.get("validation_fingerprint"), case.track.validation_fingerprint),
    )
    for what, found, wanted in pairs:
        if isinstance(found, str) and found and wanted and found != wanted:
            yield finding(
                "data-fingerprint-mismatch",
                f"the run's {what} data are not the {owner[what]}'s",
                file=results.file,
                pointer=results.pointer,
                claimed=plain(found),
                expected=wanted,
                fix=f"train with the {owner[what]}'s {what} data",
            )
        elif wanted and not found:
            yield finding(
                "data-fingerprint-mismatch",
                f"the file does not say which {what} data the run used",
                Level.WARNING,
                file=results.file,
                pointer=results.pointer,
                expected=wanted,
                fix="state their fingerprint, as the trainer does",
            )
