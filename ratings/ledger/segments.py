"""Segments of great ties: counts inside one number, where the count of the number is too coarse."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from django.db import connection

from ratings.ledger.cursors import cursor_for
from ratings.ledger.rows import LONGEST_WALK
from ratings.models import Game, System

SEGMENT = LONGEST_WALK // 2

type Number = tuple[str, int]
"""(system, shown number)"""


class Move(NamedTuple):
    """A listed player who came to a number (change 1) or left it (-1)."""

    system: str
    shown: int
    exact: float
    player: int
    is_bot: bool
    change: int


def exact_column(system: str) -> str:
    """The column of Rating that orders a board of this system inside a tie."""
    return "elo" if system == System.ELO else "openskill"


def keep_segments(game_id: int, moves: Collection[Move]) -> None:
    """Carries moves into the segments; makes and removes segments where a tie grew or shrank.

    After the ratings and the counts are written. One small query where no tie is great.
    """
    sizes = _great_ties(game_id, {(move.system, move.shown) for move in moves})
    if not sizes:
        return
    _apply([move for move in moves if (move.system, move.shown) in sizes], game_id)
    for number, (size, longest) in sizes.items():
        if size < SEGMENT:
            remove_segments(game_id, number)
        elif longest is None or _longest(game_id, number) > LONGEST_WALK:
            make_segments(game_id, number)


def _great_ties(game_id: int, numbers: Iterable[Number]) -> dict[Number, tuple[int, int | None]]:
    """How many share each of these numbers that is a great tie, and its longest segment."""
    systems, shown = zip(*sorted(numbers), strict=True)
    with cursor_for(len(systems)) as cursor:
        cursor.execute(
            """
            SELECT system, shown, tie.size, segment.longest
              FROM unnest(%(systems)s::text[], %(shown)s::int[]) AS number (system, shown)
             CROSS JOIN LATERAL (
                   SELECT coalesce(sum(count), 0)::bigint AS size FROM ratings_pointscount
                    WHERE game_id = %(game)s AND system = number.system
                      AND shown = number.shown) AS tie
             CROSS JOIN LATERAL (
                   SELECT max(people + bots) AS longest FROM ratings_tiesegment
                    WHERE game_id = %(game)s AND system = number.system
                      AND shown = number.shown) AS segment
             WHERE tie.size > %(walk)s OR segment.longest IS NOT NULL
            """,
            {
                "systems": list(systems),
                "shown": list(shown),
                "game": game_id,
                "walk": LONGEST_WALK,
            },
        )
        return {(row[0], row[1]): (row[2], row[3]) for row in cursor}


def _apply(moves: Collection[Move], game_id: int) -> None:
    with cursor_for(len(moves)) as cursor:
        cursor.execute(
            """
            UPDATE ratings_tiesegment AS segment
               SET people = segment.people + moved.people, bots = segment.bots + moved.bots
              FROM (SELECT home.id, sum(change) FILTER (WHERE NOT is_bot) AS people,
                           sum(change) FILTER (WHERE is_bot) AS bots
                      FROM unnest(%s::text[], %s::int[], %s::float8[], %s::bigint[], %s::bool[],
                                  %s::int[]) AS move (system, shown, exact, player, is_bot, change)
                     CROSS JOIN LATERAL (
                           SELECT id FROM ratings_tiesegment
                            WHERE game_id = %s AND system = move.system AND shown = move.shown
                              AND (from_exact > move.exact OR
                                   (from_exact = move.exact AND from_player <= move.player))
                            ORDER BY from_exact, from_player DESC LIMIT 1) AS home
                     GROUP BY home.id) AS totals
             CROSS JOIN LATERAL (SELECT coalesce(totals.people, 0) AS people,
                                        coalesce(totals.bots, 0) AS bots) AS moved
             WHERE segment.id = totals.id
            """,
            [*map(list, zip(*moves, strict=True)), game_id],
        )


def _longest(game_id: int, number: Number) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(max(people + bots), 0) FROM ratings_tiesegment"
            " WHERE game_id = %s AND system = %s AND shown = %s",
            [game_id, *number],
        )
        [longest] = cursor.fetchone()
    return int(longest)


def remove_segments(game_id: int, number: Number) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM ratings_tiesegment WHERE game_id = %s AND system = %s AND shown = %s",
            [game_id, *number],
        )


def make_segments(game_id: int, number: Number) -> None:
    """Cuts a tie into segments of equal length. Walks all of it."""
    remove_segments(game_id, number)
    system, shown = number
    exact = exact_column(system)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO ratings_tiesegment
                (game_id, system, shown, from_exact, from_player, people, bots)
            SELECT %(game)s, %(system)s, %(shown)s,
                   CASE WHEN place / %(length)s = 0 THEN 'Infinity' ELSE max(exact) END,
                   CASE WHEN place / %(length)s = 0 THEN 0
                        ELSE min(player_id) FILTER (WHERE place %% %(length)s = 0) END,
                   count(*) FILTER (WHERE NOT is_bot), count(*) FILTER (WHERE is_bot)
              FROM (SELECT {exact} AS exact, player_id, is_bot,
                           row_number() OVER (ORDER BY {exact} DESC, player_id) - 1 AS place
                      FROM ratings_rating
                     WHERE game_id = %(game)s AND is_listed AND {exact}_shown = %(shown)s) AS tie
             GROUP BY place / %(length)s
            """,
            {"game": game_id, "system": system, "shown": shown, "length": SEGMENT},
        )


def make_all_segments(game: Game) -> None:
    """Cuts every great tie of the game anew."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ratings_tiesegment WHERE game_id = %s", [game.pk])
        cursor.execute(
            """
            SELECT system, shown FROM ratings_pointscount WHERE game_id = %s
             GROUP BY system, shown HAVING sum(count) > %s
            """,
            [game.pk, LONGEST_WALK],
        )
        numbers = cursor.fetchall()
    for number in numbers:
        make_segments(game.pk, number)
