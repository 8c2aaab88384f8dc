"""Long jobs, and how far they are: kept in the database while they run, for everyone to see."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from ratings.models import Job, JobKind, JobState, User

logger = logging.getLogger(__name__)

MATCHES_BETWEEN_CALLS = 1_000
SECONDS_BETWEEN_WRITES = 1.0
LONGEST_RESULT = 2_000


class Watch:
    """Tells of a running job: call it with what is done and what there is in all.

    On a connection of its own: what the job itself writes is one transaction, in which nobody
    could see how far it is, and for the most part one that cannot write at all. A job that is
    over within SECONDS_BETWEEN_WRITES leaves no trace, unless it was queued or is `kept`.
    """

    def __init__(self, job: Job, *, is_kept: bool) -> None:
        self.job = job
        self.is_kept = is_kept
        self.last_write = time.monotonic()
        self.connection: BaseDatabaseWrapper | None = None

    def __call__(self, done: float, total: float) -> None:
        self.job.done, self.job.total = _whole(done, total)
        if time.monotonic() - self.last_write >= SECONDS_BETWEEN_WRITES:
            self.write()

    def begin(self) -> None:
        self.job.state = JobState.RUNNING
        if self.is_kept or self.job.pk is not None:
            self.write()

    def fail(self, why: str) -> None:
        """For what is nobody's fault: the block ends as it likes."""
        self.end(JobState.FAILED, why)

    def end(self, state: JobState, result: str) -> None:
        if self.job.pk is None or self.job.is_over:
            return
        self.job.state = state
        self.job.result = result[:LONGEST_RESULT]
        self.job.finished_at = timezone.now()
        self.write()

    def write(self) -> None:
        """Never fails: that nobody can see how far it is is no reason not to do it."""
        self.last_write = time.monotonic()
        try:
            if self.connection is None:
                self.connection = connections.create_connection(DEFAULT_DB_ALIAS)
            with self.connection.cursor() as cursor:
                self._store(cursor)
        except DatabaseError:
            logger.exception("How far a job is could not be stored: %s", self.job)

    def _store(self, cursor: CursorWrapper) -> None:
        job = self.job
        if job.pk is None:
            cursor.execute(
                """
                INSERT INTO ratings_job
                    (kind, what, made_by_id, state, done, total, result, started_at, updated_at)
                VALUES (%s, %s, %s, 'running', 0, 0, '', %s, clock_timestamp())
                RETURNING id
                """,
                [job.kind, job.what, job.made_by_id, job.started_at],
            )
            [job.pk] = cursor.fetchone()
        cursor.execute(
            """
            UPDATE ratings_job
               SET state = %s, done = %s, total = %s, result = %s,
                   updated_at = clock_timestamp(), finished_at = %s
             WHERE id = %s
            """,
            [
                job.state,
                job.done,
                job.total,
                job.result,
                job.finished_at,
                job.pk,
            ],
        )

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()


def _whole(done: float, total: float) -> tuple[int, int]:
    """The same share in whole numbers: thousandths, where it is not in whole numbers already."""
    if isinstance(done, int) and isinstance(total, int):
        return done, total
    return round(1_000 * done), round(1_000 * total)


@contextmanager
def watched(job: Job, *, is_kept: bool = False) -> Iterator[Watch]:
    """Runs the job inside; the block may set `job.result`. An exception makes it a failure."""
    watch = Watch(job, is_kept=is_kept)
    try:
        watch.begin()
        yield watch
    except BaseException as error:
        watch.end(JobState.FAILED, str(error) or type(error).__name__)
        raise
    else:
        watch.end(JobState.DONE, job.result)
    finally:
        watch.close()


def job(kind: JobKind, what: str, *, by: User | None = None) -> Job:
    """A job that is not stored yet."""
    return Job(kind=kind, what=what[: Job._meta.get_field("what").max_length], made_by=by)


def matches_done(progress: Callable[[float, float], None], total: int) -> Callable[[], None]:
    """What to call for each match of so many; that one is called now and then."""
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        if done % MATCHES_BETWEEN_CALLS == 0:
            progress(min(done, total), total)

    return count
