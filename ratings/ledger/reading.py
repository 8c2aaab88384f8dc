"""Reading the stored history as the replay takes it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import connection

from ratings.ledger.cursors import FEW, cursor_for, prepared_cursor
from ratings.ledger.rows import (
    BEGINNING,
    ROWS_AT_A_TIME,
    Position,
    StoredMatch,
    StoredRating,
    fact_of,
)
from ratings.ledger.segments import exact_column
from ratings.models import Game, GameState, PlayerStatus, Status
from ratings.systems.match import Skill
from ratings.systems.replay import PAIR_WINDOW, Change, Entry, PlayedMatch, Recent, Standing


def lock_games(slugs: Collection[str], *, seconds: float | None = None) -> dict[str, GameState]:
    """The games' states by slug, locked until the transaction ends; always in id order.

    Unknown slugs are left out. OperationalError where a lock is not to be had in so many seconds.
    """
    with prepared_cursor() as cursor:
        if seconds is not None:
            cursor.execute(
                "SELECT set_config('lock_timeout', %s, true)", [f"{seconds * 1000:.0f}ms"]
            )
        cursor.execute(
            """
            SELECT FROM ratings_gamestate state JOIN ratings_game game ON game.id = state.game_id
             WHERE game.slug = ANY(%s) ORDER BY state.game_id FOR UPDATE OF state
            """,
            [list(slugs)],
        )
        if seconds is not None:
            # What is waited for later, such as a player that another game makes, takes no part.
            cursor.execute("SET LOCAL lock_timeout TO DEFAULT")
    # Read anew: a query that had to wait for the lock has seen the games as they were before.
    return read_states(slugs)


def read_states(slugs: Collection[str]) -> dict[str, GameState]:
    """The games' states by slug, in id order, not locked."""
    with prepared_cursor() as cursor:
        cursor.execute(_STATES, [list(slugs)])
        states = [_state_from(row) for row in cursor]
    return {state.game.slug: state for state in states}


_STATE_FIELDS = GameState._meta.concrete_fields
_GAME_FIELDS = Game._meta.concrete_fields
_STATES = f"""
    SELECT {", ".join(f'state."{field.column}"' for field in _STATE_FIELDS)},
           {", ".join(f'game."{field.column}"' for field in _GAME_FIELDS)}
      FROM ratings_gamestate state JOIN ratings_game game ON game.id = state.game_id
     WHERE game.slug = ANY(%s) ORDER BY state.game_id
"""


def _state_from(row: tuple[Any, ...]) -> GameState:
    """A state with its game; a queryset takes several times as long, and every report asks."""
    length = len(_STATE_FIELDS)
    state = GameState.from_db(
        connection.alias, [field.attname for field in _STATE_FIELDS], row[:length]
    )
    state.game = Game.from_db(
        connection.alias, [field.attname for field in _GAME_FIELDS], row[length:]
    )
    return state


def read_reports(source_id: int, external_ids: Collection[str]) -> dict[str, tuple[int, Any]]:
    """(match id, canonical report) of what a source has reported before, by external id.

    Plain SQL, as all that every single report asks: a queryset takes longer than its query.
    """
    with cursor_for(len(external_ids)) as cursor:
        cursor.execute(
            """
            SELECT external_id, id, report FROM ratings_match
             WHERE source_id = %s AND external_id = ANY(%s)
            """,
            [source_id, list(external_ids)],
        )
        return {row[0]: (row[1], json.loads(row[2])) for row in cursor}


def read_allowed_games(source_id: int) -> set[str]:
    """The slugs of the games that a source may report; empty for all of them."""
    with prepared_cursor() as cursor:
        cursor.execute(
            """
            SELECT game.slug FROM ratings_source_games allowed
              JOIN ratings_game game ON game.id = allowed.game_id
             WHERE allowed.source_id = %s
            """,
            [source_id],
        )
        return {slug for (slug,) in cursor}


class End(NamedTuple):
    """Where a game's history ends, None where it has not begun, and whether reports wait."""

    newest: Position | None
    has_waiting: bool


def read_end(game: Game) -> End:
    with prepared_cursor() as cursor:
        cursor.execute(
            """
            SELECT newest.played_at, newest.id,
                   EXISTS (SELECT FROM ratings_match WHERE game_id = %s AND status = 'waiting')
              FROM (SELECT) AS one
              LEFT JOIN LATERAL (
                   SELECT played_at, id FROM ratings_match
                    WHERE game_id = %s AND status <> 'waiting'
                    ORDER BY played_at DESC, id DESC LIMIT 1) AS newest ON true
            """,
            [game.pk, game.pk],
        )
        [(played_at, match_id, has_waiting)] = cursor.fetchall()
    return End(None if match_id is None else Position(played_at, match_id), has_waiting)


def next_match_ids(count: int) -> list[int]:
    """Ids for new matches, ascending: among equal times, history goes by id."""
    with prepared_cursor() as cursor:
        cursor.execute(
            """
            SELECT array_agg(nextval(sequence))
              FROM generate_series(1, %s),
                   (SELECT pg_get_serial_sequence('ratings_match', 'id')::regclass) AS of (sequence)
            """,
            [count],
        )
        [(ids,)] = cursor.fetchall()
    return ids or []


