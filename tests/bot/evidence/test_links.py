"""Links as people paste them, and what is not a link to a run."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.evidence.links import LinkProblem, RunRef, parse_link, project_of

REF = RunRef("example-team", "nano_gpt.2", "a1b2c3")


@pytest.mark.parametrize(
    "text",
    [
        "https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3",
        "  https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3\n",
        "http://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3",
        "wandb.ai/example-team/nano_gpt.2/runs/a1b2c3",
        "https://www.wandb.ai/example-team/nano_gpt.2/runs/a1b2c3/",
        "https://app.wandb.ai/example-team/nano_gpt.2/runs/a1b2c3",
        "HTTPS://WANDB.AI/example-team/nano_gpt.2/runs/a1b2c3",
        "https://wandb.ai:443/example-team/nano_gpt.2/runs/a1b2c3",
        "https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3?nw=nwuserexample",
        "https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3?workspace=user-example#top",
        "https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3/workspace?nw=nwuserexample",
        "https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3/overview",
        "https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3/files/logs/train.log",
        "https://forge.coreweave.com/wandb/example-team/nano_gpt.2/runs/a1b2c3",
        "https://forge.coreweave.com/wandb/example-team/nano_gpt.2/runs/a1b2c3/logs?nw=x",
        "example-team/nano_gpt.2/a1b2c3",
        "example-team/nano_gpt.2/runs/a1b2c3",
        "<https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3>",
        "[my run](https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3)",
        '[my run](https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3 "title").',
        "(https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3)",
        "`https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3`",
        '"https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3",',
        "https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3.",
        "https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3).",
        "<https://wandb.ai/example-team/nano_gpt.2/runs/a1b2c3?nw=x>;",
    ],
)
def test_every_form_gives_the_same_run(text: str) -> None:
    assert parse_link(text) == REF


def test_names_with_dots_and_spaces() -> None:
    spaced = parse_link("https://wandb.ai/team/my%20project/runs/lr0.02-add079")
    assert spaced == RunRef("team", "my project", "lr0.02-add079")
    assert isinstance(spaced, RunRef)
    assert spaced.url == "https://wandb.ai/team/my%20project/runs/lr0.02-add079"
    assert parse_link(spaced.url) == spaced


@pytest.mark.parametrize(
    ("project", "run"),
    [
        ("lr+wd", "lr=0.01,wd=0.1"),
        ("a & b", "run (2)"),
        ("pr\u00f6jekt", "l\u00e4uft"),
        ("it's", "50+1!"),
        ("[old]", "{x}"),
    ],
)
def test_every_legal_name_of_wandb_is_read_as_it_is_and_as_a_browser_writes_it(
    project: str, run: str
) -> None:
    ref = RunRef("jdoe_acme", project, run)
    assert parse_link(ref.url) == ref
    assert parse_link(f"https://wandb.ai/jdoe_acme/{project}/runs/{run}") == ref
    quoted = f"https://wandb.ai/jdoe_acme/{quote(project, safe='')}/runs/{quote(run, safe='')}"
    assert parse_link(quoted) == ref
    assert parse_link(f"<{ref.url}>") == ref


@pytest.mark.parametrize(
    "text, ref",
    [
        ("https://wandb.ai/team/project", ("team", "project", None)),
        ("https://wandb.ai/team/project/workspace?nw=x", ("team", "project", None)),
        ("<https://wandb.ai/team/my%20project/table>", ("team", "my project", None)),
        ("https://wandb.ai/team/project/sweeps", ("team", "project", None)),
        ("https://wandb.ai/team/project/sweeps/abc", ("team", "project", "abc")),
        ("https://wandb.ai/team", None),
        ("https://wandb.ai/team/project/runs/abc", None),
        ("https://wandb.ai/team/project/reports/A--VmlldzoxMjM", None),
        ("https://example.org/team/project", None),
    ],
)
def test_a_project_and_a_sweep_are_told(text: str, ref: tuple[object, ...] | None) -> None:
    assert project_of(text) == ref


def test_a_server_of_ones_own_is_told_what_to_do() -> None:
    found = parse_link("https://wandb.example.org:8080/team/project/runs/abc")
    assert isinstance(found, LinkProblem) and found.rule == "host-not-allowed"
    assert ".wandb file" in found.fix and "wandb sync" in found.fix
    other = parse_link("https://example.org/about")
    assert isinstance(other, LinkProblem) and "wandb sync" not in other.fix


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no link"),
        (None, "no link"),
        (17, "no link"),
        ("logs/a.log", "names a file"),
        ("https://wandb.ai/team/project", "project"),
        ("https://wandb.ai/team/project?nw=nwuserx", "project"),
        ("https://wandb.ai/team/project/workspace?nw=x", "project"),
        ("https://wandb.ai/team", "account"),
        ("https://wandb.ai/team/project/runs/", "naming a run"),
        ("https://wandb.ai/team/project/reports/A-title--VmlldzoxMjM", "report"),
        ("https://wandb.ai/team/project/sweeps/abc", "sweep"),
        ("https://wandb.ai/team/project/groups/abc", "group"),
        ("https://forge.coreweave.com/team/project/runs/abc", "outside"),
        ("gs://bucket/checkpoints/run", "storage path"),
        ("https://wandb.ai/ENTITY/PROJECT/runs/ID", "not filled in"),
        ("ENTITY/project/abc", "not filled in"),
        ("file:///etc/passwd", "storage path"),
        ("javascript:alert(1)", "not"),
        ("/home/someone/run", "not an address"),
        ("https://wandb.ai/../../x/runs/y", "not the page"),
        ("https://wandb.ai/team/p%2F..%2Fq/runs/../x", "not the page"),
        ("https://wandb.ai/team/..%2F..%2Fgraphql/runs/x", "not the page"),
        ("https://wandb.ai/te am/project/runs/x", "not the page"),
        ("https://wandb.ai\\team\\project", "characters"),
        ("https://wandb.ai/team/project/runs/a\u202eb", "characters"),
        ("https://wandb.ai/team/pr%23ject/runs/a", "not the page"),
        ("https://wandb.ai/team/project/runs/a\nb", "characters"),
        ("https://wandb.ai/" + "a" * 600, "characters"),
        ("https://[::1/team/project/runs/a", "not an address"),
    ],
)
def test_what_is_not_a_run_says_what_it_is(text: object, says: str) -> None:
    found = parse_link(text)
    assert isinstance(found, LinkProblem)
    assert (found.rule, says in found.message) == ("link-not-a-run", True), found.message
    assert "https://wandb.ai/ENTITY/PROJECT/runs/ID" in found.fix


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/team/project/runs/abc",
        "https://wandb.ai.example.org/team/project/runs/abc",
        "https://wandb.ai@example.org/team/project/runs/abc",
        "https://user:word@wandb.ai/team/project/runs/abc",
        "https://wandb.ai:8080/team/project/runs/abc",
        "https://127.0.0.1/team/project/runs/abc",
        "https://api.wandb.ai/graphql",
        "example.org/team/project/runs/abc",
    ],
)
def test_other_hosts_are_refused(text: str) -> None:
    found = parse_link(text)
    assert isinstance(found, LinkProblem)
    assert found.rule == "host-not-allowed"
    assert "word" not in found.message


@given(st.text(max_size=200) | st.from_regex(r"https://wandb\.ai/\S*/runs/\S*", fullmatch=True))
def test_no_text_breaks_it_and_no_run_leaves_its_place(text: str) -> None:
    found = parse_link(text)
    if isinstance(found, RunRef):
        assert all(part and ".." not in part and "/" not in part for part in found)
        assert parse_link(found.url) == found
