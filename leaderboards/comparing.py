"""A few players of one game side by side: who beat whom, and what each pair should score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from math import inf
from operator import itemgetter
from urllib.parse import urlencode

from django.db import connection
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext, ngettext

from ratings.models import Game, Player, Rating, System
from ratings.models.player import WITHOUT_PROFILE
from ratings.names import LONGEST_HANDLE, LONGEST_NAME, fold
from ratings.players import find_called
from ratings.standings import Standing, standings_of
from ratings.systems import elo, openskill

FEWEST = 2
MOST = 20
MOST_MATCHES = 1_000
"""So many of each player's newest rated matches are looked at for the pairs' records."""
MOST_FOUND = 12
MOST_PROBLEMS = 5
LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Contestant:
    """A player to be compared; without a rating there is nothing to compare him by."""

    player: Player
    rating: Rating | None
    elo: Standing | None
    openskill: Standing | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A row's player against a column's: his results, and the score that Elo expects of him."""

    won: int
    drawn: int
    lost: int
    expected: float | None

    @property
    def matches(self) -> int:
        return self.won + self.drawn + self.lost


@dataclass(frozen=True, slots=True)
class Lead:
    """Who of two is ahead by a system, by how much, and how sure it is that he is the stronger.

    `leader` is None where both stand level.
    """

    leader: Player | None
    margin: float
    chance: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """`matrix` has a row for each contestant, with None where he would meet himself."""

    contestants: Sequence[Contestant]
    matrix: Sequence[tuple[Contestant, Sequence[Cell | None]]]
    by_elo: Lead | None
    by_openskill: Lead | None


@dataclass(frozen=True, slots=True)
class CompareQuestion:
    """Whom to compare, by handle and in that order; `search` is what a name was sought by."""

    game: Game
    handles: tuple[str, ...]
    search: str = ""

    def url(self, handles: Sequence[str] | None = None) -> str:
        path = reverse("leaderboards:compare", args=[self.game.slug])
        query = urlencode(
            [("p", handle) for handle in (self.handles if handles is None else handles)]
        )
        return f"{path}?{query}" if query else path

    def with_player(self, handle: str) -> str:
        return self.url([*self.handles, handle])

    def without_player(self, handle: str) -> str:
        return self.url([other for other in self.handles if other != handle])


@dataclass(frozen=True, slots=True)
class Answer:
    """Who was found of those asked for, and in words what could not be used."""

    question: CompareQuestion
    players: Sequence[Player]
    problems: Sequence[str]


def read_compare_question(game: Game, query: QueryDict) -> Answer:
    """The players that a URL names: known ones once each, at most MOST.

    One query, and one more where nobody is called so today. The question that comes back holds
    the handles of today.
    """
    asked = list(dict.fromkeys(handle.strip() for handle in query.getlist("p") if handle.strip()))
    problems = []
    usable = [handle for handle in asked if len(handle) <= LONGEST_HANDLE and "\0" not in handle]
    by_key = find_called(usable[: 2 * MOST])
    players: dict[int, Player] = {}
    for handle in asked:
        player = by_key.get(fold(handle)) if handle in usable else None
        if player is None:
            problems.append(
                gettext('There is no player with the handle "%(handle)s".')
                % {"handle": _short(handle)}
            )
        elif player.status in WITHOUT_PROFILE:
            problems.append(
                gettext('The player with the handle "%(handle)s" is not shown.')
                % {"handle": _short(handle)}
            )
        else:
            players.setdefault(player.pk, player)
    found = list(players.values())
    if len(found) > MOST:
        problems.append(
            ngettext(
                "At most %(most)d player fits on this page: the first are shown.",
                "At most %(most)d players fit on this page: the first are shown.",
                MOST,
            )
            % {"most": MOST}
        )
        found = found[:MOST]
    question = CompareQuestion(
        game,
        tuple(player.handle for player in found),
        query.get("q", "").strip().replace("\0", "")[:LONGEST_NAME],
    )
    return Answer(question, found, problems[:MOST_PROBLEMS])


def _short(handle: str) -> str:
    shown = handle.replace("\0", "")
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}…"


