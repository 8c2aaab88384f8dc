"""One match under both systems, with the same last bit however a report lists it."""

from __future__ import annotations

from collections.abc import Sequence

from ratings.systems import elo, openskill

type Skill = tuple[float, float, float]
"""(elo, mu, sigma)"""

START: Skill = (elo.PARAMETERS.start, openskill.PARAMETERS.mu, openskill.PARAMETERS.sigma)


ALONE = (0,)
"""The order of the one member of a team."""


def rate_match(teams: Sequence[Sequence[Skill]], places: Sequence[int]) -> list[list[Skill]]:
    """Every member's skill after the match, in the shape of `teams`.

    Floating-point sums depend on their order. So members are taken by (elo, mu, sigma) and teams
    by place and then by their members' values: never by listing order or by ids.
    """
    members = [
        sorted(range(len(team)), key=team.__getitem__) if len(team) > 1 else ALONE for team in teams
    ]
    in_team_order = [
        [*team] if order is ALONE else [team[m] for m in order]
        for team, order in zip(teams, members)  # noqa: B905 - as long as each other; a tenth faster
    ]
    order = sorted(range(len(teams)), key=lambda i: (places[i], in_team_order[i]))
    ordered = [in_team_order[i] for i in order]
    ordered_places = [places[i] for i in order]

    elos = elo.rate([[skill[0] for skill in team] for team in ordered], ordered_places)
    beliefs = openskill.rate([[skill[1:] for skill in team] for team in ordered], ordered_places)

    rated: list[list[Skill]] = [[START] * len(team) for team in teams]
    for i, team_elos, team_beliefs in zip(order, elos, beliefs):  # noqa: B905
        team = rated[i]
        for m, new_elo, (mu, sigma) in zip(members[i], team_elos, team_beliefs):  # noqa: B905
            team[m] = (new_elo, mu, sigma)
    return rated
