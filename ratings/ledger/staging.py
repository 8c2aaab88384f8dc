"""What is worked out without a lock, put aside until it may be written.

What changes of stored matches goes to temporary tables of this connection, which nobody else
sees and a crash leaves none of; new matches, with whatever becomes of them, to a temporary file.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import merge
from itertools import batched, chain, islice, pairwise
from operator import itemgetter
from os import SEEK_END
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

from django.db import connection
from psycopg.types.json import Jsonb

from ratings.ledger.rows import (
    BEGINNING,
    ROWS_AT_A_TIME,
    SKILL_COLUMNS,
    NewMatch,
    Position,
    fact_of,
)
from ratings.ledger.writing import (
    MATCH_ROW,
    PARTICIPATION_ROW,
    UPDATE_LEDGER,
    UPDATE_STATUSES,
    VERY_MANY_MATCHES,
    copy_rows,
    forget_plans,
    learn_sizes,
    match_row,
    participation_rows,
    rows_of,
)
from ratings.models import Game
from ratings.systems.replay import Entry, Outcome, PlayedMatch

TABLES = {
    "staged_status": {"id": "int8", "status": "text", "reason": "text"},
    "staged_numbers": {
        "match_id": "int8",
        "player_id": "int8",
        **dict.fromkeys(SKILL_COLUMNS, "float8"),
    },
    "staged_id": {"id": "int8"},
}

OUTCOMES = ("staged_status", "staged_numbers")

BLOCK = 1_000
BLOCKS_IN_MEMORY = 100

type Row = tuple[Any, ...]


@dataclass(slots=True)
class Spool:
    """Rows by the block, the first of them in memory and the others on disk.

    A block's number is what it is found by again.
    """

    file: IO[bytes]
    in_memory: list[Sequence[Row]] = field(default_factory=list)

    def add(self, rows: Sequence[Row]) -> int:
        if len(self.in_memory) < BLOCKS_IN_MEMORY:
            self.in_memory.append(rows)
            return -len(self.in_memory)
        number = self.file.seek(0, SEEK_END)
        pickle.dump(rows, self.file, pickle.HIGHEST_PROTOCOL)
        return number

    def read(self, numbers: Iterable[int]) -> Iterator[Row]:
        for number in numbers:
            if number < 0:
                yield from self.in_memory[-number - 1]
            else:
                self.file.seek(number)
                yield from pickle.load(self.file)  # noqa: S301 - nobody else can write it


class Run(NamedTuple):
    """Blocks of matches in the order of history."""

    first: Position
    last: Position
    blocks: list[int]


@dataclass(slots=True)
class StagedMatches:
    """New matches of one game.

    `being_rated` are those that were read and whose outcome is not known yet, by id.
    """

    game: Game
    spool: Spool
    count: int = 0
    players: set[int] = field(default_factory=set)
    runs: list[Run] = field(default_factory=list)
    being_rated: dict[int, NewMatch] = field(default_factory=dict)
    match_rows: list[int] = field(default_factory=list)
    participation_rows: list[int] = field(default_factory=list)

    @property
    def first(self) -> Position:
        return min(run.first for run in self.runs)

    def add(self, new: Sequence[NewMatch]) -> list[int]:
        """Keeps new matches; the number of each one's block, in the order given."""
        self.count += len(new)
        rows = sorted(map(_to_row, new), key=_position)
        blocks = list(batched(rows, BLOCK))
        numbers = [self.spool.add(block) for block in blocks]
        self.runs.append(
            Run(Position(*_position(rows[0])), Position(*_position(rows[-1])), numbers)
        )
        self.players.update(entry.player for each in new for entry in each.match.entries)
        by_id = {
            row[1]: number for number, block in zip(numbers, blocks, strict=True) for row in block
        }
        return [by_id[each.match.id] for each in new]

    def read(self) -> Iterator[PlayedMatch]:
        """In the order of history, a block of each run in memory at a time."""
        self.being_rated.clear()
        runs = sorted(self.runs)
        rows = [self.spool.read(run.blocks) for run in runs]
        are_apart = all(run.last < following.first for run, following in pairwise(runs))
        for row in chain(*rows) if are_apart else merge(*rows, key=_position):
            new = _from_row(row)
            self.being_rated[new.match.id] = new
            yield new.match

    def add_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Keeps the rows that follow from the outcomes of matches read last."""
        done = [(self.being_rated.pop(outcome.match.id), outcome) for outcome in outcomes]
        matches = [match_row(self.game, new, outcome) for new, outcome in done]
        # The report as the text that it is: to pickle its wrapper would take longer than all else.
        self.match_rows.append(self.spool.add([(*row[:-1], row[-1].obj) for row in matches]))
        parts = [row for new, o in done for row in participation_rows(self.game, new, o)]
        self.participation_rows.append(self.spool.add(parts))

    def insert(self, outcomes: Iterator[Outcome]) -> None:
        """Stores the matches as they are rated: PostgreSQL writes while more are worked out.

        Some are worked out while the rows of the matches before go out, the others with their own.
        """
        ready = list(islice(outcomes, ROWS_AT_A_TIME // 2))
        while ready:
            matches: list[Row] = []
            part = chain(ready, islice(outcomes, ROWS_AT_A_TIME // 2))
            copy_rows(
                "ratings_participation", PARTICIPATION_ROW, self._participations(part, matches)
            )
            ready = []
            copy_rows("ratings_match", MATCH_ROW, _meanwhile(matches, outcomes, ready))

    def _participations(self, outcomes: Iterable[Outcome], matches: list[Row]) -> Iterator[Row]:
        """The ledger's rows; those of the matches themselves gather in `matches`."""
        for outcome in outcomes:
            new = self.being_rated.pop(outcome.match.id)
            matches.append(match_row(self.game, new, outcome))
            yield from participation_rows(self.game, new, outcome)

    def forget_outcomes(self) -> None:
        self.being_rated.clear()
        self.match_rows.clear()
        self.participation_rows.clear()

    def write(self) -> None:
        """Stores the matches and their ledger rows."""
        copy_rows(
            "ratings_match",
            MATCH_ROW,
            ((*row[:-1], _as_text(row[-1])) for row in self.spool.read(self.match_rows)),
        )
        copy_rows(
            "ratings_participation",
            PARTICIPATION_ROW,
            self.spool.read(self.participation_rows),
        )


