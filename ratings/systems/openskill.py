"""OpenSkill: the Plackett-Luce model of Weng & Lin, "A Bayesian Approximation Method for Online
Ranking", Journal of Machine Learning Research 12 (2011), Algorithm 4, ties as in the paper.

Each player has a normal belief: mu, the strength, and sigma, how uncertain it is. Beyond the
paper stand four rules, each a parameter: tau widens sigma before every match, a team is the mean
of its members and not their sum, sigma never leaves a match larger than it entered it, and sigma
never exceeds its starting value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import erf, exp, inf, isfinite, sqrt
from typing import Any, Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Parameters:
    mu: float = 25.0
    sigma: float = 25.0 / 3.0
    beta: float = 25.0 / 6.0
    kappa: float = 1e-4
    tau: float = 0.3
    team: Literal["mean", "sum"] = "mean"
    limit_sigma: bool = True
    cap_sigma: bool = True


PARAMETERS = Parameters()

DISPLAY_START = 1500.0
DISPLAY_SCALE = 24.0
DISPLAY_SIGMAS = 3.0

# Whoever is further than this below the strongest, in units of c, counts as exactly so far below:
# the squares of such odds, e^-300 or one in 10^130, would soon leave the range of a double.
_WEAKEST = -300.0

type Belief = tuple[float, float]
"""(mu, sigma)"""


def ordinal(mu: Any, sigma: Any) -> Any:
    """mu - 3 sigma: what a player is worth, on the cautious side."""
    return mu - sigma * DISPLAY_SIGMAS


def displayed_rating(mu: Any, sigma: Any) -> Any:
    """The number on the boards, 1500 for a newcomer; never on the same scale as Elo.

    Takes database expressions as well as floats, so that both compute with one formula.
    """
    return ordinal(mu, sigma) * DISPLAY_SCALE + DISPLAY_START


def chance_stronger(belief: Belief, other: Belief) -> float:
    """How sure it is, 0 to 1, that the first is the stronger: one normal above the other."""
    apart = sqrt(2.0 * (belief[1] ** 2 + other[1] ** 2))
    return 0.5 * (1.0 + erf((belief[0] - other[0]) / apart))


def chances(teams: Sequence[Sequence[Belief]], parameters: Parameters = PARAMETERS) -> list[float]:
    """Each team's chance of the first place, summing to 1, by the c of the whole match.

    ValueError where a number is not finite.
    """
    mus, _, c = _team_beliefs(teams, parameters)
    if not isfinite(sum(mus) + c):
        raise ValueError(f"Unexpected ratings {teams}: every mu and sigma has to be finite.")
    largest = max(mus)
    strengths = [exp((mu - largest) / c) for mu in mus]
    total = sum(strengths)
    return [strength / total for strength in strengths]


def _team_beliefs(
    teams: Sequence[Sequence[Belief]], parameters: Parameters
) -> tuple[list[float], list[float], float]:
    """Each team's mu and variance as a match sees them (tau added), and the paper's c."""
    tau_squared = parameters.tau * parameters.tau
    by_mean = parameters.team == "mean"
    mus = []
    variances = []
    c_squared = len(teams) * parameters.beta * parameters.beta
    for team in teams:
        team_mu = 0.0
        variance = 0.0
        for mu, sigma in team:
            team_mu += mu
            variance += sigma * sigma + tau_squared
        if by_mean:
            size = len(team)
            team_mu /= size
            variance /= size * size
        mus.append(team_mu)
        variances.append(variance)
        c_squared += variance
    return mus, variances, sqrt(c_squared)


class Step(NamedTuple):
    """How a match moves one team, per unit of its members' own variance.

    `omega` is the step of mu and `delta` the shrinking of sigma; a member of a mean team moves
    it by 1/n of his own step, and that is in both.
    """

    omega: float
    delta: float


def _steps(
    teams: Sequence[Sequence[Belief]], places: Sequence[int], parameters: Parameters
) -> list[tuple[float, float]]:
    """The Step of each team, by Algorithm 4, as plain tuples."""
    mus, variances, c = _team_beliefs(teams, parameters)
    largest = max(mus)
    weakest = largest + c * _WEAKEST
    strengths = [exp((mu - largest) / c if mu > weakest else _WEAKEST) for mu in mus]

    # Algorithm 4 sums, for each team, over all that finished level with it or before it. What
    # a place adds is the same for everyone at it or behind it: 1/behind for the gradient and
    # its square for the curvature, where `behind` is the strength of all who finished there or
    # later. So two passes over the places will do, one from the last and one from the first.
    sharing: dict[int, int] = {}
    behind: dict[int, float] = {}
    for place, strength in zip(places, strengths):  # noqa: B905 - checked by rate; 5 % faster
        if place in behind:
            sharing[place] += 1
            behind[place] += strength
        else:
            sharing[place] = 1
            behind[place] = strength
    order = sorted(behind)
    total = 0.0
    for place in reversed(order):
        total += behind[place]
        behind[place] = total
    first = second = 0.0
    sums = {}
    for place in order:
        inverse = 1.0 / behind[place]
        first += inverse
        second += inverse * inverse
        sums[place] = (1.0 / sharing[place], first, second)

    by_mean = parameters.team == "mean"
    c_cubed = c * c * c
    steps = []
    for team, place, strength, variance in zip(teams, places, strengths, variances):  # noqa: B905
        share, first, second = sums[place]
        # gamma = sigma_team / c
        omega = (share - strength * first) / c
        delta = (first - strength * second) * strength * sqrt(variance) / c_cubed
        if by_mean and len(team) > 1:
            omega /= len(team)
            delta /= len(team) ** 2
        steps.append((omega, delta))
    return steps


def rate(
    teams: Sequence[Sequence[Belief]],
    places: Sequence[int],
    parameters: Parameters = PARAMETERS,
) -> list[list[Belief]]:
    """Every member's (mu, sigma) after the match, in the shape of `teams`.

    `places` holds one whole number per team: 1 is best, equal ones are a draw, gaps are allowed.
    Sums run in the order given; `match.rate_match` puts teams in the order that makes the last
    bit independent of how a report lists them. ValueError where a number is not finite.
    """
    if len(places) != len(teams):
        raise ValueError(f"Unexpected {len(places)} places for {len(teams)} teams.")
    tau_squared = parameters.tau * parameters.tau
    kappa = parameters.kappa
    limit_sigma = parameters.limit_sigma
    highest_sigma = parameters.sigma if parameters.cap_sigma else inf
    check = 0.0
    rated = []
    for team, (omega, delta) in zip(teams, _steps(teams, places, parameters)):  # noqa: B905
        members = []
        for mu, sigma in team:
            wide_squared = sigma * sigma + tau_squared
            shrink = 1.0 - wide_squared * delta
            new_mu = mu + wide_squared * omega
            new_sigma = sqrt(wide_squared * (shrink if shrink > kappa else kappa))
            if limit_sigma and new_sigma > sigma:
                new_sigma = sigma
            if new_sigma > highest_sigma:
                new_sigma = highest_sigma
            check += new_mu + new_sigma
            members.append((new_mu, new_sigma))
        rated.append(members)
    if not isfinite(check):
        raise ValueError(f"Unexpected ratings {teams}: every mu and sigma has to be finite.")
    return rated


@dataclass(frozen=True, slots=True)
class Working:
    """What stands between the beliefs before a match and those after it, team by team.

    `free` holds what sigma would have become without the rule that it never leaves a match
    larger than it entered it.
    """

    c: float
    team_mus: Sequence[float]
    team_sigmas: Sequence[float]
    chances: Sequence[float]
    steps: Sequence[Step]
    wide: Sequence[Sequence[float]]
    free: Sequence[Sequence[float]]


def working(
    teams: Sequence[Sequence[Belief]],
    places: Sequence[int],
    parameters: Parameters = PARAMETERS,
) -> Working:
    """The working of `rate`, for whoever wants to see it."""
    mus, variances, c = _team_beliefs(teams, parameters)
    tau_squared = parameters.tau * parameters.tau
    free = rate(teams, places, replace(parameters, limit_sigma=False, cap_sigma=False))
    return Working(
        c=c,
        team_mus=mus,
        team_sigmas=[sqrt(variance) for variance in variances],
        chances=chances(teams, parameters),
        steps=[Step(*step) for step in _steps(teams, places, parameters)],
        wide=[[sqrt(sigma * sigma + tau_squared) for _mu, sigma in team] for team in teams],
        free=[[sigma for _mu, sigma in team] for team in free],
    )
