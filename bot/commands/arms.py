"""The two arms of what `speedrun stats` is given, read as `new` and `check` read them.

In the folder of a submission its submission.json says which runs count, and of which arm. Anywhere
else the runs of `--baseline` make the baseline arm, or without it those of logs that are named so
beside others that are not. `refused` holds what `check` would reject the runs for.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from collections.abc import Iterable, Sequence
from pathlib import Path

from bot.commands import draft
from bot.commands.given import is_baseline
from bot.commands.root import Unusable
from bot.evidence.gather import ENVIRONMENT, Evidence, gather
from bot.evidence.sources import Found, Skipped, is_link, read_sources
from bot.model.case import Context
from bot.model.run import Run
from bot.model.submission import PLACEHOLDER, Folder, Submission
from bot.model.track import Track
from bot.model.verdict import Finding
from bot.parse.folder import Parsed, ReadError, parse_submission, read_path
from bot.parse.submission_json import SUBMISSION
from bot.registry import OURS, catalogue
from bot.verify import verify_parsed

_FAMILIES = ("accounting", "evidence")
_OF_THE_FOLDER = ("code-missing", "claim-differs-from-run", "metric-missing")
"""About what lies beside the runs, or what the sentences on them say already."""


@dc.dataclass
class Arms:
    """The runs of both arms, what gave none, and what `check` would reject."""

    ours: list[Run] = dc.field(default_factory=list)
    theirs: list[Run] = dc.field(default_factory=list)
    skipped: list[Skipped] = dc.field(default_factory=list)
    refused: list[Finding] = dc.field(default_factory=list)
    failed: bool = False
    """Whether a service did not answer."""

    @property
    def unread(self) -> Found:
        """What gave no runs, to be named."""
        return Found((), tuple(self.skipped), self.failed)


def arms_of(
    sources: Sequence[str], baseline: Sequence[str], track: Track, loss_key: str | None = None
) -> Arms:
    """Read the sources into arms. Asks W&B for links."""
    arms = Arms()
    loose = []
    for source in sources:
        if Path(source, SUBMISSION).is_file():
            _submission(Path(source), track, arms)
        else:
            loose.append(source)
    mapped = draft.mapped(track, loss_key)
    found, other = (read_sources(part, *mapped) for part in (loose, baseline))
    by_name = {run.file for run in found.runs if _is_baseline(run.file, loose)}
    if baseline or all(run.file in by_name for run in found.runs):
        by_name = set()
    arms.ours += [run for run in found.runs if run.file not in by_name]
    arms.theirs += [*other.runs, *(run for run in found.runs if run.file in by_name)]
    arms.skipped += [*found.skipped, *other.skipped]
    arms.failed |= found.ours or other.ours
    if loose and found.runs:
        arms.refused += _refused_draft(loose, baseline, track, loss_key)
    return arms


def _is_baseline(file: str, sources: Iterable[str]) -> bool:
    """Whether the name of a file says so, or a folder below the one that was named."""
    path = Path(file)
    for source in map(Path, sources):
        if source.is_dir() and path.is_relative_to(source):
            return any(map(is_baseline, path.relative_to(source).parts))
    return any(map(is_baseline, path.absolute().parts[-2:]))


class _Gatherer:
    """Gathers evidence, and remembers it."""

    def __init__(self) -> None:
        self.found: Evidence | None = None

    def __call__(self, submission: Submission, folder: Folder, track: Track) -> Evidence:
        self.found = gather(submission, folder, track, online=ENVIRONMENT)
        return self.found


def _submission(path: Path, track: Track, arms: Arms) -> None:
    """The runs that a submission lists."""
    try:
        folder = read_path(path, path.parent)
        parsed = parse_submission(folder, {track.id: track}, track.id)
    except ReadError as error:
        arms.skipped.append(Skipped(str(path), str(error)))
        return
    folder = Folder(str(path), folder.files, folder.skipped)
    parsed = dc.replace(parsed, submission=dc.replace(parsed.submission, path=str(path)))
    asked = _Gatherer()
    arms.refused += _refused(folder, parsed, asked)
    listed = set(parsed.submission.runs)
    for item in asked.found.runs if asked.found else ():
        if item.spec in listed and item.spec.arm != "search":
            arm = arms.theirs if item.spec.arm == "baseline" else arms.ours
            arm += item.runs
            for problem in item.problems if not item.runs else ():
                arms.skipped.append(Skipped(item.spec.target, problem.message, problem.fix))
                arms.failed |= problem.rule in OURS
    for spec in parsed.submission.runs:
        if spec.source == "results" and spec.arm != "search":
            found = read_sources([str(path / spec.target)], track)
            (arms.theirs if spec.arm == "baseline" else arms.ours).extend(found.runs)
            arms.skipped += found.skipped


def _refused(folder: Folder, parsed: Parsed, asked: _Gatherer) -> list[Finding]:
    """The errors of a verdict that are about the runs themselves."""
    context = Context(today=dt.datetime.now(dt.UTC).date())
    verdict = verify_parsed(parsed, folder, context, gather=asked)
    return [
        item
        for item in verdict.errors
        if catalogue()[item.rule]["family"] in _FAMILIES
        and item.rule not in OURS
        and item.rule not in _OF_THE_FOLDER
    ]


def _refused_draft(
    sources: Sequence[str], baseline: Sequence[str], track: Track, loss_key: str | None
) -> list[Finding]:
    """The same for runs that lie in no submission: as `new` would make one of them."""
    links = [s for s in sources if is_link(s)]
    results = [s for s in sources if s not in links and s.lower().endswith(".json")]
    logs = [s for s in sources if s not in links and s not in results]
    try:
        files, runs = draft.given(links, results, logs, baseline, track, loss_key)
        made = draft.draft(track, "runs", PLACEHOLDER, runs)
        if loss_key is not None:
            made["keys"] = {"loss": loss_key}
        folder, parsed = draft.parsed_draft(made, files, f"submissions/{track.id}/runs", track)
    except Unusable:
        return []  # what cannot be taken into a submission was named while it was read
    return _refused(folder, parsed, _Gatherer())
