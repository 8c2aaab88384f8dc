"""The stored history of a game, read as the replay takes it and written in bulk.

Only SQL: what a rating is stands in `systems`, who may write it in `recording`, `history` and
`decay`. All of it is set-based, so one match and ten thousand go the same way. Whoever writes
holds the game's lock (`lock_games`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection
from psycopg.types.json import Jsonb

from ratings.models import Game, GameState, PlayerStatus, Status, System
from ratings.systems import decay
from ratings.systems.engine import engine
from ratings.systems.match import Skill
from ratings.systems.openskill import displayed_rating
from ratings.systems.replay import (
    CANCELLED,
    FRIENDLY,
    PAIR_WINDOW,
    VOID,
    Change,
    Entry,
    Outcome,
    PlayedMatch,
    Recent,
    Standing,
)

CHANNEL = "naiply"
"""NOTIFY channel; the payload is `<game slug> <version>`, delivered at commit."""

ROWS_AT_A_TIME = 10_000


class Position(NamedTuple):
    """A place in a game's history. A match that is not stored yet comes after its equals."""

    played_at: datetime
    id: int = 0


BEGINNING = Position(datetime(1, 1, 1, tzinfo=UTC))
"""Before every match."""


class StoredMatch(NamedTuple):
    """A match with what the ledger says of it. `changes` is empty where it is not rated."""

    match: PlayedMatch
    status: str
    reason: str
    changes: Sequence[Change]


@dataclass(frozen=True, slots=True)
class NewMatch:
    """A match about to be stored. `teams` is what `points` are looked up in, by team number."""

    match: PlayedMatch
    source_id: int
    external_id: str
    received_at: datetime
    termination: str
    report: Jsonb
    points: Mapping[int, Decimal | None]


@dataclass(frozen=True, slots=True)
class StoredRating:
    """A player's row in `Rating`, and what decides whether it is listed."""

    standing: Standing
    sigma: float
    elo_shown: int
    openskill_shown: int
    is_bot: bool
    is_listed: bool


def lock_games(slugs: Collection[str]) -> dict[str, GameState]:
    """The games' states by slug, locked until the transaction ends; always in id order.

    Unknown slugs are left out.
    """
    states = (
        GameState.objects.select_for_update(of=("self",))
        .filter(game__slug__in=slugs)
        .select_related("game")
        .order_by("game_id")
    )
    return {state.game.slug: state for state in states}


def newest_position(game: Game) -> Position | None:
    """Where the game's history ends; None where it has not begun."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT played_at, id FROM ratings_match
             WHERE game_id = %s AND status <> 'waiting'
             ORDER BY played_at DESC, id DESC LIMIT 1
            """,
            [game.pk],
        )
        row = cursor.fetchone()
    return Position(*row) if row else None


def next_match_ids(count: int) -> list[int]:
    """Ids for new matches, ascending: among equal times, history goes by id."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT nextval(pg_get_serial_sequence('ratings_match', 'id'))
              FROM generate_series(1, %s)
            """,
            [count],
        )
        return [id for (id,) in cursor.fetchall()]


# Reading

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
    with connection.connection.cursor(name="naiply_history", binary=True) as cursor:
        cursor.itersize = ROWS_AT_A_TIME
        cursor.execute(query, params)
        yield cursor


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


def _stored_match(
    row: tuple[Any, ...], entries: Sequence[Entry], changes: Sequence[Change]
) -> StoredMatch:
    match_id, played_at, termination, status, reason = row[:5]
    fact = fact_of(termination, is_void=status == Status.VOID)
    return StoredMatch(PlayedMatch(played_at, entries, fact, match_id), status, reason, changes)


def fact_of(termination: str, *, is_void: bool = False) -> str:
    """What keeps a match from being rated whatever came before it; empty for nothing."""
    if is_void:
        return VOID
    return termination if termination in (CANCELLED, FRIENDLY) else ""


def status_of(reason: str) -> tuple[str, str]:
    """(status, reason) as a match stores them, from the reason a replay gave."""
    if reason == VOID:
        return Status.VOID.value, ""
    return (Status.UNRATED.value if reason else Status.RATED.value), reason


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
    with connection.cursor() as cursor:
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


