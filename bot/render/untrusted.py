"""Text of strangers: what must not be in it, and how to show it.

`shown` makes any value safe for a terminal, a comment and a log; every message that quotes a
submission goes through it. `secrets_in` and `unsafe_in` find what the rules `secret-in-text` and
`unsafe-text` report.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

MAX_SHOWN = 80

_SECRETS = (
    ("a GitHub token", r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}"),
    ("a Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}"),
    ("a W&B key", r"\bwandb_v\d_[A-Za-z0-9_-]{30,}|\blocal-[0-9a-f]{40}\b"),
    ("an API key", r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}"),
    ("an AWS key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("a Google API key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("an npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("a PyPI token", r"\bpypi-[A-Za-z0-9_-]{50,}"),
    ("a private key", r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----"),
    ("a JSON web token", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    ("an access token in a link", r"(?i)[?&](?:access_?token|api_?key|token)=[^&\s\"']{8,}"),
    ("a password in a link", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{1,80}:[^\s/:@\"']{3,80}@"),
    (
        "a key",
        r"(?i)(?:wandb[_ -]{0,3}(?:api)?[_ -]{0,3}key|api[_ -]?key|secret[_ -]?key"
        r"|access[_ -]?token|auth[_ -]?token|hf[_ -]?token|password)"
        r"[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?=[A-Za-z_+/.-]{0,60}[0-9])[A-Za-z0-9_+/.-]{16,}",
    ),
)
_SECRET = tuple((what, re.compile(pattern)) for what, pattern in _SECRETS)
_HINT = re.compile(
    r"gh[pousr]_|github_pat|hf_|wandb_v|local-|sk-|AKIA|ASIA|AIza|xox|glpat|npm_|pypi-|PRIVATE KEY"
    r"|eyJ|(?i:token|key|password|://)"
)
# A W&B key of old is 40 hexadecimal digits, as a commit is; only the name beside it tells.
_BARE_KEY = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{40}(?![0-9A-Za-z])")
_KEY_NAME = re.compile(
    r"(?i)(?:api|wandb)[_ -]?(?:api)?[_ -]?key|(?:access|auth)[_ -]?token|secret"
)

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INVISIBLE = frozenset(
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2028\u2029\u2060\u2061\u2062\u2063\u2064"
    "\u206a\u206b\u206c\u206d\u206e\u206f\u3164\ufeff\uffa0\ufff9\ufffa\ufffb"
)
_JOINERS = frozenset("\u200c\u200d")
_PLAIN = re.compile(r"[\t\n\r -~\u00a1-\u00ac\u00ae-\u02ff]*")


def secrets_in(text: str, name: str = "") -> str | None:
    """What kind of secret a text holds, such as "a GitHub token"; None for none.

    `name` is the key that the text stands under, which tells a bare W&B key from a commit hash.
    """
    if _KEY_NAME.search(name) and _BARE_KEY.search(text):
        return "a W&B key"
    if not _HINT.search(text):
        return None
    return next((what for what, pattern in _SECRET if pattern.search(text)), None)


def unsafe_in(text: str) -> str | None:
    """The first character that must not be in a text, in words; None where all are fine.

    Not fine: control characters except tab and line breaks, bidirectional controls, characters
    that show nothing. Joiners are fine where a script or an emoji needs them.
    """
    if _PLAIN.fullmatch(text):
        return None
    for index, char in enumerate(text):
        what = _unsafe(text, index, char)
        if what is not None:
            name = unicodedata.name(char, "")
            return f"U+{ord(char):04X}{' ' + name if name else ''}, {what}"
    return None


def _unsafe(text: str, index: int, char: str) -> str | None:
    code = ord(char)
    if char in _BIDI:
        return "which can change the order in which text is shown"
    if unicodedata.category(char) == "Cc" and char not in "\t\n\r":
        return "a control character"
    if char in _INVISIBLE or 0xE0100 <= code <= 0xE01EF:
        return "which shows nothing"
    if 0xE0000 <= code <= 0xE007F:
        flag = "\U0001f3f4" in text[max(0, index - 7) : index]
        return None if flag else "which shows nothing"
    if char in _JOINERS and not (_joins(text[:index][-1:]) and _joins(text[index + 1 :][:1])):
        return "which shows nothing here"
    if 0xD800 <= code <= 0xDFFF or code & 0xFFFE == 0xFFFE:
        return "which is not a character"
    return None


def _joins(neighbour: str) -> bool:
    """Whether a joiner makes sense beside a character: not beside ASCII, space or nothing."""
    return bool(neighbour) and ord(neighbour) > 0x2FF and neighbour not in _JOINERS


def shown(value: Any, limit: int = MAX_SHOWN) -> str:
    """A value as text that is safe to print: one line, short, no secret, no control characters.

    Texts are in double quotes, numbers as JSON has them.
    """
    if isinstance(value, str):
        return f'"{plain(value, limit)}"'
    if value is None or isinstance(value, (bool, int, float)):
        text = json.dumps(value)
        return text if len(text) <= 40 else f"{text[:36]}..."
    if isinstance(value, dict):
        many = "1 key" if len(value) == 1 else f"{len(value)} keys"
        return f"an object of {many}" if value else "an empty object"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}" if value else "an empty list"
    return plain(str(value), limit)


def plain(text: str, limit: int = MAX_SHOWN) -> str:
    """Text of a stranger on one line: cut to `limit`, unsafe characters as \\uXXXX, secrets out."""
    cut = text if len(text) <= 4 * limit else text[: 4 * limit]
    for _, pattern in _SECRET:
        cut = pattern.sub("[removed]", cut)
    out = []
    for index, char in enumerate(cut[:limit]):
        if char in "\t\n\r":
            out.append(" ")
        elif _unsafe(cut, index, char) is not None:
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return "".join(out) + ("..." if len(text) > limit else "")


def is_safe_line(text: str, longest: int = 400) -> bool:
    """Whether a text can be written back as one line, just as it is."""
    whole = len(text) <= longest and "\n" not in text and "\r" not in text
    return whole and unsafe_in(text) is None and secrets_in(text) is None
