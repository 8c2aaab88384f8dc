"""Writing the history: one match and ten thousand by the same few statements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db import connection

from ratings.ledger.checks import COUNTED
from ratings.ledger.cursors import cursor_for, prepared_cursor
from ratings.ledger.reading import read_listing_facts
from ratings.ledger.rows import (
    ROWS_AT_A_TIME,
    SKILL_COLUMNS,
    EditedMatch,
    NewMatch,
    StoredRating,
    is_recent,
    status_of,
)
from ratings.ledger.segments import Move, keep_segments, make_all_segments
from ratings.models import Game, GameState, Status, System
from ratings.systems import decay
from ratings.systems.engine import engine
from ratings.systems.openskill import displayed_rating
from ratings.systems.replay import Outcome, PlayedMatch, Standing

FEW_MATCHES = 3
MANY_MATCHES = 500
VERY_MANY_MATCHES = 10_000

CHANNEL = "naiply"
"""NOTIFY channel; the payload is `<game slug> <version>`, delivered at commit."""


MATCH_ROW = {
    "id": "int8",
    "game_id": "int8",
    "source_id": "int8",
    "external_id": "text",
    "played_at": "timestamptz",
    "received_at": "timestamptz",
    "termination": "text",
    "status": "text",
    "reason": "text",
    "players": "int8[]",
    "report": "jsonb",
}
PARTICIPATION_ROW = {
    "match_id": "int8",
    "game_id": "int8",
    "played_at": "timestamptz",
    "player_id": "int8",
    "owner_id": "int8",
    "team": "int2",
    "place": "int4",
    "points": "numeric",
    **dict.fromkeys(SKILL_COLUMNS, "float8"),
}


def insert_matches(game: Game, new: Sequence[NewMatch], outcomes: Mapping[int, Outcome]) -> None:
    """Stores matches with their ledger rows. `outcomes` is by match id.

    A match without an outcome is stored as waiting: outside history, its numbers empty.
    """
    if not new:
        return
    done = [(stored, outcomes.get(stored.match.id)) for stored in new]
    write_rows = _insert_rows if len(new) <= FEW_MATCHES else copy_rows
    write_rows("ratings_match", MATCH_ROW, (match_row(game, *each) for each in done))
    write_rows(
        "ratings_participation",
        PARTICIPATION_ROW,
        (row for each in done for row in participation_rows(game, *each)),
    )
    if len(new) >= MANY_MATCHES:
        forget_plans()


def match_row(game: Game, new: NewMatch, outcome: Outcome | None) -> tuple[Any, ...]:
    return (
        new.match.id,
        game.pk,
        new.source_id,
        new.external_id,
        new.match.played_at,
        new.received_at,
        new.termination,
        *_status(outcome),
        sorted([entry.player for entry in new.match.entries]),
        new.report,
    )


def participation_rows(
    game: Game, stored: NewMatch | EditedMatch, outcome: Outcome | None
) -> list[tuple[Any, ...]]:
    """The ledger's rows of a match."""
    match, points = stored.match, stored.points
    return [
        (
            match.id,
            game.pk,
            match.played_at,
            player,
            owner,
            team,
            place,
            points[team],
            *numbers,
        )
        for (player, team, place, owner), numbers in zip(
            match.entries, _skills(outcome, match), strict=True
        )
    ]


def forget_plans() -> None:
    """Before many rows are committed.

    Foreign keys are checked then, by the plan of the connection's first such check. Made while
    the tables were small, it would read all of them for each of these rows.
    """
    with connection.cursor() as cursor:
        cursor.execute("DISCARD PLANS")


def edit_matches(game: Game, edits: Iterable[EditedMatch]) -> None:
    """Writes the new facts of matches that are rebuilt; their six numbers follow later."""
    rebuilt = [edit for edit in edits if edit.is_rebuilt]
    if not rebuilt:
        return
    ids = [edit.match.id for edit in rebuilt]
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ratings_participation WHERE match_id = ANY(%s)", [ids])
        cursor.execute(
            """
            UPDATE ratings_match
               SET played_at = new.played_at, termination = new.termination,
                   players = new.players::bigint[]
              FROM unnest(%s::bigint[], %s::timestamptz[], %s::text[], %s::text[])
                   AS new (id, played_at, termination, players)
             WHERE ratings_match.id = new.id
            """,
            [
                ids,
                [edit.match.played_at for edit in rebuilt],
                [edit.termination for edit in rebuilt],
                [
                    "{" + ",".join(str(e.player) for e in sorted(edit.match.entries)) + "}"
                    for edit in rebuilt
                ],
            ],
        )
    copy_rows(
        "ratings_participation",
        PARTICIPATION_ROW,
        (row for edit in rebuilt for row in participation_rows(game, edit, None)),
    )


