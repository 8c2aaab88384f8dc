"""What the tables say twice, compared."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection

from ratings.ledger.rows import LONGEST_WALK
from ratings.ledger.segments import exact_column
from ratings.models import Game, System

COUNTED = """
    SELECT 'elo' AS system, is_bot, elo_shown AS shown, count(*) AS count FROM ratings_rating
     WHERE game_id = %s AND is_listed GROUP BY is_bot, elo_shown
    UNION ALL
    SELECT 'openskill', is_bot, openskill_shown, count(*) FROM ratings_rating
     WHERE game_id = %s AND is_listed GROUP BY is_bot, openskill_shown
"""


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
                OR count(DISTINCT p.team) < 2
             UNION ALL
            SELECT m.id FROM ratings_match m
             WHERE m.game_id = %s
               AND NOT EXISTS (SELECT FROM ratings_participation p WHERE p.match_id = m.id)
             UNION ALL
            SELECT m.id FROM ratings_match m
             WHERE m.game_id = %s AND m.status = 'waiting'
               AND EXISTS (SELECT FROM ratings_participation p
                            WHERE p.match_id = m.id AND p.elo_before IS NOT NULL)
            """,
            [game.pk, game.pk, game.pk],
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
              FULL JOIN ({COUNTED}) AS counted USING (system, is_bot, shown)
             WHERE stored.count IS DISTINCT FROM counted.count
            """,
            [game.pk, game.pk, game.pk],
        )
        for system, is_bot, shown, stored, counted in cursor:
            kind = "bots" if is_bot else "people"
            yield f"board counts {stored or 0} {kind} at {system} {shown}, there are {counted}"


def read_wrong_segments(game: Game) -> Iterator[str]:
    """Where the segments of a great tie differ from counting its players, in words."""
    for system in System.values:
        exact = exact_column(system)
        with connection.cursor() as cursor:
            cursor.execute(
                f"""
                SELECT segment.shown, segment.from_exact, segment.from_player,
                       segment.people, segment.bots, counted.people, counted.bots
                  FROM (SELECT *, lead(from_exact, 1, '-Infinity') OVER tie AS to_exact,
                               lead(from_player, 1, 0) OVER tie AS to_player
                          FROM ratings_tiesegment WHERE game_id = %s AND system = %s
                        WINDOW tie AS (PARTITION BY shown
                                       ORDER BY from_exact DESC, from_player)) AS segment
                 CROSS JOIN LATERAL (
                       SELECT count(*) FILTER (WHERE NOT is_bot) AS people,
                              count(*) FILTER (WHERE is_bot) AS bots
                         FROM ratings_rating
                        WHERE game_id = %s AND is_listed AND {exact}_shown = segment.shown
                          AND (segment.from_exact > {exact} OR (segment.from_exact = {exact}
                               AND segment.from_player <= player_id))
                          AND (segment.to_exact < {exact} OR (segment.to_exact = {exact}
                               AND segment.to_player > player_id))) AS counted
                 WHERE (segment.people, segment.bots) <> (counted.people, counted.bots)
                """,
                [game.pk, system, game.pk],
            )
            for shown, from_exact, from_player, people, bots, *counted in cursor:
                yield (
                    f"the tie at {system} {shown} from ({from_exact}, {from_player}) counts "
                    f"{people} people and {bots} bots, there are {counted[0]} and {counted[1]}"
                )
        with connection.cursor() as cursor:
            cursor.execute(
                """
                SELECT shown, coalesce(tie.size, 0), coalesce(segments.size, 0)
                  FROM (SELECT shown, sum(count)::bigint AS size FROM ratings_pointscount
                         WHERE game_id = %s AND system = %s GROUP BY shown) AS tie
                  FULL JOIN (SELECT shown, sum(people + bots)::bigint AS size
                               FROM ratings_tiesegment
                              WHERE game_id = %s AND system = %s GROUP BY shown) AS segments
                 USING (shown)
                 WHERE tie.size IS DISTINCT FROM segments.size
                   AND (tie.size > %s OR segments.size IS NOT NULL)
                """,
                [game.pk, system, game.pk, system, LONGEST_WALK],
            )
            for shown, players, counted_players in cursor:
                yield (
                    f"the tie at {system} {shown} counts {counted_players} of {players} players "
                    "in its segments"
                )
