"""Runs read from W&B with the real client: several at a time, bounded, cached, told apart.

    fetcher = WandbFetcher.from_environment()
    fetched = fetcher.fetch(refs, track.keys)      # RunRef -> Fetched(run, failure)

Costs of one gathering: signing in (1), for each project a list of its runs and the question
whether the public reads it (2, or 3 where a linked run is not among the newest 100), and for each
run where its history lies (1), its files (1), its hardware (1) and its code (1 where it is not
already hashed in the configuration), besides the pages of its history; and the consoles of two.
"""

from __future__ import annotations

import concurrent.futures as cf
import dataclasses as dc
import hashlib
import json
import netrc
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bot import files as disk
from bot.evidence.links import ProjectRef, RunRef
from bot.evidence.progress import Progress
from bot.evidence.second import last_part
from bot.evidence.snapshot import SnapshotError, config_sha256, decode, encode, restrict
from bot.evidence.wandb.attached import Attached, python_files, read_attached
from bot.evidence.wandb.build import build_run, step_names, unread
from bot.evidence.wandb.client import Client, Patience
from bot.evidence.wandb.client_records import told_otherwise
from bot.evidence.wandb.contradictions import contradictions
from bot.evidence.wandb.errors import Failure, FetchError, not_found, not_public, unavailable
from bot.evidence.wandb.history import (
    Raw,
    all_names,
    flatten,
    read_columns,
    with_defaults,
)
from bot.evidence.wandb.marks import read_marks
from bot.evidence.wandb.rows import NotComplete, keys_of, read_rows
from bot.evidence.wandb.second import read_second, second_names
from bot.model.case import Unlisted
from bot.model.run import Run
from bot.model.track import Keys
from bot.paths import cache_folder

_FORM = 5
"""What a run that lies in the cache holds; more than in earlier releases."""
_LABEL = re.compile(
    r"(?:^|_)(?:trial|attempt|try|rep|repeat|replica|run|index|idx|number|date|time|timestamp|uid"
    r"|uuid|job|note|notes|tag|tags|comment|label|group|host|hostname|dir|folder|salt|id|seed)$"
)

LISTED = 100
"""The newest runs of a project, which one page of W&B's list holds."""
MAX_UNLISTED = 20
CONSOLES = 2
"""The runs of one gathering whose console is compared with their history."""
WORKERS = 24


class Fetched(NamedTuple):
    """What came of one link: a run, or why there is none."""

    run: Run | None
    failure: Failure | None = None


@dc.dataclass(slots=True)
class _Project:
    """One project of the linked runs: its newest runs as listed, or why they cannot be read."""

    runs: dict[str, Any] = dc.field(default_factory=dict)
    configs: Mapping[str, Mapping[str, Any]] = dc.field(default_factory=dict)
    failure: Failure | None = None
    total: int = 0
    """How many runs W&B says that the project has."""


