"""Where an entry's evidence and code lie, how to check it, and how to cite it."""

from __future__ import annotations

from typing import Any

from leaderboard_site import text
from leaderboard_site.model import Item, Site, TrackBoard


def imported(item: Item) -> dict[str, Any] | None:
    """Where an imported entry comes from."""
    origin = item.imported
    if not origin:
        return None
    url = str(origin.get("url", ""))
    short = text.clean(url.removeprefix("https://").removeprefix("github.com/"), 60)
    people = item.people if item.people not in ("imported", "not stated") else ""
    return {"url": url, "short": short, "commit": origin.get("commit"), "people": people}


def sources(board: TrackBoard, item: Item) -> list[dict[str, str]]:
    """Where an imported result was discussed and logged, as facts on file: pull requests, log."""
    table, row = board.track.official, item.official
    repository = table.repository or board.track.source
    pulls = row.pull_requests if row else item.imported.get("pull_requests") or ()
    found = [
        {"kind": f"Pull request #{n}", "url": f"{repository}/pull/{n}"}
        for n in pulls
        if isinstance(n, int)
    ]
    if row and row.log:
        found.append(
            {"kind": "Log at its source", "url": f"{repository}/blob/{table.commit}/{row.log}"}
        )
    if row:
        found.append({"kind": f"Record #{row.number} in the official table", "url": table.source})
    return found


def links(item: Item) -> list[dict[str, str]]:
    """What the submission links."""
    found = item.about.links if item.about else ()
    return [{"kind": str(x.get("kind", "link")), "url": str(x.get("url", ""))} for x in found[:20]]


def code(item: Item) -> dict[str, Any] | None:
    """Where the code lies, if it is not in the submission."""
    about = item.about
    if not about or not about.code_repository:
        return None
    return {"url": about.code_repository, "commit": about.code_commit}


def command(site: Site, item: Item) -> str:
    """What a reader runs to check this entry; and to run it again where the code is named."""
    lines = list(site.install)
    lines.append(f"speedrun check {text.clean(item.path, 200)}")
    about = item.about
    if about and about.code_repository and text.safe_url(about.code_repository):
        commit = text.clean(about.code_commit or "", 40)
        if commit.isalnum():
            lines.append(f"git clone {text.clean(about.code_repository, 300)} code")
            lines.append(f"git -C code checkout {commit}")
    return "\n".join(lines)


def bibtex(site: Site, item: Item) -> str:
    """A BibTeX record; braces and backslashes of a stranger's text are left out."""

    def field(value: str, limit: int = 200) -> str:
        return text.clean(value, limit).translate(str.maketrans("", "", "{}\\"))

    people = " and ".join(field(p.name, 80) for p in item.persons[:20])
    year = (item.verdict.date or "")[:4]
    key = f"speedrun-{item.verdict.track}-{item.slug}"[:120]
    lines = [f"@misc{{{key},", f"  title = {{{field(item.title)}}},"]
    if people:
        lines.append(f"  author = {{{people}}},")
    if year.isdigit():
        lines.append(f"  year = {{{year}}},")
    lines += [
        f"  howpublished = {{Speedrun leaderboard, track {item.verdict.track}}},",
        f"  url = {{{site.url}{item.url}}}",
        "}",
    ]
    return "\n".join(lines)
