"""The pull request that makes a new baseline, opened once the board says that one is due.

It adds one file, `tracks/baselines/<track>/<name>.json`, which nobody edits by hand. A maintainer
merges it or closes it; one that was closed is not opened again.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from collections.abc import Iterator, Mapping

from github import GithubException

from bot.github.api import branches
from bot.github.api.client import Repo, settle, told
from bot.github.api.workflows import Dispatch
from bot.github.pull_request.engine import Engine
from bot.github.pull_request.publish import ours
from bot.model.board import Board
from bot.model.report import Settings
from bot.model.track import Baseline, Track
from bot.parse.baselines_json import path_of, to_text
from bot.rank.baseline import contenders, credit, freeze, rows
from bot.rank.ranking import rank
from bot.render.comment import Safe, render
from bot.render.states import state_words

BRANCHES = "speedrun/promote-"
MARKER = "<!-- speedrun:promotion -->"


@dc.dataclass(frozen=True, slots=True)
class Promotion:
    """A baseline that is due, the board that says so, and the board once it stands."""

    made: Baseline
    board: Board
    after: Board

    @property
    def track(self) -> Track:
        """The track of the baseline."""
        return self.board.track

    @property
    def branch(self) -> str:
        """One branch for each baseline, so that a second try finds the first one's."""
        return f"{BRANCHES}{self.track.id}-{self.made.id.replace('/', '.')}"


def promotions(engine: Engine, on: dt.date) -> Iterator[Promotion]:
    """The baselines that are due on the boards of a checkout."""
    for track in engine.tracks.values():
        board = engine.board(track.id) if track.objective == "baseline" else None
        entry = next(iter(contenders(board)), None) if board else None
        if board is None or entry is None:
            continue
        before = board.track.baseline_id
        until = f"submissions/{track.id}/{before}" if before else None
        people = credit(entry.submission, engine.submissions(track.id), until)
        made = freeze(
            entry.verdict,
            board.track,
            on=on.isoformat(),
            people=people,
            entry=entry,
            board=rows(board),
            code=engine.code(entry.submission),
        )
        verdicts = [e.verdict for e in board.entries] + [u.verdict for u in board.unranked]
        then = dc.replace(board.base, baselines=(*board.base.baselines, made), baseline_id=made.id)
        yield Promotion(made, board, rank(verdicts, then))


def open_promotions(
    repo: Repo, settings: Settings, engine: Engine, number: int, on: dt.date, dispatch: Dispatch
) -> Iterator[str]:
    """Open what is due after the merge of pull request `number`, each once; a word for the log."""
    for due in promotions(engine, on):
        with told("opening the pull request of a new baseline"):
            base = repo.api.default_branch
            owner = repo.name.split("/")[0]
            if any(repo.api.get_pulls(state="all", head=f"{owner}:{due.branch}")):
                yield f"{due.made.id}: its pull request was opened before"
                continue
            path = path_of(due.track.id, due.made.id)
            content = to_text(due.made).encode()
            title = f"New baseline of {due.track.id}: {due.made.id}"
            start = branches.tip(repo.api, base)

            def edit(
                tip: str | None, path: str = path, content: bytes = content
            ) -> Mapping[str, bytes]:
                return {} if tip else {path: content}

            branches.commit(repo.api, due.branch, edit, title, start)
            body = render("promotion.md.j2", settings, **_words(due))
            link, opened = _opened(repo, due.branch, base, title, body)
            _tell(repo, number, render("due.md.j2", settings, made=due.made, link=Safe(link)))
        if opened:
            dispatch(opened, base)
        yield f"{due.made.id}: {link}"


def _opened(repo: Repo, branch: str, base: str, title: str, body: str) -> tuple[str, int]:
    """Address and number of the pull request; where Actions may open none, the page that does."""
    try:
        pull = branches.open_pull(repo, branch, base, title, body)
    except GithubException as error:
        if error.status != 403:
            raise
        return f"{repo.page}/compare/{base}...{branch}?expand=1", 0
    return str(pull.html_url), pull.number


def _tell(repo: Repo, number: int, body: str) -> None:
    """Say on the pull request that made it due where the new baseline is; once."""

    def upsert() -> None:
        issue = repo.api.get_issue(number)
        if not any((c.body or "").startswith(MARKER) for c in ours(repo, issue)):
            issue.create_comment(f"{MARKER}\n{body}")

    settle(repo, upsert)


def _words(due: Promotion) -> dict[str, object]:
    """What the description shows: values alone."""
    ratios = {e.submission: e.progress.ratio for e in due.board.entries if e.progress}
    folded = {path for person in due.made.credits for path in person.submissions}
    rivals = [e.submission for e in contenders(due.board)[1:]]
    state = due.board.states.get(due.made.submission)
    return {
        "track": due.track.id,
        "made": due.made,
        "state": state_words(state) if state else "",
        "folded": sorted(folded),
        "rivals": rivals,
        "rows": [
            {"entry": e.submission, "before": ratios.get(e.submission), "after": e.progress.ratio}
            for e in due.after.entries
            if e.progress
        ],
        "gone": [
            u.verdict.submission for u in due.after.unranked if u.verdict.submission in ratios
        ],
    }
