"""What is worked out without a lock, put aside until it may be written.

In temporary tables of this connection: nobody else sees them, and a crash leaves none.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db import connection

from ratings.ledger.reading import read_staged_reports, streaming_cursor
from ratings.ledger.rows import SKILL_COLUMNS, NewMatch, Position, fact_of, status_of
from ratings.ledger.writing import (
    MATCH_COLUMNS,
    PARTICIPATION_COLUMNS,
    STATUS_COLUMNS,
    UPDATE_LEDGER,
    UPDATE_STATUSES,
    copy_rows,
    facts_of,
    forget_plans,
    participations_of,
    rows_of,
)
from ratings.models import Game
from ratings.systems.replay import Entry, Outcome, PlayedMatch

STATUS_ROW = {"id": "int8"} | STATUS_COLUMNS
NUMBERS_ROW = {"match_id": "int8", "player_id": "int8"} | dict.fromkeys(SKILL_COLUMNS, "float8")
NEW_ROW = MATCH_COLUMNS | {"entries": "text"}
TABLES = {
    "staged_new": NEW_ROW,
    "staged_status": STATUS_ROW,
    "staged_numbers": NUMBERS_ROW,
    "staged_participation": PARTICIPATION_COLUMNS,
}
"""New matches with their facts; then what came out: the status of every match, the numbers of
those that are stored already, and whole ledger rows of the new ones."""

OUTCOMES = ("staged_status", "staged_numbers", "staged_participation")


@dataclass(slots=True)
class StagedMatches:
    """New matches of one game. `points` are those of the matches read last, by match and team."""

    game: Game
    count: int = 0
    first: Position | None = None
    last: Position | None = None
    points: dict[int, Mapping[int, Decimal | None]] = field(default_factory=dict)

    def read(self) -> Iterator[PlayedMatch]:
        """In the order of history; streams."""
        query = """
            SELECT id, played_at, termination, entries FROM staged_new
             WHERE game_id = %s ORDER BY played_at, id
        """
        with streaming_cursor("staged_new", query, [self.game.pk]) as rows:
            for match_id, played_at, termination, text in rows:
                entries, points = json.loads(text)
                self.points[match_id] = {
                    team: None if number is None else Decimal(number)
                    for team, number in enumerate(points, start=1)
                }
                yield PlayedMatch(
                    played_at, [Entry(*entry) for entry in entries], fact_of(termination), match_id
                )

    def read_players(self) -> set[int]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT DISTINCT unnest(players) FROM staged_new WHERE game_id = %s",
                [self.game.pk],
            )
            return {player for (player,) in cursor}


class Staged:
    """New matches and outcomes put aside."""

    def __init__(self) -> None:
        self.new: dict[str, StagedMatches] = {}

    def add_matches(self, game: Game, new: Sequence[NewMatch]) -> None:
        """Puts new matches aside, that are to be rated later."""
        copy_rows("staged_new", NEW_ROW, (_new_row(game, stored) for stored in new))
        staged = self.new.setdefault(game.slug, StagedMatches(game))
        staged.count += len(new)
        positions = [Position(stored.match.played_at, stored.match.id) for stored in new]
        staged.first = min([*positions, *([staged.first] if staged.first else [])])
        staged.last = max([*positions, *([staged.last] if staged.last else [])])

    def read_reports(self, external_ids: Collection[str]) -> dict[str, tuple[int, Any]]:
        """(match id, canonical report) of new matches, by external id."""
        return read_staged_reports(external_ids) if self.new else {}

    def add(self, outcomes: Sequence[Outcome], new: StagedMatches | None = None) -> None:
        """Puts aside what came out for matches that are stored already, or `new`."""
        added = [] if new is None else [o for o in outcomes if o.match.id in new.points]
        changed = outcomes if new is None else [o for o in outcomes if o.match.id not in new.points]
        statuses, numbers = rows_of(changed)
        statuses += [(outcome.match.id, *status_of(outcome.reason)) for outcome in added]
        copy_rows("staged_status", STATUS_ROW, statuses)
        copy_rows("staged_numbers", NUMBERS_ROW, numbers)
        if new is not None:
            copy_rows(
                "staged_participation",
                PARTICIPATION_COLUMNS,
                (
                    row
                    for outcome in added
                    for row in participations_of(
                        new.game, outcome.match, new.points.pop(outcome.match.id), outcome
                    )
                ),
            )

    def forget_outcomes(self) -> None:
        """So that all can be rated again."""
        with connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {', '.join(OUTCOMES)}")

    def write(self) -> None:
        """Puts everything into the history, in a few statements."""
        facts = ", ".join(MATCH_COLUMNS)
        ledger_row = ", ".join(PARTICIPATION_COLUMNS)
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {', '.join(TABLES)}")
            # First the old matches, while the statuses of the new ones find nothing to change.
            cursor.execute(UPDATE_STATUSES.format("staged_status AS new"))
            cursor.execute(UPDATE_LEDGER.format("staged_numbers AS new"))
            if self.new:
                cursor.execute(
                    f"INSERT INTO ratings_match ({facts}, status, reason)"
                    f" SELECT {facts}, status, reason FROM staged_new JOIN staged_status USING (id)"
                    " ORDER BY played_at, id"
                )
                cursor.execute(
                    f"INSERT INTO ratings_participation ({ledger_row})"
                    f" SELECT {ledger_row} FROM staged_participation"
                )
                forget_plans()


@contextmanager
def stage() -> Iterator[Staged]:
    """An empty place to put things aside. Not inside a transaction that only reads."""
    _drop()
    with connection.cursor() as cursor:
        for table, columns in TABLES.items():
            described = ", ".join(f"{name} {kind}" for name, kind in columns.items())
            cursor.execute(f"CREATE TEMPORARY TABLE {table} ({described})")
        cursor.execute("CREATE INDEX ON staged_new (external_id)")
    try:
        yield Staged()
    finally:
        # A transaction that failed takes them with it.
        if connection.is_usable() and not connection.needs_rollback:
            _drop()


def _drop() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {', '.join(f'pg_temp.{name}' for name in TABLES)}")


def _new_row(game: Game, stored: NewMatch) -> tuple[Any, ...]:
    points = [stored.points[team] for team in sorted(stored.points)]
    text = json.dumps(
        [stored.match.entries, [None if number is None else str(number) for number in points]]
    )
    return (*facts_of(game, stored), text)
