"""The real `wandb` client, held by a short leash: fixed server, bounded waits, our own key only.

`Client` is the one place that imports `wandb`. Requests go to the configured server, never to the
host of a link. Whether the public can read a project is asked without a key.
"""

from __future__ import annotations

import dataclasses as dc
import functools as ft
import importlib
import json
import logging
import os
import random
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.message import Message
from pathlib import Path
from typing import Any, TypeVar

from bot.evidence.wandb.errors import FetchError, classify, no_key, not_found, unavailable
from bot.evidence.wandb.rows import last_of

T = TypeVar("T")
PAGE_STEPS = 1000
MAX_PAGES = 400
_MAX_ANSWER = 32_000_000


@dc.dataclass(frozen=True, slots=True)
class Patience:
    """How long we wait: seconds for one request, tries, first pause between tries, and the whole
    of one gathering."""

    request_s: float = 20.0
    tries: int = 3
    pause_s: float = 1.0
    total_s: float = 480.0


class Listed(list[Any]):
    """Runs of a project, and how many W&B says that there are."""

    total: int = 0


class Client:
    """A session with W&B. Thread-safe once `open` has returned."""

    def __init__(self, key: str | None, server: str | None, patience: Patience) -> None:
        self._key = key
        self._server = server
        self._patience = patience
        self._api: Any = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Client(server={self._server!r})"

    def open(self) -> None:
        """Sign in, once. Raises FetchError."""
        with self._lock:
            if self._api is None:
                if not self._key:
                    raise FetchError(no_key())
                self._api = self.persist(self._sign_in)

    def _sign_in(self) -> Any:
        os.environ.setdefault("WANDB_SILENT", "true")
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        # What the client logs is for its authors; without a handler Python prints it.
        logging.getLogger("wandb").addHandler(logging.NullHandler())
        wandb: Any = importlib.import_module("wandb")
        wait, tries = self._patience.request_s, self._patience.tries
        settings = {"retry_max": tries - 1, "timeout_seconds": wait}
        settings |= {"retry_wait_min_seconds": self._patience.pause_s}
        settings |= {"retry_wait_max_seconds": 20 * self._patience.pause_s}
        kinds = ("x_graphql_", "x_file_transfer_")
        named = {kind + name: value for kind in kinds for name, value in settings.items()}
        wandb.setup(wandb.Settings(**named, silent=True))
        overrides = {"entity": "none"} | ({"base_url": self._server} if self._server else {})
        # The client's own tries must fit into the time that it waits for all of them.
        limit = tries * (wait + self._patience.pause_s)
        api = wandb.Api(overrides=overrides, api_key=self._key, timeout=limit)
        self._server = api.settings["base_url"]
        return api

    def persist(self, action: Callable[[], T]) -> T:
        """Run `action`, again after a pause where that may help. Raises FetchError only."""
        for attempt in range(self._patience.tries):
            try:
                return action()
            except Exception as error:  # every failure of a foreign client becomes one of ours
                failure = classify(error)
            if not failure.retry or attempt + 1 == self._patience.tries:
                break
            time.sleep(self._patience.pause_s * 2**attempt * random.uniform(0.8, 1.2))
        raise FetchError(failure)

    def listed(
        self,
        entity: str,
        project: str,
        ids: Sequence[str] | None,
        limit: int,
        sweep: str | None = None,
    ) -> Listed:
        """Runs of a project, newest first, with configuration and keys; those of `ids` or of a
        sweep if given.

        Empty where the project does not exist or the key may not read it. Raises FetchError.
        """

        def ask() -> Listed:
            filters: dict[str, Any] = {} if sweep is None else {"sweep": sweep}
            filters |= {} if ids is None else {"name": {"$in": list(ids)}}
            found = self._api.runs(
                f"{entity}/{project}",
                filters=filters,
                order="-created_at",
                per_page=min(100, limit),
                lazy=False,
            )
            runs = Listed(run for _, run in zip(range(limit), found, strict=False))
            # The page that was read says how many there are.
            runs.total = len(found) if runs else 0
            return runs

        try:
            runs = self.persist(ask)
        except FetchError as error:
            if error.failure == not_found():
                return Listed()
            raise
        for run in runs:
            _remember_last_step(run)
        return runs

    def public_configs(
        self, entity: str, project: str, ids: Sequence[str]
    ) -> Mapping[str, Mapping[str, Any]]:
        """Id -> the whole configuration of those runs of a project that anybody can read.

        Asked without a key; empty where the project is not public. Raises FetchError.
        """
        query = (
            "query PublicRuns($project: String!, $entity: String!, $filters: JSONString) {"
            " project(name: $project, entityName: $entity) {"
            " runs(filters: $filters, first: 100) { edges { node { name config } } } } }"
        )
        found: dict[str, Mapping[str, Any]] = {}
        for start in range(0, len(ids), 100):
            filters = json.dumps({"name": {"$in": list(ids[start : start + 100])}})
            variables = {"entity": entity, "project": project, "filters": filters}
            body = json.dumps({"query": query, "variables": variables}).encode()
            answer = self.persist(ft.partial(self._post_anonymously, body))
            runs = ((answer["data"].get("project") or {}).get("runs") or {}).get("edges") or ()
            for node in (edge["node"] for edge in runs):
                found[node["name"]] = _config(node.get("config"))
        return found

    def _post_anonymously(self, body: bytes) -> Mapping[str, Any]:
        """The answer to a query, with its `data`. Any other answer says nothing about a run."""
        headers = {"Content-Type": "application/json", "User-Agent": "speedrun-bot"}
        request = urllib.request.Request(f"{self._server}/graphql", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=self._patience.request_s) as response:
                answer = json.loads(response.read(_MAX_ANSWER))
        except urllib.error.HTTPError as error:
            time.sleep(_wait(error.headers))
            reason = f"W&B answered with HTTP status {error.code}"
            raise FetchError(unavailable(reason, retry=True)) from None
        except (OSError, ValueError):
            raise FetchError(unavailable("W&B did not answer in time", retry=True)) from None
        if not isinstance(answer, dict) or not isinstance(answer.get("data"), dict):
            raise FetchError(unavailable("W&B could not answer the query", retry=True))
        return answer

    def scan(
        self, run: Any, keys: Sequence[str] | None, wanted: frozenset[str]
    ) -> Iterator[Mapping[str, Any]]:
        """The history rows of a listed run: all of them, or those that have every one of `keys`.

        Of each row at least the values of `wanted`. The number of pages is bounded, so a run that
        counts its steps in billions ends too.
        """
        last = last_of(run)
        # Where steps are far apart a page of as many steps as hold some 1000 rows.
        sparse = (last + 1) * PAGE_STEPS // max(int(run.historyLineCount or 0), 1)
        page = max(PAGE_STEPS, sparse, -(-(last + 1) // MAX_PAGES))
        exact = None if keys is None else list(keys)
        scan = run.scan_history(keys=exact, page_size=page, use_cache=False)
        # Decoding every value of every row is what takes the time of a large gathering (measured:
        # two thirds). Where a later client names this otherwise, it decodes all, and is slower.
        scan._convert_history_row_to_dict = ft.partial(_decode_row, wanted)
        yield from scan

    def files(self, run: Any, always: str) -> list[Any]:
        """The first 100 files of a run, with names and sizes, and that of the name `always`
        wherever it stands. Raises FetchError."""

        def ask() -> list[Any]:
            found = [file for _, file in zip(range(100), run.files(per_page=100), strict=False)]
            if len(found) == 100 and all(file.name != always for file in found):
                found += list(run.files(names=[always]))
            return found

        return self.persist(ask)

    def artifact_files(self, run: Any) -> list[Any]:
        """The files of the artifacts that a run logged: of the first 5, 20 each; no checkpoints.

        Raises FetchError.
        """

        def ask() -> list[Any]:
            logged = zip(range(50), run.logged_artifacts(per_page=50), strict=False)
            told = [a for _, a in logged if a.type not in ("model", "dataset")]
            return [
                file
                for artifact in told[:5]
                for _, file in zip(range(20), artifact.files(per_page=20), strict=False)
            ]

        return self.persist(ask)

    def read_file(self, file: Any, limit: int) -> bytes | None:
        """The bytes of a file of a run; None where it is larger than `limit`, or is not handed out,
        which says nothing about the run. Raises FetchError."""
        if file.size > limit:
            return None

        def download() -> bytes | None:
            with tempfile.TemporaryDirectory() as folder:
                with file.download(root=folder, replace=True) as opened:
                    path = Path(opened.name)
                return path.read_bytes() if path.stat().st_size <= limit else None

        try:
            return self.persist(download)
        except FetchError as error:
            if error.failure.status in (403, 404):
                return None
            raise


def _config(text: object) -> Mapping[str, Any]:
    """The configuration of a run as W&B sends it: a JSON text of {name: {value}}."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return {}
    if not isinstance(value, dict):
        return {}
    return {k: v.get("value") if isinstance(v, dict) else v for k, v in value.items()}


def _wait(headers: Message[str, str]) -> float:
    """How many seconds W&B asks to wait, 60 at most."""
    for name in ("RateLimit-Reset", "Retry-After"):
        text = headers.get(name) or ""
        if text.isascii() and text.isdigit():
            return float(min(int(text[:6]), 60))
    return 0.0


def _decode_row(wanted: frozenset[str], row: Any) -> dict[str, Any]:
    """The wanted values of a history row of the client; objects are kept whole."""
    return {item.key: _decode(item.value_json) for item in row.history_items if item.key in wanted}


def _decode(text: str) -> Any:
    """A JSON value; numbers, which most are, the short way."""
    if text[:1] in "-0123456789":
        return float(text) if "." in text or "e" in text or "E" in text else int(text)
    return json.loads(text)


def _remember_last_step(run: Any) -> None:
    """Let `scan_history` take the last step from the listing, which saves a request a run."""
    kind = type(run)
    run.__class__ = type(kind.__name__, (kind,), {"lastHistoryStep": last_of(run)})
