"""A durable queue of webhook deliveries in SQLite: nothing is lost, nothing is done twice.

A delivery is in the file before GitHub is told that we have it (`synchronous=FULL`). A worker
leases a job; a job whose worker died is leased again when the lease ends; its handler is an
idempotent upsert, so the second run changes nothing that the first had done. Jobs of one pull
request run one after the other, and of several waiting verifications of it only the newest runs.
"""

from __future__ import annotations

import dataclasses as dc
import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

LEASE_S = 900.0
KEEP_S = 3 * 24 * 3600.0
"""GitHub offers a delivery again for three days; so long its identity is remembered."""
MOST_ATTEMPTS = 6
_SCHEMA = """
create table if not exists job (
  id integer primary key, event text not null, subject text not null, body blob not null,
  state text not null default 'waiting', attempts integer not null default 0,
  not_before real not null, lease_until real, received real not null, finished real,
  outcome text
);
create index if not exists job_next on job (state, not_before, id);
create index if not exists job_subject on job (subject, state);
create table if not exists seen (key text primary key, at real not null) without rowid;
create index if not exists seen_at on seen (at);
"""


@dc.dataclass(frozen=True, slots=True)
class Job:
    """One leased delivery. `subject` orders jobs: those of one subject never run side by side."""

    id: int
    event: str
    subject: str
    body: bytes
    attempts: int


class Queue:
    """The queue in one file. Safe for threads and for several processes."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time):
        self.path = path
        self.clock = clock
        self._local = threading.local()
        self._connection().executescript(_SCHEMA)

    def _connection(self) -> sqlite3.Connection:
        known: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if known is None:
            known = sqlite3.connect(self.path, isolation_level=None, timeout=30.0)
            known.execute("pragma journal_mode=wal")
            # FULL: the log is flushed before a delivery is acknowledged
            known.execute("pragma synchronous=full")
            self._local.connection = known
        return known

    def close(self) -> None:
        """Close this thread's connection."""
        known: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if known is not None:
            known.close()
            self._local.connection = None

    def put_all(self, deliveries: list[tuple[str, str, str, bytes]]) -> list[bool]:
        """Store deliveries (id, event, subject, body) in one flush; False for each replay.

        The signature covers the body alone, so a replay may come with a new id: the hash of the
        body is remembered as well.
        """
        connection, now, stored = self._connection(), self.clock(), []
        connection.execute("begin immediate")
        try:
            for identity, event, subject, body in deliveries:
                stored.append(self._put(connection, now, identity, event, subject, body))
            connection.execute("commit")
        except BaseException:
            connection.execute("rollback")
            raise
        return stored

    def put(self, identity: str, event: str, subject: str, body: bytes) -> bool:
        """Store one delivery."""
        return self.put_all([(identity, event, subject, body)])[0]

    def _put(
        self,
        connection: sqlite3.Connection,
        now: float,
        identity: str,
        event: str,
        subject: str,
        body: bytes,
    ) -> bool:
        keys = (f"id:{identity}", f"body:{hashlib.sha256(body).hexdigest()}")
        known = connection.execute(
            "select 1 from seen where key in (?, ?) limit 1", keys
        ).fetchone()
        if known:
            return False
        connection.executemany("insert into seen values (?, ?)", [(key, now) for key in keys])
        connection.execute(
            "insert into job (event, subject, body, not_before, received) values (?, ?, ?, ?, ?)",
            (event, subject, body, now, now),
        )
        return True

    def lease(self) -> Job | None:
        """The next job, ours for LEASE_S; None when nothing is due."""
        connection, now = self._connection(), self.clock()
        connection.execute("begin immediate")
        try:
            row = connection.execute(
                """select id, event, subject, body, attempts from job as j
                   where ((state = 'waiting' and not_before <= ?)
                          or (state = 'running' and lease_until < ?))
                     and not exists (select 1 from job as r where r.subject = j.subject
                                     and r.id != j.id and r.state = 'running'
                                     and r.lease_until >= ?)
                   order by id limit 1""",
                (now, now, now),
            ).fetchone()
            if row:
                connection.execute(
                    "update job set state = 'running', lease_until = ?, attempts = attempts + 1"
                    " where id = ?",
                    (now + LEASE_S, row[0]),
                )
            connection.execute("commit")
        except BaseException:
            connection.execute("rollback")
            raise
        return Job(row[0], row[1], row[2], row[3], row[4] + 1) if row else None

    def done(self, job: Job, outcome: str) -> None:
        """The job is finished; its body is dropped, its identity stays."""
        self._connection().execute(
            "update job set state = 'done', finished = ?, outcome = ?, body = x''"
            " where id = ? and attempts = ?",
            (self.clock(), outcome[:200], job.id, job.attempts),
        )

    def failed(self, job: Job, why: str) -> None:
        """Try again later, twice as late each time; after six attempts it is left for a person."""
        state = "waiting" if job.attempts < MOST_ATTEMPTS else "dead"
        self._connection().execute(
            "update job set state = ?, not_before = ?, outcome = ? where id = ? and attempts = ?",
            (state, self.clock() + 5.0 * 2**job.attempts, why[:200], job.id, job.attempts),
        )

    def newer(self, job: Job) -> bool:
        """Whether a later delivery of the same event and subject waits: this one is outdated."""
        row = (
            self._connection()
            .execute(
                "select 1 from job where subject = ? and event = ? and id > ? and state = 'waiting'"
                " limit 1",
                (job.subject, job.event, job.id),
            )
            .fetchone()
        )
        return row is not None

    def forget_old(self) -> None:
        """Drop identities and finished jobs that no redelivery can concern any more."""
        limit = self.clock() - KEEP_S
        connection = self._connection()
        connection.execute("delete from seen where at < ?", (limit,))
        connection.execute("delete from job where state = 'done' and finished < ?", (limit,))

    def counts(self) -> dict[str, int]:
        """How many jobs are in each state."""
        rows = self._connection().execute("select state, count(*) from job group by state")
        found = {state: int(count) for state, count in rows}
        return {state: found.get(state, 0) for state in ("waiting", "running", "done", "dead")}

    def oldest_wait_s(self) -> float:
        """How long the oldest waiting job waits, 0 when none does."""
        row = (
            self._connection()
            .execute("select min(received) from job where state = 'waiting'")
            .fetchone()
        )
        return max(self.clock() - row[0], 0.0) if row[0] is not None else 0.0
