"""The state of an entry in words: what the community made of it, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bot.compute.ratios import promotes
from bot.model.board import Answered, Board, Entry, State
from bot.model.track import Track
from bot.model.verdict import Verdict
from bot.rank.baseline import Distance, unconfirmed
from bot.rank.states import settle
from bot.render import numbers
from bot.render.untrusted import plain


def state_words(state: State) -> str:
    """The state in one sentence without its full stop: `confirmed by @b (3 pairs of runs ...)`."""
    if state.name == "confirmed":
        against = [a for a in state.replies if a.counts and a not in state.confirming]
        others = f"; not shown by {_those(against)}" if against else ""
        return f"confirmed by {_those(state.confirming)}{others}"
    held = _those(a for a in state.replies if a.holds)
    if state.name == "challenged":
        return f"challenged by {held}; a maintainer decides"
    if state.name == "refuted":
        return f"refuted by {held}"
    runs = sum(a.pairs for a in state.replies)
    if not runs:
        return "claimed; nobody else has run it yet"
    return f"claimed; {numbers.count(runs, 'pair')} of runs by others do not settle it yet"


def reply_lines(state: State) -> Iterator[str]:
    """One line for each reply, and one for each refuted entry that the entry builds on."""
    for reply in state.replies:
        counted = "its runs count" + ("" if reply.gains else ", and show no gain beyond chance")
        said = "disputes it" if reply.holds else reply.why or counted
        said = f"{reply.undisputed}; {said}" if reply.undisputed and not reply.why else said
        if reply.accepted:
            said += f", accepted by a maintainer: {plain(reply.reason, 200)}"
        yield f"{reply.kind} {plain(reply.submission, 200)}: {_measured(reply)}; {said}"
    for path in state.refuted:
        yield f"it builds on {plain(path, 200)}, which is refuted"


def _those(replies: Iterable[Answered]) -> str:
    return numbers.listed([f"{_people(a)} ({_measured(a)})" for a in replies]) or "nobody"


def _people(reply: Answered) -> str:
    return numbers.listed([f"@{plain(name, 40)}" for name in reply.people[:3]]) or "somebody"


def _measured(reply: Answered) -> str:
    if reply.ratio is None:
        return "no ratio to the baseline"
    bounds = ""
    if reply.interval:
        bounds = " [{}, {}]".format(*(numbers.apart(b, 1, 3) for b in reply.interval))
    where = f" on {plain(reply.device, 60)}" if reply.device else ""
    pairs = numbers.count(reply.pairs, "pair")
    return f"{numbers.figure(reply.ratio, 3)} times the baseline{bounds}, {pairs} of runs{where}"


def reply_words(board: Board, verdict: Verdict) -> str:
    """What a reply that is not merged yet would make of its entry; empty for anything else."""
    if verdict.reply is None or not verdict.status.counts:
        return ""
    verdicts = [e.verdict for e in board.entries] + [u.verdict for u in board.unranked]
    others = [v for v in verdicts if v.submission != verdict.submission]
    before = settle(others, board.base).states
    for path, state in settle([*others, verdict], board.base).states.items():
        mine = next((a for a in state.replies if a.submission == verdict.submission), None)
        if mine is None:
            continue
        told = f"a {mine.kind}: `{plain(path, 200)}`"
        if before[path].name != state.name:
            gone = " and leaves the board" if state.name == "refuted" else ""
            return f"{told} becomes {state.name}{gone}"
        return f"{told} stays {state.name}{_because(mine, state, board.track)}"
    return ""


def _because(mine: Answered, state: State, track: Track) -> str:
    """Why a reply leaves its entry as it was."""
    if mine.holds:
        return ""
    if mine.undisputed:
        return f": {mine.undisputed}"
    if mine.why:
        return f": these runs do not confirm it, because {mine.why}"
    if state.name != "claimed":
        return ""
    return f": {unconfirmed(state, track.confirmation)}"


def confirming(entry: Entry, track: Track) -> str:
    """How a claimed entry gets confirmed, and what follows; empty if nothing waits for that."""
    rule, progress = track.reproduction, entry.progress
    frozen = any(b.submission == entry.submission for b in track.baselines)
    if rule is None or progress is None or entry.state.name != "claimed":
        return ""
    if frozen or track.is_baseline(entry.submission):
        return ""
    name = plain(entry.submission.removeprefix("submissions/"), 200)
    needs = unconfirmed(entry.state, rule)
    reached = promotes((progress.ratio, progress.ratio), track.promote_at)
    next_one = reached and progress.against in (track.baseline_id, None)
    then = ". Once confirmed, it can become the next baseline" if next_one else ""
    return (
        f"{needs[:1].upper()}{needs[1:]}: `/submit {track.id} LINK... baseline LINK... reproduces "
        f"{name}` in an issue, or `speedrun reproduce submissions/{name}`{then}"
    )


def distance_words(far: Distance) -> str:
    """How far the next baseline is, in a sentence without its full stop."""
    if far.why:
        return f"the next baseline waits for {far.entry.submission}: {far.why}"
    more = abs(1 - far.left) * 100
    change = "less" if far.left < 1 else "more"
    bounds = ""
    if far.interval:
        low, high = sorted(100 * abs(1 - b) * (1 if (b < 1) == (far.left < 1) else -1)
                           for b in far.interval)  # fmt: skip
        bounds = f" [{numbers.figure(low, 3)}, {numbers.figure(high, 3)}]"
    return (
        f"the next baseline takes another {numbers.figure(more, 3)} %{bounds} {change} cost than "
        f"{far.entry.submission}"
    )
