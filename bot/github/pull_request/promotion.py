"""The pull request that makes a new baseline, opened once the board says that one is due.

It adds one file, `tracks/baselines/<track>/<name>.json`, which nobody edits by hand. A maintainer
merges it or closes it; one that was closed is not opened again. While it is open, every merge that
changes the board brings its file and its description up to date, or makes it say why it is no
longer due.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping

from github import GithubException
from github.PullRequest import PullRequest

from bot.github.api import branches
from bot.github.api.client import Repo, settle, told
from bot.github.api.workflows import Dispatch
from bot.github.pull_request.engine import Engine
from bot.github.pull_request.publish import ours
from bot.github.pull_request.pull import Trees, read_blob
from bot.model.board import Board
from bot.model.report import Settings
from bot.model.submission import Submission
from bot.model.track import Baseline, Track
from bot.parse.baselines_json import path_of, to_text
from bot.rank.baseline import contenders, credit, freeze, not_due, rows
from bot.rank.ranking import rank
from bot.render.comment import Safe, entry_page, render
from bot.render.states import state_words

BRANCHES = "speedrun/promote-"
MARKER = "<!-- speedrun:promotion -->"
_MOMENT = ("frozen_on", "frozen_at")


@dc.dataclass(frozen=True, slots=True)
class Promotion:
    """A baseline that is due, the board that says so, and the board once it stands."""

    made: Baseline
    board: Board
    after: Board
    sent: Mapping[str, Submission]
    """The submissions of the track by path."""

    @property
    def track(self) -> Track:
        """The track of the baseline."""
        return self.board.track

    @property
    def branch(self) -> str:
        """One branch for each baseline, so that a second try finds the first one's."""
        return f"{BRANCHES}{self.track.id}-{self.made.id.replace('/', '.')}"

    @property
    def path(self) -> str:
        """The one file that its pull request adds."""
        return path_of(self.track.id, self.made.id)

    def differs_from(self, content: bytes) -> list[str]:
        """The fields in which a file tells another baseline; of the moment it was made, none."""
        try:
            held = json.loads(content)
        except ValueError:
            held = {}
        fields = json.loads(to_text(self.made))
        return [n for n in fields if n not in _MOMENT and held.get(n) != fields[n]]


def promotions(engine: Engine, at: dt.datetime) -> Iterator[Promotion]:
    """The baselines that are due on the boards of a checkout."""
    for track in engine.tracks.values():
        board = engine.board(track.id) if track.objective == "baseline" else None
        entry = next(iter(contenders(board)), None) if board else None
        if board is None or entry is None:
            continue
        before = board.track.baseline_id
        until = f"submissions/{track.id}/{before}" if before else None
        sent = engine.submissions(track.id)
        people = credit(entry.submission, sent, until)
        made = freeze(
            entry.verdict,
            board.track,
            on=at.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            people=people,
            entry=entry,
            board=rows(board),
            code=engine.code(entry.submission),
        )
        verdicts = [e.verdict for e in board.entries] + [u.verdict for u in board.unranked]
        then = dc.replace(board.base, baselines=(*board.base.baselines, made), baseline_id=made.id)
        yield Promotion(made, board, rank(verdicts, then), sent)


def open_promotions(
    repo: Repo, settings: Settings, engine: Engine, number: int, at: dt.datetime, dispatch: Dispatch
) -> Iterator[str]:
    """After the merge of pull request `number`: bring those of new baselines that are open up to
    date, and open what is due, each once; a word for the log."""
    due = {item.branch: item for item in promotions(engine, at)}
    with told("reading the pull requests of new baselines"):
        opened = [pull for pull in repo.api.get_pulls(state="open") if is_promotion(repo, pull)]
        for pull in opened:
            branch = pull.head.ref
            again = _refreshed(repo, settings, engine, pull, due.pop(branch, None))
            yield f"{branch.removeprefix(BRANCHES)}: {again or 'its pull request is up to date'}"
            if again:
                dispatch(pull.number, repo.api.default_branch)
    for item in due.values():
        yield from _open(repo, settings, item, number, dispatch)


def is_promotion(repo: Repo, pull: PullRequest) -> bool:
    """Whether a pull request is one of a new baseline that we opened."""
    ours = pull.user.login == repo.login and pull.head.repo is not None
    return ours and pull.head.repo.full_name == repo.name and pull.head.ref.startswith(BRANCHES)


