"""What is measured. Each function takes `full` and returns its figures."""

from __future__ import annotations

import random
from datetime import timedelta
from functools import partial
from itertools import batched

from django.db import connection
from openskill.models import PlackettLuce

from ratings import history, ledger
from ratings.decay import apply_decay
from ratings.models import Game, GameState, Rating, System
from ratings.recording import record_matches
from ratings.snapshots import snapshot
from ratings.standings import Board, Kind
from ratings.systems import openskill
from ratings.systems.match import rate_match
from tests.bench import data
from tests.bench.measure import Figure, seconds, worst_sql_milliseconds


def rate_four_players(*, full: bool) -> list[Figure]:
    """OpenSkill for four players by the general function, beside the openskill package."""
    rounds = 20_000 if full else 5_000
    beliefs = [(25.0, 8.0), (28.0, 4.0), (22.0, 3.0), (30.0, 6.0)]
    places = [4, 1, 3, 1]
    teams = [[belief] for belief in beliefs]
    skills = [[(1200.0, *belief)] for belief in beliefs]
    package = PlackettLuce(tau=0.3)
    package_teams = [[package.rating(mu=mu, sigma=sigma)] for mu, sigma in beliefs]

    def repeat(call):
        return lambda: [call() for _ in range(rounds)]

    ours = seconds(repeat(lambda: openskill.rate(teams, places)), runs=5) / rounds
    both = seconds(repeat(lambda: rate_match(skills, places)), runs=5) / rounds
    theirs = seconds(repeat(lambda: package.rate(package_teams, ranks=places)), runs=5) / rounds
    return [
        Figure(
            "OpenSkill rate(), 4 players",
            f"{ours * 1e6:.1f} µs",
            f"openskill package {theirs * 1e6:.1f} µs",
            theirs / ours,
            "ratio at least 4",
            theirs / ours >= 4,
        ),
        Figure(
            "both systems, 4 players",
            f"{both * 1e6:.1f} µs",
            f"openskill package {theirs * 1e6:.1f} µs",
            theirs / both,
            "none",
            True,
        ),
    ]


def record_and_verify(*, full: bool) -> list[Figure]:
    """Recording in bulk, and the verification of what was recorded."""
    matches = 1_000_000 if full else 100_000
    players = matches // 100
    source = data.source()
    reports = data.two_player_reports(matches, players=players)
    last = data.FIRST_MATCH + timedelta(days=400)

    rating_time = 0.0
    for batch in batched(reports, ledger.ROWS_AT_A_TIME):
        rating_time += seconds(lambda rows=batch: record_matches(rows, source=source, at=last))
    copy_time = seconds(_copy_history)
    data.vacuum()

    game = Game.objects.get(slug="brisca")
    found = []
    verify_time = seconds(lambda: found.append(history.verify(game)))
    if not found[0].is_clean:
        raise SystemExit(f"verify found {found[0].differences}")
    read_time = seconds(lambda: _read_history(game))
    rate = matches / rating_time
    return [
        Figure(
            f"recording {matches:,} two-player matches in batches",
            f"{rate:,.0f} matches/s",
            f"INSERT ... SELECT of the same rows {matches / copy_time:,.0f} matches/s",
            rating_time / copy_time,
            "at least 10,000 matches/s",
            rate >= 10_000,
        ),
        Figure(
            f"verify of {matches:,} two-player matches",
            f"{verify_time:.1f} s",
            f"reading the same rows {read_time:.1f} s",
            verify_time / read_time,
            "under 60 s for 1,000,000",
            verify_time * 1_000_000 / matches < 60,
        ),
    ]


def _copy_history() -> None:
    """The rows of the history written again, to tables with the same indexes and keys."""
    with connection.cursor() as cursor:
        for table in ("ratings_match", "ratings_participation"):
            cursor.execute(f"CREATE TEMP TABLE copy_{table} (LIKE {table} INCLUDING ALL)")
            cursor.execute(f"INSERT INTO copy_{table} OVERRIDING USER VALUE TABLE {table}")
        for table in ("ratings_match", "ratings_participation"):
            cursor.execute(f"DROP TABLE copy_{table}")


def _read_history(game: Game) -> None:
    with snapshot():
        for _ in ledger.read_history(game):
            pass


