"""What happens to a player who stays away: when his number falls, and when he leaves the board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from ratings.models import GameState, Rating
from ratings.systems import decay
from ratings.systems.openskill import displayed_rating

MONDAYS = 6


@dataclass(frozen=True, slots=True)
class Step:
    """A Monday on which the uncertainty grows, and what it and the displayed rating become."""

    at: datetime
    sigma: float
    openskill: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """`leaves_at` is the Monday that takes an idle player off the board; None: none does.

    Without steps the uncertainty is as large as it can be.
    """

    steps: Sequence[Step]
    leaves_at: datetime | None

    @property
    def is_settled(self) -> bool:
        return not self.steps


def forecast(rating: Rating, state: GameState) -> Forecast:
    """What the next Mondays bring if the player stays away."""
    steps = decay.steps_of(
        rating.sigma_settled, rating.last_played_at, state.decayed_to, _farthest(rating, state)
    )
    return Forecast(
        steps=[
            Step(at, sigma, displayed_rating(rating.mu, sigma))
            for at, sigma in islice(steps, MONDAYS)
        ],
        leaves_at=_leaves_at(rating, state),
    )


def _farthest(rating: Rating, state: GameState) -> datetime:
    """A moment by which so many Mondays of decay have come."""
    begin = max(state.decayed_to, rating.last_played_at + decay.GRACE)
    return begin + (MONDAYS + 1) * decay.WEEK


def _leaves_at(rating: Rating, state: GameState) -> datetime | None:
    """The first Monday later than the idle days after the last match."""
    idle_days = state.game.idle_days
    if idle_days is None or not rating.is_listed:
        return None
    try:
        return decay.monday(decay.weeks(rating.last_played_at + timedelta(days=idle_days)) + 1)
    except OverflowError:  # beyond the last year there is
        return None