def _open(
    repo: Repo, settings: Settings, due: Promotion, number: int, dispatch: Dispatch
) -> Iterator[str]:
    with told("opening the pull request of a new baseline"):
        base = repo.api.default_branch
        owner = repo.name.split("/")[0]
        if any(repo.api.get_pulls(state="all", head=f"{owner}:{due.branch}")):
            yield f"{due.made.id}: its pull request was opened before"
            return
        title = f"New baseline of {due.track.id}: {due.made.id}"
        start = branches.tip(repo.api, base)

        def edit(tip: str | None) -> Mapping[str, bytes]:
            return {} if tip else {due.path: to_text(due.made).encode()}

        branches.commit(repo.api, due.branch, edit, title, start)
        body = render("promotion.md.j2", settings, **_words(due, settings))
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


# ---- One that is open while the board changes --------------------------------------------------


def _refreshed(
    repo: Repo, settings: Settings, engine: Engine, pull: PullRequest, due: Promotion | None
) -> str:
    """Bring file and description up to date; what was done, empty where nothing had changed."""
    changed = None
    if due is None:
        why = _why_not(engine, pull.head.ref)
        done, body = f"no longer due: {why}", render("not_due.md.j2", settings, why=why)
    else:
        done, body = (
            "brought up to date",
            render("promotion.md.j2", settings, **_words(due, settings)),
        )

        def edit(tip: str | None) -> Mapping[str, bytes]:
            entry = Trees(repo, tip).find(due.path) if tip else None
            held = read_blob(repo, entry) if entry else b""
            return {due.path: to_text(due.made).encode()} if due.differs_from(held) else {}

        message = f"Bring the baseline {due.made.id} up to date"
        changed = branches.commit(repo.api, due.branch, edit, message)
    said = (pull.body or "").replace("\r\n", "\n").strip() == body.strip()
    if not said:
        pull.edit(body=body)
    return "" if said and not changed else done


def _why_not(engine: Engine, branch: str) -> str:
    """Why the baseline of a branch is not due any more."""
    for track in engine.tracks.values():
        start = f"{BRANCHES}{track.id}-"
        if track.objective == "baseline" and branch.startswith(start):
            name = branch.removeprefix(start).replace(".", "/")
            return not_due(engine.board(track.id), f"submissions/{track.id}/{name}")
    return "there is no such track any more"


def outdated(engine: Engine, branch: str, files: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """What a check says of a promotion's files (path, content) that the board has overtaken."""
    due = {item.path: item for item in promotions(engine, dt.datetime.now(dt.UTC))}
    for path, content in files:
        item = due.get(path)
        if item is None:
            yield f"{path} is no longer due: {_why_not(engine, branch)}. Do not merge it."
        elif fields := item.differs_from(content):
            yield (
                f"{path} is out of date ({', '.join(fields)}): the bot updates it when the merge "
                "that changed the board is recorded. To start that again, run the workflow "
                "speedrun-record for that pull request."
            )


def _tell(repo: Repo, number: int, body: str) -> None:
    """Say on the pull request that made it due where the new baseline is; once."""

    def upsert() -> None:
        issue = repo.api.get_issue(number)
        if not any((c.body or "").startswith(MARKER) for c in ours(repo, issue)):
            issue.create_comment(f"{MARKER}\n{body}")

    settle(repo, upsert)


def _words(due: Promotion, settings: Settings) -> dict[str, object]:
    """What the description shows: values alone."""
    verdicts = {e.submission: e.verdict for e in due.board.entries}
    verdicts |= {u.verdict.submission: u.verdict for u in due.board.unranked}

    def shown(path: str) -> dict[str, object]:
        verdict, ratio = verdicts.get(path), ratios.get(path)
        link = entry_page(verdict, settings) if verdict else ""
        sent = due.sent.get(path)
        reply = sent.reply.kind if sent and sent.reply else ""
        title = sent.title if sent else ""
        return {"path": path, "title": title, "link": link, "ratio": ratio, "reply": reply}

    ratios = {e.submission: e.progress.ratio for e in due.board.entries if e.progress}
    folded = {path for person in due.made.credits for path in person.submissions}
    frozen = {b.submission for b in due.board.track.baselines}
    rivals = [e.submission for e in contenders(due.board)[1:]]
    state = due.board.states.get(due.made.submission)
    return {
        "track": due.track.id,
        "threshold": due.track.promote_at,
        "now": due.track.baseline_id,
        "made": due.made,
        "state": state_words(state) if state else "",
        "folded": [shown(path) for path in sorted(folded)],
        "rivals": [shown(path) for path in rivals],
        "rows": [
            {
                "entry": e.submission,
                "before": ratios.get(e.submission),
                "after": e.progress.ratio,
                "state": "baseline" if e.submission in frozen else e.state.name,
            }
            for e in due.after.entries
            if e.progress
        ],
        "gone": [
            u.verdict.submission for u in due.after.unranked if u.verdict.submission in ratios
        ],
    }