_HISTORY = """
    SELECT m.id, m.played_at, m.termination, m.status, m.reason,
           p.player_id, p.team, p.place, p.owner_id,
           p.elo_before, p.mu_before, p.sigma_before, p.elo_after, p.mu_after, p.sigma_after
      FROM ratings_match m JOIN ratings_participation p ON p.match_id = m.id
     WHERE m.game_id = %s AND m.status <> 'waiting' AND (m.played_at, m.id) >= (%s, %s)
     ORDER BY m.played_at, m.id, p.id
"""


@contextmanager
def _streaming_cursor(query: str, params: Sequence[Any]) -> Iterator[Iterable[tuple[Any, ...]]]:
    """Rows from a server-side cursor; memory stays the same however many there are."""
    connection.ensure_connection()
    with (
        connection.wrap_database_errors,
        connection.connection.cursor(name="naiply_history", binary=True) as cursor,
    ):
        cursor.itersize = ROWS_AT_A_TIME
        cursor.execute(query, params)
        yield cursor


def count_history(game: Game, since: Position = BEGINNING) -> int:
    """How many matches the game's history has from a position on."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT count(*) FROM ratings_match
             WHERE game_id = %s AND status <> 'waiting' AND (played_at, id) >= (%s, %s)
            """,
            [game.pk, *since],
        )
        [count] = cursor.fetchone()
    return int(count)


def read_history(game: Game, since: Position = BEGINNING) -> Iterator[StoredMatch]:
    """The game's matches in history order, from a position on. Needs a transaction.

    Streams. What is written while it runs is not seen: the rows are those of its beginning.
    """
    with _streaming_cursor(_HISTORY, [game.pk, *since]) as rows:
        current: tuple[Any, ...] | None = None
        entries: list[Entry] = []
        changes: list[Change] = []
        for row in rows:
            if current is None or row[0] != current[0]:
                if current is not None:
                    yield _stored_match(current, entries, changes)
                current, entries, changes = row, [], []
            entries.append(Entry(row[5], row[6], row[7], row[8]))
            if row[12] is not None:
                changes.append(Change(row[5], row[9:12], row[12:15]))
        if current is not None:
            yield _stored_match(current, entries, changes)


def read_waiting(game: Game, since: Position = BEGINNING) -> list[PlayedMatch]:
    """The matches that wait outside the game's history, of those that belong after a position."""
    with prepared_cursor() as cursor:
        cursor.execute(
            """
            SELECT m.id, m.played_at, m.termination, p.player_id, p.team, p.place, p.owner_id
              FROM ratings_match m JOIN ratings_participation p ON p.match_id = m.id
             WHERE m.game_id = %s AND m.status = 'waiting' AND (m.played_at, m.id) >= (%s, %s)
             ORDER BY m.played_at, m.id, p.id
            """,
            [game.pk, *since],
        )
        return _played_matches(cursor)


class FullMatch(NamedTuple):
    """A stored match with all that staff may correct. `points` are by team number."""

    match: PlayedMatch
    status: str
    termination: str
    points: dict[int, Decimal | None]


def read_matches(game: Game, ids: Collection[int]) -> dict[int, FullMatch]:
    """These matches of the game, by id; those of other games are left out."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT m.id, m.played_at, m.termination, m.status,
                   p.player_id, p.team, p.place, p.owner_id, p.points
              FROM ratings_match m JOIN ratings_participation p ON p.match_id = m.id
             WHERE m.game_id = %s AND m.id = ANY(%s)
             ORDER BY m.id, p.id
            """,
            [game.pk, list(ids)],
        )
        found = {}
        for (match_id, played_at, termination, status), group in groupby(
            cursor, key=itemgetter(0, 1, 2, 3)
        ):
            parts = list(group)
            fact = fact_of(termination, is_void=status == Status.VOID)
            entries = [Entry(*part[4:8]) for part in parts]
            found[match_id] = FullMatch(
                PlayedMatch(played_at, entries, fact, match_id),
                status,
                termination,
                {part[5]: part[8] for part in parts},
            )
        return found


def _played_matches(rows: Iterable[tuple[Any, ...]]) -> list[PlayedMatch]:
    matches = []
    for (match_id, played_at, termination), parts in groupby(rows, key=itemgetter(0, 1, 2)):
        entries = [Entry(*part[3:]) for part in parts]
        matches.append(PlayedMatch(played_at, entries, fact_of(termination), match_id))
    return matches


def position_before_newest(game: Game, count: int) -> Position:
    """Where the newest so many matches of a game's history begin; the beginning if it has less."""
    with prepared_cursor() as cursor:
        cursor.execute(
            """
            SELECT played_at, id FROM ratings_match
             WHERE game_id = %s AND status <> 'waiting'
             ORDER BY played_at DESC, id DESC OFFSET %s LIMIT 1
            """,
            [game.pk, count],
        )
        row = cursor.fetchone()
    return Position(row[0], row[1] + 1) if row else BEGINNING


