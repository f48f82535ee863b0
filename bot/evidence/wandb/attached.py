"""Files attached to a W&B run: its hardware, its code, and its log where the history is silent.

Sizes are known before anything is downloaded, and capped. Where a log and the history both speak
of a step they must agree to the digits that the log prints.
"""

from __future__ import annotations

import dataclasses as dc
import json
from collections.abc import Iterable, Mapping
from typing import Any

from bot.evidence import machine
from bot.evidence.boards import boards_of
from bot.evidence.code_hash import hashes_of, source_sha256
from bot.evidence.log.training_log import read_log
from bot.evidence.wandb.client import Client
from bot.evidence.wandb.command_line import settings_of
from bot.evidence.wandb.history import Columns, Raw, stated_code
from bot.evidence.wandb.marks import hardware_of, nodes_of, other_cards
from bot.model.run import SOURCE_READ, TRAINER, Hardware, Run
from bot.model.submission import MAX_LOG_BYTES
from bot.registry import LOSS_TOLERANCE
from bot.render.untrusted import plain

METADATA = "wandb-metadata.json"
MAX_METADATA = 1_000_000
MAX_SOURCE = 2_000_000
MAX_LOGS = 2
# The console is the last resort: it holds what the trainer prints, and prints of others.
_CONSOLE = "output.log"


EVERY = "*"
"""The name of a source file that is wanted, whichever there is, though its hash be stated."""


@dc.dataclass(frozen=True, slots=True)
class Attached:
    """What is wanted besides the hardware: the code, and the log because keys are lacking."""

    code: str | None
    """The name of the source file that is wanted; "" for whichever there is, None for none."""
    log: bool
    console: bool = False
    """Whether the console is compared with the history."""


def read_attached(client: Client, item: Any, raw: Raw, columns: Columns, wants: Attached) -> None:
    """Add what the files of a run say to `raw` and `columns`. Raises FetchError.

    Artifacts are looked into where something wanted is not among the files saved with the run.
    """
    files = {file.name: file for file in client.files(item, METADATA)}
    stated = any("code_sha256" in key for key in raw.config)
    code = wants.code == EVERY or (wants.code is not None and not stated)
    lacks_log = wants.log and not _logs(files)
    lacks_code = code and not any(name.endswith(".py") for name in files)
    if lacks_log or lacks_code:
        files = {file.name: file for file in client.artifact_files(item)} | files
    if wants.log:
        run = _log(client, files, raw)
        if run is not None:
            _merge(run, raw, columns)
    elif wants.console and _CONSOLE in files:
        raw.console = client.read_file(files[_CONSOLE], MAX_LOG_BYTES)
    if METADATA in files and raw.hardware.device is None:
        _metadata(client.read_file(files[METADATA], MAX_METADATA), raw)
    if code and not raw.code_sha256:
        _code(client, files, raw, (wants.code or "").removeprefix(EVERY))


def python_files(client: Client, item: Any) -> dict[str, bytes]:
    """The Python files saved with a run, or if there is none those of its artifacts, by name below
    `code/`. Raises FetchError."""
    files = {file.name: file for file in client.files(item, METADATA)}
    if not any(name.endswith(".py") for name in files):
        files = {file.name: file for file in client.artifact_files(item)}
    names = [n for n in files if n.endswith(".py") and _inside(n)]
    read = {name: client.read_file(files[name], MAX_SOURCE) for name in names}
    return {n.removeprefix("code/"): data for n, data in read.items() if data is not None}


def _inside(name: str) -> bool:
    """Whether a name stays inside the folder that it is written to."""
    return not name.startswith("/") and ".." not in name.split("/") and "\\" not in name


