"""Comment commands: what a comment asks for. Parsing only; nothing here talks to GitHub.

A command is the first line of a comment and starts with `/` in its first column, so a quoted reply,
a code block or a sentence that mentions a command is not a command.
"""

from __future__ import annotations

import dataclasses as dc
import difflib
import re
from collections import deque
from collections.abc import Mapping, Sequence

from bot.evidence.links import LinkProblem, RunRef, parse_link, which_runs
from bot.github.pull_request.intake import bare_links, link_words, runs_in
from bot.github.pull_request.waivers import acceptable
from bot.model.submission import REPLIES, Reply
from bot.patterns import ENTRY, LOGIN, SLUG
from bot.registry import catalogue

MAX_BODY = 20_000
MAX_LINKS = 100
MAX_REASON = 500
_SAID = ("baseline", "idea", "code", *REPLIES)
"""Words of `/submit` that say what follows."""
_HEADING = re.compile(r"[#*_\s-]*baseline(?:\s+(?:runs?|arm))?[*_\s]*:?[*_\s]*", re.IGNORECASE)
_LEFT_IN = re.compile(r"(?:LINKS?|@?LOGIN|TRACK|TRACK/NAME)(?:\.\.\.|\u2026)?")
"""A word of the form that was copied and not replaced."""
_LEAST_WORDS = 3
"""Fewer words than this between links are not prose: `and`, `my runs`."""
_BASELINE = re.compile(r"(?<!\S)baseline:?(?!\S)", re.IGNORECASE)
_OF = ("by", "from", "of")
"""What may stand between `idea` and the login."""


@dc.dataclass(frozen=True, slots=True)
class Usage:
    """One command: how it is written, what it does, who may use it."""

    form: str
    does: str
    who: str


COMMANDS: Mapping[str, Usage] = {
    "verify": Usage("/verify", "check this pull request again", "the author and maintainers"),
    "explain": Usage("/explain RULE", "what a rule checks and how to satisfy it", "everybody"),
    "runs": Usage(
        "/runs add LINK... [baseline LINK...]", "add W&B runs to the submission", "everybody"
    ),
    "accept": Usage(
        "/accept RULE because ...", "accept a finding for the current commit", "maintainers"
    ),
    "withdraw": Usage(
        "/withdraw [reason]", "take the submission back", "the author and maintainers"
    ),
    "correct-author": Usage(
        "/correct-author LOGIN", "name the right contributor", "the author and maintainers"
    ),
    "submit": Usage(
        "/submit [TRACK] LINK... [baseline LINK...] [idea LOGIN] "
        "[reproduces or challenges TRACK/NAME]",
        "make a submission from W&B runs, in an issue or discussion",
        "everybody",
    ),
    "why": Usage("/why RULE", "why a rule speaks up here, in two sentences", "everybody"),
    "confirm": Usage(
        "/confirm",
        "say that the runs named as yours are yours, or that you agree to a change of your credit",
        "everybody",
    ),
    "decline": Usage(
        "/decline", "say that you are not part of it, and be taken out", "whoever is named"
    ),
    "grant": Usage(
        "/grant HOURS because ...",
        "grant GPU-hours to run an eligible entry at a larger scale",
        "maintainers",
    ),
    "help": Usage("/help", "this list", "everybody"),
}


@dc.dataclass(frozen=True, slots=True)
class Command:
    """A command that was understood."""

    name: str
    rule: str = ""
    reason: str = ""
    login: str = ""
    track: str = ""
    links: tuple[RunRef, ...] = ()
    hours: float = 0.0
    baseline: tuple[RunRef, ...] = ()
    idea: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    reply: Reply | None = None
    words: str = ""
    sure: bool = False
    """Whether the track can be nothing else: a name with a hyphen or a digit, then a link."""


@dc.dataclass(frozen=True, slots=True)
class Mistake:
    """A command that was meant and not understood: one sentence, and how it is written."""

    name: str
    problem: str


@dc.dataclass(frozen=True, slots=True)
class Unknown:
    """A line written like a command that does not exist; `near` is the one probably meant."""

    word: str
    near: str = ""


@dc.dataclass(frozen=True, slots=True)
class Links:
    """An ordinary comment that holds links to runs."""

    links: tuple[RunRef, ...]


