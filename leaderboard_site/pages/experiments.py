"""Experiments and models: each with issue, pull request, code, execution and reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.render.numbers import DASH
from leaderboard_site.formats import quantity
from leaderboard_site.model import Item, Site, TrackBoard
from leaderboard_site.pages.environment import number, page, render
from leaderboard_site.pages.provenance import (
    about_links,
    code_url,
    experiment,
    issue_url,
    pull_url,
    steps_url,
)
from leaderboard_site.pages.track import result_of
from leaderboard_site.states import state_of

MOST = 300
MOST_SIZES = 400


def experiment_files(site: Site) -> Iterator[tuple[str, str]]:
    """Both pages. They are reachable, and out of the navigation, while they are empty."""
    yield (
        "experiments.md",
        page(
            "Experiments",
            "What was announced before it was run, and what came of it, negative results included.",
            render("experiments.html", base="../", rows=experiments(site)),
        ),
    )
    yield (
        "models.md",
        page(
            "Models",
            "What was trained: published models, and the best of each size.",
            render("models.html", base="../", rows=sizes(site), models=models(site)),
        ),
    )


def experiments(site: Site) -> list[dict[str, Any]]:
    """Preregistered or linked work: every submission that names an issue, a report or a paper,
    and every preregistration that has no submission yet; those that did not pass included."""
    rows = [
        _row(site, board, item)
        for board in site.tracks.values()
        for item in board.items.values()
        if item.about is not None and (item.about.preregistration or item.about.links)
    ]
    rows += [
        {
            "item": None,
            "title": str(e.get("title", "")),
            "date": e.get("date"),
            "links": [{"kind": "issue", "url": str(e.get("url", ""))}],
            "outcome": str(e.get("state", "registered")),
        }
        for e in site.experiments
    ]
    return sorted(rows, key=lambda r: r["date"] or "", reverse=True)[:MOST]


def _row(site: Site, board: TrackBoard, item: Item) -> dict[str, Any]:
    result = result_of(board, item.places[0]) if item.places else ""
    parts = [state_of(item.verdict).name, result]
    found = experiment(site, item)
    return {
        "item": item,
        "date": item.verdict.date,
        "links": links_of(site, item),
        "outcome": "; ".join(filter(None, (found["outcome"] if found else "", *parts))),
    }


def links_of(site: Site, item: Item) -> list[dict[str, str]]:
    """Everything that belongs to an entry, in the order in which it came about."""
    own = (
        ("issue", issue_url(site, item.about.preregistration if item.about else None)),
        ("pull request", pull_url(site, item)),
        ("code", code_url(item)),
        ("execution", steps_url(item)),
    )
    found = [{"kind": kind, "url": url} for kind, url in own if url]
    stated = about_links(item)
    for kind, name in (
        ("wandb-report", "W&B report"),
        ("model", "model"),
        ("retrospective", "retrospective"),
        ("paper", "paper"),
        ("post", "post"),
        ("issue", "another issue"),
    ):
        found += [{"kind": name, "url": url} for url in stated.get(kind, ())]
    return found[:12]


def models(site: Site) -> list[dict[str, Any]]:
    """The models that entries published, newest first."""
    rows = [
        {
            "item": item,
            "date": item.verdict.date,
            "models": [url for url in about_links(item)["model"]][:5],
            "size": _size(item),
            "quality": _quality(board, item),
            "links": [link for link in links_of(site, item) if link["kind"] != "model"],
        }
        for board in site.tracks.values()
        for item in board.items.values()
        if "model" in about_links(item)
    ]
    return sorted(rows, key=lambda r: str(r["date"] or ""), reverse=True)[:MOST]


def _size(item: Item) -> str:
    size = number(item.verdict.metrics.get("parameters"))
    return quantity("parameters", size)


def _quality(board: TrackBoard, item: Item) -> str:
    best = item.best
    if best is None:
        return DASH
    return board.words(board.track.quality.metric, best.entry.quality)


def sizes(site: Site) -> list[dict[str, Any]]:
    """Ranked points grouped by track and parameter count, with the best of each size."""
    groups: dict[tuple[str, int], list[tuple[Any, Item, Any]]] = {}
    for board in site.tracks.values():
        for item, place in board.places:
            size = number(place.values.get("parameters"))
            if size:
                groups.setdefault((board.track.id, int(size)), []).append((board, item, place))
    rows = []
    for (_, size), members in sorted(groups.items()):
        sign = members[0][0].track.quality.sign
        board, item, place = min(members, key=lambda m: sign * m[2].entry.quality)
        rows.append(
            {
                "track": board.track,
                "size": quantity("parameters", size),
                "count": len(members),
                "item": item,
                "quality": board.words(board.track.quality.metric, place.entry.quality),
                "cost": board.words(board.track.cost.metric, place.entry.shown_cost),
                "links": links_of(site, item),
            }
        )
    return rows[:MOST_SIZES]
