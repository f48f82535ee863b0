"""Attacks through what the bot says: groups 9, 11, 16 and 19, and how the words are rendered."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.github.pull_request.publish import publish
from bot.model.report import Change, Kind, Place, Report, Settings
from bot.model.run import RunRecord
from bot.model.summary import Sample, Summary
from bot.model.verdict import Finding, Point, Verdict
from bot.registry import Grade, Level, Status
from bot.render.comment import WORDS, render_comment
from tests.bot.github.competition import (
    AUTHOR,
    BOT,
    MAINTAINER,
    REPO,
    STRANGER,
    Competition,
    submission,
)
from tests.doubles.github import Fault, GitHubDouble

pytestmark = pytest.mark.one_in(2)

HOSTILE = [
    "`",
    "``` \n# big",
    "a | b | c",
    "<!-- speedrun:verdict -->",
    "</details><h1>x</h1>",
    "![x](https://evil.example/p.png)",
    "[click](https://evil.example)",
    "@example-org/everyone",
    "@example-user",
    "#1",
    "GH-1",
    "example-org/other#3",
    "https://evil.example/x",
    "www.evil.example",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "\n\n/verify\n",
    "\u202egnp.exe",
    "a\rb",
    "- [x] done",
    "$x$",
    "~~gone~~",
    "&#64;example-user",
    "<a href='javascript:alert(1)'>x</a>",
    "\\`",
    "|`|`|",
    "javascript:alert(1)",
    "mailto:a@b.example",
    "[ref]: https://evil.example",
    "![][ref]",
    "&lt;img&gt;",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "{{ report.__class__ }}",
    "<details open>",
    "\x00",
    "\ud800",
]


def report_with(text: str) -> Report:
    """The text in every place where a stranger's text can come through."""
    finding = Finding(
        "mfu-impossible",
        Level.ERROR,
        f"value {text}",
        file=f"a/{text}",
        line=3,
        pointer=f"/{text}",
        claimed=text,
        expected={"k": text},
        fix=f"write {text}",
        run=text,
    )
    verdict = Verdict(
        submission=f"submissions/mini/{text}",
        track=text,
        status=Status.REJECTED,
        evidence=Grade.LOG,
        findings=(
            finding,
            Finding("seed-reused", Level.WARNING, text),
            Finding("depends-on-best-run", Level.NOTE, text),
        ),
        points=(
            Point(text, 1.0, 2.0, {"loss": 1.0}, Summary(metric=text, quality=Sample((1.0, 2.0)))),
            Point("b", 1.0, 2.0, {}),
        ),
        runs=(RunRecord(text, step=text, loss=text, time_s=1),),
        note=text,
        title=text,
        accepted={"run-not-bound": text},
    )
    place = Place(text=f"would be place 1 of 2, {text}")
    return Report(
        REPO,
        1,
        "0" * 40,
        "1" * 40,
        Kind.SUBMISSION,
        text,
        (verdict,),
        {verdict.submission: place},
        (Change(text, text, text, text),),
        1,
        (text,),
        (text,),
        (text,),
    )


def render_html(body: str) -> str:
    markdown_it = pytest.importorskip("markdown_it", reason="needs markdown-it-py (extra `dev`)")
    parser = markdown_it.MarkdownIt("gfm-like", {"html": True, "linkify": False})
    html: str = parser.render(body)
    return html


ALLOWED = re.compile(
    r"</?(h3|p|ul|ol|li|code|strong|em|table|thead|tbody|tr|th|td|details|summary|sub|br|pre)"
    r"( style=\"text-align:\w+\"| /)?>|<br>|<!--.*?-->|<a href=\"https://example\.org/board/rules/"
    r"[a-z-]+/\">|</a>|</details>"
)


