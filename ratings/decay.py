"""Bringing the boards' uncertainty up to date: the weekly decay."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from django.db import connection, transaction

from ratings import ledger
from ratings.models import Game, GameState
from ratings.systems.decay import GRACE, STEP, WEEK, current_monday
from ratings.systems.openskill import PARAMETERS


def apply_decay(at: datetime | None = None, *, games: Iterable[Game] | None = None) -> int:
    """Projects every rating to the last Monday 00:00 UTC by `at` (default: now).

    Returns how many ratings changed. Each game in its own transaction, under its lock. Sigma is
    a function of time, so running it twice, late or never changes nothing in the end; a Monday
    that a game has reached already is left alone.
    """
    monday = current_monday(at)
    slugs = [game.slug for game in (Game.objects.all() if games is None else games)]
    return sum(_decay_game(slug, monday) for slug in slugs)


@transaction.atomic
def _decay_game(slug: str, monday: datetime) -> int:
    state = ledger.lock_games([slug])[slug]
    if monday <= state.decayed_to:
        return 0
    state.decayed_to = monday
    changed = _project(state)
    if changed:
        ledger.recount(state.game)
    ledger.announce(state)
    return changed


@transaction.atomic
def relist_game(game: Game) -> int:
    """Puts players on the game's board or off it by its `idle_days`, which staff changed.

    At once and not from the next Monday on: what is stored always equals a replay. Returns how
    many ratings changed; takes the game's lock.
    """
    state = ledger.lock_games([game.slug])[game.slug]
    changed = _project(state)
    if changed:
        ledger.recount(state.game)
    ledger.announce(state)
    return changed


def _project(state: GameState) -> int:
    """Sets sigma and is_listed of every rating to what they are at `decayed_to`.

    The same arithmetic as systems.decay.sigma_at, in the same order: whole Mondays are counted
    in microseconds since a Monday before all history, and only then multiplied by the step.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE ratings_rating AS rating
               SET sigma = projected.sigma, is_listed = projected.is_listed
              FROM (SELECT r.id,
                           LEAST(%(cap)s::float8,
                                 r.sigma_settled + GREATEST(0, %(week)s - (
                                     (extract(epoch FROM r.last_played_at) * 1000000)::bigint
                                     + %(offset)s) / %(length)s)::float8 * %(step)s::float8
                           ) AS sigma,
                           p.status = 'active' AND (
                               %(idle_since)s::timestamptz IS NULL
                               OR r.last_played_at >= %(idle_since)s) AS is_listed
                      FROM ratings_rating r JOIN ratings_player p ON p.id = r.player_id
                     WHERE r.game_id = %(game)s) AS projected
             WHERE rating.id = projected.id
               AND (rating.sigma, rating.is_listed)
                   IS DISTINCT FROM (projected.sigma, projected.is_listed)
            """,
            {
                "cap": PARAMETERS.sigma,
                "step": STEP,
                "week": (state.decayed_to - _MONDAY_BEFORE_HISTORY) // WEEK,
                "offset": _microseconds(GRACE + (_EPOCH - _MONDAY_BEFORE_HISTORY)),
                "length": _microseconds(WEEK),
                "idle_since": ledger.listed_since(state),
                "game": state.game_id,
            },
        )
        return cursor.rowcount


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONDAY_BEFORE_HISTORY = datetime(1, 1, 1, tzinfo=UTC)


def _microseconds(duration: timedelta) -> int:
    return duration // timedelta.resolution
