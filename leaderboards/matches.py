"""Matches as their pages and lists show them: who played on which side, and what it changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby

from django.db import connection

from leaderboards.profile_questions import Turn
from ratings.models import Match, Participation, Player
from ratings.systems import elo, openskill
from ratings.systems.match import Skill


@dataclass(frozen=True, slots=True)
class Move:
    """One number of a player before and after a match; never rounded."""

    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Line:
    """One player's part. The moves and skills are None where the match is not rated.

    `openskill` is the displayed rating, `sigma` its uncertainty.
    """

    player: Player
    elo: Move | None = None
    openskill: Move | None = None
    sigma: Move | None = None
    before: Skill | None = None
    after: Skill | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """A team at its place. The last three are None where the match is not rated.

    `score` and `expected_score` are shares of what the other teams could give, 0 to 1: what Elo
    compares. `chance` is what OpenSkill gave the side for the first place.
    """

    number: int
    place: int
    points: Decimal | None
    lines: Sequence[Line]
    score: float | None = None
    expected_score: float | None = None
    chance: float | None = None

    def has(self, player: Player) -> bool:
        return any(line.player.pk == player.pk for line in self.lines)


def newest_matches(count: int) -> list[Match]:
    """The matches of all games that were played last, newest first, games loaded.

    Two queries. Looks at the end of each game's history only, through its index.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT newest.id
              FROM ratings_game game
             CROSS JOIN LATERAL (
                   SELECT id, played_at FROM ratings_match
                    WHERE game_id = game.id AND status IN ('rated', 'unrated')
                    ORDER BY played_at DESC, id DESC LIMIT %(count)s) AS newest
             ORDER BY newest.played_at DESC, newest.id DESC LIMIT %(count)s
            """,
            {"count": count},
        )
        ids = [id for (id,) in cursor.fetchall()]
    return _in_order(ids)


def newest_matches_of(
    player: Player, count: int, game_id: int | None = None, turn: Turn | None = None
) -> list[Match]:
    """The matches that a player played last, newest first: in one game or in all of them.

    With a turn, the next ones down from there, or the next ones up. Two queries, which look at
    one stretch of his history in each game only.
    """
    is_back = turn is not None and turn.is_back
    side, order = (">", "ASC") if is_back else ("<", "DESC")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT newest.match_id
              FROM ratings_game game
             CROSS JOIN LATERAL (
                   SELECT match_id, played_at FROM ratings_participation
                    WHERE player_id = %(player)s AND game_id = game.id
                      AND (played_at, match_id) {side} (%(played_at)s, %(match)s)
                    ORDER BY played_at {order}, match_id {order} LIMIT %(count)s) AS newest
             WHERE %(game)s::bigint IS NULL OR game.id = %(game)s
             ORDER BY newest.played_at {order}, newest.match_id {order} LIMIT %(count)s
            """,
            {
                "player": player.pk,
                "game": game_id,
                "count": count,
                "played_at": turn.played_at if turn else "infinity",
                "match": turn.match_id if turn else 0,
            },
        )
        ids = [id for (id,) in cursor.fetchall()]
    return _in_order(ids[::-1] if is_back else ids)


def _in_order(ids: Sequence[int]) -> list[Match]:
    found = Match.objects.select_related("game").defer("report", "players").in_bulk(ids)
    return [found[id] for id in ids]


def read_sides(matches: Collection[Match]) -> dict[int, list[Side]]:
    """The sides of each match, by its id, best place first. One query."""
    rows = (
        Participation.objects.filter(match__in=[match.pk for match in matches])
        .select_related("player")
        .order_by("match_id", "place", "team", "pk")
    )
    return {
        match_id: _sides(list(participations))
        for match_id, participations in groupby(rows, key=lambda row: row.match_id)
    }


def _sides(participations: Sequence[Participation]) -> list[Side]:
    teams = [list(team) for _, team in groupby(participations, key=lambda row: row.team)]
    places = [team[0].place for team in teams]
    is_rated = participations[0].is_rated
    before = [[_skill_before(row) for row in team] for team in teams] if is_rated else []
    scores = _scores(places) if is_rated else [None] * len(teams)
    expected = _expected_scores(before) if is_rated else [None] * len(teams)
    chances = (
        openskill.chances([[skill[1:] for skill in team] for team in before])
        if is_rated
        else [None] * len(teams)
    )
    return [
        Side(
            number=team[0].team,
            place=team[0].place,
            points=team[0].points,
            lines=[_line(row) for row in team],
            score=score,
            expected_score=expected_score,
            chance=chance,
        )
        for team, score, expected_score, chance in zip(
            teams, scores, expected, chances, strict=True
        )
    ]


def _skill_before(row: Participation) -> Skill:
    return (row.elo_before, row.mu_before, row.sigma_before)


def _line(row: Participation) -> Line:
    if not row.is_rated:
        return Line(row.player)
    return Line(
        row.player,
        Move(row.elo_before, row.elo_after),
        Move(
            openskill.displayed_rating(row.mu_before, row.sigma_before),
            openskill.displayed_rating(row.mu_after, row.sigma_after),
        ),
        Move(row.sigma_before, row.sigma_after),
        before=_skill_before(row),
        after=(row.elo_after, row.mu_after, row.sigma_after),
    )


def _scores(places: Sequence[int]) -> list[float]:
    """What each team scored against the others, a draw as a half, as a share of the most."""
    return [
        sum(1.0 if place < other else 0.5 if place == other else 0.0 for other in others)
        / len(others)
        for place, others in _each_and_others(places)
    ]


def _expected_scores(teams: Sequence[Sequence[Skill]]) -> list[float]:
    ratings = [elo.team_rating([skill[0] for skill in team]) for team in teams]
    return [
        sum(elo.expected_score(rating, other) for other in others) / len(others)
        for rating, others in _each_and_others(ratings)
    ]


def _each_and_others[T](values: Sequence[T]) -> list[tuple[T, list[T]]]:
    return [(value, [*values[:index], *values[index + 1 :]]) for index, value in enumerate(values)]


def result_of(sides: Sequence[Side], own: Side) -> str:
    """won (alone at the best place), drawn (sharing it) or lost: as the counters count it."""
    best = [side for side in sides if side.place == sides[0].place]
    if own not in best:
        return "lost"
    return "won" if len(best) == 1 else "drawn"
