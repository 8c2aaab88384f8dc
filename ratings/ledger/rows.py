"""What the ledger's rows are called on their way between the tables and the replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from psycopg.types.json import Jsonb

from ratings.models import GameState, Status
from ratings.systems.replay import CANCELLED, FRIENDLY, VOID, Change, PlayedMatch, Standing

ROWS_AT_A_TIME = 10_000

LONGEST_WALK = 8192
"""Where more players share a number, the tie gets segments, of half that many at first."""

SKILL_COLUMNS = ("elo_before", "mu_before", "sigma_before", "elo_after", "mu_after", "sigma_after")


class Position(NamedTuple):
    """A place in a game's history: a match, or with id 0 all that were played at a moment."""

    played_at: datetime
    id: int = 0


BEGINNING = Position(datetime(1, 1, 2, tzinfo=UTC))
"""Before every match, and late enough to look 24 hours back from."""


class StoredMatch(NamedTuple):
    """A match with what the ledger says of it. `changes` is empty where it is not rated."""

    match: PlayedMatch
    status: str
    reason: str
    changes: Sequence[Change]


@dataclass(frozen=True, slots=True)
class NewMatch:
    """A match about to be stored. `teams` is what `points` are looked up in, by team number."""

    match: PlayedMatch
    source_id: int
    external_id: str
    received_at: datetime
    termination: str
    report: Jsonb
    points: Mapping[int, Decimal | None]


class EditedMatch(NamedTuple):
    """A stored match whose facts change: what history said of it and what it is to say.

    `termination` and `points` (by team number) go with the new form. `is_rebuilt` tells that more
    changes than whether it counts: its time, its end, who played, or their places and points.
    """

    was: PlayedMatch
    match: PlayedMatch
    termination: str
    points: Mapping[int, Decimal | None]
    is_rebuilt: bool


@dataclass(frozen=True, slots=True)
class StoredRating:
    """A player's row in `Rating`, and what decides whether it is listed."""

    standing: Standing
    sigma: float
    elo_shown: int
    openskill_shown: int
    is_bot: bool
    is_listed: bool


def fact_of(termination: str, *, is_void: bool = False) -> str:
    """What keeps a match from being rated whatever came before it; empty for nothing."""
    if is_void:
        return VOID
    return termination if termination in (CANCELLED, FRIENDLY) else ""


def status_of(reason: str) -> tuple[str, str]:
    """(status, reason) as a match stores them, from the reason a replay gave."""
    if reason == VOID:
        return Status.VOID.value, ""
    return (Status.UNRATED.value if reason else Status.RATED.value), reason


def listed_since(state: GameState) -> datetime | None:
    """Whose last rated match is older leaves the board; None where nobody does."""
    idle_days = state.game.idle_days
    if idle_days is None:
        return None
    try:
        return state.decayed_to - timedelta(days=idle_days)
    except OverflowError:  # before the first year there is
        return None


def is_recent(state: GameState, last_played_at: datetime) -> bool:
    """Whether a last rated match at that time keeps a player on the board."""
    since = listed_since(state)
    return since is None or last_played_at >= since
