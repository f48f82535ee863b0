"""The chain from issue to verdict: steps as they were left, boxes in layers, nothing unsafe."""

from __future__ import annotations

import dataclasses as dc
import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from bot.model.submission import Folder, Submission
from bot.parse.steps import read_steps
from leaderboard_site.graph import Node, draw, layered
from leaderboard_site.model import Site, make_board
from leaderboard_site.pages.docs import navigation
from leaderboard_site.pages.experiments import experiments, models, sizes
from leaderboard_site.pages.provenance import provenance
from tests.site.synthetic import TARGET, target_verdict


def steps_file(**steps: Any) -> bytes:
    return json.dumps({"schema_version": 1, "steps": steps}).encode()


def test_steps_of_several_runs_each_identity_once() -> None:
    corpus = {"identity": "c", "inputs": [], "status": "finished"}
    files = {
        "execution.json": steps_file(
            corpus=corpus, train={"identity": "a", "inputs": ["c"], "status": "failed"}
        ),
        "execution_2.json": steps_file(corpus=corpus, train={"identity": "b", "status": "odd"}),
        "logs/0.log": b"",
    }
    found = read_steps(Folder("submissions/x/y", files))
    assert [(s.name, s.identity, s.inputs, s.status) for s in found] == [
        ("corpus", "c", (), "finished"),
        ("train", "a", ("c",), "failed"),
        ("train", "b", (), "unknown"),
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b'{"steps": 3}',
        b'{"steps": {"a": 1, "b": {"identity": 2}}}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_what_is_no_list_of_steps_is_none(data: bytes) -> None:
    assert read_steps(Folder("submissions/x/y", {"execution.json": data})) == ()


def test_layers_follow_the_parents() -> None:
    nodes = [
        Node("a", "A", ""),
        Node("b", "B", ""),
        Node("c", "C", "", parents=("a", "gone")),
        Node("d", "D", "", parents=("b", "c")),
        Node("e", "E", "", parents=("e", "f")),
        Node("f", "F", "", parents=("e",)),
    ]
    assert [[n.id for n in layer] for layer in layered(nodes)] == [
        ["a", "b", "e"],
        ["c", "f"],
        ["d"],
    ]


def test_drawing_is_xml_and_escapes_what_strangers_wrote() -> None:
    evil = '"><script>alert(1)</script>'
    nodes = [
        Node("a", "Issue", evil, evil, "javascript:alert(1)"),
        Node("b", "Runs", "8 runs", "f" * 64, "https://example.org/x?a=1&b=2", ("a",)),
    ]
    wide, narrow = draw(nodes, evil).split("</svg>")[:2]
    for svg in (wide + "</svg>", narrow + "</svg>"):
        tree = ElementTree.fromstring(svg)
        assert tree.get("aria-label")
        assert [a.get("href") for a in tree.iter("a")] == ["https://example.org/x?a=1&b=2"]
        assert [title.text for title in tree.iter("title")][1] == "Runs: 8 runs, " + "f" * 64
        assert not list(tree.iter("script")) and "style" not in svg
        assert len(re.findall('class="edge"', svg)) == 1


def site_of(**fields: Any) -> Site:
    verdict = target_verdict(1)
    about = Submission(verdict.submission, "target", "x", **fields)
    board = make_board(TARGET, [verdict], {verdict.submission: about})
    return Site({"target": board}, repository="https://github.com/example-org/speedrun")


def test_an_entry_of_which_nothing_is_known_has_no_graph() -> None:
    site = site_of()
    assert provenance(site, site.items[0], "d" * 64) is None


def test_an_entry_with_an_issue_has_a_graph_and_the_same_as_text() -> None:
    site = site_of(preregistration="12", code_commit="a" * 40)
    found = provenance(site, site.items[0], "d" * 64)
    assert found is not None
    assert [(row["kind"], row["after"]) for row in found["rows"]] == [
        ("Issue", []),
        ("Code", ["Issue: 12"]),
        ("Runs", ["Code: linked"]),
        ("Verdict", ["Runs: 9 runs"]),
    ]
    assert found["rows"][0]["href"].endswith("example-org/speedrun/issues/12")


def names(navigation: list[Any]) -> set[str]:
    found = set()
    for item in navigation:
        for name, inner in item.items():
            found |= {name} | (names(inner) if isinstance(inner, list) else set())
    return found


def test_pages_that_are_empty_are_not_in_the_navigation() -> None:
    bare = site_of()
    bare = dc.replace(bare, tracks={})
    assert (experiments(bare), models(bare), sizes(bare)) == ([], [], [])
    assert not names(navigation(bare)) & {"Experiments", "Models"}
    link = {"kind": "model", "url": "https://huggingface.co/example-user/mini"}
    full = site_of(links=(link,))
    assert names(navigation(full)) >= {"Experiments", "Models"}
    assert models(full)[0]["models"] == [link["url"]]