def read_recent(game: Game, position: Position, wanted: Collection[tuple[int, ...]]) -> Recent:
    """The rated matches of these sets of players in the 24 hours before a position."""
    recent = Recent()
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT m.played_at, m.players
              FROM (SELECT unnest(%s::text[])::bigint[] AS players) AS wanted
              JOIN ratings_match m USING (players)
             WHERE m.game_id = %s AND m.status = 'rated'
               AND m.played_at > %s AND (m.played_at, m.id) < (%s, %s)
             ORDER BY m.played_at, m.id
            """,
            [
                ["{%s}" % ",".join(map(str, players)) for players in wanted],
                game.pk,
                position.played_at - PAIR_WINDOW,
                *position,
            ],
        )
        for played_at, players in cursor:
            recent.add(played_at, tuple(players))
    return recent


def read_listing_facts(players: Collection[int]) -> dict[int, tuple[bool, bool]]:
    """(is_bot, is active) of each player."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, is_bot, status = %s FROM ratings_player WHERE id = ANY(%s)",
            [PlayerStatus.ACTIVE, list(players)],
        )
        return {row[0]: row[1:] for row in cursor}


# Writing


def insert_matches(game: Game, new: Sequence[NewMatch], outcomes: Mapping[int, Outcome]) -> None:
    """Stores matches with their ledger rows. `outcomes` is by match id."""
    _copy(
        "ratings_match",
        {
            "id": "int8",
            "game_id": "int8",
            "source_id": "int8",
            "external_id": "text",
            "played_at": "timestamptz",
            "received_at": "timestamptz",
            "termination": "text",
            "status": "text",
            "reason": "text",
            "report": "jsonb",
            "players": "int8[]",
        },
        (
            (
                stored.match.id,
                game.pk,
                stored.source_id,
                stored.external_id,
                stored.match.played_at,
                stored.received_at,
                stored.termination,
                *status_of(outcomes[stored.match.id].reason),
                stored.report,
                sorted([entry.player for entry in stored.match.entries]),
            )
            for stored in new
        ),
    )
    _copy(
        "ratings_participation",
        {
            "match_id": "int8",
            "game_id": "int8",
            "played_at": "timestamptz",
            "player_id": "int8",
            "owner_id": "int8",
            "team": "int2",
            "place": "int4",
            "points": "numeric",
            **dict.fromkeys(SKILL_COLUMNS, "float8"),
        },
        (
            (
                outcome.match.id,
                game.pk,
                outcome.match.played_at,
                player,
                owner,
                team,
                place,
                stored.points[team],
                *skills,
            )
            for stored in new
            for outcome in (outcomes[stored.match.id],)
            for (player, team, place, owner), skills in zip(
                outcome.match.entries, _skills(outcome), strict=True
            )
        ),
    )


SKILL_COLUMNS = ("elo_before", "mu_before", "sigma_before", "elo_after", "mu_after", "sigma_after")


