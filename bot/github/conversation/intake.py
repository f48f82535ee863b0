"""Submissions without files: an issue form or `/submit LINK...` becomes a filled submission.json.

Pure text work. The author of the form or comment is the submission's author, whatever the form
says; GitHub's sections (`### Heading` and text) are a stranger's and are read as data.
"""

from __future__ import annotations

import dataclasses as dc
import json
import re
from collections.abc import Mapping
from typing import Any

from bot.evidence.links import LinkProblem, RunRef, parse_link
from bot.github.pull_request.pull import Pull
from bot.model.track import Track

FIELDS = {
    "track": "Track",
    "links": "W&B runs",
    "baseline": "W&B runs of the baseline",
    "title": "Title",
    "words": "What did you try",
    "contributors": "Contributors",
}
"""Headings of `.github/ISSUE_TEMPLATE/submission.yml`; a test holds the two together."""
LABEL = "submission"
MAX_BODY = 60_000
_EMPTY = "_No response_"
_LOGIN = re.compile(r"@?([A-Za-z0-9](?:[A-Za-z0-9-]{0,38}))")
_ROLES = ("idea", "code", "runs", "writing", "review", "pr")


@dc.dataclass(frozen=True, slots=True)
class Intake:
    """A form as read: what there is, and what is missing in words for its author."""

    author: str
    track: str = ""
    links: tuple[RunRef, ...] = ()
    baseline: tuple[RunRef, ...] = ()
    title: str = ""
    words: str = ""
    contributors: tuple[Mapping[str, Any], ...] = ()
    missing: tuple[str, ...] = ()


def sections(body: str) -> dict[str, str]:
    """Heading -> text of an issue form; the first of two equal headings counts."""
    found: dict[str, str] = {}
    heading = ""
    lines: list[str] = []
    for line in [*body[:MAX_BODY].replace("\r\n", "\n").split("\n"), "### "]:
        if line.startswith("### "):
            if heading:
                text = "\n".join(lines).strip()
                found.setdefault(heading, "" if text == _EMPTY else text)
            heading, lines = line[4:].strip(), []
        else:
            lines.append(line)
    return found


def read_form(body: str, author: str, tracks: Mapping[str, Track]) -> Intake:
    """A filled issue form. `missing` is empty when a submission can be made of it."""
    text = sections(body)
    missing: list[str] = []
    links = _links(text.get(FIELDS["links"], ""), missing)
    if not links and not missing:
        missing.append('"W&B runs" is empty: paste the links of your runs, one on each line')
    title = " ".join(text.get(FIELDS["title"], "").split())[:120]
    if not title:
        missing.append('"Title" is empty: one line that names the idea')
    words = text.get(FIELDS["words"], "")[:4000]
    if not words:
        missing.append('"What did you try" is empty: two or three sentences are enough')
    return Intake(
        author=author,
        track=_track(text.get(FIELDS["track"], ""), tracks, missing),
        links=links,
        baseline=_links(text.get(FIELDS["baseline"], ""), missing),
        title=title,
        words=words,
        contributors=_contributors(text.get(FIELDS["contributors"], ""), author, missing),
        missing=tuple(missing),
    )


def from_command(
    links: tuple[RunRef, ...], track: str, author: str, tracks: Mapping[str, Track]
) -> Intake:
    """A submission from `/submit LINK...`: the words can be added on the pull request."""
    missing: list[str] = []
    return Intake(
        author=author,
        track=_track(track, tracks, missing),
        links=links,
        title=f"Runs by {author}",
        contributors=_contributors("", author, missing),
        missing=tuple(missing),
    )


def from_claim(
    track: str, runs: str, baseline: str, author: str, tracks: Mapping[str, Track]
) -> Intake:
    """A claim of speed in a pull request's description, with the runs of both arms."""
    missing: list[str] = []
    links = _links(runs, missing)
    against = _links(baseline, missing)
    if not links or not against:
        missing.append("a claim needs runs with the change and runs of the baseline, as W&B links")
    return Intake(
        author=author,
        track=_track(track, tracks, missing),
        links=links,
        baseline=against,
        title="A change of the baseline",
        contributors=_contributors("", author, missing),
        missing=tuple(missing),
    )


def _track(text: str, tracks: Mapping[str, Track], missing: list[str]) -> str:
    takes = [t.id for t in tracks.values() if "wandb" in t.accepts]
    chosen = text.strip()
    if not chosen and len(takes) == 1:
        return takes[0]
    if chosen not in takes:
        said = "no track is named"
        if chosen:
            said = f'"{chosen[:64]}" is no track that takes W&B links'
        missing.append(f"{said}: choose one of {', '.join(takes) or '(none yet)'}")
        return ""
    return chosen


