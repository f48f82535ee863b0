"""A suite: one experiment at several sizes, as one command, whose runs are points of one entry.

    python -m reference_trainer suite llama-75m llama-130m llama-300m --out runs/llama
    python -m reference_trainer suite small=tiny,model.hidden=64 large=tiny --seeds 3

A member trains in `OUT/POINT-HASH`, where the hash is that of its code, settings and data: a member
that is finished is reused, one that was interrupted goes on, one that changed gets a folder of its
own. A member that fails does not keep the others from running. `OUT/execution.json` lists them all.
"""

import dataclasses as dc
import pathlib
from collections.abc import Iterator
from typing import Any

from reference_trainer import distributed, joining, provenance, storage
from reference_trainer.config import Config, as_dict, load_config
from reference_trainer.distributed import Group
from reference_trainer.errors import ConfigError, TrainerError
from reference_trainer.graph import FILE, Execution, identity
from reference_trainer.loop import MakeBackend
from reference_trainer.runs import (
    Arm,
    check_environment,
    corpus_of,
    folder_called,
    run_in,
    store_of,
)
from reference_trainer.storage import Folder, LocalFolder

HASH = 8  # hexadecimal digits of an identity in the name of a folder


@dc.dataclass(frozen=True)
class Member:
    """One size of a suite: the name of its point, and what is trained."""

    point: str
    config: Config


def members_of(texts: tuple[str, ...], overrides: dict[str, str]) -> list[Member]:
    """The members that `CONFIG` or `POINT=CONFIG[,KEY=VALUE...]` name. Raises ConfigError."""
    members = [_member(text, overrides) for text in texts]
    points = [member.point for member in members]
    for point in points:
        if points.count(point) > 1:
            raise ConfigError(
                f'two members have the name "{point}"; name them apart, such as '
                f"{point}-a={texts[points.index(point)]}"
            )
    return members


def _member(text: str, overrides: dict[str, str]) -> Member:
    head, *settings = text.split(",")
    point, named, config = head.partition("=")
    if not named:
        point, config = pathlib.Path(head).stem, head
    if not _names_a_point(point):
        raise ConfigError(
            f'"{point}" cannot name a point; write POINT=CONFIG with lower-case letters, digits, '
            "- and _, such as 130m=llama-130m"
        )
    own = dict(overrides)
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ConfigError(f'"{setting}" of {point} is not a setting; write section.key=value')
        own[key.strip()] = value.strip()
    return Member(point, load_config(config, own))


def _names_a_point(text: str) -> bool:
    """Whether a submission may call a point so."""
    plain = text.isascii() and text.replace("-", "").replace("_", "").isalnum()
    return plain and text == text.lower() and text[0].isalnum() and len(text) <= 64


def run_suite(
    members: list[Member], options: dict[str, Any], make: MakeBackend, backend: str
) -> Iterator[str]:
    """Do every member and yield what there is to say. Raises TrainerError if one of them failed,
    after the others have run. `options` are those of a single run."""
    arms = [Arm("candidate", member.config, make) for member in members]
    check_environment(arms, options["wandb"])
    group = joining.join(backend, options["distributed"])
    out = options["out"] or folder_called("suite")
    failed = []
    with distributed.together(group):
        folder = _folder_of(out)
        for member, arm in zip(members, arms, strict=True):
            try:
                yield from _do(member, arm, {**options, "resume": True}, out, folder, group)
            except TrainerError as error:
                if group.processes > 1:
                    raise  # the other processes of the member cannot be brought back
                failed.append(member.point)
                yield f"{member.point}: failed: {error}"
        if group.first and not failed:
            name = options.get("submission") or "TRACK/NAME"
            yield f"next: speedrun new {name} --suite {out}"
    if failed:
        done = len(members) - len(failed)
        raise TrainerError(
            f"{done} of {len(members)} members are finished, not {', '.join(failed)}; the same "
            "command goes on where this one ended, with --force-run-failed also with those"
        )


def _folder_of(out: pathlib.Path) -> Folder:
    """Where the list of the members lies."""
    store = store_of(out / "member")
    return storage.open_folder(store.rpartition("/")[0]) if store else LocalFolder(out)


def _do(
    member: Member,
    arm: Arm,
    options: dict[str, Any],
    out: pathlib.Path,
    folder: Folder,
    group: Group,
) -> Iterator[str]:
    """One member: its step in the list, around the runs that it is made of."""
    corpus = corpus_of(member.config, options["quiet"], group)
    data = [corpus.train.fingerprint, corpus.validation.fingerprint]
    seeds = [options["seed"], options["seeds"]]
    wanted = identity(provenance.code_hashes(None), [as_dict(member.config), *seeds], data)
    name = f"{member.point}-{wanted[:HASH]}"
    lines = run_in(group, [arm], {**options, "out": out / name})
    if not group.first:
        yield from lines
        return
    execution = Execution(folder)
    if execution.finished(member.point, wanted):
        yield from _told(member.point, lines)  # they are reused, and fetched if they lie elsewhere
    else:
        with execution.step(member.point, wanted, data, options["force_run_failed"], name):
            yield from _told(member.point, lines)
    if folder.location != str(out):
        storage.copy(folder, LocalFolder(out), (FILE,))


def _told(point: str, lines: Iterator[str]) -> Iterator[str]:
    yield from (line.replace("candidate", point, 1) for line in lines)