@pytest.mark.parametrize("text", HOSTILE, ids=repr)
@pytest.mark.parametrize("kind", list(Kind), ids=str)
def test_nothing_escapes(text: str, kind: Kind) -> None:
    import dataclasses as dc

    settings = Settings(site="https://example.org/board")
    report = dc.replace(report_with(text), kind=kind)
    body = render_comment(report, settings)
    clean = render_comment(dc.replace(report_with("harmless"), kind=kind), settings)
    marked = [line[:13] for line in body.split("\n")].count("<!-- speedrun")
    assert marked == clean.count("<!-- speedrun:") == 2
    html = render_html(body.split("\n", 2)[2])
    left = ALLOWED.sub("", html)
    assert "<" not in left, left
    assert "<img" not in html and 'href="http' not in html.replace("https://example.org/board", "")
    outside = re.sub(r"<code>.*?</code>", "", html, flags=re.DOTALL)
    shown = re.sub(r"<!-- -->", "\0", outside)
    assert not re.search(r"(^|[^\w`\0])@\w", shown), "a mention outside of code"
    assert not re.search(r"(^|[^\w&\0])#\d", shown), "a reference outside of code"
    assert not re.search(r"\bGH-\d", shown)
    assert not re.search(r"(https?://|www\.)(?!example\.org)", re.sub(r"<a [^>]*>", "", shown))
    rows = [r for r in html.split("<tr>")[1:] if "<td" in r]
    assert {r.count("</td>") for r in rows} <= {2, 3, 4, 5}
    wanted = render_html(clean.split("\n", 2)[2])
    for tag in ("<tr>", "<td", "<code>"):
        assert html.count(tag) == wanted.count(tag), f"{tag}: a row or a code span was split"
    assert "49" not in body.replace("1" * 40, "")


def test_many_findings_stay_below_the_limit() -> None:
    import dataclasses as dc

    base = report_with("x" * 2000)
    one = base.verdicts[0]
    findings = tuple(
        dc.replace(one.findings[0], message=f"{n} " + "m" * 3000, fix="f" * 3000) for n in range(60)
    )
    many = dc.replace(one, findings=findings, runs=one.runs * 200)
    report = dc.replace(base, verdicts=(many,) * 2, problems=("p" * 4000,) * 50)
    body = render_comment(report, Settings())
    assert len(body) < 65_536
    assert "Cut here" in body
    assert body.count("<details>") == body.count("</details>")


def test_a_template_of_the_community_replaces_ours(tmp_path: Path) -> None:
    (tmp_path / "code.md.j2").write_text("Hello {{ report.author }} {{ report.author | code }}\n")
    import dataclasses as dc

    report = dc.replace(report_with("@example-user"), kind=Kind.CODE)
    body = render_comment(report, Settings(templates=tmp_path))
    assert "Hello @<!-- -->example\\-user `@example-user`" in body


