"""What is measured. Each function takes `full` and returns its figures."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import batched
from pathlib import Path
from tempfile import TemporaryDirectory
from timeit import repeat

from django.db import connection
from django.test import Client
from openskill.models import PlackettLuce

from ratings import history, ledger
from ratings.decay import apply_decay
from ratings.importing import import_file
from ratings.models import Game, GameState, Match, Participation, Rating, Source, System
from ratings.recording import record_matches
from ratings.reports import Report, ReportedTeam
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

    def best(call):
        return min(repeat(call, number=rounds, repeat=9)) / rounds

    ours = best(lambda: openskill.rate(teams, places))
    both = best(lambda: rate_match(skills, places))
    theirs = best(lambda: package.rate(package_teams, ranks=places))
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


def import_and_verify(*, full: bool) -> list[Figure]:
    """The import of a file, and the verification of what it brought."""
    matches = 1_000_000 if full else 100_000
    source = data.source()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        data.write_file(path, matches, players=matches // 100)
        import_time = seconds(lambda: import_file(path, source=source, may_create_players=True))
    copy_time = seconds(_copy_history)
    data.vacuum()

    game = Game.objects.get(slug="brisca")
    found = []
    verify_time = seconds(lambda: found.append(history.verify(game)))
    if not found[0].is_clean:
        raise SystemExit(f"verify found {found[0].differences}")
    read_time = seconds(lambda: _read_history(game))
    rate = matches / import_time
    return [
        Figure(
            f"import of {matches:,} two-player matches, one JSONL file",
            f"{rate:,.0f} matches/s",
            f"INSERT ... SELECT of the same rows {matches / copy_time:,.0f} matches/s",
            import_time / copy_time,
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


def rewriting_history(*, full: bool) -> list[Figure]:
    """A result that arrives very late, and the preview of voiding matches half way back."""
    source = data.source()
    game = Game.objects.get(slug="brisca")
    matches = 100_000 if full else 20_000
    reports = list(data.two_player_reports(matches, players=matches // 100))
    last = data.FIRST_MATCH + timedelta(days=400)
    for batch in batched(reports[1:], ledger.ROWS_AT_A_TIME):
        record_matches(batch, source=source, at=last)
    data.vacuum()
    verify_time = seconds(lambda: history.verify(game))
    ids = Match.objects.order_by("id").values_list("id", flat=True)
    proposal = history.void(ids[matches // 2 : matches // 2 + 300])
    preview_time = seconds(lambda: history.preview(proposal))
    rerate_time = seconds(lambda: record_matches(reports[:1], source=source, at=last))
    return [
        Figure(
            f"re-rating of {matches:,} matches, written back",
            f"{rerate_time:.1f} s",
            f"their replay by verify {verify_time:.1f} s",
            rerate_time / verify_time,
            "under 15 s for 100,000",
            rerate_time * 100_000 / matches < 15,
        ),
        Figure(
            f"preview of voiding 300 in the middle of {matches:,} matches",
            f"{preview_time:.1f} s",
            f"verify of all {verify_time:.1f} s",
            preview_time / verify_time,
            "none",
            True,
        ),
    ]


def single_reports(*, full: bool) -> list[Figure]:
    """Reports one by one, each with a commit that survives a power cut."""
    count = 2_000 if full else 400
    source = data.source()
    slugs = list(Game.objects.values_list("slug", flat=True))
    commits = count / seconds(lambda: _commit_one_by_one(count))
    figures = []
    for what, writers, games in (
        ("one writer", 1, slugs[:1]),
        ("8 writers in one game", 8, slugs[:1]),
        ("8 writers in five games", 8, slugs),
    ):
        data.empty()
        rate = count / seconds(partial(_record_one_by_one, source, count, writers, games))
        figures.append(
            Figure(
                f"single reports of three players, {what}",
                f"{rate:,.0f} reports/s",
                f"commits of one row, one writer {commits:,.0f}/s",
                commits / rate,
                "at least 200/s",
                rate >= 200,
            )
        )
    return figures


def _commit_one_by_one(count: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE bench_commit (number int)")
        for number in range(count):
            cursor.execute("INSERT INTO bench_commit VALUES (%s)", [number])
        cursor.execute("DROP TABLE bench_commit")


def _record_one_by_one(source: Source, count: int, writers: int, games: Sequence[str]) -> None:
    """So many reports, shared out among threads with connections of their own."""

    def write(writer: int) -> None:
        players = [f"p{number}" for number in range(100)]
        rng = random.Random(writer)
        try:
            for number in range(count // writers):
                three = enumerate(rng.sample(players, 3), start=1)
                teams = tuple(ReportedTeam((player,), place) for place, player in three)
                report = Report(games[number % len(games)], f"{writer}-{number}", teams)
                [receipt] = record_matches([report], source=source, may_wait=True)
                if receipt.match_id is None:
                    raise SystemExit(f"not recorded: {receipt}")
        finally:
            connection.close()

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))


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


def profile_of_many_matches(*, full: bool) -> list[Figure]:
    """The whole profile of a player with very many matches, and a comparison; time in SQL."""
    matches = 200_000 if full else 20_000
    source = data.source()
    now = datetime.now(UTC)
    reports = data.reports_of_one(matches, opponents=1_000, until=now)
    for batch in batched(reports, ledger.ROWS_AT_A_TIME, strict=False):
        record_matches(batch, source=source, at=now)
    data.vacuum()

    client = Client(headers={"host": "localhost"})
    own = Participation.objects.filter(player__handle="p0").order_by("played_at", "match_id")
    naive = worst_sql_milliseconds([lambda: list(own.values_list("played_at", "elo_after"))])
    rivals = "&".join(f"p=p{number}" for number in range(20))
    return [
        Figure(
            f"{what} with {matches:,} matches",
            f"{time:.1f} ms",
            f"reading all of his ledger {naive:.1f} ms",
            naive / time,
            target,
            time < 50 or target == "none",
        )
        for what, path, target in (
            ("profile, Elo, of a player", "/players/p0/brisca/", "under 50 ms"),
            ("... OpenSkill", "/players/p0/brisca/?system=openskill", "under 50 ms"),
            ("... all games", "/players/p0/", "under 50 ms"),
            ("... beside 19 others", f"/compare/brisca/?{rivals}", "none"),
        )
        for time in [worst_sql_milliseconds([partial(_get, client, path)])]
    ]


def _get(client: Client, path: str) -> None:
    if (status := client.get(path).status_code) != 200:
        raise SystemExit(f"{path} answered {status}")


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


ALL = (
    rate_four_players,
    import_and_verify,
    rewriting_history,
    single_reports,
    board_pages,
    profile_of_many_matches,
    weekly_decay,
)