def late_result(*, full: bool) -> list[Figure]:
    """A result that arrives late, beside the verification of the same matches."""
    source = data.source()
    game = Game.objects.get(slug="cinquillo")
    matches = 20_000 if full else 5_000
    reports = list(data.two_player_reports(matches, players=200, game="cinquillo"))
    last = data.FIRST_MATCH + timedelta(days=400)
    record_matches(reports[1:], source=source, at=last)
    rerate_time = seconds(lambda: record_matches(reports[:1], source=source, at=last))
    verify_time = seconds(lambda: history.verify(game))
    return [
        Figure(
            f"a late result that re-rates {matches:,} matches, written back",
            f"{rerate_time:.2f} s",
            f"their replay by verify {verify_time:.2f} s",
            rerate_time / verify_time,
            "under 15 s for 100,000",
            rerate_time * 100_000 / matches < 15,
        )
    ]


def board_pages(*, full: bool) -> list[Figure]:
    """Any page of a great board, and any rank, with very many at one number; time in SQL."""
    rated, sharing = (1_000_000, 200_000) if full else (100_000, 20_000)
    game = Game.objects.get(slug="tute")
    data.fill_board(game, rated=rated, sharing=sharing)
    return [
        figure
        for system in System
        for figure in _board_figures(game, system, rated=rated, sharing=sharing)
    ]


def _board_figures(game: Game, system: System, *, rated: int, sharing: int) -> list[Figure]:
    board = Board(game, system)
    bots = Board(game, system, Kind.BOTS)
    tied = Rating.objects.filter(game=game, elo=1200).first()
    middle = board.page_of(board.standing(tied).rank + sharing // 2)
    rng = random.Random(1)
    pages = [1, 2, middle, middle + 1, rated // board.page_size]
    pages += [rng.randrange(rated // board.page_size) for _ in range(20)]
    ratings = [tied, *Rating.objects.filter(game=game).order_by("?")[:20]]

    exact = "elo" if system == System.ELO else "openskill"
    listed = Rating.objects.filter(game=game, is_listed=True)
    by_offset = listed.order_by(f"-{exact}_shown", f"-{exact}", "player_id")
    offset = (middle - 1) * board.page_size
    above = listed.filter(**{f"{exact}_shown__gt": board.shown(tied)})
    naive_page = worst_sql_milliseconds([lambda: list(by_offset[offset : offset + 50])])
    naive_rank = worst_sql_milliseconds([lambda: above.count()])

    def slowest(method, arguments):
        return worst_sql_milliseconds([partial(method, argument) for argument in arguments])

    measured = (
        ("the slowest of 25 pages", slowest(board.page, pages), "OFFSET", naive_page),
        ("... of bots only", slowest(bots.page, [n // 10 for n in pages]), "OFFSET", naive_page),
        ("the slowest of 21 ranks", slowest(board.standing, ratings), "count(*)", naive_rank),
        ("the slowest of 21 around one", slowest(board.around, ratings), "count(*)", naive_rank),
    )
    return [
        Figure(
            f"{system.label}, {rated:,} rated, {sharing:,} at one number: {what}",
            f"{time:.1f} ms",
            f"by {other} {naive:.1f} ms",
            naive / time,
            "under 10 ms",
            time < 10,
        )
        for what, time, other, naive in measured
    ]


def weekly_decay(*, full: bool) -> list[Figure]:
    """The weekly decay of half the ratings of a board, the other half having played."""
    figures = []
    for rated, limit, slug in ((100_000, 5, "siete-y-media"), (1_000_000, 60, "tute-subastado")):
        if rated > 100_000 and not full:
            continue
        game = Game.objects.get(slug=slug)
        data.empty()
        data.fill_board(game, rated=rated, sharing=rated // 5)
        # Away for 60 days: everybody's sigma moves on the first Monday.
        state = GameState.objects.get(game=game)
        Rating.objects.filter(game=game).update(
            last_played_at=state.decayed_to - timedelta(days=60)
        )
        data.vacuum()
        update_time = seconds(lambda g=game: Rating.objects.filter(game=g).update(won=6))
        data.vacuum()
        decay_time = seconds(
            lambda s=state, g=game: apply_decay(s.decayed_to + timedelta(days=7), games=[g])
        )
        figures.append(
            Figure(
                f"weekly decay of {rated:,} ratings, all of them changing",
                f"{decay_time:.1f} s",
                f"an UPDATE of one column of them {update_time:.1f} s",
                decay_time / update_time,
                f"under {limit} s",
                decay_time < limit,
            )
        )
    return figures


ALL = (rate_four_players, record_and_verify, late_result, board_pages, weekly_decay)