def _links(text: str, missing: list[str]) -> tuple[RunRef, ...]:
    found = []
    for word in text.split():
        if "/" not in word:
            continue
        link = parse_link(word.strip("<>(),;"))
        if isinstance(link, LinkProblem):
            missing.append(f"{link.message}; {link.fix}")
        else:
            found.append(link)
    return tuple(dict.fromkeys(found))


def _contributors(text: str, author: str, missing: list[str]) -> tuple[Mapping[str, Any], ...]:
    """`login: role, role` a line. The author always comes first and cannot be left out."""
    people: dict[str, dict[str, Any]] = {author.lower(): {"github": author, "roles": ["runs"]}}
    for line in filter(None, (line.strip(" -*") for line in text.split("\n"))):
        name, _, rest = line.partition(":")
        match = _LOGIN.fullmatch(name.strip())
        roles = [r for r in re.split(r"[,\s]+", rest.lower()) if r]
        wrong = [r for r in roles if r not in _ROLES]
        if match is None or wrong:
            what = f'role "{wrong[0][:20]}"' if match else f'"{name.strip()[:40]}"'
            missing.append(
                f"{what} in Contributors is not understood: write `login: role, role` on a line, "
                f"roles are {', '.join(_ROLES)}"
            )
            continue
        entry: dict[str, Any] = {"github": match[1]}
        if roles:
            entry["roles"] = list(dict.fromkeys(roles))
        people[match[1].lower()] = entry
    return tuple(people.values())


# ---- whose it is --------------------------------------------------------------------------------

_MARKER = "<!-- speedrun:intake "
BRANCHES = "speedrun/intake-"


def author_marker(author: str, source: str) -> str:
    """The hidden first line of a pull request that we open for somebody."""
    return f"{_MARKER}{json.dumps({'author': author, 'source': source})} -->"


def submitter(pull: Pull, door_name: str, login: str) -> str:
    """Whose submission a pull request is: its author, or the one for whom we opened it.

    Only a pull request that we opened from a branch of ours in this repository is read so; anybody
    may copy the marker into the text of their own.
    """
    line = pull.body.split("\n")[0].strip()
    ours = pull.author == login and pull.head_repo == door_name
    if not ours or not pull.head_ref.startswith(BRANCHES) or not line.startswith(_MARKER):
        return pull.author
    try:
        author = json.loads(line.removeprefix(_MARKER).removesuffix(" -->"))["author"]
    except (ValueError, KeyError, TypeError):
        return pull.author
    return author if isinstance(author, str) and _LOGIN.fullmatch(author) else pull.author


# ---- the file -----------------------------------------------------------------------------------


def folder_of(intake: Intake) -> str:
    """`submissions/<track>/<login>-<run id>`: safe names only, the same for the same form."""
    run = re.sub(r"[^a-z0-9]+", "-", intake.links[0].id.lower()).strip("-")[:20] or "run"
    return f"submissions/{intake.track}/{intake.author.lower()[:39]}-{run}"


def submission_of(intake: Intake) -> dict[str, Any]:
    """The submission.json that the form makes."""
    runs = [{"source": "wandb", "link": link.url} for link in intake.links]
    runs += [{"source": "wandb", "link": link.url, "arm": "baseline"} for link in intake.baseline]
    data: dict[str, Any] = {
        "schema_version": 1,
        "track": intake.track,
        "title": intake.title,
        "contributors": [dict(person) for person in intake.contributors],
        "runs": runs,
    }
    if intake.words:
        data["summary"] = intake.words
    return data


def to_text(data: Mapping[str, Any]) -> str:
    """A submission.json as text, the way `speedrun new` writes it."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


# ---- changes that commands make -----------------------------------------------------------------


def add_runs(data: Mapping[str, Any], links: tuple[RunRef, ...]) -> dict[str, Any]:
    """The submission with further runs; those that it lists already are left as they are."""
    runs = list(data.get("runs") or [])
    listed = {parse_link(run.get("link")) for run in runs if isinstance(run, dict)}
    runs += [{"source": "wandb", "link": link.url} for link in links if link not in listed]
    return {**data, "runs": runs}


def correct_author(data: Mapping[str, Any], wrong: str, right: str) -> dict[str, Any]:
    """The submission with `right` among its contributors, in the place of `wrong` if listed."""
    people = [dict(p) for p in data.get("contributors") or [] if isinstance(p, dict)]
    logins = [str(p.get("github", "")).lower() for p in people]
    if right.lower() in logins:
        return dict(data)
    if wrong.lower() in logins:
        people[logins.index(wrong.lower())] = {"github": right}
    else:
        people.append({"github": right})
    return {**data, "contributors": people}


def withdraw(data: Mapping[str, Any], by: str, date: str, reason: str) -> dict[str, Any]:
    """The submission with its tombstone: the entry is kept and no longer ranks."""
    stone = {"by": by, "date": date, "reason": reason or None}
    return {**data, "withdrawn": stone}
