"""What newcomers get wrong on a pull request: the right cause comes first, the comment is short and
says what to do next, and doing it is enough."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from bot.registry import STATUS_NAMES, Status
from tests.bot.github.competition import (
    AUTHOR,
    OWNER,
    REPO,
    STRANGER,
    Competition,
    submission,
    wandb_submission,
)
from tests.bot.render.words import before_next, rules, visible, words
from tests.conftest import in_turn
from tests.doubles.wandb import WandbDouble
from tests.doubles.wandb.world import StoredRun

pytestmark = pytest.mark.one_in(3)

Files = dict[str, Any]
Make = Callable[[Competition, WandbDouble], Files]
Mend = Callable[[Competition, WandbDouble, "re.Match[str]"], Files]
FOLDER = "submissions/mini/fast"
LIST = f"{FOLDER}/submission.json"
TEAM, PROJECT = "example-team", "speedrun"


class Mistake(NamedTuple):
    """`fix` matches what the comment says to do, and `mend` does that."""

    make: Make
    status: Status
    rule: str
    fix: str
    mend: Mend


def good(competition: Competition, wandb: WandbDouble) -> Files:
    return dict(submission("fast", seconds=90.0))


def linked(competition: Competition, wandb: WandbDouble) -> Files:
    return dict(wandb_submission(wandb, "fast"))


def changed(files: Files, **values: Any) -> Files:
    return files | {LIST: json.dumps(json.loads(files[LIST]) | values, indent=2) + "\n"}


def run(wandb: WandbDouble, name: str = "fast0", project: str = PROJECT) -> StoredRun:
    return wandb.world.runs[(TEAM, project, name)]


def nothing(*_: object) -> Files:
    """Nothing to push: what was wrong lies on W&B."""
    return {}


def relinked(competition: Competition, wandb: WandbDouble, found: re.Match[str]) -> Files:
    """The links as they should have been."""
    return linked(competition, wandb)


def as_it_was(competition: Competition, wandb: WandbDouble, found: re.Match[str]) -> Files:
    return good(competition, wandb)


def replacing(old: str, new: str) -> Make:
    """A link that is not quite that of the run."""

    def make(competition: Competition, wandb: WandbDouble) -> Files:
        return {LIST: linked(competition, wandb)[LIST].replace(old, new)}

    return make


def hidden(access: str) -> Make:
    def make(competition: Competition, wandb: WandbDouble) -> Files:
        files = wandb_submission(wandb, "fast", project="ours")
        wandb.set_access(TEAM, "ours", access)
        return dict(files)

    return make


def one_hidden(competition: Competition, wandb: WandbDouble) -> Files:
    files = linked(competition, wandb)
    other = wandb_submission(wandb, "more", project="ours", runs=1, salt=5)
    wandb.set_access(TEAM, "ours", "private")
    runs = json.loads(files[LIST])["runs"]
    runs += json.loads(other["submissions/mini/more/submission.json"])["runs"]
    return changed(files, runs=runs)


def opened(competition: Competition, wandb: WandbDouble, found: re.Match[str]) -> Files:
    wandb.set_access(TEAM, "ours", "public")
    return {}


def unfinished(state: str, every: bool = False) -> Make:
    def make(competition: Competition, wandb: WandbDouble) -> Files:
        files = linked(competition, wandb)
        for name in [f"fast{n}" for n in range(8)] if every else ["fast0"]:
            run(wandb, name).state = state
        return files

    return make


def ended(competition: Competition, wandb: WandbDouble, found: re.Match[str]) -> Files:
    for stored in wandb.world.runs.values():
        stored.state = "finished"
    return {}


def of_another(competition: Competition, wandb: WandbDouble) -> Files:
    files = wandb_submission(wandb, "fast", author=STRANGER)
    return {LIST: files[LIST].replace(f'"{STRANGER}"', f'"{AUTHOR}"')}


def not_tagged(competition: Competition, wandb: WandbDouble) -> Files:
    files = wandb_submission(wandb, "fast", author="")
    return {LIST: files[LIST].replace('"github": ""', f'"github": "{AUTHOR}"')}


def tagged(competition: Competition, wandb: WandbDouble, found: re.Match[str]) -> Files:
    for stored in wandb.world.runs.values():
        stored.tags = [found[1]]
    return {}


def copied(competition: Competition, wandb: WandbDouble) -> Files:
    theirs = submission("record", OWNER, seconds=120.0, salt=90)
    first = theirs["submissions/mini/record/logs/0.log"]
    return good(competition, wandb) | {f"{FOLDER}/logs/0.log": first}


def of_an_entry(competition: Competition, wandb: WandbDouble) -> Files:
    files = wandb_submission(wandb, "old", seconds=200.0)
    competition.github.commit(REPO, "main", dict(files))
    return {LIST: files["submissions/mini/old/submission.json"]}


def beside(*paths: str) -> Make:
    def make(competition: Competition, wandb: WandbDouble) -> Files:
        return good(competition, wandb) | dict.fromkeys(paths, "changed\n")

    return make


def kept_alone(competition: Competition, wandb: WandbDouble, found: re.Match[str]) -> Files:
    from tests.bot.github.competition import TRACK

    return {"README.md": "A speedrun.\n", "tracks/mini.toml": TRACK, "notes/x.txt": None}


RECORD = submission("record", OWNER, seconds=120.0, salt=90)
THEIRS = "submissions/mini/record"


def retitled(competition: Competition, wandb: WandbDouble) -> Files:
    path = f"{THEIRS}/submission.json"
    return {path: RECORD[path].replace("Entry record", "Mine")}


def log_removed(competition: Competition, wandb: WandbDouble) -> Files:
    return {f"{THEIRS}/logs/0.log": None}


def into_theirs(competition: Competition, wandb: WandbDouble) -> Files:
    return {path.replace(FOLDER, THEIRS): data for path, data in good(competition, wandb).items()}


def restored(competition: Competition, wandb: WandbDouble, found: re.Match[str]) -> Files:
    assert found[1] == THEIRS
    return dict(RECORD) | good(competition, wandb)


def two_tracks(competition: Competition, wandb: WandbDouble) -> Files:
    return good(competition, wandb) | submission("fast", seconds=90.0, track="lab")


def two_folders(competition: Competition, wandb: WandbDouble) -> Files:
    return good(competition, wandb) | submission("again", seconds=90.0)


def one_of_two(competition: Competition, wandb: WandbDouble, found: re.Match[str]) -> Files:
    gone = {**submission("fast", track="lab"), **submission("again")}
    return dict.fromkeys(gone)


def track_of_another_folder(competition: Competition, wandb: WandbDouble) -> Files:
    return changed(good(competition, wandb), track="lab")


def not_named(competition: Competition, wandb: WandbDouble) -> Files:
    return dict(submission("fast", OWNER, seconds=90.0))


def named(competition: Competition, wandb: WandbDouble, found: re.Match[str]) -> Files:
    files = not_named(competition, wandb)
    people = [*json.loads(files[LIST])["contributors"], json.loads(found[1])]
    return changed(files, contributors=people)


def wrong_track(competition: Competition, wandb: WandbDouble) -> Files:
    return changed(good(competition, wandb), track="minni")


def slow_claim(competition: Competition, wandb: WandbDouble) -> Files:
    return changed(good(competition, wandb), claims={"training_time_s": 60.0})


def claimed(competition: Competition, wandb: WandbDouble, found: re.Match[str]) -> Files:
    return changed(good(competition, wandb), claims={"training_time_s": float(found[1])})


def too_high(competition: Competition, wandb: WandbDouble) -> Files:
    return dict(submission("fast", seconds=90.0, shift=0.01))


def too_few(competition: Competition, wandb: WandbDouble) -> Files:
    return dict(submission("fast", seconds=90.0, runs=1))


def huge_log(competition: Competition, wandb: WandbDouble) -> Files:
    return good(competition, wandb) | {f"{FOLDER}/logs/0.log": "step 1\n" * 3_200_000}


def huge_list(competition: Competition, wandb: WandbDouble) -> Files:
    return changed(good(competition, wandb), summary="very " * 230_000)


def many_files(competition: Competition, wandb: WandbDouble) -> Files:
    more = {f"{FOLDER}/checkpoints/{n}.txt": "x\n" for n in range(120)}
    return good(competition, wandb) | more


def fewer_files(competition: Competition, wandb: WandbDouble, found: re.Match[str]) -> Files:
    return {f"{FOLDER}/checkpoints/{n}.txt": None for n in range(120)}


def elsewhere(folder: str) -> Make:
    def make(competition: Competition, wandb: WandbDouble) -> Files:
        files = good(competition, wandb)
        return {path.replace(FOLDER, folder): data for path, data in files.items()}

    return make


def moved(competition: Competition, wandb: WandbDouble, found: re.Match[str]) -> Files:
    """The files in the folder that is named, and gone from where they were."""
    name = found[1] if "/" in found[1] else f"submissions/mini/{found[1]}"
    gone = elsewhere("submissions/fast")(competition, wandb)
    gone |= elsewhere("submissions/mini/My Idea")(competition, wandb)
    return dict.fromkeys(gone) | elsewhere(name)(competition, wandb)


NO, RUNS = Status.REJECTED, Status.NEEDS_RUNS
WAIT = r"wait until (?:the run|each of the 8 runs) has finished, then comment `/verify`"
OWN = r"keep it listed, and say here what happened"
LINK = r"check the link"
MISTAKES: tuple[Mistake, ...] = (
    Mistake(replacing("runs/fast0", "runs/gone"), NO, "run-not-found-or-private", LINK, relinked),
    Mistake(replacing("speedrun/", "spedrun/"), NO, "run-not-found-or-private", LINK, relinked),
    Mistake(replacing("runs/fast", "runs/fst"), NO, "run-not-found-or-private", LINK, relinked),
    Mistake(hidden("private"), NO, "run-not-found-or-private", r"make the project public", opened),
    Mistake(hidden("restricted"), NO, "project-not-public", r"make the project public", opened),
    Mistake(one_hidden, NO, "run-not-found-or-private", r"make the project public", opened),
    Mistake(unfinished("running"), Status.NEEDS_REVIEW, "run-unfinished", WAIT, ended),
    Mistake(unfinished("running", True), Status.NEEDS_REVIEW, "run-unfinished", WAIT, ended),
    Mistake(unfinished("crashed"), Status.NEEDS_REVIEW, "run-crashed", OWN, nothing),
    Mistake(of_another, NO, "run-of-another", r"bring runs of your own", relinked),
    Mistake(not_tagged, Status.NEEDS_REVIEW, "run-not-bound", r"tag `([\w:-]+)`", tagged),
    Mistake(copied, NO, "duplicate-run", r"or submit runs of your own", as_it_was),
    Mistake(of_an_entry, NO, "duplicate-run", r"or submit runs of your own", relinked),
    Mistake(
        replacing("speedrun/runs/fast0", "speedrun"), NO, "link-not-a-run", "run's page", relinked
    ),
    Mistake(beside("README.md"), NO, "out-of-scope-change", r"keep only", kept_alone),
    Mistake(beside("tracks/mini.toml"), NO, "out-of-scope-change", r"keep only", kept_alone),
    Mistake(beside("notes/x.txt"), NO, "out-of-scope-change", r"keep only", kept_alone),
    Mistake(retitled, NO, "author-not-contributor", r"restore ([\w/-]+);", restored),
    Mistake(log_removed, NO, "author-not-contributor", r"restore ([\w/-]+);", restored),
    Mistake(into_theirs, NO, "author-not-contributor", r"restore ([\w/-]+);", restored),
    Mistake(two_tracks, NO, "schema", r"submit a link to the run on W&B", one_of_two),
    Mistake(two_folders, NO, "duplicate-run", r"keep one of the two entries", one_of_two),
    Mistake(track_of_another_folder, NO, "schema", r'write "mini"', as_it_was),
    Mistake(not_named, NO, "author-not-contributor", r"add (\{.*\})", named),
    Mistake(wrong_track, NO, "schema", r'write "mini"', as_it_was),
    Mistake(slow_claim, NO, "claim-differs-from-run", r"write (\d+\.\d+)", claimed),
    Mistake(too_high, NO, "target-missed", r"train longer", as_it_was),
    Mistake(too_few, RUNS, "too-few-runs", r"add (?:about )?\d+", as_it_was),
    Mistake(huge_log, NO, "schema", r"make it smaller", as_it_was),
    Mistake(huge_list, NO, "json-invalid", r"make it smaller", as_it_was),
    Mistake(many_files, NO, "schema", r"keep at most 100 files", fewer_files),
    Mistake(elsewhere("submissions/fast"), NO, "out-of-scope-change", r"move it to (\S+)\.", moved),
    Mistake(elsewhere("submissions/mini/My Idea"), NO, "unsafe-name", r'to "([^"]+)"', moved),
)
NAMES = [f"{mistake.make.__qualname__.split('.')[0]}-{n}" for n, mistake in enumerate(MISTAKES)]


@pytest.mark.parametrize("mistake", in_turn(MISTAKES, NAMES, "the other mistakes", 1, every=4))
def test_the_comment_names_cause_and_next_step_and_that_suffices(
    mistake: Mistake, competition: Competition, wandb: WandbDouble
) -> None:
    pull = competition.open(mistake.make(competition, wandb))
    report = competition.verify(pull.number)
    competition.publish(pull.number)
    assert report.status is mistake.status, [v.findings for v in report.verdicts]
    body = competition.sticky(pull.number)
    worst = body[body.index(STATUS_NAMES[mistake.status]) :] if len(report.verdicts) > 1 else body
    assert before_next(body) <= 15, visible(body)
    groups = rules(visible(worst))
    assert groups[0] == mistake.rule, groups
    assert len(words(visible(body))) <= 120 * len(report.verdicts) + 60 * len(groups)

    shown = re.sub(r"\\(.)", r"\1", worst)
    fix = re.search(mistake.fix, shown)
    assert fix, visible(body)
    pushed = mistake.mend(competition, wandb, fix)
    if pushed:
        competition.push(pushed)
    again = competition.verify(pull.number)
    assert again.status and again.status.counts, [v.findings for v in again.verdicts]
    found = {f.rule for v in again.verdicts for f in v.findings}
    assert (mistake.rule in found) == (mistake.fix == OWN), "a maintainer weighs what was said"


def test_what_lies_outside_is_told_where_submissions_go(
    competition: Competition, wandb: WandbDouble
) -> None:
    pull = competition.open(elsewhere("entries/fast")(competition, wandb))
    competition.answer(pull.number)
    assert "put it in one folder `submissions/TRACK/NAME/`" in competition.sticky(pull.number)