def learn_sizes() -> None:
    """Has PostgreSQL look at the tables anew, after very many rows.

    By itself it does so within a minute or two. Until then tables that were emptied, of a demo or
    of an import that failed, count as empty, and a replay would read one of them from end to end
    for each row of the other.
    """
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE ratings_match, ratings_participation, ratings_rating")


def _insert_rows(table: str, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
    """The same for a few rows, in one statement: COPY goes to and fro three times."""
    values = list(rows)
    placeholders = ", ".join(f"%s::{kind}" for kind in columns.values())
    with prepared_cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(columns)})"
            f" VALUES {', '.join([f'({placeholders})'] * len(values))}",
            [value for row in values for value in row],
        )


def copy_rows(table: str, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Sends rows by COPY, in the binary format: the floats go as they are, and it is faster."""
    with (
        connection.wrap_database_errors,  # which Django's cursor does for execute only
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)") as copy,
    ):
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)


def update_matches(outcomes: Iterable[Outcome]) -> None:
    """Rewrites the status and the ledger rows of matches that are stored already."""
    statuses, rows = rows_of(outcomes)
    with connection.cursor() as cursor:
        for status_part in _parts(statuses):
            cursor.execute(
                UPDATE_STATUSES.format(
                    "unnest(%s::bigint[], %s::text[], %s::text[]) AS new (id, status, reason)"
                ),
                _columns(status_part),
            )
        for part in _parts(rows):
            cursor.execute(
                UPDATE_LEDGER.format(
                    "unnest(%s::bigint[], %s::bigint[], %s::float8[], %s::float8[], %s::float8[],"
                    " %s::float8[], %s::float8[], %s::float8[]) AS new (match_id, player_id,"
                    f" {', '.join(SKILL_COLUMNS)})"
                ),
                _columns(part),
            )


def rows_of(
    outcomes: Iterable[Outcome],
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """(id, status, reason) of each match, and (match, player, six numbers) of each entry."""
    statuses: list[tuple[Any, ...]] = []
    rows: list[tuple[Any, ...]] = []
    for outcome in outcomes:
        match = outcome.match
        statuses.append((match.id, *status_of(outcome.reason)))
        for entry, skills in zip(match.entries, _skills(outcome, match), strict=True):
            rows.append((match.id, entry.player, *skills))
    return statuses, rows


UPDATE_STATUSES = """
    UPDATE ratings_match SET status = new.status, reason = new.reason
      FROM {}
     WHERE ratings_match.id = new.id
       AND (ratings_match.status, ratings_match.reason) <> (new.status, new.reason)
"""

UPDATE_LEDGER = f"""
    UPDATE ratings_participation SET {", ".join(f"{name} = new.{name}" for name in SKILL_COLUMNS)}
      FROM {{}}
     WHERE ratings_participation.match_id = new.match_id
       AND ratings_participation.player_id = new.player_id
"""


def _status(outcome: Outcome | None) -> tuple[str, str]:
    return (Status.WAITING.value, "") if outcome is None else status_of(outcome.reason)


def _skills(outcome: Outcome | None, match: PlayedMatch) -> Sequence[tuple[float | None, ...]]:
    """The six numbers of each entry of a match; empty without an outcome, or unrated."""
    if outcome is None or not outcome.changes:
        return [(None,) * 6] * len(match.entries)
    return [(*change.before, *change.after) for change in outcome.changes]


def write_ratings(
    state: GameState,
    standings: Mapping[int, Standing],
    old: Mapping[int, StoredRating],
) -> None:
    """Writes the players' ratings and keeps the counts of the board true.

    `old` holds the rows as they are now, of all these players that have one. A standing without
    a rated match has no row.
    """
    facts = read_listing_facts(standings.keys())
    rows = []
    gone = []
    moves: list[Move] = []
    for player, standing in standings.items():
        stored = old.get(player)
        if stored is not None and stored.is_listed:
            moves += _moves(player, stored.standing, stored.sigma, stored.is_bot, -1)
        if standing.last_played_at is None or standing.peak_at is None:
            gone.append(player)
            continue
        is_bot, is_active = facts[player]
        is_listed = is_active and is_recent(state, standing.last_played_at)
        sigma = decay.sigma_at(standing.sigma, standing.last_played_at, state.decayed_to)
        if is_listed:
            moves += _moves(player, standing, sigma, is_bot, 1)
        rows.append(
            (
                player,
                standing.elo,
                standing.mu,
                standing.sigma,
                sigma,
                standing.won,
                standing.drawn,
                standing.lost,
                standing.peak_elo,
                standing.peak_at,
                standing.last_played_at,
                is_bot,
                is_listed,
            )
        )
    rows.sort()
    with cursor_for(len(rows)) as cursor:
        for part in _parts(rows):
            cursor.execute(_UPSERT_RATINGS, [state.game_id, *_columns(part)])
        if gone:
            cursor.execute(
                "DELETE FROM ratings_rating WHERE game_id = %s AND player_id = ANY(%s)",
                [state.game_id, gone],
            )
    if moves:
        _count(state.game_id, moves)
        keep_segments(state.game_id, moves)


def _moves(
    player: int, standing: Standing, sigma: float, is_bot: bool, change: int
) -> tuple[Move, Move]:
    """A player coming to, or leaving, the numbers that both boards show of him."""
    openskill = displayed_rating(standing.mu, sigma)
    return (
        Move(System.ELO.value, round(standing.elo), standing.elo, player, is_bot, change),
        Move(System.OPENSKILL.value, round(openskill), openskill, player, is_bot, change),
    )


_UPSERT_RATINGS = """
    INSERT INTO ratings_rating
        (game_id, player_id, elo, mu, sigma_settled, sigma, won, drawn, lost, peak_elo, peak_at,
         last_played_at, is_bot, is_listed)
    SELECT %s, * FROM unnest(
        %s::bigint[], %s::float8[], %s::float8[], %s::float8[], %s::float8[], %s::int[],
        %s::int[], %s::int[], %s::float8[], %s::timestamptz[], %s::timestamptz[], %s::bool[],
        %s::bool[])
    ON CONFLICT (player_id, game_id) DO UPDATE SET
        elo = EXCLUDED.elo, mu = EXCLUDED.mu, sigma_settled = EXCLUDED.sigma_settled,
        sigma = EXCLUDED.sigma, won = EXCLUDED.won, drawn = EXCLUDED.drawn,
        lost = EXCLUDED.lost, peak_elo = EXCLUDED.peak_elo, peak_at = EXCLUDED.peak_at,
        last_played_at = EXCLUDED.last_played_at, is_bot = EXCLUDED.is_bot,
        is_listed = EXCLUDED.is_listed
"""


def _count(game_id: int, moves: Iterable[Move]) -> None:
    changes: dict[tuple[str, bool, int], int] = defaultdict(int)
    for move in moves:
        changes[move.system, move.is_bot, move.shown] += move.change
    changed = [(*key, change) for key, change in sorted(changes.items()) if change]
    if not changed:
        return
    with cursor_for(len(changed)) as cursor:
        cursor.execute(
            """
            MERGE INTO ratings_pointscount AS old
            USING unnest(%s::text[], %s::bool[], %s::int[], %s::int[])
                  AS new (system, is_bot, shown, change)
               ON old.game_id = %s AND old.system = new.system AND old.is_bot = new.is_bot
              AND old.shown = new.shown
             WHEN MATCHED AND old.count + new.change = 0 THEN DELETE
             WHEN MATCHED THEN UPDATE SET count = old.count + new.change
             WHEN NOT MATCHED THEN
                  INSERT (game_id, system, is_bot, shown, count)
                  VALUES (%s, new.system, new.is_bot, new.shown, new.change)
            """,
            [*_columns(changed), game_id, game_id],
        )


def recount(game: Game) -> None:
    """Counts the whole board anew, for a change that touches much of it."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ratings_pointscount WHERE game_id = %s", [game.pk])
        cursor.execute(
            "INSERT INTO ratings_pointscount (game_id, system, is_bot, shown, count)"
            f" SELECT %s, system, is_bot, shown, count FROM ({COUNTED}) AS counted",
            [game.pk, game.pk, game.pk],
        )
    make_all_segments(game)


def announce(state: GameState, *, is_rewrite: bool = False) -> None:
    """Moves the game's version on, and tells every process that listens, at commit.

    The engine stays the one that computed the first numbers, until all are computed anew.
    """
    state.version += 1
    state.rewrites += is_rewrite
    state.engine = state.engine or engine()
    with prepared_cursor() as cursor:
        cursor.execute(
            """
            WITH changed AS (
                UPDATE ratings_gamestate
                   SET version = %s, rewrites = %s, decayed_to = %s, engine = %s,
                       changed_at = clock_timestamp()
                 WHERE game_id = %s RETURNING game_id
            )
            SELECT pg_notify(%s, %s) FROM changed
            """,
            [
                state.version,
                state.rewrites,
                state.decayed_to,
                state.engine,
                state.game_id,
                CHANNEL,
                f"{state.game.slug} {state.version}",
            ],
        )


def _parts(rows: Sequence[tuple[Any, ...]]) -> Iterator[Sequence[tuple[Any, ...]]]:
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        yield rows[start : start + ROWS_AT_A_TIME]


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