def _copy(table: str, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Sends rows by COPY, in the binary format: the floats go as they are, and it is faster."""
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)") as copy,
    ):
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)


def update_matches(outcomes: Iterable[Outcome]) -> None:
    """Rewrites the status and the ledger rows of matches that are stored already."""
    outcomes = list(outcomes)
    statuses = [(outcome.match.id, *status_of(outcome.reason)) for outcome in outcomes]
    rows = [
        (outcome.match.id, entry.player, *skills)
        for outcome in outcomes
        for entry, skills in zip(outcome.match.entries, _skills(outcome), strict=True)
    ]
    with connection.cursor() as cursor:
        for part in _parts(statuses):
            cursor.execute(
                """
                UPDATE ratings_match SET status = new.status, reason = new.reason
                  FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS new (id, status, reason)
                 WHERE ratings_match.id = new.id
                   AND (ratings_match.status, ratings_match.reason) <> (new.status, new.reason)
                """,
                _columns(part),
            )
        for part in _parts(rows):
            cursor.execute(
                """
                UPDATE ratings_participation
                   SET elo_before = new.elo_before, mu_before = new.mu_before,
                       sigma_before = new.sigma_before, elo_after = new.elo_after,
                       mu_after = new.mu_after, sigma_after = new.sigma_after
                  FROM unnest(%s::bigint[], %s::bigint[], %s::float8[], %s::float8[],
                              %s::float8[], %s::float8[], %s::float8[], %s::float8[])
                       AS new (match_id, player_id, elo_before, mu_before, sigma_before,
                               elo_after, mu_after, sigma_after)
                 WHERE ratings_participation.match_id = new.match_id
                   AND ratings_participation.player_id = new.player_id
                """,
                _columns(part),
            )


def _skills(outcome: Outcome) -> list[tuple[float | None, ...]]:
    if not outcome.changes:
        return [(None,) * 6] * len(outcome.match.entries)
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
    counts: dict[tuple[str, bool, int], int] = defaultdict(int)
    for player, standing in standings.items():
        stored = old.get(player)
        if stored is not None and stored.is_listed:
            counts[System.ELO, stored.is_bot, stored.elo_shown] -= 1
            counts[System.OPENSKILL, stored.is_bot, stored.openskill_shown] -= 1
        if standing.last_played_at is None or standing.peak_at is None:
            gone.append(player)
            continue
        is_bot, is_active = facts[player]
        is_listed = is_active and is_recent(state, standing.last_played_at)
        sigma = decay.sigma_at(standing.sigma, standing.last_played_at, state.decayed_to)
        if is_listed:
            counts[System.ELO, is_bot, round(standing.elo)] += 1
            counts[System.OPENSKILL, is_bot, round(displayed_rating(standing.mu, sigma))] += 1
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
    with connection.cursor() as cursor:
        for part in _parts(rows):
            cursor.execute(_UPSERT_RATINGS, [state.game_id, *_columns(part)])
        if gone:
            cursor.execute(
                "DELETE FROM ratings_rating WHERE game_id = %s AND player_id = ANY(%s)",
                [state.game_id, gone],
            )
    _add_to_counts(state.game_id, counts)


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


def listed_since(state: GameState) -> datetime | None:
    """Whose last rated match is older leaves the board; None where nobody does."""
    idle_days = state.game.idle_days
    return None if idle_days is None else state.decayed_to - timedelta(days=idle_days)


def is_recent(state: GameState, last_played_at: datetime) -> bool:
    """Whether a last rated match at that time keeps a player on the board."""
    since = listed_since(state)
    return since is None or last_played_at >= since


def _add_to_counts(game_id: int, changes: Mapping[tuple[str, bool, int], int]) -> None:
    changed = [(*key, change) for key, change in sorted(changes.items()) if change]
    if not changed:
        return
    with connection.cursor() as cursor:
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
            f" SELECT %s, system, is_bot, shown, count FROM ({_COUNTED}) AS counted",
            [game.pk, game.pk, game.pk],
        )


def read_contradictions(game: Game) -> Iterator[str]:
    """What the tables say twice and not alike, in words."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT m.id FROM ratings_match m JOIN ratings_participation p ON p.match_id = m.id
             WHERE m.game_id = %s
             GROUP BY m.id
            HAVING array_agg(p.player_id ORDER BY p.player_id) <> m.players
                OR count(DISTINCT (p.team, p.place)) <> count(DISTINCT p.team)
             UNION ALL
            SELECT m.id FROM ratings_match m
             WHERE m.game_id = %s
               AND NOT EXISTS (SELECT FROM ratings_participation p WHERE p.match_id = m.id)
            """,
            [game.pk, game.pk],
        )
        for (match_id,) in cursor:
            yield f"match {match_id}: its participations do not agree with it"


def read_wrong_counts(game: Game) -> Iterator[str]:
    """Where the counts of the board differ from counting its rows, in words."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT system, is_bot, shown, stored.count, coalesce(counted.count, 0)
              FROM (SELECT system, is_bot, shown, count FROM ratings_pointscount
                     WHERE game_id = %s) AS stored
              FULL JOIN ({_COUNTED}) AS counted USING (system, is_bot, shown)
             WHERE stored.count IS DISTINCT FROM counted.count
            """,
            [game.pk, game.pk, game.pk],
        )
        for system, is_bot, shown, stored, counted in cursor:
            kind = "bots" if is_bot else "people"
            yield f"board counts {stored or 0} {kind} at {system} {shown}, there are {counted}"


_COUNTED = """
    SELECT 'elo' AS system, is_bot, elo_shown AS shown, count(*) AS count FROM ratings_rating
     WHERE game_id = %s AND is_listed GROUP BY is_bot, elo_shown
    UNION ALL
    SELECT 'openskill', is_bot, openskill_shown, count(*) FROM ratings_rating
     WHERE game_id = %s AND is_listed GROUP BY is_bot, openskill_shown
"""


def announce(state: GameState) -> None:
    """Moves the game's version on, and tells every process that listens, at commit."""
    state.version += 1
    state.engine = engine()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ratings_gamestate SET version = %s, decayed_to = %s, engine = %s"
            " WHERE game_id = %s",
            [state.version, state.decayed_to, state.engine, state.game_id],
        )
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, f"{state.game.slug} {state.version}"])


def _parts(rows: Sequence[tuple[Any, ...]]) -> Iterator[Sequence[tuple[Any, ...]]]:
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        yield rows[start : start + ROWS_AT_A_TIME]


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
