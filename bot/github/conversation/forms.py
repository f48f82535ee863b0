"""The issue form and `/submit`: what somebody sent, and what is still missing in words for them.

GitHub's sections (`### Heading` and text) are a stranger's and are read as data.
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.evidence.links import RunRef
from bot.github.pull_request.intake import Intake, links_in, people_in, track_in
from bot.model.track import Track
from bot.parse.issue_form import sections
from bot.parse.plan import issue_in

FIELDS = {
    "track": "Track",
    "links": "W&B runs",
    "baseline": "W&B runs of the baseline",
    "title": "Title",
    "words": "What did you try",
    "preregistration": "Preregistration",
    "contributors": "Contributors",
}
"""Headings of `.github/ISSUE_TEMPLATE/submission.yml`; a test holds the two together."""
LABEL = "submission"


def read_form(body: str, author: str, tracks: Mapping[str, Track]) -> Intake:
    """A filled issue form. `missing` is empty when a submission can be made of it."""
    text = sections(body)
    missing: list[str] = []
    links = links_in(text.get(FIELDS["links"], ""), missing)
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
        track=track_in(text.get(FIELDS["track"], ""), tracks, missing),
        links=links,
        baseline=links_in(text.get(FIELDS["baseline"], ""), missing),
        title=title,
        words=words,
        preregistration=_issue(text.get(FIELDS["preregistration"], ""), missing),
        contributors=people_in(text.get(FIELDS["contributors"], ""), author, missing),
        missing=tuple(missing),
    )


def _issue(text: str, missing: list[str]) -> int | str | None:
    """The issue that announced the runs, as submission.json names it."""
    named = " ".join(text.split())
    if not named:
        return None
    if (issue := issue_in(named)) is None:
        missing.append(f'"Preregistration" is "{named[:60]}": write the number of an issue')
    return issue


def from_command(
    links: tuple[RunRef, ...], track: str, author: str, tracks: Mapping[str, Track]
) -> Intake:
    """A submission from `/submit LINK...`: the words can be added on the pull request."""
    missing: list[str] = []
    return Intake(
        author=author,
        track=track_in(track, tracks, missing),
        links=links,
        title=f"Runs by {author}",
        contributors=people_in("", author, missing),
        missing=tuple(missing),
    )
