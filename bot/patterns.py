"""Names as patterns: each is written once, here. A leaf: it imports nothing of the project.

The texts are for larger patterns; the compiled ones match a whole name by `fullmatch`.
"""

from __future__ import annotations

import re

SLUG_TEXT = "[a-z0-9][a-z0-9_-]{0,63}"
LOGIN_TEXT = "[A-Za-z0-9][A-Za-z0-9_-]{0,38}"
REPOSITORY_TEXT = rf"{LOGIN_TEXT}/[A-Za-z0-9._-]{{1,100}}"
COMMIT_TEXT = "[0-9a-f]{40}"

SLUG = re.compile(SLUG_TEXT)
"""One part of a path: the id of a track, the name of an entry or of a point."""
ENTRY = re.compile(rf"{SLUG_TEXT}(?:/{SLUG_TEXT}){{0,3}}")
"""The name of an entry on its track, of up to four parts."""
LOGIN = re.compile(LOGIN_TEXT)
"""A GitHub login; the accounts of an enterprise end in `_` and its short code."""
REPOSITORY = re.compile(REPOSITORY_TEXT)
"""OWNER/REPO on GitHub."""
COMMIT = re.compile(COMMIT_TEXT)
"""A full commit hash."""
STARTER = re.compile(r"starter\.run_(torch|jax)\(")
"""What a starter file calls, with the backend that it is written in."""
