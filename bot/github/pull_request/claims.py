"""What the description of a pull request says: its approach, and a claim about the baseline.

The template asks one question; only a ticked box makes a claim, so a change for convenience needs
no runs. The runs may come from anybody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bot.github.pull_request.intake import Intake, from_claim, submission_of, to_text
from bot.model.submission import Folder
from bot.model.track import Track

PATH = "description"
"""Where findings say that something stands: the pull request's own text."""
TICKED = re.compile(r"^[ \t]*[-*] \[[xX]\] Yes, and I claim it\b", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LONGEST = 100_000
_LABELS = ("Track:", "Runs with the change:", "Runs of the baseline:", "Credit:")


def read_claim(body: str, author: str, tracks: Mapping[str, Track]) -> Intake | None:
    """The claim of a description, None if the box is not ticked."""
    body = _COMMENT.sub("", body[:_LONGEST].replace("\r\n", "\n"))
    if not TICKED.search(body):
        return None
    found: dict[str, list[str]] = {label: [] for label in _LABELS}
    current = ""
    for line in body.split("\n"):
        label = next((one for one in _LABELS if line.startswith(one)), "")
        if label:
            current, line = label, line.removeprefix(label)
        elif line.startswith("#"):
            current = ""
        if current:
            found[current].append(line)
    track, runs, baseline, people = ("\n".join(found[label]) for label in _LABELS)
    return from_claim(track, runs, baseline, people, author, tracks)


def folder_of(claim: Intake) -> Folder:
    """The claim as a submission that the engine can judge."""
    return Folder(PATH, {"submission.json": to_text(submission_of(claim)).encode()})


def approach_of(body: str) -> str:
    """What the author wrote under "Approach", or the whole text if there is no such heading.

    The template's own comments say nothing about the submission.
    """
    text = _COMMENT.sub("", body[:_LONGEST].replace("\r\n", "\n"))
    _, found, rest = text.partition("## Approach\n")
    return (rest.partition("\n## ")[0] if found else text).strip()
