"""Decay: how uncertainty grows again while a player is away. OpenSkill only.

A function of time, not an accumulation: sigma at a moment follows from the last rated match
alone, however often or late anybody asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from ratings.systems.openskill import PARAMETERS, Parameters

GRACE = timedelta(days=30)
WEEK = timedelta(days=7)
PER_30_DAYS = 0.26
STEP = PER_30_DAYS * 7 / 30
"""What sigma grows by on each Monday 00:00 UTC after the grace period."""

_SURELY_GRACE = GRACE - timedelta(days=1)
_FIRST_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


def weeks(at: datetime) -> int:
    """How many Mondays 00:00 UTC have come by `at`, counted from the first of 1970."""
    return (at - _FIRST_MONDAY) // WEEK


def monday(week: int) -> datetime:
    """The Monday 00:00 UTC that `weeks` counts as `week`."""
    return _FIRST_MONDAY + week * WEEK


def current_monday(at: datetime | None = None) -> datetime:
    """The last Monday 00:00 UTC not after `at` (default: now)."""
    return monday(weeks(at or datetime.now(UTC)))


def steps(last_played_at: datetime, at: datetime) -> int:
    """How many Mondays 00:00 UTC lie in (last_played_at + 30 days, at]."""
    # By far the most frequent case first. Two clocks on the wall differ by an hour or two at most.
    if at - last_played_at < _SURELY_GRACE:
        return 0
    # Thirty days of 24 hours, so the grace is added to a difference: added to a time of a zone
    # with summer time, it would be thirty days on the wall.
    grace_ends = (last_played_at - _FIRST_MONDAY + GRACE) // WEEK
    return max(0, weeks(at) - grace_ends)


def sigma_at(
    sigma_settled: float,
    last_played_at: datetime,
    at: datetime,
    parameters: Parameters = PARAMETERS,
) -> float:
    """Sigma at a moment, of a player whose last rated match left him at `sigma_settled`."""
    count = steps(last_played_at, at)
    if count == 0:
        return sigma_settled
    return min(parameters.sigma, sigma_settled + count * STEP)


def steps_of(
    sigma_settled: float,
    last_played_at: datetime,
    after: datetime,
    until: datetime,
    parameters: Parameters = PARAMETERS,
) -> Iterator[tuple[datetime, float]]:
    """Each Monday in (after, until] on which sigma grows, with what it grows to."""
    sigma = sigma_at(sigma_settled, last_played_at, after, parameters)
    for week in range(weeks(max(after, last_played_at + GRACE)) + 1, weeks(until) + 1):
        grown = sigma_at(sigma_settled, last_played_at, monday(week), parameters)
        if grown == sigma:
            return
        sigma = grown
        yield monday(week), sigma
