"""The site in Chromium: a small part of `make site-check`, where its tools are installed."""

from __future__ import annotations

import dataclasses as dc
import json
from pathlib import Path

import pytest

from leaderboard_site.cli import build_site
from tests.site import site_check, synthetic
from tests.site.hostile import hostile_site
from tests.site.server import Server

LACK = site_check.missing()
pytestmark = pytest.mark.skipif(LACK is not None, reason=f"{LACK}; run tests/site/setup.sh")


def faults(output: str) -> list[str]:
    """The lines that report something."""
    lines = [json.loads(x) for x in output.splitlines() if x.startswith("{")]
    return [json.dumps(x) for x in lines if "what" in x or x.get("ok") is False]


def test_a_reader_finds_and_shares(tmp_path: Path) -> None:
    place = tmp_path / "site"
    with Server(place) as url:
        build_site(synthetic.site(1000, url=url), place)
        good, output = site_check.node("journeys.mjs", url, "pareto")
    assert good, faults(output) or output


def test_every_cell_and_every_point_is_what_was_served(tmp_path: Path) -> None:
    place = tmp_path / "site"
    with Server(place) as url:
        site = synthetic.site(120, url=url)
        build_site(site, place)
        good, output = site_check.node("cells.mjs", url, *site.tracks)
        assert good, faults(output) or output
        good, output = site_check.node(
            "points.mjs", url, "", *(f"tracks/{t}/" for t in site.tracks)
        )
    assert good, faults(output) or output


def test_hostile_entries_do_nothing_in_a_browser(tmp_path: Path) -> None:
    place = tmp_path / "site"
    with Server(place) as url:
        site = dc.replace(hostile_site(), url=url)
        build_site(site, place)
        pages = ["", "tracks/pareto/", *(i.url for i in site.items[:3])]
        good, output = site_check.node("check.mjs", url, *pages)
    assert good, faults(output) or output
