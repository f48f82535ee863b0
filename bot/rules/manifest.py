"""Evidence: training data that an entry brings, and the recipe that the track fixes beside them."""

from __future__ import annotations

import itertools as it
import math
from collections.abc import Iterator
from typing import Any

from bot.evidence.wandb.history import flatten
from bot.model.case import Case
from bot.model.manifest import DataManifest, Split
from bot.model.run import TRAINER, Run
from bot.model.verdict import Finding, finding
from bot.parse.data_manifest import DATA_MANIFEST, read_manifest
from bot.registry import Level
from bot.render.numbers import count as counted
from bot.render.untrusted import shown
from bot.rules.about import about, per_message, runs_of

MOST = 3
"""So many settings that differ are named; more usually share one cause."""


def manifest_of(case: Case) -> DataManifest | None:
    """The manifest of an entry that brings its training data; None if it has none to read."""
    if not case.track.data_submitted:
        return None
    return read_manifest(case.documents.get(DATA_MANIFEST))


def data_manifest(case: Case) -> Iterator[Finding]:
    """Submitted training data have a manifest that is complete and agrees with itself.

    On a track where the data are the entry, `data_manifest.json` lists sources with their licences,
    filters, counts, the shards with their hashes, and what training and validation text share.
    `speedrun data build` writes it, and `speedrun new --data FOLDER` copies it. The validation part
    must be the track's, unchanged, and all counts must add up.
    """
    if not case.track.data_submitted or case.folder.bare:
        return
    if DATA_MANIFEST not in case.folder.files:
        yield finding(
            "data-manifest",
            f"the track asks for the training data's manifest, but there is no {DATA_MANIFEST}",
            file=case.folder.full("submission.json"),
            fix=f"copy the manifest.json that `speedrun data build` wrote to {DATA_MANIFEST}",
        )
        return
    manifest = manifest_of(case)
    if manifest is not None:
        yield from _sums(case, manifest)
        yield from _validation(case, manifest)


def _sums(case: Case, manifest: DataManifest) -> Iterator[Finding]:
    for name, split in (("train", manifest.train), ("validation", manifest.validation)):
        total = sum(shard.tokens for shard in split.shards)
        if total != split.tokens:
            yield _wrong(
                case,
                f"the {name} shards have {total:,} tokens, the split {split.tokens:,}",
                f"/splits/{name}/tokens",
                split.tokens,
                total,
            )
        names = [shard.file for shard in split.shards]
        if len(set(names)) < len(names):
            yield _wrong(case, f"the {name} split lists a shard twice", f"/splits/{name}/shards")
    left = manifest.offered - manifest.removed
    if left != manifest.train.documents:
        yield _wrong(
            case,
            f"the sources have {manifest.offered:,} documents and the filters removed "
            f"{manifest.removed:,}, which leaves {left:,}, not {manifest.train.documents:,}",
            "/splits/train/documents",
            manifest.train.documents,
            left,
        )


def _validation(case: Case, manifest: DataManifest) -> Iterator[Finding]:
    found, wanted = manifest.validation.fingerprint, case.track.validation_fingerprint
    if wanted is not None and found != wanted:
        yield _wrong(
            case,
            "the validation split is not the track's",
            "/splits/validation",
            found,
            wanted,
            f"build with `speedrun data build --track {case.track.id}`",
        )


def _wrong(
    case: Case,
    message: str,
    pointer: str,
    claimed: Any = None,
    expected: Any = None,
    fix: str = "submit the manifest as `speedrun data build` wrote it",
) -> Finding:
    document = case.documents[DATA_MANIFEST]
    return finding(
        "data-manifest",
        message,
        file=document.file,
        line=document.line(pointer),
        pointer=pointer,
        claimed=claimed,
        expected=expected,
        fix=fix,
    )


def stated_overlap(case: Case) -> Iterator[Finding]:
    """What the manifest itself says that training and validation text share."""
    manifest = manifest_of(case)
    if manifest is None:
        return
    for name, what in (("documents", "whole document"), ("ngrams", "passage")):
        count = manifest.overlap.get(name, 0)
        if count:
            length = " of 13 words" if name == "ngrams" else ""
            yield finding(
                "train-validation-overlap",
                f"training and validation text share {counted(count, what)}{length}, according "
                "to the manifest",
                file=case.documents[DATA_MANIFEST].file,
                pointer=f"/data/overlap/{name}",
                claimed=count,
                expected=0,
                fix="build the data again with `speedrun data build`, which leaves them out",
            )


def unverified_data(case: Case) -> Iterator[Finding]:
    """Training data whose shards no maintainer has looked at yet."""
    manifest = manifest_of(case)
    if manifest is None or manifest.train.fingerprint in case.track.data_verified:
        return
    yield finding(
        "uncorroborated",
        "that training and validation text share nothing rests on the author's word",
        Level.WARNING,
        file=case.documents[DATA_MANIFEST].file,
        pointer="/data/overlap",
        claimed=manifest.train.fingerprint,
        fix=f"A maintainer fetches the shards, runs `speedrun data verify {case.folder.path}` and "
        "records the result.",
    )


def wanted_train(case: Case) -> str | None:
    """The fingerprint that the training data of every run must have."""
    manifest = manifest_of(case)
    split: Split | None = None if manifest is None else manifest.train
    return case.track.train_fingerprint if split is None else split.fingerprint


# ---- the recipe ---------------------------------------------------------------------------------


def recipe_differs(case: Case) -> Iterator[Finding]:
    """Every run has the settings that the track fixes.

    On a track where only one thing may change, such as the training data, everything else must be
    equal, or nobody can tell what helped. The settings are those that the trainer writes to the
    configuration of the W&B run. Train with the command that the track names, and change nothing
    else.
    """
    if case.track.recipe:
        yield from per_message(_recipe_differs(case))


def _recipe_differs(case: Case) -> Iterator[Finding]:
    recipe = case.track.recipe
    for item, run in runs_of(case):
        found = flatten(run.config)
        missing = sorted(recipe.keys() - found.keys())
        if missing:
            yield about(
                case, item, run, "recipe-differs",
                f"the run does not say what its {missing[0]} was",
                expected=recipe[missing[0]],
                fix="submit the W&B run, or the run.wandb file, that the trainer wrote",
            )  # fmt: skip
        known = (key for key in recipe if key in found and not _same(found[key], recipe[key]))
        for key in it.islice(known, MOST):
            yield about(
                case, item, run, "recipe-differs",
                f"{key} is {shown(found[key])}, the track fixes {shown(recipe[key])}",
                claimed=found[key] if isinstance(found[key], int | float | str) else None,
                expected=recipe[key],
                fix=f"train with {key} = {shown(recipe[key])}",
            )  # fmt: skip
        yield from _foreign_code(case, item, run)


def _same(found: Any, wanted: float | str | bool) -> bool:
    if isinstance(wanted, (bool, str)) or isinstance(found, (bool, str)):
        return type(found) is type(wanted) and found == wanted
    return isinstance(found, int | float) and math.isclose(found, wanted, rel_tol=1e-9)


def _foreign_code(case: Case, item: Any, run: Run) -> Iterator[Finding]:
    other = sorted(name for name in run.code_sha256 if name != TRAINER)
    if other:
        yield about(
            case, item, run, "recipe-differs",
            f"the run ran {shown(other[0])}, the track fixes the trainer's own code",
            fix="train with `speedrun train`, without a file of your own",
        )  # fmt: skip
