"""Elo for matches of any shape: pairs, teams, one against the rest, everyone for himself.

The expected score is Elo's (1978, with the logistic curve). A match of T teams is rated as all
its T(T-1)/2 pairs of teams at once, each weighing K/(T-1), so that nobody moves by more than K
and a match of two teams is plain Elo. Between teams of unequal size the larger one shares what
the smaller one moves by, so that every match sums to zero.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    count = len(teams)
    weight = parameters.k / (count - 1)
    changes = [0.0] * count
    for i in range(count - 1):
        for j in range(i + 1, count):
            if places[i] < places[j]:
                score = 1.0
            elif places[i] > places[j]:
                score = 0.0
            else:
                score = 0.5
            transfer = weight * (
                score - expected_score(team_ratings[i], team_ratings[j], parameters)
            )
            smaller = min(sizes[i], sizes[j])
            # What j receives is exactly what i gives: E_ji is 1 - E_ij.
            changes[i] += transfer * smaller / sizes[i]
            changes[j] -= transfer * smaller / sizes[j]
    return [[rating + changes[i] for rating in team] for i, team in enumerate(teams)]
