"""Elo for matches of any shape: pairs, teams, one against the rest, everyone for himself.

The expected score is Elo's (1978, with the logistic curve). A match of T teams is rated as all
its T(T-1)/2 pairs of teams at once, each weighing K/(T-1), so that nobody moves by more than K
and a match of two teams is plain Elo. Between teams of unequal size the larger one shares what
the smaller one moves by, so that every match sums to zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite


@dataclass(frozen=True, slots=True)
class Parameters:
    start: float = 1200.0
    k: float = 32.0
    scale: float = 400.0


PARAMETERS = Parameters()

# 10^308 is the last power of ten that a double holds: beyond, the answer is 0 or 1 anyway.
_LARGEST_POWER = 308.0


def expected_score(rating: float, opponent: float, parameters: Parameters = PARAMETERS) -> float:
    """The score, 0 to 1 with a draw as a half, expected of `rating` against `opponent`."""
    power = (opponent - rating) / parameters.scale
    if power > _LARGEST_POWER:
        return 0.0
    return float(1.0 / (1.0 + 10.0**power))


def team_rating(ratings: Sequence[float]) -> float:
    """What a team counts as: the mean of its members."""
    return sum(ratings) / len(ratings)


type Pair = tuple[int, int, float, float, float]
"""Two teams by number, and of the first: its score, its expected score, and what it receives."""


def pairs(
    team_ratings: Sequence[float], places: Sequence[int], parameters: Parameters = PARAMETERS
) -> Iterator[Pair]:
    """All pairs of teams of a match; the second gives exactly what the first receives."""
    count = len(team_ratings)
    weight = pair_weight(count, parameters)
    for i in range(count - 1):
        for j in range(i + 1, count):
            if places[i] < places[j]:
                score = 1.0
            elif places[i] > places[j]:
                score = 0.0
            else:
                score = 0.5
            expected = expected_score(team_ratings[i], team_ratings[j], parameters)
            yield i, j, score, expected, weight * (score - expected)


def pair_weight(teams: int, parameters: Parameters = PARAMETERS) -> float:
    """What one pair of teams weighs in a match of so many: all of a team's pairs weigh K."""
    return parameters.k / (teams - 1)


def member_share(size: int, other_size: int) -> float:
    """How much of what its team receives from another team each member is moved by."""
    return min(size, other_size) / size


def surplus(change: float, parameters: Parameters = PARAMETERS) -> float:
    """The score minus the expected score of a match that changed a player's Elo so much.

    As a share of what there was to score, so -1 to 1 as the match has two teams or ten.
    """
    return change / parameters.k


def rate(
    teams: Sequence[Sequence[float]],
    places: Sequence[int],
    parameters: Parameters = PARAMETERS,
) -> list[list[float]]:
    """Every member's rating after the match, in the shape of `teams`.

    `places` holds one whole number per team: 1 is best, equal ones are a draw, gaps are allowed.
    Sums run in the order given; `match.rate_match` puts teams in the order that makes the last
    bit independent of how a report lists them. ValueError where a number is not finite.
    """
    sizes = [len(team) for team in teams]
    team_ratings = [team_rating(team) for team in teams]
    if not isfinite(sum(team_ratings)):
        raise ValueError(f"Unexpected ratings {teams}: every Elo has to be finite.")
    changes = [0.0] * len(teams)
    for i, j, _score, _expected, transfer in pairs(team_ratings, places, parameters):
        smaller = min(sizes[i], sizes[j])
        # What j receives is exactly what i gives: E_ji is 1 - E_ij.
        changes[i] += transfer * smaller / sizes[i]
        changes[j] -= transfer * smaller / sizes[j]
    return [[rating + changes[i] for rating in team] for i, team in enumerate(teams)]