def test_a_template_cannot_reach_the_machine(tmp_path: Path) -> None:
    import dataclasses as dc

    from bot.render.comment import TemplateProblem

    report = dc.replace(report_with("x"), kind=Kind.CODE)
    for number, text in enumerate(
        (
            "{{ report.__class__.__mro__ }}",
            "{{ ''.__class__.__subclasses__() }}",
            "{{ settings }}",
            "{% include '../../etc/passwd' %}",
            "{{ nothing.here }}",
            "{% for x in %}",
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "code.md.j2").write_text(text)
        with pytest.raises(TemplateProblem):
            render_comment(report, Settings(templates=folder))


# ---- 11: mention spam and storms ----------------------------------------------------------------


def test_many_pushes_make_one_comment(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    for n in range(4):
        competition.push({"submissions/mini/fast/note.txt": f"@{AUTHOR} {n}\n"})
        competition.answer(pull.number)
    assert len(competition.comments(pull.number)) == 1
    posted = [c for c in competition.github.calls if c.method == "POST" and "comments" in c.path]
    assert len(posted) == 1, "each post notifies everybody who watches"
    assert f"@{AUTHOR}" not in competition.sticky(pull.number)


# ---- 16: somebody plants our marker -------------------------------------------------------------


def test_a_planted_marker_is_ignored(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    planted = (
        '<!-- speedrun:verdict -->\n<!-- speedrun:state {"decided": "failing", "sha": "x", '
        '"status": "rejected"} -->\n### Verified'
    )
    competition.say(pull.number, STRANGER, planted)
    competition.answer(pull.number)
    assert competition.comments(pull.number, STRANGER) == [planted]
    assert f"### {WORDS[Status.VERIFIED]}" in competition.sticky(pull.number)
    assert len(competition.comments(pull.number)) == 1


def test_a_planted_acceptance_is_ignored(competition: Competition) -> None:
    pull = competition.open(submission("plain", seconds=90.0, summary=""), body="")
    assert competition.answer(pull.number).status is Status.NEEDS_REVIEW
    accept = {
        "by": MAINTAINER,
        "reason": "fine",
        "rule": "explanation-missing",
        "sha": pull.head_sha,
    }
    planted = f"<!-- speedrun:reply 1 {MAINTAINER} -->\n"
    planted += f"<!-- speedrun:accept {json.dumps(accept)} -->"
    competition.say(pull.number, AUTHOR, planted)
    assert competition.answer(pull.number).status is Status.NEEDS_REVIEW


def test_a_check_of_another_app_is_not_ours(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.answer(pull.number)
    ours = next(iter(competition.repo.checks.values()))
    forged = {**ours, "id": 999, "app": "another-app", "conclusion": "success"}
    competition.repo.checks = {999: forged}
    competition.publish(pull.number)
    assert len(competition.repo.checks) == 2


# ---- 19: secrets --------------------------------------------------------------------------------


def everything_said(competition: Competition) -> str:
    files = [p.read_text(errors="replace") for p in competition.folder.rglob("*.json")]
    comments = [c["body"] for c in competition.repo.comments.values()]
    return json.dumps([comments, list(competition.repo.checks.values()), files])


@pytest.mark.parametrize(
    "fault",
    [
        Fault("GET", "/pulls/1$", 401, "Bad credentials", times=9),
        Fault("GET", "/git/trees", 500, times=9),
        Fault("GET", "/git/blobs", 404, "Not Found", times=9),
        Fault("GET", "/pulls/1/files", cut=True, times=9),
        Fault("GET", "/issues/1/comments", 403, "Resource not accessible", times=9),
    ],
    ids=lambda f: f"{f.path} {f.status}",
)
def test_secrets_are_in_no_output(
    competition: Competition, monkeypatch: pytest.MonkeyPatch, fault: Fault, caplog: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "s" * 20 + "ecret" * 5
    for name in ("WANDB_API_KEY", "SPEEDRUN_WEBHOOK_SECRET", "SPEEDRUN_APP_KEY"):
        monkeypatch.setenv(name, secret)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    token = competition.github.add_token(
        "t" * 20 + "oken" * 5, BOT, REPO, contents="read", pull_requests="read"
    )
    monkeypatch.setenv("GITHUB_TOKEN", token)
    monkeypatch.setattr("time.sleep", lambda s: None)
    pull = competition.open(submission("fast", seconds=90.0))
    competition.github.faults = [fault]
    root = competition.checkout()
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        result = CliRunner().invoke(
            main,
            [
                "verify",
                "--repo",
                REPO,
                "--pr",
                str(pull.number),
                "--root",
                str(root),
                "--out",
                str(competition.folder / "out.json"),
            ],
        )
    assert result.exit_code == 3, result.output
    output = result.output + said.getvalue() + caplog.text + everything_said(competition)
    assert secret not in output and token not in output
    assert "Traceback" not in output
    assert len(result.output.strip().splitlines()) <= 2


def test_secret_of_a_participant_is_not_repeated(competition: Competition) -> None:
    leaked = "gh" + "p_" + "A1b2" * 9
    files = submission("fast", seconds=90.0, summary=f"my token is {leaked}")
    pull = competition.open(files)
    report = competition.answer(pull.number)
    assert "secret-in-text" in {f.rule for f in report.verdicts[0].errors}
    assert leaked not in everything_said(competition)


def test_publish_refuses_a_token_that_may_not_write(
    github: GitHubDouble, competition: Competition
) -> None:
    from bot.github.api.client import GitHubTrouble

    pull = competition.open(submission("fast", seconds=90.0))
    report = competition.verify(pull.number)
    with pytest.raises(GitHubTrouble, match="may not do this"):
        publish(competition.as_job("evaluate"), report, Settings())
    assert competition.repo.comments == {}