class WandbFetcher:
    """Fetches runs. The key is held here and in the client, and shown nowhere."""

    def __init__(
        self,
        key: str | None,
        *,
        server: str | None = None,
        cache: Path | None = None,
        patience: Patience | None = None,
        progress: bool | None = None,
    ) -> None:
        self._patience = patience or Patience()
        self._client = Client(key, server, self._patience)
        self._cache = cache
        self._progress = progress
        self._projects: dict[tuple[str, str], _Project] = {}
        self._consoles: frozenset[RunRef] = frozenset()

    def __repr__(self) -> str:
        return f"WandbFetcher({self._client!r})"

    @classmethod
    def from_environment(cls, *, cached: bool = True) -> WandbFetcher:
        """A fetcher with WANDB_API_KEY and WANDB_BASE_URL, and a cache in the user's cache folder
        (SPEEDRUN_CACHE names another, empty means none; `cached` False: none, to see drift)."""
        folder = cache_folder() if cached else None
        return cls(
            os.environ.get("WANDB_API_KEY") or _saved_key(),
            server=os.environ.get("WANDB_BASE_URL"),
            cache=folder / "wandb" if folder else None,
        )

    def fetch(
        self, refs: Sequence[RunRef], keys: Keys, *, code: str | None = None
    ) -> dict[RunRef, Fetched]:
        """Every run of `refs`, each once, in that order. Never raises; the reasons are in it.

        `code` names a source file that is wanted of each run, "" whichever is attached to it.
        """
        wanted = list(dict.fromkeys(refs))
        results: dict[RunRef, Fetched] = {}
        try:
            self._client.open()
            self._open_projects(wanted)
        except FetchError as error:
            return {ref: Fetched(None, error.failure) for ref in wanted}
        ready: dict[RunRef, Any] = {}
        for ref in wanted:
            project = self._projects[ref[:2]]
            if project.failure is not None or ref.id not in project.runs:
                results[ref] = Fetched(None, project.failure or not_found())
            else:
                ready[ref] = project.runs[ref.id]
        self._consoles = _drawn(ready)
        results |= self._fetch_all(ready, with_defaults(keys), code)
        return {ref: results[ref] for ref in wanted}

    def sources(self, ref: RunRef) -> dict[str, bytes]:
        """The Python files that are attached to a run, by name. Raises FetchError."""
        self._client.open()
        self._open_projects([ref])
        project = self._projects[ref[:2]]
        if project.failure is not None or ref.id not in project.runs:
            raise FetchError(project.failure or not_found())
        return python_files(self._client, project.runs[ref.id])

    def finished(self, place: ProjectRef) -> tuple[tuple[RunRef, ...], Failure | None]:
        """The newest finished runs of a project or a sweep, or why they cannot be told."""
        try:
            self._client.open()
            runs = self._client.listed(place.entity, place.project, None, LISTED, place.sweep)
        except FetchError as error:
            return (), error.failure
        done = (run for run in runs if run.state == "finished")
        return tuple(RunRef(place.entity, place.project, run.id) for run in done), None

    def unlisted(self, listed: Mapping[RunRef, Run], keys: Keys) -> tuple[Unlisted, ...]:
        """Runs of the same projects with the configuration or code of a listed one, not listed.

        Looks at the newest runs of each project; the histories of up to 20 are read, and how many
        runs were looked at is told. Raises nothing: a drawer that cannot be opened is reported as
        empty.
        """
        found = []
        for place in dict.fromkeys(ref[:2] for ref in listed):
            project = self._projects.get(place, _Project())
            configs = {run_id: _raw(item, RunRef(*place, run_id)).config
                       for run_id, item in project.runs.items()}  # fmt: skip
            digests = {run_id: _experiment(config) for run_id, config in configs.items()}
            mine = {digests[ref.id] for ref in listed if ref[:2] == place and ref.id in digests}
            others = {
                ref: item
                for run_id, item in project.runs.items()
                if (ref := RunRef(*place, run_id)) not in listed and digests[run_id] in mine
            }
            # Runs that ended, and longer ones, first: many short ones hide none.
            long = sorted(others.items(), key=lambda item: _weight(item[1]), reverse=True)
            first = dict(long[:MAX_UNLISTED])
            fetched = self._fetch_all(first, with_defaults(keys), None, attached=False)
            runs = tuple(item.run for item in fetched.values() if item.run is not None)
            looked = len(project.runs) - max(len(others) - len(first), 0)
            if runs or looked < project.total:
                found.append(Unlisted("/".join(place), runs, looked, project.total))
        return tuple(found)

    # ---- projects -----------------------------------------------------------------------------

    def _open_projects(self, refs: Iterable[RunRef]) -> None:
        places: dict[tuple[str, str], list[RunRef]] = {}
        for ref in refs:
            places.setdefault(ref[:2], []).append(ref)
        with cf.ThreadPoolExecutor(min(WORKERS, len(places) or 1)) as pool:
            opened = pool.map(lambda item: self._open(*item), places.items())
            self._projects |= dict(zip(places, opened, strict=True))

    def _open(self, place: tuple[str, str], refs: Sequence[RunRef]) -> _Project:
        """List a project, and make sure that everybody can read it before anything is used."""
        try:
            newest = self._client.listed(*place, None, LISTED)
            runs = {run.id: run for run in newest}
            missing = [ref.id for ref in refs if ref.id not in runs]
            if missing and len(runs) >= LISTED:
                more = self._client.listed(*place, missing, len(missing))
                runs |= {run.id: run for run in more}
            here = [ref.id for ref in refs if ref.id in runs]
            configs = self._client.public_configs(*place, here) if here else {}
            if here and not configs:
                return _Project(failure=not_public())
        except FetchError as error:
            return _Project(failure=error.failure)
        return _Project(runs, configs, total=max(newest.total, len(runs)))

    # ---- runs ---------------------------------------------------------------------------------

    def _fetch_all(
        self, items: Mapping[RunRef, Any], keys: Keys, code: str | None, attached: bool = True
    ) -> dict[RunRef, Fetched]:
        if not items:
            return {}
        results: dict[RunRef, Fetched] = {}
        pool = cf.ThreadPoolExecutor(min(WORKERS, len(items)))
        tasks = {
            pool.submit(self._fetch_one, ref, item, keys, code, attached): ref
            for ref, item in items.items()
        }
        with Progress("W&B runs", len(items), self._progress) as progress:
            try:
                for task in cf.as_completed(tasks, timeout=self._patience.total_s):
                    results[tasks[task]] = task.result()
                    progress.advance()
            except TimeoutError:
                late = Fetched(None, unavailable("W&B did not answer in time"))
                results |= {ref: late for task, ref in tasks.items() if ref not in results}
        pool.shutdown(wait=False, cancel_futures=True)
        return results

    def _fetch_one(
        self, ref: RunRef, item: Any, keys: Keys, code: str | None, attached: bool
    ) -> Fetched:
        cached = self._cache_path(ref, item, keys, code, attached)
        if cached is not None and cached.is_file():
            try:
                run = decode(cached.read_bytes())
                return Fetched(dc.replace(run, source="wandb"))
            except (OSError, SnapshotError):
                pass  # a damaged cache is not evidence; the run is fetched again and written anew
        try:
            run = self._client.persist(lambda: self._read(ref, item, keys, code, attached))
        except FetchError as error:
            if error.failure == not_found():  # it was listed: only a part of it is refused
                return Fetched(None, unavailable("W&B did not hand out a part of the run"))
            return Fetched(None, error.failure)
        if cached is not None:
            _write(cached, encode(run))
        return Fetched(run)

    def _read(self, ref: RunRef, item: Any, keys: Keys, code: str | None, attached: bool) -> Run:
        raw = _raw(item, ref)
        config = self._projects[ref[:2]].configs.get(ref.id, {})
        raw.marks = read_marks(config.get("_wandb"))
        present = frozenset(keys_of(item))
        try:
            also = step_names(present) | second_names(present, keys)
            rows = read_rows(self._client, item, keys, also)
        except NotComplete as error:
            raise FetchError(unavailable(str(error))) from None
        raw.problems += rows.problems
        raw.problems += contradictions(rows.rows, keys, raw.config)
        columns = read_columns(rows.rows, keys, present or None)
        read_second(rows.rows, columns, keys, raw)
        if attached:
            wants = Attached(
                code=code,
                log=not (set(keys.loss + keys.bpb) & present)
                or not (set(keys.time_s + keys.time_ms) & present),
                console=ref in self._consoles,
            )
            read_attached(self._client, item, raw, columns, wants)
        why = unread(rows.rows, columns, keys, present)
        raw.problems += [("metric-missing", why)] if why else []
        run = build_run(raw, columns, keys)
        told = None if raw.console is None else told_otherwise(raw.console, run)
        if told is not None:
            told = f"the console of the run {told}"
            run = dc.replace(run, problems=(*run.problems, ("history-gap", told)))
        return restrict(run)

    def _cache_path(
        self, ref: RunRef, item: Any, keys: Keys, code: str | None, attached: bool
    ) -> Path | None:
        """Where the run lies in the cache: only a finished run does, and only as it is now."""
        if self._cache is None or item.state != "finished":
            return None
        facts = [
            _FORM,
            ref,
            item.heartbeatAt,
            item.historyLineCount,
            all_names(keys),
            code,
            attached,
            ref in self._consoles,
        ]
        facts += [sorted(item.config), list(item.tags), item.state, dict(item.summary)]
        name = hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()
        return self._cache / f"{name}.json.xz"


