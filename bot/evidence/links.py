"""Links to W&B as people paste them, reduced to entity, project and run id.

`parse_link` takes the page of a run in every form that the web interface gives, a path
`ENTITY/PROJECT/runs/ID`, and the newer host, in the brackets and with the full stop of the text
that it was copied from; anything else gives a `LinkProblem` with the rule that it does not meet.
The host of a link is compared and then forgotten: no request ever goes to it.
"""

from __future__ import annotations

import re
import urllib.parse
from typing import NamedTuple

MAX_LINK = 512
SHARES = "api.wandb.ai"
"""The host of the links that share a report."""
# Host -> the path under which W&B lies there.
HOSTS = {
    "wandb.ai": "",
    "www.wandb.ai": "",
    "app.wandb.ai": "",
    "forge.coreweave.com": "/wandb",
}
_ENTITY = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
# W&B forbids these in the names of projects and in the ids of runs, and nothing else.
_NAME = r"[^/\\#?%:\x00-\x1f\x7f]{1,128}"
_PATH = re.compile(
    rf"/(?P<entity>{_ENTITY})/(?P<project>{_NAME})/runs/(?P<id>{_NAME})"
    r"(?:/[A-Za-z0-9_./ -]{0,200})?/?"
)
_BARE = re.compile(rf"(?P<entity>{_ENTITY})/(?P<project>{_NAME})/(?:runs/)?(?P<id>{_NAME})")
_PROJECT = re.compile(
    rf"/(?P<entity>{_ENTITY})/(?P<project>{_NAME})"
    rf"(?:/(?:workspace|table|runs|sweeps(?:/(?P<sweep>{_NAME}))?)?)?/?"
)
_REPORT = re.compile(r"(?:/[^/]+){1,2}/reports/[^/]+/?|/links/[^/]+/[^/]+/?")
_MARKDOWN = re.compile(r"!?\[[^\]]{0,200}\]\((\S{1,500}?)(?:\s+\"[^\"]{0,200}\")?\)[.,;:]?")
RUN_PAGE = "https://wandb.ai/ENTITY/PROJECT/runs/ID"


class RunRef(NamedTuple):
    """One run on W&B."""

    entity: str
    project: str
    id: str

    @property
    def url(self) -> str:
        """The canonical address of the run's page."""
        project, run = (urllib.parse.quote(n, safe="=,+@") for n in (self.project, self.id))
        return f"https://wandb.ai/{self.entity}/{project}/runs/{run}"

    @property
    def path(self) -> str:
        """`ENTITY/PROJECT/ID`, as the client takes it."""
        return f"{self.entity}/{self.project}/{self.id}"


class LinkProblem(NamedTuple):
    """Why a text is not a link to a run: the rule, what it does not meet, and the remedy."""

    rule: str
    message: str
    fix: str


class ProjectRef(NamedTuple):
    """One project on W&B, or one sweep of it."""

    entity: str
    project: str
    sweep: str | None = None


def project_of(text: str) -> ProjectRef | None:
    """The project or the sweep whose page `text` is, or None for any other address."""
    text = _bare_text(text)
    try:
        url = urllib.parse.urlsplit(text if "://" in text else f"https://{text}")
    except ValueError:
        return None
    prefix = HOSTS.get((url.hostname or "").lower())
    path = urllib.parse.unquote(url.path)
    if prefix is None or not path.startswith(prefix):
        return None
    match = _PROJECT.fullmatch(path.removeprefix(prefix))
    return None if match is None else ProjectRef(match["entity"], match["project"], match["sweep"])


def which_runs(text: str) -> str:
    """For the page of a project or a sweep, the question which of its runs count, and how to name
    them; empty for any other address. For those who cannot ask W&B for the list."""
    place = project_of(text)
    if place is None:
        return ""
    what = "project" if place.sweep is None else "sweep"
    return (
        f"the link is a {what}, so which of its runs count? Open each one on W&B and link its "
        f"page; `speedrun new TRACK/NAME --wandb LINK` lists those of the {what} that finished"
    )


def _bare_text(text: str) -> str:
    """An address without the marks of the text around it."""
    text = text.strip()
    if (marked := _MARKDOWN.fullmatch(text)) is not None:
        return marked[1]
    while text and (text[0] in "<([{\"'`" or text[-1] in ">)]}\"'`.,;:"):
        bare = text.lstrip("<([{\"'`")
        if bare == text:
            # An id may end in what also ends a sentence: what was opened is closed.
            if text[-1] in ")]}" and "([{"[")]}".index(text[-1])] in text:
                return text
            bare = text[:-1]
        text = bare.strip()
    return text


