"""Submissions of people who use the reference trainer or a starter."""

from __future__ import annotations

import dataclasses as dc
import hashlib
import random
import statistics
from collections.abc import Iterator
from typing import Any

from reference_trainer.config import Config, load_config
from reference_trainer.shards import Corpus, fingerprint
from tests.conftest import ROOT
from tests.simulations.honest import results, wandb_runs
from tests.simulations.honest.entry import Calendar, Entry, hex_id, summary_of
from tests.simulations.honest.machines import PEAKS, SINGLE, SMALL, Machine
from tests.simulations.honest.results import Ours, as_bytes, corpus_of
from tests.simulations.honest.training import Recipe, Trained, train
from tests.simulations.honest.wandb_runs import TRAINER, Habits, Stored

ENGLISH = (
    "sha256:8d7691aaf4ba6c235d154ee410a3d3c51ff933bc428f590dcc2a52ac9a5d59bd",
    "sha256:36aa21448be2e051d7f5fbcdd4c4528fd7e3b67c0677af7ad9e117337d1d6de6",
)
SOTU = (
    "sha256:ca0c351a3f2b576691bb757c687a496dedcd523f662da7e574ffcb9e94af8c19",
    "sha256:c9efb72210c54982c0b502042c9354780934ee737df853a2e439dea8f3ac65a3",
)
BYTES = "58a803291afc40ee3ab55646e164027f9f25ed4d06cb9dde79bfbdc1a7a59324"
"""The hash of the byte tokenizer."""
H200 = 28.75 / 26.47
"""How much faster than an H100 it ran the frozen baseline."""
VALIDATION = {
    "tokens": 706387, "bytes": 706376, "documents": 11,
    "shards": [
        {
            "file": "validation_000000.bin", "tokens": 706387,
            "sha256": "ef0a99c6e42f5ac3ea8f52eedfcc6aec643f9ffb72bfcc2f28a4c88e9e5c2b16",
        }
    ],
}  # fmt: skip
"""The validation split of the corpus `sotu`."""


@dc.dataclass(frozen=True)
class Plan:
    """One of the trainer's configurations on a track, with what it comes to."""

    config: Config
    recipe: Recipe
    corpus: Corpus
    machines: tuple[Machine, ...]
    runs: tuple[int, ...]
    start_code: str
    arms: bool = True


def _flops(config: Config) -> float:
    """Of a token, forward and backward: every weight but the embedding, and attention."""
    m = config.model
    layer = 4 * m.hidden**2 + (3 if m.gated else 2) * m.hidden * m.intermediate
    attention = 4 * m.seq_len * m.hidden
    return 3.0 * (m.layers * (2 * layer + attention) + 2 * m.vocab * m.hidden)


def _source(entry: str) -> str:
    return (ROOT / "submissions" / entry / "main.py").read_text(encoding="utf-8")


def tutorial(draw: random.Random) -> Plan:
    """Half a million parameters on anything."""
    config = load_config("tiny", {})
    recipe = Recipe(
        80, 2048, _flops(config), 5.77, 1.85, 0.01, 40, draw.uniform(0.3, 0.4),
        overhead_s=0.006, val_tokens=32768,
    )  # fmt: skip
    corpus = corpus_of("sotu", *SOTU, bytes_a_token=1)
    return Plan(config, recipe, corpus, SMALL, (1, 2, 3, 5), _source("tutorial/baseline"))


def english(draw: random.Random) -> Recipe:
    """77 M parameters on 31 M tokens of English."""
    config = load_config("tutorial-h100", {})
    flops = _flops(config)
    # The frozen baseline took 28.75 s on an H100.
    used = 65536 * flops * 480 / 28.75 / PEAKS["h100-sxm"]["bf16"]
    return Recipe(
        480, 65536, flops, 10.87, 3.187, 0.0213, 80, used * draw.gauss(1, 0.01), val_tokens=900_000
    )


def tutorial_h100(draw: random.Random) -> Plan:
    """Half a minute on one H100."""
    machines = tuple(m for m in SINGLE if m.id == "h100-sxm")
    corpus = corpus_of("english", *ENGLISH, bytes_a_token=4.4)
    code = _source("tutorial-h100/baseline")
    return Plan(load_config("tutorial-h100", {}), english(draw), corpus, machines, (6, 6, 12), code)


def single(draw: random.Random) -> Plan:
    """The same on a GPU of any kind."""
    corpus = corpus_of("english", *ENGLISH, bytes_a_token=4.4)
    code = _source("single-gpu/baseline")
    return Plan(load_config("tutorial-h100", {}), english(draw), corpus, SINGLE, (1, 2, 3), code)