class Staged:
    """New matches, by game, and outcomes, put aside."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self.new: dict[str, StagedMatches] = {}
        self._block_of: dict[str, int] = {}

    def add_matches(self, game: Game, new: Sequence[NewMatch]) -> None:
        """Puts new matches aside, that are to be rated later."""
        staged = self.new.setdefault(game.slug, StagedMatches(game, self.spool))
        copy_rows("staged_id", TABLES["staged_id"], ((each.match.id,) for each in new))
        ids = (each.external_id for each in new)
        self._block_of.update(zip(ids, staged.add(new), strict=True))

    def read_reports(self, external_ids: Collection[str]) -> dict[str, tuple[int, Any]]:
        """(match id, canonical report) of new matches, by external id."""
        blocks = {self._block_of[each] for each in external_ids if each in self._block_of}
        found = map(_from_row, self.spool.read(sorted(blocks)))
        return {
            new.external_id: (new.match.id, json.loads(new.report.obj))
            for new in found
            if new.external_id in external_ids
        }

    def add(self, outcomes: Sequence[Outcome], new: StagedMatches | None = None) -> None:
        """Puts aside what came out for matches that are stored already, or `new`."""
        if new is not None:
            fresh = [each for each in outcomes if each.match.id in new.being_rated]
            outcomes = [each for each in outcomes if each.match.id not in new.being_rated]
            new.add_outcomes(fresh)
        for table, rows in zip(OUTCOMES, rows_of(outcomes), strict=True):
            if rows:
                copy_rows(table, TABLES[table], rows)

    def forget_outcomes(self) -> None:
        """So that all can be rated again."""
        for new in self.new.values():
            new.forget_outcomes()
        with connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {', '.join(OUTCOMES)}")

    def write(self) -> None:
        """Puts everything into the history, in a few statements."""
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {', '.join(OUTCOMES)}")
            cursor.execute(UPDATE_STATUSES.format("staged_status AS new"))
            cursor.execute(UPDATE_LEDGER.format("staged_numbers AS new"))
        for new in self.new.values():
            new.write()
        if sum(new.count for new in self.new.values()) >= VERY_MANY_MATCHES:
            learn_sizes()
        if self.new:
            forget_plans()


def first_appended(game: Game, after: Position | None) -> Position | None:
    """Where the first match after a position stands that is none of the new ones."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE staged_id")
        cursor.execute(
            """
            SELECT played_at, id FROM ratings_match m
             WHERE game_id = %s AND status <> 'waiting' AND (played_at, id) > (%s, %s)
               AND NOT EXISTS (SELECT FROM staged_id WHERE staged_id.id = m.id)
             ORDER BY played_at, id LIMIT 1
            """,
            [game.pk, *(after or BEGINNING)],
        )
        row = cursor.fetchone()
    return Position(*row) if row else None


@contextmanager
def stage() -> Iterator[Staged]:
    """An empty place to put things aside. Not inside a transaction that only reads."""
    _drop()
    with connection.cursor() as cursor:
        for table, columns in TABLES.items():
            described = ", ".join(f"{name} {kind}" for name, kind in columns.items())
            cursor.execute(f"CREATE TEMPORARY TABLE {table} ({described})")
    with TemporaryFile() as file:
        try:
            yield Staged(Spool(file))
        finally:
            # A transaction that failed takes them with it.
            if connection.is_usable() and not connection.needs_rollback:
                _drop()


def _drop() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {', '.join(f'pg_temp.{name}' for name in TABLES)}")


def _meanwhile(
    rows: Iterable[Row], outcomes: Iterator[Outcome], ready: list[Outcome]
) -> Iterator[Row]:
    """The rows; with every second one of them, one outcome more is `ready`."""
    for number, row in enumerate(rows):
        yield row
        if number % 2:
            ready.extend(islice(outcomes, 1))


def _to_row(new: NewMatch) -> Row:
    """Plain tuples: they are written and read back several times as fast as what has a name."""
    return (
        new.match.played_at,
        new.match.id,
        tuple(map(tuple, new.match.entries)),
        new.source_id,
        new.external_id,
        new.received_at,
        new.termination,
        json.dumps(new.report.obj),
        new.points,
    )


def _from_row(row: Row) -> NewMatch:
    played_at, match_id, entries, source_id, external_id, received_at, termination, text, points = (
        row
    )
    match = PlayedMatch(played_at, [*map(Entry._make, entries)], fact_of(termination), match_id)
    return NewMatch(match, source_id, external_id, received_at, termination, _as_text(text), points)


def _as_text(text: str) -> Jsonb:
    """JSON that is written already."""
    return Jsonb(text, dumps=str)


_position = itemgetter(0, 1)
