"""Cursors for what every report asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import psycopg
from django.db import connection
from django.db.backends.utils import CursorWrapper

FEW = 100


@contextmanager
def prepared_cursor() -> Iterator[CursorWrapper]:
    """A cursor whose statements PostgreSQL parses and plans once a connection, not every time.

    That takes a third of its time of a single report. So their texts must not vary, and
    parameters whose type does not follow from the statement need a cast.
    """
    connection.ensure_connection()
    with psycopg.Cursor(connection.connection) as cursor:
        # So that Django's log of queries and what counts them see these as well.
        wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
        yield wrap(cursor)


def cursor_for(rows: int) -> AbstractContextManager[Any]:
    """The same for a statement that is asked about so many; planned for them where they are many.

    A plan that is kept was made for a few, perhaps while the tables were small: for thousands it
    might read a table from end to end for each of them.
    """
    return prepared_cursor() if rows < FEW else connection.cursor()
