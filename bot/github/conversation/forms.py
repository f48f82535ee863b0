"""The issue form and `/submit`: what somebody sent, and what is still missing in words for them.

GitHub's sections (`### Heading` and text) are a stranger's and are read as data.
"""

from __future__ import annotations

import dataclasses as dc
import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.evidence.links import RunRef
from bot.github.conversation.commands import Command
from bot.github.pull_request.intake import Intake, ask, links_in, people_in, track_in
from bot.model.submission import REPLIES, Reply, entry_path
from bot.model.track import Track
from bot.parse.issue_form import sections
from bot.parse.json_file import read_json
from bot.parse.plan import issue_in
from bot.parse.submission_json import SUBMISSION
from bot.patterns import ENTRY
from bot.repository import submission_folders

FIELDS = {
    "track": "Track",
    "links": "W&B runs",
    "baseline": "W&B runs of the baseline",
    "title": "Title",
    "words": "What did you try",
    "preregistration": "Preregistration",
    "reply": "Somebody else's entry",
    "contributors": "Contributors",
}
"""Headings of `.github/ISSUE_TEMPLATE/submission.yml`; a test holds the two together."""
LABEL = "submission"
MOST_NAMES = 5
_IN_FORM = {
    "baseline": f'put their links under "{FIELDS["baseline"]}"',
    "idea": f'write `LOGIN: idea` under "{FIELDS["contributors"]}"',
}
_ME = ("me", "mine", "myself")
_IN_COMMAND = {
    "baseline": "add `baseline LINK...` behind the links",
    "idea": "add `idea LOGIN`",
}


def read_form(body: str, author: str, tracks: Mapping[str, Track]) -> Intake:
    """A filled issue form. `missing` is empty when a submission can be made of it."""
    text = sections(body)
    missing: list[str] = []
    links = links_in(text.get(FIELDS["links"], ""), missing)
    if not links and not missing:
        missing.append('"W&B runs" is empty: paste the links of your runs, one on each line')
    title = " ".join(text.get(FIELDS["title"], "").split())[:120]
    if not title:
        missing.append('"Title" is empty: one line that names the idea')
    words = text.get(FIELDS["words"], "")[:4000]
    if not words:
        missing.append('"What did you try" is empty: two or three sentences are enough')
    form = Intake(
        author=author,
        track=track_in(text.get(FIELDS["track"], ""), tracks, missing),
        links=links,
        baseline=links_in(text.get(FIELDS["baseline"], ""), missing),
        title=title,
        words=words,
        preregistration=_issue(text.get(FIELDS["preregistration"], ""), missing),
        contributors=people_in(text.get(FIELDS["contributors"], ""), author, missing),
        reply=_reply(text.get(FIELDS["reply"], ""), missing),
        missing=tuple(missing),
    )
    return ask(form, tracks, _IN_FORM)


def _reply(text: str, missing: list[str]) -> Reply | None:
    """`reproduces TRACK/NAME` or `challenges TRACK/NAME`."""
    kind, _, entry = " ".join(text.split()).strip("`").partition(" ")
    if not kind:
        return None
    if kind.lower() not in REPLIES or not ENTRY.fullmatch(entry.removeprefix("submissions/")):
        said = " ".join(text.split())[:60]
        missing.append(
            f'"{FIELDS["reply"]}" is "{said}": write `reproduces TRACK/NAME` or '
            "`challenges TRACK/NAME`"
        )
        return None
    return Reply(kind.lower(), entry)


def _issue(text: str, missing: list[str]) -> int | str | None:
    """The issue that announced the runs, as submission.json names it."""
    named = " ".join(text.split())
    if not named:
        return None
    if (issue := issue_in(named)) is None:
        missing.append(f'"Preregistration" is "{named[:60]}": write the number of an issue')
    return issue


