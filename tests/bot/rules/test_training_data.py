"""Training data: the track's or the entry's own, its manifest, and the recipe beside it."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.model.case import Case
from bot.model.run import TRAINER
from bot.parse.data_manifest import DATA_MANIFEST
from bot.registry import Level
from tests.bot.rules.data_cases import OWN, SHARD, TRACK, brought, changed, verified, with_setting
from tests.bot.rules.run_cases import PATH, SMALL, a_case, a_run, found, results_file

FILE = f"{PATH}/{DATA_MANIFEST}"
BUILD = "submit the manifest as `speedrun data build` wrote it"


def manifest(path: str, value: Any) -> list[tuple[Any, ...]]:
    items = found("data-manifest", brought(changed(path, value)))
    assert all(f.file == FILE and f.line is not None for f in items)
    return [(f.message, f.pointer, f.claimed, f.expected, f.fix) for f in items]


def test_the_counts_of_a_manifest_add_up() -> None:
    assert manifest("splits.train.tokens", 999) == [
        ("the train shards have 1,000 tokens, the split 999", "/splits/train/tokens", 999, 1000,
         BUILD)
    ]  # fmt: skip
    assert manifest("splits.validation.tokens", 101) == [
        ("the validation shards have 100 tokens, the split 101", "/splits/validation/tokens", 101,
         100, BUILD)
    ]  # fmt: skip
    halves = [{**SHARD, "tokens": 500}, {**SHARD, "tokens": 500}]
    assert manifest("splits.train.shards", halves) == [
        ("the train split lists a shard twice", "/splits/train/shards", None, None, BUILD)
    ]
    two = [{**SHARD, "tokens": 500}, {**SHARD, "tokens": 500, "file": "train_000001.bin"}]
    assert manifest("splits.train.shards", two) == []
    said = "the sources have 12 documents and the filters removed 3, which leaves 9, not 10"
    assert manifest("data.filters.0.removed", 3) == [
        (said, "/splits/train/documents", 10, 9, BUILD)
    ]


def test_the_validation_split_is_the_tracks() -> None:
    ((message, pointer, claimed, expected, fix),) = manifest("tokenizer.sha256", "f" * 64)
    assert message == "the validation split is not the track's" and claimed != expected
    assert pointer == "/splits/validation" and fix == (
        f"build with `speedrun data build --track {TRACK.id}`"
    )
    free = brought(changed("tokenizer.sha256", "f" * 64), track={"validation_fingerprint": None})
    assert not found("data-manifest", free)


def test_a_folder_without_a_manifest_is_told_what_to_copy() -> None:
    (item,) = found("data-manifest", brought(None))
    assert item.message == (
        f"the track asks for the training data's manifest, but there is no {DATA_MANIFEST}"
    )
    assert item.file == f"{PATH}/submission.json"
    bare = brought(None)
    assert not found("data-manifest", dc.replace(bare, folder=dc.replace(bare.folder, bare=True)))
    other = dc.replace(bare, track=dc.replace(TRACK, data_submitted=False))
    assert not found("data-manifest", other)


@pytest.mark.parametrize(
    ("path", "count", "said"),
    [
        ("documents", 1, "1 whole document, according"),
        ("documents", 2, "2 whole documents, according"),
        ("documents", 0, None),
        ("ngrams", 1, "1 passage of 13 words, according"),
        ("ngrams", 3, "3 passages of 13 words, according"),
    ],
)
def test_what_a_manifest_says_is_shared(path: str, count: int, said: str | None) -> None:
    items = found("train-validation-overlap", brought(changed(f"data.overlap.{path}", count)))
    text = f"training and validation text share {said} to the manifest"
    wanted = (text, f"/data/overlap/{path}", count, 0)
    assert [(f.message, f.pointer, f.claimed, f.expected) for f in items] == [wanted] * bool(said)
    silent = brought(changed("data.overlap", {path: 0}))
    assert not found("train-validation-overlap", silent)


def test_the_shards_of_an_entry_are_looked_at_once() -> None:
    def waits(case: Case) -> list[Any]:
        items = found("uncorroborated", case)
        return [f.claimed for f in items if f.file == FILE and f.level is Level.WARNING]

    assert waits(brought()) == [verified()]
    assert waits(brought(track={"data_verified": frozenset({verified()})})) == []
    assert waits(brought(track={"data_submitted": False})) == []


# ---- the recipe ---------------------------------------------------------------------------------


def recipe(case: Case) -> list[tuple[str, Any, Any]]:
    items = found("recipe-differs", case)
    ending = " (r0 and 1 more run)"
    assert all(f.message.endswith(ending) for f in items)
    return [(f.message.removesuffix(ending), f.claimed, f.expected) for f in items]


@pytest.mark.parametrize(
    ("name", "value", "same"),
    [
        ("hidden", 128, True),
        ("hidden", 128.0, True),
        ("hidden", 128 * (1 + 9e-10), True),
        ("hidden", 128 * (1 + 1.1e-9), False),
        ("hidden", "128", False),
        ("hidden", True, False),
        ("hidden", [128], False),
        ("qk_norm", True, True),
        ("qk_norm", 1, False),
        ("qk_norm", False, False),
        ("qk_norm", "true", False),
    ],
)
def test_a_setting_is_the_tracks(name: str, value: Any, same: bool) -> None:
    items = recipe(with_setting("model", name, value))
    assert (items == []) is same
    for message, claimed, expected in items:
        assert f"model.{name} is " in message and ", the track fixes " in message
        assert claimed == (value if isinstance(value, int | float | str) else None)
        assert expected == TRACK.recipe[f"model.{name}"]


def test_a_flag_is_no_number() -> None:
    for wanted, value in ((1, True), (True, 1), (0, False)):
        case = brought(track={"recipe": {"n": wanted}}, config={"n": value})
        assert len(recipe(case)) == 1


def test_a_text_is_the_tracks() -> None:
    ((message, claimed, expected),) = recipe(with_setting("schedule", "kind", "cosine"))
    assert (claimed, expected) == ("cosine", TRACK.recipe["schedule.kind"])
    assert message.startswith('schedule.kind is "cosine", the track fixes ')
    assert len(recipe(with_setting("schedule", "kind", 1))) == 1


def test_at_most_three_settings_are_named() -> None:
    config = {key: "other" for key in TRACK.recipe}
    assert len(config) > 4 and len(recipe(brought(config=config))) == 3
    few = dict(list(TRACK.recipe.items())[:4])
    case = brought(track={"recipe": few}, config={key: "other" for key in few})
    assert len(recipe(case)) == 3
    three = dict(list(few.items())[:3])
    case = brought(track={"recipe": three}, config={key: "other" for key in three})
    assert [message.split()[0] for message, _, _ in recipe(case)] == list(three)
    assert recipe(brought(track={"recipe": {}}, config={})) == []


def test_what_a_run_does_not_say_is_told_once() -> None:
    first = min(TRACK.recipe)
    assert recipe(brought(config={})) == [
        (f"each of the 2 runs does not say what its {first} was", None, TRACK.recipe[first])
    ]


def test_the_code_is_the_trainers_own() -> None:
    assert recipe(brought(code_sha256=OWN)) == [] and recipe(brought(code_sha256={})) == []
    other = {"z.py": "1" * 64, TRAINER: "e" * 64, "a.py": "2" * 64}
    said = 'each of the 2 runs ran "a.py", the track fixes the trainer\'s own code'
    assert recipe(brought(code_sha256=other)) == [(said, None, None)]


# ---- the track's data ---------------------------------------------------------------------------


def fingerprints(train: Any, validation: Any, source: str = "wandb", **track: Any) -> list[Any]:
    config = {} if validation is None else {"validation_fingerprint": validation}
    run = a_run(0, data_fingerprint=train, config=config, source=source)
    items = found("data-fingerprint-mismatch", a_case([run], track=dc.replace(SMALL, **track)))
    return [(f.message.removesuffix(" (r0)"), f.claimed, f.expected, f.level) for f in items]


BOTH = {"train_fingerprint": "t", "validation_fingerprint": "v"}


def test_the_data_of_a_run_are_the_tracks() -> None:
    silent = "nothing in the run says what its {} data were"
    assert fingerprints("t", "v", **BOTH) == [] and fingerprints("x", "y") == []
    assert fingerprints("x", "v", **BOTH) == [
        ("the run's training data are not the track's", "x", "t", Level.ERROR)
    ]
    assert fingerprints("t", "y", **BOTH) == [
        ("the run's validation data are not the track's", "y", "v", Level.ERROR)
    ]
    assert fingerprints(None, None, **BOTH) == [
        (silent.format("training"), None, "t", Level.WARNING),
        (silent.format("validation"), None, "v", Level.WARNING),
    ]
    assert fingerprints(None, 5, validation_fingerprint="v") == [
        (silent.format("validation"), None, "v", Level.WARNING)
    ]
    assert fingerprints(None, None, "results", **BOTH) == []  # of which its file is asked
    assert fingerprints("x", None, "results", train_fingerprint="t")


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        ({"data": {"train_fingerprint": "t", "validation_fingerprint": "v"}}, []),
        ({"data_fingerprint": "t", "data": {"validation_fingerprint": "v"}}, []),
        ({"data_fingerprint": "x", "data": {"train_fingerprint": "t",
                                            "validation_fingerprint": "v"}}, []),
        ({"data": {"train_fingerprint": "x", "validation_fingerprint": "v"}},
         [("the run's training data are not the track's", "x", Level.ERROR)]),
        ({"data": {"train_fingerprint": "t", "validation_fingerprint": "y"}},
         [("the run's validation data are not the track's", "y", Level.ERROR)]),
        ({"data_fingerprint": "t", "data": "text"},
         [("the file does not say which validation data the run used", None, Level.WARNING)]),
        ({"data": {"train_fingerprint": 5, "validation_fingerprint": "v"}}, []),  # the schema's
        ({"data": {"train_fingerprint": "", "validation_fingerprint": "v"}},
         [("the file does not say which training data the run used", None, Level.WARNING)]),
    ],
)  # fmt: skip
def test_the_data_of_a_results_file_are_the_tracks(
    ours: dict[str, Any], said: list[tuple[str, str | None, Level]]
) -> None:
    file = results_file(**ours)
    items = found("data-fingerprint-mismatch", a_case((), results=file, track=of(**BOTH)))
    assert [(f.message, f.claimed, f.level) for f in items] == said
    assert not found("data-fingerprint-mismatch", a_case((), results=file))


def of(**track: Any) -> Any:
    return dc.replace(SMALL, **track)


def test_the_data_of_an_entry_of_its_own_are_its_manifests() -> None:
    (item,) = found("data-fingerprint-mismatch", brought(data_fingerprint="x"))
    assert item.message.startswith("each run's training data are not the manifest's")
    assert item.fix == "train with the manifest's training data"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"documents_in_both": 1}, "1 validation documents are among the training documents"),
        ({"documents_in_both": 0.5}, "0.5 validation documents are among the training documents"),
        ({"documents_in_both": 0}, None),
        ({"documents_in_both": -1}, None),
        ({"documents_in_both": True}, None),
        ({"documents_in_both": "3"}, None),
        ({"train_fingerprint": "a", "validation_fingerprint": "a"},
         "training and validation data are the same"),
        ({"train_fingerprint": "", "validation_fingerprint": ""}, None),
        ({"train_fingerprint": 1, "validation_fingerprint": 1}, None),
        ({"train_fingerprint": "a", "validation_fingerprint": "b"}, None),
        ("text", None),
    ],
)  # fmt: skip
def test_no_validation_document_is_trained_on(data: Any, said: str | None) -> None:
    case = a_case((), results=results_file(data=data))
    items = found("train-validation-overlap", case)
    assert [(f.message, f.expected) for f in items] == [(said, 0)] * (said is not None)


def test_validation_text_in_the_place_of_training_text_is_asked_about() -> None:
    named = {"train_config": {"train_files": "data/fineweb_val_000000.bin"}}
    (item,) = found("train-validation-overlap", a_case((), results=results_file(named)))
    assert item.level is Level.WARNING and item.message == (
        "the file names what it trains on: train_config.train_files: data/fineweb_val_000000.bin"
    )
    swapped = {"train_config": {"val_files": "data/fineweb_train_000001.bin"}}
    (item,) = found("train-validation-overlap", a_case((), results=results_file(swapped)))
    assert "names what it validates on: train_config.val_files" in item.message
    good = {"train_config": {"train_files": "data/fineweb_train_000001.bin"}}
    assert not found("train-validation-overlap", a_case((), results=results_file(good)))
    run = a_run(0, problems=(("train-validation-overlap", "it does"), ("history-gap", "x")))
    (item,) = found("train-validation-overlap", a_case([run]))
    assert (item.message, item.level) == ("it does (r0)", Level.WARNING)