PLANS = {"tutorial": tutorial, "tutorial-h100": tutorial_h100, "single-gpu": single}


def fill(entry: Entry) -> None:
    """Write a submission with both arms in turn."""
    draw = entry.draw
    plan = PLANS[entry.track](draw)
    machine = draw.choice(plan.machines)
    plan = dc.replace(plan, config=_precision(plan.config, machine, entry))
    if plan.config.train.precision == "fp32":
        machine = dc.replace(machine, precision="fp32")
    faster = plan.recipe.used / draw.uniform(0.82, 0.98)
    better = plan.recipe.final - draw.uniform(0, 1.5) * plan.recipe.sd
    pace = H200 if machine.id == "h200" else 1.0
    arms = {
        "baseline": dc.replace(plan.recipe, used=plan.recipe.used * pace),
        "candidate": dc.replace(plan.recipe, used=faster * pace, final=better),
    }
    change = draw.choice((0.021, 0.019, 0.024))
    mine = f"{plan.start_code.rstrip()}\n# muon_lr {change}, entry {entry.number}\n"
    code = {"baseline": plan.start_code, "candidate": mine}
    habits = Habits(every=1, client=draw.choice(wandb_runs.CLIENTS[-4:]))
    if entry.door in ("online", "offline") and entry.maybe("resumed", 0.08):
        habits = dc.replace(habits, resumed=0)
    calendar, losses, times = Calendar(draw), [], []
    beside = entry.maybe("all three files", 0.4)
    for number in range(draw.choice(plan.runs)):
        # ABBA: the arm that went second begins the next pair.
        for arm in sorted(arms, reverse=bool(number % 2)):
            run = train(arms[arm], machine, number, draw)
            ours = Ours(
                run, plan.config, plan.corpus, code[arm], entry.track, hex_id(draw, 32),
                hex_id(draw), arm, str(number + 1),
            )  # fmt: skip
            spec = {"arm": arm, "pair": str(number + 1), "seed": number}
            _show(entry, ours, habits, calendar, spec, beside)
            if arm == "candidate":
                losses.append(_printed(entry, run)[0])
                times.append(_printed(entry, run)[1])
    entry.files["main.py"] = code["candidate"].encode()
    _close(entry, machine, losses, times, "Muon with another rate.")