def _metadata(data: bytes | None, raw: Raw) -> None:
    """Hardware and versions from wandb-metadata.json; nothing else of it is looked at."""
    try:
        found = json.loads(data or b"{}")
    except ValueError:
        return
    if not isinstance(found, Mapping):
        return
    raw.hardware = hardware_of(found)
    raw.problems += other_cards(found)
    raw.witnesses += [*boards_of(found), *machine.recorded(found)]
    raw.arguments = settings_of(found.get("args"))
    nodes = nodes_of(found)
    if nodes is not None:
        raw.marks = raw.marks._replace(nodes=max(nodes, raw.marks.nodes or 1))
    versions = {"python": found.get("python"), "cuda": found.get("cudaVersion")}
    raw.software = {name: text for name, text in versions.items() if isinstance(text, str)}


def _logs(files: Iterable[str]) -> list[str]:
    """The names of logs, the console last."""
    names = [n for n in files if n.endswith((".log", ".txt")) and n != "requirements.txt"]
    return sorted(names, key=lambda name: (name.endswith(_CONSOLE), name))


def _log(client: Client, files: Mapping[str, Any], raw: Raw) -> Run | None:
    """The run of the first attached log that holds exactly one."""
    for name in _logs(files)[:MAX_LOGS]:
        data = client.read_file(files[name], MAX_LOG_BYTES)
        if data is None:
            text = f"the attached {name} is too large or not handed out, and was not read"
            raw.problems.append(("history-gap", text))
            continue
        runs = read_log(data, raw.file)
        if len(runs) == 1 and runs[0].validation:
            return runs[0]
    return None


def _merge(run: Run, raw: Raw, columns: Columns) -> None:
    """Fill the columns that the history lacks from a log that does not contradict it."""
    history = dict(columns.loss)
    for point in run.validation:
        said = history.get(point.step)
        if said is not None and not abs(said - point.loss) <= LOSS_TOLERANCE:
            text = f"at step {point.step} the attached log has {point.loss}, the history {said}"
            raw.problems.append(("claim-differs-from-run", text))
            break
    raw.from_log = not columns.loss or not columns.clock
    if not columns.loss:
        columns.loss = [(v.step, v.loss) for v in run.validation]
    if not columns.clock:
        columns.clock = [(v.step, v.time_s) for v in run.validation if v.time_s is not None]
    columns.total = columns.total or run.total_steps
    columns.last_step = max(columns.last_step or 0, run.last_step or run.step or 0)
    raw.code_sha256 = {**run.code_sha256, **raw.code_sha256}
    raw.program = run.program
    raw.source_read = SOURCE_READ in run.client_marks
    raw.problems += [p for p in run.problems if p not in raw.problems]
    if raw.hardware == Hardware():
        raw.hardware = run.hardware


def _code(client: Client, files: Mapping[str, Any], raw: Raw, wanted: str) -> None:
    """SHA-256 of the Python source saved with the run: the wanted one, else the first by name."""
    sources = sorted(name for name in files if name.endswith(".py"))
    sources.sort(key=lambda name: name.rpartition("/")[2] != wanted.rpartition("/")[2])
    for name in sources[:1]:
        data = client.read_file(files[name], MAX_SOURCE)
        if data is not None:
            from bot.evidence.program import read_program

            text = data.decode("utf-8", "replace")
            raw.code_sha256 = {name.removeprefix("code/"): source_sha256(text)}
            raw.program = read_program(text)
            _beside_stated(raw, name, hashes_of(data))


def _beside_stated(raw: Raw, name: str, computed: frozenset[str]) -> None:
    """The attached source beside the hashes that the configuration states."""
    stated = {n: h for n, h in stated_code(raw.config).items() if n != TRAINER}
    base = name.rpartition("/")[2]
    same = {h for n, h in stated.items() if n.rpartition("/")[2] == base}
    raw.source_read = not stated or bool(computed & set(stated.values()))
    if same and not computed & same:
        text = f"the configuration states the hash {min(same)[:12]} for {plain(base, 60)}, "
        text += f"but the file attached to the run has {min(computed)[:12]}"
        raw.problems.append(("witnesses-disagree", text))
