"""Made-up data at the sizes of the design, always the same."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.db import connection

from ratings import ledger
from ratings.models import Game, GameState, Source
from ratings.reports import Report, ReportedTeam

FIRST_MATCH = datetime(2026, 1, 1, tzinfo=UTC)


def source() -> Source:
    return Source.objects.get_or_create(name="bench", defaults={"may_create_players": True})[0]


def empty() -> None:
    """Forgets all players and matches, so that no benchmark carries another's rows."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE ratings_player, ratings_match, ratings_pointscount CASCADE")


def two_player_reports(count: int, *, players: int, game: str = "brisca") -> Iterator[Report]:
    """Matches twenty seconds apart between players of differing strength; one in ten is a draw."""
    rng = random.Random(count)
    strengths = [rng.gauss(0, 1) for _ in range(players)]
    for number in range(count):
        first, second = rng.sample(range(players), 2)
        is_upset = rng.random() < 1 / (1 + 2.718 ** (strengths[first] - strengths[second]))
        places = (1, 1) if rng.random() < 0.1 else (2, 1) if is_upset else (1, 2)
        yield Report(
            game,
            f"bench-{number}",
            (
                ReportedTeam((f"p{first}",), places[0]),
                ReportedTeam((f"p{second}",), places[1]),
            ),
            FIRST_MATCH + timedelta(seconds=20 * number),
        )


def write_file(path: Path, count: int, *, players: int) -> None:
    """The same matches as a JSONL file."""
    with path.open("w") as file:
        for report in two_player_reports(count, players=players):
            teams = [{"players": team.players, "place": team.place} for team in report.teams]
            line = {
                "game": report.game,
                "external_id": report.external_id,
                "played_at": report.played_at.isoformat(),
                "teams": teams,
            }
            file.write(json.dumps(line) + "\n")


def reports_of_one(count: int, *, opponents: int, until: datetime) -> Iterator[Report]:
    """Matches at Brisca of one player, `p0`, two minutes and a half apart, against ever others."""
    rng = random.Random(count)
    first = until - timedelta(seconds=150 * count)
    for number in range(count):
        places = (1, 1) if rng.random() < 0.1 else (1, 2) if rng.random() < 0.5 else (2, 1)
        yield Report(
            "brisca",
            f"one-{number}",
            (
                ReportedTeam(("p0",), places[0]),
                ReportedTeam((f"p{rng.randint(1, opponents)}",), places[1]),
            ),
            first + timedelta(seconds=150 * number),
        )


def fill_board(game: Game, *, rated: int, sharing: int) -> None:
    """So many ratings in a game, of which `sharing` show, and are, exactly 1200.

    One in ten is a bot. Half of them have been away for more than the grace period.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT setseed(0.5)")
        cursor.execute(
            """
            INSERT INTO ratings_player
                (handle, handle_key, handle_skeleton, name, is_bot, status, created_at)
            SELECT h, h, h, h, n %% 10 = 0, 'active', now()
              FROM (SELECT n, 'b' || n AS h FROM generate_series(1, %s) AS n) AS numbered
            """,
            [rated],
        )
        cursor.execute(
            """
            INSERT INTO ratings_rating
                (player_id, game_id, elo, mu, sigma_settled, sigma, won, drawn, lost, peak_elo,
                 peak_at, last_played_at, is_bot, is_listed)
            SELECT id, %s, elo, mu, sigma, sigma, 5, 2, 5, elo + 10, played_at, played_at,
                   is_bot, true
              FROM (SELECT id, is_bot,
                           CASE WHEN place <= %s THEN 1200 ELSE 1200 + 300 * z END AS elo,
                           CASE WHEN place <= %s THEN 25 ELSE 25 + 8 * z END AS mu,
                           CASE WHEN place <= %s THEN 8 ELSE 3 + y END AS sigma,
                           %s::timestamptz - (CASE WHEN place %% 2 = 0 THEN 60 ELSE 6 END)
                               * interval '24 hours' AS played_at
                      FROM (SELECT id, is_bot,
                                   row_number() OVER (ORDER BY md5(id::text)) AS place,
                                   sqrt(-2 * ln(1 - random())) * cos(6.283 * random()) AS z,
                                   random() AS y
                              FROM ratings_player WHERE handle LIKE 'b%%') AS drawn) AS made
            """,
            [game.pk, sharing, sharing, sharing, GameState.objects.get(game=game).decayed_to],
        )
        ledger.recount(game)
    vacuum()


def vacuum() -> None:
    """What autovacuum does in its own time: statistics, and the map of pages seen by all."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