def find_more(answer: Answer) -> list[Player]:
    """Players whose name or handle holds what was sought, without those that are there already."""
    found = Player.objects.with_profile().found_by(answer.question.search)
    return list(found.exclude(pk__in=[player.pk for player in answer.players])[:MOST_FOUND])


def compare(game: Game, players: Sequence[Player]) -> Comparison:
    """The players side by side, the best by Elo first. Three queries, however many they are."""
    ratings = {
        rating.player_id: rating for rating in Rating.objects.filter(game=game, player__in=players)
    }
    standings = standings_of([rating for rating in ratings.values() if rating.is_listed])
    contestants = [_contestant(player, ratings.get(player.pk), standings) for player in players]
    contestants.sort(key=_elo, reverse=True)
    records = _read_records(game, [player.pk for player in players]) if len(players) > 1 else {}
    two = contestants if len(contestants) == FEWEST else ()
    is_pair = len(two) == FEWEST and all(one.rating for one in two)
    return Comparison(
        contestants,
        [
            (
                row,
                [None if row is column else _cell(row, column, records) for column in contestants],
            )
            for row in contestants
        ],
        by_elo=_lead(two, System.ELO) if is_pair else None,
        by_openskill=_lead(two, System.OPENSKILL) if is_pair else None,
    )


def _contestant(
    player: Player, rating: Rating | None, standings: dict[tuple[int, str], Standing]
) -> Contestant:
    if rating is None:
        return Contestant(player, None, None, None)
    return Contestant(
        player,
        rating,
        standings.get((rating.pk, System.ELO)),
        standings.get((rating.pk, System.OPENSKILL)),
    )


def _elo(contestant: Contestant) -> float:
    """By what a league is in order: whoever has no rating is last, the others as they were."""
    return contestant.rating.elo if contestant.rating else -inf


def _cell(row: Contestant, column: Contestant, records: dict[tuple[int, int], list[int]]) -> Cell:
    expected = None
    if row.rating and column.rating:
        expected = elo.expected_score(row.rating.elo, column.rating.elo)
    return Cell(*records[row.player.pk, column.player.pk], expected)


def _lead(two: Sequence[Contestant], system: System) -> Lead:
    first, second = (contestant.rating for contestant in two)
    by_elo = system == System.ELO
    margin = first.elo - second.elo if by_elo else first.openskill - second.openskill
    ahead = 0 if margin >= 0 else 1
    chance = (
        elo.expected_score(first.elo, second.elo)
        if by_elo
        else openskill.chance_stronger((first.mu, first.sigma), (second.mu, second.sigma))
    )
    return Lead(
        leader=two[ahead].player if margin else None,
        margin=abs(margin),
        chance=chance if ahead == 0 else 1.0 - chance,
    )


def _read_records(game: Game, players: Sequence[int]) -> dict[tuple[int, int], list[int]]:
    """Won, drawn and lost of the first of two players against the second, in rated matches.

    In opposing teams, by their places; over the newest MOST_MATCHES matches of either.
    """
    # A query for each player and not one over all: PostgreSQL knows who has very many matches only
    # by name, and would sort all of his to find the newest.
    newest = " UNION ".join(
        [
            """
            (SELECT match_id FROM ratings_participation
              WHERE player_id = %s AND game_id = %s AND elo_after IS NOT NULL
              ORDER BY played_at DESC, match_id DESC LIMIT %s)
            """
        ]
        * len(players)
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT newest.match_id, part.player_id, part.team, part.place
              FROM ({newest}) AS newest
             CROSS JOIN LATERAL (
                   SELECT player_id, team, place FROM ratings_participation
                    WHERE match_id = newest.match_id AND player_id = ANY(%s) OFFSET 0) AS part
             ORDER BY newest.match_id
            """,
            [
                *(value for player in players for value in (player, game.pk, MOST_MATCHES)),
                list(players),
            ],
        )
        rows = cursor.fetchall()
    records: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for _match, parts in groupby(rows, key=itemgetter(0)):
        for one, other in _pairs(parts):
            _id, player, team, place = one
            _id, opponent, other_team, other_place = other
            if team == other_team:
                continue
            result = 0 if place < other_place else 1 if place == other_place else 2
            records[player, opponent][result] += 1
            records[opponent, player][2 - result] += 1
    return records


def _pairs(parts: Iterator[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    return combinations(list(parts), 2)