def _saved_key() -> str | None:
    """The key that `wandb login` saved on this machine, for the local check."""
    try:
        entries = netrc.netrc(os.environ.get("NETRC"))
    except (OSError, netrc.NetrcParseError):
        return None
    found = map(entries.authenticators, ("api.forge.coreweave.com", "api.wandb.ai"))
    return next((entry[2] for entry in found if entry is not None), None)


def _drawn(refs: Iterable[RunRef]) -> frozenset[RunRef]:
    """The runs whose console is read: a few, as each costs a call, and none that a person picks."""
    order = sorted(refs, key=lambda ref: hashlib.sha256(":".join(ref).encode()).digest())
    return frozenset(order[:CONSOLES])


def _weight(item: Any) -> tuple[bool, int]:
    """How much a listed run may matter: whether it ended, and how long its history is."""
    return item.state == "finished", int(item.historyLineCount or 0)


def _experiment(config: Mapping[str, Any]) -> str:
    """What makes two runs of one project the same experiment: their configuration without any
    label, so that one more key hides no run."""
    kept = {name: value for name, value in config.items() if not _LABEL.search(last_part(name))}
    return config_sha256(kept)


def _raw(item: Any, ref: RunRef) -> Raw:
    """What the listing says of a run."""
    config = flatten({k: v for k, v in item.config.items() if not k.startswith("_wandb")})
    heartbeat = item.heartbeatAt if item.state != "running" else None
    return Raw(
        source="wandb",
        file=ref.url,
        run_id=ref.id,
        name=item.name,
        entity=ref.entity,
        project=ref.project,
        state=item.state,
        config=config,
        summary=dict(item.summary_metrics),
        tags=tuple(item.tags or ()),
        labels=tuple(t for t in (_text(item, "group"), _text(item, "job_type")) if t),
        notes=_text(item, "notes"),
        created_at=item.createdAt,
        finished_at=heartbeat,
        heartbeat_at=item.heartbeatAt,
    )


def _text(item: Any, name: str) -> str | None:
    """A text that the author gave a run; a client may not know it."""
    value = getattr(item, name, None)
    return value if isinstance(value, str) else None


def _write(path: Path, data: bytes) -> None:
    """Write a file of the cache so that a reader sees all of it or none."""
    try:
        disk.write(path, data, durable=False)
    except OSError:
        return  # without a cache the next gathering asks W&B again
