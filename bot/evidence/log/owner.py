"""Whose run a log says that it is.

    owners_in("github_login: example-user")                       ("example-user",)
    owners_in("train.py --github-login example-user --seed 3")    ("example-user",)
    owners_in("tags: ['speedrun:example-user']")                  ("example-user",)
    pages_in("wandb: View run at https://wandb.ai/team/nanogpt/runs/abc")    ("wandb:team/...",)

The lines may be those of a source, so a login counts only where code would have something else:
nothing may follow it that makes it an expression, and the words of a usage text are no logins.
"""

from __future__ import annotations

import re

from bot.compute.duplicates import link_key
from bot.model.submission import PLACEHOLDER
from bot.patterns import LOGIN_TEXT

_MOST = 4
_LONGEST = 4000
_ENDS = r"(?=['\"]?\s{0,9}(?:$|[,;)\]}]))"
_OPTION = re.compile(
    rf"--github[_-]login(?:=|\s{{1,3}}|['\"],\s?)['\"]?({LOGIN_TEXT})"
    r"(?=['\",)\]]|\s{0,9}$|\s{1,3}(?:-|[\w/-]{0,80}[./=]\w))"
)
_KEYED = re.compile(
    rf"(?<![\w.-])github_login(?:['\"]?\s{{0,3}}:\s{{0,3}}['\"]?|\s{{0,3}}=\s{{0,3}}['\"]|\s{{1,3}})"
    rf"({LOGIN_TEXT}){_ENDS}"
)
_TAG = re.compile(rf"(?<![\w:/.-])speedrun:({LOGIN_TEXT}){_ENDS}")
_TAGS = re.compile(r"(?<![a-z])tags?(?![a-z])", re.IGNORECASE)
_NO_LOGIN = frozenset(
    f"""none null str string optional login name user username your-login github_login github-login
    true false example {PLACEHOLDER}""".split()
)
_PAGE = re.compile(r"https://(?:www\.)?wandb\.ai/[\w.-]{1,128}/[\w.-]{1,128}/runs/[\w.-]{1,128}")


def owners_in(line: str) -> tuple[str, ...]:
    """The logins that a line of a log names as whose run it is, as written."""
    if len(line) > _LONGEST or ("login" not in line and "speedrun:" not in line):
        return ()
    found = [*_OPTION.findall(line), *_KEYED.findall(line)]
    tags = _TAG.findall(line)
    if tags and (_TAGS.search(line) or line.strip() == f"speedrun:{tags[0]}"):
        found += tags
    return tuple(n for n in found if n.lower() not in _NO_LOGIN and not n.isupper())[:_MOST]


def pages_in(line: str) -> tuple[str, ...]:
    """The keys of the runs on W&B whose pages a line of W&B's client names."""
    if len(line) > _LONGEST or "wandb" not in line or "/runs/" not in line:
        return ()
    keys = [link_key(found.rstrip(".")) for found in _PAGE.findall(line)[:_MOST]]
    return tuple(key for key in keys if key is not None)
