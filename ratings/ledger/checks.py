"""What the tables say twice, compared."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection

from ratings.models import Game

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
              FULL JOIN ({COUNTED}) AS counted USING (system, is_bot, shown)
             WHERE stored.count IS DISTINCT FROM counted.count
            """,
            [game.pk, game.pk, game.pk],
        )
        for system, is_bot, shown, stored, counted in cursor:
            kind = "bots" if is_bot else "people"
            yield f"board counts {stored or 0} {kind} at {system} {shown}, there are {counted}"