def _precision(config: Config, machine: Machine, entry: Entry) -> Config:
    """Some name the precision, and some a smaller micro-batch with more accumulation."""
    words = "auto"
    if machine.kind == "cuda" and entry.maybe("fp32", 0.05):
        words = "fp32"
    micro = config.train.micro_batch
    if machine.kind == "cuda" and machine.memory_gb < 30:
        entry.traits.append("accumulation")
        micro = max(1, micro // 4)
    return dc.replace(config, train=dc.replace(config.train, precision=words, micro_batch=micro))


def _printed(entry: Entry, run: Trained) -> tuple[float, float]:
    """Loss and seconds as the entry's evidence shows them."""
    if entry.door == "log":
        return round(run.loss, 6), round(run.seconds, 3)
    return run.loss, run.seconds


def _stored(ours: Ours, habits: Habits, began: float) -> Stored:
    names = dc.replace(TRAINER, total=None)
    history = wandb_runs.rows(ours.run, names, habits, began)
    bits = ours.bpb / ours.run.loss
    for row in history:
        if "eval/bpb" in row:
            row["eval/bpb"] = row["eval/loss"] * bits
        if "train/loss" in row:
            step = int(row["_step"])
            row["throughput/duration"] = ours.run.clock[step] - ours.run.clock[step - 1]
    name = f"{ours.config.name}-seed{ours.run.seed}"
    return Stored(
        ours.run, ours.run_id, history, results.wandb_config(ours), None, habits, began,
        name=name, files={} if ours.source is None else {"main.py": ours.source.encode()},
    )  # fmt: skip


def _show(
    entry: Entry, ours: Ours, habits: Habits, calendar: Calendar, spec: dict[str, Any],
    beside: bool,
) -> None:  # fmt: skip
    began = calendar.begin(ours.run)
    if habits.resumed is not None:
        middle = sorted(ours.run.losses)[len(ours.run.losses) // 2]
        habits = dc.replace(habits, resumed=middle)
    stored = _stored(ours, habits, began)
    stem = f"logs/{spec['arm']}_seed{ours.run.seed}"
    made = dict(_files(ours, stored, stem, beside or entry.door == "offline"))
    if entry.door == "online":
        entry.online.append(stored)
        link = f"https://wandb.ai/example-team/{entry.project}/runs/{stored.id}"
        entry.runs.append({"source": "wandb", "link": link, **spec})
        return
    endings = {"log": (".log",), "results": (".json",), "offline": ("-part1.wandb", ".wandb")}
    sources = {"log": "log", "results": "results", "offline": "wandb"}
    for name, data in made.items():
        if name.endswith(endings[entry.door]):
            entry.add_file(sources[entry.door], name, data, **spec)
        elif beside:
            entry.files[name] = data


def _files(ours: Ours, stored: Stored, stem: str, offline: bool) -> Iterator[tuple[str, bytes]]:
    """What the trainer leaves in its folder."""
    yield f"{stem}.log", results.trainer_log(ours)
    folder, _, name = stem.rpartition("/")
    yield f"{folder}/speedrun_results_{name}.json", results.document(ours)
    if offline:
        for part, data in enumerate(wandb_runs.offline(stored)):
            yield f"{stem}{f'-part{part}' if part else ''}.wandb", data


def _close(
    entry: Entry, machine: Machine, losses: list[float], times: list[float], what: str
) -> None:
    fields: dict[str, Any] = {"code": {"path": "main.py"} if "main.py" in entry.files else None}
    if entry.maybe("claims", 0.7):
        fields["claims"] = {"loss": summary_of(losses)}
        if entry.track != "data-tiny":
            fields["claims"]["training_time_s"] = statistics.fmean(times)
    summary = f"{what} Mean loss {statistics.fmean(losses):.2f} in {statistics.fmean(times):.0f} s."
    entry.finish(machine, track=entry.track, summary=summary, **fields)


def fill_data(entry: Entry) -> None:
    """Write a submission of training data."""
    draw = entry.draw
    manifest = _manifest(draw)
    train_mark = fingerprint(BYTES, manifest["splits"]["train"]["shards"])
    corpus = corpus_of("my-data", train_mark, SOTU[1], bytes_a_token=1)
    config = load_config("data-tiny", {"data.corpus": "my-data"})
    recipe = Recipe(
        400, 2048, _flops(config), 5.77, draw.uniform(1.35, 1.5), 0.006, 100,
        draw.uniform(0.3, 0.4), overhead_s=0.006, val_tokens=131072,
    )  # fmt: skip
    machine = draw.choice(SMALL)
    calendar, losses, times = Calendar(draw), [], []
    for number in range(draw.choice((1, 2, 3))):
        run = train(recipe, machine, number, draw)
        nonce, run_id = hex_id(draw, 32), hex_id(draw)
        ours = Ours(run, config, corpus, None, entry.track, nonce, run_id)
        spec = {"arm": "candidate", "seed": number}
        _show(entry, ours, Habits(every=1), calendar, spec, beside=False)
        losses.append(run.loss)
        times.append(run.seconds)
    entry.files["data_manifest.json"] = as_bytes(manifest)
    _close(entry, machine, losses, times, "Speeches and manuals, the better-rated half.")


def _manifest(draw: random.Random) -> dict[str, Any]:
    """Of data built from a pool."""
    size = draw.randrange(4_000_000, 9_000_000)
    documents = draw.randrange(200, 900)
    shard = hashlib.sha256(str(draw.random()).encode()).hexdigest()
    pool = [draw.randrange(300, 900) + documents for _ in range(2)]
    filters = _filters(sum(pool) - documents)
    return {
        "schema_version": 1,
        "name": "my-data",
        "about": "Speeches and manuals, the better-rated half",
        "tokenizer": {"name": "byte", "sha256": BYTES, "size": 257, "end_of_text": 256},
        "splits": {
            "train": {
                "tokens": size + documents, "bytes": size, "documents": documents,
                "shards": [
                    {"file": "train_000000.bin", "tokens": size + documents, "sha256": shard}
                ],
            },
            "validation": VALIDATION,
        },
        "data": {
            "licence": "CC0-1.0",
            "url": "https://example.org/my-data",
            "sources": [
                {
                    "name": name, "licence": "CC0-1.0", "documents": count,
                    "bytes": size * 2, "sha256": hashlib.sha256(name.encode()).hexdigest(),
                }
                for name, count in zip(("speeches", "manuals"), pool, strict=True)
            ],
            "filters": filters,
            "overlap": {
                "ngram": 13, "documents": 0, "documents_with_ngrams": 0, "ngrams": 0,
                "validation_ngrams": 700000,
            },
        },
    }  # fmt: skip


def _filters(removed: int) -> list[dict[str, Any]]:
    """What each filter took away, in the order in which they run."""
    names = ("length", "exact_duplicates", "overlap", "near_duplicates", "score")
    share = removed // len(names)
    counts = [share] * (len(names) - 1)
    counts.append(removed - sum(counts))
    return [{"name": name, "removed": n} for name, n in zip(names, counts, strict=True)]
