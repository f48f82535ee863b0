"""Submissions without files: links and words become a filled submission.json.

Pure text work. Who wrote the form, comment or description is the submission's author, whatever it
says.
"""

from __future__ import annotations

import dataclasses as dc
import json
import re
from collections.abc import Mapping
from typing import Any

from bot.evidence.links import LinkProblem, RunRef, parse_link, which_runs
from bot.github.pull_request.pull import Pull
from bot.model.submission import Reply
from bot.model.track import Track
from bot.patterns import LOGIN

_MARKDOWN_LINK = re.compile(r"\[[^\[\]\n]{0,300}\]\((\S{1,600}?)(?:[ \t]+\"[^\"\n]{0,200}\")?\)")
_AROUND = "()[]{}*.:!?"
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
    preregistration: int | str | None = None
    reply: Reply | None = None


def from_claim(
    track: str, runs: str, baseline: str, people: str, author: str, tracks: Mapping[str, Track]
) -> Intake:
    """A claim of speed in a pull request's description, with the runs of both arms; code, runs and
    idea may be different people's."""
    missing: list[str] = []
    links = links_in(runs, missing)
    against = links_in(baseline, missing)
    if not links or not against:
        missing.append("a claim needs runs with the change and runs of the baseline, as W&B links")
    return Intake(
        author=author,
        track=track_in(track, tracks, missing),
        links=links,
        baseline=against,
        title="A change of the baseline",
        contributors=people_in(people, author, missing),
        missing=tuple(missing),
    )


def track_in(text: str, tracks: Mapping[str, Track], missing: list[str]) -> str:
    """The track that is meant, by its id or by its title; said in `missing` if there is none."""
    takes = [track for track in tracks.values() if "wandb" in track.accepts]
    chosen = " ".join(text.split())
    if not chosen and len(takes) == 1:
        return takes[0].id
    for track in takes:
        if chosen in (track.id, track.title):
            return track.id
    said = f'"{chosen[:64]}" is not a track that takes W&B links' if chosen else "no track is named"
    missing.append(f"{said}: choose one of {', '.join(t.id for t in takes) or '(none yet)'}")
    return ""


def ask(form: Intake, tracks: Mapping[str, Track], how: Mapping[str, str]) -> Intake:
    """The form with what a track with baselines asks beside links: which runs are the baseline
    arm, unless they are to be the first baseline themselves, and whose idea it was. `how` says
    where each is written."""
    track, missing = tracks.get(form.track), list(form.missing)
    if track is None or track.objective != "baseline":
        return form
    if form.links and not form.baseline and track.is_open:
        missing.append(f"which runs are the baseline's, on the same machine: {how['baseline']}")
    ideas = any("idea" in person.get("roles", ()) for person in form.contributors)
    if form.reply is None and not ideas:
        missing.append(f"whose idea it was, also if it was yours: {how['idea']}")
    return dc.replace(form, missing=tuple(missing))


def bare_links(text: str) -> str:
    """A text with the address of a Markdown link in its place."""
    return _MARKDOWN_LINK.sub(r" \1 ", text)


def link_words(text: str) -> list[str]:
    """The parts of a text that may be links, in the shapes people paste: Markdown links, angle
    brackets, code spans, lists, with punctuation behind them."""
    words = (word.strip(_AROUND) for word in re.split(r"[\s,;|<>\"'`]+", bare_links(text)))
    return [word for word in words if word]


def runs_in(text: str) -> tuple[RunRef, ...]:
    """The runs whose pages a text links."""
    found = (parse_link(word) for word in link_words(text) if "wandb" in word and "://" in word)
    return tuple(dict.fromkeys(link for link in found if isinstance(link, RunRef)))


def links_in(text: str, missing: list[str]) -> tuple[RunRef, ...]:
    """The runs of a field of links; what is a link and leads to no run is said in `missing`."""
    found = []
    for word in link_words(text):
        if "/" not in word:
            continue
        link = parse_link(word)
        if isinstance(link, LinkProblem):
            missing.append(which_runs(word) or f"{link.message}; {link.fix}")
        else:
            found.append(link)
    return tuple(dict.fromkeys(found))


def people_in(text: str, author: str, missing: list[str]) -> tuple[Mapping[str, Any], ...]:
    """`login: role, role` a line. The author always comes first, cannot be left out, and made the
    runs unless they name their roles and somebody else for those."""
    people: dict[str, dict[str, Any]] = {author.lower(): {"github": author, "roles": []}}
    for line in filter(None, (line.strip(" -*") for line in text.split("\n"))):
        name, _, rest = line.partition(":")
        match = LOGIN.fullmatch(name.strip().removeprefix("@"))
        roles = [r for r in re.split(r"[,\s]+", rest.lower()) if r]
        wrong = [r for r in roles if r not in _ROLES]
        if match is None or wrong:
            what = f'role "{wrong[0][:20]}"' if match else f'"{name.strip()[:40]}"'
            missing.append(
                f"{what} in Contributors is not understood: write `login: role, role` on a line, "
                f"roles are {', '.join(_ROLES)}"
            )
            continue
        known = people.setdefault(match[0].lower(), {"github": match[0], "roles": []})
        known["roles"] = list(dict.fromkeys([*known["roles"], *roles]))
    own, *others = (person["roles"] for person in people.values())
    if "runs" not in own and not (own and any("runs" in roles for roles in others)):
        own.append("runs")
    return tuple({k: v for k, v in person.items() if v} for person in people.values())


# ---- whose it is --------------------------------------------------------------------------------

_MARKER = "<!-- speedrun:intake "
BRANCHES = "speedrun/intake-"


def author_marker(author: str, source: str) -> str:
    """The hidden first line of a pull request that we open for somebody."""
    return f"{_MARKER}{json.dumps({'author': author, 'source': source})} -->"


def submitter(pull: Pull, name: str, login: str) -> str:
    """Whose submission a pull request is: its author, or the one for whom we opened it.

    Only a pull request that we opened from a branch of ours in this repository is read so; anybody
    may copy the marker into the text of their own.
    """
    line = pull.body.split("\n")[0].strip()
    ours = pull.author == login and pull.head_repo == name
    if not ours or not pull.head_ref.startswith(BRANCHES) or not line.startswith(_MARKER):
        return pull.author
    try:
        author = json.loads(line.removeprefix(_MARKER).removesuffix(" -->"))["author"]
    except (ValueError, KeyError, TypeError):
        return pull.author
    return author if isinstance(author, str) and LOGIN.fullmatch(author) else pull.author


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
    if intake.reply is not None:
        data[intake.reply.kind] = intake.reply.entry
    if intake.preregistration is not None:
        data["preregistration"] = intake.preregistration
    return data


def to_text(data: Mapping[str, Any]) -> str:
    """A submission.json as text, the way `speedrun new` writes it."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