def parse_link(text: object) -> RunRef | LinkProblem:
    """The run that `text` points to, or why it does not point to one. Never raises."""
    if not isinstance(text, str) or not text.strip():
        return _not_a_run("there is no link")
    text = _bare_text(text)
    if len(text) > MAX_LINK:
        return _not_a_run(f"the link has {len(text)} characters, more than {MAX_LINK}")
    if not text.isprintable() or "\\" in text:
        return _not_a_run("the link contains characters that a W&B address cannot have")
    if "://" not in text and (bare := _BARE.fullmatch(text)) and text.count("/") <= 3:
        host = bare["entity"].lower()
        if "." not in host:
            return _given(_checked(bare)) or _not_a_run(f'"{text}" is not a path of a run')
    if "://" not in text:
        if "." not in text.partition("/")[0] and not text.lower().startswith("localhost"):
            if text.lower().endswith((".log", ".txt", ".json")):
                return LinkProblem(
                    "link-not-a-run",
                    "the text names a file, not a run on W&B",
                    f'write "source": "log", or "results" for a results file; a link is {RUN_PAGE}',
                )
            return _not_a_run("the text is not an address")
        text = f"https://{text}"
    return _parse_url(text)


def _parse_url(text: str) -> RunRef | LinkProblem:
    try:
        url = urllib.parse.urlsplit(text)
        host, port = (url.hostname or "").lower(), url.port
    except ValueError:
        return _not_a_run("the link is not an address")
    if url.scheme not in ("http", "https"):
        return _not_a_run(f'"{url.scheme}://" is a storage path, not the page of a run')
    if not host:
        return _not_a_run(f'"{text[:100]}" is a path, not the page of a run')
    if host == SHARES and is_report_path(url.path):
        return _not_a_run(_page_kind(url.path))
    if host not in HOSTS or port not in (None, 80, 443) or "@" in url.netloc:
        shown = url.netloc.rpartition("@")[2][:100]
        return _elsewhere(shown, url.path)
    prefix = HOSTS[host]
    path = urllib.parse.unquote(url.path)
    if not path.startswith(prefix):
        return _not_a_run(f"the page lies outside {host}{prefix}")
    path = path.removeprefix(prefix)
    match = _PATH.fullmatch(path)
    found = _checked(match) if match is not None else None
    return _given(found) or _not_a_run(_page_kind(path))


def _elsewhere(host: str, path: str) -> LinkProblem:
    """A link to another server: one of one's own that runs W&B is told what to do instead."""
    message, fix = (
        f'the link leads to "{host}", expected wandb.ai',
        f"link the run's page: {RUN_PAGE}",
    )
    if _PATH.fullmatch(urllib.parse.unquote(path)) is not None:
        fix = (
            "runs on a W&B server of your own cannot be read: give the run's .wandb file or its "
            "log, or `wandb sync` it to a public project on wandb.ai"
        )
    return LinkProblem("host-not-allowed", message, fix)


def _given(run: RunRef | None) -> RunRef | LinkProblem | None:
    """The run, unless its link is the form that our own remedies show, copied as it stands."""
    if run is not None and {"ENTITY", "PROJECT"} & {run.entity, run.project}:
        return _not_a_run("the link is the example with its placeholders not filled in")
    return run


def _checked(match: re.Match[str]) -> RunRef | None:
    """The run of a match; None where a part could be read as a relative path or has odd spaces."""
    parts = [match[name] for name in ("entity", "project", "id")]
    odd = any(".." in part or part == "." or part != part.strip() for part in parts)
    return None if odd or " " in parts[0] else RunRef(*parts)


def _page_kind(path: str) -> str:
    """What kind of W&B page `path` is, in words."""
    if is_report_path(path):
        return "the link is a report; list reports under `links`, and link runs as evidence"
    parts = [part for part in path.split("/") if part]
    kinds = {"sweeps": "a sweep", "groups": "a group of runs", "artifacts": "an artifact"}
    for word, kind in kinds.items():
        if len(parts) > 2 and parts[2] == word:
            return f"the link is {kind}, not one run"
    if 0 < len(parts) <= 3 and "runs" not in parts[2:]:
        return "the link is a project or an account, not one run"
    if len(parts) == 3:
        return "the link ends in /runs without naming a run"
    return "the link is not the page of a run"


def is_report_path(path: str) -> bool:
    """Whether the path of a W&B address is a report."""
    return _REPORT.fullmatch(path) is not None


def _not_a_run(reason: str) -> LinkProblem:
    return LinkProblem("link-not-a-run", reason, f"link the run's page: {RUN_PAGE}")