def _stored_match(
    row: tuple[Any, ...], entries: Sequence[Entry], changes: Sequence[Change]
) -> StoredMatch:
    match_id, played_at, termination, status, reason = row[:5]
    fact = fact_of(termination, is_void=status == Status.VOID)
    return StoredMatch(PlayedMatch(played_at, entries, fact, match_id), status, reason, changes)


def read_player_sets_since(game: Game, since: Position) -> set[tuple[int, ...]]:
    """Who played together at or after a position: each set of players once, ids ascending."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT DISTINCT players FROM ratings_match
             WHERE game_id = %s AND status <> 'waiting' AND (played_at, id) >= (%s, %s)
            """,
            [game.pk, *since],
        )
        return {tuple(players) for (players,) in cursor}


def read_ratings(game: Game, players: Collection[int] | None = None) -> dict[int, StoredRating]:
    """The game's ratings by player id: of these players, or of all."""
    with cursor_for(FEW if players is None else len(players)) as cursor:
        cursor.execute(
            """
            SELECT player_id, elo, mu, sigma_settled, last_played_at, won, drawn, lost,
                   peak_elo, peak_at, sigma, elo_shown, openskill_shown, is_bot, is_listed
              FROM ratings_rating
             WHERE game_id = %s
            """
            + ("" if players is None else " AND player_id = ANY(%s)"),
            [game.pk] if players is None else [game.pk, list(players)],
        )
        return {row[0]: StoredRating(Standing(*row[1:10]), *row[10:]) for row in cursor}


def read_skills_before(
    game: Game, players: Collection[int], position: Position
) -> dict[int, tuple[Skill, datetime]]:
    """What each player's last rated match before a position left him with, and when it was.

    Players without one are left out.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT wanted.player_id, last.elo_after, last.mu_after, last.sigma_after,
                   last.played_at
              FROM unnest(%s::bigint[]) AS wanted (player_id)
             CROSS JOIN LATERAL (
                   SELECT elo_after, mu_after, sigma_after, played_at
                     FROM ratings_participation
                    WHERE player_id = wanted.player_id AND game_id = %s
                      AND (played_at, match_id) < (%s, %s) AND elo_after IS NOT NULL
                    ORDER BY played_at DESC, match_id DESC LIMIT 1
                   ) AS last
            """,
            [list(players), game.pk, *position],
        )
        return {row[0]: (row[1:4], row[4]) for row in cursor}


def read_peaks_before(
    game: Game, players: Collection[int], position: Position
) -> dict[int, tuple[float, datetime]]:
    """The highest Elo after a rated match before a position, and when it was first reached."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT DISTINCT ON (player_id) player_id, elo_after, played_at
              FROM ratings_participation
             WHERE player_id = ANY(%s) AND game_id = %s
               AND (played_at, match_id) < (%s, %s) AND elo_after IS NOT NULL
             ORDER BY player_id, elo_after DESC, played_at, match_id
            """,
            [list(players), game.pk, *position],
        )
        return {row[0]: row[1:] for row in cursor}


def read_recent(
    game: Game, position: Position, wanted: Collection[tuple[int, ...]] | None
) -> Recent:
    """The rated matches in the 24 hours before a position, of these sets of players or of all."""
    joined, params = "", []
    if wanted is not None:
        joined = "JOIN (SELECT unnest(%s::text[])::bigint[] AS players) AS wanted USING (players)"
        params = [["{" + ",".join(map(str, players)) + "}" for players in wanted]]
    recent = Recent()
    with cursor_for(FEW if wanted is None else len(wanted)) as cursor:
        cursor.execute(
            f"""
            SELECT m.played_at, m.players FROM ratings_match m {joined}
             WHERE m.game_id = %s AND m.status = 'rated'
               AND m.played_at > %s AND (m.played_at, m.id) < (%s, %s)
             ORDER BY m.played_at, m.id
            """,
            [*params, game.pk, position.played_at - PAIR_WINDOW, *position],
        )
        for played_at, players in cursor:
            recent.add(played_at, tuple(players))
    return recent


def read_top(
    game: Game, system: str, count: int, without: Collection[int] = ()
) -> dict[int, tuple[int, float]]:
    """(shown number, exact rating) of the first players on a board, by id, the best first."""
    exact = exact_column(system)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT player_id, {exact}_shown, {exact} FROM ratings_rating
             WHERE game_id = %s AND is_listed AND player_id <> ALL(%s)
             ORDER BY {exact}_shown DESC, {exact} DESC, player_id LIMIT %s
            """,
            [game.pk, list(without), count],
        )
        return {row[0]: row[1:] for row in cursor}


def read_listing_facts(players: Collection[int]) -> dict[int, tuple[bool, bool]]:
    """(is_bot, is active) of each player."""
    with cursor_for(len(players)) as cursor:
        cursor.execute(
            "SELECT id, is_bot, status = %s FROM ratings_player WHERE id = ANY(%s)",
            [PlayerStatus.ACTIVE, list(players)],
        )
        return {row[0]: row[1:] for row in cursor}
