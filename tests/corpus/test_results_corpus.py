"""Every hostile or broken results file gets its findings, every harmless one passes."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from bot.model.case import Context
from bot.model.submission import Folder
from bot.model.verdict import Verdict
from bot.parse.track_toml import load_tracks
from bot.registry import Level, Status
from bot.render.terminal import to_json
from bot.verify import verify
from tests.conftest import ROOT
from tests.corpus.harmless import harmless
from tests.corpus.hostile import hostile
from tests.corpus.variants import Variant, changed, load, put, secrets
from tests.printed import printed

TRACKS = load_tracks(ROOT)
TODAY = dt.date(2026, 11, 1)
HOSTILE = list(hostile())
HARMLESS = list(harmless())


def judged(variant: Variant) -> Verdict:
    folder = Folder("results.json", {"results.json": variant.data}, bare=True)
    return verify(folder, TRACKS, track_id="fineweb-edu", context=Context(today=TODAY))


def errors(verdict: Verdict) -> set[str]:
    return {f.rule for f in verdict.findings if f.level is Level.ERROR}


def test_the_corpus_is_large_and_its_names_are_unique() -> None:
    names = [v.name for v in HOSTILE]
    assert len(names) >= 150
    assert len(names) == len(set(names))


@pytest.mark.parametrize("variant", HOSTILE, ids=lambda v: v.name)
def test_hostile(variant: Variant) -> None:
    verdict = judged(variant)
    assert errors(verdict) == variant.errors, [f.message for f in verdict.findings]
    assert variant.warnings <= {f.rule for f in verdict.findings}
    assert verdict.status is Status.REJECTED
    for finding in verdict.findings:
        assert finding.fix or finding.level is Level.NOTE
        assert finding.file == "results.json"
    _printable(verdict)


@pytest.mark.parametrize("variant", HARMLESS, ids=lambda v: v.name)
def test_harmless(variant: Variant) -> None:
    verdict = judged(variant)
    assert errors(verdict) == set(), [f.message for f in verdict.errors]
    weak = {f.rule for f in verdict.findings}
    assert weak == variant.warnings, [f.message for f in verdict.findings]
    assert verdict.metrics["hardware_flops"] is not None
    _printable(verdict)


def _printable(verdict: Verdict) -> None:
    """Every form of the report can be made and holds nothing that a terminal would act on."""
    shown = printed(verdict)
    for text in shown:
        text.encode("utf-8")
        assert not any(c in text for c in "\x1b\x00\b\x7f\x9b\u202e\u2066\ufeff\u200b")
    report = json.loads(to_json([verdict]), parse_constant=lambda name: pytest.fail(name))
    assert report["verdicts"][0]["status"] == verdict.status


def test_no_report_repeats_a_secret() -> None:
    for name, secret in secrets().items():
        for key in ("description", "wandb_run_link", "tokenized_dataset", "author"):
            verdict = judged(Variant(name, changed("v4", put(**{key: secret}))))
            text = "".join(printed(verdict)) + to_json([verdict])
            assert secret not in text, (name, key)
            assert "secret-in-text" in errors(verdict), (name, key)


def test_the_good_files_are_good() -> None:
    for name in ("v2", "v3", "v4"):
        verdict = judged(Variant(name, json.dumps(load(name)).encode()))
        assert verdict.status is Status.CONSISTENT, [f.message for f in verdict.findings]
