"""The worked examples of the How-it-works page, computed by the very code that rates matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from math import ceil

from django.utils.translation import gettext, pgettext

from ratings.systems import convergence, decay, elo, openskill
from ratings.systems.match import START
from ratings.systems.openskill import displayed_rating

GAPS = (0, 100, 200, 400)
DAYS_AWAY = 182
MUCH_WEAKER = 10.0
"""In mu."""
SETTLING_MATCHES = (0, 10, 30, 100, 300)
FAR_ENOUGH = 2000
"""Matches after which sigma no longer changes in any digit that is shown."""


@dataclass(frozen=True, slots=True)
class EloGap:
    """What a match against somebody `gap` points stronger is worth to a newcomer."""

    gap: int
    expected: float
    won: float
    drawn: float
    lost: float

    @property
    def after_win(self) -> float:
        return elo.PARAMETERS.start + self.won

    @property
    def after_draw(self) -> float:
        return elo.PARAMETERS.start + self.drawn

    @property
    def after_defeat(self) -> float:
        return elo.PARAMETERS.start + self.lost


@dataclass(frozen=True, slots=True)
class Belief:
    """Two numbers and the one that the board shows of them."""

    mu: float
    sigma: float

    @property
    def shown(self) -> float:
        value: float = displayed_rating(self.mu, self.sigma)
        return value


@dataclass(frozen=True, slots=True)
class FirstMatch:
    """What a first match made of one of the newcomers in it, with the result in words."""

    result: str
    belief: Belief


@dataclass(frozen=True, slots=True)
class Settling:
    matches: int
    sigma: float


def elo_gap(gap: int) -> EloGap:
    own = elo.PARAMETERS.start
    other = own + gap
    won, drawn, lost = (
        elo.rate([[own], [other]], places)[0][0] - own for places in ((1, 2), (1, 1), (2, 1))
    )
    return EloGap(gap, elo.expected_score(own, other), won, drawn, lost)


def elo_changes(sizes: Sequence[int]) -> list[float]:
    """What each member gains when teams of newcomers of these sizes finish in that order."""
    start = elo.PARAMETERS.start
    teams = [[start] * size for size in sizes]
    return [team[0] - start for team in elo.rate(teams, range(1, len(teams) + 1))]


def first_matches() -> list[FirstMatch]:
    """Every outcome of a first match between two newcomers, and between four."""
    won, lost = _first_match([1, 2])
    drew, _ = _first_match([1, 1])
    four = _first_match([1, 2, 3, 4])
    return [
        FirstMatch(gettext("Won against one"), won),
        FirstMatch(gettext("Drew with one"), drew),
        FirstMatch(gettext("Lost to one"), lost),
        *(
            # Translators: a line of a table of results: the place in a match of four players.
            FirstMatch(pgettext("in a match", "Place %(place)d of four") % {"place": place}, belief)
            for place, belief in enumerate(four, start=1)
        ),
    ]


def _first_match(places: Sequence[int]) -> list[Belief]:
    return [Belief(*team[0]) for team in openskill.rate([[START[1:]] for _ in places], places)]


@cache
def settling() -> list[Settling]:
    """Sigma after so many matches of two equal players who take turns in winning."""
    sigmas = _sigmas_of_two_equals()
    return [Settling(matches, sigmas[matches]) for matches in SETTLING_MATCHES]


@cache
def settled_sigma() -> float:
    """Where sigma ends for two equal players who take turns in winning."""
    return _sigmas_of_two_equals()[-1]


@cache
def _sigmas_of_two_equals() -> list[float]:
    beliefs = [[START[1:]], [START[1:]]]
    sigmas = [beliefs[0][0][1]]
    for match in range(FAR_ENOUGH):
        beliefs = openskill.rate(beliefs, (1, 2) if match % 2 else (2, 1))
        sigmas.append(beliefs[0][0][1])
    return sigmas


def decay_step_shown() -> float:
    """What one Monday of decay does to the displayed rating."""
    settled = settled_sigma()
    mu = openskill.PARAMETERS.mu
    return displayed_rating(mu, settled + decay.STEP) - displayed_rating(mu, settled)


def weeks_to_forget() -> int:
    """Mondays after which a settled player is as uncertain as a newcomer."""
    return ceil((openskill.PARAMETERS.sigma - settled_sigma()) / decay.STEP)


def newcomer() -> Belief:
    return Belief(*START[1:])


def settled_average() -> Belief:
    """What an average player shows whose uncertainty has settled."""
    return Belief(openskill.PARAMETERS.mu, settled_sigma())


@dataclass(frozen=True, slots=True)
class Comeback:
    """A settled player after so many days away: sigma, and what a win and a defeat then move.

    Against somebody settled and equally strong, beside what they would have moved without the
    absence.
    """

    days: int
    sigma: float
    won: float
    lost: float
    won_settled: float
    lost_settled: float


def comeback() -> Comeback:
    settled = settled_average()
    last = decay.monday(0)
    sigma = decay.sigma_at(settled.sigma, last, last + timedelta(days=DAYS_AWAY))
    away = Belief(settled.mu, sigma)
    return Comeback(
        DAYS_AWAY,
        sigma,
        *(_shown_change(away, settled, places) for places in ((1, 2), (2, 1))),
        *(_shown_change(settled, settled, places) for places in ((1, 2), (2, 1))),
    )


@dataclass(frozen=True, slots=True)
class AgainstWeak:
    """What a settled player's win moves, by whether the opponent's strength is known."""

    equal_known: float
    equal_new: float
    weak_known: float
    weak_new: float


def against_weak() -> AgainstWeak:
    """Wins over opponents as strong, and over some so weak that they have hardly a chance."""
    own = settled_average()
    return AgainstWeak(
        *(
            _shown_change(own, Belief(own.mu - less, sigma), (1, 2))
            for less in (0, MUCH_WEAKER)
            for sigma in (own.sigma, openskill.PARAMETERS.sigma)
        )
    )


def _shown_change(own: Belief, opponent: Belief, places: Sequence[int]) -> float:
    teams = [[(own.mu, own.sigma)], [(opponent.mu, opponent.sigma)]]
    after = Belief(*openskill.rate(teams, places)[0][0])
    return after.shown - own.shown


@cache
def figures() -> convergence.Figures:
    """How long ratings take, as it was simulated and kept."""
    return convergence.read_figures()
