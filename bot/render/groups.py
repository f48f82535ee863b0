"""Findings by cause, in plain words: what is wrong, what to do, and what goes away with it."""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Iterable

from bot.model.verdict import Finding
from bot.registry import OURS, Level
from bot.render import numbers

MOST_GROUPS = 3
CUT = " \N{HORIZONTAL ELLIPSIS}"
_GROUP, _FIX, _LEAD = 50, 32, 16
"""Words of a group, of these its fix at most, and its message at least; the rest is folded."""
_CLAUSE = re.compile(r"[;.:,](?= )|(?= \()")
_BOUND = re.compile(r",? (?:needed|expected|target|at (?:least|most))\b[^;:]*?(?=[;:,.] |\.?$)")
"""What a number is compared with: without it the number says nothing."""


@dc.dataclass(frozen=True, slots=True)
class Group:
    """Findings of one cause. `findings` are alike, `follows` goes away with them."""

    findings: tuple[Finding, ...]
    follows: tuple[Finding, ...] = ()
    told: bool = False
    """Whether the answer's next step says the fix."""

    @property
    def first(self) -> Finding:
        """The finding that is shown."""
        return self.findings[0]

    @property
    def rule(self) -> str:
        """The rule that found it."""
        return self.first.rule

    @property
    def level(self) -> Level:
        """How much it weighs."""
        return self.first.level

    @property
    def says(self) -> str:
        """What is wrong, for all of the runs or lines concerned at once."""
        count = self._count
        noun = "run" if self.first.run else "place"
        rest = numbers.count(count - 1, f"more {noun}")
        same = f" The same goes for {rest}." if count > 1 else ""
        taken = len(f"{self.fix} {self.also} {self.others} {same}".split())
        said, end = self.first.message, f"({(self.first.run or '').rpartition('/')[2]})"
        if same and self.rule in OURS and said.endswith(end):
            said, same = f"{said[:-1]} and {rest})", ""
        return _brief(sentence(said), max(_GROUP - taken, _LEAD)) + same

    @property
    def fix(self) -> str:
        """What to do, empty where the answer's next step says it."""
        fix = "" if self.told else self.first.fix or ""
        fix = numbers.each_run(fix, self._count) if self.first.run else fix
        return _brief(sentence(fix, capital=False), _FIX)

    @property
    def also(self) -> str:
        """What else it settles, and what to write there; empty for nothing."""
        parts = [
            f"`{f.rule}`"
            + (f" (line {f.line}: write `{_written(f)}`)" if f.line and f.write is not None else "")
            for f in {f.rule: f for f in self.follows}.values()
        ]
        return f"This also settles {numbers.listed(parts[:3])}." if parts else ""

    @property
    def others(self) -> str:
        """That more was found of the kind, which the fix as it is shown does not settle."""
        rest = [f for f in self.findings if f not in self._same]
        if not rest:
            return ""
        if len(rest) == 1:
            return "1 more like this is folded" + (", with its own fix." if rest[0].fix else ".")
        own = ", each with its own fix" if any(f.fix for f in rest) else ""
        return f"{len(rest)} more like this are folded{own}."

    @property
    def folded(self) -> tuple[Finding, ...]:
        """What the group does not show whole."""
        cut = CUT in self.says or CUT in self.fix
        return (*self.findings[0 if cut else 1 :], *self.follows)

    @property
    def entries(self) -> tuple[tuple[Finding, ...], ...]:
        """What a fold lists of the group: all that are alike as one entry, then what follows."""
        return (self.findings, *((item,) for item in self.follows))

    @property
    def rest(self) -> tuple[tuple[Finding, ...], ...]:
        """`entries` of what the group does not show whole."""
        alike = tuple(f for f in self.folded if f not in self.follows)
        return (*filter(None, [alike]), *((item,) for item in self.follows))

    @property
    def _count(self) -> int:
        """Of how many runs or places the shown message and fix are true."""
        return len({f.run or f.line or f.file for f in self._same})

    @property
    def _same(self) -> tuple[Finding, ...]:
        """The findings that the shown message and fix are true of, names and numbers aside."""
        first = self.first
        return tuple(f for f in self.findings if f.fix == first.fix)


def weight(item: Finding) -> str:
    """How much a finding weighs, in a word; what is at fault on our side is nobody's error."""
    return "our side" if item.rule in OURS else str(item.level)


# ---- by cause -----------------------------------------------------------------------------------


def grouped(findings: Iterable[Finding]) -> tuple[Group, ...]:
    """Findings by cause, in their order."""
    found = tuple(findings)
    taken: set[int] = set()
    made = []
    for group in _gathered(f for f in found if f.because is None):
        follows = [f for f in found if f.because == group[0].rule and id(f) not in taken]
        taken.update(id(f) for f in follows)
        made.append(Group(tuple(group), tuple(follows)))
    return tuple(made)


def _gathered(findings: Iterable[Finding]) -> list[list[Finding]]:
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for item in findings:
        key = (item.rule, item.level, _skeleton(item, item.message), _skeleton(item, item.fix))
        groups.setdefault(key, []).append(item)
    return list(groups.values())


def _skeleton(item: Finding, text: str | None) -> str:
    """A text of a finding without what differs between runs: its names and numbers."""
    text = text or ""
    for name in (item.run, item.file, (item.run or "").rpartition("/")[2]):
        text = text.replace(name, "") if name else text
    return re.sub(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?", "#", text)


# ---- sentences ----------------------------------------------------------------------------------


def sentence(text: str, capital: bool = True) -> str:
    """A text as a sentence: a capital unless it begins with a name, and a full stop."""
    text = text.strip()
    if not text:
        return ""
    # A path, a key or an address stays as it is written, or nobody finds it.
    named = re.match(r"[\w-]*[\w-][/._:#][\w/-]|[a-z]+_", text)
    named = named or re.match(r"[b-z]\b", text)
    text = text if named or not capital else text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."


def _brief(text: str, most: int) -> str:
    """At most so many words, cut at a clause if there is one, and never between a number and what
    it is compared with."""
    words = text.split()
    if len(words) <= most:
        return text
    end = len(" ".join(words[:most]))
    clauses = [m.start() for m in _CLAUSE.finditer(text) if end // 2 < m.start() <= end]
    end = clauses[-1] if clauses else end
    bound = _BOUND.match(text, end)
    end = bound.end() if bound else end
    kept = text[:end].rstrip(",;:.")
    return kept + CUT if end < len(text.rstrip(".")) else text


def _written(item: Finding) -> str:
    if isinstance(item.write, int | float) and not isinstance(item.write, bool):
        return numbers.exact(item.write)
    return str(item.write)
