"""Sources, reports and matches for tests, in a line each."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any

from django.apps import apps
from django.db import connection, transaction

from ratings import ledger
from ratings.ledger import SKILL_COLUMNS
from ratings.models import (
    Game,
    GameState,
    Job,
    Match,
    Participation,
    Player,
    PointsCount,
    Rating,
    Source,
    TieSegment,
)
from ratings.recording import Answer, Receipt, record_matches
from ratings.reports import Report, ReportedTeam

NOW = datetime(2026, 7, 6, 20, 0, tzinfo=UTC)
"""What time it is in these tests where they do not say otherwise: a Monday evening."""

MONDAY = datetime(2026, 7, 6, tzinfo=UTC)

RATING_COLUMNS = (
    "elo",
    "mu",
    "sigma_settled",
    "sigma",
    "elo_shown",
    "openskill",
    "openskill_shown",
    "won",
    "drawn",
    "lost",
    "peak_elo",
    "peak_at",
    "last_played_at",
    "is_bot",
    "is_listed",
)

_numbers = count(1)


def today(hour: int, minute: int = 0, second: int = 0) -> datetime:
    return MONDAY + timedelta(hours=hour, minutes=minute, seconds=second)


def open_game(
    slug: str = "brisca", *, decayed_to: datetime = MONDAY, idle_days: int | None = None
) -> Game:
    """One of the five games, set to these tests' time; nobody is off its board for idleness."""
    Game.objects.filter(slug=slug).update(idle_days=idle_days)
    GameState.objects.filter(game__slug=slug).update(decayed_to=decayed_to)
    return Game.objects.get(slug=slug)


def make_source(
    name: str = "mesa-1", *, may_create_players: bool = True, games: Iterable[Game] = ()
) -> Source:
    source = Source.objects.create(name=name, may_create_players=may_create_players)
    source.games.set(games)
    return source


def team(*players: str, place: int, points: str | None = None) -> ReportedTeam:
    return ReportedTeam(players, place, None if points is None else Decimal(points))


def make_report(
    teams: Sequence[ReportedTeam],
    *,
    at: datetime | None = NOW,
    external_id: str | None = None,
    game: str = "brisca",
    termination: str = "normal",
) -> Report:
    if external_id is None:
        external_id = f"m-{next(_numbers)}"
    return Report(game, external_id, tuple(teams), at, termination)


def duel(winner: str, loser: str, at: datetime | None = NOW, **fields: Any) -> Report:
    return make_report([team(winner, place=1), team(loser, place=2)], at=at, **fields)


def draw(one: str, other: str, at: datetime | None = NOW, **fields: Any) -> Report:
    return make_report([team(one, place=1), team(other, place=1)], at=at, **fields)


def record(*reports: Report, source: Source, at: datetime = NOW) -> list[Receipt]:
    """Records reports that all have to be new and sound."""
    receipts = record_matches(reports, source=source, at=at)
    assert {receipt.answer for receipt in receipts} <= {Answer.RECORDED}, receipts
    return receipts


def seat(
    game, elo=1200.0, *, mu=25.0, sigma=8.0, is_bot=False, is_listed=True, handle=None
) -> Rating:
    """A rating for `fill_board`, of a player of its own."""
    return Rating(
        game=game,
        player=Player(handle=handle or "", is_bot=is_bot),
        elo=elo,
        mu=mu,
        sigma_settled=sigma,
        sigma=sigma,
        won=1,
        peak_elo=max(elo, 2000.0),
        peak_at=NOW,
        last_played_at=NOW,
        is_bot=is_bot,
        is_listed=is_listed,
    )


def fill_board(game: Game, *seats: Rating) -> None:
    """Seats players at a board, and counts them as recording would have."""
    first = Player.objects.count()
    for number, rating in enumerate(seats, start=first):
        player = rating.player
        player.handle = player.handle or f"p{number}"
        player.handle_key = player.handle_skeleton = player.handle
        player.name = player.handle
    Player.objects.bulk_create(rating.player for rating in seats)
    for rating in seats:
        rating.player_id = rating.player.pk
    Rating.objects.bulk_create(seats)
    ledger.recount(game)


@contextmanager
def undone() -> Iterator[None]:
    """What the block writes is gone after it, so that one test can try many histories."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def count_rows() -> dict[str, int]:
    """How many rows each table of the domain holds; but for jobs, which are told of apart."""
    return {
        model.__name__: model._default_manager.count()
        for model in apps.get_app_config("ratings").get_models()
        if model is not Job
    }


def ratings_of(game: Game) -> dict[str, dict[str, Any]]:
    """Every stored number of every rating, by handle."""
    rows = Rating.objects.filter(game=game).values("player__handle", *RATING_COLUMNS)
    return {row.pop("player__handle"): row for row in rows}


def ledger_of(game: Game) -> dict[str, Any]:
    """What the ledger says of each match, by external id."""
    ledger: dict[str, Any] = {
        match.external_id: (match.status, match.reason, {})
        for match in Match.objects.filter(game=game)
    }
    rows = Participation.objects.filter(game=game).values_list(
        "match__external_id", "player__handle", *SKILL_COLUMNS
    )
    for external_id, handle, *skills in rows:
        ledger[external_id][2][handle] = tuple(skills)
    return ledger


def counts_of(game: Game) -> dict[tuple[str, bool, int], int]:
    """The counts of the board by system, kind and shown number."""
    rows = PointsCount.objects.filter(game=game)
    return {(row.system, row.is_bot, row.shown): row.count for row in rows}


def everything_of(game: Game) -> tuple[Any, Any, Any]:
    """All that is derived from a game's history, without any id: equal histories, equal values."""
    return ratings_of(game), ledger_of(game), counts_of(game)


def rows_of(game: Game) -> dict[str, list[str]]:
    """Every column of every row of a game's history and boards; of the own ids, the matches' only.

    As the database writes it, every double in full: equal rows, equal bytes.
    """
    rows = {}
    for model in (Match, Participation, Rating, PointsCount, TieSegment):
        own_id = [] if model is Match else ["id"]
        query = "SELECT (to_jsonb(it) - %s::text[])::text FROM {} it WHERE game_id = %s"
        with connection.cursor() as cursor:
            cursor.execute(query.format(model._meta.db_table), [own_id, game.pk])
            rows[model.__name__] = sorted(row for (row,) in cursor)
    return rows
