"""The "never happened" drill: forged matches among honest ones, which a quarantine undoes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Any

from ratings import history
from ratings.models import Game, GameState, Match, PlayerAlias, Rating, Source, System
from ratings.players import create_players, find_players
from ratings.recording import record_matches
from ratings.reports import Report, ReportedTeam
from ratings.standings import Board, Kind
from tests.ratings.builders import everything_of

NOW = datetime(2026, 7, 6, 20, 0, tzinfo=UTC)
MONDAY = datetime(2026, 7, 6, tzinfo=UTC)
BATCH = 5000
SHAPES = [(1, 1)] * 6 + [(1, 1, 1), (1, 1, 1, 1), (2, 2)]


@dataclass(frozen=True)
class Drill:
    """What came of it. `seconds` are those of the quarantine alone."""

    honest: int
    forged: int
    voided: int
    rerated: int
    players: int
    newcomers: int
    moved: int
    seconds: float


def empty_game() -> Game:
    """Brisca, at the drill's time; whoever has not played for 60 days is off the board."""
    Game.objects.filter(slug="brisca").update(idle_days=60)
    GameState.objects.filter(game__slug="brisca").update(decayed_to=MONDAY)
    return Game.objects.get(slug="brisca")


def make_sources(matches: int) -> dict[str, Source]:
    """An honest server, and one that knows the honest players too."""
    by_name = {
        name: Source.objects.create(name=name, may_create_players=True)
        for name in ("honest", "forged")
    }
    names = honest_players(matches)
    create_players(by_name["honest"], {name: name for name in names})
    PlayerAlias.objects.bulk_create(
        PlayerAlias(source=by_name["forged"], key=key, external_id=key, player_id=known.id)
        for key, known in find_players(by_name["honest"], names).items()
    )
    return by_name


def honest_players(matches: int) -> list[str]:
    return [f"p{number}" for number in range(max(12, matches // 100))]


def honest_reports(count: int, seed: int) -> list[Report]:
    """Matches over a hundred days, some of them of rivals who play more than a day may rate."""
    choice = random.Random(f"honest {seed}")
    return _reports("h", count, choice, len(honest_players(count)), "p")


def forged_reports(count: int, seed: int, honest_count: int) -> list[Report]:
    """Matches over the same days: among newcomers, with the honest, and among the honest alone."""
    choice = random.Random(f"forged {seed}")
    known = honest_players(honest_count)
    return _reports("f", count, choice, max(6, count // 50), "forged-", known=known)


def _reports(
    ids: str, count: int, choice: random.Random, players: int, name: str, known: Sequence[str] = ()
) -> list[Report]:
    own = [f"{name}{number}" for number in range(players)]
    reports = []
    for number in range(count):
        shape = choice.choice(SHAPES)
        among = [*own, *choice.sample(known, len(known) // 4)] if known else own
        if number % 50 < 9:
            shape, among = (1, 1), (known or own)[:2]
        seats = iter(choice.sample(among, sum(shape)))
        at = NOW - timedelta(seconds=100 * 86_400 * choice.random())
        if number % 50 < 9:
            at = NOW - timedelta(hours=20 * choice.random() + 24 * (number // 500 % 90))
        reports.append(
            Report(
                "brisca",
                f"{ids}-{number}",
                tuple(
                    ReportedTeam(tuple(next(seats) for _ in range(size)), choice.choice([1, 1, 2]))
                    for size in shape
                ),
                at,
                choice.choice(["normal"] * 15 + ["friendly"]),
            )
        )
    return sorted(reports, key=lambda report: report.played_at)


def record(reports: Sequence[Report], source: Source) -> None:
    for start in range(0, len(reports), BATCH):
        receipts = record_matches(reports[start : start + BATCH], source=source, at=NOW)
        assert {receipt.answer.value for receipt in receipts} == {"recorded"}


def state_without(game: Game, forged: set[str]) -> Any:
    """Every rating, ledger row, counter and board, but for the forged matches themselves."""
    ratings, matches, counts = everything_of(game)
    ledger = {id: row for id, row in matches.items() if id not in forged}
    boards = {
        (system, kind): list(_board(game, system, kind))
        for system in System.values
        for kind in Kind
    }
    return ratings, ledger, counts, boards


def _board(game: Game, system: str, kind: str) -> Iterator[tuple[int, int, str]]:
    board, number = Board(game, system, kind), 1
    while True:
        page = board.page(number)
        yield from ((row.rank, row.shown, row.rating.player.handle) for row in page.rows)
        if not page.has_next:
            return
        number += 1


def quarantine(game: Game, honest: Sequence[Report], forged: Sequence[Report]) -> Drill:
    """Records both as they came, in batches by turns; then takes back what the forger sent."""
    by_name = make_sources(len(honest))
    both = sorted(
        [*((it, "honest") for it in honest), *((it, "forged") for it in forged)],
        key=lambda item: item[0].played_at,
    )
    for start in range(0, len(both), BATCH):
        part = both[start : start + BATCH]
        for name in by_name:
            if reports := [report for report, whose in part if whose == name]:
                record(reports, by_name[name])
    before = dict(Rating.objects.filter(game=game).values_list("player", "elo"))

    begin = perf_counter()
    ids = history.find_matches(source="forged")
    [correction] = history.void_matches(ids, by=None, reason="forged")
    seconds = perf_counter() - begin

    after = dict(Rating.objects.filter(game=game).values_list("player", "elo"))
    return Drill(
        honest=len(honest),
        forged=len(forged),
        voided=Match.objects.filter(game=game, status="void").count(),
        rerated=correction.rerated,
        players=len(after),
        newcomers=len(before.keys() - after.keys()),
        moved=sum(before[player] != elo for player, elo in after.items()),
        seconds=seconds,
    )