def parse(body: str) -> Command | Mistake | Unknown | Links | None:
    """What a comment asks for; None for an ordinary comment without links to runs."""
    lines = re.split(r"\r\n?|\n", body[:MAX_BODY])
    first = lines[0].rstrip()
    match = re.fullmatch(r"/([A-Za-z_-]{1,30})[.!?:,]*(?:\s+(.*))?", first)
    if match is None:
        found = runs_in(body[:MAX_BODY])
        return Links(found) if found else None
    name, rest = match[1].lower().replace("_", "-"), (match[2] or "").strip()
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.6)
        return Unknown(name, near[0] if near else "")
    words, more = rest.split(), "\n".join(lines[1:])
    if name in ("verify", "help", "confirm", "decline"):
        return Command(name)
    if name in ("explain", "why"):
        return _rule(name, words)
    if name == "accept":
        return _accept(rest if "because" in words else f"{rest} {more}")
    if name == "grant":
        return _grant(rest)
    if name == "withdraw":
        return Command(name, reason=rest[:MAX_REASON])
    if name == "correct-author":
        return _correct(words)
    if name == "submit":
        return _submit([line.split() for line in bare_links(f"{rest}\n{more}").split("\n")])
    assert name == "runs", f"no reading of /{name}"
    if words[:1] != ["add"] and not _given(rest):
        return Mistake(name, "say `add`, then the links")
    return _add(rest.removeprefix("add"), more)


def _rule(name: str, words: list[str]) -> Command | Mistake:
    rule = words[0].strip("`.,:;?!").lower() if words else ""
    if rule in catalogue():
        return Command(name, rule=rule)
    near = difflib.get_close_matches(rule, catalogue(), n=1)
    meant = f"; did you mean `{near[0]}`?" if near else ""
    return Mistake(name, f"name one rule as it is written in the verdict{meant}")


def _accept(rest: str) -> Command | Mistake:
    match = re.match(r"`?([a-z0-9-]{1,64})`?[,:]?\s+because:?\s+(\S.*)", rest)
    if match is None or match[1] not in catalogue():
        return Mistake("accept", "name a rule, then `because` and the reason")
    if not acceptable(match[1]):
        return Mistake("accept", f"`{match[1]}` protects other people and cannot be accepted")
    return Command("accept", rule=match[1], reason=match[2][:MAX_REASON])


def _grant(rest: str) -> Command | Mistake:
    match = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{1,2})?)[ \t]+because[ \t]+(\S.*)", rest, re.ASCII)
    if match is None or not float(match[1]):
        return Mistake("grant", "give a number of GPU-hours, then `because` and the reason")
    return Command("grant", hours=float(match[1]), reason=match[2][:MAX_REASON])


def _correct(words: list[str]) -> Command | Mistake:
    login = words[0].removeprefix("@") if len(words) == 1 else ""
    if not LOGIN.fullmatch(login):
        return Mistake("correct-author", "give one GitHub login")
    return Command("correct-author", login=login)


def _submit(lines: list[list[str]]) -> Command | Mistake:
    """`TRACK LINK... baseline LINK... idea LOGIN reproduces TRACK/NAME`, in any order behind the
    track; all else is prose, which is kept."""
    if left := _left_in(lines):
        return Mistake("submit", f"`{left}` stands for something: put that in its place")
    track, sure = "", False
    if lines[0] and SLUG.fullmatch(first := lines[0][0].lower().strip("`,.:!")):
        track, lines[0] = ("", lines[0]) if first in _SAID else (first, lines[0][1:])
        sure = bool(re.search(r"\w[-_]\w|\d", track) and lines[0] and "://" in lines[0][0])
    read = _Reading()
    for number, words in enumerate(lines):
        read.line(words, number > 0)
    if read.problem:
        return Mistake("submit", read.problem)
    ideas, reply = read.people["idea"], read.reply
    if wrong := [name for name in ideas if not LOGIN.fullmatch(name)]:
        said = f'"{wrong[0][:40]}" is not a GitHub login' if wrong[0] else "`idea` names nobody"
        return Mistake("submit", f"{said}; write `idea LOGIN`")
    if reply is not None and not ENTRY.fullmatch(reply.entry.removeprefix("submissions/")):
        return Mistake("submit", f"name the entry: `{reply.kind} TRACK/NAME`")
    ours, theirs = (_runs("submit", read.arms[a], least=0) for a in ("candidate", "baseline"))
    if isinstance(ours, Mistake) or isinstance(theirs, Mistake):
        return ours if isinstance(ours, Mistake) else theirs
    return dc.replace(
        ours,
        track=track,
        sure=sure,
        baseline=theirs.links,
        idea=tuple(ideas),
        code=tuple(read.people["code"]),
        reply=reply,
        words="\n".join(read.prose).strip(),
    )


def with_post(command: Command, post: str) -> Command:
    """A `/submit` without links, with those of the author's own post and its words."""
    found = parse(f"/submit\n{post}")
    if not isinstance(found, Command):
        # a link of the post leads elsewhere
        return dc.replace(command, links=runs_in(post[:MAX_BODY])[:MAX_LINKS])
    return dc.replace(
        found,
        track=command.track,
        idea=command.idea or found.idea,
        code=command.code or found.code,
        reply=command.reply or found.reply,
        words="\n".join(filter(None, (found.words, command.words))),
    )


def _left_in(lines: list[list[str]]) -> str:
    """A word of the form on a line that was meant to be filled in."""
    for number, words in enumerate(lines):
        if number == 0 or any("://" in word for word in words):
            found = next((w for w in words if _LEFT_IN.fullmatch(w.strip("`,.;:[]"))), "")
            if found:
                return found.strip("`,;:[]")
    return ""


