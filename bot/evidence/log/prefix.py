"""What loggers, launchers and process groups put before a line of a log.

is_prefix("[2026-08-01 10:00:00] INFO ")    True
rank("[rank3]: ")                           what tells its process apart
"""

from __future__ import annotations

import re

RANK = re.compile(
    r"\[?(?:rank|default)\s?\d{1,5}\]?:|^\s{0,8}\d{1,5}:(?=\s)|\(\w{1,40} pid=\d{1,9}"
)
_PIECE = re.compile(
    r"\s+|\[?\d{4}[-/]\d\d[-/]\d\d[T_ ]\d\d:\d\d:\d\d[^\s\]]{0,16}\]?:?"
    r"|\[?\d\d[-/]\d\d[-/]\d{2,4}[ T]\d\d:\d\d:\d\d[^\s\]]{0,12}\]?"
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?:?|(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2}\s{1,2}\d{1,2}"
    r" \d\d:\d\d:\d\d(?: \d{4})?"
    r"(?: [\w.-]{1,80} [\w./-]{1,80}(?:\[\d{1,9}\])?:)?"
    r"|[IWED]\d{4,8} \d\d:\d\d:\d\d\.\d{1,9}\s{1,8}\d{1,9} [\w./-]{1,100}:\d{1,6}\]"
    r"|std(?:out|err) [FP]|\[[^\[\]]{0,80}\]:?|\(\w{1,40}(?: pid=\d{1,9}[^()]{0,60})?\)"
    r"|(?:rank|default) ?\d{1,5}:|\d{1,5}:(?=\s)"
    r"|[^|]{0,60}?\d{1,3}%\|[^|]{0,200}\|[^\[]{0,40}\[[^\]]{0,80}\]"
    r"|\w[\w.<>/-]{0,80}(?::[\w.<>-]{1,80}){0,2}:?(?=\s{0,20}(?:[-|:\]]|\[|$))"
    r"|(?:DEBUG|INFO|WARN(?:ING)?|ERROR|NOTICE|CRITICAL|SUCCESS)\b:?"
    r"|[|>:-]{1,3}",
    re.ASCII,
)
_MOST_PIECES = 24


def is_prefix(text: str) -> bool:
    """Whether a text is made of what loggers and launchers put before a line."""
    at = 0
    for _ in range(_MOST_PIECES):
        piece = _PIECE.match(text, at)
        if piece is None or piece.end() == at:
            return False
        at = piece.end()
        if at == len(text):
            return True
    return False


def rank(prefix: str) -> str:
    """What tells the processes of one training apart, "" where nothing does."""
    return "".join(RANK.findall(prefix[:200])) if prefix else ""