def from_command(
    command: Command, author: str, tracks: Mapping[str, Track], title: str = ""
) -> Intake:
    """A submission from `/submit LINK...`. A first word that looks like no track is prose if there
    is just one to choose, unless it is written like a track's name. `title` is that of the
    author's own thread.
    """
    missing: list[str] = []
    said = [("idea", name) for name in command.idea] + [("code", name) for name in command.code]
    people = "\n".join(f"{author if n.lower() in _ME else n}: {role}" for role, n in said)
    track, open_to = command.track, [t.id for t in tracks.values() if "wandb" in t.accepts]
    words = command.words
    if len(open_to) == 1 and not command.sure and not difflib.get_close_matches(track, tracks):
        words, track = f"{track.capitalize()} {words}" if words else "", ""
    title = " ".join(title.split())[:120] or f"Runs by {author}"
    if command.reply is not None:
        title = f"{command.reply.entry.rpartition('/')[2]}, run again by {author}"
    form = Intake(
        author=author,
        track=track_in(track, tracks, missing),
        links=command.links,
        baseline=command.baseline,
        title=title,
        words=words.strip()[:4000],
        contributors=people_in(people, author, missing),
        reply=command.reply,
        missing=tuple(missing),
    )
    return ask(form, tracks, _IN_COMMAND)


_MOST_TRACKS = 3


def lines_for(
    links: Sequence[RunRef], author: str, tracks: Mapping[str, Track]
) -> list[dict[str, str]]:
    """What to write in a comment to submit runs, a line for each track that takes them; one for all
    where there are many."""
    listed = " ".join(link.url for link in links)
    takes = [track for track in tracks.values() if "wandb" in track.accepts]
    if len(takes) > _MOST_TRACKS:
        ids = ", ".join(f"`{track.id}`" for track in takes)
        return [{"title": f"TRACK is one of {ids}", "line": f"/submit TRACK {listed}"}]
    return [
        {"title": track.title, "line": f"/submit {track.id} {listed}{_beside(track, author)}"}
        for track in takes
    ]


def _beside(track: Track, author: str) -> str:
    """What a track with baselines asks beside links."""
    return f" baseline LINK idea {author}" if track.objective == "baseline" else ""


def with_known_entry(form: Intake, tracks: Mapping[str, Track], root: Path) -> Intake:
    """The form, which lacks something if it reproduces or challenges an entry that the track does
    not have: what is asked for, with the names that may be meant."""
    track, reply = tracks.get(form.track), form.reply
    if track is None or reply is None:
        return form
    if track.objective != "baseline":
        told = f"{track.id} takes no reproductions or challenges of its entries: leave that out"
        return dc.replace(form, missing=(*form.missing, told))
    known = _entries(root, track)
    if entry_path(reply.entry, track.id, known) is not None:
        return form
    names = {path.removeprefix(f"submissions/{track.id}/"): title for path, title in known.items()}
    meant = _near(reply.entry.rpartition("/")[2], names)
    shown = ", ".join(f"`{track.id}/{name}`" for name in meant)
    told = (
        f'which entry it {reply.kind}: {track.id} has no merged entry "{reply.entry}". '
        f"Write `{reply.kind} {track.id}/NAME`" + (f" with one of {shown}" if shown else "")
    )
    return dc.replace(form, missing=(*form.missing, told))


def _entries(root: Path, track: Track) -> Mapping[str, str]:
    """The entries of a track by path, with their titles, without replies."""
    found = {}
    for path, _ in submission_folders(root, {track.id: track}):
        data = _listed(path)
        if not any(data.get(kind) for kind in REPLIES):
            found[path.relative_to(root).as_posix()] = str(data.get("title") or "")
    return found


def _listed(path: Path) -> Mapping[str, Any]:
    try:
        data = read_json((path / SUBMISSION).read_bytes(), SUBMISSION).value
    except OSError:
        return {}
    return data if isinstance(data, dict) else {}


def _near(word: str, names: Mapping[str, str]) -> list[str]:
    """The names that may be meant: like the word, or with a title like it; else the first."""
    by_title = {title.lower(): name for name, title in names.items() if title}
    like = difflib.get_close_matches(word.lower(), [*names, *by_title], MOST_NAMES, cutoff=0.5)
    within = [n for n, title in names.items() if word.lower() in f"{n} {title}".lower()]
    meant = dict.fromkeys([*(by_title.get(found, found) for found in like), *within])
    return list(meant or names)[:MOST_NAMES]