@dc.dataclass
class _Reading:
    """What the words of `/submit` say, line by line."""

    arm: str = "candidate"
    arms: dict[str, list[str]] = dc.field(default_factory=lambda: {"candidate": [], "baseline": []})
    people: dict[str, list[str]] = dc.field(default_factory=lambda: {"idea": [], "code": []})
    reply: Reply | None = None
    prose: list[str] = dc.field(default_factory=list)
    problem: str = ""

    def line(self, words: list[str], below: bool) -> None:
        """One line. `below` the first, a line without links is a sentence, in which a word says
        what follows only if that is unmistakable."""
        if below and _HEADING.fullmatch(" ".join(words)):
            self.arm = "baseline"
            return
        sentence = below and not any("://" in word for word in words)
        rest, aside, prose = deque(words), list[str](), sentence
        while rest:
            word = rest.popleft()
            said = word.lower().rstrip(":")
            links = _given(word, whole=below)
            if not below and not links and not prose:
                self.problem = self.problem or _meant(said, rest)
            prose = not links and not _says(said, rest, prose or sentence)
            if prose:
                aside.append(word)
                continue
            if not sentence:
                self._keep(aside)
                aside = []
            self.arms[self.arm] += links
            if not links:
                self._said(said, rest)
        self._keep(aside, whole=sentence)

    def _keep(self, aside: list[str], whole: bool = False) -> None:
        if whole or len(aside) >= _LEAST_WORDS:
            self.prose.append(" ".join(aside))

    def _said(self, said: str, rest: deque[str]) -> None:
        if said == "baseline":
            self.arm = said
        elif said in self.people:
            self.people[said].append(_person(rest))
        else:
            self.reply = Reply(said, (rest.popleft() if rest else "").strip("`,.;"))


def _meant(said: str, rest: Sequence[str]) -> str:
    """What to write instead of a word that is almost one of ours."""
    near = difflib.get_close_matches(said, _SAID, n=1, cutoff=0.8)
    if said == "code" and rest and not rest[0].startswith("@"):
        ends = len(rest) == 1 or rest[1].lower() in _SAID or "://" in rest[1]
        if ends and LOGIN.fullmatch(rest[0]):
            return f"`code {rest[0]}` is not clear; did you mean `code @{rest[0]}`?"
    if not near or said in _SAID:
        return ""
    return f'"{said}" is not a word of `/submit`; did you mean `{near[0]}`?'


def _add(rest: str, more: str) -> Command | Mistake:
    """`LINK... baseline LINK...`, on the line of the command and below it."""
    arms: list[list[str]] = [[], []]
    arm = 0
    for whole, text in ((False, rest), (True, more)):
        before, *after = _BASELINE.split(text, maxsplit=1)
        arms[arm] += _given(before, whole)
        arm = 1 if after else arm
        arms[arm] += _given(" ".join(after), whole)
    ours, theirs = _runs("runs", arms[0], least=0 if arms[1] else 1), _runs("runs", arms[1], 0)
    if isinstance(ours, Mistake) or isinstance(theirs, Mistake):
        return ours if isinstance(ours, Mistake) else theirs
    return dc.replace(ours, baseline=theirs.links)


def _says(said: str, rest: Sequence[str], prose: bool) -> bool:
    """Whether a word says what follows; in the middle of prose only if that is unmistakable."""
    follows = rest[0] if rest else ""
    if said not in _SAID or (not prose and said != "code"):
        return said in _SAID
    person = follows.startswith("@")
    sure = {"baseline": "://" in follows, "idea": person, "code": person}
    return sure.get(said, "/" in follows)


def _person(rest: deque[str]) -> str:
    """The login that follows `idea`."""
    if len(rest) > 1 and rest[0].lower() in _OF:
        rest.popleft()
    return rest.popleft().strip("@,.;") if rest else ""


def _given(text: str, whole: bool = False) -> list[str]:
    """The words of a text that are meant as links. Below the line of a command (`whole`) only whole
    links count; on the line a part of one counts too, and is answered. Any other word is prose."""
    part = re.compile(r"\w/\w|wandb|^(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{6,}$")
    return [w for w in link_words(text) if "://" in w or (not whole and part.search(w))]


def _runs(name: str, given: list[str], least: int = 1) -> Command | Mistake:
    """The links of a command."""
    if len(given) < least:
        return Mistake(name, "give at least one link to a W&B run")
    if len(given) > MAX_LINKS:
        return Mistake(name, f"{len(given)} links are too many, one command takes {MAX_LINKS}")
    found = []
    for word in given:
        link = parse_link(word)
        if isinstance(link, LinkProblem):
            return Mistake(name, which_runs(word) or f"{link.message}; {link.fix}")
        found.append(link)
    return Command(name, links=tuple(dict.fromkeys(found)))
