"""Two public competitions, hosted without a change to their files: the order of their own boards,
and each difference from them with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.commands.board import boards
from bot.model.board import Board
from bot.registry import Status
from tests.bot.hosted.competitions import read, write_golf, write_imagenet

NOT_RANKED = {
    # Its four logs hold one of 2,400 s.
    "2026-03-17_LoRA_TTT": {"limit-exceeded"},
    # Its JSON states 1.1502, and its log ends at 1.1666: the log is an older run's.
    "2026-03-19_MLP3x_QAT_Int6_SlidingWindow": {"claim-differs-from-run"},
    # 16,186,500 bytes; their board leaves it out as well.
    "2026-03-19_int6_STE QAT_ MLP_bigram _U_Net": {"limit-exceeded"},
    # Its logs state 16,054,963 bytes and more, and its JSON 15,978,121.
    "2026-04-06_SP8192_HessianSDClip_ProgressiveRecurrence": {
        "limit-exceeded",
        "claim-differs-from-run",
    },
    # A subfolder holds logs of an evaluation alone, which state neither size nor time.
    "2026-04-23_SP8192_CaseOps_SparseGate_QuantGate_Loop45_PhasedTTT_PolarNS_MinLR_FusedCE": {
        "limit-exceeded"
    },
}
BEST_SEED = {  # Their board shows the best of the logs, and we show the mean.
    "2026-03-18_FP16Embed_WD3600",
    "2026-03-18_LongContextSeq2048",
    "2026-03-19_Seq2048_FP16Emb_TunedLR",
    "2026-03-20_11L_XSA4_EMA_Int6_MLP3x_WD04_1.1271",
    "2026-03-21_11L_XSA4_EMA_PartialRoPE_LateQAT_1.1248",
    "2026-03-22_11L_EMA_GPTQ-lite_warmdown3500_QAT015_1.1233",
}
LAST_OF_A_LOG = "2026-03-19_MixedQuant_Int6Int8_SlidingWindow"  # three trainings in its one log
OTHER_LOGS = "2026-04-27_SmearGateBOSFix_PR1787Base_LQERAsym_PhasedTTT"  # two seeds lie elsewhere


def names(board: Board) -> list[str]:
    return [entry.submission.rpartition("/")[2] for entry in board.entries]


@pytest.fixture(scope="module")
def golf(tmp_path_factory: pytest.TempPathFactory) -> tuple[Board, Mapping[str, Any]]:
    root = write_golf(tmp_path_factory.mktemp("golf"))
    before = {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
    found = boards(root, None, only="golf", jobs=1)
    assert before == {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
    verdicts = {v.submission.rpartition("/")[2]: v for v in found.verdicts}
    return found.boards["golf"], verdicts


def test_every_folder_ranks_but_those_with_a_reason(
    golf: tuple[Board, Mapping[str, Any]],
) -> None:
    _, verdicts = golf
    assert len(verdicts) == 46
    rules = {
        name: {f.rule for f in verdict.findings if f.level == "error"}
        for name, verdict in verdicts.items()
        if not Status(verdict.status).counts
    }
    assert rules == NOT_RANKED


def test_golf_is_in_the_order_of_its_own_board(golf: tuple[Board, Mapping[str, Any]]) -> None:
    board, _ = golf
    theirs = {e["folder"]: e["board"] for e in read("golf")["entries"] if e["board"]}
    ranked = [name for name in names(board) if name in theirs]
    expected = [name for name in sorted(theirs, key=lambda n: theirs[n]) if name in ranked]
    assert len(ranked) == 38
    rest = [name for name in ranked if name != LAST_OF_A_LOG]
    assert rest == [name for name in expected if name != LAST_OF_A_LOG]


def test_golf_differs_from_its_own_board_only_where_the_reason_is_known(
    golf: tuple[Board, Mapping[str, Any]],
) -> None:
    board, _ = golf
    theirs = {e["folder"]: e["board"] for e in read("golf")["entries"]}
    found = {e.submission.rpartition("/")[2]: e.quality for e in board.entries}
    off = {n for n, q in found.items() if theirs[n] and abs(q - theirs[n]) > 6e-5}
    assert off == BEST_SEED | {LAST_OF_A_LOG, OTHER_LOGS}
    for entry in read("golf")["entries"]:
        if entry["folder"] in BEST_SEED:
            best = min(finals[-1][1] for _, runs in entry["logs"] for *_, finals in runs)
            assert best == pytest.approx(entry["board"], abs=6e-4)
    unlisted = {n for n in found if theirs[n] is None}
    assert unlisted == {
        "2026-03-18_LowerLR",
        "2026-03-19_WarmdownQuantization",
        "2026-04-29_SmearGateBOSFix_3Seed_1.06141",
    }


def test_each_training_of_one_log_is_scored_by_its_own_final_line(
    golf: tuple[Board, Mapping[str, Any]],
) -> None:
    _, verdicts = golf
    verdict = verdicts[LAST_OF_A_LOG]
    assert [run.index for run in verdict.runs] == [0, 1, 2]
    assert verdict.points[0].quality == pytest.approx((1.19763674 + 1.20840424 + 1.16301431) / 3)


def test_two_files_of_one_training_count_once(golf: tuple[Board, Mapping[str, Any]]) -> None:
    _, verdicts = golf
    verdict = verdicts["2026-03-22_11L_EMA_GPTQ-lite_warmdown3500_QAT015_1.1233"]
    assert verdict.points[0].quality == pytest.approx((1.12278022 + 1.12356596 + 1.12360306) / 3)
    [copy] = [f for f in verdict.findings if f.rule == "duplicate-run"]
    assert copy.level == "note" and "train_seed1337.log does not count" in copy.message


def test_a_list_of_packages_is_no_log(golf: tuple[Board, Mapping[str, Any]]) -> None:
    _, verdicts = golf
    verdict = verdicts["2026-03-25_ValCalib_GPTQ_XSA_BigramHash3072"]
    [note] = [f for f in verdict.findings if f.rule == "metric-missing"]
    assert note.level == "note" and "requirements.txt" in note.message


def test_imagenet_is_in_the_order_of_its_own_board(tmp_path: Path) -> None:
    """Their board counts the hours of the first row with a top-5 accuracy of 93 or more."""
    root = write_imagenet(tmp_path)
    found = boards(root, None, only="imagenet", jobs=1)
    assert [n.removesuffix(".tsv") for n in names(found.boards["imagenet"])] == read("imagenet")[
        "order"
    ]
    clocks = [int(-(-e.cost // 1)) for e in found.boards["imagenet"].entries[:5] if e.cost]
    shown = ["2:38", "2:43", "9:22", "18:06", "18:53"]  # their board, whole seconds
    assert [f"{s // 60}:{s % 60:02}" for s in clocks] == shown
