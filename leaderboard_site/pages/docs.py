"""The hand-written pages of `docs/`: Markdown templates with examples computed at build."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2

from leaderboard_site.about import of_language, starter
from leaderboard_site.model import Site
from leaderboard_site.pages.examples import examples
from leaderboard_site.pages.experiments import experiments, models, sizes
from leaderboard_site.pages.wanted import wants

DOCS = Path(__file__).parent.parent / "docs"
TITLES = {
    "submit": "How to submit",
    "preregister": "Announce an experiment",
    "single-gpu": "One GPU",
    "clusters": "Several devices and hosts",
    "data": "Submit training data",
    "accounting": "FLOPs accounting",
    "bits-per-byte": "Bits per byte",
    "statistics": "Statistics",
    "host": "Host your own",
    "go-live": "Go live",
    "bot": "The bot on GitHub",
    "architecture": "Architecture",
    "api": "Data and API",
    "boards": "Next to other boards",
}
_PROJECT = ("host", "bot", "go-live", "architecture", "api", "boards")


_TRAINER = (
    {"The starter in PyTorch": "walkthrough.md"},
    {"The starter in JAX": "walkthrough-jax.md"},
)


def _one_gpu(site: Site) -> bool:
    """Whether the competition has the track that the page is about."""
    return any(name.startswith("single-gpu") for name in site.tracks)


def doc_files(site: Site) -> Iterator[tuple[str, str]]:
    """Each page of `docs/` with its numbers filled in."""
    values = examples(site)
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(DOCS),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in TITLES:
        yield f"{name}.md", env.get_template(f"{name}.md").render(**values)


def navigation(site: Site) -> list[Any]:
    """The tabs and what stands below them."""
    boards: list[Any] = [{b.track.title: f"tracks/{b.track.id}/index.md"} for b in site.boards]
    return [
        {"Home": "index.md"},
        {"Boards": [*boards, {"All entries": "entries/index.md"}]},
        {"People": "people/index.md"},
        {"Techniques": "techniques.md"},
        {"Compare": "compare.md"},
        # Pages that hold nothing yet stay reachable by search alone.
        *([{"Pending": "pending.md"}] if site.pending else []),
        *([{"Runs wanted": "wanted.md"}] if wants(site) else []),
        {
            "Submit": [
                {TITLES["submit"]: "submit.md"},
                {TITLES["preregister"]: "preregister.md"},
                *(_TRAINER if starter(site) else []),
                *([{TITLES["single-gpu"]: "single-gpu.md"}] if _one_gpu(site) else []),
                *([{TITLES["clusters"]: "clusters.md"}] if starter(site) else []),
                {TITLES["data"]: "data.md"},
                {"Commands": "commands.md"},
            ]
        },
        {"Rules": "rules/index.md"},
        {
            "Methods": [
                {TITLES[n]: f"{n}.md"}
                for n in ("accounting", "bits-per-byte", "statistics")
                if n != "bits-per-byte" or of_language(site)
            ]
        },
        {
            "Project": [
                *([{"Experiments": "experiments.md"}] if experiments(site) else []),
                *([{"Models": "models.md"}] if models(site) or sizes(site) else []),
                {"Cite and reuse": "cite.md"},
                *({TITLES[n]: f"{n}.md"} for n in _PROJECT),
            ]
        },
    ]
