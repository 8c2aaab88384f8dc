"""Whom a player met, and how it went: over his last thousand rated matches in a game.

Every count is of pairs: a player's team and one opposing team, as Elo compares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from django.db import connection

from ratings.models import Player, Rating
from ratings.systems import elo

MOST_MATCHES = 1_000
NET_DAYS = 30
MOST_OPPONENTS = 12
FORM = 20
MOST_NAMED = 60


class Part(NamedTuple):
    """One player's part in a rated match. `played_at` is there for the player it is about."""

    match_id: int
    played_at: datetime | None
    team: int
    place: int
    player: int
    is_bot: bool
    elo_before: float
    elo_after: float


@dataclass(frozen=True, slots=True)
class Meeting:
    """A player's team against one other. `net` is the Elo that he got from it."""

    match_id: int
    played_at: datetime
    opponents: Sequence[Part]
    rating: float
    score: float
    expected: float
    net: float

    @property
    def is_against_bots(self) -> bool:
        return all(opponent.is_bot for opponent in self.opponents)


@dataclass(slots=True)
class Tally:
    """How some meetings went: their number, their score, and what was expected."""

    meetings: int = 0
    score: float = 0.0
    expected: float = 0.0

    def count(self, meeting: Meeting) -> None:
        self.meetings += 1
        self.score += meeting.score
        self.expected += meeting.expected

    @property
    def surplus(self) -> float:
        """The score beyond the expected one."""
        return self.score - self.expected


@dataclass(slots=True)
class Opponent:
    """`net` is the Elo that the player got from this opponent in the last NET_DAYS."""

    player_id: int
    tally: Tally = field(default_factory=Tally)
    net: float = 0.0
    player: Player | None = None


@dataclass(frozen=True, slots=True)
class BestWin:
    """The strongest team that the player finished ahead of; `rating` is its Elo at the time."""

    match_id: int
    played_at: datetime
    rating: float
    players: Sequence[Player]


class Result(NamedTuple):
    match_id: int
    result: str


@dataclass(frozen=True, slots=True)
class Met:
    """What the last `matches` rated matches hold; `is_all` where there are no others.

    `against` says of the newest MOST_NAMED matches, by id, who the opponents were.
    """

    matches: int
    is_all: bool
    people: Tally
    bots: Tally
    opponents: Sequence[Opponent]
    best_win: BestWin | None
    form: Sequence[Result]
    against: Mapping[int, Sequence[Player]]


def read_met(rating: Rating, at: datetime) -> Met:
    """Whom the player met and how it went, as of a moment. Two queries."""
    parts = _read_parts(rating)
    matches = [list(match) for _, match in groupby(parts, key=attrgetter("match_id"))]
    people, bots = Tally(), Tally()
    opponents: dict[int, Opponent] = {}
    best: Meeting | None = None
    net_since = at - timedelta(days=NET_DAYS)
    for match in matches:
        for meeting in meetings_of(rating.player_id, match):
            (bots if meeting.is_against_bots else people).count(meeting)
            if meeting.score == 1.0 and (best is None or meeting.rating > best.rating):
                best = meeting
            for part in meeting.opponents:
                opponent = opponents.setdefault(part.player, Opponent(part.player))
                opponent.tally.count(meeting)
                if meeting.played_at >= net_since:
                    opponent.net += meeting.net / len(meeting.opponents)
    often = sorted(opponents.values(), key=lambda one: (-one.tally.meetings, one.player_id))
    shown = often[:MOST_OPPONENTS]
    beaten = [part.player for part in best.opponents] if best else []
    named = {match[0].match_id: _against(rating.player_id, match) for match in matches[:MOST_NAMED]}
    wanted = {*beaten, *(one.player_id for one in shown)}.union(*named.values())
    players = Player.objects.in_bulk(wanted)
    for one in shown:
        one.player = players[one.player_id]
    return Met(
        matches=len(matches),
        is_all=len(matches) == rating.matches,
        people=people,
        bots=bots,
        opponents=shown,
        best_win=_best_win(best, players),
        against={
            match_id: [players[opponent] for opponent in opponents]
            for match_id, opponents in named.items()
        },
        form=[_result(rating.player_id, match) for match in matches[:FORM]],
    )


def _best_win(best: Meeting | None, players: dict[int, Player]) -> BestWin | None:
    if best is None:
        return None
    beaten = [players[part.player] for part in best.opponents]
    return BestWin(best.match_id, best.played_at, best.rating, beaten)


def _read_parts(rating: Rating) -> list[Part]:
    """Everybody's parts in the player's newest rated matches, newest match first."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT newest.match_id, CASE WHEN part.player_id = %s THEN newest.played_at END,
                   part.team, part.place, part.player_id, player.is_bot,
                   part.elo_before, part.elo_after
              FROM (SELECT match_id, played_at FROM ratings_participation
                     WHERE player_id = %s AND game_id = %s AND elo_after IS NOT NULL
                     ORDER BY played_at DESC, match_id DESC LIMIT %s) AS newest
              JOIN ratings_participation part USING (match_id)
              JOIN ratings_player player ON player.id = part.player_id
             ORDER BY newest.played_at DESC, newest.match_id DESC, part.place, part.team
            """,
            [rating.player_id, rating.player_id, rating.game_id, MOST_MATCHES],
        )
        return [Part(*row) for row in cursor.fetchall()]


def meetings_of(player: int, match: Sequence[Part]) -> Iterator[Meeting]:
    """The meetings of a player's team with each other team of a rated match."""
    teams = [list(team) for _, team in groupby(match, key=attrgetter("team"))]
    ratings = [elo.team_rating([part.elo_before for part in team]) for team in teams]
    places = [team[0].place for team in teams]
    own, played_at = next(
        (number, part.played_at)
        for number, team in enumerate(teams)
        for part in team
        if part.player == player
    )
    for first, second, score, expected, transfer in elo.pairs(ratings, places):
        if first == own:
            other = second
        elif second == own:
            other, score, expected, transfer = first, 1.0 - score, 1.0 - expected, -transfer
        else:
            continue
        yield Meeting(
            match_id=match[0].match_id,
            played_at=played_at,
            opponents=teams[other],
            rating=ratings[other],
            score=score,
            expected=expected,
            net=transfer * elo.member_share(len(teams[own]), len(teams[other])),
        )


def _against(player: int, match: Sequence[Part]) -> list[int]:
    """Who was in the other teams of a match."""
    own = next(part.team for part in match if part.player == player)
    return [part.player for part in match if part.team != own]


def _result(player: int, match: Sequence[Part]) -> Result:
    """won, drawn or lost, as the counters count it; the parts come best place first."""
    own = next(part for part in match if part.player == player)
    best = {part.team for part in match if part.place == match[0].place}
    result = "lost" if own.team not in best else "won" if len(best) == 1 else "drawn"
    return Result(own.match_id, result)
